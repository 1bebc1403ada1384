// SPDX-License-Identifier: Apache-2.0
// Motion on CUDA if every pixel considers all labels; and the status of pixels before they are matched.
//
// Values of a pixel are contiguous, in planes of one colour of the checkerboard. Where they are PACKED, in
// bytes and for at most 32 columns and rows of labels, LANES threads of a warp (a power of two, at least
// ROWS) share a pixel and compute its four messages at once: a word has the values of a label for all
// directions. A thread has a row of labels in registers, and then, by way of shared memory, every LANES-th
// column.
//
//   packed   [piece of 16 columns][row][column of the piece]
//   else     [row][column], where a warp computes a message
//
// Specialised by PACKED, LANES, BLOCK (threads of a packed update), LEAST_BLOCKS of it that must fit on a
// multiprocessor (0: as many as usual), and by the macros of cuda_common.h. Other kernels have a warp for
// each pixel: grid.x = rows, grid.y = blocks of a row of one colour, grid.z = colours.
#include "devices/cuda/lanes.h"
#include "matchers/motion/cuda_common.h"

using namespace parallax::motion;

namespace {

constexpr int labels = COLUMNS * ROWS;
constexpr int piece_columns = 16, pieces = (COLUMNS + piece_columns - 1) / piece_columns;
// Stored values of a pixel; those beyond the labels are never the lowest.
constexpr int values_in_word = STORED == 32 ? 1 : 32 / STORED;
constexpr int elements = PACKED ? pieces * piece_columns * ROWS
                                : (labels + values_in_word - 1) / values_in_word * values_in_word;
constexpr int warp_lanes = 32, block_warps = 4;

struct Label {
  int column, row;
  __device__ __forceinline__ bool exists() const { return column < COLUMNS && row < ROWS; }
  __device__ __forceinline__ int number() const { return row * COLUMNS + column; }
  // Position of the label's value among a pixel's values.
  __device__ __forceinline__ int place() const {
    return PACKED ? (column / piece_columns * ROWS + row) * piece_columns + column % piece_columns : number();
  }
};

__device__ __forceinline__ Label label_at(int place) {
  if constexpr (PACKED) {
    const int of_piece = place / piece_columns;
    return {of_piece / ROWS * piece_columns + place % piece_columns, of_piece % ROWS};
  } else {
    return {place % COLUMNS, place / COLUMNS};
  }
}

// The pixel of a warp.
__device__ __forceinline__ Pixel pixel_of_warp() {
  return pixel_of(blockIdx.z, blockIdx.x, blockIdx.y * block_warps + threadIdx.x / warp_lanes);
}

template <class T>
__device__ __forceinline__ T min_of_warp(T value) {
#pragma unroll
  for (int step = warp_lanes / 2; step > 0; step /= 2) {
    const T other = __shfl_xor_sync(all_lanes, value, step);
    value = other < value ? other : value;
  }
  return value;
}

// compute(0) … compute(count − 1), distributed over the lanes of a warp: kept in registers, or computed
// again.
template <int count, class T, class Compute>
class OverLanes {
 public:
  __device__ __forceinline__ explicit OverLanes(const Compute& compute) : compute_(compute) {}

  // Calls action(i, value), first with again = false.
  template <bool again, class Action>
  __device__ __forceinline__ void for_each(const Action& action) {
    const int lane = threadIdx.x % warp_lanes;
    if constexpr (rounds <= max_kept) {
#pragma unroll
      for (int k = 0; k < rounds; ++k) {
        const int i = k * warp_lanes + lane;
        if (i >= count) continue;
        if constexpr (!again) kept_[k] = compute_(i);
        action(i, kept_[k]);
      }
    } else {
#pragma unroll 1
      for (int i = lane; i < count; i += warp_lanes) action(i, compute_(i));
    }
  }

 private:
  static constexpr int rounds = (count + warp_lanes - 1) / warp_lanes, max_kept = 32;
  Compute compute_;
  T kept_[rounds <= max_kept ? rounds : 1];
};

// The messages to a pixel, by the side from which they come; null from beyond the border.
struct Incoming {
  const Stored* from[directions];

