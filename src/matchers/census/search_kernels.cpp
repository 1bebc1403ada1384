// SPDX-License-Identifier: Apache-2.0
// The search of a tile: for each label that some pixel of the tile wants, computes the costs of all its
// pixels and their sums over the window, and updates the pixels' best labels.
//
// A label's costs come from whole rows of bytes: XOR, population count, sum over the bytes of a signature.
// Sums over the columns of a window are then updated down the rows, as a row enters and a row leaves.

#include <algorithm>
#include <cstdint>

#include "decision/confidence.h"
#include "decision/sub_pixel.h"
#include "matchers/census/cpu_kernels.h"
#include "refine/refine.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "matchers/census/search_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "data_cost/differences-inl.h"
#include "devices/cpu/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace parallax::census::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using decision::code;
using decision::no_value;

constexpr std::ptrdiff_t state_pitch = max_tile_rows * tile_lanes;

using Bytes = hn::ScalableTag<std::uint8_t>;
using Words = hn::ScalableTag<std::uint16_t>;
using WordBytes = hn::Rebind<std::uint8_t, Words>;  // as many bytes as a vector has words
using WordVector = hn::Vec<Words>;

// Sums of bytes, in words, by column.
#if PARALLAX_NEON_VECTORS
// Additions widen either half of a vector.
struct ByteSums {
  using Tag = Bytes;
  HWY_INLINE ByteSums() : low(vdupq_n_u16(0)), high(low) {}
  HWY_INLINE void add(hn::Vec<Tag> bytes) {
    low = vaddw_u8(low, vget_low_u8(bytes.raw));
    high = vaddw_high_u8(high, bytes.raw);
  }
  HWY_INLINE void store(std::uint16_t* to) const {
    vst1q_u16(to, low);
    vst1q_u16(to + 8, high);
  }

  uint16x8_t low, high;
};
#else
struct ByteSums {
  using Tag = WordBytes;
  HWY_INLINE ByteSums() : sums(hn::Zero(Words())) {}
  HWY_INLINE void add(hn::Vec<Tag> bytes) { sums = hn::Add(sums, hn::PromoteTo(Words(), bytes)); }
  HWY_INLINE void store(std::uint16_t* to) const { hn::Store(sums, Words(), to); }

  WordVector sums;
};
#endif

// State of a tile's pixels; each is a plane of `states`.
enum State {
  best_cost,
  best_label,
  first_label,  // first label of the searched interval
  label_span,   // length of the interval less 1
  cost_before,  // cost of the label before the best one
  cost_after,
  previous_cost,      // cost of the label before the current one
  rival_cost,         // lowest cost searched more than one label away from the best
  distant_cost,       // lowest cost searched two or more labels before the current one
  previous_searched,  // cost of the label before the current one, if it was searched
};

class Tile {
 public:
  Tile(const Search& search, int tile_column, int tile_row, const TileMemory& memory)
      : s_(search),
        memory_(memory),
        radius_(search.window / 2),
        x_(tile_column * tile_columns(search.window)),
        y_(tile_row * search.tile_rows),
        columns_(std::min(tile_columns(search.window), search.level.size.width - x_)),
        rows_(std::min(search.tile_rows, search.level.size.height - y_)) {}

  void run() {
    const bool neighbours = s_.sub_pixel != SubPixel::none;
    const bool rival = s_.uniqueness > 0 || !s_.map.confidence.empty();
    start(neighbours, rival);
    if (neighbours && rival)
      search<true, true>();
    else if (neighbours)
      search<true, false>();
    else if (rival)
      search<false, true>();
    else
      search<false, false>();
    finish();
  }

 private:
  const Size& size() const { return s_.level.size; }
  int labels() const { return s_.level.labels; }
  int row_in_image(int y) const { return std::clamp(y, 0, size().height - 1); }
  bool limited() const { return s_.estimates.labels != nullptr; }
  std::uint16_t* state(State plane, int row) const {
    return memory_.states + static_cast<std::ptrdiff_t>(plane) * state_pitch + row * tile_lanes;
  }
  void fill(State plane, std::uint16_t value) const {
    std::fill_n(state(plane, 0), rows_ * tile_lanes, value);
  }

