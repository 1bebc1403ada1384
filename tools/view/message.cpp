// SPDX-License-Identifier: Apache-2.0
#include "tools/view/message.h"

#include <bit>

namespace parallax::view {
namespace {

// The page reads 16-bit planes in place.
static_assert(std::endian::native == std::endian::little);
constexpr std::size_t alignment = 8;

void append_four_bytes(std::string& bytes, std::size_t value) {
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>(value >> (8 * i) & 255);
}

void pad(std::string& bytes, char with) {
  bytes.resize((bytes.size() + alignment - 1) / alignment * alignment, with);
}

}  // namespace

void Message::add(const std::string& name, std::span<const std::uint8_t> values, Size size, int channels) {
  add(name, "u8", std::as_bytes(values), size, channels);
}

void Message::add(const std::string& name, std::span<const std::uint16_t> values, Size size) {
  add(name, "u16", std::as_bytes(values), size, 1);
}

void Message::add(const std::string& name, const char* type, std::span<const std::byte> bytes, Size size,
                  int channels) {
  head_["planes"].push_back({{"name", name},
                             {"type", type},
                             {"channels", channels},
                             {"width", size.width},
                             {"height", size.height},
                             {"offset", planes_.size()}});
  planes_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  pad(planes_, '\0');
}

std::string Message::bytes() const {
  // Names of files may hold bytes that are no UTF-8.
  std::string head = head_.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  pad(head, ' ');
  std::string bytes;
  bytes.reserve(8 + head.size() + planes_.size());
  append_four_bytes(bytes, 4 + head.size() + planes_.size());
  append_four_bytes(bytes, head.size());
  bytes += head;
  bytes += planes_;
  return bytes;
}

}  // namespace parallax::view
