// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include <gtest/gtest.h>

#include "parallax/error.h"
#include "parallax/formats.h"

#include "support.h"

namespace parallax::test {
namespace {

// A file of the Middlebury 2014 data set.
const std::string motorcycle =
    "cam0=[3979.911 0 1244.772; 0 3979.911 1019.507; 0 0 1]\n"
    "cam1=[3979.911 0 1369.115; 0 3979.911 1019.507; 0 0 1]\n"
    "doffs=124.343\n"
    "baseline=193.001\n"
    "width=2964\n"
    "height=1988\n"
    "ndisp=280\n"
    "isint=0\n"
    "vmin=31\n"
    "vmax=257\n"
    "dyavg=0.918\n"
    "dymax=1.516\n";

// The text with one part replaced.
std::string with(const std::string& part, const std::string& replacement) {
  std::string text = motorcycle;
  return text.replace(text.find(part), part.size(), replacement);
}

void expect_equal(const Calibration& a, const Calibration& b) {
  EXPECT_EQ(a.focal, b.focal);
  EXPECT_EQ(a.centre_x, b.centre_x);
  EXPECT_EQ(a.centre_y, b.centre_y);
  EXPECT_EQ(a.doffs, b.doffs);
  EXPECT_EQ(a.baseline, b.baseline);
  EXPECT_EQ(a.width, b.width);
  EXPECT_EQ(a.height, b.height);
  EXPECT_EQ(a.disparities, b.disparities);
}

const Calibration expected{3979.911, 1244.772, 1019.507, 124.343, 193.001, 2964, 1988, 280};

void expect_refused(const std::string& text, const std::string& key) {
  expect_error(error_of([&] { parse_middlebury_calibration(text, "some/calib.txt"); }), ErrorCategory::file,
               {"some/calib.txt: " + key + " "});
}

TEST(CalibrationTest, ReadsAMiddleburyFile) {
  expect_equal(parse_middlebury_calibration(motorcycle, ""), expected);
}

TEST(CalibrationTest, TheBaselineIsInMillimetres) {
  EXPECT_EQ(parse_middlebury_calibration(motorcycle, "").metres_per_unit, 0.001);
  EXPECT_EQ(in_metres(parse_middlebury_calibration(motorcycle, "")).baseline, 0.193001);
}

TEST(CalibrationTest, ABaselineInAnotherUnitIsWrittenInMillimetres) {
  Calibration metres{.focal = 100, .baseline = 0.5, .metres_per_unit = 1};
  EXPECT_EQ(parse_middlebury_calibration(encode_middlebury_calibration(metres), "").baseline, 500);
  metres.metres_per_unit = 0;  // unknown
  EXPECT_EQ(parse_middlebury_calibration(encode_middlebury_calibration(metres), "").baseline, 0.5);
}

TEST(CalibrationTest, LinesMayEndAsOnWindows) {
  std::string text;
  for (const char c : motorcycle) text += c == '\n' ? std::string("\r\n") : std::string(1, c);
  expect_equal(parse_middlebury_calibration(text, ""), expected);
}

TEST(CalibrationTest, LastLineNeedsNoEnd) {
  EXPECT_EQ(parse_middlebury_calibration("baseline=2\ncam0=[1 0 2; 0 1 3; 0 0 1]", "").centre_y, 3);
  EXPECT_EQ(parse_middlebury_calibration("cam0=[1 0 2; 0 1 3; 0 0 1]\nbaseline=2", "").baseline, 2);
}

TEST(CalibrationTest, OrderOfTheLinesIsFree) {
  const Calibration c = parse_middlebury_calibration(
      "ndisp=64\nbaseline=50\n\ndoffs=-1.5\ncam0=[700 0 320; 0 700 240; 0 0 1]\n", "");
  expect_equal(c, {700, 320, 240, -1.5, 50, 0, 0, 64});
}

TEST(CalibrationTest, WithoutDoffsTheCamerasSayIt) {
  EXPECT_DOUBLE_EQ(parse_middlebury_calibration(with("doffs=124.343\n", ""), "").doffs, 1369.115 - 1244.772);
  EXPECT_EQ(parse_middlebury_calibration("cam0=[1 0 2; 0 1 3; 0 0 1]\nbaseline=2", "").doffs, 0);
}

TEST(CalibrationTest, SizeAndDisparitiesMayBeMissing) {
  const Calibration c = parse_middlebury_calibration("cam0=[1 0 2; 0 1 3; 0 0 1]\nbaseline=2", "");
  EXPECT_EQ(c.width, 0);
  EXPECT_EQ(c.height, 0);
  EXPECT_EQ(c.disparities, 0);
}

// ETH3D's files have the width.
TEST(CalibrationTest, TheWidthIsNoNumberOfDisparities) {
  const auto disparities = [](const std::string& ndisp) {
    return parse_middlebury_calibration(
               "cam0=[1 0 2; 0 1 3; 0 0 1]\nbaseline=2\nwidth=942\nheight=489\nndisp=" + ndisp, "")
        .disparities;
  };
  EXPECT_EQ(disparities("942"), 0);
  EXPECT_EQ(disparities("1000"), 0);
  EXPECT_EQ(disparities("941"), 941);
}

TEST(CalibrationTest, KeysAreWholeWords) {
  const Calibration c =
      parse_middlebury_calibration("mybaseline=7\nbaseline2=8\nbaseline=2\ncam0=[1 0 2; 0 1 3; 0 0 1]\n", "");
  EXPECT_EQ(c.baseline, 2);
  expect_refused(with("baseline=", "baselines="), "baseline");
}

TEST(CalibrationTest, NeededKeysMayNotBeMissing) {
  expect_refused(with("cam0=", "camera="), "cam0");
  expect_refused(with("baseline=193.001\n", ""), "baseline");
  expect_refused("", "cam0");
  expect_refused(std::string("\0\xff\x80", 3), "cam0");
}

TEST(CalibrationTest, MatrixMustHaveNineNumbers) {
  const std::string matrix = "[3979.911 0 1244.772; 0 3979.911 1019.507; 0 0 1]";
  for (const char* bad : {"", "[]", "[1 0 2; 0 1 3; 0 0]", "[1 0 2; 0 1 3; 0 0 1 0]", "[f 0 2; 0 1 3; 0 0 1]",
                          "[1 0 nan; 0 1 3; 0 0 1]", "[1 0 inf; 0 1 3; 0 0 1]", "[1e999 0 2; 0 1 3; 0 0 1]"})
    expect_refused(with(matrix, bad), "cam0");
  expect_refused("cam0=[1 0 2; 0 1 3; 0 0 1]\ncam1=[1 0]\nbaseline=2\n", "cam1");
}

TEST(CalibrationTest, FocalLengthAndBaselineMustBeAboveZero) {
  for (const char* focal : {"0", "-1"}) expect_refused(with("3979.911", focal), "cam0");
  for (const char* baseline : {"0", "-193.001"}) expect_refused(with("193.001", baseline), "baseline");
}

TEST(CalibrationTest, ValuesMustBeNumbers) {
  for (const char* bad : {"", "x", "12x", "1 2", "nan", "inf", "1e999", "0x10", "1,5"}) {
    expect_refused(with("124.343", bad), "doffs");
    expect_refused(with("193.001", bad), "baseline");
    expect_refused(with("2964", bad), "width");
    expect_refused(with("1988", bad), "height");
    expect_refused(with("280", bad), "ndisp");
  }
}

TEST(CalibrationTest, CountsMustBeWholeAndNotNegative) {
  for (const char* bad : {"-1", "-280", "1.5", "1000001", "1e300"}) {
    expect_refused(with("2964", bad), "width");
    expect_refused(with("1988", bad), "height");
    expect_refused(with("280", bad), "ndisp");
  }
}

TEST(CalibrationTest, EncodingIsReadBack) {
  for (const Calibration& c : {expected, Calibration{700, 320, 240, 0, 0.1, 0, 0, 0},
                               Calibration{1.0 / 3, -1.0 / 7, 1e-9, -2.0 / 3, 1e6 / 7, 2, 1'000'000, 1}})
    expect_equal(parse_middlebury_calibration(encode_middlebury_calibration(c), ""), c);
}

TEST(CalibrationTest, EncodingHasTheKeysOfMiddlebury) {
  EXPECT_EQ(encode_middlebury_calibration({700, 320, 240, 2, 50, 640, 480, 64}),
            "cam0=[700 0 320; 0 700 240; 0 0 1]\n"
            "cam1=[700 0 322; 0 700 240; 0 0 1]\n"
            "doffs=2\nbaseline=50\nwidth=640\nheight=480\nndisp=64\n");
}

TEST(CalibrationTest, IsReadFromAFile) {
  const std::string path = ::testing::TempDir() + "parallax_calibration_test.txt";
  write_file(path, std::as_bytes(std::span(motorcycle)));
  expect_equal(read_middlebury_calibration(path), expected);
  std::filesystem::remove(path);
}

TEST(CalibrationTest, OffsetThatOverflowsIsRefused) {
  expect_refused("cam0=[700 0 -1e308; 0 700 0; 0 0 1]\ncam1=[700 0 1e308; 0 700 0; 0 0 1]\nbaseline=1\n",
                 "cam1");
}

TEST(CalibrationTest, EndlessFileIsNotReadToItsEnd) {
  expect_error(error_of([] { read_middlebury_calibration("/dev/zero"); }), ErrorCategory::file,
               {"cannot read /dev/zero: it is a device; save its contents to a file"});
}

}  // namespace
}  // namespace parallax::test
