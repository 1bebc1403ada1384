// SPDX-License-Identifier: Apache-2.0
#include "matchers/motion/windows_kernels.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "matchers/motion/windows_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "devices/cpu/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace parallax::motion::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class Element>
HWY_INLINE Element* pack_of(const WindowRow& row, int x, int pack) {
  return reinterpret_cast<Element*>(row.packs) + (std::ptrdiff_t{x} * window_packs + pack) * window_lanes;
}

// Calls send(to, edge, row of the receiver, its column) for the neighbours of a pixel.
template <class Send>
HWY_INLINE void for_neighbours(const WindowSweep& sweep, int x, const Send& send) {
  if (sweep.has_above) send(side::above, sweep.above.below[x], sweep.above, x);
  if (sweep.has_below) send(side::below, sweep.here.below[x], sweep.below, x);
  if (x > 0) send(side::left, sweep.here.beside[x - 1], sweep.here, x - 1);
  if (x + 1 < sweep.width) send(side::right, sweep.here.beside[x], sweep.here, x + 1);
}

// ---- Bytes

using Bytes = hn::CappedTag<std::uint8_t, window_lanes>;
constexpr int vector_bytes = hn::MaxLanes(Bytes()), vectors = window_lanes / vector_bytes;
using ByteVector = hn::Vec<Bytes>;

struct Pack {
  // Compiled for the target, as an implicit constructor is not.
  HWY_INLINE Pack() {}

  ByteVector v[vectors];
};

HWY_INLINE Pack load(const std::uint8_t* from) {
  Pack pack;
  for (int i = 0; i < vectors; ++i) pack.v[i] = hn::LoadU(Bytes(), from + i * vector_bytes);
  return pack;
}
HWY_INLINE void store(const Pack& pack, std::uint8_t* to) {
  for (int i = 0; i < vectors; ++i) hn::StoreU(pack.v[i], Bytes(), to + i * vector_bytes);
}
HWY_INLINE Pack all_of(int value) {
  Pack out;
  for (ByteVector& v : out.v) v = hn::Set(Bytes(), static_cast<std::uint8_t>(value));
  return out;
}
template <class Combine>
HWY_INLINE Pack combine(const Pack& a, const Pack& b, const Combine& combine_vectors) {
  Pack out;
  for (int i = 0; i < vectors; ++i) out.v[i] = combine_vectors(a.v[i], b.v[i]);
  return out;
}
HWY_INLINE Pack Add(const Pack& a, const Pack& b) {
  return combine(a, b, [](ByteVector u, ByteVector v) HWY_ATTR { return hn::Add(u, v); });
}
HWY_INLINE Pack SaturatedSub(const Pack& a, const Pack& b) {
  // GCC does not vectorise Highway's scalar SaturatedSub.
  return combine(a, b, [](ByteVector u, ByteVector v) HWY_ATTR {
    return HWY_TARGET == HWY_SCALAR ? hn::Sub(hn::Max(u, v), v) : hn::SaturatedSub(u, v);
  });
}
HWY_INLINE Pack And(const Pack& a, const Pack& b) {
  return combine(a, b, [](ByteVector u, ByteVector v) HWY_ATTR { return hn::And(u, v); });
}
HWY_INLINE Pack Max(const Pack& a, const Pack& b) {
  return combine(a, b, [](ByteVector u, ByteVector v) HWY_ATTR { return hn::Max(u, v); });
}

#if HWY_TARGET == HWY_SCALAR

// Moves the pack: element (i, j) becomes the one `columns` and `rows` further; 0 beyond the pack.
HWY_INLINE Pack moved(const Pack& pack, int columns, int rows) {
  Pack out = all_of(0);
  const int first = std::max(0, -rows);
  for (int i = std::max(0, -columns); i < std::min(window_side, window_side - columns); ++i)
    std::copy_n(pack.v + (i + columns) * window_side + first + rows, window_side - std::abs(rows),
                out.v + i * window_side + first);
  return out;
}
template <int columns>
HWY_INLINE Pack columns_moved(const Pack& pack) {
  return moved(pack, columns, 0);
}
template <int rows>
HWY_INLINE Pack rows_moved(const Pack& pack) {
  return moved(pack, 0, rows);
}

HWY_INLINE void highest_of(const Pack (&packs)[side::count], std::uint32_t* highest) {
  for (int i = 0; i < side::count; ++i) {
    std::uint8_t most = 0;
    for (const ByteVector& v : packs[i].v) most = std::max(most, v.raw);
    highest[i] = most;
  }
}

