// SPDX-License-Identifier: Apache-2.0
// Path costs.
//
// Paths of a direction are independent chains of pixels. Chains that are not horizontal begin in each column
// of the first row; a diagonal chain that leaves the image on one side continues on the other as a new path,
// so all have as many pixels as the image has rows. On a GPU, LANES work items follow a chain, with the path
// costs of the last pixel in registers; on a processor, a work item follows CHAINS neighbours, row by row.
//
// With MGM, pixels of a path depend on those beside it. On a GPU, a launch finds the path costs of all
// directions in one front: a diagonal, row or column of pixels that do not depend on each other, once the
// previous fronts are done. On a processor, a work item finds the path costs of a direction, pixel by pixel.
//
// Specialised by EDGES (0 = the same P2 everywhere), CHAINS, AHEAD (pixels whose data costs a GPU loads
// before they are needed, even), and by the macros of opencl_values.cl.

// Higher than all path costs.
#define NOTHING 0x7FFF

// Path costs of the last pixel of a chain, between the costs of the labels before and after each lane's
// labels.
typedef struct {
  Word of[WORDS + 2];
  Word least;  // repeated in all values of the word
} Path;

INLINE int gray_at(const global uchar* memory, const OpenclPaths* paths, int x, int y) {
  return ((const global ushort*)(memory + paths->gray))[y * paths->gray_stride + x];
}

// P2 to a pixel; 0 where a path begins, because the last pixel then contributes nothing.
INLINE Word large_jump(const global uchar* memory, const OpenclPaths* paths, bool is_first, int gray, int gray_before) {
  if (is_first) return 0;
  if (!EDGES) return all_of(paths->large_jump);
  return all_of(((const global ushort*)(memory + paths->large_jumps))[(abs(gray - gray_before) + 128) / 256]);
}

INLINE Word min_word(const Word* words) {
  Word least = all_of(NOTHING);
  EACH for (int k = 0; k < WORDS; k += 2) least = lower(least, lower(words[k], words[k + 1]));
  return least;
}

// L of the next pixel, from its data costs. Other lanes complete the labels beyond this lane's, and `least`.
INLINE void find_next(const Path* last, const Word* costs, int small_jump, Word large_jump, Path* next) {
  const Word small = all_of(small_jump), capped = last->least + large_jump;
  FOR_WORDS(k) {
    const Word aside = lower_of_sum(lower(last->of[k], last->of[k + 2]), small, last->of[k + 1]);
    next->of[k + 1] = lower(aside, capped) - last->least + costs[k];
  }
  next->least = min_word(next->of + 1);
}

// Costs that the lanes of a chain exchange. Aligned for wide loads.
typedef struct {
  Word least[LANES], first[LANES], last[LANES];
} __attribute__((aligned(16))) Ends;

#if PROCESSOR

// A pixel of a chain.
typedef struct {
  long pixel;
  int x, y;
  bool is_first;  // whether a path begins here
} Place;

// The steps of chains.
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

// Nothing to exchange: all labels are in one lane.
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
kernel EACH_OF_GROUP void follow(global uchar* memory, OpenclVolumes volumes, OpenclPaths paths, int first_path) {
  const int path = first_path + (int)get_group_id(1), first = CHAINS * get_group_id(0);
  const Way way = {paths.x[path], paths.y[path], volumes.width};
  const int chains = min(CHAINS, (way.y == 0 ? volumes.height : volumes.width) - first);
  const long out = volumes.paths + path * volumes.path_bytes;
  // Horizontal chains are far apart.
  const int together = way.y == 0 ? 1 : CHAINS;
  for (int c = 0; c < chains; c += together)
    follow_chains(memory, &volumes, &paths, &way, out, first + c, min(together, chains - c));
}

#else

