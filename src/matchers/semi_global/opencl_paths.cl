// SPDX-License-Identifier: Apache-2.0
// Path costs.
//
// Paths of a direction are independent chains of pixels. Those that are not horizontal begin in each column of the
// first row; a diagonal one that leaves the image on one side continues on the other as a new path, so all have as
// many pixels as the image has rows. On a GPU, LANES work items follow a chain, with the path costs of the last pixel
// in registers; on a processor, a work item follows CHAINS neighbours, row by row.
//
// With MGM, pixels of a path depend on those beside it. On a GPU, a launch finds the path costs of all directions in one
// front: a diagonal, row or column of pixels that do not depend on each other, where the fronts before it are done. On a
// processor, a work item finds those of a direction, pixel by pixel.
//
// Specialised by CHAINS, AHEAD (pixels whose data costs a GPU loads before they are needed), and by the macros of
// opencl_values.cl.

// Higher than all path costs.
#define NOTHING 0x7FFF

// Path costs of the last pixel of a chain, between those of the labels before and after each lane's.
typedef struct {
  Word of[WORDS + 2];
  ushort least;
} Path;

// A pixel of a chain.
typedef struct {
  long pixel;
  int x, y;
  bool is_first;  // of a path
} Place;

// How chains go on.
typedef struct {
  int x, y, width;
} Way;

INLINE void advance(Place* place, const Way* way) {
  place->pixel += way->y * way->width + way->x;
  place->x += way->x;
  place->y += way->y;
  place->is_first = way->y != 0 && (place->x < 0 || place->x >= way->width);
  if (!place->is_first) return;
  const int back = place->x < 0 ? way->width : -way->width;
  place->x += back;
  place->pixel += back;
}

INLINE Place first_place(const OpenclVolumes* volumes, const Way* way, int chain) {
  Place place;
  place.x = way->y != 0 ? chain : way->x > 0 ? 0 : volumes->width - 1;
  place.y = way->y == 0 ? chain : way->y > 0 ? 0 : volumes->height - 1;
  place.pixel = (long)place.y * volumes->width + place.x;
  place.is_first = true;
  return place;
}

INLINE int gray_at(const global uchar* memory, const OpenclPaths* paths, int x, int y) {
  return ((const global ushort*)(memory + paths->gray))[y * paths->gray_stride + x];
}

// P2 to a pixel; 0 where a path begins: then the last pixel brings nothing.
INLINE ushort large_jump(const global uchar* memory, const OpenclPaths* paths, bool is_first, int gray,
                         int gray_before) {
  if (is_first) return 0;
  if (!paths->has_edges) return paths->large_jump;
  return ((const global ushort*)(memory + paths->large_jumps))[(abs(gray - gray_before) + 128) / 256];
}

INLINE ushort least_of(Word lowest) {
#if PROCESSOR
  return lowest;
#else
  return min(lowest.x, lowest.y);
#endif
}

// L of the next pixel, from its data costs; but those beyond a lane's labels.
INLINE void find_next(const Path* last, const Word* costs, int small_jump, ushort large_jump, Path* next) {
  const Word small = all_of(small_jump), capped = all_of(last->least + large_jump), least = all_of(last->least);
  Word lowest = all_of(NOTHING);
  FOR_WORDS(k) {
    const Word aside = lower(last->of[k], last->of[k + 2]) + small;
    next->of[k + 1] = lower(lower(aside, last->of[k + 1]), capped) - least + costs[k];
    lowest = lower(lowest, next->of[k + 1]);
  }
  next->least = least_of(lowest);
}

// What the lanes of a chain tell each other. Aligned for wide loads.
typedef struct {
  ushort least[LANES], first[LANES], last[LANES];
} __attribute__((aligned(16))) Ends;

#if PROCESSOR

// All labels are in one lane.
INLINE void exchange_ends(local Ends* ends, Path* path) {
  path->of[0] = path->of[WORDS + 1] = NOTHING;
}

INLINE void follow_chains(global uchar* memory, const OpenclVolumes* volumes, const OpenclPaths* paths,
                          const Way* way, long out, int first, int count) {
  Path path[CHAINS][2];
  Place places[CHAINS];
  int grays[CHAINS];
  for (int c = 0; c < count; ++c) {
    for (int parity = 0; parity < 2; ++parity) {
      path[c][parity].least = 0;
      for (int k = 0; k < WORDS; ++k) path[c][parity].of[k + 1] = 0;
      path[c][parity].of[0] = path[c][parity].of[WORDS + 1] = NOTHING;
    }
    places[c] = first_place(volumes, way, first + c);
    grays[c] = 0;
  }
  const int length = way->y == 0 ? volumes->width : volumes->height;
  for (int i = 0; i < length; ++i) {
    for (int c = 0; c < count; ++c) {
      Place* place = &places[c];
      const int gray = gray_at(memory, paths, place->x, place->y);
      Word costs[WORDS];
      load(costs_at(memory, volumes->costs, place->pixel), costs);
      Path* next = &path[c][(i + 1) % 2];
      find_next(&path[c][i % 2], costs, paths->small_jump, large_jump(memory, paths, place->is_first, gray, grays[c]),
                next);
      stream(next->of + 1, costs_at(memory, out, place->pixel));
      grays[c] = gray;
      advance(place, way);
      fetch_ahead(costs_at(memory, volumes->costs, place->pixel));
    }
  }
}

