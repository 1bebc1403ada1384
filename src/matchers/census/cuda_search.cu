// SPDX-License-Identifier: Apache-2.0
// Census matching on CUDA: the search of one level for the best label of every pixel of both images.
//
// A warp has a strip: a column of pixels for each lane that has full windows, ROWS rows. It takes labels in
// pairs, whose costs share a register, in 16 bits each. For a pair it goes down the strip, and the parts of
// windows above and below: the sum of a lane's column of the window is updated by the row that enters and the
// row that leaves, and the sums of neighbouring lanes are added up. The warps of a block search the same
// strip for different pairs.
//
// Below the coarsest level, a strip is searched for the labels that any of its pixels wants; a pixel compares
// only the labels that it wants itself.
//
// Specialised by PYRAMID (whether there are levels above the image), WORDS of a signature, AD_TRUNCATION (0 =
// Hamming alone), WINDOW, UNIQUENESS, SUB_PIXEL (a SubPixel), PITCH, ROWS (even), BLOCKS of 256 threads that
// must fit on a multiprocessor.
#include "decision/cuda_costs.h"
#include "decision/cuda_values.h"
#include "devices/cuda/kernel.h"
#include "matchers/census/cuda_types.h"

using namespace parallax::census;
using namespace parallax::decision;

namespace {

constexpr int no_disparity = -2147483647 - 1, highest_int = 2147483647;
constexpr int left_side = 0;
constexpr int lanes = 32;
constexpr int radius = WINDOW / 2, columns = lanes - 2 * radius, window_rows = ROWS + 2 * radius;
constexpr bool with_gray = AD_TRUNCATION > 0;
constexpr int values = WORDS + with_gray;

// A cost and, in the lower half, its label: the lowest key has the lowest cost; ties go to the lowest label.
using Key = uint32;
constexpr Key no_key = ~0u;
constexpr uint32 no_cost = 0xFFFF;

__device__ __forceinline__ int label_of(Key key) {
  return key & 0xFFFF;
}
__device__ __forceinline__ uint32 cost_of(Key key) {
  return key >> 16;
}

// Labels [first, end).
struct Labels {
  int first, end;
};

__device__ Labels joined(const Labels& a, const Labels& b) {
  return {min(a.first, b.first), max(a.end, b.end)};
}

// The pixels of a lane.
struct Strip {
  int side;
  int x, y;     // the topmost pixel
  bool exists;  // false for the lanes at the end, which have no full windows
  // Label l corresponds to other column x − step · (lowest + l).
  int step;
  bool masked, other_masked;  // whether the images have masks
};

__device__ Strip find_strip(const CudaSearch& search) {
  const int lane = threadIdx.x, x = static_cast<int>(blockIdx.y) * columns + lane, side = blockIdx.z;
  return {side,
          x,
          static_cast<int>(blockIdx.x) * ROWS,
          lane < columns && x < search.level.width,
          side == left_side ? 1 : -1,
          search.masked[side] != 0,
          search.masked[1 - side] != 0};
}

__device__ int other_column(const CudaSearch& search, const Strip& strip, int x, int label) {
  return x - strip.step * (search.lowest + label);
}

__device__ int clamped(int value, int end) {
  return min(max(value, 0), end - 1);
}

// The validity of each row of the strip as a bit, including rows below the image.
__device__ uint32 validity(const CudaSearch& search, bool masked, int side, int x, int y) {
  if (!masked) return ~0u;
  const uint8* column = search.level.validity[side] + static_cast<int64>(y) * PITCH + x;
  uint32 bits = 0;
#pragma unroll
  for (int row = 0; row < ROWS; ++row) bits |= static_cast<uint32>(column[row * PITCH]) << row;
  return bits;
}

// A bit for each row: whether the other pixel exists and is valid.
__device__ uint32 candidates(const CudaSearch& search, const Strip& strip, int label) {
  const int x = other_column(search, strip, strip.x, label);
  if (!strip.exists || label >= search.labels || x < 0 || x >= search.level.width) return 0;
  return validity(search, strip.other_masked, 1 - strip.side, x, strip.y);
}

// The labels for which the pixels of a lane are searched: those estimated by the level above, the same for
// two rows; or all.
struct Wanted {
  static constexpr int pairs = PYRAMID ? ROWS / 2 : 1;
  int first[pairs];
  uint32 count[pairs];

