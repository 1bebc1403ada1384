// SPDX-License-Identifier: Apache-2.0
/// \file
/// Rectification: turning two cameras, by computation, until the same point has the same row in both images.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "parallax/device.h"
#include "parallax/geometry.h"
#include "parallax/image.h"
#include "parallax/rig.h"

namespace parallax::remap {
class Plan;
}

#pragma GCC visibility push(default)
namespace parallax {

/// How a value between pixels is computed.
enum class Interpolation {
  bilinear,  ///< from 2×2 pixels
  lanczos3,  ///< from 6×6 pixels, with Lanczos's window: sharper, and slower
};

/// Choices of rectify().
struct RectifyParameters {
  /// 0: the widest view in which both cameras saw every pixel; 1: the narrowest view that shows every pixel
  /// of both cameras that is within 76° of the new axis; between: in proportion. 0…1.
  double alpha = 0;
  double zoom = 1;  ///< multiplies the focal length; above 0
  /// Gives both images the same principal point, so that disparity 0 is infinitely far away. Otherwise each
  /// has its own, which suits cameras that converge; Calibration::doffs is the difference.
  bool same_centres = true;
  Size size = {};  ///< of the rectified images; 0×0 = that of the left camera's images, turned as they are
  /// The rectifier's. For alpha 0, it also says how many pixels of the border are used up.
  Interpolation interpolation = Interpolation::bilinear;

  bool operator==(const RectifyParameters&) const = default;  ///< compares every member
};

/// Two pinhole cameras of equal focal length, side by side: what rectified images show. Fields may also be
/// given by the caller.
struct Rectification {
  Matrix3 rotation_left = {1, 0, 0, 0, 1, 0, 0, 0, 1};  ///< from the left camera's axes to the rectified ones
  Matrix3 rotation_right = {1, 0, 0, 0, 1, 0, 0, 0, 1};  ///< the same for the right camera
  double focal = 0;                                      ///< focal length of both, in pixels
  double centre_left_x = 0;                              ///< column of the left principal point
  double centre_right_x = 0;                             ///< column of the right principal point
  double centre_y = 0;                                   ///< row of both principal points
  double baseline = 0;                                   ///< distance of the cameras, in the rig's unit
  Size size;                                             ///< of both rectified images
  /// By how many quarter turns clockwise both images are turned against those of the left camera: 0 for
  /// cameras side by side, 1 or 3 where the right one is above or below the left one, 2 where the left one is
  /// mounted upside down.
  int quarter_turns = 0;
  /// Every pixel stays in the column that it has in its camera's image; only rows are moved. For cameras that
  /// are nearly rectified, as keep_left() has them; the disparities are then those between the cameras'
  /// images. Where rows come from beyond the image, its border is repeated, and so it is on the outer three
  /// pixels for Interpolation::lanczos3.
  bool keep_columns = false;

  /// For depth and point clouds.
  Calibration calibration() const;
  bool operator==(const Rectification&) const = default;  ///< compares every member
};

/// Rectifies a pair of cameras. Each is turned by half of the rotation between them, and then both until the
/// baseline is parallel to rows, as OpenCV's stereoRectify does it. Images of cameras above each other are
/// turned by 90° before, and so is a right camera that is mounted upside down or on its side: the rectified
/// images are as upright as the left camera's, but for Rectification::quarter_turns.
/// \throws Error (argument) for parameters out of range; as validate() does; for cameras facing away from
/// each other; and where no rectangle was seen by both.
Rectification rectify(const Rig& rig, const RectifyParameters& parameters = {});

/// The views that receive a rectified pair. All have the rectified size, and every pixel of them is written.
struct RectifiedPair {
  ImageOutput left;   ///< 0 where the camera saw nothing; channels and depth are those of the camera's image
  ImageOutput right;  ///< the same for the right camera
  /// For StereoPair: 0 where the camera saw nothing, 255 elsewhere. Optional. They are the same in every run.
  View<std::uint8_t> left_mask = {};
  View<std::uint8_t> right_mask = {};  ///< the same for the right camera
};

/// Turns images of a rig's cameras into a rectified pair, with all the memory it needs. Positions in the
/// cameras' images are rounded to 1/64 pixel; every device gives the same bytes.
///
///     parallax::Rectifier rectifier(rig, parallax::RectifyParameters{}, parallax::Device::parse("cpu"));
///     rectifier.run(left, right, {new_left.view(), new_right.view(), left_mask.view(), right_mask.view()});
///
/// One thread at a time calls a rectifier. A moved-from rectifier can only be destroyed or assigned to.
class Rectifier {
 public:
  /// Makes the maps, which takes two threads some 0.1 s for 1920×1080. The images must have the sizes of the
  /// rig's cameras, and `depth`.
  /// \throws Error (argument) as validate() does; for a rectification without size or focal length, for
  /// cameras with more than 32767 columns or rows, or for neighbouring pixels that are more than 127 camera
  /// pixels apart; (device) when the device is missing; (memory) when there is too little
  Rectifier(const Rig& rig, const Rectification& rectification, Interpolation interpolation,
            const Device& device, BitDepth depth = BitDepth::bits8);
  /// The same with rectify(rig, parameters).
  Rectifier(const Rig& rig, const RectifyParameters& parameters = {}, const Device& device = {},
            BitDepth depth = BitDepth::bits8);
  ~Rectifier();
  /// Passes the plan and its memory on.
  /// @{
  Rectifier(Rectifier&& other) noexcept;
  Rectifier& operator=(Rectifier&& other) noexcept;
  /// @}

  /// Rectifies one pair. Allocates nothing. The views must not overlap the images.
  /// \throws Error (argument) when an image has another size, depth or number of channels than planned
  void run(const ImageView& left, const ImageView& right, const RectifiedPair& to);

  /// Rectifies a pair in the memory of the GPU for which this is planned: every pointer is an address there.
  /// Enqueues all work on `stream`, as Matcher::enqueue() does, and neither waits nor allocates.
  /// \throws Error as run() does, and (device) when this is not planned for device cuda
  void enqueue(const ImageView& left, const ImageView& right, const RectifiedPair& to, void* stream);

  /// What the rectified images show.
  const Rectification& rectification() const { return rectification_; }
  /// Bytes that this holds, not counting the caller's images.
  std::size_t memory_bytes() const;

 private:
  remap::Plan& plan() const;

  Size cameras_[2];
  BitDepth depth_;
  Rectification rectification_;
  std::unique_ptr<remap::Plan> plan_;
};

}  // namespace parallax
#pragma GCC visibility pop
