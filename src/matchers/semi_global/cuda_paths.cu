// SPDX-License-Identifier: Apache-2.0
// Semi-global matching on CUDA: path costs.
//
// Paths of a direction are independent chains of pixels. Chains that are not horizontal begin in each column
// of the first row; a diagonal chain that leaves the image on one side continues on the other as a new path,
// so all have as many pixels as the image has rows. LANES threads follow a chain, with the path costs of the
// last pixel in registers; a launch follows several directions.
//
// With MGM, pixels of a path depend on those beside it. A launch follows all directions by one front: a
// diagonal, row or column of pixels that do not depend on each other, once the previous fronts are done.
//
// Specialised by EDGES (0 = the same P2 everywhere), LARGE_JUMP (P2 without edges), SMALL_JUMP, AHEAD (pixels
// whose data costs are loaded before they are needed), TABLE_SIZE (of P2), BLOCK (threads); and by the macros
// of cuda_common.h.
#include "matchers/semi_global/cuda_common.h"

using namespace parallax::semi_global;
namespace cuda = parallax::cuda;

namespace {

// A pixel of a chain.
struct Position {
  uint32 word;    // index of the lane's costs in a volume
  int gray;       // index in the gray image
  int to_go;      // pixels until a diagonal path leaves the image
  bool is_first;  // whether a path begins here
};

// The steps of chains.
struct Way {
  int words, grays;            // to the next pixel
  int words_back, grays_back;  // to the other side of the image, where a diagonal path leaves it
  int width;

