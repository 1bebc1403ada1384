// SPDX-License-Identifier: Apache-2.0
// Motion on CUDA if each pixel considers its own window of labels.
//
// Values of a pixel are rows of eight, of which COLUMNS are used, in planes of one colour of the
// checkerboard. A thread computes a message: its labels are in registers, and for a moment in shared memory,
// where the labels of its receiver are found.
//
// Specialised by PIXELS (of a block of updates, with a thread for each direction), and by the macros of
// cuda_common.h. Other kernels have a thread for each pixel: grid.x = rows, grid.y = blocks of a row.
#include "devices/cuda/words.h"
#include "matchers/motion/cuda_common.h"

using namespace parallax::motion;

namespace {

constexpr int row_elements = 8, elements = row_elements * ROWS, window_labels = COLUMNS * ROWS;
static_assert(COLUMNS < row_elements);

__device__ __forceinline__ CudaOffset nearest(const CudaLabels& labels, CudaOffset offset) {
  return {min(max(offset.x, labels.first.x), labels.first.x + labels.columns - 1),
          min(max(offset.y, labels.first.y), labels.first.y + labels.rows - 1)};
}

__device__ __forceinline__ CudaOffset window_first(const CudaLabels& labels, CudaOffset prediction) {
  const CudaLabels starts{labels.first, labels.columns - COLUMNS + 1, labels.rows - ROWS + 1};
  return nearest(starts, {prediction.x - COLUMNS / 2, prediction.y - ROWS / 2});
}

__device__ __forceinline__ CudaOffset first_of(const CudaLevel& level, int x, int y) {
  return window_first(level.labels, level.predictions[static_cast<int64>(y) * level.width + x]);
}

// Values of a row of labels, as they are stored. Those beyond the last column stay in the highest bytes of a
// word, so that sums of them change no others.
using Row = parallax::cuda::Words<row_elements * STORED / 32>;

__device__ __forceinline__ Row load_row(const Stored* values, int row) {
  return parallax::cuda::load<row_elements * STORED / 32>(
      reinterpret_cast<const uint32*>(values + row * row_elements));
}

__device__ __forceinline__ Value element(const Row& row, int column) {
#if STORED == 32
  return __uint_as_float(row.of[column]);
#else
  constexpr int in_word = 32 / STORED;
  return static_cast<Value>(row.of[column / in_word] >> column % in_word * STORED & ((1u << STORED) - 1));
#endif
}

__device__ __forceinline__ void add(Row& sum, const Row& row) {
#pragma unroll
  for (int i = 0; i < row_elements * STORED / 32; ++i) {
#if STORED == 32
    sum.of[i] = __float_as_uint(__uint_as_float(sum.of[i]) + __uint_as_float(row.of[i]));
#else
    sum.of[i] += row.of[i];
#endif
  }
}

__device__ __forceinline__ void store_row(const Value (&values)[COLUMNS], Stored* to, int row) {
  Row words = {};
#pragma unroll
  for (int column = 0; column < COLUMNS; ++column) {
#if STORED == 32
    words.of[column] = __float_as_uint(values[column]);
#else
    constexpr int in_word = 32 / STORED;
    words.of[column / in_word] |= static_cast<uint32>(values[column]) << column % in_word * STORED;
#endif
  }
  parallax::cuda::store(words, reinterpret_cast<uint32*>(to + row * row_elements));
}

// The messages to a pixel, by where they come from; null from beyond the border, and all of them at the
// start.
struct Incoming {
  const Stored* from[directions];
};

__device__ __forceinline__ Incoming incoming(const CudaLevel& level, bool starts, int x, int y) {
  Incoming messages;
#pragma unroll
  for (int direction = 0; direction < directions; ++direction) {
    const int u = x + step_x(direction), v = y + step_y(direction);
    messages.from[direction] =
        starts || !contains(level, u, v) ? nullptr : message_of<elements>(level, u, v, opposite(direction));
  }
  return messages;
}

// The beliefs of a row of labels, without the message from `without` if that is a direction.
__device__ __forceinline__ Row belief_row(const Incoming& messages, const Stored* data, int row, int without) {
  Row sum = {};
#pragma unroll
  for (int i = 0; i < directions; ++i) {
    const int direction = in_order(i);
    if (direction != without && messages.from[direction] != nullptr)
      add(sum, load_row(messages.from[direction], row));
  }
  add(sum, load_row(data, row));
  return sum;
}

// Data costs of an offset in the 5×5 pixels around a pixel.
__device__ float support(const CudaCosts& costs, int x, int y, CudaOffset offset) {
  constexpr int radius = 2;
  float sum = 0;
  for (int v = max(0, y - radius); v <= min(costs.samples.height - 1, y + radius); ++v)
    for (int u = max(0, x - radius); u <= min(costs.samples.width - 1, x + radius); ++u)
      sum += cost(costs, cost_pixel(costs, u, v), offset);
  return sum;
}

__device__ __forceinline__ bool same(CudaOffset a, CudaOffset b) {
  return a.x == b.x && a.y == b.y;
}

}  // namespace

