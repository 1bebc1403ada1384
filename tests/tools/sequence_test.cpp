// SPDX-License-Identifier: Apache-2.0
// 'parallax match' on sequences: the same results as for single pairs, and errors in single frames.

#include <cstdio>

#include <nlohmann/json.hpp>

#include "core/integers.h"
#include "support.h"
#include "tools/files/pictures.h"
#include "tools/sequence_fixture.h"

namespace parallax::test {
namespace {

TEST_F(SequenceTest, FoldersAndPatternsGiveTheSameAsSinglePairs) {
  make_folders();
  const Outcome folders = run("match l r" + options + "-o d/ --image d/");
  ASSERT_EQ(folders.status, 0) << folders.err;
  EXPECT_TRUE(contains(folders.err, "matched 6 of 6 frames of 64×48 by block on cpu: ")) << folders.err;
  expect_all_match("d/", "d/");
  const Outcome patterns = run("match l/%d.ppm r/%d.ppm" + options + "-o p%d.pfm --image p%02d.png");
  ASSERT_EQ(patterns.status, 0) << patterns.err;
  expect_all_match("p", "p0");
}

TEST_F(SequenceTest, SeveralDevicesGiveTheSameAsSinglePairs) {
  make_folders();
  const Outcome outcome = run("match l r" + options + "--device reference,cpu -o d/ --image i/ --json");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "\"device\": \"reference, cpu\"")) << outcome.out;
  expect_all_match("d/", "i/");
}

#ifdef PARALLAX_EMULATED_GPU

TEST_F(SequenceTest, FramesOfAGpuThatFailsGoToTheOthers) {
  make_folders();
  const Outcome outcome =
      run("match l r" + options + "--device cuda:all,cpu -o d/ --image i/",
          "LD_LIBRARY_PATH=" PARALLAX_EMULATED_GPU " XDG_CACHE_HOME=" PARALLAX_EMULATED_CACHE
          " PARALLAX_EMULATED_FAIL_CALL=cuGraphLaunch,1,214 ");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const std::string lost =
      " is no longer used, its pairs go to the other devices: CUDA: cuGraphLaunch failed";
  const std::size_t at = outcome.err.find(lost);
  ASSERT_NE(at, std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find(lost, at + 1), std::string::npos) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "matched 6 of 6 frames")) << outcome.err;
  expect_all_match("d/", "i/");
}

#endif

TEST_F(SequenceTest, MasksCalibrationAndPointCloudsAreThoseOfEveryFrame) {
  make_folders();
  save("mask.png",
       make_picture({64, 48}, 1, BitDepth::bits8, [](int x, int, int) { return x < 20 ? 0u : 255u; }));
  ASSERT_EQ(run("synth calibrated --size 64x48 --disparities 16").status, 0);
  const std::string more = "--left-mask mask.png --right-mask mask.png --calib calibrated/calib.txt ";
  const Outcome outcome = run("match l r" + options + more + "-o d/ --image d/ --cloud %d.ply");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  expect_all_match("d/", "d/", more + "--cloud one.ply");
  EXPECT_TRUE(contents(folder_ / "5.ply") == contents(folder_ / "one.ply"));
  EXPECT_FALSE(contents(folder_ / "5.ply") == contents(folder_ / "4.ply"));
}

TEST_F(SequenceTest, ConfidenceIsToldOfEveryFrame) {
  make_folders(2);
  const std::string belief = "--method bp --disparities 16 --confidence ";
  ASSERT_EQ(run("match l r " + belief + "c/").status, 0);
  ASSERT_EQ(run("match l/1.ppm r/1.ppm " + belief + "one.pfm").status, 0);
  EXPECT_TRUE(contents(folder_ / "c/1.pfm") == contents(folder_ / "one.pfm"));
}

TEST_F(SequenceTest, RowOffsetsAreToldOfEveryFrame) {
  make_folders(2);
  const std::string across = "--method block --disparities 16 --row-tolerance 1 --rows-off ";
  ASSERT_EQ(run("match l r " + across + "v/").status, 0);
  ASSERT_EQ(run("match l/1.ppm r/1.ppm " + across + "one.pfm").status, 0);
  EXPECT_TRUE(contents(folder_ / "v/1.pfm") == contents(folder_ / "one.pfm"));
  ASSERT_EQ(run("batch l r " + across + "b/{name}.pfm").status, 0);
  EXPECT_TRUE(contents(folder_ / "b/1.pfm") == contents(folder_ / "one.pfm"));
}