  __device__ __forceinline__ Value at(int direction, int place) const {
    return from[direction] == nullptr ? Value(0) : static_cast<Value>(from[direction][place]);
  }
};

// Those that are there, or, where a level starts, those of the pixels (x/2, y/2) of the coarser one, if there
// is one.
__device__ __forceinline__ Incoming incoming(const CudaLevel& level, const CudaLevel& coarser, bool starts, int x,
                                             int y) {
  Incoming messages;
#pragma unroll
  for (int direction = 0; direction < directions; ++direction) {
    const int u = x + step_x(direction), v = y + step_y(direction), to = opposite(direction);
    messages.from[direction] =
        !contains(level, u, v)        ? nullptr
        : !starts                     ? message_of<elements>(level, u, v, to)
        : coarser.messages == nullptr ? nullptr
                                      : message_of<elements>(coarser, u / 2, v / 2, to);
  }
  return messages;
}

__device__ __forceinline__ Value belief(const Incoming& messages, const Stored* data, int place) {
  Value sum = 0;
#pragma unroll
  for (int i = 0; i < directions; ++i) sum += messages.at(in_order(i), place);
  return sum + static_cast<Value>(data[place]);
}

}  // namespace

// One thread per pixel: grid.x = rows, grid.y = blocks of a row. `all`: the labels of the image.
PARALLAX_KERNEL find_status(CudaCosts costs, CudaLabels all, uint8* status, int stride) {
  wait_for_previous();
  const int x = blockIdx.y * blockDim.x + threadIdx.x, y = blockIdx.x;
  if (x >= costs.samples.width) return;
  const CudaValidity& validity = costs.validity;
  constexpr int together = 64;
  bool reachable = false;
  const int first = max(0, y + all.first.y), end = min(costs.samples.height, y + all.first.y + all.rows);
  const int last_column = x - all.first.x;
  for (int row = first; row < end && !reachable; ++row)
    for (int column = last_column - all.columns + 1; column <= last_column && !reachable; column += together) {
      const int count = min(together, last_column - column + 1);
      const uint64 wanted = count == together ? ~0ull : (1ull << count) - 1;
      reachable = (valid_bits(validity.right, validity.words, row, column) & wanted) != 0;
    }
  status[static_cast<int64>(y) * stride + x] = !is_valid(validity.left, validity.words, x, y) ? input_masked
                                               : reachable                                    ? matched
                                                                                              : out_of_range;
}

namespace {

// If labels are PACKED, bits of signatures are counted and looked up: a half-warp has a row of a piece.
constexpr bool counts_bits = PACKED && COST == census_distance;
constexpr int half_lanes = warp_lanes / 2, row_pairs = (ROWS + 1) / 2, max_bits = 64;
static_assert(!PACKED || half_lanes == piece_columns);

// `units`: the cost by number of differing bits.
__device__ __forceinline__ void find_costs_by_bits(const CudaLevel& level, const CudaCosts& costs, const Pixel& pixel,
                                                   const int* units) {
  const CostPixel place = cost_pixel(costs, pixel.x, pixel.y);
  const int lane = threadIdx.x % warp_lanes, place_in_piece = lane % half_lanes;
  const int first_x = pixel.x - level.labels.first.x, first_y = pixel.y + level.labels.first.y;
  // Validity of the row of this lane, from the last column of labels on.
  const bool inside = lane < ROWS && first_y + lane >= 0 && first_y + lane < costs.samples.height;
  const uint32 valid_row = !inside ? 0
                                   : static_cast<uint32>(valid_bits(costs.validity.right, costs.validity.words,
                                                                    first_y + lane, first_x - (COLUMNS - 1)));
  const uint64* right = static_cast<const uint64*>(costs.right_features);
  int found[pieces][row_pairs], least = 0x7FFFFFFF;
#pragma unroll
  for (int piece = 0; piece < pieces; ++piece) {
    const int column = piece * piece_columns + place_in_piece;
#pragma unroll
    for (int k = 0; k < row_pairs; ++k) {
      const int row = 2 * k + lane / half_lanes;
      const bool exists = column < COLUMNS && row < ROWS;
      const uint32 valid = __shfl_sync(all_lanes, valid_row, row % warp_lanes);
      int cost = static_cast<int>(costs.outside);
      if (exists && (valid >> (COLUMNS - 1 - column) & 1) != 0)
        cost = units[__popcll(place.feature ^ row_of(right, costs.samples, first_y + row)[first_x - column])];
      if (!place.valid) cost = 0;
      if (exists) least = min(least, cost);
      found[piece][k] = cost;
    }
  }
  least = min_of_warp(least);
  Stored* to = data_of<elements>(level, pixel.x, pixel.y);
#pragma unroll
  for (int piece = 0; piece < pieces; ++piece) {
    const bool exists = piece * piece_columns + place_in_piece < COLUMNS;
#pragma unroll
    for (int k = 0; k < row_pairs; ++k) {
      const int row = 2 * k + lane / half_lanes;
      if (row < ROWS)
        to[(piece * ROWS + row) * piece_columns + place_in_piece] =
            static_cast<Stored>(exists ? min(found[piece][k] - least, 4 * BOUND + 1) : 4 * BOUND + 1);
    }
  }
}

}  // namespace

