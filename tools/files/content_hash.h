// SPDX-License-Identifier: Apache-2.0
// Hashes that tell whether contents have changed: XXH3 of 128 bits, as 32 hexadecimal digits.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace parallax::tool {

std::string content_hash(std::span<const std::byte> bytes);
inline std::string content_hash(std::string_view text) {
  return content_hash(std::as_bytes(std::span(text.data(), text.size())));
}

// Hash of the bytes of a file, which is read in parts.
// \throws Error (file)
std::string file_hash(const std::string& path);

}  // namespace parallax::tool
