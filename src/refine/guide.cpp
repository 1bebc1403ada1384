// SPDX-License-Identifier: Apache-2.0
#include "refine/guide.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/checks.h"
#include "core/gray.h"

namespace parallax::refine {

GrayWeights gray_weights(int range) {
  GrayWeights weights;
  for (std::size_t difference = 0; difference < weights.size(); ++difference)
    weights[difference] =
        static_cast<std::uint8_t>(std::floor(255 * std::exp(-static_cast<double>(difference) / range) + 0.5));
  return weights;
}

DistanceWeights distance_weights(int window) {
  const int radius = window / 2;
  const double sigma = window / 4.0;
  DistanceWeights weights{};
  auto next = weights.begin();
  for (int dy = -radius; dy <= radius; ++dy)
    for (int dx = -radius; dx <= radius; ++dx)
      *next++ = static_cast<std::uint16_t>(
          std::floor(256 * std::exp(-(dx * dx + dy * dy) / (2 * sigma * sigma)) + 0.5));
  return weights;
}

namespace {

GuidedWindow with_tables(int window, std::vector<GrayWeights> tables) {
  int used = 0;
  for (const GrayWeights& table : tables)
    for (int difference = 0; difference < 256; ++difference)
      if (table[static_cast<std::size_t>(difference)] > 0) used = std::max(used, difference + 1);
  return {window, std::move(tables), (used + 15) / 16};
}

}  // namespace

GuidedWindow weighted_median_window(int window, int range) {
  return with_tables(window, {gray_weights(range)});
}

GuidedWindow bilateral_window(int window, int range) {
  std::vector<GrayWeights> tables;
  const DistanceWeights distance = distance_weights(window);
  for (int place = 0; place < window * window; ++place) {
    tables.push_back(gray_weights(range));
    for (std::uint8_t& weight : tables.back())
      weight = static_cast<std::uint8_t>(weight * distance[static_cast<std::size_t>(place)] >> 8);
  }
  return with_tables(window, std::move(tables));
}

void take_guide(const ImageView& image, View<std::uint8_t> guide, const Workers& workers) {
  for_rows(workers, guide.size.height, [&](int y, int) { gray_byte_row(image, y, guide.row(y)); });
}

void check_guide(const ImageView& guide, Size map) {
  check_image("guide", guide);
  if (guide.format.size != map)
    refuse("guide is " + text(guide.format.size) + ", the map " + text(map) + ": give the map's own image");
}

void check_guided_window(const char* field, int window) {
  if (window < 3 || window > max_guided_window || window % 2 == 0)
    refuse(field, window, "an odd number from 3 to 15");
}

}  // namespace parallax::refine
