// SPDX-License-Identifier: Apache-2.0
// The steps of parallax/refine.h on CUDA: the same results as the functions beside this file.
//
// Specialised by WARPS per block.
#include "devices/cuda/kernel.h"
#include "devices/cuda/pair.h"
#include "refine/cuda_types.h"

using namespace parallax::refine;
using parallax::cuda::Image;

namespace {

constexpr int lanes = 32;
constexpr int block_threads = lanes * WARPS;
constexpr float no_value = __builtin_bit_cast(float, 0x7F800000u);

// Values of Status.
constexpr uint8 filled = 1, inconsistent = 3, speckle = 6, input_masked = 7;

__device__ __forceinline__ bool has_value(float disparity) {
  return disparity < no_value;
}

// The mask of the lanes up to and including this one.
__device__ __forceinline__ uint32 lanes_up_to(int lane) {
  return (2u << lane) - 1;
}

__device__ __forceinline__ int lowest_lane(uint32 set) {
  return __ffs(static_cast<int>(set)) - 1;
}

__device__ __forceinline__ int highest_lane(uint32 set) {
  return lanes - 1 - __clz(static_cast<int>(set));
}

}  // namespace

// One thread per pixel: grid.x = rows, grid.y = blocks of a row.
PARALLAX_KERNEL check_left_right(float* disparity, int64 stride, uint8* status, int64 status_stride,
                                 const float* right, int64 right_stride, int width, float tolerance) {
  wait_for_previous();
  const int x = blockIdx.y * blockDim.x + threadIdx.x;
  const int64 y = blockIdx.x;
  if (x >= width) return;
  const float here = disparity[y * stride + x];
  if (!has_value(here)) return;
  const float column = static_cast<float>(x) - ceilf(here - 0.5f);
  if (column >= 0.0f && column < static_cast<float>(width) &&
      fabsf(right[y * right_stride + static_cast<int>(column)] - here) <= tolerance)
    return;
  disparity[y * stride + x] = no_value;
  status[y * status_stride + x] = inconsistent;
}

// Speckle filter. Many threads at once find disjoint sets of pixels (after Jaiganesh & Burtscher 2018): first
// in tiles, in shared memory, then across the tiles' borders. A pixel links to another of its set with a
// lower index, so that links never form a cycle; a root has no link.

