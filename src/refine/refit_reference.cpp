// SPDX-License-Identifier: Apache-2.0
// refit(), written directly from the definition in parallax/refine.h.

#include <bit>
#include <cmath>

#include "core/gray.h"
#include "refine/refine.h"
#include "refine/refit.h"

namespace parallax::refine {
namespace {

// Which of the 62 neighbours in a 9×7 window are darker than the centre; the image repeats its border
// samples.
std::uint64_t census(View<const std::uint16_t> gray, Size size, int x, int y) {
  std::uint64_t bits = 0;
  for (int j = -3; j <= 3; ++j)
    for (int i = -4; i <= 4; ++i) {
      const int u = std::clamp(x + i, 0, size.width - 1), v = std::clamp(y + j, 0, size.height - 1);
      bits = bits << 1 | (gray.at(u, v) < gray.at(x, y) ? 1 : 0);
    }
  return bits;
}

// An image, its census, and its pixels that take part.
class Side {
 public:
  Side(const ImageView& image, View<const std::uint8_t> mask, View<std::uint16_t> gray,
       View<std::uint64_t> signatures)
      : size_(image.format.size), mask_(mask), signatures_(signatures) {
    for (int y = 0; y < size_.height; ++y) gray_row(image, y, gray.row(y));
    for (int y = 0; y < size_.height; ++y)
      for (int x = 0; x < size_.width; ++x) signatures.at(x, y) = census(gray, size_, x, y);
  }

  bool has(int x, int y) const {
    if (x < 0 || y < 0 || x >= size_.width || y >= size_.height) return false;
    return mask_.empty() || mask_.at(x, y) != 0;
  }
  std::uint64_t signature(int x, int y) const { return signatures_.at(x, y); }

 private:
  Size size_;
  View<const std::uint8_t> mask_;
  View<std::uint64_t> signatures_;
};

LabelCosts costs_around(const Side& left, const Side& right, int x, int y, int label, int radius) {
  LabelCosts costs;
  for (int v = y - radius; v <= y + radius; ++v)
    for (int u = x - radius; u <= x + radius; ++u) {
      const int match = u - label;
      if (!left.has(u, v) || !right.has(match + 1, v) || !right.has(match, v) || !right.has(match - 1, v))
        continue;
      const auto distance = [&](int column) {
        return std::popcount(left.signature(u, v) ^ right.signature(column, v));
      };
      costs.before += distance(match + 1);
      costs.here += distance(match);
      costs.after += distance(match - 1);
    }
  return costs;
}

}  // namespace

void refit_reference(View<float> disparity, const StereoPair& pair, int window, const RefitMemory& memory) {
  const Side left(pair.left, pair.left_mask, memory.gray[0], memory.signatures[0]);
  const Side right(pair.right, pair.right_mask, memory.gray[1], memory.signatures[1]);
  const Size size = disparity.size;
  for (int y = 0; y < size.height; ++y) {
    stop_if_cancelled();
    for (int x = 0; x < size.width; ++x) {
      float& value = disparity.at(x, y);
      if (!decision::has_value(value)) continue;
      const float label = std::ceil(value - 0.5f);
      // True if the whole window is outside the right image.
      if (std::abs(label) > static_cast<float>(size.width + window)) continue;
      value = refitted(value, label, costs_around(left, right, x, y, static_cast<int>(label), window / 2));
    }
  }
}

}  // namespace parallax::refine
