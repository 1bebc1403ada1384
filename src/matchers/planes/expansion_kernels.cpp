// SPDX-License-Identifier: Apache-2.0
#include "matchers/planes/expansion_kernels.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "matchers/planes/expansion_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "devices/cpu/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace parallax::planes::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Words = hn::CappedTag<std::int16_t, move_lanes>;
using WordVector = hn::Vec<Words>;
constexpr int lanes = hn::MaxLanes(Words());

using Wide = hn::CappedTag<std::int32_t, move_lanes>;
using WideVector = hn::Vec<Wide>;
using Narrow = hn::Rebind<std::int16_t, Wide>;
using UnsignedNarrow = hn::Rebind<std::uint16_t, Wide>;
constexpr int wide_lanes = hn::MaxLanes(Wide());

HWY_INLINE WideVector set(int value) {
  return hn::Set(Wide(), value);
}
HWY_INLINE WideVector widen(const std::int16_t* from) {
  return hn::PromoteTo(Wide(), hn::LoadU(Narrow(), from));
}
HWY_INLINE WideVector widen(const std::uint16_t* from) {
  return hn::PromoteTo(Wide(), hn::LoadU(UnsignedNarrow(), from));
}

// ---- Data costs

// Pixels at once.
constexpr int cost_pixels = 64;

// The right pixels of a row's disparities, and what is read there. Vectors write beyond the last pixel.
struct Compared {
  std::int32_t columns[cost_pixels + wide_lanes];  // in the right image's row of four quarters
  std::int32_t nearest[cost_pixels + wide_lanes];  // the nearest pixel
  std::uint16_t bits[cost_pixels + wide_lanes], levels[cost_pixels + wide_lanes];
};

// Where `nearest` leads out of the image, columns are those of some pixel in it.
HWY_INLINE void find_columns(int x, int width, const std::int32_t* disparities, int count,
                             Compared& compared) {
  const Wide wide;
  const auto rounding = set(per_pixel / 8), last = set(4 * width - 1), three = set(3), w = set(width);
  for (int i = 0; i < count; i += wide_lanes) {
    const auto quarters_left = hn::ShiftRight<8>(hn::Add(hn::LoadU(wide, disparities + i), rounding));
    const auto quarter = hn::Sub(hn::ShiftLeft<2>(hn::Iota(wide, x + i)), quarters_left);
    const auto inside = hn::Min(hn::Max(quarter, hn::Zero(wide)), last);
    const auto column = hn::Add(hn::Mul(hn::And(inside, three), w), hn::ShiftRight<2>(inside));
    hn::StoreU(column, wide, compared.columns + i);
    hn::StoreU(hn::ShiftRight<2>(hn::Add(quarter, set(2))), wide, compared.nearest + i);
  }
}

HWY_INLINE void read_right(const Features& f, int x, int y, int count, Compared& compared) {
  const std::uint64_t *signatures = f.signature.row(y) + x, *alike = f.alike.row(y) + x,
                      *right_signatures = f.right_signature.row(y);
  const std::uint16_t* right_levels = f.right_levels.row(y);
  for (int i = 0; i < count; ++i) {
    const std::int32_t column = compared.columns[i];
    const std::uint64_t differences = (signatures[i] ^ right_signatures[column]) & alike[i];
    compared.bits[i] = static_cast<std::uint16_t>(std::popcount(differences));
    compared.levels[i] = right_levels[column];
  }
}

// |a − b|, cut at `most`, times `cost`.
HWY_INLINE WideVector difference_cost(WideVector a, WideVector b, int most, int cost) {
  return hn::Mul(hn::Min(hn::Abs(hn::Sub(a, b)), set(most)), set(cost));
}

