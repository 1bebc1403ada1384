// SPDX-License-Identifier: Apache-2.0
// How the costs of a pixel lie in memory, and how work items share them.
//
// In memory, a pixel has LANES · PER_LANE costs of BITS (8, 16), by label; rows have no gaps. LANES neighbouring work
// items share a pixel; each has PER_LANE labels that follow one another. On a processor, a work item has all labels,
// and loops over them that compilers vectorise; on a GPU, costs are in registers, two in each: those of labels k and
// k + WORDS of a lane. So the neighbours of all labels are in neighbouring words, except at the ends.
//
// Labels beyond the last have the highest data cost and P2 as their data cost. So they neither win nor change a path,
// because the least path cost of a pixel is at most the highest data cost.
//
// Specialised by PROCESSOR, BITS, LANES, PER_LANE (a multiple of 4), GROUP (work items, a multiple of LANES).

#define PITCH (LANES * PER_LANE)
#define EACH_OF_GROUP __attribute__((reqd_work_group_size(GROUP, 1, 1)))

#if BITS == 8
typedef uchar Value;
#else
typedef ushort Value;
#endif

#if PROCESSOR
typedef ushort Word;
#define WORDS PER_LANE
#define EACH
#else
typedef ushort2 Word;
#define WORDS (PER_LANE / 2)
#define EACH _Pragma("unroll")
#endif
#define FOR_WORDS(k) EACH for (int k = 0; k < WORDS; ++k)
#define FOR_LABELS(k) EACH for (int k = 0; k < PER_LANE; ++k)

// A lane's costs in memory form; in computing form they are WORDS words.
#if PER_LANE * BITS % 128 == 0
typedef uint4 Block;
#elif PER_LANE * BITS % 64 == 0
typedef uint2 Block;
#else
typedef uint Block;
#endif
#define BLOCKS (PER_LANE * BITS / 8 / (int)sizeof(Block))
typedef union {
  Block blocks[BLOCKS];
  Value of[PER_LANE];
} Packed;

INLINE Word lower(Word a, Word b) {
#if PROCESSOR
  return a < b ? a : b;
#else
  return min(a, b);
#endif
}

INLINE Word all_of(int value) {
  return (Word)((ushort)value);
}

static int own_lane(void) {
  return get_local_id(0) % LANES;
}

// The labels of a lane begin with this one.
static int first_label(void) {
  return own_lane() * PER_LANE;
}

// A lane's costs of pixel number `pixel`.
INLINE global Value* costs_at(global uchar* memory, long volume, long pixel) {
  return (global Value*)(memory + volume) + pixel * PITCH + first_label();
}

INLINE Packed load_packed(const global Value* from) {
  Packed packed;
  EACH for (int i = 0; i < BLOCKS; ++i) packed.blocks[i] = ((const global Block*)from)[i];
  return packed;
}

INLINE void store_packed(const Packed* packed, global Value* to) {
  EACH for (int i = 0; i < BLOCKS; ++i)((global Block*)to)[i] = packed->blocks[i];
}

INLINE void unpack(const Packed* packed, Word* costs) {
#if PROCESSOR
  FOR_WORDS(k) {
    costs[k] = packed->of[k];
  }
#else
  FOR_WORDS(k) {
    costs[k] = (ushort2)(packed->of[k], packed->of[k + WORDS]);
  }
#endif
}

INLINE void load(const global Value* from, Word* costs) {
#if PROCESSOR
  FOR_WORDS(k) {
    costs[k] = from[k];
  }
#else
  const Packed packed = load_packed(from);
  unpack(&packed, costs);
#endif
}

INLINE void store(const Word* costs, global Value* to) {
#if PROCESSOR
  FOR_WORDS(k) {
    to[k] = costs[k];
  }
#else
  Packed packed;
  FOR_WORDS(k) {
    packed.of[k] = costs[k].x;
    packed.of[k + WORDS] = costs[k].y;
  }
  store_packed(&packed, to);
#endif
}

// The cost of a lane's label.
INLINE ushort cost_of_label(const Word* costs, int k) {
#if PROCESSOR
  return costs[k];
#else
  return k < WORDS ? costs[k].x : costs[k - WORDS].y;
#endif
}

// What all lanes of a pixel find, combined. `shared`: a uint for each work item of the group, read by none.
#if LANES == 1
#define OVER_LANES(combine, own, shared)
#else
#define OVER_LANES(combine, own, shared) \
  (shared)[get_local_id(0)] = own;       \
  barrier(CLK_LOCAL_MEM_FENCE);          \
  for (int lane = 0; lane < LANES; ++lane) own = combine(own, (shared)[get_local_id(0) - own_lane() + lane]);
#endif
