// SPDX-License-Identifier: Apache-2.0
// CUDA's arithmetic functions, each compared with its description, written out lane by lane.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu_test.h"

namespace emulated_test {
namespace {

using Words = std::uint32_t;
using OfThree = std::function<Words(Words a, Words b, Words c)>;

struct Case {
  // An expression of the words a, b and c.
  std::string call;
  OfThree expected;
};

// `operation` gets the lanes of a, b and c as wide numbers; its result is truncated to the lane.
template <class Lane, class Operation>
OfThree lanes(Operation operation) {
  return [operation](Words a, Words b, Words c) {
    Lane x[4 / sizeof(Lane)], y[4 / sizeof(Lane)], z[4 / sizeof(Lane)], result[4 / sizeof(Lane)];
    std::memcpy(x, &a, 4);
    std::memcpy(y, &b, 4);
    std::memcpy(z, &c, 4);
    for (std::size_t i = 0; i < 4 / sizeof(Lane); ++i)
      result[i] = static_cast<Lane>(operation(long{x[i]}, long{y[i]}, long{z[i]}));
    Words word;
    std::memcpy(&word, result, 4);
    return word;
  };
}

template <class Lane>
long clamped(long value) {
  return std::clamp<long>(value, std::numeric_limits<Lane>::min(), std::numeric_limits<Lane>::max());
}

template <class Lane>
long sum_of_differences(Words a, Words b) {
  long sum = 0;
  for (unsigned shift = 0; shift < 32; shift += 8 * sizeof(Lane))
    sum += std::labs(long{static_cast<Lane>(a >> shift)} - long{static_cast<Lane>(b >> shift)});
  return sum;
}

template <class Byte>
long sum_of_products(Words a, Words b) {
  long sum = 0;
  for (unsigned shift = 0; shift < 32; shift += 8)
    sum += long{static_cast<Byte>(a >> shift)} * long{static_cast<Byte>(b >> shift)};
  return sum;
}

// The cases of one kind of lane: "__vadd2" or "__vadd4", "__vmins4", and so on.
template <class Lane>
void add_packed(std::vector<Case>& cases) {
  const std::string size = sizeof(Lane) == 2 ? "2" : "4";
  const auto add = [&](const std::string& name, auto operation) {
    cases.push_back({"__v" + name + size + "(a, b)", lanes<Lane>(operation)});
  };
  const auto add_of_one = [&](const std::string& name, auto operation) {
    cases.push_back({"__v" + name + size + "(a)", lanes<Lane>(operation)});
  };
  const auto add_comparison = [&](const std::string& name, auto is_true) {
    add("cmp" + name, [is_true](long x, long y, long) { return is_true(x, y) ? -1L : 0L; });
    add("set" + name, [is_true](long x, long y, long) { return is_true(x, y) ? 1L : 0L; });
  };
  constexpr bool is_signed = std::numeric_limits<Lane>::is_signed;
  const std::string sign = is_signed ? "s" : "u";

  add("min" + sign, [](long x, long y, long) { return std::min(x, y); });
  add("max" + sign, [](long x, long y, long) { return std::max(x, y); });
  add("absdiff" + sign, [](long x, long y, long) { return std::labs(x - y); });
  add("add" + sign + "s", [](long x, long y, long) { return clamped<Lane>(x + y); });
  add("sub" + sign + "s", [](long x, long y, long) { return clamped<Lane>(x - y); });
  add_comparison("ge" + sign, [](long x, long y) { return x >= y; });
  add_comparison("gt" + sign, [](long x, long y) { return x > y; });
  add_comparison("le" + sign, [](long x, long y) { return x <= y; });
  add_comparison("lt" + sign, [](long x, long y) { return x < y; });
  cases.push_back({"__vsad" + sign + size + "(a, b)", [](Words a, Words b, Words) {
                     return static_cast<Words>(sum_of_differences<Lane>(a, b));
                   }});
  if constexpr (is_signed) {
    add_of_one("abs", [](long x, long, long) { return std::labs(x); });
    add_of_one("absss", [](long x, long, long) { return clamped<Lane>(std::labs(x)); });
    add_of_one("neg", [](long x, long, long) { return -x; });
    add_of_one("negss", [](long x, long, long) { return clamped<Lane>(-x); });
  } else {
    add("add", [](long x, long y, long) { return x + y; });
    add("sub", [](long x, long y, long) { return x - y; });
    add("avgu", [](long x, long y, long) { return (x + y + 1) / 2; });
    add("haddu", [](long x, long y, long) { return (x + y) / 2; });
    add_comparison("eq", [](long x, long y) { return x == y; });
    add_comparison("ne", [](long x, long y) { return x != y; });
  }
}

// "__viaddmin_u16x2" and related functions, for one kind of number.
template <class Number>
void add_best(std::vector<Case>& cases, const std::string& kind) {
  const auto both = [&](const std::string& name, const std::string& arguments, auto operation) {
    cases.push_back({"__vi" + name + "_" + kind + arguments, lanes<Number>(operation)});
    if constexpr (std::numeric_limits<Number>::is_signed)
      cases.push_back({"__vi" + name + "_" + kind + "_relu" + arguments,
                       lanes<Number>([operation](long x, long y, long z) {
                         return std::max(long{static_cast<Number>(operation(x, y, z))}, 0L);
                       })});
  };
  both("min3", "(a, b, c)", [](long x, long y, long z) { return std::min({x, y, z}); });
  both("max3", "(a, b, c)", [](long x, long y, long z) { return std::max({x, y, z}); });
  both("addmin", "(a, b, c)",
       [](long x, long y, long z) { return std::min(long{static_cast<Number>(x + y)}, z); });
  both("addmax", "(a, b, c)",
       [](long x, long y, long z) { return std::max(long{static_cast<Number>(x + y)}, z); });
  if constexpr (std::numeric_limits<Number>::is_signed) {
    cases.push_back({"__vimin_" + kind + "_relu(a, b)",
                     lanes<Number>([](long x, long y, long) { return std::max(std::min(x, y), 0L); })});
    cases.push_back({"__vimax_" + kind + "_relu(a, b)", lanes<Number>([](long x, long y, long) {
                       return std::max({x, y, 0L});
                     })});
  }
}

// "__vibmin_s32(a, b, &first)": the result, and which of the two it is.
template <class Number>
void add_choices(std::vector<Case>& cases, const std::string& kind) {
  cases.push_back({"__vibmin_" + kind, lanes<Number>([](long x, long y, long) { return std::min(x, y); })});
  cases.push_back({"__vibmax_" + kind, lanes<Number>([](long x, long y, long) { return std::max(x, y); })});
}

int as_int(Words a) {
  return static_cast<int>(a);
}

Words permuted(Words a, Words b, Words selectors) {
  const std::uint64_t both = std::uint64_t{b} << 32 | a;
  Words result = 0;
  for (unsigned i = 0; i < 4; ++i)
    result |= static_cast<Words>(both >> 8 * (selectors >> 4 * i & 7) & 0xff) << 8 * i;
  return result;
}

std::vector<Case> scalar_cases() {
  const auto both = [](Words low, Words high) { return std::uint64_t{high} << 32 | low; };
  const auto low_24 = [](Words a) { return long{as_int(a << 8)} / 256; };
  return {
      {"__dp4a(a, b, c)",
       [](Words a, Words b, Words c) { return static_cast<Words>(c + sum_of_products<std::uint8_t>(a, b)); }},
      {"__dp4a((int)a, (int)b, (int)c)",
       [](Words a, Words b, Words c) { return static_cast<Words>(c + sum_of_products<std::int8_t>(a, b)); }},
      {"__byte_perm(a, b, c)", permuted},
      {"__funnelshift_l(a, b, c)",
       [=](Words a, Words b, Words c) { return static_cast<Words>(both(a, b) << c % 32 >> 32); }},
      {"__funnelshift_r(a, b, c)",
       [=](Words a, Words b, Words c) { return static_cast<Words>(both(a, b) >> c % 32); }},
      {"__funnelshift_lc(a, b, c % 40)",
       [=](Words a, Words b, Words c) {
         return static_cast<Words>(both(a, b) << std::min(c % 40, 32u) >> 32);
       }},
      {"__funnelshift_rc(a, b, c % 40)",
       [=](Words a, Words b, Words c) { return static_cast<Words>(both(a, b) >> std::min(c % 40, 32u)); }},
      {"__popc(a)", [](Words a, Words, Words) { return static_cast<Words>(std::popcount(a)); }},
      {"__clz(a)", [](Words a, Words, Words) { return static_cast<Words>(std::countl_zero(a)); }},
      {"__ffs(a)",
       [](Words a, Words, Words) { return a == 0 ? 0 : static_cast<Words>(std::countr_zero(a)) + 1; }},
      {"__brev(a)",
       [](Words a, Words, Words) {
         Words reversed = 0;
         for (int i = 0; i < 32; ++i) reversed = reversed << 1 | (a >> i & 1);
         return reversed;
       }},
      {"__mul24(a, b)",
       [=](Words a, Words b, Words) {
         return static_cast<Words>(low_24(a & 0xffffff) * low_24(b & 0xffffff));
       }},
      {"__umul24(a, b)", [](Words a, Words b, Words) { return (a & 0xffffff) * (b & 0xffffff); }},
      {"__umulhi(a, b)",
       [](Words a, Words b, Words) { return static_cast<Words>(std::uint64_t{a} * b >> 32); }},
      {"__mulhi(a, b)",
       [](Words a, Words b, Words) { return static_cast<Words>(long{as_int(a)} * as_int(b) >> 32); }},
      {"__sad(a, b, c)",
       [](Words a, Words b, Words c) {
         return static_cast<Words>(std::labs(long{as_int(a)} - as_int(b)) + c);
       }},
      {"__usad(a, b, c)",
       [](Words a, Words b, Words c) { return static_cast<Words>(std::labs(long{a} - long{b}) + c); }},
      {"__hadd(a, b)",
       [](Words a, Words b, Words) { return static_cast<Words>((long{as_int(a)} + as_int(b)) >> 1); }},
      {"__rhadd(a, b)",
       [](Words a, Words b, Words) { return static_cast<Words>((long{as_int(a)} + as_int(b) + 1) >> 1); }},
      {"__uhadd(a, b)", [](Words a, Words b, Words) { return static_cast<Words>((long{a} + b) >> 1); }},
      {"min(a, (int)b)", [](Words a, Words b, Words) { return std::min(a, b); }},
      {"max((int)a, (int)b)",
       [](Words a, Words b, Words) { return static_cast<Words>(std::max(as_int(a), as_int(b))); }},
      {"(unsigned)min((long long)a - (long long)b, 5ll)",
       [](Words a, Words b, Words) { return static_cast<Words>(std::min(long{a} - long{b}, 5L)); }},
      {"__popcll((unsigned long long)a << 20)",
       [](Words a, Words, Words) { return static_cast<Words>(std::popcount(a)); }},
      {"__clzll((long long)a << 7)",
       [](Words a, Words, Words) { return static_cast<Words>(std::countl_zero(std::uint64_t{a} << 7)); }},
  };
}

class Intrinsics : public Gpu {
 protected:
  // Includes numbers whose sums and differences overflow.
  static std::vector<Words> operands(std::uint64_t seed) {
    std::vector<Words> words = random_values<Words>(2048, seed);
    std::mt19937_64 generator(seed);
    const Words edges[] = {0,          0xffffffff, 0x80008000, 0x7fff7fff, 0x80808080, 0x7f7f7f7f,
                           0x80000000, 0x7fffffff, 0x00ff00ff, 0x0001ffff, 1,          0x01010101};
    for (std::size_t i = 0; i < words.size(); i += 2) words[i] = edges[generator() % std::size(edges)];
    return words;
  }

