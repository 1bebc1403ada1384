// SPDX-License-Identifier: Apache-2.0
// Bands of rows and strips of columns in which threads sweep a level that considers all labels. A band also
// computes as many rows on either side as its iterations reach, so that bands are independent: rows computed
// by two of them are the same.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/round_up.h"
#include "core/workers.h"
#include "matchers/belief_propagation/levels.h"

namespace parallax::belief_propagation {

// The iteration before the first.
inline constexpr int start = -1;

// Rows [first, last) and a strip of columns of a level, for one thread.
struct Band {
  std::size_t level;
  int height;  // rows of the level
  int first, last;
  Range strip;
  Range computed;  // the strip, and as far beyond it as its iterations reach
  int slot;
  int iterations;
  bool decides;  // its decisions are the map, or choose candidates

  bool owns(int y) const { return y >= first && y < last; }
  // Rows that an iteration computes: those that the next one, or the decision, reads.
  Range rows(int iteration) const {
    const int beyond = iterations - 1 - iteration + (decides ? 1 : 0);
    return {std::max(0, first - beyond), std::min(height, last + beyond)};
  }
};

class LevelSchedule {
 public:
  // `window_bytes` is the part of the window of rows that should stay in a cache, `column_bytes` what an
  // element of a half takes there.
  LevelSchedule(const Model& model, const Levels& levels, std::size_t window_bytes, std::size_t column_bytes,
                int most_bands)
      : model_(model), levels_(levels), column_bytes_(column_bytes), most_bands_(most_bands) {
    strip_width_ = choose_strip_width(static_cast<int>(window_bytes / column_bytes));
  }

  // Calls sweep(band) for bands that cover a level.
  template <class Sweep>
  void for_each_band(std::size_t index, bool mirrored, const Workers& workers, const Sweep& sweep) const {
    const Level& level = levels_[index];
    const int rows = level.size.height, iterations = model_.iterations(index, mirrored);
    const int count = bands(index, iterations);
    workers.for_each(count, [&](int band, int slot) {
      const auto bound = [&](int i) { return static_cast<int>(static_cast<std::int64_t>(rows) * i / count); };
      const int width = level.shape.computed, step = index == 0 ? strip_width_ : width;
      for (int left_end = 0; left_end < width; left_end += step) {
        const Range strip{left_end, std::min(left_end + step, width)};
        sweep(Band{.level = index,
                   .height = rows,
                   .first = bound(band),
                   .last = bound(band + 1),
                   .strip = strip,
                   .computed = computed_for(index, strip),
                   .slot = slot,
                   .iterations = iterations,
                   .decides = index == levels_.first()});
      }
    });
  }

  int bands_of_finest() const { return bands(0, model_.iterations(0, false)); }
  // What a band of the finest level has in progress.
  std::size_t working_set_bytes() const {
    return static_cast<std::size_t>(std::min(levels_[0].shape.computed, strip_width_ + 2 * finest_reach())) *
           column_bytes_;
  }

 private:
  int bands(std::size_t level, int iterations) const {
    return std::clamp(levels_[level].size.height / iterations, 1, most_bands_);
  }

  // Elements of a half that the iterations of the finest level and the decision reach on one side.
  int finest_reach() const {
    const int iterations = std::max(model_.iterations(0, false), model_.iterations(0, true));
    return round_up((iterations + 1) / 2 + 1, computing_unit(model_.parameters.arithmetic));
  }

  // Only the finest level has several strips.
  Range computed_for(std::size_t index, Range strip) const {
    return {std::max(0, strip.first - finest_reach()),
            std::min(levels_[index].shape.computed, strip.last + finest_reach())};
  }

  // With many labels, floats of a row's width exceed the cache, where `fit` columns fit: the finest level,
  // which keeps nothing, is then swept in strips of columns.
  int choose_strip_width(int fit) const {
    const int width = levels_[0].shape.computed;
    if (fit >= width || fit < 4 * finest_reach()) return width;
    const int strips = divide_round_up(width, fit - 2 * finest_reach());
    return round_up(divide_round_up(width, strips), computing_unit(model_.parameters.arithmetic));
  }

  const Model& model_;
  const Levels& levels_;
  std::size_t column_bytes_;
  int most_bands_;
  int strip_width_;
};

}  // namespace parallax::belief_propagation