// Completes a lane's path costs with those of other lanes.
INLINE void exchange_ends(local Ends* ends, Path* path) {
  const int lane = own_lane();
#if NVIDIA
  Word below = from_lane_before(path->of[WORDS], 1), above = from_lane_after(path->of[1], 1);
  OVER_LANES(lower, path->least, ends)
#else
  ends->least[lane] = path->least;
  ends->first[lane] = path->of[1];
  ends->last[lane] = path->of[WORDS];
  barrier(CLK_LOCAL_MEM_FENCE);
  EACH for (int i = 0; i < LANES; ++i) path->least = lower(path->least, ends->least[i]);
  Word below = ends->last[max(lane - 1, 0)], above = ends->first[min(lane + 1, LANES - 1)];
#endif
  if (lane == 0) below = all_of(NOTHING);
  if (lane == LANES - 1) above = all_of(NOTHING);
  path->of[0] = bytes_of(below, path->of[WORDS], 0x5432);
  path->of[WORDS + 1] = bytes_of(path->of[1], above, 0x5432);
  path->least = lower(path->least, swapped_halves(path->least));
}

// A pixel of a chain.
typedef struct {
  long costs;     // index in a volume: a lane's costs
  int gray;       // index in the gray image
  int to_go;      // pixels until a diagonal path leaves the image
  bool is_first;  // whether a path begins here
} Place;

// The steps of chains.
typedef struct {
  long costs;            // to the next pixel
  int gray;
  long costs_back;       // to the other side of the image, where a diagonal path leaves it
  int gray_back, width;
} Way;

INLINE void advance(Place* place, const Way* way, bool is_diagonal) {
  place->costs += way->costs;
  place->gray += way->gray;
  place->is_first = is_diagonal && --place->to_go == 0;
  if (!place->is_first) return;
  place->costs -= way->costs_back;
  place->gray -= way->gray_back;
  place->to_go = way->width;
}

// A chain of pixels. Lanes beyond the last chain repeat it, and do not store.
typedef struct {
  Way way;
  Place first;
  int length;
  bool exists;
  const global Value* costs;
  const global ushort* gray;
  global Value* out;
} Chain;

INLINE Chain find_chain(global uchar* memory, const OpenclVolumes* volumes, const OpenclPaths* paths, int path,
                        int index) {
  const int step_x = paths->x[path], step_y = paths->y[path], width = volumes->width, height = volumes->height;
  const int chains = step_y == 0 ? height : width, shown = min(index, chains - 1);
  const int x = step_y != 0 ? shown : step_x > 0 ? 0 : width - 1,
            y = step_y == 0 ? shown : step_y > 0 ? 0 : height - 1;
  const long pixel = LANES * VALUES;
  const int stride = paths->gray_stride;
  Chain chain;
  chain.way.costs = (step_y * width + step_x) * pixel;
  chain.way.gray = step_y * stride + step_x;
  chain.way.costs_back = step_x * width * pixel;
  chain.way.gray_back = step_x * width;
  chain.way.width = width;
  chain.first.costs = ((long)y * width + x) * pixel + own_lane() * VALUES;
  chain.first.gray = y * stride + x;
  chain.first.to_go = step_x > 0 ? width - x : x + 1;
  chain.first.is_first = true;
  chain.length = step_y == 0 ? width : height;
  chain.exists = index < chains;
  chain.costs = (const global Value*)(memory + volumes->costs);
  chain.gray = (const global ushort*)(memory + paths->gray);
  chain.out = (global Value*)(memory + volumes->paths + path * volumes->path_bytes);
  return chain;
}

// The inputs of a step of a chain.
typedef struct {
  Value costs[VALUES];
  int gray;
} Input;

INLINE Input load_input(const Chain* chain, const Place* place) {
  Input input;
  load_values(chain->costs + place->costs, input.costs);
  input.gray = EDGES ? chain->gray[place->gray] : 0;
  return input;
}

// A chain that is being followed.
typedef struct {
  Place here, to_load;
  Input ahead[AHEAD];  // pixel i is element i % AHEAD
  Path path;
  Word jump;  // P2 to the next pixel
} Walk;

