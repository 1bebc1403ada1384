// SPDX-License-Identifier: Apache-2.0
#include "parallax/check.h"

#include <cmath>

#include "parallax/process.h"

#include "check/faulty_pair.h"
#include "support.h"

namespace parallax::test {
namespace {

constexpr Size small{400, 300};
constexpr double half = 0.5 * small.width;

PairReport check_faults(const Faults& faults, std::uint64_t seed = 1) {
  return check_pair(FaultyPair(small, seed, faults).pair());
}

Plane<std::uint8_t> flipped(const Plane<std::uint8_t>& image, bool columns, bool rows) {
  Plane<std::uint8_t> result(image.size());
  for (int y = 0; y < image.height(); ++y)
    for (int x = 0; x < image.width(); ++x)
      result.at(x, y) = image.at(columns ? image.width() - 1 - x : x, rows ? image.height() - 1 - y : y);
  return result;
}

// Means over 5×5 pixels.
Plane<std::uint8_t> box_means(const Plane<std::uint8_t>& image) {
  Plane<std::uint8_t> result(image.size());
  for (int y = 2; y < image.height() - 2; ++y)
    for (int x = 2; x < image.width() - 2; ++x) {
      int sum = 12;
      for (int j = -2; j <= 2; ++j)
        for (int i = -2; i <= 2; ++i) sum += image.at(x + i, y + j);
      result.at(x, y) = static_cast<std::uint8_t>(sum / 25);
    }
  return result;
}

Plane<std::uint8_t> random_noise(Size size, unsigned seed) {
  std::mt19937 random(seed);
  Plane<std::uint8_t> image(size);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) image.at(x, y) = static_cast<std::uint8_t>(random() % 256);
  return image;
}

bool has_remark(const PairReport& report, const std::string& word) {
  return std::any_of(report.remarks.begin(), report.remarks.end(),
                     [&](const std::string& remark) { return remark.find(word) != std::string::npos; });
}

TEST(CheckTest, APairWithoutFaultsIsFit) {
  const FaultyPair pair(small, 1, {});
  const PairReport report = check_pair(pair.pair());
  EXPECT_EQ(report.verdict, Verdict::fit) << report.sentence;
  EXPECT_TRUE(report.remarks.empty()) << report.remarks.front();
  EXPECT_EQ(report.size, small);
  EXPECT_GT(report.points.size(), 300u);
  EXPECT_LT(report.rows_off, 0.02);
  EXPECT_LT(report.rows_off_95, 0.1);
  EXPECT_LT(report.model.residual, 0.02);
  EXPECT_NEAR(report.exposure.gain, 1, 0.02);
  EXPECT_NEAR(report.sharpness, 1, 0.05);
}

TEST(CheckTest, PointsAreWhereTheRightCameraSeesThem) {
  const FaultyPair pair(small, 2, {.rows = 0.37, .roll = 0.005, .scale = 1.004});
  std::vector<double> columns, rows;
  for (const CheckedPoint& point : check_pair(pair.pair()).points) {
    const auto [x, y] =
        pair.true_position(static_cast<double>(point.left_x), static_cast<double>(point.left_y));
    columns.push_back(std::abs(static_cast<double>(point.right_x) - x));
    rows.push_back(std::abs(static_cast<double>(point.right_y) - y));
  }
  ASSERT_GT(rows.size(), 300u);
  const auto at = [](std::vector<double>& values, double share) {
    std::sort(values.begin(), values.end());
    return values[static_cast<std::size_t>(share * static_cast<double>(values.size()))];
  };
  EXPECT_LT(at(rows, 0.5), 0.02);
  EXPECT_LT(at(rows, 0.9), 0.1);
  EXPECT_LT(at(columns, 0.5), 0.03);
}

// Each fault alone, and its coefficient.
TEST(CheckTest, EstimatesEachFaultWithinATwentiethOfAPixel) {
  const double focal = FaultyPair({1, 1}, 1, {}).focal() * small.width;
  const auto expect = [](const char* what, const Estimate& estimate, double truth) {
    EXPECT_NEAR(estimate.value, truth, 0.05) << what;
    EXPECT_TRUE(estimate.held) << what;
    EXPECT_LT(estimate.uncertainty, 0.3) << what;
  };
  expect("shift", check_faults({.rows = -3.3}).model.shift, -3.3);
  const RowModel rotated = check_faults({.roll = 0.015}).model;
  expect("rotation", rotated.rotation, half * std::tan(0.015));
  EXPECT_NEAR(rotated.rotation_degrees(), 0.8594, 0.01);
  const RowModel larger = check_faults({.scale = 1.012}).model;
  expect("scale", larger.scale, half * 0.012);
  EXPECT_NEAR(larger.scale_ratio(), 1.012, 0.0003);
  const RowModel pitched = check_faults({.pitch = 0.015}).model;
  expect("pitch: shift", pitched.shift, focal * std::tan(0.015));
  expect("pitch", pitched.pitch, half * half / focal * std::tan(0.015));
  expect("yaw", check_faults({.yaw = 0.015}).model.yaw, half * half / focal * std::sin(0.015));
  expect("distortion", check_faults({.distortion = 0.02}).model.distortion,
         0.02 * half * half * half / focal / focal);
  // Disparities span a tenth of the width, so that this coefficient moves points by a fifth of its value.
  EXPECT_NEAR(0.2 * check_faults({.higher = 0.02}).model.shear.value, -0.2 * half * 0.02, 0.05);
}

TEST(CheckTest, RowsOffByMoreThanAllowedAreNotFit) {
  const PairReport report = check_faults({.rows = 0.7});
  EXPECT_EQ(report.verdict, Verdict::rows_off);
  EXPECT_FALSE(report.fit());
  EXPECT_NEAR(report.rows_off, 0.7, 0.02);
  EXPECT_NEAR(report.rows_off_95, 0.7, 0.1);
  EXPECT_NE(report.sentence.find("shifted by 0.70 px"), std::string::npos) << report.sentence;
  EXPECT_TRUE(report.will_be_aligned);
  EXPECT_LT(report.rows_off_aligned, 0.15);
  EXPECT_NE(report.sentence.find("match aligns them by itself"), std::string::npos) << report.sentence;
  const FaultyPair pair(small, 1, {.rows = 0.7});
  EXPECT_EQ(check_pair(pair.pair(), {.max_rows_off = 1}).verdict, Verdict::fit);
  EXPECT_EQ(check_faults({.rows = 0.3}).verdict, Verdict::fit);
  EXPECT_NE(check_faults({.roll = 0.02}).sentence.find("rotated by 1.146°"), std::string::npos);
}

TEST(CheckTest, RowsOffOfManyPixelsAreFoundWithinTheSearch) {
  const PairReport report = check_faults({.rows = 12, .roll = 0.01});
  EXPECT_EQ(report.verdict, Verdict::rows_off);
  EXPECT_NEAR(report.model.shift.value, 12, 0.05);
  // More than 5 % of the height, and then more than three times as much.
  const PairReport beyond = check_faults({.rows = 40});
  EXPECT_NEAR(beyond.model.shift.value, 40, 0.05);
  EXPECT_FALSE(beyond.will_be_aligned) << "match searches no farther than 5 %";
  EXPECT_NE(beyond.sentence.find("rectify it with a new calibration"), std::string::npos) << beyond.sentence;
  const FaultyPair far(small, 1, {.rows = 60});
  EXPECT_EQ(check_pair(far.pair()).verdict, Verdict::unrelated);
  EXPECT_EQ(check_pair(far.pair(), {.search_rows = 0.1}).verdict, Verdict::rows_off);
}

TEST(CheckTest, NoiseAndExposureChangeNeitherVerdictNorEstimates) {
  const PairReport report = check_faults({.rows = 0.25, .noise = 10, .gain = 0.7, .offset = 20});
  EXPECT_EQ(report.verdict, Verdict::fit) << report.sentence;
  EXPECT_NEAR(report.model.shift.value, 0.25, 0.05);
  EXPECT_NEAR(report.exposure.gain, 0.7, 0.03);
  EXPECT_NEAR(report.exposure.offset, 20, 4);
  EXPECT_TRUE(has_remark(report, "Exposures differ"));
}

TEST(CheckTest, TheRangeHoldsTheTruth) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const FaultyPair pair(small, seed, {});
    const DisparityRange range = check_pair(pair.pair()).range;
    double lowest = 1e9, highest = -1e9;
    for (int y = 0; y < small.height; ++y)
      for (int x = 0; x < small.width; ++x) {
        lowest = std::min(lowest, pair.true_disparity(x, y));
        highest = std::max(highest, pair.true_disparity(x, y));
      }
    EXPECT_GE(range.lowest, lowest - 0.5);
    EXPECT_LE(range.highest, highest + 0.5);
    EXPECT_LE(range.min_disparity, lowest);
    EXPECT_GE(range.min_disparity + range.disparities - 1, highest);
    EXPECT_LE(range.disparities, 2 * highest);
    EXPECT_EQ(range.disparities % 8, 0);
    EXPECT_TRUE(range.sure);
    EXPECT_GT(range.seen, 0.6);
    EXPECT_NE(range.sentence.find("is sure: "), std::string::npos) << range.sentence;
    int points = 0;
    for (const int count : range.histogram) points += count;
    EXPECT_EQ(points, range.points);
    EXPECT_TRUE(std::is_sorted(range.quantiles.begin(), range.quantiles.end()));
  }
}

