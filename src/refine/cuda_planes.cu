// SPDX-License-Identifier: Apache-2.0
// The fill with planes on CUDA: the same results as fill_planes.cpp. A block has a cell, and gathers its
// inputs from the nine cells around it.
//
// Specialised by WARPS per block, and plane_definitions().
#include "decision/cuda_values.h"
#include "devices/cuda/kernel.h"
#include "devices/cuda/pair.h"
#include "refine/cuda_lanes.h"
#include "refine/cuda_types.h"

using namespace parallax::decision;
using namespace parallax::refine;
using parallax::cuda::Image;

namespace {

constexpr int cell_samples = CELL_SIDE / SAMPLE_STEP;
// A thread has one sample of the cell.
constexpr int samples_of_cell = cell_samples * cell_samples;
static_assert(samples_of_cell == block_threads);
constexpr int cells_around = 9;
constexpr int own_cell = 4, outside = 255;  // see planes.h
constexpr int no_sample = 0x7FFFFFFF;

// The integer nearest a/b, ties away from 0; b > 0. A quotient of doubles is faster, and exact below 2^53:
// its rounding cannot reach the next integer.
__device__ __forceinline__ int64 nearest_integer(int64 a, int64 b) {
  const int64 dividend = (a < 0 ? -a : a) + b / 2;
  const int64 quotient = dividend < 1ll << 53
                             ? static_cast<int64>(static_cast<double>(dividend) / static_cast<double>(b))
                             : dividend / b;
  return a < 0 ? -quotient : quotient;
}

// A cell of the image. `place` is its index, row by row.
struct Cell {
  int x, y, place;
  bool is_inside;
};

__device__ __forceinline__ Cell cell_at(const CudaPlaneFill& fill, int x, int y) {
  return {x, y, y * fill.cells_across + x, x >= 0 && x < fill.cells_across && y >= 0 && y < fill.cells_down};
}

// Cell number `index` of the nine around a cell.
__device__ __forceinline__ Cell neighbour(const CudaPlaneFill& fill, int x, int y, int index) {
  return cell_at(fill, x + index % 3 - 1, y + index / 3 - 1);
}

__device__ __forceinline__ Cell own(const CudaPlaneFill& fill) {
  return cell_at(fill, blockIdx.y, blockIdx.x);
}

// A pixel of the image, and its colour.
struct Pixel {
  int x, y;
  bool is_inside;
  int red, green, blue;
};

__device__ __forceinline__ Pixel pixel_at(const CudaPlaneFill& fill, int x, int y) {
  Pixel pixel{x, y, x < fill.width && y < fill.height, 0, 0, 0};
  if (!pixel.is_inside) return pixel;
  const uint32 colour = fill.colours[static_cast<int64>(y) * fill.colour_stride + x];
  pixel.red = colour & 255;
  pixel.green = colour >> 8 & 255;
  pixel.blue = colour >> 16;
  return pixel;
}

// Sample number `index` of a cell.
__device__ __forceinline__ Pixel sample_at(const CudaPlaneFill& fill, const Cell& cell, int index) {
  return pixel_at(fill, cell.x * CELL_SIDE + index % cell_samples * SAMPLE_STEP,
                  cell.y * CELL_SIDE + index / cell_samples * SAMPLE_STEP);
}

__device__ __forceinline__ uint8& joined_by(const CudaPlaneFill& fill, const Cell& cell, int index) {
  return fill.joined[static_cast<int64>(cell.place) * samples_of_cell + index];
}

__device__ __forceinline__ int square(int value) {
  return value * value;
}

__device__ __forceinline__ int distance(const Pixel& pixel, const CudaSuperpixel& superpixel) {
  const int colour = square(pixel.red - superpixel.red) + square(pixel.green - superpixel.green) +
                     square(pixel.blue - superpixel.blue);
  return COLOUR_WEIGHT * colour + square(pixel.x - superpixel.x) + square(pixel.y - superpixel.y);
}

// Calls each(superpixel, index, is_inside) for the superpixels of the nine cells around that of a pixel. What
// lies outside of the image is replaced by any other, because loads without branches are on their way at
// once.
template <class Each>
__device__ __forceinline__ void for_superpixels_around(const CudaPlaneFill& fill, const Pixel& pixel,
                                                       const Each& each) {
#pragma unroll
  for (int index = 0; index < cells_around; ++index) {
    const Cell cell = neighbour(fill, pixel.x / CELL_SIDE, pixel.y / CELL_SIDE, index);
    each(fill.superpixels[cell.is_inside ? cell.place : 0], index, cell.is_inside);
  }
}

// The nearest of the superpixels that a pixel is offered, as an index of the nine cells; ties go to the
// first.
struct Nearest {
  int distance, index = -1;

