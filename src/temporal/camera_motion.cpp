// SPDX-License-Identifier: Apache-2.0
// One corner in each cell of the image before is followed to the new left image, coarse to fine, and from
// there to the new right image, which gives its new disparity. A fit that is robust against points that move
// by themselves, or were mistaken, tells the motion of the camera.
#include "temporal/camera_motion.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/integers.h"
#include "decision/values.h"
#include "rows/least_squares.h"

namespace parallax::temporal {
namespace {

constexpr int smallest_level = 100;  // shorter side of the coarsest level, in pixels
constexpr std::size_t max_levels = 6;
constexpr int wanted_points = 100;
constexpr int smallest_cell = 16;
constexpr int min_contrast = 8;  // least contrast of a corner, in gray levels
constexpr int radius = 3;        // radius of the squares that are compared
constexpr int pixels = (2 * radius + 1) * (2 * radius + 1);
constexpr int fine_reach = 1, first_reach = 2, wide_reach = 10;
constexpr int right_reach = 4;  // pixels by which a disparity may have changed
constexpr float near = 1;       // distance from the motion at which a point follows it, in pixels
constexpr int min_points = 8;
constexpr double min_share = 0.35;  // least share of the corners that follow the motion

bool is_inside(Size size, int x, int y, int reach) {
  return x >= reach && y >= reach && x < size.width - reach && y < size.height - reach;
}

// The gray values of a square, without their mean.
struct Square {
  std::array<std::int16_t, pixels> values;
  int sum = 0;

  Square(View<const std::uint8_t> image, int x, int y) {
    std::size_t next = 0;
    for (int dy = -radius; dy <= radius; ++dy) {
      const std::uint8_t* row = image.row(y + dy) + x;
      for (int dx = -radius; dx <= radius; ++dx) sum += values[next++] = row[dx];
    }
    const auto mean = static_cast<std::int16_t>((sum + pixels / 2) / pixels);
    for (std::int16_t& value : values) value = static_cast<std::int16_t>(value - mean);
  }
  int difference(const Square& other) const {
    int total = 0;
    for (std::size_t i = 0; i < pixels; ++i) total += std::abs(values[i] - other.values[i]);
    return total;
  }
};

struct Shift {
  int x, y;
};

// The shift at which a square is most like another one, of those up to `reach` from `start`; none if all lead
// out of the image.
std::optional<Shift> best_shift(const Square& square, View<const std::uint8_t> image, Shift start,
                                int reach_x, int reach_y) {
  std::optional<Shift> best;
  int least = 0;
  for (int y = start.y - reach_y; y <= start.y + reach_y; ++y)
    for (int x = start.x - reach_x; x <= start.x + reach_x; ++x) {
      if (!is_inside(image.size, x, y, radius)) continue;
      const int difference = square.difference(Square(image, x, y));
      if (best && difference >= least) continue;
      best = Shift{x, y};
      least = difference;
    }
  return best;
}

int rounded(float value) {
  return static_cast<int>(std::floor(value + 0.5f));
}

struct Place2 {
  float x, y;
};

// A square around a pixel, whose places in other images are found to a fraction of a pixel by least squares
// (Lucas & Kanade 1981), without the means of both squares.
class FineSquare {
 public:
  FineSquare(View<const std::uint8_t> image, int x, int y) {
    is_usable_ = is_inside(image.size, x, y, reach + 1);
    if (!is_usable_) return;
    for (int dy = -reach; dy <= reach; ++dy) {
      const std::uint8_t *above = image.row(y + dy - 1) + x - reach, *row = image.row(y + dy) + x - reach,
                         *below = image.row(y + dy + 1) + x - reach;
      const std::size_t first = to_size(dy + reach) * pitch;
      for (int i = 0; i < side; ++i) {
        const std::size_t at = first + to_size(i);
        value_[at] = row[i];
        gx_[at] = 0.5f * static_cast<float>(row[i + 1] - row[i - 1]);
        gy_[at] = 0.5f * static_cast<float>(below[i] - above[i]);
      }
    }
    for (Window* window : {&value_, &gx_, &gy_}) remove_mean(*window);
    xx_ = dot(gx_, gx_), xy_ = dot(gx_, gy_), yy_ = dot(gy_, gy_);
  }

