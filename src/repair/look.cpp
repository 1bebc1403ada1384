// SPDX-License-Identifier: Apache-2.0

#include "remap/map.h"
#include "repair/repair.h"

namespace parallax::repair {
namespace {

// An image in `rows`, which must have its bytes.
ImageOutput image_in(Plane<std::uint8_t>& rows, ImageFormat format, int channels) {
  return {rows.row(0), format, channels, rows.view().stride_bytes};
}

}  // namespace

Sight look(const Rig& rig, const Rectification& rectification, const StereoPair& pictures,
           const CheckParameters& parameters) {
  const BitDepth depth = pictures.left.format.depth;
  const ImageFormat format{rectification.size, depth};
  const auto bytes_of = [&](const ImageView& picture) {
    return Size{format.size.width * picture.channels * static_cast<int>(depth) / 8, format.size.height};
  };
  Plane<std::uint8_t> left_rows(bytes_of(pictures.left)), right_rows(bytes_of(pictures.right));
  const ImageOutput left = image_in(left_rows, format, pictures.left.channels),
                    right = image_in(right_rows, format, pictures.right.channels);
  Plane<std::uint8_t> left_mask(format.size), right_mask(format.size);
  Rectifier rectifier(rig, rectification, Interpolation::lanczos3,
                      Device{.kind = DeviceKind::cpu, .threads = parameters.threads}, depth);
  rectifier.run(pictures.left, pictures.right, {left, right, left_mask.view(), right_mask.view()});
  StereoPair pair{left, right};
  pair.left_mask = left_mask.view();
  pair.right_mask = right_mask.view();
  Sight sight{check_pair(pair, parameters), {}};
  const remap::Lookup to_left(rig.left, rectification.rotation_left, rectification.centre_left_x,
                              rectification),
      to_right(rig.right, rectification.rotation_right, rectification.centre_right_x, rectification);
  const double scale = rig.left.focal_y / rectification.focal;
  for (const CheckedPoint& point : sight.report.points) {
    const auto l = to_left.position(point.left_x, point.left_y),
               r = to_right.position(point.right_x, point.right_y);
    if (l && r) sight.points.push_back({*l, *r, scale * static_cast<double>(point.uncertainty)});
  }
  return sight;
}

}  // namespace parallax::repair
