// SPDX-License-Identifier: Apache-2.0
// Block matching on OpenCL: the search on a GPU, in images of bytes. A work item has a strip of four columns
// and ROWS rows, and takes LABELS labels at a time. For these it goes down the strip: the sums of its columns
// of the windows gain the row that enters and lose the row that leaves. Neighbouring work items exchange
// these sums through local memory, and add them up to windows. The least key of each pixel goes into the
// group's tile in local memory, tiles go into the plane of keys, both by atomic minimum: no order of the
// labels changes the result.
//
// Labels are shifts: base column x is compared with other column x − shift.
//
// Specialised by ROWS (a multiple of WINDOW), PACKED (sums of 16 bits, which share a word with those of the
// next label), LABEL_BITS of a key, SHARES (work items of a group that share the labels of a strip), STRIDE
// of the filtered images in words; and by the macros of lanes.cl and opencl_decision.cl.

#define LANES 32
#define COLUMNS 4
// Work items beside a strip whose columns its windows reach, and work items of a group with full windows.
#define NEIGHBOURS ((WINDOW - 1 + COLUMNS - 1) / COLUMNS)
#define FULL_LANES (LANES - NEIGHBOURS)
#define FULL_COLUMNS (COLUMNS * FULL_LANES)
#define LABELS (PACKED ? 2 : 1)

// A cost and, in the lower bits, its label: the lowest key has the lowest cost; ties go to the lowest label.
#define NO_KEY UINT_MAX
#define LABEL_MASK ((1 << LABEL_BITS) - 1)

typedef struct {
  uint4 sums[SHARES][2][LANES + NEIGHBOURS];  // column sums; rows alternate between two buffers
  uint keys[ROWS][COLUMNS][LANES];
} Shared;

// The first pixel of a work item.
typedef struct {
  int side;
  int x, y;
  int first_x, last_x;  // columns of the group
} Strip;

static Strip own_strip(const OpenclImages* images) {
  const int strips = (images->height + ROWS - 1) / ROWS, z = get_group_id(2);
  const int first_x = (int)get_group_id(0) * FULL_COLUMNS;
  const Strip strip = {z / strips, first_x + COLUMNS * (int)get_local_id(0), z % strips * ROWS, first_x,
                       min(first_x + FULL_COLUMNS, images->width) - 1};
  return strip;
}

// The shifts of a group, and their conversion to labels.
typedef struct {
  int first, last;    // ends of the search range
  int bottom, count;  // chunks of LABELS that lead some pixel of the group into the other image
  int offset, step;   // label = offset + step · shift
} Shifts;

static Shifts shifts_of(const OpenclImages* images, const OpenclSearch* search, const Strip* strip) {
  const int lowest = search->lowest, highest = lowest + search->labels - 1;
  const bool left = strip->side == 0;
  Shifts shifts = {left ? lowest : -highest, left ? highest : -lowest, 0, 0, -lowest, left ? 1 : -1};
  const int least = max(shifts.first, strip->first_x - (images->width - 1));
  const int most = min(shifts.last, strip->last_x);
  shifts.bottom = least & -LABELS;
  if (least <= most) shifts.count = ((most & -LABELS) - shifts.bottom) / LABELS + 1;
  return shifts;
}

// The costs of a row of pixels, or sums of costs, for LABELS labels each.
typedef struct {
  uint of[COLUMNS];
} Sums;

static uint term(uint left, uint right) {
  const uint difference = abs_diff(left, right);
  return METHOD == SAD ? difference : difference * difference;
}

static uint byte_of(ulong bytes, int index) {
  return (uint)(bytes >> 8 * index) & 0xFF;
}

#if defined(__NV_CL_C_VERSION) && METHOD == SAD
// The absolute differences of four bytes. NVIDIA's compiler does not find this instruction.
static uint differences_of(uint left, uint right) {
  uint differences;
  __asm__("vabsdiff4.u32.u32.u32 %0, %1, %2, %3;" : "=r"(differences) : "r"(left), "r"(right), "r"(0));
  return differences;
}

// `there`: bytes of the other image; the upper word has those of shift `first`.
static Sums costs_of_bytes(uint own, ulong there) {
  const uint first = differences_of(own, (uint)(there >> 32)), second = differences_of(own, (uint)(there >> 24));
  Sums costs;
  UNROLLED
  for (int j = 0; j < COLUMNS; ++j)
    costs.of[j] = PACKED ? byte_of(first, j) | byte_of(second, j) << 16 : byte_of(first, j);
  return costs;
}
#else
static Sums costs_of_bytes(uint own, ulong there) {
  Sums costs;
  UNROLLED
  for (int j = 0; j < COLUMNS; ++j) {
    const uint value = byte_of(own, j), first = term(value, byte_of(there, 4 + j));
    costs.of[j] = PACKED ? first | term(value, byte_of(there, 3 + j)) << 16 : first;
  }
  return costs;
}
#endif

