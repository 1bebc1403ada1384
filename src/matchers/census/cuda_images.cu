// SPDX-License-Identifier: Apache-2.0
// Census matching on CUDA: makes gray pyramids from the caller's images, and signatures from the pyramids.
//
// Specialised by GRAY_BITS (8, 16), PITCH, COLUMNS and ROWS of the transform's window, SPARSE (every second
// of them), MODIFIED (uses the mean), BITS of a signature, WITH_GRAY (behind the signature), RADIUS (rows
// that the windows of costs reach beyond the image).
#include "matchers/census/cuda_types.h"
#include "devices/cuda/kernel.h"

using namespace parallax::census;
using parallax::cuda::Image;
using parallax::cuda::Mask;

namespace {

#if GRAY_BITS == 8
using Gray = uint8;
using FourGray = uchar4;
#else
using Gray = uint16;
using FourGray = ushort4;
#endif

// A block makes several levels of a tile: means of 2×2 pixels never leave the tile.
constexpr int tile_columns = 128, tile_rows = 16, levels_a_tile = 5;
// Columns per thread: four bytes are one word, the fastest access.
constexpr int columns_a_thread = 4;

struct Tile {
  Gray gray[tile_rows][tile_columns];
  uint8 validity[tile_rows][tile_columns];
};

__device__ int64 pixel_at(int x, int y) {
  return static_cast<int64>(y) * PITCH + x;
}

__device__ bool is_aligned(const void* rows, int64 stride_bytes, int bytes) {
  return ((reinterpret_cast<uint64>(rows) | static_cast<uint64>(stride_bytes)) & (bytes - 1)) == 0;
}

__device__ uint32 gray(const Gray* row, int x, int channels) {
  if (channels == 1) return row[x];
  const Gray* pixel = row + static_cast<int64>(x) * 3;
  return (9797u * pixel[0] + 19234u * pixel[1] + 3737u * pixel[2]) >> 15;
}

// Four pixels of a row; those beyond the image are ignored.
__device__ FourGray take_gray(const Image& image, int width, int x, int y) {
  const auto* row =
      reinterpret_cast<const Gray*>(static_cast<const char*>(image.data) + y * image.stride_bytes);
  if (image.channels == 1 && x + columns_a_thread <= width &&
      is_aligned(image.data, image.stride_bytes, sizeof(FourGray)))
    return *reinterpret_cast<const FourGray*>(row + x);
  const auto value = [&](int i) {
    return static_cast<Gray>(gray(row, min(x + i, width - 1), image.channels));
  };
  return {value(0), value(1), value(2), value(3)};
}

__device__ uchar4 take_validity(const Mask& mask, int width, int x, int y) {
  const uint8* row = mask.data + y * mask.stride;
  const auto value = [&](int i) { return static_cast<uint8>(row[min(x + i, width - 1)] != 0); };
  return {value(0), value(1), value(2), value(3)};
}

// The first of the four columns that this thread has in its block's tile.
struct Place {
  int column, row;  // position in the tile
  int x, y;
};

__device__ Place find_place() {
  constexpr int threads_a_row = tile_columns / columns_a_thread;
  const int column = columns_a_thread * (threadIdx.x % threads_a_row), row = threadIdx.x / threads_a_row;
  return {column, row, static_cast<int>(blockIdx.y) * tile_columns + column,
          static_cast<int>(blockIdx.x) * tile_rows + row};
}

// Makes the levels above level `first` from the tile's part of it.
__device__ void halve_tile(const CudaPyramid& pyramid, int first, int side, bool masked, Tile (&tiles)[2]) {
  for (int step = 1; step < levels_a_tile && first + step < pyramid.count; ++step) {
    const CudaLevel &fine = pyramid.levels[first + step - 1], &level = pyramid.levels[first + step];
    const Tile& from = tiles[(step - 1) % 2];
    Tile& to = tiles[step % 2];
    const int columns = tile_columns >> step, rows = tile_rows >> step;
    const int i = threadIdx.x % columns, j = threadIdx.x / columns;
    const int x = blockIdx.y * columns + i, y = blockIdx.x * rows + j;
    __syncthreads();
    if (j >= rows || x >= level.width || y >= level.height) continue;
    // The border is repeated.
    const int right = 2 * x + 1 < fine.width ? 2 * i + 1 : 2 * i;
    const int below = 2 * y + 1 < fine.height ? 2 * j + 1 : 2 * j;
    const int sum =
        from.gray[2 * j][2 * i] + from.gray[2 * j][right] + from.gray[below][2 * i] + from.gray[below][right];
    to.gray[j][i] = static_cast<Gray>((sum + 2) / 4);
    static_cast<Gray*>(level.gray[side])[pixel_at(x, y)] = to.gray[j][i];
    if (!masked) continue;
    to.validity[j][i] = from.validity[2 * j][2 * i] | from.validity[2 * j][right] |
                        from.validity[below][2 * i] | from.validity[below][right];
    level.validity[side][pixel_at(x, y)] = to.validity[j][i];
  }
}

}  // namespace

