// SPDX-License-Identifier: Apache-2.0
// The emulated GPU, through the interfaces that Parallax uses.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "context.h"
#include "garbage_memory.h"
#include "gpu_test.h"

namespace emulated_test {
namespace {

using namespace emulated;  // the results of the driver
// Results of the compiler.
constexpr Result invalid_option = 5, compilation_failure = 6;

constexpr unsigned char garbage = 0xA5;

#define NEEDS_CONTROLS() \
  if (controls.fail_call == nullptr) GTEST_SKIP() << "the driver is a real one"

using Execution = Gpu;

TEST_F(Execution, adds_vectors_with_a_tail) {
  const FunctionHandle add = kernel("add", R"(
      extern "C" __global__ void add(const int* a, const int* b, int* sum, unsigned n) {
        const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) sum[i] = a[i] + b[i];
      })");
  const std::size_t n = 1000;
  const std::vector<std::int16_t> narrow_a = random_values<std::int16_t>(n, 1);
  const std::vector<std::int16_t> narrow_b = random_values<std::int16_t>(n, 2);
  const std::vector<int> a(narrow_a.begin(), narrow_a.end()), b(narrow_b.begin(), narrow_b.end());
  const DeviceAddress as = upload(a), bs = upload(b), sums = allocate(4 * n);
  ASSERT_EQ(launch(add, {4}, {256}, 0, as, bs, sums, static_cast<unsigned>(n)), success);
  std::vector<int> expected(n);
  std::transform(a.begin(), a.end(), b.begin(), expected.begin(), std::plus<>());
  EXPECT_EQ(download<int>(sums, n), expected);
}

TEST_F(Execution, tells_each_thread_where_it_is) {
  const FunctionHandle where = kernel("where", R"(
      extern "C" __global__ void where(unsigned* out) {
        const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
        const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
        const dim3 size = blockDim;
        out[block * size.x * size.y * size.z + thread] = block << 16 | thread;
      })");
  const Shape grid{3, 2, 2}, block{5, 4, 3};
  const DeviceAddress out = allocate(4 * 12 * 60);
  ASSERT_EQ(launch(where, grid, block, 0, out), success);
  std::vector<unsigned> expected;
  for (unsigned b = 0; b < 12; ++b)
    for (unsigned t = 0; t < 60; ++t) expected.push_back(b << 16 | t);
  EXPECT_EQ(download<unsigned>(out, expected.size()), expected);
}

TEST_F(Execution, reverses_in_shared_memory_behind_a_barrier) {
  const FunctionHandle reverse = kernel("reverse", R"(
      extern "C" __global__ void __launch_bounds__(256) reverse(int* values) {
        __shared__ int tile[256];
        tile[threadIdx.x] = values[blockIdx.x * 256 + threadIdx.x];
        __syncthreads();
        values[blockIdx.x * 256 + threadIdx.x] = tile[255 - threadIdx.x];
      })");
  std::vector<int> values = random_values<int>(1024);
  const DeviceAddress address = upload(values);
  ASSERT_EQ(launch(reverse, {4}, {256}, 0, address), success);
  for (auto block = values.begin(); block != values.end(); block += 256) std::reverse(block, block + 256);
  EXPECT_EQ(download<int>(address, values.size()), values);
}

TEST_F(Execution, barriers_count_threads) {
  const FunctionHandle count = kernel("count", R"(
      extern "C" __global__ void count(int* out) {
        const int i = threadIdx.x;
        out[3 * i] = __syncthreads_count(i % 3 == 0);
        out[3 * i + 1] = __syncthreads_or(i == 99);
        out[3 * i + 2] = __syncthreads_and(i < 99);
      })");
  const DeviceAddress out = allocate(4 * 300);
  ASSERT_EQ(launch(count, {1}, {100}, 0, out), success);
  std::vector<int> expected;
  for (int i = 0; i < 100; ++i) expected.insert(expected.end(), {34, 1, 0});
  EXPECT_EQ(download<int>(out, 300), expected);
}

TEST_F(Execution, threads_that_return_early_are_not_waited_for_at_a_barrier) {
  const FunctionHandle early = kernel("early", R"(
      extern "C" __global__ void early(int* out, int n) {
        __shared__ int sum;
        const int i = threadIdx.x;
        if (i == 0) sum = 0;
        __syncthreads();
        if (i >= n) return;
        atomicAdd(&sum, 1);
        __syncthreads();
        out[i] = sum;
      })");
  const DeviceAddress out = allocate(4 * 100);
  ASSERT_EQ(launch(early, {1}, {128}, 0, out, 100), success);
  EXPECT_EQ(download<int>(out, 100), std::vector<int>(100, 100));
}

TEST_F(Execution, sums_prefixes_by_shuffles) {
  const FunctionHandle prefix = kernel("prefix", R"(
      extern "C" __global__ void prefix(const int* in, int* out) {
        const unsigned lane = threadIdx.x % 32;
        int sum = in[threadIdx.x];
        for (unsigned step = 1; step < 32; step *= 2) {
          const int before = __shfl_up_sync(0xffffffff, sum, step);
          if (lane >= step) sum += before;
        }
        out[threadIdx.x] = sum;
      })");
  const std::vector<std::int16_t> narrow = random_values<std::int16_t>(96);
  const std::vector<int> in(narrow.begin(), narrow.end());
  const DeviceAddress ins = upload(in), outs = allocate(4 * in.size());
  ASSERT_EQ(launch(prefix, {1}, {96}, 0, ins, outs), success);
  std::vector<int> expected(in.size());
  for (std::size_t warp = 0; warp < in.size(); warp += 32)
    std::partial_sum(&in[warp], &in[warp] + 32, &expected[warp]);
  EXPECT_EQ(download<int>(outs, in.size()), expected);
}

// The lane from which a lane's value comes, among `width` lanes.
int shuffle_source(const std::string& kind, int lane, int by, int width) {
  const int first = lane / width * width, last = first + width - 1;
  if (kind == "__shfl_sync") return first + (by & (width - 1));
  if (kind == "__shfl_up_sync") return lane - by >= first ? lane - by : lane;
  if (kind == "__shfl_down_sync") return lane + by <= last ? lane + by : lane;
  return (lane ^ by) <= last ? lane ^ by : lane;
}

TEST_F(Execution, shuffles_values_of_each_size_within_each_width) {
  for (const std::string kind : {"__shfl_sync", "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync"}) {
    const ModuleHandle module = load("#define SHUFFLE " + kind + R"(
        extern "C" __global__ void shuffle(double* out, int by) {
          const int lane = threadIdx.x;
          int k = 0;
          for (int width = 1; width <= 32; width *= 2, k += 4) {
            out[32 * k + lane] = SHUFFLE(~0u, lane, by, width);
            out[32 * (k + 1) + lane] = SHUFFLE(~0u, 0.5f * lane, by, width);
            out[32 * (k + 2) + lane] = SHUFFLE(~0u, (1ull << 40) + lane, by, width);
            out[32 * (k + 3) + lane] = SHUFFLE(~0u, 0.25 * lane, by, width);
          }
        })");
    const DeviceAddress out = allocate(6 * 4 * 32 * 8);
    for (int by = 0; by < 32; ++by) {
      ASSERT_EQ(launch(kernel(module, "shuffle"), {1}, {32}, 0, out, by), success);
      const std::vector<double> values = download<double>(out, 6 * 4 * 32);
      for (int k = 0; k < 6; ++k)
        for (int lane = 0; lane < 32; ++lane) {
          const int from = shuffle_source(kind, lane, by, 1 << k);
          ASSERT_EQ(values[128 * k + lane], from) << kind << " by " << by << ", width " << (1 << k);
          ASSERT_EQ(values[128 * k + 32 + lane], 0.5 * from);
          ASSERT_EQ(values[128 * k + 64 + lane], (1ll << 40) + from);
          ASSERT_EQ(values[128 * k + 96 + lane], 0.25 * from);
        }
    }
  }
}

TEST_F(Execution, lanes_vote_reduce_and_match) {
  const FunctionHandle together = kernel("together", R"(
      extern "C" __global__ void together(const int* in, unsigned* out) {
        const unsigned lane = threadIdx.x;
        const int value = in[lane];
        // Each half of the warp separately.
        const unsigned mask = lane < 16 ? 0x0000ffff : 0xffff0000;
        unsigned* to = out + 14 * lane;
        to[0] = __ballot_sync(~0u, value > 0);
        to[1] = __any_sync(mask, lane == 3);
        to[2] = __all_sync(mask, lane < 16);
        to[3] = __reduce_add_sync(mask, value);
        to[4] = __reduce_min_sync(mask, value);
        to[5] = __reduce_max_sync(mask, value);
        to[6] = __reduce_min_sync(~0u, (unsigned)value);
        to[7] = __reduce_max_sync(~0u, (unsigned)value);
        to[8] = __reduce_and_sync(mask, (unsigned)value);
        to[9] = __reduce_or_sync(mask, (unsigned)value);
        to[10] = __reduce_xor_sync(mask, (unsigned)value);
        to[11] = __match_any_sync(~0u, lane % 5);
        int all;
        to[12] = __match_all_sync(mask, lane / 16, &all);
        to[13] = all;
        __syncwarp(mask);
      })");
  const std::vector<int> in = random_values<int>(32);
  const DeviceAddress ins = upload(in), outs = allocate(4 * 14 * 32);
  ASSERT_EQ(launch(together, {1}, {32}, 0, ins, outs), success);
  const std::vector<unsigned> out = download<unsigned>(outs, 14 * 32);
  for (unsigned lane = 0; lane < 32; ++lane) {
    const auto *first = &in[lane / 16 * 16], *end = first + 16;
    const std::vector<unsigned> half(first, end), all(in.begin(), in.end());
    unsigned ballot = 0, match = 0;
    for (unsigned i = 0; i < 32; ++i) {
      ballot |= (in[i] > 0 ? 1u : 0u) << i;
      match |= (i % 5 == lane % 5 ? 1u : 0u) << i;
    }
    const std::vector<unsigned> expected{
        ballot,
        lane < 16,
        lane < 16,
        std::accumulate(half.begin(), half.end(), 0u),
        static_cast<unsigned>(*std::min_element(first, end)),
        static_cast<unsigned>(*std::max_element(first, end)),
        *std::min_element(all.begin(), all.end()),
        *std::max_element(all.begin(), all.end()),
        std::accumulate(half.begin(), half.end(), ~0u, std::bit_and<>()),
        std::accumulate(half.begin(), half.end(), 0u, std::bit_or<>()),
        std::accumulate(half.begin(), half.end(), 0u, std::bit_xor<>()),
        match,
        lane < 16 ? 0x0000ffff : 0xffff0000,
        1,
    };
    EXPECT_EQ(std::vector<unsigned>(&out[14 * lane], &out[14 * lane] + 14), expected) << lane;
  }
}

TEST_F(Execution, adds_and_compares_atomically) {
  const FunctionHandle atomics = kernel("atomics", R"(
      extern "C" __global__ void atomics(int* ints, unsigned* words, unsigned long long* longs, float* floats) {
        const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
        atomicAdd(&ints[0], 2);
        atomicMin(&ints[1], -(int)i);
        atomicMax(&ints[2], (int)i);
        atomicAdd(&words[0], i);
        atomicMin(&words[1], i + 5);
        atomicOr(&words[2], 1u << i % 32);
        atomicAnd(&words[3], ~(1u << i % 16));
        atomicInc(&words[4], 6);
        atomicDec(&words[5], 6);
        atomicSub(&words[6], 1);
        atomicXor(&words[7], i);
        atomicAdd(&longs[0], 1ull << 33);
        unsigned long long seen = longs[1], expected;
        do {
          expected = seen;
          seen = atomicCAS(&longs[1], expected, expected * 3 + 1);
        } while (seen != expected);
        if (i == 7) longs[2] = atomicExch(&longs[3], 77ull);
        atomicAdd(&floats[0], 0.5f);
      })");
  const DeviceAddress ints = upload<int>({0, 0, 0}),
                      words = upload<unsigned>({0, ~0u, 0, ~0u, 0, 0, 1000, 0});
  const DeviceAddress longs = upload<std::uint64_t>({0, 0, 0, 5}), floats = upload<float>({0});
  ASSERT_EQ(launch(atomics, {3}, {100}, 0, ints, words, longs, floats), success);
  EXPECT_EQ(download<int>(ints, 3), (std::vector<int>{600, -299, 299}));
  unsigned exclusive = 0;
  for (unsigned i = 0; i < 300; ++i) exclusive ^= i;
  EXPECT_EQ(download<unsigned>(words, 8),
            (std::vector<unsigned>{44850, 5, ~0u, 0xffff0000, 300 % 7, 7 - 300 % 7, 700, exclusive}));
  std::uint64_t thrice = 0;
  for (int i = 0; i < 300; ++i) thrice = thrice * 3 + 1;
  EXPECT_EQ(download<std::uint64_t>(longs, 4), (std::vector<std::uint64_t>{300ull << 33, thrice, 5, 77}));
  EXPECT_EQ(download<float>(floats, 1), std::vector<float>{150});
}

const char* const shared_source = R"(
    #ifndef PARALLAX_SHARED
    #define PARALLAX_SHARED(type, name) extern __shared__ __align__(16) type name[]
    #endif
    extern "C" __global__ void rotate(const int* in, int* out, int n) {
      PARALLAX_SHARED(int, line);
      for (int i = threadIdx.x; i < n; i += blockDim.x) line[i] = in[i];
      __syncthreads();
      for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = line[(i + 1) % n];
    })";

