// SPDX-License-Identifier: Apache-2.0
#include "core/mirrored_pair.h"

#include "core/mirror.h"

namespace parallax {

void MirroredPair::reserve(Arena& arena) {
  for (std::byte*& image : images_)
    image = arena.reserve<std::byte>(format_.size.pixels() * max_channels * bytes_per_sample(format_.depth));
  for (auto& mask : masks_) mask = arena.reserve_plane<std::uint8_t>(format_.size);
}

// The right image becomes the left one.
StereoPair MirroredPair::make(const StereoPair& pair, const Workers& workers) const {
  StereoPair mirror = pair;
  mirror.left = mirrored(pair.right, images_[0], workers);
  mirror.right = mirrored(pair.left, images_[1], workers);
  mirror.left_mask = mirrored(pair.right_mask, masks_[0], workers);
  mirror.right_mask = mirrored(pair.left_mask, masks_[1], workers);
  return mirror;
}

ImageView MirroredPair::mirrored(const ImageView& image, std::byte* to, const Workers& workers) const {
  const std::size_t row = row_bytes(image);
  const auto stride = static_cast<std::ptrdiff_t>(row);
  mirror_rows({static_cast<const std::byte*>(image.data), image.stride_bytes}, {to, stride}, format_.size,
              row / to_size(format_.size.width), workers);
  return {to, image.format, image.channels, stride};
}

View<const std::uint8_t> MirroredPair::mirrored(const View<const std::uint8_t>& mask, View<std::uint8_t> to,
                                                const Workers& workers) const {
  if (mask.empty()) return {};
  mirror_rows(const_rows_of(mask), rows_of(to), format_.size, 1, workers);
  return to;
}

}  // namespace parallax
