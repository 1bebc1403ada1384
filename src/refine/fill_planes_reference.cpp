// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "refine/planes.h"
#include "refine/refine.h"

namespace parallax::refine {
namespace {

int square(int value) {
  return value * value;
}

struct Place {
  int x, y;
};

struct Pixel {
  int x, y;
  std::uint8_t colour[3];
};

Pixel pixel_at(const ImageView& left, int x, int y) {
  Pixel pixel{x, y, {}};
  std::uint8_t* const channels[] = {&pixel.colour[0], &pixel.colour[1], &pixel.colour[2]};
  take_colours(left, x, y, 1, 1, channels);
  return pixel;
}

// The distance in square pixels.
int distance(const Pixel& pixel, const Superpixel& superpixel) {
  int colour = 0;
  for (int i = 0; i < 3; ++i) colour += square(pixel.colour[i] - superpixel.colour[i]);
  return colour_weight * colour + square(pixel.x - superpixel.x) + square(pixel.y - superpixel.y);
}

// Cell number `index` of the nine around a cell.
Place neighbour(Place cell, int index) {
  return {cell.x + index % 3 - 1, cell.y + index / 3 - 1};
}

class Reference {
 public:
  Reference(const ImageView& left, const PlaneFill& memory) : left_(left), memory_(memory) {}

  void run(const DisparityMap& map) {
    for_samples([&](Place sample) {
      const float disparity = map.disparity.at(sample_step * sample.x, sample_step * sample.y);
      memory_.value.at(sample.x, sample.y) = sample_of(disparity);
      memory_.joined.at(sample.x, sample.y) = own_cell;
    });
    for_cells([&](Place cell) { move_centre(cell); });
    for (int round = 0; round < superpixel_rounds; ++round) {
      for_samples([&](Place sample) { join_nearest(sample); });
      for_cells([&](Place cell) { move_centre(cell); });
    }
    for_cells([&](Place cell) { fit_plane(cell); });
    fill(map);
  }

 private:
  template <class Each>
  void for_samples(const Each& each) const {
    for (int y = 0; y < memory_.samples.height; ++y)
      for (int x = 0; x < memory_.samples.width; ++x) each(Place{x, y});
  }

  template <class Each>
  void for_cells(const Each& each) const {
    for (int y = 0; y < memory_.cells.height; ++y)
      for (int x = 0; x < memory_.cells.width; ++x) each(Place{x, y});
  }

  // Calls each(sample) for the samples of a cell's superpixel.
  template <class Each>
  void for_members(Place cell, const Each& each) const {
    for (int y = std::max(0, (cell.y - 1) * cell_samples);
         y < std::min(memory_.samples.height, (cell.y + 2) * cell_samples); ++y)
      for (int x = std::max(0, (cell.x - 1) * cell_samples);
           x < std::min(memory_.samples.width, (cell.x + 2) * cell_samples); ++x) {
        const Place joined = neighbour({x / cell_samples, y / cell_samples}, memory_.joined.at(x, y));
        if (joined.x == cell.x && joined.y == cell.y) each(Place{x, y});
      }
  }

  // Calls each(position relative to the centre, value) for the members that have a value.
  template <class Each>
  void for_values(Place cell, const Each& each) const {
    const Superpixel& superpixel = memory_.superpixel(cell.x, cell.y);
    for_members(cell, [&](Place sample) {
      const std::int32_t value = memory_.value.at(sample.x, sample.y);
      if (value == no_sample) return;
      each(Place{sample_step * sample.x - superpixel.x, sample_step * sample.y - superpixel.y}, value);
    });
  }

  // Moves the centre to the mean of its members. Without members, it stays.
  void move_centre(Place cell) const {
    int members = 0, sums[5] = {};
    for_members(cell, [&](Place sample) {
      const Pixel pixel = pixel_at(left_, sample_step * sample.x, sample_step * sample.y);
      const int terms[5] = {pixel.x, pixel.y, pixel.colour[0], pixel.colour[1], pixel.colour[2]};
      for (int i = 0; i < 5; ++i) sums[i] += terms[i] - (i < 2 ? origin(cell, i) : 0);
      ++members;
    });
    if (members == 0) return;
    const auto mean = [&](int i) { return static_cast<int>(nearest_integer(sums[i], members)); };
    memory_.superpixel(cell.x, cell.y) = {
        origin(cell, 0) + mean(0), origin(cell, 1) + mean(1), {mean(2), mean(3), mean(4)}, {}, {}};
  }

  // The first column (axis 0) or row (axis 1) that a superpixel can have, which keeps sums small and
  // positive.
  static int origin(Place cell, int axis) { return ((axis == 0 ? cell.x : cell.y) - 1) * cell_side; }