// A bit for each element that has this value.
HWY_INLINE std::uint64_t equal_to(const Pack& pack, int value) {
  std::uint64_t bits = 0;
  for (int i = 0; i < window_lanes; ++i) bits |= std::uint64_t{pack.v[i].raw == value} << i;
  return bits;
}

HWY_INLINE int sum_of(const Pack& pack) {
  int sum = 0;
  for (const ByteVector& v : pack.v) sum += v.raw;
  return sum;
}
// Elements 0 … 63 of a table.
HWY_INLINE Pack look_up(const Pack& table, Pack indices) {
  for (ByteVector& v : indices.v) v = table.v[v.raw];
  return indices;
}

// Adds row j: the numbers of bits in which the own signature differs from those of the other frame, from
// `right` on.
HWY_INLINE void count_bits(std::uint64_t own, const std::uint64_t* right, int j, Pack& counts) {
  for (int i = 0; i < window_side; ++i) {
    const std::uint64_t other = own ^ right[i];
    counts.v[i * window_side + j].raw = static_cast<std::uint8_t>(
        (other & no_signature) != 0 ? WindowModel::outside_bits : std::popcount(other));
  }
}
// The same for as many pixels of the own frame, and whether they take part: 255, else 0.
HWY_INLINE void count_bits_beside(const std::uint64_t* own, const std::uint64_t* right, int j, Pack& counts,
                                  Pack& present) {
  for (int i = 0; i < window_side; ++i) {
    present.v[i * window_side + j].raw = (own[i] & no_signature) != 0 ? 0 : 255;
    counts.v[i * window_side + j].raw = static_cast<std::uint8_t>(
        (right[i] & no_signature) != 0 ? WindowModel::outside_bits
                                       : std::popcount((own[i] ^ right[i]) & ~no_signature));
  }
}

#else

using Groups = hn::Repartition<std::uint64_t, Bytes>;  // a lane for each column of labels
using Block = hn::CappedTag<std::uint8_t, 16>;
constexpr int vector_groups = vector_bytes / window_side;

// Moves the pack: each column of labels becomes the one `columns` further; 0 beyond the pack.
template <int columns>
HWY_INLINE Pack columns_moved(const Pack& pack) {
  const Bytes d;
  const ByteVector zero = hn::Zero(d);
  Pack out;
#if HWY_TARGET <= HWY_AVX3
  const ByteVector low = columns < 0 ? zero : pack.v[0], high = columns < 0 ? pack.v[0] : zero;
  out.v[0] = ByteVector{_mm512_alignr_epi64(high.raw, low.raw, (window_side + columns) % window_side)};
#else
  constexpr int first = window_side + columns, part = first % vector_groups,
                whole = first / vector_groups - vectors;
  const auto at = [&](int i) HWY_ATTR { return i >= 0 && i < vectors ? pack.v[i] : zero; };
  for (int i = 0; i < vectors; ++i) {
    const ByteVector low = at(i + whole), high = at(i + whole + 1);
    if constexpr (part == 0) {
      out.v[i] = low;
    } else {
#if HWY_TARGET == HWY_AVX2
      const ByteVector middle = hn::ConcatLowerUpper(d, high, low);
      out.v[i] = part == 1   ? hn::CombineShiftRightBytes<8>(d, middle, low)
                 : part == 2 ? middle
                             : hn::CombineShiftRightBytes<8>(d, high, middle);
#else
      out.v[i] = hn::CombineShiftRightBytes<8>(d, high, low);
#endif
    }
  }
#endif
  return out;
}

// Moves the rows of labels likewise, within each group.
template <class Shift>
HWY_INLINE Pack shifted(const Pack& pack, const Shift& shift) {
  Pack out;
  for (int i = 0; i < vectors; ++i) out.v[i] = hn::BitCast(Bytes(), shift(hn::BitCast(Groups(), pack.v[i])));
  return out;
}
template <int rows>
HWY_INLINE Pack rows_moved(const Pack& pack) {
  return shifted(pack, [](auto groups) HWY_ATTR {
    if constexpr (rows < 0)
      return hn::ShiftLeft<-8 * rows>(groups);
    else
      return hn::ShiftRight<8 * rows>(groups);
  });
}

