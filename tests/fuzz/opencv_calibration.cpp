// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "parallax/error.h"

#include "tools/files/calibration.h"

// The first byte chooses one of OpenCV's formats for the rest. A file that is read has valid values.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  constexpr const char* names[] = {"fuzz.yml", "fuzz.json", "fuzz.xml"};
  try {
    const parallax::Calibration calibration = parallax::tool::parse_calibration(
        {reinterpret_cast<const char*>(data) + 1, size - 1}, names[data[0] % 3]);
    for (const double value : {calibration.focal, calibration.centre_x, calibration.centre_y,
                               calibration.doffs, calibration.baseline})
      if (!std::isfinite(value)) std::abort();
    if (!(calibration.focal > 0) || !(calibration.baseline > 0)) std::abort();
  } catch (const parallax::Error& error) {
    if (error.category() != parallax::ErrorCategory::file) std::abort();
  }
  return 0;
}
