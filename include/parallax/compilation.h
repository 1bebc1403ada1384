// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernels of GPUs and OpenCL devices are compiled when they are first planned with, which takes seconds.
#pragma once

#include <functional>
#include <string>

#pragma GCC visibility push(default)
namespace parallax {

/// Sets what is called, with the text of a device, before a plan compiles kernels for it; null = nothing. A
/// plan that finds all its kernels in the user's cache folder compiles none. Concerns the whole process; must
/// not be called while a matcher is planned.
void on_compilation(std::function<void(const std::string& device)> listener);

}  // namespace parallax
#pragma GCC visibility pop
