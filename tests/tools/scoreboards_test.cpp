// SPDX-License-Identifier: Apache-2.0
// 'parallax bench' with public benchmarks: tiny data sets in each benchmark's layout, and figures counted by
// hand.
#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include <nlohmann/json.hpp>

#include "parallax/formats.h"

#include "tools/command_fixture.h"
#include "tools/files/pictures.h"
#include "tools/parallax/scoreboards/scoreboard.h"

namespace parallax::test {
namespace {

using Map = Plane<float>;
constexpr float none = std::numeric_limits<float>::infinity();

// Column x, row y.
Map map_of(Size size, const std::function<float(int x, int y)>& disparity) {
  Map map(size);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) map.at(x, y) = disparity(x, y);
  return map;
}
Map flat(Size size, float disparity) {
  return map_of(size, [=](int, int) { return disparity; });
}

void write_bytes(const fs::path& path, const std::vector<std::byte>& bytes) {
  fs::create_directories(path.parent_path());
  write_file(path.string(), bytes);
}
void write_map(const fs::path& path, const Map& map) {
  write_bytes(path, tool::encode_disparity(path.string(), map.view()));
}
// A gray picture, which is read whatever its extension is.
void write_gray(const fs::path& path, Size size, const std::function<int(int x, int y)>& value) {
  std::string text = "P5 " + std::to_string(size.width) + " " + std::to_string(size.height) + " 255\n";
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) text += static_cast<char>(value(x, y));
  fs::create_directories(path.parent_path());
  write(path, text);
}
int noise(int x, int y) {
  return (x * 7919 + y * 104729 + x * y * 31) % 251;
}

class ScoreboardsTest : public CommandTest {
 protected:
  // im0.png, im1.png, calib.txt of a random scene at this disparity.
  void write_pair(const std::string& name, Size size, int disparity, int labels,
                  const std::string& more = "") const {
    const fs::path pair = folder_ / name;
    write_gray(pair / "im0.png", size, noise);
    write_gray(pair / "im1.png", size, [=](int x, int y) { return noise(x + disparity, y); });
    write(pair / "calib.txt",
          "cam0=[100 0 4; 0 100 4; 0 0 1]\nbaseline=10\nwidth=" + std::to_string(size.width) +
              "\nheight=" + std::to_string(size.height) + "\nndisp=" + std::to_string(labels) + "\n" + more);
  }
  // disp0GT.pfm, mask0nocc.png: the first column is occluded.
  void write_truth(const std::string& name, const Map& truth) const {
    write_map(folder_ / name / "disp0GT.pfm", truth);
    write_gray(folder_ / name / "mask0nocc.png", truth.size(), [](int x, int) { return x > 0 ? 255 : 128; });
  }
  void write_kitti(const std::string& folder, const std::string& pair, const Map& truth) const {
    const Map seen = map_of(truth.size(), [&](int x, int y) { return x > 0 ? truth.at(x, y) : none; });
    const bool is_2015 = fs::exists(folder_ / folder / "training/image_2");
    write_map(folder_ / folder / "training" / (is_2015 ? "disp_noc_0" : "disp_noc") / (pair + ".png"), seen);
    write_map(folder_ / folder / "training" / (is_2015 ? "disp_occ_0" : "disp_occ") / (pair + ".png"), truth);
  }

  tool::ScoreboardData data(const std::string& folder) const { return {(folder_ / folder).string()}; }

  // Figures of a map for the pair of this name: "all bad1" and so on.
  static std::map<std::string, double> score(const tool::Scoreboard& board, const std::string& name,
                                             const Map& map, int labels = 0) {
    Calibration calibration;
    calibration.disparities = labels;
    for (const tool::ScoreboardPair& pair : board.pairs())
      if (pair.name == name) return figures(board.score(pair, calibration, map.view()));
    ADD_FAILURE() << name;
    return {};
  }
  static std::map<std::string, double> figures(const std::vector<tool::Region>& regions) {
    std::map<std::string, double> values;
    for (const tool::Region& region : regions)
      for (const tool::Figure& figure : region.figures)
        values[region.name + " " + figure.name] = figure.value;
    return values;
  }
};