// The costs of up to cost_pixels pixels of row y from x on.
HWY_INLINE void write_costs(const Model& model, const Scene& scene, int x, int y, int count,
                            const std::int32_t* disparities, std::int16_t* costs) {
  const Wide wide;
  const Features& f = scene.features;
  Compared compared;
  find_columns(x, scene.size.width, disparities, count, compared);
  read_right(f, x, y, count, compared);
  const std::uint16_t *bit_costs = f.bit_cost.row(y) + x, *levels = f.levels.row(y) + x;
  const auto byte = set(255), width = set(scene.size.width);
  for (int i = 0; i < count; i += wide_lanes) {
    const auto census = hn::ShiftRight<bit_shift>(
        hn::Add(hn::Mul(widen(compared.bits + i), widen(bit_costs + i)), set(1 << (bit_shift - 1))));
    const auto own = widen(levels + i), other = widen(compared.levels + i);
    auto cost = hn::Min(census, set(model.max_census));
    cost = hn::Add(cost,
                   difference_cost(hn::And(own, byte), hn::And(other, byte), max_levels, model.level_cost));
    cost = hn::Add(cost, difference_cost(hn::ShiftRight<8>(own), hn::ShiftRight<8>(other), max_gradient,
                                         model.gradient_cost));
    const auto nearest = hn::LoadU(wide, compared.nearest + i), d = hn::LoadU(wide, disparities + i);
    const auto outside = hn::Or(hn::Lt(nearest, hn::Zero(wide)), hn::Not(hn::Lt(nearest, width)));
    cost = hn::IfThenElse(outside, set(model.outside), cost);
    const auto beyond = hn::Or(hn::Lt(d, set(model.lowest)), hn::Gt(d, set(model.highest)));
    cost = hn::IfThenElse(beyond, set(out_of_range), cost);
    hn::StoreU(hn::DemoteTo(Narrow(), cost), Narrow(), costs + i);
  }
  if (!scene.right_mask.empty()) {
    const std::uint8_t* mask = scene.right_mask.row(y);
    for (int i = 0; i < count; ++i) {
      const int nearest = compared.nearest[i];
      if (nearest >= 0 && nearest < scene.size.width && mask[nearest] == 0 && costs[i] != out_of_range)
        costs[i] = static_cast<std::int16_t>(model.outside);
    }
  }
  if (scene.left_mask.empty()) return;
  const std::uint8_t* mask = scene.left_mask.row(y) + x;
  for (int i = 0; i < count; ++i) costs[i] = mask[i] == 0 ? std::int16_t{0} : costs[i];
}

void write_data_costs_here(const Model& model, const Scene& scene, const PlaneMap& planes, int y) {
  for (int x = 0; x < scene.size.width; x += cost_pixels)
    write_costs(model, scene, x, y, std::min(cost_pixels, scene.size.width - x), planes.disparity.row(y) + x,
                planes.data.row(y) + x);
}

// ---- Moves

// Squares of words: [row][column], and [column][row] where so named.
class Squares {
 public:
  Squares(std::int16_t* memory, int pitch) : memory_(memory + move_lanes), pitch_(pitch) {}

  int pitch() const { return pitch_; }
  std::int16_t* row(int square, int y) const {
    return memory_ + to_size(square) * square_elements(pitch_) + to_size(y) * to_size(pitch_);
  }
  void clear(int square) const { std::fill_n(row(square, 0), pitch_ * pitch_, std::int16_t{0}); }

 private:
  std::int16_t* memory_;
  int pitch_;
};

// The costs of an edge: both pixels keep their planes, only the second takes the new one, only the first.
enum Square {
  data,
  unary,
  takes,
  before,
  before_second,
  before_first,  // edges to the column before
  before_by_column,
  before_second_by_column,
  before_first_by_column,  // the same, by column
  above,
  above_second,
  above_first,  // edges to the row above
  from_above,
  from_below,
  from_left_by_column,
  from_right_by_column,  // messages
  vertical,
  vertical_by_column,
  sideways,
  sideways_by_column,  // sums
};
static_assert(sideways_by_column + 1 == move_squares);

// The planes of a row on both sides of edges, as far as the edges' direction sees them.
struct Sides {
  const std::int32_t *first, *second;
  const std::int16_t *first_slope, *second_slope;
  const std::uint16_t* weights;
  std::int32_t offered;  // at the first of the edges' first pixels
  std::int32_t step;     // change of the offered plane from one edge of the row to the next
  std::int32_t slope;    // change of the offered plane along an edge
};

