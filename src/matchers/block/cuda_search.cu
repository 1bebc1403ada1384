// SPDX-License-Identifier: Apache-2.0
// Block matching on CUDA: the search for the best label of every pixel, in images of bytes.
//
// A thread has a strip of four columns and ROWS rows; neighbouring threads have neighbouring strips, and four
// warps of a block search the same strips for different labels. A thread takes labels in groups of GROUP and,
// for each of them, goes down the rows of its strip and of the surrounding windows. A row's windows are
// summed by instructions on four bytes: words that lie in all four windows are summed once, the others by a
// dot product with the bytes of each window. The rows' sums accumulate from the top of the strip; a window's
// cost is the difference of two such sums, WINDOW rows apart, which a ring of registers holds.
//
//   PACKED: two pixels share a register, in 16 bits each; differences of such pairs are pairs of differences
//           as long as no cost needs more than 16 bits.
//   ORDER_BITS (0, 2): free bits below a packed cost, for the order of labels in a group: they allow finding
//           the best label of a group for two pixels at once.
//
// The best label of a group goes into the block's tile of keys in shared memory, and tiles go into the plane
// of keys, both by atomic minimum: the order of the labels does not change the result.
//
// Specialised by ROWS (a multiple of WINDOW), GROUP (1, 2, 4), PACKED, ORDER_BITS, BLOCKS (minimum number of
// blocks resident on a multiprocessor); and by the macros of cuda_common.h.
#include "matchers/block/cuda_common.h"

using namespace parallax::block;

namespace {

constexpr int columns = 4;
constexpr int lanes = 32;
constexpr int slices_in_block = 4;
// Words of a row that hold the windows of four columns.
constexpr int window_words = (WINDOW + columns + 2) / 4;
// Registers for four sums.
constexpr int sum_words = PACKED ? 2 : 4;
constexpr uint32 all_labels = (1u << GROUP) - 1;
// A packed cost of 1, and the same in both pixels of a pair.
constexpr uint32 one = 1u << ORDER_BITS, pair_of_ones = one * 0x10001u;

// The first pixel of a thread's strip.
struct Strip {
  int x, y;
};

// The first strip of a block; strips beyond the last one repeat it.
__device__ __forceinline__ Strip find_strip(const CudaSearch& search, int lane) {
  const int last = search.columns * search.strips - 1;
  const int index = min(static_cast<int>(blockIdx.x) * lanes + lane, last);
  const int strip = index / search.columns;
  return {(index - strip * search.columns) * columns, strip * ROWS};
}

// Labels that a thread searches together: shifts from `first` on.
struct Group {
  int first;
  bool active;         // whether the group exists
  bool unconditional;  // all its labels are candidates of all pixels of the strip
  uint32 wanted;       // a bit for each label of the search range