TEST_F(Execution, dynamic_shared_memory_beyond_48_kilobytes_has_to_be_allowed) {
  const FunctionHandle rotate = kernel("rotate", shared_source);
  constexpr int n = 25000;
  constexpr unsigned bytes = 4 * n;
  std::vector<int> values = random_values<int>(n);
  const DeviceAddress in = upload(values), out = allocate(bytes);
  EXPECT_EQ(launch(rotate, {1}, {128}, bytes, in, out, n), invalid_value);
  EXPECT_EQ(driver.cuFuncSetAttribute(rotate, 8, 228 * 1024), invalid_value);
  ASSERT_EQ(driver.cuFuncSetAttribute(rotate, 8, bytes), success);
  ASSERT_EQ(launch(rotate, {1}, {128}, bytes, in, out, n), success);
  std::rotate(values.begin(), values.begin() + 1, values.end());
  EXPECT_EQ(download<int>(out, n), values);
}

TEST_F(Execution, memory_that_nobody_wrote_holds_garbage) {
  NEEDS_CONTROLS();
  const FunctionHandle read = kernel("read", R"(
      template <int n>
      __device__ unsigned char* more_shared() {
        __shared__ unsigned char memory[n];
        return memory;
      }
      extern "C" __global__ void read(unsigned char* out) {
        __shared__ unsigned char fixed;
        PARALLAX_SHARED(unsigned char, dynamic);
        unsigned char* const from[] = {&fixed, dynamic, dynamic + 99, more_shared<5>() + 4};
        if (threadIdx.x == 0)
          for (unsigned i = 0; i < 4; ++i) {
            out[4 * blockIdx.x + i] = *from[i];
            *from[i] = 1;
          }
      })");
  const DeviceAddress out = allocate(100);
  ASSERT_EQ(launch(read, {2}, {2}, 100, out), success);
  EXPECT_EQ(download<unsigned char>(out, 100), std::vector<unsigned char>(100, garbage));
}