// Moves the pack: element (i, j) becomes the one `columns` and `rows` further; 0 beyond the pack.
HWY_INLINE Pack moved(const Pack& pack, int columns, int rows) {
  alignas(64) std::uint8_t wide[3 * window_lanes] = {};
  store(pack, wide + window_lanes);
  return shifted(load(wide + window_lanes + columns * window_side), [&](auto groups) HWY_ATTR {
    return rows >= 0 ? hn::ShiftRightSame(groups, 8 * rows) : hn::ShiftLeftSame(groups, -8 * rows);
  });
}

// The highest elements of 16 parts.
HWY_INLINE hn::Vec<Block> to_block(const Pack& pack) {
  ByteVector highest = pack.v[0];
  for (int i = 1; i < vectors; ++i) highest = hn::Max(highest, pack.v[i]);
#if HWY_TARGET <= HWY_AVX2
  const hn::Half<Bytes> half;
  const auto folded = hn::Max(hn::LowerHalf(half, highest), hn::UpperHalf(half, highest));
#if HWY_TARGET <= HWY_AVX3
  const hn::Half<hn::Half<Bytes> > quarter;
  return hn::Max(hn::LowerHalf(quarter, folded), hn::UpperHalf(quarter, folded));
#else
  return folded;
#endif
#else
  return highest;
#endif
}

HWY_INLINE void highest_of(const Pack (&packs)[side::count], std::uint32_t* highest) {
  const Block d;
  const hn::Repartition<std::uint32_t, Block> words;
  const hn::Repartition<std::uint64_t, Block> halves;
  const auto max = [&](auto a, auto b)
                       HWY_ATTR { return hn::BitCast(words, hn::Max(hn::BitCast(d, a), hn::BitCast(d, b))); };
  const auto pair = [&](const Pack& a, const Pack& b) HWY_ATTR {
    const auto u = hn::BitCast(halves, to_block(a)), v = hn::BitCast(halves, to_block(b));
    return max(hn::InterleaveLower(halves, u, v), hn::InterleaveUpper(halves, u, v));
  };
  const auto first = pair(packs[0], packs[1]), second = pair(packs[2], packs[3]);
  auto all = max(hn::ConcatEven(words, second, first), hn::ConcatOdd(words, second, first));
  all = max(all, hn::ShiftRight<16>(all));
  all = max(all, hn::ShiftRight<8>(all));
  hn::StoreU(hn::And(all, hn::Set(words, 255)), words, highest);
}
// A bit for each element that has this value.
HWY_INLINE std::uint64_t equal_to(const Pack& pack, int value) {
  const Bytes d;
  std::uint64_t bits = 0;
  for (int i = 0; i < vectors; ++i) {
    alignas(8) std::uint8_t part[8] = {};
    hn::StoreMaskBits(d, hn::Eq(pack.v[i], hn::Set(d, static_cast<std::uint8_t>(value))), part);
    std::uint64_t word;
    hwy::CopyBytes<8>(part, &word);
    bits |= word << (i * vector_bytes % 64);
  }
  return bits;
}

// Adds row j: the numbers of bits in which the own signature differs from those of the other frame, from
// `right` on.
HWY_INLINE void count_bits(std::uint64_t own, const std::uint64_t* right, int j, Pack& counts) {
  const Groups d;
  const hn::RebindToSigned<Groups> signs;
  for (int i = 0; i < vectors; ++i) {
    const auto other = hn::Xor(hn::Set(d, own), hn::LoadU(d, right + i * vector_groups));
    const auto missing = hn::BitCast(d, hn::BroadcastSignBit(hn::BitCast(signs, other)));
    const auto count = hn::Or(hn::PopulationCount(other),
                              hn::And(missing, hn::Set(d, std::uint64_t{WindowModel::outside_bits})));
    counts.v[i] = hn::Or(counts.v[i], hn::BitCast(Bytes(), hn::ShiftLeftSame(count, 8 * j)));
  }
}
// The same for as many pixels of the own frame, and whether they take part: 255, else 0.
HWY_INLINE void count_bits_beside(const std::uint64_t* own, const std::uint64_t* right, int j, Pack& counts,
                                  Pack& present) {
  const Groups d;
  const hn::RebindToSigned<Groups> signs;
  const auto sign_of = [&](hn::Vec<Groups> v)
                           HWY_ATTR { return hn::BitCast(d, hn::BroadcastSignBit(hn::BitCast(signs, v))); };
  for (int i = 0; i < vectors; ++i) {
    const auto here = hn::LoadU(d, own + i * vector_groups), there = hn::LoadU(d, right + i * vector_groups);
    const auto differing = hn::And(hn::Xor(here, there), hn::Set(d, ~no_signature));
    const auto count = hn::Or(hn::PopulationCount(differing),
                              hn::And(sign_of(there), hn::Set(d, std::uint64_t{WindowModel::outside_bits})));
    counts.v[i] = hn::Or(counts.v[i], hn::BitCast(Bytes(), hn::ShiftLeftSame(count, 8 * j)));
    const auto takes_part = hn::AndNot(sign_of(here), hn::Set(d, std::uint64_t{255}));
    present.v[i] = hn::Or(present.v[i], hn::BitCast(Bytes(), hn::ShiftLeftSame(takes_part, 8 * j)));
  }
}