TEST_F(SequenceTest, DeepPicturesStayDeep) {
  for (const char* side : {"l", "r"}) fs::create_directory(folder_ / side);
  for (int i = 0; i < 2; ++i) {
    const auto [left, right] = frame_pictures(i);
    // In eight bits they would be nearly black.
    save(numbered("l/", i, ".pgm"), deepened(green_of(left), 5));
    save(numbered("r/", i, ".pgm"), deepened(green_of(right), 5));
  }
  ASSERT_EQ(run("match l r" + options + "-o d/").status, 0);
  EXPECT_TRUE(contents(folder_ / "d/1.pfm") == match_pair("l/1.pgm", "r/1.pgm").first);
}

TEST_F(SequenceTest, FramesOfAFolderAreInTheOrderOfTheirNumbers) {
  make_folders(3);
  for (const char* side : {"l", "r"}) {
    fs::rename(folder_ / side / "2.ppm", folder_ / side / "10.ppm");
    fs::rename(folder_ / side / "1.ppm", folder_ / side / "9.ppm");
    write(folder_ / side / "times.txt", "0 1 2");
    write(folder_ / side / ".hidden.ppm", "");
  }
  const Outcome outcome = run("match l r" + options + "-o %d.pfm");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(contents(folder_ / "2.pfm") == match_pair("l/10.ppm", "r/10.ppm").first);
  EXPECT_FALSE(exists("3.pfm"));
}

TEST_F(SequenceTest, PicturesMayBeSideBySide) {
  make_folders(2);
  fs::create_directory(folder_ / "both");
  for (int i = 0; i < 2; ++i) {
    const auto [left, right] = frame_pictures(i);
    save(numbered("both/", i, ".png"), side_by_side(left, right));
  }
  const std::string expected = match_pair("l/1.ppm", "r/1.ppm").first;
  for (const char* input : {"both", "both/%d.png"}) {
    ASSERT_EQ(run(std::string("match --side-by-side ") + input + options + "-o d%d.pfm").status, 0);
    EXPECT_TRUE(contents(folder_ / "d1.pfm") == expected) << input;
  }
  ASSERT_EQ(run("match both/1.png --side-by-side" + options + "-o one.pfm").status, 0);
  EXPECT_TRUE(contents(folder_ / "one.pfm") == expected);
}

TEST_F(SequenceTest, BrokenFramesAreNamedAndTheRestIsDone) {
  make_folders();
  write(folder_ / "l/2.ppm", contents(folder_ / "l/2.ppm").substr(0, 20));
  fs::remove(folder_ / "r/4.ppm");
  const Outcome outcome = run("match l/%d.ppm r/%d.ppm" + options + "-o d%d.pfm --image i%d.png --json");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 2) << outcome.err;
  for (const char* line : {"parallax: frame 2: l/2.ppm: is damaged",
                           "\nparallax: frame 4: cannot read r/4.ppm: No such file or directory"})
    EXPECT_TRUE(contains(outcome.err, line)) << outcome.err;
  for (int i = 0; i < frames; ++i) {
    EXPECT_EQ(exists(numbered("d", i, ".pfm")), i != 2 && i != 4);
    EXPECT_EQ(exists(numbered("i", i, ".png")), i != 2 && i != 4);
  }
  EXPECT_TRUE(contents(folder_ / "d5.pfm") == match_pair("l/5.ppm", "r/5.ppm").first);

  const auto report = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(report["method"], "block");
  EXPECT_EQ(report["size"]["width"], 64);
  EXPECT_EQ(report["disparities"], 16);
  EXPECT_EQ(report["frames"], 6);
  ASSERT_EQ(report["failed"].size(), 2u);
  EXPECT_EQ(report["failed"][0]["number"], 2);
  EXPECT_EQ(report["failed"][0]["name"], "l/2.ppm");
  EXPECT_TRUE(contains(std::string(report["failed"][1]["error"]), "r/4.ppm"));
  EXPECT_GT(report["frames_per_second"], 0);
  EXPECT_GT(report["milliseconds"]["search"], 0);
  EXPECT_GT(report["memory_bytes"], 0);
  EXPECT_EQ(report["valid"], 1.0);
  double sum = 0;
  for (const auto& share : report["status"]) sum += static_cast<double>(share);
  EXPECT_NEAR(sum, 1, 1e-9);
}

TEST_F(SequenceTest, TheFirstFrameMayBeBroken) {
  make_folders(3);
  write(folder_ / "l/0.ppm", "");
  EXPECT_EQ(run("match l r" + options + "-o d/").status, 1);
  EXPECT_FALSE(exists("d/0.pfm"));
  EXPECT_TRUE(contents(folder_ / "d/1.pfm") == match_pair("l/1.ppm", "r/1.ppm").first);
}

TEST_F(SequenceTest, AllFramesMayBeBroken) {
  make_folders(2);
  for (const char* name : {"l/0.ppm", "l/1.ppm"}) write(folder_ / name, "P6");
  const Outcome outcome = run("match l r" + options + "--json");
  EXPECT_EQ(outcome.status, 1);
  const auto report = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(report["frames"], 2);
  EXPECT_EQ(report["failed"].size(), 2u);
  EXPECT_EQ(report["frames_per_second"], 0.0);
}

