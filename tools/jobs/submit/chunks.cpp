// SPDX-License-Identifier: Apache-2.0
#include "tools/jobs/submit/chunks.h"

#include <algorithm>
#include <cstddef>

#include "tools/jobs/tiles/results.h"

namespace parallax::tool {

int chunk_of_minutes(double tile_milliseconds) {
  constexpr double two_minutes = 120'000, most = 1'000'000;
  return static_cast<int>(std::clamp(two_minutes / std::max(tile_milliseconds, 1e-3), 1.0, most));
}

std::vector<std::string> cut_into_chunks(const std::vector<int>& tiles, int chunk) {
  constexpr std::size_t most_bytes = 100'000;  // Linux takes words of 128 KiB
  std::vector<std::string> chunks;
  for (auto first = tiles.begin(); first != tiles.end();) {
    auto last = first + std::min<std::ptrdiff_t>(chunk, tiles.end() - first);
    const auto text = [&] { return join(ranges_of({first, last}), ","); };
    while (text().size() > most_bytes) last = first + (last - first) / 2;
    chunks.push_back(text());
    first = last;
  }
  return chunks;
}

}  // namespace parallax::tool
