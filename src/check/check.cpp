// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "check/check.h"
#include "core/checks.h"
#include "core/floating_point.h"

namespace parallax {
namespace check {
namespace {

// Fewer corners say nothing.
constexpr int least_corners = 30;
// Fewer points, or a smaller share of the matches, mean that the pictures do not belong together.
constexpr std::size_t least_points = 20;
constexpr double least_share = 0.4;

struct Sight {
  GrayImage image;
  std::vector<Corner> corners;
  Descriptors words;
};

Sight see(const ImageView& image, View<const std::uint8_t> mask, float scale, Flip flip,
         const Workers& workers) {
  Sight view;
  view.image = gray_image(image, scale, flip, workers);
  view.corners = find_corners(view.image, mask, flip, workers);
  view.words = describe(view.image, view.corners, workers);
  return view;
}

// What the points of a pair say, with its right picture as it is or flipped.
struct Evidence {
  int matched = 0;
  std::vector<CheckedPoint> points;
  RowModel model;

  bool agrees() const {
    return points.size() >= least_points && static_cast<double>(points.size()) >= least_share * matched;
  }
};

Evidence gather(const Sight& left, const Sight& right, const CheckParameters& parameters, const Workers& workers) {
  const Size size = left.image.size();
  const int rows = std::max(2, static_cast<int>(parameters.search_rows * size.height));
  const int columns = static_cast<int>(parameters.search_columns * size.width);
  const std::vector<CornerMatch> matches =
      match_corners(left.corners, left.words, right.corners, right.words, rows, columns, workers);
  Evidence evidence;
  evidence.points = refine_points(left.image, right.image, left.corners, right.corners, matches, workers);
  evidence.matched = static_cast<int>(matches.size());
  evidence.model = fit_rows(size, evidence.points);
  return evidence;
}

}  // namespace
}  // namespace check

PairReport check_pair(const StereoPair& pair, const CheckParameters& parameters) {
  const DefaultFloatingPoint environment;
  const Workers workers(parameters.threads);
  const float scale = check::gray_scale(pair);
  const auto left = check::see(pair.left, pair.left_mask, scale, {}, workers);
  const auto right = check::see(pair.right, pair.right_mask, scale, {}, workers);
  PairReport report;
  check::Evidence evidence = check::gather(left, right, parameters, workers);
  report.size = left.image.size();
  report.left_corners = static_cast<int>(left.corners.size());
  report.right_corners = static_cast<int>(right.corners.size());
  report.matched = evidence.matched;
  report.model = evidence.model;
  report.points = evidence.points;
  report.range = check::find_range(report.points, report.size);
  return report;
}

}  // namespace parallax
