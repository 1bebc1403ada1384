// SPDX-License-Identifier: Apache-2.0
// Rectifies the pictures of two calibrated cameras, pair after pair.
#pragma once

#include <optional>
#include <string>

#include "parallax/rectify.h"

#include "tools/files/pictures.h"

namespace parallax::tool {

class PictureRectifier {
 public:
  // \throws Error (argument) for a rig that cannot be rectified
  PictureRectifier(const Rig& rig, const RectifyParameters& parameters, const Device& device);
  PictureRectifier(const Rig& rig, const Rectification& rectification, Interpolation interpolation,
                   const Device& device);

  // Makes the maps for the first pair. The names are those of the pictures, for errors.
  // \throws Error (file) for pictures that have not the cameras' sizes, or not the depth of the first pair
  PicturePair run(const PicturePair& pictures, const std::string& left, const std::string& right);

  // Calibration of the rectified pair. The unit is unknown where the rig's file does not tell it,
  // and metres are unlikely.
  Calibration calibration() const;
  // 0 where a camera saw nothing, 255 elsewhere; after the first pair.
  View<const std::uint8_t> left_mask() const { return masks_[0].view(); }
  View<const std::uint8_t> right_mask() const { return masks_[1].view(); }

 private:
  void plan(BitDepth depth);
  void rectify_masks(const PicturePair& pictures, PicturePair& rectified);

  Rig rig_;
  Rectification rectification_;
  Interpolation interpolation_;
  Device device_;
  ImageFormat format_;
  std::optional<Rectifier> rectifier_;
  Plane<std::uint8_t> masks_[2];
};

}  // namespace parallax::tool
