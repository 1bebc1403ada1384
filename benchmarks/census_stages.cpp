// SPDX-License-Identifier: Apache-2.0
// Draws the picture of docs/reference/census.md: the intermediate results of census matching.
//
//   census_stages PAIR DISPARITIES OUTPUT.png      PAIR: a folder with left.png and right.png
//
// Top row: a byte of the signatures, the disparities of both coarser levels, and the winners at full
// resolution. Bottom row: the winners after the left-right check, the speckle filter, the fill and the
// median.

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <vector>

#include "parallax/parallax.h"

#include "benchmarks/gray_pair.h"
#include "matchers/census/census.h"
#include "matchers/registry.h"
#include "tools/files/pictures/codecs.h"
#include "tools/files/pictures.h"

namespace {

using namespace parallax;
namespace fs = std::filesystem;

struct Run {
  std::unique_ptr<detail::Plan> plan;
  Result map;

  Run(const CensusParameters& parameters, const benchmarks::GrayPair& pair)
      : plan(census::make_cpu(parameters, {}, {pair.size()})), map(pair.size()) {
    plan->allocate();
    plan->run(pair.views(), map.map());
  }
};

cv::Mat coloured(View<const float> disparity, int disparities) {
  return benchmarks::as_mat(tool::colour(disparity, 0, disparities).view()).clone();
}

cv::Mat enlarged(const cv::Mat& picture, Size size) {
  cv::Mat result;
  cv::resize(picture, result, {size.width, size.height}, 0, 0, cv::INTER_NEAREST);
  return result;
}

// Draws the disparities of a coarser level, in pixels of the full resolution.
cv::Mat picture_of_level(const census::CensusPlan& plan, int level, Size size, int disparities) {
  const census::Stage stage = plan.stage(level, census::left_side);
  Plane<float> disparity(stage.disparity.size());
  for (int y = 0; y < disparity.height(); ++y)
    for (int x = 0; x < disparity.width(); ++x) {
      const int d = stage.disparity.at(x, y);
      disparity.at(x, y) =
          d == census::no_disparity ? std::numeric_limits<float>::infinity() : static_cast<float>(d << level);
    }
  return enlarged(coloured(disparity.view(), disparities), size);
}

cv::Mat picture_of_signatures(const census::CensusPlan& plan, Size size) {
  const census::Stage stage = plan.stage(0, census::left_side);
  const Plane<std::uint8_t>& byte = stage.signature[3];
  cv::Mat gray(size.height, size.width, CV_8UC1), result;
  for (int y = 0; y < size.height; ++y) std::copy_n(byte.row(y), size.width, gray.ptr<std::uint8_t>(y));
  cv::cvtColor(gray, result, cv::COLOR_GRAY2RGB);
  return result;
}

cv::Mat picture(const fs::path& folder, int disparities) {
  const benchmarks::GrayPair pair = benchmarks::load_gray_pair(folder);
  CensusParameters parameters = preset<CensusParameters>("balanced");
  parameters.disparities = disparities;
  const RefineParameters all = parameters.refine;
  RefineParameters& steps = parameters.refine;
  steps = RefineParameters::none();
  const auto result = [&] { return coloured(Run(parameters, pair).map.disparity.view(), disparities); };
  const Run bare(parameters, pair);
  const auto& plan = dynamic_cast<const census::CensusPlan&>(*bare.plan);
  std::vector<cv::Mat> above{picture_of_signatures(plan, pair.size()),
                             picture_of_level(plan, 2, pair.size(), disparities),
                             picture_of_level(plan, 1, pair.size(), disparities), result()};
  std::vector<cv::Mat> below;
  steps.left_right_check = true;
  below.push_back(result());
  steps.speckle_size = all.speckle_size;
  below.push_back(result());
  steps.fill = all.fill;
  below.push_back(result());
  steps.median = all.median;
  below.push_back(result());
  cv::Mat rows[2], both, half;
  cv::hconcat(above, rows[0]);
  cv::hconcat(below, rows[1]);
  cv::vconcat(rows[0], rows[1], both);
  cv::resize(both, half, {}, 0.5, 0.5, cv::INTER_AREA);
  return half;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) {
    std::cerr << "usage: census_stages PAIR DISPARITIES OUTPUT.png\n";
    return 2;
  }
  try {
    const cv::Mat rgb = picture(arguments[1], std::atoi(arguments[2]));
    write_file(
        arguments[3],
        tool::encode_png({rgb.data, {{rgb.cols, rgb.rows}}, 3, static_cast<std::ptrdiff_t>(rgb.step[0])}));
  } catch (const std::exception& error) {
    std::cerr << "census_stages: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
