// SPDX-License-Identifier: Apache-2.0
// The format in which the emulated compiler passes a program to the emulated driver: a header, then the bytes
// of a shared library. The header has their number and their hash, which the driver checks.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace emulated {

struct ImageHeader {
  char magic[8] = {'E', 'M', 'U', 'L', 'A', 'T', 'E', 'D'};
  std::uint64_t bytes = 0, hash = 0;
  // 90 for sm_90
  std::uint64_t architecture = 0;
};

// FNV-1a.
inline std::uint64_t hash_of(std::string_view text) {
  std::uint64_t value = 14695981039346656037u;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return value;
}

inline std::string make_image(std::string_view library, std::uint64_t architecture) {
  ImageHeader header;
  header.bytes = library.size();
  header.hash = hash_of(library);
  header.architecture = architecture;
  std::string image(sizeof header, '\0');
  std::memcpy(image.data(), &header, sizeof header);
  return image.append(library);
}

}  // namespace emulated