void expect_perfect(const std::map<std::string, double>& figures) {
  for (const auto& [name, value] : figures)
    EXPECT_EQ(value, name.ends_with("coverage") || name.ends_with("density") ? 1 : 0) << name;
}

class MiddleburyTest : public ScoreboardsTest {
 protected:
  // A quarter-size pair of 4×2 pixels, whose truth is 10 at its own size and 40 at full size.
  MiddleburyTest() { write_pair("data/trainingQ/Shelves", small, 2, 20); }
  void write_quarter_truth() { write_truth("data/trainingQ/Shelves", flat(small, 10)); }
  void write_full_truth(const std::string& calibration = "") {
    write_pair("data/trainingF/Shelves", full, 8, 80, calibration);
    write_truth("data/trainingF/Shelves", flat(full, 40));
  }

  static constexpr Size small{4, 2}, full{16, 8};
};

TEST_F(MiddleburyTest, APerfectMapHasNoError) {
  write_quarter_truth();
  expect_perfect(score(*tool::middlebury_scoreboard(data("data")), "Shelves", flat(small, 10), 20));
  write_full_truth();
  expect_perfect(score(*tool::middlebury_scoreboard(data("data")), "Shelves", flat(small, 10), 20));
}

// One of 4×2 pixels has no disparity, one is off by 0.25 (1 at full size), one by 0.5 (2), one by 4 (16).
TEST_F(MiddleburyTest, ErrorsCountAtFullSize) {
  Map map = flat(small, 10);
  map.at(1, 0) = none;
  map.at(2, 0) = 10.25f;
  map.at(3, 0) = 9.5f;
  map.at(0, 1) = 14;  // occluded
  for (const bool has_full_truth : {false, true}) {
    if (has_full_truth)
      write_full_truth();
    else
      write_quarter_truth();
    const auto board = tool::middlebury_scoreboard(data("data"));
    EXPECT_EQ(contains(board->note(), "approximate"), !has_full_truth);
    const auto found = score(*board, "Shelves", map, 20);
    const std::map<std::string, double> expected{{"all bad0.5", 4 / 8.},
                                                 {"all bad1", 3 / 8.},
                                                 {"all bad2", 2 / 8.},
                                                 {"all bad4", 2 / 8.},
                                                 {"all sparse0.5", 3 / 8.},
                                                 {"all sparse1", 2 / 8.},
                                                 {"all sparse2", 1 / 8.},
                                                 {"all sparse4", 1 / 8.},
                                                 {"all invalid", 1 / 8.},
                                                 {"all avgerr", 19 / 7.},
                                                 {"all a50", 0},
                                                 {"all a90", 16},
                                                 {"all a95", 16},
                                                 {"all a99", 16},
                                                 {"all rms", std::sqrt(261 / 7.)}};
    for (const auto& [name, value] : expected) EXPECT_NEAR(found.at(name), value, 1e-12) << name;
    if (has_full_truth) continue;
    EXPECT_NEAR(found.at("nonocc bad0.5"), 3 / 6., 1e-12);
    EXPECT_NEAR(found.at("nonocc sparse1"), 1 / 6., 1e-12);
    EXPECT_NEAR(found.at("nonocc avgerr"), 3 / 5., 1e-12);
  }
}

// 20 labels at quarter size end at 80; the true disparities are integers, so the found ones are rounded.
TEST_F(MiddleburyTest, DisparitiesAreClippedAndRoundedLikeTheTruth) {
  write_full_truth();
  Map map = flat(small, 10.0625f);
  map.at(2, 0) = 1000;
  map.at(3, 0) = -1000;
  auto found = score(*tool::middlebury_scoreboard(data("data")), "Shelves", map, 20);
  EXPECT_NEAR(found.at("all avgerr"), (6 * 0.25 + 40 + 40) / 8, 1e-12);
  write_full_truth("isint=1\n");
  found = score(*tool::middlebury_scoreboard(data("data")), "Shelves", map, 20);
  EXPECT_EQ(found.at("all avgerr"), 10);
  // Without ndisp, only negative disparities are clipped.
  found = score(*tool::middlebury_scoreboard(data("data")), "Shelves", map, 0);
  EXPECT_EQ(found.at("all avgerr"), (3960 + 40) / 8.);
}

