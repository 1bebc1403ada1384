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
                  {result.left.output(), result.right.output(), masks_[0].view(), masks_[1].view()});
  // Interpolation would repeat its border.
  if (rectification_.keep_columns) result.left = pictures.left;
  rectify_masks(pictures, result);
  return result;
}

// A rectified pixel is valid where it is computed from valid pixels only.
void PictureRectifier::rectify_masks(const PicturePair& pictures, PicturePair& rectified) {
  if (pictures.left.mask().empty() && pictures.right.mask().empty()) return;
  const int white = format_.depth == BitDepth::bits8 ? 255 : 65535;
  PicturePair shown, shown_rectified{Picture(format_, 1), Picture(format_, 1)};
  const auto picture_of = [&](const Picture& picture) {
    Picture mask({picture.size(), format_.depth}, 1);
    for (int y = 0; y < picture.size().height; ++y)
      for (int x = 0; x < picture.size().width; ++x) {
        const int value = picture.mask().empty() || picture.mask().at(x, y) != 0 ? white : 0;
        if (white == 255)
          mask.row(y)[x] = static_cast<std::byte>(value);
        else
          reinterpret_cast<std::uint16_t*>(mask.row(y))[x] = static_cast<std::uint16_t>(value);
      }
    return mask;
  };
  shown = {picture_of(pictures.left), picture_of(pictures.right)};
  rectifier_->run(
      shown.left.view(), shown.right.view(),
      {shown_rectified.left.output(), shown_rectified.right.output(), masks_[0].view(), masks_[1].view()});
  const auto take = [&](const Picture& from, const Plane<std::uint8_t>& seen, Picture& to) {
    const View<std::uint8_t> mask = to.add_mask();
    for (int y = 0; y < mask.size.height; ++y)
      for (int x = 0; x < mask.size.width; ++x) {
        const int value = white == 255 ? std::to_integer<int>(from.row(y)[x])
                                       : reinterpret_cast<const std::uint16_t*>(from.row(y))[x];
        if (value != white || seen.at(x, y) == 0) mask.at(x, y) = 0;
      }
  };
  if (!rectification_.keep_columns) take(shown_rectified.left, masks_[0], rectified.left);
  take(shown_rectified.right, masks_[1], rectified.right);
}

}  // namespace parallax::tool
