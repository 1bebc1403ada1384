// SPDX-License-Identifier: Apache-2.0
// Rectifies the pictures of two calibrated cameras, pair after pair.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "parallax/rectify.h"

#include "tools/files/pictures.h"
#include "tools/files/rigs/rig_files.h"

namespace parallax::tool {

// Reads a rig for pictures of these sizes. It has their sizes where the files say none, and is scaled where the
// pictures are, with a notice.
// `right` is empty for pictures of the left camera only.
// \throws Error (file)
Rig read_rig_for(const std::vector<std::string>& files, const RigChoices& choices,
                 const PicturePair& pictures, const std::string& left, const std::string& right);

// rectify(), whose errors name the options of the command line.
// \throws Error (argument)
Rectification rectify_as_asked(const Rig& rig, const RectifyParameters& parameters);

class PictureRectifier {
 public:
  // Reads the files for the first pair.
  PictureRectifier(const std::vector<std::string>& files, const RigChoices& choices,
                   const RectifyParameters& parameters, const Device& device);
  PictureRectifier(const Rig& rig, const Rectification& rectification, Interpolation interpolation,
                   const Device& device);

  // For two frames of the left camera: only their distortion is taken out.
  void take_frames_of_left_camera() { one_camera_ = true; }

  // Makes the maps for the first pair, and tells how its pictures are turned or scaled. The names are those of the
  // pictures, for errors.
  // \throws Error (file) for a rig that cannot be read, pictures that have not the cameras' sizes, or not the
  // depth of the first pair; (argument) for a rig that cannot be rectified
  PicturePair run(const PicturePair& pictures, const std::string& left, const std::string& right);

  // After the first pair:

  // Calibration of the rectified pair. The unit is unknown where the rig's file does not tell it,
  // and metres are unlikely.
  Calibration calibration() const;
  // By how many quarter turns clockwise the rectified pictures are turned against the left camera's.
  int quarter_turns() const { return rectification_ ? rectification_->quarter_turns : 0; }
  // 0 where a camera saw nothing, 255 elsewhere.
  View<const std::uint8_t> left_mask() const { return masks_[0].view(); }
  View<const std::uint8_t> right_mask() const { return masks_[1].view(); }

 private:
  void start(const PicturePair& pictures, const std::string& left, const std::string& right);
  void plan(BitDepth depth);
  void rectify_masks(const PicturePair& pictures, PicturePair& rectified);

  std::vector<std::string> files_;  // empty = the rig is given
  RigChoices choices_;
  RectifyParameters parameters_;
  bool one_camera_ = false;
  Rig rig_;
  std::optional<Rectification> rectification_;
  Interpolation interpolation_;
  Device device_;
  ImageFormat format_;
  std::optional<Rectifier> rectifier_;
  Plane<std::uint8_t> masks_[2];
};

}  // namespace parallax::tool
