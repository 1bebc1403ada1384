// SPDX-License-Identifier: Apache-2.0
// The primary context of a device.
#pragma once

#include <cstddef>

#include "results.h"

namespace emulated {

struct Context {
  int device = 0;
  int references = 0;
  // Once a kernel has failed, every call fails likewise.
  Result failure = success;
  std::size_t memory_used = 0;
};

}  // namespace emulated
