// Block matching on CUDA: the search for the best label of every pixel, in images of bytes.
//
// A thread has a strip: four columns side by side, ROWS rows; threads side by side have strips side by side, and
// four warps of a block search the same strips for different labels. A thread takes labels in groups of GROUP
// and, for each of them, goes down the rows of its strip and of the windows around. A row's windows are summed
// by instructions on four bytes: of the words of a row, those that lie in all four windows are summed once, the
// others by a dot product with the bytes of each window. The rows' sums are summed up from the strip's top on;
// what a window costs is the difference of two such sums, WINDOW rows apart, which a ring of registers holds.
//
//   PACKED: two pixels share a register, in 16 bits each; differences of such pairs are pairs of differences as
//           long as no cost needs more than 16 bits.
//
// The cheapest of a group goes into the block's tile of keys in shared memory, tiles go into the plane of keys,
// both by atomic minimum: no order of the labels changes the result.
//
// Specialised by ROWS (a multiple of WINDOW), GROUP (1, 2, 4), PACKED, UNIQUENESS; and by what block_common.h says.
#include "block_common.h"

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

// Where a thread works: its first pixel.
struct Strip {
  int x, y;
};

// The strips of a block are those from this one on; those beyond the last repeat the last.
__device__ __forceinline__ Strip find_strip(const CudaSearch& search, int lane) {
  const int last = search.columns * search.strips - 1;
  const int index = min(static_cast<int>(blockIdx.x) * lanes + lane, last);
  const int strip = index / search.columns;
  return {(index - strip * search.columns) * columns, strip * ROWS};
}

// Labels that a thread takes together: those of shifts from `first` on.
struct Group {
  int first;
  bool active;         // there is such a group
  bool unconditional;  // all its labels are candidates of all pixels of the strip
  uint32 wanted;       // a bit for each label of the search range
};

// Groups count from the highest shift down, but for the lowest, which is the second: those of which some labels
// are no candidates come first, and at the same time for neighbouring strips.
__device__ __forceinline__ Group find_group(const CudaSearch& search, const Strip& strip, int index, bool masked) {
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

// Sums of windows, from the top of the strip on, of the labels of a group.
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

// Adds the costs of one row of the window of column p, but for words that are in all windows.
__device__ __forceinline__ uint32 add_window(const uint32 (&base)[window_words], const uint32 (&other)[window_words],
                                             int p, uint32 sum) {
#pragma unroll
  for (int j = 0; j < window_words; ++j) {
    const uint32 mask = bytes_between(p, p + WINDOW, j);
    if (mask != 0 && !in_all_windows(j)) sum = add_costs(base[j], other[j], mask, sum);
  }
  return sum;
}

// `bytes`: by which the words of `row.other` lead the first label's.
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
        const uint32 low = add_window(row.base, other, 2 * s, sum + common * 0x10001u);
        sum = add_window(row.base, other, 2 * s + 1, 0) * 0x10000u + low;
      } else {
        sum = add_window(row.base, other, s, sum + common);
      }
    }
  }
}

// The statistics that costs of a row need.
struct RowStatistics {
  CudaStatistics base[columns];
  CudaStatistics other[columns + GROUP - 1];
};

__device__ __forceinline__ RowStatistics load_statistics(const CudaSearch& search, const Strip& strip,
                                                         const Group& group, int y) {
  RowStatistics row;
  if constexpr (COST == zncc) {
    const int64 at = static_cast<int64>(y) * search.statistics_stride + strip.x;
#pragma unroll
    for (int p = 0; p < columns; ++p) row.base[p] = search.base_statistics[at + p];
#pragma unroll
    for (int i = 0; i < columns + GROUP - 1; ++i)
      row.other[i] = search.other_statistics[at - group.first - (GROUP - 1) + i];
  }
  return row;
}

