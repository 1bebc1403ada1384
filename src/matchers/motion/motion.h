// SPDX-License-Identifier: Apache-2.0
// Motion between two frames by min-sum belief propagation on the 4-connected grid, over labels of two
// dimensions. A label l = (d, v) says that left (x, y) shows the same point as right (x − d, y + v). A
// labelling l of the left image costs
//
//   E(l) = Σ_x D(x, l(x)) + Σ_{x~y} w(x, y)·min(|l(x) − l(y)|₁, T)
//
// and pixels send each other messages that lower it:
//
//   h(l)     = D(x, l) + Σ messages to x, except the one from y
//   m_x→y(l) = min( min_l' h(l') + w·|l − l'|₁, min_l' h(l') + w·T ) − min_l' h(l')
//
// The inner minimum is separable: a forward and a backward pass along the rows of labels, then the same along
// the columns. Half-sweeps update the messages of one colour of the checkerboard: first of the pixels with x
// + y odd, then of the others, and so on, each from the newest messages. In the end a pixel takes the label
// with the lowest belief, D plus the four messages to it. Labels are ordered row by row; ties go to the
// first.
//
// All labels. As in belief propagation of one dimension (belief_propagation.h): on each level of a pyramid,
// of `levels`, half-sweeps; the data cost of a coarse pixel is the sum over its up to four children; the
// coarsest level starts with messages 0, every other with those of the pixel (x/2, y/2) one level up.
//
// Coarse to fine (active_window > 0). Scale 0 is the pair; a pixel of the next scale is the mean of its up to
// four children, rounded, and offsets are halved: the labels of a scale are all that its halved range
// touches. Scales end where the labels are at most 17×17 or the image at most 16×16. The coarsest scale
// considers all labels, as above. On every other scale a pixel considers a window of labels of its own:
//
// - The prediction p is twice the label of the pixel (x/2, y/2) of the coarser scale, moved into the range.
//   It is replaced by that of one of the eight pixels around (x/2, y/2), row by row, which is outside the
//   window of the first prediction and has lower data costs in 5×5 pixels around (x, y), in units and without
//   any subtraction; the lowest wins, ties go to the first.
// - The window has active_window labels, or the whole range, on each axis; it begins at p − active_window/2,
//   moved into the range.
// - Data costs are D(x, l) + prediction_weight·|l − p|₁, whose second part is rounded in integer arithmetic.
// - Messages start as 0. The message to y is evaluated at the labels of y's window. A label outside x's
//   window is as far from its labels as from the nearest one, n, plus |l − n|₁: so its minimum is that of n
//   plus w·|l − n|₁.
//
// Integers (fixed8, fixed16): costs are multiplied by `scale`, so that T becomes `bound` units (31 or 4095),
// and rounded. A message lies in [0, bound]. On every level, a pixel's least data cost is subtracted from all
// of them, and they are cut at 4·bound + 1, as in belief_propagation.h. In float32 nothing is rounded, and
// the least data cost is subtracted, too; sums are in the order below, above, right, left, data.
//
// The check matches the swapped pair with the reversed labels, and compares the left pixel (x, y) of
// disparity d and row offset v with the right pixel (x − ⌈d − ½⌉, y + ⌈v − ½⌉): both components may differ by
// left_right_tolerance.
#pragma once

#include <memory>
#include <vector>

#include "parallax/margins.h"
#include "parallax/motion.h"

#include "core/label_space.h"
#include "core/plan.h"
#include "data_cost/data_cost.h"
#include "decision/decision.h"
#include "matchers/method.h"
#include "refine/vectors.h"