HWY_INLINE int sum_of(const Pack& pack) {
  const Groups d;
  auto sum = hn::SumsOf8(pack.v[0]);
  for (int i = 1; i < vectors; ++i) sum = hn::Add(sum, hn::SumsOf8(pack.v[i]));
  return static_cast<int>(hn::GetLane(hn::SumOfLanes(d, sum)));
}
// Elements 0 … 63 of a table.
HWY_INLINE Pack look_up(const Pack& table, const Pack& indices) {
#if HWY_TARGET <= HWY_AVX3_DL
  Pack out;
  out.v[0] = ByteVector{_mm512_permutexvar_epi8(indices.v[0].raw, table.v[0].raw)};
  return out;
#else
  // Indices beyond a part of 16 elements get the highest bit, for which a lookup brings 0; others have the
  // lowest four alone.
  const Bytes d;
  alignas(64) std::uint8_t elements[window_lanes];
  store(table, elements);
  Pack out;
  for (int i = 0; i < vectors; ++i) {
    out.v[i] = hn::Zero(d);
    for (int part = 0; part < window_lanes; part += 16) {
      const auto elsewhere = hn::Xor(indices.v[i], hn::Set(d, static_cast<std::uint8_t>(part)));
      const auto index = hn::And(hn::SaturatedAdd(elsewhere, hn::Set(d, 112)), hn::Set(d, 0x8F));
      out.v[i] = hn::Or(out.v[i], hn::TableLookupBytesOr0(hn::LoadDup128(d, elements + part), index));
    }
  }
  return out;
#endif
}

#endif

// What each label lacks at least, given what the others do, and the same beyond the window: forward and
// backward passes over both axes, in steps of 1, 2 and 4.
HWY_INLINE Pack spread(Pack pack, int slope) {
  const auto by = [&](const Pack& up, const Pack& down, const Pack& step)
                      HWY_ATTR { pack = Max(pack, SaturatedSub(Max(up, down), step)); };
  const Pack once = all_of(slope), twice = all_of(2 * slope), four = all_of(4 * slope);
  by(rows_moved<-1>(pack), rows_moved<1>(pack), once);
  by(rows_moved<-2>(pack), rows_moved<2>(pack), twice);
  by(rows_moved<-4>(pack), rows_moved<4>(pack), four);
  by(columns_moved<-1>(pack), columns_moved<1>(pack), once);
  by(columns_moved<-2>(pack), columns_moved<2>(pack), twice);
  by(columns_moved<-4>(pack), columns_moved<4>(pack), four);
  return pack;
}

// The pack at the labels of another window, whose start is `columns` and `rows` further.
HWY_INLINE Pack elsewhere(const Pack& pack, int columns, int rows, Size window, int slope, int truncation) {
  const int near_columns = std::clamp(columns, 1 - window.width, window.width - 1),
            near_rows = std::clamp(rows, 1 - window.height, window.height - 1);
  const int beyond = std::abs(columns - near_columns) + std::abs(rows - near_rows);
  if (beyond > 255 || beyond * slope >= truncation) return all_of(0);
  return SaturatedSub(spread(moved(pack, near_columns, near_rows), slope), all_of(beyond * slope));
}

// Tables of a scale, in bytes.
struct ByteModel {
  explicit ByteModel(const WindowModel& model) : inside(load(model.inside)), window(model.window) {
    for (std::size_t i = 0; i < model.slopes.size(); ++i) {
      slopes[i] = static_cast<std::uint8_t>(model.slopes[i]);
      truncations[i] = static_cast<std::uint8_t>(model.truncations[i]);
    }
  }
  Pack inside;
  Size window;
  std::uint8_t slopes[data_cost::edge_table_size], truncations[data_cost::edge_table_size];
};