// `other`: the word of a chunk's first shift, rounded down to whole words; `bytes`: the remainder.
static Sums costs_of_row(const global uint* base, const global uint* other, int bytes) {
  return costs_of_bytes(base[0], ((ulong)other[0] << 32 | other[-1]) << 8 * bytes);
}

static uint4 to_vector(const uint* of) {
  return (uint4)(of[0], of[1], of[2], of[3]);
}

static void from_vector(uint4 vector, uint* of) {
  of[0] = vector.x, of[1] = vector.y, of[2] = vector.z, of[3] = vector.w;
}

// Sums over windows from sums over columns, which work items exchange.
static Sums windows_of(const Sums* columns, local uint4* sums) {
  const int lane = get_local_id(0);
  sums[lane] = to_vector(columns->of);
  wait_for_lanes();
  uint all[COLUMNS * (NEIGHBOURS + 1)];
  from_vector(to_vector(columns->of), all);
  UNROLLED
  for (int k = 1; k <= NEIGHBOURS; ++k) from_vector(sums[lane + k], all + COLUMNS * k);
  uint sum = 0;
  UNROLLED
  for (int j = 0; j < WINDOW; ++j) sum += all[j];
  Sums windows;
  windows.of[0] = sum;
  UNROLLED
  for (int j = 1; j < COLUMNS; ++j) {
    sum += all[j + WINDOW - 1] - all[j - 1];
    windows.of[j] = sum;
  }
  return windows;
}

// The labels of a work item, and which of them are candidates.
typedef struct {
  int first;    // a shift
  uint wanted;  // a bit for each shift of the search range
  uint inside;  // a bit for each column of the other image, from x − first − (LABELS − 1) on
} Chunk;

// Whether all labels of `count` chunks are candidates of all pixels of a group.
static bool are_candidates(const OpenclImages* images, const OpenclSearch* search, const Strip* strip,
                           const Shifts* shifts, int index, int count) {
  const int first = shifts->bottom + LABELS * index, last = first + LABELS * count - 1;
  return first >= shifts->first && last <= shifts->last && strip->first_x - last >= 0 &&
         strip->last_x - first < images->width && !search->masked[1 - strip->side];
}

static Chunk chunk_at(const OpenclImages* images, const Strip* strip, const Shifts* shifts, int index) {
  Chunk chunk = {shifts->bottom + LABELS * index, 0, 0};
  for (int i = 0; i < LABELS; ++i) {
    const int shift = chunk.first + i;
    chunk.wanted |= (uint)(shift >= shifts->first && shift <= shifts->last) << i;
  }
  for (int i = 0; i < COLUMNS + LABELS - 1; ++i) {
    const int column = strip->x - (chunk.first + LABELS - 1) + i;
    chunk.inside |= (uint)(column >= 0 && column < images->width) << i;
  }
  return chunk;
}

// The columns of Chunk::inside that are valid in a row.
static uint valid_columns(const global uchar* memory, const OpenclImages* images, const OpenclSearch* search,
                          const Strip* strip, const Chunk* chunk, int row) {
  const int other = 1 - strip->side;
  if (!search->masked[other]) return chunk->inside;
  const int y = min(strip->y + row, images->height - 1);
  const global uchar* validity = memory + images->validity[other] + y * images->validity_stride + strip->x -
                                 chunk->first - (LABELS - 1);
  uint valid = 0;
  for (int i = 0; i < COLUMNS + LABELS - 1; ++i)
    if ((chunk->inside >> i & 1) != 0) valid |= (uint)(validity[i] != 0) << i;
  return valid;
}

static bool is_candidate(const Chunk* chunk, uint valid, int label, int column) {
  return (valid >> (column + LABELS - 1 - label) & chunk->wanted >> label & 1) != 0;
}

static uint cost_of(const Sums* windows, int label, int column) {
  const uint cost = windows->of[column];
  return label > 0 ? cost >> 16 : PACKED ? cost & 0xFFFF : cost;
}

