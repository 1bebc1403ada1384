// SPDX-License-Identifier: Apache-2.0
#include <cstddef>

#include "remap/map.h"
#include "repair/repair.h"

namespace parallax::repair {
namespace {

// An image of any format that owns its memory.
class OwnedImage {
 public:
  OwnedImage(ImageFormat format, int channels)
      : format_(format),
        channels_(channels),
        row_bytes_(static_cast<std::ptrdiff_t>(format.size.width) * channels *
                   static_cast<int>(format.depth) / 8) {
    bytes_.resize(static_cast<std::size_t>(row_bytes_) * static_cast<std::size_t>(format.size.height));
  }
  ImageOutput output() { return {bytes_.data(), format_, channels_, row_bytes_}; }

 private:
  ImageFormat format_;
  int channels_;
  std::ptrdiff_t row_bytes_;
  std::vector<std::byte> bytes_;
};

}  // namespace

Sight look(const Rig& rig, const Rectification& rectification, const StereoPair& pictures,
           const CheckParameters& parameters) {
  const BitDepth depth = pictures.left.format.depth;
  const ImageFormat format{rectification.size, depth};
  OwnedImage left(format, pictures.left.channels), right(format, pictures.right.channels);
  Plane<std::uint8_t> left_mask(format.size), right_mask(format.size);
  Rectifier rectifier(rig, rectification, Interpolation::lanczos3,
                      Device{.kind = DeviceKind::cpu, .threads = parameters.threads}, depth);
  rectifier.run(pictures.left, pictures.right,
                {left.output(), right.output(), left_mask.view(), right_mask.view()});
  StereoPair pair{left.output(), right.output()};
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
