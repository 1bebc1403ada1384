// SPDX-License-Identifier: Apache-2.0
#include "tools/files/picture_rectifier.h"

#include "tools/command/command.h"
#include "tools/files/depth_files.h"

namespace parallax::tool {
namespace {

void check_taken_by(const Camera& camera, const Picture& picture, const std::string& path) {
  if (picture.size() != camera.size)
    throw Error(ErrorCategory::file, path + " is " + text(picture.size()) + ", the rig's camera takes " +
                                         text(camera.size) + ": give the calibration of this size");
}

ImageOutput output_of(Picture& picture) {
  return {picture.row(0), picture.view().format, picture.channels(), picture.view().stride_bytes};
}

}  // namespace

PictureRectifier::PictureRectifier(const Rig& rig, const RectifyParameters& parameters, const Device& device)
    : PictureRectifier(rig, rectify(rig, parameters), parameters.interpolation, device) {}

PictureRectifier::PictureRectifier(const Rig& rig, const Rectification& rectification,
                                   Interpolation interpolation, const Device& device)
    : rig_(rig), rectification_(rectification), interpolation_(interpolation), device_(device) {}

Calibration PictureRectifier::calibration() const {
  Calibration calibration = rectification_.calibration();
  if (calibration.baseline < unlikely_metres) calibration.metres_per_unit = 1;
  return calibration;
}

void PictureRectifier::plan(BitDepth depth) {
  format_ = {rectification_.size, depth};
  rectifier_.emplace(rig_, rectification_, interpolation_, device_, depth);
  for (Plane<std::uint8_t>& mask : masks_) mask = Plane<std::uint8_t>(format_.size);
}

PicturePair PictureRectifier::run(const PicturePair& pictures, const std::string& left,
                                  const std::string& right) {
  check_taken_by(rig_.left, pictures.left, left);
  check_taken_by(rig_.right, pictures.right, right);
  const BitDepth depth = pictures.left.view().format.depth;
  if (!rectifier_) plan(depth);
  if (depth != format_.depth || pictures.right.view().format.depth != format_.depth)
    throw Error(ErrorCategory::file, left + " and " + right + " do not all have " +
                                         std::to_string(static_cast<int>(format_.depth)) +
                                         " bits per channel: give pictures of one depth");
  PicturePair result{Picture(format_, pictures.left.channels()), Picture(format_, pictures.right.channels())};
  rectifier_->run(pictures.left.view(), pictures.right.view(),
                  {output_of(result.left), output_of(result.right), masks_[0].view(), masks_[1].view()});
  // Interpolation would repeat its border.
  if (rectification_.keep_columns) result.left = pictures.left;
  return result;
}

}  // namespace parallax::tool
