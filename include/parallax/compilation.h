// SPDX-License-Identifier: Apache-2.0
/// \file
/// Notification before kernels are compiled for a GPU or an OpenCL device, which takes seconds.
#pragma once

#include <functional>
#include <string>

#pragma GCC visibility push(default)
namespace parallax {

/// Sets the function that is called, with the text of a device, before a plan compiles kernels for that
/// device; null = none. A plan that finds all its kernels in the user's cache folder compiles none. The
/// setting applies to the whole process; do not change it while a matcher is being planned.
void on_compilation(std::function<void(const std::string& device)> listener);

}  // namespace parallax
#pragma GCC visibility pop
