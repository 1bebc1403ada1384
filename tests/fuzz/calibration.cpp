// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "parallax/error.h"
#include "parallax/formats.h"

// A file that is read has valid values, and is the same after being written and read again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto once =
        parallax::parse_middlebury_calibration({reinterpret_cast<const char*>(data), size}, "fuzz");
    if (!(once.focal > 0) || !(once.baseline > 0) || once.width < 0 || once.height < 0 ||
        once.disparities < 0)
      std::abort();
    const auto again =
        parallax::parse_middlebury_calibration(parallax::encode_middlebury_calibration(once), "again");
    if (again.focal != once.focal || again.baseline != once.baseline || again.doffs != once.doffs)
      std::abort();
  } catch (const parallax::Error&) {
  }
  return 0;
}
