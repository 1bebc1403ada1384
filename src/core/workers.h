// SPDX-License-Identifier: Apache-2.0
// Parallel loops on oneTBB, in an arena with the device's number of threads: no global state, and composable
// with the caller's threads.
#pragma once

#include <algorithm>
#include <memory>
#include <type_traits>

#include "core/cancellation.h"

namespace parallax {

class Workers {
 public:
  // Enough ranges to even out the load.
  static constexpr int usual_ranges_per_thread = 4;

  // 0 threads = available_threads().
  explicit Workers(int threads, int ranges_per_thread = usual_ranges_per_thread);
  ~Workers();
  Workers(Workers&&) noexcept;

  int threads() const { return threads_; }
  // The number of threads that run at once: no more than there are cores.
  int slots() const { return slots_; }
  // Ranges per thread that for_row_ranges() makes.
  int ranges_per_thread() const { return ranges_per_thread_; }

  // Calls body(index, slot) once for each index in [0, count), in any order. Calls that overlap in time have
  // different slots in [0, slots()), so that each slot can own scratch memory. Rethrows the first exception of
  // body. Ends early, by an exception, if the call that this thread works on is cancelled.
  template <class Body>
  void for_each(int count, Body&& body) const {
    run(
        count,
        [](void* context, int index, int slot) {
          (*static_cast<std::remove_reference_t<Body>*>(context))(index, slot);
        },
        const_cast<void*>(static_cast<const void*>(&body)));
  }

 private:
  using Call = void (*)(void* context, int index, int slot);
  void run(int count, Call call, void* context) const;

  struct Implementation;
  int threads_;
  int slots_;
  int ranges_per_thread_;
  std::unique_ptr<Implementation> implementation_;
};

// Calls body(first, last, slot) for ranges of rows that cover [0, rows); slots are those of for_each().
template <class Body>
void for_row_ranges(const Workers& workers, int rows, Body&& body) {
  // Large enough that the cost of handing out a range does not matter.
  constexpr int smallest = 8;
  const int ranges = std::max(1, std::min(workers.threads() * workers.ranges_per_thread(), rows / smallest));
  workers.for_each(ranges, [&](int range, int slot) {
    const auto bound = [&](int i) { return static_cast<int>(static_cast<long long>(rows) * i / ranges); };
    body(bound(range), bound(range + 1), slot);
  });
}

// Calls body(y, slot) for each row y in [0, rows), in those ranges.
template <class Body>
void for_rows(const Workers& workers, int rows, const Body& body) {
  for_row_ranges(workers, rows, [&](int first, int last, int slot) {
    for (int y = first; y < last; ++y) {
      stop_if_cancelled();
      body(y, slot);
    }
  });
}

}  // namespace parallax