  __device__ __forceinline__ void offer(int offered, int of, bool exists) {
    const bool is_nearer = exists & (offered < distance);
    distance = is_nearer ? offered : distance;
    index = is_nearer ? of : index;
  }
};

struct Sum {
  static __device__ __forceinline__ int of(int a, int b) { return a + b; }
};

struct Least {
  static __device__ __forceinline__ int of(int a, int b) { return min(a, b); }
};

template <class Combined>
__device__ __forceinline__ int combined_in_warp(int value) {
  for (int step = lanes / 2; step > 0; step /= 2)
    value = Combined::of(value, __shfl_xor_sync(all_lanes, value, step));
  return value;
}

#if __CUDA_ARCH__ >= 800
template <>
__device__ __forceinline__ int combined_in_warp<Sum>(int value) {
  return __reduce_add_sync(all_lanes, value);
}
#endif

// Combines each term over all threads of the block, for the threads of the first warp.
template <class Combined, int terms>
__device__ __forceinline__ void combine(int (&term)[terms]) {
  __shared__ __align__(16) int of_warps[terms][WARPS];
  const int warp = threadIdx.x / lanes;
#pragma unroll
  for (int i = 0; i < terms; ++i) term[i] = combined_in_warp<Combined>(term[i]);
  __syncthreads();  // the first warp has read the previous terms
  if (threadIdx.x % lanes == 0)
    for (int i = 0; i < terms; ++i) of_warps[i][warp] = term[i];
  __syncthreads();
  if (warp != 0) return;
#pragma unroll
  for (int i = 0; i < terms; ++i) {
    term[i] = of_warps[i][0];
    for (int other = 1; other < WARPS; ++other) term[i] = Combined::of(term[i], of_warps[i][other]);
  }
}

// Sums over samples: their number, colours, and positions relative to the first position that the superpixel
// can have.
struct MemberSums {
  int term[6] = {};

  __device__ __forceinline__ void add(const Pixel& pixel, const Cell& cell) {
    const int terms[] = {1,
                         pixel.x - (cell.x - 1) * CELL_SIDE,
                         pixel.y - (cell.y - 1) * CELL_SIDE,
                         pixel.red,
                         pixel.green,
                         pixel.blue};
#pragma unroll
    for (int i = 0; i < 6; ++i) term[i] += terms[i];
  }
  __device__ __forceinline__ int mean(int i) const {
    return static_cast<int>((static_cast<uint32>(term[i]) + term[0] / 2) / term[0]);
  }
};

// Moves the centre of a cell's superpixel to the mean of its samples. Without any, it stays where it is.
__device__ __forceinline__ void move_centre(const CudaPlaneFill& fill, const Cell& cell, MemberSums& sums) {
  combine<Sum>(sums.term);
  if (threadIdx.x != 0 || sums.term[0] == 0) return;
  CudaSuperpixel& superpixel = fill.superpixels[cell.place];
  superpixel.x = (cell.x - 1) * CELL_SIDE + sums.mean(1);
  superpixel.y = (cell.y - 1) * CELL_SIDE + sums.mean(2);
  superpixel.red = sums.mean(3);
  superpixel.green = sums.mean(4);
  superpixel.blue = sums.mean(5);
}

// Calls each(sample) for this thread's sample of each of the nine cells, if it belongs to the superpixel of
// the cell in the middle.
template <class Each>
__device__ __forceinline__ void for_members(const CudaPlaneFill& fill, const Cell& cell, const Each& each) {
  uint32 belong = 0;
#pragma unroll
  for (int index = 0; index < cells_around; ++index) {
    const Cell there = neighbour(fill, cell.x, cell.y, index);
    // Seen from the other cell, this cell lies on the opposite side.
    if (there.is_inside && joined_by(fill, there, threadIdx.x) == cells_around - 1 - index)
      belong |= 1u << index;
  }
  for (; belong != 0; belong &= belong - 1) {
    const int index = __ffs(static_cast<int>(belong)) - 1;
    each(sample_at(fill, neighbour(fill, cell.x, cell.y, index), threadIdx.x));
  }
}

}  // namespace

