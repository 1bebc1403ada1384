// SPDX-License-Identifier: Apache-2.0
// Matches frames with one matcher, which is planned again when their size or depth changes.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "settings.h"

namespace parallax_gst {

// 16-bit pixels in memory of the caller. Rows start `stride_bytes` apart.
struct Pixels16 {
  std::uint8_t* data;
  std::ptrdiff_t stride_bytes;
};

// The values of black and of white.
struct ValueRange {
  std::int32_t low = 0, high = 65535;
};

class FrameMatcher {
 public:
  // `both_maps`: the map of the right image, too. `range`: the values of black and of white in images of
  // 16 bits;
  // empty = those of both images. `filter_threads`: the threads of the filter that steadies maps;
  // empty = none.
  FrameMatcher(Matcher matcher, bool both_maps, std::optional<int> filter_threads,
               std::optional<ValueRange> range);

  // Plans for images of this size and depth, unless the matcher is planned for them. Throws LibraryError.
  void plan(const parallax_image& image);

  // Matches images for which the matcher is planned. Writes disparity · scale, rounded and limited to
  // 1…65535, or 0 where there is none, of both maps side by side; the rest of a row becomes 0. Returns the
  // number of disparities that are negative or too large for 16 bits. Throws LibraryError.
  std::size_t match(const parallax_image& left, const parallax_image& right, float scale,
                    const Pixels16& output);

 private:
  // The map of one image.
  struct Map {
    std::vector<float> disparity;
    std::vector<std::uint8_t> status;
  };

  parallax_image stretched(const parallax_image& image, std::int32_t low, std::int32_t high,
                           std::vector<std::uint16_t>& values) const;

  struct ReleaseFilter {
    void operator()(parallax_temporal_filter* filter) const { parallax_temporal_filter_release(filter); }
  };

  Matcher matcher_;
  std::optional<int> filter_threads_;
  std::unique_ptr<parallax_temporal_filter, ReleaseFilter> filter_;  // for frames of the planned format
  parallax_type type_ = PARALLAX_UINT8;
  std::optional<ValueRange> range_;
  std::vector<std::uint16_t> values_[2];  // stretched, of both images
  std::int32_t width_ = 0, height_ = 0;
  std::vector<Map> maps_;  // of the left image, and of the right one
};

}  // namespace parallax_gst
