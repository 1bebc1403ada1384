// SPDX-License-Identifier: Apache-2.0
// A method that follows a test's script: it waits, fails or takes memory. Its map has the left image's gray
// levels.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "parallax/matcher.h"

#include "matchers/method.h"

namespace parallax {

struct ScriptedParameters {
  int min_disparity = 0;
  int disparities = 16;
  int added = 0;  ///< to each gray level
  RefineParameters refine;

  void validate() const;
};

namespace test {

// The actions of the method's plans; called from their threads.
struct Script {
  std::function<void(const Device&, const ImageFormat&)> on_plan, on_allocate, on_run, on_release;
  std::function<std::size_t(const ImageFormat&)> bytes;
};
inline Script script;

// Adds the method to the library's.
void register_scripted();

}  // namespace test
}  // namespace parallax
