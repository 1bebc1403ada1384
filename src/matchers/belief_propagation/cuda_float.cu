// SPDX-License-Identifier: Apache-2.0
// Belief propagation on CUDA in floats, kept as float32, float16 or bfloat16: the published algorithm, every
// operation in the order of reference.cpp. A thread sends one message of one pixel; PIXELS neighbours of one
// colour, with a thread for each of their four messages, are a block.
//
// The choices that Grauer-Gray & Cavazos 2010 and Grauer-Gray 2019 measure are macros:
//   NAIVE_ORDER   1: all labels of a pixel are contiguous; 0: neighbours are, so that a warp's access is, too
//   IN_REGISTERS, IN_SHARED_MEMORY
//                 number of labels of the computed message that a thread keeps there: the lowest labels, and
//                 the labels above them; the rest is in local memory
//   LEAST_BLOCKS  minimum number of blocks resident on a multiprocessor
// Specialised further by STORAGE (32, 16 = half, 17 = bfloat16), LABELS, EDGES (0 = the same everywhere),
// HAS_OUTSIDE, SUB_PIXEL, PIXELS; and by the macros of cuda_common.h.
#include "matchers/belief_propagation/cuda_common.h"

using namespace parallax::belief_propagation;

namespace {

#if STORAGE == 32
using Stored = float;
__device__ __forceinline__ float load(Stored value) {
  return value;
}
__device__ __forceinline__ Stored stored(float value) {
  return value;
}
#elif STORAGE == 16
using Stored = uint16;
__device__ __forceinline__ float load(Stored value) {
#ifdef PARALLAX_EMULATED
  return emulated::half_to_float(value);
#else
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(value));
  return result;
#endif
}
// Rounds to the nearest, ties to even.
__device__ __forceinline__ Stored stored(float value) {
#ifdef PARALLAX_EMULATED
  return emulated::float_to_half(value);
#else
  Stored result;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result) : "f"(value));
  return result;
#endif
}
#else
using Stored = uint16;
__device__ __forceinline__ float load(Stored value) {
  return __uint_as_float(static_cast<uint32>(value) << 16);
}
// Rounds to the nearest, ties to even.
__device__ __forceinline__ Stored stored(float value) {
  const uint32 bits = __float_as_uint(value);
  return static_cast<Stored>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}
#endif

// Limits sums of a volume's costs, which may exceed the range of a half.
__device__ __forceinline__ float within_half(float value) {
  constexpr float highest = 65504;
  return STORAGE == 16 ? fmaxf(fminf(value, highest), -highest) : value;
}

// The index of a pixel's first label in its plane of one colour, and the distance to the next label.
__device__ __forceinline__ int64 place_of(const CudaFloatLevel& level, int y, int i) {
  return NAIVE_ORDER ? (static_cast<int64>(y) * level.pitch + i) * LABELS
                     : static_cast<int64>(y) * LABELS * level.pitch + i;
}
__device__ __forceinline__ int64 label_step(const CudaFloatLevel& level) {
  return NAIVE_ORDER ? 1 : level.pitch;
}

// All labels of a pixel. A kernel never writes the data that it reads here, but earlier kernels did, before
// the wait.
struct Column {
  Stored* first;
  int64 step;
  __device__ __forceinline__ float at(int label) const { return load(__ldg(first + label * step)); }
  __device__ __forceinline__ void set(int label, float value) const { first[label * step] = stored(value); }
};

__device__ __forceinline__ Column data_of(const CudaFloatLevel& level, int colour, int y, int i) {
  return {static_cast<Stored*>(level.data) + colour * level.plane_elements + place_of(level, y, i),
          label_step(level)};
}

__device__ __forceinline__ Column message_of(const CudaFloatLevel& level, int colour, int direction, int y,
                                             int i) {
  return {static_cast<Stored*>(level.messages) + (colour * directions + direction) * level.plane_elements +
              place_of(level, y, i),
          label_step(level)};
}

// The pixel of a thread: grid.x = rows, grid.y = blocks of a row.
struct Pixel {
  int x, y, i;  // i counts pixels of one colour
};

__device__ __forceinline__ Pixel find_pixel(int colour) {
  const int y = blockIdx.x, i = blockIdx.y * blockDim.x + threadIdx.x;
  return {2 * i + parity(y, colour), y, i};
}

__device__ __forceinline__ bool outermost(const CudaFloatLevel& level, const Pixel& pixel) {
  return pixel.x == 0 || pixel.y == 0 || pixel.x == level.width - 1 || pixel.y == level.height - 1;
}