// Draws a crossing of dark and bright fields, turned by an angle, that fades into the picture.
void draw_mark(Plane<std::uint8_t>& image, int centre_x, int centre_y, double angle) {
  const double c = std::cos(angle), s = std::sin(angle);
  for (int dy = -12; dy <= 12; ++dy)
    for (int dx = -12; dx <= 12; ++dx) {
      const double u = c * dx + s * dy, v = c * dy - s * dx, r = std::hypot(dx, dy);
      const double mark = 128 + 110 * std::clamp(u, -1.0, 1.0) * std::clamp(v, -1.0, 1.0);
      const double share = std::clamp((8.5 - r) / 2, 0.0, 1.0);
      std::uint8_t& pixel = image.at(centre_x + dx, centre_y + dy);
      pixel = static_cast<std::uint8_t>(share * mark + (1 - share) * pixel);
    }
}

TEST(CheckTest, LonelyPointsDoNotWidenTheRange) {
  FaultyPair pair(small, 1, {});
  Plane<std::uint8_t> left = flipped(pair.left(), false, false), right = flipped(pair.right(), false, false);
  for (int i = 0; i < 8; ++i) {
    draw_mark(left, 250 + 40 * (i % 4), 40 + 30 * i, 0.19 * i);
    draw_mark(right, 250 + 40 * (i % 4) - 100 - 12 * i, 40 + 30 * i, 0.19 * i);
  }
  const PairReport report = check_pair({left.view(), right.view()});
  const auto lonely = std::count_if(report.points.begin(), report.points.end(),
                                    [](const CheckedPoint& point) { return point.disparity() > 90; });
  EXPECT_GE(lonely, 4);
  EXPECT_LT(report.range.highest, 60);
}