  // None if it leaves the pixels around `start`. With `one_axis`, only x changes.
  std::optional<Place2> find(View<const std::uint8_t> image, Shift start, bool one_axis) const {
    constexpr int steps = 6;
    constexpr float close_enough = 0.01f, farthest = 1.5f;
    const float xy = one_axis ? 0 : xy_, yy = one_axis ? 1 : yy_, determinant = xx_ * yy - xy * xy;
    if (!is_usable_ || !(determinant > 1)) return std::nullopt;
    Place2 place{static_cast<float>(start.x), static_cast<float>(start.y)};
    for (int step = 0; step < steps; ++step) {
      Window window{};
      if (!sample(image, place, window)) return std::nullopt;
      remove_mean(window);
      for (std::size_t i = 0; i < window.size(); ++i) window[i] -= value_[i];
      const float bx = dot(gx_, window), by = one_axis ? 0 : dot(gy_, window);
      const float dx = (yy * bx - xy * by) / determinant, dy = (xx_ * by - xy * bx) / determinant;
      place.x -= dx, place.y -= dy;
      if (!(std::abs(place.x - static_cast<float>(start.x)) <= farthest &&
            std::abs(place.y - static_cast<float>(start.y)) <= farthest))
        return std::nullopt;
      if (std::abs(dx) <= close_enough && std::abs(dy) <= close_enough) return place;
    }
    return place;
  }

 private:
  static constexpr int reach = 5, side = 2 * reach + 1;
  static constexpr std::size_t pitch = 12;  // the last column of a row is 0
  using Window = std::array<float, side * pitch>;

  // Columns are summed first, so that all are at once.
  static float dot(const Window& a, const Window& b) {
    std::array<float, pitch> sums{};
    for (std::size_t row = 0; row < a.size(); row += pitch)
      for (std::size_t i = 0; i < pitch; ++i) sums[i] += a[row + i] * b[row + i];
    float sum = 0;
    for (const float column : sums) sum += column;
    return sum;
  }
  static void remove_mean(Window& window) {
    static constexpr Window ones = [] {
      Window result{};
      for (std::size_t i = 0; i < result.size(); ++i) result[i] = i % pitch < side ? 1.0f : 0.0f;
      return result;
    }();
    const float mean = dot(window, ones) / (side * side);
    for (std::size_t i = 0; i < window.size(); ++i) window[i] -= mean * ones[i];
  }
  static bool sample(View<const std::uint8_t> image, const Place2& place, Window& window) {
    const float left = std::floor(place.x), top = std::floor(place.y);
    const int x = static_cast<int>(left), y = static_cast<int>(top);
    if (!is_inside(image.size, x, y, reach + 1)) return false;
    const float s = place.x - left, t = place.y - top;
    std::array<float, side + 1> row;
    for (int dy = -reach; dy <= reach; ++dy) {
      const std::uint8_t *above = image.row(y + dy) + x - reach, *below = image.row(y + dy + 1) + x - reach;
      for (std::size_t i = 0; i <= side; ++i) {
        const auto upper = static_cast<float>(above[i]);
        row[i] = upper + t * (static_cast<float>(below[i]) - upper);
      }
      float* to = window.data() + to_size(dy + reach) * pitch;
      for (std::size_t i = 0; i < side; ++i) to[i] = row[i] + s * (row[i + 1] - row[i]);
    }
    return true;
  }