// The messages to an inner pixel, by the side from which they come.
struct Incoming {
  Column from[directions];
};

__device__ __forceinline__ Incoming incoming(const CudaFloatLevel& level, int colour, const Pixel& pixel) {
  const int other = 1 - colour, left_i = (pixel.x - 1) / 2, right_i = (pixel.x + 1) / 2;
  Incoming columns;
  columns.from[above] = message_of(level, other, below, pixel.y - 1, pixel.i);
  columns.from[below] = message_of(level, other, above, pixel.y + 1, pixel.i);
  columns.from[left_side] = message_of(level, other, right_side, pixel.y, left_i);
  columns.from[right_side] = message_of(level, other, left_side, pixel.y, right_i);
  return columns;
}

// The order in which Felzenszwalb's program adds messages: float addition is not associative.
__device__ __forceinline__ float belief(const Incoming& columns, const Column& data, int label) {
  float total = 0;
  total += columns.from[below].at(label);
  total += columns.from[above].at(label);
  total += columns.from[right_side].at(label);
  total += columns.from[left_side].at(label);
  return total + data.at(label);
}

// The inputs of a message: the other three messages in that order, and the data costs.
struct Sources {
  Column first, second, third, data;
  __device__ __forceinline__ float at(int label) const {
    float total = 0;
    total += first.at(label);
    total += second.at(label);
    total += third.at(label);
    return total + data.at(label);
  }
};

__device__ __forceinline__ Sources all_but(int direction, const Incoming& columns, const Column& data) {
  const bool vertical = direction == above || direction == below;
  return {direction == below ? columns.from[above] : columns.from[below],
          vertical ? columns.from[right_side] : columns.from[above],
          direction == left_side ? columns.from[right_side] : columns.from[left_side], data};
}

// Values of the message being computed: three ranges of labels, each in its own memory.
enum Memory { registers, shared_memory, local_memory };

template <Memory memory>
__device__ __forceinline__ constexpr int first_label() {
  return memory == registers ? 0 : memory == shared_memory ? IN_REGISTERS : IN_REGISTERS + IN_SHARED_MEMORY;
}
template <Memory memory>
__device__ __forceinline__ constexpr int end_label() {
  return memory == registers       ? IN_REGISTERS
         : memory == shared_memory ? IN_REGISTERS + IN_SHARED_MEMORY
                                   : LABELS;
}

struct Values {
  float in_registers[IN_REGISTERS > 0 ? IN_REGISTERS : 1];
  float* in_shared_memory;
  float in_local_memory[first_label<local_memory>() < LABELS ? LABELS - first_label<local_memory>() : 1];

  template <Memory memory>
  __device__ __forceinline__ float& at(int label) {
    if constexpr (memory == registers)
      return in_registers[label];
    else if constexpr (memory == shared_memory)
      return in_shared_memory[(label - IN_REGISTERS) * PIXELS * directions];
    else
      return in_local_memory[label - first_label<local_memory>()];
  }
};

// Values of the labels in one memory.
template <Memory memory>
__device__ __forceinline__ float value_of(const Sources& sources, int label) {
  return sources.at(label);
}
template <Memory memory>
__device__ __forceinline__ float value_of(Values& message, int label) {
  return message.at<memory>(label);
}

// Processes a piece of labels whose values are loaded together.
template <Memory memory, bool upwards, bool keeps, int piece, class From, class Step>
__device__ __forceinline__ void walk_piece(int done, From& from, Values& message, const Step& step) {
  constexpr int first = first_label<memory>(), end = end_label<memory>();
  float values[piece];
#pragma unroll
  for (int i = 0; i < piece; ++i)
    if (done + i < end - first)
      values[i] = value_of<memory>(from, upwards ? first + done + i : end - 1 - done - i);
#pragma unroll
  for (int i = 0; i < piece; ++i) {
    if (done + i >= end - first) continue;
    const int label = upwards ? first + done + i : end - 1 - done - i;
    const float value = step(label, values[i]);
    if constexpr (keeps) message.at<memory>(label) = value;
  }
}

// Registers cannot be indexed, so loops over them must be unrolled. Loops over local memory must not be
// unrolled, or the compiler would turn it into registers.
template <Memory memory, bool upwards, bool keeps, class From, class Step>
__device__ __forceinline__ void walk_memory(From& from, Values& message, const Step& step) {
  constexpr int count = end_label<memory>() - first_label<memory>();
  if constexpr (memory == registers) {
#pragma unroll
    for (int done = 0; done < count; done += 8)
      walk_piece<memory, upwards, keeps, 8>(done, from, message, step);
  } else {
    constexpr int piece = memory == local_memory ? 1 : 8;
#pragma unroll 1
    for (int done = 0; done < count; done += piece)
      walk_piece<memory, upwards, keeps, piece>(done, from, message, step);
  }
}

