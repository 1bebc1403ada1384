// SPDX-License-Identifier: Apache-2.0
#include "tools/files/pictures.h"

#include <cstdint>
#include <cstdlib>
#include <new>

using parallax::tool::Picture;

// Every pixel of a decoded picture can be read.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const Picture picture =
        parallax::tool::decode_picture({reinterpret_cast<const std::byte*>(data), size}, "fuzz");
    if (picture.channels() != 1 && picture.channels() != 3) std::abort();
    const std::size_t row_bytes = static_cast<std::size_t>(picture.size().width) * picture.pixel_bytes();
    unsigned sum = 0;
    for (int y = 0; y < picture.size().height; ++y)
      for (std::size_t i = 0; i < row_bytes; ++i) sum += std::to_integer<unsigned>(picture.row(y)[i]);
    const volatile unsigned sink = sum;
    static_cast<void>(sink);
  } catch (const parallax::Error& error) {
    if (error.category() != parallax::ErrorCategory::file) std::abort();
  } catch (const std::bad_alloc&) {
  }
  return 0;
}
