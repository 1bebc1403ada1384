// SPDX-License-Identifier: Apache-2.0
// The fill with planes on CUDA: the same results as fill_planes.cpp. A block has a cell, and gathers what it
// needs from the nine around it.
//
// Specialised by WARPS per block, and plane_definitions().
#include "devices/cuda/kernel.h"
#include "devices/cuda/pair.h"
#include "refine/cuda_types.h"

using namespace parallax::refine;
using parallax::cuda::Image;

namespace {

constexpr int lanes = 32;
constexpr int block_threads = lanes * WARPS;
constexpr int cell_samples = CELL_SIDE / SAMPLE_STEP;
// A thread has a sample of the cell.
constexpr int samples_of_cell = cell_samples * cell_samples;
static_assert(samples_of_cell == block_threads);
constexpr int cells_around = 9;
constexpr int own_cell = 4, outside = 255;  // see planes.h
constexpr int no_sample = 0x7FFFFFFF;
constexpr float no_value = __builtin_bit_cast(float, 0x7F800000u);

// Values of Status.
constexpr uint8 filled = 1, input_masked = 7;

__device__ __forceinline__ bool has_value(float disparity) {
  return disparity < no_value;
}

__device__ __forceinline__ int64 nearest_integer(int64 a, int64 b) {
  return a < 0 ? -((b / 2 - a) / b) : (b / 2 + a) / b;
}

// A cell of the image. `place` is its index, row by row.
struct Cell {
  int x, y, place;
  bool is_inside;
};

__device__ __forceinline__ Cell cell_at(const CudaPlaneFill& fill, int x, int y) {
  return {x, y, y * fill.cells_across + x, x >= 0 && x < fill.cells_across && y >= 0 && y < fill.cells_down};
}

// The cell `index` of the nine around a cell.
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

// The sample `index` of a cell.
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

// The nearest of the superpixels that a pixel of a cell may join, as an index of the nine cells; ties go to the
// first. −1 if there is none closer than `limit`.
template <class MayJoin>
__device__ __forceinline__ int nearest(const CudaPlaneFill& fill, const Pixel& pixel, int limit,
                                       const MayJoin& may_join) {
  int best = -1;
#pragma unroll 1
  for (int index = 0; index < cells_around; ++index) {
    const Cell cell = neighbour(fill, pixel.x / CELL_SIDE, pixel.y / CELL_SIDE, index);
    if (!cell.is_inside) continue;
    const CudaSuperpixel& superpixel = fill.superpixels[cell.place];
    if (!may_join(superpixel)) continue;
    const int here = distance(pixel, superpixel);
    if (here >= limit) continue;
    limit = here;
    best = index;
  }
  return best;
}

// Combines each term of all threads of the block, in every one of them.
template <int terms, class Combine>
__device__ __forceinline__ void combine_terms(int (&term)[terms], const Combine& combine) {
  __shared__ int of_warps[terms][WARPS];
  const int warp = threadIdx.x / lanes;
#pragma unroll
  for (int i = 0; i < terms; ++i)
    for (int step = lanes / 2; step > 0; step /= 2)
      term[i] = combine(term[i], __shfl_xor_sync(all_lanes, term[i], step));
  __syncthreads();  // all threads have read what was there
  if (threadIdx.x % lanes == 0)
    for (int i = 0; i < terms; ++i) of_warps[i][warp] = term[i];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < terms; ++i) {
    term[i] = of_warps[i][0];
    for (int other = 1; other < WARPS; ++other) term[i] = combine(term[i], of_warps[i][other]);
  }
}

template <int terms>
__device__ __forceinline__ void add_up(int (&term)[terms]) {
  combine_terms(term, [](int a, int b) { return a + b; });
}

// Sums over samples: their number, places relative to the first that the superpixel can have, and colours.
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
  add_up(sums.term);
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
#pragma unroll 1
  for (int index = 0; index < cells_around; ++index) {
    const Cell there = neighbour(fill, cell.x, cell.y, index);
    // Seen from there, this cell lies on the opposite side.
    if (!there.is_inside || joined_by(fill, there, threadIdx.x) != cells_around - 1 - index) continue;
    each(sample_at(fill, there, threadIdx.x));
  }
}