namespace {

constexpr int tile_size = lanes;
constexpr int no_link = -1;

__device__ __forceinline__ bool connected(float a, float b, float range) {
  return has_value(a) && has_value(b) && fabsf(a - b) <= range;
}

__device__ __forceinline__ int root_of(const int* links, int pixel) {
  for (int next = links[pixel]; next != no_link; next = links[pixel]) pixel = next;
  return pixel;
}

// Links that other threads change meanwhile, in a block's shared memory or in global memory.
struct SharedLinks {
  int* links;
  __device__ __forceinline__ int at(int pixel) const { return atomicOr(links + pixel, 0); }
  __device__ __forceinline__ void set(int pixel, int link) const { atomicExch(links + pixel, link); }
};
struct GlobalLinks {
  volatile int* links;
  __device__ __forceinline__ int at(int pixel) const { return links[pixel]; }
  __device__ __forceinline__ void set(int pixel, int link) const { links[pixel] = link; }
};

// Finds a pixel's root, which may no longer be a root when it is used. Shortens links on the way: a pixel
// with a link always keeps one, and any link to a pixel nearer the root is correct.
template <class Links>
__device__ __forceinline__ int find_root(const Links& links, int pixel) {
  for (int next = links.at(pixel); next != no_link;) {
    const int after = links.at(next);
    if (after != no_link) links.set(pixel, after);
    pixel = next;
    next = after;
  }
  return pixel;
}

template <class Links>
__device__ __forceinline__ void join(int* memory, int a, int b) {
  const Links links{memory};
  for (;;) {
    a = find_root(links, a);
    b = find_root(links, b);
    if (a == b) return;
    const int low = min(a, b), high = max(a, b);
    const int found = atomicCAS(&memory[high], no_link, low);
    if (found == no_link) return;
    a = found;
    b = low;
  }
}

// If two consecutive pixels on each side belong to one set, joining both pairs would join the same sets
// twice.
__device__ __forceinline__ bool joins_first(uint32 joins, uint32 starts, uint32 other_starts, int lane) {
  const uint32 repeated = joins << 1 & ~starts & ~other_starts;
  return (joins & ~repeated) >> lane & 1;
}

// The mask of the lanes whose pixel is not connected with the previous lane's pixel.
__device__ __forceinline__ uint32 find_starts(float value, float range, int lane) {
  const float before = __shfl_up_sync(all_lanes, value, 1);
  return __ballot_sync(all_lanes, lane == 0 || !connected(before, value, range));
}

// One warp per row.
template <class Body>
__device__ __forceinline__ void for_rows_of_tile(const Body& body) {
  static_assert(tile_size % WARPS == 0);
#pragma unroll
  for (int first = 0; first < tile_size; first += WARPS) body(first + static_cast<int>(threadIdx.y));
}

struct Tile {
  float values[tile_size][tile_size];
  uint32 starts[tile_size];  // a bit for each pixel that is not connected with the one to its left
  int links[tile_size * tile_size], sizes[tile_size * tile_size];
};

// Makes a set of each run in a row of a tile.
__device__ __forceinline__ void find_runs(Tile& tile, int row, int lane, float value, float range) {
  const uint32 starts = find_starts(value, range, lane);
  const int start = highest_lane(starts & lanes_up_to(lane));
  const int pixel = row * tile_size + lane;
  tile.values[row][lane] = value;
  if (lane == 0) tile.starts[row] = starts;
  tile.links[pixel] = start == lane ? no_link : row * tile_size + start;
  tile.sizes[pixel] = 0;
}

__device__ __forceinline__ void join_with_row_above(Tile& tile, int row, int lane, float range) {
  const bool joins = connected(tile.values[row - 1][lane], tile.values[row][lane], range);
  const int pixel = row * tile_size + lane;
  if (joins_first(__ballot_sync(all_lanes, joins), tile.starts[row - 1], tile.starts[row], lane))
    join<SharedLinks>(tile.links, pixel - tile_size, pixel);
}

// Adds a run to the size of its set, in the thread of the run's first pixel.
__device__ __forceinline__ void add_run(Tile& tile, int row, int lane, int root) {
  const uint32 starts = tile.starts[row];
  if ((starts >> lane & 1) == 0) return;
  const uint32 later = starts & ~lanes_up_to(lane);
  atomicAdd(&tile.sizes[root], (later == 0 ? lanes : lowest_lane(later)) - lane);
}

}  // namespace

// Finds the sets of each tile, and their sizes, stored at roots (0 elsewhere). One block per tile: grid.x =
// rows of tiles, grid.y = tiles of a row.
PARALLAX_KERNEL __launch_bounds__(block_threads)
    label_tiles(const float* disparity, int64 stride, int width, int height, float range, int* links,
                int* sizes) {
  wait_for_previous();
  __shared__ Tile tile;
  const int lane = threadIdx.x, left = blockIdx.y * tile_size, top = blockIdx.x * tile_size, x = left + lane;
  const auto inside = [&](int row) { return x < width && top + row < height; };
  for_rows_of_tile([&](int row) {
    const float value = inside(row) ? disparity[static_cast<int64>(top + row) * stride + x] : no_value;
    find_runs(tile, row, lane, value, range);
  });
  __syncthreads();
  for_rows_of_tile([&](int row) {
    if (row > 0) join_with_row_above(tile, row, lane, range);
  });
  __syncthreads();
  for_rows_of_tile([&](int row) {
    const int pixel = row * tile_size + lane, root = root_of(tile.links, pixel);
    add_run(tile, row, lane, root);
    if (inside(row))
      links[(top + row) * width + x] =
          root == pixel ? no_link : (top + root / tile_size) * width + left + root % tile_size;
  });
  __syncthreads();
  for_rows_of_tile([&](int row) {
    if (inside(row)) sizes[(top + row) * width + x] = tile.sizes[row * tile_size + lane];
  });
}

