// SPDX-License-Identifier: Apache-2.0
#include "tools/parallax/scoreboards/scoreboard.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "parallax/error.h"

namespace parallax::tool {

std::vector<Region> average(const std::vector<std::vector<Region>>& scores) {
  std::vector<Region> means = scores.front();
  for (std::size_t r = 0; r < means.size(); ++r) {
    for (std::size_t f = 0; f < means[r].figures.size(); ++f) {
      double sum = 0, weights = 0;
      for (const std::vector<Region>& regions : scores) {
        const Figure& figure = regions[r].figures[f];
        if (std::isnan(figure.value)) continue;  // over no pixels
        sum += figure.weight * figure.value;
        weights += figure.weight;
      }
      means[r].figures[f].value = weights > 0 ? sum / weights : std::numeric_limits<double>::quiet_NaN();
      means[r].figures[f].weight = weights;
    }
  }
  return means;
}

std::vector<std::string> names_in(const std::string& folder, const std::string& remedy,
                                  bool (*wanted)(const std::string& path)) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (wanted(entry->path().string())) names.push_back(entry->path().filename().string());
  if (names.empty()) throw Error(ErrorCategory::file, "no pairs in " + folder + ": " + remedy);
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::byte> seconds_file(const std::string& before, double seconds) {
  return bytes_of(before + with_decimals(seconds, 6) + "\n");
}

}  // namespace parallax::tool
