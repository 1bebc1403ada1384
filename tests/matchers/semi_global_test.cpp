// SPDX-License-Identifier: Apache-2.0
// Semi-global matching: its results, and the meaning of its parameters.

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <random>
#include <tuple>

#include <gtest/gtest.h>

#include "support.h"

namespace parallax::test {
namespace {

using Parameters = SemiGlobalParameters;

std::vector<Device> devices() {
  return processors("sgm");
}

Parameters plain() {
  Parameters parameters;
  parameters.edge_contrast = 0;
  parameters.sub_pixel = SubPixel::none;
  parameters.refine = RefineParameters::none();
  return parameters;
}

Parameters of_volume(int labels) {
  Parameters parameters = plain();
  parameters.cost = DataCost::volume;
  parameters.disparities = labels;
  return parameters;
}

using Offset = std::array<int, 2>;

// The recursions of the papers, from the far end of each path, comparing every pair of labels.
class PlainPaths {
 public:
  PlainPaths(const Volume& data, const Parameters& parameters) : data_(data), parameters_(parameters) {}

  int best_label(int x, int y) {
    int best = 0;
    for (int label = 1; label < data_.labels(); ++label)
      if (sum(x, y, label) < sum(x, y, best)) best = label;
    return best;
  }

  std::int64_t sum(int x, int y, int label) {
    static const std::map<int, std::vector<Offset>> directions{
        {4, {{1, 0}, {-1, 0}, {0, 1}, {0, -1}}},
        {5, {{1, 0}, {-1, 0}, {1, 1}, {0, 1}, {-1, 1}}},
        {8, {{1, 0}, {-1, 0}, {1, 1}, {0, 1}, {-1, 1}, {1, -1}, {0, -1}, {-1, -1}}}};
    std::int64_t total = 0;
    for (const Offset& r : directions.at(parameters_.paths)) total += path(r, x, y)[index(label)];
    return total;
  }

 private:
  using Costs = std::vector<std::int64_t>;
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }

  const Costs& path(const Offset& r, int x, int y) {
    const auto key = std::tuple{r[0], r[1], x, y};
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
    const Costs straight = brought(r, x - r[0], y - r[1]), beside = brought(r, x + r[1], y - r[0]);
    Costs costs;
    for (int label = 0; label < data_.labels(); ++label) {
      const std::int64_t mean = (straight[index(label)] + beside[index(label)] + 1) / 2;
      costs.push_back(static_cast<std::int64_t>(data_.at(x, y, label)) +
                      (parameters_.aggregation == Aggregation::mgm ? mean : straight[index(label)]));
    }
    return known_[key] = costs;
  }

  // The contribution of a pixel to the path in direction r.
  Costs brought(const Offset& r, int x, int y) {
    Costs result(index(data_.labels()));
    if (x < 0 || y < 0 || x >= data_.size().width || y >= data_.size().height) return result;
    const Costs from = path(r, x, y);
    const std::int64_t least = *std::min_element(from.begin(), from.end());
    for (int label = 0; label < data_.labels(); ++label) {
      std::int64_t lowest = from[index(label)];
      for (int other = 0; other < data_.labels(); ++other) {
        const int jump = std::abs(label - other);
        const int cost = jump == 0 ? 0 : jump == 1 ? parameters_.small_jump : parameters_.large_jump;
        lowest = std::min(lowest, from[index(other)] + cost);
      }
      result[index(label)] = lowest - least;
    }
    return result;
  }

  const Volume& data_;
  Parameters parameters_;
  std::map<std::tuple<int, int, int, int>, Costs> known_;
};

Volume random_volume(std::mt19937& random, Size size, int labels, int highest) {
  Volume volume(size, labels);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x)
      for (int label = 0; label < labels; ++label)
        volume.at(x, y, label) = static_cast<float>(random_number(random, 0, highest));
  return volume;
}

void expect_plain_labels(const Volume& volume, const Parameters& parameters, const std::string& what) {
  PlainPaths expected(volume, parameters);
  for (const Device& device : devices()) {
    const Result result = match(parameters, device, volume.pair());
    for (int y = 0; y < volume.size().height; ++y)
      for (int x = 0; x < volume.size().width; ++x)
        ASSERT_EQ(result.disparity.at(x, y), static_cast<float>(expected.best_label(x, y)))
            << what << " on " << device.text() << " at " << x << ", " << y;
  }
}

