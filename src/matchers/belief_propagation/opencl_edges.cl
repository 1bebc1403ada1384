// SPDX-License-Identifier: Apache-2.0
// The gray images of coarser levels, and the edges of all levels.
//
// Specialised by PROCESSOR; by EDGE_WORDS and EDGE_ROWS of a group that finds edges.

#define DIRECTIONS 4
#define AVERAGED (PROCESSOR ? 1 : 4)
#define AVERAGE_SIDE 8

// The mean of a pixel's children, rounded; up to four of them exist on a finer level of that size.
INLINE int mean_of_children(const int* children, int x, int y, int width, int height) {
  const int columns = min(2, width - 2 * x), rows = min(2, height - 2 * y), count = rows * columns;
  const int sum = children[0] + (columns > 1 ? children[1] : 0) + (rows > 1 ? children[2] : 0) +
                  (count > 3 ? children[3] : 0);
  return (sum + count / 2) / count;
}

// The gray images of up to AVERAGED coarser levels, from that of the first one; levels that do not exist
// have width 0. A group of AVERAGE_SIDE × AVERAGE_SIDE work items, one for each pixel of the next level,
// computes what is above them; global size z = pairs.
kernel __attribute__((reqd_work_group_size(AVERAGE_SIDE, AVERAGE_SIDE, 1))) void average(
    global uchar* memory, OpenclPairs pairs, OpenclEdgeLevels levels) {
  local ushort means[AVERAGE_SIDE][AVERAGE_SIDE];
  const int u = get_local_id(0), v = get_local_id(1);
  memory += (pairs.first + get_global_id(2)) * pairs.apart;
#pragma unroll
  for (int index = 1; index <= AVERAGED; ++index) {
    const OpenclEdges fine = levels.of[index - 1], level = levels.of[index];
    const int side = AVERAGE_SIDE >> (index - 1), x = get_group_id(0) * side + u,
              y = get_group_id(1) * side + v;
    const bool exists = u < side && v < side && x < level.width && y < level.height;
    int mean = 0;
    if (exists) {
      int children[4];
      for (int i = 0; i < 4; ++i) {
        const int child_x = min(2 * x + i % 2, fine.width - 1), child_y = min(2 * y + i / 2, fine.height - 1);
        children[i] = index == 1
                          ? ((const global ushort*)(memory + fine.gray))[child_y * fine.stride + child_x]
                          : means[min(2 * v + i / 2, AVERAGE_SIDE - 1)][min(2 * u + i % 2, AVERAGE_SIDE - 1)];
      }
      mean = mean_of_children(children, x, y, fine.width, fine.height);
      ((global ushort*)(memory + level.gray))[y * level.stride + x] = mean;
    }
    if (index < AVERAGED) {
      barrier(CLK_LOCAL_MEM_FENCE);
      if (exists) means[v][u] = mean;
      barrier(CLK_LOCAL_MEM_FENCE);
    }
  }
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

// On a GPU, neighbouring work items have neighbouring rows, whose words are neighbours in memory where levels
// have tiles.
#if PROCESSOR
#define EDGE_GROUP __attribute__((reqd_work_group_size(EDGE_WORDS, EDGE_ROWS, 1)))
#define WORD_DIMENSION 0
#else
#define EDGE_GROUP __attribute__((reqd_work_group_size(EDGE_ROWS, EDGE_WORDS, 1)))
#define WORD_DIMENSION 1
#endif

// One work item for each word. Groups in y have the rows of all levels, one after the other; global size z
// = 2 colours of each pair.
kernel EDGE_GROUP void find_edges(global uchar* memory, OpenclPairs pairs, OpenclEdgeLevels levels) {
  const int group = get_group_id(0) * EDGE_WORDS + get_local_id(WORD_DIMENSION);
  const int colour = get_global_id(2) % 2;
  // The level of the group, field by field: see EITHER.
  OpenclEdges level;
  level.height = 0;
  int down = get_group_id(1);
#pragma unroll
  for (int index = 0; index < EDGE_LEVELS; ++index) {
    const int groups = (level.height + EDGE_ROWS - 1) / EDGE_ROWS;
    const bool is_further = index == 0 || down >= groups;
    down -= is_further ? groups : 0;
    level.width = is_further ? levels.of[index].width : level.width;
    level.height = is_further ? levels.of[index].height : level.height;
    level.gray = is_further ? levels.of[index].gray : level.gray;
    level.stride = is_further ? levels.of[index].stride : level.stride;
    level.edges = is_further ? levels.of[index].edges : level.edges;
    level.pitch = is_further ? levels.of[index].pitch : level.pitch;
  }
  const int y = down * EDGE_ROWS + get_local_id(1 - WORD_DIMENSION);
  const int odd = (y + colour) & 1, bits = levels.value_bits, word_pixels = 32 / bits;
  if (2 * group * word_pixels >= level.width || y >= level.height) return;
  const global uint* table = (const global uint*)(memory + levels.table);
  memory += (pairs.first + get_global_id(2) / 2) * pairs.apart;
  const global ushort* row = (const global ushort*)(memory + level.gray) + y * level.stride;
  const global ushort* above = row - (y > 0 ? level.stride : 0);
  const global ushort* below = row + (y + 1 < level.height ? level.stride : 0);
  uint slopes[DIRECTIONS] = {0, 0, 0, 0}, truncations[DIRECTIONS] = {0, 0, 0, 0};
  // Loads without branches, which run at the same time.
#pragma unroll
  for (int p = 0; p < 4; ++p) {
    if (p >= word_pixels) break;
    const int x = 2 * (group * word_pixels + p) + odd, at = min(x, level.width - 1);
    const int own = row[at];
    // There are no image edges beyond the border.
    const int beside[DIRECTIONS] = {above[at], below[at], row[max(at - 1, 0)],
                                    row[min(at + 1, level.width - 1)]};
#pragma unroll
    for (int direction = 0; direction < DIRECTIONS; ++direction) {
      const uint edge = table[x < level.width ? ((int)abs(own - beside[direction]) + 128) / 256 : 0];
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
