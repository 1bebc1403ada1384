// SPDX-License-Identifier: Apache-2.0
// Middlebury's calib.txt of a rectified pair. Its baseline is in millimetres, the rig's translation in
// metres.
#include <cmath>

#include "parallax/formats.h"

#include "tools/files/rigs/format.h"

namespace parallax::tool {

Rig read_middlebury_rig(const RigFile& file, const RigChoices& choices) {
  const Calibration c = parse_middlebury_calibration(file.text, file.name);
  const Projection left{c.focal, c.focal, c.centre_x, c.centre_y, {}};
  const Projection right{
      c.focal, c.focal, c.centre_x + c.doffs, c.centre_y, {-c.baseline / millimetres_in_a_metre, 0, 0}};
  const std::string key = key_in(file, "width");
  if ((c.width == 0) != (c.height == 0)) fail_at(key, "and height are not both given: add the other");
  const Rig rig = rectified_rig(left, right, size_of_images({c.width, c.height}, choices, key));
  const std::string baseline = key_in(file, "baseline");
  return finished(rig, choices, {key_in(file, "cam0"), key_in(file, "cam1"), baseline, baseline});
}

std::string encode_middlebury_rig(const Rig& rig) {
  const std::string format = "Middlebury's calib.txt";
  need_rectified(rig, format);
  const Camera &left = rig.left, &right = rig.right;
  if (left.focal_x != left.focal_y || left.focal_x != right.focal_x || left.focal_x != right.focal_y ||
      left.centre_y != right.centre_y)
    cannot_hold(format, "focal lengths or rows of the principal points that differ");
  if (rig.translation[1] != 0 || rig.translation[2] != 0)
    cannot_hold(format, "a baseline that is not horizontal");
  Calibration c;
  c.focal = left.focal_x;
  c.centre_x = left.centre_x;
  c.centre_y = left.centre_y;
  c.doffs = right.centre_x - left.centre_x;
  c.baseline = -rig.translation[0] * millimetres_in_a_metre;
  if (!std::isfinite(c.baseline + c.doffs)) cannot_hold(format, "numbers so large");
  c.width = left.size.width;
  c.height = left.size.height;
  return encode_middlebury_calibration(c);
}

}  // namespace parallax::tool
