// SPDX-License-Identifier: Apache-2.0
// Settings of the whole process, in force while an object exists.
#pragma once

#include <string_view>

#include "parallax/process.h"

namespace parallax::tool {

// Whether plans use remembered tuning.
class ForcedTuning {
 public:
  explicit ForcedTuning(bool used) { use_tuning(used); }
  ~ForcedTuning() { use_tuning(true); }
  ForcedTuning(const ForcedTuning&) = delete;
  ForcedTuning& operator=(const ForcedTuning&) = delete;
};

// The vector target; empty = the widest.
class ForcedTarget {
 public:
  explicit ForcedTarget(std::string_view target) { force_cpu_target(target); }
  ~ForcedTarget() { force_cpu_target(""); }
  ForcedTarget(const ForcedTarget&) = delete;
  ForcedTarget& operator=(const ForcedTarget&) = delete;
};

}  // namespace parallax::tool