// Data costs of the image.
PARALLAX_KERNEL __launch_bounds__(block_warps* warp_lanes) find_costs(CudaLevel level, CudaCosts costs) {
  __shared__ int units[counts_bits ? max_bits + 1 : 1];
  if constexpr (counts_bits) {
    if (threadIdx.x <= max_bits) units[threadIdx.x] = static_cast<int>(units_of(costs, threadIdx.x * 256));
    __syncthreads();
  }
  wait_for_previous();
  const Pixel pixel = pixel_of_warp();
  if (pixel.x >= level.width) return;
  if constexpr (counts_bits) {
    find_costs_by_bits(level, costs, pixel, units);
  } else {
    const CostPixel place = cost_pixel(costs, pixel.x, pixel.y);
    const auto compute = [&](int i) {
      const Label label = label_at(i);
      return label.exists() ? cost(costs, place, {level.labels.first.x + label.column,
                                                  level.labels.first.y + label.row})
                            : no_value;
    };
    OverLanes<elements, float, decltype(compute)> all(compute);
    float least = no_value;
    all.template for_each<false>([&](int, float value) { least = fminf(least, value); });
    least = min_of_warp(least);
    Stored* to = data_of<elements>(level, pixel.x, pixel.y);
    all.template for_each<true>([&](int i, float value) { to[i] = static_cast<Stored>(settled(value, least)); });
  }
}

namespace {

// The pixels whose data costs add up to those of a coarser one.
struct Children {
  const Stored* of[4];

  __device__ __forceinline__ Children(const CudaLevel& fine, int x, int y) {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int u = 2 * x + k % 2, v = 2 * y + k / 2;
      of[k] = contains(fine, u, v) ? data_of<elements>(fine, u, v) : nullptr;
    }
  }
};

#if STORED == 8
// Four values of a word, two in each.
struct Split {
  uint32 even, odd;
};
#endif

}  // namespace

// Data costs of a coarser level: sums over up to four children.
PARALLAX_KERNEL __launch_bounds__(block_warps* warp_lanes) add_up(CudaLevel fine, CudaLevel coarse) {
  wait_for_previous();
  const Pixel pixel = pixel_of_warp();
  if (pixel.x >= coarse.width) return;
  const Children children(fine, pixel.x, pixel.y);
  Stored* stored = data_of<elements>(coarse, pixel.x, pixel.y);
#if STORED == 8
  const auto compute = [&](int i) {
    Split sum{0, 0};
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      if (children.of[k] == nullptr) continue;
      const uint32 word = reinterpret_cast<const uint32*>(children.of[k])[i];
      sum.even += word & 0x00FF00FFu;
      sum.odd += word >> 8 & 0x00FF00FFu;
    }
    return sum;
  };
  OverLanes<elements / 4, Split, decltype(compute)> all(compute);
  uint32 least = ~0u;
  all.for_each<false>([&](int, const Split& sum) { least = __vminu2(least, __vminu2(sum.even, sum.odd)); });
  least = min_of_warp(min(least & 0xFFFF, least >> 16)) * 0x10001u;
  constexpr uint32 bound = (4 * BOUND + 1) * 0x10001u;
  uint32* to = reinterpret_cast<uint32*>(stored);
  all.for_each<true>([&](int i, const Split& sum) {
    to[i] = __vminu2(sum.even - least, bound) | __vminu2(sum.odd - least, bound) << 8;
  });
