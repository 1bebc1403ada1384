// SPDX-License-Identifier: Apache-2.0
// The data costs that belief propagation matchers share: the exact definition of each DataCost option.
// Scalar, one pixel and label at a time: the specification, and small parts of it that all devices use.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "parallax/arithmetic.h"
#include "parallax/data_cost.h"
#include "parallax/image.h"
#include "parallax/margins.h"

#include "core/arena.h"
#include "core/checks.h"
#include "core/integers.h"
#include "core/label_space.h"

namespace parallax::data_cost {

// Samples and differences are counted in 256ths of a gray level (of a bit, for census).
inline constexpr int per_level = 256;
inline constexpr int highest_difference = 65535;

// The highest cost of a volume, in the caller's unit.
inline constexpr float highest_volume_cost = 1e30f;

inline constexpr int max_census_tolerance = 64;  // in gray levels

// How a census with a tolerance compares the centre with the neighbour that is `column` − 4 columns and
// `row` − 3 rows away. Mirrored neighbours are compared alike, so the mirrored pair has the same costs.
enum class CensusBit { darker, darker_than_tolerance, brighter_than_tolerance };
inline constexpr CensusBit census_bit(int column, int row) {
  return static_cast<CensusBit>(((column < 4 ? 4 - column : column - 4) + row) % 3);
}

// Size of tables by the rounded difference in gray levels, 0…256.
inline constexpr std::size_t edge_table_size = highest_difference / per_level + 2;

// `difference`: difference between two samples.
inline int edge_index(int difference) {
  return (difference + per_level / 2) / per_level;
}

// The share of the smoothness that remains between pixels that differ by `levels` gray levels; with contrast
// 0, all of it.
inline double edge_weight(int levels, float contrast, float floor) {
  if (contrast == 0) return 1;
  return floor + (1.0 - floor) * std::exp(-levels / static_cast<double>(contrast));
}

// Parameters of data costs. Costs are in units: integers or floats.
struct CostModel {
  DataCost cost;
  int min_disparity;
  int labels;  // the labels of all row offsets together
  int min_row_offset = 0;
  int row_offsets = 1;
  float smoothing;           // σ of a Gaussian over both images, in pixels; 0 = none
  bool integer;              // costs are rounded to integers
  float cost_scale;          // units per 256th of a gray level
  float volume_scale;        // units per unit of the caller's costs
  float volume_limit;        // the caller's costs lie within ± this, in units
  int census_tolerance = 0;  // see census_bit(), in gray levels; 0 = all bits are `darker`
  int differences;           // larger differences count as this one
  // otherwise a pixel with a label whose right pixel does not exist has no data costs at all
  bool has_outside;
  float outside;  // cost of a label whose right pixel does not exist
  int frame = 0;  // pixels nearer to the border than this have no data costs

