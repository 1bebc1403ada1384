// SPDX-License-Identifier: Apache-2.0
// Planes on CUDA: from the first map to the last one. A block moves a cell: see planes.h.
//
// Specialised by PER_PIXEL, STEEPEST, SMALL_SIDE and LARGE_SIDE (pixels of a cell), SMALL_BLOCK and
// LARGE_BLOCK (threads that move it), COLOURS, OFFERS, ITERATIONS, MAX_LEVELS, MAX_GRADIENT, BIT_SHIFT,
// OUT_OF_RANGE, COST (any, for the header), and LANES (threads of a warp).
#include "data_cost/cuda_costs.h"
#include "decision/cuda_values.h"
#include "devices/cuda/lanes.h"
#include "matchers/planes/cuda_types.h"

using namespace parallax::planes;
using namespace parallax::data_cost;
using namespace parallax::decision;

namespace {

__device__ __forceinline__ int64 place(const CudaScene& scene, int x, int y) {
  return static_cast<int64>(y) * scene.stride + x;
}

__device__ __forceinline__ bool is_set(const uint32* validity, const CudaScene& scene, int x, int y) {
  return (validity[static_cast<int64>(y) * scene.validity.words + x / 32] >> x % 32 & 1) != 0;
}

__device__ __forceinline__ int sum_over_lanes(int value) {
  return static_cast<int>(parallax::cuda::over_lanes(value, [](uint32 a, uint32 b) { return a + b; }));
}

// ---- Data costs

__device__ __forceinline__ int data_cost(const CudaScene& scene, int x, int y, int disparity) {
  const CudaModel& m = scene.model;
  if (!is_set(scene.validity.left, scene, x, y)) return 0;
  if (disparity < m.lowest || disparity > m.highest) return OUT_OF_RANGE;
  const int quarter = 4 * x - ((disparity + PER_PIXEL / 8) >> 8), nearest = (quarter + 2) >> 2;
  if (nearest < 0 || nearest >= scene.width || !is_set(scene.validity.right, scene, nearest, y))
    return m.outside;
  const int inside = max(quarter, 0);
  const int64 at = place(scene, x, y), right = inside % 4 * scene.plane + place(scene, inside / 4, y);
  const CudaFeatures& f = scene.features;
  const uint64 differences = (f.signature[at] ^ f.right_signature[right]) & f.alike[at];
  const int levels = f.levels[at], others = f.right_levels[right];
  const int census = (__popcll(differences) * f.bit_cost[at] + (1 << (BIT_SHIFT - 1))) >> BIT_SHIFT;
  return min(census, m.max_census) + m.level_cost * min(abs((levels & 255) - (others & 255)), MAX_LEVELS) +
         m.gradient_cost * min(abs((levels >> 8) - (others >> 8)), MAX_GRADIENT);
}

// ---- Offers

struct Box {
  int left, top, right, bottom;
};

__device__ __forceinline__ Box clipped(const CudaScene& scene, int left, int top, int side) {
  return {max(left, 0), max(top, 0), min(left + side, scene.width), min(top + side, scene.height)};
}

// A cell and its region; all threads of a block hold the same.
struct Cell {
  int side;
  Box pixels, region;
  uint32 state;  // state of the random numbers
};

__device__ __forceinline__ Cell make_cell(const CudaScene& scene, const CudaGrid& grid, int side, int index) {
  const int x = grid.first_x + index % grid.columns * COLOURS,
            y = grid.first_y + index / grid.columns * COLOURS;
  uint32 hash = x * 0x9E3779B1u ^ y * 0x85EBCA77u ^ (grid.step + 1) * 0xC2B2AE3Du;
  hash = (hash ^ hash >> 15) * 0x2C1B3C6Du;
  hash = (hash ^ hash >> 12) * 0x297A2D39u;
  return {side, clipped(scene, x * side, y * side, side),
          clipped(scene, (x - 1) * side, (y - 1) * side, 3 * side), (hash ^ hash >> 15) | 1};
}

__device__ __forceinline__ int below(Cell& cell, int count) {
  cell.state ^= cell.state << 13;
  cell.state ^= cell.state >> 17;
  cell.state ^= cell.state << 5;
  return static_cast<int>(__umulhi(cell.state, count));
}

__device__ __forceinline__ int within(Cell& cell, int most) {
  return below(cell, 2 * most + 1) - most;
}

// As Plane.
struct Plane {
  int disparity, slope_x, slope_y;
  __device__ __forceinline__ int at(int columns, int rows) const {
    return disparity + slope_x * columns + slope_y * rows;
  }
};

__device__ __forceinline__ Plane plane_at(const CudaScene& scene, int x, int y) {
  const CudaPlane plane = scene.planes[place(scene, x, y)];
  return {plane.disparity, plane.slope_x, plane.slope_y};
}

__device__ __forceinline__ int64 rounded_quotient(int64 dividend, int64 divisor) {
  const int64 half = divisor / 2;
  return (dividend < 0 ? dividend - half : dividend + half) / divisor;
}

__device__ __forceinline__ int bounded_slope(int64 slope) {
  return static_cast<int>(min(max(slope, static_cast<int64>(-STEEPEST)), static_cast<int64>(STEEPEST)));
}

constexpr int least_squares = 9;  // sums

// See fitted() in planes.cpp. `sums`: 0, in shared memory.
template <int side, int threads>
__device__ __forceinline__ Plane fitted(const CudaScene& scene, const Box& region, const Plane& plane, int x,
                                        int y, int* sums) {
  constexpr int step = side / SMALL_SIDE;
  const int columns = (region.right - region.left + step - 1) / step,
            rows = (region.bottom - region.top + step - 1) / step;
  int own[least_squares] = {};
  for (int index = threadIdx.x; index < rows * columns; index += threads) {
    const int i = region.left + index % columns * step, j = region.top + index / columns * step;
    const int u = i - x, v = j - y, e = scene.planes[place(scene, i, j)].disparity - plane.at(u, v);
    if (abs(e) > PER_PIXEL) continue;
    own[0] += 1, own[1] += u, own[2] += v, own[3] += e;
    own[4] += u * u, own[5] += u * v, own[6] += v * v, own[7] += u * e, own[8] += v * e;
  }
#pragma unroll
  for (int k = 0; k < least_squares; ++k) {
    const int sum = sum_over_lanes(own[k]);
    if (threadIdx.x % LANES == 0) atomicAdd(&sums[k], sum);
  }
  __syncthreads();
  const int64 n = sums[0], u = sums[1], v = sums[2], e = sums[3];
  if (n < 10) return plane;
  const int64 a = n * sums[4] - u * u + n, b = n * sums[5] - u * v, c = n * sums[6] - v * v + n;
  const int64 right = n * sums[7] - u * e, below = n * sums[8] - v * e, determinant = a * c - b * b;
  const int64 x_change = rounded_quotient(right * c - below * b, determinant),
              y_change = rounded_quotient(below * a - right * b, determinant);
  return {plane.disparity + static_cast<int>(rounded_quotient(e - x_change * u - y_change * v, n)),
          bounded_slope(plane.slope_x + x_change), bounded_slope(plane.slope_y + y_change)};
}

// The plane number `index` that is offered to the region, by its disparity at the first pixel.
template <int side, int threads>
__device__ __forceinline__ Plane next_offer(const CudaScene& scene, Cell& cell, int index, int* sums) {
  const Box &pixels = cell.pixels, &region = cell.region;
  const int x = pixels.left + below(cell, pixels.right - pixels.left),
            y = pixels.top + below(cell, pixels.bottom - pixels.top);
  Plane plane = plane_at(scene, x, y);
  if (index == 2) {
    plane = fitted<side, threads>(scene, region, plane, x, y, sums);
  } else if (index > 2) {
    const int disparities = index == 3   ? 512
                            : index == 4 ? 204
                                         : 81,
              slopes = index == 3   ? 51
                       : index == 4 ? 20
                                    : 8;
    plane.disparity += within(cell, disparities);
    plane.slope_x = bounded_slope(plane.slope_x + within(cell, slopes));
    plane.slope_y = bounded_slope(plane.slope_y + within(cell, slopes));
  }
  plane.disparity = plane.at(region.left - x, region.top - y);
  return plane;
}

// ---- Moves

// The costs of an edge where both pixels keep their planes, only the second takes the new one, or only the
// first; and a value of the second pixel: its unary cost, later whether it takes the new plane.
struct alignas(8) Edge {
  short keep, second, first, value;
};

__device__ __forceinline__ int jump(const CudaScene& scene, const Plane& p, const Plane& q, int columns,
                                    int rows, int weight) {
  const int distances = abs(p.disparity - q.at(-columns, -rows)) + abs(p.at(columns, rows) - q.disparity);
  return min(distances / 2, scene.model.truncation) * weight >> 16;
}

// The memory of a block for the pixels of its region. Rows lie an odd number of edges apart, so that the same
// columns of neighbouring rows are in different banks.
template <int side>
struct Region {
  static constexpr int most = 3 * side, pitch = most + 1;
  static_assert(pitch % 2 == 1);
  Edge before[most][pitch], above[most][pitch];  // to the pixel to the left, and above
  short from_left[most][pitch + 1], from_right[most][pitch + 1], from_above[most][pitch + 1],
      from_below[most][pitch + 1];
  short data[most][pitch + 1];  // costs of the new plane
};

template <int side, int threads>
struct Move {
  const CudaScene& scene;
  Box box;
  Plane offered;  // at the first pixel
  Region<side>& region;