  __device__ __forceinline__ bool has(int row, int label) const {
    return !PYRAMID || static_cast<uint32>(label - first[row / 2]) < count[row / 2];
  }
};

// The extreme estimates in a row of three pixels.
struct Estimates {
  int lowest, highest;  // highest_int and no_disparity without estimates
};

__device__ Estimates find_estimates(const CudaLevel& above, int side, int x, int y) {
  const int* row = above.disparities[side] + static_cast<int64>(clamped(y, above.height)) * PITCH;
  Estimates estimates{highest_int, no_disparity};
#pragma unroll
  for (int i = -1; i <= 1; ++i) {
    const int estimate = row[clamped(x + i, above.width)];
    estimates.lowest = min(estimates.lowest, estimate == no_disparity ? highest_int : estimate);
    estimates.highest = max(estimates.highest, estimate);
  }
  return estimates;
}

// Whether estimates limit the search: not on the coarsest level.
__device__ bool is_limited(const CudaSearch& search) {
  return PYRAMID && search.above.width > 0;
}

__device__ Wanted find_wanted(const CudaSearch& search, const Strip& strip) {
  Wanted wanted{};
#pragma unroll
  for (uint32& count : wanted.count) count = search.labels;
  if (!is_limited(search)) return wanted;
  const int x = strip.x / 2, y = strip.y / 2;
  Estimates rows[3];
#pragma unroll
  for (int i = 0; i < 2; ++i) rows[i] = find_estimates(search.above, strip.side, x, y + i - 1);
#pragma unroll
  for (int pair = 0; pair < wanted.pairs; ++pair) {
    rows[(pair + 2) % 3] = find_estimates(search.above, strip.side, x, y + pair + 1);
    const int lowest = min(min(rows[0].lowest, rows[1].lowest), rows[2].lowest);
    const int highest = max(max(rows[0].highest, rows[1].highest), rows[2].highest);
    const bool any = strip.exists && highest != no_disparity;
    const int first = any ? max(2 * lowest - search.search_radius - search.lowest, 0) : 0;
    const int last = any ? min(2 * highest + search.search_radius - search.lowest, search.labels - 1) : -1;
    wanted.first[pair] = first;
    wanted.count[pair] = static_cast<uint32>(max(last - first + 1, 0));
  }
  return wanted;
}

// Labels that lead into the other image.
__device__ Labels labels_inside(const CudaSearch& search, const Strip& strip) {
  const int first_x = strip.x - threadIdx.x, last_x = min(first_x + columns, search.level.width) - 1;
  const int last_column = search.level.width - 1;
  const int lowest = strip.side == left_side ? first_x - last_column : -last_x;
  const int highest = strip.side == left_side ? last_x : last_column - first_x;
  return {max(lowest - search.lowest, 0), min(highest - search.lowest, search.labels - 1) + 1};
}

// The labels that any pixel of the strip wants.
__device__ Labels labels_of(const CudaSearch& search, const Strip& strip, const Wanted& wanted) {
  if (!is_limited(search)) return labels_inside(search, strip);
  Labels all{search.labels, 0};
#pragma unroll
  for (int pair = 0; pair < wanted.pairs; ++pair)
    if (wanted.count[pair] != 0)
      all = joined(all, {wanted.first[pair], wanted.first[pair] + static_cast<int>(wanted.count[pair])});
#pragma unroll
  for (int step = lanes / 2; step > 0; step /= 2)
    all =
        joined(all, {__shfl_xor_sync(all_lanes, all.first, step), __shfl_xor_sync(all_lanes, all.end, step)});
  return all;
}

// A column of the base image, from the first row of the windows of the strip's first row on.
struct BaseColumn {
  uint32 of[window_rows][values];
};

__device__ const uint32* first_row(const CudaSearch& search, int side, const Strip& strip) {
  return search.level.signatures[side] + static_cast<int64>(strip.y - radius) * values * PITCH;
}

__device__ void load_base(const CudaSearch& search, const Strip& strip, BaseColumn& base) {
  const uint32* column = first_row(search, strip.side, strip) + clamped(strip.x - radius, search.level.width);
#pragma unroll
  for (int row = 0; row < window_rows; ++row)
#pragma unroll
    for (int i = 0; i < values; ++i) base.of[row][i] = column[(row * values + i) * PITCH];
}

__device__ __forceinline__ uint32 pixel_cost(const uint32 (&base)[values], const uint32* other) {
  uint32 cost;
  if constexpr (WORDS == 3) {
    // A full adder: the sum and carry of three words save one population count.
    const uint32 a = base[0] ^ other[0], b = base[1] ^ other[PITCH], c = base[2] ^ other[2 * PITCH];
    cost = __popc(a ^ b ^ c) + 2 * __popc((a & b) | (c & (a | b)));
  } else {
    cost = __popc(base[0] ^ other[0]);
#pragma unroll
    for (int i = 1; i < WORDS; ++i) cost += __popc(base[i] ^ other[i * PITCH]);
  }
  if constexpr (with_gray)
    cost += min(abs(static_cast<int>(base[WORDS]) - static_cast<int>(other[WORDS * PITCH])), AD_TRUNCATION);
  return cost;
}

// Sums over the columns of the windows, of which this lane's column is the first.
__device__ __forceinline__ uint32 sum_of_lanes(uint32 value) {
  uint32 sum = 0, span = value;  // `span` is the sum over `step` lanes
  int reach = 0;
#pragma unroll
  for (int step = 1; step <= WINDOW; step *= 2) {
    if ((WINDOW & step) != 0) {
      sum += reach == 0 ? span : __shfl_down_sync(all_lanes, span, reach);
      reach += step;
    }
    if (2 * step <= WINDOW) span += __shfl_down_sync(all_lanes, span, step);
  }
  return sum;
}

// Calls visitor.visit(row, label, key) for every pixel of a lane that may have the label, for the pairs of
// labels that this warp and the visitor handle.
template <class Visitor>
__device__ __forceinline__ void sweep(const CudaSearch& search, const Strip& strip, const Labels& labels,
                                      Visitor& visitor) {
  const int first = labels.first + 2 * threadIdx.y, step = 2 * blockDim.y;
  if (first >= labels.end) return;
  BaseColumn base;
  load_base(search, strip, base);
  const uint32* other = first_row(search, 1 - strip.side, strip);
  for (int label = first; label < labels.end; label += step) {
    if (!visitor.wants(label)) continue;
    const int column = other_column(search, strip, strip.x - radius, label);
    const uint32* low = other + clamped(column, search.level.width);
    const uint32* high = other + clamped(column - strip.step, search.level.width);
    const uint32 low_candidates = candidates(search, strip, label),
                 high_candidates = candidates(search, strip, label + 1);
    uint32 sum = 0, ring[WINDOW];
#pragma unroll
    for (int row = 0; row < window_rows; ++row) {
      const int offset = row * values * PITCH;
      const uint32 costs =
          pixel_cost(base.of[row], low + offset) + (pixel_cost(base.of[row], high + offset) << 16);
      if (row >= WINDOW) sum -= ring[row % WINDOW];
      sum += costs;
      ring[row % WINDOW] = costs;
      if (row < 2 * radius) continue;
      const uint32 sums = sum_of_lanes(sum);
      const int pixel = row - 2 * radius;
      if ((low_candidates >> pixel & 1) != 0) visitor.visit(pixel, label, __byte_perm(label, sums, 0x5410));
      if ((high_candidates >> pixel & 1) != 0)
        visitor.visit(pixel, label + 1, __byte_perm(label + 1, sums, 0x7610));
    }
  }
}

// The label of the lowest cost among those that a pixel wants.
struct Best {
  const Wanted& wanted;
  Key of[ROWS];