  // Calls all of them from one kernel.
  void check(const std::vector<Case>& cases) {
    std::string source =
        "extern \"C\" __global__ void all(const unsigned* as, const unsigned* bs, const unsigned* cs, "
        "unsigned n, unsigned* out) {\n"
        "  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "  if (i >= n) return;\n"
        "  const unsigned a = as[i], b = bs[i], c = cs[i];\n";
    for (std::size_t k = 0; k < cases.size(); ++k)
      source += "  out[" + std::to_string(k) + " * n + i] = " + cases[k].call + ";\n";
    source += "}\n";
    const std::vector<Words> a = operands(1), b = operands(2), c = operands(3);
    const auto n = static_cast<unsigned>(a.size());
    const DeviceAddress as = upload(a), bs = upload(b), cs = upload(c), out = allocate(4 * n * cases.size());
    ASSERT_EQ(launch(kernel("all", source), {n / 256}, {256}, 0, as, bs, cs, n, out), 0);
    const std::vector<Words> results = download<Words>(out, n * cases.size());
    for (std::size_t k = 0; k < cases.size(); ++k)
      for (std::size_t i = 0; i < n; ++i)
        ASSERT_EQ(results[k * n + i], cases[k].expected(a[i], b[i], c[i]))
            << cases[k].call << std::hex << " of " << a[i] << ", " << b[i] << ", " << c[i];
  }
};

TEST_F(Intrinsics, of_packed_numbers) {
  std::vector<Case> cases;
  add_packed<std::uint16_t>(cases);
  add_packed<std::int16_t>(cases);
  add_packed<std::uint8_t>(cases);
  add_packed<std::int8_t>(cases);
  check(cases);
}

TEST_F(Intrinsics, of_dynamic_programming) {
  std::vector<Case> cases;
  add_best<std::uint32_t>(cases, "u32");
  add_best<std::int32_t>(cases, "s32");
  add_best<std::uint16_t>(cases, "u16x2");
  add_best<std::int16_t>(cases, "s16x2");
  check(cases);
}

TEST_F(Intrinsics, that_tell_which_is_chosen) {
  std::vector<Case> cases, choices;
  add_choices<std::uint32_t>(choices, "u32");
  add_choices<std::int32_t>(choices, "s32");
  for (const Case& choice : choices) {
    const bool is_min = choice.call.find("min") != std::string::npos;
    const OfThree best = choice.expected;
    cases.push_back({"[&] { bool first; return " + choice.call + "(a, b, &first); }()", best});
    cases.push_back({"[&] { bool first; " + choice.call + "(a, b, &first); return first ? 1u : 0u; }()",
                     [best](Words a, Words b, Words c) { return best(a, b, c) == a ? 1u : 0u; }});
    EXPECT_EQ(best(3, 4, 0), is_min ? 3u : 4u);
  }
  choices.clear();
  add_choices<std::uint16_t>(choices, "u16x2");
  add_choices<std::int16_t>(choices, "s16x2");
  for (const Case& choice : choices) {
    const OfThree best = choice.expected;
    cases.push_back({"[&] { bool high, low; return " + choice.call + "(a, b, &high, &low); }()", best});
    cases.push_back({"[&] { bool high, low; " + choice.call +
                         "(a, b, &high, &low); return (high ? 2u : 0u) + (low ? 1u : 0u); }()",
                     [best](Words a, Words b, Words c) {
                       const Words differs = best(a, b, c) ^ a;
                       return (differs >> 16 == 0 ? 2u : 0u) + ((differs & 0xffff) == 0 ? 1u : 0u);
                     }});
  }
  check(cases);
}

TEST_F(Intrinsics, of_whole_words) {
  check(scalar_cases());
}

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

TEST_F(Intrinsics, that_convert_to_integers_saturate) {
  constexpr long least = std::numeric_limits<long>::min(), most = std::numeric_limits<long>::max();
  constexpr long int_least = -2147483648, int_most = 2147483647, unsigned_most = 4294967295;
  struct Row {
    float value;
    std::array<long, 6> converted;
  };
  const std::vector<Row> rows{{0, {0, 0, 0, 0, 0, 0}},
                              {-0.5f, {0, 0, -1, 0, 0, 0}},
                              {0.5f, {0, 0, 0, 0, 0, 1}},
                              {1.5f, {2, 2, 1, 1, 2, 2}},
                              {2.5f, {2, 2, 2, 2, 2, 3}},
                              {-2.5f, {-2, 0, -3, -2, -2, -2}},
                              {1e10f, {int_most, unsigned_most, 10000000000, int_most, int_most, int_most}},
                              {-1e10f, {int_least, 0, -10000000000, int_least, int_least, int_least}},
                              {1e30f, {int_most, unsigned_most, most, int_most, int_most, int_most}},
                              {-1e30f, {int_least, 0, least, int_least, int_least, int_least}},
                              {infinity, {int_most, unsigned_most, most, int_most, int_most, int_most}},
                              {nan, {0, 0, least, 0, int_least, 0}}};
  const std::string source =
      "extern \"C\" __global__ void convert(const float* in, long long* out) {\n"
      "  const float a = in[threadIdx.x];\n"
      "  long long* to = out + 6 * threadIdx.x;\n"
      "  to[0] = __float2int_rn(a);\n"
      "  to[1] = __float2uint_rn(a);\n"
      "  to[2] = __double2ll_rd(a);\n"
      "  to[3] = __float2int_rz(a);\n"
      "  to[4] = __double2int_rn(a);\n"
      "  to[5] = __float2int_ru(a);\n"
      "}\n";
  std::vector<float> values;
  for (const Row& row : rows) values.push_back(row.value);
  const DeviceAddress in = upload(values), out = allocate(rows.size() * 6 * 8);
  ASSERT_EQ(launch(kernel("convert", source), {1}, {static_cast<unsigned>(rows.size())}, 0, in, out), 0);
  const auto results = download<std::array<long, 6>>(out, rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(results[i], rows[i].converted) << rows[i].value;
}

// The nearest number of 16 bits, found by search.
std::uint16_t nearest_half(float value, const std::vector<float>& halves) {
  if (std::isnan(value)) return 0x7fff;
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const double absolute = std::fabs(value);
  if (absolute >= 65520) return sign | 0x7c00;
  const auto above = std::lower_bound(halves.begin(), halves.begin() + 0x7c00, absolute) - halves.begin();
  if (above == 0) return sign;
  // Infinity counts like the next number.
  const double higher = above == 0x7c00 ? 65536 : halves[above], lower = halves[above - 1];
  const bool takes_higher =
      higher - absolute < absolute - lower || (higher - absolute == absolute - lower && above % 2 == 0);
  return static_cast<std::uint16_t>(sign | (takes_higher ? above : above - 1));
}

TEST_F(Intrinsics, of_numbers_of_16_bits) {
  const std::string source = R"(
      extern "C" __global__ void widen(float* out) {
        const unsigned short half = blockIdx.x * blockDim.x + threadIdx.x;
        #ifdef PARALLAX_EMULATED
        out[half] = emulated::half_to_float(half);
        #else
        asm("cvt.f32.f16 %0, %1;" : "=f"(out[half]) : "h"(half));
        #endif
      }
      extern "C" __global__ void narrow(const float* in, unsigned short* out) {
        const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
        #ifdef PARALLAX_EMULATED
        out[i] = emulated::float_to_half(in[i]);
        #else
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(out[i]) : "f"(in[i]));
        #endif
      })";
  const ModuleHandle module = load(source);
  constexpr unsigned n = 65536;
  const DeviceAddress wide = allocate(4 * n);
  ASSERT_EQ(launch(kernel(module, "widen"), {n / 256}, {256}, 0, wide), 0);
  const std::vector<float> halves = download<float>(wide, n);
  for (unsigned i = 0; i < n; ++i) {
    const int exponent = i >> 10 & 31, fraction = i & 1023;
    const float magnitude = exponent == 31  ? (fraction == 0 ? infinity : nan)
                            : exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                            : std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
    if (std::isnan(magnitude)) {
      EXPECT_TRUE(std::isnan(halves[i])) << i;
    } else {
      EXPECT_EQ(std::bit_cast<Words>(halves[i]), std::bit_cast<Words>(i >= 0x8000 ? -magnitude : magnitude))
          << i;
    }
  }
  // All halves, the values half way between, their neighbours, and random values.
  std::vector<float> values = halves;
  for (unsigned i = 0; i + 1 < 0x7c00; ++i) {
    const float middle = (halves[i] + halves[i + 1]) / 2;
    for (const float value : {middle, std::nextafter(middle, 0.0f), std::nextafter(middle, infinity)})
      values.push_back(i % 2 == 0 ? value : -value);
  }
  for (const Words word : random_values<Words>(10000)) values.push_back(std::bit_cast<float>(word));
  for (const float value : {65519.0f, 65520.0f, 65535.0f, 65536.0f, 1e30f}) values.push_back(value);
  values.resize((values.size() + 255) / 256 * 256);
  const DeviceAddress in = upload(values), out = allocate(2 * values.size());
  ASSERT_EQ(launch(kernel(module, "narrow"), {static_cast<unsigned>(values.size() / 256)}, {256}, 0, in, out),
            0);
  const std::vector<std::uint16_t> narrowed = download<std::uint16_t>(out, values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(narrowed[i], nearest_half(values[i], halves)) << values[i];
}

TEST_F(Intrinsics, of_floating_point) {
  const std::vector<float> values{0, -0.0f, 1, -1, 0.1f, 3.7f, -3.7f, 2.5f, 1e-40f, infinity, -infinity, nan};
  const std::string source =
      "extern \"C\" __global__ void compute(const float* in, unsigned n, unsigned* out) {\n"
      "  const float a = in[threadIdx.x], b = in[threadIdx.y];\n"
      "  unsigned* to = out + 12 * (threadIdx.y * n + threadIdx.x);\n"
      "  to[0] = __float_as_uint(fminf(a, b));\n"
      "  to[1] = __float_as_uint(fmaxf(a, b));\n"
      "  to[2] = __float_as_uint(__saturatef(a));\n"
      "  to[3] = __float_as_uint(__fmul_rn(a, b));\n"
      "  to[4] = __float_as_uint(__fadd_rn(a, b));\n"
      "  to[5] = __float_as_uint(__fdiv_rn(a, b));\n"
      "  to[6] = __float_as_uint(sqrtf(a));\n"
      "  to[7] = __float_as_uint(floorf(a));\n"
      "  to[8] = __float_as_uint(rintf(a));\n"
      "  to[9] = __float_as_uint(fabsf(a));\n"
      "  to[10] = __float_as_uint(__fmaf_rn(a, b, 0.3f));\n"
      "  to[11] = __float_as_uint((float)__ddiv_rn(a, __dadd_rn(b, 0.7)));\n"
      "}\n";
  const auto n = static_cast<unsigned>(values.size());
  const DeviceAddress in = upload(values), out = allocate(n * n * 12 * 4);
  ASSERT_EQ(launch(kernel("compute", source), {1}, {n, n}, 0, in, n, out), 0);
  const std::vector<float> results = download<float>(out, n * n * 12);
  const auto bits = [](float value) { return std::isnan(value) ? 0x7fffffffu : std::bit_cast<Words>(value); };
  for (unsigned y = 0; y < n; ++y)
    for (unsigned x = 0; x < n; ++x) {
      const float a = values[x], b = values[y];
      const bool are_zeros = a == 0 && b == 0;
      const float expected[] = {are_zeros ? (std::signbit(a) ? a : b) : std::fmin(a, b),
                                are_zeros ? (std::signbit(a) ? b : a) : std::fmax(a, b),
                                std::isnan(a) || a <= 0 ? 0.0f : std::min(a, 1.0f),
                                a * b,
                                a + b,
                                a / b,
                                std::sqrt(a),
                                std::floor(a),
                                std::rint(a),
                                std::fabs(a),
                                std::fma(a, b, 0.3f),
                                static_cast<float>(a / (b + 0.7))};
      for (unsigned k = 0; k < 12; ++k)
        EXPECT_EQ(bits(results[12 * (y * n + x) + k]), bits(expected[k])) << k << " of " << a << ", " << b;
    }
}

}  // namespace
}  // namespace emulated_test