  // Bytes by which the other image's words precede the first label.
  __device__ __forceinline__ int bytes() const { return GROUP == 4 ? 0 : first & 3; }
};

// Groups are numbered from the highest shift down, except that the lowest group is the second: groups with
// labels that are no candidates come first, and at the same time for neighbouring strips.
__device__ __forceinline__ Group find_group(const CudaSearch& search, const Strip& strip, int index,
                                            bool masked) {
  const int last_column = search.frame.width - 1;
  const int last_own = min(strip.x + columns - 1, last_column);
  const int lowest = max(search.first_shift, strip.x - last_column);
  const int highest = min(search.last_shift, last_own);
  const int bottom = lowest & -GROUP, top = highest & -GROUP;
  const int first = index == 0 ? top : index == 1 ? bottom : top - (index - 1) * GROUP;
  const bool active = lowest <= highest && index * GROUP <= top - bottom;
  uint32 wanted = 0;
#pragma unroll
  for (int g = 0; g < GROUP; ++g)
    if (first + g >= search.first_shift && first + g <= search.last_shift) wanted |= 1u << g;
  const bool inside = strip.x - (first + GROUP - 1) >= 0 && last_own - first <= last_column;
  return {first, active, wanted == all_labels && inside && !masked, wanted};
}

// Window sums, accumulated from the top of the strip, for the labels of a group.
struct Sums {
  uint32 of[GROUP][sum_words];
};

// The words of a row, for all labels.
struct Row {
  uint32 base[window_words];
  uint32 other[window_words + 1];
};

__device__ __forceinline__ Row load_row(const uint8* base, const uint8* other) {
  Row row;
#pragma unroll
  for (int j = 0; j < window_words; ++j) row.base[j] = reinterpret_cast<const uint32*>(base)[j];
#pragma unroll
  for (int j = 0; j <= window_words; ++j) row.other[j] = reinterpret_cast<const uint32*>(other)[j - 1];
  return row;
}

__device__ constexpr bool in_all_windows(int word) {
  return 4 * word >= columns - 1 && 4 * word + 3 < WINDOW;
}

// Adds the costs of one row of the window of column p, except words that lie in all windows.
__device__ __forceinline__ uint32 add_window(const uint32 (&base)[window_words],
                                             const uint32 (&other)[window_words], int p, uint32 sum) {
#pragma unroll
  for (int j = 0; j < window_words; ++j) {
    const uint32 mask = bytes_between(p, p + WINDOW, j);
    if (mask != 0 && !in_all_windows(j)) sum = add_costs(base[j], other[j], mask, sum, one);
  }
  return sum;
}

// `bytes`: Group::bytes().
__device__ __forceinline__ void add_row(const Row& row, int bytes, Sums& sums) {
#pragma unroll
  for (int g = 0; g < GROUP; ++g) {
    uint32 other[window_words];
    uint32 common = 0;
#pragma unroll
    for (int j = 0; j < window_words; ++j) {
      other[j] = __funnelshift_rc(row.other[j], row.other[j + 1], 32 - 8 * (bytes + g));
      if (in_all_windows(j)) common = add_all_costs(row.base[j], other[j], common);
    }
#pragma unroll
    for (int s = 0; s < sum_words; ++s) {
      uint32& sum = sums.of[g][s];
      if constexpr (PACKED) {
        const uint32 low = add_window(row.base, other, 2 * s, sum + common * pair_of_ones);
        sum = add_window(row.base, other, 2 * s + 1, 0) * 0x10000u + low;
      } else {
        sum = add_window(row.base, other, s, sum + common);
      }
    }
  }
}

// Validity of the other image's pixels, one byte each, from column strip.x − (group.first & ~3) − 4 on.
__device__ __forceinline__ uint64 valid_bytes(const CudaSearch& search, const Strip& strip,
                                              const Group& group, int y) {
  const uint32* words = reinterpret_cast<const uint32*>(
      search.other_validity + static_cast<int64>(y) * search.validity_stride + strip.x - (group.first & ~3));
  return static_cast<uint64>(words[0]) << 32 | words[-1];
}

// The labels of a group.
struct Labels {
  uint32 of[GROUP];
  uint32 lowest;
  // Position from the lowest label, for both pixels of a pair.
  uint32 order[GROUP];
};

__device__ __forceinline__ Labels labels_of(const CudaSearch& search, const Group& group) {
  Labels labels;
#pragma unroll
  for (int g = 0; g < GROUP; ++g) {
    labels.of[g] = search.label_offset + search.label_step * (group.first + g);
    labels.order[g] = (search.label_step > 0 ? g : GROUP - 1 - g) * 0x10001u;
  }
  labels.lowest = search.label_step > 0 ? labels.of[0] : labels.of[GROUP - 1];
  return labels;
}

// Window costs of a row of the strip; if `checked`, labels that are no candidates get no key.
template <bool checked>
struct Costs {
  const CudaSearch& search;
  const Labels& labels;
  const Group& group;
  int x, y;
  uint64 valid;  // see valid_bytes()
  Sums sums;

  __device__ __forceinline__ bool is_candidate(int g, int p) const {
    return !checked || (valid >> 8 * (p - g - group.bytes() + 4) & group.wanted >> g & 1) != 0;
  }

  __device__ __forceinline__ Key key(int g, int p) const {
    if (!is_candidate(g, p)) return no_key;
    if constexpr (PACKED) {
      const uint32 pair = sums.of[g][p / 2];
      return p % 2 == 0 ? pair * 0x10000u + labels.of[g] : (pair & 0xFFFF0000u) | labels.of[g];
    } else if constexpr (COST == zncc) {
      const int stride = search.statistics_stride, shift = group.first + g;
      const CudaStatistics base = search.base_statistics[statistics_at(stride, x + p, y)],
                           other = search.other_statistics[statistics_at(stride, x + p - shift, y)];
      const bool swapped = search.label_step < 0;
      return make_key(zncc_cost(sums.of[g][p], swapped ? other : base, swapped ? base : other), labels.of[g]);
    } else {
      return make_key(sums.of[g][p], labels.of[g]);
    }
  }

