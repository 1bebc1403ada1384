// SPDX-License-Identifier: Apache-2.0
#include "refine/refine.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "parallax/device.h"
#include "parallax/error.h"

#include "rows/row_offsets.h"
#include "support.h"

namespace parallax {
namespace {

using decision::code;
constexpr float none = decision::no_value;

using Rows = std::vector<std::vector<float>>;
using Marks = std::vector<std::vector<Status>>;
constexpr Status ok = Status::matched, lost = Status::inconsistent, spot = Status::speckle,
                 copied = Status::filled, masked = Status::input_masked;

// A disparity map from rows of values; pixels with a value are `matched`, others `ambiguous`.
struct Map {
  Plane<float> disparity;
  Plane<std::uint8_t> status;

  explicit Map(const Rows& rows)
      : disparity({static_cast<int>(rows[0].size()), static_cast<int>(rows.size())}),
        status(disparity.size()) {
    for (int y = 0; y < disparity.height(); ++y) {
      for (int x = 0; x < disparity.width(); ++x) {
        disparity.at(x, y) = rows[y][x];
        status.at(x, y) = code(rows[y][x] < none ? ok : Status::ambiguous);
      }
    }
  }

  DisparityMap view() { return {disparity.view(), status.view()}; }
  Rows values() const {
    Rows rows;
    for (int y = 0; y < disparity.height(); ++y)
      rows.emplace_back(disparity.row(y), disparity.row(y) + disparity.width());
    return rows;
  }
  Marks marks() const {
    Marks rows(disparity.height());
    for (int y = 0; y < disparity.height(); ++y)
      for (int x = 0; x < disparity.width(); ++x) rows[y].push_back(static_cast<Status>(status.at(x, y)));
    return rows;
  }
  Map copy() const {
    Map map(values());
    for (int y = 0; y < status.height(); ++y) std::copy_n(status.row(y), status.width(), map.status.row(y));
    return map;
  }
  bool same_bytes(const Map& other) const {
    for (int y = 0; y < disparity.height(); ++y)
      if (std::memcmp(disparity.row(y), other.disparity.row(y), disparity.width() * sizeof(float)) != 0 ||
          std::memcmp(status.row(y), other.status.row(y), status.width()) != 0)
        return false;
    return true;
  }
};

// Values in quarters from −4 to 12, some of them missing.
Rows random_rows(Size size, unsigned seed) {
  std::mt19937 random(seed);
  Rows rows(size.height, std::vector<float>(size.width));
  for (auto& row : rows)
    for (float& value : row) value = random() % 5 == 0 ? none : static_cast<float>(random() % 64) / 4 - 4;
  return rows;
}

using test::expect_refused;

Map checked(const std::vector<float>& left, const std::vector<float>& right, float tolerance) {
  Map map({left});
  left_right_check(map.view(), Map({right}).disparity.view(), tolerance);
  return map;
}

TEST(LeftRightCheckTest, ConsistentPixelsStayAndOthersAreMarked) {
  const Map map = checked({9, 0, 2, 2, 3}, {2, 3, 0, 0, 0}, 0);
  EXPECT_EQ(map.values(), (Rows{{none, none, 2, none, 3}}));
  EXPECT_EQ(map.marks(), (Marks{{lost, lost, ok, lost, ok}}));
}

TEST(LeftRightCheckTest, ColumnOutsideTheImageIsInconsistent) {
  EXPECT_EQ(checked({1, 0, 0}, {1, 0, 0}, 5).marks(), (Marks{{lost, ok, ok}}));
  EXPECT_EQ(checked({0, 0, -1}, {0, 0, -1}, 5).marks(), (Marks{{ok, ok, lost}}));
  EXPECT_EQ(checked({1e9f, -1e9f, 3e38f}, {0, 0, 0}, 3e38f).marks(), (Marks{{lost, lost, lost}}));
}

TEST(LeftRightCheckTest, FirstAndLastColumnsAreInside) {
  EXPECT_EQ(checked({0, 0, 2}, {2, 0, 0}, 0).marks()[0][2], ok);
  EXPECT_EQ(checked({-2, 0, 0}, {0, 0, -2}, 0).marks()[0][0], ok);
}

TEST(LeftRightCheckTest, ToleranceItselfIsAllowed) {
  EXPECT_EQ(checked({5, 1}, {2, 5}, 1).marks()[0][1], ok);
  EXPECT_EQ(checked({5, 1}, {0, 5}, 1).marks()[0][1], ok);
  EXPECT_EQ(checked({5, 1}, {2.25f, 5}, 1).marks()[0][1], lost);
  EXPECT_EQ(checked({5, 1}, {-0.25f, 5}, 1).marks()[0][1], lost);
}

TEST(LeftRightCheckTest, ToleranceMayBeAFraction) {
  // The right map has integer labels.
  const std::vector<float> right{1, 9, 9, 9};
  for (const float disparity : {1.0f, 0.75f, 1.25f, 1.5f})
    EXPECT_EQ(checked({0, disparity, 0, 0}, right, 0.6f).marks()[0][1], ok) << disparity;
  const std::vector<float> other{9, 2, 9, 9};
  EXPECT_EQ(checked({0, 0, 1.25f, 0}, other, 0.6f).marks()[0][2], lost);
  EXPECT_EQ(checked({0, 0, 1.25f, 0}, other, 0.75f).marks()[0][2], ok);
  EXPECT_EQ(checked({0, 0, 0.75f, 0}, {9, 0, 9, 9}, 0.6f).marks()[0][2], lost);
}

TEST(LeftRightCheckTest, RightPixelWithoutAValueIsInconsistent) {
  EXPECT_EQ(checked({0}, {none}, 3e38f).marks(), (Marks{{lost}}));
  EXPECT_EQ(checked({0}, {std::numeric_limits<float>::quiet_NaN()}, 3e38f).marks(), (Marks{{lost}}));
}

TEST(LeftRightCheckTest, PixelWithoutAValueKeepsItsStatus) {
  const Map map = checked({none, 0}, {0, 0}, 1);
  EXPECT_EQ(map.values(), (Rows{{none, 0}}));
  EXPECT_EQ(map.marks(), (Marks{{Status::ambiguous, ok}}));
}

TEST(LeftRightCheckTest, ColumnIsTheNearestAndTiesGoToTheLowerDisparity) {
  // Column 4 is compared with column 4 − 1 of the right map only.
  for (const float disparity : {0.75f, 1.0f, 1.25f, 1.5f})
    EXPECT_EQ(checked({0, 0, 0, 0, disparity}, {9, 9, 9, 1, 9}, 0.5f).marks()[0][4], ok) << disparity;
  EXPECT_EQ(checked({0, 0, 0, 0, 0.5f}, {9, 9, 9, 9, 0.5f}, 0).marks()[0][4], ok);
  EXPECT_EQ(checked({0, 0, 0, 0, 1.75f}, {9, 9, 1.75f, 9, 9}, 0).marks()[0][4], ok);
}

TEST(LeftRightCheckTest, NegativeDisparitiesLookToTheRight) {
  EXPECT_EQ(checked({-2, 0, 0, 0}, {9, 9, -2, 9}, 0).marks()[0][0], ok);
  EXPECT_EQ(checked({-1.5f, 0, 0, 0}, {9, 9, -1.5f, 9}, 0).marks()[0][0], ok);  // the lower of −2 and −1
  EXPECT_EQ(checked({-1.25f, 0, 0, 0}, {9, -1.25f, 9, 9}, 0).marks()[0][0], ok);
  EXPECT_EQ(checked({-0.5f, 0, 0, 0}, {9, -0.5f, 9, 9}, 0).marks()[0][0], ok);
}

TEST(LeftRightCheckTest, RowsAreCheckedAgainstTheirOwn) {
  Map left({{0, 0}, {1, 1}}), right({{0, 1}, {1, 0}});
  left_right_check(left.view(), right.disparity.view(), 0);
  EXPECT_EQ(left.marks(), (Marks{{ok, lost}, {lost, ok}}));
}

// The row offsets of a map, with a view of them.
struct RowOffsets {
  explicit RowOffsets(const Rows& rows)
      : plane({static_cast<int>(rows[0].size()), static_cast<int>(rows.size())}) {
    for (int y = 0; y < plane.height(); ++y) std::copy_n(rows[y].begin(), plane.width(), plane.row(y));
  }
  Rows values() const {
    Rows rows;
    for (int y = 0; y < plane.height(); ++y) rows.emplace_back(plane.row(y), plane.row(y) + plane.width());
    return rows;
  }
  Plane<float> plane;
};

TEST(LeftRightCheckTest, RowOffsetsTellTheRow) {
  const Map right({{1, 1}, {2, 2}, {3, 3}});
  const auto checked_across = [&](const Rows& disparities, const Rows& offsets) {
    Map left(disparities);
    RowOffsets rows(offsets);
    DisparityMap map = left.view();
    map.row_offset = rows.plane.view();
    left_right_check(map, right.disparity.view(), 0);
    return left.marks();
  };
  EXPECT_EQ(checked_across({{9, 2}, {9, 1}, {9, 1}}, {{0, 1}, {0, -1}, {0, -2}}),
            (Marks{{lost, lost}, {lost, ok}, {lost, ok}}));
  // The nearest row; ties go to the lower offset.
  EXPECT_EQ(checked_across({{9, 1}, {9, 1}, {9, 1}}, {{0, 0.5f}, {0, -0.75f}, {0, -1.5f}}),
            (Marks{{lost, ok}, {lost, ok}, {lost, ok}}));
  // Rows outside the map are not compared.
  EXPECT_EQ(checked_across({{9, 1}, {9, 1}, {9, 1}}, {{0, -1}, {0, -2}, {0, 1}}),
            (Marks{{lost, lost}, {lost, lost}, {lost, lost}}));
}

TEST(RowOffsetsTest, ArePassedOnAlongRowsThenFromRowToRow) {
  Map map({{none, 1, none, none, none, 1, none},
           {none, none, none, none, none, none, none},
           {1, 1, 1, 1, 1, 1, 1}});
  RowOffsets rows({{5, 1, 5, 5, 5, 2, 5}, {5, 5, 5, 5, 5, 5, 5}, {0, 1, 2, 3, 4, 5, 6}});
  DisparityMap views = map.view();
  views.row_offset = rows.plane.view();
  rows::fill_row_offsets(views, 1, Workers(2));
  EXPECT_EQ(rows.values(), (Rows{{1, 1, 1, 1, 2, 2, 2}, {1, 1, 1, 1, 2, 2, 2}, {0, 1, 2, 3, 4, 5, 6}}));
  rows::clear_row_offsets(views, Workers(2));
  EXPECT_EQ(rows.values()[0], (std::vector<float>{none, 1, none, none, none, 2, none}));
  EXPECT_EQ(rows.values()[1], std::vector<float>(7, none));
}

TEST(RowOffsetsTest, RowsAboveTheFirstOnesTakeThoseBelow) {
  Map map({{none}, {none}, {1}, {none}});
  RowOffsets rows({{7}, {7}, {2}, {7}});
  DisparityMap views = map.view();
  views.row_offset = rows.plane.view();
  rows::fill_row_offsets(views, 2, Workers(1));
  EXPECT_EQ(rows.values(), (Rows{{2}, {2}, {2}, {2}}));
}

TEST(RowOffsetsTest, RowsFartherAwayThanTheReachStayWithout) {
  Map map({{none}, {none}, {none}, {1}, {none}, {none}, {none}, {none}, {none}, {1}});
  RowOffsets rows({{7}, {7}, {7}, {2}, {7}, {7}, {7}, {7}, {7}, {3}});
  DisparityMap views = map.view();
  views.row_offset = rows.plane.view();
  rows::fill_row_offsets(views, 2, Workers(1));
  // Above first, within the reach; else below.
  EXPECT_EQ(rows.values(), (Rows{{none}, {2}, {2}, {2}, {2}, {2}, {none}, {3}, {3}, {3}}));
}

TEST(LeftRightCheckTest, BadArgumentsAreRefused) {
  Map left({{0, 0}});
  const Map right({{0, 0, 0}});
  Plane<std::uint8_t> status({1, 1});
  expect_refused([&] { left_right_check(left.view(), right.disparity.view(), 1); },
                 "right disparity map is 3×1");
  expect_refused(
      [&] {
        left_right_check({left.disparity.view(), status.view()}, left.disparity.view(), 1);
      },
      "status map is 1×1");
  expect_refused([&] { left_right_check(left.view(), left.disparity.view(), -1); }, "tolerance is -1");
  expect_refused([&] { left_right_check(left.view(), left.disparity.view(), std::nanf("")); },
                 "tolerance is nan");
}

Map filled(const std::vector<float>& row) {
  Map map({row});
  fill_row(map.view());
  return map;
}

TEST(FillRowTest, TakesTheLowerOfBothSides) {
  const Map map = filled({5, none, none, 3, none, 4});
  EXPECT_EQ(map.values(), (Rows{{5, 3, 3, 3, 3, 4}}));
  EXPECT_EQ(map.marks(), (Marks{{ok, copied, copied, ok, copied, ok}}));
}

TEST(FillRowTest, LowerIsFartherAlsoBelowZero) {
  EXPECT_EQ(filled({-5, none, -3}).values(), (Rows{{-5, -5, -3}}));
}

TEST(FillRowTest, BordersTakeTheOnlySideThereIs) {
  const Map map = filled({none, none, 4, 2, none});
  EXPECT_EQ(map.values(), (Rows{{4, 4, 4, 2, 2}}));
  EXPECT_EQ(map.marks(), (Marks{{copied, copied, ok, ok, copied}}));
}

TEST(FillRowTest, FilledPixelsAreNoSource) {
  EXPECT_EQ(filled({9, none, 1, none, 5}).values(), (Rows{{9, 1, 1, 1, 5}}));
}

TEST(FillRowTest, RowWithoutAnyValueStaysAsItIs) {
  Map map({{none, none}, {7, none}});
  fill_row(map.view());
  EXPECT_EQ(map.values(), (Rows{{none, none}, {7, 7}}));
  EXPECT_EQ(map.marks(), (Marks{{Status::ambiguous, Status::ambiguous}, {ok, copied}}));
}

TEST(FillRowTest, MaskedPixelsStayEmptyAndAreSeenThrough) {
  Map map({{none, 6, none, none, none, 4, none}});
  for (const int x : {0, 3}) map.status.at(x, 0) = code(masked);
  fill_row(map.view());
  EXPECT_EQ(map.values(), (Rows{{none, 6, 4, none, 4, 4, 4}}));
  EXPECT_EQ(map.marks(), (Marks{{masked, ok, copied, masked, copied, ok, copied}}));
}

TEST(FillRowTest, StatusMapMustHaveTheSize) {
  Map map({{0, 0}});
  Plane<std::uint8_t> status({3, 1});
  expect_refused([&] { fill_row({map.disparity.view(), status.view()}); }, "status map is 3×1");
}

using Levels = std::vector<std::vector<int>>;

Plane<std::uint8_t> plane_of(const Levels& levels) {
  Plane<std::uint8_t> plane({static_cast<int>(levels[0].size()), static_cast<int>(levels.size())});
  for (int y = 0; y < plane.height(); ++y)
    for (int x = 0; x < plane.width(); ++x) plane.at(x, y) = static_cast<std::uint8_t>(levels[y][x]);
  return plane;
}

Plane<std::uint8_t> flat(Size size) {
  return plane_of(Levels(size.height, std::vector<int>(size.width, 77)));
}

Map filled_from_all_sides(const Map& before, const Plane<std::uint8_t>& guide, int threads = 0) {
  Map map = before.copy();
  fill_directions(map.view(), guide.view(), threads);
  return map;
}

Map filled_from_all_sides(const Rows& rows, const Levels& levels) {
  return filled_from_all_sides(Map(rows), plane_of(levels));
}

Map filled_from_all_sides(const Rows& rows) {
  return filled_from_all_sides(Map(rows), flat(Map(rows).disparity.size()));
}

TEST(FillDirectionsTest, TakesTheLowestOfFourNeighbours) {
  const Map map = filled_from_all_sides({{none, 6, none}, {5, none, 7}, {none, 4, none}});
  EXPECT_EQ(map.values(), (Rows{{5, 6, 6}, {5, 4, 7}, {4, 4, 4}}));
  EXPECT_EQ(map.marks(), (Marks{{copied, ok, copied}, {ok, copied, ok}, {copied, ok, copied}}));
}

TEST(FillDirectionsTest, LowerIsFartherAlsoBelowZero) {
  EXPECT_EQ(filled_from_all_sides({{-5, none, -3}}).values(), (Rows{{-5, -5, -3}}));
  EXPECT_EQ(filled_from_all_sides({{-5}, {none}, {-6}}).values(), (Rows{{-5}, {-6}, {-6}}));
}

TEST(FillDirectionsTest, APixelOfDistanceWeighsHalfAPixelOfDisparity) {
  EXPECT_EQ(filled_from_all_sides({{1, none, none, none, 1.75f}}).values(), (Rows{{1, 1, 1, 1.75f, 1.75f}}));
  EXPECT_EQ(filled_from_all_sides({{1, none, none, none, 2.25f}}).values(), (Rows{{1, 1, 1, 1, 2.25f}}));
}

TEST(FillDirectionsTest, AGrayLevelWeighsHalfAPixelOfDisparity) {
  for (const int level : {114, 86}) {
    const Levels levels{{level, 100, 100}};
    EXPECT_EQ(filled_from_all_sides({{2, none, 9.25f}}, levels).values()[0][1], 2) << level;
    EXPECT_EQ(filled_from_all_sides({{2, none, 8.75f}}, levels).values()[0][1], 8.75f) << level;
  }
}

// The difference from the pixel itself: an edge that is blurred counts in full.
TEST(FillDirectionsTest, TheLargestDifferenceOnTheWayCounts) {
  const Rows rows{{2, none, none, none, 9}};
  EXPECT_EQ(filled_from_all_sides(rows, {{100, 100, 130, 100, 100}}).values(), (Rows{{2, 2, 2, 9, 9}}));
  EXPECT_EQ(filled_from_all_sides(rows, {{100, 100, 70, 100, 100}}).values(), (Rows{{2, 2, 2, 9, 9}}));
  EXPECT_EQ(filled_from_all_sides(rows, {{100, 110, 120, 130, 130}}).values()[0][3], 9);
}

TEST(FillDirectionsTest, TiesGoToTheFirstOfAboveBelowLeftAndRight) {
  const Levels levels{{0, 100, 0}, {104, 100, 106}, {0, 102, 0}};
  EXPECT_EQ(filled_from_all_sides({{9, 4, 9}, {2, none, 1}, {9, 3, 9}}, levels).values()[1][1], 4);
  EXPECT_EQ(filled_from_all_sides({{9, none, 9}, {2, none, 1}, {9, 3, 9}}, levels).values()[1][1], 3);
  EXPECT_EQ(filled_from_all_sides({{9, none, 9}, {2, none, 1}, {9, none, 9}}, levels).values()[1][1], 2);
}

// A slanted floor whose rows differ in the image.
TEST(FillDirectionsTest, RampIsFilledAlongItsRows) {
  Rows ramp(9, std::vector<float>(9));
  Levels levels(9, std::vector<int>(9));
  for (int y = 0; y < 9; ++y)
    for (int x = 0; x < 9; ++x) ramp[y][x] = static_cast<float>(y) / 2, levels[y][x] = 20 * y;
  Rows holes = ramp;
  for (int y = 2; y < 7; ++y)
    for (int x = 3; x < 6; ++x) holes[y][x] = none;
  EXPECT_EQ(filled_from_all_sides(holes, levels).values(), ramp);
  // Its columns, where the levels are alike.
  Rows turned = holes, turned_ramp = ramp;
  Levels turned_levels = levels;
  for (int y = 0; y < 9; ++y)
    for (int x = 0; x < 9; ++x)
      turned[y][x] = holes[x][y], turned_ramp[y][x] = ramp[x][y], turned_levels[y][x] = levels[x][y];
  EXPECT_EQ(filled_from_all_sides(turned, turned_levels).values(), turned_ramp);
}

TEST(FillDirectionsTest, FilledPixelsAreNoSource) {
  // If the second pixel were one, the third would take its 3.
  EXPECT_EQ(
      filled_from_all_sides({{9, none, none, 5}, {9, 3, 9, 9}}, {{7, 7, 7, 7}, {7, 7, 200, 7}}).values()[0],
      (std::vector<float>{9, 3, 5, 5}));
}

TEST(FillDirectionsTest, PixelsWithAValueNeverChange) {
  const Size size{67, 41};
  const Rows rows = random_rows(size, 5);
  const Map before(rows), map = filled_from_all_sides(rows);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      EXPECT_LT(map.disparity.at(x, y), none);
      if (!(rows[y][x] < none)) continue;
      EXPECT_EQ(map.disparity.at(x, y), rows[y][x]);
      EXPECT_EQ(map.status.at(x, y), before.status.at(x, y));
    }
}

TEST(FillDirectionsTest, MapWithoutAnyValueStaysAsItIs) {
  for (const Size size : {Size{1, 1}, Size{3, 2}, Size{70, 5}, Size{2, 300}}) {
    const Map map(Rows(size.height, std::vector<float>(size.width, none)));
    EXPECT_TRUE(filled_from_all_sides(map, flat(size)).same_bytes(map)) << size.width << "×" << size.height;
  }
  EXPECT_EQ(filled_from_all_sides({{3}}).marks(), (Marks{{ok}}));
}

TEST(FillDirectionsTest, MaskedPixelsStayEmptyAndAreSeenThrough) {
  Map map({{none, 6, none, none, none, 4, none}, {none, none, none, none, none, none, none}});
  for (const int x : {0, 3}) map.status.at(x, 0) = map.status.at(x, 1) = code(masked);
  map = filled_from_all_sides(map, flat({7, 2}));
  EXPECT_EQ(map.values()[0], (std::vector<float>{none, 6, 4, none, 4, 4, 4}));
  EXPECT_EQ(map.marks()[0], (std::vector<Status>{masked, ok, copied, masked, copied, ok, copied}));
  EXPECT_EQ(map.values()[1], (std::vector<float>{none, 6, none, none, none, 4, none}));
}

TEST(FillDirectionsTest, LooksAlongTheWholeRowAndOver128Rows) {
  Rows row(1, std::vector<float>(900, none));
  row[0][0] = 5;
  EXPECT_EQ(filled_from_all_sides(row).values(), (Rows(1, std::vector<float>(900, 5))));
  for (const int from : {0, 299}) {
    Rows column(300, std::vector<float>(1, none));
    column[from][0] = 5;
    const Map map = filled_from_all_sides(column);
    for (int y = 0; y < 300; ++y)
      EXPECT_EQ(map.disparity.at(0, y), std::abs(y - from) <= 128 ? 5 : none) << y << ", " << from;
  }
}

TEST(FillDirectionsTest, GuideMayHave16BitsAndMustHaveTheSize) {
  Plane<std::uint16_t> guide({3, 1});
  for (int x = 0; x < 3; ++x)
    guide.at(x, 0) = static_cast<std::uint16_t>(x == 0 ? 114 * 256 + 255 : 100 * 256);
  Map map({{2, none, 9.25f}}), other({{1, none}});
  fill_directions(map.view(), guide.view());
  EXPECT_EQ(map.values()[0][1], 2);
  expect_refused([&] { fill_directions(other.view(), guide.view()); }, "guide is 3×1, the map 2×1");
}

class FillDirectionsTargetTest : public ::testing::Test {
 protected:
  void TearDown() override { force_cpu_target(""); }
};

TEST_F(FillDirectionsTargetTest, EqualsTheReferenceOnEveryTarget) {
  std::vector<std::string> targets = cpu_targets();
  targets.push_back("");
  for (const std::string& target : targets) {
    force_cpu_target(target);
    for (const Size size :
         {Size{1, 1}, Size{1, 17}, Size{31, 3}, Size{67, 41}, Size{64, 9}, Size{130, 5}, Size{3, 400}}) {
      std::mt19937 random(static_cast<unsigned>(size.width));
      Rows rows = random_rows(size, 7);
      Levels levels(size.height, std::vector<int>(size.width));
      Map map(rows);
      for (int y = 0; y < size.height; ++y)
        for (int x = 0; x < size.width; ++x) {
          levels[y][x] = static_cast<int>(random() % 3 == 0 ? random() % 256 : 90 + random() % 20);
          // Holes of every size; some pixels are masked.
          if (random() % 8 != 0) map.disparity.at(x, y) = none;
          if (!(map.disparity.at(x, y) < none) && random() % 4 == 0) map.status.at(x, y) = code(masked);
        }
      const Plane<std::uint8_t> guide = plane_of(levels);
      Plane<float> scratch(size);
      Map expected = map.copy();
      refine::fill_directions_reference(expected.view(), guide.view(), scratch.view());
      for (const int threads : {1, 2, 7})
        EXPECT_TRUE(filled_from_all_sides(map, guide, threads).same_bytes(expected))
            << target << ", " << size.width << "×" << size.height << ", " << threads << " threads";
    }
  }
}

class MedianTest : public ::testing::Test {
 protected:
  void TearDown() override { force_cpu_target(""); }