// |first − second's plane there| + |first's plane − second| and so on: jump_cost() of planes p and q, given at
// their own pixels and at the other's.
HWY_INLINE WideVector jump_costs(WideVector p, WideVector q_there, WideVector p_there, WideVector q,
                                 WideVector truncation, WideVector weight) {
  const auto distances = hn::Add(hn::Abs(hn::Sub(p, q_there)), hn::Abs(hn::Sub(p_there, q)));
  const auto jump = hn::Min(hn::ShiftRight<1>(distances), truncation);
  return hn::ShiftRight<16>(hn::Mul(jump, weight));
}

HWY_INLINE void write_edges(const Sides& sides, int truncation_units, int count, std::int16_t* keep,
                            std::int16_t* second_takes, std::int16_t* first_takes) {
  const Wide wide;
  const Narrow narrow;
  const auto truncation = set(truncation_units), slope = set(sides.slope);
  auto offered = hn::Add(set(sides.offered), hn::Mul(hn::Iota(wide, 0), set(sides.step)));
  const auto advance = set(sides.step * static_cast<int>(hn::Lanes(wide)));
  for (int i = 0; i < count; i += static_cast<int>(hn::Lanes(wide))) {
    const auto p = hn::LoadU(wide, sides.first + i), q = hn::LoadU(wide, sides.second + i);
    const auto p_there = hn::Add(p, widen(sides.first_slope + i)),
               q_there = hn::Sub(q, widen(sides.second_slope + i));
    const auto weight = widen(sides.weights + i);
    const auto next = hn::Add(offered, slope);
    const auto store = [&](WideVector costs, std::int16_t* to)
                           HWY_ATTR { hn::StoreU(hn::DemoteTo(narrow, costs), narrow, to + i); };
    store(jump_costs(p, q_there, p_there, q, truncation, weight), keep);
    store(jump_costs(p, offered, p_there, next, truncation, weight), second_takes);
    store(jump_costs(offered, q_there, next, q, truncation, weight), first_takes);
    offered = hn::Add(offered, advance);
  }
}

// [row][column] to [column][row], for whole squares of eight.
HWY_INLINE void transpose(const std::int16_t* from, int pitch, int rows, int columns, std::int16_t* to) {
#if HWY_TARGET == HWY_SCALAR
  for (int y = 0; y < rows; ++y)
    for (int x = 0; x < columns; ++x) to[x * pitch + y] = from[y * pitch + x];
#else
  const hn::FixedTag<std::int16_t, 8> eight;
  for (int y = 0; y < rows; y += 8)
    for (int x = 0; x < columns; x += 8) {
      hn::Vec<hn::FixedTag<std::int16_t, 8> > v[8], w[8];
      for (int i = 0; i < 8; ++i) v[i] = hn::LoadU(eight, from + (y + i) * pitch + x);
      // Each round interleaves the rows i and i + 4.
      for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 4; ++i) {
          w[2 * i] = hn::InterleaveLower(eight, v[i], v[i + 4]);
          w[2 * i + 1] = hn::InterleaveUpper(eight, v[i], v[i + 4]);
        }
        for (int i = 0; i < 8; ++i) v[i] = w[i];
      }
      for (int i = 0; i < 8; ++i) hn::StoreU(v[i], eight, to + (x + i) * pitch + y);
    }
#endif
}

// A row's messages to the next row of a sweep: see the reference. `alone`: cost of the edge if only the
// receiver takes the new plane; `other`: if only the sender does.
HWY_INLINE void send_row(const std::int16_t* taking, const std::int16_t* received, const std::int16_t* keep,
                         const std::int16_t* alone, const std::int16_t* other, int count,
                         std::int16_t* message) {
  const Words words;
  for (int x = 0; x < count; x += lanes) {
    const auto cost = hn::Add(hn::LoadU(words, taking + x), hn::LoadU(words, received + x));
    const auto sent =
        hn::Sub(hn::Min(hn::LoadU(words, alone + x), cost),
                hn::Min(hn::LoadU(words, keep + x), hn::Add(hn::LoadU(words, other + x), cost)));
    hn::StoreU(sent, words, message + x);
  }
}

HWY_INLINE void add_rows(const std::int16_t* a, const std::int16_t* b, int count, std::int16_t* sum) {
  const Words words;
  for (int x = 0; x < count; x += lanes)
    hn::StoreU(hn::Add(hn::LoadU(words, a + x), hn::LoadU(words, b + x)), words, sum + x);
}

