// SPDX-License-Identifier: Apache-2.0
// Paths of semi-global matching on the CPU: memory for path costs, and P2 between pixels.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "core/arena.h"
#include "data_cost/edge_weight.h"
#include "matchers/semi_global/cpu_kernels.h"
#include "matchers/semi_global/cpu_layout.h"

namespace parallax::semi_global {

// Memory of a Line of some pixels, for the paths [first_path, last_path). There are another pixel and a vector on either
// side.
class LineMemory {
 public:
  void reserve(const Layout& layout, int pixels, int first_path, int last_path, Arena& arena) {
    margin_ = vector_bytes + layout.step() * layout.path_bytes;
    bytes_ = layout.elements(pixels + 2) * static_cast<std::size_t>(layout.path_bytes) + 2 * vector_bytes;
    first_path_ = first_path, last_path_ = last_path;
    for (int p = first_path; p < last_path; ++p)
      line_.paths[p] = behind(arena.reserve<std::byte>(bytes_), margin_);
    minima_per_pixel_ = minima_per_pixel(layout.row_offsets);
    minima_ = static_cast<std::size_t>(minima_per_pixel_ * (pixels + 2));
    line_.minima = behind(arena.reserve<std::uint32_t>(minima_), minima_per_pixel_);
  }

  // Makes all transition costs from the line 0, as they are from pixels beyond the border.
  void clear() const {
    for (int p = first_path_; p < last_path_; ++p)
      std::memset(static_cast<std::byte*>(line_.paths[p]) - margin_, 0, bytes_);
    std::fill_n(line_.minima - minima_per_pixel_, minima_, 0u);
  }

  const Line& line() const { return line_; }

 private:
  Line line_ = {};
  std::ptrdiff_t margin_ = 0;
  std::size_t bytes_ = 0, minima_ = 0;
  int first_path_ = 0, last_path_ = 0, minima_per_pixel_ = 0;
};

// Gray values of a row, or a column, of the image.
struct GrayLine {
  const std::uint16_t* first;
  std::ptrdiff_t step;
  int count;
  int at(int i) const { return first[i * step]; }
};
inline GrayLine row_of(View<const std::uint16_t> gray, int y) {
  return {gray.row(std::clamp(y, 0, gray.size.height - 1)), 1, gray.size.width};
}
inline GrayLine column_of(View<const std::uint16_t> gray, int x) {
  return {gray.row(0) + std::clamp(x, 0, gray.size.width - 1), gray.stride(), gray.size.height};
}

// P2, by the difference in gray values.
class LargeJumps {
 public:
  explicit LargeJumps(const Model& model)
      : ignores_edges_(model.parameters.edge_contrast == 0),
        jumps_(model.large_jumps.begin(), model.large_jumps.end()) {}

  // At the pixels [first, last) of a line, from pixels `ahead` further on in `from`; any number where those are beyond the
  // border.
  void find(const GrayLine& line, const GrayLine& from, int ahead, int first, int last,
            std::uint16_t* out) const {
    std::fill(out + first, out + last, ignores_edges_ ? jumps_[0] : std::uint16_t{0});
    if (ignores_edges_) return;
    const int end = std::min(last, line.count - ahead);
    for (int i = std::max(first, -ahead); i < end; ++i)
      out[i] =
          jumps_[static_cast<std::size_t>(data_cost::edge_index(std::abs(line.at(i) - from.at(i + ahead))))];
  }

 private:
  bool ignores_edges_;
  std::vector<std::uint16_t> jumps_;  // Model::large_jumps
};

}  // namespace parallax::semi_global