TEST_F(MiddleburyTest, FivePairsCountHalf) {
  write_quarter_truth();
  for (const char* name : {"PianoL", "Playroom", "Playtable", "Vintage", "Adirondack", "PlaytableP"}) {
    write_pair(std::string("data/trainingQ/") + name, small, 2, 20);
    write_truth(std::string("data/trainingQ/") + name, flat(small, 10));
  }
  const auto board = tool::middlebury_scoreboard(data("data"));
  std::vector<std::vector<tool::Region>> scores;
  for (const tool::ScoreboardPair& pair : board->pairs()) {
    // Adirondack and PlaytableP are wrong, the five others right.
    const bool is_wrong = pair.name == "Adirondack" || pair.name == "PlaytableP";
    Calibration calibration;
    calibration.disparities = 20;
    scores.push_back(board->score(pair, calibration, flat(small, is_wrong ? 15 : 10).view()));
  }
  EXPECT_DOUBLE_EQ(figures(tool::average(scores)).at("nonocc bad2"), 2 / 4.5);
}

// A map without any disparity is 100 % bad, but has no mean error.
TEST_F(MiddleburyTest, FiguresThatAPairLacksAreAveragedOverTheOthers) {
  write_quarter_truth();
  for (const char* name : {"Adirondack", "Piano"}) {
    write_pair(std::string("data/trainingQ/") + name, small, 2, 20);
    write_truth(std::string("data/trainingQ/") + name, flat(small, 10));
  }
  const auto board = tool::middlebury_scoreboard(data("data"));
  std::vector<std::vector<tool::Region>> scores;
  for (const tool::ScoreboardPair& pair : board->pairs()) {
    Calibration calibration;
    calibration.disparities = 20;
    const float disparity = pair.name == "Adirondack" ? none : pair.name == "Piano" ? 10 : 14;
    scores.push_back(board->score(pair, calibration, flat(small, disparity).view()));
  }
  const auto means = figures(tool::average(scores));
  EXPECT_NEAR(means.at("all avgerr"), 16 * 0.5 / 1.5, 1e-12);
  EXPECT_DOUBLE_EQ(means.at("all bad2"), 1.5 / 2.5);
  const auto none_at_all = figures(tool::average({scores.front()}));
  EXPECT_TRUE(std::isnan(none_at_all.at("all avgerr")));
  EXPECT_EQ(none_at_all.at("all bad2"), 1);
}

class KittiTest : public ScoreboardsTest {
 protected:
  static constexpr Size size{10, 1};
};

// Truth 100: 104 is off by 4 px, but by 4 % only. Pixels without a disparity take the lesser neighbour.
TEST_F(KittiTest, OutliersOf2015AreBeyondThreePixelsAndFivePerCent) {
  fs::create_directories(folder_ / "k/training/image_2");
  write_gray(folder_ / "k/training/image_2/000000_10.png", size, noise);
  write_kitti("k", "000000_10", map_of(size, [](int x, int) { return x == 9 ? 20.f : 100.f; }));
  write_gray(folder_ / "k/training/obj_map/000000_10.png", size, [](int x, int) { return x >= 6 ? 3 : 0; });
  const auto board = tool::kitti_scoreboard(data("k"));
  expect_perfect(score(*board, "000000_10", map_of(size, [](int x, int) { return x == 9 ? 20.f : 100.f; })));

  Map map = flat(size, 100);
  map.at(0, 0) = 106;    // outlier, occluded
  map.at(1, 0) = 104;    // 4 %
  map.at(2, 0) = none;   // takes 80: outlier
  map.at(3, 0) = 80;     // outlier
  map.at(7, 0) = none;   // takes 100
  map.at(9, 0) = 22.5f;  // 12.5 %, but 2.5 px
  const auto found = score(*board, "000000_10", map);
  EXPECT_DOUBLE_EQ(found.at("noc d1-bg"), 2 / 5.);
  EXPECT_DOUBLE_EQ(found.at("noc d1-fg"), 0);
  EXPECT_DOUBLE_EQ(found.at("noc d1-all"), 2 / 9.);
  EXPECT_DOUBLE_EQ(found.at("noc density"), 7 / 9.);
  EXPECT_DOUBLE_EQ(found.at("all d1-bg"), 3 / 6.);
  EXPECT_DOUBLE_EQ(found.at("all d1-all"), 3 / 10.);
  map.at(8, 0) = 94;  // now the gap beside it takes 94, too
  EXPECT_DOUBLE_EQ(score(*board, "000000_10", map).at("all d1-fg"), 2 / 4.);
}

