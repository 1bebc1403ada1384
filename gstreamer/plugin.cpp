// SPDX-License-Identifier: Apache-2.0
#include "stereo_element.h"

static gboolean plugin_init(GstPlugin* plugin) {
  return gst_element_register(plugin, "parallaxstereo", GST_RANK_NONE, parallax_stereo_get_type());
}

#define PACKAGE "parallax"  // GST_PLUGIN_DEFINE reads it
GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, parallax, "Dense stereo matching", plugin_init,
                  PARALLAX_VERSION_TEXT, "Apache 2.0", "Parallax", "Unknown package origin")