TEST_F(Execution, calls_of_several_threads_of_the_host_get_along) {
  const FunctionHandle rotate = kernel("rotate", shared_source);
  constexpr int n = 1000;
  const std::vector<int> values = random_values<int>(n);
  std::vector<int> expected = values;
  std::rotate(expected.begin(), expected.begin() + 1, expected.end());
  const DeviceAddress in = upload(values), out = allocate(4 * 4 * n);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, to = out + 4 * static_cast<DeviceAddress>(n * i)] {
      ContextHandle popped = nullptr;
      EXPECT_EQ(driver.cuCtxPushCurrent_v2(context), success);
      for (int repeat = 0; repeat < 10; ++repeat)
        EXPECT_EQ(launch(rotate, {1}, {64}, 4 * n, in, to, n), success);
      EXPECT_EQ(driver.cuCtxPopCurrent_v2(&popped), success);
    });
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(download<int>(out + 4 * static_cast<DeviceAddress>(n * i), n), expected);
}

// Kernels that fail make a real GPU's context unusable for the rest of the process.
class Failure : public Gpu {
 protected:
  // The launch itself returns no error; the next call in the context does.
  void expect_launch_to_fail(const std::string& source, const std::string& reason, Shape block,
                             Result expected = launch_failed) {
    NEEDS_CONTROLS();
    const DeviceAddress out = allocate(4096);
    const FunctionHandle failing = kernel("failing", source);
    testing::internal::CaptureStderr();
    EXPECT_EQ(launch(failing, {1}, block, 256, out), success);
    const std::string text = testing::internal::GetCapturedStderr();
    EXPECT_NE(text.find(reason), std::string::npos) << text;
    EXPECT_EQ(driver.cuStreamSynchronize(stream), expected);
    DeviceAddress more = 0;
    EXPECT_EQ(driver.cuMemAlloc_v2(&more, 4), expected);
  }
};

TEST_F(Failure, of_a_barrier_that_others_do_not_reach) {
  expect_launch_to_fail(
      R"(
      extern "C" __global__ void failing(int* out) {
        if (threadIdx.x < 40) __syncthreads();
        else __syncwarp();
      })",
      "kernel failing, block (0, 0, 0): its threads wait for what cannot come: 0 of 64 have ended, 40 wait "
      "at a "
      "barrier, thread (40, 0, 0) waits in a collective with the mask 0xffffffff for the lanes 0xff",
      {64});
}

TEST_F(Failure, of_a_collective_with_a_lane_that_has_ended) {
  expect_launch_to_fail(R"(
      extern "C" __global__ void failing(int* out) {
        if (threadIdx.x == 5) return;
        out[threadIdx.x] = __shfl_xor_sync(0xffffffff, 1, 1);
      })",
                        "1 of 32 have ended", {32});
}

TEST_F(Failure, of_a_collective_with_lanes_that_the_block_does_not_have) {
  expect_launch_to_fail(R"(
      extern "C" __global__ void failing(int* out) { out[threadIdx.x] = __any_sync(0xffffffff, 1); })",
                        "for the lanes 0xffff0000", {16});
}

TEST_F(Failure, of_a_lane_that_is_not_in_its_own_mask) {
  expect_launch_to_fail(R"(
      extern "C" __global__ void failing(int* out) { out[threadIdx.x] = __any_sync(0x7fffffff, 1); })",
                        "thread (31, 0, 0): a collective with the mask 0x7fffffff, without itself", {32});
}

TEST_F(Failure, of_lanes_that_meet_in_different_collectives) {
  expect_launch_to_fail(R"(
      extern "C" __global__ void failing(int* out) {
        if (threadIdx.x < 31) out[0] = __ballot_sync(~0u, 1);
        else out[1] = __shfl_sync(~0u, 1, 0);
      })",
                        "another collective than lane ", {32});
}

TEST_F(Failure, of_waiting_for_what_nobody_writes) {
  expect_launch_to_fail(R"(
      extern "C" __global__ void failing(volatile int* out) {
        *out = 0;
        while (*out == 0) __nanosleep(0);
      })",
                        "its threads wait for what nobody writes", {32});
}

TEST_F(Failure, of_a_trap) {
  expect_launch_to_fail(R"(
      extern "C" __global__ void failing(int* out) {
        __syncthreads();
        if (threadIdx.x == 7) __trap();
      })",
                        "thread (7, 0, 0): the kernel called __trap()", {32});
}

TEST_F(Failure, of_an_assertion) {
  expect_launch_to_fail(R"(
      extern "C" __global__ void failing(int* out) { assert(threadIdx.x < 3); })",
                        "thread (3, 0, 0): the assertion threadIdx.x < 3 is false", {8});
}

TEST_F(Failure, of_writing_behind_dynamic_shared_memory) {
  if (emulated::address_sanitizer) GTEST_SKIP() << "the address sanitizer ends the process";
  expect_launch_to_fail(
      R"(
      extern "C" __global__ void failing(int* out) { PARALLAX_SHARED(int, line); line[threadIdx.x] = 0; })",
      "wrote behind the 256 bytes of its dynamic shared memory", {65});
}

TEST_F(Failure, of_writing_behind_an_allocation) {
  if (emulated::address_sanitizer) GTEST_SKIP() << "the address sanitizer ends the process";
  expect_launch_to_fail(
      R"(
      extern "C" __global__ void failing(int* out) { out[1023 + threadIdx.x] = 0; })",
      "kernel failing wrote behind an allocation of 4096 bytes", {2}, illegal_address);
}

// The address sanitizer checks kernels, too.
class SanitizedFailure : public Gpu {
 protected:
  void expect_report(const std::string& source, const std::string& report) {
    if (!emulated::address_sanitizer) GTEST_SKIP() << "built without the address sanitizer";
    const FunctionHandle failing = kernel("failing", source);
    const DeviceAddress out = allocate(4096);
    EXPECT_DEATH(launch(failing, {1}, {2}, 256, out), report);
  }
};

