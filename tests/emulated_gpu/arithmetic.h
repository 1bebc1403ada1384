// SPDX-License-Identifier: Apache-2.0
// CUDA's scalar functions. Functions that round to nearest are exact; exp, log and similar functions give the
// last bits of the host, not of a GPU.
#pragma once

#include "machine.h"
#include "vector_types.h"

// Integers.

#define EMULATED_EXTREMES(A, B, Result)                                              \
  inline Result min(A a, B b) {                                                      \
    return static_cast<Result>(a) < static_cast<Result>(b) ? static_cast<Result>(a)  \
                                                           : static_cast<Result>(b); \
  }                                                                                  \
  inline Result max(A a, B b) {                                                      \
    return static_cast<Result>(a) > static_cast<Result>(b) ? static_cast<Result>(a)  \
                                                           : static_cast<Result>(b); \
  }
#define EMULATED_EXTREMES_OF(T)                         \
  EMULATED_EXTREMES(T, T, T)                            \
  EMULATED_EXTREMES(unsigned T, unsigned T, unsigned T) \
  EMULATED_EXTREMES(T, unsigned T, unsigned T)          \
  EMULATED_EXTREMES(unsigned T, T, unsigned T)
EMULATED_EXTREMES_OF(int)
EMULATED_EXTREMES_OF(long)
EMULATED_EXTREMES_OF(long long)

inline unsigned umin(unsigned a, unsigned b) {
  return min(a, b);
}
inline unsigned umax(unsigned a, unsigned b) {
  return max(a, b);
}

inline int abs(int a) {
  return a < 0 ? -a : a;
}
inline long abs(long a) {
  return a < 0 ? -a : a;
}
inline long long abs(long long a) {
  return a < 0 ? -a : a;
}
inline long labs(long a) {
  return abs(a);
}
inline long long llabs(long long a) {
  return abs(a);
}

inline int __popc(unsigned a) {
  return __builtin_popcount(a);
}
inline int __popcll(unsigned long long a) {
  return __builtin_popcountll(a);
}
inline int __clz(int a) {
  return a == 0 ? 32 : __builtin_clz(static_cast<unsigned>(a));
}
inline int __clzll(long long a) {
  return a == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(a));
}
inline int __ffs(int a) {
  return __builtin_ffs(a);
}
inline int __ffsll(long long a) {
  return __builtin_ffsll(a);
}

inline unsigned __brev(unsigned a) {
  unsigned reversed = 0;
  for (int bit = 0; bit < 32; ++bit) reversed |= (a >> bit & 1) << (31 - bit);
  return reversed;
}
inline unsigned long long __brevll(unsigned long long a) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned>(a))) << 32 |
         __brev(static_cast<unsigned>(a >> 32));
}

namespace emulated {

inline unsigned long long concatenate(unsigned low, unsigned high) {
  return static_cast<unsigned long long>(high) << 32 | low;
}

// The low 24 bits, with their sign.
inline int low_24_bits(int a) {
  return static_cast<int>(static_cast<unsigned>(a) << 8) >> 8;
}

}  // namespace emulated

inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selectors) {
  unsigned result = 0;
  for (int byte = 0; byte < 4; ++byte) {
    const unsigned selector = selectors >> 4 * byte & 7;
    result |= static_cast<unsigned>(emulated::concatenate(x, y) >> 8 * selector & 0xff) << 8 * byte;
  }
  return result;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>(emulated::concatenate(low, high) << (shift & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>(emulated::concatenate(low, high) >> (shift & 31));
}
inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}

inline int __mulhi(int a, int b) {
  return static_cast<int>(static_cast<long long>(a) * b >> 32);
}
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32);
}
inline long long __mul64hi(long long a, long long b) {
  return static_cast<long long>(static_cast<__int128>(a) * b >> 64);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
inline int __mul24(int a, int b) {
  return static_cast<int>(static_cast<long long>(emulated::low_24_bits(a)) * emulated::low_24_bits(b));
}
inline unsigned __umul24(unsigned a, unsigned b) {
  return (a & 0xffffff) * (b & 0xffffff);
}
inline unsigned __usad(unsigned a, unsigned b, unsigned sum) {
  return (a > b ? a - b : b - a) + sum;
}
inline unsigned __sad(int a, int b, unsigned sum) {
  return (a > b ? static_cast<unsigned>(a) - static_cast<unsigned>(b)
                : static_cast<unsigned>(b) - static_cast<unsigned>(a)) +
         sum;
}
inline int __hadd(int a, int b) {
  return static_cast<int>((static_cast<long long>(a) + b) >> 1);
}
inline int __rhadd(int a, int b) {
  return static_cast<int>((static_cast<long long>(a) + b + 1) >> 1);
}
inline unsigned __uhadd(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<unsigned long long>(a) + b) >> 1);
}
inline unsigned __urhadd(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<unsigned long long>(a) + b + 1) >> 1);
}

