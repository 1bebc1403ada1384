// SPDX-License-Identifier: Apache-2.0
#include "tools/parallax/submit/chunks.h"

#include <algorithm>
#include <cstddef>

#include "tools/parallax/tiles/results.h"

namespace parallax::tool {
int chunk_of_minutes(double tile_milliseconds) {
  constexpr double two_minutes = 120'000, most = 1'000'000;
  return static_cast<int>(std::clamp(two_minutes / std::max(tile_milliseconds, 1e-3), 1.0, most));
}

std::vector<std::string> cut_into_chunks(const std::vector<int>& tiles, int chunk) {
  std::vector<std::string> chunks;
  for (auto first = tiles.begin(); first != tiles.end();) {
    const auto last = first + std::min<std::ptrdiff_t>(chunk, tiles.end() - first);
    chunks.push_back(join(ranges_of({first, last}), ","));
    first = last;
  }
  return chunks;
}

}  // namespace parallax::tool