  static Rows median_of(const Rows& rows, int window, int threads = 0) {
    Map map(rows);
    median(map.disparity.view(), window, threads);
    return map.values();
  }
  static Rows reference_of(const Rows& rows, int window) {
    Map map(rows);
    Plane<float> scratch(refine::bordered_size(map.disparity.size(), window));
    refine::median_reference(map.disparity.view(), window, scratch.view());
    return map.values();
  }
};

TEST_F(MedianTest, IsTheMiddleValueOfTheWindow) {
  EXPECT_EQ(median_of({{1, 8, 3}, {9, 5, 2}, {7, 4, 6}}, 3)[1][1], 5);
  EXPECT_EQ(median_of({{1, 1, 1}, {1, 9, 1}, {1, 1, 1}}, 3)[1][1], 1);
  Rows rows(5, std::vector<float>(5));
  for (int i = 0; i < 25; ++i) rows[i / 5][i % 5] = static_cast<float>(i * 7 % 25);
  rows[0][0] = -50;
  EXPECT_EQ(median_of(rows, 5)[2][2], 12);
}

TEST_F(MedianTest, NeighbourOutsideTheMapCountsAsThePixelItself) {
  EXPECT_EQ(median_of({{0, 9}, {9, 9}}, 3), (Rows{{0, 9}, {9, 9}}));
  EXPECT_EQ(median_of({{5, 9, 9}, {9, 9, 9}, {9, 9, 9}}, 5)[0][0], 5);  // 17 of 25 are the pixel itself
  EXPECT_EQ(median_of({{4}}, 5), (Rows{{4}}));
}

TEST_F(MedianTest, NeighbourWithoutAValueCountsAsThePixelItself) {
  EXPECT_EQ(median_of({{none, none, none}, {none, 1, 9}, {9, 9, 9}}, 3)[1][1], 1);
  EXPECT_EQ(median_of({{none, none, none}, {9, 1, 9}, {9, 9, 9}}, 3)[1][1], 9);
}

TEST_F(MedianTest, PixelWithoutAValueKeepsNone) {
  EXPECT_EQ(median_of({{1, 1, 1}, {1, none, 1}, {1, 1, 1}}, 3)[1][1], none);
}

TEST_F(MedianTest, EveryPixelReadsTheMapAsItWas) {
  EXPECT_EQ(median_of({{0, 0, 9, 9}, {9, 0, 9, 0}, {9, 9, 0, 0}}, 3),
            (Rows{{0, 0, 9, 9}, {9, 9, 0, 0}, {9, 9, 0, 0}}));
}

TEST_F(MedianTest, EqualsTheReferenceOnEveryTarget) {
  std::vector<std::string> targets = cpu_targets();
  targets.push_back("");
  for (const std::string& target : targets) {
    force_cpu_target(target);
    for (const Size size : {Size{1, 1}, Size{1, 17}, Size{31, 3}, Size{67, 41}, Size{16, 2}, Size{2, 5}}) {
      for (const int window : {3, 5}) {
        const Rows rows = random_rows(size, static_cast<unsigned>(size.width));
        EXPECT_EQ(median_of(rows, window), reference_of(rows, window))
            << target << ", " << size.width << "×" << size.height << ", window " << window;
      }
    }
  }
}

TEST_F(MedianTest, OtherWindowsAreRefused) {
  Plane<float> map({4, 4});
  for (const int window : {-3, 0, 1, 2, 4, 7})
    expect_refused([&] { median(map.view(), window); },
                   "median is " + std::to_string(window) + ": choose 3 or 5");
}

Map despeckled(const Rows& rows, int size, float range) {
  Map map(rows);
  speckle_filter(map.view(), size, range);
  return map;
}

TEST(SpeckleFilterTest, RegionsBelowTheSizeLoseTheirValue) {
  const Map map = despeckled({{5, 5, 5, 1, 1}}, 3, 1);
  EXPECT_EQ(map.values(), (Rows{{5, 5, 5, none, none}}));
  EXPECT_EQ(map.marks(), (Marks{{ok, ok, ok, spot, spot}}));
}

TEST(SpeckleFilterTest, SizeItselfStays) {
  EXPECT_EQ(despeckled({{5, 5, 9, 9}}, 2, 1).marks(), (Marks{{ok, ok, ok, ok}}));
  EXPECT_EQ(despeckled({{5, 5, 9, 9}}, 3, 1).marks(), (Marks{{spot, spot, spot, spot}}));
}

TEST(SpeckleFilterTest, RangeItselfConnects) {
  EXPECT_EQ(despeckled({{1, 2, 3}}, 3, 1).marks(), (Marks{{ok, ok, ok}}));
  EXPECT_EQ(despeckled({{1, 2, 3.25f}}, 3, 1).marks(), (Marks{{spot, spot, spot}}));
  EXPECT_EQ(despeckled({{3}, {2}, {1}}, 3, 1).marks(), (Marks{{ok}, {ok}, {ok}}));
  EXPECT_EQ(despeckled({{3.25f}, {2}, {1}}, 2, 1).marks(), (Marks{{spot}, {ok}, {ok}}));
  EXPECT_EQ(despeckled({{1, 1, 1.25f}}, 2, 0).marks(), (Marks{{ok, ok, spot}}));
}

// Connecting and separating steps, in regions across the bands of rows of several threads.
TEST(SpeckleFilterTest, EqualsTheReferenceForAnyNumberOfThreads) {
  for (const Size size : {Size{1, 1}, Size{1, 200}, Size{90, 1}, Size{61, 65}, Size{40, 131}}) {
    for (const int steps : {2, 3, 6}) {
      std::mt19937 random(static_cast<unsigned>(size.width + steps));
      Rows rows(static_cast<std::size_t>(size.height),
                std::vector<float>(static_cast<std::size_t>(size.width)));
      for (auto& row : rows)
        for (float& value : row) {
          const int step = test::random_number(random, 0, steps);
          value = step == 0 ? none : static_cast<float>(step);
        }
      for (const int least : {2, 5, 40, 3000}) {
        Map expected(rows);
        std::vector<std::int32_t> regions(size.pixels());
        refine::speckle_filter_reference(expected.view(), least, 0.5f, regions.data());
        for (const int threads : {1, 2, 5}) {
          Map map(rows);
          speckle_filter(map.view(), least, 0.5f, threads);
          EXPECT_EQ(map.values(), expected.values()) << size.width << "×" << size.height << ", " << least;
          EXPECT_EQ(map.marks(), expected.marks());
        }
      }
    }
  }
}

TEST(SpeckleFilterTest, DiagonalNeighboursAreNotConnected) {
  EXPECT_EQ(despeckled({{1, 9}, {9, 1}}, 2, 1).marks(), (Marks{{spot, spot}, {spot, spot}}));
}

TEST(SpeckleFilterTest, RegionThatJoinsLateIsOne) {
  const Rows u{{1, 9, 1}, {1, 9, 1}, {1, 1, 1}};
  EXPECT_EQ(despeckled(u, 7, 1).marks(), (Marks{{ok, spot, ok}, {ok, spot, ok}, {ok, ok, ok}}));
  const Rows w{{1, 9, 1, 9, 1}, {1, 9, 1, 9, 1}, {1, 1, 1, 1, 1}};
  EXPECT_EQ(despeckled(w, 11, 1).marks()[0], (std::vector<Status>{ok, spot, ok, spot, ok}));
  EXPECT_EQ(despeckled(w, 12, 1).marks()[0], (std::vector<Status>{spot, spot, spot, spot, spot}));
}

TEST(SpeckleFilterTest, SpiralIsOneRegion) {
  const Rows spiral{{1, 1, 1, 1, 1, 1, 1}, {9, 9, 9, 9, 9, 9, 1}, {1, 1, 1, 1, 1, 9, 1},
                    {1, 9, 9, 9, 1, 9, 1}, {1, 9, 1, 1, 1, 9, 1}, {1, 9, 9, 9, 9, 9, 1},
                    {1, 1, 1, 1, 1, 1, 1}};
  const auto survivors = [&](int size) {
    int count = 0;
    for (const auto& row : despeckled(spiral, size, 1).marks())
      count += std::count(row.begin(), row.end(), ok);
    return count;
  };
  EXPECT_EQ(survivors(1), 49);
  EXPECT_EQ(survivors(18), 49);
  EXPECT_EQ(survivors(19), 31);
  EXPECT_EQ(survivors(31), 31);
  EXPECT_EQ(survivors(32), 0);
}

TEST(SpeckleFilterTest, PixelsWithoutAValueSeparateAndKeepTheirStatus) {
  const Map map = despeckled({{1, none, 1, 1}}, 2, 1);
  EXPECT_EQ(map.values(), (Rows{{none, none, 1, 1}}));
  EXPECT_EQ(map.marks(), (Marks{{spot, Status::ambiguous, ok, ok}}));
  EXPECT_EQ(despeckled({{none, none}}, 5, 1).marks(), (Marks{{Status::ambiguous, Status::ambiguous}}));
}

TEST(SpeckleFilterTest, SizesZeroAndOneRemoveNothing) {
  for (const int size : {0, 1})
    EXPECT_EQ(despeckled({{1, 9}, {9, 1}}, size, 0).marks(), (Marks{{ok, ok}, {ok, ok}}));
}

TEST(SpeckleFilterTest, BadArgumentsAreRefused) {
  Map map({{0, 0}});
  Plane<std::uint8_t> status({2, 2});
  expect_refused([&] { speckle_filter({map.disparity.view(), status.view()}, 5, 1); }, "status map is 2×2");
  expect_refused([&] { speckle_filter(map.view(), -1, 1); }, "size is -1");
  expect_refused([&] { speckle_filter(map.view(), 5, -1); }, "range is -1");
}

TEST(RefineTest, ThreadsNeverChangeAByte) {
  const Size size{67, 41};
  const Map right(random_rows(size, 2));
  const auto refined = [&](int threads, int step) {
    Map map(random_rows(size, 1));
    if (step == 0) left_right_check(map.view(), right.disparity.view(), 2, threads);
    if (step == 1) fill_row(map.view(), threads);
    if (step == 2) median(map.disparity.view(), 3, threads);
    if (step == 3) median(map.disparity.view(), 5, threads);
    return map;
  };
  for (int step = 0; step < 4; ++step) {
    const Map expected = refined(1, step);
    EXPECT_FALSE(expected.same_bytes(Map(random_rows(size, 1)))) << step;
    for (const int threads : {0, 2, 7})
      EXPECT_TRUE(refined(threads, step).same_bytes(expected)) << step << ", " << threads;
  }
}

TEST(RefineParametersTest, DefaultsAreValid) {
  EXPECT_NO_THROW(RefineParameters().validate());
}

TEST(RefineTest, MapsOfNegativeSizeAreRefused) {
  float value = 0;
  std::uint8_t status = 0;
  const Plane<std::uint8_t> guide({3, 3});
  for (const Size size : {Size{-3, 5}, Size{5, -3}, Size{-3, -3}}) {
    const View<float> disparity(&value, size);
    const DisparityMap map{disparity, View<std::uint8_t>(&status, size)};
    for (const std::function<void()>& step : std::initializer_list<std::function<void()>>{
             [&] { median(disparity, 3); }, [&] { weighted_median(disparity, guide.view(), 3, 10); },
             [&] { bilateral(disparity, guide.view(), 3, 10, 1); }, [&] { fill_row(map); },
             [&] { fill_directions(map, guide.view()); }, [&] { left_right_check(map, disparity, 1); },
             [&] { speckle_filter(map, 5, 1); }})
      test::expect_refused(step, "give one whose sides are not negative");
  }
}

TEST(RefineTest, MapsThatABorderMakesTooLargeAreRefused) {
  float value = 0;
  std::uint8_t status = 0;
  const Plane<std::uint8_t> guide({3, 3});
  constexpr int longest = std::numeric_limits<int>::max();
  for (const Size size : {Size{longest, 1}, Size{1, longest}}) {
    const View<float> disparity(&value, size);
    const DisparityMap map{disparity, View<std::uint8_t>(&status, size)};
    for (const std::function<void()>& step : std::initializer_list<std::function<void()>>{
             [&] { median(disparity, 3); }, [&] { weighted_median(disparity, guide.view(), 3, 10); },
             [&] { bilateral(disparity, guide.view(), 3, 10, 1); },
             [&] { fill_directions(map, guide.view()); }})
      test::expect_refused(step, "a number from 0 to 1000000");
  }
}

TEST(RefineTest, GuideOfNoDepthIsRefused) {
  const Plane<std::uint8_t> pixels({8, 8});
  const ImageView guide(pixels.row(0), {{3, 3}, static_cast<BitDepth>(12)}, 1, 64);
  Plane<float> disparity({3, 3});
  test::expect_refused([&] { weighted_median(disparity.view(), guide, 3, 10); }, "guide depth is 12");
  test::expect_refused([&] { bilateral(disparity.view(), guide, 3, 10, 1); }, "guide depth is 12");
  Plane<std::uint8_t> status({3, 3});
  test::expect_refused(
      [&] {
        fill_directions({disparity.view(), status.view()}, guide);
      },
      "guide depth is 12");
}

TEST(OcclusionCheckTest, TheNearerPixelKeepsARightPixel) {
  // Columns 1 and 3 lead to the right pixel 0, columns 2 and 5 to 1; columns 0 and 7 lead out of the image.
  Map map({{1, 1, 1, 3.25f, none, 4, 2.5f, -1}});
  occlusion_check(map.view(), 1);
  EXPECT_EQ(map.values(), (Rows{{none, none, none, 3.25f, none, 4, 2.5f, none}}));
  EXPECT_EQ(map.marks(), (Marks{{lost, lost, lost, ok, Status::ambiguous, ok, ok, lost}}));
  // Within the tolerance, both keep it.
  Map near({{0, 1, 1.4f, -0.5f, 0}});
  occlusion_check(near.view(), 1.5f);
  EXPECT_EQ(near.values(), (Rows{{0, 1, 1.4f, -0.5f, 0}}));
}

TEST(OcclusionCheckTest, IsThatOfEveryPairOfPixels) {
  std::mt19937 random(4);
  for (const int threads : {1, 3}) {
    const Size size{83, 21};
    Map map(Rows(21, std::vector<float>(83)));
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x)
        map.disparity.at(x, y) =
            random() % 6 == 0 ? none : static_cast<float>(static_cast<int>(random() % 200) - 60) / 8;
    const Map before = map.copy();
    occlusion_check(map.view(), 0.75f, threads);
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x) {
        const auto column = [&](int at) {
          return static_cast<float>(at) - std::ceil(before.disparity.at(at, y) - 0.5f);
        };
        const float here = before.disparity.at(x, y);
        bool kept = here < none && column(x) >= 0 && column(x) < 83;
        for (int other = 0; kept && other < size.width; ++other)
          kept = !(before.disparity.at(other, y) < none && column(other) == column(x) &&
                   before.disparity.at(other, y) - here > 0.75f);
        EXPECT_EQ(map.disparity.at(x, y), kept ? here : none) << x << ", " << y;
        EXPECT_EQ(map.status.at(x, y), kept || !(here < none) ? before.status.at(x, y) : code(lost));
      }
  }
}

}  // namespace
}  // namespace parallax
