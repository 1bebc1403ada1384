// SPDX-License-Identifier: Apache-2.0
// Schedule of semi-global matching on the CPU: sweeps over the rows, their passes, and bands of rows.
//
// A sweep goes through the rows once, downwards or upwards, and follows all paths that come from the row
// before it or along the row. With 4 or 8 paths there are two sweeps: each stores its sums of the first half
// of the rows that it visits, then adds to those that the other one has stored, and decides. So there is one
// volume of sums; with 5 paths, none.
//
// Threads take bands of a few rows. In a band, a pass goes through the pixels of all its rows in one
// direction, tile by tile; tiles are skewed, because a path may come from the pixel above and ahead. A pass
// waits until the same pass of the band before is two tiles ahead.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "core/arena.h"
#include "core/cpp20.h"
#include "core/integers.h"
#include "core/workers.h"
#include "matchers/semi_global/cpu_kernels.h"
#include "matchers/semi_global/semi_global.h"

namespace parallax::semi_global {

// Memory layout of semi-global matching on the CPU: elements of a pixel, pixels of tiles and bands.
//
// T lies in [0, P2], and only the part of a path cost that is above the minimum, up to P2, matters to the
// next pixel. The minimum exceeds the lowest C by at most P2. So in the recursion C may be replaced by
// min(C − min C, 2·P2), and path costs may be clipped at 255 if 2·P2 fits a byte. Sums are those of T, plus C
// for each path.

inline constexpr int band_rows = 4;
static_assert(band_rows <= max_rows);

struct Layout {
  Layout(const Model& model, Size image)
      : size(image),
        disparities(model.disparities()),
        row_offsets(model.row_offsets),
        reach(model.parameters.window / 2),
        shares_costs(model.parameters.window == 1 && model.fits_bytes()),
        clips_costs(!model.fits_bytes() && model.row_offsets == 1 && 2 * model.parameters.large_jump <= 255),
        path_bytes(model.fits_bytes() || clips_costs ? 1 : 2),
        cost_bytes(shares_costs ? 1 : 2) {}

  Size size;
  int disparities, row_offsets;
  int reach;          // reach of a window
  bool shares_costs;  // C for path costs and for sums is one array: costs of single pixels, in bytes
  bool clips_costs;   // C for path costs is min(C − min C, 2·P2)
  int path_bytes;     // size of an element of path costs, and of C for them
  int cost_bytes;     // size of an element of C for sums

  // Elements from one row offset, and from one pixel, to the next: of C, path costs and the volume of sums.
  std::ptrdiff_t row_step() const { return pitch(disparities); }
  std::ptrdiff_t step() const { return row_step() * row_offsets; }
  std::size_t elements(int pixels) const { return to_size(pixels) * to_size(step()); }
  // The same steps between the sums from which winners are found.
  std::ptrdiff_t sum_row_step() const { return sums_pitch(disparities); }
  std::ptrdiff_t sum_step() const { return sum_row_step() * row_offsets; }

  // Full vectors of pixels, including the pixels that windows need on both sides.
  int tile_columns() const { return shares_costs ? 64 : 128 - 2 * reach - (band_rows - 1); }
  int tiles() const { return divide_round_up(size.width + band_rows - 1, tile_columns()); }
};

// `memory`, moved on by a margin; null while memory is being planned.
template <class T>
T* behind(T* memory, std::ptrdiff_t margin) {
  return memory == nullptr ? nullptr : memory + margin;
}

// Memory of a Line for the paths [first_path, last_path), with a pixel and a vector more on either side.
class LineMemory {
 public:
  void reserve(const Layout& layout, int pixels, int first_path, int last_path, Arena& arena) {
    margin_ = vector_bytes + layout.step() * layout.path_bytes;
    bytes_ = layout.elements(pixels + 2) * to_size(layout.path_bytes) + 2 * vector_bytes;
    first_path_ = first_path, last_path_ = last_path;
    for (int p = first_path; p < last_path; ++p)
      line_.paths[p] = behind(arena.reserve<std::byte>(bytes_), margin_);
    minima_per_pixel_ = minima_per_pixel(layout.row_offsets);
    minima_ = to_size(minima_per_pixel_ * (pixels + 2));
    line_.minima = behind(arena.reserve<std::uint32_t>(minima_), minima_per_pixel_);
  }

  // Makes all transition costs from the line 0, as they are from pixels beyond the border.
  void clear() const {
    for (int p = first_path_; p < last_path_; ++p)
      std::memset(static_cast<std::byte*>(line_.paths[p]) - margin_, 0, bytes_);
    std::fill_n(line_.minima - minima_per_pixel_, minima_, 0u);
  }

  const Line& line() const { return line_; }