#else
  const auto compute = [&](int i) {
    Value sum = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k)
      if (children.of[k] != nullptr) sum += static_cast<Value>(children.of[k][i]);
    return sum;
  };
  OverLanes<labels, Value, decltype(compute)> all(compute);
  Value least = no_limit;
  all.for_each<false>([&](int, Value sum) { least = lower(least, sum); });
  least = min_of_warp(least);
  all.for_each<true>([&](int i, Value sum) {
    stored[i] = static_cast<Stored>(in_integers ? lower(sum - least, 4 * BOUND + 1) : sum - least);
  });
#endif
}

// The initial messages of colour 0, for a level on which nothing updates it.
PARALLAX_KERNEL __launch_bounds__(block_warps* warp_lanes) start(CudaLevel level, CudaLevel coarser) {
  wait_for_previous();
  const Pixel pixel = pixel_of_warp();
  if (pixel.x >= level.width) return;
#pragma unroll 1
  for (int to = 0; to < directions; ++to) {
    const Stored* from = message_of<elements>(coarser, pixel.x / 2, pixel.y / 2, to);
    Stored* copy = message_of<elements>(level, pixel.x, pixel.y, to);
    for (int i = threadIdx.x % warp_lanes; i < elements; i += warp_lanes) copy[i] = from[i];
  }
}

#if PACKED

namespace {

static_assert(STORED == 8 && ROWS <= LANES && COLUMNS <= 32);
#if LEAST_BLOCKS > 0
constexpr int min_blocks = LEAST_BLOCKS;
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
// Without an instruction for the minimum after an addition, an update needs more registers, and would spill.
constexpr int min_blocks = 4;
#else
constexpr int min_blocks = 6;
#endif
constexpr int block_pixels = BLOCK / LANES, columns_a_lane = (COLUMNS + LANES - 1) / LANES;
// Padded so that rows, and neighbouring pixels of a warp, begin in different banks.
constexpr int row_words = COLUMNS | 1;
constexpr int pixel_words = (ROWS * row_words + 31 - LANES) / 32 * 32 + LANES;
static_assert(pixel_words >= ROWS * row_words);

// The values of two directions: 0 and 2, or 1 and 3.
template <int half>
__device__ __forceinline__ uint32 half_of(uint32 word) {
  return half == 0 ? word & 0x00FF00FFu : word >> 8 & 0x00FF00FFu;
}

template <int half>
__device__ __forceinline__ uint32 with_half(uint32 word, uint32 values) {
  return half == 0 ? (word & 0xFF00FF00u) | values : (word & 0x00FF00FFu) | values << 8;
}

// Transposes four words of four bytes: word i gets the i-th byte of each.
__device__ __forceinline__ uint4 transposed(const uint4& words) {
  const uint32 low = __byte_perm(words.x, words.y, 0x5140), high = __byte_perm(words.x, words.y, 0x7362);
  const uint32 next_low = __byte_perm(words.z, words.w, 0x5140), next_high = __byte_perm(words.z, words.w, 0x7362);
  return make_uint4(__byte_perm(low, next_low, 0x5410), __byte_perm(low, next_low, 0x7632),
                    __byte_perm(high, next_high, 0x5410), __byte_perm(high, next_high, 0x7632));
}

__device__ __forceinline__ uint32 part(const uint4& words, int i) {
  return i == 0 ? words.x : i == 1 ? words.y : i == 2 ? words.z : words.w;
}

__device__ __forceinline__ uint4 load_piece(const Stored* values, int piece, int row) {
  if (values == nullptr) return make_uint4(0, 0, 0, 0);
  return *reinterpret_cast<const uint4*>(values + (piece * ROWS + row) * piece_columns);
}

// The beliefs of a row of labels, without the message from each direction.
__device__ __forceinline__ void load_row(const Incoming& messages, const Stored* data, int row,
                                         uint32 (&h)[COLUMNS]) {
#pragma unroll
  for (int piece = 0; piece < pieces; ++piece) {
    uint4 from[directions];
#pragma unroll
    for (int direction = 0; direction < directions; ++direction)
      from[direction] = load_piece(messages.from[direction], piece, row);
    const uint4 costs = load_piece(data, piece, row);
#pragma unroll
    for (int word = 0; word < 4; ++word) {
      const uint4 labels_of_word = transposed(make_uint4(part(from[0], word), part(from[1], word),
                                                         part(from[2], word), part(from[3], word)));
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int column = piece * piece_columns + word * 4 + i;
        if (column >= COLUMNS) continue;
        const uint32 received = part(labels_of_word, i);
        const uint32 belief = __dp4a(received, 0x01010101u, part(costs, word) >> 8 * i & 0xFF);
        h[column] = belief * 0x01010101u - received;
      }
    }
  }
}

