// SPDX-License-Identifier: Apache-2.0
// Each driver call in the life of a plan fails once: the error names it, nothing leaks, and the next plan
// works.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "devices/gpu_test.h"

namespace parallax::test {
namespace {

constexpr cuda::Result invalid_context = 201, illegal_address = 700;

using Counts = std::map<std::string, int>;

// The name of a call as messages spell it.
std::string short_name(std::string name) {
  for (const std::string_view suffix : {"_v2", "WithFlags"})
    if (name.ends_with(suffix)) name.resize(name.size() - suffix.size());
  return name == "cuLaunchKernelEx" ? "launching" : name;
}

// The call that an error of the driver names.
std::string call_in(const std::string& message) {
  const std::string begin = "CUDA: ";
  if (!message.starts_with(begin)) return message;
  return message.substr(begin.size(), message.find(' ', begin.size()) - begin.size());
}

class CudaFaultsTest : public GpuTest, public testing::WithParamInterface<SmallPlan> {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    PARALLAX_NEEDS_EMULATED_GPU();
    live();  // compiles the kernels
    expected_ = match(parameters(), reference, views_with_masks(pair_));
  }

  const MatcherParameters& parameters() const { return GetParam().parameters; }

  // The life of a plan, from construction to destruction.
  Result live() const {
    Result result(small_size);
    Matcher matcher(parameters(), gpu(), {small_size});
    matcher.run(views_with_masks(pair_), result.map());
    return result;
  }

  bool lives() const { return same_bytes(live(), expected_); }

  // Counts the calls of every kind except those that release something.
  Counts count_calls() const;

