// SPDX-License-Identifier: Apache-2.0
// Planes as labels. The label of a pixel is a plane: its disparity there, and how that changes from one
// column and from one row to the next. A labelling f costs
//
//   E(f) = Σ_p D(p, f_p) + Σ_p~q w(p, q)·min( (|f_p(p) − f_q(p)| + |f_p(q) − f_q(q)|) / 2, τ )
//
// where f_p(q) is the disparity at pixel q of the plane of p: neighbours on one plane cost nothing, however
// steep it is (Olsson, Ulén & Boykov 2013, "In defense of 3D-label stereo"). The sum is over the 4-connected
// grid. The data cost compares p with the right image at the nearest quarter of a pixel:
//
//   D = λ·( min(H, 20) + min(|ΔI|, 10)/2 + 3/2·min(|ΔG|, 8) )
//
// H is the Hamming distance of 9×7 census signatures, over the neighbours that look like p (no channel
// differs by more than 20 gray levels), scaled to all 62; where fewer than 20 look like p, over all. I is the
// gray level, and G half the difference of the gray levels to the right and to the left. Outside the right
// image, or where that is masked, D is 20·λ.
//
// The first planes have the disparities of semi-global matching, filled, and slopes 0. Local expansion moves
// (Taniai, Matsushita, Sato & Naemura 2018, "Continuous 3D label stereo matching using local expansion
// moves") improve them. The image is divided into square cells. To each cell, planes are offered that its
// pixels have, that are fitted to them, or that are found near those at random. Every pixel of the cell
// and of the eight cells around it takes the offered plane or keeps its own, as if both were the two labels of
// an energy with the pixels around them fixed. Belief propagation decides, by messages that are the cost of
// the new plane less that of the old one. If E is lower then, the planes are taken; otherwise all stay.
// Cells four apart in both directions do not touch, so the result does not depend on their order.
//
// All numbers are integers, in 1024ths of a pixel: disparities, slopes, and costs, whose unit is a jump of
// one pixel.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "parallax/planes.h"

#include "core/plan.h"
#include "core/tuning.h"
#include "matchers/method.h"

namespace parallax::planes {

std::unique_ptr<detail::Method> method();

using On = detail::Backends<PlanesParameters>;
On::Make make_reference, make_cpu;
On::MakeTuned make_cuda;
On::Space cuda_tuning_space;

inline constexpr int per_pixel = 1024;
inline constexpr int steepest = 2 * per_pixel;  // slopes lie within ± this

struct Plane {
  std::int32_t disparity;  // at a pixel
  std::int32_t slope_x, slope_y;

  // The disparity some columns and rows away.
  std::int32_t at(int columns, int rows) const { return disparity + slope_x * columns + slope_y * rows; }
};

// The planes of all pixels, and their data costs. There are `guard` more elements on both sides of each row.
struct PlaneMap {
  static constexpr int guard = 32;
  View<std::int32_t> disparity;
  View<std::int16_t> slope_x, slope_y, data;

  Plane at(int x, int y) const { return {disparity.at(x, y), slope_x.at(x, y), slope_y.at(x, y)}; }
  void set(int x, int y, const Plane& plane, int cost) const {
    disparity.at(x, y) = plane.disparity;
    slope_x.at(x, y) = static_cast<std::int16_t>(plane.slope_x);
    slope_y.at(x, y) = static_cast<std::int16_t>(plane.slope_y);
    data.at(x, y) = static_cast<std::int16_t>(cost);
  }
};

// Limits and weights of the data cost.
inline constexpr int census_tolerance = 1;    // in gray levels: see data_cost::census_bit()
inline constexpr int look_alike = 20;         // gray levels
inline constexpr int fewest_alike = 20;       // neighbours
inline constexpr int census_neighbours = 62;  // all in a 9×7 window
inline constexpr int max_bits = 20;
inline constexpr int max_levels = 10;
inline constexpr int max_gradient = 8;
// Cost of a disparity outside the range: more than any plane can save.
inline constexpr int out_of_range = 12000;
// Costs of bits are multiplied by the number of bits, and shifted.
inline constexpr int bit_shift = 4;

// Values derived from the parameters; costs are in 1024ths.
struct Model {
  PlanesParameters parameters;
  int lowest, highest;            // disparities
  int truncation;                 // τ
  int outside;                    // cost of a pixel without a right pixel
  int max_census;                 // cost of max_bits
  int level_cost, gradient_cost;  // cost of one gray level
  // Cost of a bit, in 16ths, by the number of neighbours that are compared.
  std::array<std::uint16_t, census_neighbours + 1> bit_costs;
  // Weight of an edge in 65536ths, by the rounded difference in gray levels, 0…256.
  std::vector<std::uint16_t> edge_weights;