  int disparities() const { return labels / row_offsets; }
  LabelSpace space() const { return {{min_disparity, min_row_offset}, {labels / row_offsets, row_offsets}}; }
  float data_cost(int difference) const {
    const float units = static_cast<float>(difference < differences ? difference : differences) * cost_scale;
    return rounded(units);
  }
  // NaN counts as the highest cost: so costs are finite, and results are the same everywhere.
  float volume_cost(float value) const {
    const float units = value * volume_scale;
    const float bounded = units < volume_limit ? units : volume_limit;
    return rounded(bounded > -volume_limit ? bounded : -volume_limit);
  }
  float highest_data_cost() const {
    return data_cost(differences) < outside ? outside : data_cost(differences);
  }
  // Exact for integers up to 2²³; those beyond are still integers.
  float rounded(float units) const { return integer ? std::floor(units + 0.5f) : units; }
};

// The truncation in 256ths, from gray levels or bits; 0 = no truncation.
int highest_counted(DataCost cost, float truncation);

// A model with what the parameters of a matcher say directly; `row_tolerance`: rows searched above and below.
template <class Model, class Parameters>
Model model_of(const Parameters& parameters, int row_tolerance = 0) {
  Model model = {};
  model.parameters = parameters;
  model.cost = parameters.cost;
  model.min_disparity = parameters.min_disparity;
  model.min_row_offset = -row_tolerance;
  model.row_offsets = 2 * row_tolerance + 1;
  model.labels = parameters.disparities * model.row_offsets;
  model.smoothing = parameters.smoothing;
  model.census_tolerance = parameters.cost == DataCost::census ? parameters.census_tolerance : 0;
  model.differences = highest_counted(parameters.cost, parameters.data_truncation);
  model.has_outside = parameters.outside_cost.has_value();
  return model;
}

// Labels of the volume that the caller provides; 0 = none.
inline int volume_labels(DataCost cost, int labels) {
  return cost == DataCost::volume ? labels : 0;
}

// \throws Error (argument) when every label leads out of the image at every pixel
void check_reachable(const CostModel& model, Size size);

// Whether integer messages can represent the model: `bound` is the highest of them, and `truncation` the jump,
// in labels, that costs as much.
// \throws Error (argument)
template <class Model>
void check_integers(const Model& model, float truncation) {
  // With less than half a unit per label, the rounded slope would differ too much from the exact one.
  constexpr float min_slope = 0.5f;
  const auto& p = model.parameters;
  const std::string instead = p.arithmetic == Arithmetic::fixed8 ? "fixed16 or float32" : "float32";
  if (model.scale < min_slope)
    refuse("discontinuity_truncation", truncation,
           "at most " + std::to_string(static_cast<int>(static_cast<float>(model.bound) / min_slope)) +
               " labels, or arithmetic " + instead);
  if (p.cost != DataCost::volume && model.data_cost(model.differences) < 1)
    refuse("data_weight", p.data_weight,
           "more, or arithmetic " + instead + ": with this data_truncation, all data costs round to 0");
}

inline Size halved(Size size) {
  return {(size.width + 1) / 2, (size.height + 1) / 2};
}
// Sizes of the levels of a pyramid, the image first.
std::vector<Size> level_sizes(Size image, int levels);

// Upper limit of row_tolerance: rows searched above and below.
inline constexpr int max_row_tolerance = 16;

// How much surrounding image a tile of belief propagation needs: `padding` pixels on every side, plus those
// that data costs read.
// \throws Error (argument) as check_reachable() does, and for a caller's volume
Margins margins(const CostModel& model, Size size, bool left_right_check, int padding);

// A Gaussian of integer weights that add up to 65536: element i weighs pixels i away, up to 4σ rounded up, as
// in Felzenszwalb's program. Weights that fall outside the image go to the border pixel. Rounds after each
// direction.
std::vector<std::uint32_t> smoothing_weights(float sigma);
// Smooths one row; `in` and `out` do not overlap.
void smooth_row(const std::uint16_t* in, int width, const std::vector<std::uint32_t>& weights,
                std::uint16_t* out);
// Smooths row y in the direction of columns.
void smooth_column(View<const std::uint16_t> in, int y, const std::vector<std::uint32_t>& weights,
                   std::uint16_t* out);

// Samples of one channel of a row, in 256ths of a gray level: 0, 1, 2 for red, green, blue; gray otherwise.
// Mirrored: the row from right to left.
inline constexpr int gray_channel = 3;
void sample_row(const ImageView& image, int channel, int y, bool mirrored, std::uint16_t* out);

// Horizontal Sobel gradients of row y of gray samples, cut at ± 15 gray levels, which are then added. There
// are none at the borders.
void gradient_row(View<const std::uint16_t> gray, int y, std::uint16_t* out);

// The pair whose left image is the given right one.
inline StereoPair exchanged(const StereoPair& pair) {
  return {pair.right, pair.left, pair.right_mask, pair.left_mask, pair.costs};
}

class DataCosts {
 public:
  DataCosts(const CostModel& model, Size size);

  void reserve(Arena& arena);

  // Prepares the labels of the left image, or, mirrored, those of the right one: both images are mirrored and
  // exchanged, so that disparities keep their sign and row offsets change it. The pair stays in use.
  void prepare(const StereoPair& pair, bool mirrored);

  // The cost before any subtraction or limit.
  float at(int x, int y, int label) const;
  // Whether the right pixel of any label exists.
  bool reachable(int x, int y) const;
  bool masked(int x, int y) const;
  // Samples of the gray channel.
  View<const std::uint16_t> gray(int side = 0) const { return samples_[side][gray_channel]; }

 private:
  // A pixel of the left or the right image.
  struct Pixel {
    int x, y;
  };
  bool right_exists(int x, int y, int label) const;
  bool has_data(int x, int y) const;
  Pixel right_pixel(int x, int y, int label) const {
    const Offset offset = model_.space().offset(label);
    return {x - offset.x, y + offset.y};
  }
  // The gray sample of a pixel; the image repeats its border.
  int sample(int side, int x, int y) const;
  int difference(Pixel left, Pixel right) const;
  int hamming(Pixel left, Pixel right) const;
  int hamming_of_opposites(Pixel left, Pixel right) const;
  int mean_absolute_difference(Pixel left, Pixel right) const;
  bool in_frame(int x, int y) const;
  bool takes_volume() const { return model_.cost == DataCost::volume; }
  bool takes_gradients() const { return model_.cost == DataCost::gradient_birchfield_tomasi; }

  CostModel model_;
  Size size_;
  std::vector<std::uint32_t> weights_;
  View<std::uint16_t> samples_[2][4], unsmoothed_, half_smoothed_;
  View<std::uint16_t> gradients_[2];  // for gradient_birchfield_tomasi
  StereoPair pair_;
  bool mirrored_ = false;
};

}  // namespace parallax::data_cost
