// SPDX-License-Identifier: Apache-2.0
// Refinement after the tiles, in strips of any height, gives the same bytes as on the complete map.

#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support.h"

namespace parallax::test {
namespace {

// A plan of many tiles; no matcher is made for it.
TilePlan plan_of(Size size, const RefineParameters& refine) {
  BlockParameters parameters;
  parameters.disparities = 4;
  parameters.window = 3;
  parameters.refine = refine;
  return plan_tiles(parameters, cpu(2), {size, BitDepth::bits8}, {}, {.largest = {37, 31}});
}

// A map with holes of all kinds and few values, so that there are small and large regions.
Result random_map(std::mt19937& random, Size size) {
  Result map(size);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      const int kind = random_number(random, 0, 9);
      const Status status = kind == 0   ? Status::input_masked
                            : kind == 1 ? Status::inconsistent
                                        : Status::matched;
      map.status.at(x, y) = static_cast<std::uint8_t>(status);
      map.disparity.at(x, y) = status == Status::matched
                                   ? static_cast<float>(random_number(random, 0, 3)) * 0.7f
                                   : std::numeric_limits<float>::infinity();
    }
  return map;
}

// Applies the steps to the complete map, one after the other.
Result refined(const Result& tiles, const RefineParameters& steps, const ImageView& left) {
  Result map = Result(tiles.disparity.size());
  for (int y = 0; y < tiles.disparity.height(); ++y) {
    std::copy_n(tiles.disparity.row(y), tiles.disparity.width(), map.disparity.row(y));
    std::copy_n(tiles.status.row(y), tiles.status.width(), map.status.row(y));
  }
  if (steps.speckle_size > 1) speckle_filter(map.map(), steps.speckle_size, steps.speckle_range);
  if (steps.fill == Fill::row) fill_row(map.map());
  if (steps.fill == Fill::planes) fill_planes(map.map(), left);
  if (steps.fill == Fill::directions || steps.fill == Fill::planes) fill_directions(map.map(), left);
  const View<float> disparity = map.disparity.view();
  if (steps.median > 0) median(disparity, steps.median);
  if (steps.weighted_median > 0)
    weighted_median(disparity, left, steps.weighted_median, steps.weighted_median_range);
  if (steps.bilateral > 0)
    bilateral(disparity, left, steps.bilateral, steps.bilateral_range, steps.bilateral_step);
  return map;
}

// Takes the place of the files of tiles, and records the reads.
class Store {
 public:
  Store(Result& tiles, const ImageView& left)
      : tiles_(tiles),
        left_(left),
        stitched_(tiles.disparity.size(), 0xA5, false, tiles.row_offset.width() > 0) {}

  Strips strips() {
    return {[this](const Tile& tile, int first, const DisparityMap& rows) { read(tile, first, rows); },
            [this](int first, int rows) { return left_rows(first, rows); },
            [this](int first, const DisparityMap& rows) { write(first, rows); }};
  }

  const Result& stitched() const { return stitched_; }
  int rows_written() const { return rows_written_; }
  int left_asked() const { return left_asked_; }
  // The rows that were read, with the numbers of their tiles.
  const std::vector<std::pair<int, int>>& reads() const { return reads_; }

 private:
  void read(const Tile& tile, int first, const DisparityMap& rows) {
    const Size size = rows.disparity.size;
    EXPECT_EQ(size.width, tile.inside.size.width);
    EXPECT_EQ(size, rows.status.size);
    EXPECT_GE(first, tile.inside.y);
    EXPECT_LE(first + size.height, tile.inside.y + tile.inside.size.height);
    for (int y = 0; y < size.height; ++y) {
      reads_.emplace_back(tile.number, first + y);
      std::copy_n(tiles_.disparity.row(first + y) + tile.inside.x, size.width, rows.disparity.row(y));
      std::copy_n(tiles_.status.row(first + y) + tile.inside.x, size.width, rows.status.row(y));
      if (!rows.row_offset.empty())
        std::copy_n(tiles_.row_offset.row(first + y) + tile.inside.x, size.width, rows.row_offset.row(y));
    }
  }

  // Rows lie at a new address each time, as when they are read from a file.
  ImageView left_rows(int first, int rows) {
    ++left_asked_;
    const Size size{left_.format.size.width, rows};
    copy_ = Plane<std::uint8_t>(size);
    for (int y = 0; y < rows; ++y)
      std::copy_n(static_cast<const std::uint8_t*>(left_.row(first + y)), size.width, copy_.row(y));
    return copy_.view();
  }

