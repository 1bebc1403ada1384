// SPDX-License-Identifier: Apache-2.0
// Motions: 'parallax flow', 'eval --flow' and 'synth --flow', as a user runs them.

#include "parallax/flow.h"

#include <cmath>
#include <cstring>

#include <nlohmann/json.hpp>

#include "parallax/formats.h"

#include "tools/command_fixture.h"
#include "tools/files/flow_files.h"
#include "tools/files/video.h"
#include "tools/picture_files.h"

namespace parallax::test {
namespace {

using nlohmann::json;

// A smooth pattern, which moves by `shift` pixels a frame in both directions.
Picture moving_frame(Size size, int number, double columns, double rows) {
  return make_picture(size, 1, BitDepth::bits8, [&](int x, int y, int) {
    const double u = x - number * columns, v = y - number * rows;
    const double level = 40 * std::sin(0.9 * u + 0.3 * v) + 30 * std::sin(0.37 * v - 0.21 * u) +
                         20 * std::sin(1.1 * v + 0.05 * u) + 15 * std::sin(0.13 * u * std::cos(0.02 * v));
    return static_cast<unsigned>(std::lround(127 + level));
  });
}

class FlowCommandTest : public CommandTest {
 protected:
  void save_frame(const std::string& name, int number, double columns = 2, double rows = -1,
                  Size size = {64, 48}) const {
    save((folder_ / name).string(), moving_frame(size, number, columns, rows));
  }

  // Makes folder f with 0.png, 1.png and so on.
  void make_frames(int count) const {
    fs::create_directory(folder_ / "f");
    for (int i = 0; i < count; ++i) save_frame("f/" + std::to_string(i) + ".png", i);
  }

  // The motions between two frames.
  std::string bytes_between(const std::string& first, const std::string& second) const {
    const Outcome outcome = run("flow " + first + " " + second + options + "-o one.flo");
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return contents(folder_ / "one.flo");
  }

  json evaluate(const std::string& arguments) const {
    const Outcome outcome = run("eval --flow " + arguments + " --json");
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return json::parse(outcome.out);
  }

  Flow flow(const std::string& name) const { return tool::read_flow((folder_ / name).string()); }

