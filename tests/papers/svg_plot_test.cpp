// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/papers/svg_plot.h"

#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace parallax::test {
namespace {

double attribute(const std::string& line, const std::string& name) {
  const std::size_t at = line.find(" " + name + "=\"");
  EXPECT_NE(at, std::string::npos) << name << " in " << line;
  return std::atof(line.c_str() + at + name.size() + 3);
}

std::vector<std::string> lines_with(const std::string& svg, const std::string& part) {
  std::vector<std::string> lines;
  std::istringstream stream(svg);
  for (std::string line; std::getline(stream, line);)
    if (line.find(part) != std::string::npos && line.front() == '<') lines.push_back(line);
  return lines;
}

const tool::SpeedUpChart chart{"A & B",
                               "pairs <of> all",
                               {{"first (over none)", {{"tsukuba", 8.0, 2.0}, {"venus", {}, 0.5}}},
                                {"second (over first)", {{"cones, quarter size", 0.25, {}}}}}};

TEST(SvgPlot, BarsBeginAtOneOnAScaleOfPowers) {
  const std::string svg = tool::draw_svg(chart);
  const auto here = lines_with(svg, "class=\"here\""), published = lines_with(svg, "class=\"published\"");
  // The first line of each is in the legend.
  ASSERT_EQ(here.size(), 3u);
  ASSERT_EQ(published.size(), 3u);
  const double one = attribute(here[1], "x");
  EXPECT_EQ(attribute(published[1], "x"), one);
  EXPECT_NEAR(attribute(here[1], "width"), 3 * attribute(published[1], "width"), 0.3);  // 8 is 2 cubed
  EXPECT_NEAR(attribute(published[2], "x") + attribute(published[2], "width"), one, 0.2);
  EXPECT_NEAR(attribute(here[2], "width"), 2 * attribute(published[2], "width"), 0.3);
  for (const char* value : {">8.00×<", ">2.00×<", ">0.50×<", ">0.25×<"})
    EXPECT_TRUE(contains(svg, value)) << value;
}

TEST(SvgPlot, NothingIsOutsideThePage) {
  const std::string svg = tool::draw_svg(chart);
  const double width = attribute(svg, "width"), height = attribute(svg, "height");
  for (const char* element : {"<rect class", "<rect x", "<text"}) {
    for (const std::string& line : lines_with(svg, element)) {
      if (line.find(" x=") == std::string::npos) continue;
      EXPECT_GE(attribute(line, "x"), 0) << line;
      EXPECT_LE(attribute(line, "x"), width) << line;
      EXPECT_LE(attribute(line, "y"), height) << line;
    }
  }
}

TEST(SvgPlot, NamesAreNoMarkup) {
  const std::string svg = tool::draw_svg(chart);
  EXPECT_TRUE(contains(svg, "A &amp; B"));
  EXPECT_TRUE(contains(svg, "pairs &lt;of> all"));
}

}  // namespace
}  // namespace parallax::test