  void start(bool neighbours, bool rival) const {
    fill(best_cost, no_cost);
    fill(best_label, no_label);
    if (neighbours) {
      fill(cost_before, no_cost);
      fill(cost_after, no_cost);
    }
    if (rival) {
      fill(rival_cost, no_cost);
      fill(distant_cost, no_cost);
      fill(previous_searched, no_cost);
    }
    std::fill_n(memory_.wanted, labels() + 3, 0);
    if (limited())
      start_from_estimates();
    else
      std::fill_n(memory_.wanted + 1, labels(), 1);
    if (neighbours) want_neighbours();
  }

  // Pixels of the level above a row of tiles, with one before and one after.
  static constexpr int max_above = tile_lanes / 2 + 2;
  using Above = std::uint16_t[max_above];

  void start_from_estimates() const {
    Above lowest, highest, first, span;
    const int count = (columns_ + 1) / 2;
    for (int row = 0; row < rows_; row += 2) {
      find_extremes(count, (y_ + row) / 2, lowest, highest);
      find_intervals(count, lowest, highest, first, span);
      want(count, first, span);
      for (int i = row; i < std::min(row + 2, rows_); ++i) {
        enlarge(first, count, state(first_label, i));
        enlarge(span, count, state(label_span, i));
      }
    }
    std::int32_t* changes = memory_.wanted + 1;
    for (int label = 1; label < labels(); ++label) changes[label] += changes[label - 1];
  }

  // The extreme estimates in rows y − 1 to y + 1 of the level above; the highest is 0 without estimates.
  void find_extremes(int count, int y, Above& lowest, Above& highest) const {
    const Estimates& above = s_.estimates;
    const int first = x_ / 2 - 1;
    const auto row = [&](int i) {
      return above.labels + std::clamp(i, 0, above.size.height - 1) * above.stride;
    };
    const std::uint16_t *upper = row(y - 1), *middle = row(y), *lower = row(y + 1);
    const auto value = [](std::uint16_t estimate) {
      return estimate == no_label ? std::uint16_t{0} : estimate;
    };
    const auto find = [&](int column, int i) {
      lowest[i] = std::min(std::min(upper[column], middle[column]), lower[column]);
      highest[i] = std::max(std::max(value(upper[column]), value(middle[column])), value(lower[column]));
    };
    find(std::max(first, 0), 0);
    for (int i = 1; i <= count; ++i) find(first + i, i);
    find(std::min(first + count + 1, above.size.width - 1), count + 1);
  }

  // The labels searched for each of `count` pixels on the level below: `first`, and `span` more.
  void find_intervals(int count, const Above& lowest, const Above& highest, Above& first, Above& span) const {
    const int offset = 2 * s_.estimates.lowest - s_.level.lowest, radius = s_.search_radius,
              end = labels() - 1;
    for (int i = 0; i < count; ++i) {
      const int low = std::min(std::min(lowest[i], lowest[i + 1]), lowest[i + 2]);
      const int high = std::max(std::max(highest[i], highest[i + 1]), highest[i + 2]);
      const int from = std::max(2 * low + offset - radius, 0), to = std::min(2 * high + offset + radius, end);
      // No label is that high, so none will be in the interval.
      const bool none = low == no_label || to < from;
      first[i] = none ? no_label : static_cast<std::uint16_t>(from);
      span[i] = none ? std::uint16_t{0} : static_cast<std::uint16_t>(to - from);
    }
  }

  // Records where the number of pixels that want a label changes; once for pixels with the same interval.
  void want(int count, const Above& first, const Above& span) const {
    std::int32_t* changes = memory_.wanted + 1;
    for (int i = 0; i < count; ++i) {
      if (first[i] == no_label || (i > 0 && first[i] == first[i - 1] && span[i] == span[i - 1])) continue;
      ++changes[first[i]];
      --changes[first[i] + span[i] + 1];
    }
  }

  static void enlarge(const Above& above, int count, std::uint16_t* HWY_RESTRICT row) {
    for (int i = 0; i < count; ++i) row[2 * i] = row[2 * i + 1] = above[i];
  }

  // The costs next to the best are used whether they were searched or not.
  void want_neighbours() const {
    std::int32_t* wanted = memory_.wanted + 1;
    bool before = false;
    for (int label = 0; label < labels(); ++label) {
      const bool own = wanted[label] > 0;
      if (before || own || (label + 1 < labels() && wanted[label + 1] > 0))
        wanted[label] = std::max(wanted[label], 1);
      before = own;
    }
  }

  // A label that the tile wants, and the columns of the tile whose other pixel exists.
  struct Candidate {
    int label, shift;
    int first_column, last_column;
    bool continues;  // whether the previous label is a candidate, too
  };