// All pixels of all pairs have the same weight; a pair without objects has no foreground.
TEST_F(KittiTest, AverageOf2015IsOverPixels) {
  fs::create_directories(folder_ / "k/training/image_2");
  std::vector<std::vector<tool::Region>> scores;
  for (const int known : {8, 2}) {
    const std::string name = known == 8 ? "000000_10" : "000001_10";
    write_gray(folder_ / "k/training/image_2" / (name + ".png"), size, noise);
    write_gray(folder_ / "k/training/obj_map" / (name + ".png"), size,
               [=](int x, int) { return known == 8 && x == 1; });
    write_kitti("k", name, map_of(size, [=](int x, int) { return x < known ? 50 : none; }));
  }
  const auto board = tool::kitti_scoreboard(data("k"));
  for (const tool::ScoreboardPair& pair : board->pairs())
    scores.push_back(board->score(pair, {}, flat(size, pair.name == "000000_10" ? 50 : 60).view()));
  EXPECT_TRUE(std::isnan(figures(scores[1]).at("all d1-fg")));
  const auto mean = figures(tool::average(scores));
  EXPECT_DOUBLE_EQ(mean.at("all d1-all"), 2 / 10.);
  EXPECT_DOUBLE_EQ(mean.at("all d1-bg"), 2 / 9.);
  EXPECT_DOUBLE_EQ(mean.at("all d1-fg"), 0);
}

TEST_F(KittiTest, FiguresWhoseTruthIsMissingAreLeftOut) {
  fs::create_directories(folder_ / "k/training/image_2");
  for (const char* view : {"image_2", "image_3"})
    write_gray(folder_ / "k/training" / view / "000000_10.png", size, noise);
  write_kitti("k", "000000_10", flat(size, 4));
  const std::string bench = "bench --suite kitti --data k --method block --disparities 4 --json r.json";
  const auto names = [&](const char* region) {
    const Outcome outcome = run(bench);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_TRUE(contains(outcome.err, "no folder")) << outcome.err;
    const auto pair = nlohmann::json::parse(contents(folder_ / "r.json"))["pairs"][0];
    std::string found;
    if (pair.contains(region))
      for (const auto& [name, value] : pair[region].items()) found += name + " ";
    return found;
  };
  EXPECT_EQ(names("noc"), "d1-all density ") << "without obj_map";
  fs::remove_all(folder_ / "k/training/disp_noc_0");
  EXPECT_EQ(names("noc"), "");
  EXPECT_EQ(names("all"), "d1-all density ");
  write_gray(folder_ / "k/training/obj_map/000000_10.png", size, [](int x, int) { return x > 5; });
  EXPECT_EQ(names("all"), "d1-all d1-bg d1-fg density ");
  // A folder with other pairs is incomplete.
  fs::create_directories(folder_ / "k/training/disp_noc_0");
  expect_refusal(bench, 1, {"disp_noc_0/000000_10.png", "unpack"});
  fs::remove_all(folder_ / "k/training/disp_noc_0");
  fs::remove_all(folder_ / "k/training/disp_occ_0");
  expect_refusal(bench, 1, {"disp_occ_0", "unpack"});
}

