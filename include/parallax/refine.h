// SPDX-License-Identifier: Apache-2.0
/// \file
/// Refinement of a disparity map after matching.
///
/// Each step is a function and works in place; a step that removes or adds values records it in the status
/// map. All run on the CPU and give the same bytes for any number of threads (`threads` 0 = one per core).
#pragma once

#include <cstddef>

#include "parallax/image.h"

#pragma GCC visibility push(default)
namespace parallax {

/// How a disparity is estimated between two integers.
enum class SubPixel {
  none,
  parabola,  ///< minimum of the parabola through the best cost and its two neighbours
  /// Tip of a V with equally steep sides: one goes through the best cost and the higher neighbour, the other
  /// through the lower neighbour. It fits costs that grow linearly, like SAD.
  v_shape,
};

/// How pixels without a value get one.
enum class Fill {
  none,
  /// A pixel without a value takes the lower (farther) of the nearest values to its left and right on its
  /// row, because occlusions belong to the background (Hirschmüller 2008, section 2.5).
  row,
  /// A pixel without a value takes the nearest value above, below, left or right of it: the one that is near,
  /// low, and on a surface that looks alike in the left image. See fill_directions().
  directions,
  /// A pixel without a value takes one from a plane through the disparities of pixels that look like it, if
  /// there is such a plane nearby; the pixels that are left are filled in directions. See fill_planes().
  planes,
};

/// The refinement that follows a match, in this order: left-right check, occlusion check, speckle filter,
/// rejection of unseen regions, refit, fill, median, weighted median, bilateral filter. The last two, the
/// rejection, Fill::directions and Fill::planes are guided by the left image; see weighted_median(),
/// bilateral(), reject_unseen(), fill_directions() and fill_planes(). refit() looks at both images.
struct RefineParameters {
  bool left_right_check = true;       ///< rejects pixels that a match of the right image contradicts
  float left_right_tolerance = 1.0f;  ///< pixels by which the two maps may differ; 0 or more
  /// Rejects pixels whose right pixel one takes that is nearer by more than left_right_tolerance; see the
  /// function occlusion_check(). It needs no match of the right image, which takes `bp` half of its time, but
  /// finds fewer errors.
  bool occlusion_check = false;
  int speckle_size = 50;       ///< regions of fewer pixels than this lose their value; 0 = no filter
  float speckle_range = 1.0f;  ///< pixels by which neighbours of one region may differ; 0 or more
  /// Rejects large blank regions, such as the sky, whose few values contradict each other; see the function
  /// reject_unseen(). A fill gives them the farthest of the values around them.
  bool reject_unseen = false;
  int refit = 0;                   ///< window of refit(): 0 (none), or odd, 3…15
  Fill fill = Fill::planes;        ///< how pixels without a value get one
  int median = 5;                  ///< window of the median: 0 (none), 3 or 5
  int weighted_median = 0;         ///< window of the weighted median: 0 (none), or odd, 3…15
  int weighted_median_range = 10;  ///< gray levels by which a weight falls to 1/e; 1…255
  int bilateral = 0;               ///< window of the bilateral filter: 0 (none), or odd, 3…15
  int bilateral_range = 10;        ///< gray levels by which a weight falls to 1/e; 1…255
  float bilateral_step = 1.0f;     ///< pixels by which a neighbour may differ and still count; 0…128

  /// Returns parameters without any step, which leave the map as the matcher decided it.
  static RefineParameters none();

  /// Returns whether any step is guided by the left image.
  bool is_guided() const;