// `coarser`: labels at the next coarser scale.
PARALLAX_KERNEL predict(CudaLevel level, CudaCosts costs, CudaBest coarser) {
  wait_for_previous();
  const int x = blockIdx.y * blockDim.x + threadIdx.x, y = blockIdx.x;
  if (x >= level.width) return;
  const auto of_parent = [&](int u, int v) {
    const CudaOffset found = coarser.of[static_cast<int64>(v) * coarser.width + u];
    return nearest(level.labels, {2 * found.x, 2 * found.y});
  };
  const CudaOffset own = of_parent(x / 2, y / 2), first = window_first(level.labels, own);
  CudaOffset best = own, last = own;
  float least = no_value;
  for (int v = max(0, y / 2 - 1); v <= min(coarser.height - 1, y / 2 + 1); ++v)
    for (int u = max(0, x / 2 - 1); u <= min(coarser.width - 1, x / 2 + 1); ++u) {
      const CudaOffset other = of_parent(u, v);
      const int column = other.x - first.x, row = other.y - first.y;
      // Skips an offset that has been tried, whose costs would be no lower.
      if ((column >= 0 && row >= 0 && column < COLUMNS && row < ROWS) || same(other, last)) continue;
      if (least == no_value) least = support(costs, x, y, own);
      last = other;
      const float sum = support(costs, x, y, other);
      if (sum >= least) continue;
      least = sum;
      best = other;
    }
  level.predictions[static_cast<int64>(y) * level.width + x] = best;
}

// Runs after predict().
PARALLAX_KERNEL find_costs(CudaLevel level, CudaCosts costs, float prediction_weight) {
  wait_for_previous();
  const int x = blockIdx.y * blockDim.x + threadIdx.x, y = blockIdx.x;
  if (x >= level.width) return;
  const CudaOffset p = level.predictions[static_cast<int64>(y) * level.width + x],
                   first = window_first(level.labels, p);
  const CostPixel pixel = cost_pixel(costs, x, y);
  float values[window_labels], least = no_value;
#pragma unroll
  for (int k = 0; k < window_labels; ++k) {
    const CudaOffset offset{first.x + k % COLUMNS, first.y + k / COLUMNS};
    const float away =
        prediction_weight * static_cast<float>(abs(offset.x - p.x) + abs(offset.y - p.y));
    values[k] = cost(costs, pixel, offset) + (in_integers ? floorf(away + 0.5f) : away);
    least = fminf(least, values[k]);
  }
  Stored* to = data_of<elements>(level, x, y);
#pragma unroll
  for (int row = 0; row < ROWS; ++row) {
    Value kept[COLUMNS];
#pragma unroll
    for (int column = 0; column < COLUMNS; ++column)
      kept[column] = settled(values[row * COLUMNS + column], least);
    store_row(kept, to, row);
  }
}

