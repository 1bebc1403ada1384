// SPDX-License-Identifier: Apache-2.0
// The layout of the search over images of bytes on a GPU: see cuda_search.cu.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "parallax/block.h"

#include "core/integers.h"
#include "core/tuning.h"
#include "devices/cuda/multiprocessor.h"
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

// The grid of find_best.
struct CudaGrid {
  unsigned tiles, blocks_of_slices;
  int groups_per_slice;
};

// Names of the tunables.
inline constexpr const char *rows_a_thread = "rows_per_thread", *labels_at_once = "labels_at_once",
                            *blocks_at_once_name = "blocks_per_multiprocessor",
                            *groups_a_slice = "groups_per_slice";

inline std::uint64_t highest_cost(const BlockParameters& parameters, const Search& search) {
  return parameters.cost == BlockCost::zncc ? static_cast<std::uint64_t>(2 * zncc_unit) : search.highest_cost;
}

// Excludes the key with all bits set, which is reserved, and the packed cost with all bits set.
inline int bits_of_costs(const BlockParameters& parameters, const Search& search) {
  return std::bit_width(highest_cost(parameters, search) + 1);
}

inline int bits_of_labels(const Search& search) {
  return std::bit_width(static_cast<unsigned>(search.labels - 1));
}

inline bool is_packed(const BlockParameters& parameters, const Search& search) {
  return parameters.cost != BlockCost::zncc && bits_of_costs(parameters, search) <= 16 &&
         bits_of_labels(search) < 16;
}

// Chooses the representation of keys and sums.
inline CudaLayout choose_numbers(const BlockParameters& parameters, const Search& search,
                                 const CudaMachine& machine) {
  const int cost_bits = bits_of_costs(parameters, search), label_bits = bits_of_labels(search);
  CudaLayout layout{};
  layout.packed = is_packed(parameters, search);
  // From sm_90 on, the minima of two packed values are a single instruction.
  const bool ordered = layout.packed && parameters.cost == BlockCost::sad && cost_bits <= 14;
  layout.order_bits = ordered && machine.architecture >= 90 ? 2 : 0;
  layout.key_bits = layout.packed || cost_bits + label_bits <= 32 ? 32 : 64;
  layout.label_bits = layout.packed ? 16 + layout.order_bits : layout.key_bits == 32 ? label_bits : 32;
  return layout;
}

// Labels that a thread may search together. One label at a time is only for high windows: for windows of 1,
// 3 and 5 pixels, NVRTC 13.0 then makes wrong code for sm_90, unless it optimises nothing; the PTX is right.
inline std::vector<int> groups_of(const BlockParameters& parameters) {
  constexpr int high_window = 7;
  if (parameters.window < high_window) return {2, 4};
  return {1, 2, 4};
}

// High windows take few labels at once, so that the ring and the other values fit in registers.
inline void choose_group(const BlockParameters& parameters, CudaLayout& layout) {
  const int sums = (layout.packed ? 2 : 4) * parameters.window;
  if (parameters.cost == BlockCost::zncc) {
    layout.group = 2 * sums <= 40 ? 2 : 1;
    layout.blocks = 2;
    return;
  }
  layout.group = 4 * sums <= 72 ? 4 : 2 * sums <= 60 ? 2 : 1;
  const int ring = layout.group * sums;
  layout.blocks = ring <= 24 ? 5 : ring <= 44 ? 4 : ring <= (layout.order_bits > 0 ? 72 : 60) ? 3 : 2;
}

inline std::size_t tiles_of(const CudaLayout& layout, Size size) {
  const auto columns = to_size(divide_round_up(size.width, CudaLayout::columns));
  const auto strips = to_size(divide_round_up(size.height, layout.rows));
  return divide_round_up(columns * strips, std::size_t{CudaLayout::lanes});
}

// The largest number of label groups that any strip has.
inline int max_groups(const CudaLayout& layout, const CudaRange& range) {
  const int last_column = range.width - 1;
  int most = 1;
  for (int x = 0; x <= last_column; x += CudaLayout::columns) {
    const int lowest = std::max(range.first_shift, x - last_column);
    const int highest = std::min(range.last_shift, std::min(x + CudaLayout::columns - 1, last_column));
    if (highest >= lowest)
      most = std::max(most, ((highest & -layout.group) - (lowest & -layout.group)) / layout.group + 1);
  }
  return most;
}

inline int tile_bytes(const CudaLayout& layout) {
  return layout.rows * CudaLayout::columns * CudaLayout::lanes * layout.key_bits / 8;
}

