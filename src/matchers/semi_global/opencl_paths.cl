// SPDX-License-Identifier: Apache-2.0
// Path costs.
//
// Paths of a direction are independent chains of pixels. Those that are not horizontal begin in each column of the
// first row; a diagonal one that leaves the image on one side continues on the other as a new path, so all have as
// many pixels as the image has rows. On a GPU, LANES work items follow a chain, with the path costs of the last pixel
// in registers; on a processor, a work item follows CHAINS neighbours, row by row.
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

INLINE int gray_at(const global uchar* memory, const OpenclPaths* paths, const Place* place) {
  return ((const global ushort*)(memory + paths->gray))[place->y * paths->gray_stride + place->x];
}

// P2 to a pixel; 0 where a path begins: then the last pixel brings nothing.
INLINE ushort large_jump(const global uchar* memory, const OpenclPaths* paths, const Place* place, int gray,
                         int gray_before) {
  if (place->is_first) return 0;
  if (!paths->has_edges) return paths->large_jump;
  return ((const global ushort*)(memory + paths->large_jumps))[(abs(gray - gray_before) + 128) / 256];
}

// L of the next pixel, from its data costs; but those beyond a lane's labels.
INLINE void find_next(const Path* last, const Word* costs, int small_jump, ushort large_jump, Path* next) {
  const Word small = all_of(small_jump), capped = all_of(last->least + large_jump),
             least = all_of(last->least);
  Word lowest = all_of(NOTHING);
  FOR_WORDS(k) {
    const Word aside = lower(last->of[k], last->of[k + 2]) + small;
    next->of[k + 1] = lower(lower(aside, last->of[k + 1]), capped) - least + costs[k];
    lowest = lower(lowest, next->of[k + 1]);
  }
#if PROCESSOR
  next->least = lowest;
#else
  next->least = min(lowest.x, lowest.y);
#endif
}

#if PROCESSOR

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
      const int gray = gray_at(memory, paths, place);
      Word costs[WORDS];
      load(costs_at(memory, volumes->costs, place->pixel), costs);
      Path* next = &path[c][(i + 1) % 2];
      find_next(&path[c][i % 2], costs, paths->small_jump, large_jump(memory, paths, place, gray, grays[c]),
                next);
      store(next->of + 1, costs_at(memory, out, place->pixel));
      grays[c] = gray;
      advance(place, way);
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

// What the lanes of a chain tell each other. Aligned for wide loads.
typedef struct {
  ushort least[LANES], first[LANES], last[LANES];
} __attribute__((aligned(16))) Ends;

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
  input.gray = paths->has_edges ? gray_at(memory, paths, place) : 0;
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
    const ushort jump = large_jump(memory, &paths, &here, input.gray, gray);
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
