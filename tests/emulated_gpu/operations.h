// SPDX-License-Identifier: Apache-2.0
// Operations of streams: copies, fills, kernel launches. Arguments are checked when they are enqueued, and
// memory again when they run, because it may have been freed.
#pragma once

#include <cstddef>

#include "devices/cuda/driver.h"
#include "module.h"
#include "streams.h"

namespace emulated {

// Rows of memory.
struct Rectangle {
  void* begin = nullptr;
  std::size_t pitch = 0, width = 0, height = 0;
  bool is_on_device = false;
};

Rectangle line_of_device(parallax::cuda::DeviceAddress begin, std::size_t bytes);
Rectangle line_of_host(const void* begin, std::size_t bytes);

constexpr int multiprocessors = 132;
int blocks_a_multiprocessor(const Function& function, int threads, std::size_t dynamic_shared_bytes);

Result copy(Stream& stream, const Rectangle& from, const Rectangle& to);
Result copy(Stream& stream, const parallax::cuda::Copy2D& copy);
Result fill(Stream& stream, parallax::cuda::DeviceAddress to, unsigned char value, std::size_t bytes);
Result plan_launch(parallax::cuda::FunctionHandle handle, const Function& function,
                   const parallax::cuda::LaunchConfiguration& configuration, void** arguments,
                   Operation& planned);
Result launch(Stream& stream, parallax::cuda::FunctionHandle handle, const Function& function,
              const parallax::cuda::LaunchConfiguration& configuration, void** arguments);

}  // namespace emulated