  __device__ explicit Best(const Wanted& labels) : wanted(labels) {
#pragma unroll
    for (int row = 0; row < ROWS; ++row) of[row] = no_key;
  }
  __device__ __forceinline__ bool wants(int) const {
    return true;
  }
  __device__ __forceinline__ void visit(int row, int label, Key key) {
    if (wanted.has(row, label)) of[row] = min(of[row], key);
  }
};

// A value per pixel of a strip, in shared memory.
template <class T>
using PerPixel = T[ROWS][lanes];

// Costs of the labels next to the best.
struct Beside {
  uint16 before, after;  // or no_cost
};

// A superset of the pairs of labels that are needed: one bit for each pair, folded.
class PairSet {
 public:
  __device__ void clear() {
    for (int i = threadIdx.y * lanes + threadIdx.x; i < words; i += lanes * blockDim.y) bits_[i] = 0;
  }
  // Called by whole warps, whose lanes often have the same pair; negative = none.
  __device__ void add(int pair) {
    const uint32 same = __match_any_sync(all_lanes, pair);
    if (pair >= 0 && static_cast<int>(threadIdx.x) == __ffs(same) - 1)
      atomicOr(&bits_[pair / 32 % words], 1u << pair % 32);
  }
  __device__ bool has(int pair) const { return (bits_[pair / 32 % words] >> pair % 32 & 1) != 0; }