  // Labels whose costs are computed together, while the signatures of the base image are loaded.
  class Batch {
   public:
    void add(const Candidate& candidate) { candidates_[count_++] = candidate; }
    void clear() { count_ = 0; }
    int count() const { return count_; }
    const Candidate& operator[](int i) const { return candidates_[i]; }

   private:
    Candidate candidates_[max_batch_labels];
    int count_ = 0;
  };

  template <bool neighbours, bool rival>
  void search() const {
    Batch batch;
    bool continues = false;
    for (int label = 0; label < labels(); ++label) {
      const Candidate candidate = candidate_of(label, continues);
      continues = memory_.wanted[label + 1] > 0 && candidate.first_column < candidate.last_column;
      if (continues) batch.add(candidate);
      if (batch.count() == s_.batch_labels) search_batch<neighbours, rival>(batch);
    }
    search_batch<neighbours, rival>(batch);
  }

  Candidate candidate_of(int label, bool continues) const {
    const int disparity = s_.level.lowest + label;
    const int shift = s_.side == left_side ? disparity : -disparity;
    return {label, shift, std::max(0, shift - x_), std::min(columns_, size().width + shift - x_), continues};
  }

  template <bool neighbours, bool rival>
  void search_batch(Batch& batch) const {
    find_costs(batch);
    for (int i = 0; i < batch.count(); ++i) {
      const Candidate& candidate = batch[i];
      sum_rows(costs_of(i));
      if (candidate.first_column == 0 && candidate.last_column == columns_ && s_.other_mask == nullptr)
        sum_and_decide<neighbours, rival, false>(candidate);
      else
        sum_and_decide<neighbours, rival, true>(candidate);
    }
    batch.clear();
  }

  template <bool neighbours, bool rival, bool bounded>
  void sum_and_decide(const Candidate& candidate) const {
    if (limited())
      sum_and_decide<neighbours, rival, bounded, true>(candidate);
    else
      sum_and_decide<neighbours, rival, bounded, false>(candidate);
  }

  // The costs of a label of the batch.
  std::uint8_t* costs_of(int i) const {
    return memory_.costs + static_cast<std::ptrdiff_t>(i) * cost_rows * cost_pitch;
  }

  void find_costs(const Batch& batch) const {
    switch (s_.base.bytes) {
      case 2:
        return find_costs<2>(batch);
      case 3:
        return find_costs<3>(batch);
      case 6:
        return find_costs<6>(batch);
      case 8:
        return find_costs<8>(batch);
      default:
        return find_costs<10>(batch);
    }
  }

  template <int bytes>
  void find_costs(const Batch& batch) const {
    if (s_.ad_truncation > 0)
      find_costs_of_rows<bytes, true>(batch);
    else
      find_costs_of_rows<bytes, false>(batch);
  }

  // Costs of single pixels, for all rows that the windows of the tile reach.
  template <int bytes, bool with_difference>
  void find_costs_of_rows(const Batch& batch) const {
    const Bytes d;
    const int lanes = static_cast<int>(hn::Lanes(d));
    const int count = columns_ + 2 * radius_;
    const auto truncation = hn::Set(d, static_cast<std::uint8_t>(s_.ad_truncation));
    const std::ptrdiff_t base_pitch = s_.base.pitch, other_pitch = s_.other.pitch;
    for (int i = 0; i < rows_ + 2 * radius_; ++i) {
      const int y = y_ - radius_ + i;
      const std::uint8_t* HWY_RESTRICT base_row = s_.base.row(row_in_image(y), 0) + x_ - radius_;
      const std::uint8_t* HWY_RESTRICT other_row =
          s_.other.row(row_in_image(y + s_.rows_lower), 0) + x_ - radius_;
      for (int x = 0; x < count; x += lanes) {
        hn::Vec<Bytes> base[bytes + 1];
        for (int plane = 0; plane < bytes + (with_difference ? 1 : 0); ++plane)
          base[plane] = hn::LoadU(d, base_row + plane * base_pitch + x);
        for (int k = 0; k < batch.count(); ++k) {
          const std::uint8_t* HWY_RESTRICT other = other_row + x - batch[k].shift;
          const auto differing = [&](int plane) HWY_ATTR {
            return hn::PopulationCount(hn::Xor(base[plane], hn::LoadU(d, other + plane * other_pitch)));
          };
          auto cost = differing(0);
          for (int plane = 1; plane < bytes; ++plane) cost = hn::Add(cost, differing(plane));
          if constexpr (with_difference) {
            const auto its = hn::LoadU(d, other + bytes * other_pitch);
            const auto difference = data_cost::HWY_NAMESPACE::absolute_difference(base[bytes], its);
            cost = hn::Add(cost, hn::Min(difference, truncation));
          }
          hn::Store(cost, d, costs_of(k) + i * cost_pitch + x);
        }
      }
    }
  }

