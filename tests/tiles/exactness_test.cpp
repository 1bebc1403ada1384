// SPDX-License-Identifier: Apache-2.0
// Block and census matching in tiles give the bytes of the untiled map, for random images and parameters.

#include <algorithm>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "conformance/random_case.h"
#include "support.h"

namespace parallax::test {
namespace {

// A random pair for many tiles, and the random parameters that both methods share.
class TiledCase {
 public:
  explicit TiledCase(unsigned seed) : random_(seed) {
    static constexpr Size sizes[] = {{331, 61}, {257, 90}, {199, 130}, {412, 47}, {150, 149}};
    format_.size = sizes[any(0, 4)];
    format_.depth = any(0, 2) == 0 ? BitDepth::bits16 : BitDepth::bits8;
    disparities_ = any(1, 24);
    static constexpr int lowest[] = {0, 0, -7, -40, 30, -100, 90};
    min_disparity_ = lowest[any(0, 6)] + any(-3, 3);
    images_ = RandomPair(random_, format_, any(0, 1) == 0 ? 1 : 3, min_disparity_ + disparities_ / 2);
  }

  const ImageFormat& format() const { return format_; }
  StereoPair pair() const { return images_.pair(); }
  int any(int low, int high) { return random_number(random_, low, high); }

  template <class Parameters>
  void choose_common(Parameters& p) {
    p.min_disparity = min_disparity_;
    p.disparities = disparities_;
    p.uniqueness = any(0, 1) == 0 ? 0 : any(1, 100);
    p.sub_pixel = static_cast<SubPixel>(any(0, 2));
    p.refine.left_right_check = any(0, 3) != 0;
    p.refine.left_right_tolerance = static_cast<float>(any(0, 4)) / 2;
    p.refine.fill = static_cast<Fill>(any(0, 3));
    p.refine.median = any(0, 2) == 0 ? 0 : any(0, 1) == 0 ? 3 : 5;
    p.refine.speckle_size = any(0, 1) == 0 ? any(1, 30) : 0;
    static constexpr int windows[] = {0, 0, 0, 3, 5, 7};
    p.refine.weighted_median = windows[any(0, 5)];
    p.refine.weighted_median_range = any(1, 40);
    p.refine.bilateral = windows[any(0, 5)];
    p.refine.bilateral_range = any(1, 40);
    p.refine.bilateral_step = static_cast<float>(any(0, 12)) / 4;
  }

  std::string description() const {
    return "size " + std::to_string(format_.size.width) + "x" + std::to_string(format_.size.height) +
           " depth " + std::to_string(static_cast<int>(format_.depth)) + " min " +
           std::to_string(min_disparity_) + " labels " + std::to_string(disparities_);
  }

