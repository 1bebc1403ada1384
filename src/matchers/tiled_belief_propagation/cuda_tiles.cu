// SPDX-License-Identifier: Apache-2.0
// Tiled belief propagation on CUDA: from data costs to a map.
//
// A block visits a tile. All rows are swept at once, LANES threads per row: half of the block sends to the
// right, half to the left, because neither reads the messages that the other sends; then all columns, down
// and up. Only the sums that are read again are kept: for each pixel its data costs plus the two messages
// along its column, which the sweeps along rows read, and its data costs plus the two messages along its row,
// which the sweeps along columns read. Both halves of the block add to the same sums: each to its nearer half
// of the line first, then all wait, then each to the other half.
//
// The tiles of an anti-diagonal do not depend on each other. SCHEDULER, a TileScheduler, decides how blocks
// proceed to the next diagonal: 1 = a launch for each, 2 = a barrier of all blocks, 3 = a tile waits for the
// messages to it. With 2 and 3 all blocks run at once (a cooperative launch), or some would wait for others
// that cannot begin.
//
// Specialised further by MESSAGES (memory of sums: 0 = shared memory, but registers for the sums and messages
// of a line while it is swept, 1 = shared memory, 2 = global memory), TILE_WIDTH and TILE_HEIGHT (of the
// largest tile), LINES (rows or columns that a block sweeps at once), MESSAGE_BITS (of messages between
// tiles), SUB_PIXEL; and by the macros of cuda_messages.h.
#include "devices/cuda/kernel.h"
#include "decision/cuda_decision.h"
#include "matchers/tiled_belief_propagation/cuda_messages.h"

using namespace parallax::tiled_belief_propagation;
namespace decision = parallax::decision;

