// SPDX-License-Identifier: Apache-2.0
// Winner takes all in semi-global matching on the CPU, and the right map from the same sums.
#pragma once

#include <algorithm>
#include <vector>

#include "core/arena.h"
#include "core/workers.h"
#include "matchers/semi_global/cpu_kernels.h"
#include "matchers/semi_global/cpu_passes.h"
#include "matchers/semi_global/semi_global.h"

namespace parallax::semi_global {

// Destination of a match's decisions.
struct Maps {
  const DisparityMap* left;  // null: only the right map, from the labels of the mirrored pair
  View<float> right;
  View<const std::uint8_t> status, right_mask;
};

class Winners {
 public:
  // Pixels whose sums are kept at once: they stay in the first-level cache.
  static constexpr int max_pixels = 32;

  // `finds_right`: finds the right map from the sums of the left pixels.
  Winners(const Model& model, const Layout& layout, bool finds_right, int slots)
      : model_(model), layout_(layout), finds_right_(finds_right), scratch_(to_size(slots)) {}

  void reserve(Arena& arena) {
    if (finds_right_ && has_row_offsets()) right_rows_.reserve(layout_, layout_.size.height, arena);
    for (Scratch& scratch : scratch_) {
      scratch.sums = behind(arena.reserve<std::uint16_t>(sums_count()), sums_margin);
      scratch.winners = arena.reserve<Winner>(to_size(max_pixels * layout_.row_offsets));
      if (finds_right_ && !has_row_offsets()) scratch.right_rows.reserve(layout_, band_rows, arena);
    }
  }
  void fill_memory() const {
    for (const Scratch& scratch : scratch_)
      std::fill_n(scratch.sums - sums_margin, sums_count(), std::uint16_t{65535});
  }

  void begin(const Maps& maps) { maps_ = maps; }

  // Sums of the pixels that are decided next, Layout::sum_step() elements apart.
  std::uint16_t* sums(int slot) const { return scratch(slot).sums; }

  // Row k of a band.
  struct Row {
    int y, k, slot;
  };
  void begin_row(const Row& row) const {
    for (int v = 0; finds_right_ && v < layout_.row_offsets; ++v) right_rows(row).clear(right_index(row, v));
  }
  // Decides `count` pixels from column x on.
  void decide(const Row& row, int x, int direction, int count) const {
    const DecisionRow pixels = decision_row(row, x, direction, count);
    if (has_row_offsets()) return decide_across_rows(pixels, row, x);
    find_winners(pixels);
    write(pixels, x, row.y, [&](int i) {
      const Winner& winner = pixels.winners[i];
      return beliefs_of(winner, pixels.wants_rival ? winner.rival : 65535);
    });
  }
  // Right pixels of a row get labels only from the left pixels of the same row, unless there are row offsets.
  void finish_row(const Row& row) const {
    if (!finds_right_ || has_row_offsets()) return;
    write_right_row(row.y, [own = scratch(row.slot).right_rows.row(row.k)](int) { return own; });
  }
  void finish(const Workers& workers) const {
    if (!finds_right_ || !has_row_offsets()) return;
    for_rows(workers, layout_.size.height, [&](int y, int slot) {
      write_right_row(y, [&](int v) {
        const int left_y = y - (model_.min_row_offset + v);
        if (left_y < 0 || left_y >= layout_.size.height) return RightRow{};
        return right_rows_.row(right_index({left_y, 0, slot}, v));
      });
    });
  }

 private:
  // One RightRow for each row and row offset.
  class RightRows {
   public:
    void reserve(const Layout& layout, int rows, Arena& arena) {
      margin_ = right_margin(layout.disparities);
      pitch_ = layout.size.width + 2 * margin_;
      const std::size_t count = to_size(rows) * to_size(layout.row_offsets) * to_size(pitch_);
      sums_ = arena.reserve<std::uint16_t>(count);
      labels_ = arena.reserve<std::uint16_t>(count);
    }
    RightRow row(std::ptrdiff_t index) const {
      return {sums_ + index * pitch_ + margin_, labels_ + index * pitch_ + margin_};
    }
    void clear(std::ptrdiff_t index) const {
      std::fill_n(sums_ + index * pitch_, pitch_, std::uint16_t{65535});
    }

   private:
    std::ptrdiff_t margin_ = 0, pitch_ = 0;
    std::uint16_t *sums_ = nullptr, *labels_ = nullptr;
  };

  struct Scratch {
    std::uint16_t* sums;
    Winner* winners;       // [row offset][pixel]
    RightRows right_rows;  // right rows of a band; with one row offset
  };
  const Scratch& scratch(int slot) const { return scratch_[to_size(slot)]; }
  std::size_t sums_count() const { return to_size(max_pixels * layout_.sum_step() + sums_margin); }
  bool has_row_offsets() const { return layout_.row_offsets > 1; }

  // Offers of left pixels of row y to right pixels of row y + v, by the number of v.
  const RightRows& right_rows(const Row& row) const {
    return has_row_offsets() ? right_rows_ : scratch(row.slot).right_rows;
  }
  std::ptrdiff_t right_index(const Row& row, int v) const {
    return has_row_offsets() ? std::ptrdiff_t{row.y} * layout_.row_offsets + v : row.k;
  }

  DecisionRow decision_row(const Row& row, int x, int direction, int count) const {
    const SemiGlobalParameters& parameters = model_.parameters;
    const bool wants_rival = maps_.left != nullptr && parameters.uniqueness > 0;
    const RightLabels labels = !finds_right_                               ? RightLabels::none
                               : parameters.right_map == RightMap::winners ? RightLabels::best
                                                                           : RightLabels::all;
    const int width = layout_.size.width;
    return {layout_.disparities,
            count,
            sums(row.slot),
            layout_.sum_step(),
            maps_.status.row(row.y) + x,
            direction,
            wants_rival,
            scratch(row.slot).winners,
            labels,
            finds_right_ ? right_rows(row).row(right_index(row, 0)) : RightRow{},
            width,
            std::int64_t{width} - 1 - x + parameters.min_disparity};
  }

