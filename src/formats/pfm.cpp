// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>

#include "parallax/formats.h"

#include "core/checks.h"
#include "core/cpp20.h"
#include "formats/text.h"

namespace parallax {
namespace {

struct Header {
  Size size;
  bool little_endian;
  std::size_t bytes;  // length of the header
};

// The header has three lines: "Pf", "width height" and the scale. One white-space byte, or CR LF, ends it.
Header parse_header(std::string_view text, const std::string& name) {
  const std::size_t length = text.size();
  const std::string_view magic = next_word(text);
  if (magic == "PF") fail(name, "is a PFM with three channels: give one with a single channel (Pf)");
  if (magic != "Pf") fail(name, "is not a PFM, which begins with Pf: give a disparity map in that format");
  const auto width = parse_number<long long>(next_word(text));
  const auto height = parse_number<long long>(next_word(text));
  const auto scale = parse_number<double>(next_word(text));
  const Size size = checked_size(width, height, name);
  if (!scale || !std::isfinite(*scale) || *scale == 0) fail(name, "has a scale that is 0 or not a number");
  if (text.empty()) fail(name, "ends within its header: copy it again");
  text.remove_prefix(text.starts_with("\r\n") ? 2 : 1);
  return {size, *scale < 0, length - text.size()};
}

float load(const std::byte* bytes, bool little_endian) {
  std::uint32_t value;
  std::memcpy(&value, bytes, sizeof value);
  if (little_endian != (std::endian::native == std::endian::little)) value = __builtin_bswap32(value);
  return bit_cast<float>(value);
}

}  // namespace

Plane<float> parse_pfm(std::span<const std::byte> bytes, const std::string& name) {
  // Longer than any header; the rest is not text.
  const std::string_view start(reinterpret_cast<const char*>(bytes.data()),
                               std::min<std::size_t>(bytes.size(), 1024));
  const Header header = parse_header(start, name);
  check_length(bytes.size(), header.bytes + header.size.pixels() * sizeof(float), name);
  Plane<float> image(header.size);
  const std::byte* pixel = bytes.data() + header.bytes;
  for (int y = header.size.height - 1; y >= 0; --y)
    for (int x = 0; x < header.size.width; ++x, pixel += sizeof(float))
      image.at(x, y) = load(pixel, header.little_endian);
  return image;
}

Plane<float> read_pfm(const std::string& path) {
  return parse_pfm(read_file(path), path);
}

std::vector<std::byte> encode_pfm(View<const float> image) {
  check_view("image", image, image.size);
  static_assert(std::endian::native == std::endian::little, "rows are copied as they are");
  const std::string header =
      "Pf\n" + std::to_string(image.size.width) + " " + std::to_string(image.size.height) + "\n-1.0\n";
  const std::size_t row_bytes = static_cast<std::size_t>(image.size.width) * sizeof(float);
  std::vector<std::byte> bytes(header.size() + row_bytes * static_cast<std::size_t>(image.size.height));
  std::memcpy(bytes.data(), header.data(), header.size());
  std::byte* out = bytes.data() + header.size();
  for (int y = image.size.height - 1; y >= 0; --y, out += row_bytes)
    std::memcpy(out, image.row(y), row_bytes);
  return bytes;
}

}  // namespace parallax
