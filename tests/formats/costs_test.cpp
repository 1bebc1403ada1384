// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <limits>

#include <gtest/gtest.h>

#include "parallax/error.h"
#include "parallax/formats.h"

#include "support.h"

namespace parallax::test {
namespace {

// 2×2 pixels with three labels, one pixel a line.
const std::string small = "2 2\n1 2 3\n4 5 6\n-7 8 9\n10 11 8388608\n";

void expect_file_error(const std::string& text, const std::string& reason) {
  expect_error(error_of([&] { parse_costs(text, 3, "some/vdata_in.txt"); }), ErrorCategory::file,
               {"some/vdata_in.txt: ", reason});
}

TEST(CostsTest, LabelsOfAPixelAreSideBySideAndPixelsInRows) {
  const CostArray array = parse_costs(small, 3, "");
  EXPECT_EQ(array.size, (Size{2, 2}));
  EXPECT_EQ(array.labels, 3);
  EXPECT_EQ(array.costs, (std::vector<float>{1, 2, 3, 4, 5, 6, -7, 8, 9, 10, 11, 8388608}));
  const CostVolume view = array.view();
  EXPECT_EQ(view.at(0, 0)[2], 3);
  EXPECT_EQ(view.at(1, 0)[0], 4);
  EXPECT_EQ(view.at(0, 1)[0], -7);
  EXPECT_EQ(view.size, array.size);
  EXPECT_EQ(view.labels, 3);
}

TEST(CostsTest, AnyWhiteSpaceSeparates) {
  EXPECT_EQ(parse_costs("1\t1\r\n\r\n  +1\r\n 2 \n\v 3", 3, "").costs, (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(parse_costs("1 1 1 2 3", 3, "").costs, (std::vector<float>{1, 2, 3}));
}

TEST(CostsTest, NumberOfLabelsIsTheCallers) {
  EXPECT_EQ(parse_costs("3 1 1 2 3 4 5 6", 2, "").view().at(2, 0)[1], 6);
  expect_file_error("3 1 1 2 3 4 5 6", "is cut short: 3×1 pixels with 3 labels have 9 costs, there are 6");
  for (const int labels : {-1, 0, 1, 1025})
    expect_refused([&] { parse_costs(small, labels, ""); }, "labels is");
}

TEST(CostsTest, TooFewOrTooManyAreCounted) {
  expect_file_error("2 2\n1 2 3\n4 5 6\n7 8 9\n10 11\n",
                    "is cut short: 2×2 pixels with 3 labels have 12 costs, there are 11");
  // Enough characters for all costs, but fewer words.
  expect_file_error("2 1\n100 200 300\n400\n", "have 6 costs, there are 4");
  expect_file_error("1 1", "have 3 costs, there are 0");
  expect_file_error(small + "13\n", "is too long: 2×2 pixels with 3 labels have 12 costs, there are 13");
  expect_file_error(small + "end", "there are 13");
}

TEST(CostsTest, EveryCostIsAWholeNumberThatFloatsHold) {
  for (const char* bad :
       {"x", "1.5", "1e3", "0x10", "16777217", "-16777217", "99999999999999999999", "nan", "--1", "1,2"})
    expect_file_error("2 1\n1 2 3\n4 " + std::string(bad) + " 6\n",
                      "line 3, cost 5 is not an integer from -8388608 to 8388608");
  expect_file_error(std::string("1 1 1 \0 3", 9), "line 1, cost 2");
}

TEST(CostsTest, SizesMustBePossible) {
  for (const char* bad : {"", "\n", "2", "0 1 1 2 3", "1 0 1 2 3", "-1 1 1 2 3", "1000001 1 1 2 3",
                          "1.0 1 1 2 3", "99999999999999999999 1 1 2 3", "P5 1 1 255"})
    expect_file_error(bad, "begins with a width or height that is not an integer from 1 to 1000000");
  expect_file_error("1000000 1000000 1 2 3", "have 3000000000000 costs, there are 3");
}

TEST(CostsTest, EncodingIsReadBack) {
  const CostArray array = parse_costs(small, 3, "");
  EXPECT_EQ(encode_costs(array.view()), small);
  CostArray half = array;
  for (const float wrong : {0.5f, 33554432.0f, -std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()}) {
    half.costs[7] = wrong;
    EXPECT_THROW(encode_costs(half.view()), Error) << wrong;
  }
}

TEST(CostsTest, AreReadFromAFileOfTheContestsLabels) {
  const std::string path = ::testing::TempDir() + "parallax_costs_test.txt";
  const CostArray array{{2, 1}, 16, std::vector<float>(32, 3)};
  const std::string text = encode_costs(array.view());
  write_file(path, std::as_bytes(std::span(text)));
  EXPECT_EQ(read_costs(path).costs, array.costs);
  EXPECT_EQ(read_costs(path).labels, 16);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace parallax::test
