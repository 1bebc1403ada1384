// SPDX-License-Identifier: Apache-2.0
// Decoders of complete pictures in memory, one per file format, and the encoders that the tool needs.
// An alpha channel is left out, a palette is looked up, and pixels of fewer than 8 bits are scaled to 8. ICC
// profiles and gamma are ignored. All decoders throw Error (file) with `name` in the message.
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "tools/files/pictures/picture.h"

namespace parallax::tool {

bool is_png(Bytes bytes);
Picture decode_png(Bytes bytes, const std::string& name);
// The format that decode_png() would return, from the beginning of the file; empty if it is not a PNG.
struct PictureHead {
  ImageFormat format;
  int channels = 1;
};
std::optional<PictureHead> read_png_head(const std::string& path);
// The size, before it is turned upright, of a file that is a JPEG.
ImageFormat read_jpeg_format(std::FILE* file, const std::string& name);
std::vector<std::byte> encode_png(const ImageView& pixels);

bool is_jpeg(Bytes bytes);
Picture decode_jpeg(Bytes bytes, const std::string& name);

bool is_webp(Bytes bytes);
Picture decode_webp(Bytes bytes, const std::string& name);
// The same, from the first bytes.
ImageFormat webp_format(Bytes head, const std::string& name);

// PBM, PGM and PPM, text or binary. Values are not scaled by the maximum value of the file.
bool is_netpbm(Bytes bytes);
Picture decode_netpbm(Bytes bytes, const std::string& name);
ImageFormat netpbm_format(Bytes head, const std::string& name);

}  // namespace parallax::tool