  void write(int first, const DisparityMap& rows) {
    EXPECT_EQ(first, rows_written_) << "rows must come in order";
    const Size size = rows.disparity.size;
    EXPECT_EQ(size.width, stitched_.disparity.width());
    for (int y = 0; y < size.height; ++y) {
      std::copy_n(rows.disparity.row(y), size.width, stitched_.disparity.row(first + y));
      std::copy_n(rows.status.row(y), size.width, stitched_.status.row(first + y));
      if (!rows.row_offset.empty())
        std::copy_n(rows.row_offset.row(y), size.width, stitched_.row_offset.row(first + y));
    }
    rows_written_ += size.height;
  }

  Result& tiles_;
  ImageView left_;
  Plane<std::uint8_t> copy_;
  Result stitched_;
  int rows_written_ = 0, left_asked_ = 0;
  std::vector<std::pair<int, int>> reads_;
};

Plane<std::uint8_t> random_image(std::mt19937& random, Size size) {
  Plane<std::uint8_t> image(size);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x)
      image.at(x, y) = static_cast<std::uint8_t>(random_number(random, 0, 40));
  return image;
}

RefineParameters random_steps(std::mt19937& random) {
  const auto any = [&](std::initializer_list<int> values) {
    return values.begin()[random_number(random, 0, static_cast<int>(values.size()) - 1)];
  };
  RefineParameters steps;
  steps.speckle_size = any({0, 1, 2, 5, 9, 30, 2'000'000'000});
  steps.speckle_range = static_cast<float>(any({0, 1}));
  steps.fill = static_cast<Fill>(any({0, 1, 2, 3}));
  steps.median = any({0, 3, 5});
  steps.weighted_median = any({0, 0, 3, 7});
  steps.bilateral = any({0, 0, 5, 9});
  return steps;
}

TEST(StitchTest, GivesTheBytesOfTheWholeMapForStripsOfAnyHeight) {
  std::mt19937 random(3);
  for (int i = 0; i < (sanitized ? 12 : 40); ++i) {
    const Size size{random_number(random, 1, 90), random_number(random, 1, 70)};
    const RefineParameters steps = random_steps(random);
    Result tiles = random_map(random, size);
    const Plane<std::uint8_t> left = random_image(random, size);
    const Result expected = refined(tiles, steps, left.view());
    const TilePlan plan = plan_of(size, steps);
    for (const int rows : {1, 2, 7, 16, 33, 70, 1'000'000}) {
      Store store(tiles, left.view());
      stitch(plan, rows, store.strips());
      EXPECT_TRUE(same_bytes(expected, store.stitched()))
          << "map " << i << ", strips of " << rows << ", speckle " << steps.speckle_size << ", median "
          << steps.median << ", weighted " << steps.weighted_median << ", bilateral " << steps.bilateral;
      EXPECT_EQ(store.rows_written(), size.height);
    }
  }
}

// Also where rows without any value take their row offsets from rows of other strips.
TEST(StitchTest, RowOffsetsAreThoseOfTheWholeMap) {
  std::mt19937 random(5);
  const Size size{23, 420};
  for (const Fill fill : {Fill::none, Fill::row, Fill::directions, Fill::planes}) {
    BlockParameters parameters;
    parameters.disparities = 4;
    parameters.window = 3;
    parameters.row_tolerance = 1;
    parameters.refine.fill = fill;
    parameters.refine.speckle_size = 5;
    Result tiles(size, 0xA5, false, true);
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x) {
        const bool empty = (y >= 20 && y < 60) || (y >= 100 && y < 390) || random_number(random, 0, 9) == 0;
        tiles.disparity.at(x, y) = empty ? std::numeric_limits<float>::infinity() : 1.5f;
        tiles.row_offset.at(x, y) = empty ? std::numeric_limits<float>::infinity()
                                          : static_cast<float>(random_number(random, -4, 4)) / 4;
        tiles.status.at(x, y) = static_cast<std::uint8_t>(empty ? Status::inconsistent : Status::matched);
      }
    const Plane<std::uint8_t> left = random_image(random, size);
    const TilePlan plan = plan_tiles(parameters, cpu(2), {size, BitDepth::bits8}, {}, {.row_offsets = true});
    Store whole(tiles, left.view());
    stitch(plan, size.height, whole.strips());
    const Result& expected = whole.stitched();
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x)
        ASSERT_EQ(std::isfinite(expected.row_offset.at(x, y)), std::isfinite(expected.disparity.at(x, y)));
    EXPECT_EQ(std::isfinite(expected.row_offset.at(11, 40)),
              fill == Fill::directions || fill == Fill::planes);
    for (const int rows : {1, 16, 33, 150}) {
      Store store(tiles, left.view());
      stitch(plan, rows, store.strips());
      EXPECT_TRUE(same_bytes(expected, store.stitched()))
          << "fill " << static_cast<int>(fill) << ", strips of " << rows;
    }
  }
}