// Whether pixels of the other image are valid, a byte each, from column strip.x − (group.first & ~3) − 4 on.
__device__ __forceinline__ uint64 valid_bytes(const CudaSearch& search, const Strip& strip, const Group& group,
                                              int y) {
  const uint32* words = reinterpret_cast<const uint32*>(
      search.other_validity + static_cast<int64>(y) * search.validity_stride + strip.x - (group.first & ~3));
  return static_cast<uint64>(words[0]) << 32 | words[-1];
}

// What a row of a group comes to, for one pixel.
__device__ __forceinline__ uint32 cost_of_window(const CudaSearch& search, const RowStatistics& statistics,
                                                 const Sums& differences, int g, int p) {
  if constexpr (COST == zncc) {
    const CudaStatistics &base = statistics.base[p], &other = statistics.other[p - g + GROUP - 1];
    const bool swapped = search.label_step < 0;
    return zncc_cost(differences.of[g][p], swapped ? other : base, swapped ? base : other);
  }
  return differences.of[g][p];
}

__device__ __forceinline__ Key key_of_window(const CudaSearch& search, const RowStatistics& statistics,
                                             const Sums& differences, int g, int p, uint32 label) {
  if constexpr (PACKED) {
    const uint32 pair = differences.of[g][p / 2];
    return p % 2 == 0 ? pair * 0x10000u + label : (pair & 0xFFFF0000u) | label;
  } else {
    return make_key(cost_of_window(search, statistics, differences, g, p), label);
  }
}

// Goes down a strip with a group of labels. Visit(row, p, keys, labels) is called for each of its pixels; while
// `checked`, labels that are no candidates have no key.
template <bool checked, class Visit>
__device__ __forceinline__ void sweep(const CudaSearch& search, const Strip& strip, const Group& group,
                                      const Visit& visit) {
  const int bytes = GROUP == 4 ? 0 : group.first & 3;
  const int64 above = static_cast<int64>(strip.y - radius) * PITCH;
  const uint8* base = static_cast<const uint8*>(search.base) + above + (strip.x - radius);
  const uint8* other =
      static_cast<const uint8*>(search.other) + above + (strip.x - radius - (group.first & ~3));
  uint32 labels[GROUP];
#pragma unroll
  for (int g = 0; g < GROUP; ++g) labels[g] = search.label_offset + search.label_step * (group.first + g);

  Sums sums{};
  Sums ring[WINDOW];
  // A row is asked for while the one above it is worked on.
  Row row = load_row(base, other);
  const auto add_next = [&](int j) {
    const Row next = load_row(base + (j + 1) * PITCH, other + (j + 1) * PITCH);
    add_row(row, bytes, sums);
    row = next;
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
      Sums differences;
#pragma unroll
      for (int g = 0; g < GROUP; ++g)
#pragma unroll
        for (int s = 0; s < sum_words; ++s) differences.of[g][s] = sums.of[g][s] - ring[j % WINDOW].of[g][s];
      ring[j % WINDOW] = sums;

      const int y = min(strip.y + first_row + i, search.frame.height - 1);
      const RowStatistics statistics = load_statistics(search, strip, group, y);
      const uint64 valid = checked ? valid_bytes(search, strip, group, y) : 0;
#pragma unroll
      for (int p = 0; p < columns; ++p) {
        Key keys[GROUP];
#pragma unroll
        for (int g = 0; g < GROUP; ++g) {
          keys[g] = key_of_window(search, statistics, differences, g, p, labels[g]);
          if (checked && (valid >> 8 * (p - g - bytes + 4) & group.wanted >> g & 1) == 0) keys[g] = no_key;
        }
        visit(first_row + i, p, keys, labels);
      }
    }
    base += WINDOW * PITCH;
    other += WINDOW * PITCH;
  }
}