 private:
  static constexpr int words = 32;
  uint32 bits_[words];
};

// The costs with which a strip's best costs are compared.
struct Compared {
  PerPixel<uint32> rivals;  // lowest costs of labels not next to the best
  PerPixel<Beside> beside;
  PairSet pairs;
};

// Finds these costs once the best label is known. Two rows share a register.
struct Others {
  const Wanted& wanted;
  Compared& compared;
  int first;  // label of the first pair
  bool needs_rivals;
  uint32 best[ROWS / 2];   // labels
  uint32 rival[ROWS / 2];  // costs

  __device__ static __forceinline__ int half(uint32 halves, int row) {
    return row % 2 == 0 ? halves & 0xFFFF : halves >> 16;
  }
  __device__ __forceinline__ bool wants(int label) const {
    return needs_rivals || compared.pairs.has((label - first) / 2);
  }
  __device__ __forceinline__ void visit(int row, int label, Key key) {
    const int difference = label - half(best[row / 2], row);
    if (SUB_PIXEL != 0 && difference == -1) compared.beside[row][threadIdx.x].before = cost_of(key);
    if (SUB_PIXEL != 0 && difference == 1) compared.beside[row][threadIdx.x].after = cost_of(key);
    const uint32 cost = row % 2 == 0 ? cost_of(key) | 0xFFFF0000u : key | 0xFFFFu;
    if (abs(difference) > 1 && wanted.has(row, label)) rival[row / 2] = __vminu2(rival[row / 2], cost);
  }
};

__device__ bool needs_rivals(const CudaSearch& search) {
  return UNIQUENESS > 0 || search.map.confidence != nullptr;
}

// The labels and their neighbours.
__device__ Labels labels_compared(const CudaSearch& search, const Labels& labels) {
  if (SUB_PIXEL == 0) return labels;
  return {max(labels.first - 1, 0), min(labels.end + 1, search.labels)};
}

__device__ void prepare_comparison(const Labels& labels, const PerPixel<Key>& best, Compared& compared) {
  compared.pairs.clear();
  __syncthreads();
  for (int row = threadIdx.y; row < ROWS; row += blockDim.y) {
    compared.rivals[row][threadIdx.x] = no_cost;
    compared.beside[row][threadIdx.x] = {no_cost, no_cost};
    const Key key = best[row][threadIdx.x];
    const int label = label_of(key) - labels.first;
    compared.pairs.add(key == no_key ? -1 : max(label - 1, 0) / 2);
    compared.pairs.add(key == no_key ? -1 : (label + 1) / 2);
  }
  __syncthreads();
}

__device__ void compare(const CudaSearch& search, const Strip& strip, const Wanted& wanted,
                        const Labels& searched, const PerPixel<Key>& best, Compared& compared) {
  const Labels labels = labels_compared(search, searched);
  prepare_comparison(labels, best, compared);
  Others others{wanted, compared, labels.first, needs_rivals(search), {}, {}};
#pragma unroll
  for (int row = 0; row < ROWS; row += 2) {
    others.best[row / 2] = label_of(best[row][threadIdx.x]) | label_of(best[row + 1][threadIdx.x]) << 16;
    others.rival[row / 2] = ~0u;
  }
  sweep(search, strip, labels, others);
#pragma unroll
  for (int row = 0; others.needs_rivals && row < ROWS; ++row)
    atomicMin(&compared.rivals[row][threadIdx.x],
              static_cast<uint32>(others.half(others.rival[row / 2], row)));
  __syncthreads();
}

__device__ bool is_ambiguous(uint32 best, uint32 rival) {
  return UNIQUENESS > 0 && rival != no_cost && rival <= best + best * UNIQUENESS / 100;
}

__device__ float refined(int disparity, uint32 best_cost, const Beside& beside) {
  const auto integer = static_cast<float>(disparity);
  const int before = beside.before, best = best_cost, after = beside.after;
  if (SUB_PIXEL == 0 || before == no_cost || after == no_cost || before < best || after < best ||
      (before == best && after == best))
    return integer;
  return integer + parallax::decision::sub_pixel_offset<SUB_PIXEL>(before, best, after);
}

__device__ void decide(const CudaSearch& search, const Strip& strip, int row, bool valid, Key best,
                       const Compared* compared) {
  const CudaMap& map = search.map;
  const int64 y = strip.y + row;
  const bool found = valid && best != no_key;
  const int disparity = search.lowest + label_of(best);
  if (strip.side != left_side) {
    map.right_disparity[y * map.right_stride + strip.x] = found ? static_cast<float>(disparity) : no_value;
    return;
  }
  const uint32 rival = compared != nullptr ? compared->rivals[row][threadIdx.x] : no_cost;
  const uint8 status = !valid                               ? input_masked
                       : !found                             ? out_of_range
                       : is_ambiguous(cost_of(best), rival) ? ambiguous
                                                            : matched;
  map.status[y * map.status_stride + strip.x] = status;
  float value = static_cast<float>(disparity);
  if (compared != nullptr) value = refined(disparity, cost_of(best), compared->beside[row][threadIdx.x]);
  map.disparity[y * map.disparity_stride + strip.x] = status == matched ? value : no_value;
  if (compared != nullptr && map.confidence != nullptr)
    map.confidence[y * map.confidence_stride + strip.x] =
        found ? parallax::decision::confidence(cost_of(best), rival != no_cost, rival) : 0;
}

// Finds the best label over all warps, in shared memory.
__device__ void find_best(const CudaSearch& search, const Strip& strip, const Wanted& wanted,
                          const Labels& labels, PerPixel<Key>& best) {
  for (int row = threadIdx.y; row < ROWS; row += blockDim.y) best[row][threadIdx.x] = no_key;
  __syncthreads();
  Best visitor(wanted);
  sweep(search, strip, labels, visitor);
#pragma unroll
  for (int row = 0; row < ROWS; ++row)
    if (visitor.of[row] != no_key) atomicMin(&best[row][threadIdx.x], visitor.of[row]);
  __syncthreads();
}

// Calls action(row, whether its pixel is valid) for this warp's share of the strip's pixels.
template <class Action>
__device__ void for_each_row(const CudaSearch& search, const Strip& strip, const Action& action) {
  if (!strip.exists) return;
  const uint32 valid = validity(search, strip.masked, strip.side, strip.x, strip.y);
  const int rows = min(ROWS, search.level.height - strip.y);
  for (int row = threadIdx.y; row < rows; row += blockDim.y) action(row, (valid >> row & 1) != 0);
}

template <bool compares>
__device__ __forceinline__ void make_map(const CudaSearch& search) {
  __shared__ PerPixel<Key> best;
  const Strip strip = find_strip(search);
  const Wanted wanted = find_wanted(search, strip);
  const Labels labels = labels_of(search, strip, wanted);
  find_best(search, strip, wanted, labels, best);
  if constexpr (compares) {
    __shared__ Compared compared;
    if (strip.side == left_side) compare(search, strip, wanted, labels, best, compared);
    for_each_row(search, strip, [&](int row, bool valid) {
      decide(search, strip, row, valid, best[row][threadIdx.x], &compared);
    });
  } else {
    for_each_row(search, strip, [&](int row, bool valid) {
      decide(search, strip, row, valid, best[row][threadIdx.x], nullptr);
    });
  }
}

}  // namespace

