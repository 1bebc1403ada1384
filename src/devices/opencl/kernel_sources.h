// SPDX-License-Identifier: Apache-2.0
// The kernels, which the build puts into the library as text: see cmake/ParallaxKernels.cmake.
#pragma once

#include "devices/opencl/program.h"

namespace parallax::opencl {

extern const Source kernel_cl, types_cl;  // what every program begins with
extern const Source block_types_cl, block_images_cl, block_search_cl;
extern const Source census_types_cl, census_images_cl, census_search_cl, census_tiles_cl, census_strips_cl;
extern const Source refine_cl, refine_types_cl, refine_guided_cl;

}  // namespace parallax::opencl
