// SPDX-License-Identifier: Apache-2.0
// Disparity maps in memory that a GPU writes, and their copies to a caller on the host.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/arena.h"
#include "core/plan.h"
#include "core/workers.h"

namespace parallax::cuda {

template <class T>
bool is_aligned(const View<T>& view) {
  return reinterpret_cast<std::uintptr_t>(view.data) % sizeof(T) == 0;
}

// The buffers of a map in a plan's memory.
class MapBuffers {
 public:
  MapBuffers() = default;
  MapBuffers(Size size, bool tells_confidence, bool tells_row_offsets, ArenaLayout& layout);

  // The map in these buffers, without the planes that were not reserved.
  DisparityMap in(std::byte* memory) const;
  // The caller's map, in which planes that the GPU cannot write are replaced by these buffers in page-locked
  // memory.
  DisparityMap within_reach(const DisparityMap& map, std::byte* memory) const;

 private:
  PlaneBuffer<float> disparity_, confidence_, row_offset_;
  PlaneBuffer<std::uint8_t> status_;
};

// A map that the GPU writes, and its destination at the caller.
struct RunningMap {
  DisparityMap from, to;

  // Copies the planes that the GPU did not write to their destination.
  void copy(const Workers& workers) const;
};

}  // namespace parallax::cuda
