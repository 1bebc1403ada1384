// SPDX-License-Identifier: Apache-2.0
// Pairs whose right image is lower by a varying fraction of a row.

#include "rows/row_alignment.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "parallax/tiles.h"

#include "check/check.h"
#include "conformance/random_case.h"
#include "refine/refine.h"
#include "support.h"

namespace parallax::test {
namespace {

using rows::RowAlignment, rows::RowSurface;

constexpr Size size{240, 160};

double offset_at(RowSurface surface, Size image, double x, double y) {
  surface.image = image;
  return surface.at_pixel(x, y);
}

// Its waves make a fraction of a row matter. From 20 to 230.
double level_at(double x, double y) {
  return 125 + 25 * std::sin(0.9 * x + 0.31 * y) + 25 * std::sin(0.21 * x + 1.1 * y) +
         0.4 * (texture(x, y) - 128);
}

// Values from 5 to 11.
double disparity(double x, double y) {
  return 8 + 2 * std::sin(0.02 * x) + std::sin(0.03 * y);
}

// The part of the left image that has texture. The rest is blank.
struct Box {
  int left = 0, top = 0, right = 10'000, bottom = 10'000;
  bool has(double x, double y) const { return x >= left && x < right && y >= top && y < bottom; }
};

// A pair whose right image shows on row y + v the content of the left image's row y. Textured parts have
// noise.
struct Pair {
  Size size;
  Plane<std::uint16_t> left, right;
  BitDepth depth;

  Pair(const RowSurface& offset, BitDepth depth, Size size = test::size, Box textured = {}, int noise = 0)
      : size(size),
        left(size),
        right(size),
        depth(depth),
        bytes_{Plane<std::uint8_t>(size), Plane<std::uint8_t>(size)} {
    std::mt19937 random(1);
    const auto level = [&](double x, double y) {
      return textured.has(x, y) ? level_at(x, y) + random_number(random, -noise, noise) : 120;
    };
    const double unit = depth == BitDepth::bits16 ? 256 : 1;
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x) {
        const double row = y - offset_at(offset, size, x, y);
        double column = x;  // column of the left image
        for (int i = 0; i < 8; ++i) column = x + disparity(column, row);
        left.at(x, y) = static_cast<std::uint16_t>(std::lround(unit * level(x, y)));
        right.at(x, y) = static_cast<std::uint16_t>(std::lround(unit * level(column, row)));
      }
    if (depth == BitDepth::bits8)
      for (int side = 0; side < 2; ++side)
        for (int y = 0; y < size.height; ++y)
          for (int x = 0; x < size.width; ++x)
            bytes_[side].at(x, y) = static_cast<std::uint8_t>((side == 0 ? left : right).at(x, y));
  }

  StereoPair views() const {
    if (depth == BitDepth::bits8) return {bytes_[0].view(), bytes_[1].view()};
    return {view(left), view(right)};
  }

 private:
  ImageView view(const Plane<std::uint16_t>& plane) const {
    return {plane.row(0), {size, BitDepth::bits16}, 1, plane.view().stride_bytes};
  }
  Plane<std::uint8_t> bytes_[2];
};

RowSurface surface(const std::array<double, 6>& c) {
  return {.c = c};
}

const RowSurface none{}, crooked = surface({0.325, 0.25, -0.3, -0.125, 0.175, 0.2});

BeliefPropagationParameters parameters(ComparedRows rows) {
  BeliefPropagationParameters parameters;
  parameters.disparities = 16;
  parameters.rows = rows;
  return parameters;
}

// The percentage of the pixels, except those of the border, that are off by more than half a pixel.
double errors(const Result& result) {
  int wrong = 0, all = 0;
  for (int y = 5; y < size.height - 5; ++y)
    for (int x = 20; x < size.width - 5; ++x) {
      wrong += !(std::abs(static_cast<double>(result.disparity.at(x, y)) - disparity(x, y)) <= 0.5);
      ++all;
    }
  return 100.0 * wrong / all;
}

// The mean error in pixels of disparity, of the pixels that have one, except those of the border.
double mean_error(const Result& result) {
  double sum = 0;
  int pixels = 0;
  for (int y = 5; y < size.height - 5; ++y)
    for (int x = 20; x < size.width - 5; ++x)
      if (const double found = static_cast<double>(result.disparity.at(x, y)); std::isfinite(found)) {
        sum += std::abs(found - disparity(x, y));
        ++pixels;
      }
  return sum / pixels;
}

// A RowAlignment with its memory.
struct Alignment : RowAlignment {
  explicit Alignment(const StereoPair& pair) : RowAlignment(pair.left.format) {
    reserve(arena);
    arena.allocate();
    reserve(arena);
  }
  Arena arena;
};

std::vector<CheckedPoint> points_of(const StereoPair& pair) {
  return check::agreeing_points(pair, {}, Workers(1));
}

// A large image with texture in a part.
struct PartlyTextured {
  PartlyTextured(const RowSurface& offset, Box textured)
      : pair(offset, BitDepth::bits8, {600, 400}, textured, 3), alignment(pair.views()) {}
  bool find() { return alignment.find(points_of(pair.views())); }
  double offset_at(double x, double y) const { return alignment.surface().at_pixel(x, y); }