// Moves the right picture to the left, which adds to every disparity.
TEST(CheckTest, ASureRangeBeginsBelowTheLowestDisparity) {
  const FaultyPair pair(small, 1, {});
  const auto range_with = [&](int more) {
    Plane<std::uint8_t> right(small);
    for (int y = 0; y < small.height; ++y)
      for (int x = 0; x + more < small.width; ++x) right.at(x, y) = pair.right().at(x + more, y);
    return check_pair({pair.left().view(), right.view()}).range;
  };
  const DisparityRange plain = range_with(0), deep = range_with(25), shallow = range_with(120);
  EXPECT_GT(deep.lowest, plain.lowest + 20);
  EXPECT_GT(deep.min_disparity, 10);
  EXPECT_LT(deep.min_disparity, deep.lowest);
  EXPECT_GE(plain.min_disparity, 0) << "nothing is beyond infinity";
  EXPECT_GT(shallow.min_disparity, 100);
  EXPECT_LT(shallow.min_disparity, shallow.lowest);
  EXPECT_LE(shallow.disparities, plain.disparities + 16);
}

Plane<std::uint8_t> faint(const Plane<std::uint8_t>& image) {
  Plane<std::uint8_t> result(image.size());
  for (int y = 0; y < image.height(); ++y)
    for (int x = 0; x < image.width(); ++x)
      result.at(x, y) = static_cast<std::uint8_t>(100 + image.at(x, y) / 24);
  return result;
}

