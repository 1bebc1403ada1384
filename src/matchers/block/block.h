// SPDX-License-Identifier: Apache-2.0
// Block matching (window matching, local matching): Scharstein & Szeliski 2002, "A taxonomy and evaluation of
// dense two-frame stereo correspondence algorithms", sections 3.1–3.3. Both images are extended by repeating
// their border pixels. With P the (optionally filtered) gray image and W the window of side w, label d costs
// at (x, y):
//
//   SAD   Σ_W |P_L(x+i, y+j) − P_R(x+i−d, y+j)|
//   SSD   Σ_W (P_L(x+i, y+j) − P_R(x+i−d, y+j))²
//   ZNCC  ⌊(1 − r)·2²⁰ + ½⌋, r = (w²·ΣLR − ΣL·ΣR) / √((w²·ΣL² − (ΣL)²)·(w²·ΣR² − (ΣR)²)), r = 0 for a flat
//   window
//
// d is a candidate at x when right pixel x − d exists and neither pixel is masked. The cheapest candidate
// wins; ties go to the lowest label. All costs are integers, so every device gives the same bytes.
//
// Across rows, with a row_tolerance of N, a label is (d, v), −N ≤ v ≤ N, and P_R above is taken v rows lower,
// at (x+i−d, y+j+v); the right pixel of the candidate is (x − d, y + v). Every pixel takes the row offset
// that its neighbourhood prefers (rows/row_votes.h), and in it the cheapest candidate, ties to the lowest.
// All else is decided in that row, as without rows.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "parallax/block.h"
#include "parallax/margins.h"

#include "core/plan.h"
#include "core/tuning.h"
#include "matchers/method.h"

namespace parallax::block {

std::unique_ptr<detail::Method> method();

using On = detail::Backends<BlockParameters>;
On::Make make_reference;
On::MakeTuned make_cpu, make_cuda, make_opencl;
On::Space cpu_tuning_space, cuda_tuning_space, opencl_tuning_space;

// The kernels' specialisation, as in tuning files: "sad, window 9".
std::string variant(const BlockParameters& parameters);

// ZNCC costs are integers: one unit of correlation costs this much.
inline constexpr double zncc_unit = 1 << 20;

// The effective search range, and the highest values of filtered images and of costs.
struct Search {
  int lowest;  // min_disparity
  int labels;
  int highest_value;           // highest value of the filtered images
  std::uint64_t highest_cost;  // highest cost of any window
  int rows;                    // searched up and down: no more than the image has
};

// Checks the parameters whose validity depends on the format.
// \throws Error (argument)
Search plan_search(const BlockParameters& parameters, const ImageFormat& format);

// \throws Error (argument) as plan_search() does, and for full-row search
Margins margins(const BlockParameters& parameters, const ImageFormat& format, int padding);

}  // namespace parallax::block
