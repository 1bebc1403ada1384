// SPDX-License-Identifier: Apache-2.0
// Census matching, coarse to fine (Iodice 2015, "Real-time dense passive stereo vision").
//
// Pyramid: level 0 is the gray image; a pixel of level k + 1 is the mean of 2×2 pixels of level k, rounded to
// the nearest, halves up. All images are extended by repeating their border pixels.
//
// Signature: a bit for each neighbour q of the transform's window around p, 1 where I(q) > m(p). m is I(p),
// or for the modified transforms the mean of the 3×3 pixels around p, rounded down, which decides like the
// exact mean because it is compared with integers. Bits are numbered row by row from the top left, without
// the centre; bit i is bit i mod 8, the lowest first, of byte i / 8.
//
// Cost of disparity d at left (x, y), over the window W of side w, with signatures extended like the images:
//
//   Σ_W h(x+i, y+j, d),  h(x, y, d) = Hamming distance of the signatures of left (x, y) and right (x−d, y),
//                        plus min(|I_L(x, y) − I_R(x−d, y)|, truncation) for AD-census
//
// On level k the range is ⌊lowest / 2^k⌋ … ⌈highest / 2^k⌉. d is a candidate at x when right pixel x − d
// exists and neither pixel is masked; a pixel of level k + 1 is masked when all its pixels of level k are.
// Each pixel of the left and of the right image takes the candidate of the lowest cost, ties to the lowest.
// Below the coarsest level only the disparities d are searched that lie in
//
//   [2·min E − r, 2·max E + r],  E = estimates of the 3×3 pixels around (⌊x/2⌋, ⌊y/2⌋) on the level above
//
// Half of a pixel's candidate is a candidate of its parent pixel, so E is empty only where nothing can be
// found. All costs are integers below 2¹⁶, so every device gives the same bytes.
//
// Across rows, with a row_tolerance of N, the labels of level k are (d, v), −⌈N / 2^k⌉ ≤ v ≤ ⌈N / 2^k⌉; right
// pixels are (x − d, y + v) then, also above. Every row offset is searched at the d given above. Squares of
// 32×32 pixels of the level put the row offsets into the order of their votes (rows/row_votes.h); below the
// coarsest level, those from 2·V − 1 to 2·V + 1 come first, where V is the one that the square of (⌊x/2⌋,
// ⌊y/2⌋) prefers on the level above. A pixel takes the first row offset of which a candidate is searched, and
// in it the cheapest, ties to the lowest. All else is decided in that row; estimates are disparities only.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "parallax/census.h"
#include "parallax/margins.h"

#include "core/label_space.h"
#include "core/plan.h"
#include "core/tuning.h"
#include "matchers/method.h"

namespace parallax::census {

std::unique_ptr<detail::Method> method();

using On = detail::Backends<CensusParameters>;
On::Make make_reference;
On::MakeTuned make_cpu, make_cuda, make_opencl;
On::Space cpu_tuning_space, cuda_tuning_space, opencl_tuning_space;

// The values for which kernels are specialised, as in tuning files: "hamming, 62 bits, window 9, levels 3".
std::string variant(const CensusParameters& parameters);

// The pixels that a transform compares with the centre.
struct Neighbourhood {
  std::vector<Offset> neighbours;  // in the order of their bits
  bool modified;                   // whether pixels are compared with the mean

  int bytes() const { return (static_cast<int>(neighbours.size()) + 7) / 8; }
  Size window() const;
};

inline constexpr int max_signature_bytes = 10;

Neighbourhood neighbourhood(CensusTransform transform);

inline constexpr int left_side = 0, right_side = 1;

// A level of the pyramid: its size, and the search range on it.
struct Level {
  Size size;
  int lowest, labels;
  int rows;  // searched up and down

  int highest() const { return lowest + labels - 1; }
};

// The levels from the image to the coarsest. Disparities that no pixel can use are left out.
// \throws Error (argument) when none is left, or more than devices can count
std::vector<Level> plan_levels(const CensusParameters& parameters, Size size);

// \throws Error (argument) as plan_levels() does
Margins margins(const CensusParameters& parameters, const ImageFormat& format, int padding);

// Whether a row offset of a level is compatible with one of the level above.
inline bool near_above(int row_offset, int above) {
  return row_offset >= 2 * above - 1 && row_offset <= 2 * above + 1;
}

// Highest cost of a single pixel, before summing.
int highest_pixel_cost(const CensusParameters& parameters);

// The integer disparity of a pixel without one.
inline constexpr int no_disparity = std::numeric_limits<int>::min();

// Intermediate results of the last run, on one level and side.
struct Stage {
  Plane<std::uint16_t> gray;
  std::vector<Plane<std::uint8_t>> signature;  // a plane for each byte
  // For levels above the image only; empty on the right without left-right check.
  Plane<std::int32_t> disparity;
};

// Second base class of every census plan: what it plans, and its stages, for tests and pictures.
class CensusPlan {
 public:
  CensusPlan(const CensusParameters& parameters, Size size)
      : parameters_(parameters),
        levels_(plan_levels(parameters, size)),
        neighbourhood_(neighbourhood(parameters.transform)) {}
  virtual ~CensusPlan() = default;
  const std::vector<Level>& levels() const { return levels_; }
  virtual Stage stage(int level, int side) const = 0;

 protected:
  const Level& level_of(int level) const { return levels_[static_cast<std::size_t>(level)]; }
  int level_count() const { return static_cast<int>(levels_.size()); }
  int radius() const { return parameters_.window / 2; }
  int bits() const { return static_cast<int>(neighbourhood_.neighbours.size()); }
  bool with_gray() const { return parameters_.cost == CensusCost::ad_census; }
  bool searches(int side) const { return side == left_side || parameters_.refine.left_right_check; }
  bool estimates(int level, int side) const { return level > 0 && searches(side); }
  Stage empty_stage(int level, int side) const {
    const Size size = level_of(level).size;
    Stage stage{Plane<std::uint16_t>(size), {}, Plane<std::int32_t>(estimates(level, side) ? size : Size{})};
    for (int byte = 0; byte < neighbourhood_.bytes(); ++byte) stage.signature.emplace_back(size);
    return stage;
  }

  const CensusParameters parameters_;
  const std::vector<Level> levels_;
  const Neighbourhood neighbourhood_;
};

}  // namespace parallax::census