// Makes the image's gray values and the levels above. grid.x = tiles of rows, grid.y = tiles of columns,
// grid.z = 2 images.
PARALLAX_KERNEL take(const __grid_constant__ CudaTake take) {
  __shared__ __align__(16) Tile tiles[2];
  wait_for_previous();
  const CudaLevel& level = take.pyramid.levels[0];
  const int side = blockIdx.z;
  const bool masked = take.masks[side].data != nullptr;
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) take.masked[side] = masked;
  const Place place = find_place();
  if (place.x < level.width && place.y < level.height) {
    const FourGray four = take_gray(take.images[side], level.width, place.x, place.y);
    *reinterpret_cast<FourGray*>(&tiles[0].gray[place.row][place.column]) = four;
    *reinterpret_cast<FourGray*>(static_cast<Gray*>(level.gray[side]) + pixel_at(place.x, place.y)) = four;
    if (masked) {
      const uchar4 valid = take_validity(take.masks[side], level.width, place.x, place.y);
      *reinterpret_cast<uchar4*>(&tiles[0].validity[place.row][place.column]) = valid;
      *reinterpret_cast<uchar4*>(level.validity[side] + pixel_at(place.x, place.y)) = valid;
    }
  }
  halve_tile(take.pyramid, 0, side, masked, tiles);
}

// The same, from a level that exists already.
PARALLAX_KERNEL halve(const __grid_constant__ CudaPyramid pyramid, int first, const int* masked_sides) {
  __shared__ __align__(16) Tile tiles[2];
  wait_for_previous();
  const CudaLevel& level = pyramid.levels[first];
  const int side = blockIdx.z;
  const bool masked = masked_sides[side] != 0;
  const Place place = find_place();
  if (place.x < level.width && place.y < level.height) {
    *reinterpret_cast<FourGray*>(&tiles[0].gray[place.row][place.column]) =
        *reinterpret_cast<const FourGray*>(static_cast<const Gray*>(level.gray[side]) +
                                           pixel_at(place.x, place.y));
    if (masked)
      *reinterpret_cast<uchar4*>(&tiles[0].validity[place.row][place.column]) =
          *reinterpret_cast<const uchar4*>(level.validity[side] + pixel_at(place.x, place.y));
  }
  halve_tile(pyramid, first, side, masked, tiles);
}