template <bool receives>
HWY_INLINE Pack total(const WindowRow& row, int x, const Pack& inside) {
  Pack sum = load(pack_of<std::uint8_t>(row, x, data_pack));
  if constexpr (receives) {
    for (int d = 0; d < side::count; ++d) sum = Add(sum, load(pack_of<std::uint8_t>(row, x, d)));
    sum = And(sum, inside);
  }
  return sum;
}

template <bool receives>
void send_bytes(const WindowSweep& sweep) {
  const ByteModel model(*sweep.model);
  for (int x = sweep.first; x < sweep.width; x += 2) {
    const Pack sum = total<receives>(sweep.here, x, model.inside);
    Pack h[side::count];
    for (int from = 0; from < side::count; ++from)
      h[from] = receives ? SaturatedSub(sum, load(pack_of<std::uint8_t>(sweep.here, x, from))) : sum;
    std::uint32_t highest[side::count];
    highest_of(h, highest);
    const WindowStart start = sweep.here.starts[x];
    for_neighbours(sweep, x, [&](int to, int edge, const WindowRow& receiver, int i) HWY_ATTR {
      const int slope = model.slopes[edge], truncation = model.truncations[edge];
      Pack message = spread(h[to], slope);
      const WindowStart other = receiver.starts[i];
      if (other != start)
        message = elsewhere(message, other.column - start.column, other.row - start.row, model.window, slope,
                            truncation);
      store(SaturatedSub(message, all_of(static_cast<int>(highest[to]) - truncation)),
            pack_of<std::uint8_t>(receiver, i, side::opposite[to]));
    });
  }
}

// The first label of a set, row by row and in ascending order of disparity.
struct Label {
  int column, row;
  int lane() const { return column * window_side + row; }
};
HWY_INLINE Label first_of(std::uint64_t labels) {
  std::uint64_t rows = labels | labels >> 32;
  rows |= rows >> 16;
  rows |= rows >> 8;
  const int row = std::countr_zero(rows & 255);
  const std::uint64_t columns = labels >> row & 0x0101010101010101;
  return {(63 - std::countl_zero(columns)) / window_side, row};
}

// The values of the packs of beliefs that decisions need. `lowest`: the lowest belief of all labels.
template <class BeliefAt>
void write_window_decision(const WindowDecisions& row, int x, Label label, float rival, const BeliefAt& at) {
  const Size window = row.model->window;
  const WindowStart start = row.here.starts[x];
  Decision& decision = row.decisions[x];
  decision.offset = {-(start.column + label.column), start.row + label.row};
  if (!row.around) return;
  const auto belief = [&](int column, int line) {
    const bool exists = column >= 0 && line >= 0 && column < window.width && line < window.height;
    return exists ? at(column * window_side + line) : std::numeric_limits<float>::infinity();
  };
  const float lowest = belief(label.column, label.row);
  decision.columns = {window.width - 1 - label.column, belief(label.column + 1, label.row), lowest,
                      belief(label.column - 1, label.row), rival};
  decision.rows = {label.row, belief(label.column, label.row - 1), lowest,
                   belief(label.column, label.row + 1), rival};
}

// Labels of the window that are more than one away from another label.
HWY_INLINE std::uint64_t rivals_of(Label label, std::uint64_t labels) {
  const std::uint64_t lines = label.row == 0 ? 3 : std::uint64_t{7} << (label.row - 1) & 255;
  std::uint64_t near = lines << label.column * window_side;
  if (label.column > 0) near |= lines << (label.column - 1) * window_side;
  if (label.column + 1 < window_side) near |= lines << (label.column + 1) * window_side;
  return labels & ~near;
}

// Processes four pixels at a time, whose highest elements are found together.
constexpr int at_once = side::count;

