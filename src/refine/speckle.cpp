// SPDX-License-Identifier: Apache-2.0
// Pixels that are connected in a row are a run, and runs are joined rather than pixels. Threads have bands of
// rows, which are joined in the end.

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "core/checks.h"
#include "core/floating_point.h"
#include "core/integers.h"
#include "refine/refine.h"

namespace parallax {
namespace refine {
namespace {

// Disjoint sets of pixels: a root holds minus the size of its set, any other pixel the index of a pixel
// nearer the root.
class Regions {
 public:
  explicit Regions(std::int32_t* links) : links_(links) {}

  // Makes a set of the pixels [first, first + count).
  void start(std::int32_t first, int count) const {
    links_[first] = -count;
    std::fill_n(links_ + first + 1, count - 1, first);
  }

  void join(std::int32_t a, std::int32_t b) const {
    a = root_of(a);
    b = root_of(b);
    if (a == b) return;
    if (links_[a] > links_[b]) std::swap(a, b);
    links_[a] += links_[b];
    links_[b] = a;
  }

  // Does not shorten the path to the root.
  std::int32_t size_of(std::int32_t pixel) const {
    while (links_[pixel] >= 0) pixel = links_[pixel];
    return -links_[pixel];
  }

 private:
  // Shortens the path to the root for the next call.
  std::int32_t root_of(std::int32_t pixel) const {
    while (links_[pixel] >= 0) {
      const std::int32_t next = links_[pixel];
      if (links_[next] >= 0) links_[pixel] = links_[next];
      pixel = next;
    }
    return pixel;
  }

  std::int32_t* links_;
};

class SpeckleFilter {
 public:
  SpeckleFilter(const DisparityMap& map, float range, std::int32_t* links)
      : map_(map), range_(range), regions_(links) {}

  void start_row(int y) const {
    for_each_run(y, [&](int first, int last) { regions_.start(pixel(first, y), last - first); });
  }

  // Joins a row to the one above.
  void join_row(int y) const {
    const float *row = map_.disparity.row(y), *above = map_.disparity.row(y - 1);
    bool are_joined = false;  // whether the previous pixel and the one above it are joined
    for (int x = 0; x < width(); ++x) {
      const bool are_connected = connected(row[x], above[x]);
      const bool is_known = are_joined && connected(row[x], row[x - 1]) && connected(above[x], above[x - 1]);
      if (are_connected && !is_known) regions_.join(pixel(x, y), pixel(x, y - 1));
      are_joined = are_connected;
    }
  }

  // Rejects the pixels of a row whose regions are smaller than `size`.
  void reject(int y, int size) const {
    float* row = map_.disparity.row(y);
    for_each_run(y, [&](int first, int last) {
      if (!decision::has_value(row[first]) || regions_.size_of(pixel(first, y)) >= size) return;
      std::fill(row + first, row + last, decision::no_value);
      std::fill(map_.status.row(y) + first, map_.status.row(y) + last, decision::code(Status::speckle));
    });
  }

 private:
  int width() const { return map_.disparity.size.width; }
  std::int32_t pixel(int x, int y) const { return static_cast<std::int32_t>(y) * width() + x; }

  // Never connects pixels without a value: they are infinite, so the difference is infinite or NaN.
  bool connected(float a, float b) const { return std::abs(a - b) <= range_; }

  // Calls action(first, last) for the runs [first, last) of a row.
  template <class Action>
  void for_each_run(int y, const Action& action) const {
    const float* row = map_.disparity.row(y);
    for (int first = 0, last; first < width(); first = last) {
      last = first + 1;
      while (last < width() && connected(row[last - 1], row[last])) ++last;
      action(first, last);
    }
  }

  const DisparityMap& map_;
  float range_;
  Regions regions_;
};

}  // namespace

void check_speckle_size(Size size) {
  if (size.pixels() <= std::numeric_limits<std::int32_t>::max()) return;
  refuse("the speckle filter takes up to 2^31 − 1 pixels, the map is " + text(size) +
         ": set speckle_size to 0, or match in parts");
}

void speckle_filter(const DisparityMap& map, int size, float range, std::int32_t* links,
                    const Workers& workers) {
  const SpeckleFilter filter(map, range, links);
  const int height = map.disparity.size.height;
  constexpr int band_rows = 32;
  workers.for_each(divide_round_up(height, band_rows), [&](int band, int) {
    const int first = band * band_rows;
    for (int y = first; y < std::min(first + band_rows, height); ++y) {
      filter.start_row(y);
      if (y > first) filter.join_row(y);
    }
  });
  for (int y = band_rows; y < height; y += band_rows) filter.join_row(y);
  for_rows(workers, height, [&](int y, int) { filter.reject(y, size); });
}

}  // namespace refine

void speckle_filter(const DisparityMap& map, int size, float range, int threads) {
  const DefaultFloatingPoint environment;
  check_map(map);
  check_not_negative("size", size);
  check_not_negative("range", range);
  refine::check_speckle_size(map.disparity.size);
  std::vector<std::int32_t> links(map.disparity.size.pixels());
  refine::speckle_filter(map, size, range, links.data(), refine::checked_workers(threads));
}

}  // namespace parallax
