// SPDX-License-Identifier: Apache-2.0
// Inner loops of the cpu device, compiled for every set of vector instructions.
#pragma once

#include "remap/remap.h"

namespace parallax::remap {

// Writes row y of one rectified image.
struct RowTask {
  const Map& map;
  const Taps& taps;
  Interpolation interpolation;
  const ImageView& from;
  const ImageOutput& to;
};
void remap_row(const RowTask& task, int y);

}  // namespace parallax::remap