  Pair pair;
  Alignment alignment;
};

TEST(RowAlignmentTest, FindsTheOffsetOfEveryPlace) {
  for (const BitDepth depth : {BitDepth::bits8, BitDepth::bits16}) {
    const Pair pair(crooked, depth);
    Alignment alignment(pair.views());
    ASSERT_TRUE(alignment.find(points_of(pair.views())));
    const RowSurface offset = alignment.surface();
    for (const int y : {20, 80, 140})
      for (const int x : {20, 120, 220})
        EXPECT_NEAR(offset_at(offset, size, x, y), offset_at(crooked, size, x, y), 0.06) << x << ", " << y;
  }
}

TEST(RowAlignmentTest, MatchesACrookedPairLikeAStraightOne) {
  for (const BitDepth depth : {BitDepth::bits8, BitDepth::bits16}) {
    const Pair straight(none, depth), pair(crooked, depth);
    const double best = errors(match(parameters(ComparedRows::given), cpu(1), straight.views()));
    const double without = errors(match(parameters(ComparedRows::given), cpu(1), pair.views()));
    const double with = errors(match(parameters(ComparedRows::automatic), cpu(1), pair.views()));
    EXPECT_GT(without, 2 * best + 2);
    EXPECT_LT(with, best + 1);
  }
}

MatcherParameters parameters_of(const std::string& method, const char* rows) {
  MatcherParameters parameters = preset(method, "default");
  set_parameter(parameters, "rows", rows);
  parameters.disparities() = 16;
  return parameters;
}

class AlignedMethod : public testing::TestWithParam<const char*> {};

TEST_P(AlignedMethod, MatchesACrookedPairLikeAStraightOne) {
  const Pair straight(none, BitDepth::bits8), pair(crooked, BitDepth::bits8);
  const double best = mean_error(match(parameters_of(GetParam(), "given"), cpu(2), straight.views()));
  const double without = mean_error(match(parameters_of(GetParam(), "given"), cpu(2), pair.views()));
  const Result with = match(parameters_of(GetParam(), "auto"), cpu(2), pair.views());
  EXPECT_GT(without, 1.2 * best);
  EXPECT_LT(mean_error(with), best + 0.5 * (without - best));
  EXPECT_TRUE(same_bytes(match(parameters_of(GetParam(), "auto"), reference, pair.views()), with));
}

TEST_P(AlignedMethod, RefusesWhatItCannotDo) {
  expect_refused(
      [] {
        plan_tiles(parameters_of(GetParam(), "auto"), cpu(1), {{400, 300}}, {});
      },
      "tiles take rows as given");
  MatcherParameters parameters = parameters_of(GetParam(), "auto");
  if (GetParam() != std::string("tiled-bp")) {
    set_parameter(parameters, "row_tolerance", "1");
    expect_refused([&] { parameters.validate(); }, "rows is auto: choose given with row_tolerance");
    set_parameter(parameters, "row_tolerance", "0");
  }
  const ParameterInfo cost = describe_parameter(GetParam(), "cost");
  if (std::count(cost.choices.begin(), cost.choices.end(), "volume") == 0) return;
  set_parameter(parameters, "cost", "volume");
  expect_refused([&] { parameters.validate(); }, "rows is auto: choose given, or another cost than volume");
}

INSTANTIATE_TEST_SUITE_P(Methods, AlignedMethod, testing::Values("block", "census", "bp", "sgm", "tiled-bp"),
                         [](const auto& info) {
                           return info.param == std::string("tiled-bp") ? "tiled_bp" : info.param;
                         });

TEST(RowAlignmentTest, RowsOffByUpToTwoPixelsCostLittle) {
  const Pair straight(none, BitDepth::bits8);
  const double best = mean_error(match(parameters(ComparedRows::given), cpu(2), straight.views()));
  for (const double rows : {-2.0, -0.3, 0.5, 1.0}) {
    const Pair pair(surface({rows}), BitDepth::bits8);
    Matcher matcher(parameters(ComparedRows::automatic), cpu(2), pair.views().left.format);
    Result result(size);
    matcher.run(pair.views(), result.map());
    EXPECT_LT(mean_error(result), best + 0.1) << rows;
    EXPECT_NEAR(matcher.rows_moved(), std::abs(rows), 0.03);
  }
  Matcher matcher(parameters(ComparedRows::automatic), cpu(2), straight.views().left.format);
  Result result(size);
  matcher.run(straight.views(), result.map());
  EXPECT_EQ(matcher.rows_moved(), 0);
}

TEST(RowAlignmentTest, OnceMovesLaterPairsByTheRowsOfTheFirst) {
  const Pair first(surface({0.5}), BitDepth::bits8), later(surface({-1.0}), BitDepth::bits8);
  const Plane<std::uint8_t> blank(size, 128);
  Matcher matcher(parameters(ComparedRows::once), cpu(2), first.views().left.format, {.both_maps = true});
  Matcher anew(parameters(ComparedRows::automatic), cpu(2), first.views().left.format, {.both_maps = true});
  parallax::Result result = matcher.make_result(), expected = anew.make_result();
  const auto run = [&](const StereoPair& pair) {
    matcher.run(pair, result.map());
    anew.run(pair, expected.map());
    return same_bytes(result, expected) && same_bytes(*result.right, *expected.right);
  };
  EXPECT_TRUE(run({blank.view(), blank.view()})) << "a blank pair tells nothing";
  EXPECT_TRUE(run(first.views()));
  EXPECT_FALSE(run(later.views()));
  EXPECT_NEAR(matcher.rows_moved(), 0.5, 0.03);
  EXPECT_NEAR(anew.rows_moved(), 1.0, 0.03);
  EXPECT_TRUE(run(first.views()));
  matcher.forget_rows();
  EXPECT_TRUE(run(later.views()));
}

TEST(RowAlignmentTest, LeavesAStraightPairAsItIs) {
  const Pair pair(none, BitDepth::bits8);
  EXPECT_TRUE(same_bytes(match(parameters(ComparedRows::given), cpu(1), pair.views()),
                         match(parameters(ComparedRows::automatic), cpu(1), pair.views())));
}

constexpr Box corner{0, 0, 110, 110}, middle{180, 120, 420, 280}, band{0, 150, 600, 230};

// Measurements at a few pixels of a straight pair are noise, and must not be extrapolated.
TEST(RowAlignmentTest, LeavesAStraightPairWithLittleTextureAsItIs) {
  for (const Box& textured : {corner, middle, band})
    EXPECT_FALSE(PartlyTextured(none, textured).find()) << textured.right;
}

TEST(RowAlignmentTest, DoesNotExtrapolateWhatItMeasuredInAPart) {
  for (const Box& textured : {corner, middle, band}) {
    PartlyTextured scene(surface({0.5}), textured);
    ASSERT_TRUE(scene.find()) << textured.right << ": " << points_of(scene.pair.views()).size() << " points";
    for (const int y : {0, 200, 399})
      for (const int x : {0, 300, 599})
        EXPECT_NEAR(scene.offset_at(x, y), 0.5, 0.06) << textured.right << ": " << x << ", " << y;
  }
}

TEST(RowAlignmentTest, FitsALinearOffsetToTheMiddle) {
  const RowSurface linear = surface({0.2, 0.4, -0.3});
  PartlyTextured scene(linear, middle);
  ASSERT_TRUE(scene.find());
  double lowest = 9, highest = -9;
  for (const int y : {130, 200, 270})
    for (const int x : {190, 300, 400}) {
      EXPECT_NEAR(scene.offset_at(x, y), offset_at(linear, scene.pair.size, x, y), 0.06) << x << ", " << y;
      lowest = std::min(lowest, scene.offset_at(x, y));
      highest = std::max(highest, scene.offset_at(x, y));
    }
  EXPECT_GT(scene.offset_at(0, 399), lowest - 0.06);
  EXPECT_LT(scene.offset_at(599, 0), highest + 0.06);
}

TEST(RowAlignmentTest, GivesTheBytesOfTheReferenceForAnyNumberOfThreads) {
  const Pair pair(crooked, BitDepth::bits8);
  Plane<std::uint8_t> mask(size, 255);
  for (int y = 60; y < 90; ++y)
    for (int x = 80; x < 130; ++x) mask.at(x, y) = 0;
  StereoPair views = pair.views();
  views.right_mask = mask.view();
  const Result expected = match(parameters(ComparedRows::automatic), reference, views);
  for (const int threads : {1, 3})
    EXPECT_TRUE(same_bytes(expected, match(parameters(ComparedRows::automatic), cpu(threads), views)))
        << threads;
}

TEST(RowAlignmentTest, TellsTheTimeOfEachStageOnce) {
  const Pair pair(crooked, BitDepth::bits8);
  Result map(size), plain(size);
  Matcher given(parameters(ComparedRows::given), cpu(1), pair.views().left.format),
      moved(parameters(ComparedRows::automatic), cpu(1), pair.views().left.format);
  given.run(pair.views(), plain.map());
  for (int run = 0; run < 2; ++run) moved.run(pair.views(), map.map());
  EXPECT_FALSE(same_bytes(plain, map)) << "rows were not moved";
  std::set<std::string> names;
  for (const StageTime& time : moved.stage_times())
    EXPECT_TRUE(names.insert(time.stage).second) << time.stage;
  for (const StageTime& time : given.stage_times()) EXPECT_EQ(names.erase(time.stage), 1u) << time.stage;
  EXPECT_EQ(names, std::set<std::string>{"rows"});
}

// The conformance tests rely on it.
TEST(RowAlignmentTest, RowsOfRandomCasesAreMoved) {
  int changed = 0;
  for (unsigned seed = 0; seed < 12; ++seed) {
    const MisalignedCase misaligned(seed);
    BeliefPropagationParameters without = misaligned.parameters;
    without.rows = ComparedRows::given;
    const StereoPair pair = misaligned.images.pair();
    changed += !same_bytes(match(without, cpu(1), pair), match(misaligned.parameters, cpu(1), pair));
  }
  EXPECT_GE(changed, 4);
}

// The mask moves with the image: here by the nearest row.
TEST(RowAlignmentTest, MovesTheRightMask) {
  const Pair pair(surface({0.8}), BitDepth::bits8);
  Plane<std::uint8_t> mask(size, 255);
  for (int x = 0; x < size.width; ++x) mask.at(x, 100) = 0;
  StereoPair views = pair.views();
  views.right_mask = mask.view();
  Alignment alignment(views);
  ASSERT_TRUE(alignment.find(points_of(views)));
  const StereoPair aligned = alignment.aligned(views, Workers(2));
  for (int y = 90; y < 110; ++y) EXPECT_EQ(aligned.right_mask.at(120, y) == 0, y == 99) << y;
}

void expect_unaligned(const StereoPair& pair) {
  EXPECT_TRUE(same_bytes(match(parameters(ComparedRows::given), cpu(1), pair),
                         match(parameters(ComparedRows::automatic), cpu(1), pair)))
      << pair.left.format.size.width << "×" << pair.left.format.size.height;
}

// Images that are too small for corners, or for enough of them, and blank ones.
TEST(RowAlignmentTest, SmallAndBlankImagesStayAsTheyAre) {
  std::vector<Size> sizes{{1, 1}, {10, 700}, {16, 200}, {17, 17}, {300, 17}, {60, 40}};
  for (int height = 10; height <= 16; ++height) sizes.push_back({700, height});
  for (const Size small : sizes) {
    expect_unaligned(Pair(surface({0.5}), BitDepth::bits8, small).views());
    const Plane<std::uint8_t> blank(small, 90);
    expect_unaligned({blank.view(), blank.view()});
  }
}

}  // namespace
}  // namespace parallax::test
