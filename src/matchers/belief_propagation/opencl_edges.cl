// SPDX-License-Identifier: Apache-2.0
// The gray images of coarser levels, and the edges of all levels.

#define DIRECTIONS 4

// The gray image of a coarser level: one work item per pixel, global size z = pairs.
kernel void average(global uchar* memory, OpenclPairs pairs, long fine, long fine_stride, int width, int height, long coarse,
                    long stride) {
  const int x = get_global_id(0);
  const long y = get_global_id(1);
  if (2 * x >= width) return;
  memory += (pairs.first + get_global_id(2)) * pairs.apart;
  const int columns = min(2, width - 2 * x), rows = min(2, height - 2 * (int)y), children = rows * columns;
  int sum = 0;
  for (int j = 0; j < rows; ++j)
    for (int i = 0; i < columns; ++i)
      sum += ((const global ushort*)(memory + fine))[(2 * y + j) * fine_stride + 2 * x + i];
  ((global ushort*)(memory + coarse))[y * stride + x] = (sum + children / 2) / children;
}

// The slope and the truncation of an edge. There are no image edges beyond the border.
static uint edge_of(const global uchar* memory, const OpenclEdges* level, const global uint* table, int x,
                    int y, int direction) {
  const int u = x + (direction == 3) - (direction == 2), v = y + (direction == 1) - (direction == 0);
  if (x >= level->width || u < 0 || u >= level->width || v < 0 || v >= level->height) return table[0];
  const global ushort* gray = (const global ushort*)(memory + level->gray);
  const int difference = abs((int)gray[y * level->stride + x] - (int)gray[v * level->stride + u]);
  return table[(difference + 128) / 256];
}

// Address of a direction's word of slopes; its word of truncations is `apart` words further.
static global uint* edges_at(global uchar* memory, const OpenclEdges* level, int value_bits, int colour,
                             int y, int group, int direction, long* apart) {
  const int word_pixels = 32 / value_bits;
  const int across = (level->width + 7) / 8, down = (level->height + 7) / 8;
  *apart = level->pitch > 0 ? level->pitch / word_pixels : 8;
  const long row =
      level->pitch > 0 ? (long)colour * level->height + y : ((long)colour * down + y / 8) * across + group;
  const long pair = (row * DIRECTIONS + direction) * 2;
  return (global uint*)(memory + level->edges) + pair * *apart + (level->pitch > 0 ? group : y % 8);
}

// One work item for each word; global size y = rows of all levels, one after the other, z = 2 colours of
// each pair.
kernel void find_edges(global uchar* memory, OpenclPairs pairs, OpenclEdgeLevels levels) {
  const int group = get_global_id(0), colour = get_global_id(2) % 2;
  int y = get_global_id(1);
  // The level of the row, field by field: see EITHER.
  OpenclEdges level;
  level.height = 0;
#pragma unroll
  for (int index = 0; index < EDGE_LEVELS; ++index) {
    const bool is_further = index == 0 || y >= level.height;
    y -= is_further ? level.height : 0;
    level.width = is_further ? levels.of[index].width : level.width;
    level.height = is_further ? levels.of[index].height : level.height;
    level.gray = is_further ? levels.of[index].gray : level.gray;
    level.stride = is_further ? levels.of[index].stride : level.stride;
    level.edges = is_further ? levels.of[index].edges : level.edges;
    level.pitch = is_further ? levels.of[index].pitch : level.pitch;
  }
  const int odd = (y + colour) & 1, bits = levels.value_bits, word_pixels = 32 / bits;
  if (2 * group * word_pixels >= level.width) return;
  const global uint* table = (const global uint*)(memory + levels.table);
  memory += (pairs.first + get_global_id(2) / 2) * pairs.apart;
  // Everything is loaded before the first store, because compilers move no loads across stores.
  uint slopes[DIRECTIONS], truncations[DIRECTIONS];
#pragma unroll
  for (int direction = 0; direction < DIRECTIONS; ++direction) {
    slopes[direction] = truncations[direction] = 0;
    for (int p = 0; p < word_pixels; ++p) {
      const uint edge = edge_of(memory, &level, table, 2 * (group * word_pixels + p) + odd, y, direction);
      slopes[direction] |= (edge & 0xFFFF) << p * bits;
      truncations[direction] |= edge >> 16 << p * bits;
    }
  }
#pragma unroll
  for (int direction = 0; direction < DIRECTIONS; ++direction) {
    long apart;
    global uint* to = edges_at(memory, &level, bits, colour, y, group, direction, &apart);
    to[0] = slopes[direction];
    to[apart] = truncations[direction];
  }
}
