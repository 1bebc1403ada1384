// What the kernels of whole and of float arithmetic share.
//
// Specialised by COST (a DataCost), TABLE (1 = differences are whole gray levels, or bits).
#pragma once

#include "belief_propagation_types.h"
#include "kernel.h"
#include "refine_costs.h"

namespace parallax::belief_propagation {

enum Direction { above, below, left_side, right_side };
constexpr int directions = 4;

// Values of DataCost.
constexpr int absolute_difference = 0, absolute_difference_colour = 1, census_distance = 2,
              birchfield_tomasi = 3, volume = 4;

// Values of Status.
constexpr uint8 matched = 0, out_of_range = 2, ambiguous = 4, input_masked = 7;

// The first pixel of a colour in a row is column 0 or 1.
__device__ __forceinline__ int parity(int y, int colour) {
  return (y + colour) & 1;
}

__device__ __forceinline__ int pixels_in(int width, int y, int colour) {
  return (width - parity(y, colour) + 1) / 2;
}

__device__ __forceinline__ int column_inside(int x, int width) {
  return min(max(x, 0), width - 1);
}

template <class Value>
__device__ __forceinline__ const Value* row_of(const Value* plane, const CudaSamples& samples, int y) {
  return plane + static_cast<int64>(y) * samples.stride;
}

// The bits of 64 pixels from a column on; those outside are 0.
__device__ __forceinline__ uint64 valid_bits(const uint32* plane, int words, int y, int first) {
  const uint32* row = plane + static_cast<int64>(y) * words;
  const auto word = [&](int index) -> uint32 { return index >= 0 && index < words ? row[index] : 0; };
  const int index = first >> 5, shift = first & 31;
  const uint32 low = __funnelshift_r(word(index), word(index + 1), shift);
  const uint32 high = __funnelshift_r(word(index + 1), word(index + 2), shift);
  return static_cast<uint64>(high) << 32 | low;
}

// How far a sample is from a range, whose ends are the halves of a word.
__device__ __forceinline__ int distance(int sample, uint32 range) {
  return max(0, max(sample - static_cast<int>(range >> 16), static_cast<int>(range & 0xFFFF) - sample));
}

// Between pixels of the left and the right row, both inside; in 256ths of a gray level, or of a bit.
__device__ __forceinline__ int difference(const CudaCosts& costs, int y, int left, int right) {
  const CudaSamples& samples = costs.samples;
  const auto gray = [&](const uint16* plane, int x) -> int { return row_of(plane, samples, y)[x]; };
  if constexpr (COST == census_distance) {
    const uint64 first = row_of(static_cast<const uint64*>(costs.left_features), samples, y)[left];
    const uint64 second = row_of(static_cast<const uint64*>(costs.right_features), samples, y)[right];
    return __popcll(first ^ second) * 256;
  } else if constexpr (COST == birchfield_tomasi) {
    const uint32 first = row_of(static_cast<const uint32*>(costs.left_features), samples, y)[left];
    const uint32 second = row_of(static_cast<const uint32*>(costs.right_features), samples, y)[right];
    return min(distance(gray(samples.left, left), second), distance(gray(samples.right, right), first));
  } else if constexpr (COST == absolute_difference_colour) {
    constexpr uint32 third = 21845;  // of 65536
    uint32 sum = 0;
#pragma unroll
    for (int channel = 0; channel < 3; ++channel) {
      const int64 plane = channel * samples.plane;
      sum += static_cast<uint32>(abs(gray(samples.left + plane, left) - gray(samples.right + plane, right))) *
                 third >>
             16;
    }
    return static_cast<int>(sum);
  } else {
    return abs(gray(samples.left, left) - gray(samples.right, right));
  }
}

// The lowest belief of a pixel, its neighbours, and the lowest that is not its neighbour.
struct Beliefs {
  int label;
  float before, best, after, rival;
};

// Writes what became of pixel (x, y), of the right map in whole pixels. `status` is what it is from the
// start.
template <bool with_confidence, int sub_pixel>
__device__ __forceinline__ void write_decision(const CudaDecision& to, int x, int y, int width, int labels,
                                               uint8 status, const Beliefs& found) {
  const float infinity = __uint_as_float(0x7F800000u);
  const int column = to.mirrored ? width - 1 - x : x;
  const int64 at = static_cast<int64>(y) * to.stride + column;
  const bool decided = status == matched;
  float disparity = static_cast<float>(to.min_disparity + found.label), confidence = 0;
  if constexpr (with_confidence) {
    const float gap = found.rival - found.best;
    confidence = gap == infinity ? 1.0f : gap / (gap + to.full_gap);
    if (decided && to.min_confidence != 0 && !(confidence >= to.min_confidence)) status = ambiguous;
  }
  if constexpr (sub_pixel != 0) {
    if (!to.mirrored && found.label > 0 && found.label + 1 < labels)
      disparity += refine::sub_pixel_offset<sub_pixel>(found.before, found.best, found.after);
  }
  to.disparity[at] = status == matched ? disparity : infinity;
  if (to.status != nullptr) to.status[static_cast<int64>(y) * to.status_stride + column] = status;
  if (to.confidence != nullptr) to.confidence[at] = decided ? confidence : 0.0f;
}

}  // namespace parallax::belief_propagation
