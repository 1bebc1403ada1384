// SPDX-License-Identifier: Apache-2.0
// Finds the kernels of a program, so that code to call them can be put behind it.
#pragma once

#include <string>
#include <vector>

namespace emulated {

struct FoundKernel {
  std::string name;
  // What stands in its __launch_bounds__(); may be empty.
  std::string launch_bounds;
};

// `program` has been through the preprocessor. __global__ and __launch_bounds__() are blanked out of it.
std::vector<FoundKernel> take_out_kernels(std::string& program);

}  // namespace emulated