namespace {

constexpr bool in_registers = MESSAGES == 0, in_shared_memory = MESSAGES <= 1;
// Threads of one direction: full warps.
constexpr int direction_threads = (LINES * LANES + 31) / 32 * 32;
constexpr int block_threads = 2 * direction_threads;
constexpr int block_lines = direction_threads / LANES;
// Each thread has one row and one column of a tile.
constexpr bool one_line = in_shared_memory && block_lines >= TILE_WIDTH && block_lines >= TILE_HEIGHT;
// Rows in shared memory are padded so that neither rows nor columns have bank conflicts.
constexpr int shared_row_words = ((TILE_WIDTH * pixel_words + 3) / 4 | 1) * 4;

constexpr int message_words = words_of(MESSAGE_BITS);
using Message = Packed<MESSAGE_BITS>;

// The role of a thread.
struct Role {
  bool backward;
  int line;  // first of its lines
  int lane;
};

__device__ __forceinline__ Role find_role() {
  const int index = threadIdx.x % direction_threads;
  return {threadIdx.x >= direction_threads, index / LANES, static_cast<int>(threadIdx.x % LANES)};
}

__device__ __forceinline__ uint32* shared_planes() {
  PARALLAX_SHARED(uint4, planes);
  return reinterpret_cast<uint32*>(planes);
}

// Offsets of values: 32 bits suffice in shared memory.
#if MESSAGES == 2
using Offset = int64;
struct Place {
  uint32* words;
  __device__ __forceinline__ uint32* pointer() const { return words; }
  __device__ __forceinline__ Place moved(Offset by) const { return {words + by}; }
};
#else
using Offset = int;
struct Place {
  int bytes;
  __device__ __forceinline__ uint32* pointer() const {
    return reinterpret_cast<uint32*>(reinterpret_cast<char*>(shared_planes()) + bytes);
  }
  __device__ __forceinline__ Place moved(Offset by) const { return {bytes + by * 4}; }
};
#endif

// Values of pixels in rows, for a thread's lane.
struct Plane {
  Place first;
  Offset row_words;
  __device__ __forceinline__ Place at(int x, int y) const {
    return first.moved(y * row_words + x * pixel_words);
  }
};

// A tile, or the image as a single tile.
struct Region {
  int width, height;
  Plane data;
  Plane along_columns, along_rows;  // data costs plus the messages along columns, and along rows
};

// Values of the pixels of a line, in the order of a sweep.
struct Line {
  Place first;
  Offset step;
  __device__ __forceinline__ Place place(int i) const { return first.moved(i * step); }
  __device__ __forceinline__ Line reversed(int length) const { return {place(length - 1), -step}; }
};

struct Path {
  Line from, data, to;
};

// A step of a sweep: replaces the message to a pixel by the message that the pixel sends.
__device__ __forceinline__ void send(const Sums& sum, Labels& message) {
  Labels h = unpack(sum);
#pragma unroll
  for (int k = 0; k < half_labels; ++k) h.of[k] += message.of[k];
  message = message_from(h);
}

// The number of pixels that are read ahead. Near memory answers before the next pixel is needed.
template <int words>
__device__ constexpr int pixels_ahead() {
  return in_shared_memory || words > 8 ? 1 : words > 4 ? 2 : 4;
}

// Sweeps pixels [begin, end) of a line; with `adds`, pixels that the opposite sweep has visited. Threads that
// are not `active` take part, but write nothing, and read nothing that others are writing.
template <bool writes, bool adds>
__device__ __forceinline__ void sweep_part(const Path& path, int begin, int end, bool active,
                                           Labels& message) {
  constexpr int depth = pixels_ahead<sum_words>();
  const Line before = adds && active ? path.to : path.data;
  Place from_here = path.from.place(begin);
  [[maybe_unused]] Place before_here = before.place(begin), to_here = path.to.place(begin);
  Sums sums[depth], others[depth];
  int unread = end - begin;
  if (unread <= 0) return;
  // Repeats the last pixel behind the end.
  const auto fetch = [&](int slot) {
    sums[slot] = load<BITS>(from_here.pointer());
    if constexpr (writes) others[slot] = load<BITS>(before_here.pointer());
    const bool more = --unread > 0;
    from_here = from_here.moved(more ? path.from.step : 0);
    if constexpr (writes) before_here = before_here.moved(more ? before.step : 0);
  };
#pragma unroll
  for (int slot = 0; slot < depth; ++slot) fetch(slot);
  for (int left = end - begin; left > 0; left -= depth) {
#pragma unroll
    for (int slot = 0; slot < depth; ++slot) {
      if (slot >= left) break;
      const Sums sum = sums[slot];
      [[maybe_unused]] const Sums other = others[slot];
      fetch(slot);
      if constexpr (writes) {
        const Sums written = add(other, pack<BITS>(message));
        if (active) store(written, to_here.pointer());
        to_here = to_here.moved(path.to.step);
      }
      send(sum, message);
    }
  }
}

// Sweeps a line of up to `most` pixels: reads all of it before the first message is computed, and writes
// after the last message.
template <int most, bool writes>
__device__ __forceinline__ void sweep_in_registers(const Path& path, int length, int first, bool active,
                                                   Labels& message) {
  Sums pixels[most];
#pragma unroll
  for (int i = 0; i < most; ++i) pixels[i] = load<BITS>(path.from.place(min(i, length - 1)).pointer());
#pragma unroll
  for (int i = 0; i < most; ++i) {
    if (i >= length) break;
    const Sums incoming = pack<BITS>(message);
    send(pixels[i], message);
    pixels[i] = incoming;
  }
  if constexpr (!writes) return;
  const auto write = [&](int begin, int end, const Line& before) {
#pragma unroll
    for (int i = 0; i < most; ++i)
      if (active && i >= begin && i < end)
        store(add(load<BITS>(before.place(i).pointer()), pixels[i]), path.to.place(i).pointer());
  };
  write(0, first, path.data);
  __syncthreads();
  write(first, length, path.to);
}

// Sweeps a line of up to `most` pixels, from the message to its first pixel to the message that leaves the
// last. Called by all threads of the block.
template <int most, bool writes>
__device__ __forceinline__ void sweep(Path path, int length, bool backward, bool active, Labels& message) {
  const int first = backward ? length - length / 2 : length / 2;
  if (backward) path = {path.from.reversed(length), path.data.reversed(length), path.to.reversed(length)};
  if constexpr (in_registers) {
    sweep_in_registers<most, writes>(path, length, first, active, message);
  } else if constexpr (writes) {
    sweep_part<true, false>(path, 0, first, active, message);
    __syncthreads();
    sweep_part<true, true>(path, first, length, active, message);
  } else {
    sweep_part<false, false>(path, 0, length, active, message);
  }
}

// If tiles wait for messages, a message itself tells which pass sent it: passes are numbered from run to run,
// and two bits of each word of a message, which no value reaches, are the lowest bits of the number. A tile
// can therefore begin when the messages to it have arrived, before their senders have ended their visits.
// Older contents are one or two passes old, because nobody sends again before the last message has been
// taken. Memory that nobody has written holds zeros, and the first pass is number 1.
constexpr bool tells_itself = SCHEDULER == 3;
constexpr uint32 mark_bits = 0x80008000u;
static_assert(!tells_itself || MESSAGE_BITS == 16 || TRUNCATION < 128, "bytes have no bit for the number");

__device__ __forceinline__ uint32 mark_of(uint32 number) {
  return (number & 2) << 30 | (number & 1) << 15;
}

// Messages across one border of a tile: incoming ones, and the place for outgoing ones. Null if there are
// none: zeros come in, nothing leaves.
struct Border {
  const uint32* in;
  uint32* out;
  uint32 mark_in, mark_out;