// Joins each tile's sets with those of the tiles above and to the left of it. Blocks as in label_tiles, of
// two warps, one for each of the two borders.
PARALLAX_KERNEL __launch_bounds__(2 * lanes)
    join_tiles(const float* disparity, int64 stride, int width, int height, float range, int* links) {
  wait_for_previous();
  const int lane = threadIdx.x, left = blockIdx.y * tile_size, top = blockIdx.x * tile_size;
  const bool above = threadIdx.y == 0;
  const int x = above ? left + lane : left, y = above ? top : top + lane;
  const int other_x = above ? x : x - 1, other_y = above ? y - 1 : y;
  const bool inside = x < width && y < height && other_x >= 0 && other_y >= 0;
  const float value = inside ? disparity[static_cast<int64>(y) * stride + x] : no_value;
  const float other = inside ? disparity[static_cast<int64>(other_y) * stride + other_x] : no_value;
  const uint32 joins = __ballot_sync(all_lanes, connected(other, value, range));
  if (joins_first(joins, find_starts(value, range, lane), find_starts(other, range, lane), lane))
    join<GlobalLinks>(links, other_y * width + other_x, y * width + x);
}

// Adds the sizes of the tiles' roots to those of the final roots. One thread per pixel.
PARALLAX_KERNEL add_sizes(int* links, int* sizes, uint32 pixels) {
  wait_for_previous();
  const uint32 pixel = blockIdx.x * blockDim.x + threadIdx.x;
  if (pixel >= pixels || sizes[pixel] == 0 || links[pixel] == no_link) return;
  const int root = find_root(GlobalLinks{links}, static_cast<int>(pixel));
  atomicAdd(&sizes[root], sizes[pixel]);
  // Shortens later searches.
  links[pixel] = root;
}

// One thread per pixel: grid.x = rows, grid.y = blocks of a row.
PARALLAX_KERNEL remove_speckles(float* disparity, int64 stride, uint8* status, int64 status_stride,
                                const int* links, const int* sizes, int width, int size) {
  wait_for_previous();
  const int x = blockIdx.y * blockDim.x + threadIdx.x, y = blockIdx.x;
  if (x >= width) return;
  float& here = disparity[y * stride + x];
  if (!has_value(here) || sizes[root_of(links, y * width + x)] >= size) return;
  here = no_value;
  status[y * status_stride + x] = speckle;
}

namespace {

// The first value in columns [first, end) of a row; infinite if there is none. Called by a full warp.
__device__ __forceinline__ float first_value(const float* row, int first, int end, int lane) {
  for (; first < end; first += lanes) {
    const float value = first + lane < end ? row[first + lane] : no_value;
    const uint32 found = __ballot_sync(all_lanes, has_value(value));
    if (found != 0) return __shfl_sync(all_lanes, value, lowest_lane(found));
  }
  return no_value;
}

__device__ __forceinline__ float last_value(const float* row, int first, int end, int lane) {
  for (; first < end; end -= lanes) {
    const int x = end - lanes + lane;
    const float value = x >= first ? row[x] : no_value;
    const uint32 found = __ballot_sync(all_lanes, has_value(value));
    if (found != 0) return __shfl_sync(all_lanes, value, highest_lane(found));
  }
  return no_value;
}

// The value of the lane that `pick` selects from `among`; `otherwise` if there are none.
template <class Pick>
__device__ __forceinline__ float pick_value(float value, uint32 among, float otherwise, const Pick& pick) {
  const float picked = __shfl_sync(all_lanes, value, among != 0 ? pick(among) : 0);
  return among != 0 ? picked : otherwise;
}

}  // namespace

