// SPDX-License-Identifier: Apache-2.0
// `parallax match` with data costs from a file, and with the error against a truth.

#include <nlohmann/json.hpp>

#include "support.h"
#include "tools/command_fixture.h"
#include "tools/picture_files.h"

namespace parallax::test {
namespace {

const std::string pair_of_files = "match pair/left.png pair/right.png --device reference ";

class CostFileTest : public CommandTest {
 protected:
  void SetUp() override { make_pair(); }

  // Writes the costs that tiled belief propagation itself computes for the pair.
  void write_costs(const fs::path& path, const TiledBeliefPropagationParameters& parameters) const {
    const tool::Picture left = tool::read_picture((folder_ / "pair/left.png").string()),
                        right = tool::read_picture((folder_ / "pair/right.png").string());
    const std::vector<float> costs = tiled_belief_propagation_costs(parameters, {left.view(), right.view()});
    write(path, encode_costs({costs.data(), left.view().format.size, parameters.disparities}));
  }
};

TEST_F(CostFileTest, TakesThePlaceOfTheMatchersOwnCosts) {
  TiledBeliefPropagationParameters parameters;
  parameters.disparities = 16;
  write_costs(folder_ / "costs.txt", parameters);
  const std::string options = pair_of_files + "--method tiled-bp --energy --json ";
  const Outcome own = run(options + "--disparities 16 -o own.pfm"),
                given = run(options + "--cost-file costs.txt -o given.pfm");
  ASSERT_EQ(own.status, 0) << own.err;
  ASSERT_EQ(given.status, 0) << given.err;
  EXPECT_EQ(contents(folder_ / "own.pfm"), contents(folder_ / "given.pfm"));
  const auto report = nlohmann::json::parse(given.out);
  EXPECT_EQ(report["parameters"]["cost"], "volume");
  EXPECT_EQ(report["disparities"], 16);
  EXPECT_EQ(report["energy"], nlohmann::json::parse(own.out)["energy"]);
}

TEST_F(CostFileTest, DisparitiesSaysHowManyLabelsThereAre) {
  TiledBeliefPropagationParameters parameters;
  parameters.disparities = 20;
  parameters.min_disparity = -2;
  write_costs(folder_ / "costs.txt", parameters);
  const std::string options = pair_of_files + "--min-disparity -2 --disparities 20 --no-left-right-check ";
  for (const std::string method : {"tiled-bp", "bp"}) {
    const Outcome given = run(options + "--cost-file costs.txt --json --method " + method);
    ASSERT_EQ(given.status, 0) << given.err;
    EXPECT_EQ(nlohmann::json::parse(given.out)["parameters"]["cost"], "volume");
    EXPECT_EQ(nlohmann::json::parse(given.out)["disparities"], 20);
  }
  expect_refusal(pair_of_files + "--method tiled-bp --cost-file costs.txt", 1,
                 {"costs.txt", "96×64 pixels with 16 labels", "there are " + std::to_string(96 * 64 * 20)});
}

TEST_F(CostFileTest, LabelsNeedNotBeDisparitiesOfThePictures) {
  ASSERT_EQ(run("synth narrow --size 8x6 --disparities 4").status, 0);
  const std::vector<float> costs(8 * 6 * 16, 1);
  write(folder_ / "costs.txt", encode_costs({costs.data(), {8, 6}, 16}));
  const Outcome outcome =
      run("match narrow/left.png narrow/right.png --device reference --method tiled-bp --cost-file costs.txt "
          "--json");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["disparities"], 16);
}

TEST_F(CostFileTest, RefusesWhatDoesNotFit) {
  TiledBeliefPropagationParameters parameters;
  parameters.disparities = 16;
  write_costs(folder_ / "costs.txt", parameters);
  write(folder_ / "bad.txt", "96 64\n1 2 x");
  const std::string bp = pair_of_files + "--method bp ", tiled = pair_of_files + "--method tiled-bp ";
  for (const char* method : {"block", "census"})
    expect_refusal(pair_of_files + "--cost-file costs.txt --method " + method, 2,
                   {"--cost-file", "bp, sgm, tiled-bp"});
  expect_refusal(tiled + "--cost-file costs.txt --cost census", 2, {"--cost", "exclude each other"});
  expect_refusal(tiled + "--cost-file costs.pfm -o costs.pfm", 2, {"costs.pfm", "by this command"});
  expect_refusal(bp + "--cost-file none.txt", 1, {"none.txt", "No such file"});
  expect_refusal(bp + "--cost-file bad.txt", 1, {"bad.txt", "is cut short"});
  expect_refusal(bp + "--cost-file pair/left.png", 1, {"pair/left.png", "width or height"});
  expect_refusal(tiled + "--cost-file costs.txt --disparities 1", 2, {"--disparities is '1'"});
  ASSERT_EQ(run("synth other --size 90x64").status, 0);
  expect_refusal(
      "match other/left.png other/right.png --device reference --method tiled-bp --cost-file costs.txt", 1,
      {"costs.txt", "96×64", "90×64"});
  expect_refusal("match pair other --method tiled-bp --cost-file costs.txt", 2, {"--cost-file", "sequence"});
}

class TruthOptionTest : public CommandTest {
 protected:
  void SetUp() override { make_pair(); }
};

TEST_F(TruthOptionTest, ReportsWhatEvalDoes) {
  for (const std::string method : {"block", "tiled-bp"}) {
    const Outcome match =
        run(pair_of_files + "--disparities 16 -o d.pfm --truth pair/disp0GT.pfm --json --method " + method);
    ASSERT_EQ(match.status, 0) << match.err;
    const Outcome eval = run("eval d.pfm pair/disp0GT.pfm --json");
    ASSERT_EQ(eval.status, 0) << eval.err;
    const auto report = nlohmann::json::parse(match.out), error = nlohmann::json::parse(eval.out);
    EXPECT_EQ(report["error"], error);
    EXPECT_EQ(report["mismatches"], error["mismatches"]);
    EXPECT_GT(error["mismatches"], 0);
    EXPECT_EQ(error["count"], 96 * 64);
  }
  EXPECT_FALSE(nlohmann::json::parse(run(pair_of_files + "--json").out).contains("error"));
}

TEST_F(TruthOptionTest, EightBitTruthHasAScale) {
  const Plane<float> truth = tool::read_disparity((folder_ / "pair/disp0GT.pfm").string());
  // Every other row is unknown.
  save((folder_ / "truth.png").string(),
       make_picture(truth.size(), 1, BitDepth::bits8, [&](int x, int y, int) {
         return y % 2 == 0 ? static_cast<unsigned>(std::lround(8 * truth.at(x, y))) : 0u;
       }));
  const Outcome match = run(pair_of_files + "-o d.pfm --truth truth.png --truth-scale 8 --json");
  ASSERT_EQ(match.status, 0) << match.err;
  EXPECT_EQ(nlohmann::json::parse(match.out)["error"],
            nlohmann::json::parse(run("eval d.pfm truth.png --truth-scale 8 --json").out));
  expect_refusal(pair_of_files + "--truth truth.png --json", 1, {"8 bits", "--truth-scale"});
}

TEST_F(TruthOptionTest, RefusesWhatDoesNotFit) {
  expect_refusal(pair_of_files + "--truth pair/disp0GT.pfm", 2, {"--truth", "--json"});
  expect_refusal(pair_of_files + "--truth-scale 4 --json", 2, {"--truth-scale", "give both"});
  expect_refusal(pair_of_files + "--truth pair/disp0GT.pfm --json -o pair/disp0GT.pfm", 2,
                 {"by this command"});
  expect_refusal(pair_of_files + "--truth none.pfm --json", 1, {"none.pfm", "No such file"});
  ASSERT_EQ(run("synth other --size 90x64").status, 0);
  expect_refusal(pair_of_files + "--truth other/disp0GT.pfm --json", 1, {"90×64", "96×64", "one size"});
  expect_refusal("match pair other --truth pair/disp0GT.pfm --json", 2, {"--truth", "sequence"});
}

}  // namespace
}  // namespace parallax::test
