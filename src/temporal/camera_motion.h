// SPDX-License-Identifier: Apache-2.0
// The motion of the camera from one frame to the next, as it moves what is at rest.
//
// A rectified pair sees a point in space as (x, y, d), column, row and disparity, relative to the middle of
// the image. (x, y, d, 1) is proportional to (X, Y, b, Z/f), with the baseline b and the focal length f. A
// rigid motion is linear in X, Y and Z and leaves b as it is. So what is at rest moves by
//
//   x' = (x + a·p) / (1 + e·p),  y' = (y + b·p) / (1 + e·p),  d' = d / (1 + e·p),  p = (x, y, d, 1)
//
// with twelve numbers in a, b and e, whatever the focal length (Demirdjian & Horaud 2000, "Motion-egomotion
// discrimination and motion segmentation from image-pair streams").
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "parallax/image.h"

#include "core/arena.h"
#include "core/workers.h"

namespace parallax::temporal {

struct CameraMotion {
  // Coefficients of x, y, d and 1.
  std::array<float, 4> a{}, b{}, e{};
  float middle_x = 0, middle_y = 0;

  struct Place {
    float x, y, disparity;
  };
  // Only +, −, ×, ÷ of floats, in this order.
  Place moved(float x, float y, float disparity) const {
    const float u = x - middle_x, v = y - middle_y;
    const auto at = [&](const std::array<float, 4>& terms) {
      return terms[0] * u + terms[1] * v + terms[2] * disparity + terms[3];
    };
    const float change = at(e), scale = 1 / (1 + change);
    return {x + (at(a) - u * change) * scale, y + (at(b) - v * change) * scale, disparity * scale};
  }
};

// The gray values of an image in 8 bits, and images of half the size, and so on.
class GrayPyramid {
 public:
  explicit GrayPyramid(Size size);
  void reserve(Arena& arena);
  // Makes the other levels from the first one.
  void halve(const Workers& workers) const;
  View<std::uint8_t> level(std::size_t i) const { return levels_[i]; }
  std::size_t levels() const { return sizes_.size(); }

 private:
  std::vector<Size> sizes_;
  std::vector<View<std::uint8_t>> levels_;
};

// The gray values of a pair.
struct GrayFrame {
  GrayPyramid left;
  View<std::uint8_t> right;
};

// How the camera moved, and by what the brightness of the left image changed and that of the right image
// differs: factors in 1/256.
struct FrameChange {
  CameraMotion motion;
  int left_gain = 256, right_gain = 256;
};

class MotionFinder {
 public:
  explicit MotionFinder(Size size);

  // From what points of the frame before, with the disparities `last` (+infinity = none), look like in the
  // new images. Empty where they do not show one motion, as after a cut.
  std::optional<FrameChange> find(const GrayFrame& before, View<const float> last, const GrayFrame& now,
                                  const Workers& workers);
  // The motion to the last frame, from which the next one is predicted.
  void clear() { last_ = {}; }
  const CameraMotion& last() const { return last_; }
  void set_last(const CameraMotion& motion) { last_ = motion; }

 private:
  struct Point;
  class Tracker;
  Size size_;
  CameraMotion last_;
};

}  // namespace parallax::temporal