  /// \throws Error (argument) naming the field, its value and the allowed range.
  void validate() const;
};

/// Left-right consistency check: a left pixel (x, y) of disparity d keeps its value if the right map has a
/// value at column x − ⌈d − ½⌉ (the nearest; ties to the lower disparity) that differs from d by at most
/// `tolerance` pixels. Otherwise it becomes Status::inconsistent. `right` has the disparity of every right
/// pixel, with the sign convention of the left map. Where the left map has row offsets v, the right pixel is
/// on row y + ⌈v − ½⌉; without row offsets, on row y.
void left_right_check(const DisparityMap& left, View<const float> right, float tolerance, int threads = 0);

/// Occlusion check of one map, as two surfaces cannot be seen at one right pixel (after Di Stefano,
/// Marchionni & Mattoccia 2004, "A fast area-based stereo matching algorithm"): a left pixel (x, y) of
/// disparity d keeps its value if column x − ⌈d − ½⌉ is inside the image, and no pixel of its row that leads
/// to the same column has a disparity that is more than `tolerance` pixels higher. Otherwise it becomes
/// Status::inconsistent. Row offsets make no difference.
void occlusion_check(const DisparityMap& map, float tolerance, int threads = 0);

/// Fits fractions of disparities to data costs. A pixel (x, y) of disparity d has the label k = ⌈d − ½⌉ (the
/// nearest; ties to the lower). For the labels k − 1, k and k + 1, c₋, c and c₊ are sums of the Hamming
/// distances between the census signatures of left pixels (u, v) and right pixels (u − label, v), over an odd
/// window of 3×3 to 15×15 around (x, y). If c ≤ c₋ and c ≤ c₊, and not all are equal, the new disparity is
/// the mean of d and the tip of a V:
///
///     ((k + o) + d) / 2, o = (c₋ − c₊) / (2·(max(c₋, c₊) − c))
///
/// Otherwise d stays, as do pixels without a value. Sums are integers; each operation is rounded to the
/// nearest float. A pixel of the window counts in all three sums, or in none if it or any of its three right
/// pixels is outside the images or masked. A signature is that of DataCost::census: which of the 62
/// neighbours in a window of 9×7 pixels are darker than the pixel in the middle, in gray; images repeat their
/// border pixels.
/// \throws Error (argument) when `window` is out of range, an image or a mask does not have the size of the
/// map, or the images differ in depth.
void refit(View<float> disparity, const StereoPair& pair, int window, int threads = 0);

/// Gives every pixel without a value a value from its row, as Fill::row describes, and the status `filled`.
/// Pixels of status `input_masked`, and rows without any value, are unchanged.
void fill_row(const DisparityMap& map, int threads = 0);

/// Gives every pixel without a value one of the values that it meets first above, below, left and right of
/// it, and the status `filled`. Each candidate has the weight
///
///     d + ½·(Δ + s)
///
/// where d is its disparity, because occlusions belong to the background; s its distance in pixels; and Δ the
/// largest difference from the pixel, in gray levels of `guide`, on the way to the candidate and there.
/// `guide` is the left image (the upper 8 bits of 16-bit images). The lowest weight wins; ties go to the
/// first in the order above, below, left, right. Δ + s is an integer and the sum is rounded once, to the
/// nearest float. The way up and down ends after 128 rows; the way left and right ends with the row. Values
/// that the fill itself gives are no candidates. Pixels of status `input_masked`, and those that meet no
/// value, are unchanged.
/// \throws Error (argument) when `guide` does not have the size of the map.
void fill_directions(const DisparityMap& map, const ImageView& guide, int threads = 0);

/// Gives pixels without a value a value from a plane, and the status `filled`. Planes are fitted to
/// superpixels of the left image (after Achanta et al. 2012, "SLIC superpixels compared to state-of-the-art
/// superpixel methods"), as stereo methods on segments do (Klaus, Sormann & Karner 2006). All numbers are
/// integers, and quotients are rounded to the nearest integer, halves away from 0.
///
/// The samples are the pixels of even columns and rows. There is one superpixel for each cell of 32×32
/// pixels; at first it has the samples of its cell. Its centre is the mean place and the mean colour of its
/// samples. In each of three rounds, every sample p joins the superpixel k of least distance
///
///     D(p, k) = 40·|colour(p) − colour(k)|² + |place(p) − place(k)|²
///
/// of those of its cell and the eight around it (ties go to the first, row by row), and then the centres are
/// computed anew. One without samples keeps its centre. Colours are R, G, B in 8 bits (the upper 8 of 16-bit
/// images); a gray image has three equal channels.
///
/// The plane of a superpixel, z = z₀ + a·x + b·y + c, is relative to its centre, in 1/256 pixel; a, b and c
/// are in 1/256 of that. It begins as a = b = c = 0 with the lower median z₀ of its samples' values, if there
/// are at least 8 and an eighth of its samples has one. With the tolerances of 4, 2 and 1 pixels, one after
/// the other, the least-squares plane of the residuals up to the tolerance is added. There is no plane if
/// fewer than 8 samples are within a tolerance, if they are nearly on one line (the determinant of the
/// covariance of their places is below 1), if a or b exceeds 2 pixels per pixel, or if in the end fewer than
/// three fifths of the values are within 1 pixel.
///
/// A pixel without a value takes that of the plane of the superpixel with least D, of those of its cell and
/// the eight around it that have a plane, if D is at most 4096. It is cut to the range of the values of all
/// those superpixels' samples. Values beyond ±2²⁰ pixels take no part. Pixels of status `input_masked` are
/// unchanged.
/// \throws Error (argument) when `guide`, the left image, does not have the size of the map.
void fill_planes(const DisparityMap& map, const ImageView& guide, int threads = 0);

/// Median over a 3×3 or 5×5 window. A neighbour outside the map or without a value counts as the pixel
/// itself, so that the median is always an existing value; pixels without a value stay without one.
/// \throws Error (argument) when `window` is neither 3 nor 5.
void median(View<float> disparity, int window, int threads = 0);

/// Weighted median (Ma, He, Wei, Sun & Wu 2013) over an odd window of 3×3 to 15×15. A neighbour has the
/// weight ⌊255·e^(−|Δ|/range) + ½⌋, where Δ is its difference from the pixel in gray levels of `guide`, the
/// left image (the upper 8 bits of 16-bit images). The result is the lowest value v of the window such that
/// the values up to v have at least half of the total weight. Neighbours outside the map or without a value
/// do not count, and pixels without a value stay without one.
/// \throws Error (argument) when `window` or `range` (1…255) is out of range, or `guide` does not have the
/// size of the map.
void weighted_median(View<float> disparity, const ImageView& guide, int window, int range, int threads = 0);

/// Joint bilateral filter over an odd window of 3×3 to 15×15: adds to a disparity the weighted mean of the
/// differences δ between its neighbours' disparities and its own. Each δ and the mean are rounded to 1/256
/// pixel. Only neighbours with |δ| up to `step` pixels (0…128) count, so that surfaces become smooth and
/// edges stay. Their weight is
///
///     ⌊a·b / 256⌋, a = ⌊255·e^(−|Δ|/range) + ½⌋ as in weighted_median(), b = ⌊256·e^(−r²/2σ²) + ½⌋,
///
/// where r is the distance in pixels and σ a quarter of the window's side. Pixels without a value stay
/// without one.
/// \throws Error (argument) when `window`, `range` (1…255) or `step` is out of range, or `guide` does not
/// have the size of the map.
void bilateral(View<float> disparity, const ImageView& guide, int window, int range, float step,
               int threads = 0);

/// Speckle filter: pixels belong to one region when they are 4-connected by steps of at most `range` pixels
/// of disparity. Regions of fewer than `size` pixels lose their values and become Status::speckle.
void speckle_filter(const DisparityMap& map, int size, float range, int threads = 0);

/// Rejects large blank regions, such as the sky, whose few values contradict each other. The image is cut
/// into blocks of 4×4 pixels; a block is blank if its gray levels differ by at most 16. Neighbouring blank
/// blocks, above, below, left or right, belong to one region if the means of their gray levels differ by at
/// most 1. A region is unseen if it has at least a hundredth of all blocks, if less than 40 % of its pixels
/// have a value, and if these deviate from their mean by at least 8 pixels, on average: with n values in a
/// region, which are rounded to whole pixels (⌈d − ½⌉) and whose mean is rounded down to m, the sum over
/// blocks with n_b values and their sum S_b is Σ |S_b − n_b·m| ≥ 8·n. Its pixels lose their values and become
/// Status::textureless, those of status `input_masked` excepted. `guide` is the left image (the upper 8 bits
/// of 16-bit images).
///
/// With RefineParameters::reject_unseen, a fill other than Fill::none gives textureless pixels the lowest of
/// the values that they meet first above, below (on up to 128 rows), left and right; none where they meet
/// none.
/// \throws Error (argument) when `guide` does not have the size of the map.
void reject_unseen(const DisparityMap& map, const ImageView& guide, int threads = 0);

}  // namespace parallax
#pragma GCC visibility pop
