// SPDX-License-Identifier: Apache-2.0
// The inner loops of tiled belief propagation on the CPU, compiled once for each vector instruction set.
//
// Lanes are pixels that are swept side by side: rows in sweeps right and left, columns in sweeps down and up.
// A block is `lanes` of them; it is kept as [step][label][lane], in the order in which it is swept. So there
// are two layouts, of rows and of columns; converting one to the other is a transposition ("turn").
//
// A tile larger than a block is several blocks. A block holds `tiles` smaller tiles, each in `group`
// lanes; they do not depend on each other, and nothing ever goes from lane to lane.
//
// Elements are bytes where every sum fits in them, or 16-bit words.
#pragma once

#include <cstddef>
#include <cstdint>

namespace parallax::tiled_belief_propagation {

struct BlockShape {
  int element_bytes;
  int labels;
  int lanes;
  int group;  // a multiple of cell(), or all lanes
  int tiles;
  // Elements of a step.
  std::ptrdiff_t elements() const { return static_cast<std::ptrdiff_t>(labels) * lanes; }
  // The distance between steps: an odd number of lanes, because steps a power of two apart would share cache
  // sets.
  std::ptrdiff_t step() const { return static_cast<std::ptrdiff_t>(labels | 1) * lanes; }
};

// Steps are transposed in squares of this side.
int cell(int element_bytes);
// Lanes of a vector of `vector_bytes`, or of the widest there is.
int lanes_in(int vector_bytes, int element_bytes);
// The best number of lanes of a block, for tiles of this side.
int choose_lanes(int element_bytes, int side);

// Transposes blocks of one layout into the other.
struct Turn {
  void* target;               // the first block
  int target_steps;           // from one block to the next
  const void* add = nullptr;  // null, or values to add, in the target's layout
  bool compares = false;      // whether *changed becomes true where the target had other values
  bool* changed = nullptr;
};

struct Decision {
  std::uint16_t* labels;         // [step][lane]
  float *before, *best, *after;  // the same; null when only labels are wanted
  std::uint16_t* scratch;        // [label][lane]
};

// Two sweeps over a block, from both ends at once.
struct Sweeps {
  BlockShape shape;
  int slope, truncation;
  int block;  // its number in its layout
  int steps;
  const void* sums;  // a pixel's sums without the messages of these sweeps
  // The incoming messages; afterwards the outgoing ones, where they are wanted.
  void *forward, *backward;  // [label][lane]
  bool forward_leaves, backward_leaves;
  void* messages;    // scratch, as large as the block
  const void* data;  // null, or values added to the sum of both messages before transposition
  // One tile of the block, if it is not null, may have fewer steps.
  int short_tile, short_steps;
};
inline constexpr int no_tile = -1;

// Sends both ways, and transposes the sums of both messages.
void sweep_and_turn(const Sweeps& sweeps, const Turn& turn);
// Sends both ways, and decides labels.
void sweep_and_decide(const Sweeps& sweeps, const Decision& decision);
// Only finds the messages that leave.
void sweep_out(const Sweeps& sweeps);
// Transposes a block without sweeping.
void turn_block(const BlockShape& shape, const void* from, int block, int steps, const Turn& turn);

// row[i] += others[i], over one step.
void add_step(const BlockShape& shape, const void* others, void* row);

}  // namespace parallax::tiled_belief_propagation