TEST(SemiGlobalTest, GivesTheLabelsOfTheRecursionsOfThePapers) {
  std::mt19937 random(1);
  const auto any = [&](int low, int high) { return random_number(random, low, high); };
  for (int i = 0; i < (sanitized ? 40 : 200); ++i) {
    const int labels = any(2, 20);
    Parameters parameters = of_volume(labels);
    parameters.paths = std::array{4, 5, 8}[static_cast<std::size_t>(any(0, 2))];
    if (parameters.paths != 5 && any(0, 1) == 0) parameters.aggregation = Aggregation::mgm;
    parameters.small_jump = any(1, 30);
    parameters.large_jump = parameters.small_jump + any(1, 100);
    const Volume volume = random_volume(random, {any(1, 9), any(1, 8)}, labels, any(1, 3) * any(1, 200));
    ASSERT_NO_FATAL_FAILURE(expect_plain_labels(volume, parameters, "case " + std::to_string(i)));
  }
}

// P1 = 2, P2 = 5. On a single row, only the paths from left and right contribute; the other four, or two, are
// the costs. The left pixel, of costs (0, 9, 9, 9), contributes (0, 2, 5, 5).
TEST(SemiGlobalTest, OnePathByHand) {
  Parameters parameters = of_volume(4);
  parameters.small_jump = 2;
  parameters.large_jump = 5;
  parameters.paths = 4;
  const auto label_of = [&](const std::vector<float>& right_costs) {
    std::vector<float> costs{0, 9, 9, 9};
    costs.insert(costs.end(), right_costs.begin(), right_costs.end());
    const Volume volume({2, 1}, 4, costs);
    const float found = match(parameters, reference, volume.pair()).disparity.at(1, 0);
    for (const Device& device : devices())
      EXPECT_EQ(match(parameters, device, volume.pair()).disparity.at(1, 0), found) << device.text();
    return found;
  };
  EXPECT_EQ(label_of({4, 3, 9, 9}), 1.0f);  // sums of four paths: 16, 12 + 2
  EXPECT_EQ(label_of({3, 3, 9, 9}), 0.0f);  // 12, 14
  EXPECT_EQ(label_of({4, 9, 9, 3}), 0.0f);  // 16, 12 + 5
  EXPECT_EQ(label_of({9, 9, 3, 2}), 3.0f);  // 36, 38, 17, 13
}

// Path costs of black pixels beside white ones reach the highest data cost plus P2: 255 still fits in a byte.
TEST(SemiGlobalTest, PathCostsAtTheBoundOfBytes) {
  Plane<std::uint8_t> left({40, 30}), right({40, 30});
  std::mt19937 random(3);
  for (int y = 0; y < 30; ++y) {
    for (int x = 0; x < 40; ++x) {
      left.at(x, y) = static_cast<std::uint8_t>(255 * random_number(random, 0, 1));
      right.at(x, y) = static_cast<std::uint8_t>(255 * random_number(random, 0, 1));
    }
  }
  for (const int highest : {100, 200, 254}) {
    for (const int over : {-1, 0, 1}) {
      for (const int paths : {4, 5, 8}) {
        Parameters parameters = plain();
        parameters.cost = DataCost::absolute_difference;
        parameters.data_truncation = static_cast<float>(highest);
        parameters.outside_cost = highest;
        parameters.disparities = 17;
        parameters.paths = paths;
        parameters.large_jump = std::max(2, 255 - highest + over);
        parameters.small_jump = 1;
        const StereoPair pair{left.view(), right.view()};
        const Result expected = match(parameters, reference, pair, 0x11, true);
        expect_same(expected, match(parameters, cpu(2), pair, 0xEE, true),
                    std::to_string(highest) + ", " + std::to_string(parameters.large_jump));
      }
    }
  }
}