  int census_cost(int bits, int bit_cost) const {
    const int cost = (bits * bit_cost + (1 << (bit_shift - 1))) >> bit_shift;
    return cost < max_census ? cost : max_census;
  }
};

Model make_model(const PlanesParameters& parameters);

// Parameters of the semi-global matching that the moves start from.
MatcherParameters start_parameters(const PlanesParameters& parameters);
std::unique_ptr<detail::Plan> plan_start(const PlanesParameters& parameters, const Device& device,
                                         const ImageFormat& format);

// The gray level and half the gradient of a pixel, in a byte each: rounded; gradients plus 128.
inline constexpr int zero_gradient = 128;
std::uint16_t levels_of(std::uint16_t before, std::uint16_t sample, std::uint16_t after);

// Row `from` at `quarter` quarters of a pixel to the right of each pixel, by Catmull-Rom interpolation;
// samples in 256ths of a gray level.
void shift_row(const std::uint16_t* from, int width, int quarter, std::uint16_t* to);

// Writes whether the pixels of a row have any label whose right pixel is in the image, and not masked.
// `mask`: that row of the right mask, or null.
void write_reachable(const PlanesParameters& parameters, const std::uint8_t* mask, int width,
                     std::uint8_t* reachable);

// The place in the right image, in quarters of a pixel, to which a disparity leads from column x: the
// nearest; ties to the right.
inline int right_quarter(int x, std::int32_t disparity) {
  return 4 * x - ((disparity + per_pixel / 8) >> 8);
}

// The cost of the planes of two neighbours. `distances`: that of the planes at one pixel plus that at the
// other.
inline int jump_cost(const Model& model, int distances, int weight) {
  const int jump = distances / 2 < model.truncation ? distances / 2 : model.truncation;
  return (jump * weight) >> 16;
}

struct Box {
  int left, top, right, bottom;  // the last two are not in the box
  int width() const { return right - left; }
  int height() const { return bottom - top; }
};

// Sides of the cells in each round.
inline constexpr std::array<int, 2> cell_sides = {4, 16};
inline constexpr int largest_region = 3 * cell_sides.back();
inline constexpr int colours = 4;  // in each direction: cells of a colour do not touch

// A cell, and the pixels that may take its planes: it and the eight cells around it.
struct Cell {
  int x, y, side;
  Box pixels, region;
};
Cell make_cell(int x, int y, int side, Size image);

// The cells of one colour and one side, which may be moved in any order.
struct CellGrid {
  int step, side;        // step: the number of grids before
  int first_x, first_y;  // the first cell of the colour
  int columns, rows;     // cells of the colour
  Size image;

  int count() const { return columns * rows; }
  Cell cell(int index) const {
    return make_cell(first_x + index % columns * colours, first_y + index / columns * colours, side, image);
  }
};

// Calls visit(CellGrid) in the order of the moves.
template <class Visit>
void for_each_grid(const PlanesParameters& parameters, Size image, const Visit& visit) {
  const auto after = [](int cells, int first) { return (cells - first + colours - 1) / colours; };
  int step = 0;
  for (int round = 0; round < parameters.rounds; ++round)
    for (const int side : cell_sides) {
      const int columns = divide_round_up(image.width, side), rows = divide_round_up(image.height, side);
      for (int y = 0; y < colours; ++y)
        for (int x = 0; x < colours; ++x)
          if (x < columns && y < rows)
            visit(CellGrid{step, side, x, y, after(columns, x), after(rows, y), image});
      ++step;
    }
}

// The planes that are offered to a cell, in this order: two of its pixels' planes, one fitted to the region,
// and three found near a pixel's.
inline constexpr int offers = 6;

// A plane by its disparity at the first pixel of a region.
class Offers {
 public:
  Offers(const Cell& cell, int step);
  // The next plane; `index` counts from 0. Reads the planes as they are now.
  Plane next(int index, const PlaneMap& planes);

 private:
  std::uint32_t random();
  int below(int count);
  int within(int most) { return below(2 * most + 1) - most; }

  const Cell& cell_;
  std::uint32_t state_;
};

// Iterations of the messages of a move, each of four sweeps through the region: down, up, right and left.
inline constexpr int move_iterations = 3;

}  // namespace parallax::planes
