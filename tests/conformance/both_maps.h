// SPDX-License-Identifier: Apache-2.0
// The map of the right image, as its definition says: by the mirrored pair.
#pragma once

#include <cstring>
#include <memory>
#include <string>

#include "support.h"

namespace parallax::test {

template <class T>
Plane<T> mirrored(const Plane<T>& plane) {
  Plane<T> mirror(plane.size());
  for (int y = 0; y < plane.height(); ++y)
    for (int x = 0; x < plane.width(); ++x) mirror.at(x, y) = plane.at(plane.width() - 1 - x, y);
  return mirror;
}

// A pair whose columns are in reverse order and whose images are exchanged.
class MirroredPair {
 public:
  explicit MirroredPair(const StereoPair& pair)
      : left_(mirrored_bytes(pair.right)),
        right_(mirrored_bytes(pair.left)),
        left_mask_(mirrored_mask(pair.right_mask)),
        right_mask_(mirrored_mask(pair.left_mask)),
        pair_{view(left_, pair.right), view(right_, pair.left), view(left_mask_), view(right_mask_)} {}

  const StereoPair& pair() const { return pair_; }

 private:
  static int pixel_bytes(const ImageView& image) {
    return image.channels * static_cast<int>(image.format.depth) / 8;
  }
  static Plane<std::uint8_t> mirrored_bytes(const ImageView& image) {
    const auto [width, height] = image.format.size;
    const int bytes = pixel_bytes(image);
    Plane<std::uint8_t> mirror({width * bytes, height});
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x)
        std::memcpy(mirror.row(y) + (width - 1 - x) * bytes,
                    static_cast<const std::uint8_t*>(image.row(y)) + x * bytes,
                    static_cast<std::size_t>(bytes));
    return mirror;
  }
  static Plane<std::uint8_t> mirrored_mask(const View<const std::uint8_t>& mask) {
    Plane<std::uint8_t> mirror(mask.size);
    for (int y = 0; y < mask.size.height; ++y)
      for (int x = 0; x < mask.size.width; ++x) mirror.at(x, y) = mask.at(mask.size.width - 1 - x, y);
    return mirror;
  }
  static ImageView view(const Plane<std::uint8_t>& bytes, const ImageView& like) {
    return {bytes.row(0), like.format, like.channels, bytes.view().stride_bytes};
  }
  static View<const std::uint8_t> view(const Plane<std::uint8_t>& mask) {
    if (mask.width() == 0) return {};
    return mask.view();
  }

  Plane<std::uint8_t> left_, right_, left_mask_, right_mask_;
  StereoPair pair_;
};

// The default parameters of every method that runs on a device of this kind and has both maps, for a small
// pair.
inline std::vector<MatcherParameters> both_maps_cases(DeviceKind kind) {
  std::vector<MatcherParameters> cases;
  for (const MatcherOnDevice& entry : list_matchers()) {
    if (entry.device != kind || entry.method == "motion") continue;
    cases.push_back(preset(entry.method, "default"));
    cases.back().min_disparity() = -3;
    cases.back().disparities() = 16;
  }
  return cases;
}

// Matches both maps on `device`, twice, and compares them with those of the reference: of the pair, and of
// the mirrored pair.
inline void expect_both_maps(const MatcherParameters& parameters, const Device& device,
                             const StereoPair& pair, bool with_confidence, const std::string& which) {
  const Size size = pair.left.format.size;
  const Result left = match(parameters, reference, pair, 0x11, with_confidence);
  Result right = match(parameters, reference, MirroredPair(pair).pair(), 0x22, with_confidence);
  right.disparity = mirrored(right.disparity);
  right.status = mirrored(right.status);
  right.confidence = mirrored(right.confidence);
  right.row_offset = mirrored(right.row_offset);
  Matcher matcher(parameters, device, pair.left.format, {.both_maps = true});
  EXPECT_EQ(matcher.memory_bytes(), estimate_memory_bytes(parameters, device, pair.left.format, {}, true));
  const bool with_row_offsets = right.row_offset.width() > 0;
  for (const int poison : {0xEE, 0x77}) {
    Result actual(size, poison, with_confidence, with_row_offsets);
    actual.right = std::make_unique<Result>(size, poison, with_confidence, with_row_offsets);
    if (poison == 0xEE) {
      matcher.run(pair, actual.map());
    } else {
      matcher.start(pair, actual.map());
      matcher.wait();
    }
    expect_same(left, actual, "left map, " + which);
    expect_same(right, *actual.right, "right map, " + which);
  }
  // A map that is not asked for is not made.
  Result alone(size, 0x33, with_confidence, with_row_offsets);
  matcher.run(pair, alone.map());
  expect_same(left, alone, "left map alone, " + which);
}

}  // namespace parallax::test
