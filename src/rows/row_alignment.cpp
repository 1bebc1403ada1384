// SPDX-License-Identifier: Apache-2.0
#include "rows/row_alignment.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <utility>

#include "core/copy_rows.h"
#include "core/gray.h"
#include "rows/least_squares.h"

namespace parallax::rows {
namespace {

// v is measured at every eighth pixel of every eighth row, at least `border` pixels from the border.
constexpr int grid_step = 8;
constexpr int border = 8;
constexpr int radius = 4;  // radius of the compared windows
constexpr float unknown = std::numeric_limits<float>::infinity();
constexpr int window_pixels = (2 * radius + 1) * (2 * radius + 1);
constexpr int reach = 2;  // rows up and down

// Windows with less texture, the mean difference between neighbouring rows in gray levels, are left out; and
// so are those that match badly, in mean difference of normalised gray levels, or whose V is flat.
constexpr int min_texture = 2;
constexpr double worst_difference = 0.4;
constexpr double min_rise = 0.1;
constexpr int min_measured = 50;
// v is quadratic, linear or constant, depending on the variance of the places where it was measured, in the
// direction in which it is smallest, relative to that of places all over the image.
constexpr double min_spread_quadratic = 0.4, min_spread_linear = 0.1;
constexpr int fitting_rounds = 10;
// Rows are aligned already if the root mean square of v, where it was measured, is below this.
constexpr double negligible = 0.07;

// Offsets are rounded to 1/64 of a row.
constexpr int fractions = 64;
constexpr int weight_bits = 12;

// 1, x, y, x², x·y, y²
using Terms = Vector<6>;
// Added to the diagonal of the normal equations.
constexpr Terms diagonal{1e-6, 4e-6, 4e-6, 16e-6, 16e-6, 16e-6};

Terms terms_at(Size size, double column, double row) {
  const double x = position(column, size.width), y = position(row, size.height);
  return {1, x, y, x * x, x * y, y * y};
}

// Number of terms that can be fitted to places of this spread.
int terms_for(double spread) {
  return spread >= min_spread_quadratic ? 6 : spread >= min_spread_linear ? 3 : 1;
}

// Gray levels of a window, with mean 0 and variance 1.
class Patch {
 public:
  // `sample(x, y)` for x and y from −radius to radius.
  template <class Sample>
  explicit Patch(const Sample& sample) {
    double sum = 0, squares = 0;
    std::size_t i = 0;
    for (int y = -radius; y <= radius; ++y)
      for (int x = -radius; x <= radius; ++x) {
        const double level = levels_[i++] = sample(x, y);
        sum += level;
        squares += level * level;
      }
    const double mean = sum / window_pixels;
    // One square gray level of noise keeps blank windows from being amplified.
    const double deviation = std::sqrt(std::max(0.0, squares / window_pixels - mean * mean) + 1);
    for (double& level : levels_) level = (level - mean) / deviation;
  }

  // The mean absolute difference.
  double difference(const Patch& other) const {
    double sum = 0;
    for (std::size_t i = 0; i < levels_.size(); ++i) sum += std::abs(levels_[i] - other.levels_[i]);
    return sum / window_pixels;
  }

 private:
  std::array<double, window_pixels> levels_;
};

bool is_textured(View<const std::uint8_t> gray, int x, int y) {
  int sum = 0;
  for (int j = y - radius; j <= y + radius; ++j)
    for (int i = x - radius; i <= x + radius; ++i) sum += std::abs(gray.at(i, j) - gray.at(i, j + 1));
  return sum >= min_texture * window_pixels;
}

// The lowest point of a V whose sides are equally steep through the differences at offsets of −reach…reach
// rows; `unknown` if they have no clear lowest point.
float lowest_point(const std::array<double, 2 * reach + 1>& differences) {
  std::size_t best = 1;
  for (std::size_t k = 2; k + 1 < differences.size(); ++k)
    if (differences[k] < differences[best]) best = k;
  const double before = differences[best - 1], after = differences[best + 1];
  const double rise = std::max(before, after) - differences[best];
  if (differences[best] > worst_difference || 2 * rise < min_rise) return unknown;
  return static_cast<float>(static_cast<int>(best) - reach + (before - after) / (2 * rise));
}

// The offset of the rows of a pixel (x, y) of the left image, whose column in the right one is u.
float measure(View<const std::uint8_t> left, View<const std::uint8_t> right, int x, int y, float u) {
  if (!is_textured(left, x, y)) return unknown;
  const auto column = static_cast<int>(std::floor(u));
  const double fraction = static_cast<double>(u) - column;
  const Patch here([&](int i, int j) { return left.at(x + i, y + j); });
  std::array<double, 2 * reach + 1> differences;
  for (int k = -reach; k <= reach; ++k) {
    const Patch there([&](int i, int j) {
      const std::uint8_t* at = right.row(y + j + k) + column + i;
      return at[0] + fraction * (at[1] - at[0]);
    });
    differences[to_size(k + reach)] = here.difference(there);
  }
  return lowest_point(differences);
}

// The smallest variance of places in any direction, relative to that of places all over the image.
class Spread {
 public:
  void add(const Terms& terms) {
    ++count_;
    x_ += terms[1];
    y_ += terms[2];
    xx_ += terms[3];
    xy_ += terms[4];
    yy_ += terms[5];
  }

