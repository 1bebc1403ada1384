// SPDX-License-Identifier: Apache-2.0
// The steps of vectors.h on CUDA: the same results. One thread per pixel: grid.x = rows, grid.y = blocks of a
// row.
//
// Specialised by WINDOW of refit_vectors(), STIFFNESS (refit_stiffness), UNUSABLE (Shifts::unusable) and
// REACH (fill_reach).
#include "decision/cuda_values.h"
#include "devices/cuda/kernel.h"
#include "refine/cuda_types.h"

using namespace parallax::decision;
using namespace parallax::refine;

namespace {

__device__ __forceinline__ bool inside(int x, int y, int width, int height) {
  return x >= 0 && y >= 0 && x < width && y < height;
}

}  // namespace

PARALLAX_KERNEL check_vectors(CudaVectors map, const float* right_disparity, const float* right_row_offset,
                              int64 right_stride, int width, int height, float tolerance) {
  wait_for_previous();
  const int x = blockIdx.y * blockDim.x + threadIdx.x, y = blockIdx.x;
  if (x >= width) return;
  float& disparity = map.disparity[y * map.stride + x];
  float& row_offset = map.row_offset[y * map.stride + x];
  const float d = disparity, v = row_offset;
  if (!has_value(d)) return;
  const float column = static_cast<float>(x) - ceilf(d - 0.5f), row = static_cast<float>(y) + ceilf(v - 0.5f);
  if (column >= 0.0f && column < static_cast<float>(width) && row >= 0.0f &&
      row < static_cast<float>(height)) {
    const int64 at = static_cast<int>(row) * right_stride + static_cast<int>(column);
    if (fabsf(right_disparity[at] - d) <= tolerance && fabsf(right_row_offset[at] - v) <= tolerance) return;
  }
  disparity = row_offset = no_value;
  map.status[y * map.status_stride + x] = inconsistent;
}

PARALLAX_KERNEL copy_vectors(CudaVectors from, CudaVectors to, int width) {
  wait_for_previous();
  const int x = blockIdx.y * blockDim.x + threadIdx.x;
  const int64 y = blockIdx.x;
  if (x >= width) return;
  to.disparity[y * to.stride + x] = from.disparity[y * from.stride + x];
  to.row_offset[y * to.stride + x] = from.row_offset[y * from.stride + x];
}

// `from`: the map before the fill.
PARALLAX_KERNEL fill_vectors(CudaVectors from, CudaVectors to, int width, int height) {
  wait_for_previous();
  const int x = blockIdx.y * blockDim.x + threadIdx.x, y = blockIdx.x;
  if (x >= width) return;
  uint8& status = to.status[y * to.status_stride + x];
  if (has_value(from.disparity[y * from.stride + x]) || status == input_masked) return;
  constexpr int directions = 8;
  constexpr int step_x[] = {0, 0, -1, 1, -1, 1, -1, 1}, step_y[] = {-1, 1, 0, 0, -1, -1, 1, 1};
  float d[directions], v[directions];
  bool met[directions];
#pragma unroll
  for (int direction = 0; direction < directions; ++direction) {
    met[direction] = false;
    d[direction] = v[direction] = 0;
    int i = x, j = y;
    for (int step = 0; step < REACH; ++step) {
      i += step_x[direction];
      j += step_y[direction];
      if (!inside(i, j, width, height)) break;
      const int64 at = j * from.stride + i;
      if (!has_value(from.disparity[at])) continue;
      d[direction] = from.disparity[at];
      v[direction] = from.row_offset[at];
      met[direction] = true;
      break;
    }
  }
  bool found = false;
  float least = 0, best_d = 0, best_v = 0;
#pragma unroll
  for (int i = 0; i < directions; ++i) {
    float sum = 0;
#pragma unroll
    for (int j = 0; j < directions; ++j)
      if (met[j]) sum += fabsf(d[j] - d[i]) + fabsf(v[j] - v[i]);
    if (!met[i] || (found && sum >= least)) continue;
    found = true;
    least = sum;
    best_d = d[i];
    best_v = v[i];
  }
  if (!found) return;
  to.disparity[y * to.stride + x] = best_d;
  to.row_offset[y * to.stride + x] = best_v;
  status = filled;
}

namespace {

__device__ __forceinline__ int nearest(float value) {
  return static_cast<int>(ceilf(value - 0.5f));
}

}  // namespace