  __device__ __forceinline__ int width() const { return box.right - box.left; }
  __device__ __forceinline__ int height() const { return box.bottom - box.top; }

  // Calls visit(column, row) of the region.
  template <class Visit>
  __device__ __forceinline__ void for_each_pixel(const Visit& visit) const {
    constexpr int most = Region<side>::most;
    for (int index = threadIdx.x; index < most * most; index += threads)
      if (index % most < width() && index / most < height()) visit(index % most, index / most);
  }

  __device__ __forceinline__ Plane offered_at(int x, int y) const {
    return {offered.at(x, y), offered.slope_x, offered.slope_y};
  }

  // The edge to column and row (x, y) from that some columns and rows before.
  __device__ __forceinline__ Edge edge_to(int x, int y, int columns, int rows) const {
    const int u = box.left + x, v = box.top + y;
    const int64 at = place(scene, u, v);
    const int weight = columns > 0 ? scene.features.edge_before[at] : scene.features.edge_above[at];
    const Plane first = plane_at(scene, u - columns, v - rows), second = plane_at(scene, u, v);
    const Plane new_first = offered_at(x - columns, y - rows), new_second = offered_at(x, y);
    const auto cost = [&](const Plane& p, const Plane& q) {
      return static_cast<short>(jump(scene, p, q, columns, rows, weight));
    };
    return {cost(first, second), cost(first, new_second), cost(new_first, second), 0};
  }

