// SPDX-License-Identifier: Apache-2.0
// The step from path costs to disparities. A group adds up the path costs of neighbours in a row, decides,
// and offers their sums, or only the decided ones, to the right pixels that labels lead to. On a processor, a
// work item has a row.
//
// Specialised by PATHS, SEGMENT (pixels of a group whose sums it keeps), and by the macros of
// opencl_values.cl.

// Higher than all sums.
#define NONE 0xFFFF

#if PROCESSOR

INLINE void add_up_paths(global uchar* memory, const OpenclVolumes* volumes, long pixel, Word* sums) {
  FOR_WORDS(k) {
    sums[k] = 0;
  }
  for (int path = 0; path < PATHS; ++path) {
    Word costs[WORDS];
    load(costs_at(memory, volumes->paths + path * volumes->path_bytes, pixel), costs);
    FOR_WORDS(k) {
      sums[k] += costs[k];
    }
  }
}

INLINE void keep(const Word* sums, bool is_matched, local ushort* kept) {
  FOR_LABELS(k) {
    kept[k] = is_matched ? sums[k] : NONE;
  }
}

#else

// The number of paths whose costs are loaded together.
#define AT_ONCE (VALUES <= 4 ? 8 : 4)

INLINE void add_up_paths(global uchar* memory, const OpenclVolumes* volumes, long pixel, Word* sums) {
  FOR_WORDS(k) {
    sums[k] = 0;
  }
  EACH for (int first = 0; first < PATHS; first += AT_ONCE) {
    Value loaded[AT_ONCE][VALUES];
    EACH for (int i = 0; i < AT_ONCE; ++i) {
      if (first + i < PATHS)
        load_values(costs_at(memory, volumes->paths + (first + i) * volumes->path_bytes, pixel), loaded[i]);
    }
    EACH for (int i = 0; i < AT_ONCE; ++i) {
      if (first + i >= PATHS) continue;
      Word costs[WORDS];
      unpack(loaded[i], costs);
      FOR_WORDS(k) {
        sums[k] += costs[k];
      }
    }
  }
}

INLINE void keep(const Word* sums, bool is_matched, local ushort* kept) {
  const uint none = both_halves(NONE);
  local uint* to = (local uint*)(kept + first_label());
  EACH for (int k = 0; k < WORDS; k += 2) {
    to[k / 2] = is_matched ? bytes_of(sums[k], sums[k + 1], 0x5410) : none;
    to[(k + WORDS) / 2] = is_matched ? bytes_of(sums[k], sums[k + 1], 0x7632) : none;
  }
}

#endif

// The lowest sum, with its label in the lower half: ties go to the lowest label.
INLINE uint find_best(const Word* sums, int labels) {
  uint best = ~0u;
  FOR_LABELS(k) {
    const uint label = first_label() + k;
    const uint own = (uint)cost_of_label(sums, k) << 16 | label;
    best = min(best, label < (uint)labels ? own : ~0u);
  }
  return best;
}

// The lowest sum of labels more than one away from `best`.
INLINE uint find_rival(const Word* sums, int labels, int best) {
  ushort rival = NONE;
  FOR_LABELS(k) {
    const ushort label = first_label() + k, apart = label - best + 1;
    const ushort own = apart > 2 && label < (ushort)labels ? cost_of_label(sums, k) : NONE;
    rival = own < rival ? own : rival;
  }
  return rival;
}

static bool is_ambiguous(const Beliefs* sums, int uniqueness) {
  return sums->rival < INFINITY && sums->rival * (float)(100 - uniqueness) < sums->best * 100.0f;
}

static void write_pixel(global uchar* memory, const OpenclSums* sums, const OpenclDecision* to, int width,
                        int x, int y, const Beliefs* found) {
  write_decision(memory, to, width, x, y, found);
  const bool is_matched = memory[to->before + y * to->before_stride + x] == MATCHED;
  if (sums->uniqueness == 0 || !is_matched || !is_ambiguous(found, sums->uniqueness)) return;
  ((global float*)(memory + to->disparity))[y * to->stride + x] = NO_VALUE;
  memory[to->status + y * to->status_stride + x] = AMBIGUOUS;
}

// Offers a sum and its label to a right pixel.
INLINE void offer(global uint* right, int x, int width, uint offered) {
  if (x < 0 || x >= width) return;
#if PROCESSOR
  right[x] = min(right[x], offered);
#else
  if (offered < right[x]) atomic_min(right + x, offered);
#endif
}

