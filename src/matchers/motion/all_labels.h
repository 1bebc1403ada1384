// SPDX-License-Identifier: Apache-2.0
// Motion on the CPU where each pixel considers all labels: a pyramid of messages over the labels of one
// scale.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "core/arena.h"
#include "core/integers.h"
#include "core/workers.h"
#include "matchers/motion/all_labels_kernels.h"
#include "matchers/motion/follow_closely.h"
#include "matchers/motion/motion.h"
#include "matchers/motion/parity_features.h"

namespace parallax::motion {

// Messages and data costs of a level's rows, in the layout of all_labels_kernels.h: all rows, or the latest
// `held`; all of their columns, or some of them.
struct LabelRows {
  Size size = {};  // size of the level
  int labels = 0;
  std::size_t element = 1;  // bytes of an element
  int held = 0;
  int first = 0;              // the first pixel of a parity; even
  int computed = 0;           // pixels of a parity, filling widest vectors
  std::ptrdiff_t stride = 0;  // elements between labels
  std::byte* memory = nullptr;

  LabelRows() = default;
  LabelRows(Size of, int pixels, int of_labels, std::size_t element_size, int rows)
      : size(of), labels(of_labels), element(element_size), held(rows) {
    const int line = widest_vector_bytes / static_cast<int>(element);
    computed = round_up(pixels, line);
    // An element that is always 0 ends each label: the message from beyond the left border to the next one.
    // An odd number of cache lines spreads labels over all sets of a cache.
    const int lines = pixels / line + 1;
    stride = (lines % 2 == 0 ? lines + 1 : lines) * line;
  }

  // Planes of labels, then slopes and truncations on each side.
  static constexpr int data_plane = side::count, planes = side::count + 1;
  std::size_t plane_bytes() const { return to_size(labels) * label_bytes(); }
  std::size_t label_bytes() const { return to_size(stride) * element; }
  std::size_t half_bytes() const { return planes * plane_bytes() + 2 * side::count * label_bytes(); }
  // Includes room for vectors that begin and end beside a plane.
  std::size_t bytes() const { return to_size(2 * held) * half_bytes() + 2 * widest_vector_bytes; }
  // The used part of the planes, without padding.
  std::size_t used_bytes() const {
    return to_size(2 * planes * held) * to_size(computed) * to_size(labels) * element;
  }
  void reserve(Arena& arena) { memory = arena.reserve<std::byte>(bytes()); }

  std::byte* half(int y, int parity) const {
    return memory + widest_vector_bytes + to_size(2 * (y % held) + parity) * half_bytes();
  }
  // Address of the messages to a side, or of the data costs.
  std::byte* plane(int y, int parity, int index) const {
    return half(y, parity) + to_size(index) * plane_bytes();
  }
  std::byte* data(int y, int parity) const { return plane(y, parity, data_plane); }
  std::byte* slopes(int y, int parity, int to) const {
    return plane(y, parity, planes) + to_size(2 * to) * label_bytes();
  }
  std::byte* truncations(int y, int parity, int to) const { return slopes(y, parity, to) + label_bytes(); }
};

class AllLabels {
 public:
  // A thread's share of the largest cache.
  static constexpr std::size_t usual_cached_bytes = 12 << 20;

  // The matcher of a scale that considers all labels; `scale_index` is its place in scales(). The model must
  // outlive this. Rows in work take `cached_bytes` of a thread, or a few columns of them.
  AllLabels(const Model& model, const Scale& scale, std::size_t scale_index, int slots,
            std::size_t cached_bytes = usual_cached_bytes);

  // Called twice (see Arena), before any other function.
  void reserve(Arena& arena);
  // Called once, after reserve().
  void fill_memory();

  // Destination of the beliefs of a pixel; masked pixels and pixels without any right pixel have beliefs,
  // too.
  struct Output {
    View<Offset> best;  // the label of the lowest belief; may be empty
    // May be empty. Called once for each pixel, by several threads at once.
    std::function<void(int x, int y, const Decision& decision)> decided;
  };

  // `labels` may begin elsewhere than those of the constructor's scale, for a match in the other direction.
  void run(const ScaleFrames& frames, const LabelSpace& labels, const Output& output, const Workers& workers);

 private:
  struct Scratch {
    std::byte *sending, *deciding, *costs[4], *sums;
    float* units;
    LabelRows finest;  // rows of a tile, if the level is not kept
    std::uint16_t *column, *row;
    float *lowest, *before[2], *after[2], *rival;
  };

  std::size_t count() const { return to_size(labels_.count()); }
  int iterations(std::size_t level) const { return model_.iterations(scale_index_, level); }
  // The frame is matched in tiles.
  struct Tile {
    Range rows, decided;  // `decided`: columns
    int first;            // the first pixel of a parity that is computed
  };
  std::ptrdiff_t offset_bytes(int pixels) const { return pixels * static_cast<std::ptrdiff_t>(element_); }
  View<const std::uint16_t> gray(std::size_t level) const {
    return level == 0 ? frames_.gray[0] : View<const std::uint16_t>(gray_[level - 1]);
  }

  void make_table();
  void halve_gray(const Workers& workers) const;

  void write_finest_costs(const LabelRows& rows, int y, int first, int count, int parity, void* out,
                          std::ptrdiff_t stride, const Scratch& scratch) const;
  void sum_level(std::size_t level, int y, const Scratch& scratch) const;
  void sum_levels(const Workers& workers) const;
  void write_edges(const LabelRows& rows, std::size_t level, int y) const;
  template <class Element>
  void write_edges_as(const LabelRows& rows, std::size_t level, int y, int parity) const;
  void start_messages(const LabelRows& rows, std::size_t level, int y) const;
  PixelRow pixel_row(const LabelRows& rows, int y, int parity, Range pixels) const;
  void sweep(const LabelRows& rows, int iteration, int y, Range pixels, const Scratch& scratch) const;

  int lines_at_once(int count, int lines) const;
  LabelRows tile_rows() const;
  // Columns around a tile on which its decisions depend.
  int tile_border() const { return round_up(iterations(0) + 1, 4); }

  void match_level(std::size_t level, const Workers& workers) const;
  void sweep_level(std::size_t level, int done, int count, const Workers& workers) const;
  void match_finest(const Output& output, const Workers& workers) const;
  void match_tile(const Tile& tile, const Output& output, const Scratch& scratch) const;
  void decide(const LabelRows& rows, int y, Range columns, const Output& output,
              const Scratch& scratch) const;

  const Model& model_;
  LabelSpace labels_;
  std::size_t scale_index_, cached_bytes_;
  Arithmetic arithmetic_;
  LabelKernels kernels_;
  std::size_t element_;
  std::vector<Size> sizes_;
  std::vector<LabelRows> levels_;  // the finest one has no memory unless it is kept
  bool keeps_finest_;
  std::vector<View<std::uint16_t>> gray_;  // for all levels except the finest
  ParityFeatures features_;
  std::byte* zeros_ = nullptr;
  std::vector<std::uint8_t> table_;
  std::vector<Scratch> scratch_;
  ScaleFrames frames_ = {};
};

}  // namespace parallax::motion
