// SPDX-License-Identifier: Apache-2.0
// Videos, which ffmpeg reads and writes. Skipped without ffmpeg.

#include "tools/files/video.h"

#include <algorithm>
#include <cstdlib>

#include "parallax/rig.h"

#include "support.h"
#include "tools/command/child_process.h"
#include "tools/files/pictures.h"
#include "tools/sequence_fixture.h"

namespace parallax::test {
namespace {

double mean_difference(const Picture& a, const Picture& b) {
  double sum = 0;
  for (int y = 0; y < a.size().height; ++y)
    for (int x = 0; x < a.size().width; ++x)
      for (int channel = 0; channel < 3; ++channel)
        sum += std::abs(static_cast<int>(value_at(a, x, y, channel)) -
                        static_cast<int>(value_at(b, x, y, channel)));
  return sum / (3.0 * static_cast<double>(a.size().pixels()));
}

class VideoTest : public SequenceTest {
 protected:
  void SetUp() override {
    if (std::system("ffmpeg -version >/dev/null 2>&1") != 0) GTEST_SKIP() << "ffmpeg is not installed";
  }

  // Makes a Motion JPEG video with 12 frames a second from numbered pictures.
  void save_video(const std::string& pictures, const std::string& name,
                  const std::string& options = "") const {
    const std::string command =
        "cd '" + folder_.string() + "' && ffmpeg -nostdin -v error -framerate 12 -i " + pictures +
        " -c:v mjpeg -q:v 2 -pix_fmt yuvj444p " + options + " " + name + " 2>ffmpeg.txt";
    ASSERT_EQ(std::system(command.c_str()), 0) << contents(folder_ / "ffmpeg.txt");
    fs::remove(folder_ / "ffmpeg.txt");
  }

  // Makes videos l.avi and r.avi, and both.avi with the views side by side.
  void make_videos() {
    make_folders();
    fs::create_directory(folder_ / "both");
    for (int i = 0; i < frames; ++i) {
      const auto [left, right] = frame_pictures(i);
      save(numbered("both/", i, ".ppm"), side_by_side(left, right));
    }
    for (const char* name : {"l", "r", "both"}) {
      fs::remove(folder_ / (std::string(name) + ".avi"));
      save_video(std::string(name) + "/%d.ppm", std::string(name) + ".avi");
    }
  }