HWY_INLINE void decide_bytes(const WindowDecisions& row, const Pack& inside, std::uint64_t labels,
                             int first) {
  Pack sums[at_once];
  std::uint32_t highest[at_once], others[at_once];
  Label label[at_once];
  std::uint64_t rivals[at_once];
  for (int i = 0; i < at_once; ++i) {
    const int x = std::min(first + i, row.width - 1);
    sums[i] = row.receives[x % 2] ? total<true>(row.here, x, inside) : total<false>(row.here, x, inside);
  }
  highest_of(sums, highest);
  for (int i = 0; i < at_once; ++i) label[i] = first_of(equal_to(sums[i], static_cast<int>(highest[i])));
  if (row.rivals) {
    Pack left[at_once];
    for (int i = 0; i < at_once; ++i) {
      rivals[i] = rivals_of(label[i], labels);
      left[i] = And(sums[i], load(row.model->far[label[i].lane()]));
    }
    highest_of(left, others);
  }
  for (int i = 0; i < std::min(at_once, row.width - first); ++i) {
    const auto belief = [&](std::uint32_t value) { return static_cast<float>(highest[i] - value); };
    alignas(64) std::uint8_t values[window_lanes];
    store(sums[i], values);
    const float rival =
        row.rivals && rivals[i] != 0 ? belief(others[i]) : std::numeric_limits<float>::infinity();
    write_window_decision(row, first + i, label[i], rival, [&](int lane) { return belief(values[lane]); });
  }
}

void decide_all_bytes(const WindowDecisions& row) {
  const Pack inside = load(row.model->inside);
  const std::uint64_t labels = equal_to(inside, 255);
  for (int x = 0; x < row.width; x += at_once) decide_bytes(row, inside, labels, x);
}

// ---- Words and floats

// Sums all messages but one, in the reference's order, which matters to floats.
template <class Element>
HWY_INLINE void sum_beliefs(const WindowRow& row, int x, bool receives, int without, Element* out) {
  const Element* data = pack_of<Element>(row, x, data_pack);
  if (!receives) {
    std::copy_n(data, window_lanes, out);
    return;
  }
  constexpr int order[] = {side::below, side::above, side::right, side::left};
  const Element* messages[side::count];
  int count = 0;
  for (const int from : order)
    if (from != without) messages[count++] = pack_of<Element>(row, x, from);
  const Element *a = messages[0], *b = messages[1], *c = messages[2], *d = messages[3];
  if (without < side::count)
    for (int k = 0; k < window_lanes; ++k) out[k] = static_cast<Element>(a[k] + b[k] + c[k] + data[k]);
  else
    for (int k = 0; k < window_lanes; ++k) out[k] = static_cast<Element>(a[k] + b[k] + c[k] + d[k] + data[k]);
}

template <class Element>
using Line = hn::CappedTag<Element, window_side>;  // a column of labels

// Forward and backward passes over columns.
template <class Element>
HWY_INLINE void spread_columns(Element* h, int columns, Element slope) {
  const Line<Element> d;
  const auto step = hn::Set(d, slope);
  for (int j = 0; j < window_side; j += static_cast<int>(hn::Lanes(d))) {
    auto reach = hn::LoadU(d, h + j);
    const auto lower = [&](int i) HWY_ATTR {
      Element* at = h + i * window_side + j;
      reach = hn::Min(hn::LoadU(d, at), hn::Add(reach, step));
      hn::StoreU(reach, d, at);
    };
    for (int i = 1; i < columns; ++i) lower(i);
    for (int i = columns - 2; i >= 0; --i) lower(i);
  }
}

template <class Element>
HWY_INLINE Element lowest_of(const Element* h) {
  const Line<Element> d;
  auto lowest = hn::LoadU(d, h);
  for (int k = 0; k < window_lanes; k += static_cast<int>(hn::Lanes(d)))
    lowest = hn::Min(lowest, hn::LoadU(d, h + k));
  return hn::GetLane(hn::MinOfLanes(d, lowest));
}

template <class Element>
HWY_INLINE void transpose(const Element* from, Element* to) {
  for (int i = 0; i < window_side; ++i)
    for (int j = 0; j < window_side; ++j) to[j * window_side + i] = from[i * window_side + j];
}

// For each label of another window, on one axis: the nearest label of this window, and its distance.
struct Nearest {
  int label[window_side], away[window_side];

  Nearest(int further, int labels) {
    for (int i = 0; i < labels; ++i) {
      label[i] = std::clamp(further + i, 0, labels - 1);
      away[i] = std::abs(further + i - label[i]);
    }
  }
};

