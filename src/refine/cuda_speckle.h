// SPDX-License-Identifier: Apache-2.0
// The speckle filter on CUDA: the same result as speckle.cpp.
//
// Disjoint sets of pixels, found by many threads at once (after Jaiganesh & Burtscher 2018):
// first in tiles, in shared memory, then across their borders. A pixel links to another of its set with a
// lower index, so that links never form a cycle; a root has no link.
#pragma once

#include "decision/cuda_values.h"
#include "refine/cuda_lanes.h"

using namespace parallax::decision;
using namespace parallax::refine;

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

// Links that other threads change meanwhile, in a block's shared memory or in the whole GPU's.
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

// The result may no longer be a root when it is used. Shortens links on the way: a pixel with a link always
// keeps one, and any link to a pixel nearer the root is correct.
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

// The mask of lanes whose pixel is not connected with that of the lane before.
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

// Makes a set of every run in a row of a tile.
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