  bool is_usable_;
  Window value_{}, gx_{}, gy_{};
  float xx_ = 0, xy_ = 0, yy_ = 0;
};

// How much a pixel differs from those on both sides of it, in the direction in which this is least.
int contrast(View<const std::uint8_t> image, int x, int y) {
  constexpr std::array<Shift, 4> directions{{{2, 0}, {0, 2}, {2, 2}, {2, -2}}};
  const int value = image.at(x, y);
  int least = 2 * 255;
  for (const Shift& to : directions)
    least = std::min(least, std::abs(image.at(x + to.x, y + to.y) - value) +
                                std::abs(image.at(x - to.x, y - to.y) - value));
  return least;
}

void halve_row(View<const std::uint8_t> fine, View<std::uint8_t> coarse, int y) {
  const std::uint8_t *above = fine.row(2 * y), *below = fine.row(2 * y + 1);
  for (int x = 0; x < coarse.size.width; ++x)
    coarse.at(x, y) = static_cast<std::uint8_t>(
        (above[2 * x] + above[2 * x + 1] + below[2 * x] + below[2 * x + 1] + 2) / 4);
}

}  // namespace

GrayPyramid::GrayPyramid(Size size) : sizes_{size} {
  while (sizes_.size() < max_levels &&
         std::min(sizes_.back().width, sizes_.back().height) / 2 >= smallest_level)
    sizes_.push_back({sizes_.back().width / 2, sizes_.back().height / 2});
}

void GrayPyramid::reserve(Arena& arena) {
  levels_.clear();
  for (const Size& size : sizes_) levels_.push_back(arena.reserve_plane<std::uint8_t>(size));
}

void GrayPyramid::halve(const Workers& workers) const {
  for (std::size_t i = 1; i < sizes_.size(); ++i)
    for_rows(workers, sizes_[i].height, [&](int y, int) { halve_row(levels_[i - 1], levels_[i], y); });
}

// A corner in the frame before, and where it is now.
struct MotionFinder::Point {
  bool is_corner = false, is_found = false;
  int x = 0, y = 0;
  float disparity = 0, to_x = 0, to_y = 0, to_disparity = 0;
  int before_sum = 0, left_sum = 0, right_sum = 0;
};

class MotionFinder::Tracker {
 public:
  Tracker(const GrayFrame& before, View<const float> last, const GrayFrame& now, const Workers& workers)
      : before_(before.left),
        right_before_(before.right),
        last_(last),
        left_(now.left),
        right_(now.right),
        workers_(workers) {
    const Size size = last.size;
    cell_ = std::max(smallest_cell,
                     static_cast<int>(std::sqrt(static_cast<double>(size.pixels()) / wanted_points)));
    columns_ = divide_round_up(size.width, cell_);
    points_.resize(to_size(columns_) * to_size(divide_round_up(size.height, cell_)));
    for_points([&](Point& point, int column, int row) { find_corner(point, column * cell_, row * cell_); });
    for (const Point& point : points_) corners_ += point.is_corner;
  }

  int corners() const { return corners_; }
  const std::vector<Point>& points() const { return points_; }

  // Follows all corners from where a motion predicts them.
  void track(const CameraMotion& motion, int reach) {
    for_points([&](Point& point, int, int) { track(point, motion, reach); });
  }

 private:
  template <class Body>
  void for_points(const Body& body) {
    const int rows = static_cast<int>(points_.size()) / columns_;
    workers_.for_each(rows, [&](int row, int) {
      for (int column = 0; column < columns_; ++column)
        body(points_[to_size(row * columns_ + column)], column, row);
    });
  }

  // The pixel of most contrast in a cell of the image, of those at which a disparity is known.
  void find_corner(Point& point, int left, int top) const {
    const View<const std::uint8_t> image = before_.level(0);
    constexpr int margin = radius + 2;
    int most = min_contrast - 1;
    const int right = std::min(left + cell_, image.size.width - margin),
              bottom = std::min(top + cell_, image.size.height - margin);
    for (int y = std::max(top, margin) / 2 * 2; y < bottom; y += 4)
      for (int x = std::max(left, margin) / 2 * 2; x < right; x += 2) {
        if (x < margin || y < margin || !decision::has_value(last_.at(x, y))) continue;
        const int found = contrast(image, x, y);
        if (found <= most) continue;
        most = found;
        point.is_corner = true;
        point.x = x, point.y = y;
        point.disparity = last_.at(x, y);
      }
  }

