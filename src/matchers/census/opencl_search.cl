// SPDX-License-Identifier: Apache-2.0
// Census matching on OpenCL: functions shared by the searches of opencl_tiles.cl and opencl_strips.cl.
//
// Specialised by PLANES (see OpenclLevel), WORDS of a signature, WITH_GRAY (for AD-census), WINDOW, SUB_PIXEL
// (a SubPixel).

// Used for functions in which an argument determines the shape of a loop.
#define RADIUS (WINDOW / 2)
#define NO_DISPARITY INT_MIN
// No pixel has this cost or this label.
#define NO_COST 0xFFFF
#define NO_LABEL 0xFFFF

// The column of the other image with which a column is compared.
static int other_column(int x, int disparity, int side) {
  return side == 0 ? x - disparity : x + disparity;
}

// Labels from `first` on, `count` of them.
typedef struct {
  int first, count;
} Labels;

// The labels for which a pixel is searched, from the estimates of the level above.
static Labels labels_around(const global uchar* memory, const OpenclSearch* search, int side, int x, int y) {
  const OpenclLevel* above = &search->above;
  int lowest = INT_MAX, highest = NO_DISPARITY;
  for (int j = -1; j <= 1; ++j) {
    const global int* row = (const global int*)(memory + above->disparities[side]) +
                            clamp(y / 2 + j, 0, above->height - 1) * above->stride;
    for (int i = -1; i <= 1; ++i) {
      const int estimate = row[clamp(x / 2 + i, 0, above->width - 1)];
      lowest = min(lowest, estimate == NO_DISPARITY ? INT_MAX : estimate);
      highest = max(highest, estimate);
    }
  }
  Labels labels = {0, 0};
  if (highest == NO_DISPARITY) return labels;
  labels.first = max(2 * lowest - search->search_radius - search->lowest, 0);
  labels.count = max(
      min(2 * highest + search->search_radius - search->lowest, search->labels - 1) - labels.first + 1, 0);
  return labels;
}

static const global uchar* validity_at(const global uchar* memory, const OpenclLevel* level, int side, int x,
                                       int y) {
  return memory + level->validity[side] + y * level->stride + x;
}

// The result of a pixel of the image. Costs are NO_COST if they do not exist.
typedef struct {
  int label;  // or NO_LABEL
  int best, before, after, rival;
} Found;

static bool is_ambiguous(const Found* found, int uniqueness) {
  return uniqueness > 0 && found->rival != NO_COST &&
         found->rival <= found->best + found->best * uniqueness / 100;
}

static float refined(int disparity, const Found* found) {
  const int before = found->before, best = found->best, after = found->after;
  const float integer = (float)disparity;
  if (!SUB_PIXEL || before == NO_COST || after == NO_COST || before < best || after < best ||
      (before == best && after == best))
    return integer;
  return integer + SUB_PIXEL_OFFSET(SUB_PIXEL, before, best, after);
}

// See confidence.h.
static float confidence_of(const Found* found) {
  if (found->rival == NO_COST) return 1.0f;
  return found->rival == 0 ? 0.0f : quotient((float)(found->rival - found->best), (float)found->rival);
}

// Whether the image itself is searched, for the left map.
static bool makes_map(const OpenclSearch* search, int side) {
  return search->is_image && side == 0;
}

static bool needs_rivals(const OpenclSearch* search, const Map* map) {
  return search->uniqueness > 0 || map->confidence >= 0;
}

static void store_left(global uchar* memory, const OpenclSearch* search, const Map* map, int x, long y,
                       bool valid, const Found* found) {
  const bool has_label = valid && found->label != NO_LABEL;
  const uchar status = !valid                                    ? INPUT_MASKED
                       : !has_label                              ? OUT_OF_RANGE
                       : is_ambiguous(found, search->uniqueness) ? AMBIGUOUS
                                                                 : MATCHED;
  memory[map->status + y * map->status_stride + x] = status;
  ((global float*)(memory + map->disparity))[y * map->stride + x] =
      status == MATCHED ? refined(search->lowest + found->label, found) : NO_VALUE;
  if (map->confidence >= 0)
    ((global float*)(memory + map->confidence))[y * map->confidence_stride + x] =
        has_label ? confidence_of(found) : 0.0f;
}

static void store(global uchar* memory, const OpenclSearch* search, const Map* map, int side, int x, long y,
                  bool valid, const Found* found) {
  const bool has_label = valid && found->label != NO_LABEL;
  const int disparity = search->lowest + found->label;
  if (!search->is_image)
    ((global int*)(memory + search->level.disparities[side]))[y * search->level.stride + x] =
        has_label ? disparity : NO_DISPARITY;
  else if (side == 0)
    store_left(memory, search, map, x, y, valid, found);
  else
    ((global float*)(memory + search->right))[y * search->right_stride + x] =
        has_label ? (float)disparity : NO_VALUE;
}
