// SPDX-License-Identifier: Apache-2.0
/// \file
/// Checks whether a pair is fit to be matched: whether its rows line up, which disparities it has, and what
/// is wrong with its pictures.
///
/// The check matches corners of both images, both ways, to a fraction of a pixel in both directions, and fits
/// a model to the differences of their rows. docs/explanation/rows.md describes the method.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "parallax/image.h"

#pragma GCC visibility push(default)
namespace parallax {

/// What to search, and what to accept.
struct CheckParameters {
  /// Matches may lie this share of the height above or below, 0.001 to 0.5. Where no points agree, three
  /// times as much is searched.
  double search_rows = 0.05;
  /// Largest disparity of either sign as a share of the width, 0.01 to 1.
  double search_columns = 0.5;
  /// The largest PairReport::rows_off_95 with which a pair is fit to be matched, in pixels, 0.01 to 100.
  double max_rows_off = 0.5;
  /// Threads; 0 = one per core. The report does not depend on them.
  int threads = 0;

  /// \throws Error (argument) naming the field, its value and the allowed range.
  void validate() const;
};

/// What the check concludes. Only Verdict::fit can be matched as it is.
enum class Verdict {
  fit,                 ///< rows line up, and most disparities are positive
  rows_off,            ///< rows differ by more than CheckParameters::max_rows_off
  exchanged,           ///< most disparities are negative: left and right are exchanged
  mirrored,            ///< one picture is mirrored left to right
  upside_down,         ///< one picture is mirrored top to bottom
  turned,              ///< one picture is turned by 180°
  identical,           ///< both pictures are the same, or taken from one place
  too_little_texture,  ///< too few corners to say anything
  unrelated,  ///< the corners of the pictures do not match: another scene, noise, or rows too far off
};

/// The name of a verdict, as spelled above.
const char* name(Verdict verdict);

/// Which picture a fault is in.
enum class Side {
  neither,  ///< no fault, or it is not known which picture has it
  left,     ///< the left picture
  right,    ///< the right picture
};

/// The name of a side, as spelled above.
const char* name(Side side);

/// A point that both pictures show. Positions are in pixels; the centre of the first pixel is (0, 0).
struct CheckedPoint {
  float left_x;       ///< column in the left picture: the centre of a pixel
  float left_y;       ///< row in the left picture, likewise
  float right_x;      ///< column in the right picture, to a fraction of a pixel
  float right_y;      ///< row in the right picture, likewise
  float uncertainty;  ///< standard deviation of right_y, in pixels, from the texture and the noise
  float residual;     ///< right_y − left_y minus the model's, in pixels

  float disparity() const { return left_x - right_x; }  ///< in pixels
  float rows_off() const { return right_y - left_y; }   ///< in pixels; positive = lower in the right picture
};

/// A coefficient of RowModel.
struct Estimate {
  double value = 0;        ///< in pixels
  double uncertainty = 0;  ///< its standard deviation, in pixels, given the noise of the points
  /// Whether the points determine it. If not, they are too few, or lie such that another coefficient does the
  /// same.
  bool held = false;
};

/// A model of the differences of rows: how far below its left row a point lies in the right picture,
///
///     y_right − y_left = shift + rotation·u + scale·v + yaw·u·v + pitch·v²
///                        + shear·w + forward·v·w + distortion·v·r²
///
/// with u = (x_right − cx) / h, v = (y_left − cy) / h and r² = u² + v², where (cx, cy) is the centre of the
/// image, h half its width, and w = (disparity − centre_disparity) / h. So every coefficient is the pixels of
/// row difference that it causes at the left or right edge, or where the disparity differs from
/// centre_disparity by half the width.
///
/// To first order these are all the ways in which two pinhole cameras can be misaligned. Rows do not tell the
/// effect of a turn about the vertical axis, a difference in horizontal focal length or a horizontal shear on
/// columns: these only change disparities. A rotation of the right camera about its optical axis is
/// `rotation`, one of both cameras together is `shear`. Where all disparities are equal, or a linear function
/// of the position, `shear` is not held.
struct RowModel {
  static constexpr int terms = 8;  ///< number of coefficients

  Estimate shift;       ///< at the centre: pitch, or principal points of unlike rows
  Estimate rotation;    ///< of the right picture, clockwise as one sees it
  Estimate scale;       ///< of the right picture: ratio of the focal lengths
  Estimate yaw;         ///< keystone left to right: the right camera turned about its vertical axis
  Estimate pitch;       ///< keystone top to bottom: the right camera turned about its horizontal axis
  Estimate shear;       ///< with disparity: the baseline is not parallel to the rows
  Estimate forward;     ///< with disparity and row: one camera stands before the other
  Estimate distortion;  ///< radial distortion left over in the right picture less that in the left one

