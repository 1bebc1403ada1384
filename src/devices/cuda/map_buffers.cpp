// SPDX-License-Identifier: Apache-2.0
#include "devices/cuda/map_buffers.h"

#include "core/copy_rows.h"
#include "devices/cuda/context.h"

namespace parallax::cuda {

MapBuffers::MapBuffers(Size size, bool tells_confidence, bool tells_row_offsets, ArenaLayout& layout)
    : disparity_(layout.reserve_plane<float>(size)), status_(layout.reserve_plane<std::uint8_t>(size)) {
  if (tells_confidence) confidence_ = layout.reserve_plane<float>(size);
  if (tells_row_offsets) row_offset_ = layout.reserve_plane<float>(size);
}

DisparityMap MapBuffers::in(std::byte* memory) const {
  DisparityMap map{disparity_.in(memory), status_.in(memory)};
  if (confidence_.size != Size{}) map.confidence = confidence_.in(memory);
  if (row_offset_.size != Size{}) map.row_offset = row_offset_.in(memory);
  return map;
}

namespace {

template <class T>
View<T> reachable(const View<T>& view, const PlaneBuffer<T>& otherwise, std::byte* memory) {
  const bool is_reachable = is_pinned(view.data) && is_aligned(view);
  return view.empty() || is_reachable ? view : otherwise.in(memory);
}

template <class T>
void add_plane(const View<T>& from, const View<T>& to, PlaneCopies& copies) {
  if (from.data != to.data)
    copies.add(const_rows_of(from), rows_of(to), static_cast<std::size_t>(from.size.width) * sizeof(T));
}

}  // namespace

DisparityMap MapBuffers::within_reach(const DisparityMap& map, std::byte* memory) const {
  return {reachable(map.disparity, disparity_, memory), reachable(map.status, status_, memory),
          reachable(map.confidence, confidence_, memory), reachable(map.row_offset, row_offset_, memory)};
}

void RunningMap::copy(const Workers& workers) const {
  PlaneCopies copies(from.disparity.size.height);
  add_plane(from.disparity, to.disparity, copies);
  add_plane(from.status, to.status, copies);
  add_plane(from.confidence, to.confidence, copies);
  add_plane(from.row_offset, to.row_offset, copies);
  copies.run(workers);
}

}  // namespace parallax::cuda