  // Sums over a window's width; `together` costs fit in a byte.
  template <int window, int together>
  void sum_rows(const std::uint8_t* HWY_RESTRICT costs, std::uint16_t* HWY_RESTRICT sums) const {
    const ByteSums::Tag d;
    const int lanes = static_cast<int>(hn::Lanes(d)), columns = columns_, rows = rows_ + 2 * radius_;
    for (int row = 0; row < rows; ++row, costs += cost_pitch, sums += tile_lanes)
      for (int x = 0; x < columns; x += lanes) {
        ByteSums sum;
        for (int i = 0; i < window; i += together) {
          auto part = hn::LoadU(d, costs + x + i);
          for (int k = i + 1; k < std::min(i + together, window); ++k)
            part = hn::Add(part, hn::LoadU(d, costs + x + k));
          sum.add(part);
        }
        sum.store(sums + x);
      }
  }

  template <int window>
  void sum_rows(const std::uint8_t* costs) const {
    if (s_.highest_pixel_cost <= 255 / 5)
      sum_rows<window, 5>(costs, memory_.row_sums);
    else if (s_.highest_pixel_cost <= 255 / 3)
      sum_rows<window, 3>(costs, memory_.row_sums);
    else
      sum_rows<window, 1>(costs, memory_.row_sums);
  }

  void sum_rows(const std::uint8_t* costs) const {
    switch (s_.window) {
      case 1:
        return sum_rows<1>(costs);
      case 3:
        return sum_rows<3>(costs);
      case 5:
        return sum_rows<5>(costs);
      case 7:
        return sum_rows<7>(costs);
      case 9:
        return sum_rows<9>(costs);
      case 11:
        return sum_rows<11>(costs);
      case 13:
        return sum_rows<13>(costs);
      default:
        return sum_rows<15>(costs);
    }
  }

  template <bool neighbours, bool rival, bool bounded, bool limited>
  void sum_and_decide(const Candidate& candidate) const {
    const Words d;
    const int lanes = static_cast<int>(hn::Lanes(d)), columns = columns_, rows = rows_, height = 2 * radius_;
    for (int x = 0; x < columns; x += lanes) {
      const std::uint16_t* HWY_RESTRICT leaving = memory_.row_sums + x;
      const std::uint16_t* HWY_RESTRICT entering = leaving;
      std::uint16_t* HWY_RESTRICT states = memory_.states + x;
      auto window = hn::Zero(d);
      for (int i = 0; i < height; ++i, entering += tile_lanes)
        window = hn::Add(window, hn::Load(d, entering));
      for (int row = 0; row < rows; ++row) {
        window = hn::Add(window, hn::Load(d, entering));
        auto cost = window;
        if constexpr (bounded) cost = hn::IfThenElse(exist(candidate, row, x), cost, hn::Set(d, no_cost));
        decide<neighbours, rival, limited>(candidate, states, cost);
        window = hn::Sub(window, hn::Load(d, leaving));
        entering += tile_lanes, leaving += tile_lanes, states += tile_lanes;
      }
    }
  }

  // Whether the other pixels exist and are not masked.
  HWY_INLINE hn::Mask<Words> exist(const Candidate& candidate, int row, int x) const {
    const Words d;
    const auto column = hn::Iota(d, static_cast<std::uint16_t>(x));
    const auto exists =
        hn::Lt(hn::Sub(column, hn::Set(d, static_cast<std::uint16_t>(candidate.first_column))),
               hn::Set(d, static_cast<std::uint16_t>(candidate.last_column - candidate.first_column)));
    if (s_.other_mask == nullptr) return exists;
    HWY_ALIGN std::uint16_t valid[HWY_MAX_BYTES / 2] = {};
    const int end = std::min(x + static_cast<int>(hn::Lanes(d)), candidate.last_column);
    const std::uint8_t* mask =
        s_.other_mask + row_in_image(y_ + row + s_.rows_lower) * s_.mask_stride + x_ - candidate.shift;
    for (int i = std::max(x, candidate.first_column); i < end; ++i) valid[i - x] = mask[i];
    return hn::And(exists, hn::Ne(hn::Load(d, valid), hn::Zero(d)));
  }

