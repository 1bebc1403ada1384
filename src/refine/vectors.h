// SPDX-License-Identifier: Apache-2.0
// Refinement of maps of two components, disparities and row offsets: the same steps as for disparities alone,
// for vectors.
#pragma once

#include "core/arena.h"
#include "core/workers.h"
#include "refine/refine.h"

namespace parallax::refine {

// What the maps of a matcher hold: disparities, which may have row offsets beside them, or vectors of two
// components.
enum class Maps { disparities, vectors };

// \throws Error (argument) naming the first field that has no meaning for vectors
void check_vector_parameters(const RefineParameters& parameters);

// Adds the fields that methods with vectors have.
void add_vector_fields(detail::Fields& fields, RefineParameters& parameters);

// The map of the right image's pixels, with the signs of the left one. Only vectors have row offsets.
struct RightMap {
  View<float> disparity = {}, row_offset = {};
};

// A left pixel (x, y) of disparity d and row offset v keeps its vector if the right pixel (x − ⌈d − ½⌉, y +
// ⌈v − ½⌉) has one whose components both differ by at most `tolerance` pixels. Otherwise it becomes
// Status::inconsistent.
void check_vectors(const DisparityMap& map, const RightMap& right, float tolerance, const Workers& workers);

// Memory of fill_vectors(): how many steps each pixel is from the vector that it meets first, for each
// direction. They depend on those of the next pixel only.
struct FillSteps {
  static constexpr int directions = 8;
  View<std::uint8_t> planes[directions];
  View<std::uint8_t> vectors;  // 0 where there is a vector

  FillSteps() = default;
  // Called twice (see Arena).
  FillSteps(Size size, Arena& arena);
};

// Gives every pixel without a vector one of the up to eight that it meets first above, below, left, right and
// in the four diagonal directions, each within fill_reach steps, and the status `filled`: the one whose
// distances from all of them, |Δd| + |Δv|, have the least sum (their vector median: Astola, Haavisto & Neuvo
// 1990). An occluded pixel lies outside of what hides it, which takes up less than half of the directions
// where its outline is convex. Sums are in the order above, below, left, right, above left, above right,
// below left, below right; ties go to the first. Vectors that the fill itself gives do not count. Pixels of
// status `input_masked`, and those that meet none, are unchanged.
void fill_vectors(const DisparityMap& map, const FillSteps& steps, const Workers& workers);
// The same, written directly from the definition. `scratch` has the size of the map.
void fill_vectors_reference(const DisparityMap& map, const RightMap& scratch);

}  // namespace parallax::refine