template <class Element>
void send_plain(const WindowSweep& sweep) {
  const Size window = sweep.model->window;
  alignas(64) Element h[window_lanes], turned[window_lanes];
  for (int x = sweep.first; x < sweep.width; x += 2) {
    const WindowStart start = sweep.here.starts[x];
    for_neighbours(sweep, x, [&](int to, int edge, const WindowRow& receiver, int i) HWY_ATTR {
      sum_beliefs(sweep.here, x, sweep.receives, to, h);
      const Element least = lowest_of(h);
      const auto slope = static_cast<Element>(sweep.model->slopes[static_cast<std::size_t>(edge)]);
      const auto highest = static_cast<Element>(
          least + static_cast<Element>(sweep.model->truncations[static_cast<std::size_t>(edge)]));
      spread_columns(h, window.width, slope);
      transpose(h, turned);
      spread_columns(turned, window.height, slope);
      transpose(turned, h);
      Element* out = pack_of<Element>(receiver, i, side::opposite[to]);
      const WindowStart other = receiver.starts[i];
      if (other == start) {
        for (int k = 0; k < window_lanes; ++k) out[k] = static_cast<Element>(std::min(h[k], highest) - least);
        return;
      }
      const Nearest columns(other.column - start.column, window.width),
          rows(other.row - start.row, window.height);
      for (int column = 0; column < window.width; ++column)
        for (int line = 0; line < window.height; ++line) {
          const auto away = static_cast<float>(columns.away[column] + rows.away[line]);
          const float value = static_cast<float>(h[columns.label[column] * window_side + rows.label[line]]) +
                              static_cast<float>(slope) * away;
          out[column * window_side + line] =
              static_cast<Element>(std::min(value, static_cast<float>(highest)) - static_cast<float>(least));
        }
    });
  }
}

template <class Element>
void decide_plain(const WindowDecisions& row) {
  const Size window = row.model->window;
  alignas(64) Element beliefs[window_lanes];
  for (int x = 0; x < row.width; ++x) {
    sum_beliefs(row.here, x, row.receives[x % 2], side::count, beliefs);
    Label label{window.width - 1, 0};
    float rival = std::numeric_limits<float>::infinity();
    for (int j = 0; j < window.height; ++j)
      for (int i = window.width - 1; i >= 0; --i)
        if (beliefs[i * window_side + j] < beliefs[label.lane()]) label = {i, j};
    if (row.around)
      for (int i = 0; i < window.width; ++i)
        for (int j = 0; j < window.height; ++j)
          if (std::max(std::abs(i - label.column), std::abs(j - label.row)) > 1)
            rival = std::min(rival, static_cast<float>(beliefs[i * window_side + j]));
    write_window_decision(row, x, label, rival, [&](int lane) { return static_cast<float>(beliefs[lane]); });
  }
}

// ---- Data costs of bytes

// The part of a row of signatures that begins at this column; without any, if the row or all of the part is
// not there.
HWY_INLINE const std::uint64_t* signatures_at(const View<const std::uint64_t>& plane, int column, int y) {
  const int width = plane.size.width - 2 * signature_border, height = plane.size.height - 1;
  return plane.row(y >= 0 && y < height ? y : height) + signature_border +
         std::clamp(column, -signature_border, width);
}

void count_window_bits_here(const WindowCosts& costs, int x, std::uint8_t* bits) {
  const WindowStart start = costs.here.starts[x];
  const std::uint64_t own = costs.left.row(costs.y)[signature_border + x] & ~no_signature;
  Pack counts = all_of(0);
  for (int j = 0; j < costs.model->window.height; ++j)
    count_bits(own, signatures_at(costs.right, x + start.column, costs.y + start.row + j), j, counts);
  store(counts, bits);
}

void write_window_costs_here(const WindowCosts& costs) {
  const WindowModel& model = *costs.model;
  const int width = costs.left.size.width - 2 * signature_border;
  const Pack inside = load(model.inside), units = load(model.unit_bytes),
             data_bound = all_of(model.data_bound);
  const std::uint64_t* left = costs.left.row(costs.y) + signature_border;
  for (int first = 0; first < width; first += at_once) {
    Pack sums[at_once], missing[at_once];
    for (int i = 0; i < at_once; ++i) {
      const int x = std::min(first + i, width - 1);
      const WindowStart start = costs.here.starts[x];
      Pack counts = all_of(0);
      for (int j = 0; j < model.window.height; ++j)
        count_bits(left[x], signatures_at(costs.right, x + start.column, costs.y + start.row + j), j, counts);
      const Offset predicted{-costs.predictions[x].x - start.column, costs.predictions[x].y - start.row};
      sums[i] = load(model.predicted[predicted.x * window_side + predicted.y]);
      if ((left[x] & no_signature) == 0) sums[i] = Add(sums[i], look_up(units, counts));
      missing[i] = And(SaturatedSub(all_of(255), sums[i]), inside);
    }
    std::uint32_t highest[at_once];
    highest_of(missing, highest);
    for (int i = 0; i < std::min(at_once, width - first); ++i) {
      const Pack settled = SaturatedSub(sums[i], all_of(255 - static_cast<int>(highest[i])));
      store(And(SaturatedSub(data_bound, settled), inside),
            pack_of<std::uint8_t>(costs.here, first + i, data_pack));
    }
  }
}

