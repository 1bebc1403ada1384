// SPDX-License-Identifier: Apache-2.0
// Copies rows of bytes between a caller's images and a plan's.
#pragma once

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

void copy_rows(ConstRows from, Rows to, std::size_t row_bytes, int rows, const Workers& workers);

}  // namespace parallax
