// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string_view>

#include "tools/files/pictures.h"
#include "tools/opencv_decoder.h"

// A picture that both decoders read has the same gray values. OpenCV does not apply EXIF orientation, so
// pictures with EXIF data are skipped.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const parallax::tool::Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const char* exif : {"Exif", "eXIf", "EXIF"})
    if (text.find(exif) != std::string_view::npos) return 0;
  try {
    const parallax::tool::Picture picture = parallax::tool::decode_picture(bytes, "fuzz");
    if (picture.size().pixels() > 1 << 20) return 0;
    const auto expected = parallax::test::gray_by_opencv(bytes);
    if (!expected || expected->size() != picture.size()) return 0;
    if (parallax::test::count_differences(parallax::test::gray_of(picture), *expected) > 0) std::abort();
  } catch (const parallax::Error&) {
  } catch (const std::bad_alloc&) {
  }
  return 0;
}
