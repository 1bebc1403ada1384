// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

#include "file_in_memory.h"
#include "tools/files/pictures.h"

// Reading a region gives the same pixels as reading more.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const parallax::test::FileInMemory file(data, size);
  try {
    if (auto tiff = parallax::tool::TiffReader::open(file.path())) {
      static_cast<void>(tiff->description());
      static_cast<void>(tiff->is_complete());
      const parallax::Size extent = tiff->format().size;
      constexpr int most = 64;
      if (tiff->memory_bytes() > 1 << 26) return 0;
      const parallax::Rectangle corner{0, 0, {std::min(extent.width, most), std::min(extent.height, most)}};
      const std::size_t pixel = tiff->format().pixel_bytes();
      const std::size_t row = static_cast<std::size_t>(corner.size.width) * pixel;
      std::vector<std::byte> whole(row * static_cast<std::size_t>(corner.size.height)), part(pixel);
      tiff->read(corner, whole.data(), static_cast<std::ptrdiff_t>(row));
      const parallax::Rectangle last{corner.size.width - 1, corner.size.height - 1, {1, 1}};
      tiff->read(last, part.data(), static_cast<std::ptrdiff_t>(pixel));
      if (!std::equal(part.begin(), part.end(), whole.end() - static_cast<std::ptrdiff_t>(pixel)))
        std::abort();
    } else {
      static_cast<void>(parallax::tool::read_converted_tiff(file.path()));
    }
  } catch (const parallax::Error& error) {
    if (error.category() != parallax::ErrorCategory::file) std::abort();
  } catch (const std::bad_alloc&) {
  }
  return 0;
}