class Mover {
 public:
  Mover(const Model& model, const Scene& scene, const PlaneMap& planes, const Move& move)
      : model_(model),
        scene_(scene),
        planes_(planes),
        box_(move.region),
        offered_(move.offered),
        width_(box_.width()),
        height_(box_.height()),
        squares_(move.memory, move_pitch(std::max(width_, height_))),
        pitch_(squares_.pitch()) {}

  void run() const {
    write_data();
    write_edges_before();
    write_edges_above();
    start_messages();
    for (int i = 0; i < move_iterations; ++i) {
      sweep_rows();
      sweep_columns();
    }
    if (decide() < 0) take();
  }

 private:
  std::int16_t* row(Square square, int y) const { return squares_.row(square, y); }

  void write_data() const {
    const Words words;
    for (int y = 0; y < height_; ++y) {
      std::int32_t disparities[cost_pixels];
      for (int i = 0; i < cost_pixels; ++i) disparities[i] = offered_.at(i, y);
      std::int16_t *costs = row(data, y), *change = row(unary, y);
      write_costs(model_, scene_, box_.left, box_.top + y, width_, disparities, costs);
      const std::int16_t* old = planes_.data.row(box_.top + y) + box_.left;
      for (int x = 0; x < pitch_; x += lanes) {
        const auto inside = hn::Lt(hn::Iota(words, static_cast<std::int16_t>(x)),
                                   hn::Set(words, static_cast<std::int16_t>(width_)));
        const auto less = hn::Sub(hn::LoadU(words, costs + x), hn::LoadU(words, old + x));
        hn::StoreU(hn::IfThenElseZero(inside, less), words, change + x);
      }
    }
  }

  // The pixels outside the region keep their planes: their edges become part of the unary costs.
  static void fold(std::int16_t& unary, std::int16_t& keep, std::int16_t& second, std::int16_t& first,
                   bool second_is_outside) {
    unary = static_cast<std::int16_t>(unary + (second_is_outside ? first : second) - keep);
    keep = second = first = 0;
  }

  void write_edges_before() const {
    for (int y = 0; y < height_; ++y) {
      const int v = box_.top + y, x = box_.left;
      std::int16_t *keep = row(before, y), *second = row(before_second, y), *first = row(before_first, y),
                   *change = row(unary, y);
      const std::int32_t* disparities = planes_.disparity.row(v) + x;
      const std::int16_t* slopes = planes_.slope_x.row(v) + x;
      const std::uint16_t* weights = scene_.features.edge_before.row(v) + x;
      write_edges({disparities - 1, disparities, slopes - 1, slopes, weights, offered_.at(-1, y),
                   offered_.slope_x, offered_.slope_x},
                  model_.truncation, width_ + 1, keep, second, first);
      fold(change[0], keep[0], second[0], first[0], false);
      if (box_.right < scene_.size.width)
        fold(change[width_ - 1], keep[width_], second[width_], first[width_], true);
      for (int i = width_ + (box_.right < scene_.size.width ? 1 : 0); i < pitch_; ++i)
        keep[i] = second[i] = first[i] = 0;
    }
    for (const auto& [from, to] : {std::pair{before, before_by_column},
                                   {before_second, before_second_by_column},
                                   {before_first, before_first_by_column}})
      transpose(row(from, 0), pitch_, height_, width_, row(to, 0));
  }

  void write_edges_above() const {
    for (int y = 0; y <= height_; ++y) {
      const int v = box_.top + y, x = box_.left;
      std::int16_t *keep = row(above, y), *second = row(above_second, y), *first = row(above_first, y);
      if (v == 0 || v == scene_.size.height) {
        for (std::int16_t* costs : {keep, second, first}) std::fill_n(costs, pitch_, std::int16_t{0});
        continue;
      }
      write_edges(
          {planes_.disparity.row(v - 1) + x, planes_.disparity.row(v) + x, planes_.slope_y.row(v - 1) + x,
           planes_.slope_y.row(v) + x, scene_.features.edge_above.row(v) + x, offered_.at(0, y - 1),
           offered_.slope_x, offered_.slope_y},
          model_.truncation, width_, keep, second, first);
      for (std::int16_t* costs : {keep, second, first})
        std::fill(costs + width_, costs + pitch_, std::int16_t{0});
      if (y > 0 && y < height_) continue;
      std::int16_t* change = row(unary, y == 0 ? 0 : height_ - 1);
      for (int i = 0; i < width_; ++i) fold(change[i], keep[i], second[i], first[i], y > 0);
    }
  }