  __device__ __forceinline__ Message message_to(int line, int lane) const {
    Message message = {};
    if (in == nullptr) return message;
    const uint32* at = in + (line * LANES + lane) * message_words;
    for (;;) {
      message = load<MESSAGE_BITS, Between>(at);
      if constexpr (!tells_itself) return message;
      uint32 others = 0;
#pragma unroll
      for (int i = 0; i < message_words; ++i) others |= message.of[i] ^ mark_in;
      if ((others & mark_bits) == 0) break;
      let_others_run();
    }
#pragma unroll
    for (int i = 0; i < message_words; ++i) message.of[i] &= ~mark_bits;
    return message;
  }

  __device__ __forceinline__ void leave(const Labels& labels, int line, int lane) const {
    if (out == nullptr) return;
    Message message = pack<MESSAGE_BITS>(labels);
    if constexpr (tells_itself) {
#pragma unroll
      for (int i = 0; i < message_words; ++i) message.of[i] |= mark_out;
    }
    store<Between>(message, out + (line * LANES + lane) * message_words);
  }
};

// A border and, where each thread has one line, its incoming message.
struct Crossing {
  Border border;
  Message kept;

  __device__ __forceinline__ void keep(int line, int lines, int lane) {
    if constexpr (one_line) kept = border.message_to(min(line, lines - 1), lane);
  }
  __device__ __forceinline__ Labels message_to(int line, int lane) const {
    if constexpr (one_line) return unpack(kept);
    return unpack(border.message_to(line, lane));
  }
};

struct Visit {
  Region region;
  int left, top;
  Crossing row, column;  // borders in the thread's direction
};

__device__ __forceinline__ Border border_of(uint32* forward, uint32* backward, bool is_backward, int tile,
                                            int tiles, int length, int begin, int pass, uint32 number) {
  const auto at = [&](uint32* messages, int between) {
    return messages + (static_cast<int64>(between) * length + begin) * LANES * message_words;
  };
  const bool has_before = tile > 0, has_after = tile + 1 < tiles;
  // Messages against the order of this pass were sent in the last pass; the first pass has none.
  const bool against = is_backward != (pass % 2 != 0);
  Border border = {nullptr, nullptr, mark_of(against ? number - 1 : number), mark_of(number)};
  if (is_backward) {
    if (has_after && pass > 0) border.in = at(backward, tile);
    if (has_before) border.out = at(backward, tile - 1);
  } else {
    if (has_before) border.in = at(forward, tile - 1);
    if (has_after) border.out = at(forward, tile);
  }
  return border;
}

__device__ __forceinline__ Visit find_visit(const CudaTiles& tiles, const Role& role, int column, int row,
                                            int pass, int block, uint32 first_number = 0) {
  Visit visit;
  visit.left = column * TILE_WIDTH;
  visit.top = row * TILE_HEIGHT;
  Region& region = visit.region;
  region.width = min(TILE_WIDTH, tiles.width - visit.left);
  region.height = min(TILE_HEIGHT, tiles.height - visit.top);
#if MESSAGES == 2
  const int64 row_words = static_cast<int64>(tiles.width) * pixel_words;
  uint32* data = const_cast<uint32*>(tiles.data) + visit.top * row_words + visit.left * pixel_words;
  region.data = {{data + role.lane * sum_words}, row_words};
  uint32* sums = tiles.sums + 2 * tiles.plane_words * block + role.lane * sum_words;
  region.along_columns = {{sums}, TILE_WIDTH * pixel_words};
  region.along_rows = {{sums + tiles.plane_words}, TILE_WIDTH * pixel_words};
#else
  constexpr int shared_plane_words = shared_row_words * TILE_HEIGHT;
  const int first = role.lane * sum_words;
  region.data = {{4 * first}, shared_row_words};
  region.along_columns = {{4 * (first + shared_plane_words)}, shared_row_words};
  region.along_rows = {{4 * (first + 2 * shared_plane_words)}, shared_row_words};
#endif
  visit.row.border = border_of(tiles.to_right, tiles.to_left, role.backward, column, tiles.columns,
                               tiles.height, visit.top, pass, first_number + pass);
  visit.column.border = border_of(tiles.down, tiles.up, role.backward, row, tiles.rows, tiles.width,
                                  visit.left, pass, first_number + pass);
  return visit;
}

// Loads the data costs of a tile into shared memory.
__device__ __forceinline__ void load_data(const CudaTiles& tiles, const Visit& visit) {
  constexpr int wide = access_words(pixel_words);
  using Wide = Access<wide>::Type;
  const int64 row_words = static_cast<int64>(tiles.width) * pixel_words;
  const uint32* from = tiles.data + visit.top * row_words + visit.left * pixel_words;
  uint32* to = shared_planes();
  const int columns = visit.region.width * (pixel_words / wide), count = visit.region.height * columns;
#pragma unroll 4
  for (int i = threadIdx.x; i < count; i += block_threads) {
    const int y = i / columns, x = (i - y * columns) * wide;
    *reinterpret_cast<Wide*>(to + y * shared_row_words + x) =
        __ldg(reinterpret_cast<const Wide*>(from + y * row_words + x));
  }
}

// Adds the messages across the upper and the lower border to the sums of the outermost rows, before there are
// any other sums.
__device__ __forceinline__ void start_sums(const Visit& visit, const Role& role) {
  const Region& region = visit.region;
  const int y = role.backward ? region.height - 1 : 0;
  // A single row receives both, one after the other.
  for (int turn = 0; turn < (region.height == 1 ? 2 : 1); ++turn) {
    const Plane before = turn == 0 ? region.data : region.along_columns;
    for (int x = role.line; x < region.width; x += block_lines) {
      if (region.height == 1 && turn != role.backward) continue;
      const Labels message = visit.column.message_to(x, role.lane);
      store(add(load<BITS>(before.at(x, y).pointer()), pack<BITS>(message)),
            region.along_columns.at(x, y).pointer());
    }
    __syncthreads();
  }
}

// Sweeps along rows, or along columns. `first`: there are no messages inside yet, and only the outermost rows
// have sums.
template <bool rows, bool writes>
__device__ __forceinline__ void sweep_lines(const Region& region, const Crossing& crossing, const Role& role,
                                            int begin, int end, bool first, bool leaves) {
  const int length = rows ? region.width : region.height;
  for (int line = begin; line < end; line += block_lines) {
    const bool active = line + role.line < end;
    const int shown = min(line + role.line, end - 1);
    const auto line_of = [&](const Plane& plane) -> Line {
      if (rows) return {plane.at(0, shown), pixel_words};
      return {plane.at(shown, 0), plane.row_words};
    };
    const bool from_data = rows && first && shown > 0 && shown < region.height - 1;
    const Plane from = !rows ? region.along_rows : from_data ? region.data : region.along_columns;
    const Path path{line_of(from), line_of(region.data),
                    line_of(rows ? region.along_rows : region.along_columns)};
    Labels message = crossing.message_to(shown, role.lane);
    // Sending a line's messages may let others send to it again, so all threads must have received the
    // previous ones.
    if constexpr (!one_line) __syncthreads();
    sweep<rows ? TILE_WIDTH : TILE_HEIGHT, writes>(path, length, role.backward, active, message);
    if (active && leaves) crossing.border.leave(message, shown, role.lane);
  }
}

// The lowest belief of a pixel, by LANES threads.
__device__ __forceinline__ decision::Beliefs find_best(const Labels& belief) {
  constexpr int label_bits = 10;
  uint32 best = ~0u;  // value, then label: ties go to the lowest label
#pragma unroll
  for (int high = 0; high < 2; ++high)
#pragma unroll
    for (int word = 0; word < half_labels; ++word)
      best = min(best, (belief.of[word] >> 16 * high & 0xFFFF) << label_bits | label_of(word, high));
  best = min_over_lanes(best);
  decision::Beliefs found = {static_cast<int>(best & ((1 << label_bits) - 1)), 0,
                           static_cast<float>(best >> label_bits), 0, decision::no_value};
  constexpr uint32 none = ~0u;
  uint32 before = none, after = none;
#pragma unroll
  for (int high = 0; high < 2; ++high) {
#pragma unroll
    for (int word = 0; word < half_labels; ++word) {
      const int label = label_of(word, high), distance = label - found.label;
      const uint32 value = belief.of[word] >> 16 * high & 0xFFFF;
      if (distance == -1) before = value;
      if (distance == 1) after = value;
    }
  }
  found.before = static_cast<float>(min_over_lanes(before));
  found.after = static_cast<float>(min_over_lanes(after));
  return found;
}

// Decides pixels [begin, end) of a region whose first pixel is (left, top).
__device__ __forceinline__ void decide_pixels(const Region& region, int left, int top, int64 begin, int64 end,
                                              int image_width, const decision::CudaDecision& to) {
  constexpr int pixels = block_threads / LANES;
  for (int64 first = begin; first < end; first += pixels) {
    const int64 index = first + threadIdx.x / LANES, shown = min(index, end - 1);
    const int y = static_cast<int>(shown / region.width),
              x = static_cast<int>(shown - y * static_cast<int64>(region.width));
    const Labels data = unpack(load<BITS>(region.data.at(x, y).pointer())),
                 along_columns = unpack(load<BITS>(region.along_columns.at(x, y).pointer())),
                 along_rows = unpack(load<BITS>(region.along_rows.at(x, y).pointer()));
    Labels belief;
#pragma unroll
    for (int k = 0; k < half_labels; ++k)
      belief.of[k] = along_columns.of[k] + (along_rows.of[k] - data.of[k]);
    const decision::Beliefs found = find_best(belief);
    if (index >= end || lane_of_pixel() != 0) continue;
    const int u = left + x, v = top + y;
    const uint8 status = to.from_start[static_cast<int64>(v) * to.from_start_stride + u];
    decision::write_decision<SUB_PIXEL>(to, u, v, image_width, LABELS, status, found);
  }
}

// A visit, after the messages to the tile have arrived and the load of its data costs has begun. Ends with a
// barrier of the block.
__device__ __forceinline__ void visit_tile(const CudaTiles& tiles, Visit& visit, const Role& role,
                                           bool decides, const decision::CudaDecision& to) {
  const Region& region = visit.region;
  if constexpr (!tells_itself) __syncthreads();
  visit.row.keep(role.line, region.height, role.lane);
  visit.column.keep(role.line, region.width, role.lane);
  if constexpr (tells_itself) __syncthreads();
  start_sums(visit, role);
  for (int iteration = 0; iteration < tiles.inner; ++iteration) {
    const bool is_last = iteration + 1 == tiles.inner;
    sweep_lines<true, true>(region, visit.row, role, 0, region.height, iteration == 0, is_last);
    __syncthreads();
    // The next iteration and the beliefs need the sums along columns.
    if (decides || !is_last)
      sweep_lines<false, true>(region, visit.column, role, 0, region.width, false, is_last);
    else
      sweep_lines<false, false>(region, visit.column, role, 0, region.width, false, is_last);
    __syncthreads();
  }
  if (!decides) return;
  decide_pixels(region, visit.left, visit.top, 0, static_cast<int64>(region.width) * region.height,
                tiles.width, to);
  __syncthreads();
}

// The tiles of an anti-diagonal.
struct Diagonal {
  int first_column, count;
};

__device__ __forceinline__ Diagonal find_diagonal(const CudaTiles& tiles, int index) {
  const int first = max(0, index - (tiles.rows - 1)), last = min(index, tiles.columns - 1);
  return {first, last - first + 1};
}

}  // namespace

