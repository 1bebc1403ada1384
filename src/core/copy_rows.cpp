// SPDX-License-Identifier: Apache-2.0
#include "core/copy_rows.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "parallax/process.h"

#include "core/integers.h"

namespace parallax {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Writes past the caches, which saves reading the lines that are overwritten: a third of the traffic of a
// copy.
HWY_ATTR void stream_row(const std::byte* from, std::byte* to, std::size_t bytes) {
  const hn::CappedTag<std::uint8_t, 16> vector;
  const std::size_t step = hn::Lanes(vector);
  const std::size_t misaligned = reinterpret_cast<std::uintptr_t>(to) % step;
  const std::size_t first = misaligned == 0 ? 0 : std::min(step - misaligned, bytes);
  std::memcpy(to, from, first);
  std::size_t i = first;
  for (; i + step <= bytes; i += step)
    hn::Stream(hn::LoadU(vector, reinterpret_cast<const std::uint8_t*>(from + i)), vector,
               reinterpret_cast<std::uint8_t*>(to + i));
  std::memcpy(to + i, from + i, bytes - i);
}

}  // namespace

Workers copying_workers(int threads, Size map) {
  constexpr std::size_t bytes_of_thread = std::size_t{1} << 18;
  constexpr std::size_t most = 16;
  const std::size_t bytes = map.pixels() * (sizeof(float) + sizeof(std::uint8_t));
  const int wanted = static_cast<int>(std::clamp<std::size_t>(bytes / bytes_of_thread, 1, most));
  return Workers(std::min(threads > 0 ? threads : available_threads(), wanted));
}

int copied_ranges(std::size_t bytes, int rows, const Workers& workers) {
  constexpr std::size_t bytes_of_range = std::size_t{1} << 16;
  const std::size_t most = to_size(workers.threads()) * Workers::usual_ranges_per_thread;
  return std::clamp(static_cast<int>(std::min(bytes / bytes_of_range, most)), 1, std::max(rows, 1));
}

void PlaneCopies::run(const Workers& workers) const {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count_; ++i) bytes += planes_[i].row_bytes * to_size(rows_);
  for_copied_rows(workers, bytes, rows_, [&](int first, int last) {
    for (std::size_t i = 0; i < count_; ++i) copy(planes_[i], first, last);
    hwy::FlushStream();
  });
}

void PlaneCopies::copy(const PlaneCopy& plane, int first, int last) const {
  // Smaller copies stay in a core's cache until they are read again.
  constexpr std::size_t worth_streaming = std::size_t{1} << 18;
  const bool streams = plane.row_bytes * to_size(rows_) >= worth_streaming;
  for (int y = first; y < last; ++y) {
    const std::byte* source = plane.from.data + y * plane.from.stride_bytes;
    std::byte* target = plane.to.data + y * plane.to.stride_bytes;
    if (streams)
      stream_row(source, target, plane.row_bytes);
    else
      std::memcpy(target, source, plane.row_bytes);
  }
}

void copy_rows(ConstRows from, Rows to, std::size_t row_bytes, int rows, const Workers& workers) {
  PlaneCopies one(rows);
  one.add(from, to, row_bytes);
  one.run(workers);
}

}  // namespace parallax