// Tiles may be in files that are read from start to end.
TEST(StitchTest, ReadsEveryRowOfATileOnceAndInOrder) {
  std::mt19937 random(4);
  Result tiles = random_map(random, {80, 61});
  RefineParameters steps;
  steps.speckle_size = 9;
  steps.fill = Fill::row;
  const TilePlan plan = plan_of({80, 61}, steps);
  ASSERT_GT(plan.tiles.size(), 4u);
  for (const int rows : {1, 5, 20, 61}) {
    Store store(tiles, ImageView());
    stitch(plan, rows, store.strips());
    std::vector<int> next;
    for (const Tile& tile : plan.tiles) next.push_back(tile.inside.y);
    for (const auto& [tile, row] : store.reads()) EXPECT_EQ(row, next[static_cast<std::size_t>(tile)]++);
    for (const Tile& tile : plan.tiles)
      EXPECT_EQ(next[static_cast<std::size_t>(tile.number)], tile.inside.y + tile.inside.size.height);
    EXPECT_EQ(store.left_asked(), 0) << "no step is guided";
  }
}

// A column of one disparity that crosses many strips is kept or removed by its total size, not by that of its
// parts.
TEST(StitchTest, CountsSpecklesAcrossStrips) {
  const Size size{40, 50};
  for (const int length : {11, 12, 13}) {
    RefineParameters steps = RefineParameters::none();
    steps.speckle_size = 12;
    Result tiles(size);
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x) {
        const bool of_the_column = x == 17 && y >= 19 && y < 19 + length;
        tiles.disparity.at(x, y) = of_the_column ? 30.0f : 5.0f;
        tiles.status.at(x, y) = static_cast<std::uint8_t>(Status::matched);
      }
    const TilePlan plan = plan_of(size, steps);
    for (const int rows : {1, 3, 4, 50}) {
      Store store(tiles, ImageView());
      stitch(plan, rows, store.strips());
      for (int y = 19; y < 19 + length; ++y)
        EXPECT_EQ(status_at(store.stitched(), 17, y), length < 12 ? Status::speckle : Status::matched)
            << length << " pixels, row " << y << ", strips of " << rows;
    }
  }
}

// A value is taken from just as many rows away as in the complete map.
TEST(StitchTest, FillsFromAsManyRowsAwayAsInTheWholeMap) {
  const Size size{3, 400};
  RefineParameters steps = RefineParameters::none();
  steps.fill = Fill::directions;
  std::mt19937 random(6);
  const Plane<std::uint8_t> left = random_image(random, size);
  Result tiles(size);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      const bool has_value = x == 0 && (y == 130 || y == 390);
      tiles.disparity.at(x, y) = has_value ? 7.0f : std::numeric_limits<float>::infinity();
      tiles.status.at(x, y) = static_cast<std::uint8_t>(has_value ? Status::matched : Status::inconsistent);
    }
  const Result expected = refined(tiles, steps, left.view());
  EXPECT_EQ(status_at(expected, 0, 2), Status::filled);
  EXPECT_EQ(status_at(expected, 0, 1), Status::inconsistent);
  for (const int rows : {1, 16, 70}) {
    Store store(tiles, left.view());
    stitch(plan_of(size, steps), rows, store.strips());
    EXPECT_TRUE(same_bytes(expected, store.stitched())) << "strips of " << rows;
    EXPECT_GT(store.left_asked(), 0);
  }
}

// A slanted surface with noise and holes.
Result random_slant(std::mt19937& random, Size size) {
  Result map(size);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      const bool has_value = random_number(random, 0, 1) == 0;
      const float noise = 0.1f * static_cast<float>(random_number(random, 0, 9));
      map.disparity.at(x, y) = has_value
                                   ? 0.1f * static_cast<float>(x) + 0.01f * static_cast<float>(y) + noise
                                   : std::numeric_limits<float>::infinity();
      map.status.at(x, y) = static_cast<std::uint8_t>(has_value ? Status::matched : Status::inconsistent);
    }
  return map;
}

