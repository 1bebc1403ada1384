// SPDX-License-Identifier: Apache-2.0
// The element `parallaxstereo`. See docs/howto/gstreamer.md.
#pragma once
#include <gst/gst.h>

GType parallax_stereo_get_type();
