// SPDX-License-Identifier: Apache-2.0
// Memory layout of semi-global matching on the CPU: elements of a pixel, pixels of tiles and bands.
//
// T lies in [0, P2], and only the part of a path cost that is above the minimum, up to P2, matters to the
// next pixel. The minimum exceeds the lowest C by at most P2. So in the recursion C may be replaced by
// min(C − min C, 2·P2), and path costs may be clipped at 255 if 2·P2 fits a byte. Sums are those of T, plus C
// for each path.
#pragma once

#include <cstddef>

#include "core/round_up.h"
#include "matchers/semi_global/cpu_kernels.h"
#include "matchers/semi_global/semi_global.h"

namespace parallax::semi_global {

inline constexpr int band_rows = 4;
static_assert(band_rows <= max_rows);

struct Layout {
  Layout(const Model& model, Size image)
      : size(image),
        disparities(model.disparities()),
        row_offsets(model.row_offsets),
        reach(model.parameters.window / 2),
        shares_costs(model.parameters.window == 1 && model.fits_bytes()),
        clips_costs(!model.fits_bytes() && model.row_offsets == 1 && 2 * model.parameters.large_jump <= 255),
        path_bytes(model.fits_bytes() || clips_costs ? 1 : 2),
        cost_bytes(shares_costs ? 1 : 2) {}

  Size size;
  int disparities, row_offsets;
  int reach;          // of a window
  bool shares_costs;  // C for path costs and for sums is one array: costs of single pixels, in bytes
  bool clips_costs;   // C for path costs is min(C − min C, 2·P2)
  int path_bytes;     // of an element of path costs, and of C for them
  int cost_bytes;     // of an element of C for sums

  // Elements from one row offset, and from one pixel, to the next: of C, path costs and the volume of sums.
  std::ptrdiff_t row_step() const { return pitch(disparities); }
  std::ptrdiff_t step() const { return row_step() * row_offsets; }
  std::size_t elements(int pixels) const {
    return static_cast<std::size_t>(pixels) * static_cast<std::size_t>(step());
  }
  // The same steps between the sums from which winners are found.
  std::ptrdiff_t sum_row_step() const { return sums_pitch(disparities); }
  std::ptrdiff_t sum_step() const { return sum_row_step() * row_offsets; }

  // Full vectors of pixels, including the pixels that windows need on both sides.
  int tile_columns() const { return shares_costs ? 64 : 128 - 2 * reach - (band_rows - 1); }
  int tiles() const { return divide_round_up(size.width + band_rows - 1, tile_columns()); }
};

// `memory`, moved on by a margin; null while memory is being planned.
template <class T>
T* behind(T* memory, std::ptrdiff_t margin) {
  return memory == nullptr ? nullptr : memory + margin;
}

}  // namespace parallax::semi_global