 private:
  std::mt19937 random_;
  ImageFormat format_;
  int disparities_, min_disparity_;
  RandomPair images_;
};

BlockParameters random_block(TiledCase& random) {
  BlockParameters p;
  random.choose_common(p);
  p.cost = static_cast<BlockCost>(random.any(0, 2));
  p.window = 2 * random.any(0, 4) + 1;
  p.prefilter = static_cast<Prefilter>(random.any(0, 1));
  p.prefilter_cap = random.any(1, 63);
  p.texture_threshold = random.any(0, 1) == 0 ? 0 : random.any(1, 2000);
  p.row_tolerance = random.any(0, 2) == 0 ? random.any(1, 3) : 0;
  p.row_prior = 0;  // no surface, because a tile would have its own
  return p;
}

CensusParameters random_census(TiledCase& random) {
  CensusParameters p;
  random.choose_common(p);
  p.transform = static_cast<CensusTransform>(random.any(0, 8));
  p.cost = static_cast<CensusCost>(random.any(0, 1));
  p.ad_truncation = random.any(1, 127);
  p.window = 2 * random.any(0, 4) + 1;
  p.pyramid_levels = random.any(1, 4);
  p.search_radius = random.any(0, 3) == 0 ? random.any(1, 1000) : random.any(1, 3);
  return p;
}

// Tiles hardly larger than their margins, so that there are many borders.
TileOptions small_tiles(TiledCase& random, const MatcherParameters& parameters, const ImageFormat& format) {
  const Margins m = margins(parameters, format);
  const int more = m.alignment + 14;
  return {.largest = {m.left + m.right + more + random.any(m.alignment, m.alignment + 30),
                      m.top + m.bottom + more + random.any(m.alignment, m.alignment + 20)}};
}

// Pixels that no tile writes keep the poison, and therefore differ.
Result match_tiled(const TilePlan& plan, const StereoPair& pair) {
  Result result(pair.left.format.size, 0x33, false, plan.row_offsets);
  match_in_tiles(plan, pair, result.map());
  return result;
}

void expect_exact(TiledCase& random, const MatcherParameters& parameters, const Device& device,
                  unsigned seed) {
  const ImageFormat format = random.format();
  TileOptions options = small_tiles(random, parameters, format);
  options.row_offsets = searches_rows(parameters);
  const TilePlan plan = plan_tiles(parameters, device, format, {}, options);
  EXPECT_TRUE(plan.margins.exact);
  const Result whole = match(parameters, device, random.pair(), 0xA5, plan.row_offsets);
  const Result tiled = match_tiled(plan, random.pair());
  EXPECT_TRUE(same_bytes(whole.status, tiled.status))
      << "status, seed " << seed << ", " << plan.tiles.size() << " tiles: " << random.description();
  EXPECT_TRUE(same_bytes(whole.disparity, tiled.disparity))
      << "disparity, seed " << seed << ", " << plan.tiles.size() << " tiles: " << random.description();
  EXPECT_TRUE(same_bytes(whole.row_offset, tiled.row_offset))
      << "row offsets, seed " << seed << ", " << plan.tiles.size() << " tiles: " << random.description();
}

TEST(TileExactness, BlockMatchingOnTheReference) {
  for (unsigned seed = 0; seed < (sanitized ? 1 : 4); ++seed) {
    TiledCase random(seed);
    expect_exact(random, random_block(random), reference, seed);
  }
}

TEST(TileExactness, BlockMatchingOnTheProcessor) {
  for (unsigned seed = 100; seed < (sanitized ? 110 : 170); ++seed) {
    TiledCase random(seed);
    expect_exact(random, random_block(random), cpu(2), seed);
  }
}

TEST(TileExactness, CensusMatchingOnTheReference) {
  for (unsigned seed = 0; seed < (sanitized ? 2 : 4); ++seed) {
    TiledCase random(seed);
    expect_exact(random, random_census(random), reference, seed);
  }
}

TEST(TileExactness, CensusMatchingOnTheProcessor) {
  for (unsigned seed = 100; seed < (sanitized ? 110 : 170); ++seed) {
    TiledCase random(seed);
    expect_exact(random, random_census(random), cpu(2), seed);
  }
}

// Ranges of both signs, with only the left-right check, to test how far it reads.
TEST(TileExactness, LeftRightCheckOfCensusMatching) {
  for (unsigned seed = 0; seed < (sanitized ? 30 : 80); ++seed) {
    TiledCase random(seed);
    CensusParameters p = plain_census();
    p.disparities = random.any(2, 24);
    p.min_disparity = -random.any(0, p.disparities - 1);
    p.transform = CensusTransform::census_5x5;
    p.window = 1;
    p.pyramid_levels = random.any(1, 2);
    p.refine.left_right_check = true;
    p.refine.left_right_tolerance = 0;
    expect_exact(random, p, cpu(1), seed);
  }
}

// One case only: an emulated GPU is slow, and compiles kernels for every size.
TEST(TileExactnessCuda, BlockAndCensusMatching) {
  if (!is_here(DeviceKind::cuda)) GTEST_SKIP() << "no GPU";
  constexpr unsigned seed = 500;
  TiledCase block(seed), census(seed);
  expect_exact(block, random_block(block), {DeviceKind::cuda}, seed);
  expect_exact(census, random_census(census), {DeviceKind::cuda}, seed);
}

}  // namespace
}  // namespace parallax::test
