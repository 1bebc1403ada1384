// SPDX-License-Identifier: Apache-2.0
// Refinement of maps of two components, disparities and row offsets: the same steps as for disparities alone,
// for vectors.
#pragma once

#include "core/arena.h"
#include "core/plan.h"
#include "core/workers.h"
#include "refine/guide.h"
#include "refine/refine.h"
#include "refine/refit_vectors.h"

namespace parallax::refine {

// \throws Error (argument) naming the first field that has no meaning for vectors
void check_vector_parameters(const RefineParameters& parameters);

// Adds the fields that methods with vectors have.
void add_vector_fields(detail::Fields& fields, RefineParameters& parameters);

// The vectors of the right image's pixels, with the signs of the left map.
struct RightVectors {
  View<float> disparity, row_offset;
};

// A left pixel (x, y) of disparity d and row offset v keeps its vector if the right pixel (x − ⌈d − ½⌉, y +
// ⌈v − ½⌉) has one whose components both differ by at most `tolerance` pixels. Otherwise it becomes
// Status::inconsistent.
void check_vectors(const DisparityMap& map, const RightVectors& right, float tolerance,
                   const Workers& workers);

// Memory of fill_vectors(): the number of steps from each pixel to the vector that it meets first, for each
// direction. It depends only on the next pixel's number.
struct FillSteps {
  static constexpr int directions = 8;
  View<std::uint8_t> planes[directions];
  View<std::uint8_t> vectors;  // 0 where there is a vector

  FillSteps() = default;
  // Called twice (see Arena).
  FillSteps(Size size, Arena& arena);
};

// Gives every pixel without a vector one of the up to eight vectors that it meets first above, below, left,
// right and in the four diagonal directions, each within fill_reach steps, and the status `filled`. The
// chosen one has the least sum of distances |Δd| + |Δv| from all of them (their vector median: Astola,
// Haavisto & Neuvo 1990). An occluded pixel lies outside the occluding object, which takes up less than half
// of the directions where its outline is convex. Ties go to the first, in the order above, below, left,
// right, then above left, above right, below left, below right; sums are in that order, too. Vectors that the
// fill itself gives do not count. Pixels of status `input_masked`, and pixels that meet no vector, are
// unchanged.
void fill_vectors(const DisparityMap& map, const FillSteps& steps, const Workers& workers);
// The same, written directly from the definition. `scratch` has the size of the map.
void fill_vectors_reference(const DisparityMap& map, const RightVectors& scratch);

// All steps, with the memory they need.
class VectorPipeline {
 public:
  // `reference`: uses the readable filters.
  VectorPipeline(const RefineParameters& parameters, Size size, bool reference);

  // Called twice (see Arena), before the first run.
  void reserve(Arena& arena);

  // `pair`: the images of the map; the right one is for refit_vectors() only.
  void run(const StereoPair& pair, const DisparityMap& map, const RightVectors& right, const Workers& workers,
           detail::StageClock& clock) const;

 private:
  View<std::uint8_t> guide() const { return inside_border(guide_, size_, parameters_.weighted_median); }
  void take_medians(View<float> component, const Workers& workers) const;

  RefineParameters parameters_;
  bool reference_;
  Size size_;
  GuidedWindow weighted_median_;
  View<float> scratch_;
  RightVectors unfilled_;  // reference only
  FillSteps steps_;
  View<std::uint8_t> guide_;
  Shifts shifts_;
};

}  // namespace parallax::refine
