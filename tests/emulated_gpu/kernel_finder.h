// SPDX-License-Identifier: Apache-2.0
// Finds the kernels of a program, so that code that calls them can be appended.
#pragma once

#include <string>
#include <vector>

namespace emulated {

struct FoundKernel {
  std::string name;
  // The text in its __launch_bounds__(); may be empty.
  std::string launch_bounds;
};

// `program` has been preprocessed. __global__ and __launch_bounds__() are blanked out.
std::vector<FoundKernel> take_out_kernels(std::string& program);

}  // namespace emulated
