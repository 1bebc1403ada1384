// SPDX-License-Identifier: Apache-2.0
// A pair whose columns are in reverse order and whose images are exchanged: its left map is the right map of
// the given pair, mirrored.
#pragma once

#include <cstddef>

#include "parallax/image.h"

#include "core/arena.h"
#include "core/workers.h"

namespace parallax {

class MirroredPair {
 public:
  static constexpr std::size_t max_channels = 3;

  explicit MirroredPair(const ImageFormat& format) : format_(format) {}

  void reserve(Arena& arena);
  // Copies the images and masks of `pair`, mirrored, into the reserved memory.
  StereoPair make(const StereoPair& pair, const Workers& workers) const;

 private:
  ImageView mirrored(const ImageView& image, std::byte* to, const Workers& workers) const;
  View<const std::uint8_t> mirrored(const View<const std::uint8_t>& mask, View<std::uint8_t> to,
                                    const Workers& workers) const;

  ImageFormat format_;
  std::byte* images_[2] = {};
  View<std::uint8_t> masks_[2];
};

}  // namespace parallax
