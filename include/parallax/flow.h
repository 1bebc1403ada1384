// SPDX-License-Identifier: Apache-2.0
/// \file
/// Optical flow: the motion of each pixel from one frame to another, as files, as colours, compared with the
/// truth, and in synthetic pairs.
///
/// A vector (u, v) says that pixel (x, y) of the first frame is at (x + u, y + v) in the second one; u counts
/// columns to the right and v rows downwards. The maps of the method "motion" become vectors as flow_of()
/// says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parallax/image.h"

#pragma GCC visibility push(default)
namespace parallax {

/// Views of both components of vectors in pixels, of one size; a pixel has no vector where either is not
/// finite.
struct FlowView {
  View<const float> u;  ///< columns, to the right
  View<const float> v;  ///< rows, downwards
};

/// Vectors that own their memory; +infinity = none.
struct Flow {
  Plane<float> u;  ///< columns, to the right
  Plane<float> v;  ///< rows, downwards

  Flow() = default;
  /// Allocates memory; all vectors are 0.
  explicit Flow(Size size) : u(size), v(size) {}
  Size size() const { return u.size(); }                  ///< columns and rows
  FlowView view() const { return {u.view(), v.view()}; }  ///< valid as long as the planes
};

/// Converts disparities d and row offsets v to vectors (−d, v).
/// \throws Error (argument) when the sizes differ.
Flow flow_of(View<const float> disparity, View<const float> row_offset);

/// Parses a .flo file of the Middlebury benchmark. Components beyond ±1e9 mean that there is no vector. \p
/// name appears in errors.
/// \throws Error (file) when the bytes are not a .flo file, its size is impossible, or it is shorter than its
/// header says.
Flow parse_flo(std::span<const std::byte> bytes, const std::string& name);
/// Reads and parses a .flo file.
/// \throws Error (file) as read_file() and parse_flo() do.
Flow read_flo(const std::string& path);
/// Returns the bytes of a .flo file; both components are 1e10 where there is no vector.
/// \throws Error (argument) for views without data, or of different sizes.
std::vector<std::byte> encode_flo(const FlowView& flow);

/// Converts to KITTI's pictures of 16 bits and three interleaved channels: 64·u + 2¹⁵, 64·v + 2¹⁵, and 1; all
/// are 0 where there is no vector. Rounds to the nearest integer. The result is three times as wide as the
/// map.
/// \throws Error (argument) for a component that does not fit: below −512 or above 511.98.
Plane<std::uint16_t> encode_kitti_flow(const FlowView& flow);
/// Converts from such a picture, which is three times as wide as the map.
/// \throws Error (argument) when its width is not divisible by 3.
Flow decode_kitti_flow(View<const std::uint16_t> rgb);

/// The length of the longest vector; 0 if there is none.
double longest_vector(const FlowView& flow);
/// Colours vectors by the wheel of Baker et al. 2011, "A database and evaluation methodology for optical
/// flow": the direction decides the hue, the length the saturation: white is no motion, and vectors of
/// `longest` pixels have full colour. Longer ones are darkened, and pixels without a vector are black. `rgb`
/// is three times as wide as the map, with R, G, B interleaved.
/// \throws Error (argument) when the sizes do not match, or `longest` is negative or not finite.
void colour_flow(const FlowView& flow, double longest, View<std::uint8_t> rgb);

/// Metrics over the evaluated pixels: those whose truth is known and whose mask, if there is one, is 255. The
/// end-point error e is the distance of a vector from the truth, in pixels. "No vector" counts as an error in
/// all shares.
struct FlowMetrics {
  std::size_t count = 0;  ///< evaluated pixels
  double bad05 = 0;       ///< share of evaluated pixels with e > 0.5 or no vector, 0…1
  double bad1 = 0;        ///< the same for e > 1
  double bad2 = 0;        ///< the same for e > 2
  double bad3 = 0;        ///< the same for e > 3
  double bad5 = 0;        ///< the same for e > 5
  double fl = 0;       ///< KITTI 2015 outliers: share with e > 3 and e > 5 % of the true length, or no vector
  double average = 0;  ///< mean of e over pixels with a vector; like the next six, NaN when there is none
  double rms = 0;      ///< root mean square of e
  double a50 = 0;      ///< quantile q = 0.5 of e: element ⌊q·n⌋ of the n sorted errors
  double a90 = 0;      ///< the same for q = 0.9
  double a95 = 0;      ///< the same for q = 0.95
  double a99 = 0;      ///< the same for q = 0.99
  double angular =
      0;  ///< mean angle between (u, v, 1) and its truth, in degrees (Barron, Fleet & Beauchemin 1994)
  double coverage = 0;  ///< share of evaluated pixels that have a vector
};

/// Compares vectors with ground truth.
/// \param flow  estimate
/// \param truth ground truth; no vector = unknown
/// \param mask  255 = evaluate; an empty view = evaluate everywhere
/// \throws Error (argument) when sizes differ or there is no pixel to evaluate.
FlowMetrics evaluate_flow(const FlowView& flow, const FlowView& truth, View<const std::uint8_t> mask = {});

/// What moves in a synthetic pair of frames.
enum class FlowScene {
  translation,  ///< the whole picture, by a fraction of pixels
  rotation,     ///< the whole picture, around its middle
  zoom,         ///< the whole picture, away from its middle
  layers,       ///< discs and rectangles before a background, each with a motion of its own: occlusions
  thin,         ///< strips of 3 to 8 pixels, which move a few pixels further than the background: occlusions
};

/// Parses the name of a scene, as spelled above.
/// \throws Error (argument) for an unknown name.
FlowScene parse_flow_scene(std::string_view name);

/// Describes two frames to be rendered.
struct FlowSynthParameters {
  Size size{640, 480};                  ///< columns and rows of each frame
  FlowScene scene = FlowScene::layers;  ///< what moves
  float motion = 12;                    ///< no vector is longer than this, in pixels; 0…1000
  float noise = 0;         ///< standard deviation of the noise of both frames, in gray levels; 0…255
  float exposure = 1;      ///< brightness of the second frame, as a multiple of the first one's; 0.1…10
  std::uint64_t seed = 1;  ///< another seed gives another arrangement and texture

  /// \throws Error (argument) naming the field, its value and the allowed range.
  void validate() const;
};

/// Two frames in colour, and the exact motion from the first one to the second.
struct FlowSynthPair {
  Plane<std::uint8_t> first;   ///< R, G, B interleaved; three times as wide as the frame
  Plane<std::uint8_t> second;  ///< likewise
  Flow truth;                  ///< of every pixel of the first frame
  Plane<std::uint8_t> mask;    ///< 255 = seen in both frames, 128 = occluded, or out of the second one

  Size size() const { return truth.size(); }  ///< columns and rows of each frame
};

/// Renders two frames. The same parameters give the same bytes on every machine.
/// \throws Error (argument) as FlowSynthParameters::validate() does.
FlowSynthPair synthesize_flow(const FlowSynthParameters& parameters);

}  // namespace parallax
#pragma GCC visibility pop