// Keeps the least keys of a row of the strip. If `checked`, labels that are no candidates are left out; for
// rivals, also those beside the best ones, which `best` has.
INLINE void keep_least(const Sums* windows, const Chunk* chunk, const Shifts* shifts, bool checked, uint valid,
                       const global uint* best, local uint (*keys)[LANES]) {
  const int lane = get_local_id(0);
  UNROLLED
  for (int j = 0; j < COLUMNS; ++j) {
    uint least = NO_KEY;
    UNROLLED
    for (int i = 0; i < LABELS; ++i) {
      const int label = shifts->offset + shifts->step * (chunk->first + i);
      const bool apart = best == 0 || abs(label - (int)(best[j] & LABEL_MASK)) > 1;
      if (apart && (!checked || is_candidate(chunk, valid, i, j)))
        least = min(least, cost_of(windows, i, j) << LABEL_BITS | (uint)label);
    }
    atomic_min(&keys[j][lane], least);
  }
}

INLINE void sweep(const global uchar* memory, const OpenclImages* images, const OpenclSearch* search,
                  const Strip* strip, const Shifts* shifts, const Chunk* chunk, bool checked, bool rivals,
                  local Shared* shared) {
  const int share = get_local_id(1), x = strip->x - RADIUS, y = strip->y - RADIUS;
  const int bytes = chunk->first & 3;
  const global uint* base = (const global uint*)(memory + images->filtered[strip->side] + x) + (long)y * STRIDE;
  const global uint* other =
      (const global uint*)(memory + images->filtered[1 - strip->side] + x - (chunk->first - bytes)) +
      (long)y * STRIDE;
  const global uint* best =
      (const global uint*)(memory + images->keys[strip->side]) + strip->y * images->key_stride + strip->x;
  Sums sums, ring[WINDOW];
  UNROLLED
  for (int j = 0; j < COLUMNS; ++j) sums.of[j] = 0;
  ring[WINDOW - 1] = sums;
  UNROLLED
  for (int row = 0; row < WINDOW - 1; ++row) {
    ring[row] = costs_of_row(base + row * STRIDE, other + row * STRIDE, bytes);
    UNROLLED
    for (int j = 0; j < COLUMNS; ++j) sums.of[j] += ring[row].of[j];
  }
#pragma unroll 1
  for (int first = 0; first < ROWS; first += WINDOW) {
    UNROLLED
    for (int i = 0; i < WINDOW; ++i) {
      const int row = first + i, entering = WINDOW - 1 + i;
      const Sums costs = costs_of_row(base + entering * STRIDE, other + entering * STRIDE, bytes);
      Sums* leaving = &ring[entering % WINDOW];
      UNROLLED
      for (int j = 0; j < COLUMNS; ++j) sums.of[j] += costs.of[j] - leaving->of[j];
      *leaving = costs;
      const Sums windows = windows_of(&sums, shared->sums[share][row & 1]);
      const uint valid = checked ? valid_columns(memory, images, search, strip, chunk, row) : 0;
      keep_least(&windows, chunk, shifts, checked, valid, rivals ? best + row * images->key_stride : 0,
                 shared->keys[row]);
    }
    base += WINDOW * STRIDE, other += WINDOW * STRIDE;
  }
}

INLINE void search_strip(global uchar* memory, const OpenclImages* images, const OpenclSearch* search,
                         bool rivals, local Shared* shared) {
  const Strip strip = own_strip(images);
  const Shifts shifts = shifts_of(images, search, &strip);
  const int lane = get_local_id(0), shares = get_global_size(1);
  for (int i = get_local_id(1); i < ROWS * COLUMNS; i += SHARES) shared->keys[i / COLUMNS][i % COLUMNS][lane] = NO_KEY;
  barrier(CLK_LOCAL_MEM_FENCE);
  // Work items of a group go through the same number of chunks, because they wait for each other.
  for (int first = (int)get_group_id(1) * SHARES; first < shifts.count; first += shares) {
    const int index = min(first + (int)get_local_id(1), shifts.count - 1);
    const Chunk chunk = chunk_at(images, &strip, &shifts, index);
    if (are_candidates(images, search, &strip, &shifts, first, min(SHARES, shifts.count - first)))
      sweep(memory, images, search, &strip, &shifts, &chunk, false, rivals, shared);
    else
      sweep(memory, images, search, &strip, &shifts, &chunk, true, rivals, shared);
    wait_for_lanes();
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lane >= FULL_LANES) return;
  global uint* keys = (global uint*)(memory + (rivals ? images->rivals : images->keys[strip.side]));
  for (int i = get_local_id(1); i < ROWS * COLUMNS; i += SHARES) {
    const int x = strip.x + i % COLUMNS, y = strip.y + i / COLUMNS;
    if (x < images->width && y < images->height)
      atomic_min(keys + y * images->key_stride + x, shared->keys[i / COLUMNS][i % COLUMNS][lane]);
  }
}