template <class Value>
__device__ __forceinline__ uint32 colour_at(const Image& image, int x, int y) {
  const Value* row =
      reinterpret_cast<const Value*>(static_cast<const char*>(image.data) + y * image.stride_bytes);
  constexpr int dropped_bits = 8 * sizeof(Value) - 8;
  const Value* pixel = row + static_cast<int64>(x) * image.channels;
  const int second = image.channels == 3 ? 1 : 0, third = image.channels == 3 ? 2 : 0;
  return pixel[0] >> dropped_bits | pixel[second] >> dropped_bits << 8 | pixel[third] >> dropped_bits << 16;
}

}  // namespace

// One thread per pixel: grid.x = rows, grid.y = blocks of a row.
PARALLAX_KERNEL take_colours(Image image, int width, uint32* colours, int stride) {
  wait_for_previous();
  const int x = blockIdx.y * blockDim.x + threadIdx.x, y = blockIdx.x;
  if (x < width)
    colours[static_cast<int64>(y) * stride + x] =
        image.bits == 16 ? colour_at<uint16>(image, x, y) : colour_at<uint8>(image, x, y);
}

// Every sample belongs to the superpixel of its own cell. One block per cell, here and below: grid.x = rows of
// cells, grid.y = cells of a row.
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
  joined_by(fill, cell, threadIdx.x) =
      nearest(fill, sample, 0x7FFFFFFF, [](const CudaSuperpixel&) { return true; });
}

PARALLAX_KERNEL __launch_bounds__(block_threads) move_centres(const __grid_constant__ CudaPlaneFill fill) {
  wait_for_previous();
  const Cell cell = own(fill);
  MemberSums sums;
  for_members(fill, cell, [&](const Pixel& sample) { sums.add(sample, cell); });
  move_centre(fill, cell, sums);
}

namespace {

// The samples of a superpixel that have a value, in any order. Places are relative to its centre.
struct Values {
  int count, members;
  int value[cells_around * samples_of_cell];
  signed char x[cells_around * samples_of_cell], y[cells_around * samples_of_cell];
};
static_assert(3 * CELL_SIDE < 128);

// As in planes.h.
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

struct Range {
  int lowest, highest;
};

__device__ __forceinline__ Range range_of(const Values& values) {
  int terms[] = {no_sample, no_sample};
  for (int i = threadIdx.x; i < values.count; i += block_threads) {
    terms[0] = min(terms[0], values.value[i]);
    terms[1] = min(terms[1], -values.value[i]);
  }
  combine_terms(terms, [](int a, int b) { return min(a, b); });
  return {terms[0], -terms[1]};
}

// The lower median, by bisection: the lowest value such that more than (count − 1) / 2 are not above it.
__device__ __forceinline__ int lower_median(const Values& values, Range range) {
  while (range.lowest < range.highest) {
    const int middle = range.lowest + (range.highest - range.lowest) / 2;
    int not_above[] = {0};
    for (int i = threadIdx.x; i < values.count; i += block_threads) not_above[0] += values.value[i] <= middle;
    add_up(not_above);
    if (not_above[0] > (values.count - 1) / 2)
      range.highest = middle;
    else
      range.lowest = middle + 1;
  }
  return range.lowest;
}

// As in planes.h.
struct PlaneSums {
  int n, x, y, r, xx, xy, yy, xr, yr;
};

__device__ __forceinline__ PlaneSums sums_near(const FittedPlane& plane, const Values& values,
                                               int tolerance) {
  int sums[9] = {};
  for (int i = threadIdx.x; i < values.count; i += block_threads) {
    const int x = values.x[i], y = values.y[i], r = values.value[i] - plane.base - plane.height(x, y);
    if (abs(r) > tolerance) continue;
    const int terms[] = {1, x, y, r, x * x, x * y, y * y, x * r, y * r};
#pragma unroll
    for (int k = 0; k < 9; ++k) sums[k] += terms[k];
  }
  add_up(sums);
  return {sums[0], sums[1], sums[2], sums[3], sums[4], sums[5], sums[6], sums[7], sums[8]};
}

__device__ __forceinline__ int64 moment(int n, int product, int first, int second) {
  return product - nearest_integer(static_cast<int64>(first) * second, n);
}

__device__ __forceinline__ bool is_too_steep(int64 slope) {
  constexpr int64 steepest = 2 * PLANE_UNIT * PLANE_UNIT;
  return slope > steepest || slope < -steepest;
}

// FittedPlane::correct() of planes.h.
__device__ __forceinline__ bool correct(FittedPlane& plane, const PlaneSums& s) {
  if (s.n < LEAST_SAMPLES) return false;
  const int64 n = s.n;
  const int64 xx = moment(s.n, s.xx, s.x, s.x), xy = moment(s.n, s.xy, s.x, s.y);
  const int64 yy = moment(s.n, s.yy, s.y, s.y);
  const int64 xr = moment(s.n, s.xr, s.x, s.r), yr = moment(s.n, s.yr, s.y, s.r);
  const int64 determinant = xx * yy - xy * xy;
  if (determinant < n * n) return false;
  const int64 da = nearest_integer((xr * yy - yr * xy) * PLANE_UNIT, determinant);
  const int64 db = nearest_integer((yr * xx - xr * xy) * PLANE_UNIT, determinant);
  if (is_too_steep(plane.a + da) || is_too_steep(plane.b + db)) return false;
  plane.a += static_cast<int>(da);
  plane.b += static_cast<int>(db);
  plane.c += static_cast<int>(nearest_integer(PLANE_UNIT * static_cast<int64>(s.r) - da * s.x - db * s.y, n));
  return true;
}

// Fits the plane of a block's superpixel. False if it has none.
__device__ __forceinline__ bool fit(const Values& values, const Range& range, FittedPlane& plane) {
  __shared__ FittedPlane corrected;
  __shared__ bool exists;
  if (values.count < LEAST_SAMPLES || SAMPLES_PER_VALUE * values.count < values.members) return false;
  plane = {lower_median(values, range), 0, 0, 0};
#pragma unroll 1
  for (int tolerance = WIDEST_TOLERANCE; tolerance >= PLANE_UNIT; tolerance /= 2) {
    const PlaneSums sums = sums_near(plane, values, tolerance);
    if (threadIdx.x == 0) {
      corrected = plane;
      exists = correct(corrected, sums);
    }
    __syncthreads();
    if (!exists) return false;
    plane = corrected;
  }
  return OF_VALUES * sums_near(plane, values, PLANE_UNIT).n >= NEAR_VALUES * values.count;
}

}  // namespace

