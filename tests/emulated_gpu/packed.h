// SPDX-License-Identifier: Apache-2.0
// CUDA's functions of two 16-bit or four 8-bit numbers in a word.
#pragma once

#include "arithmetic.h"

namespace emulated {

template <class Lane>
inline constexpr unsigned lane_count = 4 / sizeof(Lane);
template <class Lane>
inline constexpr unsigned lane_mask = (1u << 8 * sizeof(Lane)) - 1;

// The value of a lane.
template <class Lane>
int lane_of(unsigned word, unsigned lane) {
  return static_cast<Lane>(word >> 8 * sizeof(Lane) * lane);
}

// Applies `operation` to the lanes, and truncates each result.
template <class Lane, class Operation, class... Words>
unsigned lanewise(Operation operation, Words... words) {
  unsigned result = 0;
  for (unsigned lane = 0; lane < lane_count<Lane>; ++lane) {
    const int value = operation(lane_of<Lane>(words, lane)...);
    result |= (static_cast<unsigned>(value) & lane_mask<Lane>) << 8 * sizeof(Lane) * lane;
  }
  return result;
}

template <class Lane>
int saturated(int value) {
  constexpr bool is_signed = static_cast<Lane>(-1) < 0;
  constexpr int most = static_cast<int>(is_signed ? lane_mask<Lane> / 2 : lane_mask<Lane>);
  return min(max(value, is_signed ? -most - 1 : 0), most);
}

template <class Lane>
unsigned sum_of_differences(unsigned a, unsigned b) {
  unsigned sum = 0;
  for (unsigned lane = 0; lane < lane_count<Lane>; ++lane)
    sum += static_cast<unsigned>(abs(lane_of<Lane>(a, lane) - lane_of<Lane>(b, lane)));
  return sum;
}

template <class Lane>
int sum_of_products(unsigned a, unsigned b) {
  int sum = 0;
  for (unsigned lane = 0; lane < lane_count<Lane>; ++lane)
    sum += lane_of<Lane>(a, lane) * lane_of<Lane>(b, lane);
  return sum;
}

}  // namespace emulated

#define EMULATED_LANES_OF_ONE(name, LaneType, expression)                        \
  inline unsigned name(unsigned a) {                                             \
    using Lane = LaneType;                                                       \
    return emulated::lanewise<Lane>([](int x) -> int { return expression; }, a); \
  }
#define EMULATED_LANES_OF_TWO(name, LaneType, expression)                                  \
  inline unsigned name(unsigned a, unsigned b) {                                           \
    using Lane = LaneType;                                                                 \
    return emulated::lanewise<Lane>([](int x, int y) -> int { return expression; }, a, b); \
  }
