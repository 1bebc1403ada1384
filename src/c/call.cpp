// SPDX-License-Identifier: Apache-2.0
#include "c/call.h"

#include <algorithm>
#include <new>
#include <stdexcept>
#include <type_traits>

#include "parallax/error.h"
#include "parallax/version.h"

#include "core/cancellation.h"
#include "core/checks.h"

namespace parallax::c {
namespace {

// Without the message when there is no memory for it.
thread_local std::string message;
thread_local const char* shown = "";

parallax_code remember(parallax_code code, const char* text) noexcept {
  try {
    message = text;
    shown = message.c_str();
  } catch (const std::bad_alloc&) {
    shown = "out of memory";
  }
  return code;
}

parallax_code code_of(ErrorCategory category) {
  switch (category) {
    case ErrorCategory::argument:
      return PARALLAX_ERROR_ARGUMENT;
    case ErrorCategory::file:
      return PARALLAX_ERROR_FILE;
    case ErrorCategory::device:
      return PARALLAX_ERROR_DEVICE;
    case ErrorCategory::memory:
      return PARALLAX_ERROR_MEMORY;
    case ErrorCategory::cancelled:
      return PARALLAX_ERROR_CANCELLED;
    case ErrorCategory::internal:
      break;
  }
  return PARALLAX_ERROR_INTERNAL;
}

std::string named(std::string_view name) {
  return std::string(name);
}

// Rows of an input may repeat, those of an output must not overlap.
template <class Struct>
void check_rows(const Struct& output, std::string_view name, std::size_t value_bytes) {
  const std::int64_t row = static_cast<std::int64_t>(value_bytes) * output.width * output.channels;
  if (output.height > 1 && output.stride_bytes > -row && output.stride_bytes < row)
    refuse(named(name) + " stride_bytes", output.stride_bytes,
           "at least the bytes of a row, " + std::to_string(row));
}

// Clamped, not truncated, so that a stride beyond 32-bit addresses is still refused.
template <class Struct>
std::ptrdiff_t stride_of(const Struct& image) {
  using Limits = std::numeric_limits<std::ptrdiff_t>;
  return static_cast<std::ptrdiff_t>(
      std::clamp<std::int64_t>(image.stride_bytes, Limits::min(), Limits::max()));
}

// The first pixel's address, the size and the distance between rows, as a view of T, if the struct has that
// type.
template <class T, class Struct>
View<T> typed_view(const Struct& image, std::string_view name, parallax_type type, int channels) {
  if (image.type != type)
    refuse(named(name) + " type", static_cast<int>(image.type),
           type == PARALLAX_FLOAT32 ? "PARALLAX_FLOAT32" : "PARALLAX_UINT8");
  if (image.channels != channels) refuse(named(name) + " channels", image.channels, std::to_string(channels));
  const View<T> view(static_cast<T*>(image.data), {image.width, image.height}, stride_of(image));
  check_size(view.size);
  check_view(name, view, view.size);
  if (!std::is_const_v<T>) check_rows(image, name, sizeof(T));
  return view;
}

}  // namespace

parallax_code failure() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    return remember(code_of(error.category()), error.what());
  } catch (const std::bad_alloc&) {
    return remember(PARALLAX_ERROR_MEMORY, "out of memory: free some memory or match a smaller image");
  } catch (const std::length_error&) {
    return remember(PARALLAX_ERROR_MEMORY, "out of memory: free some memory or give fewer values");
  } catch (const std::exception& error) {
    return remember(PARALLAX_ERROR_INTERNAL, error.what());
  } catch (...) {
    return remember(PARALLAX_ERROR_INTERNAL, "unknown exception");
  }
}

void refuse_null(std::string_view name) {
  throw Error(ErrorCategory::argument, named(name) + " is NULL: give a valid pointer");
}

void refuse_size(std::string_view name, std::size_t size, std::size_t least) {
  refuse(named(name) + " struct_size", size,
         "the size of the struct, at least " + std::to_string(least) +
             "; a larger one with members that are not 0 needs a newer library");
}

std::string text(const char* given, std::string_view name) {
  return &required(given, name);
}

