// SPDX-License-Identifier: Apache-2.0
// The steps of a check. Each is a function in its own file; check.cpp calls them in this order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "parallax/check.h"

#include "core/workers.h"

namespace parallax::check {

// A gray picture of values from 0 to 255, and its binomial smoothing by 5×5 pixels.
struct GrayImage {
  Plane<float> sharp, smooth;

  Size size() const { return sharp.size(); }
};

// The direction in which a picture is read.
struct Flip {
  bool columns = false;  // from right to left
  bool rows = false;     // from bottom to top
};

// If no points agree, this share of the height is searched.
inline double wider_search_rows(const CheckParameters& parameters) {
  return std::min(0.5, 3 * parameters.search_rows);
}

// The factor that scales gray values of the pair to at most 255.
float gray_scale(const StereoPair& pair);
GrayImage gray_image(const ImageView& image, float scale, Flip flip, const Workers& workers);

struct Corner {
  int x = 0, y = 0;
  float strength = 0;
};

// Pixels around a corner that the next steps read.
inline constexpr int corner_margin = 12;

// The pixels around a corner that describe it.
inline constexpr int description_reach = 8;

// About as many corners as `wanted` by Shi and Tomasi's measure, spread over the image, row by row. Masked
// pixels describe no corner; an empty mask masks nothing.
std::vector<Corner> find_corners(const GrayImage& image, View<const std::uint8_t> mask, Flip flip, int wanted,
                                 const Workers& workers);

// Signs of differences around each corner, 224 bits in four words: word w of corner i is words[w·pitch + i].
struct Descriptors {
  static constexpr int words_each = 4;

  std::vector<std::uint64_t> words;
  std::size_t pitch = 0;
};
Descriptors describe(const GrayImage& image, const std::vector<Corner>& corners, const Workers& workers);

// Sets distances[i] to the number of bits in which corner first + i differs from corner `index` of the
// others.
void hamming_distances(const Descriptors& others, int index, const Descriptors& corners, int first, int count,
                       std::uint16_t* distances);

// Indices of a left and a right corner.
struct CornerMatch {
  int left, right;
};

// Pairs of corners that are each other's best match and clearly better than the second best.
std::vector<CornerMatch> match_corners(const std::vector<Corner>& left, const Descriptors& left_words,
                                       const std::vector<Corner>& right, const Descriptors& right_words,
                                       int rows, int columns, const Workers& workers);

// Positions of matches to a fraction of a pixel; matches without such a position are left out.
std::vector<CheckedPoint> refine_points(const GrayImage& left, const GrayImage& right,
                                        const std::vector<Corner>& left_corners,
                                        const std::vector<Corner>& right_corners,
                                        const std::vector<CornerMatch>& matches, const Workers& workers);

// Corners that both images show, which agree with a model of how their rows are off; empty if too few do. The
// images have one format.
std::vector<CheckedPoint> agreeing_points(const StereoPair& pair, const CheckParameters& parameters,
                                          const Workers& workers);

// Disparities that a match of small pictures is certain of.
struct DenseEvidence {
  std::vector<double> disparities;  // disparities of the small picture, ascending, in pixels of the pair
  std::size_t pixels = 0;           // pixels of the small picture that are not masked
  double order = 0;                 // order_of_surfaces() in check/coarse_match.h

  // The share of the picture.
  double seen() const {
    return static_cast<double>(disparities.size()) / static_cast<double>(std::max<std::size_t>(1, pixels));
  }
};

// The points tell by how many rows the pair is off and which sign disparities have; there may be none.
DenseEvidence see_densely(const StereoPair& pair, const GrayImage& left, const GrayImage& right,
                          const std::vector<CheckedPoint>& points, const RowModel& model,
                          double search_columns, const Workers& workers);

DisparityRange find_range(const std::vector<CheckedPoint>& points, const DenseEvidence& dense, Size size);

// Sets exposure, colour and sharpness of the report from its points.
void compare_appearance(const StereoPair& pair, const GrayImage& left, const GrayImage& right, Flip flip,
                        float scale, const Workers& workers, PairReport& report);

// Sets the sentence and the remarks.
void write_sentences(const CheckParameters& parameters, PairReport& report);

}  // namespace parallax::check