template <class Visit>
__device__ __forceinline__ void sweep_slice(const CudaSearch& search, const Strip& strip, const Visit& visit) {
  const bool masked = *search.other_masked != 0;
  const int slice = blockIdx.y * blockDim.y + threadIdx.y;
#pragma unroll 1
  for (int i = 0; i < search.groups_per_slice; ++i) {
    const Group group = find_group(search, strip, slice * search.groups_per_slice + i, masked);
    const bool unconditional = __all_sync(whole_warp, group.unconditional || !group.active);
    if (!group.active) continue;
    if (unconditional)
      sweep<false>(search, strip, group, visit);
    else
      sweep<true>(search, strip, group, visit);
  }
}

// Of the plane of keys, or one of its shape: whole strips.
template <class T>
__device__ __forceinline__ T* at_pixel(T* plane, int x, int y) {
  return plane + static_cast<int64>(y) * BEST_STRIDE + x;
}

}  // namespace

// A warp has 32 strips and a slice of the labels; grid.x = blocks of strips, grid.y = blocks of slices.
PARALLAX_KERNEL find_best(CudaSearch search) {
  __shared__ Key tile[ROWS][columns][lanes];
  wait_for_previous();
  const int lane = threadIdx.x, thread = threadIdx.y * lanes + lane;
  constexpr int threads = slices_in_block * lanes;
  static_assert(threads == columns * lanes, "a thread has a column of the tile");
  // So that neither columns nor lanes side by side meet in a bank.
  const auto place = [](int p, int of_lane) { return (of_lane + p * (lanes / columns)) % lanes; };
#pragma unroll
  for (int row = 0; row < ROWS; ++row) tile[row][0][thread] = no_key;
  __syncthreads();
  sweep_slice(search, find_strip(search, lane),
              [&](int row, int p, const Key (&keys)[GROUP], const uint32 (&)[GROUP]) {
                Key best = keys[0];
#pragma unroll
                for (int g = 1; g < GROUP; ++g) best = min(best, keys[g]);
                atomicMin(&tile[row][p][place(p, lane)], best);
              });
  __syncthreads();
  const int owner = thread / columns, p = thread % columns;
  const Strip strip = find_strip(search, owner);
  Key* best = at_pixel(static_cast<Key*>(search.best), strip.x + p, strip.y);
#pragma unroll
  for (int row = 0; row < ROWS; ++row) atomicMin(best + row * BEST_STRIDE, tile[row][p][place(p, owner)]);
}

#if UNIQUENESS > 0
// Marks pixels of which a label not next to the best costs almost as little. The same grid.
PARALLAX_KERNEL find_rivals(CudaSearch search) {
  wait_for_previous();
  const Strip strip = find_strip(search, threadIdx.x);
  sweep_slice(search, strip, [&](int row, int p, const Key (&keys)[GROUP], const uint32 (&labels)[GROUP]) {
    const int x = strip.x + p, y = strip.y + row;
    if (x >= search.frame.width || y >= search.frame.height) return;
    const Key best = *at_pixel(static_cast<const Key*>(search.best), x, y);
    const uint32 cost = cost_of(best);
    const uint32 bound = cost + static_cast<uint32>(static_cast<uint64>(cost) * UNIQUENESS / 100);
    bool rival = false;
#pragma unroll
    for (int g = 0; g < GROUP; ++g)
      rival |= keys[g] != no_key && cost_of(keys[g]) <= bound && abs(static_cast<int>(labels[g]) - label_of(best)) > 1;
    if (rival) *at_pixel(search.ambiguous, x, y) = 1;
  });
}
#endif

#if COST == 2
// Statistics of the windows of both images: a thread a pixel, grid.x = rows, grid.y = blocks of a row, grid.z = 2.
PARALLAX_KERNEL find_statistics(CudaFrame frame, const uint8* left, const uint8* right, CudaStatistics* to_left,
                                CudaStatistics* to_right, int stride) {
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
  (blockIdx.z == 0 ? to_left : to_right)[static_cast<int64>(y) * stride + x] = {
      static_cast<double>(sum), variance > 0 ? 1.0 / sqrt(static_cast<double>(variance)) : 0.0};
}
#endif