  // Compares a label's costs with the best costs so far, for the pixels from `states` on.
  template <bool neighbours, bool rival, bool limited>
  static HWY_INLINE void decide(const Candidate& candidate, std::uint16_t* HWY_RESTRICT states,
                                WordVector cost) {
    const Words d;
    const auto none = hn::Set(d, no_cost);
    const auto current = hn::Set(d, static_cast<std::uint16_t>(candidate.label));
    const auto at = [&](State plane) { return states + static_cast<std::ptrdiff_t>(plane) * state_pitch; };
    const auto best = hn::Load(d, at(best_cost));
    const auto label_of_best = hn::Load(d, at(best_label));
    auto searched = cost;
    if constexpr (limited) {
      const auto place = hn::Sub(current, hn::Load(d, at(first_label)));
      searched = hn::IfThenElse(hn::Gt(place, hn::Load(d, at(label_span))), none, cost);
    }
    const auto better = hn::Lt(searched, best);
    hn::Store(hn::Min(searched, best), d, at(best_cost));
    hn::Store(hn::IfThenElse(better, current, label_of_best), d, at(best_label));
    const auto label_before = hn::Set(d, static_cast<std::uint16_t>(candidate.label - 1));
    const auto follows_best = hn::Eq(label_of_best, label_before);
    if constexpr (rival) {
      auto distant = hn::Load(d, at(distant_cost));
      auto previous = hn::Load(d, at(previous_searched));
      if (!candidate.continues) {
        distant = hn::Min(distant, previous);
        previous = none;
      }
      const auto other = hn::Min(hn::Load(d, at(rival_cost)), hn::IfThenElse(follows_best, none, searched));
      hn::Store(hn::IfThenElse(better, distant, other), d, at(rival_cost));
      hn::Store(hn::Min(distant, previous), d, at(distant_cost));
      hn::Store(searched, d, at(previous_searched));
    }
    if constexpr (neighbours) {
      const auto before = candidate.continues ? hn::Load(d, at(previous_cost)) : none;
      const auto after = hn::IfThenElse(follows_best, cost, hn::Load(d, at(cost_after)));
      hn::Store(hn::IfThenElse(better, before, hn::Load(d, at(cost_before))), d, at(cost_before));
      hn::Store(hn::IfThenElse(better, none, after), d, at(cost_after));
      hn::Store(cost, d, at(previous_cost));
    }
  }

  void finish() const {
    if (s_.base_mask != nullptr) drop_masked();
    for (int row = 0; row < rows_; ++row) {
      const std::uint16_t* labels = state(best_label, row);
      if (s_.found.costs != nullptr)
        keep(row);
      else if (s_.labels != nullptr)
        std::copy_n(labels, columns_, s_.labels + (y_ + row) * s_.label_stride + x_);
      else if (s_.side == right_side)
        write_disparities(labels, s_.right_disparity.row(y_ + row) + x_);
      else
        write_map(row);
    }
  }

  void drop_masked() const {
    for (int row = 0; row < rows_; ++row) {
      const std::uint8_t* mask = s_.base_mask + (y_ + row) * s_.mask_stride + x_;
      std::uint16_t* labels = state(best_label, row);
      for (int x = 0; x < columns_; ++x) labels[x] = mask[x] != 0 ? labels[x] : no_label;
    }
  }

  void write_disparities(const std::uint16_t* labels, float* out) const {
    for (int x = 0; x < columns_; ++x)
      out[x] = labels[x] == no_label ? no_value : static_cast<float>(s_.level.lowest + labels[x]);
  }

  void keep(int row) const {
    const std::ptrdiff_t first = (y_ + row) * s_.found.stride + x_;
    const std::uint16_t *labels = state(best_label, row), *best = state(best_cost, row);
    const bool row_exists = row_in_image(y_ + row + s_.rows_lower) == y_ + row + s_.rows_lower;
    std::uint16_t* costs = s_.found.costs + first;
    for (int x = 0; x < columns_; ++x) costs[x] = row_exists && labels[x] != no_label ? best[x] : no_cost;
    if (s_.found.labels != nullptr) std::copy_n(labels, columns_, s_.found.labels + first);
    if (s_.found.rivals != nullptr) std::copy_n(state(rival_cost, row), columns_, s_.found.rivals + first);
    if (s_.found.disparities == nullptr) return;
    write_disparities(labels, s_.found.disparities + first);
    if (s_.sub_pixel != SubPixel::none) add_fractions(row, s_.found.disparities + first);
  }

