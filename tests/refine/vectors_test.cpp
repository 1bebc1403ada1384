// SPDX-License-Identifier: Apache-2.0
#include "refine/vectors.h"

#include <random>
#include <string>

#include <gtest/gtest.h>

#include "refine/maps.h"
#include "support.h"

namespace parallax::test {
namespace {

struct VectorMap {
  Plane<float> disparity, row_offset;
  Plane<std::uint8_t> status;

  explicit VectorMap(Size size, float d = none, float v = none)
      : disparity(size, d), row_offset(size, v), status(size, static_cast<std::uint8_t>(Status::matched)) {}
  DisparityMap view() { return {disparity.view(), status.view(), {}, row_offset.view()}; }
  void set(int x, int y, float d, float v) {
    disparity.at(x, y) = d;
    row_offset.at(x, y) = v;
  }
  bool has(int x, int y, float d, float v) const {
    return disparity.at(x, y) == d && row_offset.at(x, y) == v;
  }
  Status state(int x, int y) const { return static_cast<Status>(status.at(x, y)); }
};

bool consistent(float d, float v, float right_d, float right_v, int u, int w, float tolerance = 1) {
  const Size size{9, 9};
  VectorMap left(size), right(size);
  left.set(4, 4, d, v);
  if (u >= 0) right.set(u, w, right_d, right_v);
  refine::check_vectors(left.view(), {right.disparity.view(), right.row_offset.view()}, tolerance,
                        Workers(1));
  const bool kept = left.has(4, 4, d, v) && left.state(4, 4) == Status::matched;
  EXPECT_TRUE(kept || (left.has(4, 4, none, none) && left.state(4, 4) == Status::inconsistent));
  return kept;
}

TEST(VectorsTest, VectorsStayIfThoseOfTheRightPixelAgreeOnBothAxes) {
  EXPECT_TRUE(consistent(2, -1, 2, -1, 2, 3));
  EXPECT_TRUE(consistent(2, -1, 3, -2, 2, 3));
  EXPECT_FALSE(consistent(2, -1, 3.5f, -1, 2, 3));
  EXPECT_FALSE(consistent(2, -1, 2, 0.5f, 2, 3));
  EXPECT_TRUE(consistent(2, -1, 3.5f, -1, 2, 3, 1.5f));
  // Fractions: disparity ⌈d − ½⌉, row offset ⌈v − ½⌉.
  EXPECT_TRUE(consistent(1.5f, 1.5f, 1.5f, 1.5f, 3, 5));
  EXPECT_TRUE(consistent(1.75f, 1.75f, 1.5f, 1.5f, 2, 6));
  EXPECT_TRUE(consistent(-1.5f, -1.5f, -1.5f, -1.5f, 6, 2));
}

TEST(VectorsTest, VectorsWithoutARightPixelGo) {
  EXPECT_FALSE(consistent(2, -1, 0, 0, -1, 0));
  EXPECT_FALSE(consistent(5, 0, 0, 0, -1, 0));
  EXPECT_FALSE(consistent(-5, 0, 0, 0, -1, 0));
  EXPECT_FALSE(consistent(0, 5, 0, 0, -1, 0));
  EXPECT_FALSE(consistent(0, -5, 0, 0, -1, 0));
  EXPECT_FALSE(consistent(1e6f, -1e6f, 0, 0, -1, 0));
}

enum class Version { reference, steps };

void fill(VectorMap& map, Version version, int threads = 1) {
  const Size size = map.disparity.size();
  if (version == Version::reference) {
    VectorMap scratch(size);
    return refine::fill_vectors_reference(map.view(), {scratch.disparity.view(), scratch.row_offset.view()});
  }
  Arena arena;
  refine::FillSteps(size, arena);
  arena.allocate();
  const refine::FillSteps steps(size, arena);
  refine::fill_vectors(map.view(), steps, Workers(threads));
}

constexpr Version versions[] = {Version::reference, Version::steps};

TEST(VectorsTest, FillTakesTheVectorMedianOfTheNearestInEightDirections) {
  for (const Version version : versions) {
    VectorMap map({11, 11});
    // Above, below, left and the diagonals upwards; other directions meet nothing.
    map.set(5, 2, 1, 1);
    map.set(5, 1, 50, 50);  // behind the first
    map.set(5, 9, 2, 1);
    map.set(0, 5, 30, -20);
    map.set(3, 3, 2, 2);
    map.set(6, 4, 9, 9);
    map.status.at(5, 5) = static_cast<std::uint8_t>(Status::inconsistent);
    fill(map, version);
    EXPECT_TRUE(map.has(5, 5, 2, 1)) << map.disparity.at(5, 5) << ", " << map.row_offset.at(5, 5);
    EXPECT_EQ(Status::filled, map.state(5, 5));
    EXPECT_TRUE(map.has(5, 2, 1, 1));
    EXPECT_EQ(Status::matched, map.state(5, 2));
  }
}

TEST(VectorsTest, FillTakesTheFirstOfEquallyCentralVectors) {
  for (const Version version : versions) {
    VectorMap map({3, 3});
    map.set(0, 0, 1, 0);
    map.set(1, 0, 2, 0);
    map.status.at(1, 1) = static_cast<std::uint8_t>(Status::out_of_range);
    fill(map, version);
    EXPECT_TRUE(map.has(1, 1, 2, 0));
  }
}

TEST(VectorsTest, FillReachesAsFarAsItSays) {
  constexpr int reach = refine::fill_reach;
  for (const Version version : versions)
    for (const bool down : {false, true}) {
      const Size size = down ? Size{2, reach + 2} : Size{reach + 2, 2};
      VectorMap map(size);
      map.set(0, 0, 4, 5);
      fill(map, version);
      EXPECT_TRUE(map.has(down ? 0 : reach, down ? reach : 0, 4, 5));
      EXPECT_TRUE(map.has(down ? 0 : reach + 1, down ? reach + 1 : 0, none, none));
      EXPECT_EQ(Status::matched, map.state(down ? 0 : reach + 1, down ? reach + 1 : 0));
    }
}

TEST(VectorsTest, FillLeavesMaskedPixels) {
  for (const Version version : versions) {
    VectorMap map({4, 1});
    map.set(0, 0, 1, 2);
    map.status.at(1, 0) = static_cast<std::uint8_t>(Status::input_masked);
    fill(map, version);
    EXPECT_TRUE(map.has(1, 0, none, none));
    EXPECT_EQ(Status::input_masked, map.state(1, 0));
    EXPECT_TRUE(map.has(2, 0, 1, 2));
  }
}

TEST(VectorsTest, FillEqualsTheReferenceOnRandomMaps) {
  std::mt19937 random(1);
  const auto any = [&](int low, int high) { return random_number(random, low, high); };
  for (int round = 0; round < (sanitized ? 20 : 200); ++round) {
    const Size size{any(1, any(0, 1) == 0 ? 9 : 300), any(1, any(0, 1) == 0 ? 9 : 60)};
    const int share = any(0, 1) == 0 ? any(0, 10) : any(0, 1000);
    VectorMap wanted(size), found[] = {VectorMap(size), VectorMap(size)};
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x) {
        if (any(0, 999) < share)
          wanted.set(x, y, static_cast<float>(any(-40, 40)) / 7, static_cast<float>(any(-40, 40)) / 3);
        else
          wanted.status.at(x, y) =
              static_cast<std::uint8_t>(any(0, 3) == 0 ? Status::input_masked : Status::inconsistent);
        for (VectorMap& map : found) {
          map.set(x, y, wanted.disparity.at(x, y), wanted.row_offset.at(x, y));
          map.status.at(x, y) = wanted.status.at(x, y);
        }
      }
    fill(wanted, Version::reference);
    for (const int threads : {1, 3}) {
      VectorMap& map = found[threads / 2];
      fill(map, Version::steps, threads);
      ASSERT_TRUE(same_bytes(wanted.disparity, map.disparity) &&
                  same_bytes(wanted.row_offset, map.row_offset) && same_bytes(wanted.status, map.status))
          << size.width << "x" << size.height << ", round " << round;
    }
  }
}

}  // namespace
}  // namespace parallax::test
