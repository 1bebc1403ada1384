// SPDX-License-Identifier: Apache-2.0
// Definitions that both versions of refit() share.
#pragma once

#include <algorithm>
#include <cstdint>

#include "parallax/refine.h"

#include "core/arena.h"
#include "core/workers.h"
#include "data_cost/data_cost.h"
#include "decision/sub_pixel.h"

namespace parallax::refine {

// A signature has the 62 bits of a pixel's 9×7 census and this one, unless the mask excludes the pixel.
// Beside the image all bits are 0.
inline constexpr std::uint64_t takes_part = std::uint64_t{1} << 63;

// The samples that a census of 9×7 reads left and right of a pixel.
inline constexpr int refit_census_border = 4;

// A cost model that needs only the inputs of census costs, for GPUs.
inline data_cost::CostModel census_inputs() {
  data_cost::CostModel model{};
  model.cost = DataCost::census;
  model.labels = 1;
  return model;
}

// Sums of Hamming distances over a window, for the label before a pixel's, its own and the one after it.
struct LabelCosts {
  int before = 0, here = 0, after = 0;
};

// The disparity that refit() gives a pixel of this label.
inline float refitted(float disparity, float label, const LabelCosts& costs) {
  const int highest = std::max(costs.before, costs.after);
  const bool is_least = costs.here <= std::min(costs.before, costs.after) && costs.here < highest;
  if (!is_least) return disparity;
  return (label + decision::v_shape_offset(costs.before, costs.here, costs.after).value() + disparity) * 0.5f;
}

// The memory of refit(), for the left image and the right one.
struct RefitMemory {
  // Columns of signatures left and right of the image, which windows of up to 15 columns read. A vector may
  // read more on the right.
  static constexpr int border = 16, widest_vector = 8;

  View<std::uint16_t> gray[2];        // samples, as words or bytes, with the border that a census reads
  View<std::uint64_t> signatures[2];  // column x of the image is element x + border

  RefitMemory() = default;
  // Called twice (see Arena).
  RefitMemory(Size image, Arena& arena) {
    constexpr int widest_vector_bytes = 64;
    const Size samples{image.width + 2 * refit_census_border + widest_vector_bytes, image.height};
    for (auto& plane : gray) plane = arena.reserve_plane<std::uint16_t>(samples);
    const Size bordered{image.width + 2 * border + widest_vector, image.height};
    for (auto& plane : signatures) plane = arena.reserve_plane<std::uint64_t>(bordered);
  }
};

// `disparity` has the size of the images.
void refit(View<float> disparity, const StereoPair& pair, int window, const RefitMemory& memory,
           const Workers& workers);
// The same, written directly from the definition.
void refit_reference(View<float> disparity, const StereoPair& pair, int window, const RefitMemory& memory);

}  // namespace parallax::refine
