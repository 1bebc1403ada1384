// SPDX-License-Identifier: Apache-2.0
/// \file
/// Synthetic pairs with exact ground truth, for tests, measurements and demonstrations without a data set.
#pragma once

#include <cstdint>
#include <string_view>

#include "parallax/flow.h"
#include "parallax/geometry.h"
#include "parallax/image.h"

#pragma GCC visibility push(default)
namespace parallax {

/// What a pair shows.
enum class Scene {
  dots,    ///< random dots: raised rectangles of integer disparities, independent dots of noise
  planes,  ///< slanted planes with smooth texture: every fraction of a pixel occurs
  layers,  ///< overlapping discs at different depths, facing the cameras: occlusions of every width
};

/// Parses the name of a scene, as spelled above.
/// \throws Error (argument) for an unknown name.
Scene parse_scene(std::string_view name);

/// Describes a pair to be rendered.
struct SynthParameters {
  Size size{640, 480};          ///< columns and rows of each image
  int disparities = 64;         ///< every true disparity lies in [0, disparities − 1]
  Scene scene = Scene::layers;  ///< what the pair shows
  std::uint64_t seed = 1;       ///< another seed gives another arrangement and texture

  /// \throws Error (argument) naming the field, its value and the allowed range.
  void validate() const;
};

/// Colour pair, ground truth and masks. The truth is exact: it is computed, not measured from the images.
struct SynthPair {
  Plane<std::uint8_t> left;        ///< R, G, B interleaved; three times as wide as the image
  Plane<std::uint8_t> right;       ///< likewise
  Plane<float> left_truth;         ///< disparity of every left pixel
  Plane<float> right_truth;        ///< disparity of every right pixel, with the sign of the left ones
  Plane<std::uint8_t> left_mask;   ///< as Middlebury's: 255 = seen by both cameras, 128 = occluded
  Plane<std::uint8_t> right_mask;  ///< likewise
  Calibration calibration;         ///< an invented rig with a baseline of 100 mm

  /// Columns and rows of each image.
  Size size() const { return left_truth.size(); }
  /// A view for a matcher, valid as long as the pair.
  /// @{
  ImageView left_view() const {
    return {left.row(0), {size(), BitDepth::bits8}, 3, left.view().stride_bytes};
  }
  ImageView right_view() const {
    return {right.row(0), {size(), BitDepth::bits8}, 3, right.view().stride_bytes};
  }
  /// @}
};

/// Renders a pair. The same parameters give the same bytes on every machine.
/// \throws Error (argument) as SynthParameters::validate() does.
SynthPair synthesize(const SynthParameters& parameters);

/// Renders only the rows [first_row, first_row + rows) of that pair, for pairs larger than memory. The
/// calibration is that of the whole pair.
/// \throws Error (argument) as synthesize() does, and for rows outside the image.
SynthPair synthesize_rows(const SynthParameters& parameters, int first_row, int rows);

/// Describes a stereo video to be rendered: a camera that moves and turns, surfaces at rest, thin ones and
/// weakly textured ones among them, and three objects that move by themselves.
struct VideoSynthParameters {
  Size size{640, 480};     ///< columns and rows of each image
  int disparities = 64;    ///< every true disparity lies in [0, disparities − 1]
  std::uint64_t seed = 1;  ///< another seed gives another arrangement, textures and noise
  float motion = 2;        ///< about the longest motion between frames in pixels: [0, 100]
  float noise = 2;         ///< standard deviation of the noise of each image in gray levels: [0, 255]
  float drift = 0.1f;  ///< share by which brightness drifts, in the right image a little otherwise: [0, 0.5]
  int cut = 0;         ///< the first frame of another scene; 0 = none

  /// \throws Error (argument) naming the field, its value and the allowed range.
  void validate() const;
};

/// A frame of a stereo video. All but the images is exact.
struct VideoSynthFrame {
  SynthPair pair;    ///< the images, with their disparities and masks
  Flow to_previous;  ///< from left pixels to where the frame before shows, or would show, the same points
  Plane<std::uint8_t> moving;  ///< 255 where the left image shows an object that moves by itself
};

/// Renders frame 0, 1, … of a video, in any order: to drop a frame, leave it out. The same parameters give the
/// same bytes on every machine. Frame 0, and that of a cut, have vectors of 0.
/// \throws Error (argument) as VideoSynthParameters::validate() does, and for a frame outside 0 to 1,000,000.
VideoSynthFrame synthesize_frame(const VideoSynthParameters& parameters, int frame);

}  // namespace parallax
#pragma GCC visibility pop
