// SPDX-License-Identifier: Apache-2.0
// The MEMOCODE 2013 design contest on its own pair: the labels of its reference program, and those of tiles.
// Skipped without the data.

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support.h"
#include "tools/command_fixture.h"
#include "tools/files/pictures.h"

namespace parallax::test {
namespace {

// The program of the contest ignores a frame of this width.
constexpr int frame = 18;
constexpr Size counted{348, 252};

struct Contest {
  tool::Picture left, right;
  Plane<std::uint8_t> truth, reference_labels;  // for the counted pixels
};

class DesignContest : public testing::Test {
 protected:
  void SetUp() override {
    const fs::path pair = data_folder() / "middlebury2003" / "tsukuba",
                   labels = data_folder() / "papers" / "memocode2013-tsukuba";
    for (const fs::path& folder : {pair, labels})
      if (!fs::exists(folder)) GTEST_SKIP() << "no " << folder << ": set PARALLAX_DATA";
    contest_ = {tool::read_picture((pair / "left.png").string()),
                tool::read_picture((pair / "right.png").string()),
                tool::read_mask((labels / "truth-labels.png").string()),
                tool::read_mask((labels / "bpm40-labels.png").string())};
    ASSERT_EQ(contest_.truth.size(), counted);
    ASSERT_EQ(contest_.reference_labels.size(), counted);
  }

  StereoPair pair() const { return {contest_.left.view(), contest_.right.view()}; }

  static int differences(const Result& result, const Plane<std::uint8_t>& labels) {
    int count = 0;
    for (int y = 0; y < counted.height; ++y)
      for (int x = 0; x < counted.width; ++x)
        count += result.disparity.at(x + frame, y + frame) != static_cast<float>(labels.at(x, y));
    return count;
  }

  Contest contest_;
};

TEST_F(DesignContest, TheWholeImageGivesTheLabelsOfTheReferenceProgram) {
  TiledBeliefPropagationParameters parameters = preset<TiledBeliefPropagationParameters>("memocode-2013");
  parameters.tile = 0;
  parameters.inner = 20;  // 40 iterations, as in that program
  for (const Device& device : processors("tiled-bp")) {
    const Result result = match(parameters, device, pair());
    EXPECT_EQ(differences(result, contest_.reference_labels), 0) << device.text();
    EXPECT_EQ(differences(result, contest_.truth), 17743) << device.text();
  }
}

TEST_F(DesignContest, TilesMissAsManyPixelsAsEver) {
  struct Case {
    int tile, outer, inner, mismatches;
  };
  for (const auto& [tile, outer, inner, mismatches] :
       {Case{13, 1, 1, 20144}, {13, 2, 2, 14289}, {32, 1, 1, 19878}, {32, 2, 2, 18638}, {64, 1, 1, 19991}}) {
    TiledBeliefPropagationParameters parameters = preset<TiledBeliefPropagationParameters>("memocode-2013");
    parameters.tile = tile;
    parameters.outer = outer;
    parameters.inner = inner;
    for (const Device& device : processors("tiled-bp"))
      EXPECT_EQ(differences(match(parameters, device, pair()), contest_.truth), mismatches)
          << device.text() << ", tiles of " << tile << ", " << outer << " outer and " << inner << " inner";
  }
}

TEST_F(DesignContest, SmoothedImagesHalveTheMismatches) {
  for (const Device& device : processors("tiled-bp")) {
    const Result result =
        match(preset<TiledBeliefPropagationParameters>("memocode-2013-tuned"), device, pair());
    EXPECT_EQ(differences(result, contest_.truth), 11191) << device.text();
  }
}

// The data costs that the matcher computes, given to it as a volume.
TEST_F(DesignContest, CostsThatAreGivenLeadToTheSameLabels) {
  TiledBeliefPropagationParameters parameters = preset<TiledBeliefPropagationParameters>("memocode-2013");
  const std::vector<float> costs = tiled_belief_propagation_costs(parameters, pair());
  StereoPair given = pair();
  given.costs = CostVolume(costs.data(), given.left.format.size, parameters.disparities);
  parameters.cost = DataCost::volume;
  for (const Device& device : processors("tiled-bp"))
    EXPECT_EQ(differences(match(parameters, device, given), contest_.truth), 20144) << device.text();
}

class DesignContestCommand : public CommandTest {
 protected:
  void SetUp() override {
    pair_ = (data_folder() / "middlebury2003" / "tsukuba").string();
    if (!fs::exists(pair_)) GTEST_SKIP() << "no " << pair_ << ": set PARALLAX_DATA";
  }

  nlohmann::json report(const std::string& options) const {
    const Outcome outcome = run("match '" + pair_ + "/left.png' '" + pair_ + "/right.png' --truth '" + pair_ +
                                "/groundtruth.png' --truth-scale 16 --energy --json --device reference "
                                "--method tiled-bp --preset memocode-2013 " +
                                options);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return nlohmann::json::parse(outcome.out);
  }

  std::string pair_;
};

// Middlebury's truth has no values in the same frame.
TEST_F(DesignContestCommand, OneCommandCountsMismatchesAndEnergy) {
  const auto found = report("");
  EXPECT_EQ(found["error"]["count"], counted.pixels());
  EXPECT_EQ(found["mismatches"], 20144);
  EXPECT_EQ(found["energy"], 379755);
  const auto iterated = report("--tile 0 --inner 20");
  EXPECT_EQ(iterated["mismatches"], 17743);
  EXPECT_EQ(iterated["energy"], 336379);
}

TEST_F(DesignContestCommand, TheContestsFileOfCostsLeadsToTheSameLabels) {
  const tool::Picture left = tool::read_picture(pair_ + "/left.png"),
                      right = tool::read_picture(pair_ + "/right.png");
  const std::vector<float> costs = tiled_belief_propagation_costs(
      preset<TiledBeliefPropagationParameters>("memocode-2013"), {left.view(), right.view()});
  write(folder_ / "vdata_in.txt", encode_costs({costs.data(), left.view().format.size, 16}));
  const auto found = report("--cost-file vdata_in.txt --frame 0");
  EXPECT_EQ(found["mismatches"], 20144);
  EXPECT_EQ(found["energy"], 379755);
}

}  // namespace
}  // namespace parallax::test