  std::vector<Picture> read_video(const std::string& name) const {
    tool::VideoReader video((folder_ / name).string());
    std::vector<Picture> pictures;
    for (Picture picture; video.read(picture);) pictures.push_back(picture);
    return pictures;
  }
};

// ffmpeg may write the pixels of a frame, more than a pipe holds, before its time.
TEST(ChildProcessTest, ReadsStreamsInAnyOrder) {
  tool::ChildProcess program({"sh", "-c", "head -c 300000 /dev/zero; echo time >&3; echo last"},
                             {{3, false}, {1, false}});
  EXPECT_EQ(program.read_all(0), "time\n");
  std::vector<std::byte> pixels(300000, std::byte{1});
  EXPECT_EQ(program.read(1, pixels), pixels.size());
  EXPECT_EQ(std::count(pixels.begin(), pixels.end(), std::byte{0}), 300000);
  EXPECT_EQ(program.read_all(1), "last\n");
  EXPECT_TRUE(program.wait());
}

TEST_F(VideoTest, VideosGiveTheSameAsTheirFrames) {
  make_videos();
  const std::vector<Picture> left = read_video("l.avi"), right = read_video("r.avi"),
                             both = read_video("both.avi");
  ASSERT_EQ(both.size(), static_cast<std::size_t>(frames));
  const Outcome two = run("match l.avi r.avi" + options + "-o d/");
  ASSERT_EQ(two.status, 0) << two.err;
  const Outcome one = run("match both.avi --side-by-side" + options + "-o s_%d.pfm");
  ASSERT_EQ(one.status, 0) << one.err;
  for (int i = 0; i < frames; ++i) {
    const auto n = static_cast<std::size_t>(i);
    save("left.png", left[n]);
    save("right.png", right[n]);
    save("left_half.png", both[n].part({0, 0, {64, 48}}));
    save("right_half.png", both[n].part({64, 0, {64, 48}}));
    EXPECT_TRUE(contents(folder_ / numbered("d/00000", i, ".pfm")) ==
                match_pair("left.png", "right.png").first);
    EXPECT_TRUE(contents(folder_ / numbered("s_", i, ".pfm")) ==
                match_pair("left_half.png", "right_half.png").first);
  }
}

// The videos have the sizes of a rig's cameras.
TEST_F(VideoTest, VideosOfARigMayDifferInSize) {
  make_folders(2);
  save_video("l/%d.ppm", "l.avi");
  save_video("r/%d.ppm", "r.avi", "-vf scale=48:40");
  const auto camera = [](Size size) {
    Camera camera;
    camera.size = size;
    camera.focal_x = camera.focal_y = size.width;
    camera.centre_x = size.width / 2, camera.centre_y = size.height / 2;
    return camera;
  };
  Rig rig;
  rig.left = camera({64, 48}), rig.right = camera({48, 40});
  rig.translation = {-0.1, 0, 0};
  write(folder_ / "rig.json", to_json(rig));
  const Outcome outcome = run("match l.avi r.avi --rig rig.json" + options + "-o d/");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const std::vector<Picture> left = read_video("l.avi"), right = read_video("r.avi");
  for (std::size_t i = 0; i < 2; ++i) {
    save("left.png", left[i]);
    save("right.png", right[i]);
    EXPECT_TRUE(contents(folder_ / numbered("d/00000", static_cast<int>(i), ".pfm")) ==
                match_pair("left.png", "right.png", " --rig rig.json").first);
  }
  EXPECT_EQ(run("match l.avi r.avi" + options + "-o e/").status, 1);
  EXPECT_FALSE(exists("e/000000.pfm"));
}

TEST_F(VideoTest, ColouredVideosHaveOneScale) {
  make_videos();
  for (const char* name : {"v.avi", "v.mp4"}) {
    const Outcome outcome = run(std::string("match l.avi r.avi") + options + "-o d/ --video " + name);
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const std::vector<Picture> video = read_video(name);
    ASSERT_EQ(video.size(), static_cast<std::size_t>(frames));
    for (int i = 0; i < frames; ++i) {
      const Plane<float> disparity = read_pfm((folder_ / numbered("d/00000", i, ".pfm")).string());
      const Picture expected = tool::colour(disparity.view(), 0, 15);
      EXPECT_LT(mean_difference(video[static_cast<std::size_t>(i)], expected), 12) << name << " " << i;
    }
  }
  const auto rate = [&](const char* name) {
    return tool::VideoReader((folder_ / name).string()).frames_per_second();
  };
  EXPECT_EQ(rate("v.avi"), 12);
  ASSERT_EQ(run("match l.avi r.avi" + options + "--video v.avi --fps 5").status, 0);
  EXPECT_EQ(rate("v.avi"), 5);
}

TEST_F(VideoTest, ColouredVideosMayHaveOddSizes) {
  for (const char* side : {"l", "r"}) {
    fs::create_directory(folder_ / side);
    save(std::string(side) + "/0.png", filled({1, 1}, 1, BitDepth::bits8, 7));
  }
  const Outcome outcome = run("match l r --method block --video v.avi");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(read_video("v.avi").at(0).size(), (Size{2, 2}));
}

TEST_F(VideoTest, ABrokenFrameOfAVideoLeavesTheOthersInStep) {
  make_videos();
  std::string bytes = contents(folder_ / "r.avi");
  std::size_t third = 0, fourth = bytes.find("movi");
  for (int i = 0; i < 4; ++i) {
    third = fourth;
    fourth = bytes.find("00dc", fourth + 4);
  }
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(third) + 8,
            bytes.begin() + static_cast<std::ptrdiff_t>(fourth), '\0');
  write(folder_ / "r.avi", bytes);
  const Outcome outcome = run("match l.avi r.avi" + options + "-o d%d.pfm");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(contains(outcome.err, "frame 2: r.avi: frame 2 is damaged")) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "matched 5 of 6 frames")) << outcome.err;
  make_videos();
  ASSERT_EQ(run("match l.avi r.avi" + options + "-o e%d.pfm").status, 0);
  for (const int i : {0, 1, 3, 4, 5})
    EXPECT_TRUE(contents(folder_ / numbered("d", i, ".pfm")) == contents(folder_ / numbered("e", i, ".pfm")));
}

// Matroska files do not state the number of frames.
TEST_F(VideoTest, FramesThatWereNotAnnouncedGoOverNoInput) {
  make_videos();
  save_video("both/%d.ppm", "both.mkv");
  fs::create_directory(folder_ / "out");
  save("out/000004.png", make_picture({64, 48}, 1, BitDepth::bits8, [](int, int, int) { return 255; }));
  const std::string mask = contents(folder_ / "out/000004.png");
  const Outcome outcome =
      run("match both.mkv --side-by-side" + options + "-o d/ --left-mask out/000004.png --image out/");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(contains(outcome.err, "frame 4: out/000004.png is also read")) << outcome.err;
  EXPECT_EQ(contents(folder_ / "out/000004.png"), mask);
  EXPECT_TRUE(fs::exists(folder_ / "out/000005.png"));
}