// Superpixels of strips begin where those of the complete map do, and influence one another over many cells.
TEST(StitchTest, FillsWithThePlanesOfTheWholeMap) {
  std::mt19937 random(8);
  RefineParameters steps = RefineParameters::none();
  steps.fill = Fill::planes;
  int planes = 0;
  for (const int height : {767, 1131, 1201}) {
    const Size size{70, height};
    const Plane<std::uint8_t> left = random_image(random, size);
    Result tiles = random_slant(random, size);
    const Result expected = refined(tiles, steps, left.view());
    const Result without = refined(tiles, {.fill = Fill::directions, .median = 0}, left.view());
    for (int y = 0; y < height; ++y) planes += expected.disparity.at(30, y) != without.disparity.at(30, y);
    for (const int rows : {1, 32, 77, 500}) {
      if (rows == 1 && height != 767) continue;
      Store store(tiles, left.view());
      stitch(plan_of(size, steps), rows, store.strips());
      EXPECT_TRUE(same_bytes(expected, store.stitched())) << height << " rows, strips of " << rows;
    }
  }
  EXPECT_GT(planes, 300);
}

// Copies the rows of a map from `first` to `end`.
Result rows_of(const Result& map, int first, int end) {
  Result rows({map.disparity.width(), end - first});
  for (int y = first; y < end; ++y) {
    std::copy_n(map.disparity.row(y), map.disparity.width(), rows.disparity.row(y - first));
    std::copy_n(map.status.row(y), map.status.width(), rows.status.row(y - first));
  }
  return rows;
}

// Refines strips of `rows` rows, each by itself, with `missing` rows less than its halo.
Result refined_in_strips(const Result& tiles, const MatcherParameters& parameters, const ImageView& left,
                         int rows, int missing = 0) {
  const Halo around = halo(parameters);
  const int height = tiles.disparity.height();
  Result stitched(tiles.disparity.size());
  for (int first = 0; first < height; first += rows) {
    const int highest = std::max(0, first - around.rows + missing);
    const int top = highest - highest % around.alignment, end = std::min(height, first + rows);
    const int bottom = std::min(height, end + around.rows - missing);
    Result strip = rows_of(tiles, top, bottom);
    const ImageView part{
        left.row(top), {{left.format.size.width, bottom - top}, left.format.depth}, 1, left.stride_bytes};
    refine_strip(parameters, part, strip.map(), 2);
    for (int y = first; y < end; ++y) {
      std::copy_n(strip.disparity.row(y - top), left.format.size.width, stitched.disparity.row(y));
      std::copy_n(strip.status.row(y - top), left.format.size.width, stitched.status.row(y));
    }
  }
  return stitched;
}

TEST(RefineStripTest, GivesTheBytesOfTheWholeMapForStripsOfAnyHeight) {
  std::mt19937 random(9);
  for (int i = 0; i < (sanitized ? 12 : 40); ++i) {
    const Size size{random_number(random, 1, 90), random_number(random, 1, 70)};
    BlockParameters parameters;
    parameters.refine = random_steps(random);
    Result tiles = random_map(random, size);
    const Plane<std::uint8_t> left = random_image(random, size);
    const Result expected = refined(tiles, parameters.refine, left.view());
    for (const int rows : {1, 7, 33, 70})
      EXPECT_TRUE(same_bytes(expected, refined_in_strips(tiles, parameters, left.view(), rows)))
          << "map " << i << ", strips of " << rows;
  }
}

TEST(RefineStripTest, HasAHaloThatIsTight) {
  std::mt19937 random(10);
  BlockParameters parameters;
  parameters.refine = RefineParameters::none();
  parameters.refine.fill = Fill::planes;
  const Size size{70, 1131};
  const Plane<std::uint8_t> left = random_image(random, size);
  Result tiles = random_slant(random, size);
  const Result expected = refined(tiles, parameters.refine, left.view());
  EXPECT_TRUE(same_bytes(expected, refined_in_strips(tiles, parameters, left.view(), 100)));
  parameters.refine = RefineParameters::none();
  parameters.refine.median = 5;
  EXPECT_EQ(halo(parameters).rows, 2);
  const Result medians = refined(tiles, parameters.refine, left.view());
  EXPECT_TRUE(same_bytes(medians, refined_in_strips(tiles, parameters, left.view(), 10)));
  EXPECT_FALSE(same_bytes(medians, refined_in_strips(tiles, parameters, left.view(), 10, 1)));
}