TEST_F(SequenceTest, AFrameOfAnotherSizeOrDepthIsBroken) {
  make_folders();
  for (const char* side : {"l", "r"}) {
    const std::string folder = side;
    save(folder + "/1.ppm", filled({60, 48}, 3, BitDepth::bits8, 1));
    save(folder + "/3.ppm", filled({64, 48}, 3, BitDepth::bits16, 1));
  }
  save("r/4.ppm", filled({64, 47}, 3, BitDepth::bits8, 1));
  const Outcome outcome = run("match l r" + options + "-o d/");
  EXPECT_EQ(outcome.status, 1);
  for (const char* line : {"frame 1: l/1.ppm is 60×48 with 8 bits, earlier frames are 64×48 with 8 bits",
                           "frame 3: l/3.ppm is 64×48 with 16 bits", "frame 4: l/4.ppm is 64×48",
                           "r/4.ppm is 64×47", "matched 3 of 6 frames"})
    EXPECT_TRUE(contains(outcome.err, line)) << line << " in " << outcome.err;
  EXPECT_TRUE(exists("d/5.pfm"));
  EXPECT_FALSE(exists("d/1.pfm") || exists("d/3.pfm") || exists("d/4.pfm"));
}

TEST_F(SequenceTest, RefusesInputsThatMakeNoSequence) {
  make_folders(3);
  write(folder_ / "l.avi", "no video, but it is called so");
  fs::create_directories(folder_ / "none");
  fs::create_directories(folder_ / "other");
  for (const char* name : {"a.ppm", "b.ppm", "c.ppm"})
    fs::copy(folder_ / "r/0.ppm", folder_ / "other" / name);
  expect_refusal("match l none", 1, {"none", "contains no pictures"});
  expect_refusal("match l r/0.ppm", 1, {"l is a directory", "r/0.ppm is a picture", "two of the same kind"});
  expect_refusal("match l.avi r", 1, {"l.avi is a video", "r is a directory"});
  expect_refusal("match x%d.ppm r/%d.ppm", 1, {"no file matches x%d.ppm"});
  expect_refusal("match l/%02d.ppm r/%d.ppm", 1, {"no file matches l/%02d.ppm"});
  expect_refusal("match l%d/%d.ppm r/%d.ppm", 2, {"l%d/%d.ppm", "more than one"});
  expect_refusal("match l%d/0.ppm r/%d.ppm", 2, {"l%d/0.ppm", "folder"});
  expect_refusal("match l", 2, {"RIGHT", "required"});
  expect_refusal("match l r --side-by-side", 2, {"--side-by-side", "leave out r"});
  expect_refusal("match l --side-by-side --disparities 33", 2, {"32 pixels wide"});
  EXPECT_TRUE(
      contains(run("match l other" + options).err, "names in l and other differ: pairing them in order"));
  fs::rename(folder_ / "other/b.ppm", folder_ / "other/1.ppm");
  expect_refusal("match l other", 1, {"other has no 0.ppm", "same names"});
  fs::remove(folder_ / "other/a.ppm");
  expect_refusal("match l other", 1, {"l contains 3 pictures, other 2"});
}

TEST_F(SequenceTest, AnOddWidthHasNoTwoHalves) {
  save("odd.png", filled({31, 4}, 1, BitDepth::bits8, 0));
  expect_refusal("match odd.png --side-by-side", 1, {"odd.png", "31 pixels wide", "even"});
}

TEST_F(SequenceTest, RefusesOutputsThatMakeNoSense) {
  make_folders(2);
  run("devices");
  const auto before = files();
  const std::string sequence = "match l r" + options, one = "match l/0.ppm r/0.ppm" + options;
  expect_refusal(sequence + "-o d.pfm", 2, {"--output", "d.pfm", "d_%04d.pfm", "folder"});
  expect_refusal(sequence + "-o d_%d.bmp", 2, {"d_%d.bmp", ".pfm"});
  expect_refusal(sequence + "-o %d_%d.pfm", 2, {"%d_%d.pfm", "more than one"});
  expect_refusal(sequence + "--image v.png", 2, {"--image", "d_%04d.png"});
  expect_refusal(sequence + "-o d%d.png --image ./d%d.png", 2, {"d%d.png", "by this command"});
  expect_refusal(sequence + "-o l/%d.png --image l/", 2, {"l/0.png", "by this command"});
  expect_refusal(sequence + "--video v.gif", 2, {"v.gif", ".avi or .mp4"});
  expect_refusal(sequence + "--fps 5", 2, {"--fps", "--video"});
  expect_refusal(sequence + "--video v.avi --fps -5", 2, {"--fps", "-5"});
  expect_refusal(sequence + "--repeat 2", 2, {"--repeat", "one pair"});
  expect_refusal("match l r --method bp --energy --json", 2, {"--energy", "one pair"});
  expect_refusal(sequence + "--left-mask l/0.ppm", 1, {"l/0.ppm", "not a mask"});
  expect_refusal(one + "--video v.avi", 2, {"--video", "sequence"});
  expect_refusal(one + "-o l", 2, {"l is a directory"});
  expect_refusal(one + "--image d/", 2, {"d/ is a directory"});
  EXPECT_EQ(files(), before);
}