namespace parallax::motion {

// The description of this method for the rest of the library.
std::unique_ptr<detail::Method> method();

using On = detail::Backends<MotionParameters>;
On::Make make_reference, make_cpu;
On::MakeTuned make_cuda;
On::Space cuda_tuning_space;

// Values derived from the parameters. Costs are in units: integers in integer arithmetic, else floats whose
// unit is one label of discontinuity.
struct Model : data_cost::CostModel {
  MotionParameters parameters;
  int bound;                // highest message, in units; integer arithmetic only
  float scale;              // units in one label of discontinuity
  float prediction_weight;  // in units
  // Indexed by the rounded difference in gray levels across an edge, 0…256.
  std::vector<float> slopes, truncations;

  int data_bound() const { return 4 * bound + 1; }
  // The highest data cost after subtraction; floats have no limit.
  float highest_settled() const { return integer ? static_cast<float>(data_bound()) : decision::no_value; }
  int iterations(std::size_t scale_index, std::size_t level) const {
    const bool finest = scale_index == 0 && level == 0;
    return finest && parameters.finest_iterations > 0 ? parameters.finest_iterations : parameters.iterations;
  }
  float full_gap() const { return parameters.discontinuity_truncation * scale; }
};

// \throws Error (argument) for parameters that the arithmetic cannot represent
Model make_model(const MotionParameters& parameters);

// \throws Error (argument) when every label leads out of the image at every pixel
void check_reachable(const LabelSpace& labels, Size size);

// \throws Error (argument) as make_model() and check_reachable() do
Margins margins(const MotionParameters& parameters, const ImageFormat& format, int padding);

struct Scale {
  Size size;
  LabelSpace labels;
  // The extent of the window of a pixel; labels.extent where all are considered.
  Size window;
  bool considers_all() const { return window == labels.extent; }
};

// The parameters of the match from the second frame to the first one.
MotionParameters reversed(MotionParameters parameters);

// The scales from the image on.
std::vector<Scale> scales(const MotionParameters& parameters, Size size);

// Pixels of one parity, or of one colour of the checkerboard, in a row.
constexpr int parity_pixels(Size size) {
  return (size.width + 1) / 2;
}

using data_cost::level_sizes;  // from fine to coarse, for all labels

// The nearest offset inside a rectangle of labels.
Offset nearest(const LabelSpace& labels, Offset offset);

// The first label of the window around a prediction.
Offset window_first(const Scale& scale, Offset prediction);

// The label of the lowest belief, and on both axes the beliefs of its neighbours, which are infinite where
// they are no labels. The rival, the same on both, is the lowest belief of a label more than one away on an
// axis; infinite where there is none.
struct Decision {
  Offset offset;
  decision::Beliefs columns, rows;
};

// Writes a pixel of the map from the first frame. `status`: matched, or why the pixel has no motion;
// `labels`: those that it considers.
inline void write_motion(const Model& model, Status status, const Decision& found, const LabelSpace& labels,
                         int x, int y, const DisparityMap& map) {
  map.row_offset.at(x, y) = decision::no_value;
  if (status != Status::matched) return decision::write_none(status, x, y, map);
  const auto rule = [&](int first, int count) {
    return decision::DecisionRule{.min_disparity = first,
                                  .labels = count,
                                  .sub_pixel = model.parameters.sub_pixel,
                                  .min_confidence = model.parameters.min_confidence,
                                  .full_gap = model.full_gap()};
  };
  decision::write_decision(found.columns, rule(labels.first.x, labels.extent.width), x, y, map);
  if (decision::has_value(map.disparity.at(x, y)))
    map.row_offset.at(x, y) = decision::disparity(found.rows, rule(labels.first.y, labels.extent.height));
}

// Writes a pixel of the map from the second frame, whose offsets to the first one are negative.
inline void write_right_motion(Status status, Offset found, int x, int y, const refine::RightMap& right) {
  const bool decided = status == Status::matched;
  right.disparity.at(x, y) = decided ? static_cast<float>(-found.x) : decision::no_value;
  right.row_offset.at(x, y) = decided ? static_cast<float>(-found.y) : decision::no_value;
}

}  // namespace parallax::motion