PARALLAX_KERNEL __launch_bounds__(block_threads) fit_planes(const __grid_constant__ CudaPlaneFill fill) {
  wait_for_previous();
  __shared__ Values values;
  const Cell cell = own(fill);
  collect(fill, cell, values);
  const Range range = range_of(values);
  FittedPlane plane{};
  const bool exists = fit(values, range, plane);
  if (threadIdx.x != 0) return;
  CudaSuperpixel& superpixel = fill.superpixels[cell.place];
  superpixel.has_plane = exists;
  superpixel.base = plane.base;
  superpixel.a = plane.a;
  superpixel.b = plane.b;
  superpixel.c = plane.c;
  superpixel.lowest = range.lowest;
  superpixel.highest = range.highest;
}

namespace {

// The range of the values of the superpixels with a plane, of those of the nine cells around a pixel's.
__device__ __forceinline__ Range range_around(const CudaPlaneFill& fill, int x, int y) {
  Range range{no_sample, -no_sample};
#pragma unroll 1
  for (int index = 0; index < cells_around; ++index) {
    const Cell cell = neighbour(fill, x / CELL_SIDE, y / CELL_SIDE, index);
    if (!cell.is_inside) continue;
    const CudaSuperpixel& superpixel = fill.superpixels[cell.place];
    if (!superpixel.has_plane) continue;
    range.lowest = min(range.lowest, superpixel.lowest);
    range.highest = max(range.highest, superpixel.highest);
  }
  return range;
}

}  // namespace

// One thread per pixel: grid.x = rows, grid.y = blocks of a row.
PARALLAX_KERNEL fill_planes(const __grid_constant__ CudaPlaneFill fill) {
  wait_for_previous();
  const int x = blockIdx.y * blockDim.x + threadIdx.x, y = blockIdx.x;
  if (x >= fill.width) return;
  float& disparity = fill.disparity[y * fill.stride + x];
  uint8& status = fill.status[y * fill.status_stride + x];
  if (has_value(disparity) || status == input_masked) return;
  const int index = nearest(fill, pixel_at(fill, x, y), FARTHEST + 1,
                            [](const CudaSuperpixel& superpixel) { return superpixel.has_plane != 0; });
  if (index < 0) return;
  const CudaSuperpixel& chosen = fill.superpixels[neighbour(fill, x / CELL_SIDE, y / CELL_SIDE, index).place];
  const FittedPlane plane{chosen.base, chosen.a, chosen.b, chosen.c};
  const Range range = range_around(fill, x, y);
  const int value =
      min(max(plane.base + plane.height(x - chosen.x, y - chosen.y), range.lowest), range.highest);
  disparity = static_cast<float>(value) / PLANE_UNIT;
  status = filled;
}
