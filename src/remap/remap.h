// SPDX-License-Identifier: Apache-2.0
// Interpolation at the positions of a map, in integers.
//
// Bilinear, for a position (fx, fy) / 64 right of and below the centre of pixel a, with its neighbours b to
// the right, c below and d to the right of c:
//   above = (64 − fx) a + fx b,   below = (64 − fx) c + fx d
//   value = (above + ((below − above) fy + 32 >> 6) + 32) >> 6
// Lanczos, with the 6 weights s of fx and t of fy (map.h) and k = kept_bits():
//   column_i = (Σ t_j a_ji + 2^(11 − k)) >> (12 − k)
//   value = (Σ s_i column_i + 2^(11 + k)) >> (12 + k), clamped
// Pixels that the camera did not see become 0.
#pragma once

#include <memory>

#include "parallax/rectify.h"

#include "remap/map.h"

namespace parallax::remap {

inline constexpr int sides = 2;  // left, right

// The maps of a pair, and the other data that all devices need.
struct Problem {
  Map maps[sides];
  Interpolation interpolation;
  BitDepth depth;
  Taps taps;

  std::size_t bytes() const { return maps[0].bytes() + maps[1].bytes() + sizeof(Taps); }
};

// \throws Error as the constructor of Rectifier does
Problem make_problem(const Rig& rig, const Rectification& rectification, Interpolation interpolation,
                     const Device& device, BitDepth depth);

// \throws Error (argument) unless the images have the cameras' sizes and the depth
void check_cameras(const ImageView& left, const ImageView& right, const Size (&cameras)[2], BitDepth depth);

// A pair and its rectified images, checked by the caller. Masks may be empty.
struct Images {
  ImageView from[sides];
  ImageOutput to[sides];
  View<std::uint8_t> masks[sides];
};

// A pair of maps on one device.
class Plan {
 public:
  virtual ~Plan() = default;
  virtual std::size_t memory_bytes() const = 0;
  virtual void run(const Images& images) = 0;
  // Rectifies images in the memory of a GPU, on the caller's stream.
  virtual void enqueue(const Images& images, void* stream);
};

// Writes row y of one rectified image, for the cpu device.
struct RowTask {
  const Map& map;
  const Taps& taps;
  Interpolation interpolation;
  const ImageView& from;
  const ImageOutput& to;
};
void remap_row(const RowTask& task, int y);

using SharedProblem = std::shared_ptr<const Problem>;
std::unique_ptr<Plan> make_reference(SharedProblem problem);
std::unique_ptr<Plan> make_cpu(SharedProblem problem, const Device& device);
std::unique_ptr<Plan> make_cuda(const Problem& problem, const Device& device);
std::unique_ptr<Plan> make_opencl(const Problem& problem, const Device& device);

}  // namespace parallax::remap