// Calls step(label, value) for all labels in order, upwards or downwards, with the values of `from`. If
// `keeps`, the results become the message's values.
template <bool upwards, bool keeps, class From, class Step>
__device__ __forceinline__ void walk(From& from, Values& message, const Step& step) {
  walk_memory<upwards ? registers : local_memory, upwards, keeps>(from, message, step);
  walk_memory<shared_memory, upwards, keeps>(from, message, step);
  walk_memory<upwards ? local_memory : registers, upwards, keeps>(from, message, step);
}

__device__ __forceinline__ void send(const Sources& sources, float slope, float truncation, Values& message,
                                     const Column& to) {
  constexpr bool upwards = true, downwards = false, keeps = true, looks = false;
  float least = no_value, before = no_value;
  walk<upwards, keeps>(sources, message, [&](int, float value) {
    least = fminf(least, value);
    return before = fminf(value, before + slope);
  });
  const float highest = least + truncation;
  float after = no_value;
  walk<downwards, keeps>(message, message, [&](int, float value) {
    after = fminf(value, after + slope);
    return fminf(after, highest);
  });
  float mean = 0;
  walk<upwards, looks>(message, message, [&](int, float value) { return mean += value; });
  mean /= static_cast<float>(LABELS);
  walk<upwards, looks>(message, message, [&](int label, float value) {
    to.set(label, value - mean);
    return value;
  });
}

struct Smoothness {
  float slope, truncation;
};

// `tables` holds slopes by difference, then truncations.
__device__ __forceinline__ Smoothness smoothness(const CudaFloatLevel& level, const float* tables,
                                                 int table_size, const Pixel& pixel, int step_x, int step_y) {
  int edge = 0;
  if constexpr (EDGES) {
    const int here = level.gray[static_cast<int64>(pixel.y) * level.gray_stride + pixel.x];
    const int there = level.gray[static_cast<int64>(pixel.y + step_y) * level.gray_stride + pixel.x + step_x];
    edge = (abs(here - there) + 128) / 256;
  }
  return {tables[edge], tables[table_size + edge]};
}

}  // namespace

// One iteration: the messages of one colour. A block has PIXELS · 4 threads.
PARALLAX_KERNEL __launch_bounds__(PIXELS* directions, LEAST_BLOCKS)
    update(CudaFloatLevel level, const float* tables, int table_size, int colour) {
  PARALLAX_SHARED(float, shared_values);
  Values message;
  message.in_shared_memory = shared_values + threadIdx.x;
  wait_for_previous();
  const int y = blockIdx.x, i = blockIdx.y * PIXELS + threadIdx.x % PIXELS;
  const Pixel pixel = {2 * i + parity(y, colour), y, i};
  if (pixel.x >= level.width || outermost(level, pixel)) return;
  const int direction = threadIdx.x / PIXELS;
  const int step_x = direction == right_side ? 1 : direction == left_side ? -1 : 0;
  const int step_y = direction == below ? 1 : direction == above ? -1 : 0;
  const Smoothness smooth = smoothness(level, tables, table_size, pixel, step_x, step_y);
  const Sources sources =
      all_but(direction, incoming(level, colour, pixel), data_of(level, colour, pixel.y, pixel.i));
  send(sources, smooth.slope, smooth.truncation, message,
       message_of(level, colour, direction, pixel.y, pixel.i));
}

// The initial messages of a level: those of the pixels (x/2, y/2) of the coarser level, or zeros without a
// coarser level. grid.z = colour.
PARALLAX_KERNEL start(CudaFloatLevel level, CudaFloatLevel coarser, int is_coarsest) {
  wait_for_previous();
  const int colour = blockIdx.z;
  const Pixel pixel = find_pixel(colour);
  if (pixel.x >= level.width) return;
  const int x = pixel.x / 2, y = pixel.y / 2;
  for (int direction = 0; direction < directions; ++direction) {
    const Column to = message_of(level, colour, direction, pixel.y, pixel.i);
    const Column from = message_of(coarser, (x + y) & 1, direction, y, x / 2);
    for (int label = 0; label < LABELS; ++label) to.set(label, is_coarsest ? 0.0f : from.at(label));
  }
}