// Bits of floating-point numbers.

inline int __float_as_int(float a) {
  return emulated::bits_as<int>(a);
}
inline unsigned __float_as_uint(float a) {
  return emulated::bits_as<unsigned>(a);
}
inline float __int_as_float(int a) {
  return emulated::bits_as<float>(a);
}
inline float __uint_as_float(unsigned a) {
  return emulated::bits_as<float>(a);
}
inline long long __double_as_longlong(double a) {
  return emulated::bits_as<long long>(a);
}
inline double __longlong_as_double(long long a) {
  return emulated::bits_as<double>(a);
}
inline int __double2loint(double a) {
  return static_cast<int>(__double_as_longlong(a));
}
inline int __double2hiint(double a) {
  return static_cast<int>(__double_as_longlong(a) >> 32);
}
inline double __hiloint2double(int high, int low) {
  return emulated::bits_as<double>(
      emulated::concatenate(static_cast<unsigned>(low), static_cast<unsigned>(high)));
}

// Arithmetic that is rounded to nearest and not contracted.

inline float __fadd_rn(float a, float b) {
  return a + b;
}
inline float __fsub_rn(float a, float b) {
  return a - b;
}
inline float __fmul_rn(float a, float b) {
  return a * b;
}
inline float __fdiv_rn(float a, float b) {
  return a / b;
}
inline float __frcp_rn(float a) {
  return 1 / a;
}
inline float __fsqrt_rn(float a) {
  return __builtin_sqrtf(a);
}
inline float __fmaf_rn(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}
inline double __dadd_rn(double a, double b) {
  return a + b;
}
inline double __dsub_rn(double a, double b) {
  return a - b;
}
inline double __dmul_rn(double a, double b) {
  return a * b;
}
inline double __ddiv_rn(double a, double b) {
  return a / b;
}
inline double __drcp_rn(double a) {
  return 1 / a;
}
inline double __dsqrt_rn(double a) {
  return __builtin_sqrt(a);
}
inline double __fma_rn(double a, double b, double c) {
  return __builtin_fma(a, b, c);
}

// NaN gives 0.
inline float __saturatef(float a) {
  return a >= 1 ? 1 : a > 0 ? a : 0;
}

// Functions that exist for float with a suffix, and as an overload.
#define EMULATED_FUNCTION(name)    \
  inline float name##f(float a) {  \
    return __builtin_##name##f(a); \
  }                                \
  inline double name(double a) {   \
    return __builtin_##name(a);    \
  }                                \
  inline float name(float a) {     \
    return __builtin_##name##f(a); \
  }
EMULATED_FUNCTION(acos)
EMULATED_FUNCTION(asin)
EMULATED_FUNCTION(atan)
EMULATED_FUNCTION(cbrt)
EMULATED_FUNCTION(ceil)
EMULATED_FUNCTION(cos)
EMULATED_FUNCTION(exp)
EMULATED_FUNCTION(exp2)
EMULATED_FUNCTION(expm1)
EMULATED_FUNCTION(fabs)
EMULATED_FUNCTION(floor)
EMULATED_FUNCTION(log)
EMULATED_FUNCTION(log10)
EMULATED_FUNCTION(log1p)
EMULATED_FUNCTION(log2)
EMULATED_FUNCTION(nearbyint)
EMULATED_FUNCTION(rint)
EMULATED_FUNCTION(round)
EMULATED_FUNCTION(sin)
EMULATED_FUNCTION(sqrt)
EMULATED_FUNCTION(tan)
EMULATED_FUNCTION(tanh)
EMULATED_FUNCTION(trunc)

#define EMULATED_FUNCTION_OF_TWO(name)     \
  inline float name##f(float a, float b) { \
    return __builtin_##name##f(a, b);      \
  }                                        \
  inline double name(double a, double b) { \
    return __builtin_##name(a, b);         \
  }                                        \
  inline float name(float a, float b) {    \
    return __builtin_##name##f(a, b);      \
  }
