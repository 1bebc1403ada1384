// SPDX-License-Identifier: Apache-2.0
// The image that guides a refinement step, and the weights of its gray levels.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "parallax/image.h"

#include "core/workers.h"

namespace parallax::refine {

inline constexpr int max_guided_window = 15;

// Weights by difference Δ of gray levels: ⌊255·e^(−Δ/range) + ½⌋. They never increase.
using GrayWeights = std::array<std::uint8_t, 256>;
GrayWeights gray_weights(int range);

// Indexed by place in the window, row by row: ⌊256·e^(−r²/2σ²) + ½⌋, σ = window/4. Unused entries are 0.
using DistanceWeights = std::array<std::uint16_t, max_guided_window * max_guided_window>;
DistanceWeights distance_weights(int window);

// The weights of a window's pixels by difference of gray levels.
struct GuidedWindow {
  int window;
  // One table for all positions in the window, or one for each position, row by row.
  std::vector<GrayWeights> tables;
  int parts;  // number of parts, of 16 entries each, after which all tables are 0

  const GrayWeights& table(int place) const {
    return tables[tables.size() == 1 ? 0 : static_cast<std::size_t>(place)];
  }
};
GuidedWindow weighted_median_window(int window, int range);
GuidedWindow bilateral_window(int window, int range);

// A guide has 8-bit gray levels (the upper 8 bits of 16-bit images) and a border for the pixels outside the
// image that a strip reads, which do not affect results.
inline constexpr int guided_strip = 64;
inline Size bordered_guide_size(Size size, int window) {
  return {size.width + 2 * (window / 2) + guided_strip, size.height + 2 * (window / 2)};
}
// The part of a bordered guide that is inside the border.
template <class T>
View<T> inside_border(View<T> bordered, Size size, int window) {
  const int border = window / 2;
  return {bordered.row(border) + border, size, bordered.stride_bytes};
}
void take_guide(const ImageView& image, View<std::uint8_t> guide, const Workers& workers);

class Guide {
 public:
  Guide(const ImageView& image, int window, const Workers& workers)
      : window_(window), size_(image.format.size), bordered_(bordered_guide_size(size_, window)) {
    take_guide(image, inside_border(bordered_.view(), size_, window), workers);
  }
  View<const std::uint8_t> view() const { return inside_border(bordered_.view(), size_, window_); }

 private:
  int window_;
  Size size_;
  Plane<std::uint8_t> bordered_;
};

// \throws Error (argument)
void check_guide(const ImageView& guide, Size map);
void check_guided_window(const char* field, int window);

}  // namespace parallax::refine
