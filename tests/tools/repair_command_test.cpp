// SPDX-License-Identifier: Apache-2.0
// 'parallax check --repair' and 'match --repair'.
#include <fstream>

#include <nlohmann/json.hpp>

#include "parallax/repair.h"

#include "check/faulty_rig.h"
#include "tools/command_fixture.h"
#include "tools/files/pictures.h"
#include "tools/picture_files.h"

namespace parallax::test {
namespace {

using tool::Picture;

class RepairCommand : public CommandTest {
 protected:
  static constexpr Size size{320, 240};

  void save_pair(const std::string& left, const std::string& right, const Faults& faults,
                 std::uint64_t seed = 1) const {
    const FaultyPair pair(size, seed, faults);
    const auto picture = [&](const Plane<std::uint8_t>& gray) {
      return make_picture(size, 1, BitDepth::bits8, [&](int x, int y, int) { return gray.at(x, y); });
    };
    save((folder_ / left).string(), picture(pair.left()));
    save((folder_ / right).string(), picture(pair.right()));
  }
  void save_rig(const Rig& rig) const { std::ofstream(folder_ / "rig.json") << to_json(rig); }
  Rig rig_in(const std::string& file) const { return rig_from_json(contents(folder_ / file), file); }
  double rows_off(const std::string& rig, const Faults& faults) const {
    const FaultyPair pair(size, 1, faults);
    return true_rows_off(pair, rig_in(rig), rectify(rig_in(rig)));
  }
  bool exists(const std::string& file) const { return fs::exists(folder_ / file); }
};

constexpr Faults turned{.roll = 0.01, .pitch = 0.008, .higher = 0.01};

TEST_F(RepairCommand, WritesTheRepairedRig) {
  save_pair("l.png", "r.png", turned);
  save_rig(faultless_rig(size));
  const Outcome outcome = run("check l.png r.png --rig rig.json --repair new.json");
  ASSERT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  EXPECT_TRUE(outcome.out.starts_with("Repaired from ")) << outcome.out;
  for (const char* word :
       {"\nrows off ", "\nright camera ", "\n  forward ", "\nbaseline ", "\nfocal lengths ", " ± "})
    EXPECT_TRUE(contains(outcome.out, word)) << word << " in: " << outcome.out;
  EXPECT_FALSE(contains(outcome.out, "guess")) << outcome.out;
  EXPECT_LT(rows_off("new.json", turned), 0.1);
  EXPECT_GT(rows_off("rig.json", turned), 1);
  // The same in another format, and as JSON.
  const Outcome other = run("check l.png r.png --rig rig.json --repair new.yml --json");
  ASSERT_EQ(other.status, 0) << other.err;
  const auto json = nlohmann::json::parse(other.out);
  EXPECT_EQ(json["verdict"], "repaired");
  EXPECT_EQ(json["guessed"], false);
  EXPECT_NEAR(json["rotation"]["forward"]["change"], 0.573, 0.02);
  EXPECT_EQ(json["rotation"]["forward"]["held"], true);
  EXPECT_GT(json["rows_off_95"]["before"], 1);
  EXPECT_LT(json["rows_off_95"]["after"], 0.15);
  EXPECT_TRUE(contains(run("rig show new.yml").out, "baseline"));
}

TEST_F(RepairCommand, GuessesARigWhereThereIsNone) {
  save_pair("l.png", "r.png", turned);
  const Outcome outcome = run("check l.png r.png --repair new.json --focal 300");
  ASSERT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "depth has no scale")) << outcome.out;
  EXPECT_EQ(rig_in("new.json").left.focal_x, 300);
  EXPECT_LT(rows_off("new.json", turned), 0.1);
}

TEST_F(RepairCommand, RefusesWhatThePointsDoNotHold) {
  const FaultyPair pair(size, 1, {});
  save_rig(faultless_rig(size));
  // The same picture shifted down: all points are equally far away.
  const auto shifted = [&](int rows) {
    return make_picture(size, 1, BitDepth::bits8, [&, rows](int x, int y, int) {
      return pair.left().at(std::min(x + 20, size.width - 1), std::max(y - rows, 0));
    });
  };
  save((folder_ / "l.png").string(), shifted(0));
  save((folder_ / "r.png").string(), make_picture(size, 1, BitDepth::bits8, [&](int x, int y, int) {
         return pair.left().at(std::min(x + 40, size.width - 1), std::max(y - 3, 0));
       }));
  const Outcome outcome = run("check l.png r.png --rig rig.json --repair new.json");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(outcome.out.starts_with("Not repaired: all points lie in one plane")) << outcome.out;
  EXPECT_FALSE(exists("new.json"));
  make_pair();
  const Outcome flat = run("check pair/left.png pair/left.png --repair new.json");
  EXPECT_EQ(flat.status, 1);
  EXPECT_TRUE(flat.out.starts_with("Not repaired: no points were found.")) << flat.out;
  EXPECT_FALSE(exists("new.json"));
}