EMULATED_FUNCTION_OF_TWO(atan2)
EMULATED_FUNCTION_OF_TWO(copysign)
EMULATED_FUNCTION_OF_TWO(fmod)
EMULATED_FUNCTION_OF_TWO(hypot)
EMULATED_FUNCTION_OF_TWO(pow)

inline float fmaf(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}
inline double fma(double a, double b, double c) {
  return __builtin_fma(a, b, c);
}
inline float fma(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}
inline float ldexpf(float a, int exponent) {
  return __builtin_ldexpf(a, exponent);
}
inline double ldexp(double a, int exponent) {
  return __builtin_ldexp(a, exponent);
}
inline float rsqrtf(float a) {
  return 1 / __builtin_sqrtf(a);
}
inline double rsqrt(double a) {
  return 1 / __builtin_sqrt(a);
}
inline float fdividef(float a, float b) {
  return a / b;
}
inline float __fdividef(float a, float b) {
  return a / b;
}
inline float __expf(float a) {
  return expf(a);
}
inline float __logf(float a) {
  return logf(a);
}
inline float __log2f(float a) {
  return log2f(a);
}
inline float __powf(float a, float b) {
  return powf(a, b);
}
inline float abs(float a) {
  return fabsf(a);
}
inline double abs(double a) {
  return fabs(a);
}
inline bool isnan(float a) {
  return a != a;
}
inline bool isnan(double a) {
  return a != a;
}
inline bool isinf(float a) {
  return __builtin_isinf(a);
}
inline bool isinf(double a) {
  return __builtin_isinf(a);
}
inline bool isfinite(float a) {
  return __builtin_isfinite(a);
}
inline bool isfinite(double a) {
  return __builtin_isfinite(a);
}
inline bool signbit(float a) {
  return __builtin_signbit(a);
}
inline bool signbit(double a) {
  return __builtin_signbit(a);
}

namespace emulated {

// As on a GPU: a number wins over NaN, and -0 is less than +0.
template <class T>
T least(T a, T b) {
  if (a != a) return b;
  if (a == b) return __builtin_signbit(a) ? a : b;
  return b < a ? b : a;
}

template <class T>
T most(T a, T b) {
  if (a != a) return b;
  if (a == b) return __builtin_signbit(a) ? b : a;
  return b > a ? b : a;
}

}  // namespace emulated

inline float fminf(float a, float b) {
  return emulated::least(a, b);
}
inline float fmaxf(float a, float b) {
  return emulated::most(a, b);
}
inline double fmin(double a, double b) {
  return emulated::least(a, b);
}
inline double fmax(double a, double b) {
  return emulated::most(a, b);
}
#define EMULATED_FLOAT_EXTREMES(A, B, Result) \
  inline Result min(A a, B b) {               \
    return emulated::least<Result>(a, b);     \
  }                                           \
  inline Result max(A a, B b) {               \
    return emulated::most<Result>(a, b);      \
  }
EMULATED_FLOAT_EXTREMES(float, float, float)
EMULATED_FLOAT_EXTREMES(double, double, double)
EMULATED_FLOAT_EXTREMES(float, double, double)
EMULATED_FLOAT_EXTREMES(double, float, double)

// Conversions.

namespace emulated {

// Values out of range become the nearest integer in range. NaN becomes 0, or only the highest bit for
// conversions from or to 64 bits.
template <class To, class From>
To converted(From rounded) {
  constexpr int bits = 8 * static_cast<int>(sizeof(To));
  constexpr bool is_signed = static_cast<To>(-1) < 0;
  constexpr To high_bit = static_cast<To>(static_cast<To>(1) << (bits - 1));
  constexpr To least = is_signed ? high_bit : 0, most = static_cast<To>(~least);
  constexpr From end = static_cast<From>(1ull << (bits - 1)) * (is_signed ? 1 : 2);
  if (rounded != rounded) return sizeof(From) == 8 || sizeof(To) == 8 ? high_bit : 0;
  if (rounded >= end) return most;
  return rounded < static_cast<From>(least) ? least : static_cast<To>(rounded);
}

}  // namespace emulated

#define EMULATED_CONVERSIONS(From, from, suffix, To, to)        \
  inline To __##from##2##to##_rn(From a) {                      \
    return emulated::converted<To>(__builtin_rint##suffix(a));  \
  }                                                             \
  inline To __##from##2##to##_rz(From a) {                      \
    return emulated::converted<To>(__builtin_trunc##suffix(a)); \
  }                                                             \
  inline To __##from##2##to##_rd(From a) {                      \
    return emulated::converted<To>(__builtin_floor##suffix(a)); \
  }                                                             \
  inline To __##from##2##to##_ru(From a) {                      \
    return emulated::converted<To>(__builtin_ceil##suffix(a));  \
  }
