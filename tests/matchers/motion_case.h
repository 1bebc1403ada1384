// SPDX-License-Identifier: Apache-2.0
// Random problems of motion, for the tests of its devices.
#pragma once

#include <algorithm>
#include <array>
#include <random>
#include <sstream>
#include <string>

#include "support.h"

namespace parallax::test {

inline std::string describe(Size size, const MotionParameters& p) {
  std::ostringstream out;
  out << size.width << "x" << size.height << ", labels " << p.min_disparity << "+" << p.disparities << ", "
      << p.min_row_offset << "+" << p.row_offsets << ", window " << p.active_window << ", levels " << p.levels
      << ", iterations " << p.iterations << ", " << p.finest_iterations << ", arithmetic "
      << static_cast<int>(p.arithmetic) << ", cost " << static_cast<int>(p.cost) << ", weight "
      << p.data_weight << ", outside " << p.outside_cost << ", truncation " << p.discontinuity_truncation
      << ", check " << p.refine.left_right_check;
  return out.str();
}

// The frames with those masks that are not empty.
inline StereoPair masked(StereoPair pair, const Plane<std::uint8_t> (&masks)[2]) {
  if (masks[0].width() > 0) pair.left_mask = masks[0].view();
  if (masks[1].width() > 0) pair.right_mask = masks[1].view();
  return pair;
}

// Frames of random patches that move, with noise in some places.
struct MotionCase {
  Size size;
  MotionParameters parameters;
  Plane<std::uint16_t> images[2];
  Plane<std::uint8_t> bytes[2], masks[2];  // masks may be empty
  bool deep;

  explicit MotionCase(unsigned seed) {
    std::mt19937 random(seed);
    const auto any = [&](int low, int high) { return random_number(random, low, high); };
    const int shape = any(0, 5);
    size = shape == 0   ? Size{any(1, 4), any(1, 60)}
           : shape == 1 ? Size{any(1, 150), any(1, 4)}
           : shape == 2 ? Size{any(10, 25), any(64, 150)}  // rows for several threads
                        : Size{any(17, 70), any(1, 50)};
    deep = any(0, 3) == 0;
    choose_parameters(any);
    for (int k = 0; k < 2; ++k) {
      images[k] = Plane<std::uint16_t>(size);
      bytes[k] = Plane<std::uint8_t>(size);
    }
    draw(any);
    for (int k = 0; k < 2; ++k)
      for (int y = 0; y < size.height; ++y)
        for (int x = 0; x < size.width; ++x)
          bytes[k].at(x, y) = static_cast<std::uint8_t>(images[k].at(x, y) / 256);
    for (auto& mask : masks) {
      if (any(0, 2) > 0) continue;
      mask = Plane<std::uint8_t>(size);
      for (int y = 0; y < size.height; ++y)
        for (int x = 0; x < size.width; ++x)
          mask.at(x, y) = static_cast<std::uint8_t>(x / 8 % 3 == 0 ? 0 : any(0, 5));
    }
  }

  template <class Any>
  void choose_parameters(const Any& any) {
    MotionParameters& p = parameters;
    p.active_window = 3 + 2 * any(0, 2);
    if (any(0, 7) == 0) p.active_window = 0;
    const bool all = p.active_window == 0;
    p.disparities = any(0, 4) == 0 ? any(1, 6) : any(18, all ? 20 : 60);
    p.row_offsets = any(0, 4) == 0 ? any(1, 6) : any(3, all ? 7 : 60);
    p.min_disparity = -p.disparities / 2 + any(-10, 10);
    p.min_row_offset = -p.row_offsets / 2 + any(-10, 10);
    const auto reach = [](int first, int count, int side) {
      return std::clamp(first, 2 - side - count, side - 1);
    };
    p.min_disparity = reach(p.min_disparity, p.disparities, size.width);
    p.min_row_offset = reach(p.min_row_offset, p.row_offsets, size.height);
    p.prediction_weight = any(0, 3) == 0 ? 2.0f : 0.03f;
    p.levels = any(1, 5);
    p.iterations = any(1, 8);
    p.finest_iterations = any(0, 5);
    p.arithmetic = std::array{Arithmetic::fixed8, Arithmetic::fixed8, Arithmetic::fixed16,
                              Arithmetic::float32}[static_cast<std::size_t>(any(0, 3))];
    p.cost = any(0, 3) == 0 ? DataCost::absolute_difference : DataCost::census;
    p.data_weight = any(0, 4) == 0 ? 3.0f : 0.05f;
    p.data_truncation = any(0, 1) == 0 ? 0.0f : 20.0f;
    p.outside_cost = any(0, 4) == 0 ? 100.0f : 1.6f;
    p.smoothing = any(0, 3) == 0 ? 0.7f : 0.0f;
    p.discontinuity_truncation = any(0, 2) == 0 ? static_cast<float>(any(1, 30)) : 6.0f;
    p.edge_contrast = any(0, 2) == 0 ? 0.0f : 7.0f;
    p.min_confidence = any(0, 1) == 0 ? 0.0f : 0.2f;
    p.sub_pixel = static_cast<SubPixel>(any(0, 2));
    p.refine.left_right_check = any(0, 1) == 0;
    if (any(0, 1) == 0) p.refine.refit = 0;
    if (any(0, 1) == 0) p.refine.fill = Fill::none;
    if (any(0, 1) == 0) p.refine.median = 0;
  }

  template <class Any>
  void draw(const Any& any) {
    const int noise = any(0, 1) * 255;
    for (auto& image : images)
      for (int y = 0; y < size.height; ++y)
        for (int x = 0; x < size.width; ++x) image.at(x, y) = static_cast<std::uint16_t>(any(0, noise) * 256);
    for (int patch = 0; patch < 30; ++patch) {
      const int left = any(-5, size.width - 1), top = any(-5, size.height - 1), width = any(1, 20),
                height = any(1, 20), gray = any(0, 65535);
      const int shift_x = any(-9, 9), shift_y = any(-9, 9);
      for (int k = 0; k < 2; ++k)
        for (int y = 0; y < height; ++y)
          for (int x = 0; x < width; ++x) {
            const int u = left + x + k * shift_x, v = top + y + k * shift_y;
            if (u >= 0 && v >= 0 && u < size.width && v < size.height)
              images[k].at(u, v) = static_cast<std::uint16_t>((gray + 997 * x * y) % 65536);
          }
    }
  }

  ImageFormat format() const { return {size, deep ? BitDepth::bits16 : BitDepth::bits8}; }

  StereoPair pair() const {
    return masked(
        deep ? StereoPair{images[0].view(), images[1].view()} : StereoPair{bytes[0].view(), bytes[1].view()},
        masks);
  }

  std::string description() const { return describe(size, parameters); }
};

}  // namespace parallax::test
