// SPDX-License-Identifier: Apache-2.0
// gst-launch-1.0 on files, as users run it.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "stereo_harness.h"

namespace parallax_gst::test {
namespace {

namespace fs = std::filesystem;

Bytes read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class LaunchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::string(PARALLAX_GST_LAUNCH).find("NOTFOUND") != std::string::npos)
      GTEST_SKIP() << "gst-launch-1.0 is not installed (Debian: gstreamer1.0-tools)";
    for (const char* name : {"pngdec", "multifilesrc", "videoconvert"}) {
      GstElementFactory* factory = gst_element_factory_find(name);
      if (factory == nullptr) GTEST_SKIP() << "no " << name << " (Debian: gstreamer1.0-plugins-base, -good)";
      gst_object_unref(factory);
    }
    folder_ = fs::temp_directory_path() / ("parallax_gst_" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }

  // Returns the exit status; `log` receives the output of the program.
  int launch(const std::string& pipeline, std::string* log = nullptr) const {
    const std::string output = (folder_ / "log").string();
    const int status =
        std::system((std::string(PARALLAX_GST_LAUNCH) + " " + pipeline + " >" + output + " 2>&1").c_str());
    const Bytes text = read(output);
    if (log != nullptr) log->assign(text.begin(), text.end());
    EXPECT_TRUE(log != nullptr || status == 0) << pipeline << "\n" << std::string(text.begin(), text.end());
    return status;
  }

  // Decodes a picture to gray with GStreamer.
  Bytes decode(const std::string& picture, const std::string& output = "gray.raw") const {
    const std::string path = (folder_ / output).string();
    launch("filesrc location=" + picture +
           " ! pngdec ! videoconvert ! video/x-raw,format=GRAY8 ! filesink location=" + path);
    return read(path);
  }

  // Matches two pictures with gst-launch and compares the map with that of the C interface.
  void expect_map_of(const std::string& left, const std::string& right) const {
    GstVideoInfo info;
    const auto [width, height] = size_of(left);
    gst_video_info_set_format(&info, GST_VIDEO_FORMAT_GRAY8, width, height);
    const Scene scene{static_cast<int>(width), static_cast<int>(height), GST_VIDEO_FORMAT_GRAY8, decode(left),
                      decode(right)};
    ASSERT_EQ(scene.left.size(), GST_VIDEO_INFO_SIZE(&info));
    const std::string map = (folder_ / "map.raw").string();
    const auto input = [](const std::string& path, const std::string& pad) {
      return " filesrc location=" + path + " ! pngdec ! videoconvert ! video/x-raw,format=GRAY8 ! stereo." +
             pad;
    };
    launch("parallaxstereo name=stereo method=census disparities=64 ! filesink location=" + map +
           input(left, "sink_left") + input(right, "sink_right"));
    EXPECT_TRUE(read(map) == expected_map(scene, "census", R"({"disparities": 64})")) << left;
  }

  // The size in the header of a PNG file.
  static std::pair<unsigned, unsigned> size_of(const std::string& picture) {
    const Bytes bytes = read(picture);
    const auto number = [&](std::size_t at) {
      return static_cast<unsigned>(bytes.at(at) << 24 | bytes.at(at + 1) << 16 | bytes.at(at + 2) << 8 |
                                   bytes.at(at + 3));
    };
    return {number(16), number(20)};
  }

  fs::path folder_;
};

#ifdef PARALLAX_COMMAND
TEST_F(LaunchTest, SyntheticPicturesOfOddSize) {
  const std::string synth = std::string(PARALLAX_COMMAND) + " synth --size 161x121 " + folder_.string() +
                            " >" + (folder_ / "log").string() + " 2>&1";
  ASSERT_EQ(std::system(synth.c_str()), 0);
  expect_map_of((folder_ / "left.png").string(), (folder_ / "right.png").string());
}

// The command line writes the same values as a PNG file.
TEST_F(LaunchTest, TheMapOfTheCommandLine) {
  const std::string f = folder_.string();
  const std::string commands = std::string(PARALLAX_COMMAND) + " synth --size 161x121 " + f + " >" + f +
                               "/log 2>&1 && " + PARALLAX_COMMAND + " match --method census " + f +
                               "/left.png " + f + "/right.png -o " + f + "/map.png >" + f + "/log 2>&1";
  ASSERT_EQ(std::system(commands.c_str()), 0);
  launch("filesrc location=" + f +
         "/map.png ! pngdec ! videoconvert ! video/x-raw,format=GRAY16_LE ! filesink location=" + f +
         "/expected.raw");
  launch("parallaxstereo name=s ! filesink location=" + f + "/map.raw filesrc location=" + f +
         "/left.png ! pngdec ! s.sink_left filesrc location=" + f + "/right.png ! pngdec ! s.sink_right");
  EXPECT_TRUE(read(folder_ / "map.raw") == read(folder_ / "expected.raw"));
  EXPECT_FALSE(read(folder_ / "map.raw").empty());
}
#endif

TEST_F(LaunchTest, RealFrames) {
  const char* given = std::getenv("PARALLAX_DATA");
  const fs::path data = given == nullptr ? PARALLAX_SHARED_DATA : given;
  const fs::path teddy = data / "middlebury2003" / "teddy";
  if (!fs::exists(teddy / "left.png")) GTEST_SKIP() << "no " << teddy << ": set PARALLAX_DATA";
  expect_map_of((teddy / "left.png").string(), (teddy / "right.png").string());
}

TEST_F(LaunchTest, ThirtyRawFramesSideBySide) {
  const std::string raw = (folder_ / "both.raw").string(), map = (folder_ / "map.raw").string();
  Bytes expected;
  {
    std::ofstream file(raw, std::ios::binary);
    for (int i = 0; i < 30; ++i) {
      const Scene scene = make_scene(64, 40, GST_VIDEO_FORMAT_RGB, static_cast<std::uint64_t>(i));
      const Bytes both = side_by_side(scene), one = expected_map(scene, "block", R"({"disparities": 16})");
      file.write(reinterpret_cast<const char*>(both.data()), static_cast<std::streamsize>(both.size()));
      expected.insert(expected.end(), one.begin(), one.end());
    }
  }
  launch("filesrc location=" + raw +
         " ! rawvideoparse format=rgb width=128 height=40 framerate=30/1 ! parallaxstereo " +
         "layout=side-by-side method=block disparities=16 ! filesink location=" + map);
  EXPECT_TRUE(read(map) == expected);
}

TEST_F(LaunchTest, ErrorsAndWarningsArePrinted) {
  const std::string source = "videotestsrc num-buffers=";
  const std::string caps = " ! video/x-raw,format=GRAY8,width=64,height=48";
  std::string log;
  EXPECT_NE(launch(source + "3" + caps + " ! parallaxstereo window=8 name=s ! fakesink " + source + "3" +
                       caps + " ! s.",
                   &log),
            0);
  EXPECT_NE(log.find("property 'window': window is 8: choose an odd number from 1 to 15"), std::string::npos)
      << log;
  EXPECT_EQ(
      launch(source + "3" + caps + " ! parallaxstereo name=s ! fakesink " + source + "5" + caps + " ! s.",
             &log),
      0);
  EXPECT_NE(log.find("the frame of sink_right at 0.1"), std::string::npos) << log;
  EXPECT_NE(log.find("(2 so far)"), std::string::npos) << log;
}

}  // namespace
}  // namespace parallax_gst::test