  __device__ __forceinline__ void prepare() const {
    for_each_pixel([&](int x, int y) {
      const int u = box.left + x, v = box.top + y;
      const int data = data_cost(scene, u, v, offered.at(x, y));
      int unary = data - scene.data[place(scene, u, v)];
      // Pixels outside the region keep their planes: their edges become part of the unary costs.
      const auto edge_from = [&](int columns, int rows, bool exists, bool is_inside) {
        Edge edge = {};
        if (exists) edge = edge_to(x, y, columns, rows);
        if (is_inside) return edge;
        unary += edge.second - edge.keep;
        return Edge{};
      };
      Edge before = edge_from(1, 0, u > 0, x > 0), above = edge_from(0, 1, v > 0, y > 0);
      const auto fold_edge_after = [&](int columns, int rows) {
        const Edge edge = edge_to(x + columns, y + rows, columns, rows);
        unary += edge.first - edge.keep;
      };
      if (x + 1 == width() && u + 1 < scene.width) fold_edge_after(1, 0);
      if (y + 1 == height() && v + 1 < scene.height) fold_edge_after(0, 1);
      before.value = above.value = static_cast<short>(unary);
      region.before[y][x] = before;
      region.above[y][x] = above;
      region.data[y][x] = static_cast<short>(data);
      region.from_left[y][x] = region.from_right[y][x] = region.from_above[y][x] = region.from_below[y][x] =
          0;
    });
    __syncthreads();
  }

  // The message after `last`, from a pixel whose other messages and unary cost add up to `others`. `alone`:
  // cost of the edge if only the receiver takes the new plane; `other`: if only the sender does.
  static __device__ __forceinline__ int message(int last, int others, int keep, int alone, int other) {
    return __viaddmin_s32(last, others, alone) - __viaddmin_s32(last, others + other, keep);
  }

