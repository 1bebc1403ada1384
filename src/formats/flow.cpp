// SPDX-License-Identifier: Apache-2.0

#include "formats/flow.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>

#include "parallax/error.h"
#include "parallax/formats.h"

#include "core/checks.h"
#include "core/floating_point.h"
#include "formats/text.h"

namespace parallax {
namespace {

static_assert(std::endian::native == std::endian::little, "files are copied as they are");

constexpr float none = std::numeric_limits<float>::infinity();

// The first four bytes of a .flo file, "PIEH", as a float; then the limit of known components.
constexpr float tag = 202021.25f, highest_known = 1e9f, unknown = 1e10f;

struct FloHeader {
  float tag;
  std::int32_t width, height;
};

template <class T>
T load(std::span<const std::byte> bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

bool is_known(float component) {
  return std::abs(component) <= highest_known;
}

// KITTI's numbers.
constexpr double per_pixel = 64, zero = 32768;

}  // namespace

bool has_vector(const FlowView& flow, int x, int y) {
  return std::isfinite(flow.u.at(x, y)) && std::isfinite(flow.v.at(x, y));
}

void check_flow(const char* what, const FlowView& flow) {
  check_view(std::string(what) + " (u)", flow.u, flow.u.size);
  check_view(std::string(what) + " (v)", flow.v, flow.u.size);
}

Flow flow_of(View<const float> disparity, View<const float> row_offset) {
  check_view("disparity map", disparity, disparity.size);
  check_view("map of row offsets", row_offset, disparity.size);
  Flow flow(disparity.size);
  for (int y = 0; y < disparity.size.height; ++y)
    for (int x = 0; x < disparity.size.width; ++x) {
      const bool known = std::isfinite(disparity.at(x, y)) && std::isfinite(row_offset.at(x, y));
      // Never −0, which would be visible in files.
      flow.u.at(x, y) = known ? 0 - disparity.at(x, y) : none;
      flow.v.at(x, y) = known ? row_offset.at(x, y) : none;
    }
  return flow;
}

Flow parse_flo(std::span<const std::byte> bytes, const std::string& name) {
  if (bytes.size() < sizeof(FloHeader) || load<float>(bytes, 0) != tag)
    fail(name, "is not a .flo file, which begins with PIEH: give a map of motions in that format");
  const auto header = load<FloHeader>(bytes, 0);
  const Size size = checked_size(header.width, header.height, name);
  check_length(bytes.size(), sizeof header + size.pixels() * 2 * sizeof(float), name);
  Flow flow(size);
  std::size_t at = sizeof header;
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x, at += 2 * sizeof(float)) {
      const auto u = load<float>(bytes, at), v = load<float>(bytes, at + sizeof(float));
      const bool known = is_known(u) && is_known(v);
      flow.u.at(x, y) = known ? u : none;
      flow.v.at(x, y) = known ? v : none;
    }
  return flow;
}

Flow read_flo(const std::string& path) {
  return parse_flo(read_file(path), path);
}

std::vector<std::byte> encode_flo(const FlowView& flow) {
  check_flow("motion", flow);
  const Size size = flow.u.size;
  const FloHeader header{tag, size.width, size.height};
  std::vector<std::byte> bytes(sizeof header + size.pixels() * 2 * sizeof(float));
  std::memcpy(bytes.data(), &header, sizeof header);
  std::byte* out = bytes.data() + sizeof header;
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x, out += 2 * sizeof(float)) {
      const bool known = has_vector(flow, x, y);
      const float vector[] = {known ? flow.u.at(x, y) : unknown, known ? flow.v.at(x, y) : unknown};
      std::memcpy(out, vector, sizeof vector);
    }
  return bytes;
}

Plane<std::uint16_t> encode_kitti_flow(const FlowView& flow) {
  const DefaultFloatingPoint environment;
  check_flow("motion", flow);
  const Size size = flow.u.size;
  Plane<std::uint16_t> rgb({3 * size.width, size.height});
  const auto encoded = [](float component, int x, int y) {
    const double value = std::nearbyint(component * per_pixel + zero);
    if (!(value >= 0 && value <= 65535)) {
      std::ostringstream message;
      message << "the motion at column " << x << " and row " << y << " is " << component
              << " pixels, a PNG holds those from -512 to 511.98: write .flo instead";
      refuse(message.str());
    }
    return static_cast<std::uint16_t>(value);
  };
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      if (!has_vector(flow, x, y)) continue;
      std::uint16_t* pixel = rgb.row(y) + 3 * static_cast<std::ptrdiff_t>(x);
      pixel[0] = encoded(flow.u.at(x, y), x, y);
      pixel[1] = encoded(flow.v.at(x, y), x, y);
      pixel[2] = 1;
    }
  return rgb;
}

Flow decode_kitti_flow(View<const std::uint16_t> rgb) {
  check_view("picture of motions", rgb, rgb.size);
  if (rgb.size.width % 3 != 0) refuse("width of the picture of motions", rgb.size.width, "a multiple of 3");
  const Size size{rgb.size.width / 3, rgb.size.height};
  Flow flow(size);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      const std::uint16_t* pixel = rgb.row(y) + 3 * static_cast<std::ptrdiff_t>(x);
      const auto decoded = [](std::uint16_t value) { return static_cast<float>((value - zero) / per_pixel); };
      flow.u.at(x, y) = pixel[2] != 0 ? decoded(pixel[0]) : none;
      flow.v.at(x, y) = pixel[2] != 0 ? decoded(pixel[1]) : none;
    }
  return flow;
}

}  // namespace parallax