// Passes forwards and backwards over `count` values of two directions.
template <int count>
__device__ __forceinline__ void pass(uint32 (&values)[count], uint32 slope) {
#pragma unroll
  for (int k = 1; k < count; ++k) values[k] = __viaddmin_u16x2(values[k - 1], slope, values[k]);
#pragma unroll
  for (int k = count - 2; k >= 0; --k) values[k] = __viaddmin_u16x2(values[k + 1], slope, values[k]);
}

// Passes along a lane's row. Returns its lowest values.
template <int half>
__device__ __forceinline__ uint32 pass_row(uint32 (&h)[COLUMNS], uint32 slope) {
  uint32 values[COLUMNS], least = ~0u;
#pragma unroll
  for (int k = 0; k < COLUMNS; ++k) {
    values[k] = half_of<half>(h[k]);
    least = __vminu2(least, values[k]);
  }
  pass(values, slope);
#pragma unroll
  for (int k = 0; k < COLUMNS; ++k) h[k] = with_half<half>(h[k], values[k]);
  return least;
}

// Passes along a column in shared memory, which becomes a column of messages.
template <int half>
__device__ __forceinline__ void pass_column(uint32 (&h)[ROWS], uint32 slope, uint32 least, uint32 highest) {
  uint32 values[ROWS];
#pragma unroll
  for (int k = 0; k < ROWS; ++k) values[k] = half_of<half>(h[k]);
  pass(values, slope);
#pragma unroll
  for (int k = 0; k < ROWS; ++k) h[k] = with_half<half>(h[k], __vminu2(values[k], highest) - least);
}

__device__ __forceinline__ uint32 min_over_pixel(uint32 values) {
  return parallax::cuda::over_lanes(values, [](uint32 a, uint32 b) { return __vminu2(a, b); });
}

__device__ __forceinline__ void store_row(const CudaLevel& level, const Pixel& pixel, int row,
                                          const uint32 (&sent)[COLUMNS]) {
#pragma unroll
  for (int piece = 0; piece < pieces; ++piece) {
    uint4 words[4];  // [direction], for a few labels
#pragma unroll
    for (int word = 0; word < 4; ++word) {
      const auto label = [&](int i) -> uint32 {
        const int column = piece * piece_columns + word * 4 + i;
        return column < COLUMNS ? sent[column < COLUMNS ? column : 0] : 0;
      };
      words[word] = transposed(make_uint4(label(0), label(1), label(2), label(3)));
    }
#pragma unroll
    for (int direction = 0; direction < directions; ++direction) {
      if (!contains(level, pixel.x + step_x(direction), pixel.y + step_y(direction))) continue;
      Stored* to = message_of<elements>(level, pixel.x, pixel.y, direction) + (piece * ROWS + row) * piece_columns;
      *reinterpret_cast<uint4*>(to) = make_uint4(part(words[0], direction), part(words[1], direction),
                                                 part(words[2], direction), part(words[3], direction));
    }
  }
}

}  // namespace

