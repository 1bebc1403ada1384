// SPDX-License-Identifier: Apache-2.0
#include "refine/vectors.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/checks.h"

namespace parallax::refine {

void check_vector_parameters(const RefineParameters& p) {
  if (p.speckle_size != 0) refuse("speckle_size", p.speckle_size, "0: vectors have no speckle filter");
  if (p.bilateral != 0) refuse("bilateral", p.bilateral, "0: vectors have no bilateral filter");
  if (p.fill != Fill::none && p.fill != Fill::directions)
    refuse("fill", static_cast<int>(p.fill), "none or directions, which vectors have");
}

void add_vector_fields(detail::Fields& fields, RefineParameters& p) {
  using detail::Audience, detail::not_negative, detail::odd_or_zero, detail::range;
  fields.group(detail::refinement_group)
      .add("left_right_check", p.left_right_check,
           {"Reject pixels where the motions from and to the second frame disagree"})
      .add("left_right_tolerance", p.left_right_tolerance, not_negative(),
           {"Largest difference allowed between the two motions, on each axis", "pixels", Audience::experts})
      .add("refit", p.refit, odd_or_zero(3, 15),
           {"Window over which fractions of motions are fitted to gray levels: 0 (none), or odd from 3 to 15",
            "pixels"})
      .add("fill", p.fill, {{"none", Fill::none}, {"directions", Fill::directions}},
           {"How to fill pixels without a value; directions = from the nearest that looks alike above, "
            "below, left or "
            "right"})
      .add("median", p.median, detail::one_of({0, 3, 5}),
           {"Window of the median filter of each component: 0 (none), 3 or 5", "pixels"})
      .add("weighted_median", p.weighted_median, odd_or_zero(3, 15),
           {"Window of the median weighted by the first frame: 0 (none), or odd from 3 to 15", "pixels"})
      .add("weighted_median_range", p.weighted_median_range, range(1, 255),
           {"Difference in gray at which its weights fall to 1/e", "gray levels", Audience::experts});
}

void check_vectors(const DisparityMap& map, const RightVectors& right, float tolerance,
                   const Workers& workers) {
  const Size size = map.disparity.size;
  const auto consistent = [&](int x, int y) {
    const float d = map.disparity.at(x, y), v = map.row_offset.at(x, y);
    const float column = static_cast<float>(x) - std::ceil(d - 0.5f),
                row = static_cast<float>(y) + std::ceil(v - 0.5f);
    if (!(column >= 0 && column < static_cast<float>(size.width) && row >= 0 &&
          row < static_cast<float>(size.height)))
      return false;
    const int u = static_cast<int>(column), w = static_cast<int>(row);
    // Without a vector, `right` is infinite, and so are the differences.
    return std::abs(right.disparity.at(u, w) - d) <= tolerance &&
           std::abs(right.row_offset.at(u, w) - v) <= tolerance;
  };
  for_row_ranges(workers, size.height, [&](int first, int last, int) {
    for (int y = first; y < last; ++y)
      for (int x = 0; x < size.width; ++x) {
        if (!has_value(map.disparity.at(x, y)) || consistent(x, y)) continue;
        map.disparity.at(x, y) = map.row_offset.at(x, y) = no_value;
        map.status.at(x, y) = code(Status::inconsistent);
      }
  });
}

namespace {

struct Vector {
  float d, v;
};

// The vectors that a pixel meets first.
struct Met {
  static constexpr int directions = 8;
  static constexpr int step_x[] = {0, 0, -1, 1, -1, 1, -1, 1}, step_y[] = {-1, 1, 0, 0, -1, -1, 1, 1};

  Vector vectors[directions];
  int count = 0;

  Met(const RightVectors& map, int x, int y) {
    const Size size = map.disparity.size;
    for (int direction = 0; direction < directions; ++direction) {
      int i = x, j = y;
      for (int step = 0; step < fill_reach; ++step) {
        i += step_x[direction];
        j += step_y[direction];
        if (i < 0 || j < 0 || i >= size.width || j >= size.height) break;
        if (!has_value(map.disparity.at(i, j))) continue;
        vectors[count++] = {map.disparity.at(i, j), map.row_offset.at(i, j)};
        break;
      }
    }
  }

