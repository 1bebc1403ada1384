// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <utility>

#include "refine/refine.h"

namespace parallax::refine {
namespace {

// Disjoint sets of pixels: a root holds minus the size of its set, any other pixel the index of a pixel
// nearer the root.
class PixelRegions {
 public:
  explicit PixelRegions(std::int32_t* links) : links_(links) {}

  void start(std::size_t pixel) { links_[pixel] = -1; }

  std::int32_t root(std::int32_t pixel) {
    while (links_[pixel] >= 0) {
      const std::int32_t next = links_[pixel];
      if (links_[next] >= 0) links_[pixel] = links_[next];
      pixel = next;
    }
    return pixel;
  }

  void join(std::int32_t a, std::int32_t b) {
    a = root(a);
    b = root(b);
    if (a == b) return;
    if (links_[a] > links_[b]) std::swap(a, b);
    links_[a] += links_[b];
    links_[b] = a;
  }

  std::int32_t size_of(std::int32_t pixel) { return -links_[root(pixel)]; }

 private:
  std::int32_t* links_;
};

bool connected(float a, float b, float range) {
  return decision::has_value(a) && decision::has_value(b) && std::abs(a - b) <= range;
}

}  // namespace

void speckle_filter_reference(const DisparityMap& map, int size, float range, std::int32_t* links) {
  const int width = map.disparity.size.width, height = map.disparity.size.height;
  PixelRegions regions(links);
  const auto pixel = [width](int x, int y) { return static_cast<std::int32_t>(y) * width + x; };
  for (int y = 0; y < height; ++y) {
    const float* row = map.disparity.row(y);
    for (int x = 0; x < width; ++x) {
      regions.start(static_cast<std::size_t>(pixel(x, y)));
      if (x > 0 && connected(row[x], row[x - 1], range)) regions.join(pixel(x, y), pixel(x - 1, y));
      if (y > 0 && connected(row[x], map.disparity.at(x, y - 1), range))
        regions.join(pixel(x, y), pixel(x, y - 1));
    }
  }
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      float& disparity = map.disparity.at(x, y);
      if (!decision::has_value(disparity) || regions.size_of(pixel(x, y)) >= size) continue;
      disparity = decision::no_value;
      map.status.at(x, y) = decision::code(Status::speckle);
    }
  }
}

}  // namespace parallax::refine