 private:
  Line line_ = {};
  std::ptrdiff_t margin_ = 0;
  std::size_t bytes_ = 0, minima_ = 0;
  int first_path_ = 0, last_path_ = 0, minima_per_pixel_ = 0;
};

// Number of tiles that a pass has finished in each band.
class Progress {
 public:
  void reserve(int bands, Arena& arena) { tiles_ = arena.reserve<int>(to_size(bands)); }
  void clear(int bands) const { std::fill_n(tiles_, bands, 0); }

  void wait(int band, int wanted) const {
    const AtomicRef<int> tiles(tiles_[band]);
    for (int now = tiles.load(std::memory_order_acquire); now < wanted;
         now = tiles.load(std::memory_order_acquire))
      tiles.wait(now, std::memory_order_acquire);
  }
  void tell(int band, int now) const {
    const AtomicRef<int> tiles(tiles_[band]);
    tiles.store(now, std::memory_order_release);
    tiles.notify_all();
  }

 private:
  int* tiles_ = nullptr;
};

// Paths that visit the pixels in the same order.
struct Pass {
  int direction;  // 1, or −1 from right to left
  Bundle bundle;
  LineMemory lines[2] = {};  // rows use them in turn
  Progress progress = {};

  BundleForm form() const { return form_of(bundle); }
  bool waits() const { return bundle != Bundle::before; }
  // The column of pixel i.
  int column(int i, int width) const { return direction > 0 ? i : width - 1 - i; }
  void reserve_lines(const Layout& layout, int pixels, Arena& arena) {
    for (LineMemory& line : lines)
      line.reserve(layout, pixels, form().keeps_two(0) ? 1 : 0, form().paths, arena);
  }
  void clear_lines() const {
    for (const LineMemory& line : lines) line.clear();
  }
};

struct Sweep {
  int direction;  // 1, or −1 upwards
  std::vector<Pass> passes;
};

struct Passes {
  explicit Passes(const SemiGlobalParameters& parameters) {
    const bool all = parameters.paths == 8;
    if (parameters.aggregation == Aggregation::mgm) {
      const Pass leftward{-1, Bundle::corner}, rightward{1, all ? Bundle::corner_and_sides : Bundle::corner};
      sweeps = {{1, {leftward, rightward}}, {-1, {leftward, rightward}}};
      if (all) columns = {{1, Bundle::sides}, {-1, Bundle::sides}};
    } else if (parameters.paths == 5) {
      sweeps = {{1, {{-1, Bundle::before}, {1, Bundle::star}}}};
    } else {
      const Bundle bundle = all ? Bundle::star : Bundle::cross;
      sweeps = {{1, {{1, bundle}}}, {-1, {{-1, bundle}}}};
    }
  }

  void reserve(const Layout& layout, Arena& arena) {
    for (Sweep& sweep : sweeps) {
      for (Pass& pass : sweep.passes) {
        pass.reserve_lines(layout, layout.size.width, arena);
        pass.progress.reserve(bands(layout.size.height), arena);
      }
    }
    for (Pass& pass : columns) pass.reserve_lines(layout, layout.size.height, arena);
  }

  static int bands(int rows) { return divide_round_up(rows, band_rows); }
  bool has_volume() const { return sweeps.size() > 1; }
  bool has_columns() const { return !columns.empty(); }
  bool has_two() const { return sweeps[0].passes.size() > 1; }

  std::vector<Sweep> sweeps;
  std::vector<Pass> columns;  // columns of MGM: paths from two pixels of the column before
};

// What a sweep does with the sums of its rows.
struct SweepTask {
  int first, last;  // rows, in the order of the sweep
  bool adds;        // to the sums in the volume
  bool decides;     // instead of storing the sums
};

// A pass over the rows of a band.
struct Band {
  const Sweep& sweep;
  const Pass& pass;
  const SweepTask& task;
  bool is_first, is_last;  // first and last of the passes
  int first, last;         // rows, in the order of the sweep
  int slot;

  bool decides() const { return is_last && task.decides; }
};

// Calls run(sweep, band, slot) for all bands of some sweeps. A thread takes the next band when it has
// finished one, so the bands before a claimed band have been claimed too. A claimed band is always in
// progress, so waits for it terminate: cancelled work ends before a thread takes a band.
template <class Run>
void for_bands(const Workers& workers, int sweeps, int bands, const Run& run) {
  std::atomic<int> next = 0;
  workers.for_each(workers.slots(), [&](int, int slot) {
    for (;;) {
      stop_if_cancelled();
      const int i = next++;
      if (i >= sweeps * bands) break;
      // Sweeps take turns; with one thread they follow each other, so that it stays with the memory of one.
      if (workers.slots() > 1)
        run(i % sweeps, i / sweeps, slot);
      else
        run(i / bands, i % bands, slot);
    }
  });
}

}  // namespace parallax::semi_global