  // Sends messages along a column or row. edge(i): from pixel i − 1 to pixel i; others(i): unary cost of
  // pixel i and messages to it from both sides; received(i): the place of the message to it.
  template <bool backward, class EdgeAt, class Others, class Received>
  static __device__ __forceinline__ void send_along(int pixels, const EdgeAt& edge, const Others& others,
                                                    const Received& received) {
    const auto place = [&](int i) { return backward ? pixels - 1 - i : i; };
    // Loads come before the stores of the steps before, which they do not depend on.
    constexpr int together = 4;
    int last = 0;
    for (int first = 1; first < pixels; first += together) {
      Edge edges[together];
      int sums[together];
#pragma unroll
      for (int k = 0; k < together; ++k) {
        const int i = min(first + k, pixels - 1);
        edges[k] = edge(place(backward ? i - 1 : i));
        sums[k] = others(place(i - 1));
      }
#pragma unroll
      for (int k = 0; k < together; ++k) {
        if (first + k >= pixels) break;
        const Edge& e = edges[k];
        last = message(last, sums[k], e.keep, backward ? e.first : e.second, backward ? e.second : e.first);
        received(place(first + k)) = static_cast<short>(last);
      }
    }
  }

  // Threads of each direction: whole warps, so that a multiprocessor's schedulers share them, or half of one.
  static constexpr int senders = side == SMALL_SIDE ? LANES / 2 : 2 * LANES;
  static_assert(senders >= 3 * side && threads >= 2 * senders);

  __device__ __forceinline__ void send_vertically() const {
    const int column = threadIdx.x % senders;
    if (column < width() && threadIdx.x < 2 * senders) {
      const auto edge = [&](int y) { return region.above[y][column]; };
      const auto others = [&](int y) {
        return region.above[y][column].value + region.from_left[y][column] + region.from_right[y][column];
      };
      if (threadIdx.x < senders)
        send_along<false>(height(), edge, others,
                          [&](int y) -> short& { return region.from_above[y][column]; });
      else
        send_along<true>(height(), edge, others,
                         [&](int y) -> short& { return region.from_below[y][column]; });
    }
    __syncthreads();
  }

  __device__ __forceinline__ void send_sideways() const {
    const int row = threadIdx.x % senders;
    if (row < height() && threadIdx.x < 2 * senders) {
      const auto edge = [&](int x) { return region.before[row][x]; };
      const auto others = [&](int x) {
        return region.before[row][x].value + region.from_above[row][x] + region.from_below[row][x];
      };
      if (threadIdx.x < senders)
        send_along<false>(width(), edge, others, [&](int x) -> short& { return region.from_left[row][x]; });
      else
        send_along<true>(width(), edge, others, [&](int x) -> short& { return region.from_right[row][x]; });
    }
    __syncthreads();
  }

  // Decides which pixels take the new plane (before[y][x].value), and returns by how much a thread's pixels
  // change the energy.
  __device__ __forceinline__ int decide() const {
    for_each_pixel([&](int x, int y) {
      const int belief = region.above[y][x].value + region.from_left[y][x] + region.from_right[y][x] +
                         region.from_above[y][x] + region.from_below[y][x];
      region.before[y][x].value = belief < 0;
    });
    __syncthreads();
    int energy = 0;
    for_each_pixel([&](int x, int y) {
      const Edge before = region.before[y][x], above = region.above[y][x];
      const bool takes = before.value != 0;
      const auto change = [&](const Edge& edge, bool first_takes) {
        return (first_takes ? (takes ? 0 : edge.first) : (takes ? edge.second : edge.keep)) - edge.keep;
      };
      if (takes) energy += above.value;
      // Edges of the first column, and of the first row, cost nothing.
      if (x > 0) energy += change(before, region.before[y][x - 1].value != 0);
      if (y > 0) energy += change(above, region.before[y - 1][x].value != 0);
    });
    return energy;
  }