  const SynthPair pair_ = small_pair();
  Result expected_{small_size};
};

// The calls that create objects that are released later; their number determines the number of releases.
constexpr std::string_view makers[] = {
    "cuMemAlloc_v2", "cuMemAllocManaged", "cuMemHostAlloc",     "cuStreamCreate",
    "cuEventCreate", "cuModuleLoadData",  "cuStreamEndCapture", "cuGraphInstantiateWithFlags"};
bool releases(std::string_view name) {
  for (const std::string_view part : {"Free", "Destroy", "Unload", "Release", "Pop"})
    if (name.find(part) != std::string_view::npos) return true;
  return false;
}

Counts CudaFaultsTest::count_calls() const {
  std::vector<const char*> names;
#define PARALLAX_VISIT(name, arguments) names.push_back(#name);
  PARALLAX_DRIVER_FUNCTIONS(PARALLAX_VISIT)
#undef PARALLAX_VISIT
  Counts before, counts;
  for (const char* name : names) before[name] = emulated()->calls_of(name);
  live();
  for (const char* name : names)
    if (const int count = emulated()->calls_of(name) - before[name]; count > 0 && !releases(name))
      counts[name] = count;
  return counts;
}

// Whether this is the only context on the stack of this thread.
bool is_only_context(cuda::ContextHandle wanted) {
  cuda::ContextHandle top = nullptr, below = nullptr;
  const bool only = cuda::driver().cuCtxPopCurrent_v2(&top) == 0 && top == wanted &&
                    cuda::driver().cuCtxPopCurrent_v2(&below) == invalid_context;
  cuda::driver().cuCtxPushCurrent_v2(wanted);
  return only;
}

TEST_P(CudaFaultsTest, EveryCallThatFailsIsNamedAndLeavesNothingBehind) {
  Counts expected = count_calls();
  const int before = emulated()->calls();
  ASSERT_TRUE(lives());
  const int calls = emulated()->calls() - before;

  const cuda::Context other(1);
  const cuda::Current current(other);
  const std::size_t live_objects = emulated()->live_objects();
  Counts named;
  for (int k = 1; k <= calls; ++k) {
    SCOPED_TRACE("call " + std::to_string(k) + " of " + std::to_string(calls));
    emulated()->fail_call(nullptr, k, illegal_address);
    bool right = false;
    const std::optional<Error> error = error_of([&] { right = lives(); });
    EXPECT_TRUE(error || right);
    if (error) {
      expect_error(error, ErrorCategory::device, {"CUDA_ERROR_ILLEGAL_ADDRESS"});
      EXPECT_TRUE(error->is_transient());
      ++named[call_in(error->what())];
    }
    ASSERT_EQ(emulated()->live_objects(), live_objects) << (error ? error->what() : "no error");
    ASSERT_TRUE(is_only_context(other.handle())) << (error ? error->what() : "no error");
    // Otherwise the next life shows it, up to its own failure.
    if (!error || named[call_in(error->what())] == 1) {
      ASSERT_TRUE(lives());
    }
  }

  // Each release first makes its context current. Failures of these calls are not reported.
  for (const std::string_view maker : makers)
    if (const auto made = expected.find(std::string(maker)); made != expected.end())
      expected["cuCtxPushCurrent_v2"] -= made->second;
  Counts expected_names;
  for (const auto& [name, count] : expected) expected_names[short_name(name)] += count;
  EXPECT_EQ(named, expected_names);
}

TEST_P(CudaFaultsTest, MemoryThatRunsOutIsAnErrorOfMemory) {
  const std::size_t live_objects = emulated()->live_objects();
  for (const char* name : {"cuDevicePrimaryCtxRetain", "cuMemAlloc_v2", "cuMemHostAlloc", "cuStreamCreate",
                           "cuModuleLoadData", "cuStreamBeginCapture_v2", "cuStreamEndCapture",
                           "cuGraphInstantiateWithFlags", "cuGraphLaunch", "cuLaunchKernelEx"}) {
    emulated()->fail_call(name, 1, cuda::out_of_memory);
    expect_error(error_of([&] { live(); }), ErrorCategory::memory,
                 {short_name(name), "CUDA_ERROR_OUT_OF_MEMORY", "free GPU memory"});
    EXPECT_EQ(emulated()->live_objects(), live_objects) << name;
  }
  EXPECT_TRUE(lives());
}

// All calls fail at the end of a process, when the driver shuts down before its users.
TEST_P(CudaFaultsTest, NothingIsThrownWhenEveryCallOfTheEndFails) {
  {
    Matcher matcher(parameters(), gpu(), {small_size});
    for (int k = 1; k <= 200; ++k) emulated()->fail_call(nullptr, k, illegal_address);
  }
  int calls = 0;
  for (std::size_t free = 0, total = 0; calls < 200; ++calls)
    if (cuda::driver().cuMemGetInfo_v2(&free, &total) != illegal_address) break;
  EXPECT_LT(calls, 200) << "nothing was released";
}

// A failed run does not affect the next one.
TEST_P(CudaFaultsTest, APlanRunsAgainAfterARunThatFailed) {
  Matcher matcher(parameters(), gpu(), {small_size});
  Result first(small_size);
  const int before = emulated()->calls();
  matcher.run(views_with_masks(pair_), first.map());
  const int calls = emulated()->calls() - before;
  int errors = 0;
  for (int k = 1; k <= calls; ++k) {
    emulated()->fail_call(nullptr, k, illegal_address);
    Result failed(small_size), again(small_size);
    errors += error_of([&] { matcher.run(views_with_masks(pair_), failed.map()); }).has_value();
    matcher.run(views_with_masks(pair_), again.map());
    EXPECT_TRUE(same_bytes(again, expected_)) << "call " << k;
  }
  EXPECT_GT(errors, calls / 2);
}

INSTANTIATE_TEST_SUITE_P(, CudaFaultsTest, testing::ValuesIn(small_plans), name_of_plan);

TEST_F(GpuTest, ACaptureThatFailsLeavesTheStreamAsItWas) {
  PARALLAX_NEEDS_EMULATED_GPU();
  const auto context = std::make_shared<cuda::Context>(0);
  const cuda::Stream stream = cuda::make_stream(context);
  const cuda::Current current(*context);
  const std::size_t live_objects = emulated()->live_objects();
  const auto expect_usable = [&] {
    EXPECT_EQ(emulated()->live_objects(), live_objects);
    EXPECT_EQ(cuda::driver().cuStreamSynchronize(stream.get()), 0);
  };

  EXPECT_THROW(cuda::capture(context, stream.get(), [] { throw std::bad_alloc(); }), std::bad_alloc);
  expect_usable();
  // Waiting for a stream that is capturing is an error.
  const auto wait = [&] { cuda::check(cuda::driver().cuStreamSynchronize(stream.get()), "waiting"); };
  expect_error(error_of([&] { cuda::capture(context, stream.get(), wait); }), ErrorCategory::device,
               {"waiting", "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"});
  expect_usable();
  const auto ignore = [&] { cuda::driver().cuStreamSynchronize(stream.get()); };
  expect_error(error_of([&] { cuda::capture(context, stream.get(), ignore); }), ErrorCategory::device,
               {"cuStreamEndCapture", "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"});
  expect_usable();
}

}  // namespace
}  // namespace parallax::test