// Finds the best labels of the left image, and of the right one if it is wanted.
kernel __attribute__((reqd_work_group_size(LANES, SHARES, 1))) void find_best(global uchar* memory,
                                                                              OpenclImages images,
                                                                              OpenclSearch search) {
  local Shared shared;
  search_strip(memory, &images, &search, false, &shared);
}

// Finds the best labels of the left image's pixels that are not next to the best.
kernel __attribute__((reqd_work_group_size(LANES, SHARES, 1))) void find_rivals(global uchar* memory,
                                                                                OpenclImages images,
                                                                                OpenclSearch search) {
  local Shared shared;
  search_strip(memory, &images, &search, true, &shared);
}

// Maps from keys.

static const global uchar* filtered_at(const global uchar* memory, const OpenclImages* images, int side, int x,
                                       int y) {
  return memory + images->filtered[side] + (long)y * 4 * STRIDE + x;
}

static uint key_at(const global uchar* memory, const OpenclImages* images, long plane, int x, int y) {
  return ((const global uint*)(memory + plane))[y * images->key_stride + x];
}

static bool is_valid(const global uchar* memory, const OpenclImages* images, int side, int x, int y) {
  return x >= 0 && x < images->width && memory[images->validity[side] + y * images->validity_stride + x] != 0;
}

// Finds the costs of the labels next to the best, if both are candidates.
static void find_neighbours(const global uchar* memory, const OpenclImages* images, const OpenclSearch* search,
                            int x, int y, int label, Costs* costs) {
  const int right_x = x - search->lowest - label;
  if (label == 0 || label + 1 == search->labels || !is_valid(memory, images, 1, right_x + 1, y) ||
      !is_valid(memory, images, 1, right_x - 1, y))
    return;
  const global uchar* left = filtered_at(memory, images, 0, x - RADIUS, y - RADIUS);
  const global uchar* right = filtered_at(memory, images, 1, right_x - RADIUS, y - RADIUS);
  costs->before = costs->after = 0;
  for (int j = 0; j < WINDOW; ++j, left += 4 * STRIDE, right += 4 * STRIDE) {
    UNROLLED
    for (int i = 0; i < WINDOW; ++i) {
      costs->before += term(left[i], right[i + 1]);
      costs->after += term(left[i], right[i - 1]);
    }
  }
}

static bool is_textureless(const global uchar* memory, const OpenclImages* images, int threshold, int x, int y) {
  const global uchar* from = memory + images->responses + (long)(y - RADIUS) * 4 * STRIDE + x - RADIUS;
  uint sum = 0;
  for (int j = 0; j < WINDOW; ++j, from += 4 * STRIDE)
    for (int i = 0; i < WINDOW; ++i) sum += abs_diff((int)from[i], images->cap);
  return sum < (uint)threshold;
}

static void decide_left(global uchar* memory, const OpenclImages* images, const OpenclSearch* search,
                        const Map* map, int x, int y, uint key) {
  const int label = key & LABEL_MASK;
  const uint rival = images->rivals >= 0 ? key_at(memory, images, images->rivals, x, y) : NO_KEY;
  Costs costs = {key == NO_KEY ? NO_COST : key >> LABEL_BITS, NO_COST, NO_COST,
                 rival == NO_KEY ? NO_COST : rival >> LABEL_BITS};
  const bool valid = is_valid(memory, images, 0, x, y);
  const bool textureless = TEXTURE && is_textureless(memory, images, search->texture_threshold, x, y);
  const uchar status = status_of(&costs, valid, textureless);
  if (SUB_PIXEL != NO_SUB_PIXEL && status == MATCHED)
    find_neighbours(memory, images, search, x, y, label, &costs);
  memory[map->status + y * map->status_stride + x] = status;
  ((global float*)(memory + map->disparity))[y * map->stride + x] =
      status == MATCHED ? refined(&costs, search->lowest + label) : NO_VALUE;
  if (map->confidence >= 0)
    ((global float*)(memory + map->confidence))[y * map->confidence_stride + x] = confidence_of(&costs, valid);
}

// One work item per pixel of the left map, and of the right map if it is wanted.
kernel void decide(global uchar* memory, OpenclImages images, OpenclSearch search, Map map) {
  const int x = get_global_id(0), y = get_global_id(1), side = get_global_id(2);
  if (x >= images.width) return;
  const uint key = key_at(memory, &images, images.keys[side], x, y);
  if (side == 0) {
    decide_left(memory, &images, &search, &map, x, y, key);
    return;
  }
  ((global float*)(memory + search.right))[y * search.right_stride + x] =
      key != NO_KEY && is_valid(memory, &images, 1, x, y) ? (float)(search.lowest + (int)(key & LABEL_MASK))
                                                          : NO_VALUE;
}
