// SPDX-License-Identifier: Apache-2.0
// Pairs and maps of benchmarks that measure pairs per second from and to ordinary memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>

#include "parallax/parallax.h"

namespace parallax::benchmarks {

struct Case {
  Size size;
  int disparities;
};

template <class T>
bool same(const Plane<T>& a, const Plane<T>& b) {
  for (int y = 0; y < a.height(); ++y)
    if (std::memcmp(a.row(y), b.row(y), static_cast<std::size_t>(a.width()) * sizeof(T)) != 0) return false;
  return true;
}

inline bool same(const Result& a, const Result& b) {
  return same(a.disparity, b.disparity) && same(a.status, b.status);
}

// A pair and its map that own their memory.
struct Buffer {
  Plane<std::uint8_t> left, right;
  Result result;

  StereoPair pair() const { return {left.view(), right.view()}; }
};

inline Plane<std::uint8_t> red(const Plane<std::uint8_t>& colour) {
  Plane<std::uint8_t> plane({colour.width() / 3, colour.height()});
  for (int y = 0; y < plane.height(); ++y)
    for (int x = 0; x < plane.width(); ++x) plane.at(x, y) = colour.at(3 * x, y);
  return plane;
}

// As many copies of a pair as are in work at once, so that images come from memory instead of the caches.
class Buffers {
 public:
  explicit Buffers(const Case& of) : pair_(synthesize({.size = of.size, .disparities = of.disparities})) {}

  Buffer& at(std::size_t i) {
    while (buffers_.size() <= i)
      buffers_.push_back({red(pair_.left), red(pair_.right), Result(pair_.size())});
    return buffers_[i];
  }

 private:
  SynthPair pair_;
  std::deque<Buffer> buffers_;
};

}  // namespace parallax::benchmarks