TEST_F(KittiTest, OutliersOf2012AreCountedAtFourThresholds) {
  fs::create_directories(folder_ / "k/training/colored_0");
  write_gray(folder_ / "k/training/colored_0/000000_10.png", size, noise);
  write_kitti("k", "000000_10", flat(size, 100));
  const auto board = tool::kitti_scoreboard(data("k"));
  expect_perfect(score(*board, "000000_10", flat(size, 100)));
  // Errors of 0, 1, … 9 from the second column on; the first column is occluded.
  const auto found =
      score(*board, "000000_10",
            map_of(size, [](int x, int) { return x == 0 ? 150 : 99.f + static_cast<float>(x); }));
  EXPECT_DOUBLE_EQ(found.at("noc out2"), 6 / 9.);
  EXPECT_DOUBLE_EQ(found.at("noc out3"), 5 / 9.);
  EXPECT_DOUBLE_EQ(found.at("noc out4"), 4 / 9.);
  EXPECT_DOUBLE_EQ(found.at("noc out5"), 3 / 9.);
  EXPECT_DOUBLE_EQ(found.at("noc avgerr"), 4);
  EXPECT_DOUBLE_EQ(found.at("all out5"), 4 / 10.);
  EXPECT_DOUBLE_EQ(found.at("all avgerr"), 8.6);
}

// The files hold 1/256 to 255.996 pixels.
TEST_F(KittiTest, ScoresWhatTheFileHolds) {
  fs::create_directories(folder_ / "k/training/image_0");
  write_gray(folder_ / "k/training/image_0/000000_10.png", size, noise);
  write_kitti("k", "000000_10", flat(size, 10));
  EXPECT_DOUBLE_EQ(score(*tool::kitti_scoreboard(data("k")), "000000_10", flat(size, -50)).at("all avgerr"),
                   10 - 1 / 256.);
}

// Bad pixels are a share of those that have a disparity.
TEST_F(ScoreboardsTest, Eth3dSharesAreOfPixelsWithADisparity) {
  const Size size{10, 1};
  write_pair("e/training/room", size, 2, 8);
  write_truth("e/training/room", flat(size, 5));
  const auto board = tool::eth3d_scoreboard(data("e"));
  expect_perfect(score(*board, "room", flat(size, 5)));
  Map map = flat(size, 5);
  map.at(0, 0) = 7.5f;  // occluded
  map.at(1, 0) = 5.75f;
  map.at(2, 0) = none;
  map.at(3, 0) = 11;  // beyond the width: none
  map.at(4, 0) = 9.5f;
  const auto found = score(*board, "room", map);
  const std::map<std::string, double> expected{
      {"all coverage", 8 / 10.}, {"all bad0.5", 3 / 8.},   {"all bad1", 2 / 8.},   {"all bad2", 2 / 8.},
      {"all bad4", 1 / 8.},      {"noc coverage", 7 / 9.}, {"noc bad0.5", 2 / 7.}, {"noc bad4", 1 / 7.},
      {"all avgerr", 7.75 / 8},  {"all a50", 0},           {"all a90", 4.5},       {"noc avgerr", 5.25 / 7}};
  for (const auto& [name, value] : expected) EXPECT_NEAR(found.at(name), value, 1e-12) << name;
  EXPECT_EQ(score(*board, "room", flat(size, none)).at("all bad4"), 1);
}

TEST_F(ScoreboardsTest, MatchesEveryPairAndWritesTheSubmission) {
  for (const char* name : {"Piano", "Recycle"}) {
    const std::string pair = std::string("data/trainingH/") + name;
    write_pair(pair, {40, 24}, 5, 8);
    write_truth(pair, flat({40, 24}, 5));
  }
  const Outcome outcome = run(
      "bench --suite middlebury --data data --resolution H --method block --device cpu --submission out/sub "
      "--name Mine --json r.json");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "approximate"));
  for (const char* line : {"\nPiano ", "\nRecycle ", "\naverage "})
    EXPECT_TRUE(contains(outcome.out, line)) << outcome.out;
  const auto report = nlohmann::json::parse(contents(folder_ / "r.json"));
  ASSERT_EQ(report["pairs"].size(), 2u);
  EXPECT_EQ(report["pairs"][0]["pair"], "Piano");
  EXPECT_EQ(report["pairs"][0]["disparities"], 8);
  EXPECT_LT(report["average"]["nonocc"]["bad4"], 0.2);
  for (const char* name : {"Piano", "Recycle"}) {
    const fs::path folder = folder_ / "out/sub/trainingH" / name;
    const Map map = read_pfm((folder / "disp0Mine.pfm").string());
    EXPECT_EQ(map.size(), (Size{40, 24}));
    EXPECT_NEAR(map.at(20, 12), 5, 0.5);
    EXPECT_GT(std::stod(contents(folder / "timeMine.txt")), 0);
  }
  // The map in the file is the one that was scored.
  const auto eval = nlohmann::json::parse(
      run("eval --json out/sub/trainingH/Piano/disp0Mine.pfm data/trainingH/Piano/disp0GT.pfm").out);
  EXPECT_EQ(report["pairs"][0]["all"]["bad4"], eval["bad2"]);
}

