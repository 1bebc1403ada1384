// SPDX-License-Identifier: Apache-2.0
// The kernels, which the build puts into the library as text: see cmake/ParallaxKernels.cmake.
#pragma once

#include <span>

#include "devices/cuda/program.h"

namespace parallax::cuda {

// What kernels may include.
std::span<const Source> headers();
// Files of kernels.
std::span<const Source> sources();

extern const Source copy_map_cu;
extern const Source block_images_cu, block_search_cu, block_decide_cu, block_values_cu, block_study_cu;
extern const Source data_cost_images_cu;
extern const Source belief_propagation_integer_cu, belief_propagation_float_cu;
extern const Source census_images_cu, census_search_cu;
extern const Source tiled_belief_propagation_costs_cu, tiled_belief_propagation_tiles_cu;
extern const Source refine_cu, refine_guided_cu;

}  // namespace parallax::cuda
