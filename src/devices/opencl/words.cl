// SPDX-License-Identifier: Apache-2.0
// Words of two values of 16 bits. NVIDIA's compiler takes minima of such vectors apart, so these name the
// instructions that compute both at once (compute capability 9.0 and later).

// The lower value in each half.
INLINE uint lower_halves(uint a, uint b) {
#if NVIDIA >= 90
  uint lower;
  __asm__("min.u16x2 %0, %1, %2;" : "=r"(lower) : "r"(a), "r"(b));
  return lower;
#else
  return as_uint(min(as_ushort2(a), as_ushort2(b)));
#endif
}

// The lower value in each half of a + b, which do not exceed 16 bits, and of c.
INLINE uint lower_halves_of_sum(uint a, uint b, uint c) {
#if NVIDIA >= 90
  uint lower;
  __asm__("{ .reg .b32 sum; add.u16x2 sum, %1, %2; min.u16x2 %0, sum, %3; }"
          : "=r"(lower)
          : "r"(a), "r"(b), "r"(c));
  return lower;
#else
  return lower_halves(a + b, c);
#endif
}

// The means of both halves, rounded up.
INLINE uint mean_halves(uint a, uint b) {
  return (a | b) - ((a ^ b) >> 1 & 0x7FFF7FFFu);
}

INLINE uint both_halves(uint value) {
  return value * 0x00010001u;
}

INLINE uint swapped_halves(uint word) {
  return rotate(word, 16u);
}

// The bytes of a word, from the lowest on: a hexadecimal digit of `which` for each, 0–3 for those of a, 4–7
// for those of b.
INLINE uint bytes_of(uint a, uint b, uint which) {
#if NVIDIA
  uint bytes;
  __asm__("prmt.b32 %0, %1, %2, %3;" : "=r"(bytes) : "r"(a), "r"(b), "r"(which));
  return bytes;
#else
  const ulong all = (ulong)b << 32 | a;
  uint bytes = 0;
  UNROLLED
  for (int i = 0; i < 4; ++i) bytes |= ((uint)(all >> 8 * (which >> 4 * i & 7)) & 0xFF) << 8 * i;
  return bytes;
#endif
}