  void start_messages() const {
    for (const Square square : {from_above, from_below, from_left_by_column, from_right_by_column, sideways})
      squares_.clear(square);
  }

  // Down and up.
  void sweep_rows() const {
    for (int y = 0; y < height_; ++y) {
      add_rows(row(unary, y), row(sideways, y), width_, row(vertical, y));
      if (y + 1 < height_)
        send_row(row(vertical, y), row(from_above, y), row(above, y + 1), row(above_second, y + 1),
                 row(above_first, y + 1), width_, row(from_above, y + 1));
    }
    for (int y = height_; --y > 0;)
      send_row(row(vertical, y), row(from_below, y), row(above, y), row(above_first, y), row(above_second, y),
               width_, row(from_below, y - 1));
  }

  // To the right and to the left.
  void sweep_columns() const {
    for (int y = 0; y < height_; ++y) {
      add_rows(row(from_above, y), row(from_below, y), width_, row(vertical, y));
      add_rows(row(vertical, y), row(unary, y), width_, row(vertical, y));
    }
    transpose(row(vertical, 0), pitch_, height_, width_, row(vertical_by_column, 0));
    for (int x = 0; x + 1 < width_; ++x)
      send_row(row(vertical_by_column, x), row(from_left_by_column, x), row(before_by_column, x + 1),
               row(before_second_by_column, x + 1), row(before_first_by_column, x + 1), height_,
               row(from_left_by_column, x + 1));
    for (int x = width_; --x > 0;)
      send_row(row(vertical_by_column, x), row(from_right_by_column, x), row(before_by_column, x),
               row(before_first_by_column, x), row(before_second_by_column, x), height_,
               row(from_right_by_column, x - 1));
    for (int x = 0; x < width_; ++x)
      add_rows(row(from_left_by_column, x), row(from_right_by_column, x), height_,
               row(sideways_by_column, x));
    transpose(row(sideways_by_column, 0), pitch_, width_, height_, row(sideways, 0));
  }

  // Decides which pixels take the new plane, and returns by how much that changes the energy.
  int decide() const {
    const Words words;
    const auto zero = hn::Zero(words);
    auto sum = hn::Zero(Wide());
    // Through memory: Clang 14 makes VEX instructions of products that are added, which processors with
    // AVX-512 may lack.
    const auto add = [&](WordVector change) HWY_ATTR {
      std::int16_t changes[lanes];
      hn::StoreU(change, words, changes);
      for (int i = 0; i < lanes; i += wide_lanes) sum = hn::Add(sum, widen(changes + i));
    };
    for (int y = 0; y < height_; ++y)
      for (int x = 0; x < width_; x += lanes) {
        // The last sweep's sums of vertical messages and unary costs are still there.
        const auto belief =
            hn::Add(hn::LoadU(words, row(vertical, y) + x), hn::LoadU(words, row(sideways, y) + x));
        const auto inside = hn::Lt(hn::Iota(words, static_cast<std::int16_t>(x)),
                                   hn::Set(words, static_cast<std::int16_t>(width_)));
        const auto taken = hn::And(hn::Lt(belief, zero), inside);
        hn::StoreU(hn::VecFromMask(words, taken), words, row(takes, y) + x);
      }
    const auto change_of = [&](WordVector keep, WordVector second_cost, WordVector first_cost,
                               WordVector first, WordVector second) HWY_ATTR {
      const auto one = hn::Or(hn::And(first, hn::AndNot(second, first_cost)),
                              hn::And(second, hn::AndNot(first, second_cost)));
      return hn::Sub(one, hn::And(hn::Or(first, second), keep));
    };
    for (int y = 0; y < height_; ++y)
      for (int x = 0; x < width_; x += lanes) {
        const auto here = hn::LoadU(words, row(takes, y) + x);
        add(hn::And(here, hn::LoadU(words, row(unary, y) + x)));
        // Edges of the first column, and of the first row, cost nothing: they were folded.
        add(change_of(hn::LoadU(words, row(before, y) + x), hn::LoadU(words, row(before_second, y) + x),
                      hn::LoadU(words, row(before_first, y) + x), hn::LoadU(words, row(takes, y) + x - 1),
                      here));
        if (y > 0)
          add(change_of(hn::LoadU(words, row(above, y) + x), hn::LoadU(words, row(above_second, y) + x),
                        hn::LoadU(words, row(above_first, y) + x), hn::LoadU(words, row(takes, y - 1) + x),
                        here));
      }
    return hn::GetLane(hn::SumOfLanes(Wide(), sum));
  }