// One block per row; each warp has a part of it. `to` may be `from`: a warp reads only its own part of a row,
// and none of what it has already filled.
PARALLAX_KERNEL __launch_bounds__(block_threads)
    fill_row(const float* from, int64 stride, float* to, int64 to_stride, uint8* status, int64 status_stride,
             int width) {
  wait_for_previous();
  __shared__ float first[WARPS], last[WARPS];
  const int64 y = blockIdx.x;
  const int warp = threadIdx.x / lanes, lane = threadIdx.x % lanes;
  const int part = (width + block_threads - 1) / block_threads * lanes;
  const int begin = min(warp * part, width), end = min(begin + part, width);
  const float* row = from + y * stride;
  first[warp] = first_value(row, begin, end, lane);
  last[warp] = last_value(row, begin, end, lane);
  __syncthreads();
  float before = no_value, beyond = no_value, after = no_value;
  for (int other = 0; other < warp; ++other)
    if (has_value(last[other])) before = last[other];
  for (int other = WARPS - 1; other > warp; --other)
    if (has_value(first[other])) beyond = first[other];
  for (int start = begin; start < end; start += lanes) {
    const int x = start + lane;
    const float value = x < end ? row[x] : no_value;
    const uint8 mark = x < end ? status[y * status_stride + x] : input_masked;
    const uint32 found = __ballot_sync(all_lanes, has_value(value));
    if (found != 0 || start == begin) {
      after = first_value(row, start + lanes, end, lane);
      if (!has_value(after)) after = beyond;
    }
    const float left = pick_value(value, found & lanes_up_to(lane), before, highest_lane);
    const float right = pick_value(value, found & ~lanes_up_to(lane), after, lowest_lane);
    const float lower = right < left ? right : left;
    const bool fills = !has_value(value) && has_value(lower) && mark != input_masked;
    if (x < end) to[y * to_stride + x] = fills ? lower : value;
    if (fills) status[y * status_stride + x] = filled;
    before = pick_value(value, found, before, highest_lane);
  }
}

// One thread per pixel: grid.x = rows, grid.y = blocks of a row.
PARALLAX_KERNEL copy_disparity(const float* from, int64 stride, float* to, int64 to_stride, int width) {
  wait_for_previous();
  const int x = blockIdx.y * blockDim.x + threadIdx.x;
  const int64 y = blockIdx.x;
  if (x < width) to[y * to_stride + x] = from[y * stride + x];
}

// The guide, and the colours for superpixels.

namespace {

template <class Value>
__device__ __forceinline__ void take_pixel(const Image& image, int x, int y, uint8& gray, uint32& colour) {
  const Value* row =
      reinterpret_cast<const Value*>(static_cast<const char*>(image.data) + y * image.stride_bytes);
  const Value* pixel = row + static_cast<int64>(x) * image.channels;
  constexpr int dropped_bits = 8 * sizeof(Value) - 8;
  const bool is_gray = image.channels == 1;
  const uint32 red = pixel[0], green = is_gray ? red : pixel[1], blue = is_gray ? red : pixel[2];
  gray = (is_gray ? red : (9797u * red + 19234u * green + 3737u * blue) >> 15) >> dropped_bits;
  colour = red >> dropped_bits | green >> dropped_bits << 8 | blue >> dropped_bits << 16;
}

}  // namespace

// `colours` may be null. One thread per pixel: grid.x = rows, grid.y = blocks of a row.
PARALLAX_KERNEL take_guide(Image image, int width, uint8* guide, int stride, uint32* colours,
                           int colour_stride) {
  wait_for_previous();
  const int x = blockIdx.y * blockDim.x + threadIdx.x;
  const int64 y = blockIdx.x;
  if (x >= width) return;
  uint8 gray;
  uint32 colour;
  if (image.bits == 16)
    take_pixel<uint16>(image, x, y, gray, colour);
  else
    take_pixel<uint8>(image, x, y, gray, colour);
  guide[y * stride + x] = gray;
  if (colours != nullptr) colours[y * colour_stride + x] = colour;
}

// Fill in directions.

namespace {

struct Candidate {
  float weight, value;
};

// `step` and `guide_step` lead from one pixel to the next.
struct Direction {
  int64 step, guide_step;
  int reach;
};

__device__ __forceinline__ Direction direction_from(const CudaFill& fill, int x, int y, int direction) {
  switch (direction) {
    case 0:
      return {-fill.stride, -fill.guide_stride, min(y, fill.reach)};
    case 1:
      return {fill.stride, fill.guide_stride, min(fill.height - 1 - y, fill.reach)};
    case 2:
      return {-1, -1, x};
    default:
      return {1, 1, fill.width - 1 - x};
  }
}

// The first value in a direction. Reads several pixels at once to hide the latency of loads.
__device__ __forceinline__ Candidate first_in(const float* from, const uint8* guide,
                                              const Direction& direction) {
  constexpr int together = 8;
  const int level = *guide;
  int difference = 0;
  for (int passed = 0; passed < direction.reach; passed += together) {
    float values[together];
    int levels[together];
#pragma unroll
    for (int i = 0; i < together; ++i) {
      // Clamped: meeting the last pixel again changes nothing.
      const int distance = min(passed + i + 1, direction.reach);
      values[i] = from[distance * direction.step];
      levels[i] = guide[distance * direction.guide_step];
    }
#pragma unroll
    for (int i = 0; i < together; ++i) {
      difference = max(difference, abs(levels[i] - level));
      if (has_value(values[i]))
        return {values[i] + 0.5f * static_cast<float>(difference + passed + i + 1), values[i]};
    }
  }
  return {no_value, no_value};
}

}  // namespace

