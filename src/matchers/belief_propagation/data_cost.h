// The specification of the data costs: scalar, one pixel and label at a time.
#pragma once

#include "core/arena.h"
#include "matchers/belief_propagation/belief_propagation.h"

namespace parallax::belief_propagation {

class DataCosts {
 public:
  DataCosts(const Model& model, Size size, ArenaLayout& layout);

  // For the labels of the left image; mirrored: for those of the right one, both images mirrored and swapped,
  // so that disparities keep their sign. The pair stays in use.
  void prepare(const StereoPair& pair, bool mirrored, std::byte* arena);

  // Before the pyramid, and before anything is subtracted.
  float at(int x, int y, int label) const;
  // Whether the right pixel of any label is there.
  bool reachable(int x, int y) const;
  bool masked(int x, int y) const;
  // Samples of gray.
  View<const std::uint16_t> gray() const { return samples_[0][gray_channel]; }

 private:
  bool right_exists(int x, int y, int label) const;
  bool has_data(int x, int y) const;
  int column(int x, int label) const { return x - model_.parameters.min_disparity - label; }
  int difference(int x, int right_x, int y) const;
  int hamming(int x, int right_x, int y) const;
  int birchfield_tomasi(int x, int right_x, int y) const;
  bool takes_volume() const { return model_.parameters.cost == DataCost::volume; }

  Model model_;
  Size size_;
  std::vector<std::uint32_t> weights_;
  PlaneBuffer<std::uint16_t> buffers_[2][4], unsmoothed_, half_smoothed_;
  View<std::uint16_t> samples_[2][4];
  StereoPair pair_;
  bool mirrored_ = false;
};

}  // namespace parallax::belief_propagation
