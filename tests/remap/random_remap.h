// SPDX-License-Identifier: Apache-2.0
// Random pairs to rectify, for comparing devices with the reference.
#pragma once

#include <string>
#include <vector>

#include "parallax/rectify.h"

#include "geometry/random_rig.h"
#include "support.h"

namespace parallax::test {

struct RemapCase {
  Rig rig;
  Rectification to;
  Interpolation interpolation;
  BitDepth depth;
  int channels;
  bool masks;
};

inline RemapCase random_remap(unsigned seed) {
  RandomRig random(seed);
  const auto chance = [&](double share) { return random.between(0, 1) < share; };
  const auto side = [&] {
    return static_cast<int>(chance(0.2) ? random.between(1, 4) : random.between(1, 140));
  };
  const auto camera = [&] {
    constexpr LensModel others[] = {LensModel::equidistant, LensModel::omnidirectional,
                                    LensModel::double_sphere, LensModel::extended_unified};
    const LensModel other = others[static_cast<std::size_t>(random.between(0, 3.999))];
    return random.camera(chance(0.4) ? LensModel::radial_tangential : other, {side(), side()});
  };
  RemapCase result{.rig = random.rig(camera(), camera()),
                   .to = {},
                   .interpolation = chance(0.7) ? Interpolation::bilinear : Interpolation::lanczos3,
                   .depth = chance(0.6) ? BitDepth::bits8 : BitDepth::bits16,
                   .channels = chance(0.6) ? 1 : 3,
                   .masks = chance(0.7)};
  // Set by hand, because rectify() refuses cameras that see nothing in common.
  Rectification& to = result.to;
  to.rotation_left =
      rotation_about({random.between(-0.1, 0.1), random.between(-0.1, 0.1), random.between(-0.5, 0.5)});
  to.rotation_right =
      rotation_about({random.between(-0.1, 0.1), random.between(-0.1, 0.1), random.between(-0.5, 0.5)});
  to.size = {side(), side()};
  to.focal = result.rig.left.focal_x * random.between(0.3, 3);
  to.centre_left_x = to.size.width * random.between(0.3, 0.7);
  to.centre_right_x = to.size.width * random.between(0.3, 0.7);
  to.centre_y = to.size.height * random.between(0.3, 0.7);
  to.baseline = 1;
  return result;
}

// An image in memory with a gap between rows. Nothing follows the last one, so that the address sanitizer
// finds reads beyond it.
class Picture {
 public:
  Picture(Size size, BitDepth depth, int channels)
      : format_{size, depth},
        channels_(channels),
        row_bytes_(static_cast<std::size_t>(size.width * channels) * (depth == BitDepth::bits8 ? 1 : 2)),
        memory_((row_bytes_ + gap) * static_cast<std::size_t>(size.height) - gap, 0x5A) {}

  void fill(unsigned seed) {
    std::mt19937 random(seed);
    for (std::size_t i = 0; i < memory_.size(); ++i)
      // Blacks and whites are frequent, because they reveal errors of rounding and clamping.
      if (i % (row_bytes_ + gap) < row_bytes_)
        memory_[i] = static_cast<std::uint8_t>(random() % 4 == 0 ? 0 : random() % 3 == 0 ? 255 : random());
  }
  ImageView view() const { return {memory_.data(), format_, channels_, stride()}; }
  ImageOutput output() { return {memory_.data(), format_, channels_, stride()}; }
  // Includes gaps, which must not be written.
  bool operator==(const Picture& other) const { return memory_ == other.memory_; }

 private:
  static constexpr std::size_t gap = 6;
  std::ptrdiff_t stride() const { return static_cast<std::ptrdiff_t>(row_bytes_ + gap); }

  ImageFormat format_;
  int channels_;
  std::size_t row_bytes_;
  std::vector<std::uint8_t> memory_;
};

struct Remapped {
  Picture left, right;
  Plane<std::uint8_t> left_mask, right_mask;

  bool operator==(const Remapped& other) const {
    return left == other.left && right == other.right && same_bytes(left_mask, other.left_mask) &&
           same_bytes(right_mask, other.right_mask);
  }
};

inline Remapped remap_on(const Device& device, const RemapCase& problem, unsigned seed, int runs = 1) {
  Picture left(problem.rig.left.size, problem.depth, problem.channels);
  Picture right(problem.rig.right.size, problem.depth, problem.channels);
  left.fill(seed);
  right.fill(seed + 1);
  const Size size = problem.to.size;
  Remapped result{Picture(size, problem.depth, problem.channels),
                  Picture(size, problem.depth, problem.channels), Plane<std::uint8_t>(size, std::uint8_t{7}),
                  Plane<std::uint8_t>(size, std::uint8_t{7})};
  RectifiedPair to{result.left.output(), result.right.output()};
  if (problem.masks) to.left_mask = result.left_mask.view(), to.right_mask = result.right_mask.view();
  Rectifier rectifier(problem.rig, problem.to, problem.interpolation, device, problem.depth);
  for (int run = 0; run < runs; ++run) rectifier.run(left.view(), right.view(), to);
  return result;
}

inline std::string describe(const RemapCase& problem) {
  const auto size = [](Size s) { return std::to_string(s.width) + "×" + std::to_string(s.height); };
  return size(problem.rig.left.size) + " and " + size(problem.rig.right.size) + " to " +
         size(problem.to.size) +
         (problem.interpolation == Interpolation::bilinear ? ", bilinear, " : ", lanczos3, ") +
         std::to_string(static_cast<int>(problem.depth)) + " bits, " + std::to_string(problem.channels) +
         " channels";
}

}  // namespace parallax::test
