// SPDX-License-Identifier: Apache-2.0
// Decoders of complete pictures in memory, one per file format, and the encoders that the tool needs.
// An alpha channel becomes a mask, a palette is looked up, and pixels of fewer than 8 bits are scaled to 8. ICC
// profiles and gamma are ignored. Pictures are as stored; their notes say how EXIF would turn them. All decoders
// throw Error (file) with `name` in the message.
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "tools/files/pictures/picture.h"

namespace parallax::tool {

bool is_png(Bytes bytes);
Picture decode_png(Bytes bytes, const std::string& name);
// The format of the picture turned upright, from the beginning of the file; empty if it is not a PNG.
struct PictureHead {
  ImageFormat format;
  int channels = 1;
};
std::optional<PictureHead> read_png_head(const std::string& path, bool ignore_orientation = false);
// The size, before it is turned upright, of a file that is a JPEG.
ImageFormat read_jpeg_format(std::FILE* file, const std::string& name);
std::vector<std::byte> encode_png(const ImageView& pixels);

bool is_jpeg(Bytes bytes);
Picture decode_jpeg(Bytes bytes, const std::string& name);

bool is_webp(Bytes bytes);
Picture decode_webp(Bytes bytes, const std::string& name);
// The same, from the first bytes.
ImageFormat webp_format(Bytes head, const std::string& name);

bool is_bmp(Bytes bytes);
Picture decode_bmp(Bytes bytes, const std::string& name);
// From the first bytes.
ImageFormat bmp_format(Bytes head, const std::string& name);

// PBM, PGM and PPM, text or binary. Values are not scaled by the maximum value of the file, which is noted.
bool is_netpbm(Bytes bytes);
Picture decode_netpbm(Bytes bytes, const std::string& name);
ImageFormat netpbm_format(Bytes head, const std::string& name);

}  // namespace parallax::tool
