// SPDX-License-Identifier: Apache-2.0
// MatcherPool on GPUs, some of which stop working.

#include <gtest/gtest.h>

#include "parallax/matcher_pool.h"

#include "devices/gpu_test.h"

namespace parallax::test {
namespace {

struct Job {
  explicit Job(int seed)
      : pair(synthesize(
            {.size = {9 + seed % 3, 7}, .disparities = 5, .seed = static_cast<std::uint64_t>(seed)})),
        result(pair.size()) {}
  SynthPair pair;
  Result result;
  std::uint64_t number = 0;
};

class CudaPoolTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    PARALLAX_NEEDS_EMULATED_GPU();
    emulated()->set_device_count(4);
  }
  void TearDown() override { GpuTest::TearDown(); }

  static std::vector<Device> gpus(int count) {
    std::vector<Device> devices;
    for (int i = 0; i < count; ++i) devices.push_back(gpu(i));
    return devices;
  }
  static std::vector<Job> make_jobs(int count) {
    std::vector<Job> jobs;
    for (int i = 0; i < count; ++i) jobs.emplace_back(i);
    return jobs;
  }
  static void submit(MatcherPool& pool, Job& job) {
    job.number = pool.submit(views_with_masks(job.pair), job.result.map());
  }
  void expect_right(const Job& job) const {
    expect_same(match(parameters_, reference, views_with_masks(job.pair)), job.result,
                "pair " + std::to_string(job.number));
  }

  const MatcherParameters parameters_ = small_census();
};

TEST_F(CudaPoolTest, MapsHaveTheSameBytesOnAnyNumberOfGpus) {
  for (const int count : {1, 2, 4})
    for (const bool with_cpu : {false, true})
      for (const int matchers : {0, 1, 3}) {
        std::vector<Device> devices = gpus(count);
        if (with_cpu) devices.push_back(cpu(1));
        MatcherPool pool(parameters_, devices, {.matchers_per_gpu = matchers});
        std::vector<Job> jobs = make_jobs(16);
        for (Job& job : jobs) submit(pool, job);
        for (const Job& job : jobs) {
          pool.wait(job.number);
          expect_right(job);
        }
        EXPECT_TRUE(pool.lost_devices().empty());
      }
}

TEST_F(CudaPoolTest, StreamsThatAreLazyAreWaitedFor) {
  emulated()->set_lazy(1);
  for (const SmallPlan& plan : small_plans) {
    MatcherPool pool(plan.parameters, gpus(2), {.matchers_per_gpu = 2});
    std::vector<Job> jobs = make_jobs(4);
    for (Job& job : jobs) submit(pool, job);
    for (const Job& job : jobs) {
      pool.wait(job.number);
      expect_same(match(plan.parameters, reference, views_with_masks(job.pair)), job.result, plan.name);
    }
  }
}

TEST_F(CudaPoolTest, PairsOfAGpuThatDiesGoToTheOthers) {
  const std::size_t live_objects = emulated()->live_objects();
  {
    MatcherPool pool(parameters_, gpus(3), {.matchers_per_gpu = 3});
    std::vector<Job> jobs = make_jobs(60);
    for (Job& job : jobs) {
      if (&job == &jobs[30]) emulated()->lose_device(1);
      submit(pool, job);
    }
    for (const Job& job : jobs) {
      pool.wait(job.number);
      expect_right(job);
    }
    const std::vector<LostDevice> lost = pool.lost_devices();
    ASSERT_EQ(lost.size(), 1u);
    EXPECT_EQ(lost.front().device.text(), "cuda:1");
    EXPECT_TRUE(contains(lost.front().reason, "CUDA_ERROR_ECC_UNCORRECTABLE")) << lost.front().reason;
  }
  EXPECT_EQ(emulated()->live_objects(), live_objects);
}

TEST_F(CudaPoolTest, WhenAllGpusDieTheProcessorGoesOn) {
  std::vector<Device> devices = gpus(2);
  devices.push_back(cpu(1));
  MatcherPool pool(parameters_, devices);
  std::vector<Job> jobs = make_jobs(100);
  for (Job& job : jobs) {
    if (&job == &jobs[20]) emulated()->lose_device(0);
    if (&job == &jobs[30]) emulated()->lose_device(1);
    submit(pool, job);
  }
  for (const Job& job : jobs) {
    pool.wait(job.number);
    expect_right(job);
  }
  EXPECT_EQ(pool.lost_devices().size(), 2u);
}

