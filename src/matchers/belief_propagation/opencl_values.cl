// SPDX-License-Identifier: Apache-2.0
// Values of neighbouring pixels of one colour in a row, in vectors, and their layout on levels that consider
// all labels.
//
// Specialised by PROCESSOR, BITS of a value (8, 16), PIXELS of a vector, on a GPU by SHARES and PER_SHARE
// (see opencl_levels.cl), and by the macros of words.cl.

#define DIRECTIONS 4
// The pair of a work item, if the global size z has `deep` for each pair; and where that pair's levels are.
#define PAIR_OF(pairs, deep) ((pairs).first + (int)get_global_id(2) / (deep))
#define LEVELS_OF(memory, pairs, pair) ((memory) + (pair) * (pairs).apart)

enum Direction { ABOVE, BELOW, LEFT, RIGHT };

#if BITS == 8
typedef uchar Value;
// The highest value: neither beliefs nor parts of messages exceed it.
#define NOTHING 0xFF
#define BOUND 31
#else
typedef ushort Value;
#define NOTHING 0x7FFF
#define BOUND 4095
#endif
#define DATA_BOUND (4 * BOUND + 1)

// Types in which values are stored (Word), compared and raised (Values), summed (Sums), and compared with
// labels (Wide). On a GPU, Values have 16 bits, two in a uint: for a word of bytes, its even and its odd
// bytes.
#if PROCESSOR
// Compilers for processors are based on Clang, which has longer vectors than OpenCL.
#define VECTOR(type, count) type __attribute__((ext_vector_type(count)))
typedef VECTOR(Value, PIXELS) Word;
typedef Word Unaligned __attribute__((aligned(1)));
typedef Word Values;
typedef VECTOR(ushort, PIXELS) Wide;
typedef Wide Sums;
#define SUM(a, b) ((a) + (b))
#define DIFFERENCE(a, b) ((a) - (b))
#define TO_VALUES(word) (word)
#define TO_WORD(values) (values)
#define TO_WIDE(word) __builtin_convertvector(word, Wide)
#define TO_SUMS TO_WIDE
#else
typedef uint Word;
#if BITS == 8
typedef uint2 Values;
#if PIXELS == 1
typedef ushort Wide;  // the values of the one pixel that a work item decides
#else
typedef ushort4 Wide;
#endif
#define TO_VALUES(word) ((uint2)(word, word >> 8) & 0x00FF00FFu)
#define TO_WORD(values) ((values).x | (values).y << 8)
#define TO_WIDE(word) convert_ushort4(as_uchar4(word))
#else
typedef uint Values;
typedef ushort2 Wide;
#define TO_VALUES(word) (word)
#define TO_WORD(values) (values)
#define TO_WIDE(word) as_ushort2(word)
#endif
typedef Values Sums;
#define TO_SUMS TO_VALUES
// No pixel's sum overflows its bits.
#define SUM(a, b) ((a) + (b))
#define DIFFERENCE(a, b) ((a) - (b))
#endif

typedef union {
  Word word;
  Value of[PIXELS];
} Pixels;

typedef union {
  Wide wide;
  ushort of[PIXELS];
} WidePixels;

INLINE Values lower(Values a, Values b) {
#if PROCESSOR
  return a < b ? a : b;
#elif BITS == 8
  return (uint2)(lower_halves(a.x, b.x), lower_halves(a.y, b.y));
#else
  return lower_halves(a, b);
#endif
}

INLINE Wide lower_wide(Wide a, Wide b) {
#if PROCESSOR
  return a < b ? a : b;
#else
  return min(a, b);
#endif
}

// The sum; on a processor, whose bytes may be too small for it, limited to 255.
INLINE Values raised(Values values, Values by) {
#if PROCESSOR && BITS == 8
  return lower(values, ~by) + by;
#else
  return values + by;
#endif
}

// The lower value of raised(a, by) and b.
INLINE Values lower_of_raised(Values a, Values by, Values b) {
#if PROCESSOR
  return lower(raised(a, by), b);
#elif BITS == 8
  return (uint2)(lower_halves_of_sum(a.x, by.x, b.x), lower_halves_of_sum(a.y, by.y, b.y));
#else
  return lower_halves_of_sum(a, by, b);
#endif
}

INLINE Values all_values(int value) {
#if PROCESSOR
  return (Values)((Value)value);
#else
  return (Values)both_halves(value);
#endif
}

INLINE Sums all_sums(int value) {
#if PROCESSOR
  return (Sums)((ushort)value);
#else
  return all_values(value);
#endif
}

INLINE Sums lower_sums(Sums a, Sums b) {
#if PROCESSOR
  return a < b ? a : b;
#else
  return lower(a, b);
#endif
}

INLINE Word all_pixels(int value) {
#if PROCESSOR
  return (Word)((Value)value);
#else
  return BITS == 8 ? 0x01010101u * (uint)value : 0x00010001u * (uint)value;
#endif
}

// The column of a colour's first pixel in a row: 0 or 1.
INLINE int parity(int y, int colour) {
  return (y + colour) & 1;
}

INLINE int pixels_in(int width, int y, int colour) {
  return (width - parity(y, colour) + 1) / 2;
}

// Values from one group to the next. On a processor, those of a label are neighbours.
#if PROCESSOR
#define GROUP_STEP(level) PIXELS
#else
#define GROUP_STEP(level) ((level)->stored_labels * PIXELS)
#endif

// Address of label 0 of the first pixel of a group in row `y`: its data costs, and its messages of a
// direction.
static global Value* data_at(global uchar* memory, const OpenclLevel* level, int colour, long y, int group) {
  return (global Value*)(memory + EITHER(level->data, colour)) + y * level->stored_labels * level->pitch +
         group * GROUP_STEP(level);
}

static global Value* messages_at(global uchar* memory, const OpenclLevel* level, int colour, int direction,
                                 long y, int group) {
  const long row = direction * (level->height + 2L) + y + 1;
  return (global Value*)(memory + EITHER(level->messages, colour)) +
         row * level->stored_labels * level->pitch + group * GROUP_STEP(level);
}

static Word load_word(const global Value* from) {
  return *(const global Word*)from;
}

static void store_word(Word word, global Value* to) {
  *(global Word*)to = word;
}

#if !PROCESSOR
// A share's labels are loaded by fours. Those of all shares are neighbours in memory, so that neighbouring
// work items read neighbours.
#define WORDS_AT_ONCE 4
// Words from the start of a group to labels k to k + 3 of a share, and to a label.
#define FOUR_AT(k, share) (((k) / WORDS_AT_ONCE * SHARES + (share)) * WORDS_AT_ONCE)
#define LABEL_AT(label) (FOUR_AT((label) % PER_SHARE, (label) / PER_SHARE) + (label) % WORDS_AT_ONCE)

static uint4 load_four(const global Value* group, int k, int share) {
  return *(const global uint4*)((const global uint*)group + FOUR_AT(k, share));
}

static void store_four(uint4 words, global Value* group, int k, int share) {
  *(global uint4*)((global uint*)group + FOUR_AT(k, share)) = words;
}
#endif