  // Finds the winner at each row offset, then the best of them.
  void decide_across_rows(const DecisionRow& pixels, const Row& row, int x) const {
    const auto at_row_offset = [&](int v) {
      DecisionRow some = pixels;
      some.sums += v * layout_.sum_row_step();
      some.winners += v * max_pixels;
      some.wants_rival = false;
      if (finds_right_) some.right = right_rows_.row(right_index(row, v));
      return some;
    };
    for (int v = 0; v < layout_.row_offsets; ++v) {
      DecisionRow some = at_row_offset(v);
      if (some.right_labels == RightLabels::best) some.right_labels = RightLabels::none;
      find_winners(some);
    }
    write(pixels, x, row.y, [&](int i) {
      int best = 0;
      for (int v = 1; v < layout_.row_offsets; ++v)
        if (winner(pixels, v, i).best < winner(pixels, best, i).best) best = v;
      if (pixels.right_labels == RightLabels::best) at_row_offset(best).offer(i, winner(pixels, best, i));
      return beliefs_across_rows(pixels, i, best);
    });
  }

  // The winner of pixel i at row offset number v.
  static const Winner& winner(const DecisionRow& pixels, int v, int i) {
    return pixels.winners[v * max_pixels + i];
  }

  // Overwrites the sums of labels that are no rivals, if a rival is wanted.
  decision::Beliefs beliefs_across_rows(const DecisionRow& pixels, int i, int best) const {
    const auto sums = [&](int v) { return pixels.sums + i * pixels.step + v * layout_.sum_row_step(); };
    const Winner& found = winner(pixels, best, i);
    const int end = std::min(layout_.row_offsets, best + 2);
    decision::Beliefs beliefs = beliefs_of(found, 65535);
    beliefs.label += best * layout_.disparities;
    if (best > 0) beliefs.row_before = static_cast<float>(sums(best - 1)[found.label]);
    if (best + 1 < layout_.row_offsets) beliefs.row_after = static_cast<float>(sums(best + 1)[found.label]);
    if (!pixels.wants_rival) return beliefs;
    for (int v = std::max(0, best - 1); v < end; ++v)
      std::fill(sums(v) + std::max(0, found.label - 1),
                sums(v) + std::min(layout_.disparities, found.label + 2), std::uint16_t{65535});
    int rival = 65535;
    for (int v = 0; v < layout_.row_offsets; ++v)
      rival = std::min<int>(rival, min_of(sums(v), layout_.disparities));
    beliefs.rival = sum_or_none(rival);
    return beliefs;
  }

  static decision::Beliefs beliefs_of(const Winner& winner, int rival) {
    return {winner.label, static_cast<float>(winner.before), static_cast<float>(winner.best),
            static_cast<float>(winner.after), sum_or_none(rival)};
  }
  static float sum_or_none(int sum) {
    return sum <= highest_sum ? static_cast<float>(sum) : decision::no_value;
  }

  // Writes the decisions of pixels; beliefs(i) is called for those that have data costs.
  template <class BeliefsAt>
  void write(const DecisionRow& pixels, int first_x, int y, const BeliefsAt& beliefs) const {
    const decision::DecisionRule rule = model_.decision();
    for (int i = 0; i < pixels.count; ++i) {
      const int x = first_x + pixels.direction * i;
      const auto status = static_cast<Status>(maps_.status.at(x, y));
      if (status == Status::matched)
        write_beliefs(beliefs(i), rule, x, y);
      else if (maps_.left != nullptr)
        decision::write_none(status, x, y, *maps_.left);
      else
        write_right(decision::no_value, x, y);
    }
  }

  void write_beliefs(const decision::Beliefs& sums, const decision::DecisionRule& rule, int x, int y) const {
    if (maps_.left == nullptr) return write_right(rule.integer_disparity(sums.label), x, y);
    decision::write_decision(sums, rule, x, y, *maps_.left);
    if (is_ambiguous(sums, model_.parameters.uniqueness))
      decision::reject(Status::ambiguous, x, y, *maps_.left);
  }
  // The right disparity at a pixel of the mirrored pair.
  void write_right(float disparity, int x, int y) const {
    maps_.right.at(layout_.size.width - 1 - x, y) = disparity;
  }

  // row_at(v): the RightRow of row offset number v; empty where that is beyond the border.
  template <class RowAt>
  void write_right_row(int y, const RowAt& row_at) const {
    for (int x = 0; x < layout_.size.width; ++x) {
      const int i = layout_.size.width - 1 - x;
      int best = highest_sum + 1, label = 0;
      for (int v = 0; v < layout_.row_offsets; ++v) {
        const RightRow row = row_at(v);
        if (row.sums == nullptr || row.sums[i] >= best) continue;
        best = row.sums[i];
        label = row.labels[i];
      }
      const bool is_masked = !maps_.right_mask.empty() && maps_.right_mask.at(x, y) == 0;
      maps_.right.at(x, y) = best > highest_sum || is_masked
                                 ? decision::no_value
                                 : static_cast<float>(model_.min_disparity + label);
    }
  }

  const Model& model_;
  const Layout layout_;
  bool finds_right_;
  Maps maps_ = {};
  RightRows right_rows_;          // right rows of the image; with several row offsets
  std::vector<Scratch> scratch_;  // by slot
};

}  // namespace parallax::semi_global