  float distances(Vector from) const {
    float sum = 0;
    for (int i = 0; i < count; ++i) sum += std::abs(vectors[i].d - from.d) + std::abs(vectors[i].v - from.v);
    return sum;
  }

  // There is one.
  Vector median() const {
    Vector best = vectors[0];
    float least = distances(best);
    for (int i = 1; i < count; ++i) {
      const float sum = distances(vectors[i]);
      if (sum >= least) continue;
      least = sum;
      best = vectors[i];
    }
    return best;
  }
};

}  // namespace

void fill_vectors(const DisparityMap& map, const RightVectors& scratch, const Workers& workers) {
  const Size size = map.disparity.size;
  for_row_ranges(workers, size.height, [&](int first, int last, int) {
    for (int y = first; y < last; ++y) {
      std::copy_n(map.disparity.row(y), size.width, scratch.disparity.row(y));
      std::copy_n(map.row_offset.row(y), size.width, scratch.row_offset.row(y));
    }
  });
  for_row_ranges(workers, size.height, [&](int first, int last, int) {
    for (int y = first; y < last; ++y)
      for (int x = 0; x < size.width; ++x) {
        if (has_value(scratch.disparity.at(x, y)) || map.status.at(x, y) == code(Status::input_masked))
          continue;
        const Met met(scratch, x, y);
        if (met.count == 0) continue;
        const Vector vector = met.median();
        map.disparity.at(x, y) = vector.d;
        map.row_offset.at(x, y) = vector.v;
        map.status.at(x, y) = code(Status::filled);
      }
  });
}

VectorPipeline::VectorPipeline(const RefineParameters& p, Size size, bool reference)
    : parameters_(p), reference_(reference), size_(size) {
  if (p.weighted_median > 0)
    weighted_median_ = weighted_median_window(p.weighted_median, p.weighted_median_range);
}

void VectorPipeline::reserve(Arena& arena) {
  const int window = std::max(parameters_.median, parameters_.weighted_median);
  if (window > 0) scratch_ = arena.reserve_plane<float>(bordered_size(size_, window));
  if (parameters_.weighted_median > 0)
    guide_ = arena.reserve_plane<std::uint8_t>(bordered_guide_size(size_, parameters_.weighted_median));
  if (parameters_.fill == Fill::directions)
    candidates_ = {arena.reserve_plane<float>(size_), arena.reserve_plane<float>(size_)};
  if (parameters_.refit > 0) shifts_ = Shifts(size_, arena);
}

void VectorPipeline::run(const StereoPair& pair, const DisparityMap& map, const RightVectors& right,
                         const Workers& workers, detail::StageClock& clock) const {
  if (parameters_.left_right_check) {
    check_vectors(map, right, parameters_.left_right_tolerance, workers);
    clock.finish("left_right_check");
  }
  if (parameters_.refit > 0) {
    if (reference_)
      refit_vectors_reference(map, pair, parameters_.refit, shifts_);
    else
      refit_vectors(map, pair, parameters_.refit, shifts_, workers);
    clock.finish("refit");
  }
  if (parameters_.weighted_median > 0) take_guide(pair.left, guide(), workers);
  if (parameters_.fill == Fill::directions) {
    fill_vectors(map, candidates_, workers);
    clock.finish("fill");
  }
  if (parameters_.median > 0 || parameters_.weighted_median > 0) {
    take_medians(map.disparity, workers);
    take_medians(map.row_offset, workers);
    clock.finish("median");
  }
}

void VectorPipeline::take_medians(View<float> component, const Workers& workers) const {
  const RefineParameters& p = parameters_;
  if (p.median > 0) {
    if (reference_)
      median_reference(component, p.median, scratch_);
    else
      median(component, p.median, scratch_, workers);
  }
  if (p.weighted_median > 0) {
    if (reference_)
      weighted_median_reference(component, guide(), p.weighted_median, p.weighted_median_range, scratch_);
    else
      weighted_median(component, guide(), weighted_median_, scratch_, workers);
  }
}

}  // namespace parallax::refine