// One thread per pixel: grid.x = rows, grid.y = blocks of a row. A block's threads share the directions of
// its pixels without a value.
PARALLAX_KERNEL __launch_bounds__(block_threads) fill_directions(const __grid_constant__ CudaFill fill) {
  wait_for_previous();
  constexpr int directions = 4;
  __shared__ int empty, columns[block_threads];
  __shared__ Candidate candidates[directions][block_threads];
  const int first = blockIdx.y * blockDim.x, x = first + threadIdx.x, y = blockIdx.x;
  const bool is_inside = x < fill.width;
  const float* from = fill.from + y * fill.stride;
  uint8* status = fill.status + y * fill.status_stride;
  float* to = fill.to + y * fill.to_stride;
  const float here = is_inside ? from[x] : 0.0f;
  if (threadIdx.x == 0) empty = 0;
  __syncthreads();
  if (!has_value(here) && status[x] != input_masked)
    columns[atomicAdd(&empty, 1)] = x;
  else if (is_inside)
    to[x] = here;
  __syncthreads();
  const uint8* guide = fill.guide + static_cast<int64>(y) * fill.guide_stride;
  for (int i = threadIdx.x; i < directions * empty; i += block_threads) {
    const int direction = i / empty, pixel = i % empty, column = columns[pixel];
    candidates[direction][pixel] =
        first_in(from + column, guide + column, direction_from(fill, column, y, direction));
  }
  __syncthreads();
  if (threadIdx.x >= empty) return;
  Candidate best{no_value, no_value};
  for (int direction = 0; direction < directions; ++direction) {
    const Candidate& candidate = candidates[direction][threadIdx.x];
    if (candidate.weight < best.weight) best = candidate;
  }
  const int column = columns[threadIdx.x];
  to[column] = best.value;
  if (has_value(best.value)) status[column] = filled;
}

// Median. A thread has two pixels, one above the other, whose windows share all rows except one each.