void find_supports_here(const WindowSupports& supports) {
  constexpr int radius = 2;
  const Pack units = load(supports.model->unit_bytes), square = load(supports.model->square);
  for (int k = 0; k < supports.count; ++k) {
    const Offset offset = supports.offsets[k];
    Pack counts = all_of(0), present = counts;
    for (int j = 0; j <= 2 * radius; ++j) {
      const int x = supports.x - radius, y = supports.y - radius + j;
      count_bits_beside(signatures_at(supports.left, x, y),
                        signatures_at(supports.right, x - offset.x, y + offset.y), j, counts, present);
    }
    supports.sums[k] = sum_of(And(And(look_up(units, counts), present), square));
  }
}

// Whether any of the eight motions around a motion differs from it by more than `close`.
void find_rough_here(const View<const Offset>& motions, int y, int close, std::uint8_t* rough) {
  static_assert(sizeof(Offset) == 2 * sizeof(int));
  const hn::ScalableTag<std::int32_t> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const int values = 2 * motions.size.width, last = motions.size.height - 1;
  const auto row = [&](int v) { return &motions.row(std::clamp(v, 0, last))->x; };
  const std::int32_t* const rows[] = {row(y - 1), row(y), row(y + 1)};
  const auto far_apart = [&](int i) {
    for (const std::int32_t* r : rows)
      for (const int beside : {-2, 0, 2})
        if (i + beside >= 0 && i + beside < values && std::abs(r[i + beside] - rows[1][i]) > close)
          return true;
    return false;
  };
  int i = 0;
  const auto one = [&] {
    rough[i / 2] = far_apart(i) || far_apart(i + 1);
    i += 2;
  };
  while (i < std::min(2, values)) one();
  if (lanes > 1) {
    const auto limit = hn::Set(d, close);
    for (; i + lanes + 2 <= values; i += lanes) {
      const auto centre = hn::LoadU(d, rows[1] + i);
      auto apart = hn::Zero(d);
      for (const std::int32_t* r : rows)
        for (const int beside : {-2, 0, 2})
          apart = hn::Max(apart, hn::Abs(hn::Sub(hn::LoadU(d, r + i + beside), centre)));
      alignas(64) std::int32_t beyond[hn::MaxLanes(d)];
      hn::Store(hn::Max(hn::Sub(apart, limit), hn::Zero(d)), d, beyond);
      for (int k = 0; k < lanes; k += 2) rough[(i + k) / 2] = (beyond[k] | beyond[k + 1]) != 0;
    }
  }
  while (i < values) one();
}

void send_windows_here(const WindowSweep& sweep) {
  switch (sweep.model->arithmetic) {
    case Arithmetic::fixed8:
      return sweep.receives ? send_bytes<true>(sweep) : send_bytes<false>(sweep);
    case Arithmetic::fixed16:
      return send_plain<std::uint16_t>(sweep);
    default:
      return send_plain<float>(sweep);
  }
}

void decide_windows_here(const WindowDecisions& row) {
  switch (row.model->arithmetic) {
    case Arithmetic::fixed8:
      return decide_all_bytes(row);
    case Arithmetic::fixed16:
      return decide_plain<std::uint16_t>(row);
    default:
      return decide_plain<float>(row);
  }
}

}  // namespace parallax::motion::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax::motion {

PARALLAX_DISPATCH(void, send_windows, (const WindowSweep& sweep), (sweep))
PARALLAX_DISPATCH(void, decide_windows, (const WindowDecisions& decisions), (decisions))
PARALLAX_DISPATCH(void, write_window_costs, (const WindowCosts& costs), (costs))
PARALLAX_DISPATCH(void, count_window_bits, (const WindowCosts& costs, int x, std::uint8_t* bits),
                  (costs, x, bits))
PARALLAX_DISPATCH(void, find_supports, (const WindowSupports& supports), (supports))
PARALLAX_DISPATCH(void, find_rough,
                  (const View<const Offset>& motions, int y, int close, std::uint8_t* rough),
                  (motions, y, close, rough))

}  // namespace parallax::motion
#endif
