// SPDX-License-Identifier: Apache-2.0
// 'parallax check' and '--disparities auto'.
#include <nlohmann/json.hpp>

#include "check/faulty_pair.h"
#include "tools/command_fixture.h"
#include "tools/parallax/check_report.h"
#include "tools/parallax/pictures.h"
#include "tools/picture_files.h"

namespace parallax::test {
namespace {

using tool::Picture;

class CheckCommand : public CommandTest {
 protected:
  static constexpr Size size{320, 240};

  Picture picture(const Plane<std::uint8_t>& gray) const {
    return make_picture(size, 1, Depth::bits8, [&](int x, int y, int) { return gray.at(x, y); });
  }
  void save_pair(const std::string& left, const std::string& right, const Faults& faults) const {
    const FaultyPair pair(size, 1, faults);
    save((folder_ / left).string(), picture(pair.left()));
    save((folder_ / right).string(), picture(pair.right()));
  }
};

TEST_F(CheckCommand, PrintsTheSentenceAndTheFigures) {
  save_pair("l.png", "r.png", {});
  const Outcome fit = run("check l.png r.png");
  EXPECT_EQ(fit.status, 0) << fit.err;
  EXPECT_TRUE(fit.out.starts_with("The pair is fit to be matched")) << fit.out;
  for (const char* word :
       {"\nrows off ", "\n  rotation ", "\n  residual ", "\ndisparities ",
        "\nsearch        --min-disparity 0 --disparities 48", "\nexposure ", "\nsharpness ", "\ncorners "})
    EXPECT_TRUE(contains(fit.out, word)) << word << " in: " << fit.out;

  save_pair("l.png", "r.png", {.rows = 0.7});
  const Outcome off = run("check l.png r.png");
  EXPECT_EQ(off.status, 1);
  EXPECT_TRUE(contains(off.out, "above all because the right picture is shifted by ")) << off.out;
  EXPECT_EQ(off.err, "");
  EXPECT_EQ(run("check l.png r.png --max-rows-off 1").status, 0);
  EXPECT_EQ(run("check r.png l.png --max-rows-off 1").status, 1);
}

TEST_F(CheckCommand, ReportsAsJson) {
  save_pair("l.png", "r.png", {.rows = 0.7});
  const Outcome outcome = run("check l.png r.png --json");
  EXPECT_EQ(outcome.status, 1);
  const auto report = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(report["verdict"], "rows_off");
  EXPECT_EQ(report["fit"], false);
  EXPECT_EQ(report["size"]["width"], 320);
  EXPECT_NEAR(report["rows_off"]["median"], 0.7, 0.03);
  EXPECT_NEAR(report["model"]["shift"]["value"], 0.7, 0.03);
  EXPECT_EQ(report["model"]["shift"]["held"], true);
  EXPECT_GT(report["disparities"]["disparities"], 0);
  EXPECT_GT(report["disparities"]["histogram"]["points"].size(), 5u);
  EXPECT_NEAR(report["exposure"]["gain"], 1, 0.02);
}

TEST_F(CheckCommand, DrawsRowsOffInColours) {
  save_pair("l.png", "r.png", {.rows = 0.9});
  ASSERT_EQ(run("check l.png r.png --image rows.png").status, 1);
  const Picture drawn = tool::read_picture((folder_ / "rows.png").string());
  ASSERT_EQ(drawn.size(), size);
  const auto colour = [&](int x, int y, int channel) { return value_at(drawn, x, y, channel); };
  int red = 0, blue = 0;
  for (int y = 0; y < size.height - 24; ++y)  // above the scale
    for (int x = 0; x < size.width; ++x) {
      red += colour(x, y, 0) > 200 && colour(x, y, 2) == 0;
      blue += colour(x, y, 2) > 200 && colour(x, y, 0) == 0;
    }
  EXPECT_GT(red, 1000);
  EXPECT_LT(blue, red / 50);
}

TEST_F(CheckCommand, ChecksEveryFrameOfASequence) {
  for (int i = 0; i < 4; ++i) {
    const std::string number = std::to_string(i) + ".png";
    save_pair("l" + number, "r" + number, {.rows = 0.2});
    save_pair("moving_l" + number, "moving_r" + number, {.rows = i % 2 == 0 ? -0.3 : 0.3});
  }
  const Outcome still = run("check l%d.png r%d.png");
  EXPECT_EQ(still.status, 0) << still.out << still.err;
  EXPECT_TRUE(contains(still.out, "All 4 frames are fit")) << still.out;
  EXPECT_TRUE(contains(still.out, "search        --min-disparity 0 --disparities 48")) << still.out;
  const Outcome moving = run("check moving_l%d.png moving_r%d.png");
  EXPECT_EQ(moving.status, 1);
  EXPECT_TRUE(contains(moving.out, "All 4 frames are fit to be matched, but the rows move by")) << moving.out;
  const auto json = nlohmann::json::parse(run("check moving_l%d.png moving_r%d.png --json").out);
  EXPECT_EQ(json["steady"], false);
  EXPECT_EQ(json["frames"].size(), 4u);
  fs::remove(folder_ / "r2.png");
  const Outcome broken = run("check l%d.png r%d.png");
  EXPECT_EQ(broken.status, 1);
  EXPECT_TRUE(contains(broken.out, "l2  cannot read r2.png")) << broken.out;
}

TEST_F(CheckCommand, RefusesWrongUse) {
  save_pair("l.png", "r.png", {});
  expect_refusal("check l.png", 2, {"RIGHT is required"});
  expect_refusal("check l.png r.png --image rows.jpg", 2, {"rows.jpg", ".png"});
  expect_refusal("check l.png r.png --image l.png", 2, {"l.png"});
  expect_refusal("check l.png none.png", 1, {"none.png"});
  expect_refusal("check l.png r.png --max-rows-off 0", 2, {"--max-rows-off"});
  expect_refusal("check l.png r.png --side-by-side", 2, {"--side-by-side"});
  EXPECT_FALSE(fs::exists(folder_ / "rows.jpg"));
}

TEST_F(CheckCommand, MatchSearchesTheRangeOfThePair) {
  save_pair("l.png", "r.png", {});
  const Outcome outcome = run("match l.png r.png --method block --disparities auto --json");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "--min-disparity 0 --disparities 48")) << outcome.err;
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["disparities"], 48);
  const Outcome exchanged = run("match r.png l.png --method block --disparities=auto --json");
  ASSERT_EQ(exchanged.status, 0) << exchanged.err;
  EXPECT_TRUE(contains(exchanged.err, "exchanged")) << exchanged.err;
  EXPECT_LT(nlohmann::json::parse(exchanged.out)["parameters"]["min_disparity"], -30);
  const std::string pair = "match l.png r.png --method block --disparities auto ";
  expect_refusal("match l.png l.png --disparities auto", 1, {"no range", "same"});
  expect_refusal(pair + "--min-disparity 1", 2, {"--min-disparity", "auto"});
  expect_refusal(pair + "--disparities 16", 2, {"--disparities", "auto"});
  expect_refusal(pair + "--full-row", 2, {"--full-row"});
  expect_refusal("plan l.png r.png --disparities auto --plan p.json", 2, {"parallax check"});
  expect_refusal("match l%d.png r%d.png --disparities auto", 1, {"l%d.png"});
}

