// SPDX-License-Identifier: Apache-2.0
// Checks of callers' arguments, with messages that say what to do.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>

#include "parallax/error.h"
#include "parallax/image.h"

namespace parallax {

// \throws Error (argument)
[[noreturn]] inline void refuse(const std::string& message) {
  throw Error(ErrorCategory::argument, message);
}

// The message for a value out of range: "window is 8: choose an odd number from 1 to 31".
template <class T>
[[noreturn]] void refuse(std::string_view field, T value, std::string_view choose) {
  std::ostringstream message;
  message << field << " is " << value << ": choose " << choose;
  refuse(message.str());
}

// "none, row"; with " or " as the last separator: "0, 3 or 5".
template <class Words>
std::string join(const Words& words, std::string_view last_separator = ", ") {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? last_separator : ", ";
    text += words[i];
  }
  return text;
}

template <class T>
void check_range(std::string_view field, T value, T lowest, T highest) {
  if (value >= lowest && value <= highest) return;
  std::ostringstream choose;
  choose << "a number from " << lowest << " to " << highest;
  refuse(field, value, choose.str());
}

// Checks an enumeration whose values count from 0 to `last`.
template <class Choice>
void check_choice(std::string_view field, Choice value, Choice last) {
  const int number = static_cast<int>(value);
  if (number < 0 || number > static_cast<int>(last)) refuse(field, number, "a value of its enumeration");
}

inline void check_finite(std::string_view field, double value) {
  if (!std::isfinite(value)) refuse(field, value, "a finite number");
}

template <class T>
void check_not_negative(std::string_view field, T value) {
  if (!(value >= T{0}) || !std::isfinite(static_cast<double>(value)))
    refuse(field, value, "a finite number, 0 or more");
}

inline std::string with_decimals(double value, int decimals) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

inline std::string text(Size size) {
  return std::to_string(size.width) + "×" + std::to_string(size.height);
}

// Rows so far apart that the address of one overflows are no memory.
inline void check_stride(std::string_view what, std::ptrdiff_t stride_bytes, int rows) {
  constexpr int unused_bits = sizeof(void*) > 4 ? 7 : 0;
  constexpr std::ptrdiff_t address_space = std::numeric_limits<std::ptrdiff_t>::max() >> unused_bits;
  const std::ptrdiff_t most = address_space / std::max(rows, 1);
  if (stride_bytes < -most || stride_bytes > most)
    refuse(std::string(what) + " stride_bytes", stride_bytes, "the bytes from one row to the next");
}

template <class T>
void check_view(std::string_view what, const View<T>& view, Size size) {
  if (view.size != size) refuse(std::string(what) + " is " + text(view.size) + ": give one of " + text(size));
  // Functions without a size to compare with pass the view's own size.
  if (size.width < 0 || size.height < 0)
    refuse(std::string(what) + " is " + text(size) + ": give one whose sides are not negative");
  if (view.empty()) refuse(std::string(what) + " points to no memory: give a view of allocated memory");
  check_stride(what, view.stride_bytes, size.height);
  if (view.stride_bytes % static_cast<std::ptrdiff_t>(sizeof(T)) != 0)
    refuse(std::string(what) + " stride_bytes", view.stride_bytes,
           "a multiple of " + std::to_string(sizeof(T)));
}

// A mask with neither memory nor a size is absent; one with either must be complete.
inline void check_mask(std::string_view what, const View<const std::uint8_t>& mask, Size size) {
  if (!mask.empty() || mask.size != Size{}) check_view(what, mask, size);
}

inline void check_map(const DisparityMap& map) {
  check_view("disparity map", map.disparity, map.disparity.size);
  check_view("status map", map.status, map.disparity.size);
}

inline void check_threads(int threads) {
  check_range("threads", threads, 0, 4096);
}

inline void check_depth(std::string_view what, BitDepth depth) {
  if (depth != BitDepth::bits8 && depth != BitDepth::bits16)
    refuse(std::string(what) + " depth", static_cast<int>(depth), "8 or 16 bits per channel");
}

inline void check_image(std::string_view what, const ImageView& image) {
  if (image.data == nullptr)
    refuse(std::string(what) + " points to no memory: give a view of allocated memory");
  if (image.channels != 1 && image.channels != 3)
    refuse(std::string(what) + " channels", image.channels, "1 (gray) or 3 (R, G, B)");
  check_depth(what, image.format.depth);
  check_stride(what, image.stride_bytes, image.format.size.height);
}

// Refuses a search range whose disparities all lead out of the image at every pixel.
inline void check_reachable(int lowest, int disparities, int width) {
  const int highest = lowest + disparities - 1;
  if (lowest < width && highest > -width) return;
  refuse("disparities " + std::to_string(lowest) + " to " + std::to_string(highest) +
         " lie outside an image " + std::to_string(width) +
         " pixels wide at every pixel: choose min_disparity and disparities within its width");
}

// Images have at least one pixel, and few enough columns that adding a disparity does not overflow an int.
inline void check_size(Size size, const std::string& what = "image") {
  constexpr int most = 1'000'000;
  if (size.width < 1 || size.height < 1 || size.width > most || size.height > most)
    refuse(what + " is " + text(size) + ": each side must have from 1 to " + std::to_string(most) +
           " pixels");
}

inline void check_format(const ImageFormat& format) {
  check_size(format.size);
  check_depth("image", format.depth);
}

}  // namespace parallax