// Every sample belongs to the superpixel of its own cell. One block per cell, here and below: grid.x = rows
// of cells, grid.y = cells of a row.
PARALLAX_KERNEL __launch_bounds__(block_threads)
    begin_superpixels(const __grid_constant__ CudaPlaneFill fill) {
  wait_for_previous();
  const Cell cell = own(fill);
  const Pixel sample = sample_at(fill, cell, threadIdx.x);
  joined_by(fill, cell, threadIdx.x) = sample.is_inside ? own_cell : outside;
  MemberSums sums;
  if (sample.is_inside) sums.add(sample, cell);
  move_centre(fill, cell, sums);
}

PARALLAX_KERNEL __launch_bounds__(block_threads) join_nearest(const __grid_constant__ CudaPlaneFill fill) {
  wait_for_previous();
  const Cell cell = own(fill);
  const Pixel sample = sample_at(fill, cell, threadIdx.x);
  if (!sample.is_inside) return;
  Nearest nearest{0x7FFFFFFF};
  for_superpixels_around(fill, sample, [&](const CudaSuperpixel& superpixel, int index, bool is_inside) {
    nearest.offer(distance(sample, superpixel), index, is_inside);
  });
  joined_by(fill, cell, threadIdx.x) = nearest.index;
}

PARALLAX_KERNEL __launch_bounds__(block_threads) move_centres(const __grid_constant__ CudaPlaneFill fill) {
  wait_for_previous();
  const Cell cell = own(fill);
  MemberSums sums;
  for_members(fill, cell, [&](const Pixel& sample) { sums.add(sample, cell); });
  move_centre(fill, cell, sums);
}

namespace {

struct Range {
  int lowest, highest;
};

// The samples of a superpixel that have a value, in any order. Positions are relative to its centre.
struct Values {
  int count, members;
  Range range;
  int value[cells_around * samples_of_cell];
  signed char x[cells_around * samples_of_cell], y[cells_around * samples_of_cell];
};
static_assert(3 * CELL_SIDE < 128);

// See planes.h.
struct FittedPlane {
  int base, a, b, c;