// The number of blocks resident on the whole GPU.
inline double blocks_at_once(const CudaLayout& layout, const CudaMachine& machine) {
  const int fit =
      std::max(1, machine.shared_bytes / (tile_bytes(layout) + cuda::multiprocessor::reserved_bytes_a_block));
  return static_cast<double>(std::min(layout.blocks, fit)) * machine.multiprocessors;
}

struct TimedGrid {
  CudaGrid grid;
  double time;
};

// Finds the grid that takes the least time, counted in rows: summing a row takes about twice as long as
// finding its best labels, and a block takes 12 of these to begin and end. A last wave with fewer blocks
// takes less time than a full one: measured, by half of the missing share.
inline TimedGrid time_best_grid(const CudaLayout& layout, int window, Size size, const CudaRange& range,
                                const CudaMachine& machine) {
  constexpr int max_groups_per_slice = 8;
  const std::size_t tiles = tiles_of(layout, size);
  const int groups = max_groups(layout, range);
  const double at_once = blocks_at_once(layout, machine);
  const double group_time = layout.rows + 2.0 * (layout.rows + window - 1);
  const double block_time = 12 + layout.rows / 8.0;
  const int wanted = std::min(layout.groups_per_slice, groups);
  std::optional<TimedGrid> best;
  for (int each = std::max(wanted, 1); each <= (wanted > 0 ? wanted : std::min(groups, max_groups_per_slice));
       ++each) {
    const int blocks = divide_round_up(divide_round_up(groups, each), CudaLayout::slices_in_block);
    const double waves = static_cast<double>(tiles) * blocks / at_once;
    const double time = ((waves + std::ceil(waves)) / 2 + 0.1) * (each * group_time + block_time);
    if (!best || time < best->time)
      best = {{static_cast<unsigned>(tiles), static_cast<unsigned>(blocks), each}, time};
  }
  return *best;
}

// `search`: the reachable labels.
inline CudaLayout lay_out(const BlockParameters& parameters, const Search& search, Size size,
                          const CudaMachine& machine, const detail::Configuration& configuration) {
  CudaLayout layout = choose_numbers(parameters, search, machine);
  choose_group(parameters, layout);
  layout.group = configuration.value(labels_at_once, layout.group);
  layout.blocks = configuration.value(blocks_at_once_name, layout.blocks);
  layout.groups_per_slice = configuration.value(groups_a_slice, 0);
  // A tile of keys has to fit into a block's shared memory.
  constexpr int shared_bytes = 48 * 1024;
  const int window = parameters.window, wanted = configuration.value(rows_a_thread, 0);
  layout.rows = 1;
  const int max_rows = shared_bytes / tile_bytes(layout);
  const int most = std::min(max_rows / window, divide_round_up(size.height, window));
  if (wanted > 0) {
    layout.rows = window * std::clamp((wanted + window / 2) / window, 1, most);
    return layout;
  }
  const CudaRange range{size.width, search.lowest, search.lowest + search.labels - 1};
  double least = 0;
  CudaLayout best = layout;
  for (int windows = 1; windows <= most; ++windows) {
    layout.rows = windows * window;
    const double time = time_best_grid(layout, window, size, range, machine).time;
    if (windows > 1 && time >= least) continue;
    least = time;
    best = layout;
  }
  return best;
}

// The tunables of a layout.
inline detail::TuningSpace layout_space(const BlockParameters& parameters, const Search& search, Size size,
                                        const std::function<CudaMachine()>& machine_there) {
  detail::TuningSpace space;
  space.variant = variant(parameters) + (is_packed(parameters, search) ? ", packed" : "");
  space.tunables = {
      {blocks_at_once_name, "Smallest number of blocks to fit on a multiprocessor", {2, 3, 4, 5, 6}},
      {groups_a_slice, "Groups of labels that a thread processes one after the other", {1, 2, 3, 4, 6, 8}},
      {rows_a_thread,
       "Approximate rows of a thread's strip, which is made of complete windows",
       {9, 18, 27, 36, 54},
       {},
       detail::whole_numbers(1, 128)}};
  if (parameters.cost != BlockCost::zncc)
    space.tunables.push_back(
        {labels_at_once, "Labels that a thread processes together", groups_of(parameters)});
  space.footprint = [=](const detail::Configuration& configuration) {
    const CudaMachine machine = machine_there();
    const CudaLayout layout = lay_out(parameters, search, size, machine, configuration);
    constexpr int threads = CudaLayout::lanes * CudaLayout::slices_in_block;
    const auto blocks = static_cast<int>(blocks_at_once(layout, machine)) / machine.multiprocessors;
    const int ring_bytes = layout.group * parameters.window * (layout.packed ? 8 : 16);
    return cuda::footprint(blocks, threads, to_size(threads * ring_bytes + tile_bytes(layout)));
  };
  return space;
}

}  // namespace parallax::block