  void track(Point& point, const CameraMotion& motion, int reach) const {
    point.is_found = false;
    if (!point.is_corner) return;
    const CameraMotion::Place expected =
        motion.moved(static_cast<float>(point.x), static_cast<float>(point.y), point.disparity);
    const auto limit = static_cast<float>(4 * (left_.level(0).size.width + left_.level(0).size.height));
    if (!(std::abs(expected.x) < limit && std::abs(expected.y) < limit)) return;
    Shift to{rounded(expected.x), rounded(expected.y)};
    const std::size_t coarsest = left_.levels() - 1;
    for (std::size_t level = coarsest + 1; level-- > 0;) {
      const auto at = [&](int full) { return full >> level; };
      if (!is_inside(before_.level(level).size, at(point.x), at(point.y), radius)) continue;
      const Square square(before_.level(level), at(point.x), at(point.y));
      const int own_reach = level == coarsest ? reach : fine_reach;
      // Shifts are relative to the coarse pixel that the point is in.
      const auto found = best_shift(square, left_.level(level), {at(to.x), at(to.y)}, own_reach, own_reach);
      if (!found) return;
      to.x += (found->x - at(to.x)) * (1 << level);
      to.y += (found->y - at(to.y)) * (1 << level);
    }
    find_right(point, to);
  }

  // The disparity of a point is that of the map before, and what has changed since: positions in the right
  // images are both found from the same square, so that what it makes of them is the same.
  void find_right(Point& point, Shift to) const {
    const View<const std::uint8_t> before = before_.level(0), left = left_.level(0);
    if (!is_inside(left.size, to.x, to.y, radius)) return;
    const FineSquare fine(before, point.x, point.y);
    const auto place = fine.find(left, to, false);
    if (!place) return;
    const Square square(before, point.x, point.y);
    const auto column_in = [&](View<const std::uint8_t> right, float x, float y,
                               int& sum) -> std::optional<float> {
      const Shift expected{rounded(x - point.disparity), rounded(y)};
      const auto found = best_shift(square, right, expected, right_reach, 0);
      if (!found) return std::nullopt;
      const auto refined_place = fine.find(right, *found, true);
      if (!refined_place) return std::nullopt;
      sum = Square(right, found->x, found->y).sum;
      return refined_place->x;
    };
    int sum_before = 0;
    const auto column_before =
        column_in(right_before_, static_cast<float>(point.x), static_cast<float>(point.y), sum_before);
    // A disparity that the images contradict tells nothing.
    if (column_before && !(std::abs(static_cast<float>(point.x) - *column_before - point.disparity) <= near))
      return;
    const auto column = column_before ? column_in(right_, place->x, place->y, point.right_sum) : std::nullopt;
    if (!column) return;
    point.to_x = place->x, point.to_y = place->y;
    point.to_disparity =
        point.disparity + (place->x - static_cast<float>(point.x)) - (*column - *column_before);
    point.before_sum = square.sum;
    point.left_sum = Square(left, to.x, to.y).sum;
    point.is_found = true;
  }

  const GrayPyramid& before_;
  View<const std::uint8_t> right_before_;
  View<const float> last_;
  const GrayPyramid& left_;
  View<const std::uint8_t> right_;
  const Workers& workers_;
  int cell_ = 0, columns_ = 0, corners_ = 0;
  std::vector<Point> points_;
};

namespace {

constexpr std::size_t unknowns = 12;
using Unknowns = rows::Vector<unknowns>;
using Residuals = std::array<double, 3>;

// Equations in units in which columns, rows and disparities are about 1; residuals are in pixels.
class Fit {
 public:
  Fit(Size size, double disparity_unit)
      : unit_(0.5 * std::max(size.width, size.height)),
        disparity_unit_(disparity_unit),
        middle_x_(0.5 * (size.width - 1)),
        middle_y_(0.5 * (size.height - 1)) {}

