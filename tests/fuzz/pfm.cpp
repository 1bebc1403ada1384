// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "parallax/error.h"
#include "parallax/formats.h"

// A file that is read is the same after being written and read again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto image = parallax::parse_pfm({reinterpret_cast<const std::byte*>(data), size}, "fuzz");
    const auto again = parallax::parse_pfm(parallax::encode_pfm(image.view()), "again");
    if (again.size() != image.size()) std::abort();
    for (int y = 0; y < image.height(); ++y)
      if (std::memcmp(again.row(y), image.row(y), static_cast<std::size_t>(image.width()) * sizeof(float)) !=
          0)
        std::abort();
  } catch (const parallax::Error&) {
  }
  return 0;
}
