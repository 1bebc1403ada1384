// SPDX-License-Identifier: Apache-2.0
#include <fstream>

#include "parallax/formats.h"

#include "geometry/random_rig.h"
#include "tools/command_fixture.h"
#include "tools/files/pictures.h"

namespace parallax::test {
namespace {

class RectifyCommandTest : public CommandTest {
 protected:
  void SetUp() override {
    make_pair();
    Rig rig = car_rig();
    // A picture's size, from that of the rig's cameras.
    for (Camera* camera : {&rig.left, &rig.right}) {
      camera->size = {96, 64};
      camera->focal_x /= 12, camera->focal_y /= 12;
      camera->centre_x = 47, camera->centre_y = 31;
    }
    std::ofstream(folder_ / "rig.json") << to_json(rig);
    rig_ = rig;
  }

  bool same_pictures(const std::string& one, const std::string& other) const {
    const tool::Picture a = tool::read_picture((folder_ / one).string()),
                        b = tool::read_picture((folder_ / other).string());
    if (a.size() != b.size() || a.channels() != b.channels() || a.pixel_bytes() != b.pixel_bytes())
      return false;
    for (int y = 0; y < a.size().height; ++y)
      if (std::memcmp(a.row(y), b.row(y), a.pixel_bytes() * static_cast<std::size_t>(a.size().width)) != 0)
        return false;
    return true;
  }

  Rig rig_;
};

TEST_F(RectifyCommandTest, ARectifiedPairStaysAsItIs) {
  const Outcome outcome = run(
      "rectify pair/left.png pair/right.png --rig pair/calib.txt -o l.png r.png --free-centres --device cpu");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(same_pictures("pair/left.png", "l.png"));
  EXPECT_TRUE(same_pictures("pair/right.png", "r.png"));
}

TEST_F(RectifyCommandTest, WritesPicturesMasksAndCalibration) {
  const std::string command =
      "rectify pair/left.png pair/right.png --rig rig.json --masks ml.png mr.png --calib calib.txt "
      "--alpha 1 --zoom 0.9 --output-size 80x70 --interpolation lanczos3 ";
  for (const char* device : {"reference", "cpu"}) {
    const Outcome outcome = run(command + "-o l-" + device + ".png r-" + device + ".png --device " + device);
    ASSERT_EQ(outcome.status, 0) << outcome.err;
  }
  EXPECT_TRUE(same_pictures("l-cpu.png", "l-reference.png"));
  EXPECT_TRUE(same_pictures("r-cpu.png", "r-reference.png"));
  EXPECT_FALSE(same_pictures("l-cpu.png", "r-cpu.png"));
  const Rectification expected =
      rectify(rig_, {.alpha = 1, .zoom = 0.9, .size = {80, 70}, .interpolation = Interpolation::lanczos3});
  const Calibration calibration = read_middlebury_calibration((folder_ / "calib.txt").string());
  EXPECT_EQ(calibration.focal, expected.focal);
  EXPECT_EQ(calibration.centre_x, expected.centre_left_x);
  EXPECT_DOUBLE_EQ(calibration.baseline, 1000 * expected.baseline);  // millimetres
  EXPECT_EQ(calibration.width, 80);
  // The pair is matched with its masks and calibration.
  const Outcome matched =
      run("match l-cpu.png r-cpu.png --left-mask ml.png --right-mask mr.png --calib calib.txt "
          "--disparities 16 -o map.pfm --device cpu");
  EXPECT_EQ(matched.status, 0) << matched.err;
}

// match --rig does the same as rectify and match.
TEST_F(RectifyCommandTest, MatchRectifiesItself) {
  const std::string pair = " pair/left.png pair/right.png --rig rig.json --alpha 0.7 --zoom 1.1 ",
                    search = " --disparities 12 --method block --device cpu ",
                    outputs = " --depth depth.tiff --cloud cloud.ply --image picture.png ";
  ASSERT_EQ(run("rectify" + pair + "-o l.png r.png --masks ml.png mr.png --calib calib.txt").status, 0);
  ASSERT_EQ(
      run("match l.png r.png --left-mask ml.png --right-mask mr.png --calib calib.txt --unit mm -o map.pfm" +
          outputs + search)
          .status,
      0);
  const std::string map = contents(folder_ / "map.pfm"), depth = contents(folder_ / "depth.tiff"),
                    picture = contents(folder_ / "picture.png");
  const std::string at_once = "match" + pair + "-o map.pfm" + outputs + search;
  const Outcome outcome = run(at_once);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(contents(folder_ / "map.pfm"), map);
  EXPECT_EQ(contents(folder_ / "depth.tiff"), depth);
  EXPECT_EQ(contents(folder_ / "picture.png"), picture);
  EXPECT_EQ(run("match" + pair + "--disparities auto -o map.pfm --device cpu").status, 0);

  std::filesystem::create_directories(folder_ / "lefts");
  std::filesystem::create_directories(folder_ / "rights");
  for (const char* name : {"a.png", "b.png"}) {
    std::filesystem::copy_file(folder_ / "pair/left.png", folder_ / "lefts" / name);
    std::filesystem::copy_file(folder_ / "pair/right.png", folder_ / "rights" / name);
  }
  const Outcome sequence = run("match lefts rights --rig rig.json --alpha 0.7 --zoom 1.1 -o maps/" + search);
  ASSERT_EQ(sequence.status, 0) << sequence.err;
  EXPECT_EQ(contents(folder_ / "maps/a.pfm"), map);
  EXPECT_EQ(contents(folder_ / "maps/b.pfm"), map);
}

// The right camera has fewer pixels, in a pair and in a sequence.
TEST_F(RectifyCommandTest, CamerasMayHaveDifferentSizes) {
  ASSERT_EQ(run("synth small --size 72x50 --disparities 12").status, 0);
  Rig rig = rig_;
  rig.right.size = {72, 50};
  rig.right.focal_x *= 0.75, rig.right.focal_y *= 0.75;
  rig.right.centre_x = 35, rig.right.centre_y = 24;
  std::ofstream(folder_ / "rig.json") << to_json(rig);
  const std::string search = " --disparities 12 --method block --device cpu ";
  ASSERT_EQ(
      run("rectify pair/left.png small/right.png --rig rig.json -o l.png r.png --masks ml.png mr.png").status,
      0);
  ASSERT_EQ(run("match l.png r.png --left-mask ml.png --right-mask mr.png -o map.pfm" + search).status, 0);
  const std::string map = contents(folder_ / "map.pfm");
  const Outcome one = run("match pair/left.png small/right.png --rig rig.json -o map.pfm" + search);
  ASSERT_EQ(one.status, 0) << one.err;
  EXPECT_EQ(contents(folder_ / "map.pfm"), map);

  for (const char* name : {"lefts", "rights"}) std::filesystem::create_directories(folder_ / name);
  for (const char* name : {"1.png", "2.png"}) {
    std::filesystem::copy_file(folder_ / "pair/left.png", folder_ / "lefts" / name);
    std::filesystem::copy_file(folder_ / "small/right.png", folder_ / "rights" / name);
  }
  for (const char* inputs : {"lefts rights", "lefts/%d.png rights/%d.png"}) {
    const Outcome sequence = run("match " + std::string(inputs) + " --rig rig.json -o maps/" + search);
    ASSERT_EQ(sequence.status, 0) << sequence.err;
    for (const char* name : {"maps/1.pfm", "maps/2.pfm"}) EXPECT_EQ(contents(folder_ / name), map) << inputs;
    std::filesystem::remove_all(folder_ / "maps");
  }

  // The cameras exchanged, and pictures without a rig.
  expect_refusal("match small/left.png pair/right.png --rig rig.json -o other.pfm" + search, 1,
                 {"small/left.png is 72×50", "96×64"});
  expect_refusal("match pair/left.png small/right.png -o other.pfm" + search, 1,
                 {"72×50", "give a pair of one size"});
  EXPECT_EQ(run("match lefts rights -o others/" + search).status, 1);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "other.pfm"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "others/1.pfm"));
}