  // The nearest superpixel of the nine cells around a pixel for which may_join(superpixel), as an index of
  // these cells; ties go to the first. −1 if there is none within `most` square pixels.
  template <class MayJoin>
  int nearest(const Pixel& pixel, int most, const MayJoin& may_join) const {
    int best = -1;
    for (int index = 0; index < 9; ++index) {
      const Place cell = neighbour({pixel.x / cell_side, pixel.y / cell_side}, index);
      if (!memory_.is_inside(cell.x, cell.y)) continue;
      const Superpixel& superpixel = memory_.superpixel(cell.x, cell.y);
      if (!may_join(superpixel)) continue;
      const int here = distance(pixel, superpixel);
      if (best < 0 ? here > most : here >= most) continue;
      best = index;
      most = here;
    }
    return best;
  }

  void join_nearest(Place sample) const {
    const Pixel pixel = pixel_at(left_, sample_step * sample.x, sample_step * sample.y);
    const int joined =
        nearest(pixel, std::numeric_limits<int>::max(), [](const Superpixel&) { return true; });
    memory_.joined.at(sample.x, sample.y) = static_cast<std::uint8_t>(joined);
  }

  void fit_plane(Place cell) const {
    Superpixel& superpixel = memory_.superpixel(cell.x, cell.y);
    superpixel.plane = plane_of(cell);
    for_values(cell, [&](Place, std::int32_t value) { superpixel.range.add(value); });
  }

  FittedPlane plane_of(Place cell) const {
    std::array<std::int32_t, max_samples> values;
    int members = 0, count = 0;
    for_members(cell, [&](Place) { ++members; });
    for_values(cell, [&](Place, std::int32_t value) { values[static_cast<std::size_t>(count++)] = value; });
    if (count < min_samples || samples_per_value * count < members) return {};
    std::sort(values.begin(), values.begin() + count);
    FittedPlane plane{.base = values[static_cast<std::size_t>((count - 1) / 2)]};
    for (const std::int32_t tolerance : plane_tolerances)
      if (!plane.correct(sums_near(plane, cell, tolerance))) return {};
    plane.exists = of_values * sums_near(plane, cell, plane_unit).n >= near_values * count;
    return plane;
  }

  PlaneSums sums_near(const FittedPlane& plane, Place cell, std::int32_t tolerance) const {
    PlaneSums sums;
    for_values(cell, [&](Place at, std::int32_t value) {
      const std::int32_t r = value - plane.base - plane.height(at.x, at.y);
      if (std::abs(r) > tolerance) return;
      ++sums.n;
      sums.x += at.x;
      sums.y += at.y;
      sums.r += r;
      sums.xx += at.x * at.x;
      sums.xy += at.x * at.y;
      sums.yy += at.y * at.y;
      sums.xr += at.x * r;
      sums.yr += at.y * r;
    });
    return sums;
  }

  // The range of the values of the superpixels with a plane in the nine cells around a cell.
  SampleRange range_around(Place cell) const {
    SampleRange range;
    for (int index = 0; index < 9; ++index) {
      const Place around = neighbour(cell, index);
      if (!memory_.is_inside(around.x, around.y)) continue;
      const Superpixel& superpixel = memory_.superpixel(around.x, around.y);
      if (superpixel.plane.exists) range.add(superpixel.range);
    }
    return range;
  }

  void fill(const DisparityMap& map) const {
    for (int y = 0; y < map.disparity.size.height; ++y) {
      for (int x = 0; x < map.disparity.size.width; ++x) {
        if (decision::has_value(map.disparity.at(x, y)) ||
            map.status.at(x, y) == decision::code(Status::input_masked))
          continue;
        const int index = nearest(pixel_at(left_, x, y), farthest,
                                  [](const Superpixel& superpixel) { return superpixel.plane.exists; });
        if (index < 0) continue;
        const Place own{x / cell_side, y / cell_side}, cell = neighbour(own, index);
        const Superpixel& superpixel = memory_.superpixel(cell.x, cell.y);
        const std::int32_t value =
            superpixel.plane.base + superpixel.plane.height(x - superpixel.x, y - superpixel.y);
        map.disparity.at(x, y) = static_cast<float>(range_around(own).nearest(value)) / plane_unit;
        map.status.at(x, y) = decision::code(Status::filled);
      }
    }
  }

  const ImageView& left_;
  const PlaneFill& memory_;
};

}  // namespace

void fill_planes_reference(const DisparityMap& map, const ImageView& left, const PlaneFill& memory) {
  Reference(left, memory).run(map);
}

}  // namespace parallax::refine