  const std::string options = " --range 9x9 --threads 2 ";
};

TEST_F(FlowCommandTest, SyntheticTranslationsAreFoundToAnEighthOfAPixel) {
  for (const char* seed : {"1", "2", "3"}) {  // three different directions
    ASSERT_EQ(run(std::string("synth s --flow --scene translation --size 161x119 --motion 8 --seed ") + seed)
                  .status,
              0);
    const Outcome outcome = run("flow s/frame1.png s/frame2.png -o m.flo --range 17x17 --threads 2 --json");
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const json report = json::parse(outcome.out);
    EXPECT_EQ(report.at("method"), "motion");
    EXPECT_EQ(report.at("min"), json::array({-8, -8}));
    const json error = evaluate("m.flo s/flow.flo --mask s/mask.png");
    EXPECT_LT(error.at("avgerr"), 0.125) << seed;
    EXPECT_LT(error.at("bad1"), 0.01) << seed;
  }
}

TEST_F(FlowCommandTest, TheRangeIsThatOfTheMotions) {
  save_frame("a.png", 0, 5, -3);
  save_frame("b.png", 1, 5, -3);
  for (const char* range : {"--range 3x3 --min 4,-4", "--range 6x1 --min=1,-3", "--range 11x7"}) {
    ASSERT_EQ(run(std::string("flow a.png b.png -o m.flo --threads 2 ") + range).status, 0) << range;
    EXPECT_NEAR(flow("m.flo").u.at(32, 24), 5, 0.1) << range;
    EXPECT_NEAR(flow("m.flo").v.at(32, 24), -3, 0.1) << range;
  }
  for (const char* arguments : {"b.png a.png --min=-6,2", "b.png a.png --min -6,2", "--min=-6,2 b.png a.png",
                                "--min -6,2 b.png a.png"}) {
    const Outcome outcome = run(std::string("flow -o m.flo --threads 2 --range 3x3 ") + arguments);
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_NEAR(flow("m.flo").u.at(32, 24), -5, 0.1) << arguments;
    EXPECT_NEAR(flow("m.flo").v.at(32, 24), 3, 0.1) << arguments;
  }
}

TEST_F(FlowCommandTest, AnEvenRangeHasOneMoreMotionToTheRightAndDownwards) {
  save_frame("a.png", 0);
  for (const auto& [range, least] :
       {std::pair{"4x2", json{-1, 0}}, {"5x3", json{-2, -1}}, {"1x1", json{0, 0}}}) {
    const Outcome outcome = run(std::string("flow a.png a.png --threads 2 --json --range ") + range);
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(json::parse(outcome.out).at("min"), least) << range;
  }
}

TEST_F(FlowCommandTest, EverySizeIsMatched) {
  for (const Size size : {Size{1, 1}, Size{1, 7}, Size{9, 1}, Size{31, 17}}) {
    save_frame("a.png", 0, 1, 1, size);
    const Outcome outcome = run("flow a.png a.png" + options + "-o m.flo");
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(flow("m.flo").size(), size);
  }
}

TEST_F(FlowCommandTest, PicturesHoldTheSameMotionsToASixtyFourth) {
  save_frame("a.png", 0);
  save_frame("b.png", 1);
  ASSERT_EQ(run("flow a.png b.png" + options + "-o m.flo").status, 0);
  ASSERT_EQ(run("flow a.png b.png" + options + "-o m.png --image v.PNG").status, 0);
  const json error = evaluate("m.png m.flo");
  EXPECT_EQ(error.at("coverage"), 1);
  EXPECT_LE(error.at("a99"), 0.0111);
  EXPECT_EQ(tool::read_picture((folder_ / "v.PNG").string()).channels(), 3);
}

TEST_F(FlowCommandTest, ColoursDependOnTheLongestMotion) {
  save_frame("a.png", 0);
  save_frame("b.png", 1);
  const auto picture = [&](const std::string& more) {
    EXPECT_EQ(run("flow a.png b.png" + options + "--image v.png " + more).status, 0);
    return tool::read_picture((folder_ / "v.png").string());
  };
  const auto saturation = [](const Picture& colours) {
    const int r = static_cast<int>(value_at(colours, 32, 24, 0)),
              g = static_cast<int>(value_at(colours, 32, 24, 1)),
              b = static_cast<int>(value_at(colours, 32, 24, 2));
    return std::max({r, g, b}) - std::min({r, g, b});
  };
  EXPECT_GT(saturation(picture("--longest 3")), 3 * saturation(picture("--longest 12")));
}

TEST_F(FlowCommandTest, MaskedPixelsHaveNoMotion) {
  save_frame("a.png", 0);
  save_frame("b.png", 1);
  save((folder_ / "mask.png").string(),
       make_picture({64, 48}, 1, BitDepth::bits8, [](int x, int, int) { return x < 20 ? 0u : 255u; }));
  ASSERT_EQ(run("flow a.png b.png" + options + "-o m.flo --first-mask mask.png").status, 0);
  EXPECT_TRUE(std::isinf(flow("m.flo").u.at(5, 24)));
  EXPECT_TRUE(std::isfinite(flow("m.flo").u.at(40, 24)));
  ASSERT_EQ(run("flow a.png b.png" + options + "-o m.png --first-mask mask.png").status, 0);
  EXPECT_TRUE(std::isinf(flow("m.png").v.at(5, 24)));
}

TEST_F(FlowCommandTest, PresetsAndOptionsAreThoseOfTheMethod) {
  save_frame("a.png", 0);
  const auto report = [&](const std::string& arguments) {
    return json::parse(run("flow a.png a.png --threads 2 --json " + arguments).out);
  };
  EXPECT_EQ(report("").at("range"), (json{{"width", 129}, {"height", 129}}));
  EXPECT_EQ(report("--preset all-labels").at("range"), (json{{"width", 31}, {"height", 15}}));
  EXPECT_EQ(report("--preset all-labels --range 5x3").at("parameters").at("active_window"), 0);
  EXPECT_EQ(report("--range 5x3 --levels 2").at("parameters").at("levels"), 2);
}

TEST_F(FlowCommandTest, RefusesWrongUse) {
  make_frames(2);
  run("devices");
  const auto before = files();
  const std::string two = "flow f/0.png f/1.png ";
  expect_refusal("flow", 2, {"FRAME1", "required"});
  expect_refusal("flow f/0.png", 2, {"FRAME2", "f/0.png is a single picture"});
  expect_refusal(two + "-o m.pfm", 2, {"m.pfm", ".flo or .png"});
  expect_refusal(two + "--image v.flo", 2, {"v.flo", ".png"});
  expect_refusal(two + "--range 9", 2, {"--range", "9"});
  expect_refusal(two + "--range 0x9", 2, {"--range"});
  expect_refusal(two + "--range 5000x9", 2, {"5000", "4096"});
  expect_refusal(two + "--min 1,2", 2, {"--min needs --range"});
  for (const char* least : {"1", "1,", ",1", "1,x", "1,2,3", "1.5,2", "1,99999999999"})
    expect_refusal(two + "--range 9x9 --min " + least, 2,
                   {"--min is '" + std::string(least) + "'", "two integers"});
  for (const char* least : {"2147483647,0", "-2147483648,0", "999993,0", "0,999993", "0,-1000001"})
    expect_refusal(two + "--range 9x9 --min " + least, 2, {"--min is ", "--range", "-1000000 to 999992"});
  expect_refusal(two + "--disparities 9", 2, {"--disparities", "--range"});
  expect_refusal(two + "--preset fast", 2, {"fast", "all-labels"});
  expect_refusal(two + "--device abacus", 2, {"abacus"});
  expect_refusal(two + "--video v.avi", 2, {"--video", "sequence"});
  expect_refusal(two + "-o f/1.png", 2, {"f/1.png", "read by this command"});
  expect_refusal(two + "-o m.png --image m.png", 2, {"m.png", "by this command"});
  expect_refusal(two + "-o f", 2, {"f is a directory"});
  expect_refusal(two + "--max-memory 1K", 1, {"1.0 KiB are allowed"});
  EXPECT_EQ(files(), before);
}

TEST_F(FlowCommandTest, RefusesFilesOfTheWrongKind) {
  save_frame("a.png", 0);
  save_frame("wide.png", 0, 1, 1, {65, 48});
  save((folder_ / "deep.png").string(), filled({64, 48}, 1, BitDepth::bits16, 0));
  expect_refusal("flow a.png wide.png", 1, {"wide.png", "65×48"});
  expect_refusal("flow a.png deep.png", 1, {"deep.png", "16 bits"});
  expect_refusal("flow a.png text.png", 1, {"text.png"});
  expect_refusal("flow a.png none.png", 1, {"none.png", "No such file"});
  expect_refusal("flow a.png a.png --first-mask wide.png", 1, {"wide.png"});
}

// A picture of 16 bits holds no motion of 600 pixels.
TEST_F(FlowCommandTest, MotionsThatAPictureCannotHoldAreRefused) {
  const Size size{640, 5};
  save_frame("a.png", 0, 600, 0, size);
  save_frame("b.png", 1, 600, 0, size);
  const std::string arguments = "flow a.png b.png --preset all-labels --range 3x1 --min 599,0 --threads 2 ";
  ASSERT_EQ(run(arguments + "-o m.flo").status, 0);
  expect_refusal(arguments + "-o m.png", 1, {"m.png: the motion at column", "write .flo instead"});
  EXPECT_FALSE(fs::exists(folder_ / "m.png"));
}

TEST_F(FlowCommandTest, EachFrameOfASequenceIsMatchedWithTheNext) {
  make_frames(5);
  const Outcome outcome = run("flow f" + options + "-o m/ --image v_%02d.png --json");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out).at("pairs"), 4);
  ASSERT_EQ(run("flow 'f/*.png'" + options + "-o n_%03d.flo").status, 0);
  ASSERT_EQ(run("flow f/%d.png" + options + "-o p/").status, 0);
  for (int i = 0; i < 4; ++i) {
    const std::string number = std::to_string(i);
    const std::string expected = bytes_between("f/" + number + ".png", "f/" + std::to_string(i + 1) + ".png");
    EXPECT_TRUE(contents(folder_ / ("m/" + number + ".flo")) == expected) << i;
    EXPECT_TRUE(contents(folder_ / ("n_00" + number + ".flo")) == expected) << i;
    EXPECT_TRUE(contents(folder_ / ("p/" + number + ".flo")) == expected) << i;
    EXPECT_TRUE(fs::exists(folder_ / ("v_0" + number + ".png"))) << i;
  }
  EXPECT_FALSE(fs::exists(folder_ / "m/4.flo"));
}

