// SPDX-License-Identifier: Apache-2.0
#include "check/check.h"

#include <cmath>
#include <cstring>

#include "core/checks.h"
#include "core/copy_rows.h"
#include "core/floating_point.h"
#include "core/length.h"
#include "rows/corner_rows.h"
#include "rows/least_squares.h"
#include "rows/row_alignment.h"

namespace parallax {
namespace check {
namespace {

// Corners that a report rests on, and those from which match() aligns rows: fewer, to take less time.
constexpr int corners_of_report = 5000, corners_of_rows = 2000;
// Fewer corners permit no conclusion.
constexpr std::size_t min_corners = 30;
// Fewer points, or a smaller share of the matches, mean that the pictures do not show the same scene.
constexpr std::size_t min_points = 20;
constexpr double min_share = 0.4;
// Row differences are measured at points whose rows are known to this many pixels, or at the better half of
// all points.
constexpr double well_located = 0.05;
// Disparities in pixels below which pictures show no parallax.
constexpr double no_parallax = 0.25;
// Minimum share of negative disparities in exchanged pictures, and a share of positive ones that wrong points
// have.
constexpr double mostly = 0.75, few_positive = 0.05;
// DenseEvidence::order from which surfaces tell the order of the pictures.
constexpr double clear_order = 0.07;

// A picture with its corners.
struct Sight {
  GrayImage image;
  std::vector<Corner> corners;
  Descriptors words;
};

Sight see(const ImageView& image, View<const std::uint8_t> mask, float scale, Flip flip,
          const Workers& workers, int corners = corners_of_report) {
  Sight sight;
  sight.image = gray_image(image, scale, flip, workers);
  sight.corners = find_corners(sight.image, mask, flip, corners, workers);
  sight.words = describe(sight.image, sight.corners, workers);
  return sight;
}

// The points of a pair, with its right picture as it is or flipped.
struct Evidence {
  int matched = 0;
  std::vector<CheckedPoint> points;
  RowModel model;

  bool agrees() const {
    return points.size() >= min_points && static_cast<double>(points.size()) >= min_share * matched;
  }
  double negative_share() const {
    return share([](const CheckedPoint& point) { return point.disparity() < 0; });
  }
  double positive_share() const {
    return share([](const CheckedPoint& point) { return point.disparity() > 0.5f; });
  }

