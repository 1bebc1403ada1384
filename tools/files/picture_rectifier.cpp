// SPDX-License-Identifier: Apache-2.0
#include "tools/files/picture_rectifier.h"

#include <cmath>
#include <numbers>

#include "tools/command/command.h"
#include "tools/files/depth_files.h"

namespace parallax::tool {
namespace {

void check_taken_by(const Camera& camera, const Picture& picture, const std::string& path) {
  if (picture.size() != camera.size)
    throw Error(ErrorCategory::file, path + " is " + text(picture.size()) + ", the rig's camera takes " +
                                         text(camera.size) + ": give the calibration of this size");
}

template <class Body>
auto naming_options(const Body& body) {
  try {
    return body();
  } catch (const Error& error) {
    throw Error(error.category(), in_words_of_options(error.what()), error.is_transient());
  }
}

// What is done to the pictures of cameras that are not side by side; empty if nothing is.
std::string describe_turns(const Rectification& rectification) {
  const auto roll = [](const Matrix3& m) { return std::atan2(m[3], m[0]); };
  const double turn = 2 * std::numbers::pi;
  const double between =
      std::abs(std::remainder(roll(rectification.rotation_right) - roll(rectification.rotation_left), turn));
  if (rectification.quarter_turns == 2)
    return "the left camera is upside down beside the right one: its picture is turned by 180°";
  std::string text;
  if (rectification.quarter_turns % 2 == 1)
    text = "the cameras are above each other: their pictures are turned by 90°";
  if (between > turn / 8)
    text += std::string(text.empty() ? "" : "; ") + "the right camera is " +
            (between > 3 * turn / 8 ? "upside down" : "on its side") +
            " beside the left one: its picture is turned";
  return text;
}

}  // namespace

Rig read_rig_for(const std::vector<std::string>& files, const RigChoices& given, const PicturePair& pictures,
                 const std::string& left, const std::string& right) {
  RigChoices choices = given;
  choices.size_of_pictures = true;
  choices.picture_sizes = {pictures.left.size(), right.empty() ? Size{} : pictures.right.size()};
  choices.picture_names = {left, right};
  std::string notice;
  const Rig rig = read_rig(files, choices);
  try {
    const Rig for_pictures = fitted(rig, choices, join(files, " and "), notice);
    if (!notice.empty()) write_notice(notice);
    return for_pictures;
  } catch (const Error& error) {
    const bool is_turned = pictures.left.notes.orientation >= 5 || pictures.right.notes.orientation >= 5;
    if (!is_turned) throw;
    throw Error(error.category(),
                std::string(error.what()) +
                    "; the picture was turned as its EXIF data say: --ignore-orientation takes "
                    "it as it is stored");
  }
}

Rectification rectify_as_asked(const Rig& rig, const RectifyParameters& parameters) {
  return naming_options([&] { return rectify(rig, parameters); });
}

PictureRectifier::PictureRectifier(const std::vector<std::string>& files, const RigChoices& choices,
                                   const RectifyParameters& parameters, const Device& device)
    : files_(files),
      choices_(choices),
      parameters_(parameters),
      interpolation_(parameters.interpolation),
      device_(device) {}

PictureRectifier::PictureRectifier(const Rig& rig, const Rectification& rectification,
                                   Interpolation interpolation, const Device& device)
    : rig_(rig), rectification_(rectification), interpolation_(interpolation), device_(device) {}

Calibration PictureRectifier::calibration() const {
  if (!rectification_) return {};
  Calibration calibration = rectification_->calibration();
  if (calibration.baseline < unlikely_metres) calibration.metres_per_unit = 1;
  return calibration;
}

void PictureRectifier::start(const PicturePair& pictures, const std::string& left, const std::string& right) {
  if (!files_.empty()) {
    rig_ = read_rig_for(files_, choices_, pictures, left, one_camera_ ? "" : right);
    if (one_camera_) rig_ = {rig_.left, rig_.left, Rig().rotation, {-1, 0, 0}};
    rectification_ = rectify_as_asked(rig_, parameters_);
  }
  if (const std::string turns = describe_turns(*rectification_); !turns.empty()) write_notice(turns);
}

void PictureRectifier::plan(BitDepth depth) {
  format_ = {rectification_->size, depth};
  naming_options([&] { rectifier_.emplace(rig_, *rectification_, interpolation_, device_, depth); });
  for (Plane<std::uint8_t>& mask : masks_) mask = Plane<std::uint8_t>(format_.size);
}

PicturePair PictureRectifier::run(const PicturePair& pictures, const std::string& left,
                                  const std::string& right) {
  if (!rectifier_) start(pictures, left, right);
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
  if (rectification_->keep_columns) result.left = pictures.left;
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
  if (!rectification_->keep_columns) take(shown_rectified.left, masks_[0], rectified.left);
  take(shown_rectified.right, masks_[1], rectified.right);
}

}  // namespace parallax::tool