namespace {

constexpr int pixels_of_thread = 2;

__device__ __forceinline__ void exchange(float& low, float& high) {
  const float lower = fminf(low, high);
  high = fmaxf(low, high);
  low = lower;
}

// Moves the smallest of `count` values to the front and the largest to the back.
template <int count>
__device__ __forceinline__ void move_extremes_out(float* values) {
  constexpr int half = count / 2;
#pragma unroll
  for (int i = 0; i < half; ++i) exchange(values[i], values[count - 1 - i]);
#pragma unroll
  for (int i = 1; i < half; ++i) {
    exchange(values[0], values[i]);
    exchange(values[count - 1 - i], values[count - 1]);
  }
  if constexpr (count % 2 == 1 && count > 1) {
    exchange(values[0], values[half]);
    exchange(values[half], values[count - 1]);
  }
}

// Forgetful selection, as in median.cpp: drops both extremes of `count` values and takes in the next value at
// the front, until all values [brought, all) have been taken in and the extremes dropped.
template <int count, int brought, int all, class Value>
__device__ __forceinline__ void forget_extremes(float* values, const Value& value) {
  move_extremes_out<count>(values);
  if constexpr (brought < all) {
    values[0] = value(brought);
    forget_extremes<count - 1, brought + 1, all>(values, value);
  }
}

struct Medians {
  float of[pixels_of_thread];
};

// `value(row, column)` is in the upper pixel's window or in the row below it.
template <int window, class Value>
__device__ __forceinline__ Medians find_medians(const Value& value) {
  constexpr int shared = window * (window - 1);
  constexpr int in_play = window * window / 2 + 2;
  constexpr int in_play_at_last = in_play - (shared - in_play) - 1;
  const auto shared_value = [&](int i) { return value(1 + i / window, i % window); };
  float values[in_play];
#pragma unroll
  for (int i = 0; i < in_play; ++i) values[i] = shared_value(i);
  forget_extremes<in_play, in_play, shared>(values, shared_value);
  Medians medians;
#pragma unroll
  for (int pixel = 0; pixel < pixels_of_thread; ++pixel) {
    const auto own_value = [&](int i) { return value(pixel * window, i); };
    float own[in_play_at_last];
#pragma unroll
    for (int i = 1; i < in_play_at_last; ++i) own[i] = values[i];
    own[0] = own_value(0);
    forget_extremes<in_play_at_last, 1, window>(own, own_value);
    medians.of[pixel] = own[1];
  }
  return medians;
}

template <int window>
struct MedianTile {
  static constexpr int radius = window / 2;
  static constexpr int width = lanes + 2 * radius, height = pixels_of_thread * WARPS + 2 * radius;
  float values[height][width];
};

// Pixels outside the map have no value. Returns, to every thread of the block, whether any pixel has none.
template <int window>
__device__ __forceinline__ bool load(MedianTile<window>& tile, const float* from, int64 stride, int width,
                                     int height) {
  const int left = static_cast<int>(blockIdx.y) * lanes - tile.radius;
  const int top = static_cast<int>(blockIdx.x) * pixels_of_thread * WARPS - tile.radius;
  bool all_have_values = true;
  for (int i = threadIdx.y * lanes + threadIdx.x; i < tile.height * tile.width; i += block_threads) {
    const int row = i / tile.width, column = i % tile.width, x = left + column, y = top + row;
    const bool inside = x >= 0 && x < width && y >= 0 && y < height;
    const float value = inside ? from[static_cast<int64>(y) * stride + x] : no_value;
    all_have_values = all_have_values && has_value(value);
    tile.values[row][column] = has_value(value) ? value : no_value;
  }
  return __syncthreads_or(!all_have_values) != 0;
}

// A neighbour without a value counts as the pixel itself. The median is therefore at most that with infinite
// values there, at least that with minus infinite ones, and the pixel itself if that lies between.
template <int window>
__device__ __forceinline__ void filter(const float* from, int64 stride, float* to, int64 to_stride, int width,
                                       int height) {
  __shared__ MedianTile<window> tile;
  const bool some_without_value = load(tile, from, stride, width, height);
  const int first_row = threadIdx.y * pixels_of_thread;
  const auto value = [&](int row, int column) { return tile.values[first_row + row][threadIdx.x + column]; };
  const Medians most = find_medians<window>(value);
  Medians least = most;
  if (some_without_value)
    least = find_medians<window>([&](int row, int column) {
      const float neighbour = value(row, column);
      return has_value(neighbour) ? neighbour : -no_value;
    });
  const int x = blockIdx.y * lanes + threadIdx.x;
  const int64 y = static_cast<int64>(blockIdx.x) * pixels_of_thread * WARPS + first_row;
  for (int pixel = 0; pixel < pixels_of_thread; ++pixel) {
    const float here = value(pixel + tile.radius, tile.radius);
    if (has_value(here))
      to[(y + pixel) * to_stride + x] = fmaxf(least.of[pixel], fminf(here, most.of[pixel]));
  }
}

}  // namespace

// `to` already holds the results of pixels without a value. A block has lanes · 2 WARPS pixels: grid.x = rows
// of blocks, grid.y = blocks of a row.
PARALLAX_KERNEL __launch_bounds__(block_threads)
    median_3(const float* from, int64 stride, float* to, int64 to_stride, int width, int height) {
  wait_for_previous();
  filter<3>(from, stride, to, to_stride, width, height);
}

PARALLAX_KERNEL __launch_bounds__(block_threads)
    median_5(const float* from, int64 stride, float* to, int64 to_stride, int width, int height) {
  wait_for_previous();
  filter<5>(from, stride, to, to_stride, width, height);
}
