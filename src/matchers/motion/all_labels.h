// SPDX-License-Identifier: Apache-2.0
// Motion on the CPU where each pixel considers all labels: a pyramid of messages over the labels of one
// scale.
#pragma once

#include <functional>
#include <vector>

#include "core/arena.h"
#include "core/workers.h"
#include "matchers/motion/follow_closely.h"
#include "matchers/motion/label_rows.h"
#include "matchers/motion/motion.h"
#include "matchers/motion/parity_features.h"

namespace parallax::motion {

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

  // What becomes of the beliefs of a pixel; masked pixels and pixels without any right pixel have beliefs,
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

  std::size_t count() const { return static_cast<std::size_t>(labels_.count()); }
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
