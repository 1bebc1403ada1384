// SPDX-License-Identifier: Apache-2.0
// The message updates of a level that considers all labels, and its decisions, in one sweep from top to
// bottom, all iterations together: iteration t of row y needs iteration t − 1 of the rows y − 1, y, y + 1, so
// it runs when row y + t + 1 comes in. Data costs of the finest level are computed as a row enters the window
// (levels.h), and labels are chosen as it leaves. Coarser levels leave their messages where the next finer
// level starts from them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "core/integers.h"
#include "core/workers.h"
#include "decision/decision.h"
#include "matchers/belief_propagation/candidate_kernels.h"
#include "matchers/belief_propagation/edges.h"
#include "matchers/belief_propagation/features.h"
#include "matchers/belief_propagation/levels.h"

namespace parallax::belief_propagation {

// Bands of rows and strips of columns in which threads sweep a level that considers all labels. A band also
// computes as many rows on either side as its iterations reach, so that bands are independent: rows computed
// by two of them are the same.

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
                int max_bands)
      : model_(model), levels_(levels), column_bytes_(column_bytes), max_bands_(max_bands) {
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
  // Work in progress of a band of the finest level.
  std::size_t working_set_bytes() const {
    return to_size(std::min(levels_[0].shape.computed, strip_width_ + 2 * finest_reach())) * column_bytes_;
  }

 private:
  int bands(std::size_t level, int iterations) const {
    return std::clamp(levels_[level].size.height / iterations, 1, max_bands_);
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
  int max_bands_;
  int strip_width_;
};

class LevelSweep {
 public:
  LevelSweep(const Model& model, const Levels& levels, const Windows& windows, const Features& features,
             const Edges& edges)
      : model_(model),
        arithmetic_(model.parameters.arithmetic),
        levels_(levels),
        windows_(windows),
        features_(features),
        edges_(edges) {}

  // Sweeps a band. Calls take(x, y, decision::Beliefs) for its pixels if the band decides.
  template <class Take>
  void run(const Band& band, Wanted wanted, const Take& take) const {
    const int iterations = band.iterations;
    const auto [top, bottom] = band.rows(start);
    // The colour that the last iteration updates is decided before that update, from the messages that it
    // reads: the update itself writes messages to the other colour.
    const int updated_last = iterations % 2;
    const auto decide_own = [&](int y, int colour, int iteration) {
      if (band.decides && band.owns(y)) decide(band, y, colour, iteration, wanted, take);
    };
    for (int row = top; row < bottom + iterations + 1; ++row) {
      stop_if_cancelled();
      if (row < bottom) start_row(band, row);
      for (int iteration = 0; iteration < iterations; ++iteration) {
        const int y = row - 1 - iteration;
        const auto [first, last] = band.rows(iteration);
        if (y < first || y >= last) continue;
        if (iteration == iterations - 1) decide_own(y, updated_last, iteration - 1);
        update(band, y, iteration);
      }
      decide_own(row - iterations - 1, 1 - updated_last, iterations - 1);
    }
  }

 private:
  // Addresses of planes

  const Level& level_of(const Band& band) const { return levels_[band.level]; }
  // Null for the coarsest level.
  const Level* coarser(const Band& band) const {
    return band.level + 1 < levels_.count() ? &levels_[band.level + 1] : nullptr;
  }

  // In floats, the outermost pixels keep their initial messages.
  bool keeps_row(const Band& band, int y) const {
    return !model_.integer && (y == 0 || y == band.height - 1);
  }

  int last_update(const Band& band, int y, int colour) const {
    if (keeps_row(band, y)) return start;
    const int last = band.iterations - 1;
    return (last + 1) % 2 == colour ? last : last - 1;
  }

  // Messages of a row after an iteration: in the window or, after the last one, where the next finer level
  // reads them.
  std::byte* messages(const Band& band, int y, int colour, int direction, int iteration) const {
    if (band.level > 0 && band.owns(y) && iteration >= last_update(band, y, colour))
      return level_of(band).message_plane(y, colour, direction);
    return windows_.plane(band.level, y, colour, direction, band.slot);
  }

  std::byte* data(const Band& band, int y, int colour) const {
    return band.level == 0 ? windows_.plane(0, y, colour, Windows::data_costs, band.slot)
                           : level_of(band).data_plane(y, colour);
  }

  // The first messages

  void start_row(const Band& band, int y) const {
    const auto [first, last] = band.rows(0);
    for (int colour = 0; colour < 2; ++colour) {
      // The first update of the other colour overwrites all of its initial messages.
      if (colour == 0 || keeps_row(band, y)) start_messages(band, y, colour);
      if (!model_.integer)
        clear_before(level_of(band), messages(band, y, colour, right, last_update(band, y, colour)));
      if (band.level == 0 && y >= first && y < last)
        features_.write_costs(y, colour, band.computed, band.slot, data(band, y, colour));
    }
  }

  void start_messages(const Band& band, int y, int colour) const {
    const Level& level = level_of(band);
    for (int direction = 0; direction < direction_count; ++direction) {
      std::byte* out = messages(band, y, colour, direction, start);
      if (const Level* coarse = coarser(band))
        copy_down(arithmetic_, level.shape, coarse->shape, copied_for(band.computed),
                  coarse->message_plane(y / 2, colour_of(y / 2, 0), direction),
                  coarse->message_plane(y / 2, colour_of(y / 2, 1), direction), out);
      else
        std::memset(out, 0, level.plane_bytes);
    }
    clear_before(level, messages(band, y, colour, right, start));
    clear_behind(level, y, colour, messages(band, y, colour, left, start));
  }

  Range copied_for(Range computed) const {
    const int unit = copying_unit(arithmetic_);
    return {computed.first / unit * unit, round_up(computed.last, unit)};
  }

  // Pixels beyond the border send no messages. In integers, updates make them send zeros; the first messages,
  // which are copies of the coarser level's, must be cleared.

  // Clears what would come from before the first pixel.
  void clear_before(const Level& level, std::byte* to_right) const {
    clear_element(level, to_right - storage_bytes(arithmetic_));
  }
  // Clears what would come from behind the last pixel.
  void clear_behind(const Level& level, int y, int colour, std::byte* to_left) const {
    clear_element(level, to_left + to_size(level.pixels(y, colour)) * storage_bytes(arithmetic_));
  }
  void clear_element(const Level& level, std::byte* first) const {
    switch (storage_bytes(arithmetic_)) {
      case 1:
        return clear_labels<std::uint8_t>(first, level.shape);
      case 2:
        return clear_labels<std::uint16_t>(first, level.shape);
      default:
        return clear_labels<std::uint32_t>(first, level.shape);
    }
  }
  template <class Element>
  static void clear_labels(std::byte* first, const PlaneShape& shape) {
    auto* elements = reinterpret_cast<Element*>(first);
    for (int label = 0; label < shape.labels; ++label) elements[label * shape.stride] = 0;
  }

  // Sets what the kernels read: data costs, and the messages to the pixels of one colour after an iteration.
  template <class Row>
  void receive(const Band& band, int y, int colour, int iteration, Row& row) const {
    const int other = 1 - colour;
    const auto bytes = static_cast<std::ptrdiff_t>(storage_bytes(arithmetic_));
    const bool odd = colour_of(y, colour) == 1;
    row.shape = level_of(band).shape;
    row.data = data(band, y, colour);
    row.from[above] = y > 0 ? messages(band, y - 1, other, below, iteration) : levels_.zeros();
    row.from[below] = y + 1 < band.height ? messages(band, y + 1, other, above, iteration) : levels_.zeros();
    row.from[left] = messages(band, y, other, right, iteration) - (odd ? 0 : bytes);
    row.from[right] = messages(band, y, other, left, iteration) + (odd ? bytes : 0);
    row.scratch = levels_.scratch(band.slot);
  }

  void update(const Band& band, int y, int iteration) const {
    if (keeps_row(band, y)) return;
    const int colour = (iteration + 1) % 2;
    RowUpdate row;
    row.range = band.computed;
    receive(band, y, colour, iteration - 1, row);
    for (int direction = 0; direction < direction_count; ++direction) {
      row.to[direction] = messages(band, y, colour, direction, iteration);
      row.slopes[direction] = edges_.slopes(band.level, y, colour, direction);
      row.truncations[direction] = edges_.truncations(band.level, y, colour, direction);
      row.row_bounds[direction] = edges_.row_bounds(band.level, y, colour, direction);
    }
    row.row_slope = model_.row_slope;
    update_row(arithmetic_, row);
    if (model_.integer) return;
    for (const int x : {0, level_of(band).size.width - 1})
      if (colour_of(y, x) == colour) restart(band, x, y, colour, iteration);
    clear_behind(level_of(band), y, colour, messages(band, y, colour, left, iteration));
  }

  // Gives an outermost pixel its initial messages again.
  void restart(const Band& band, int x, int y, int colour, int iteration) const {
    const Level* coarse = coarser(band);
    const std::size_t bytes = storage_bytes(arithmetic_);
    const auto offset = [&](const Level& level, int label, int column) {
      return (label * level.shape.stride + column / 2) * static_cast<std::ptrdiff_t>(bytes);
    };
    for (int direction = 0; direction < direction_count; ++direction) {
      std::byte* out = messages(band, y, colour, direction, iteration);
      const std::byte* from =
          coarse == nullptr ? nullptr : coarse->message_plane(y / 2, colour_of(y / 2, x / 2), direction);
      for (int label = 0; label < model_.labels; ++label) {
        std::byte* message = out + offset(level_of(band), label, x);
        if (coarse == nullptr)
          std::memset(message, 0, bytes);
        else
          std::memcpy(message, from + offset(*coarse, label, x / 2), bytes);
      }
    }
  }

  template <class Take>
  void decide(const Band& band, int y, int colour, int iteration, Wanted wanted, const Take& take) const {
    const Window& window = windows_[band.slot];
    float* const* around = window.around;
    RowDecision row{};
    row.range = band.strip;
    receive(band, y, colour, iteration, row);
    row.labels = window.labels;
    if (wanted != Wanted::labels) {
      float** out[] = {&row.before, &row.best, &row.after, &row.row_before, &row.row_after};
      for (std::size_t i = 0; i < std::size(out); ++i) *out[i] = around[i];
    }
    decide_row(arithmetic_, row);
    const int end = std::min(band.strip.last, level_of(band).pixels(y, colour));
    for (int i = band.strip.first; i < end; ++i)
      take(2 * i + colour_of(y, colour), y,
           decision::Beliefs{.label = window.labels[i],
                             .before = around[0][i],
                             .best = around[1][i],
                             .after = around[2][i],
                             .row_before = around[3][i],
                             .row_after = around[4][i]});
  }

  const Model& model_;
  Arithmetic arithmetic_;
  const Levels& levels_;
  const Windows& windows_;
  const Features& features_;
  const Edges& edges_;
};

}  // namespace parallax::belief_propagation