TEST_F(RectifyCommandTest, MatchRefusesWhatDoesNotGoWithARig) {
  const std::string match = "match pair/left.png pair/right.png -o map.pfm --disparities 12 ";
  expect_refusal(match + "--alpha 0.5", 2, {"--alpha needs --rig"});
  expect_refusal(match + "--rig rig.json --calib pair/calib.txt", 2, {"--calib", "leave it out with --rig"});
  expect_refusal(match + "--rig rig.json --left-mask pair/left.png", 2, {"--left-mask"});
  expect_refusal(match + "--rig rig.json --tile-size 64x64", 2, {"leave out --rig"});
  expect_refusal("match pair/left.png pair/right.png -o rig.json --rig rig.json", 2, {"rig.json"});
  ASSERT_EQ(run("synth other --size 90x64 --disparities 16").status, 0);
  expect_refusal("match other/left.png other/right.png --rig rig.json -o map.pfm --disparities 12", 1,
                 {"other/left.png is 90×64", "96×64"});
  EXPECT_FALSE(std::filesystem::exists(folder_ / "map.pfm"));
}

TEST_F(RectifyCommandTest, RefusesWhatDoesNotFit) {
  const std::string pair = "rectify pair/left.png pair/right.png ";
  expect_refusal(pair + "--rig rig.json -o l.png", 2, {"--output has 1 files", "give two"});
  expect_refusal(pair + "--rig rig.json -o l.png r.jpg", 2, {"r.jpg", ".png"});
  expect_refusal(pair + "--rig rig.json -o l.png r.png --masks m.png", 2, {"--masks has 1 files"});
  expect_refusal(pair + "--rig rig.json -o l.png r.png --zoom 0", 2, {"--zoom"});
  expect_refusal(pair + "--rig rig.json -o l.png r.png --alpha 2", 2, {"--alpha"});
  expect_refusal(pair + "--rig rig.json -o l.png pair/left.png", 2, {"pair/left.png"});
  expect_refusal(pair + "--rig missing.json -o l.png r.png", 1, {"missing.json"});
  ASSERT_EQ(run("synth other --size 90x64 --disparities 16").status, 0);
  expect_refusal("rectify other/left.png pair/right.png --rig rig.json -o l.png r.png", 1,
                 {"other/left.png is 90×64", "96×64"});
  EXPECT_FALSE(std::filesystem::exists(folder_ / "l.png"));
}

}  // namespace
}  // namespace parallax::test