TEST_F(SanitizedFailure, of_reading_behind_an_allocation) {
  expect_report(R"(
      extern "C" __global__ void failing(int* out) { out[0] = out[1023 + threadIdx.x]; })",
                "heap-buffer-overflow");
}

TEST_F(SanitizedFailure, of_reading_behind_dynamic_shared_memory) {
  expect_report(R"(
      extern "C" __global__ void failing(int* out) { PARALLAX_SHARED(int, line); out[0] = line[63 + threadIdx.x]; })",
                "heap-buffer-overflow");
}

TEST_F(SanitizedFailure, of_reading_behind_shared_memory) {
  expect_report(R"(
      extern "C" __global__ void failing(int* out) { __shared__ int line[63]; out[0] = line[62 + threadIdx.x]; })",
                "index 63 out of bounds");
}

// Once all references are released the context is new, and kernels run again.
TEST_F(Failure, ends_with_the_context) {
  NEEDS_CONTROLS();
  const FunctionHandle rotate = kernel("rotate", shared_source);
  const DeviceAddress in = upload<int>({1, 2, 3}), out = allocate(12);
  EXPECT_EQ(launch(rotate, {1}, {4}, 12, in, out, 3), success);
  EXPECT_EQ(download<int>(out, 3), (std::vector<int>{2, 3, 1}));
}

using Launch = Gpu;

TEST_F(Launch, is_refused_for_what_no_gpu_can_run) {
  const ModuleHandle module = load(R"(
      extern "C" __global__ void any(int* out) {}
      extern "C" __global__ void __launch_bounds__(64) bounded(int* out) {})");
  const FunctionHandle any = kernel(module, "any"), bounded = kernel(module, "bounded");
  const DeviceAddress out = allocate(4);
  EXPECT_EQ(launch(any, {1}, {1024}, 0, out), success);
  EXPECT_EQ(launch(any, {1}, {1025}, 0, out), invalid_value);
  EXPECT_EQ(launch(any, {1}, {32, 33}, 0, out), invalid_value);
  EXPECT_EQ(launch(any, {1}, {1, 1, 65}, 0, out), invalid_value);
  EXPECT_EQ(launch(any, {0}, {32}, 0, out), invalid_value);
  EXPECT_EQ(launch(any, {1, 65536}, {32}, 0, out), invalid_value);
  EXPECT_EQ(launch(any, {1}, {32}, 48 * 1024, out), success);
  EXPECT_EQ(launch(any, {1}, {32}, 48 * 1024 + 1, out), invalid_value);
  EXPECT_EQ(launch(bounded, {1}, {64}, 0, out), success);
  EXPECT_NE(launch(bounded, {1}, {65}, 0, out), success);
  int threads = 0;
  EXPECT_EQ(driver.cuFuncGetAttribute(&threads, 0, bounded), success);
  EXPECT_EQ(threads, 64);
  EXPECT_EQ(driver.cuStreamSynchronize(stream), success);
}

// Each block repeatedly passes a number on to the next, and counts in its own shared memory.
TEST_F(Launch, lets_blocks_wait_for_each_other_if_it_is_cooperative) {
  const FunctionHandle relay = kernel("relay", R"(
      #ifndef PARALLAX_SHARED
      #define PARALLAX_SHARED(type, name) extern __shared__ __align__(16) type name[]
      #endif
      extern "C" __global__ void relay(volatile int* turn, int* out, int rounds) {
        __shared__ int mine;
        PARALLAX_SHARED(int, also_mine);
        if (threadIdx.x == 0) mine = also_mine[0] = 100 * blockIdx.x;
        for (int round = 0; round < rounds; ++round) {
          const int awaited = round * gridDim.x + blockIdx.x;
          if (threadIdx.x == 0) {
            while (*turn != awaited) __nanosleep(0);
            __threadfence();
            ++mine;
            ++also_mine[0];
          }
          __syncthreads();
          if (threadIdx.x == 63) out[awaited] = mine + also_mine[0];
          __syncthreads();
          if (threadIdx.x == 0) {
            __threadfence();
            *turn = awaited + 1;
          }
        }
      })");
  constexpr int blocks = 5, rounds = 7;
  const DeviceAddress turn = upload(std::vector<int>{0}), out = allocate(4 * blocks * rounds);
  ASSERT_EQ(launch_cooperatively(relay, {blocks}, {64}, 4, turn, out, rounds), success);
  std::vector<int> expected;
  for (int round = 1; round <= rounds; ++round)
    for (int block = 0; block < blocks; ++block) expected.push_back(2 * (100 * block + round));
  EXPECT_EQ(download<int>(out, expected.size()), expected);
}

TEST_F(Launch, that_is_cooperative_has_no_more_blocks_than_run_at_once) {
  const FunctionHandle any = kernel("any", "extern \"C\" __global__ void any(int* out) {}");
  const DeviceAddress out = allocate(4);
  int blocks = 0, multiprocessors = 0;
  ASSERT_EQ(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, any, 1024, 40 * 1024), success);
  EXPECT_EQ(blocks, 2);
  ASSERT_EQ(driver.cuDeviceGetAttribute(&multiprocessors, 16, 0), success);
  const auto most = static_cast<unsigned>(blocks * multiprocessors);
  EXPECT_EQ(launch_cooperatively(any, {most + 1}, {1024}, 40 * 1024, out), cooperative_launch_too_large);
  EXPECT_EQ(launch_cooperatively(any, {2}, {1024}, 40 * 1024, out), success);
  EXPECT_EQ(driver.cuStreamSynchronize(stream), success);
}

using Modules = Gpu;

TEST_F(Modules, that_are_none_are_refused) {
  ModuleHandle module = nullptr;
  const std::string nonsense(4096, 'x');
  const Result refused = driver.cuModuleLoadData(&module, nonsense.c_str());
  EXPECT_EQ(refused, controls.fail_call == nullptr ? refused : invalid_image);
  EXPECT_NE(refused, success);
  FunctionHandle function = nullptr;
  EXPECT_EQ(driver.cuModuleGetFunction(&function, load("extern \"C\" __global__ void a() {}"), "b"),
            not_found);
}

TEST_F(Modules, that_were_damaged_are_refused) {
  NEEDS_CONTROLS();
  std::string code = compile("extern \"C\" __global__ void a() {}").code;
  code[code.size() / 2] ^= 1;
  ModuleHandle module = nullptr;
  EXPECT_EQ(driver.cuModuleLoadData(&module, code.data()), invalid_image);
}

TEST_F(Modules, of_another_architecture_are_refused) {
  NEEDS_CONTROLS();
  const std::string code = compile("extern \"C\" __global__ void a() {}").code;
  controls.set_architecture(100);
  ModuleHandle module = nullptr;
  EXPECT_EQ(driver.cuModuleLoadData(&module, code.data()), no_binary_for_gpu);
  controls.set_architecture(90);
}

TEST_F(Modules, have_constants_of_their_own) {
  const std::string source = R"(
      __constant__ int table[] = {1, 2, FOURTH};
      extern "C" __global__ void look_up(int* out) { out[threadIdx.x] = table[threadIdx.x]; })";
  const DeviceAddress out = allocate(12);
  const ModuleHandle first = load(source, {"-DFOURTH=3"}), second = load(source, {"-DFOURTH=4"});
  EXPECT_EQ(launch(kernel(first, "look_up"), {1}, {3}, 0, out), success);
  EXPECT_EQ(download<int>(out, 3), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(launch(kernel(second, "look_up"), {1}, {3}, 0, out), success);
  EXPECT_EQ(download<int>(out, 3), (std::vector<int>{1, 2, 4}));
}

