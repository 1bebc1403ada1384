// SPDX-License-Identifier: Apache-2.0
// The layout of a pixel's costs in memory, and their distribution over work items.
//
// In memory, a pixel has LANES · PER_LANE costs of BITS (8, 16); rows have no gaps. LANES neighbouring work
// items share a pixel; each has PER_LANE consecutive labels.
//
// On a processor, a work item has all labels, in order, and loops over them that compilers vectorise. On a
// GPU, costs are in registers, two in each: word k of a lane has the costs of labels k and k + WORDS. The
// neighbours of all labels are therefore in neighbouring words, except at the ends. In memory they are in the
// same words, or, in bytes, words 2i and 2i + 1 are the even and the odd bytes of one.
//
// Labels beyond the last have the highest data cost plus P2 as their data cost. They neither win nor change a
// path, because the lowest path cost of a pixel is at most the highest data cost.
//
// Specialised by PROCESSOR, BITS, LANES, PER_LANE (a multiple of 4), GROUP (work items, a multiple of LANES),
// and by the macros of words.cl and lanes.cl.

#define PITCH (LANES * PER_LANE)
#define EACH_OF_GROUP __attribute__((reqd_work_group_size(GROUP, 1, 1)))

#if PROCESSOR
#define EACH
#define WORDS PER_LANE
#define VALUES PER_LANE
typedef ushort Word;
#if BITS == 8
typedef uchar Value;  // in memory
typedef uchar16 Values;
#define TO_VALUES convert_uchar16
#else
typedef ushort Value;
typedef ushort16 Values;
#define TO_VALUES
#endif
#else
#define EACH UNROLLED
#define WORDS (PER_LANE / 2)
#define VALUES (PER_LANE * BITS / 32)
typedef uint Word;
typedef uint Value;
#endif
#define FOR_WORDS(k) EACH for (int k = 0; k < WORDS; ++k)
#define FOR_LABELS(k) EACH for (int k = 0; k < PER_LANE; ++k)

INLINE Word lower(Word a, Word b) {
#if PROCESSOR
  return a < b ? a : b;
#else
  return lower_halves(a, b);
#endif
}

// The lower value of a + b and c.
INLINE Word lower_of_sum(Word a, Word b, Word c) {
#if PROCESSOR
  return lower(a + b, c);
#else
  return lower_halves_of_sum(a, b, c);
#endif
}

INLINE Word mean(Word a, Word b) {
#if PROCESSOR
  return rhadd(a, b);
#else
  return mean_halves(a, b);
#endif
}

INLINE Word all_of(int value) {
#if PROCESSOR
  return value;
#else
  return both_halves(value);
#endif
}

static int own_lane(void) {
  return get_local_id(0) % LANES;
}

static int first_label(void) {
  return own_lane() * PER_LANE;
}

// A lane's costs of pixel number `pixel`.
INLINE global Value* costs_at(global uchar* memory, long volume, long pixel) {
  return (global Value*)(memory + volume) + (pixel * LANES + own_lane()) * VALUES;
}

#if PROCESSOR

INLINE void load(const global Value* from, Word* costs) {
  FOR_WORDS(k) {
    costs[k] = from[k];
  }
}

INLINE void store(const Word* costs, global Value* to) {
  FOR_WORDS(k) {
    to[k] = costs[k];
  }
}

// Stores costs past the caches, because they are not read again soon.
INLINE void stream(const Word* costs, global Value* to) {
#ifdef __clang__
  for (int k = 0; k < WORDS; k += 16) {
    __builtin_nontemporal_store(TO_VALUES(vload16(0, costs + k)), (global Values*)(to + k));
  }
#else
  store(costs, to);
#endif
}

// Fetches costs into the caches before they are loaded.
INLINE void fetch_ahead(const global Value* from) {
#ifdef __clang__
  for (int k = 0; k < WORDS; k += 64 / (int)sizeof(Value)) __builtin_prefetch((const void*)(size_t)(from + k));
#endif
}

INLINE ushort cost_of_label(const Word* costs, int k) {
  return costs[k];
}

INLINE void set_costs(const ushort* by_label, Word* costs) {
  FOR_WORDS(k) {
    costs[k] = by_label[k];
  }
}

