// SPDX-License-Identifier: Apache-2.0
/// \file
/// Conversion of disparity to depth, 3D points and meshes. docs/reference/geometry.md has the equations.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "parallax/image.h"

#pragma GCC visibility push(default)
namespace parallax {

/// Calibration of a rectified stereo rig, as in Middlebury's calib.txt.
struct Calibration {
  double focal = 0;     ///< focal length of the left camera, in pixels
  double centre_x = 0;  ///< column of the left camera's principal point, in pixels
  double centre_y = 0;  ///< row of both cameras' principal points, in pixels
  double doffs = 0;     ///< centre_x of the right camera minus centre_x of the left one, in pixels
  double baseline = 0;  ///< distance between the cameras; depth is in the same unit
  int width = 0;        ///< columns of the images; 0 = unknown
  int height = 0;       ///< rows of the images; 0 = unknown
  int disparities = 0;  ///< Middlebury's ndisp, a bound on the disparities; 0 = unknown
  /// Metres in the unit of the baseline: 0.001 for millimetres, as in Middlebury's files; 0 = unknown, taken
  /// as metres.
  double metres_per_unit = 0;
};

/// Returns the same rig with its baseline in metres, so that depths, points and meshes are in metres.
/// \throws Error (argument) when metres_per_unit is negative or not finite.
Calibration in_metres(const Calibration& calibration);

/// Returns the depth Z = focal · baseline / (disparity + doffs), in the unit of the baseline. The depth is 0
/// where there is no disparity and where disparity + doffs is not positive (at or beyond infinity).
double depth(const Calibration& calibration, float disparity);

/// Returns the standard deviation of depth(), to first order: Z² · \p disparity_uncertainty / (focal ·
/// baseline), in the unit of the baseline, for a disparity with this standard deviation in pixels. +infinity
/// where the depth is 0.
double depth_uncertainty(const Calibration& calibration, float disparity, double disparity_uncertainty);

/// Computes depth_uncertainty() for every pixel.
/// \throws Error (argument) when the sizes of the views differ, the calibration is not finite, or the
/// uncertainty of the disparity is negative or not finite.
void depth_uncertainty_map(const Calibration& calibration, View<const float> disparity,
                           double disparity_uncertainty, View<float> uncertainty);

/// Bounds on depths, in the unit of the baseline. A pixel outside them has no depth.
struct DepthLimits {
  double least = 0;                                              ///< least depth, 0 or more
  double greatest = std::numeric_limits<double>::infinity();     ///< greatest depth, above 0
  double uncertainty = std::numeric_limits<double>::infinity();  ///< greatest depth_uncertainty(), above 0
  /// Standard deviation of the disparities in pixels, 0 or more. docs/measurements/accuracy.md measures it.
  double disparity_uncertainty = 0.25;

  /// \throws Error (argument) when a value is out of range.
  void validate() const;
};

/// Computes depth() for every pixel; 0 outside the limits.
/// \throws Error (argument) when the sizes of the views differ, the calibration is not finite, or a limit is
/// out of range.
void depth_map(const Calibration& calibration, View<const float> disparity, View<float> depth,
               const DepthLimits& limits = {});

/// A vector of length 1, perpendicular to a surface and pointing towards the camera: right, down, forward.
/// 0 = none.
using Normal = std::array<float, 3>;

/// Computes the normal of every pixel that has a depth, from the slopes of the disparities around it; 0 for
/// the others. \p normals: three times as wide as the map, the components of a pixel next to each other.
/// \throws Error (argument) when the sizes of the views do not match, or the calibration is not finite.
void normal_map(const Calibration& calibration, View<const float> disparity, View<float> normals);

/// A coloured 3D point, relative to the left camera, in the unit of the baseline.
struct Point {
  float x;                             ///< to the right
  float y;                             ///< down
  float z;                             ///< forward
  std::array<std::uint8_t, 3> colour;  ///< R, G, B
  Normal normal = {};                  ///< as normal_map() finds it, where that is asked for
};

/// Returns a point for each pixel that has a depth within the limits, row by row, coloured by the left image
/// (by the upper byte of 16-bit values). Points too far away for a float are left out. \p normals: whether
/// points get normals.
/// \throws Error (argument) when the sizes differ, the calibration is not finite, or a limit is out of range.
std::vector<Point> point_cloud(const Calibration& calibration, View<const float> disparity,
                               const ImageView& left, const DepthLimits& limits = {}, bool normals = false);

/// The same with a point for every pixel: those of pixels without a point have the coordinates NaN, no
/// normal, and the colour of the left image.
/// \throws Error as point_cloud() does.
std::vector<Point> organised_cloud(const Calibration& calibration, View<const float> disparity,
                                   const ImageView& left, const DepthLimits& limits = {},
                                   bool normals = false);

/// A surface of triangles with coloured vertices.
struct Mesh {
  std::vector<Point> vertices;  ///< in the order of point_cloud()
  /// Indices of vertices, counter-clockwise for the camera.
  std::vector<std::array<std::uint32_t, 3>> triangles;
};

/// Parameters of mesh().
struct MeshParameters {
  DepthLimits limits = {};  ///< pixels outside them are no vertices
  /// Greatest difference in disparity along an edge, in pixels, 0 or more; the mesh is cut at larger ones. At
  /// 1 along a row, the right camera sees the surface edge-on; beyond, it could not see it.
  double greatest_step = 1;
  bool normals = false;  ///< whether vertices get normals

  /// \throws Error (argument) when a value is out of range.
  void validate() const;
};

/// Returns the surface through the points of neighbouring pixels: two triangles for each 2×2 pixels, split
/// along the diagonal with the smaller step in disparity. A triangle with a missing pixel, or a step above
/// the limit along one of its edges, is left out, and so are vertices without triangles.
/// \throws Error (argument) when the sizes differ, there are 2³¹ pixels or more, the calibration is not
/// finite, or a parameter is out of range.
Mesh mesh(const Calibration& calibration, View<const float> disparity, const ImageView& left,
          const MeshParameters& parameters = {});

}  // namespace parallax
#pragma GCC visibility pop