// With a P2 of up to 127, path costs fit in bytes for any data costs. The costs are near the limit, 2·P2
// above the lowest cost of a pixel, and far beyond.
TEST(SemiGlobalTest, PathCostsAtTheBoundOfBytesWithAnyDataCosts) {
  std::mt19937 random(4);
  for (const int large_jump : {2, 126, 127, 128}) {
    for (const int paths : {4, 5, 8}) {
      for (const Aggregation aggregation : {Aggregation::sgm, Aggregation::mgm}) {
        if (paths == 5 && aggregation == Aggregation::mgm) continue;
        Parameters parameters = of_volume(19);
        parameters.paths = paths;
        parameters.aggregation = aggregation;
        parameters.small_jump = 1;
        parameters.large_jump = large_jump;
        Volume volume({23, 11}, 19);
        for (int y = 0; y < 11; ++y) {
          for (int x = 0; x < 23; ++x) {
            const int least = 300 * random_number(random, 0, 20);
            for (int label = 0; label < 19; ++label)
              volume.at(x, y, label) = static_cast<float>(least + random_number(random, 0, 2) * large_jump +
                                                          random_number(random, -1, 1));
          }
        }
        const Result expected = match(parameters, reference, volume.pair(), 0x11, true);
        expect_same(expected, match(parameters, cpu(2), volume.pair(), 0xEE, true),
                    std::to_string(large_jump) + ", " + std::to_string(paths) + " paths");
      }
    }
  }
}

// Wide enough for several tiles, and high enough for many bands of rows.
TEST(SemiGlobalTest, BandsOfRowsGiveTheBytesOfTheReference) {
  const SynthPair pair = synthesize({.size = {301, 61}, .disparities = 30});
  const auto expect_bytes = [&](Parameters parameters, const std::string& what) {
    parameters.disparities = 33;
    const Result expected = match(parameters, reference, views(pair), 0x11, true);
    for (const int threads : {1, 2, 3, 7})
      expect_same(expected, match(parameters, cpu(threads), views(pair), 0xEE, true),
                  what + ", " + std::to_string(threads) + " threads");
  };
  for (const char* name : {"default", "mgm", "opencv-sgbm", "opencv-sgbm-hh", "libsgm"})
    expect_bytes(*preset("sgm", name).get_if<Parameters>(), name);
  Parameters parameters = *preset("sgm", "mgm").get_if<Parameters>();
  parameters.paths = 8;
  parameters.window = 5;
  expect_bytes(parameters, "mgm with 8 paths and a window of 5");
  parameters.right_map = RightMap::match;
  parameters.large_jump = 300;
  expect_bytes(parameters, "the same in words, with another match");
}

TEST(SemiGlobalTest, LargeJumpsAreCheaperAtEdges) {
  // A step in gray between columns 3 and 4; a volume that wants label 0 on the left and, weakly, label 5 on
  // the right.
  Plane<std::uint8_t> gray({8, 6});
  Volume volume(gray.size(), 6);
  for (int y = 0; y < 6; ++y) {
    for (int x = 0; x < 8; ++x) {
      gray.at(x, y) = x < 4 ? 20 : 200;
      for (int label = 0; label < 6; ++label) volume.at(x, y, label) = 10;
      volume.at(x, y, x < 4 ? 0 : 5) = x < 4 ? 0 : 8;
    }
  }
  StereoPair pair = volume.pair();
  pair.left = pair.right = gray.view();
  Parameters parameters = of_volume(6);
  parameters.small_jump = 4;
  parameters.large_jump = 60;
  for (const Device& device : devices()) {
    parameters.edge_contrast = 0;
    EXPECT_EQ(match(parameters, device, pair).disparity.at(4, 3), 0.0f) << device.text();
    parameters.edge_contrast = 5;
    EXPECT_EQ(match(parameters, device, pair).disparity.at(4, 3), 5.0f) << device.text();
  }
}

// Sums of a pixel without neighbours are four times its costs: 16 for label 1, 40 for label 3.
TEST(SemiGlobalTest, UniquenessComparesSumsOfLabelsThatAreNotNeighbours) {
  const Volume volume({1, 1}, 5, {7, 4, 5, 10, 99});
  for (const Device& device : devices()) {
    for (const auto& [uniqueness, status] : {std::pair{0, Status::matched},
                                             {59, Status::matched},
                                             {60, Status::matched},
                                             {61, Status::ambiguous}}) {
      Parameters parameters = of_volume(5);
      parameters.paths = 4;
      parameters.uniqueness = uniqueness;
      EXPECT_EQ(match(parameters, device, volume.pair()).status.at(0, 0), static_cast<std::uint8_t>(status))
          << uniqueness << " on " << device.text();
    }
  }
}