// Data costs of a coarser level: sums over up to four children. grid.z = colour.
PARALLAX_KERNEL add_up(CudaFloatLevel fine, CudaFloatLevel coarse) {
  wait_for_previous();
  const int colour = blockIdx.z;
  const Pixel pixel = find_pixel(colour);
  if (pixel.x >= coarse.width) return;
  const Column to = data_of(coarse, colour, pixel.y, pixel.i);
  for (int label = 0; label < LABELS; ++label) {
    float total = 0;
    for (int y = 2 * pixel.y; y <= 2 * pixel.y + 1; ++y)
      for (int x = 2 * pixel.x; x <= 2 * pixel.x + 1; ++x)
        if (x < fine.width && y < fine.height) total += data_of(fine, (x + y) & 1, y, x / 2).at(label);
    to.set(label, within_half(total));
  }
}

namespace {

// Whether all, and whether any of a pixel's labels have a right pixel.
struct Existence {
  bool all, any;
};

__device__ __forceinline__ bool leads_nowhere(const CudaCosts& costs) {
  return COST == volume && !costs.mirrored;
}

__device__ __forceinline__ Existence existence(const CudaCosts& costs, const Pixel& pixel) {
  if (leads_nowhere(costs)) return {true, true};
  Existence found{true, false};
  for (int label = 0; label < LABELS; label += 64) {
    const int count = min(64, LABELS - label);
    const int first = pixel.x - costs.min_disparity - label - (count - 1);
    const uint64 wanted = count == 64 ? ~0ull : (1ull << count) - 1;
    const uint64 bits = valid_bits(costs.validity.right, costs.validity.words, pixel.y, first) & wanted;
    found.all = found.all && bits == wanted;
    found.any = found.any || bits != 0;
  }
  return found;
}

__device__ __forceinline__ float cost(const CudaCosts& costs, const Pixel& pixel, int label) {
  const int right = pixel.x - costs.min_disparity - label, width = costs.samples.width;
  if (!leads_nowhere(costs)) {
    const bool inside = right >= 0 && right < width;
    if (!inside || (valid_bits(costs.validity.right, costs.validity.words, pixel.y, right) & 1) == 0)
      return costs.outside;
  }
  if constexpr (COST == volume) {
    return volume_cost(costs, pixel.y, costs.mirrored ? width - 1 - right : pixel.x, label, LABELS);
  } else {
    const int gap = difference(costs, pixel.y, pixel.x, right);
    return static_cast<float>(min(gap, costs.differences)) * costs.cost_scale;
  }
}

}  // namespace

// Data costs of the image, and the initial status of its pixels. grid.z = colour.
PARALLAX_KERNEL find_costs(CudaFloatLevel level, CudaCosts costs) {
  wait_for_previous();
  const int colour = blockIdx.z;
  const Pixel pixel = find_pixel(colour);
  if (pixel.x >= level.width) return;
  const bool valid = valid_bits(costs.validity.left, costs.validity.words, pixel.y, pixel.x) & 1;
  const Existence exists = existence(costs, pixel);
  const bool has_data = valid && (HAS_OUTSIDE || exists.all);
  const Column to = data_of(level, colour, pixel.y, pixel.i);
  for (int label = 0; label < LABELS; ++label) to.set(label, has_data ? cost(costs, pixel, label) : 0.0f);
  uint8 status = !valid ? input_masked : exists.any ? matched : out_of_range;
  if (status == matched && outermost(level, pixel)) status = out_of_range;
  costs.status[static_cast<int64>(pixel.y) * costs.samples.stride + pixel.x] = status;
}

// grid.z = colour.
PARALLAX_KERNEL decide(CudaFloatLevel level, CudaDecision to) {
  wait_for_previous();
  const int colour = blockIdx.z;
  const Pixel pixel = find_pixel(colour);
  if (pixel.x >= level.width) return;
  Beliefs found = {0, 0, 0, 0, no_value};
  if (!outermost(level, pixel)) {
    const Incoming columns = incoming(level, colour, pixel);
    const Column data = data_of(level, colour, pixel.y, pixel.i);
    found.best = no_value;
    for (int label = 0; label < LABELS; ++label) {
      const float value = belief(columns, data, label);
      if (label > 0 && !(value < found.best)) continue;
      found.label = label;
      found.best = value;
    }
    for (int label = 0; label < LABELS; ++label) {
      const float value = belief(columns, data, label);
      const int distance = label - found.label;
      if (distance == -1) found.before = value;
      if (distance == 1) found.after = value;
    }
  }
  const uint8 status = to.from_start[static_cast<int64>(pixel.y) * to.from_start_stride + pixel.x];
  write_decision<SUB_PIXEL>(to, pixel.x, pixel.y, level.width, LABELS, status, found);
}
