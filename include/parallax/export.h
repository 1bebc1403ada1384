// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a shared libparallax shows to the programs that use it.
#pragma once

/// Stands at the namespace of each public header. The library is compiled with everything else hidden.
#define PARALLAX_API [[gnu::visibility("default")]]