TEST_F(FlowCommandTest, ABrokenFrameLeavesTheOtherPairs) {
  make_frames(7);
  write(folder_ / "f/2.png", "this is no picture\n");
  save_frame("f/5.png", 5, 2, -1, {64, 47});
  const Outcome outcome = run("flow f" + options + "-o m/");
  EXPECT_EQ(outcome.status, 1);
  for (const char* line : {"frame 2: f/2.png", "frame 5: f/5.png is 64×47", "matched 2 pairs"})
    EXPECT_TRUE(contains(outcome.err, line)) << line << " in " << outcome.err;
  for (const char* number : {"0", "3"})
    EXPECT_TRUE(fs::exists(folder_ / "m" / (std::string(number) + ".flo"))) << number;
  for (const char* number : {"1", "2", "4", "5"})
    EXPECT_FALSE(fs::exists(folder_ / "m" / (std::string(number) + ".flo"))) << number;
}

TEST_F(FlowCommandTest, RefusesSequencesAndOutputsThatMakeNoSense) {
  make_frames(3);
  fs::create_directory(folder_ / "single");
  save_frame("single/0.png", 0);
  run("devices");
  const auto before = files();
  expect_refusal("flow single" + options, 1, {"single has one frame", "two"});
  expect_refusal("flow none%d.png" + options, 1, {"no file matches none%d.png"});
  expect_refusal("flow f" + options + "-o m.flo", 2,
                 {"m.flo, one file for all frames", "d_%04d.flo", "folder"});
  expect_refusal("flow f" + options + "-o m_%d.pfm", 2, {"m_%d.pfm", ".flo or .png"});
  expect_refusal("flow f" + options + "-o f/%d.png", 2, {"f/0.png", "by this command"});
  expect_refusal("flow f" + options + "--image f/", 2, {"f/0.png", "by this command"});
  expect_refusal("flow f" + options + "--fps 5", 2, {"--fps needs --video"});
  expect_refusal("flow f" + options + "--video v.gif", 2, {"v.gif", ".avi or .mp4"});
  expect_refusal("flow f" + options + "--repeat 2", 2, {"--repeat", "two frames"});
  EXPECT_EQ(files(), before);
}

