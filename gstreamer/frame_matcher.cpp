// SPDX-License-Identifier: Apache-2.0
#include "frame_matcher.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace parallax_gst {
namespace {

template <class T>
parallax_output output_of(std::vector<T>& values, std::int32_t width, std::int32_t height,
                          parallax_type type) {
  return {sizeof(parallax_output),
          values.data(),
          width,
          height,
          static_cast<std::int64_t>(width * sizeof(T)),
          type,
          1};
}

// The values that the command line writes into PNG files: floor(disparity · scale + 1/2), limited. Has no
// branches and calls, so that the compiler vectorises it.
int convert_row(const float* disparity, std::int32_t width, float scale, std::uint16_t* output) {
  int limited = 0;
  for (std::int32_t x = 0; x < width; ++x) {
    const float d = disparity[x], value = d * scale + 0.5f;
    const int exists = d < std::numeric_limits<float>::infinity();
    const auto rounded = static_cast<std::int32_t>(std::min(std::max(value, 1.0f), 65535.0f));
    limited += exists & ((d < 0.0f) | (value >= 65536.0f));
    output[x] = GUINT16_TO_LE(static_cast<std::uint16_t>(rounded * exists));
  }
  return limited;
}

}  // namespace

void FrameMatcher::plan(const parallax_image& image) {
  check(parallax_matcher_plan(matcher_.get(), image.width, image.height, image.type));
  width_ = image.width;
  height_ = image.height;
  disparity_.resize(static_cast<std::size_t>(width_) * height_);
  status_.resize(disparity_.size());
}

std::size_t FrameMatcher::match(const parallax_image& left, const parallax_image& right, float scale,
                                const Pixels16& output) {
  const parallax_output disparity = output_of(disparity_, width_, height_, PARALLAX_FLOAT32);
  const parallax_output status = output_of(status_, width_, height_, PARALLAX_UINT8);
  parallax_pair pair = PARALLAX_PAIR_INIT;
  pair.left = &left;
  pair.right = &right;
  parallax_map map = PARALLAX_MAP_INIT;
  map.disparity = &disparity;
  map.status = &status;
  check(parallax_matcher_run(matcher_.get(), &pair, &map));

  std::size_t limited = 0;
  const std::ptrdiff_t used = 2 * static_cast<std::ptrdiff_t>(width_);
  for (std::int32_t y = 0; y < height_; ++y) {
    std::uint8_t* row = output.data + y * output.stride_bytes;
    limited += static_cast<std::size_t>(convert_row(&disparity_[static_cast<std::size_t>(y) * width_], width_,
                                                    scale, reinterpret_cast<std::uint16_t*>(row)));
    std::memset(row + used, 0, static_cast<std::size_t>(output.stride_bytes - used));
  }
  return limited;
}

}  // namespace parallax_gst