TEST_F(ScoreboardsTest, SubmissionsOfTheOtherBenchmarks) {
  write_pair("e/training/room", {40, 24}, 5, 8);
  write_truth("e/training/room", flat({40, 24}, 5));
  ASSERT_EQ(run("bench --suite eth3d --data e --method census --submission s").status, 0);
  EXPECT_EQ(read_pfm((folder_ / "s/low_res_two_view/room.pfm").string()).size(), (Size{40, 24}));
  EXPECT_TRUE(contents(folder_ / "s/low_res_two_view/room.txt").starts_with("runtime 0."));

  // Test pairs have no truth.
  for (const char* set : {"2015/testing/image_", "2012/testing/image_"})
    for (const int view : {0, 1}) {
      const int number = view + (set[3] == '5' ? 2 : 0);
      write_gray(folder_ / (set + std::to_string(number)) / "000007_10.png", {300, 16},
                 [=](int x, int y) { return noise(x + 5 * view, y); });
    }
  for (const char* year : {"2015", "2012"}) {
    const Outcome outcome = run(std::string("bench --suite kitti --method block --data ") + year +
                                " --split test --submission k" + year);
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_FALSE(contains(outcome.out, "d1"));
  }
  for (const char* path : {"k2015/disp_0/000007_10.png", "k2012/000007_10.png"})
    EXPECT_NEAR(tool::read_disparity((folder_ / path).string()).at(150, 8), 5, 0.5) << path;
}

TEST_F(ScoreboardsTest, OnlySelectsPairs) {
  for (const char* name : {"a", "b", "c"}) {
    write_pair(std::string("e/training/") + name, {40, 24}, 5, 8);
    write_truth(std::string("e/training/") + name, flat({40, 24}, 5));
  }
  fs::remove(folder_ / "e/training/b/disp0GT.pfm");
  const Outcome outcome = run("bench --suite eth3d --data e --method block --only c --only a --json r.json");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const auto report = nlohmann::json::parse(contents(folder_ / "r.json"));
  ASSERT_EQ(report["pairs"].size(), 2u);
  EXPECT_EQ(report["pairs"][1]["pair"], "c");
  expect_refusal("bench --suite eth3d --data e --only d", 2, {"--only is 'd'"});
}

TEST_F(ScoreboardsTest, IncompleteDataAreRefusedByName) {
  write_pair("e/training/room", {40, 24}, 5, 8);
  write_truth("e/training/room", flat({40, 24}, 5));
  for (const char* file : {"im0.png", "im1.png", "calib.txt", "disp0GT.pfm", "mask0nocc.png"}) {
    const fs::path path = folder_ / "e/training/room" / file;
    fs::rename(path, folder_ / "away");
    expect_refusal("bench --suite eth3d --data e", 1, {"room", file, "--only"});
    fs::rename(folder_ / "away", path);
  }
  expect_refusal("bench --suite middlebury --data e", 1, {"no pairs in e/trainingQ", "MiddEval3-data-Q.zip"});
  expect_refusal("bench --suite kitti --data e", 1, {"e/training/", "image_2", "--data"});
  expect_refusal("bench --suite eth3d --data nowhere", 1, {"no pairs in nowhere/training"});
  expect_refusal("bench --suite eth3d", 2, {"--data is required"});
  expect_refusal("bench --suite eth3d --data e --split test", 2, {"--submission"});
  expect_refusal("bench --suite eth3d --data e --resolution H", 2, {"--resolution"});
  expect_refusal("bench --suite middlebury --data e --name a/b", 2, {"--name is 'a/b'"});
  write_pair("m/trainingQ/room", {40, 24}, 5, 8);
  write_truth("m/trainingQ/room", flat({40, 24}, 5));
  write(folder_ / "m/trainingQ/room/calib.txt", "cam0=[100 0 4; 0 100 4; 0 0 1]\nbaseline=10\n");
  expect_refusal("bench --suite middlebury --data m", 1, {"room/calib.txt has no ndisp", "--disparities"});
}