  void add(double x, double y, double d, double to_x, double to_y, double to_d) {
    points_.push_back({{(x - middle_x_) / unit_, (y - middle_y_) / unit_, d / disparity_unit_, 1},
                       {(to_x - middle_x_) / unit_, (to_y - middle_y_) / unit_, to_d / disparity_unit_}});
  }
  std::size_t size() const { return points_.size(); }

  Residuals residuals(std::size_t i) const {
    const auto& [p, to] = points_[i];
    const double scale = 1 + dot(8, p);
    return {unit_ * ((p[0] + dot(0, p)) / scale - to[0]), unit_ * ((p[1] + dot(4, p)) / scale - to[1]),
            disparity_unit_ * (p[2] / scale - to[2])};
  }
  double distance(std::size_t i) const {
    const Residuals rest = residuals(i);
    return std::sqrt(rest[0] * rest[0] + rest[1] * rest[1] + rest[2] * rest[2]);
  }

  // Least absolute distances, then Tukey's weights.
  bool solve() {
    constexpr int absolute_rounds = 5, tukey_rounds = 5;
    for (int round = 0; round < absolute_rounds; ++round)
      if (!improve([&](std::size_t i) { return round == 0 ? 1 : 1 / std::max(0.1, distance(i)); }))
        return false;
    for (int round = 0; round < tukey_rounds; ++round) {
      std::vector<double> distances;
      for (std::size_t i = 0; i < size(); ++i) distances.push_back(distance(i));
      const double noise = std::max(0.05, rows::deviation(distances));
      if (!improve([&](std::size_t i) { return tukey(distance(i), noise); })) return false;
    }
    return true;
  }

  CameraMotion motion() const {
    CameraMotion motion;
    const auto terms = [&](std::size_t first, double scale) {
      const double per_pixel = scale / unit_;
      return std::array<float, 4>{static_cast<float>(found_[first] * per_pixel),
                                  static_cast<float>(found_[first + 1] * per_pixel),
                                  static_cast<float>(found_[first + 2] * scale / disparity_unit_),
                                  static_cast<float>(found_[first + 3] * scale)};
    };
    motion.a = terms(0, unit_);
    motion.b = terms(4, unit_);
    motion.e = terms(8, 1);
    motion.middle_x = static_cast<float>(middle_x_), motion.middle_y = static_cast<float>(middle_y_);
    return motion;
  }

 private:
  using Terms = std::array<double, 4>;

  double dot(std::size_t first, const Terms& p) const {
    return found_[first] * p[0] + found_[first + 1] * p[1] + found_[first + 2] * p[2] +
           found_[first + 3] * p[3];
  }
  static double tukey(double distance, double noise) { return rows::tukey_weight(distance, noise * noise); }