BitDepth depth_of(parallax_type type, std::string_view name) {
  if (type != PARALLAX_UINT8 && type != PARALLAX_UINT16)
    refuse(name, static_cast<int>(type), "PARALLAX_UINT8 or PARALLAX_UINT16");
  return type == PARALLAX_UINT8 ? BitDepth::bits8 : BitDepth::bits16;
}

ImageView image_view(const parallax_image* given, std::string_view name) {
  const parallax_image image = known(given, name);
  const BitDepth depth = depth_of(image.type, named(name) + " type");
  return {image.data, {{image.width, image.height}, depth}, image.channels, stride_of(image)};
}

View<const float> float_view(const parallax_image* given, std::string_view name) {
  return typed_view<const float>(known(given, name), name, PARALLAX_FLOAT32, 1);
}

View<const std::uint8_t> mask_view(const parallax_image* given, std::string_view name) {
  if (given == nullptr) return {};
  return typed_view<const std::uint8_t>(known(given, name), name, PARALLAX_UINT8, 1);
}

CostVolume cost_view(const parallax_image* given) {
  if (given == nullptr) return {};
  const parallax_image image = known(given, "costs");
  const View<const float> view = typed_view<const float>(image, "costs", PARALLAX_FLOAT32, image.channels);
  CostVolume costs;
  costs.data = view.data;
  costs.size = view.size;
  costs.labels = image.channels;
  costs.stride_bytes = view.stride_bytes;
  return costs;
}

View<float> float_output(const parallax_output* given, std::string_view name, int channels) {
  View<float> view = typed_view<float>(known(given, name), name, PARALLAX_FLOAT32, channels);
  view.size.width *= channels;
  return view;
}

View<std::uint8_t> byte_output(const parallax_output* given, std::string_view name, int channels) {
  View<std::uint8_t> view = typed_view<std::uint8_t>(known(given, name), name, PARALLAX_UINT8, channels);
  view.size.width *= channels;
  return view;
}

ImageOutput image_output(const parallax_output* given, std::string_view name) {
  const parallax_output output = known(given, name);
  const BitDepth depth = depth_of(output.type, named(name) + " type");
  check_rows(output, name, output.type / 8);
  return {output.data, {{output.width, output.height}, depth}, output.channels, stride_of(output)};
}

StereoPair pair_of(const parallax_pair* given) {
  const parallax_pair pair = known(given, "pair");
  return {image_view(pair.left, "left image"), image_view(pair.right, "right image"),
          mask_view(pair.left_mask, "left mask"), mask_view(pair.right_mask, "right mask"),
          cost_view(pair.costs)};
}

DisparityMap map_of(const parallax_map* given) {
  const auto known_map = [](const parallax_map* any, std::string_view name) {
    return known(any, name, offsetof(parallax_map, row_offset));
  };
  const parallax_map map = known_map(given, "map");
  DisparityMap views{float_output(map.disparity, "disparity map"), byte_output(map.status, "status map")};
  if (map.confidence != nullptr) views.confidence = float_output(map.confidence, "confidence map");
  if (map.row_offset != nullptr) views.row_offset = float_output(map.row_offset, "map of row offsets");
  if (map.right == nullptr) return views;
  const parallax_map right = known_map(map.right, "right map");
  if (right.right != nullptr) refuse("the right map has a right map, too: set its member to NULL");
  views.right.disparity = float_output(right.disparity, "right disparity map");
  views.right.status = byte_output(right.status, "right status map");
  if (right.confidence != nullptr)
    views.right.confidence = float_output(right.confidence, "right confidence map");
  if (right.row_offset != nullptr)
    views.right.row_offset = float_output(right.row_offset, "right map of row offsets");
  return views;
}

}  // namespace parallax::c

extern "C" {

int32_t parallax_interface(void) {
  return PARALLAX_INTERFACE;
}

const char* parallax_version(void) {
  return PARALLAX_VERSION;
}

const char* parallax_error_message(void) {
  return parallax::c::shown;
}

parallax_code parallax_set_interrupt(parallax_interrupt_function interrupt, void* user) {
  return parallax::c::call([&] { parallax::set_interrupt(interrupt, user); });
}

}  // extern "C"