  __device__ __forceinline__ void take() const {
    for_each_pixel([&](int x, int y) {
      if (region.before[y][x].value == 0) return;
      const int64 at = place(scene, box.left + x, box.top + y);
      scene.planes[at] = {offered.at(x, y), static_cast<short>(offered.slope_x),
                          static_cast<short>(offered.slope_y)};
      scene.data[at] = region.data[y][x];
    });
  }
};

template <int side, int threads>
__device__ __forceinline__ void move_cell(const CudaScene& scene, const CudaGrid& grid,
                                          Region<side>& region) {
  // Each offer adds up other elements, so that no barrier is needed to clear them.
  __shared__ int energies[OFFERS], sums[least_squares];
  if (threadIdx.x < OFFERS) energies[threadIdx.x] = 0;
  if (threadIdx.x < least_squares) sums[threadIdx.x] = 0;
  wait_for_previous();
  __syncthreads();
  Cell cell = make_cell(scene, grid, side, blockIdx.x);
  for (int index = 0; index < OFFERS; ++index) {
    const Plane offered = next_offer<side, threads>(scene, cell, index, sums);
    const Move<side, threads> move{scene, cell.region, offered, region};
    move.prepare();
    for (int i = 0; i < ITERATIONS; ++i) {
      move.send_vertically();
      move.send_sideways();
    }
    const int energy = sum_over_lanes(move.decide());
    if (threadIdx.x % LANES == 0) atomicAdd(&energies[index], energy);
    __syncthreads();
    if (energies[index] < 0) move.take();
    __syncthreads();
  }
}

}  // namespace

// A block for each cell of a colour.
PARALLAX_KERNEL __launch_bounds__(SMALL_BLOCK) move_small_cells(CudaScene scene, CudaGrid grid) {
  PARALLAX_SHARED(Region<SMALL_SIDE>, small_region);
  move_cell<SMALL_SIDE, SMALL_BLOCK>(scene, grid, *small_region);
}
PARALLAX_KERNEL __launch_bounds__(LARGE_BLOCK) move_large_cells(CudaScene scene, CudaGrid grid) {
  PARALLAX_SHARED(Region<LARGE_SIDE>, large_region);
  move_cell<LARGE_SIDE, LARGE_BLOCK>(scene, grid, *large_region);
}

// ---- From a map, and to one

// The planes of a map: pixels without a disparity take that of the pixel before. A warp for each row.
PARALLAX_KERNEL start_planes(CudaScene scene, const float* disparity, int64 disparity_stride, float lowest) {
  wait_for_previous();
  const int y = blockIdx.x, lane = threadIdx.x;
  float before = lowest;
  for (int first = 0; first < scene.width; first += LANES) {
    const int x = first + lane;
    const float own = x < scene.width ? disparity[y * disparity_stride + x] : no_value;
    const uint32 present = __ballot_sync(all_lanes, has_value(own)) & (all_lanes >> (LANES - 1 - lane));
    const float nearest = __shfl_sync(all_lanes, own, present == 0 ? 0 : LANES - 1 - __clz(present));
    const float value = present == 0 ? before : nearest;
    before = __shfl_sync(all_lanes, value, LANES - 1);
    if (x >= scene.width) continue;
    const int units = static_cast<int>(floorf(value * PER_PIXEL + 0.5f));
    const int inside = min(max(units, scene.model.lowest), scene.model.highest);
    const int64 at = place(scene, x, y);
    scene.planes[at] = {inside, 0, 0};
    scene.data[at] = static_cast<short>(data_cost(scene, x, y, inside));
  }
}

// The disparities of all pixels, from right to left if `mirrored`; and their status, unless that is null. One
// thread per pixel, grid.x = rows, grid.y = blocks of a row.
PARALLAX_KERNEL write_map(CudaScene scene, int min_disparity, int disparities, int mirrored, float* disparity,
                          int64 disparity_stride, uint8* status, int64 status_stride) {
  wait_for_previous();
  const int x = blockIdx.y * blockDim.x + threadIdx.x, y = blockIdx.x;
  if (x >= scene.width) return;
  constexpr int together = 64;
  const int last = x - min_disparity;
  bool reachable = false;
  for (int column = last - disparities + 1; column <= last && !reachable; column += together) {
    const int count = min(together, last - column + 1);
    const uint64 wanted = count == together ? ~0ull : (1ull << count) - 1;
    reachable = (valid_bits(scene.validity.right, scene.validity.words, y, column) & wanted) != 0;
  }
  const uint8 own = !is_set(scene.validity.left, scene, x, y) ? input_masked
                    : reachable                               ? matched
                                                              : out_of_range;
  const int units = scene.planes[place(scene, x, y)].disparity;
  const int inside = min(max(units, scene.model.lowest), scene.model.highest);
  disparity[y * disparity_stride + (mirrored ? scene.width - 1 - x : x)] =
      own == matched ? static_cast<float>(inside) / PER_PIXEL : no_value;
  if (status != nullptr) status[y * status_stride + x] = own;
}