TEST(CheckTest, WithoutCornersSmallPicturesShowTheRange) {
  const FaultyPair pair(small, 1, {});
  const Plane<std::uint8_t> left = faint(pair.left()), right = faint(pair.right());
  const PairReport report = check_pair({left.view(), right.view()});
  EXPECT_EQ(report.verdict, Verdict::too_little_texture) << report.left_corners;
  ASSERT_TRUE(report.has_range());
  const DisparityRange known = check_pair(pair.pair()).range;
  EXPECT_NEAR(report.range.lowest, known.lowest, 3);
  EXPECT_NEAR(report.range.highest, known.highest, 3);
  EXPECT_LE(report.range.min_disparity, known.lowest);
  EXPECT_GE(report.range.min_disparity + report.range.disparities - 1, known.highest);
  EXPECT_FALSE(report.range.sure) << "no points";
}

// The right two thirds of both pictures are a blank wall.
TEST(CheckTest, ARangeOfLittleEvidenceIsNotSure) {
  const FaultyPair pair(small, 1, {});
  Plane<std::uint8_t> left = flipped(pair.left(), false, false), right = flipped(pair.right(), false, false);
  for (Plane<std::uint8_t>* image : {&left, &right})
    for (int y = 0; y < small.height; ++y)
      std::fill(image->row(y) + small.width / 3, image->row(y) + small.width, std::uint8_t{120});
  const PairReport report = check_pair({left.view(), right.view()});
  ASSERT_TRUE(report.has_range());
  EXPECT_LT(report.range.seen, 0.35);
  EXPECT_FALSE(report.range.sure);
  EXPECT_NE(report.range.sentence.find("is not sure: only "), std::string::npos) << report.range.sentence;
  EXPECT_EQ(report.range.min_disparity, 0) << "what is not seen may be at infinity";
}

// Nothing but masked pixels shows the nearest surface.
TEST(CheckTest, MaskedPixelsDoNotShowARange) {
  const FaultyPair pair(small, 1, {});
  const double middle = check_pair(pair.pair()).range.quantiles[2];
  Plane<std::uint8_t> mask(small, 1);
  for (int y = 0; y < small.height; ++y)
    for (int x = 0; x < small.width; ++x)
      if (pair.true_disparity(x, y) > middle) mask.at(x, y) = 0;
  StereoPair masked = pair.pair();
  masked.left_mask = mask.view();
  const PairReport whole = check_pair(pair.pair()), part = check_pair(masked);
  EXPECT_LT(part.range.min_disparity + part.range.disparities,
            whole.range.min_disparity + whole.range.disparities);
}

TEST(CheckTest, ConvergingCamerasAreNotExchangedOnes) {
  const FaultyPair pair(small, 1, {});
  // Four fifths of the points lie behind the place where the cameras converge.
  std::vector<CheckedPoint> points = check_pair(pair.pair()).points;
  std::vector<float> disparities;
  for (const CheckedPoint& point : points) disparities.push_back(point.disparity());
  std::sort(disparities.begin(), disparities.end());
  const int shift = static_cast<int>(disparities[disparities.size() * 4 / 5]) + 1;
  const auto part = [&](const Plane<std::uint8_t>& image, int first) {
    return ImageView(image.row(0) + first, {{small.width - shift, small.height}, BitDepth::bits8}, 1,
                     image.view().stride_bytes);
  };
  const ImageView left = part(pair.left(), shift), right = part(pair.right(), 0);
  const PairReport report = check_pair({left, right}),
                   exchanged = check_pair({pair.pair().right, pair.pair().left});
  EXPECT_EQ(report.verdict, Verdict::fit) << report.sentence;
  EXPECT_TRUE(has_remark(report, "the cameras converge"));
  EXPECT_LT(report.range.min_disparity, 0);
  EXPECT_GT(report.range.min_disparity + report.range.disparities, 0);
  EXPECT_FALSE(has_remark(exchanged, "the cameras converge"));
}

