// SPDX-License-Identifier: Apache-2.0
// Half-sweeps that follow each other closely: half-sweep k of row y comes as soon as half-sweep k − 1 of row
// y + 1 is done. So rows stay in the cache from their first half-sweep to their last.
#pragma once

#include <algorithm>

#include "core/cancellation.h"

namespace parallax::motion {

// A range of rows, of columns, or of pixels of a parity.
struct Range {
  int first, last;
};

// Calls sweep(k, y) for half-sweeps 0 … count − 1 of the rows range(k); before the first one of row y,
// arrive(y + 1); and after the last one of row y + 1, leave(y).
template <class RangeOf, class Arrive, class Sweep, class Leave>
void follow_closely(int count, const RangeOf& range, const Arrive& arrive, const Sweep& sweep,
                    const Leave& leave) {
  int first = range(0).first, last = range(0).last;
  for (int k = 0; k < count; ++k) {
    first = std::min(first, range(k).first + k);
    last = std::max(last, range(k).last + k);
  }
  for (int step = first; step < last + 1; ++step) {
    stop_if_cancelled();
    arrive(step + 1);
    for (int k = 0; k < count; ++k) {
      const int y = step - k;
      if (y >= range(k).first && y < range(k).last) sweep(k, y);
    }
    leave(step - count);
  }
}

}  // namespace parallax::motion