// `number`: the pixel's number, modulo AHEAD; `loads`: whether there is a pixel AHEAD later.
INLINE void follow_to_next(const global uchar* memory, const OpenclPaths* paths, const Chain* chain, bool is_diagonal,
                           int number, bool loads, local Ends* ends, Walk* walk) {
  Word costs[WORDS];
  unpack(walk->ahead[number].costs, costs);
  const int gray = walk->ahead[number].gray;
  if (loads) {
    walk->ahead[number] = load_input(chain, &walk->to_load);
    advance(&walk->to_load, &chain->way, is_diagonal);
  }
  const Word jump = walk->here.is_first ? 0 : walk->jump;
  // Loaded a step before it is needed.
  walk->jump = large_jump(memory, paths, false, walk->ahead[(number + 1) % AHEAD].gray, gray);
  Path next;
  find_next(&walk->path, costs, paths->small_jump, jump, &next);
  if (chain->exists) stream(next.of + 1, chain->out + walk->here.costs);
  exchange_ends(ends, &next);
  walk->path = next;
  advance(&walk->here, &chain->way, is_diagonal);
}

// `ends`: two of them, for the group's chains.
INLINE void follow_chain(const global uchar* memory, const OpenclPaths* paths, const Chain* chain, bool is_diagonal,
                         local Ends (*ends)[GROUP / LANES]) {
  const int of_group = get_local_id(0) / LANES, length = chain->length;
  Walk walk = {chain->first, chain->first};
  EACH for (int i = 0; i < AHEAD; ++i) {
    walk.ahead[i] = load_input(chain, &walk.to_load);
    if (i + 1 < length) advance(&walk.to_load, &chain->way, is_diagonal);
  }
  int first = 0;
  // Separate from the last pixels, because compilers wait for conditional loads.
  for (; first + 2 * AHEAD <= length; first += AHEAD) {
    EACH for (int j = 0; j < AHEAD; ++j)
        follow_to_next(memory, paths, chain, is_diagonal, j, true, &ends[j % 2][of_group], &walk);
  }
  for (; first < length; first += AHEAD) {
    EACH for (int j = 0; j < AHEAD; ++j) {
      if (first + j < length)
        follow_to_next(memory, paths, chain, is_diagonal, j, first + j + AHEAD < length, &ends[j % 2][of_group], &walk);
    }
  }
}

// Groups: x = GROUP / LANES chains, y = paths from `first` on.
kernel EACH_OF_GROUP void follow(global uchar* memory, OpenclVolumes volumes, OpenclPaths paths, int first) {
  local Ends ends[2][GROUP / LANES];
  const int path = first + (int)get_group_id(1),
            index = get_group_id(0) * (GROUP / LANES) + get_local_id(0) / LANES;
  const Chain chain = find_chain(memory, &volumes, &paths, path, index);
  if (index - (int)get_local_id(0) / LANES >= (paths.y[path] == 0 ? volumes.height : volumes.width)) return;
  if (paths.x[path] != 0 && paths.y[path] != 0)
    follow_chain(memory, &paths, &chain, true, ends);
  else
    follow_chain(memory, &paths, &chain, false, ends);
}

#endif

// MGM

INLINE void load_path(global uchar* memory, const OpenclVolumes* volumes, long path_costs, long pixel, local Ends* ends,
                      Path* path) {
  load(costs_at(memory, path_costs, pixel), path->of + 1);
  set_padding(path->of + 1, volumes->labels, NOTHING);
  path->least = min_word(path->of + 1);
  exchange_ends(ends, path);
}

// T of the pixel a step before another one; 0 beyond the border.
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
  const Word jump = large_jump(memory, paths, is_outside, gray_at(memory, paths, x, y),
                                 gray_at(memory, paths, from_x, from_y));
#if PROCESSOR
  // Compilers do not vectorise loops over the neighbours of labels.
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
    costs[k] += mean(along[k], beside[k]);
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

// Finds the pixel `index` of a front; false if it has fewer. way_x, way_y: the sum of both steps that lead to
// a pixel.
INLINE bool find_in_front(const OpenclVolumes* volumes, int way_x, int way_y, int front, int index, int* x, int* y) {
  *x = index;  // fronts are rows
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

// Groups: x = GROUP / LANES pixels of the front, y = paths. Lanes beyond the last pixel work on the image's
// first pixel, and do not store.
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