// One half-sweep: the messages of one colour. `starts`: it is the first one. grid.y = blocks of a row of one
// colour.
PARALLAX_KERNEL __launch_bounds__(PIXELS* directions)
    update(CudaLevel level, const Value* edges, int colour, int starts) {
  __shared__ Stored shared[window_labels][PIXELS * directions];
  wait_for_previous();
  const Pixel pixel = pixel_of(colour, blockIdx.x, blockIdx.y * PIXELS + threadIdx.x % PIXELS);
  const int direction = threadIdx.x / PIXELS;
  const int to_x = pixel.x + step_x(direction), to_y = pixel.y + step_y(direction);
  if (pixel.x >= level.width || !contains(level, to_x, to_y)) return;
  const Smoothness smooth = smoothness(level, edges, pixel.x, pixel.y, direction);
  const CudaOffset own = first_of(level, pixel.x, pixel.y), receiver = first_of(level, to_x, to_y);
  const Incoming messages = incoming(level, starts != 0, pixel.x, pixel.y);
  const Stored* data = data_of<elements>(level, pixel.x, pixel.y);

  Value h[ROWS][COLUMNS], least = no_limit;
#pragma unroll
  for (int row = 0; row < ROWS; ++row) {
    const Row sums = belief_row(messages, data, row, direction);
#pragma unroll
    for (int column = 0; column < COLUMNS; ++column) {
      h[row][column] = element(sums, column);
      least = lower(least, h[row][column]);
    }
#pragma unroll
    for (int column = 1; column < COLUMNS; ++column)
      h[row][column] = lowered(h[row][column - 1], smooth.slope, h[row][column]);
#pragma unroll
    for (int column = COLUMNS - 2; column >= 0; --column)
      h[row][column] = lowered(h[row][column + 1], smooth.slope, h[row][column]);
    if (row == 0) continue;
#pragma unroll
    for (int column = 0; column < COLUMNS; ++column)
      h[row][column] = lowered(h[row - 1][column], smooth.slope, h[row][column]);
  }
  Stored(*kept)[PIXELS* directions] = shared;
#pragma unroll
  for (int row = ROWS - 1; row >= 0; --row) {
#pragma unroll
    for (int column = 0; column < COLUMNS; ++column) {
      if (row + 1 < ROWS) h[row][column] = lowered(h[row + 1][column], smooth.slope, h[row][column]);
      kept[row * COLUMNS + column][threadIdx.x] = static_cast<Stored>(h[row][column]);
    }
  }

  // A label outside the window costs the slope for each step from the nearest label inside.
  const int shift_x = receiver.x - own.x, shift_y = receiver.y - own.y;
  const Value highest = least + smooth.truncation;
  Stored* to = message_of<elements>(level, pixel.x, pixel.y, direction);
#pragma unroll
  for (int row = 0; row < ROWS; ++row) {
    const int inside_row = min(max(row + shift_y, 0), ROWS - 1), away_row = abs(row + shift_y - inside_row);
    Value sent[COLUMNS];
#pragma unroll
    for (int column = 0; column < COLUMNS; ++column) {
      const int inside_column = min(max(column + shift_x, 0), COLUMNS - 1);
      const int away = away_row + abs(column + shift_x - inside_column);
      const Value value = static_cast<Value>(kept[inside_row * COLUMNS + inside_column][threadIdx.x]);
      sent[column] = lower(value + smooth.slope * static_cast<Value>(away), highest) - least;
    }
    store_row(sent, to, row);
  }
}

PARALLAX_KERNEL decide(CudaLevel level, CudaMotion to) {
  wait_for_previous();
  const int x = blockIdx.y * blockDim.x + threadIdx.x, y = blockIdx.x;
  if (x >= level.width) return;
  const Incoming messages = incoming(level, false, x, y);
  const Stored* data = data_of<elements>(level, x, y);
  Value beliefs[window_labels], least = no_limit;
  int best = 0;
#pragma unroll
  for (int row = 0; row < ROWS; ++row) {
    const Row sums = belief_row(messages, data, row, -1);
#pragma unroll
    for (int column = 0; column < COLUMNS; ++column) {
      const int label = row * COLUMNS + column;
      beliefs[label] = element(sums, column);
      if (label > 0 && beliefs[label] >= least) continue;
      least = beliefs[label];
      best = label;
    }
  }
  Found found{first_of(level, x, y), best % COLUMNS, best / COLUMNS, static_cast<float>(least)};
  if (wants_neighbours(to)) {
    Value rival = no_limit;
    found.left = found.right = found.above = found.below = no_value;
#pragma unroll
    for (int row = 0; row < ROWS; ++row) {
#pragma unroll
      for (int column = 0; column < COLUMNS; ++column) {
        const Value value = beliefs[row * COLUMNS + column];
        const int i = column - found.column, j = row - found.row;
        if (abs(i) > 1 || abs(j) > 1) rival = lower(rival, value);
        if (j == 0 && i == -1) found.left = static_cast<float>(value);
        if (j == 0 && i == 1) found.right = static_cast<float>(value);
        if (i == 0 && j == -1) found.above = static_cast<float>(value);
        if (i == 0 && j == 1) found.below = static_cast<float>(value);
      }
    }
    found.rival = rival == no_limit ? no_value : static_cast<float>(rival);
  }
  write_motion(to, x, y, level.width, found);
}