  __device__ __forceinline__ int height(int x, int y) const {
    return (a * x + b * y + c + PLANE_UNIT / 2) >> 8;
  }
};
static_assert(PLANE_UNIT == 1 << 8);

__device__ __forceinline__ int sample_of(float disparity) {
  if (!(fabsf(disparity) <= static_cast<float>(LARGEST))) return no_sample;
  return __float2int_rn(disparity * static_cast<float>(PLANE_UNIT));
}

__device__ __forceinline__ void collect(const CudaPlaneFill& fill, const Cell& cell, Values& values) {
  if (threadIdx.x == 0) values.count = values.members = 0;
  __syncthreads();
  const CudaSuperpixel& centre = fill.superpixels[cell.place];
  for_members(fill, cell, [&](const Pixel& sample) {
    atomicAdd(&values.members, 1);
    const int value = sample_of(fill.disparity[sample.y * fill.stride + sample.x]);
    if (value == no_sample) return;
    const int place = atomicAdd(&values.count, 1);
    values.value[place] = value;
    values.x[place] = static_cast<signed char>(sample.x - centre.x);
    values.y[place] = static_cast<signed char>(sample.y - centre.y);
  });
  __syncthreads();
}

__device__ __forceinline__ void find_range(Values& values) {
  int terms[] = {no_sample, no_sample};  // the lowest value, and the negative of the highest
  for (int i = threadIdx.x; i < values.count; i += block_threads) {
    terms[0] = min(terms[0], values.value[i]);
    terms[1] = min(terms[1], -values.value[i]);
  }
  combine<Least>(terms);
  if (threadIdx.x == 0) values.range = {terms[0], -terms[1]};
  __syncthreads();
}

// The number of values with a property.
template <class Has>
__device__ __forceinline__ int count_if(const Values& values, const Has& has) {
  int count = 0;
  for (int first = 0; first < values.count; first += block_threads) {
    const int i = first + threadIdx.x;
    count += __syncthreads_count(i < values.count && has(i));
  }
  return count;
}

// The lower median, by bisection: the lowest value such that more than (count − 1) / 2 are not above it.
__device__ __forceinline__ int lower_median(const Values& values) {
  Range range = values.range;
  while (range.lowest < range.highest) {
    const int middle = range.lowest + (range.highest - range.lowest) / 2;
    const int not_above = count_if(values, [&](int i) { return values.value[i] <= middle; });
    if (not_above > (values.count - 1) / 2)
      range.highest = middle;
    else
      range.lowest = middle + 1;
  }
  return range.lowest;
}

// See planes.h.
struct PlaneSums {
  int n, x, y, r, xx, xy, yy, xr, yr;
};

__device__ __forceinline__ int residual(const FittedPlane& plane, const Values& values, int i) {
  return values.value[i] - plane.base - plane.height(values.x[i], values.y[i]);
}

// Sums for the threads of the first warp.
__device__ __forceinline__ PlaneSums sums_near(const FittedPlane& plane, const Values& values,
                                               int tolerance) {
  int sums[9] = {};
  for (int i = threadIdx.x; i < values.count; i += block_threads) {
    const int x = values.x[i], y = values.y[i], r = residual(plane, values, i);
    if (abs(r) > tolerance) continue;
    const int terms[] = {1, x, y, r, x * x, x * y, y * y, x * r, y * r};
#pragma unroll
    for (int k = 0; k < 9; ++k) sums[k] += terms[k];
  }
  combine<Sum>(sums);
  return {sums[0], sums[1], sums[2], sums[3], sums[4], sums[5], sums[6], sums[7], sums[8]};
}

__device__ __forceinline__ int64 moment(int n, int product, int first, int second) {
  return product - nearest_integer(static_cast<int64>(first) * second, n);
}

__device__ __forceinline__ bool is_too_steep(int64 slope) {
  constexpr int64 steepest = 2 * PLANE_UNIT * PLANE_UNIT;
  return slope > steepest || slope < -steepest;
}

// One of five values, selected by the lane.
__device__ __forceinline__ int of_lane(int lane, int a, int b, int c, int d, int e) {
  return lane == 0 ? a : lane == 1 ? b : lane == 2 ? c : lane == 3 ? d : e;
}

// FittedPlane::correct() of planes.h, by a warp: lanes share the divisions, which are slow.
__device__ __forceinline__ bool correct(FittedPlane& plane, const PlaneSums& s) {
  if (s.n < LEAST_SAMPLES) return false;
  const int lane = threadIdx.x % lanes;
  const auto from_lane = [](int64 value, int lane) { return __shfl_sync(all_lanes, value, lane); };
  const int64 moments =
      moment(s.n, of_lane(lane, s.xx, s.xy, s.yy, s.xr, s.yr), of_lane(lane, s.x, s.x, s.y, s.x, s.y),
             of_lane(lane, s.x, s.y, s.y, s.r, s.r));
  const int64 xx = from_lane(moments, 0), xy = from_lane(moments, 1), yy = from_lane(moments, 2);
  const int64 xr = from_lane(moments, 3), yr = from_lane(moments, 4);
  const int64 n = s.n, determinant = xx * yy - xy * xy;
  if (determinant < n * n) return false;
  const int64 slopes =
      nearest_integer((lane == 0 ? xr * yy - yr * xy : yr * xx - xr * xy) * PLANE_UNIT, determinant);
  const int64 da = from_lane(slopes, 0), db = from_lane(slopes, 1);
  if (is_too_steep(plane.a + da) || is_too_steep(plane.b + db)) return false;
  plane.a += static_cast<int>(da);
  plane.b += static_cast<int>(db);
  plane.c +=
      static_cast<int>(nearest_integer(PLANE_UNIT * static_cast<int64>(s.r) - da * s.x - db * s.y, s.n));
  return true;
}

// Fits the plane of a block's superpixel; false if it has none.
__device__ __forceinline__ bool fit(const Values& values, FittedPlane& plane) {
  __shared__ FittedPlane corrected;
  __shared__ bool exists;
  if (values.count < LEAST_SAMPLES || SAMPLES_PER_VALUE * values.count < values.members) return false;
  plane = {lower_median(values), 0, 0, 0};
#pragma unroll 1
  for (int tolerance = WIDEST_TOLERANCE; tolerance >= PLANE_UNIT; tolerance /= 2) {
    const PlaneSums sums = sums_near(plane, values, tolerance);
    if (threadIdx.x < lanes) {
      const bool is_corrected = correct(plane, sums);
      if (threadIdx.x == 0) {
        corrected = plane;
        exists = is_corrected;
      }
    }
    __syncthreads();
    if (!exists) return false;
    plane = corrected;
  }
  const int near = count_if(values, [&](int i) { return abs(residual(plane, values, i)) <= PLANE_UNIT; });
  return OF_VALUES * near >= NEAR_VALUES * values.count;
}

}  // namespace