TEST_F(CudaPoolTest, NewParametersAreTakenAfterAGpuDied) {
  MatcherPool pool(parameters_, {gpu(0), cpu(1)}, {.matchers_per_gpu = 1});
  emulated()->lose_device(0);
  Job job(1);
  while (pool.lost_devices().empty()) {
    submit(pool, job);
    pool.wait(job.number);
  }
  MatcherParameters other = parameters_;
  --other.disparities();
  job.number = pool.submit(views_with_masks(job.pair), job.result.map(), other);
  pool.wait(job.number);
  expect_same(match(other, reference, views_with_masks(job.pair)), job.result, "other parameters");
}

TEST_F(CudaPoolTest, WhenNothingIsLeftEveryPairFails) {
  MatcherPool pool(parameters_, gpus(2));
  Job before(1), after(2);
  submit(pool, before);
  pool.wait(before.number);
  emulated()->lose_device(0);
  emulated()->lose_device(1);
  for (int i = 0; i < 5; ++i) {
    submit(pool, after);
    const auto error = error_of([&] { pool.wait(after.number); });
    expect_error(error, ErrorCategory::device,
                 {"pair " + std::to_string(after.number) + ": ", "CUDA_ERROR_ECC_UNCORRECTABLE"});
  }
  EXPECT_EQ(pool.lost_devices().size(), 2u);
}

// Whichever call of a match or of a plan fails, no pair is lost, and nothing leaks.
TEST_F(CudaPoolTest, AnyCallMayFail) {
  const std::size_t live_objects = emulated()->live_objects();
  constexpr cuda::Result illegal_address = 700;
  for (const char* name :
       {"cuMemAlloc_v2", "cuMemHostAlloc", "cuStreamCreate", "cuEventCreate", "cuModuleLoadData",
        "cuStreamBeginCapture_v2", "cuGraphInstantiateWithFlags", "cuPointerGetAttributes", "cuGraphLaunch",
        "cuGraphExecKernelNodeSetParams_v2", "cuEventRecord", "cuEventSynchronize"}) {
    SCOPED_TRACE(name);
    {
      MatcherPool pool(parameters_, gpus(2), {.matchers_per_gpu = 2});
      emulated()->fail_call(name, 2, illegal_address);
      std::vector<Job> jobs = make_jobs(6);
      for (Job& job : jobs) submit(pool, job);
      for (const Job& job : jobs) {
        pool.wait(job.number);
        expect_right(job);
      }
      ASSERT_EQ(pool.lost_devices().size(), 1u);
      EXPECT_TRUE(contains(pool.lost_devices().front().reason, "CUDA_ERROR_ILLEGAL_ADDRESS"));
    }
    EXPECT_EQ(emulated()->live_objects(), live_objects);
  }
}

TEST_F(CudaPoolTest, MatchersShareTheMemoryOfAGpu) {
  const std::size_t needed = estimate_memory_bytes(parameters_, gpu(), {small_size});
  emulated()->set_memory(needed * 2);  // part of `needed` is on the host
  MatcherPool pool(parameters_, gpus(2), {.matchers_per_gpu = 16});
  std::vector<Job> jobs = make_jobs(60);
  for (Job& job : jobs) submit(pool, job);
  for (const Job& job : jobs) {
    pool.wait(job.number);
    expect_right(job);
  }
  emulated()->set_memory(1);
  Job large(1);
  large.pair = synthesize({.size = {40, 30}, .disparities = 5});
  large.result = Result(large.pair.size());
  submit(pool, large);
  expect_error(error_of([&] { pool.wait(large.number); }), ErrorCategory::memory,
               {"pair 60: ", "free on the GPU"});
  EXPECT_TRUE(pool.lost_devices().empty());
}

TEST_F(CudaPoolTest, AllGpusAreParsed) {
  emulated()->set_device_count(3);
  std::vector<std::string> names;
  for (const Device& device : parse_devices("cuda:1,cuda:all,cpu,cuda:0")) names.push_back(device.text());
  EXPECT_EQ(names, (std::vector<std::string>{"cuda:1", "cuda:0", "cuda:2", "cpu"}));
  emulated()->set_device_count(0);
  expect_error(error_of([&] { parse_devices("cpu,cuda:all"); }), ErrorCategory::device,
               {"cuda:all finds no GPU"});
}

}  // namespace
}  // namespace parallax::test
