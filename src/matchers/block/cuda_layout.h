// SPDX-License-Identifier: Apache-2.0
// The layout of the search over images of bytes on a GPU: see cuda_search.cu.
#pragma once

#include <functional>

#include "parallax/block.h"

#include "core/tuning.h"
#include "matchers/block/block.h"

namespace parallax::block {

// Properties of a GPU.
struct CudaMachine {
  int architecture, multiprocessors;
  int shared_bytes;  // limit per block, about that of a multiprocessor
};

// The search range, as shifts.
struct CudaRange {
  int width;  // width of the image
  int first_shift, last_shift;
};

struct CudaLayout {
  static constexpr int columns = 4, lanes = 32, slices_in_block = 4;

  bool packed;
  int order_bits, key_bits, label_bits;
  int group;             // labels that a thread searches together
  int blocks;            // blocks resident on a multiprocessor
  int rows;              // rows of a strip
  int groups_per_slice;  // 0 = the fastest number
};

// `search`: the reachable labels.
CudaLayout lay_out(const BlockParameters& parameters, const Search& search, Size size,
                   const CudaMachine& machine, const detail::Configuration& configuration);

// The tunables of a layout.
detail::TuningSpace layout_space(const BlockParameters& parameters, const Search& search, Size size,
                                 const std::function<CudaMachine()>& machine);

// The grid of find_best.
struct CudaGrid {
  unsigned tiles, blocks_of_slices;
  int groups_per_slice;
};
CudaGrid best_grid(const CudaLayout& layout, int window, Size size, const CudaRange& range,
                   const CudaMachine& machine);

}  // namespace parallax::block
