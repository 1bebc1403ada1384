// SPDX-License-Identifier: Apache-2.0
// Copies rows of bytes between a caller's images and a plan's.
#pragma once

#include <array>
#include <cstddef>

#include "parallax/image.h"

#include "core/workers.h"

namespace parallax {

inline std::size_t bytes_per_sample(BitDepth depth) {
  return depth == BitDepth::bits16 ? 2 : 1;
}

inline std::size_t row_bytes(const ImageView& image) {
  return static_cast<std::size_t>(image.format.size.width) * static_cast<std::size_t>(image.channels) *
         bytes_per_sample(image.format.depth);
}

// A row's address, and the distance to the next.
struct Rows {
  std::byte* data;
  std::ptrdiff_t stride_bytes;
};
struct ConstRows {
  const std::byte* data;
  std::ptrdiff_t stride_bytes;
};

template <class T>
Rows rows_of(const View<T>& view) {
  return {reinterpret_cast<std::byte*>(view.data), view.stride_bytes};
}
template <class T>
ConstRows const_rows_of(const View<T>& view) {
  return {reinterpret_cast<const std::byte*>(view.data), view.stride_bytes};
}

// Threads that copy maps of this size and their pairs: one for 256 KiB, at most 16 of those that a device may
// have (0 = available_threads()). A plan has the same threads for all copies, because a thread takes longer to
// change its arena than to copy: with 64 hardware threads, census at 1920×1080 on a GPU ran 878 times a second
// with other threads for the pair than for the map, and 919 times with the same.
Workers copying_workers(int threads, Size map);

// The number of ranges of rows that the threads of a copy share: one for each 64 KiB, at most four a thread.
int copied_ranges(std::size_t bytes, int rows, const Workers& workers);

// Calls body(first, last) for ranges of rows that cover [0, rows) and copy so many bytes.
template <class Body>
void for_copied_rows(const Workers& workers, std::size_t bytes, int rows, Body&& body) {
  const int ranges = copied_ranges(bytes, rows, workers);
  const auto bound = [&](int i) { return static_cast<int>(static_cast<long long>(rows) * i / ranges); };
  workers.for_each(ranges, [&](int range, int) { body(bound(range), bound(range + 1)); });
}

void copy_rows(ConstRows from, Rows to, std::size_t row_bytes, int rows, const Workers& workers);

// Copies of planes with the same number of rows, which threads share as one.
class PlaneCopies {
 public:
  explicit PlaneCopies(int rows) : rows_(rows) {}
  void add(ConstRows from, Rows to, std::size_t row_bytes) { planes_[count_++] = {from, to, row_bytes}; }
  void run(const Workers& workers) const;

 private:
  struct PlaneCopy {
    ConstRows from;
    Rows to;
    std::size_t row_bytes;
  };
  void copy(const PlaneCopy& plane, int first, int last) const;

  static constexpr std::size_t most = 4;  // two images and their masks, or the planes of a map
  std::array<PlaneCopy, most> planes_;
  std::size_t count_ = 0;
  int rows_;
};

}  // namespace parallax