  template <bool is_diagonal>
  __device__ __forceinline__ void advance(Position& at) const {
    at.word += words;
    at.gray += grays;
    at.is_first = is_diagonal && --at.to_go == 0;
    if (!at.is_first) return;
    at.word -= words_back;
    at.gray -= grays_back;
    at.to_go = width;
  }
};

// Path costs of the last pixel of a chain, and the lowest of them, twice in a word.
struct State {
  Costs path;
  uint32 least;
};

// L of the next pixel, from its data costs. `large_jump`: P2, twice in a word; 0 where a path begins, because
// the last pixel then contributes nothing.
__device__ __forceinline__ Costs next(const State& last, const Costs& costs, uint32 large_jump) {
  constexpr uint32 nothing = 0x7FFF7FFFu, small_jump = SMALL_JUMP | SMALL_JUMP << 16;
  constexpr int first = 0, end = half_labels - 1;
  const int lane = lane_of_pixel();
  const uint32 below = __shfl_up_sync(all_lanes, last.path.of[end], 1, LANES),
               above = __shfl_down_sync(all_lanes, last.path.of[first], 1, LANES);
  // The label before each label of word 0, and the label after each label of the last word.
  const uint32 before = __byte_perm(lane > 0 ? below : nothing, last.path.of[end], 0x5432),
               after = __byte_perm(last.path.of[first], lane + 1 < LANES ? above : nothing, 0x5432);
  const uint32 capped = last.least + large_jump;
  Costs path;
#pragma unroll
  for (int k = 0; k < half_labels; ++k) {
    const uint32 aside =
        __vminu2(k > first ? last.path.of[k - 1] : before, k < end ? last.path.of[k + 1] : after);
    const uint32 brought = __vminu2(__viaddmin_u16x2(aside, small_jump, last.path.of[k]), capped);
    path.of[k] = brought - last.least + costs.of[k];
  }
  return path;
}

__device__ __forceinline__ uint32 min_of(const Costs& path) {
  uint32 least = __vminu2(path.of[0], path.of[1]);
#pragma unroll
  for (int k = 2; k < half_labels; k += 2) least = __vimin3_u16x2(least, path.of[k], path.of[k + 1]);
  least = over_lanes(least, [](uint32 a, uint32 b) { return __vminu2(a, b); });
  return __vminu2(least, __byte_perm(least, 0, 0x1032));
}

// A chain of pixels. Threads beyond the last chain repeat it, and do not store.
struct Chain {
  Way way;
  Position first;
  int length;
  bool inside;
  uint32* out;
};

// Data costs and gray values that the threads of a block load ahead, each for itself. A word has the gray
// values of two neighbours.
struct Ahead {
  Packed costs[AHEAD][BLOCK];
  uint32 grays[EDGES ? AHEAD : 1][BLOCK];
};

template <bool is_diagonal>
__device__ __forceinline__ void follow_chain(const uint32* volume_of_costs, const uint16* gray,
                                             const uint32* table, const Chain& chain, Ahead& ahead) {
  Position here = chain.first, next_copied = chain.first;
  const auto copy = [&](int i) {
    if (i < chain.length) {
      cuda::begin_copy(&ahead.costs[i % AHEAD][threadIdx.x], volume_of_costs + next_copied.word);
      const uint16* const two_grays = gray + (next_copied.gray & ~1);
      if constexpr (EDGES) begin_copy<4>(&ahead.grays[i % AHEAD][threadIdx.x], two_grays);
    }
    end_copies();
    chain.way.advance<is_diagonal>(next_copied);
  };
  for (int i = 0; i < AHEAD; ++i) copy(i);
  State state = {};
  int gray_before = 0;
#pragma unroll 8
  for (int i = 0; i < chain.length; ++i) {
    wait_for_copies<AHEAD - 1>();
    const Costs costs = unpack(ahead.costs[i % AHEAD][threadIdx.x]);
    uint32 jump = both(LARGE_JUMP);
    if constexpr (EDGES) {
      const int gray_here = ahead.grays[i % AHEAD][threadIdx.x] >> here.gray % 2 * 16 & 0xFFFF;
      jump = table[(abs(gray_here - gray_before) + 128) / 256];
      gray_before = gray_here;
    }
    copy(i + AHEAD);
    state.path = next(state, costs, here.is_first ? 0 : jump);
    state.least = min_of(state.path);
    if (chain.inside) cuda::store<cuda::Streaming>(pack(state.path), chain.out + here.word);
    chain.way.advance<is_diagonal>(here);
  }
}

// P2 by the difference in gray levels, twice in a word.
__device__ __forceinline__ void load_table(const CudaPaths& paths, uint32* table) {
  if constexpr (EDGES) {
    for (int i = threadIdx.x; i < TABLE_SIZE; i += BLOCK) table[i] = both(paths.large_jumps[i]);
    __syncthreads();
  }
}

// A block's path among those of a launch, and the block's number in it.
struct Task {
  int path;
  uint32 block;
};

__device__ __forceinline__ Task find_task(const CudaPaths& paths) {
  int path = 0;
  while (blockIdx.x >= paths.of[path].after) ++path;
  return {path, blockIdx.x - (path > 0 ? paths.of[path - 1].after : 0)};
}

__device__ __forceinline__ Chain find_chain(const CudaVolumes& volumes, const CudaPaths& paths,
                                            const Task& task) {
  const int step_x = paths.of[task.path].x, step_y = paths.of[task.path].y;
  const int width = volumes.width, height = volumes.height;
  const bool is_row = step_y == 0;
  const int chains = is_row ? height : width;
  const int index = static_cast<int>(task.block * (BLOCK / LANES) + threadIdx.x / LANES);
  const int shown = min(index, chains - 1);
  const int side = step_x > 0 ? 0 : width - 1, end = step_y > 0 ? 0 : height - 1;
  const int x = is_row ? side : shown, y = is_row ? shown : end;
  const Way way{(step_y * width + step_x) * pixel_words, step_y * paths.gray_stride + step_x,
                step_x * width * pixel_words, step_x * width, width};
  const Position first{static_cast<uint32>(y * width + x) * pixel_words + lane_of_pixel() * lane_words,
                       y * paths.gray_stride + x, step_x > 0 ? width - x : x + 1, true};
  return {way, first, is_row ? width : height, index < chains,
          volumes.paths + paths.of[task.path].volume * volumes.words};
}

}  // namespace