// Strips: grid.x = bands of rows, grid.y = strips of a band, grid.z = images; a block has a strip, with 32
// threads for each of its warps.

#if PYRAMID
// Searches a level above the image.
extern "C" __global__ void __launch_bounds__(256, BLOCKS)
    search_level(const __grid_constant__ CudaSearch search) {
  __shared__ PerPixel<Key> best;
  wait_for_previous();
  const Strip strip = find_strip(search);
  const Wanted wanted = find_wanted(search, strip);
  find_best(search, strip, wanted, labels_of(search, strip, wanted), best);
  for_each_row(search, strip, [&](int row, bool valid) {
    const Key key = best[row][threadIdx.x];
    search.level.disparities[strip.side][static_cast<int64>(strip.y + row) * PITCH + strip.x] =
        valid && key != no_key ? search.lowest + label_of(key) : no_disparity;
  });
}
#endif

#if UNIQUENESS == 0 && SUB_PIXEL == 0
// Searches the image if only the best label is wanted.
extern "C" __global__ void __launch_bounds__(256, BLOCKS)
    search_image(const __grid_constant__ CudaSearch search) {
  wait_for_previous();
  make_map<false>(search);
}
#endif

// Searches the image, and finds the costs with which the best cost is compared.
extern "C" __global__ void __launch_bounds__(256, BLOCKS)
    search_and_compare(const __grid_constant__ CudaSearch search) {
  wait_for_previous();
  make_map<true>(search);
}