TEST(RefineStripTest, SaysWhatItNeedsAndRefusesTheRest) {
  std::mt19937 random(11);
  BlockParameters parameters;
  Result strip = random_map(random, {80, 40});
  const Plane<std::uint8_t> left = random_image(random, {80, 39});
  EXPECT_EQ(halo(parameters).alignment, 32);
  const std::size_t few = refine_strip_memory_bytes(parameters, {1000, 100});
  EXPECT_GT(few, std::size_t{1000} * 100 * 8);
  EXPECT_NEAR(static_cast<double>(refine_strip_memory_bytes(parameters, {1000, 1000})), 10.0 * few,
              1.0 * few);
  expect_refused([&] { refine_strip(parameters, left.view(), strip.map()); },
                 "rows of the left image are 80×39");
  expect_refused([&] { refine_strip(parameters, left.view(), {}); }, "image is 0×0");
  parameters.refine.refit = 5;
  expect_refused([&] { halo(parameters); }, "refit is not available in tiles");
  expect_refused([&] { refine_strip(parameters, left.view(), strip.map()); }, "refit");
  expect_refused([&] { refine_strip_memory_bytes(parameters, {80, 40}); }, "refit");
}

// Windows begin where cells begin, so they may be higher than necessary.
TEST(StitchTest, HoldsMoreRowsForPlanes) {
  RefineParameters steps = RefineParameters::none();
  steps.fill = Fill::planes;
  const TilePlan plan = plan_of({1000, 5003}, steps);
  const std::size_t whole = stitch_memory_bytes(plan, 5003);
  EXPECT_LT(stitch_memory_bytes(plan, 100), whole / 5);
  for (const int rows : {1, 100, 3000}) {
    const int most = max_rows_to_stitch(plan, stitch_memory_bytes(plan, rows));
    EXPECT_GE(most, rows);
    EXPECT_LT(most, rows + 32);
  }
}

TEST(StitchTest, HoldsMemoryByTheRowsOfAStrip) {
  RefineParameters steps;
  steps.speckle_size = 20;
  steps.fill = Fill::row;
  const TilePlan plan = plan_of({1000, 5000}, steps);
  const std::size_t few = stitch_memory_bytes(plan, 10), more = stitch_memory_bytes(plan, 110),
                    whole = stitch_memory_bytes(plan, 5000);
  EXPECT_LT(few, std::size_t{1000} * (10 + 2 * 25) * 24);
  EXPECT_LT(more - few, std::size_t{1000} * 100 * 24);
  EXPECT_LT(more, whole / 10);
  EXPECT_EQ(stitch_memory_bytes(plan, 1'000'000), whole);
  for (const int rows : {1, 10, 4000}) {
    EXPECT_EQ(max_rows_to_stitch(plan, stitch_memory_bytes(plan, rows)), rows);
    EXPECT_EQ(max_rows_to_stitch(plan, stitch_memory_bytes(plan, rows) - 1), rows - 1);
  }
  EXPECT_EQ(max_rows_to_stitch(plan, 2 * whole), 5000);
}

TEST(StitchTest, HoldsRowsOfTheLeftImageThatGuideAStep) {
  RefineParameters steps;
  steps.speckle_size = 20;
  steps.fill = Fill::row;
  const TilePlan unguided = plan_of({1000, 5000}, steps);
  steps.bilateral = 5;
  const TilePlan guided = plan_of({1000, 5000}, steps);
  EXPECT_GE(stitch_memory_bytes(guided, 100) - stitch_memory_bytes(unguided, 100),
            std::size_t{1000} * (100 + 2 * 21) * 3);
}

TEST(StitchTest, RefusesRowsOutOfRange) {
  const TilePlan plan = plan_of({80, 61}, {});
  expect_refused([&] { stitch_memory_bytes(plan, 0); }, "rows is 0");
  expect_refused([&] { stitch(plan, -1, {}); }, "rows is -1");
}

TEST(StitchTest, RefusesRowsOfTheLeftImageOfAnotherSize) {
  std::mt19937 random(4);
  Result tiles = random_map(random, {80, 61});
  RefineParameters steps;
  steps.bilateral = 5;
  const Plane<std::uint8_t> left = random_image(random, {79, 61});
  Store store(tiles, left.view());
  expect_refused([&] { stitch(plan_of({80, 61}, steps), 8, store.strips()); }, "rows of the left image");
}

}  // namespace
}  // namespace parallax::test
