// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include <gst/gst.h>
#include <gtest/gtest.h>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  // GStreamer, and gst-launch-1.0 as a child, load the plugin of this build.
  setenv("GST_PLUGIN_PATH", PARALLAX_PLUGIN_FOLDER, 1);
  setenv("GST_REGISTRY", PARALLAX_REGISTRY, 1);
  gst_init(nullptr, nullptr);
  return RUN_ALL_TESTS();
}