TEST_F(SequenceTest, NeverWritesOverWhatItReads) {
  make_folders(2);
  for (const char* side : {"l", "r"})
    for (const char* number : {"0", "1"})
      save(std::string(side) + "/" + number + ".png", frame_pictures(number[0] - '0').first);
  const std::string before = contents(folder_ / "l/1.png");
  expect_refusal("match l/%d.png r/%d.png" + options + "-o ./l/%01d.png", 2, {"l/0.png", "by this command"});
  expect_refusal("match l/%d.png r/%d.png" + options + "--image r/", 2, {"r/0.png", "by this command"});
  EXPECT_EQ(contents(folder_ / "l/1.png"), before);
}

TEST_F(SequenceTest, StopsWhenItCannotWrite) {
  make_folders();
  run("devices");
  const auto before = files();
  expect_refusal("match l r" + options + "-o nowhere/%d.pfm", 1, {"nowhere/", "No such file"});
  expect_refusal("match l r" + options + "-o text.png/", 1, {"cannot make folder text.png/"});
  expect_refusal("match l r" + options + "-o %d.pfm", 1, {".pfm", "File too large"}, "ulimit -f 8;");
  expect_refusal("match l r" + options + "--video nowhere/v.avi", 1, {"nowhere/", "No such file"});
  EXPECT_EQ(files(), before);
}

// Frames of one video, of which the third one is broken.
TEST_F(SequenceTest, TemporalSteadiesTheMapsOfAVideo) {
  constexpr int count = 6, broken = 2;
  const VideoSynthParameters video{{160, 120}, 24};
  MatcherParameters parameters = preset("census", "default");
  parameters.disparities() = 24;
  Matcher matcher(parameters, cpu(1), {video.size});
  TemporalFilter filter({video.size});
  for (const char* side : {"l", "r"}) fs::create_directory(folder_ / side);
  std::vector<Plane<float>> alone, steadied;
  for (int i = 0; i < count; ++i) {
    const VideoSynthFrame frame = synthesize_frame(video, i);
    const auto picture = [&](const Plane<std::uint8_t>& image) {
      return make_picture(video.size, 3, BitDepth::bits8,
                          [&](int x, int y, int channel) { return image.at(3 * x + channel, y); });
    };
    const Picture left = picture(frame.pair.left), right = picture(frame.pair.right);
    save(numbered("l/", i, ".ppm"), left);
    save(numbered("r/", i, ".ppm"), right);
    Result result(video.size), again(video.size);
    if (i == broken) {
      write(folder_ / numbered("l/", i, ".ppm"), "P6 160 120 255\n");
      alone.emplace_back(), steadied.emplace_back();
      continue;
    }
    matcher.run({left.view(), right.view()}, again.map());
    alone.push_back(std::move(again.disparity));
    matcher.run({left.view(), right.view()}, result.map());
    filter.run({left.view(), right.view()}, result.map());
    steadied.push_back(std::move(result.disparity));
  }
  for (const std::string devices : {"cpu", "cpu,reference"})
    for (const bool temporal : {false, true}) {
      const Outcome outcome = run("match l r --method census --disparities 24 --device " + devices + " -o " +
                                  (temporal ? "steadied/ --temporal" : "alone/"));
      EXPECT_EQ(outcome.status, 1) << outcome.err;
      for (int i = 0; i < count; ++i) {
        const fs::path file = folder_ / (temporal ? "steadied" : "alone") / numbered("", i, ".pfm");
        if (i == broken) {
          EXPECT_FALSE(fs::exists(file));
          continue;
        }
        const Plane<float> map = tool::read_disparity(file.string());
        EXPECT_TRUE(same_bytes(map, temporal ? steadied[to_size(i)] : alone[to_size(i)]))
            << devices << ", " << i;
        EXPECT_EQ(same_bytes(map, alone[to_size(i)]), !temporal || i == 0) << i;
      }
    }
  expect_refusal("match l r --method census --temporal -o a/ --right-output b/", 2,
                 {"leave out --right-output"});
  expect_refusal("match l/0.ppm r/0.ppm --method census --temporal", 2, {"--temporal is for a sequence"});
}

}  // namespace
}  // namespace parallax::test