#if SCHEDULER == 1
// The tiles of a diagonal, one block each. With `early`, the previous kernel wrote no data costs.
PARALLAX_KERNEL __launch_bounds__(block_threads, 1)
    visit_diagonal(CudaTiles tiles, decision::CudaDecision to, int pass, int index, int early) {
  const Role role = find_role();
  const int column = find_diagonal(tiles, index).first_column + blockIdx.x;
  Visit visit = find_visit(tiles, role, column, index - column, pass, blockIdx.x);
  if (in_shared_memory && early) load_data(tiles, visit);
  wait_for_previous();
  if (in_shared_memory && !early) load_data(tiles, visit);
  visit_tile(tiles, visit, role, pass + 1 == tiles.passes, to);
}

// The image as a single tile: sweeps all rows, from the messages along columns; `first` if there are none
// yet. Each block has some of the rows.
PARALLAX_KERNEL __launch_bounds__(block_threads, 1) sweep_rows(CudaTiles tiles, int first) {
  const Role role = find_role();
  Region region = find_visit(tiles, role, 0, 0, 0, 0).region;
  if (first) region.along_columns = region.data;
  wait_for_previous();
  const int begin = blockIdx.x * block_lines;
  sweep_lines<true, true>(region, {}, role, begin, min(begin + block_lines, region.height), false, false);
}

