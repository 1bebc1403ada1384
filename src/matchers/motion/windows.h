// SPDX-License-Identifier: Apache-2.0
// Motion on the CPU if each pixel considers its own window of labels around a prediction: one scale.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/arena.h"
#include "core/workers.h"
#include "matchers/motion/all_labels.h"
#include "matchers/motion/windows_kernels.h"

namespace parallax::motion {

class Windows {
 public:
  // The matcher of a scale that considers windows; `scale_index` is its place in scales(). The model must
  // outlive this.
  Windows(const Model& model, const Scale& scale, std::size_t scale_index, int slots);

  // Called twice (see Arena), before any other function.
  void reserve(Arena& arena);
  // Called once, after reserve().
  void fill_memory() const;

  // Takes the frames of the next matches, in either direction. Views stay in use.
  void prepare(const ScaleFrames& frames, const Workers& workers);

  // A match of some rows in one direction; rows around them are computed for it.
  struct Match {
    bool backward;               // from the second frame to the first one
    View<const Offset> coarser;  // labels that the next coarser scale found
    View<Offset> best;           // receives the labels found; may be empty
    bool rivals;                 // whether decisions need rivals; otherwise they are infinite
    // May be empty. Called with the decisions of each row, by several threads at once.
    std::function<void(int y, const Decision* row)> decided;
  };
  void run(const Match& match, int first, int last, int slot) const;

  Size size() const { return scale_.size; }

 private:
  // The memory of one slot: the latest rows, and room for one.
  struct Scratch {
    std::byte* packs;
    WindowStart* starts;
    std::uint16_t *beside, *below;
    Offset* predictions;
    std::uint8_t* rough;
    Decision* decisions;
  };
  // The state of a direction.
  struct Direction;

  int iterations() const { return model_.iterations(scale_index_, 0); }
  // Whether data costs are computed in bytes.
  bool counts_in_bytes() const { return window_model_.fits_bytes && model_.cost == DataCost::census; }
  std::size_t row_bytes() const;
  WindowRow row(const Scratch& scratch, int y) const;
  void write_signatures(int frame, int y, int slot) const;
  void arrive(const Direction& direction, int y, const Scratch& scratch) const;
  void predict_row(const Direction& direction, int y, const Scratch& scratch) const;
  Offset prediction_of(const Direction& direction, int parent_x, int parent_y) const;
  int find_others(const Direction& direction, int parent_x, int parent_y, Offset own, Offset* others) const;
  Offset predict(const Direction& direction, int x, int y, Offset own, const Offset* others, int count) const;
  float cost(const Direction& direction, int x, int y, Offset offset) const;
  float support(const Direction& direction, int x, int y, Offset offset) const;
  void write_edges(const Direction& direction, int y, const WindowRow& row) const;
  void write_costs(const Direction& direction, int y, const WindowRow& row, const Offset* predictions) const;
  WindowCosts window_costs(const Direction& direction, int y, const WindowRow& row,
                           const Offset* predictions) const;
  template <class Element>
  void write_costs_as(const Direction& direction, int y, const WindowRow& row,
                      const Offset* predictions) const;
  void sweep(int iteration, int y, const Scratch& scratch) const;
  void decide(const Direction& direction, int y, const Scratch& scratch) const;

  const Model& model_;
  Scale scale_;
  std::size_t scale_index_;
  WindowModel window_model_;
  int held_;  // number of rows
  ScaleFrames frames_ = {};
  View<std::uint64_t> signatures_[2];
  FrameCensus census_;
  std::vector<Scratch> scratch_;
};

}  // namespace parallax::motion