TEST(CheckTest, TheRangeOfRowsThatAreOffIsThatOfThePair) {
  const DisparityRange level = check_faults({}).range,
                       lowered = check_faults({.rows = 12, .roll = 0.01}).range;
  EXPECT_NEAR(lowered.seen, level.seen, 0.1);
  EXPECT_NEAR(lowered.min_disparity, level.min_disparity, 4);
  EXPECT_NEAR(lowered.disparities, level.disparities, 8);
}

TEST(CheckTest, TheReportDependsNeitherOnThreadsNorOnVectorInstructions) {
  const FaultyPair pair(small, 3, {.noise = 5});
  const std::string expected = to_json(check_pair(pair.pair(), {.threads = 1}));
  for (const std::string& target : cpu_targets()) {
    force_cpu_target(target);
    for (const int threads : {1, 3, 8})
      EXPECT_EQ(to_json(check_pair(pair.pair(), {.threads = threads})), expected) << target;
  }
  force_cpu_target("");
}

TEST(CheckTest, TinyPicturesShowNoRange) {
  for (const Size size : {Size{1, 1}, Size{25, 24}, Size{31, 31}, Size{8, 200}, Size{40'000, 1}}) {
    const FaultyPair pair(size, 1, {});
    EXPECT_FALSE(check_pair(pair.pair()).has_range()) << size.width;
  }
}

TEST(CheckTest, ExchangedPicturesAreFound) {
  const FaultyPair pair(small, 1, {});
  const PairReport report = check_pair({pair.pair().right, pair.pair().left});
  EXPECT_EQ(report.verdict, Verdict::exchanged) << report.sentence;
  EXPECT_LT(report.range.highest, 0);
  EXPECT_LT(report.range.min_disparity, report.range.lowest);
  EXPECT_GE(report.range.min_disparity + report.range.disparities - 1, report.range.highest);
}

// If both pictures are flipped, they look exchanged; a single flipped one is found, and identified.
TEST(CheckTest, MirroredAndTurnedPicturesAreFound) {
  const FaultyPair pair(small, 1, {});
  struct Case {
    bool columns, rows;
    Verdict verdict;
  };
  for (const Case& c : {Case{true, false, Verdict::mirrored}, Case{false, true, Verdict::upside_down},
                        Case{true, true, Verdict::turned}}) {
    const Plane<std::uint8_t> left = flipped(pair.left(), c.columns, c.rows),
                              right = flipped(pair.right(), c.columns, c.rows);
    const PairReport of_right = check_pair({pair.left().view(), right.view()}),
                     of_left = check_pair({left.view(), pair.right().view()});
    EXPECT_EQ(of_right.verdict, c.verdict) << of_right.sentence;
    EXPECT_EQ(of_left.verdict, c.verdict) << of_left.sentence;
    // Mirrored rows leave the disparities unchanged, so the pictures cannot be told apart.
    EXPECT_EQ(of_right.side, c.columns ? Side::right : Side::neither);
    EXPECT_EQ(of_left.side, c.columns ? Side::left : Side::neither);
    for (const PairReport* report : {&of_right, &of_left}) {
      EXPECT_GT(report->range.lowest, 0);
      EXPECT_LT(report->rows_off, 0.05);
      EXPECT_NEAR(report->exposure.gain, 1, 0.02);
    }
  }
  const Plane<std::uint8_t> left = flipped(pair.left(), true, false),
                            right = flipped(pair.right(), true, false);
  EXPECT_EQ(check_pair({left.view(), right.view()}).verdict, Verdict::exchanged);
}

TEST(CheckTest, IdenticalPicturesAreFound) {
  const FaultyPair pair(small, 1, {});
  EXPECT_EQ(check_pair({pair.left().view(), pair.left().view()}).verdict, Verdict::identical);
  // Another shot from the same place.
  Plane<std::uint8_t> again = flipped(pair.left(), false, false);
  for (int y = 0; y < small.height; ++y)
    for (int x = 0; x < small.width; ++x)
      again.at(x, y) = static_cast<std::uint8_t>(again.at(x, y) + (x + y) % 3 - (again.at(x, y) > 250));
  EXPECT_EQ(check_pair({pair.left().view(), again.view()}).verdict, Verdict::identical);
}

TEST(CheckTest, PicturesOfNothingInCommonAreUnrelated) {
  const FaultyPair pair(small, 1, {}), other(small, 77, {});
  EXPECT_EQ(check_pair({pair.left().view(), other.right().view()}).verdict, Verdict::unrelated);
  const Plane<std::uint8_t> first = random_noise(small, 1), second = random_noise(small, 2);
  const PairReport report = check_pair({first.view(), second.view()});
  EXPECT_EQ(report.verdict, Verdict::unrelated);
  EXPECT_EQ(report.range.disparities, 0);
  EXPECT_TRUE(report.points.empty());
}

TEST(CheckTest, PicturesWithoutTextureAreNamed) {
  const FaultyPair pair(small, 1, {});
  const Plane<std::uint8_t> flat(small, 90);
  const Plane<std::uint8_t> flat_too(small, 91);
  const PairReport left = check_pair({flat.view(), pair.right().view()}),
                   right = check_pair({pair.left().view(), flat.view()}),
                   both = check_pair({flat.view(), flat_too.view()});
  for (const PairReport* report : {&left, &right, &both})
    EXPECT_EQ(report->verdict, Verdict::too_little_texture) << report->sentence;
  EXPECT_EQ(left.side, Side::left);
  EXPECT_EQ(right.side, Side::right);
  EXPECT_EQ(both.side, Side::neither);
  for (const Size size : {Size{1, 1}, Size{25, 24}, Size{30, 5}, Size{5, 200}}) {
    const Plane<std::uint8_t> first = random_noise(size, 1), second = random_noise(size, 2);
    EXPECT_EQ(check_pair({first.view(), second.view()}).verdict, Verdict::too_little_texture) << size.width;
  }
}

TEST(CheckTest, ABlurredPictureIsNamed) {
  const FaultyPair pair(small, 1, {});
  const Plane<std::uint8_t> blurred = box_means(box_means(pair.right()));
  const PairReport report = check_pair({pair.left().view(), blurred.view()}),
                   exchanged = check_pair({blurred.view(), pair.left().view()});
  EXPECT_EQ(report.verdict, Verdict::fit);
  EXPECT_LT(report.sharpness, 0.75);
  EXPECT_TRUE(has_remark(report, "The right picture is blurred"));
  EXPECT_GT(exchanged.sharpness, 1.3);
  EXPECT_TRUE(has_remark(exchanged, "The left picture is blurred"));
}

TEST(CheckTest, ColoursThatDifferAreNamed) {
  const FaultyPair pair(small, 1, {});
  const auto coloured = [&](const Plane<std::uint8_t>& gray, double blue) {
    Plane<std::uint8_t> image({3 * small.width, small.height});
    for (int y = 0; y < small.height; ++y)
      for (int x = 0; x < small.width; ++x) {
        image.at(3 * x, y) = image.at(3 * x + 1, y) = gray.at(x, y);
        image.at(3 * x + 2, y) = static_cast<std::uint8_t>(blue * gray.at(x, y));
      }
    return image;
  };
  const auto view = [](const Plane<std::uint8_t>& image) {
    return ImageView(image.row(0), {small, BitDepth::bits8}, 3, image.view().stride_bytes);
  };
  const Plane<std::uint8_t> left = coloured(pair.left(), 1), right = coloured(pair.right(), 0.7);
  const PairReport report = check_pair({view(left), view(right)});
  EXPECT_NEAR(report.colour[0].gain, 1, 0.02);
  EXPECT_NEAR(report.colour[2].gain, 0.7, 0.02);
  EXPECT_TRUE(has_remark(report, "Colours differ"));
  // A gray picture beside one in colour.
  const PairReport gray = check_pair({view(left), pair.right().view()});
  EXPECT_EQ(gray.verdict, Verdict::fit);
  EXPECT_FALSE(has_remark(gray, "Colours differ"));
}

// Twelve bits in words of 16, as many cameras deliver them.
TEST(CheckTest, DeepPicturesGiveTheSameAsTheirUpperBits) {
  const FaultyPair pair(small, 1, {.rows = 0.4});
  const auto deep = [](const Plane<std::uint8_t>& image) {
    Plane<std::uint16_t> result(image.size());
    for (int y = 0; y < image.height(); ++y)
      for (int x = 0; x < image.width(); ++x)
        result.at(x, y) = static_cast<std::uint16_t>(16 * image.at(x, y));
    return result;
  };
  const Plane<std::uint16_t> left = deep(pair.left()), right = deep(pair.right());
  const PairReport report = check_pair({left.view(), right.view()}), expected = check_pair(pair.pair());
  EXPECT_EQ(report.verdict, Verdict::fit);
  EXPECT_NEAR(static_cast<double>(report.points.size()), static_cast<double>(expected.points.size()), 30);
  EXPECT_NEAR(report.model.shift.value, 0.4, 0.03);
}

TEST(CheckTest, MaskedPixelsAreNoPoints) {
  const FaultyPair pair(small, 1, {});
  Plane<std::uint8_t> mask(small, 255);
  for (int y = 0; y < small.height; ++y)
    for (int x = 0; x < 200; ++x) mask.at(x, y) = 0;
  StereoPair masked = pair.pair();
  masked.left_mask = mask.view();
  const PairReport report = check_pair(masked);
  EXPECT_GT(report.points.size(), 100u);
  for (const CheckedPoint& point : report.points) EXPECT_GE(point.left_x, 208);
  std::swap(masked.left_mask, masked.right_mask);
  const PairReport right = check_pair(masked);
  EXPECT_GT(right.points.size(), 100u);
  for (const CheckedPoint& point : right.points)
    EXPECT_GE(point.right_x, 205);  // up to 2.5 px from the corner
}

TEST(CheckTest, EveryNumberOfThreadsGivesTheSameReport) {
  const FaultyPair pair(small, 3, {.rows = 0.4, .roll = 0.004, .noise = 5});
  const PairReport expected = check_pair(pair.pair(), {.threads = 1});
  for (const int threads : {2, 3, 7}) {
    const PairReport report = check_pair(pair.pair(), {.threads = threads});
    ASSERT_EQ(report.points.size(), expected.points.size());
    EXPECT_EQ(std::memcmp(report.points.data(), expected.points.data(),
                          expected.points.size() * sizeof(CheckedPoint)),
              0);
    EXPECT_EQ(report.model.pitch.value, expected.model.pitch.value);
    EXPECT_EQ(report.model.residual_95, expected.model.residual_95);
    EXPECT_EQ(report.sharpness, expected.sharpness);
    EXPECT_EQ(report.exposure.offset, expected.exposure.offset);
    EXPECT_EQ(report.sentence, expected.sentence);
  }
}

TEST(CheckTest, BadArgumentsAreRefused) {
  const Plane<std::uint8_t> image(small, 1), other({small.width, small.height + 1}, 1);
  const Plane<std::uint16_t> deep(small);
  const auto refused = [](const StereoPair& pair, const CheckParameters& parameters,
                          const std::string& words) {
    try {
      check_pair(pair, parameters);
      ADD_FAILURE() << "accepted: " << words;
    } catch (const Error& error) {
      EXPECT_EQ(error.category(), ErrorCategory::argument);
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  };
  refused({image.view(), other.view()}, {}, "400×301");
  refused({image.view(), deep.view()}, {}, "depths differ");
  refused({}, {}, "left image points to no memory");
  refused({image.view(), {}}, {}, "right image points to no memory");
  refused({image.view(), image.view(), other.view()}, {}, "left mask");
  const StereoPair pair{image.view(), image.view()};
  refused(pair, {.search_rows = 0}, "search_rows");
  refused(pair, {.search_columns = 1.5}, "search_columns");
  refused(pair, {.max_rows_off = -1}, "max_rows_off");
  refused(pair, {.threads = -1}, "threads");
}

TEST(CheckTest, NamesAreThoseOfTheHeader) {
  EXPECT_STREQ(name(Verdict::too_little_texture), "too_little_texture");
  EXPECT_STREQ(name(Verdict::unrelated), "unrelated");
  EXPECT_STREQ(name(Side::right), "right");
}

}  // namespace
}  // namespace parallax::test
