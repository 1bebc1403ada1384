// SPDX-License-Identifier: Apache-2.0
// What every function of the C interface does: no exception leaves it, and structs and pointers are checked.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "parallax/matcher.h"
#include "parallax/parallax_c.h"
#include "parallax/rectify.h"

namespace parallax::c {

// Remembers the exception that is being handled as this thread's message, and returns its code.
parallax_code failure() noexcept;

template <class Run>
parallax_code call(const Run& run) noexcept {
  try {
    run();
    return PARALLAX_OK;
  } catch (...) {
    return failure();
  }
}

[[noreturn]] void refuse_null(std::string_view name);
[[noreturn]] void refuse_size(std::string_view name, std::size_t size, std::size_t least);

template <class T>
T& required(T* pointer, std::string_view name) {
  if (pointer == nullptr) refuse_null(name);
  return *pointer;
}

// \throws Error (argument) for a null pointer
std::string text(const char* given, std::string_view name);

// A caller's struct in this library's size: members that the caller does not know are 0, those that this
// library does not know must be 0. A struct ends at the least with the members of the first version, `least`
// bytes.
template <class Struct>
Struct known(const Struct* given, std::string_view name, std::size_t least = sizeof(Struct)) {
  constexpr std::size_t most = 4096;  // a larger size was never set
  const std::size_t size = required(given, name).struct_size;
  if (size < least || size > most) refuse_size(name, size, least);
  const auto* bytes = reinterpret_cast<const char*>(given);
  for (std::size_t i = sizeof(Struct); i < size; ++i)
    if (bytes[i] != 0) refuse_size(name, size, least);
  Struct result{};
  std::memcpy(&result, given, size < sizeof(Struct) ? size : sizeof(Struct));
  return result;
}

// Writes a struct that a caller made, as far as the caller knows it.
template <class Struct>
void write_struct(Struct value, Struct* to, std::string_view name, std::size_t least = sizeof(Struct)) {
  value.struct_size = known(to, name, least).struct_size;
  std::memcpy(to, &value, std::min(value.struct_size, sizeof(Struct)));
}

void write_calibration(const Calibration& from, parallax_calibration* to);

// \throws Error (argument) unless the type is 8 or 16 bits
BitDepth depth_of(parallax_type type, std::string_view name);

ImageView image_view(const parallax_image* image, std::string_view name);
View<const float> float_view(const parallax_image* image, std::string_view name);
// A pointer to null gives an empty view.
View<const std::uint8_t> mask_view(const parallax_image* image, std::string_view name);
CostVolume cost_view(const parallax_image* image);
View<float> float_output(const parallax_output* output, std::string_view name, int channels = 1);
// `channels` interleaved: the view is so many times as wide.
View<std::uint8_t> byte_output(const parallax_output* output, std::string_view name, int channels = 1);

// An image of 8 or 16 bits.
ImageOutput image_output(const parallax_output* output, std::string_view name);

StereoPair pair_of(const parallax_pair* pair);
DisparityMap map_of(const parallax_map* map);

// What a matcher is planned with.
struct Settings {
  MatcherParameters parameters;
  Device device;
  PlanOptions options;
};
Settings settings_of(parallax_matcher* matcher);
MatcherParameters matcher_parameters(parallax_matcher* matcher);

// "auto" looks for GPUs.
Device parse_device(const std::string& name, int threads);

}  // namespace parallax::c