#define EMULATED_SIGNED_OF_ONE(name, expression)    \
  EMULATED_LANES_OF_ONE(name##2, short, expression) \
  EMULATED_LANES_OF_ONE(name##4, signed char, expression)
#define EMULATED_SIGNED(name, expression)           \
  EMULATED_LANES_OF_TWO(name##2, short, expression) \
  EMULATED_LANES_OF_TWO(name##4, signed char, expression)
#define EMULATED_UNSIGNED(name, expression)                  \
  EMULATED_LANES_OF_TWO(name##2, unsigned short, expression) \
  EMULATED_LANES_OF_TWO(name##4, unsigned char, expression)

EMULATED_UNSIGNED(__vadd, x + y)
EMULATED_UNSIGNED(__vsub, x - y)
EMULATED_SIGNED(__vaddss, emulated::saturated<Lane>(x + y))
EMULATED_SIGNED(__vsubss, emulated::saturated<Lane>(x - y))
EMULATED_UNSIGNED(__vaddus, emulated::saturated<Lane>(x + y))
EMULATED_UNSIGNED(__vsubus, emulated::saturated<Lane>(x - y))
EMULATED_SIGNED_OF_ONE(__vneg, -x)
EMULATED_SIGNED_OF_ONE(__vnegss, emulated::saturated<Lane>(-x))
EMULATED_SIGNED_OF_ONE(__vabs, abs(x))
EMULATED_SIGNED_OF_ONE(__vabsss, emulated::saturated<Lane>(abs(x)))
EMULATED_SIGNED(__vabsdiffs, abs(x - y))
EMULATED_UNSIGNED(__vabsdiffu, abs(x - y))
EMULATED_UNSIGNED(__vavgu, (x + y + 1) >> 1)
EMULATED_UNSIGNED(__vhaddu, (x + y) >> 1)
EMULATED_SIGNED(__vmins, min(x, y))
EMULATED_SIGNED(__vmaxs, max(x, y))
EMULATED_UNSIGNED(__vminu, min(x, y))
EMULATED_UNSIGNED(__vmaxu, max(x, y))

// Sets all bits of a lane, or only its lowest.
#define EMULATED_COMPARISON(Kind, suffix, expression) \
  Kind(__vcmp##suffix, (expression) ? -1 : 0) Kind(__vset##suffix, (expression) ? 1 : 0)
EMULATED_COMPARISON(EMULATED_UNSIGNED, eq, x == y)
EMULATED_COMPARISON(EMULATED_UNSIGNED, ne, x != y)
EMULATED_COMPARISON(EMULATED_SIGNED, ges, x >= y)
EMULATED_COMPARISON(EMULATED_SIGNED, gts, x > y)
EMULATED_COMPARISON(EMULATED_SIGNED, les, x <= y)
EMULATED_COMPARISON(EMULATED_SIGNED, lts, x < y)
EMULATED_COMPARISON(EMULATED_UNSIGNED, geu, x >= y)
EMULATED_COMPARISON(EMULATED_UNSIGNED, gtu, x > y)
EMULATED_COMPARISON(EMULATED_UNSIGNED, leu, x <= y)
EMULATED_COMPARISON(EMULATED_UNSIGNED, ltu, x < y)

inline unsigned __vsads2(unsigned a, unsigned b) {
  return emulated::sum_of_differences<short>(a, b);
}
inline unsigned __vsads4(unsigned a, unsigned b) {
  return emulated::sum_of_differences<signed char>(a, b);
}
inline unsigned __vsadu2(unsigned a, unsigned b) {
  return emulated::sum_of_differences<unsigned short>(a, b);
}
inline unsigned __vsadu4(unsigned a, unsigned b) {
  return emulated::sum_of_differences<unsigned char>(a, b);
}

// Wraps around like the sum of unsigned numbers.
inline unsigned __dp4a(unsigned a, unsigned b, unsigned sum) {
  return sum + static_cast<unsigned>(emulated::sum_of_products<unsigned char>(a, b));
}
inline int __dp4a(int a, int b, int sum) {
  return static_cast<int>(static_cast<unsigned>(sum) +
                          static_cast<unsigned>(emulated::sum_of_products<signed char>(
                              static_cast<unsigned>(a), static_cast<unsigned>(b))));
}
inline unsigned __dp4a(uchar4 a, uchar4 b, unsigned sum) {
  return __dp4a(emulated::bits_as<unsigned>(a), emulated::bits_as<unsigned>(b), sum);
}
inline int __dp4a(char4 a, char4 b, int sum) {
  return __dp4a(emulated::bits_as<int>(a), emulated::bits_as<int>(b), sum);
}

// Dynamic programming: the best of two or three, or of a sum and a third. Sums wrap around.
namespace emulated {

inline int sum(int a, int b) {
  return static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b));
}
inline unsigned sum(unsigned a, unsigned b) {
  return a + b;
}

// The number, converted to `Lane`.
template <class Lane>
int cut(int value) {
  return static_cast<Lane>(value);
}

}  // namespace emulated

#define EMULATED_THREE(name, T, expression) \
  inline T name(T a, T b, T c) {            \
    return expression;                      \
  }
#define EMULATED_LANES_OF_THREE(name, LaneType, expression)                                          \
  inline unsigned name(unsigned a, unsigned b, unsigned c) {                                         \
    using Lane = LaneType;                                                                           \
    return emulated::lanewise<Lane>([](int x, int y, int z) -> int { return expression; }, a, b, c); \
  }
#define EMULATED_BEST(best)                                                                           \
  inline int __vi##best##_s32_relu(int a, int b) {                                                    \
    return max(best(a, b), 0);                                                                        \
  }                                                                                                   \
  EMULATED_LANES_OF_TWO(__vi##best##_s16x2_relu, short, max(best(x, y), 0))                           \
  EMULATED_THREE(__vi##best##3_s32, int, best(best(a, b), c))                                         \
  EMULATED_THREE(__vi##best##3_u32, unsigned, best(best(a, b), c))                                    \
  EMULATED_THREE(__vi##best##3_s32_relu, int, max(best(best(a, b), c), 0))                            \
  EMULATED_THREE(__viadd##best##_s32, int, best(emulated::sum(a, b), c))                              \
  EMULATED_THREE(__viadd##best##_u32, unsigned, best(emulated::sum(a, b), c))                         \
  EMULATED_THREE(__viadd##best##_s32_relu, int, max(best(emulated::sum(a, b), c), 0))                 \
  EMULATED_LANES_OF_THREE(__vi##best##3_s16x2, short, best(best(x, y), z))                            \
  EMULATED_LANES_OF_THREE(__vi##best##3_u16x2, unsigned short, best(best(x, y), z))                   \
  EMULATED_LANES_OF_THREE(__vi##best##3_s16x2_relu, short, max(best(best(x, y), z), 0))               \
  EMULATED_LANES_OF_THREE(__viadd##best##_s16x2, short, best(emulated::cut<Lane>(x + y), z))          \
  EMULATED_LANES_OF_THREE(__viadd##best##_u16x2, unsigned short, best(emulated::cut<Lane>(x + y), z)) \
  EMULATED_LANES_OF_THREE(__viadd##best##_s16x2_relu, short, max(best(emulated::cut<Lane>(x + y), z), 0))
EMULATED_BEST(min)
EMULATED_BEST(max)

// The better of two, and whether it is the first.
#define EMULATED_CHOICE(name, T, best, is_first) \
  inline T name(T a, T b, bool* first) {         \
    *first = a is_first b;                       \
    return best(a, b);                           \
  }
#define EMULATED_LANES_CHOICE(name, Lane, best, is_first)                               \
  inline unsigned name(unsigned a, unsigned b, bool* high_first, bool* low_first) {     \
    *low_first = emulated::lane_of<Lane>(a, 0) is_first emulated::lane_of<Lane>(b, 0);  \
    *high_first = emulated::lane_of<Lane>(a, 1) is_first emulated::lane_of<Lane>(b, 1); \
    return emulated::lanewise<Lane>([](int x, int y) { return best(x, y); }, a, b);     \
  }
EMULATED_CHOICE(__vibmax_s32, int, max, >=)
EMULATED_CHOICE(__vibmax_u32, unsigned, max, >=)
EMULATED_CHOICE(__vibmin_s32, int, min, <=)
EMULATED_CHOICE(__vibmin_u32, unsigned, min, <=)
EMULATED_LANES_CHOICE(__vibmax_s16x2, short, max, >=)
EMULATED_LANES_CHOICE(__vibmax_u16x2, unsigned short, max, >=)
EMULATED_LANES_CHOICE(__vibmin_s16x2, short, min, <=)
EMULATED_LANES_CHOICE(__vibmin_u16x2, unsigned short, min, <=)