// After a cut between key frames, the container still counts the removed frames.
TEST_F(VideoTest, FramesThatAnEditLeavesOutAreNotMissed) {
  make_folders();
  save_video("l/%d.ppm", "whole.mp4", "-c:v mpeg4 -pix_fmt yuv420p -g 6 -bf 0");
  const std::string cut =
      "cd '" + folder_.string() + "' && ffmpeg -nostdin -v error -ss 0.25 -i whole.mp4 -c copy cut.mp4";
  ASSERT_EQ(std::system(cut.c_str()), 0);
  const Outcome outcome = run("match cut.mp4 cut.mp4" + options + "-o d/");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(fs::exists(folder_ / "d/000002.pfm"));
  EXPECT_FALSE(fs::exists(folder_ / "d/000005.pfm"));
}

TEST_F(VideoTest, VideosThatEndEarlyAreToldOf) {
  make_videos();
  save_video("r/%d.ppm", "short.avi", "-frames:v 4");
  const Outcome shorter = run("match l.avi short.avi" + options);
  EXPECT_EQ(shorter.status, 1);
  EXPECT_TRUE(contains(shorter.err, "frame 4: short.avi ends here, l.avi continues")) << shorter.err;
  const std::string bytes = contents(folder_ / "both.avi");
  std::size_t third = bytes.find("movi");
  for (int i = 0; i < 3; ++i) third = bytes.find("00dc", third + 4);
  write(folder_ / "both.avi", bytes.substr(0, third));
  const Outcome cut = run("match both.avi --side-by-side" + options);
  EXPECT_EQ(cut.status, 1);
  EXPECT_TRUE(contains(cut.err, "both.avi ends after 2 of 6 frames")) << cut.err;
}

TEST_F(VideoTest, AVideoThatCannotBeWrittenLeavesNothing) {
  make_folders();
  const auto before = files();
  expect_refusal("match l r" + options + "--video v.avi", 1, {"v.avi", "disk"}, "ulimit -f 8;");
  // A full disk may have room later.
  fs::create_directory(folder_ / "bin");
  write(folder_ / "bin/ffmpeg", "#!/bin/sh\necho 'v.avi: No space left on device' >&2\nexit 1\n");
  fs::permissions(folder_ / "bin/ffmpeg", fs::perms::owner_all);
  expect_refusal("match l r" + options + "--video v.avi", 75, {"v.avi", "No space left on device; free some"},
                 "PATH=$PWD/bin:$PATH");
  fs::remove_all(folder_ / "bin");
  fs::remove(folder_ / "stdout.txt");
  fs::remove(folder_ / "stderr.txt");
  EXPECT_EQ(files(), before);
}

TEST_F(VideoTest, AFrameOfAVideoMayBeBrokenOnBothSides) {
  make_folders();
  write(folder_ / "l/2.ppm", "P6");
  EXPECT_EQ(run("match l r" + options + "--video v.avi").status, 1);
  EXPECT_EQ(read_video("v.avi").size(), 5u);
}

TEST_F(SequenceTest, WhatAnotherProgramSaysOfAVideoIsNotBelieved) {
  write(folder_ / "v.avi", "RIFF");
  write(folder_ / "ffprobe", "#!/bin/sh\necho '{\"streams\": [null]}'\n");
  fs::permissions(folder_ / "ffprobe", fs::perms::owner_all);
  expect_refusal("match v.avi v.avi" + options, 1, {"v.avi is neither a picture nor a video"},
                 "PATH=\"$PWD\"");
}

// Converting NaN to an integer is undefined behaviour, which the sanitizers detect.
TEST_F(SequenceTest, AVideoMayHaveNaNFrames) {
  write(folder_ / "v.avi", "RIFF");
  write(folder_ / "ffprobe", "#!/bin/sh\necho '{\"streams\": [{\"nb_frames\": \"nan\"}]}'\n");
  fs::permissions(folder_ / "ffprobe", fs::perms::owner_all);
  expect_refusal("match v.avi v.avi" + options, 1, {"ffmpeg is not installed"}, "PATH=\"$PWD\"");
}

TEST_F(SequenceTest, WithoutFfmpegVideosAreRefusedByName) {
  make_folders(1);
  write(folder_ / "v.avi", "RIFF");
  const std::string nothing = "PATH=/nowhere";
  expect_refusal("match v.avi v.avi" + options, 1, {"ffprobe is not installed", "apt install ffmpeg"},
                 nothing);
  expect_refusal("match l r" + options + "--video w.avi", 1, {"ffmpeg is not installed"}, nothing);
  EXPECT_FALSE(fs::exists(folder_ / "w.avi"));
}

}  // namespace
}  // namespace parallax::test
