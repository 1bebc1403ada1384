// SPDX-License-Identifier: Apache-2.0
#include "parallax/parameters.h"

#include <cstdint>
#include <cstdlib>
#include <string>

#include "parallax/error.h"

// Parameters as JSON, which survive being written and read.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const parallax::MatcherParameters parameters =
        parallax::parameters_from_json({reinterpret_cast<const char*>(data), size});
    const std::string written = parallax::to_json(parameters);
    if (parallax::to_json(parallax::parameters_from_json(written)) != written) std::abort();
  } catch (const parallax::Error& error) {
    if (error.category() != parallax::ErrorCategory::argument) std::abort();
  }
  return 0;
}
