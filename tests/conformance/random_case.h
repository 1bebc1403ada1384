// SPDX-License-Identifier: Apache-2.0
// Random pairs and parameters of any method, made from the declarations of its parameters.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support.h"

namespace parallax::test {

// A texture whose corners are alike nowhere: random levels at every fifth pixel, smooth between them.
inline double texture(double x, double y) {
  constexpr double step = 5;
  const auto level = [](int column, int row) {
    std::uint32_t bits =
        static_cast<std::uint32_t>(column) * 0x9e3779b1u ^ static_cast<std::uint32_t>(row) * 0x85ebca77u;
    bits = (bits ^ (bits >> 15)) * 0x2c1b3c6du;
    return static_cast<double>((bits ^ (bits >> 12)) >> 24);
  };
  const auto smooth = [](double share) { return share * share * (3 - 2 * share); };
  const double column = std::floor(x / step), row = std::floor(y / step);
  const double across = smooth(x / step - column), down = smooth(y / step - row);
  const auto c = static_cast<int>(column), r = static_cast<int>(row);
  const auto mix = [&](int on) { return level(c, on) + across * (level(c + 1, on) - level(c, on)); };
  return mix(r) + down * (mix(r + 1) - mix(r));
}

// Two images with padded rows, often with masks. Half of the right image's rows show the left image shifted,
// so that some matches are good.
class RandomPair {
 public:
  RandomPair() = default;
  RandomPair(std::mt19937& random, const ImageFormat& format, int channels, int shift) {
    left_ = make_image(random, format, channels);
    right_ = make_image(random, format, channels);
    shift_left_into_right(shift);
    if (random_number(random, 0, 2) == 0) left_mask_ = make_mask(random, format.size);
    if (random_number(random, 0, 2) == 0) right_mask_ = make_mask(random, format.size);
  }

  // Replaces the images by a smooth texture, which lies `shift` columns farther left and half a row lower in
  // the right one.
  void make_misaligned(int shift) {
    make_smooth(left_, 0, 0);
    make_smooth(right_, shift, -0.5);
  }

  StereoPair pair() const {
    StereoPair pair{left_.view, right_.view};
    if (left_mask_.width() > 0) pair.left_mask = left_mask_.view();
    if (right_mask_.width() > 0) pair.right_mask = right_mask_.view();
    return pair;
  }

 private:
  struct Input {
    std::vector<std::uint16_t> memory;
    ImageView view;
  };

  // Noise of few or many levels: few make ties, many make large sums.
  static Input make_image(std::mt19937& random, const ImageFormat& format, int channels) {
    const auto any = [&](int low, int high) { return random_number(random, low, high); };
    const Size size = format.size;
    const int row_elements = size.width * channels;
    const int padding = any(0, 9);
    const int stride = row_elements + padding;
    const bool wide = format.depth == BitDepth::bits16;
    const int highest = wide ? 65535 : 255;
    const int levels = any(0, 1) == 0 ? 3 : highest;
    Input image;
    image.memory.resize(static_cast<std::size_t>(stride) * static_cast<std::size_t>(size.height));
    auto* bytes = reinterpret_cast<std::uint8_t*>(image.memory.data());
    for (int y = 0; y < size.height; ++y) {
      for (int i = 0; i < row_elements; ++i) {
        const int value = any(0, levels) * (highest / levels);
        const std::size_t at =
            static_cast<std::size_t>(y) * static_cast<std::size_t>(stride) + static_cast<std::size_t>(i);
        if (wide)
          image.memory[at] = static_cast<std::uint16_t>(value);
        else
          bytes[at] = static_cast<std::uint8_t>(value);
      }
    }
    image.view = ImageView(image.memory.data(), format, channels, stride * (wide ? 2 : 1));
    return image;
  }

  void shift_left_into_right(int shift) {
    const ImageFormat& format = left_.view.format;
    const int element_bytes = left_.view.channels * (format.depth == BitDepth::bits16 ? 2 : 1);
    for (int y = 0; y < format.size.height; y += 2) {
      const auto* from = static_cast<const std::uint8_t*>(left_.view.row(y));
      auto* to = const_cast<std::uint8_t*>(static_cast<const std::uint8_t*>(right_.view.row(y)));
      for (int x = std::max(0, shift); x < std::min(format.size.width, format.size.width + shift); ++x)
        std::copy_n(from + x * element_bytes, element_bytes, to + (x - shift) * element_bytes);
    }
  }

  // Shows the texture's value at (x + right, y + down) at (x, y).
  static void make_smooth(Input& image, double right, double down) {
    const auto [format, channels] = std::pair(image.view.format, image.view.channels);
    for (int row = 0; row < format.size.height; ++row) {
      void* values = const_cast<void*>(image.view.row(row));
      for (int i = 0; i < format.size.width * channels; ++i) {
        const double level = texture(i / channels + right, row + down);
        if (format.depth == BitDepth::bits16)
          static_cast<std::uint16_t*>(values)[i] = static_cast<std::uint16_t>(256 * level);
        else
          static_cast<std::uint8_t*>(values)[i] = static_cast<std::uint8_t>(level);
      }
    }
  }

  static Plane<std::uint8_t> make_mask(std::mt19937& random, Size size) {
    Plane<std::uint8_t> mask(size);
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x)
        mask.at(x, y) =
            static_cast<std::uint8_t>(random_number(random, 0, 3) == 0 ? 0 : random_number(random, 1, 255));
    return mask;
  }

  Input left_, right_;
  Plane<std::uint8_t> left_mask_, right_mask_;
};

class RandomCase {
 public:
  RandomCase(const std::string& method, unsigned seed);

  StereoPair pair() const;
  const MatcherParameters& parameters() const { return parameters_; }
  bool with_confidence() const { return with_confidence_; }
  // Size, format and all parameters that differ from the default.
  std::string description() const;

 private:
  int any(int low, int high) { return random_number(random_, low, high); }
  template <class T>
  T choose(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(any(0, static_cast<int>(from.size()) - 1))];
  }
  void choose_parameters();
  void choose_range();
  int row_offsets() const;
  std::string value_of(const ParameterInfo& parameter);
  bool is_accepted();
  void make_volume();
  bool takes_volume() const;

  std::string method_;
  unsigned seed_;
  std::mt19937 random_;
  ImageFormat format_;
  MatcherParameters parameters_;
  bool with_confidence_ = false;
  RandomPair images_;
  std::vector<float> volume_;
};

// A random case of belief propagation, changed so that tiles have candidate labels.
BeliefPropagationParameters with_candidates(const RandomCase& random_case, unsigned seed);

// Random parameters with rows auto, and a pair whose rows are not aligned. About half of these pairs are
// matched twice; the others have too few reliable disparities.
struct MisalignedCase {
  explicit MisalignedCase(unsigned seed);

  // The default parameters of another method, with rows auto, for the same images.
  MatcherParameters parameters_of(const std::string& method) const;

  BeliefPropagationParameters parameters;
  RandomPair images;
  std::string description;
};

}  // namespace parallax::test