// Groups: x = CHAINS chains, y = paths.
kernel EACH_OF_GROUP void follow(global uchar* memory, OpenclVolumes volumes, OpenclPaths paths) {
  const int path = get_group_id(1), first = CHAINS * get_group_id(0);
  const Way way = {paths.x[path], paths.y[path], volumes.width};
  const int chains = min(CHAINS, (way.y == 0 ? volumes.height : volumes.width) - first);
  const long out = volumes.paths + path * volumes.path_bytes;
  // Horizontal chains are far apart.
  const int together = way.y == 0 ? 1 : CHAINS;
  for (int c = 0; c < chains; c += together)
    follow_chains(memory, &volumes, &paths, &way, out, first + c, min(together, chains - c));
}

#else

INLINE void exchange_ends(local Ends* ends, Path* path) {
  const int lane = own_lane();
  ends->least[lane] = path->least;
  ends->first[lane] = path->of[1].x;
  ends->last[lane] = path->of[WORDS].y;
  barrier(CLK_LOCAL_MEM_FENCE);
  EACH for (int i = 0; i < LANES; ++i) path->least = min(path->least, ends->least[i]);
  const ushort below = lane > 0 ? ends->last[lane - 1] : NOTHING,
               above = lane + 1 < LANES ? ends->first[lane + 1] : NOTHING;
  path->of[0] = (ushort2)(below, path->of[WORDS].x);
  path->of[WORDS + 1] = (ushort2)(path->of[1].y, above);
}

// What a step of a chain reads.
typedef struct {
  Value costs[VALUES];
  int gray;
} Input;

INLINE Input load_input(global uchar* memory, const OpenclVolumes* volumes, const OpenclPaths* paths,
                        const Place* place) {
  Input input;
  load_values(costs_at(memory, volumes->costs, place->pixel), input.costs);
  input.gray = paths->has_edges ? gray_at(memory, paths, place->x, place->y) : 0;
  return input;
}

// Groups: x = GROUP / LANES chains, y = paths. Lanes beyond the last chain repeat it, and do not store.
kernel EACH_OF_GROUP void follow(global uchar* memory, OpenclVolumes volumes, OpenclPaths paths) {
  local Ends ends[2][GROUP / LANES];
  const int number = get_group_id(1), of_group = get_local_id(0) / LANES,
            chain = get_group_id(0) * (GROUP / LANES) + of_group;
  const Way way = {paths.x[number], paths.y[number], volumes.width};
  const int chains = way.y == 0 ? volumes.height : volumes.width,
            length = way.y == 0 ? volumes.width : volumes.height;
  if (chain - of_group >= chains) return;
  const long out = volumes.paths + number * volumes.path_bytes;
  Place here = first_place(&volumes, &way, min(chain, chains - 1)), next = here;
  Input ahead[AHEAD];
  EACH for (int i = 0; i < AHEAD; ++i) {
    ahead[i] = load_input(memory, &volumes, &paths, &next);
    if (i + 1 < length) advance(&next, &way);
  }
  Path path = {{0}, 0};
  int gray = 0;
  for (int i = 0; i < length; ++i) {
    const Input input = ahead[0];
    EACH for (int j = 1; j < AHEAD; ++j) ahead[j - 1] = ahead[j];
    ahead[AHEAD - 1] = load_input(memory, &volumes, &paths, &next);
    if (i + AHEAD + 1 < length) advance(&next, &way);
    const ushort jump = large_jump(memory, &paths, here.is_first, input.gray, gray);
    gray = input.gray;
    Word costs[WORDS];
    unpack(input.costs, costs);
    Path found;
    find_next(&path, costs, paths.small_jump, jump, &found);
    if (chain < chains) store(found.of + 1, costs_at(memory, out, here.pixel));
    exchange_ends(&ends[i % 2][of_group], &found);
    path = found;
    advance(&here, &way);
  }
}

#endif

// MGM

// Path costs of a lane.
INLINE void load_path(global uchar* memory, const OpenclVolumes* volumes, long path_costs, long pixel, local Ends* ends,
                      Path* path) {
  load(costs_at(memory, path_costs, pixel), path->of + 1);
  set_padding(path->of + 1, volumes->labels, NOTHING);
  Word lowest = all_of(NOTHING);
  FOR_WORDS(k) {
    lowest = lower(lowest, path->of[k + 1]);
  }
  path->least = least_of(lowest);
  exchange_ends(ends, path);
}