PARALLAX_KERNEL find_shifts(CudaVectorRefit refit) {
  wait_for_previous();
  const int width = refit.width, height = refit.height;
  const int x = blockIdx.y * blockDim.x + threadIdx.x, y = blockIdx.x;
  if (x >= width) return;
  CudaShift shift{UNUSABLE, 0, 0, 0};
  const float d = refit.map.disparity[y * refit.map.stride + x];
  const auto inner = [&](int u, int v) { return u > 0 && v > 0 && u < width - 1 && v < height - 1; };
  if (has_value(d) && inner(x, y)) {
    const int shift_x = -nearest(d), shift_y = nearest(refit.map.row_offset[y * refit.map.stride + x]);
    const int u = x + shift_x, v = y + shift_y;
    if (inner(u, v)) {
      const int64 stride = refit.gray_stride;
      const uint8 *here = refit.left + y * stride + x, *there = refit.right + v * stride + u;
      const int gradient_x = here[1] - here[-1] + there[1] - there[-1],
                gradient_y = here[stride] - here[-stride] + there[stride] - there[-stride];
      shift = {shift_x, shift_y, 4 * (here[0] - there[0]),
               static_cast<uint32>(gradient_x & 0xFFFF) | static_cast<uint32>(gradient_y) << 16};
    }
  }
  refit.shifts[static_cast<int64>(y) * refit.shift_stride + x] = shift;
}

// Runs after find_shifts(), with the same operations as refit_vector().
PARALLAX_KERNEL refit_vectors(CudaVectorRefit refit) {
  wait_for_previous();
  constexpr int radius = WINDOW / 2;
  const int x = blockIdx.y * blockDim.x + threadIdx.x, y = blockIdx.x;
  if (x >= refit.width) return;
  float& disparity = refit.map.disparity[y * refit.map.stride + x];
  float& row_offset = refit.map.row_offset[y * refit.map.stride + x];
  const float d = disparity, v = row_offset;
  if (!has_value(d)) return;
  const int shift_x = -nearest(d), shift_y = nearest(v);
  int count = 0, sum_x = 0, sum_y = 0, sum_e = 0, sum_xx = 0, sum_xy = 0, sum_yy = 0, sum_xe = 0, sum_ye = 0;
  for (int j = max(0, y - radius); j <= min(refit.height - 1, y + radius); ++j) {
    const CudaShift* row = refit.shifts + static_cast<int64>(j) * refit.shift_stride;
    for (int i = max(0, x - radius); i <= min(refit.width - 1, x + radius); ++i) {
      const CudaShift other = row[i];
      const int apart_x = other.x - shift_x, apart_y = other.y - shift_y;
      if (abs(apart_x) > 1 || abs(apart_y) > 1) continue;
      const int gradient_x = static_cast<short>(other.gradient & 0xFFFF),
                gradient_y = static_cast<short>(other.gradient >> 16);
      const int e = other.difference + gradient_x * apart_x + gradient_y * apart_y;
      ++count;
      sum_x += gradient_x;
      sum_y += gradient_y;
      sum_e += e;
      sum_xx += gradient_x * gradient_x;
      sum_xy += gradient_x * gradient_y;
      sum_yy += gradient_y * gradient_y;
      sum_xe += gradient_x * e;
      sum_ye += gradient_y * e;
    }
  }
  if (4 * count < WINDOW * WINDOW) return;
  const double pixels = count, first = sum_x, second = sum_y, rest = sum_e,
               stiffness = static_cast<double>(STIFFNESS) * pixels * pixels;
  const double xx = pixels * sum_xx - first * first + stiffness,
               yy = pixels * sum_yy - second * second + stiffness, xy = pixels * sum_xy - first * second;
  const double xe = pixels * sum_xe - first * rest + stiffness * (-static_cast<double>(d) - shift_x),
               ye = pixels * sum_ye - second * rest + stiffness * (static_cast<double>(v) - shift_y);
  const double determinant = xx * yy - xy * xy;
  const double delta_x = (yy * xe - xy * ye) / determinant, delta_y = (xx * ye - xy * xe) / determinant;
  if (!(fabs(delta_x) <= 1 && fabs(delta_y) <= 1)) return;
  disparity = static_cast<float>(-(shift_x + delta_x)) + 0.0f;
  row_offset = static_cast<float>(shift_y + delta_y) + 0.0f;
}