  // The smaller eigenvalue of the covariance matrix; that of the image is 1/3.
  double smallest() const {
    const double x = x_ / count_, y = y_ / count_;
    const double xx = xx_ / count_ - x * x, xy = xy_ / count_ - x * y, yy = yy_ / count_ - y * y;
    return 3 * ((xx + yy) / 2 - std::hypot((xx - yy) / 2, xy));
  }

 private:
  double count_ = 0, x_ = 0, y_ = 0, xx_ = 0, xy_ = 0, yy_ = 0;
};

// Catmull-Rom weights of four rows, in 1/2^weight_bits.
std::array<int, 4> weights_of(int fraction) {
  const double f = static_cast<double>(fraction) / fractions;
  const auto rounded = [](double weight) {
    return static_cast<int>(std::lround(weight * (1 << weight_bits)));
  };
  std::array<int, 4> weights{rounded(((-0.5 * f + 1) * f - 0.5) * f), 0,
                             rounded(((-1.5 * f + 2) * f + 0.5) * f), rounded((0.5 * f - 0.5) * f * f)};
  weights[1] = (1 << weight_bits) - weights[0] - weights[2] - weights[3];
  return weights;
}

}  // namespace

RowAlignment::RowAlignment(const ImageFormat& format)
    : format_(format),
      grid_{std::max(0, (format.size.width - 2 * border - 1) / grid_step + 1),
            std::max(0, (format.size.height - 2 * border - 1) / grid_step + 1)} {
  if (format.size.width <= 2 * border || format.size.height <= 2 * border) grid_ = {};
}

void RowAlignment::reserve(Arena& arena) {
  for (auto& gray : gray_) gray = arena.reserve_plane<std::uint8_t>(format_.size);
  measured_ = arena.reserve_plane<MeasuredOffset>(grid_);
  moved_ = arena.reserve<std::byte>(format_.size.pixels() * 3 * bytes_per_sample(format_.depth));
  moved_mask_ = arena.reserve_plane<std::uint8_t>(format_.size);
}

bool RowAlignment::find(const StereoPair& pair, const DisparityMap& map, const Workers& workers) {
  for_rows(workers, format_.size.height, [&](int y, int) {
    gray_byte_row(pair.left, y, gray_[0].row(y));
    gray_byte_row(pair.right, y, gray_[1].row(y));
  });
  for_rows(workers, grid_.height, [&](int row, int) { measure_row(map, row); });
  fit();
  return limit() >= negligible * negligible;
}

// Only disparities that the matcher decided count.
void RowAlignment::measure_row(const DisparityMap& map, int row) const {
  const int y = border + row * grid_step;
  for (int i = 0; i < grid_.width; ++i) {
    const int x = border + i * grid_step;
    const float u = static_cast<float>(x) - map.disparity.at(x, y);
    const bool is_usable = map.status.at(x, y) == static_cast<std::uint8_t>(Status::matched) &&
                           u >= static_cast<float>(border) &&
                           u < static_cast<float>(format_.size.width - border);
    measured_.at(i, row) = {u, is_usable ? measure(gray_[0], gray_[1], x, y, u) : unknown};
  }
}

// Calls each(terms of the place, v) for every measurement.
template <class Each>
void RowAlignment::for_measured(const Each& each) const {
  for (int row = 0; row < grid_.height; ++row)
    for (int i = 0; i < grid_.width; ++i) {
      const MeasuredOffset& measured = measured_.at(i, row);
      if (measured.rows == unknown) continue;
      each(terms_at(format_.size, static_cast<double>(measured.column), border + row * grid_step),
           static_cast<double>(measured.rows));
    }
}

void RowAlignment::fit() {
  surface_ = {format_.size};
  int count = 0;
  Spread spread;
  for_measured([&](const Terms& terms, double) {
    spread.add(terms);
    ++count;
  });
  if (count < min_measured) return;
  const auto fitted = terms_for(spread.smallest());
  const auto found = min_absolute<6>(fitting_rounds, diagonal, [&](const auto& add) {
    for_measured([&](Terms terms, double rows) {
      std::fill(terms.begin() + fitted, terms.end(), 0.0);
      add(terms, rows);
    });
  });
  if (!found) return;
  const auto [a, b, c, d, e, f] = *found;
  surface_.c = {a + (d + f) / 3, b, c, d, e, f};
}

// Limits v to its range at the measured places. Returns its mean square there.
double RowAlignment::limit() {
  double lowest = std::numeric_limits<double>::max(), highest = -lowest, squares = 0;
  int count = 0;
  for_measured([&](const Terms& terms, double) {
    const double rows = surface_.at(terms[1], terms[2]);
    lowest = std::min(lowest, rows);
    highest = std::max(highest, rows);
    squares += rows * rows;
    ++count;
  });
  if (count == 0) return 0;
  surface_.lowest = lowest;
  surface_.highest = highest;
  return squares / count;
}

// Interpolates between the rows around; rows outside the image are those of its border.
template <class Value>
void RowAlignment::move_row(const ImageView& right, View<const std::uint8_t> mask, int y) const {
  static const auto weights = [] {
    std::array<std::array<int, 4>, fractions> all;
    for (int i = 0; i < fractions; ++i) all[to_size(i)] = weights_of(i);
    return all;
  }();
  const int last = format_.size.height - 1, channels = right.channels;
  Value* to =
      reinterpret_cast<Value*>(moved_) + static_cast<std::ptrdiff_t>(y) * format_.size.width * channels;
  for (int x = 0; x < format_.size.width; ++x) {
    const auto place = static_cast<int>(std::lround((y + surface_.at_pixel(x, y)) * fractions));
    const int above = place >> 6;
    const std::array<int, 4>& weight = weights[to_size(place & (fractions - 1))];
    const Value* from[4];
    for (int k = 0; k < 4; ++k)
      from[k] = static_cast<const Value*>(right.row(std::clamp(above + k - 1, 0, last))) + x * channels;
    for (int c = 0; c < channels; ++c) {
      std::int64_t sum = 1 << (weight_bits - 1);
      for (int k = 0; k < 4; ++k) sum += std::int64_t{weight[to_size(k)]} * from[k][c];
      *to++ = static_cast<Value>(
          std::clamp<std::int64_t>(sum >> weight_bits, 0, std::numeric_limits<Value>::max()));
    }
    if (!mask.empty()) moved_mask_.at(x, y) = mask.at(x, std::clamp((place + fractions / 2) >> 6, 0, last));
  }
}

StereoPair RowAlignment::aligned(const StereoPair& pair, const Workers& workers) const {
  for_rows(workers, format_.size.height, [&](int y, int) {
    if (format_.depth == BitDepth::bits8)
      move_row<std::uint8_t>(pair.right, pair.right_mask, y);
    else
      move_row<std::uint16_t>(pair.right, pair.right_mask, y);
  });
  StereoPair aligned = pair;
  aligned.right = {moved_, format_, pair.right.channels,
                   static_cast<std::ptrdiff_t>(to_size(format_.size.width * pair.right.channels) *
                                               bytes_per_sample(format_.depth))};
  if (!pair.right_mask.empty()) aligned.right_mask = moved_mask_;
  return aligned;
}

namespace {

class AlignedPlan final : public detail::Plan {
 public:
  AlignedPlan(std::unique_ptr<detail::Plan> plan, const ImageFormat& format, int threads)
      : plan_(std::move(plan)), workers_(threads), alignment_(format) {
    remedy = plan_->remedy;
    alignment_.reserve(arena_);
  }