// Decides pixel x of row y, and keeps its sums: NONE where it is undecided. Returns find_best().
INLINE uint decide_pixel(global uchar* memory, const OpenclVolumes* volumes, const OpenclSums* sums,
                         const OpenclDecision* to, int x, int y, bool writes, local uint (*shared)[GROUP],
                         local ushort* kept) {
  const bool is_matched = memory[to->before + y * to->before_stride + x] == MATCHED;
  Word own[WORDS];
  add_up_paths(memory, volumes, (long)y * volumes->width + x, own);
  keep(own, is_matched, kept);
  if (LANES > 1) wait_for_lanes();
  uint best = find_best(own, volumes->labels), rival = NONE;
  OVER_LANES(min, best, shared[0])
  const int label = best & 0xFFFF;
  if (sums->wants_rival) {
    rival = find_rival(own, volumes->labels, label);
    OVER_LANES(min, rival, shared[1])
  }
  if (own_lane() == 0 && writes) {
    const Beliefs found = {label, kept[max(label - 1, 0)], best >> 16, kept[min(label + 1, PITCH - 1)],
                           rival == NONE ? INFINITY : (float)rival};
    write_pixel(memory, sums, to, volumes->width, x, y, &found);
  }
  return is_matched ? best : ~0u;
}

#if PROCESSOR

INLINE void offer_sums(global uint* right, const OpenclVolumes* volumes, int x, const local ushort* kept) {
  const int first = max(0, x - (volumes->width - 1)), end = min(volumes->labels, x + 1);
  for (int k = first; k < end; ++k) right[x - k] = min(right[x - k], (uint)kept[k] << 16 | (uint)k);
}

// y = rows.
kernel EACH_OF_GROUP void decide(global uchar* memory, OpenclVolumes volumes, OpenclSums sums,
                                 OpenclDecision to) {
  local ushort kept[PITCH];
  local uint shared[2][GROUP];
  const int y = get_group_id(1), width = volumes.width;
  global uint* right = (global uint*)(memory + sums.right) + (long)y * width;
  for (int x = 0; x < width; ++x) {
    const uint best = decide_pixel(memory, &volumes, &sums, &to, x, y, true, shared, kept);
    const int reached = x - to.min_disparity;
    if (sums.right < 0 || best == ~0u) continue;
    if (sums.only_winners)
      offer(right, reached - (int)(best & 0xFFFF), width, best);
    else
      offer_sums(right, &volumes, reached, kept);
  }
}

#else

// The distance between the sums of neighbours, which puts them in different banks.
#define KEPT_PITCH (PITCH + 2)

// The sums of the group that lead to the same right pixel lie on a diagonal. `first_right`: the right pixel
// of the first pixel and the last label.
INLINE void offer_sums(global uint* right, const OpenclVolumes* volumes, int pixels, int first_right,
                       local ushort (*kept)[KEPT_PITCH]) {
  const int last = volumes->labels - 1;
  for (int i = get_local_id(0); i < pixels + last; i += GROUP) {
    const int first = max(0, i - last), count = min(pixels, i + 1) - first, label = first + last - i;
    const local ushort* sum = kept[first] + label;
    uint best = ~0u;
#pragma unroll 8
    for (int p = 0; p < count; ++p) best = min(best, (uint)sum[p * (KEPT_PITCH + 1)] << 16 | (uint)p);
    if (best < (uint)NONE << 16) offer(right, first_right + i, volumes->width, best + label);
  }
}

// Groups: x = segments of a row, y = rows.
kernel EACH_OF_GROUP void decide(global uchar* memory, OpenclVolumes volumes, OpenclSums sums,
                                 OpenclDecision to) {
  local ushort kept[SEGMENT][KEPT_PITCH] __attribute__((aligned(4)));
  local uint shared[2][GROUP];
  const int y = get_group_id(1), width = volumes.width, first_x = SEGMENT * get_group_id(0),
            pixels = min(SEGMENT, width - first_x);
  global uint* right = (global uint*)(memory + sums.right) + (long)y * width;
  for (int first = 0; first < pixels; first += GROUP / LANES) {
    const int p = first + (int)get_local_id(0) / LANES, x = first_x + min(p, pixels - 1);
    const uint best =
        decide_pixel(memory, &volumes, &sums, &to, x, y, p < pixels, shared, kept[min(p, pixels - 1)]);
    if (sums.right >= 0 && sums.only_winners && best != ~0u && p < pixels && own_lane() == 0)
      offer(right, x - to.min_disparity - (int)(best & 0xFFFF), width, best);
    if (!NVIDIA) barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (sums.right < 0 || sums.only_winners) return;
  barrier(CLK_LOCAL_MEM_FENCE);
  offer_sums(right, &volumes, pixels, first_x - to.min_disparity - (volumes.labels - 1), kept);
}

#endif

// The right map, from the best offers; a masked pixel has none. One work item for each pixel.
kernel void write_right(global uchar* memory, OpenclRightMap to) {
  const int x = get_global_id(0);
  const long y = get_global_id(1);
  if (x >= to.width) return;
  const uint best = ((const global uint*)(memory + to.right))[y * to.width + x];
  const bool is_valid = to.mask < 0 || memory[to.mask + y * to.width + x] != 0;
  ((global float*)(memory + to.disparity))[y * to.stride + x] =
      best == ~0u || !is_valid ? NO_VALUE : (float)(to.min_disparity + (int)(best & 0xFFFF));
}