  // The least key of all labels.
  __device__ __forceinline__ Key min_key(int p) const {
    Key least = key(0, p);
#pragma unroll
    for (int g = 1; g < GROUP; ++g) least = min(least, key(g, p));
    return least;
  }

  // The same for two pixels, using ORDER_BITS.
  __device__ __forceinline__ void min_keys(int pair, Key& low, Key& high) const {
    constexpr uint32 orders = pair_of_ones - 0x10001u;
    uint32 least = ~0u;
#pragma unroll
    for (int g = 0; g < GROUP; ++g) {
      uint32 costs = sums.of[g][pair] + labels.order[g];
      if (!is_candidate(g, 2 * pair)) costs |= 0xFFFFu;
      if (!is_candidate(g, 2 * pair + 1)) costs |= 0xFFFF0000u;
      least = __vminu2(least, costs);
    }
    const uint32 label = (least & orders) + labels.lowest * 0x10001u, cost = least & ~orders;
    low = checked && (least & 0xFFFFu) == 0xFFFFu ? no_key : __byte_perm(label, cost, 0x5410);
    high = checked && least >> 16 == 0xFFFFu ? no_key : __byte_perm(label, cost, 0x7632);
  }
};

// Goes down a strip with a group of labels, and calls visit(row, costs) for each row.
template <bool checked, class Visit>
__device__ __forceinline__ void sweep(const CudaSearch& search, const Strip& strip, const Group& group,
                                      const Visit& visit) {
  const int64 above = static_cast<int64>(strip.y - radius) * PITCH;
  const uint8* base = static_cast<const uint8*>(search.base) + above + (strip.x - radius);
  const uint8* other =
      static_cast<const uint8*>(search.other) + above + (strip.x - radius - (group.first & ~3));
  const Labels labels = labels_of(search, group);
  Sums sums{};
  Sums ring[WINDOW];
  // A row is loaded while the one above it is processed, unless registers are scarce.
  constexpr int ahead = checked || COST == zncc ? 0 : 1;
  Row row = load_row(base, other);
  const auto add_next = [&](int j) {
    const Row later = load_row(base + (j + ahead) * PITCH, other + (j + ahead) * PITCH);
    add_row(ahead == 0 ? later : row, group.bytes(), sums);
    row = later;
  };
#pragma unroll
  for (int j = 0; j < WINDOW - 1; ++j) {
    add_next(j);
    ring[j] = sums;
  }
  ring[WINDOW - 1] = {};
#pragma unroll 1
  for (int first_row = 0; first_row < ROWS; first_row += WINDOW) {
#pragma unroll
    for (int i = 0; i < WINDOW; ++i) {
      const int j = WINDOW - 1 + i;
      add_next(j);
      const int y = min(strip.y + first_row + i, search.frame.height - 1);
      Costs<checked> costs{
          search, labels, group, strip.x, y, checked ? valid_bytes(search, strip, group, y) : 0, {}};
#pragma unroll
      for (int g = 0; g < GROUP; ++g)
#pragma unroll
        for (int s = 0; s < sum_words; ++s) costs.sums.of[g][s] = sums.of[g][s] - ring[j % WINDOW].of[g][s];
      ring[j % WINDOW] = sums;
      visit(first_row + i, costs);
    }
    base += WINDOW * PITCH;
    other += WINDOW * PITCH;
  }
}

template <class Visit>
__device__ __forceinline__ void sweep_slice(const CudaSearch& search, const Strip& strip,
                                            const Visit& visit) {
  const bool masked = *search.other_masked != 0;
  const int slice = blockIdx.y * blockDim.y + threadIdx.y;
#pragma unroll 1
  for (int i = 0; i < search.groups_per_slice; ++i) {
    const Group group = find_group(search, strip, slice * search.groups_per_slice + i, masked);
    const bool unconditional = __all_sync(all_lanes, group.unconditional || !group.active);
    if (!group.active) continue;
    if (unconditional)
      sweep<false>(search, strip, group, visit);
    else
      sweep<true>(search, strip, group, visit);
  }
}

// A pixel of the plane of keys, or of a plane of the same shape: full strips.
template <class T>
__device__ __forceinline__ T* at_pixel(T* plane, int x, int y) {
  return plane + static_cast<int64>(y) * BEST_STRIDE + x;
}

// Keys of a block's strips.
using Tile = Key[ROWS][columns][lanes];

// A visitor that keeps the lowest keys.
struct Best {
  Tile& tile;
  int lane;