  void take() const {
    for (int y = 0; y < height_; ++y) {
      const int v = box_.top + y;
      const std::int16_t *taken = row(takes, y), *costs = row(data, y);
      for (int i = 0; i < width_; ++i)
        if (taken[i] != 0)
          planes_.set(box_.left + i, v, {offered_.at(i, y), offered_.slope_x, offered_.slope_y}, costs[i]);
    }
  }

  const Model& model_;
  const Scene& scene_;
  const PlaneMap& planes_;
  Box box_;
  Plane offered_;
  int width_, height_;
  Squares squares_;
  int pitch_;
};

void make_move_here(const Model& model, const Scene& scene, const PlaneMap& planes, const Move& move) {
  Mover(model, scene, planes, move).run();
}

// ---- Features

void gather_signatures_here(const std::uint8_t* const* planes, int width, std::uint64_t* signatures) {
  for (int x = 0; x < width; ++x) {
    std::uint64_t signature = 0;
    for (int byte = 0; byte < 8; ++byte) signature |= std::uint64_t{planes[byte][x]} << (8 * byte);
    signatures[x] = signature;
  }
}

void write_alike_here(const AlikeRow& row) {
  const hn::ScalableTag<std::uint8_t> bytes;
  constexpr int centre = census_neighbours / 2;
  const auto limit = hn::Set(bytes, std::uint8_t{look_alike});
  for (int x = 0; x < row.width; x += static_cast<int>(hn::Lanes(bytes))) {
    auto bits = hn::Zero(bytes);
    for (int bit = 0; bit < census_neighbours; ++bit) {
      const int neighbour = bit < centre ? bit : bit + 1;
      auto difference = hn::Zero(bytes);
      for (int channel = 0; channel < row.channels; ++channel) {
        const auto other = hn::LoadU(bytes, row.rows[neighbour / 9][channel] + x + neighbour % 9),
                   own = hn::LoadU(bytes, row.rows[3][channel] + x + 4);
        difference = hn::Max(difference, hn::Or(hn::SaturatedSub(own, other), hn::SaturatedSub(other, own)));
      }
      const auto alike = hn::Eq(hn::Max(difference, limit), limit);
      bits =
          hn::Or(bits, hn::IfThenElseZero(alike, hn::Set(bytes, static_cast<std::uint8_t>(1u << (bit % 8)))));
      if (bit % 8 != 7 && bit + 1 != census_neighbours) continue;
      hn::StoreU(bits, bytes, row.planes[bit / 8] + x);
      bits = hn::Zero(bytes);
    }
  }
}

}  // namespace parallax::planes::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax::planes {

PARALLAX_DISPATCH(void, write_data_costs,
                  (const Model& model, const Scene& scene, const PlaneMap& planes, int y),
                  (model, scene, planes, y))
PARALLAX_DISPATCH(void, make_move,
                  (const Model& model, const Scene& scene, const PlaneMap& planes, const Move& move),
                  (model, scene, planes, move))
PARALLAX_DISPATCH(void, gather_signatures,
                  (const std::uint8_t* const* planes, int width, std::uint64_t* signatures),
                  (planes, width, signatures))
PARALLAX_DISPATCH(void, write_alike, (const AlikeRow& row), (row))

}  // namespace parallax::planes
#endif