TEST_F(RepairCommand, SequencesConvergeAndTellDrift) {
  save_rig(faultless_rig(size));
  const Faults later{.roll = 0.012, .pitch = 0.011, .higher = 0.01};
  for (int i = 0; i < 7; ++i) {
    const std::string number = std::to_string(i) + ".png";
    save_pair("l" + number, "r" + number, i < 3 ? turned : later, static_cast<std::uint64_t>(i + 1));
  }
  const Outcome outcome = run("check l%d.png r%d.png --rig rig.json --repair new.json");
  ASSERT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "The cameras moved at frame 3, rows by up to ")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "\nl3  ")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "differs from the frames before by ")) << outcome.out;
  EXPECT_LT(rows_off("new.json", later), 0.1);
  const auto json =
      nlohmann::json::parse(run("check l%d.png r%d.png --rig rig.json --repair new.json --json").out);
  EXPECT_EQ(json["list"].size(), 7u);
  EXPECT_EQ(json["drifts"][0]["frame"], 3);
  EXPECT_EQ(json["list"][3]["agrees"], false);
  // A frame that cannot be read is left out.
  fs::remove(folder_ / "r1.png");
  const Outcome broken = run("check l%d.png r%d.png --rig rig.json --repair new.json");
  EXPECT_EQ(broken.status, 0) << broken.out << broken.err;
  EXPECT_TRUE(contains(broken.out, "l1  cannot read r1.png")) << broken.out;
}

TEST_F(RepairCommand, MatchRepairsTheRig) {
  save_pair("l.png", "r.png", turned);
  save_rig(faultless_rig(size));
  const std::string match = "match l.png r.png --method block --disparities 64 --device cpu -o ";
  const Outcome outcome = run(match + "map.pfm --rig rig.json --repair --json");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "Repaired from ")) << outcome.err;
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["repair"]["verdict"], "repaired");
  // The result is the same as a match with the repaired rig.
  ASSERT_EQ(run("check l.png r.png --rig rig.json --repair new.json").status, 0);
  ASSERT_EQ(run(match + "again.pfm --rig new.json").status, 0);
  EXPECT_EQ(contents(folder_ / "map.pfm"), contents(folder_ / "again.pfm"));
  // A sequence is repaired by its first frames.
  for (int i = 0; i < 3; ++i)
    save_pair("l" + std::to_string(i) + ".png", "r" + std::to_string(i) + ".png", turned);
  const Outcome sequence =
      run("match l%d.png r%d.png --method block --disparities 64 --device cpu -o m%d.pfm --rig rig.json "
          "--repair");
  ASSERT_EQ(sequence.status, 0) << sequence.err;
  EXPECT_TRUE(exists("m2.pfm"));
}

TEST_F(RepairCommand, MatchWithoutARigMovesTheRightPictureOnly) {
  save_pair("l.png", "r.png", {.rows = 3, .roll = 0.003});
  save_pair("l0.png", "r0.png", {});
  const std::string options = " --method block --disparities 48 --device cpu -o ";
  const auto matched = [&](const std::string& pair, const std::string& more) {
    const Outcome outcome = run("match " + pair + options + "map.pfm " + more);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return read_pfm((folder_ / "map.pfm").string());
  };
  const FaultyPair truth(size, 1, {});
  const auto wrong = [&](const Plane<float>& map) {
    int count = 0;
    for (int y = 0; y < size.height; ++y)
      for (int x = 60; x < size.width; ++x)
        count += !(std::abs(static_cast<double>(map.at(x, y)) - truth.true_disparity(x, y)) <= 1);
    return count;
  };
  const int as_it_is = wrong(matched("l.png r.png", "--rows given")),
            repaired = wrong(matched("l.png r.png", "--repair")),
            without_faults = wrong(matched("l0.png r0.png", ""));
  EXPECT_LT(repaired, 0.7 * as_it_is) << without_faults;
  EXPECT_LT(repaired, 1.15 * without_faults) << as_it_is;
  EXPECT_TRUE(contains(run("match l.png r.png --repair" + options + "map.pfm").err,
                       "The left picture stays as it is."));
  // Turned so much that both pictures have to move.
  save_pair("lt.png", "rt.png", {.roll = 0.01, .higher = 0.1});
  EXPECT_TRUE(
      contains(run("match lt.png rt.png --repair" + options + "map.pfm").err, "Both pictures were moved."));
}