 private:
  template <class Test>
  double share(const Test& test) const {
    const auto count = std::count_if(points.begin(), points.end(), test);
    return static_cast<double>(count) / static_cast<double>(std::max<std::size_t>(1, points.size()));
  }
};

Evidence gather(const Sight& left, const Sight& right, const CheckParameters& parameters,
                const Workers& workers) {
  const Size size = left.image.size();
  const int rows = std::max(2, static_cast<int>(parameters.search_rows * size.height));
  const int columns = std::max(2, static_cast<int>(parameters.search_columns * size.width));
  const std::vector<CornerMatch> matches =
      match_corners(left.corners, left.words, right.corners, right.words, rows, columns, workers);
  Evidence evidence;
  evidence.points = refine_points(left.image, right.image, left.corners, right.corners, matches, workers);
  evidence.matched = static_cast<int>(matches.size());
  evidence.model = rows::fit_corners(size, evidence.points);
  return evidence;
}

CheckParameters wider(CheckParameters parameters) {
  parameters.search_rows = wider_search_rows(parameters);
  return parameters;
}

void check_input(const StereoPair& pair) {
  check_image("left image", pair.left);
  check_image("right image", pair.right);
  check_format(pair.left.format);
  if (pair.left.format != pair.right.format)
    refuse("left image is " + text(pair.left.format.size) + ", right image is " +
           text(pair.right.format.size) + ", or their depths differ: give two of one format");
  check_mask("left mask", pair.left_mask, pair.left.format.size);
  check_mask("right mask", pair.right_mask, pair.right.format.size);
}

bool same_bytes(const ImageView& left, const ImageView& right) {
  if (left.channels != right.channels) return false;
  for (int y = 0; y < left.format.size.height; ++y)
    if (std::memcmp(left.row(y), right.row(y), row_bytes(left)) != 0) return false;
  return true;
}

bool shows_no_parallax(const Evidence& evidence) {
  std::vector<double> distances;
  for (const CheckedPoint& point : evidence.points)
    distances.push_back(detail::length_of(point.disparity(), point.rows_off()));
  return !distances.empty() && rows::quantile(distances, 0.95) < no_parallax;
}

void measure_rows(const Evidence& evidence, PairReport& report) {
  std::vector<double> uncertainties, off, model;
  for (const CheckedPoint& point : evidence.points) uncertainties.push_back(point.uncertainty);
  const double limit = std::max(well_located, rows::quantile(uncertainties, 0.5));
  for (const CheckedPoint& point : evidence.points) {
    if (point.uncertainty > limit) continue;
    off.push_back(std::abs(point.rows_off()));
    model.push_back(std::abs(point.rows_off() - point.residual));
  }
  report.rows_points = static_cast<int>(off.size());
  report.rows_off = rows::quantile(off, 0.5);
  report.rows_off_95 = rows::quantile(off, 0.95);
  report.rows_off_model = rows::quantile(model, 0.95);
}

// The 95 % quantile of what is left of the rows off once they are aligned.
double rows_off_when_aligned(Size size, const std::vector<CheckedPoint>& points) {
  rows::RowAlignment alignment({size});
  const bool moves = alignment.find(points);
  std::vector<double> off;
  for (const CheckedPoint& point : points) {
    const double moved = moves ? alignment.surface().at_pixel(static_cast<double>(point.right_x),
                                                              static_cast<double>(point.left_y))
                               : 0;
    off.push_back(std::abs(static_cast<double>(point.rows_off()) - moved));
  }
  return rows::quantile(off, 0.95);
}

void take(Evidence evidence, const DenseEvidence& dense, PairReport& report) {
  measure_rows(evidence, report);
  report.matched = evidence.matched;
  report.model = evidence.model;
  report.range = find_range(evidence.points, dense, report.size);
  report.points = std::move(evidence.points);
}

void flip_both(Flip flip, Size size, Evidence& evidence) {
  const auto columns = static_cast<float>(size.width - 1), rows = static_cast<float>(size.height - 1);
  for (CheckedPoint& point : evidence.points) {
    if (flip.columns) point.left_x = columns - point.left_x, point.right_x = columns - point.right_x;
    if (flip.rows) point.left_y = rows - point.left_y, point.right_y = rows - point.right_y;
  }
  std::reverse(evidence.points.begin(), evidence.points.end());
  std::stable_sort(evidence.points.begin(), evidence.points.end(),
                   [](const CheckedPoint& a, const CheckedPoint& b) { return a.left_y < b.left_y; });
  evidence.model = rows::fit_corners(size, evidence.points);
}

struct Trial {
  Flip flip;
  Verdict verdict;
};
constexpr Trial trials[] = {{{true, false}, Verdict::mirrored},
                            {{false, true}, Verdict::upside_down},
                            {{true, true}, Verdict::turned}};

// Finds out which picture is mirrored or turned. If both pictures were, disparities would only change their
// sign. Therefore, if the flipped right picture gives negative disparities, the left one is at fault.
bool explain_by_flip(const StereoPair& pair, const Sight& left, float scale,
                     const CheckParameters& parameters, const Workers& workers, PairReport& report) {
  Evidence best;
  const Trial* found = nullptr;
  Sight flipped;
  for (const Trial& trial : trials) {
    Sight right = see(pair.right, pair.right_mask, scale, trial.flip, workers);
    Evidence evidence = gather(left, right, parameters, workers);
    if (!evidence.agrees() || evidence.points.size() <= best.points.size()) continue;
    best = std::move(evidence);
    found = &trial;
    flipped = std::move(right);
  }
  if (found == nullptr) return false;
  report.verdict = found->verdict;
  report.points = best.points;
  compare_appearance(pair, left.image, flipped.image, found->flip, scale, workers, report);
  if (found->flip.columns) {
    report.side = best.negative_share() > 0.5 ? Side::left : Side::right;
    if (report.side == Side::left) flip_both(found->flip, report.size, best);
  }
  take(std::move(best), {}, report);
  return true;
}

// Most disparities are negative if pictures are exchanged, or if the cameras converge before most of the
// scene. Which surface hides the other tells these apart. If it does not, exchanged pictures have no positive
// disparities.
bool are_exchanged(const Evidence& evidence, const DenseEvidence& dense) {
  if (evidence.negative_share() <= mostly || dense.order >= clear_order) return false;
  return dense.order <= -clear_order || evidence.positive_share() <= few_positive;
}

Verdict judge(const PairReport& report, const Evidence& evidence, const DenseEvidence& dense,
              const CheckParameters& parameters) {
  if (shows_no_parallax(evidence)) return Verdict::identical;
  if (are_exchanged(evidence, dense)) return Verdict::exchanged;
  return report.rows_off_95 > parameters.max_rows_off ? Verdict::rows_off : Verdict::fit;
}

// Where corners do not suffice, the match of small pictures may.
void take_dense_range(const StereoPair& pair, const Sight& left, const Sight& right,
                      const CheckParameters& parameters, const Workers& workers, PairReport& report) {
  report.range =
      find_range({}, see_densely(pair, left.image, right.image, {}, {}, parameters.search_columns, workers),
                 report.size);
}

void examine(const StereoPair& pair, const CheckParameters& parameters, PairReport& report) {
  const Workers workers(parameters.threads);
  const float scale = gray_scale(pair);
  const Sight left = see(pair.left, pair.left_mask, scale, {}, workers);
  const Sight right = see(pair.right, pair.right_mask, scale, {}, workers);
  report.left_corners = static_cast<int>(left.corners.size());
  report.right_corners = static_cast<int>(right.corners.size());
  if (same_bytes(pair.left, pair.right)) {
    report.verdict = Verdict::identical;
    return;
  }
  if (std::min(left.corners.size(), right.corners.size()) < min_corners) {
    const bool both = std::max(left.corners.size(), right.corners.size()) < min_corners;
    report.verdict = Verdict::too_little_texture;
    report.side = both ? Side::neither : left.corners.size() < min_corners ? Side::left : Side::right;
    take_dense_range(pair, left, right, parameters, workers, report);
    return;
  }
  Evidence evidence = gather(left, right, parameters, workers);
  const bool agrees_nearby = evidence.agrees();
  if (!agrees_nearby) evidence = gather(left, right, wider(parameters), workers);
  report.matched = evidence.matched;
  if (!evidence.agrees()) {
    if (explain_by_flip(pair, left, scale, parameters, workers, report)) return;
    report.verdict = Verdict::unrelated;
    take_dense_range(pair, left, right, parameters, workers, report);
    return;
  }
  measure_rows(evidence, report);
  report.rows_off_aligned = rows_off_when_aligned(report.size, evidence.points);
  const DenseEvidence dense = see_densely(pair, left.image, right.image, evidence.points, evidence.model,
                                          parameters.search_columns, workers);
  report.verdict = judge(report, evidence, dense, parameters);
  if (report.verdict != Verdict::exchanged && evidence.negative_share() > mostly)
    report.remarks.push_back(
        "Most disparities are negative: the cameras converge before most of the scene, or left and right are "
        "exchanged.");
  report.will_be_aligned = report.verdict == Verdict::rows_off && agrees_nearby &&
                           report.rows_off_aligned <= parameters.max_rows_off;
  take(std::move(evidence), dense, report);
  compare_appearance(pair, left.image, right.image, {}, scale, workers, report);
}

}  // namespace

std::vector<CheckedPoint> agreeing_points(const StereoPair& pair, const CheckParameters& parameters,
                                          const Workers& workers) {
  const float scale = gray_scale(pair);
  const Sight left = see(pair.left, pair.left_mask, scale, {}, workers, corners_of_rows);
  const Sight right = see(pair.right, pair.right_mask, scale, {}, workers, corners_of_rows);
  if (std::min(left.corners.size(), right.corners.size()) < min_corners) return {};
  Evidence evidence = gather(left, right, parameters, workers);
  if (!evidence.agrees()) return {};
  return std::move(evidence.points);
}

}  // namespace check

void CheckParameters::validate() const {
  check_range("search_rows", search_rows, 0.001, 0.5);
  check_range("search_columns", search_columns, 0.01, 1.0);
  check_range("max_rows_off", max_rows_off, 0.01, 100.0);
  check_threads(threads);
}

const char* name(Verdict verdict) {
  constexpr const char* names[] = {"fit",    "rows_off",  "exchanged",          "mirrored", "upside_down",
                                   "turned", "identical", "too_little_texture", "unrelated"};
  return names[static_cast<int>(verdict)];
}

const char* name(Side side) {
  constexpr const char* names[] = {"neither", "left", "right"};
  return names[static_cast<int>(side)];
}

bool PairReport::has_range() const {
  const bool flipped =
      verdict == Verdict::mirrored || verdict == Verdict::upside_down || verdict == Verdict::turned;
  return range.disparities > 0 && !flipped;
}

PairReport check_pair(const StereoPair& pair, const CheckParameters& parameters) {
  const DefaultFloatingPoint environment;
  parameters.validate();
  check::check_input(pair);
  PairReport report;
  report.size = pair.left.format.size;
  check::examine(pair, parameters, report);
  check::write_sentences(parameters, report);
  return report;
}

}  // namespace parallax
