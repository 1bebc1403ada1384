// SPDX-License-Identifier: Apache-2.0
// What libjpeg-turbo says of itself in messages.
#pragma once

#define JVERSION "6b  27-Mar-1998"
#define JCOPYRIGHT_SHORT ""
#define JCOPYRIGHT ""
