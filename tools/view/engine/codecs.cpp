// SPDX-License-Identifier: Apache-2.0
// The browser decodes WebP files before they come here: these are those that it cannot read.
#include "tools/files/pictures/codecs.h"

namespace parallax::tool {
namespace {

[[noreturn]] void refuse(const std::string& name) {
  fail_picture(name, "is damaged, or this browser cannot decode it: give a PNG");
}

}  // namespace

bool is_webp(Bytes bytes) {
  return bytes.size() >= 12 && begins_with(bytes, "RIFF") && begins_with(bytes.subspan(8), "WEBP");
}
ImageFormat webp_format(Bytes, const std::string& name) {
  refuse(name);
}
Picture decode_webp(Bytes, const std::string& name) {
  refuse(name);
}

}  // namespace parallax::tool
