// SPDX-License-Identifier: Apache-2.0
// How the search over images of bytes is laid out on a GPU: see cuda_search.cu.
#pragma once

#include <functional>

#include "parallax/block.h"

#include "core/tuning.h"
#include "matchers/block/block.h"

namespace parallax::block {

// Of a GPU.
struct CudaMachine {
  int architecture, multiprocessors;
  int shared_bytes;  // that a block may have, which is about what a multiprocessor has
};

// Labels that a search goes through, as shifts.
struct CudaRange {
  int width;  // of the image
  int first_shift, last_shift;
};

struct CudaLayout {
  static constexpr int columns = 4, lanes = 32, slices_in_block = 4;

  bool packed;
  int order_bits, key_bits, label_bits;
  int group;             // labels that a thread takes together
  int blocks;            // that a multiprocessor holds at once
  int rows;              // of a strip
  int groups_per_slice;  // 0 = as many as take the least time
};

// `search`: of reachable labels.
CudaLayout lay_out(const BlockParameters& parameters, const Search& search, Size size,
                   const CudaMachine& machine, const detail::Configuration& configuration);

// What of a layout may be chosen.
detail::TuningSpace layout_space(const BlockParameters& parameters, const Search& search, Size size,
                                 const std::function<CudaMachine()>& machine);

// A grid of find_best.
struct CudaGrid {
  unsigned tiles, blocks_of_slices;
  int groups_per_slice;
};
CudaGrid best_grid(const CudaLayout& layout, int window, Size size, const CudaRange& range,
                   const CudaMachine& machine);

}  // namespace parallax::block
