// SPDX-License-Identifier: Apache-2.0
// Random numbers and textures of synthetic pairs. Only +, −, ×, ÷ and floor are used, so that every machine
// renders the same bytes.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace parallax::synth {

// SplitMix64 (Steele, Lea, Flood 2014).
inline std::uint64_t scramble(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() { return state_ = scramble(state_); }
  // Returns a number in [low, high).
  double between(double low, double high) {
    return low + (high - low) * static_cast<double>(next() >> 11) * 0x1p-53;
  }

 private:
  std::uint64_t state_;
};

struct Point2 {
  double x, y;
};

using Colour = std::array<std::uint8_t, 3>;

inline double lattice(std::uint64_t seed, std::int64_t x, std::int64_t y) {
  const std::uint64_t cell = static_cast<std::uint64_t>(x) * 0x100000001b3u + static_cast<std::uint64_t>(y);
  return static_cast<double>(scramble(seed ^ scramble(cell)) >> 40) * 0x1p-24;
}

// Value noise in [0, 1]: random values on a lattice of the given spacing, smoothly interpolated.
inline double smooth_noise(std::uint64_t seed, double x, double y, double spacing) {
  const double column = std::floor(x / spacing), row = std::floor(y / spacing);
  const auto ease = [](double t) { return t * t * (3 - 2 * t); };
  const double u = ease(x / spacing - column), v = ease(y / spacing - row);
  const auto i = static_cast<std::int64_t>(column), j = static_cast<std::int64_t>(row);
  const double top = lattice(seed, i, j) * (1 - u) + lattice(seed, i + 1, j) * u;
  const double bottom = lattice(seed, i, j + 1) * (1 - u) + lattice(seed, i + 1, j + 1) * u;
  return top * (1 - v) + bottom * v;
}

// Approximately normal, with standard deviation 1: the sum of twelve numbers in [−½, ½).
inline double noise_at(std::uint64_t seed, int x, int y) {
  double sum = -6;
  for (std::uint64_t i = 0; i < 12; ++i) sum += lattice(seed + i, x, y);
  return sum;
}

// A colour of a sensor: brighter by a factor, with noise of a standard deviation in gray levels.
class Exposure {
 public:
  Exposure(double gain, double noise, std::uint64_t seed) : gain_(gain), noise_(noise), seed_(seed) {}

  void expose(const std::array<std::uint8_t, 3>& colour, int x, int y, std::uint8_t* to) const {
    for (std::size_t c = 0; c < 3; ++c) {
      double light = colour[c] * gain_;
      if (noise_ > 0) light += noise_ * noise_at(seed_ + 100 * c, x, y);
      to[c] = static_cast<std::uint8_t>(std::floor(std::clamp(light, 0.0, 255.0) + 0.5));
    }
  }

 private:
  double gain_, noise_;
  std::uint64_t seed_;
};

inline std::uint8_t level(double brightness) {
  return static_cast<std::uint8_t>(std::floor(brightness * 255 + 0.5));
}

// Three octaves of brightness, and a tint for each surface so that people can tell surfaces apart.
inline Colour smooth_texture(std::uint64_t seed, double x, double y) {
  const double brightness = 0.45 * smooth_noise(seed, x, y, 4) + 0.35 * smooth_noise(seed + 1, x, y, 9) +
                            0.2 * smooth_noise(seed + 2, x, y, 31);
  Colour colour;
  for (int c = 0; c < 3; ++c) colour[c] = level(brightness * (0.7 + 0.3 * lattice(seed + 3, c, 0)));
  return colour;
}

}  // namespace parallax::synth
