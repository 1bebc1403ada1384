// SPDX-License-Identifier: Apache-2.0
// Matches frames with one matcher, which is planned again when their size or depth changes.
#pragma once
#include <cstdint>
#include <vector>

#include "settings.h"

namespace parallax_gst {

// 16-bit pixels in memory of the caller. Rows start `stride_bytes` apart.
struct Pixels16 {
  std::uint8_t* data;
  std::ptrdiff_t stride_bytes;
};

class FrameMatcher {
 public:
  // `both_maps`: the map of the right image, too.
  FrameMatcher(Matcher matcher, bool both_maps);

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

  Matcher matcher_;
  std::int32_t width_ = 0, height_ = 0;
  std::vector<Map> maps_;  // of the left image, and of the right one
};

}  // namespace parallax_gst