// One half-sweep: the messages of one colour. `starts`: it is the first one of the level, and `coarser` the
// level before it, if there is one. grid.x = rows, grid.y = blocks of a row of one colour.
PARALLAX_KERNEL __launch_bounds__(BLOCK, min_blocks)
    update(CudaLevel level, CudaLevel coarser, const Value* edges, int colour, int starts) {
  __shared__ uint32 shared[block_pixels][pixel_words];
  wait_for_previous();
  const int number = threadIdx.x / LANES, lane = threadIdx.x % LANES;
  const Pixel pixel = pixel_of(colour, blockIdx.x, blockIdx.y * block_pixels + number);
  // All threads take part in shuffles.
  const bool exists = pixel.x < level.width, has_row = exists && lane < ROWS;
  uint32* own = shared[number];
  uint32 slope[2] = {}, truncation[2] = {};
  uint32 h[COLUMNS];
  if (exists) {
#pragma unroll
    for (int direction = 0; direction < directions; ++direction) {
      if (!contains(level, pixel.x + step_x(direction), pixel.y + step_y(direction))) continue;
      const Smoothness smooth = smoothness(level, edges, pixel.x, pixel.y, direction);
      slope[direction % 2] |= static_cast<uint32>(smooth.slope) << direction / 2 * 16;
      truncation[direction % 2] |= static_cast<uint32>(smooth.truncation) << direction / 2 * 16;
    }
  }
  uint32 least[2] = {~0u, ~0u};
  if (has_row) {
    load_row(incoming(level, coarser, starts != 0, pixel.x, pixel.y),
             data_of<elements>(level, pixel.x, pixel.y), lane, h);
    least[0] = pass_row<0>(h, slope[0]);
    least[1] = pass_row<1>(h, slope[1]);
#pragma unroll
    for (int k = 0; k < COLUMNS; ++k) own[lane * row_words + k] = h[k];
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) least[half] = min_over_pixel(least[half]);
  __syncwarp();
  if (exists) {
#pragma unroll
    for (int k = 0; k < columns_a_lane; ++k) {
      const int column = lane + k * LANES;
      if (column >= COLUMNS) continue;
      uint32 values[ROWS];
#pragma unroll
      for (int row = 0; row < ROWS; ++row) values[row] = own[row * row_words + column];
      pass_column<0>(values, slope[0], least[0], least[0] + truncation[0]);
      pass_column<1>(values, slope[1], least[1], least[1] + truncation[1]);
#pragma unroll
      for (int row = 0; row < ROWS; ++row) own[row * row_words + column] = values[row];
    }
  }
  __syncwarp();
  if (!has_row) return;
#pragma unroll
  for (int k = 0; k < COLUMNS; ++k) h[k] = own[lane * row_words + k];
  store_row(level, pixel, lane, h);
}

#else

namespace {

// Values of the message that a warp computes: in shared memory, or, if they are many, in their final place,
// which no other warp reads meanwhile.
constexpr int row_values = COLUMNS | 1;
constexpr bool in_shared_memory = ROWS * row_values <= 2048;

template <class T, int row_step>
struct Values {
  T* first;
  __device__ __forceinline__ Value at(int row, int column) const {
    return static_cast<Value>(first[static_cast<int64>(row) * row_step + column]);
  }
  __device__ __forceinline__ void set(int row, int column, Value value) const {
    first[static_cast<int64>(row) * row_step + column] = static_cast<T>(value);
  }
};

// Called after h has been written.
template <class Work>
__device__ __forceinline__ void finish_message(const Work& work, const Smoothness& smooth, Value least, Stored* to) {
  const int lane = threadIdx.x % warp_lanes;
  const Value highest = least + smooth.truncation;
  __syncwarp();
  for (int row = lane; row < ROWS; row += warp_lanes) {
    Value carry = work.at(row, 0);
    for (int column = 1; column < COLUMNS; ++column)
      work.set(row, column, carry = lowered(carry, smooth.slope, work.at(row, column)));
    for (int column = COLUMNS - 2; column >= 0; --column)
      work.set(row, column, carry = lowered(carry, smooth.slope, work.at(row, column)));
  }
  __syncwarp();
  for (int column = lane; column < COLUMNS; column += warp_lanes) {
    Value carry = work.at(0, column);
    for (int row = 1; row < ROWS; ++row)
      work.set(row, column, carry = lowered(carry, smooth.slope, work.at(row, column)));
    for (int row = ROWS - 1; row >= 0; --row) {
      if (row < ROWS - 1) carry = lowered(carry, smooth.slope, work.at(row, column));
      to[row * static_cast<int64>(COLUMNS) + column] = static_cast<Stored>(lower(carry, highest) - least);
    }
  }
}

// The message in a direction, computed by a warp in the memory of `work`.
template <class Work>
__device__ __forceinline__ void send(const Work& work, const Incoming& messages, const Stored* data, int direction,
                                     const Smoothness& smooth, Stored* to) {
  Value least = no_limit;
  for (int i = threadIdx.x % warp_lanes; i < labels; i += warp_lanes) {
    Value h = 0;
#pragma unroll
    for (int k = 0; k < directions; ++k)
      if (in_order(k) != direction) h += messages.at(in_order(k), i);
    h += static_cast<Value>(data[i]);
    work.set(i / COLUMNS, i % COLUMNS, h);
    least = lower(least, h);
  }
  finish_message(work, smooth, min_of_warp(least), to);
}

}  // namespace