// T of the pixel a step before another one; 0 where that lies beyond the border.
INLINE void find_brought(global uchar* memory, const OpenclVolumes* volumes, const OpenclPaths* paths, long path_costs,
                         int x, int y, int step_x, int step_y, local Ends* ends, Word* found) {
  int from_x = x - step_x, from_y = y - step_y;
  const bool is_outside = from_x < 0 || from_x >= volumes->width || from_y < 0 || from_y >= volumes->height;
  if (is_outside) {
    from_x = x;
    from_y = y;
  }
  Path from;
  load_path(memory, volumes, path_costs, (long)from_y * volumes->width + from_x, ends, &from);
  const ushort jump = large_jump(memory, paths, is_outside, gray_at(memory, paths, x, y),
                                 gray_at(memory, paths, from_x, from_y));
#if PROCESSOR
  // Compilers vectorise no loop over the neighbours of labels.
  for (int k = 0; k < WORDS; k += 16) {
    const ushort16 aside = min(vload16(0, from.of + k), vload16(0, from.of + k + 2)) + (ushort)paths->small_jump;
    const ushort16 lowest = min(aside, vload16(0, from.of + k + 1));
    vstore16(min(lowest, (ushort)(from.least + jump)) - from.least, 0, found + k);
  }
#else
  Path next;
  Word none[WORDS];
  FOR_WORDS(k) {
    none[k] = 0;
  }
  find_next(&from, none, paths->small_jump, jump, &next);
  FOR_WORDS(k) {
    found[k] = next.of[k + 1];
  }
#endif
}

// Finds the path costs of a pixel.
INLINE void follow_to(global uchar* memory, const OpenclVolumes* volumes, const OpenclPaths* paths, int path, int x,
                      int y, bool is_there, local Ends* ends, local Ends* ends_beside) {
  const int step_x = paths->x[path], step_y = paths->y[path];
  const long path_costs = volumes->paths + path * volumes->path_bytes, pixel = (long)y * volumes->width + x;
  Word along[WORDS], beside[WORDS], costs[WORDS];
  find_brought(memory, volumes, paths, path_costs, x, y, step_x, step_y, ends, along);
  find_brought(memory, volumes, paths, path_costs, x, y, -step_y, step_x, ends_beside, beside);
  load(costs_at(memory, volumes->costs, pixel), costs);
  FOR_WORDS(k) {
    costs[k] += rhadd(along[k], beside[k]);
  }
  if (is_there) store(costs, costs_at(memory, path_costs, pixel));
}

#if PROCESSOR

// Groups: paths.
kernel EACH_OF_GROUP void follow_beside(global uchar* memory, OpenclVolumes volumes, OpenclPaths paths) {
  local Ends none;
  const int path = get_group_id(0);
  // The sum of both steps that lead to a pixel.
  const int way_x = paths.x[path] - paths.y[path], way_y = paths.y[path] + paths.x[path];
  const bool by_columns = way_y == 0;
  const int outer = by_columns ? volumes.width : volumes.height, inner = by_columns ? volumes.height : volumes.width;
  for (int i = 0; i < outer; ++i)
    for (int j = 0; j < inner; ++j) {
      const int x = by_columns ? i : j, y = by_columns ? j : i;
      follow_to(memory, &volumes, &paths, path, way_x < 0 ? volumes.width - 1 - x : x,
                way_y < 0 ? volumes.height - 1 - y : y, true, &none, &none);
    }
}

#else

// The pixel of a front, if it has so many. way_x, way_y: the sum of both steps that lead to a pixel.
INLINE bool find_in_front(const OpenclVolumes* volumes, int way_x, int way_y, int front, int index, int* x, int* y) {
  *x = index;  // in a row
  *y = front;
  if (way_y == 0) {
    *x = front;
    *y = index;
  } else if (way_x != 0) {
    *y = index + max(0, front - (volumes->width - 1));
    *x = front - *y;
  }
  if (way_x < 0) *x = volumes->width - 1 - *x;
  if (way_y < 0) *y = volumes->height - 1 - *y;
  return *x >= 0 && *x < volumes->width && *y >= 0 && *y < volumes->height;
}

// Groups: x = GROUP / LANES pixels of the front, y = paths. Lanes beyond the last pixel work on the first one of the
// image, and do not store.
kernel EACH_OF_GROUP void follow_front(global uchar* memory, OpenclVolumes volumes, OpenclPaths paths, int front) {
  local Ends ends[2][GROUP / LANES];
  const int path = get_group_id(1), step_x = paths.x[path], step_y = paths.y[path], of_group = get_local_id(0) / LANES,
            index = get_group_id(0) * (GROUP / LANES) + of_group;
  int x, y;
  const bool is_there = find_in_front(&volumes, step_x - step_y, step_y + step_x, front, index, &x, &y);
  if (!is_there) x = y = 0;
  follow_to(memory, &volumes, &paths, path, x, y, is_there, &ends[0][of_group], &ends[1][of_group]);
}

#endif
