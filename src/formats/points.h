// SPDX-License-Identifier: Apache-2.0
// Functions that the writers of point files share.
#pragma once

#include <bit>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "parallax/geometry.h"

namespace parallax {

// \throws Error (argument) for a point that is not finite
void check_points(std::span<const Point> points);

// A file with a header in text and binary data of known length.
class BinaryFile {
 public:
  BinaryFile(const std::string& header, std::size_t data_bytes) : bytes_(header.size() + data_bytes) {
    put(header.data(), header.size());
  }

  template <class Value>
  void put(const Value& value) {
    static_assert(std::endian::native == std::endian::little, "values are copied as they are");
    put(&value, sizeof value);
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  void put(const void* data, std::size_t size) {
    std::memcpy(bytes_.data() + position_, data, size);
    position_ += size;
  }

  std::vector<std::byte> bytes_;
  std::size_t position_ = 0;
};

}  // namespace parallax