class FlowVideoTest : public FlowCommandTest {
 protected:
  void SetUp() override {
    if (std::system("ffmpeg -version >/dev/null 2>&1") != 0) GTEST_SKIP() << "ffmpeg is not installed";
    make_frames(5);
  }

  void save_video(const std::string& name) const {
    const std::string command = "cd '" + folder_.string() +
                                "' && ffmpeg -nostdin -v error -framerate 12 -i f/%d.png -c:v ffv1 " + name;
    ASSERT_EQ(std::system(command.c_str()), 0);
  }
};

TEST_F(FlowVideoTest, VideosGiveTheSameAsTheirFrames) {
  save_video("f.avi");
  const Outcome outcome = run("flow f.avi" + options + "-o m/ --video v.avi --longest 4");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  for (int i = 0; i < 4; ++i)
    EXPECT_TRUE(contents(folder_ / ("m/00000" + std::to_string(i) + ".flo")) ==
                bytes_between("f/" + std::to_string(i) + ".png", "f/" + std::to_string(i + 1) + ".png"))
        << i;
  tool::VideoReader video((folder_ / "v.avi").string());
  EXPECT_EQ(video.frames_per_second(), 12);
  int count = 0;
  for (Picture picture; video.read(picture);) ++count;
  EXPECT_EQ(count, 4);
}

// Matroska files do not state the number of frames.
TEST_F(FlowVideoTest, FramesThatWereNotAnnouncedGoOverNoInput) {
  save_video("f.mkv");
  fs::create_directory(folder_ / "out");
  save((folder_ / "out/000002.png").string(), filled({64, 48}, 1, BitDepth::bits8, 255));
  const std::string mask = contents(folder_ / "out/000002.png");
  const Outcome outcome = run("flow f.mkv" + options + "--first-mask out/000002.png --image out/");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(contains(outcome.err, "out/000002.png is also read")) << outcome.err;
  EXPECT_EQ(contents(folder_ / "out/000002.png"), mask);
  EXPECT_TRUE(fs::exists(folder_ / "out/000003.png"));
}

