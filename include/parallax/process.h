// SPDX-License-Identifier: Apache-2.0
/// \file
/// Settings of the whole process. All others belong to a matcher: its parameters, PlanOptions,
/// Device::threads.
///
/// None of these changes a result. Functions that set may be called from any thread, but not while another
/// one plans or runs a matcher.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace parallax {

/// The threads that Device::threads = 0 stands for: one for each processor that this process may use, by its
/// affinity and cpusets, but no more than the CPU quotas of its control groups suffice for, rounded up. Found
/// at the first call.
int available_threads();

/// Sets the function that is called, with the text of a device, before a plan compiles kernels for that
/// device, which takes seconds; null = none. A plan that finds all its kernels in the user's cache folder
/// compiles none.
void on_compilation(std::function<void(const std::string& device)> listener);

/// Sets whether plans use remembered configurations (tune.h); initially they do. They never do while the
/// environment variable PARALLAX_TUNING is "off". Meant for measurements.
void use_tuning(bool used);

/// Restricts the cpu device to one of cpu_targets(); an empty name lifts the restriction. Meant for tests and
/// measurements.
/// \throws Error (argument) for a name that cpu_targets() does not list.
void force_cpu_target(std::string_view target);

}  // namespace parallax
#pragma GCC visibility pop