PARALLAX_KERNEL __launch_bounds__(block_threads, 1) sweep_columns(CudaTiles tiles) {
  const Role role = find_role();
  const Region region = find_visit(tiles, role, 0, 0, 0, 0).region;
  wait_for_previous();
  const int begin = blockIdx.x * block_lines;
  sweep_lines<false, true>(region, {}, role, begin, min(begin + block_lines, region.width), false, false);
}

PARALLAX_KERNEL __launch_bounds__(block_threads, 1) decide(CudaTiles tiles, decision::CudaDecision to) {
  const Region region = find_visit(tiles, find_role(), 0, 0, 0, 0).region;
  wait_for_previous();
  constexpr int pixels = block_threads / LANES;
  const int64 begin = static_cast<int64>(blockIdx.x) * pixels,
              all = static_cast<int64>(region.width) * region.height;
  decide_pixels(region, 0, 0, begin, min(begin + pixels, all), region.width, to);
}
#endif

#if SCHEDULER == 2
// All visits; all blocks meet after each diagonal. A block visits its tiles of a diagonal one after the
// other.
PARALLAX_KERNEL __launch_bounds__(block_threads, 1) visit_all(CudaTiles tiles, decision::CudaDecision to) {
  wait_for_previous();
  const Role role = find_role();
  const int diagonals = tiles.columns + tiles.rows - 1;
  uint32 awaited = 0;
  for (int pass = 0; pass < tiles.passes; ++pass) {
    for (int i = 0; i < diagonals; ++i) {
      const int index = pass % 2 == 0 ? i : diagonals - 1 - i;
      const Diagonal diagonal = find_diagonal(tiles, index);
      bool has_met = threadIdx.x != 0;
      for (int tile = blockIdx.x; tile < diagonal.count; tile += gridDim.x) {
        const int column = diagonal.first_column + tile;
        Visit visit = find_visit(tiles, role, column, index - column, pass, blockIdx.x);
        // Overlaps the wait for other blocks.
        if (in_shared_memory) load_data(tiles, visit);
        if (!has_met) wait_for_count(tiles.progress, awaited);
        has_met = true;
        visit_tile(tiles, visit, role, pass + 1 == tiles.passes, to);
      }
      if (!has_met) wait_for_count(tiles.progress, awaited);
      if (threadIdx.x == 0) count_one(tiles.progress);
      awaited += gridDim.x;
    }
  }
}
#elif SCHEDULER == 3
// All visits, in an order in which each follows those for which it waits; blocks take them in turn. The first
// unfinished visit can always continue, so all end. A visit also follows the end of the same tile's previous
// visit, because both send to the same places.
PARALLAX_KERNEL __launch_bounds__(block_threads, 1) visit_all(CudaTiles tiles, decision::CudaDecision to) {
  wait_for_previous();
  const Role role = find_role();
  const int diagonals = tiles.columns + tiles.rows - 1;
  const uint32 first_number = *tiles.numbered - tiles.passes + 1;
  int tile = blockIdx.x;  // index in the diagonal
  for (int pass = 0; pass < tiles.passes; ++pass) {
    for (int i = 0; i < diagonals; ++i) {
      const int index = pass % 2 == 0 ? i : diagonals - 1 - i;
      const Diagonal diagonal = find_diagonal(tiles, index);
      for (; tile < diagonal.count; tile += gridDim.x) {
        const int column = diagonal.first_column + tile, row = index - column;
        Visit visit = find_visit(tiles, role, column, row, pass, blockIdx.x, first_number);
        if (in_shared_memory) load_data(tiles, visit);
        uint32* visits = tiles.progress + row * tiles.columns + column;
        if (threadIdx.x == 0) wait_for_count(visits, pass);
        visit_tile(tiles, visit, role, pass + 1 == tiles.passes, to);
        if (threadIdx.x == 0) count_one(visits);
      }
      tile -= diagonal.count;
    }
  }
}
#endif
