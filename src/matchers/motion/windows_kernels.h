// SPDX-License-Identifier: Apache-2.0
// Inner loops of windows.h. Lanes are the labels of one pixel: a pack of 8×8, of which the window takes the
// first columns and rows. Element 8·i + j of a pack is the label of the i-th column of motion, which is
// disparity last − i, and of the j-th row offset.
//
// A pixel has five packs: the messages to it from each side, and its data costs. In fixed8 they hold what is
// missing to a highest value instead: to the truncation of the edge, and to the highest data cost. Sums of
// them differ from beliefs by a constant and in sign, and 0, which shifts and saturating subtractions bring,
// never wins. Elements beyond the window: data costs that never win.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "matchers/motion/all_labels.h"
#include "matchers/motion/all_labels_kernels.h"

namespace parallax::motion {

inline constexpr int window_side = 8, window_lanes = window_side * window_side;
inline constexpr int data_pack = side::count, window_packs = side::count + 1;

// The motion, in columns and rows, of the first element of a pixel's pack.
struct WindowStart {
  std::int32_t column, row;
  bool operator==(const WindowStart&) const = default;
};

// Values that all rows of a scale share.
struct WindowModel {
  Arithmetic arithmetic;
  Size window;
  std::vector<float> slopes, truncations;        // [edge index]
  int data_bound;                                // fixed8 only
  std::uint8_t far[window_lanes][window_lanes];  // 255 for labels more than one away from this label, else 0
  std::uint8_t square[window_lanes];             // 255 for 5×5 elements, else 0
  std::uint8_t inside[window_lanes];             // 255 where a pack has a label, else 0

  // Census costs: units by the bits of difference, and of a label outside. Bytes: whether all sums of data
  // costs and predictions fit into them.
  static constexpr int outside_bits = 63;
  float units[window_lanes];
  bool fits_bytes;
  std::uint8_t unit_bytes[window_lanes];
  // The cost of predictions, by the position of the prediction in the window: column·8 + row.
  std::uint8_t predicted[window_lanes][window_lanes];
};

// A row of pixels.
struct WindowRow {
  std::byte* packs;
  WindowStart* starts;
  // Indices of the edges to the pixels on the right and below.
  std::uint16_t *beside, *below;
};

struct WindowSweep {
  const WindowModel* model;
  int first, width;  // every second pixel
  bool receives;     // otherwise all messages to these pixels are the same
  WindowRow here, above, below;
  bool has_above, has_below;
};
void send_windows(const WindowSweep& sweep);

struct WindowDecisions {
  const WindowModel* model;
  int width;
  bool receives[2];  // [pixels of even and odd columns]
  WindowRow here;
  bool around;  // whether beliefs around the lowest are wanted
  bool rivals;  // whether rivals are wanted; otherwise they are infinite
  Decision* decisions;
};
void decide_windows(const WindowDecisions& decisions);

// Bit 63 of a signature is set if the pixel takes no part.
inline constexpr std::uint64_t no_signature = std::uint64_t{1} << 63;
inline constexpr int signature_border = 8;

// Census costs of a row in bytes.
struct WindowCosts {
  const WindowModel* model;
  int y;
  WindowRow here;
  const Offset* predictions;
  // Rows begin with the border; a border without signatures follows the last row.
  View<const std::uint64_t> left, right;
};
void write_window_costs(const WindowCosts& costs);
// The number of bits in which the signature of pixel x differs from those of the labels' right pixels, or
// outside_bits.
void count_window_bits(const WindowCosts& costs, int x, std::uint8_t* bits);

// Sums of census costs of offsets over 5×5 pixels.
struct WindowSupports {
  const WindowModel* model;
  int x, y;
  View<const std::uint64_t> left, right;
  const Offset* offsets;
  int count;
  int* sums;
};
void find_supports(const WindowSupports& supports);

// Finds, for a row of motions, whether any of the eight around a motion differs from it by more than `close`
// on an axis.
void find_rough(const View<const Offset>& motions, int y, int close, std::uint8_t* rough);

}  // namespace parallax::motion