// One half-sweep: the messages of one colour. `starts`: it is the first one of the level, and `coarser` the
// level before it, if there is one. A block is a pixel, a warp a direction: grid.x = rows, grid.y = pixels of
// one colour in a row.
PARALLAX_KERNEL __launch_bounds__(directions* warp_lanes)
    update(CudaLevel level, CudaLevel coarser, const Value* edges, int colour, int starts) {
  __shared__ Value shared[directions][in_shared_memory ? ROWS * row_values : 1];
  wait_for_previous();
  const Pixel pixel = pixel_of(colour, blockIdx.x, blockIdx.y);
  const int direction = threadIdx.x / warp_lanes;
  if (pixel.x >= level.width ||
      !contains(level, pixel.x + step_x(direction), pixel.y + step_y(direction)))
    return;
  const Smoothness smooth = smoothness(level, edges, pixel.x, pixel.y, direction);
  const Incoming messages = incoming(level, coarser, starts != 0, pixel.x, pixel.y);
  const Stored* data = data_of<elements>(level, pixel.x, pixel.y);
  Stored* to = message_of<elements>(level, pixel.x, pixel.y, direction);
  if constexpr (in_shared_memory)
    send(Values<Value, row_values>{shared[direction]}, messages, data, direction, smooth, to);
  else
    send(Values<Stored, COLUMNS>{to}, messages, data, direction, smooth, to);
}

#endif

namespace {

// The beliefs of a pixel, distributed over the lanes of a warp.
#if PACKED

class PixelBeliefs {
 public:
  // A lane has the labels of a piece of a row.
  __device__ __forceinline__ PixelBeliefs(const Incoming& messages, const Stored* data) {
    for_parts([&](int k, int part) {
      const int end = COLUMNS - first_column(part);
      load_part(data, part, words_[k]);
#pragma unroll
      for (int direction = 0; direction < directions; ++direction) {
        if (messages.from[direction] == nullptr) continue;
        uint32 message[part_words];
        load_part(messages.from[direction], part, message);
#pragma unroll
        for (int word = 0; word < part_words; ++word) words_[k][word] += message[word];
      }
#pragma unroll
      for (int word = 0; word < part_words; ++word) words_[k][word] |= ~bytes_below(end - 4 * word);
    });
  }

  __device__ __forceinline__ Value least() const {
    uint32 least = ~0u;
    for_words([&](int, int, uint32 word) { least = __vminu4(least, word); });
    return min_byte(least);
  }

  // The first label with this belief.
  __device__ __forceinline__ int number_of(Value belief) const {
    int number = labels;
    for_words([&](int column, int row, uint32 word) {
      const uint32 equal = __vcmpeq4(word, belief * 0x01010101u);
      if (equal != 0) number = min(number, row * COLUMNS + column + (__ffs(static_cast<int>(equal)) - 1) / 8);
    });
    return min_of_warp(number);
  }

  // The least of labels more than one away from another.
  __device__ __forceinline__ Value min_beyond(int column, int row) const {
    uint32 least = ~0u;
    for_words([&](int first, int of_row, uint32 word) {
      const uint32 near =
          abs(of_row - row) > 1 ? 0 : bytes_below(column + 2 - first) & ~bytes_below(column - 1 - first);
      least = __vminu4(least, word | near);
    });
    const Value value = min_byte(least);
    return value == 0xFF ? no_limit : value;
  }

 private:
  static constexpr int parts = pieces * ROWS, rounds = (parts + warp_lanes - 1) / warp_lanes, part_words = 4;

  __device__ __forceinline__ static int first_column(int part) { return part / ROWS * piece_columns; }
  __device__ __forceinline__ static void load_part(const Stored* values, int part, uint32 (&words)[part_words]) {
    const uint4 loaded = *reinterpret_cast<const uint4*>(values + part * piece_columns);
    words[0] = loaded.x, words[1] = loaded.y, words[2] = loaded.z, words[3] = loaded.w;
  }