TEST(Compiler, says_where_a_program_is_wrong) {
  const Compiled compiled = compile("extern \"C\" __global__ void a() {\n  no_such_thing();\n}");
  EXPECT_EQ(compiled.result, compilation_failure);
  EXPECT_NE(compiled.log.find("no_such_thing"), std::string::npos) << compiled.log;
  EXPECT_NE(compiled.log.find("test.cu"), std::string::npos) << compiled.log;
}

TEST(Compiler, has_no_headers_but_those_it_is_given) {
  EXPECT_EQ(compile("#include <no_such_header>").result, compilation_failure);
  EXPECT_EQ(compile("#include <cstdint>").result, compilation_failure);
  EXPECT_EQ(compile("#include \"folder/one.h\"\n#include <two.h>\nstatic_assert(one + two == 3);", {},
                    {{"folder/one.h", "constexpr int one = 1;"}, {"two.h", "constexpr int two = 2;"}})
                .result,
            success);
}

TEST(Compiler, knows_the_language_and_the_architecture) {
  EXPECT_EQ(compile("static_assert(__cplusplus == 201703L && __CUDA_ARCH__ == 900);").result, success);
  EXPECT_EQ(compile("static_assert(__cplusplus == 202002L);", {"--std=c++20"}).result, success);
  EXPECT_EQ(
      compile("static_assert(A == 1 && B == 2 && C == 3);", {"-DA", "-D B=2", "--define-macro=C=3"}).result,
      success);
}

TEST(Compiler, compiles_the_same_program_once) {
  const std::string text = "text " + std::to_string(std::random_device()());
  const std::string source = "__constant__ char text[] = \"" + text + "\";";
  if (libraries().controls.fail_call == nullptr) GTEST_SKIP() << "the compiler is a real one";
  for (int time = 0; time < 2; ++time) EXPECT_EQ(compile(source).result, success);
  int libraries_with_it = 0;
  for (const auto& file : std::filesystem::directory_iterator(PARALLAX_EMULATED_LIBRARIES)) {
    std::ostringstream content;
    content << std::ifstream(file.path(), std::ios::binary).rdbuf();
    libraries_with_it += content.str().find(text) != std::string::npos;
  }
  EXPECT_EQ(libraries_with_it, 1);
}

TEST(Compiler, refuses_options_that_it_does_not_know) {
  const Compiled compiled = compile("", {"--no-such-option"});
  EXPECT_EQ(compiled.result, invalid_option);
  EXPECT_NE(compiled.log.find("--no-such-option"), std::string::npos) << compiled.log;
  EXPECT_EQ(compile("", {"-default-device", "--ptxas-options=-v"}).result, success);
}