// ETH3D's calib.txt says so.
TEST_F(ScoreboardsTest, TheWidthIsNoRangeOfDisparities) {
  for (const char* name : {"e/training/room", "e/training/hall"}) {
    write_pair(name, {100, 24}, 5, name[11] == 'r' ? 100 : 20);
    write_truth(name, flat({100, 24}, 5));
  }
  ASSERT_EQ(run("bench --suite eth3d --data e --method block --json r.json").status, 0);
  const auto pairs = nlohmann::json::parse(contents(folder_ / "r.json"))["pairs"];
  EXPECT_EQ(pairs[0]["disparities"], 20);
  EXPECT_EQ(pairs[1]["disparities"], 64);
  const std::string match = "match e/training/room/im0.png e/training/room/im1.png --json --calib ";
  const auto searched = [&](const std::string& arguments) -> int {
    return nlohmann::json::parse(run(arguments).out)["disparities"];
  };
  EXPECT_EQ(searched(match + "e/training/room/calib.txt"), 64);
  EXPECT_EQ(searched(match + "e/training/hall/calib.txt"), 20);
  EXPECT_EQ(searched(match + "e/training/room/calib.txt --disparities 30"), 30);
  write(folder_ / "short.txt", "cam0=[100 0 4; 0 100 4; 0 0 1]\nbaseline=10\nndisp=100\n");
  EXPECT_EQ(searched(match + "short.txt"), 64) << "the pictures have the width that the file does not say";
}

TEST_F(ScoreboardsTest, InputsAreNotWrittenOver) {
  write_pair("e/training/room", {40, 24}, 5, 8);
  write_truth("e/training/room", flat({40, 24}, 5));
  fs::create_directories(folder_ / "s/low_res_two_view");
  fs::create_symlink("../../e/training/room/disp0GT.pfm", folder_ / "s/low_res_two_view/room.pfm");
  const std::string truth = contents(folder_ / "e/training/room/disp0GT.pfm");
  expect_refusal("bench --suite eth3d --data e --submission s", 2, {"room.pfm", "which is read"});
  expect_refusal("bench --suite eth3d --data e --json e/training/room/im0.png", 2, {"im0.png", "read"});
  EXPECT_EQ(contents(folder_ / "e/training/room/disp0GT.pfm"), truth);
}

// Middlebury requires other names for maps that have pixels without a disparity.
TEST_F(ScoreboardsTest, SparseMapsAreNamedSo) {
  write_pair("data/testQ/Plants", {40, 24}, 5, 8);
  const std::string command =
      "bench --suite middlebury --data data --split test --method block --fill none --submission s";
  const Outcome dense = run(command), sparse = run(command + " --sparse");
  ASSERT_EQ(sparse.status, 0) << sparse.err;
  EXPECT_TRUE(contains(dense.err, "--sparse")) << dense.err;
  EXPECT_EQ(sparse.err, "");
  EXPECT_EQ(contents(folder_ / "s/testQ/Plants/disp0block.pfm"),
            contents(folder_ / "s/testQ/Plants/disp0block_s.pfm"));
}

TEST_F(ScoreboardsTest, OptionsAreThoseOfTheBenchmarkAndTheMethod) {
  const std::string help = run("bench --suite middlebury --method block --help").out;
  for (const char* option : {"--resolution", "--submission", "--only", "--prefilter", "--disparities"})
    EXPECT_TRUE(contains(help, option)) << option;
  EXPECT_FALSE(contains(run("bench --suite kitti --help").out, "--resolution"));
  EXPECT_TRUE(contains(run("completion words bench --suite ''").out, "eth3d"));
  EXPECT_TRUE(contains(run("completion words bench --suite eth3d --sub").out, "--submission"));
  EXPECT_TRUE(contains(run("completion words bench --suite papers --da").out, "--data"));
}

}  // namespace
}  // namespace parallax::test
