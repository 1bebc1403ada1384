// SPDX-License-Identifier: Apache-2.0
#include "parallax/check.h"

#include "parallax/parallax_c.h"

#include "check/faulty_pair.h"
#include "support.h"

namespace parallax::test {
namespace {

constexpr Size size{320, 240};

void expect_ok(parallax_code code) {
  EXPECT_EQ(code, PARALLAX_OK) << parallax_error_message();
}

void expect_refused(parallax_code code, std::string_view part) {
  EXPECT_EQ(code, PARALLAX_ERROR_ARGUMENT) << part;
  EXPECT_TRUE(contains(parallax_error_message(), part)) << parallax_error_message() << "\nlacks " << part;
}

parallax_image image_of(const Plane<std::uint8_t>& plane) {
  return {sizeof(parallax_image),
          plane.row(0),
          plane.width(),
          plane.height(),
          plane.view().stride_bytes,
          PARALLAX_UINT8,
          1};
}

parallax_image image_of(const std::vector<std::uint8_t>& colours) {
  return {sizeof(parallax_image), colours.data(), size.width, size.height, 3 * size.width, PARALLAX_UINT8, 3};
}

// Red equals gray, green is darker, blue brighter.
std::vector<std::uint8_t> coloured(const Plane<std::uint8_t>& gray, double green, double blue) {
  std::vector<std::uint8_t> pixels;
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x)
      for (const double gain : {1.0, green, blue})
        pixels.push_back(static_cast<std::uint8_t>(std::min(255.0, gain * gray.at(x, y))));
  return pixels;
}

void expect_same(const Estimate& expected, const parallax_estimate& actual, const char* name) {
  EXPECT_EQ(actual.value, expected.value) << name;
  EXPECT_EQ(actual.uncertainty, expected.uncertainty) << name;
  EXPECT_EQ(actual.held != 0, expected.held) << name;
}

void expect_same(const RowModel& expected, const parallax_pair_report& actual) {
  expect_same(expected.shift, actual.shift, "shift");
  expect_same(expected.rotation, actual.rotation, "rotation");
  expect_same(expected.scale, actual.scale, "scale");
  expect_same(expected.yaw, actual.yaw, "yaw");
  expect_same(expected.pitch, actual.pitch, "pitch");
  expect_same(expected.shear, actual.shear, "shear");
  expect_same(expected.forward, actual.forward, "forward");
  expect_same(expected.distortion, actual.distortion, "distortion");
  EXPECT_EQ(actual.rotation_degrees, expected.rotation_degrees());
  EXPECT_EQ(actual.scale_ratio, expected.scale_ratio());
  EXPECT_EQ(actual.shear_degrees, expected.shear_degrees());
  EXPECT_EQ(actual.centre_x, expected.centre_x);
  EXPECT_EQ(actual.centre_y, expected.centre_y);
  EXPECT_EQ(actual.half_width, expected.half_width);
  EXPECT_EQ(actual.centre_disparity, expected.centre_disparity);
  EXPECT_EQ(actual.residual, expected.residual);
  EXPECT_EQ(actual.residual_95, expected.residual_95);
}

void expect_same(const DisparityRange& expected, const parallax_pair_report& actual) {
  EXPECT_EQ(actual.min_disparity, expected.min_disparity);
  EXPECT_EQ(actual.disparities, expected.disparities);
  EXPECT_EQ(actual.range_points, expected.points);
  EXPECT_EQ(actual.lowest, expected.lowest);
  EXPECT_EQ(actual.highest, expected.highest);
  EXPECT_TRUE(std::equal(expected.quantiles.begin(), expected.quantiles.end(), actual.quantiles));
  EXPECT_EQ(std::vector<int>(actual.histogram, actual.histogram + actual.histogram_count),
            expected.histogram);
  EXPECT_EQ(actual.histogram_start, expected.histogram_start);
  EXPECT_EQ(actual.histogram_step, expected.histogram_step);
}

void expect_same(const Exposure& expected, const parallax_exposure& actual) {
  EXPECT_EQ(actual.gain, expected.gain);
  EXPECT_EQ(actual.offset, expected.offset);
}

void expect_same(const std::vector<CheckedPoint>& expected, const parallax_pair_report& actual) {
  ASSERT_EQ(actual.point_count, expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const parallax_checked_point& point = actual.points[i];
    EXPECT_EQ(point.left_x, expected[i].left_x);
    EXPECT_EQ(point.left_y, expected[i].left_y);
    EXPECT_EQ(point.right_x, expected[i].right_x);
    EXPECT_EQ(point.right_y, expected[i].right_y);
    EXPECT_EQ(point.uncertainty, expected[i].uncertainty);
    EXPECT_EQ(point.residual, expected[i].residual);
  }
}

void expect_same(const PairReport& expected, const parallax_pair_report& actual) {
  EXPECT_EQ(actual.struct_size, sizeof(parallax_pair_report));
  EXPECT_EQ(actual.verdict, static_cast<int>(expected.verdict));
  EXPECT_EQ(actual.side, static_cast<int>(expected.side));
  EXPECT_EQ(actual.sentence, expected.sentence);
  EXPECT_EQ(std::vector<std::string>(actual.remarks, actual.remarks + actual.remark_count), expected.remarks);
  EXPECT_EQ(actual.json, to_json(expected));
  EXPECT_EQ((Size{actual.width, actual.height}), expected.size);
  EXPECT_EQ(actual.left_corners, expected.left_corners);
  EXPECT_EQ(actual.right_corners, expected.right_corners);
  EXPECT_EQ(actual.matched, expected.matched);
  EXPECT_EQ(actual.has_range != 0, expected.has_range());
  EXPECT_EQ(actual.rows_points, expected.rows_points);
  EXPECT_EQ(actual.rows_off, expected.rows_off);
  EXPECT_EQ(actual.rows_off_95, expected.rows_off_95);
  EXPECT_EQ(actual.rows_off_model, expected.rows_off_model);
  expect_same(expected.model, actual);
  expect_same(expected.range, actual);
  expect_same(expected.exposure, actual.exposure);
  expect_same(expected.colour[0], actual.red);
  expect_same(expected.colour[1], actual.green);
  expect_same(expected.colour[2], actual.blue);
  EXPECT_EQ(actual.sharpness, expected.sharpness);
  expect_same(expected.points, actual);
}

TEST(CCheckTest, AReportIsThatOfCpp) {
  const FaultyPair faulty(size, 1, {.rows = 0.6, .roll = 0.01, .yaw = 0.01, .scale = 1.01, .noise = 4});
  const std::vector<std::uint8_t> left = coloured(faulty.left(), 1, 1),
                                  right = coloured(faulty.right(), 0.6, 1.3);
  Plane<std::uint8_t> left_mask(size, 255), right_mask(size, 255);
  for (int y = 0; y < size.height; ++y) std::fill_n(left_mask.row(y), 40, 0);
  for (int y = 0; y < 30; ++y) std::fill_n(right_mask.row(y), size.width, 0);
  const ImageFormat format{size, BitDepth::bits8};
  const StereoPair views{{left.data(), format, 3, 3 * size.width},
                         {right.data(), format, 3, 3 * size.width},
                         left_mask.view(),
                         right_mask.view()};
  const PairReport expected =
      check_pair(views, {.search_rows = 0.04, .search_columns = 0.4, .max_rows_off = 0.3, .threads = 2});
  ASSERT_EQ(expected.verdict, Verdict::rows_off);
  ASSERT_FALSE(expected.remarks.empty());
  ASSERT_NE(expected.points.size(), check_pair({views.left, views.right}).points.size());

  const parallax_image images[] = {image_of(left), image_of(right), image_of(left_mask),
                                   image_of(right_mask)};
  const parallax_pair pair{sizeof(pair), &images[0], &images[1], &images[2], &images[3], nullptr};
  parallax_check_parameters parameters = PARALLAX_CHECK_PARAMETERS_INIT;
  parameters.search_rows = 0.04;
  parameters.search_columns = 0.4;
  parameters.max_rows_off = 0.3;
  parameters.threads = 1;
  const parallax_pair_report* report = nullptr;
  expect_ok(parallax_check_pair(&pair, &parameters, &report));
  ASSERT_NE(report, nullptr);
  expect_same(expected, *report);
  parallax_pair_report_release(report);
}

TEST(CCheckTest, NullMeansTheDefaultsAndNamesTheirValues) {
  const FaultyPair faulty(size, 2, {});
  const parallax_image left = image_of(faulty.left()), right = image_of(faulty.right());
  for (const bool exchanged : {false, true}) {
    const parallax_pair pair{
        sizeof(pair), exchanged ? &right : &left, exchanged ? &left : &right, nullptr, nullptr, nullptr};
    const PairReport expected =
        check_pair(exchanged ? StereoPair{faulty.pair().right, faulty.pair().left} : faulty.pair());
    const parallax_check_parameters parameters = PARALLAX_CHECK_PARAMETERS_INIT;
    for (const parallax_check_parameters* given :
         {&parameters, static_cast<decltype(&parameters)>(nullptr)}) {
      const parallax_pair_report* report = nullptr;
      expect_ok(parallax_check_pair(&pair, given, &report));
      expect_same(expected, *report);
      EXPECT_EQ(report->verdict, exchanged ? PARALLAX_EXCHANGED : PARALLAX_FIT);
      parallax_pair_report_release(report);
    }
  }
}

// Every name of C has the number of its counterpart.
TEST(CCheckTest, VerdictsAndSidesHaveTheNumbersOfCpp) {
  const std::pair<parallax_verdict, Verdict> verdicts[] = {
      {PARALLAX_FIT, Verdict::fit},
      {PARALLAX_ROWS_OFF, Verdict::rows_off},
      {PARALLAX_EXCHANGED, Verdict::exchanged},
      {PARALLAX_MIRRORED, Verdict::mirrored},
      {PARALLAX_UPSIDE_DOWN, Verdict::upside_down},
      {PARALLAX_TURNED, Verdict::turned},
      {PARALLAX_IDENTICAL, Verdict::identical},
      {PARALLAX_TOO_LITTLE_TEXTURE, Verdict::too_little_texture},
      {PARALLAX_UNRELATED, Verdict::unrelated}};
  for (const auto& [c, cpp] : verdicts) EXPECT_EQ(static_cast<int>(c), static_cast<int>(cpp)) << name(cpp);
  const std::pair<parallax_side, Side> sides[] = {
      {PARALLAX_NEITHER, Side::neither}, {PARALLAX_LEFT, Side::left}, {PARALLAX_RIGHT, Side::right}};
  for (const auto& [c, cpp] : sides) EXPECT_EQ(static_cast<int>(c), static_cast<int>(cpp)) << name(cpp);
}

TEST(CCheckTest, APairThatCannotBeMatchedIsNoError) {
  const Plane<std::uint8_t> gray(size, 100), other(size, 101);
  const parallax_image left = image_of(gray), right = image_of(other);
  const parallax_pair pair{sizeof(pair), &left, &right, nullptr, nullptr, nullptr};
  const parallax_pair_report* report = nullptr;
  expect_ok(parallax_check_pair(&pair, nullptr, &report));
  EXPECT_EQ(report->verdict, PARALLAX_TOO_LITTLE_TEXTURE);
  EXPECT_EQ(report->has_range, 0);
  EXPECT_EQ(report->shift.held, 0);
  EXPECT_EQ(report->point_count, 0u);
  EXPECT_EQ(report->histogram_count, 0u);
  EXPECT_TRUE(contains(report->sentence, "too little texture"));
  parallax_pair_report_release(report);
}

// The range is that of the pair in which this is undone.
TEST(CCheckTest, AMirroredPictureHasNoRangeToSearch) {
  const FaultyPair faulty(size, 1, {});
  Plane<std::uint8_t> mirrored(size);
  for (int y = 0; y < size.height; ++y)
    std::reverse_copy(faulty.right().row(y), faulty.right().row(y) + size.width, mirrored.row(y));
  const parallax_image left = image_of(faulty.left()), right = image_of(mirrored);
  const parallax_pair pair{sizeof(pair), &left, &right, nullptr, nullptr, nullptr};
  const parallax_pair_report* report = nullptr;
  expect_ok(parallax_check_pair(&pair, nullptr, &report));
  EXPECT_EQ(report->verdict, PARALLAX_MIRRORED);
  EXPECT_EQ(report->side, PARALLAX_RIGHT);
  EXPECT_EQ(report->has_range, 0);
  EXPECT_GT(report->disparities, 0);
  parallax_pair_report_release(report);
}

TEST(CCheckTest, ErrorsNameTheirCause) {
  const Plane<std::uint8_t> gray(size, 100), smaller({size.width, 100}, 100);
  const parallax_image left = image_of(gray), right = image_of(gray), small = image_of(smaller);
  parallax_pair pair{sizeof(pair), &left, &right, nullptr, nullptr, nullptr};
  parallax_check_parameters parameters = PARALLAX_CHECK_PARAMETERS_INIT;
  const parallax_pair_report* report = nullptr;
  expect_refused(parallax_check_pair(nullptr, nullptr, &report), "pair is NULL");
  expect_refused(parallax_check_pair(&pair, nullptr, nullptr), "report is NULL");
  parameters.max_rows_off = 0;
  expect_refused(parallax_check_pair(&pair, &parameters, &report), "max_rows_off is 0");
  parameters.max_rows_off = 0.5;
  parameters.threads = -1;
  expect_refused(parallax_check_pair(&pair, &parameters, &report), "threads is -1");
  parameters.struct_size = 3;
  expect_refused(parallax_check_pair(&pair, &parameters, &report), "check parameters struct_size is 3");
  pair.right = &small;
  expect_refused(parallax_check_pair(&pair, nullptr, &report), "320×100");
  EXPECT_EQ(report, nullptr);
  parallax_pair_report_release(nullptr);
}

}  // namespace
}  // namespace parallax::test