// Right pixel 0 belongs to label 0 of left pixel 0, of cost 10, and to label 1 of left pixel 1, of cost 20.
// Left pixel 0 takes label 1, which leads out of the image, so only left pixel 1 has taken a label that leads
// to it.
TEST(SemiGlobalTest, RightPixelsTakeTheBestSumOrTheBestWinner) {
  Parameters parameters = of_volume(2);
  parameters.paths = 4;
  parameters.small_jump = 1;
  parameters.large_jump = 2;
  parameters.refine.left_right_check = true;
  parameters.refine.left_right_tolerance = 0.5f;
  const Volume volume({2, 1}, 2, {10, 0, 50, 20});
  for (const Device& device : devices()) {
    parameters.right_map = RightMap::sums;
    EXPECT_EQ(match(parameters, device, volume.pair()).status.at(1, 0),
              static_cast<std::uint8_t>(Status::inconsistent))
        << device.text();
    parameters.right_map = RightMap::winners;
    EXPECT_EQ(match(parameters, device, volume.pair()).status.at(1, 0),
              static_cast<std::uint8_t>(Status::matched))
        << device.text();
  }
}

TEST(SemiGlobalTest, CostsOfAVolumeAreRoundedAndClamped) {
  Parameters parameters = of_volume(3);
  parameters.paths = 8;
  const float highest = static_cast<float>(65534 / 8 - parameters.large_jump);
  Volume volume({1, 1}, 3, {-5, 0.4f, 0.6f}), far({1, 1}, 3, {1e20f, highest, highest - 1});
  for (const Device& device : devices()) {
    EXPECT_EQ(match(parameters, device, volume.pair()).disparity.at(0, 0), 0.0f) << device.text();
    EXPECT_EQ(match(parameters, device, far.pair()).disparity.at(0, 0), 2.0f) << device.text();
  }
}

// A window of 3 adds up costs, also of repeated border pixels.
TEST(SemiGlobalTest, WindowsAddUpCosts) {
  Parameters parameters = of_volume(2);
  parameters.window = 3;
  parameters.paths = 4;
  // The middle pixel wants label 1 by 3; each of its two neighbours wants label 0 by 1.
  const Volume volume({3, 1}, 2, {0, 1, 3, 0, 0, 1});
  for (const Device& device : devices()) {
    EXPECT_EQ(match(parameters, device, volume.pair()).disparity.at(1, 0), 1.0f) << device.text();
    // The left one counts twice for itself: label 0 costs 3, label 1 costs 2.
    EXPECT_EQ(match(parameters, device, volume.pair()).disparity.at(0, 0), 1.0f) << device.text();
  }
}

TEST(SemiGlobalTest, EveryDataCostFindsAShift) {
  const ShiftedPair shifted({40, 20}, 5);
  for (const DataCost cost : {DataCost::absolute_difference, DataCost::absolute_difference_colour,
                              DataCost::census, DataCost::birchfield_tomasi,
                              DataCost::census_centre_symmetric, DataCost::gradient_birchfield_tomasi}) {
    Parameters parameters = plain();
    parameters.cost = cost;
    parameters.disparities = 12;
    for (const Device& device : devices())
      EXPECT_EQ(match(parameters, device, shifted.views()).disparity.at(25, 10), 5.0f)
          << static_cast<int>(cost) << " on " << device.text();
  }
}

TEST(SemiGlobalTest, RefusesWhatDoesNotFit) {
  const auto expect_refusal = [](const char* message, const auto& change) {
    Parameters parameters;
    parameters.paths = 8;
    change(parameters);
    expect_refused([&] { parameters.validate(); }, message);
  };
  expect_refusal("paths is 6: choose 4, 5 or 8", [](Parameters& p) { p.paths = 6; });
  expect_refusal("paths is 5: choose 4 or 8 with aggregation mgm", [](Parameters& p) {
    p.paths = 5;
    p.aggregation = Aggregation::mgm;
  });
  expect_refusal("large_jump is 16: choose more than small_jump", [](Parameters& p) { p.large_jump = 16; });
  expect_refusal("large_jump is 8191: choose less", [](Parameters& p) { p.large_jump = 8191; });
  expect_refusal("data_weight is 1000: choose less", [](Parameters& p) { p.data_weight = 1000; });
  expect_refusal("outside_cost is 8100: choose at most 8031", [](Parameters& p) { p.outside_cost = 8100; });
  expect_refusal("cost is mean_absolute_difference: choose another",
                 [](Parameters& p) { p.cost = DataCost::mean_absolute_difference; });
}

}  // namespace
}  // namespace parallax::test