  void write_map(int row) const {
    const int y = y_ + row;
    const std::uint16_t* labels = state(best_label, row);
    float* disparity = s_.map.disparity.row(y) + x_;
    std::uint8_t* status = s_.map.status.row(y) + x_;
    write_disparities(labels, disparity);
    for (int x = 0; x < columns_; ++x)
      status[x] = code(labels[x] == no_label ? Status::out_of_range : Status::matched);
    if (s_.sub_pixel != SubPixel::none) add_fractions(row, disparity);
    if (s_.uniqueness > 0) reject_ambiguous(row, disparity, status);
    if (!s_.map.confidence.empty()) write_confidence(row, s_.map.confidence.row(y) + x_);
    if (s_.base_mask == nullptr) return;
    const std::uint8_t* mask = s_.base_mask + y * s_.mask_stride + x_;
    for (int x = 0; x < columns_; ++x) status[x] = mask[x] != 0 ? status[x] : code(Status::input_masked);
  }

  // Adds decision::sub_pixel_offset(), computed in vectors, to existing disparities.
  void add_fractions(int row, float* disparity) const {
    const hn::ScalableTag<float> d;
    const hn::Rebind<std::int32_t, decltype(d)> d_int;
    const hn::Rebind<std::uint16_t, decltype(d)> d_cost;
    const int lanes = static_cast<int>(hn::Lanes(d));
    HWY_ALIGN float fractions[tile_lanes];
    for (int x = 0; x < columns_; x += lanes) {
      const auto load = [&](State plane) HWY_ATTR {
        return hn::PromoteTo(d_int, hn::Load(d_cost, state(plane, row) + x));
      };
      const auto before = load(cost_before), best = load(best_cost), after = load(cost_after);
      const auto none = hn::Set(d_int, no_cost);
      const auto higher = hn::Max(before, after), lower = hn::Min(before, after);
      const auto beyond = s_.sub_pixel == SubPixel::v_shape
                              ? hn::Sub(higher, best)
                              : hn::Sub(hn::Add(before, after), hn::Add(best, best));
      const auto denominator = hn::Add(beyond, beyond);
      const auto useful =
          hn::AndNot(hn::Lt(lower, best), hn::And(hn::Lt(higher, none), hn::Gt(higher, best)));
      const auto offset = hn::Div(hn::ConvertTo(d, hn::Sub(before, after)),
                                  hn::ConvertTo(d, hn::Max(denominator, hn::Set(d_int, 1))));
      hn::Store(hn::IfThenElseZero(hn::RebindMask(d, useful), offset), d, fractions + x);
    }
    for (int x = 0; x < columns_; ++x) disparity[x] += fractions[x];
  }

  void reject_ambiguous(int row, float* disparity, std::uint8_t* status) const {
    const std::uint16_t *best = state(best_cost, row), *rival = state(rival_cost, row);
    for (int x = 0; x < columns_; ++x) {
      if (status[x] != code(Status::matched) || rival[x] == no_cost ||
          rival[x] > decision::ambiguity_bound(best[x], s_.uniqueness))
        continue;
      status[x] = code(Status::ambiguous);
      disparity[x] = no_value;
    }
  }

  void write_confidence(int row, float* confidence) const {
    const std::uint16_t *best = state(best_cost, row), *labels = state(best_label, row),
                        *rival = state(rival_cost, row);
    for (int x = 0; x < columns_; ++x) {
      const std::optional<int> other = rival[x] == no_cost ? std::nullopt : std::optional<int>(rival[x]);
      confidence[x] = labels[x] == no_label ? 0.0f : decision::confidence<int>(best[x], other);
    }
  }

  const Search& s_;
  const TileMemory& memory_;
  int radius_;
  int x_, y_;  // the tile's first pixel
  int columns_, rows_;
};

void search_tile_here(const Search& search, int tile_column, int tile_row, const TileMemory& memory) {
  Tile(search, tile_column, tile_row, memory).run();
}

}  // namespace parallax::census::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax::census {

PARALLAX_DISPATCH(void, search_tile,
                  (const Search& search, int tile_column, int tile_row, const TileMemory& memory),
                  (search, tile_column, tile_row, memory))

}  // namespace parallax::census
#endif