PARALLAX_KERNEL __launch_bounds__(block_threads) fit_planes(const __grid_constant__ CudaPlaneFill fill) {
  wait_for_previous();
  __shared__ Values values;
  const Cell cell = own(fill);
  collect(fill, cell, values);
  find_range(values);
  FittedPlane plane{};
  const bool exists = fit(values, plane);
  if (threadIdx.x != 0) return;
  CudaSuperpixel& superpixel = fill.superpixels[cell.place];
  superpixel.has_plane = exists;
  superpixel.base = plane.base;
  superpixel.a = plane.a;
  superpixel.b = plane.b;
  superpixel.c = plane.c;
  superpixel.lowest = values.range.lowest;
  superpixel.highest = values.range.highest;
}

// One thread per pixel: grid.x = rows, grid.y = blocks of a row.
PARALLAX_KERNEL fill_planes(const __grid_constant__ CudaPlaneFill fill) {
  wait_for_previous();
  const int x = blockIdx.y * blockDim.x + threadIdx.x, y = blockIdx.x;
  if (x >= fill.width) return;
  float& disparity = fill.disparity[y * fill.stride + x];
  uint8& status = fill.status[y * fill.status_stride + x];
  if (has_value(disparity) || status == input_masked) return;
  const Pixel pixel = pixel_at(fill, x, y);
  Nearest nearest{FARTHEST + 1};
  Range range{no_sample, -no_sample};  // values of the superpixels with a plane
  for_superpixels_around(fill, pixel, [&](const CudaSuperpixel& superpixel, int index, bool is_inside) {
    const bool has_plane = is_inside && superpixel.has_plane != 0;
    nearest.offer(distance(pixel, superpixel), index, has_plane);
    if (!has_plane) return;
    range.lowest = min(range.lowest, superpixel.lowest);
    range.highest = max(range.highest, superpixel.highest);
  });
  if (nearest.index < 0) return;
  const Cell cell = neighbour(fill, x / CELL_SIDE, y / CELL_SIDE, nearest.index);
  const CudaSuperpixel& chosen = fill.superpixels[cell.place];
  const FittedPlane plane{chosen.base, chosen.a, chosen.b, chosen.c};
  const int value =
      min(max(plane.base + plane.height(x - chosen.x, y - chosen.y), range.lowest), range.highest);
  disparity = static_cast<float>(value) / PLANE_UNIT;
  status = filled;
}
