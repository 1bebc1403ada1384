// SPDX-License-Identifier: Apache-2.0
// What is asked of the whole process, for as long as it lives.
#pragma once

#include <string_view>

#include "parallax/device.h"
#include "parallax/tune.h"

namespace parallax::tool {

// Whether plans use what is remembered of tuning.
class ForcedTuning {
 public:
  explicit ForcedTuning(bool used) { use_tuning(used); }
  ~ForcedTuning() { use_tuning(true); }
  ForcedTuning(const ForcedTuning&) = delete;
  ForcedTuning& operator=(const ForcedTuning&) = delete;
};

// The vector instructions; empty = the widest.
class ForcedTarget {
 public:
  explicit ForcedTarget(std::string_view target) { force_cpu_target(target); }
  ~ForcedTarget() { force_cpu_target(""); }
  ForcedTarget(const ForcedTarget&) = delete;
  ForcedTarget& operator=(const ForcedTarget&) = delete;
};

}  // namespace parallax::tool
