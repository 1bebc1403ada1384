// SPDX-License-Identifier: Apache-2.0
// WebP, by libwebp.
#include <webp/decode.h>

#include "tools/files/pictures/codecs.h"

namespace parallax::tool {
namespace {

// A RIFF file is a row of chunks: a name of four letters, a length, and as many bytes, padded to an even
// number.
Bytes find_chunk(Bytes riff, const char* wanted) {
  constexpr std::size_t first = 12, head = 8;
  for (std::size_t at = first; at + head <= riff.size();) {
    std::size_t length = 0;
    for (std::size_t i = 0; i < 4; ++i) length |= std::to_integer<std::size_t>(riff[at + 4 + i]) << (8 * i);
    if (length > riff.size() - at - head) break;
    if (begins_with(riff.subspan(at), wanted)) return riff.subspan(at + head, length);
    at += head + length + length % 2;
  }
  return {};
}

}  // namespace

bool is_webp(Bytes bytes) {
  return begins_with(bytes, "RIFF") && bytes.size() >= 12 && begins_with(bytes.subspan(8), "WEBP");
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
  WebPBitstreamFeatures features{};
  if (::WebPGetFeatures(data, bytes.size(), &features) == VP8_STATUS_OK && features.has_alpha != 0) {
    const std::size_t stride = 4 * static_cast<std::size_t>(picture.size().width);
    std::vector<std::byte> whole(stride * static_cast<std::size_t>(picture.size().height));
    if (::WebPDecodeRGBAInto(data, bytes.size(), reinterpret_cast<std::uint8_t*>(whole.data()), whole.size(),
                             static_cast<int>(stride)) == nullptr)
      fail_damaged(name, "its pixels cannot be decoded");
    take_alpha(whole, picture);
  } else {
    const auto stride = static_cast<std::size_t>(picture.view().stride_bytes);
    const std::size_t length = stride * static_cast<std::size_t>(picture.size().height);
    auto* to = reinterpret_cast<std::uint8_t*>(picture.row(0));
    if (::WebPDecodeRGBInto(data, bytes.size(), to, length, static_cast<int>(stride)) == nullptr)
      fail_damaged(name, "its pixels cannot be decoded");
  }
  const Bytes exif = find_chunk(bytes, "EXIF");
  picture.notes.orientation =
      exif_orientation(exif.subspan(begins_with(exif, exif_prefix) ? exif_prefix.size() : 0));
  return picture;
}

}  // namespace parallax::tool