  template <bool checked>
  __device__ __forceinline__ void operator()(int row, const Costs<checked>& costs) const {
    Key least[columns];
    if constexpr (ORDER_BITS > 0) {
      costs.min_keys(0, least[0], least[1]);
      costs.min_keys(1, least[2], least[3]);
    } else {
#pragma unroll
      for (int p = 0; p < columns; ++p) least[p] = costs.min_key(p);
    }
#pragma unroll
    for (int p = 0; p < columns; ++p) atomicMin(&tile[row][p][lane], least[p]);
  }
};

// A visitor that keeps the lowest keys of labels that are not next to the best.
struct Rivals {
  const CudaSearch& search;
  const Strip& strip;
  Tile& tile;
  int lane;

  template <bool checked>
  __device__ __forceinline__ void operator()(int row, const Costs<checked>& costs) const {
#pragma unroll
    for (int p = 0; p < columns; ++p) {
      const int best = label_of(*at_pixel(static_cast<const Key*>(search.best), strip.x + p, strip.y + row));
      Key least = no_key;
#pragma unroll
      for (int g = 0; g < GROUP; ++g)
        if (abs(static_cast<int>(costs.labels.of[g]) - best) > 1) least = min(least, costs.key(g, p));
      atomicMin(&tile[row][p][lane], least);
    }
  }
};

// Tiles begin without keys, and are merged into a plane of keys.
__device__ __forceinline__ void clear(Tile& tile) {
  static_assert(slices_in_block == columns, "a warp has a column of the tile");
#pragma unroll
  for (int row = 0; row < ROWS; ++row) tile[row][threadIdx.y][threadIdx.x] = no_key;
  __syncthreads();
}

__device__ __forceinline__ void add_to(void* plane, const CudaSearch& search, Tile& tile) {
  __syncthreads();
  const int thread = threadIdx.y * lanes + threadIdx.x, owner = thread / columns, p = thread % columns;
  const Strip strip = find_strip(search, owner);
  Key* keys = at_pixel(static_cast<Key*>(plane), strip.x + p, strip.y);
#pragma unroll
  for (int row = 0; row < ROWS; ++row) atomicMin(keys + row * BEST_STRIDE, tile[row][p][owner]);
}

}  // namespace

// One warp per 32 strips and slice of the labels; grid.x = blocks of strips, grid.y = blocks of slices.
extern "C" __global__ void __launch_bounds__(slices_in_block* lanes, BLOCKS) find_best(CudaSearch search) {
  __shared__ Tile tile;
  wait_for_previous();
  clear(tile);
  const int lane = threadIdx.x;
  sweep_slice(search, find_strip(search, lane), Best{tile, lane});
  add_to(search.best, search, tile);
}

// The same for the rivals of the best, on the same grid.
PARALLAX_KERNEL find_rivals(CudaSearch search) {
  __shared__ Tile tile;
  wait_for_previous();
  clear(tile);
  const int lane = threadIdx.x;
  const Strip strip = find_strip(search, lane);
  sweep_slice(search, strip, Rivals{search, strip, tile, lane});
  add_to(search.rivals, search, tile);
}

#if COST == 2
// Statistics of the windows of both images: one thread per pixel, grid.x = rows, grid.y = blocks of a row,
// grid.z = 2.
PARALLAX_KERNEL find_statistics(CudaFrame frame, const uint8* left, const uint8* right,
                                CudaStatistics* to_left, CudaStatistics* to_right, int stride) {
  wait_for_previous();
  const int x = blockIdx.y * blockDim.x + threadIdx.x, y = blockIdx.x;
  if (x >= frame.width) return;
  const uint8* image = (blockIdx.z == 0 ? left : right) + static_cast<int64>(y) * PITCH + x;
  uint32 sum = 0, squares = 0;
  for (int j = -radius; j <= radius; ++j)
    for (int i = -radius; i <= radius; ++i) {
      const uint32 value = image[j * PITCH + i];
      sum += value;
      squares += value * value;
    }
  const int64 variance = static_cast<int64>(window_pixels) * squares - static_cast<int64>(sum) * sum;
  CudaStatistics* to = blockIdx.z == 0 ? to_left : to_right;
  to[statistics_at(stride, x, y)] = {static_cast<double>(sum),
                                     variance > 0 ? 1.0 / sqrt(static_cast<double>(variance)) : 0.0};
}
#endif