TEST_F(Modules, have_kernels_however_they_are_written) {
  const ModuleHandle module = load(R"(
      #define KERNEL(bounds) extern "C" __global__ void __launch_bounds__(bounds)
      // extern "C" __global__ void not_here() {}
      #if 0
      extern "C" __global__ void nor_here() {}
      #endif
      extern "C" __global__ void declared(int* out);
      extern "C" __global__ void declared(int* out) { out[0] = 1'000; }
      KERNEL(32 * (1 + 1)) by_macro(int* out) { out[1] = 2; }
      template <class T>
      __global__ void unused(T* out) {}
      extern "C" {
      __global__ void in_a_block(int* out) { out[2] = '"' == '\'' ? 0 : 3; }
      }
      struct Pair { long first; char second; };
      extern "C" __launch_bounds__(128, 2) __global__ void of_many(int* out, Pair pair, const char letter,
                                                                   double number) {
        out[3] = pair.second + letter + (int)number;
      })");
  struct {
    long first;
    char second;
  } pair{1, 20};
  const DeviceAddress out = allocate(16);
  EXPECT_EQ(launch(kernel(module, "declared"), {1}, {1}, 0, out), success);
  EXPECT_EQ(launch(kernel(module, "by_macro"), {1}, {64}, 0, out), success);
  EXPECT_NE(launch(kernel(module, "by_macro"), {1}, {65}, 0, out), success);
  EXPECT_EQ(launch(kernel(module, "in_a_block"), {1}, {1}, 0, out), success);
  EXPECT_EQ(launch(kernel(module, "of_many"), {1}, {1}, 0, out, pair, char{3}, 1.5), success);
  EXPECT_EQ(download<int>(out, 4), (std::vector<int>{1000, 2, 3, 24}));
}

using Memory = Gpu;

TEST_F(Memory, is_all_there_is) {
  NEEDS_CONTROLS();
  const std::size_t gibibyte = std::size_t{1} << 30;
  std::size_t free = 0, total = 0;
  ASSERT_EQ(driver.cuMemGetInfo_v2(&free, &total), success);
  EXPECT_EQ(total, 2 * gibibyte);
  EXPECT_EQ(free, total);
  controls.set_memory(1000);
  DeviceAddress first = 0, second = 0;
  EXPECT_EQ(driver.cuMemAlloc_v2(&first, 600), success);
  EXPECT_EQ(first % 512, 0u);
  EXPECT_EQ(driver.cuMemAlloc_v2(&second, 401), out_of_memory);
  EXPECT_EQ(driver.cuMemGetInfo_v2(&free, &total), success);
  EXPECT_EQ(free, 400u);
  EXPECT_EQ(driver.cuMemAlloc_v2(&second, 400), success);
  EXPECT_EQ(driver.cuMemFree_v2(first), success);
  EXPECT_EQ(driver.cuMemFree_v2(second), success);
  EXPECT_EQ(driver.cuMemAlloc_v2(&second, 0), invalid_value);
  controls.set_memory(2 * gibibyte);
}

TEST_F(Memory, is_freed_once) {
  DeviceAddress address = 0;
  ASSERT_EQ(driver.cuMemAlloc_v2(&address, 600), success);
  EXPECT_EQ(driver.cuMemFree_v2(address), success);
  EXPECT_EQ(driver.cuMemFree_v2(address), invalid_value);
  EXPECT_EQ(driver.cuMemFree_v2(0), success);
  void* pinned = nullptr;
  ASSERT_EQ(driver.cuMemHostAlloc(&pinned, 600, 0), success);
  EXPECT_EQ(driver.cuMemFreeHost(pinned), success);
  EXPECT_EQ(driver.cuMemFreeHost(pinned), invalid_value);
}

TEST_F(Memory, is_told_apart) {
  const auto type_of = [&](DeviceAddress address) {
    int memory_type = 2;
    unsigned type = 99;
    void* values[] = {&type};
    EXPECT_EQ(driver.cuPointerGetAttributes(1, &memory_type, values, address), success);
    return type;
  };
  void* pinned = nullptr;
  int own = 0;
  ASSERT_EQ(driver.cuMemHostAlloc(&pinned, 100, 0), success);
  EXPECT_EQ(type_of(reinterpret_cast<DeviceAddress>(pinned) + 99), 1u);
  EXPECT_EQ(type_of(allocate(100) + 99), 2u);
  EXPECT_EQ(type_of(reinterpret_cast<DeviceAddress>(&own)), 0u);
  EXPECT_EQ(driver.cuMemFreeHost(pinned), success);
}

TEST_F(Memory, is_copied_no_further_than_it_goes) {
  std::vector<unsigned char> host(101);
  const DeviceAddress device = allocate(100);
  EXPECT_EQ(driver.cuMemcpyHtoDAsync_v2(device, host.data(), 100, stream), success);
  EXPECT_EQ(driver.cuMemsetD8Async(device + 50, 7, 50, stream), success);
  EXPECT_EQ(driver.cuStreamSynchronize(stream), success);
  NEEDS_CONTROLS();  // a real driver only knows the ends of its mappings
  EXPECT_EQ(driver.cuMemcpyHtoDAsync_v2(device, host.data(), 101, stream), invalid_value);
  EXPECT_EQ(driver.cuMemcpyHtoDAsync_v2(device + 1, host.data(), 100, stream), invalid_value);
  EXPECT_EQ(driver.cuMemcpyDtoHAsync_v2(host.data(), device, 101, stream), invalid_value);
  EXPECT_EQ(driver.cuMemcpyDtoHAsync_v2(nullptr, device, 100, stream), invalid_value);
  EXPECT_EQ(driver.cuMemsetD8Async(device + 50, 7, 51, stream), invalid_value);
  EXPECT_EQ(driver.cuMemcpyHtoDAsync_v2(reinterpret_cast<DeviceAddress>(host.data()), host.data(), 1, stream),
            invalid_value);
}

TEST_F(Memory, is_copied_in_rectangles) {
  constexpr std::size_t host_pitch = 10, device_pitch = 16, width = 7, height = 3;
  std::vector<unsigned char> from(host_pitch * 5), to(host_pitch * 5, 0);
  std::iota(from.begin(), from.end(), static_cast<unsigned char>(0));
  const DeviceAddress device = allocate(device_pitch * height);
  parallax::cuda::Copy2D up{};
  up.source_type = static_cast<parallax::cuda::MemoryType>(1);
  up.source_host = from.data();
  up.source_pitch = host_pitch;
  up.source_x = 2;
  up.source_y = 1;
  up.target_type = static_cast<parallax::cuda::MemoryType>(2);
  up.target_device = device;
  up.target_pitch = device_pitch;
  up.target_x = 9;
  up.width_bytes = width;
  up.height = height;
  ASSERT_EQ(driver.cuMemcpy2DAsync_v2(&up, stream), success);
  parallax::cuda::Copy2D down{};
  down.source_type = up.target_type;
  down.source_device = device;
  down.source_pitch = device_pitch;
  down.source_x = 9;
  down.target_type = up.source_type;
  down.target_host = to.data();
  down.target_pitch = host_pitch;
  down.target_y = 2;
  down.width_bytes = width;
  down.height = height;
  ASSERT_EQ(driver.cuMemcpy2DAsync_v2(&down, stream), success);
  ASSERT_EQ(driver.cuStreamSynchronize(stream), success);
  std::vector<unsigned char> expected(host_pitch * 5, 0);
  for (std::size_t y = 0; y < height; ++y)
    std::copy_n(&from[(y + 1) * host_pitch + 2], width, &expected[(y + 2) * host_pitch]);
  EXPECT_EQ(to, expected);

  parallax::cuda::Copy2D wrong = up;
  wrong.source_pitch = 8;
  EXPECT_EQ(driver.cuMemcpy2DAsync_v2(&wrong, stream), invalid_value);
  NEEDS_CONTROLS();
  wrong = up;
  wrong.height = 4;
  EXPECT_EQ(driver.cuMemcpy2DAsync_v2(&wrong, stream), invalid_value);
}

using Contexts = Gpu;

TEST_F(Contexts, have_to_be_current) {
  ContextHandle popped = nullptr;
  DeviceAddress address = 0;
  ASSERT_EQ(driver.cuCtxPopCurrent_v2(&popped), success);
  EXPECT_EQ(driver.cuMemAlloc_v2(&address, 4), invalid_context);
  ASSERT_EQ(driver.cuCtxPushCurrent_v2(context), success);
}

TEST_F(Contexts, do_not_share_kernels) {
  NEEDS_CONTROLS();
  const FunctionHandle function = kernel("a", "extern \"C\" __global__ void a() {}");
  ContextHandle other = nullptr, popped = nullptr;
  StreamHandle others_stream = nullptr;
  ASSERT_EQ(driver.cuDevicePrimaryCtxRetain(&other, 1), success);
  ASSERT_EQ(driver.cuCtxPushCurrent_v2(other), success);
  ASSERT_EQ(driver.cuStreamCreate(&others_stream, 1), success);
  LaunchConfiguration with = configuration({1}, {1});
  with.stream = others_stream;
  EXPECT_EQ(driver.cuLaunchKernelEx(&with, function, nullptr, nullptr), invalid_handle);
  EXPECT_EQ(driver.cuStreamDestroy_v2(others_stream), success);
  EXPECT_EQ(driver.cuStreamDestroy_v2(others_stream), invalid_handle);
  ASSERT_EQ(driver.cuCtxPopCurrent_v2(&popped), success);
  ASSERT_EQ(driver.cuDevicePrimaryCtxRelease_v2(1), success);
}

using Devices = Gpu;

TEST_F(Devices, are_described) {
  NEEDS_CONTROLS();
  int count = 0, value = 0;
  char name[32];
  parallax::cuda::DeviceNumber device = 7;
  EXPECT_EQ(driver.cuDeviceGetCount(&count), success);
  EXPECT_EQ(count, 2);
  EXPECT_EQ(driver.cuDeviceGet(&device, 2), invalid_device);
  EXPECT_EQ(driver.cuDeviceGet(&device, 1), success);
  EXPECT_EQ(driver.cuDeviceGetName(name, sizeof name, device), success);
  EXPECT_STREQ(name, "Emulated GPU");
  for (const auto& [attribute, expected] : {std::pair(16, 132), {75, 9}, {76, 0}, {97, 227 * 1024}}) {
    EXPECT_EQ(driver.cuDeviceGetAttribute(&value, attribute, device), success);
    EXPECT_EQ(value, expected) << attribute;
  }
  controls.set_device_count(3);
  EXPECT_EQ(driver.cuDeviceGetCount(&count), success);
  EXPECT_EQ(count, 3);
  controls.set_device_count(2);
  controls.set_driver_version(12020);
  EXPECT_EQ(driver.cuDriverGetVersion(&value), success);
  EXPECT_EQ(value, 12020);
  controls.set_driver_version(13000);
}

class Graphs : public Gpu {
 protected:
  static constexpr int thread_local_mode = 1;

  FunctionHandle increment() {
    return kernel("increment",
                  "extern \"C\" __global__ void increment(int* value, int by) { *value += by; }");
  }
  void begin() { ASSERT_EQ(driver.cuStreamBeginCapture_v2(stream, thread_local_mode), success); }
  GraphExecHandle end() {
    GraphHandle graph = nullptr;
    GraphExecHandle executable = nullptr;
    EXPECT_EQ(driver.cuStreamEndCapture(stream, &graph), success);
    EXPECT_EQ(driver.cuGraphInstantiateWithFlags(&executable, graph, 0), success);
    EXPECT_EQ(driver.cuGraphDestroy(graph), success);
    return executable;
  }
  void expect_capture_to_fail(Result expected) {
    GraphHandle graph = nullptr;
    EXPECT_EQ(driver.cuStreamEndCapture(stream, &graph), expected);
    EXPECT_EQ(graph, nullptr);
  }
};

TEST_F(Graphs, replay_what_was_captured) {
  const FunctionHandle function = increment();
  const DeviceAddress value = upload<int>({0});
  std::vector<int> host{5};
  ASSERT_EQ(driver.cuStreamSynchronize(stream), success);
  begin();
  ASSERT_EQ(driver.cuMemsetD8Async(value, 0, 4, stream), success);
  for (int by = 1; by <= 10; ++by) ASSERT_EQ(launch(function, {1}, {1}, 0, value, by), success);
  ASSERT_EQ(driver.cuMemcpyDtoHAsync_v2(host.data(), value, 4, stream), success);
  const GraphExecHandle graph = end();
  EXPECT_EQ(host[0], 5);
  EXPECT_EQ(download<int>(value, 1)[0], 0);
  for (int repeat = 0; repeat < 2; ++repeat) {
    host[0] = 0;
    ASSERT_EQ(driver.cuGraphLaunch(graph, stream), success);
    ASSERT_EQ(driver.cuStreamSynchronize(stream), success);
    EXPECT_EQ(host[0], 55);
  }
  EXPECT_EQ(driver.cuGraphExecDestroy(graph), success);
}

TEST_F(Graphs, hold_what_other_streams_do_when_they_join) {
  const FunctionHandle function = increment();
  const DeviceAddress value = upload<int>({1});
  StreamHandle side = nullptr;
  EventHandle fork = nullptr, join = nullptr;
  ASSERT_EQ(driver.cuStreamCreate(&side, 1), success);
  ASSERT_EQ(driver.cuEventCreate(&fork, 2), success);
  ASSERT_EQ(driver.cuEventCreate(&join, 2), success);
  const auto capture = [&](bool joins) {
    begin();
    ASSERT_EQ(driver.cuEventRecord(fork, stream), success);
    ASSERT_EQ(driver.cuStreamWaitEvent(side, fork, 0), success);
    LaunchConfiguration with = configuration({1}, {1});
    with.stream = side;
    DeviceAddress to = value;
    int by = 4;
    void* arguments[] = {&to, &by};
    ASSERT_EQ(driver.cuLaunchKernelEx(&with, function, arguments, nullptr), success);
    ASSERT_EQ(driver.cuEventRecord(join, side), success);
    if (joins) {
      ASSERT_EQ(driver.cuStreamWaitEvent(stream, join, 0), success);
    }
  };
  capture(true);
  const GraphExecHandle graph = end();
  ASSERT_EQ(driver.cuGraphLaunch(graph, stream), success);
  EXPECT_EQ(download<int>(value, 1)[0], 5);
  EXPECT_EQ(driver.cuGraphExecDestroy(graph), success);
  capture(false);
  expect_capture_to_fail(capture_unjoined);
  EXPECT_EQ(driver.cuEventDestroy_v2(fork), success);
  EXPECT_EQ(driver.cuEventDestroy_v2(join), success);
  EXPECT_EQ(driver.cuStreamDestroy_v2(side), success);
}

TEST_F(Graphs, cannot_hold_everything) {
  EventHandle before = nullptr;
  DeviceAddress address = 0;
  ASSERT_EQ(driver.cuEventCreate(&before, 0), success);
  ASSERT_EQ(driver.cuEventRecord(before, stream), success);

  begin();
  EXPECT_EQ(driver.cuStreamBeginCapture_v2(stream, thread_local_mode), illegal_state);
  EXPECT_EQ(driver.cuStreamSynchronize(stream), capture_unsupported);
  expect_capture_to_fail(capture_invalidated);

  begin();
  const GraphExecHandle graph = end();
  begin();
  EXPECT_EQ(driver.cuGraphLaunch(graph, stream), capture_unsupported);
  expect_capture_to_fail(capture_invalidated);
  EXPECT_EQ(driver.cuGraphExecDestroy(graph), success);

  begin();
  EXPECT_EQ(driver.cuMemAlloc_v2(&address, 4), capture_unsupported);
  expect_capture_to_fail(capture_invalidated);

  begin();
  EXPECT_EQ(driver.cuStreamWaitEvent(stream, before, 0), capture_isolation);
  expect_capture_to_fail(capture_invalidated);

  expect_capture_to_fail(illegal_state);
  EXPECT_EQ(driver.cuStreamSynchronize(stream), success);
  EXPECT_EQ(driver.cuEventDestroy_v2(before), success);
}

using Events = Gpu;

TEST_F(Events, measure_time) {
  EventHandle from = nullptr, to = nullptr, timeless = nullptr;
  float milliseconds = -1;
  ASSERT_EQ(driver.cuEventCreate(&from, 0), success);
  ASSERT_EQ(driver.cuEventCreate(&to, 0), success);
  ASSERT_EQ(driver.cuEventCreate(&timeless, 2), success);
  ASSERT_EQ(driver.cuEventRecord(from, stream), success);
  EXPECT_EQ(driver.cuEventElapsedTime(&milliseconds, from, to), invalid_handle);
  ASSERT_EQ(driver.cuEventRecord(to, stream), success);
  ASSERT_EQ(driver.cuEventRecord(timeless, stream), success);
  ASSERT_EQ(driver.cuStreamSynchronize(stream), success);
  EXPECT_EQ(driver.cuEventElapsedTime(&milliseconds, from, to), success);
  EXPECT_GE(milliseconds, 0);
  EXPECT_EQ(driver.cuEventElapsedTime(&milliseconds, from, timeless), invalid_handle);
  for (EventHandle event : {from, to, timeless}) EXPECT_EQ(driver.cuEventDestroy_v2(event), success);
}

// A stream may do work at once or later.
class Laziness : public Gpu {
 protected:
  void SetUp() override {
    Gpu::SetUp();
    if (controls.set_lazy != nullptr) controls.set_lazy(1);
    ASSERT_EQ(driver.cuMemHostAlloc(&memory_, sizeof(int), 0), success);
    pinned() = 0;
  }
  void TearDown() override {
    EXPECT_EQ(driver.cuMemFreeHost(memory_), success);
    if (controls.set_lazy != nullptr) controls.set_lazy(0);
    Gpu::TearDown();
  }
  int& pinned() { return *static_cast<int*>(memory_); }

 private:
  void* memory_ = nullptr;
};

TEST_F(Laziness, shows_who_does_not_wait) {
  NEEDS_CONTROLS();
  const DeviceAddress value = allocate(sizeof(int));
  ASSERT_EQ(driver.cuMemsetD8Async(value, 1, sizeof(int), stream), success);
  ASSERT_EQ(driver.cuMemcpyDtoHAsync_v2(&pinned(), value, sizeof(int), stream), success);
  EXPECT_EQ(pinned(), 0);
  ASSERT_EQ(driver.cuStreamSynchronize(stream), success);
  EXPECT_EQ(pinned(), 0x01010101);
}

TEST_F(Laziness, ends_where_memory_is_not_pinned) {
  int host = 0;
  const DeviceAddress value = allocate(sizeof(int));
  ASSERT_EQ(driver.cuMemsetD8Async(value, 1, sizeof(int), stream), success);
  ASSERT_EQ(driver.cuMemcpyDtoHAsync_v2(&host, value, sizeof(int), stream), success);
  EXPECT_EQ(host, 0x01010101);
}

TEST_F(Laziness, respects_events) {
  StreamHandle other = nullptr;
  EventHandle filled = nullptr, copied = nullptr;
  float milliseconds = -1;
  const DeviceAddress value = allocate(sizeof(int));
  ASSERT_EQ(driver.cuStreamCreate(&other, 1), success);
  ASSERT_EQ(driver.cuEventCreate(&filled, 0), success);
  ASSERT_EQ(driver.cuEventCreate(&copied, 0), success);
  ASSERT_EQ(driver.cuMemsetD8Async(value, 1, sizeof(int), other), success);
  ASSERT_EQ(driver.cuEventRecord(filled, other), success);
  ASSERT_EQ(driver.cuMemsetD8Async(value, 2, sizeof(int), stream), success);
  ASSERT_EQ(driver.cuStreamWaitEvent(stream, filled, 0), success);
  ASSERT_EQ(driver.cuMemcpyDtoHAsync_v2(&pinned(), value, sizeof(int), stream), success);
  ASSERT_EQ(driver.cuEventRecord(copied, stream), success);
  if (controls.set_lazy != nullptr) {
    EXPECT_EQ(driver.cuEventElapsedTime(&milliseconds, filled, copied), not_ready);
  }
  ASSERT_EQ(driver.cuStreamSynchronize(stream), success);
  EXPECT_EQ(driver.cuEventElapsedTime(&milliseconds, filled, copied), success);
  if (controls.set_lazy != nullptr) {
    EXPECT_EQ(pinned(), 0x01010101);
  }
  for (EventHandle event : {filled, copied}) EXPECT_EQ(driver.cuEventDestroy_v2(event), success);
  EXPECT_EQ(driver.cuStreamDestroy_v2(other), success);
}

TEST_F(Laziness, ends_before_memory_is_freed) {
  DeviceAddress value = 0;
  ASSERT_EQ(driver.cuMemAlloc_v2(&value, sizeof(int)), success);
  ASSERT_EQ(driver.cuMemsetD8Async(value, 1, sizeof(int), stream), success);
  ASSERT_EQ(driver.cuMemcpyDtoHAsync_v2(&pinned(), value, sizeof(int), stream), success);
  ASSERT_EQ(driver.cuMemFree_v2(value), success);
  EXPECT_EQ(driver.cuStreamSynchronize(stream), success);
  EXPECT_EQ(pinned(), 0x01010101);
}

TEST_F(Laziness, leaves_kernels_their_arguments) {
  const FunctionHandle store =
      kernel("store", "extern \"C\" __global__ void store(int* to, int value) { *to = value; }");
  const DeviceAddress value = allocate(sizeof(int));
  ASSERT_EQ(launch(store, {1}, {1}, 0, value, 7), success);
  EXPECT_EQ(download<int>(value, 1)[0], 7);
}

class Control : public Gpu {
  void SetUp() override {
    NEEDS_CONTROLS();
    Gpu::SetUp();
  }
  void TearDown() override {
    if (controls.fail_call != nullptr) Gpu::TearDown();
  }
};

TEST_F(Control, makes_a_call_fail) {
  DeviceAddress address = 0;
  controls.fail_call("cuMemAlloc_v2", 2, out_of_memory);
  EXPECT_EQ(driver.cuMemAlloc_v2(&address, 4), success);
  EXPECT_EQ(driver.cuMemFree_v2(address), success);
  const std::size_t live = controls.live_objects();
  EXPECT_EQ(driver.cuMemAlloc_v2(&address, 4), out_of_memory);
  EXPECT_EQ(controls.live_objects(), live);
  EXPECT_EQ(driver.cuMemAlloc_v2(&address, 4), success);
  controls.fail_call(nullptr, 1, launch_failed);
  EXPECT_EQ(driver.cuStreamSynchronize(stream), launch_failed);
  EXPECT_EQ(driver.cuStreamSynchronize(stream), success);
  // The object is released although the call fails.
  controls.fail_call("cuMemFree_v2", 1, launch_failed);
  EXPECT_EQ(driver.cuMemFree_v2(address), launch_failed);
  EXPECT_EQ(controls.live_objects(), live);
}

TEST_F(Control, counts) {
  const int calls = controls.calls(), allocations = controls.allocations();
  const int synchronisations = controls.synchronisations(), compilations = controls.compilations();
  const std::size_t live = controls.live_objects();
  DeviceAddress address = 0;
  void* pinned = nullptr;
  EXPECT_EQ(driver.cuMemAlloc_v2(&address, 4), success);
  EXPECT_EQ(driver.cuMemHostAlloc(&pinned, 4, 0), success);
  EXPECT_EQ(controls.live_objects(), live + 2);
  EXPECT_EQ(driver.cuMemFree_v2(address), success);
  EXPECT_EQ(driver.cuMemFreeHost(pinned), success);
  EXPECT_EQ(driver.cuStreamSynchronize(stream), success);
  compile("");
  EXPECT_EQ(controls.live_objects(), live);
  EXPECT_EQ(controls.calls(), calls + 5);
  EXPECT_EQ(controls.allocations(), allocations + 2);
  EXPECT_EQ(controls.synchronisations(), synchronisations + 1);
  EXPECT_EQ(controls.compilations(), compilations + 1);
}

TEST_F(Control, turns_the_order_of_threads_round) {
  const FunctionHandle order = kernel("order", R"(
      extern "C" __global__ void order(unsigned* turns) {
        turns[atomicAdd(&turns[0], 1) + 1] = blockIdx.x * 100 + threadIdx.x;
      })");
  const DeviceAddress turns = upload<unsigned>({0, 0, 0, 0, 0});
  ASSERT_EQ(launch(order, {2}, {2}, 0, turns), success);
  EXPECT_EQ(download<unsigned>(turns, 5), (std::vector<unsigned>{4, 0, 1, 100, 101}));
  ASSERT_EQ(driver.cuMemsetD8Async(turns, 0, 4, stream), success);
  controls.set_last_first(1);
  ASSERT_EQ(launch(order, {2}, {2}, 0, turns), success);
  controls.set_last_first(0);
  EXPECT_EQ(download<unsigned>(turns, 5), (std::vector<unsigned>{4, 101, 100, 1, 0}));
}

TEST_F(Control, failures_have_names) {
  const char* text = nullptr;
  EXPECT_EQ(driver.cuGetErrorName(launch_failed, &text), success);
  EXPECT_STREQ(text, "CUDA_ERROR_LAUNCH_FAILED");
  EXPECT_EQ(driver.cuGetErrorString(out_of_memory, &text), success);
  EXPECT_STREQ(text, "out of memory");
  EXPECT_EQ(driver.cuGetErrorString(12345, &text), invalid_value);
}

}  // namespace
}  // namespace emulated_test
