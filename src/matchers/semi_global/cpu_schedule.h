// SPDX-License-Identifier: Apache-2.0
// Schedule of semi-global matching on the CPU: threads take bands of rows, and a band waits for the one before it.
#pragma once

#include <algorithm>
#include <atomic>

#include "core/arena.h"
#include "core/workers.h"

namespace parallax::semi_global {

// Calls run(sweep, band, slot) for all bands of some sweeps. A thread takes the next band when it has finished one, so the
// bands before a claimed band have been claimed too. A claimed band is always in progress, so waits for it terminate.
template <class Run>
void for_bands(const Workers& workers, int sweeps, int bands, const Run& run) {
  std::atomic<int> next = 0;
  workers.for_each(workers.slots(), [&](int, int slot) {
    for (int i = next++; i < sweeps * bands; i = next++) {
      // Sweeps take turns; with one thread they follow each other, so that it stays with the memory of one.
      if (workers.slots() > 1)
        run(i % sweeps, i / sweeps, slot);
      else
        run(i / bands, i % bands, slot);
    }
  });
}

// Number of tiles that a pass has finished in each band.
class Progress {
 public:
  void reserve(int bands, Arena& arena) { tiles_ = arena.reserve<int>(static_cast<std::size_t>(bands)); }
  void clear(int bands) const { std::fill_n(tiles_, bands, 0); }

  void wait(int band, int wanted) const {
    const std::atomic_ref<int> tiles(tiles_[band]);
    for (int now = tiles.load(std::memory_order_acquire); now < wanted;
         now = tiles.load(std::memory_order_acquire))
      tiles.wait(now, std::memory_order_acquire);
  }
  void tell(int band, int now) const {
    const std::atomic_ref<int> tiles(tiles_[band]);
    tiles.store(now, std::memory_order_release);
    tiles.notify_all();
  }

 private:
  int* tiles_ = nullptr;
};

}  // namespace parallax::semi_global
