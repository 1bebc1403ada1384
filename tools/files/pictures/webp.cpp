// SPDX-License-Identifier: Apache-2.0
// WebP, by libwebp.
#include <cstring>

#include <webp/decode.h>

#include "tools/files/pictures/codecs.h"

namespace parallax::tool {
namespace {

// A RIFF file is a row of chunks: a name of four letters, a length, and as many bytes, filled up to an even
// number.
Bytes find_chunk(Bytes riff, const char* wanted) {
  constexpr std::size_t first = 12, head = 8;
  for (std::size_t at = first; at + head <= riff.size();) {
    std::size_t length = 0;
    for (std::size_t i = 0; i < 4; ++i) length |= std::to_integer<std::size_t>(riff[at + 4 + i]) << (8 * i);
    if (length > riff.size() - at - head) break;
    if (std::memcmp(riff.data() + at, wanted, 4) == 0) return riff.subspan(at + head, length);
    at += head + length + length % 2;
  }
  return {};
}

Bytes without_prefix(Bytes exif) {
  constexpr char prefix[] = "Exif\0";  // and one zero more; some writers put it there
  const bool has_prefix =
      exif.size() >= sizeof prefix && std::memcmp(exif.data(), prefix, sizeof prefix) == 0;
  return has_prefix ? exif.subspan(sizeof prefix) : exif;
}

}  // namespace

bool is_webp(Bytes bytes) {
  return bytes.size() >= 12 && std::memcmp(bytes.data(), "RIFF", 4) == 0 &&
         std::memcmp(bytes.data() + 8, "WEBP", 4) == 0;
}

ImageFormat webp_format(Bytes head, const std::string& name) {
  WebPBitstreamFeatures features{};
  const auto* data = reinterpret_cast<const std::uint8_t*>(head.data());
  if (::WebPGetFeatures(data, head.size(), &features) != VP8_STATUS_OK)
    fail_damaged(name, "its header cannot be read");
  if (features.has_animation != 0) fail_picture(name, "is an animation: give single pictures");
  check_picture_size(features.width, features.height, name);
  return {{features.width, features.height}, BitDepth::bits8};
}

Picture decode_webp(Bytes bytes, const std::string& name) {
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  Picture picture(webp_format(bytes, name), 3);
  const auto stride = static_cast<std::size_t>(picture.view().stride_bytes);
  const std::size_t length = stride * static_cast<std::size_t>(picture.size().height);
  auto* to = reinterpret_cast<std::uint8_t*>(picture.row(0));
  if (::WebPDecodeRGBInto(data, bytes.size(), to, length, static_cast<int>(stride)) == nullptr)
    fail_damaged(name, "its pixels cannot be decoded");
  return upright(picture, exif_orientation(without_prefix(find_chunk(bytes, "EXIF"))));
}

}  // namespace parallax::tool