  // Calls action(round, part).
  template <class Action>
  __device__ __forceinline__ static void for_parts(const Action& action) {
#pragma unroll
    for (int k = 0; k < rounds; ++k) {
      const int part = k * warp_lanes + threadIdx.x % warp_lanes;
      if (part < parts) action(k, part);
    }
  }
  // Calls action(first column, row, beliefs of four labels).
  template <class Action>
  __device__ __forceinline__ void for_words(const Action& action) const {
    for_parts([&](int k, int part) {
#pragma unroll
      for (int word = 0; word < part_words; ++word)
        action(first_column(part) + 4 * word, part % ROWS, words_[k][word]);
    });
  }

  // All bits set in the first `bytes` bytes.
  __device__ __forceinline__ static uint32 bytes_below(int bytes) {
    return bytes <= 0 ? 0 : bytes >= 4 ? ~0u : (1u << 8 * bytes) - 1;
  }
  __device__ __forceinline__ static Value min_byte(uint32 word) {
#pragma unroll
    for (int step = warp_lanes / 2; step > 0; step /= 2) word = __vminu4(word, __shfl_xor_sync(all_lanes, word, step));
    word = __vminu4(word, word >> 16 | 0xFFFF0000u);
    return static_cast<Value>(min(word & 0xFF, word >> 8 & 0xFF));
  }

  // All bits are set where there is no label.
  uint32 words_[rounds][part_words];
};

#else

class PixelBeliefs {
 public:
  __device__ __forceinline__ PixelBeliefs(const Incoming& messages, const Stored* data) : all_(Compute{messages, data}) {}

  __device__ __forceinline__ Value least() {
    Value least = no_limit;
    all_.template for_each<false>([&](int, Value value) { least = lower(least, value); });
    return min_of_warp(least);
  }

  // The first label with this belief.
  __device__ __forceinline__ int number_of(Value belief) {
    int number = labels;
    all_.template for_each<true>([&](int i, Value value) {
      if (value == belief) number = min(number, i);
    });
    return min_of_warp(number);
  }

  // The least of labels more than one away from another.
  __device__ __forceinline__ Value min_beyond(int column, int row) {
    Value least = no_limit;
    all_.template for_each<true>([&](int i, Value value) {
      const Label label = label_at(i);
      if (abs(label.column - column) > 1 || abs(label.row - row) > 1) least = lower(least, value);
    });
    return min_of_warp(least);
  }

 private:
  struct Compute {
    Incoming messages;
    const Stored* data;
    __device__ __forceinline__ Value operator()(int i) const { return belief(messages, data, i); }
  };
  OverLanes<labels, Value, Compute> all_;
};

#endif

}  // namespace

// grid.z = 2.
PARALLAX_KERNEL __launch_bounds__(block_warps* warp_lanes) decide(CudaLevel level, CudaMotion to) {
  wait_for_previous();
  const Pixel pixel = pixel_of_warp();
  if (pixel.x >= level.width) return;
  const Incoming messages = incoming(level, level, false, pixel.x, pixel.y);
  const Stored* data = data_of<elements>(level, pixel.x, pixel.y);
  PixelBeliefs beliefs(messages, data);
  const Value least = beliefs.least();
  const int number = beliefs.number_of(least);
  Found found{level.labels.first, number % COLUMNS, number / COLUMNS, static_cast<float>(least)};
  if (wants_neighbours(to)) {
    const Value rival = beliefs.min_beyond(found.column, found.row);
    found.rival = rival == no_limit ? no_value : static_cast<float>(rival);
    // Each of the first lanes has a neighbour.
    const int direction = threadIdx.x % directions;
    const Label beside{found.column + step_x(direction), found.row + step_y(direction)};
    const bool exists = beside.column >= 0 && beside.row >= 0 && beside.exists();
    const float value = exists ? static_cast<float>(belief(messages, data, beside.place())) : no_value;
    found.left = __shfl_sync(all_lanes, value, left_side);
    found.right = __shfl_sync(all_lanes, value, right_side);
    found.above = __shfl_sync(all_lanes, value, above);
    found.below = __shfl_sync(all_lanes, value, below);
  }
  if (threadIdx.x % warp_lanes == 0) write_motion(to, pixel.x, pixel.y, level.width, found);
}
