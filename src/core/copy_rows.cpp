// SPDX-License-Identifier: Apache-2.0
#include "core/copy_rows.h"

#include <cstring>

namespace parallax {

void copy_rows(ConstRows from, Rows to, std::size_t row_bytes, int rows, const Workers& workers) {
  const auto copy = [&](int first, int last) {
    for (int y = first; y < last; ++y)
      std::memcpy(to.data + y * to.stride_bytes, from.data + y * from.stride_bytes, row_bytes);
  };
  // A smaller copy is finished before other threads have started.
  constexpr std::size_t worth_sharing = std::size_t{1} << 20;
  if (row_bytes * static_cast<std::size_t>(rows) < worth_sharing) return copy(0, rows);
  for_row_ranges(workers, rows, [&](int first, int last, int) { copy(first, last); });
}

}  // namespace parallax
