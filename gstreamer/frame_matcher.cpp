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

FrameMatcher::FrameMatcher(Matcher matcher, bool both_maps, std::optional<int> filter_threads,
                           std::optional<ValueRange> range)
    : matcher_(std::move(matcher)), filter_threads_(filter_threads), range_(range), maps_(both_maps ? 2 : 1) {
  if (both_maps && filter_threads)
    throw LibraryError(PARALLAX_ERROR_ARGUMENT,
                       "property 'temporal': steadies the map of the left view alone: choose maps=left");
  check(parallax_matcher_set_both_maps(matcher_.get(), both_maps ? 1 : 0));
}

void FrameMatcher::plan(const parallax_image& image) {
  check(parallax_matcher_plan(matcher_.get(), image.width, image.height, image.type));
  if (filter_threads_ &&
      (!filter_ || width_ != image.width || height_ != image.height || type_ != image.type)) {
    parallax_temporal_filter* filter = nullptr;
    check(
        parallax_temporal_filter_create(image.width, image.height, image.type, 0, *filter_threads_, &filter));
    filter_.reset(filter);
  }
  width_ = image.width;
  height_ = image.height;
  type_ = image.type;
  for (Map& map : maps_) {
    map.disparity.resize(static_cast<std::size_t>(width_) * height_);
    map.status.resize(map.disparity.size());
  }
}

parallax_image FrameMatcher::stretched(const parallax_image& image, std::int32_t low, std::int32_t high,
                                       std::vector<std::uint16_t>& values) const {
  values.resize(static_cast<std::size_t>(width_) * height_);
  const parallax_output output = output_of(values, width_, height_, PARALLAX_UINT16);
  check(parallax_stretch(&image, low, high, &output));
  parallax_image result = image;
  result.data = values.data();
  result.stride_bytes = output.stride_bytes;
  return result;
}

std::size_t FrameMatcher::match(const parallax_image& left, const parallax_image& right, float scale,
                                const Pixels16& output) {
  parallax_pair pair = PARALLAX_PAIR_INIT;
  pair.left = &left;
  pair.right = &right;
  parallax_image images[2];
  if (left.type == PARALLAX_UINT16) {
    auto [low, high] = range_.value_or(ValueRange());
    if (!range_) check(parallax_find_value_range(&pair, &low, &high));
    images[0] = stretched(left, low, high, values_[0]);
    images[1] = stretched(right, low, high, values_[1]);
    pair.left = &images[0];
    pair.right = &images[1];
  }
  parallax_output disparities[2], statuses[2];
  parallax_map maps[2] = {PARALLAX_MAP_INIT, PARALLAX_MAP_INIT};
  for (std::size_t i = 0; i < maps_.size(); ++i) {
    disparities[i] = output_of(maps_[i].disparity, width_, height_, PARALLAX_FLOAT32);
    statuses[i] = output_of(maps_[i].status, width_, height_, PARALLAX_UINT8);
    maps[i].disparity = &disparities[i];
    maps[i].status = &statuses[i];
  }
  if (maps_.size() > 1) maps[0].right = &maps[1];
  check(parallax_matcher_run(matcher_.get(), &pair, &maps[0]));
  if (filter_) check(parallax_temporal_filter_run(filter_.get(), &pair, &maps[0]));

  std::size_t limited = 0;
  const auto width = static_cast<std::size_t>(width_);
  const auto used = static_cast<std::ptrdiff_t>(2 * width * maps_.size());
  for (std::int32_t y = 0; y < height_; ++y) {
    std::uint8_t* row = output.data + y * output.stride_bytes;
    auto* pixels = reinterpret_cast<std::uint16_t*>(row);
    for (const Map& map : maps_) {
      limited += static_cast<std::size_t>(
          convert_row(&map.disparity[static_cast<std::size_t>(y) * width], width_, scale, pixels));
      pixels += width;
    }
    std::memset(row + used, 0, static_cast<std::size_t>(output.stride_bytes - used));
  }
  return limited;
}

}  // namespace parallax_gst