TEST_F(FlowCommandTest, EvalReportsEveryMetric) {
  const float u[] = {1, 4, 0}, v[] = {0, 0, 0}, true_u[] = {0, 0, 0}, unknown_v[] = {0, 0, 1e30f};
  const Size size{3, 1};
  write_file((folder_ / "m.flo").string(),
             encode_flo({View<const float>(u, size), View<const float>(v, size)}));
  write_file((folder_ / "t.flo").string(),
             encode_flo({View<const float>(true_u, size), View<const float>(unknown_v, size)}));
  const json error = evaluate("m.flo t.flo");
  EXPECT_EQ(error.at("count"), 2);
  EXPECT_EQ(error.at("avgerr"), 2.5);
  EXPECT_EQ(error.at("bad0.5"), 1);
  EXPECT_EQ(error.at("fl"), 0.5);
  EXPECT_NEAR(error.at("angular").get<double>(), (45 + std::atan(4.0) * 180 / std::acos(-1.0)) / 2, 1e-4);
  const Outcome table = run("eval --flow m.flo t.flo");
  for (const char* line : {"count", "fl ", "mean end-point error", "mean angular error"})
    EXPECT_TRUE(contains(table.out, line)) << line;
}

TEST_F(FlowCommandTest, EvalRefusesFilesOfTheWrongKind) {
  ASSERT_EQ(run("synth s --flow --size 20x10").status, 0);
  ASSERT_EQ(run("synth other --flow --size 21x10").status, 0);
  write(folder_ / "cut.flo", contents(folder_ / "s/flow.flo").substr(0, 500));
  write(folder_ / "text.flo", "this is no map of motions\n");
  expect_refusal("eval --flow text.flo s/flow.flo", 1, {"text.flo", "not a .flo file"});
  expect_refusal("eval --flow s/flow.flo cut.flo", 1, {"cut.flo", "cut short"});
  expect_refusal("eval --flow s/flow.flo s/frame1.png", 1, {"s/frame1.png", "no motions", "16 bits"});
  expect_refusal("eval --flow s/flow.flo other/flow.flo", 1, {"21×10", "20×10"});
  expect_refusal("eval --flow s/flow.flo s/flow.flo --mask other/mask.png", 1, {"other/mask.png", "21×10"});
  expect_refusal("eval --flow s/flow.flo s/flow.flo --truth-scale 4", 2, {"--truth-scale", "--flow"});
}

TEST_F(FlowCommandTest, SynthRefusesOptionsOfTheOtherKind) {
  expect_refusal("synth s --flow --disparities 16", 2, {"--disparities", "--flow"});
  expect_refusal("synth s --flow --tiled", 2, {"--tiled", "--flow"});
  expect_refusal("synth s --flow --scene dots", 2, {"dots", "translation"});
  expect_refusal("synth s --scene zoom", 2, {"zoom", "planes"});
  expect_refusal("synth s --noise 3", 2, {"--noise needs --flow"});
  expect_refusal("synth s --flow --noise -3", 2, {"--noise"});
  expect_refusal("synth s --flow --exposure 0", 2, {"--exposure"});
  expect_refusal("synth s --flow --video 3", 2, {"--video and --flow exclude each other"});
  expect_refusal("synth s --video 3 --scene planes", 2, {"--scene", "--video"});
  expect_refusal("synth s --video 3 --exposure 2", 2, {"--exposure needs --flow"});
  expect_refusal("synth s --video 0", 2, {"--video", "from 1"});
  expect_refusal("synth s --cut 3", 2, {"--cut needs --video"});
  EXPECT_FALSE(fs::exists(folder_ / "s"));
}

TEST_F(FlowCommandTest, SynthWritesAVideoThatMatchReads) {
  ASSERT_EQ(run("synth v --video 3 --size 90x64 --disparities 16 --motion 1").status, 0);
  for (const char* name : {"left/000002.png", "right/000000.png", "truth/000001.pfm", "mask/000002.png",
                           "moving/000000.png", "to_previous/000002.flo", "calib.txt"})
    EXPECT_TRUE(fs::exists(folder_ / "v" / name)) << name;
  ASSERT_EQ(run("match v/left v/right --disparities 16 -o v/map/").status, 0);
  EXPECT_TRUE(fs::exists(folder_ / "v/map/000002.pfm"));
  EXPECT_TRUE(contains(run("eval v/map/000002.pfm v/truth/000002.pfm").out, "bad1"));
  ASSERT_EQ(run("synth bare --video 2 --size 20x10 --disparities 4 --no-truth").status, 0);
  EXPECT_TRUE(fs::exists(folder_ / "bare/right/000001.png"));
  EXPECT_TRUE(fs::exists(folder_ / "bare/calib.txt"));
  EXPECT_FALSE(fs::exists(folder_ / "bare/truth"));
}

}  // namespace
}  // namespace parallax::test
