// SPDX-License-Identifier: Apache-2.0
#include "refine/vectors.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/checks.h"
#include "refine/refit_vectors.h"

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
           {"How to fill pixels without a value; directions = the vector median of the nearest in eight "
            "directions"})
      .add("median", p.median, detail::one_of({0, 3, 5}),
           {"Window of the median filter of each component: 0 (none), 3 or 5", "pixels"})
      .add("weighted_median", p.weighted_median, odd_or_zero(3, 15),
           {"Window of the median weighted by the first frame: 0 (none), or odd from 3 to 15", "pixels"})
      .add("weighted_median_range", p.weighted_median_range, range(1, 255),
           {"Difference in gray at which its weights fall to 1/e", "gray levels", Audience::experts});
}

void check_vectors(const DisparityMap& map, const RightMap& right, float tolerance, const Workers& workers) {
  const Size size = map.disparity.size;
  const auto consistent = [&](int x, int y) {
    const float d = map.disparity.at(x, y), v = map.row_offset.at(x, y);
    const int u = x - nearest_integer(d), w = y + nearest_integer(v);
    if (u < 0 || w < 0 || u >= size.width || w >= size.height) return false;
    // Without a vector, `right` is infinite, and so are the differences.
    return std::abs(right.disparity.at(u, w) - d) <= tolerance &&
           std::abs(right.row_offset.at(u, w) - v) <= tolerance;
  };
  for_rows(workers, size.height, [&](int y, int) {
    for (int x = 0; x < size.width; ++x) {
      if (!decision::has_value(map.disparity.at(x, y)) || consistent(x, y)) continue;
      map.disparity.at(x, y) = map.row_offset.at(x, y) = decision::no_value;
      map.status.at(x, y) = decision::code(Status::inconsistent);
    }
  });
}

namespace {

// The directions of fill_vectors().
constexpr int directions_met = FillSteps::directions;
constexpr int fill_step_x[] = {0, 0, -1, 1, -1, 1, -1, 1}, fill_step_y[] = {-1, 1, 0, 0, -1, -1, 1, 1};
constexpr std::uint8_t beyond_reach = fill_reach + 1;

// The steps of a pixel whose next one is `vector` (0, or beyond_reach) and has `steps` of its own.
std::uint8_t steps_after(std::uint8_t vector, std::uint8_t steps) {
  return static_cast<std::uint8_t>(std::min<int>(std::min(vector, steps) + 1, beyond_reach));
}

void find_vectors(const View<float>& disparity, const View<std::uint8_t>& vectors, int y) {
  for (int x = 0; x < disparity.size.width; ++x)
    vectors.at(x, y) = decision::has_value(disparity.at(x, y)) ? 0 : beyond_reach;
}

// Finds the steps along a row, to the left or to the right.
void find_steps_beside(const std::uint8_t* vectors, int width, int step, std::uint8_t* steps) {
  std::uint8_t next = beyond_reach;
  for (int x = step < 0 ? 0 : width - 1; x >= 0 && x < width; x -= step) {
    steps[x] = next;
    next = steps_after(vectors[x], next);
  }
}

// Finds row y of one of the directions across rows, whose next row is done.
void find_steps_across(const FillSteps& steps, int direction, int y) {
  const View<std::uint8_t>& plane = steps.planes[direction];
  const int next = y + fill_step_y[direction], width = plane.size.width, beside = fill_step_x[direction];
  std::uint8_t* out = plane.row(y);
  if (next < 0 || next >= plane.size.height) {
    std::fill_n(out, width, beyond_reach);
    return;
  }
  const std::uint8_t *vectors = steps.vectors.row(next), *before = plane.row(next);
  if (beside < 0) out[0] = beyond_reach;
  if (beside > 0) out[width - 1] = beyond_reach;
  for (int x = std::max(0, -beside); x < width - std::max(0, beside); ++x)
    out[x] = steps_after(vectors[x + beside], before[x + beside]);
}

// The vectors that a pixel meets first.
struct Met {
  float d[directions_met], v[directions_met];
  int count = 0;

  Met(const DisparityMap& map, const FillSteps& steps, int x, int y) {
    for (int direction = 0; direction < directions_met; ++direction) {
      const int far = steps.planes[direction].at(x, y);
      if (far == beyond_reach) continue;
      const int i = x + far * fill_step_x[direction], j = y + far * fill_step_y[direction];
      d[count] = map.disparity.at(i, j);
      v[count] = map.row_offset.at(i, j);
      ++count;
    }
    // Unused elements get arbitrary values.
    for (int i = count; i < directions_met; ++i) d[i] = v[i] = 0;
  }

  // Requires at least one vector.
  int median() const {
    float sums[directions_met] = {};
    for (int i = 0; i < count; ++i)
      for (int from = 0; from < directions_met; ++from)
        sums[from] += std::abs(d[i] - d[from]) + std::abs(v[i] - v[from]);
    return static_cast<int>(std::min_element(sums, sums + count) - sums);
  }
};

}  // namespace

FillSteps::FillSteps(Size size, Arena& arena) : vectors(arena.reserve_plane<std::uint8_t>(size)) {
  for (View<std::uint8_t>& plane : planes) plane = arena.reserve_plane<std::uint8_t>(size);
}

void fill_vectors(const DisparityMap& map, const FillSteps& steps, const Workers& workers) {
  const Size size = map.disparity.size;
  for_rows(workers, size.height, [&](int y, int) { find_vectors(map.disparity, steps.vectors, y); });
  workers.for_each(directions_met, [&](int direction, int) {
    const int step = fill_step_y[direction];
    for (int i = 0; i < size.height; ++i) {
      const int y = step > 0 ? size.height - 1 - i : i;
      if (step != 0)
        find_steps_across(steps, direction, y);
      else
        find_steps_beside(steps.vectors.row(y), size.width, fill_step_x[direction],
                          steps.planes[direction].row(y));
    }
  });
  for_rows(workers, size.height, [&](int y, int) {
    for (int x = 0; x < size.width; ++x) {
      if (steps.vectors.at(x, y) == 0 || map.status.at(x, y) == decision::code(Status::input_masked))
        continue;
      const Met met(map, steps, x, y);
      if (met.count == 0) continue;
      const int median = met.median();
      map.disparity.at(x, y) = met.d[median];
      map.row_offset.at(x, y) = met.v[median];
      map.status.at(x, y) = decision::code(Status::filled);
    }
  });
}

}  // namespace parallax::refine