  double centre_x = 0;          ///< cx, in pixels
  double centre_y = 0;          ///< cy, in pixels
  double half_width = 1;        ///< h, in pixels
  double centre_disparity = 0;  ///< median disparity of the points, in pixels
  double residual = 0;          ///< median distance of the points from the model, in pixels
  double residual_95 = 0;       ///< 95 % quantile of it, in pixels

  /// The angle of `rotation`, in degrees.
  double rotation_degrees() const;
  /// The ratio of the right picture's size to the left one's, by `scale`.
  double scale_ratio() const { return 1 + scale.value / half_width; }
  /// The angle between the rows and the baseline, by `shear`, in degrees.
  double shear_degrees() const;
  /// Rows off by the model, in pixels.
  double rows_off(double right_x, double left_y, double disparity) const;
};

/// Disparities that the points show, in pixels, and the range to search. Points without neighbours of a like
/// disparity are left out, because most of them are wrong. The range rests on a match of small pictures, and
/// on the points where that sees little.
struct DisparityRange {
  int points = 0;  ///< that it rests on
  double lowest =
      0;  ///< lowest that three points or more support; with fewer points, that small pictures show
  double highest = 0;                    ///< highest, likewise
  std::array<double, 5> quantiles = {};  ///< at 1, 5, 50, 95 and 99 %
  std::vector<int> histogram;            ///< points in each step of histogram_step from histogram_start on
  double histogram_start = 0;            ///< lower end of the first step
  double histogram_step = 0;             ///< its size
  int min_disparity = 0;                 ///< recommended for the parameter of this name
  int disparities = 0;                   ///< recommended, with a margin: a multiple of 8; 0 = not known
  /// Share of the picture whose disparity the match of small pictures is certain of, 0 to 1. 0 = it was not
  /// matched, or showed nothing.
  double seen = 0;
  /// Whether `seen` is 0.35 or more and points agree. If not, the nearest or farthest things may lie outside
  /// the range.
  bool sure = false;
  std::string sentence;  ///< how sure the range is, for people; empty without a range
};

/// How gray values or colours of the right picture follow from those of the left one: right = gain · left +
/// offset.
struct Exposure {
  double gain = 1;    ///< 1 = the same
  double offset = 0;  ///< in gray levels of 255
};

/// The report of check_pair().
struct PairReport {
  Verdict verdict = Verdict::too_little_texture;  ///< the conclusion
  Side side = Side::neither;                      ///< the picture that is mirrored, turned or lacks texture
  std::string sentence;                           ///< the verdict for people: what is wrong and what to do
  std::vector<std::string> remarks;               ///< further sentences about what impairs a match

  Size size;                    ///< of the pictures
  int left_corners = 0;         ///< found in the left picture
  int right_corners = 0;        ///< found in the right picture
  int matched = 0;              ///< corners matched both ways, before the fit
  int rows_points = 0;          ///< points that the rows off rest on: the best located ones
  double rows_off = 0;          ///< median distance of their rows, in pixels
  double rows_off_95 = 0;       ///< 95 % quantile of it, in pixels
  double rows_off_aligned = 0;  ///< 95 % quantile that is left where match() aligns rows (ComparedRows)
  double rows_off_model = 0;  ///< 95 % quantile of the model's rows off at these points: free of their noise
  RowModel model;             ///< what the differences consist of
  DisparityRange range;       ///< disparities seen; for mirrored or turned pictures, once this is undone
  Exposure exposure;          ///< of gray values
  std::array<Exposure, 3> colour;  ///< of R, G and B; all like `exposure` for gray pictures
  double sharpness = 1;            ///< sharpness of the right picture over that of the left one; 1 = the same
  /// The points that agree with the model, row by row of the left picture. If the verdict is mirrored,
  /// upside_down or turned, they are those of the pair in which that is undone: in `side`, or, if not known,
  /// in the right picture.
  std::vector<CheckedPoint> points;

  /// Whether the pair can be matched as it is.
  bool fit() const { return verdict == Verdict::fit; }
  /// Whether ComparedRows::automatic brings the rows within CheckParameters::max_rows_off.
  bool will_be_aligned = false;
  /// Whether `range` is known and that of the pair as it is: no picture has to be mirrored or turned first.
  bool has_range() const;
};

/// Checks a pair of rectified pictures. Points are more than 8 pixels from masked ones, in either direction;
/// costs are ignored. The same pair gives the same report on any number of threads.
/// \throws Error (argument) when the formats of the images differ, an image is empty, or a parameter is out
/// of range.
PairReport check_pair(const StereoPair& pair, const CheckParameters& parameters = {});

/// Returns all of a report but its points as a JSON object, as `parallax check --json` prints it.
std::string to_json(const PairReport& report);

}  // namespace parallax
#pragma GCC visibility pop