EMULATED_CONVERSIONS(float, float, f, int, int)
EMULATED_CONVERSIONS(float, float, f, unsigned, uint)
EMULATED_CONVERSIONS(float, float, f, long long, ll)
EMULATED_CONVERSIONS(float, float, f, unsigned long long, ull)
EMULATED_CONVERSIONS(double, double, , int, int)
EMULATED_CONVERSIONS(double, double, , unsigned, uint)
EMULATED_CONVERSIONS(double, double, , long long, ll)
EMULATED_CONVERSIONS(double, double, , unsigned long long, ull)

inline float __int2float_rn(int a) {
  return static_cast<float>(a);
}
inline float __uint2float_rn(unsigned a) {
  return static_cast<float>(a);
}
inline float __ll2float_rn(long long a) {
  return static_cast<float>(a);
}
inline float __ull2float_rn(unsigned long long a) {
  return static_cast<float>(a);
}
inline float __double2float_rn(double a) {
  return static_cast<float>(a);
}
inline double __int2double_rn(int a) {
  return a;
}
inline double __uint2double_rn(unsigned a) {
  return a;
}
inline double __ll2double_rn(long long a) {
  return static_cast<double>(a);
}
inline double __ull2double_rn(unsigned long long a) {
  return static_cast<double>(a);
}

inline long lrintf(float a) {
  return __float2ll_rn(a);
}
inline long lrint(double a) {
  return __double2ll_rn(a);
}
inline long long llrintf(float a) {
  return __float2ll_rn(a);
}
inline long long llrint(double a) {
  return __double2ll_rn(a);
}

// Numbers of 16 bits, for which CUDA without its headers has instructions, but no functions.
namespace emulated {

inline float half_to_float(unsigned short half) {
  const unsigned sign = (half & 0x8000u) << 16, magnitude = (half & 0x7fffu) << 13;
  if (magnitude > 0x7c00u << 13) return bits_as<float>(0x7fffffffu);  // NaN
  if (magnitude == 0x7c00u << 13) return bits_as<float>(sign | 0x7f800000u);
  return bits_as<float>(sign | bits_as<unsigned>(bits_as<float>(magnitude) * 0x1p112f));
}

// Rounds to nearest, ties to even.
inline unsigned short float_to_half(float value) {
  const unsigned sign = bits_as<unsigned>(value) >> 16 & 0x8000,
                 magnitude = bits_as<unsigned>(value) & 0x7fffffff;
  const float absolute = bits_as<float>(magnitude);
  if (value != value) return 0x7fff;
  if (absolute >= 65536) return static_cast<unsigned short>(sign | 0x7c00);
  if (absolute < 0x1p-14f)
    return static_cast<unsigned short>(sign | static_cast<unsigned>(__builtin_rintf(absolute * 0x1p24f)));
  const unsigned rebased = magnitude - (112u << 23);
  return static_cast<unsigned short>(sign | (rebased + 0xfff + (rebased >> 13 & 1)) >> 13);
}

}  // namespace emulated

// Memory: cache hints have no effect here.

#define EMULATED_LOAD(name)  \
  template <class T>         \
  T name(const T* address) { \
    return *address;         \
  }
EMULATED_LOAD(__ldg)
EMULATED_LOAD(__ldca)
EMULATED_LOAD(__ldcg)
EMULATED_LOAD(__ldcs)
EMULATED_LOAD(__ldcv)
EMULATED_LOAD(__ldlu)

namespace emulated {

// The type is not deduced, so that a value converts to the stored type.
template <class T>
struct Same {
  using type = T;
};

}  // namespace emulated

#define EMULATED_STORE(name)                                      \
  template <class T>                                              \
  void name(T* address, typename emulated::Same<T>::type value) { \
    *address = value;                                             \
  }
EMULATED_STORE(__stcg)
EMULATED_STORE(__stcs)
EMULATED_STORE(__stwb)
EMULATED_STORE(__stwt)

inline void* memcpy(void* to, const void* from, size_t bytes) {
  return __builtin_memcpy(to, from, bytes);
}
inline void* memset(void* to, int value, size_t bytes) {
  return __builtin_memset(to, value, bytes);
}