  // a·p − x'·(e·p) = x' − x, the same of y, and −d'·(e·p) = d' − d.
  template <class Weight>
  bool improve(const Weight& weight) {
    // What no point tells stays 0: all points on one plane tell nothing of others.
    constexpr double hold = 1e-4;
    // The last coefficient of e is r₃₃ − 1, nearly 0, if the middle of the image is on the optical axis. If
    // it is off by a share of half the image, the rotation adds that share of the other coefficients.
    constexpr double small_scale = 5e-5, off_centre = 0.1;
    rows::NormalEquations<unknowns> equations;
    for (std::size_t i = 0; i < size(); ++i) {
      const double w = weight(i);
      if (w == 0) continue;
      const auto& [p, to] = points_[i];
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const double scale = axis == 2 ? disparity_unit_ : unit_;
        Unknowns terms{};
        for (std::size_t k = 0; k < 4; ++k) {
          if (axis < 2) terms[4 * axis + k] = scale * p[k];
          terms[8 + k] = -scale * to[axis] * p[k];
        }
        equations.add(terms, scale * (to[axis] - p[axis]), w);
      }
    }
    for (std::size_t k = 0; k < unknowns; ++k)
      equations.products[k][k] += hold * (1 + equations.products[k][k]);
    const double likely = small_scale + off_centre * (std::abs(found_[8]) + std::abs(found_[9]));
    equations.products[11][11] += 1 / (likely * likely);
    const auto factor = rows::Cholesky<unknowns>::of(equations.products, 1e-12);
    if (!factor) return false;
    found_ = factor->solve(equations.sums);
    return true;
  }

  struct Pair {
    Terms from;
    std::array<double, 3> to;
  };
  double unit_, disparity_unit_, middle_x_, middle_y_;
  std::vector<Pair> points_;
  Unknowns found_{};
};

// A motion that nobody would see is none, so that what is at rest stays exactly as it is.
bool moves(const CameraMotion& motion, Size size, float disparity) {
  constexpr float least = 0.02f;
  for (const float x : {0.0f, static_cast<float>(size.width - 1)})
    for (const float y : {0.0f, static_cast<float>(size.height - 1)})
      for (const float d : {0.0f, disparity}) {
        const CameraMotion::Place to = motion.moved(x, y, d);
        if (!(std::abs(to.x - x) <= least && std::abs(to.y - y) <= least &&
              std::abs(to.disparity - d) <= least))
          return true;
      }
  return false;
}

int gain(std::int64_t from, std::int64_t to) {
  constexpr std::int64_t one = 256;
  return static_cast<int>(from <= 0 ? one : std::clamp((one * to + from / 2) / from, one / 4, 4 * one));
}

}  // namespace

MotionFinder::MotionFinder(Size size) : size_(size) {}

std::optional<FrameChange> MotionFinder::find(const GrayFrame& before, View<const float> last,
                                              const GrayFrame& now, const Workers& workers) {
  Tracker tracker(before, last, now, workers);
  // Blank images tell of no motion, and of no cut.
  if (tracker.corners() < min_points) return FrameChange{};
  for (const int reach : {first_reach, wide_reach}) {
    tracker.track(reach == first_reach ? last_ : CameraMotion{}, reach);
    std::vector<double> disparities;
    for (const auto& point : tracker.points())
      if (point.is_found) disparities.push_back(std::abs(static_cast<double>(point.disparity)));
    if (static_cast<int>(disparities.size()) < min_points) continue;
    Fit fit(size_, std::max(1.0, rows::quantile(disparities, 0.5)));
    for (const auto& point : tracker.points())
      if (point.is_found)
        fit.add(point.x, point.y, static_cast<double>(point.disparity), static_cast<double>(point.to_x),
                static_cast<double>(point.to_y), static_cast<double>(point.to_disparity));
    if (!fit.solve()) continue;
    std::int64_t sums[3] = {};
    int following = 0;
    std::size_t i = 0;
    for (const auto& point : tracker.points()) {
      if (!point.is_found) continue;
      if (!(fit.distance(i++) < static_cast<double>(near))) continue;
      ++following;
      sums[0] += point.before_sum, sums[1] += point.left_sum, sums[2] += point.right_sum;
    }
    if (following < std::max<double>(min_points, min_share * tracker.corners())) continue;
    FrameChange change{fit.motion(), gain(sums[0], sums[1]), gain(sums[2], sums[1])};
    if (!moves(change.motion, size_, static_cast<float>(2 * rows::quantile(disparities, 1))))
      change.motion = {};
    last_ = change.motion;
    return change;
  }
  last_ = {};
  return std::nullopt;
}

}  // namespace parallax::temporal
