// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>

#include "parallax/error.h"

#include "tune/tuning_file.h"

// The file of tuned configurations.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const std::string text(reinterpret_cast<const char*>(data), size);
    for (const parallax::TunedConfiguration& entry : parallax::detail::parse_tuning(text, "fuzz"))
      if (entry.size_class < 0) std::abort();
  } catch (const parallax::Error& error) {
    if (error.category() != parallax::ErrorCategory::file) std::abort();
  }
  return 0;
}