TEST_F(RepairCommand, RefusesWrongUse) {
  make_pair();
  save_pair("l.png", "r.png", turned);
  save_rig(faultless_rig(size));
  expect_refusal("check l.png r.png --focal 300", 2, {"--focal needs --repair"});
  expect_refusal("check l.png r.png --repair new.doc", 2, {"new.doc"});
  expect_refusal("check l.png r.png --repair new.json --image i.png", 2, {"--image"});
  expect_refusal("check l.png r.png --rig rig.json --repair rig.json", 2, {"rig.json"});
  expect_refusal("check l.png r.png --rig rig.json --repair new.json --focal 3", 2, {"--focal", "--rig"});
  expect_refusal("check l.png r.png --rig none.json --repair new.json", 1, {"none.json"});
  expect_refusal("check pair/left.png pair/right.png --rig rig.json --repair new.json", 1,
                 {"pair/left.png", "96×64", "320×240"});
  expect_refusal("match l.png r.png --repair --left-mask l.png -o m.pfm", 2, {"--left-mask", "--repair"});
  expect_refusal("match l.png r.png --repair --tile-size 64x64 -o m.pfm", 2, {"leave out --repair"});
  expect_refusal("match l.png r.png --repair --resume -o m.pfm", 2, {"leave out --repair"});
  expect_refusal("match pair/left.png pair/left.png --repair --disparities 16 -o m.pfm", 1, {"Not repaired"});
  EXPECT_FALSE(exists("new.json"));
  EXPECT_FALSE(exists("m.pfm"));
}

// Playtable is known to be rectified imperfectly.
TEST(RepairRealPair, PlaytableLosesAQuarterOfItsErrors) {
  const fs::path folder = data_folder() / "middlebury2014" / "Playtable";
  if (!fs::is_directory(folder)) GTEST_SKIP() << "PARALLAX_DATA names no folder of pairs";
  const tool::PicturePair pictures = tool::read_pair(folder / "left.png", folder / "right.png");
  const Size size = pictures.left.size();
  const StereoPair pair{pictures.left.view(), pictures.right.view()};
  RepairParameters parameters = RepairParameters::uncalibrated(size);
  parameters.keep_left = true;
  const RigRepair repair = repair_rig(guessed_rig(size), pair, parameters);
  ASSERT_TRUE(repair.repaired()) << repair.sentence;
  EXPECT_LT(repair.rows_after, 0.85 * repair.rows_before);
  const KeptLeft kept = keep_left(repair.rig);
  Picture left({size, BitDepth::bits8}, pictures.left.channels()),
      right({size, BitDepth::bits8}, pictures.right.channels());
  const auto output = [](Picture& picture) {
    return ImageOutput{picture.row(0), picture.view().format, picture.channels(),
                       picture.view().stride_bytes};
  };
  Rectifier(kept.rig, kept.rectification, Interpolation::lanczos3, Device{})
      .run(pair.left, pair.right, {output(left), output(right)});
  const Plane<float> truth = read_pfm((folder / "disp0GT.pfm").string());
  const auto wrong = [&](const StereoPair& matched) {
    MatcherParameters bp = preset("bp", "default");
    bp.disparities() = 73;
    Plane<float> map(size);
    Plane<std::uint8_t> status(size);
    Matcher(bp, Device{}, {size, BitDepth::bits8}).run(matched, {map.view(), status.view()});
    int count = 0;
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x)
        count += std::isfinite(truth.at(x, y)) && !(std::abs(map.at(x, y) - truth.at(x, y)) <= 1);
    return count;
  };
  EXPECT_LT(wrong({left.view(), right.view()}), 0.75 * wrong(pair));
}

}  // namespace
}  // namespace parallax::test
