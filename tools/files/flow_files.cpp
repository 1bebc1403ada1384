// SPDX-License-Identifier: Apache-2.0
#include "tools/files/flow_files.h"

#include "tools/command/command.h"
#include "tools/command/command_files.h"
#include "tools/files/pictures.h"
#include "tools/files/pictures/codecs.h"

namespace parallax::tool {

Flow read_flow(const std::string& path) {
  check_readable_twice(path);
  if (!has_extension(path, {".png"})) return read_flo(path);
  const Picture picture = read_picture(path);
  if (picture.view().format.depth != BitDepth::bits16 || picture.channels() != 3)
    fail_picture(
        path,
        "holds no motions: give a PNG of three channels with 16 bits, as KITTI has them, or a .flo file");
  return decode_kitti_flow({reinterpret_cast<const std::uint16_t*>(picture.row(0)),
                            {3 * picture.size().width, picture.size().height},
                            picture.view().stride_bytes});
}

void check_flow_path(const std::string& path) {
  if (!has_extension(path, {".flo", ".png"}))
    throw UsageError(path + " has no known extension: name it .flo or .png");
}

std::vector<std::byte> encode_flow(const std::string& path, const FlowView& flow) {
  check_flow_path(path);
  if (has_extension(path, {".flo"})) return encode_flo(flow);
  try {
    const Plane<std::uint16_t> rgb = encode_kitti_flow(flow);
    return encode_png({rgb.row(0), {flow.u.size, BitDepth::bits16}, 3, rgb.view().stride_bytes});
  } catch (const Error& error) {
    throw Error(ErrorCategory::file, path + ": " + error.what());
  }
}

Picture coloured_flow(const FlowView& flow, double longest) {
  Picture picture({flow.u.size, BitDepth::bits8}, 3);
  colour_flow(flow, longest > 0 ? longest : longest_vector(flow), picture.samples());
  return picture;
}

}  // namespace parallax::tool