namespace {

constexpr int words = (BITS + 31) / 32, values = words + WITH_GRAY;
constexpr int reach_x = COLUMNS / 2, reach_y = ROWS / 2;
// Each thread has rows_a_thread pixels of a column; a block has 32×8 threads.
constexpr int lanes = 32, warps = 8, rows_a_thread = 4;
constexpr int block_rows = warps * rows_a_thread;
constexpr int read_rows = block_rows + 2 * reach_y, read_columns = lanes + 2 * reach_x;

using Window = Gray[read_rows][read_columns];

// Whether a pixel of the window, counted from its top left, is a neighbour.
__device__ constexpr bool is_neighbour(int column, int row) {
  return SPARSE ? column % 2 == 0 && row % 2 == 0 : column != reach_x || row != reach_y;
}

__device__ constexpr int number_of(int column, int row) {
  if (SPARSE) return row / 2 * ((COLUMNS + 1) / 2) + column / 2;
  const int number = row * COLUMNS + column;
  return number < reach_y * COLUMNS + reach_x ? number : number - 1;
}

// The value with which the neighbours of a pixel of the window are compared.
__device__ int reference_value(const Window& window, int column, int row) {
  if (!MODIFIED) return window[row][column];
  int sum = 0;
#pragma unroll
  for (int j = -1; j <= 1; ++j)
#pragma unroll
    for (int i = -1; i <= 1; ++i) sum += window[row + j][column + i];
  return sum / 9;
}

__device__ void load_window(const CudaLevel& level, int side, int x, int y, Window& window) {
  const Gray* image = static_cast<const Gray*>(level.gray[side]);
  for (int i = threadIdx.y * lanes + threadIdx.x; i < read_rows * read_columns; i += lanes * warps) {
    const int column = i % read_columns, row = i / read_columns;
    const int u = min(max(x + column - reach_x, 0), level.width - 1),
              v = min(max(y + row - reach_y, 0), level.height - 1);
    window[row][column] = image[pixel_at(u, v)];
  }
}

struct Description {
  uint32 of[values];
};

__device__ void store(const CudaLevel& level, int side, int x, int y, const Description& description) {
  const auto store_row = [&](int row) {
#pragma unroll
    for (int i = 0; i < values; ++i)
      level.signatures[side][(static_cast<int64>(row) * values + i) * PITCH + x] = description.of[i];
  };
  store_row(y);
  for (int i = 1; y == 0 && i <= RADIUS; ++i) store_row(-i);
  for (int i = 1; y == level.height - 1 && i <= RADIUS; ++i) store_row(y + i);
}

}  // namespace

// Signatures of all levels: grid.x = tiles of the levels, one after the other; grid.y = 2 images.
extern "C" __global__ void __launch_bounds__(lanes* warps)
    describe(const __grid_constant__ CudaPyramid pyramid) {
  __shared__ Window window;
  wait_for_previous();
  int index = 0;
  while (static_cast<int>(blockIdx.x) >= pyramid.first_tile[index + 1]) ++index;
  const CudaLevel& level = pyramid.levels[index];
  const int tile = blockIdx.x - pyramid.first_tile[index], tiles_a_row = (level.width + lanes - 1) / lanes;
  const int first_x = tile % tiles_a_row * lanes, first_y = tile / tiles_a_row * block_rows,
            side = blockIdx.y;
  load_window(level, side, first_x, first_y, window);
  __syncthreads();
  const int column = threadIdx.x, row = threadIdx.y * rows_a_thread;
  int references[rows_a_thread];
  uint32 bits[rows_a_thread][words] = {};
#pragma unroll
  for (int p = 0; p < rows_a_thread; ++p)
    references[p] = reference_value(window, column + reach_x, row + p + reach_y);
#pragma unroll
  for (int v = 0; v < rows_a_thread + 2 * reach_y; ++v) {
    int neighbours[COLUMNS];
#pragma unroll
    for (int i = 0; i < COLUMNS; ++i) neighbours[i] = window[row + v][column + i];
#pragma unroll
    for (int p = 0; p < rows_a_thread; ++p)
#pragma unroll
      for (int i = 0; i < COLUMNS; ++i) {
        const int j = v - p;
        if (j < 0 || j >= ROWS || !is_neighbour(i, j)) continue;
        // Shifts in the sign of the difference.
        uint32& word = bits[p][number_of(i, j) / 32];
        word = __funnelshift_l(static_cast<uint32>(references[p] - neighbours[i]), word, 1);
      }
  }
  const int x = first_x + column;
  if (x >= level.width) return;
#pragma unroll
  for (int p = 0; p < rows_a_thread; ++p) {
    const int y = first_y + row + p;
    if (y >= level.height) return;
    Description description;
#pragma unroll
    for (int i = 0; i < words; ++i) {
      const int in_word = min(BITS - 32 * i, 32);
      description.of[i] = __brev(bits[p][i]) >> (32 - in_word);
    }
    if (WITH_GRAY)
      description.of[values - 1] = window[row + p + reach_y][column + reach_x] >> (GRAY_BITS - 8);
    store(level, side, x, y, description);
  }
}