  std::size_t memory_bytes() const override { return plan_->memory_bytes() + arena_.bytes(); }
  std::optional<GpuMemory> gpu_memory() const override { return plan_->gpu_memory(); }
  bool tells_confidence() const override { return plan_->tells_confidence(); }
  void sleep_while_waiting() override { plan_->sleep_while_waiting(); }

  void allocate() override {
    plan_->allocate();
    arena_.allocate();
    alignment_.reserve(arena_);
  }

  void run(const StereoPair& pair, const DisparityMap& map) override {
    detail::StageClock clock(stage_times);
    match(pair, map, clock);
    const bool is_misaligned = alignment_.find(pair, map, workers_);
    const StereoPair aligned = is_misaligned ? alignment_.aligned(pair, workers_) : pair;
    clock.finish("align_rows");
    if (is_misaligned) match(aligned, map, clock);
  }

  void enqueue(const StereoPair&, const DisparityMap&, void*) override {
    throw Error(ErrorCategory::device,
                "align_rows moves rows in host memory: use run(), or match without it");
  }

 private:
  void match(const StereoPair& pair, const DisparityMap& map, detail::StageClock& clock) {
    plan_->run(pair, map);
    for (const StageTime& stage : plan_->stage_times) add(stage);
    clock.restart();
  }

  // A stage of both matches has one entry, with the sum of its times.
  void add(const StageTime& time) {
    const auto known = std::find_if(stage_times.begin(), stage_times.end(), [&](const StageTime& other) {
      return std::string_view(other.stage) == time.stage;
    });
    if (known == stage_times.end())
      stage_times.push_back(time);
    else
      known->milliseconds += time.milliseconds;
  }

  std::unique_ptr<detail::Plan> plan_;
  Workers workers_;
  RowAlignment alignment_;
  Arena arena_;
};

}  // namespace

std::unique_ptr<detail::Plan> with_aligned_rows(std::unique_ptr<detail::Plan> plan, const ImageFormat& format,
                                                int threads) {
  return std::make_unique<AlignedPlan>(std::move(plan), format, threads);
}

}  // namespace parallax::rows