PARALLAX_KERNEL __launch_bounds__(BLOCK)
    follow(CudaVolumes volumes, const __grid_constant__ CudaPaths paths) {
  __shared__ uint32 table[TABLE_SIZE];
  __shared__ __align__(16) Ahead ahead;
  wait_for_previous();
  load_table(paths, table);
  const Task task = find_task(paths);
  const Chain chain = find_chain(volumes, paths, task);
  if (paths.of[task.path].x != 0 && paths.of[task.path].y != 0)
    follow_chain<true>(volumes.costs, paths.gray, table, chain, ahead);
  else
    follow_chain<false>(volumes.costs, paths.gray, table, chain, ahead);
}

// MGM

namespace {

// A pixel's contribution to the path costs of another one: T, or 0 if the pixel lies beyond the border.
// `step`: from there to here.
struct Step {
  int x, y;
};

struct Pixel {
  int x, y;
};

// Finds the pixel `index` of a front; false if it has fewer. `way`: the sum of both steps that lead to a
// pixel.
__device__ __forceinline__ bool find_in_front(const Step& way, int front, int index, int width, int height,
                                              Pixel& pixel) {
  int x = index, y = front;  // fronts are rows
  if (way.y == 0) {
    x = front, y = index;
  } else if (way.x != 0) {
    y = index + max(0, front - (width - 1));
    x = front - y;
  }
  pixel = {way.x < 0 ? width - 1 - x : x, way.y < 0 ? height - 1 - y : y};
  return x >= 0 && x < width && y >= 0 && y < height;
}

// T of the pixel a step before another one.
__device__ __forceinline__ Costs brought_by(const CudaPaths& paths, const uint32* path_costs,
                                            const uint32* table, const Pixel& here, const Step& step,
                                            int width, int height) {
  const int x = here.x - step.x, y = here.y - step.y;
  const bool is_inside = x >= 0 && x < width && y >= 0 && y < height;
  const int u = is_inside ? x : here.x, v = is_inside ? y : here.y;
  State state{unpack(load_lane(path_costs, static_cast<int64>(v) * width + u)), 0};
  set_padding(state.path, 0x7FFF);
  state.least = min_of(state.path);
  uint32 jump = both(LARGE_JUMP);
  if constexpr (EDGES) {
    const int64 stride = paths.gray_stride;
    jump = table[(abs(paths.gray[here.y * stride + here.x] - paths.gray[v * stride + u]) + 128) / 256];
  }
  return next(state, Costs{}, is_inside ? jump : 0);
}

}  // namespace

// Grid: blocks of a front, directions.
PARALLAX_KERNEL __launch_bounds__(BLOCK)
    follow_front(CudaVolumes volumes, const __grid_constant__ CudaPaths paths, int front) {
  __shared__ uint32 table[TABLE_SIZE];
  load_table(paths, table);
  const Step step{paths.of[blockIdx.y].x, paths.of[blockIdx.y].y}, turned{-step.y, step.x};
  const int width = volumes.width, height = volumes.height;
  Pixel here;
  const int index = static_cast<int>((blockIdx.x * BLOCK + threadIdx.x) / LANES);
  const bool is_there =
      find_in_front({step.x + turned.x, step.y + turned.y}, front, index, width, height, here);
  if (!is_there) here = {0, 0};
  uint32* const path_costs = volumes.paths + blockIdx.y * volumes.words;
  const int64 pixel = static_cast<int64>(here.y) * width + here.x;
  wait_for_previous();
  Costs costs = unpack(load_lane(volumes.costs, pixel));
  const Costs along = brought_by(paths, path_costs, table, here, step, width, height),
              beside = brought_by(paths, path_costs, table, here, turned, width, height);
#pragma unroll
  for (int k = 0; k < half_labels; ++k) costs.of[k] += __vavgu2(along.of[k], beside.of[k]);
  if (is_there) store_lane(pack(costs), path_costs, pixel);
}