// Sets the cost of the labels beyond the last.
INLINE void set_padding(Word* costs, int labels, ushort cost) {
  for (int k = labels; k < WORDS; ++k) costs[k] = cost;
}

#else

// The number of values that are loaded or stored at once.
#if VALUES % 4 == 0
typedef uint4 Block;
#elif VALUES % 2 == 0
typedef uint2 Block;
#else
typedef uint Block;
#endif
#define BLOCK_VALUES ((int)(sizeof(Block) / sizeof(Value)))
typedef union {
  Block block;
  Value of[BLOCK_VALUES];
} Values;

INLINE void load_values(const global Value* from, Value* values) {
  EACH for (int i = 0; i < VALUES; i += BLOCK_VALUES) {
    Values loaded;
    loaded.block = *(const global Block*)(from + i);
    EACH for (int j = 0; j < BLOCK_VALUES; ++j) values[i + j] = loaded.of[j];
  }
}

INLINE void store_values(const Value* values, global Value* to) {
  EACH for (int i = 0; i < VALUES; i += BLOCK_VALUES) {
    Values stored;
    EACH for (int j = 0; j < BLOCK_VALUES; ++j) stored.of[j] = values[i + j];
    *(global Block*)(to + i) = stored.block;
  }
}

INLINE void unpack(const Value* values, Word* costs) {
  FOR_WORDS(k) {
#if BITS == 8
    costs[k] = bytes_of(values[k / 2], 0, k % 2 == 0 ? 0x4240 : 0x4341);
#else
    costs[k] = values[k];
#endif
  }
}

INLINE void load(const global Value* from, Word* costs) {
  Value values[VALUES];
  load_values(from, values);
  unpack(values, costs);
}

INLINE void pack(const Word* costs, Value* values) {
  EACH for (int i = 0; i < VALUES; ++i) {
#if BITS == 8
    values[i] = bytes_of(costs[2 * i], costs[2 * i + 1], 0x6240);
#else
    values[i] = costs[i];
#endif
  }
}

INLINE void store(const Word* costs, global Value* to) {
  Value values[VALUES];
  pack(costs, values);
  store_values(values, to);
}

// Stores costs that leave the caches first, because they are not read again soon.
INLINE void stream(const Word* costs, global Value* to) {
#if NVIDIA && VALUES % 4 == 0
  Value values[VALUES];
  pack(costs, values);
  EACH for (int i = 0; i < VALUES; i += 4)
      __asm__ volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};"
                       :
                       : "l"(to + i), "r"(values[i]), "r"(values[i + 1]), "r"(values[i + 2]), "r"(values[i + 3]));
#else
  store(costs, to);
#endif
}

// The cost of a lane's label.
INLINE ushort cost_of_label(const Word* costs, int k) {
  return k < WORDS ? costs[k] & 0xFFFF : costs[k - WORDS] >> 16;
}

INLINE void set_costs(const ushort* by_label, Word* costs) {
  FOR_WORDS(k) {
    costs[k] = by_label[k] | (uint)by_label[k + WORDS] << 16;
  }
}

INLINE void set_padding(Word* costs, int labels, ushort cost) {
  if (labels == PITCH) return;
  FOR_WORDS(k) {
    if (first_label() + k >= labels) costs[k] = (costs[k] & 0xFFFF0000u) | cost;
    if (first_label() + k + WORDS >= labels) costs[k] = (costs[k] & 0xFFFF) | (uint)cost << 16;
  }
}

#endif

// Combines the results of all lanes of a pixel. `shared`: a uint for each work item of the group, which no
// other code reads.
#if LANES == 1
#define OVER_LANES(combine, own, shared)
#elif NVIDIA
#define OVER_LANES(combine, own, shared) \
  UNROLLED for (int step = LANES / 2; step > 0; step /= 2) own = combine(own, from_lane_across(own, step));
#else
#define OVER_LANES(combine, own, shared) \
  (shared)[get_local_id(0)] = own;       \
  barrier(CLK_LOCAL_MEM_FENCE);          \
  for (int lane = 0; lane < LANES; ++lane) own = combine(own, (shared)[get_local_id(0) - own_lane() + lane]);
#endif