// Shared pairs: Playtable's rows are known to be off, all others are good.
class CheckRealPair : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::is_directory(data_folder())) GTEST_SKIP() << "PARALLAX_DATA names no folder of pairs";
  }
};

TEST_F(CheckRealPair, NoFalseAlarmAndTheRangeHoldsTheTruth) {
  int pairs = 0;
  for (const auto& entry : fs::recursive_directory_iterator(data_folder())) {
    if (entry.path().filename() != "left.png") continue;
    const fs::path folder = entry.path().parent_path();
    const tool::PicturePair pictures = tool::read_pair(entry.path(), folder / "right.png");
    const PairReport report = check_pair({pictures.left.view(), pictures.right.view()});
    const bool off = folder.filename() == "Playtable";
    EXPECT_EQ(report.verdict, off ? Verdict::rows_off : Verdict::fit) << folder << " " << report.sentence;
    ++pairs;
    if (!fs::exists(folder / "disp0GT.pfm")) continue;
    const Plane<float> truth = read_pfm((folder / "disp0GT.pfm").string());
    int outside = 0;
    float highest = 0;
    for (int y = 0; y < truth.height(); ++y)
      for (int x = 0; x < truth.width(); ++x) {
        const float disparity = truth.at(x, y);
        if (!std::isfinite(disparity)) continue;
        const auto label = disparity - static_cast<float>(report.range.min_disparity);
        outside += label < 0 || label > static_cast<float>(report.range.disparities - 1);
        highest = std::max(highest, disparity);
      }
    EXPECT_EQ(outside, 0) << folder;
    EXPECT_LE(report.range.disparities, highest + 33) << folder;
  }
  EXPECT_GE(pairs, 18);
}

}  // namespace
}  // namespace parallax::test
