// SPDX-License-Identifier: Apache-2.0
// Neighbouring work items that share something, its lanes. On NVIDIA's GPUs, the lanes are in one warp, and
// exchange values without local memory, and wait only for their warp.
//
// All work items of a group call these functions together.

#if NVIDIA

// The value of another work item of the warp; undefined beyond the ends of the warp.
#define FROM_LANE(name, instruction, clamp)                                                                            \
  INLINE uint name(uint value, int step) {                                                                             \
    uint other;                                                                                                        \
    __asm__ volatile("shfl.sync." instruction ".b32 %0, %1, %2, " clamp ", -1;" : "=r"(other) : "r"(value), "r"(step)); \
    return other;                                                                                                      \
  }
FROM_LANE(from_lane_before, "up", "0")
FROM_LANE(from_lane_after, "down", "31")
FROM_LANE(from_lane_across, "bfly", "31")

// Waits until the lanes see each other's stores to local memory.
INLINE void wait_for_lanes(void) {
  __asm__ volatile("bar.warp.sync -1;" : : : "memory");
}

#else

INLINE void wait_for_lanes(void) {
  barrier(CLK_LOCAL_MEM_FENCE);
}

#endif

// Reductions over a warp, where work items can tell: the sum, and the least. Elsewhere each is a warp of its
// own.
#if NVIDIA >= 80

#define OF_WARP(name, instruction)                                                               \
  INLINE int name(int value) {                                                                   \
    int all;                                                                                     \
    __asm__ volatile("redux.sync." instruction ".s32 %0, %1, -1;" : "=r"(all) : "r"(value));     \
    return all;                                                                                  \
  }
OF_WARP(sum_of_warp, "add")
OF_WARP(min_of_warp, "min")

INLINE bool is_first_of_warp(void) {
  return get_local_id(0) % 32 == 0;
}

#else

INLINE int sum_of_warp(int value) {
  return value;
}

INLINE int min_of_warp(int value) {
  return value;
}

INLINE bool is_first_of_warp(void) {
  return true;
}

#endif
