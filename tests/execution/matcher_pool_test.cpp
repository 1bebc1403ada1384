// SPDX-License-Identifier: Apache-2.0
#include "parallax/matcher_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "execution/scripted.h"
#include "support.h"

namespace parallax::test {
namespace {

// Threads wait at a gate until it is opened.
class Gate {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    opened_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    opened_.wait(lock, [&] { return is_open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool is_open_ = false;
};

// A pair of one gray level, and its map.
struct Job {
  explicit Job(Size size, int gray = 7)
      : image(size, static_cast<std::uint8_t>(gray)), result(size), gray_(gray) {}
  StereoPair pair() const { return {image.view(), image.view()}; }
  bool is_matched(int added = 0) const {
    for (int y = 0; y < image.height(); ++y)
      for (int x = 0; x < image.width(); ++x)
        if (result.disparity.at(x, y) != static_cast<float>(gray_ + added)) return false;
    return true;
  }

  Plane<std::uint8_t> image;
  Result result;
  std::uint64_t number = 0;

 private:
  int gray_;
};

constexpr Size small{8, 4}, large{16, 4};

// Three devices that differ by their threads.
const std::vector<Device> three{cpu(1), cpu(2), cpu(3)};

std::optional<PairError> pair_error_of(MatcherPool& pool, std::uint64_t number) {
  try {
    pool.wait(number);
  } catch (const PairError& error) {
    return error;
  }
  return std::nullopt;
}

class MatcherPoolTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    static const bool once = (register_scripted(), true);
    static_cast<void>(once);
  }
  void SetUp() override { script = {}; }
  void TearDown() override { script = {}; }

  void submit(MatcherPool& pool, std::vector<Job>& jobs) const {
    for (Job& job : jobs) job.number = pool.submit(job.pair(), job.result.map());
  }
  const ScriptedParameters parameters_{};
};

std::vector<Job> make_jobs(int count, Size size = small) {
  std::vector<Job> jobs;
  for (int i = 0; i < count; ++i) jobs.emplace_back(size, i % 200);
  return jobs;
}

TEST_F(MatcherPoolTest, MapsHaveTheBytesOfOneMatcher) {
  const std::vector<MatcherParameters> methods{preset("block", "default"), preset("census", "fast"),
                                               preset("bp", "default")};
  struct Case {
    SynthPair pair;
    Result result;
    std::size_t method;
    std::uint64_t number = 0;
  };
  std::vector<Case> cases;
  for (int i = 0; i < 24; ++i) {
    const Size size{60 + 10 * (i % 3), 40 + 5 * (i % 2)};
    cases.push_back({synth(Scene::layers, size), Result(size), static_cast<std::size_t>(i % 3)});
  }
  MatcherPool pool(methods[0], {reference, cpu(1), cpu(2), cpu(1)});
  for (Case& each : cases)
    each.number = pool.submit(views_with_masks(each.pair), each.result.map(), methods[each.method]);
  for (const Case& each : cases) {
    pool.wait(each.number);
    expect_same(match(methods[each.method], reference, views_with_masks(each.pair)), each.result,
                std::to_string(each.number));
  }
}

TEST_F(MatcherPoolTest, MapsOfTheRightImageAreThoseOfOneMatcher) {
  const SynthPair pair = synth(Scene::layers, {60, 40});
  const MatcherParameters parameters = preset("census", "fast");
  const parallax::Result expected =
      parallax::match(views_with_masks(pair), parameters, reference, {.both_maps = true});
  MatcherPool pool(parameters, {cpu(1), cpu(2)});
  std::vector<Result> results;
  for (int i = 0; i < 6; ++i) results.emplace_back(pair.size());
  // Every other pair has one.
  for (std::size_t i = 0; i < results.size(); i += 2)
    results[i].right = std::make_unique<Result>(pair.size());
  for (Result& result : results) pool.submit(views_with_masks(pair), result.map());
  while (pool.wait_any()) continue;
  for (const Result& result : results) {
    expect_same(expected, result, "left");
    if (result.right) expect_same(*expected.right, *result.right, "right");
  }
  DisparityMap incomplete = results.front().map();
  incomplete.right.status = {};
  expect_refused([&] { pool.submit(views_with_masks(pair), incomplete); }, "right status map");
}

TEST_F(MatcherPoolTest, TellsWhereAPairWasMatchedAndItsStages) {
  MatcherPool pool(parameters_, {cpu(3)});
  Job job(small);
  const MatchedPair matched = pool.wait(pool.submit(job.pair(), job.result.map()));
  EXPECT_EQ(matched.number, 0u);
  EXPECT_EQ(matched.device.threads, 3);
  ASSERT_EQ(matched.stage_times.size(), 1u);
  EXPECT_STREQ(matched.stage_times.front().stage, "match");
  EXPECT_TRUE(job.is_matched());
}

TEST_F(MatcherPoolTest, APairIsWaitedForOnce) {
  MatcherPool pool(parameters_, three);
  Job job(small);
  expect_refused([&] { pool.wait(0); }, "pair 0 is not waited for");
  pool.wait(pool.submit(job.pair(), job.result.map()));
  expect_refused([&] { pool.wait(0); }, "pair 0 is not waited for");
}

TEST_F(MatcherPoolTest, WaitAnyGivesEveryPairOnce) {
  MatcherPool pool(parameters_, three);
  EXPECT_FALSE(pool.wait_any());
  std::vector<Job> jobs = make_jobs(50);
  submit(pool, jobs);
  pool.wait(jobs[20].number);
  std::set<std::uint64_t> numbers;
  while (const auto matched = pool.wait_any()) EXPECT_TRUE(numbers.insert(matched->number).second);
  EXPECT_EQ(numbers.size(), 49u);
  EXPECT_EQ(numbers.count(jobs[20].number), 0u);
  for (const Job& job : jobs) EXPECT_TRUE(job.is_matched());
}

TEST_F(MatcherPoolTest, SubmitWaitsWhileTooManyPairsWait) {
  Gate gate;
  script.on_run = [&](const Device&, const ImageFormat&) { gate.pass(); };
  MatcherPool pool(parameters_, {cpu(1)}, {.waiting = 2});
  std::vector<Job> jobs = make_jobs(4);
  for (int i = 0; i < 3; ++i)
    pool.submit(jobs[static_cast<std::size_t>(i)].pair(),
                jobs[static_cast<std::size_t>(i)].result.map());  // one is matched, two wait
  std::atomic<bool> returned = false;
  std::thread fourth([&] {
    pool.submit(jobs[3].pair(), jobs[3].result.map());
    returned = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(returned);
  gate.open();
  fourth.join();
  while (pool.wait_any()) continue;
  EXPECT_TRUE(jobs[3].is_matched());
}

TEST_F(MatcherPoolTest, PairsGoToWhicheverDeviceIsFree) {
  Gate gate;
  script.on_run = [&](const Device& device, const ImageFormat&) {
    if (device.threads != 2) gate.pass();
  };
  MatcherPool pool(parameters_, three);
  std::vector<Job> jobs = make_jobs(40);
  std::vector<std::uint64_t> done;
  for (Job& job : jobs) job.number = pool.submit(job.pair(), job.result.map());
  for (int i = 0; i < 38; ++i) {
    const MatchedPair matched = pool.wait_any().value();
    EXPECT_EQ(matched.device.threads, 2);
  }
  gate.open();
  for (int i = 0; i < 2; ++i) EXPECT_NE(pool.wait_any().value().device.threads, 2);
  EXPECT_FALSE(pool.wait_any());
}

TEST_F(MatcherPoolTest, AnErrorHasItsPair) {
  std::atomic<int> runs = 0;
  script.on_run = [&](const Device&, const ImageFormat& format) {
    ++runs;
    if (format.size == large) throw Error(ErrorCategory::internal, "the large one");
  };
  MatcherPool pool(parameters_, three);
  std::vector<Job> jobs = make_jobs(6);
  jobs[3] = Job(large);
  submit(pool, jobs);
  for (const Job& job : jobs) {
    const std::optional<PairError> error = pair_error_of(pool, job.number);
    EXPECT_EQ(error.has_value(), job.number == 3);
    if (!error) continue;
    expect_error(*error, ErrorCategory::internal, {"pair 3: the large one"});
    EXPECT_EQ(error->number(), 3u);
    EXPECT_EQ(error->reason(), "the large one");
  }
  EXPECT_EQ(runs, 6);  // no other device tried
  EXPECT_TRUE(pool.lost_devices().empty());
}

TEST_F(MatcherPoolTest, PairsOfADeviceThatFailsGoToTheOthers) {
  std::atomic<int> runs_of_lost = 0;
  Gate gate;
  script.on_run = [&](const Device& device, const ImageFormat&) {
    if (device.kind != DeviceKind::reference) return gate.pass();
    if (++runs_of_lost < 3) return;
    gate.open();
    throw Error(ErrorCategory::device, "it fell off", true);
  };
  MatcherPool pool(parameters_, {reference, cpu(1), cpu(2)});
  std::vector<Job> jobs = make_jobs(50);
  submit(pool, jobs);
  int on_lost = 0;
  for (const Job& job : jobs) on_lost += pool.wait(job.number).device.kind == DeviceKind::reference ? 1 : 0;
  for (const Job& job : jobs) EXPECT_TRUE(job.is_matched());
  EXPECT_EQ(on_lost, 2);
  EXPECT_EQ(runs_of_lost, 3);
  const std::vector<LostDevice> lost = pool.lost_devices();
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_EQ(lost.front().device.text(), "reference");
  EXPECT_EQ(lost.front().reason, "it fell off");
  EXPECT_EQ(pool.matchers({small}), 2);
}

TEST_F(MatcherPoolTest, WhenAllDevicesFailEveryPairFails) {
  std::atomic<int> runs = 0;
  script.on_run = [&](const Device& device, const ImageFormat&) {
    if (++runs > 10) throw Error(ErrorCategory::device, device.text() + " fell off", true);
  };
  MatcherPool pool(parameters_, {reference, cpu(1)});
  std::vector<Job> jobs = make_jobs(30);
  submit(pool, jobs);
  int failures = 0;
  for (const Job& job : jobs)
    if (const auto error = pair_error_of(pool, job.number)) {
      ++failures;
      expect_error(*error, ErrorCategory::device, {"pair " + std::to_string(job.number) + ": ", "fell off"});
    }
  EXPECT_EQ(failures, 20);
  EXPECT_EQ(pool.lost_devices().size(), 2u);
  EXPECT_EQ(pool.matchers({small}), 0);
}

TEST_F(MatcherPoolTest, ADeviceThatRunsNoSuchMatchIsRefused) {
  script.on_plan = [](const Device& device, const ImageFormat&) {
    if (device.threads == 2) throw Error(ErrorCategory::device, "it lacks that");
  };
  expect_error(error_of([&] { MatcherPool(parameters_, three); }), ErrorCategory::device, {"it lacks that"});
  MatcherPool pool(preset("block", "default"), three);
  Job job(small);
  expect_error(error_of([&] { pool.submit(job.pair(), job.result.map(), parameters_); }),
               ErrorCategory::device, {"it lacks that"});
  EXPECT_TRUE(pool.lost_devices().empty());
}

TEST_F(MatcherPoolTest, APairThatADeviceCannotMatchGoesToTheOthers) {
  script.on_plan = [](const Device& device, const ImageFormat& format) {
    if (device.threads != 2 && format.size == large) throw Error(ErrorCategory::device, "too many pixels");
  };
  MatcherPool pool(parameters_, three);
  std::vector<Job> jobs = make_jobs(20, large);
  submit(pool, jobs);
  for (const Job& job : jobs) EXPECT_EQ(pool.wait(job.number).device.threads, 2);
  EXPECT_TRUE(pool.lost_devices().empty());
}

TEST_F(MatcherPoolTest, APairThatNeedsMoreMemoryThanAllowedFailsWhereNoDeviceHasIt) {
  script.bytes = [](const ImageFormat& format) { return format.size.pixels(); };
  MatcherPool pool(parameters_, three, {.max_memory_bytes = small.pixels()});
  std::vector<Job> jobs = make_jobs(10);
  jobs[4] = Job(large);
  submit(pool, jobs);
  for (const Job& job : jobs) {
    const auto error = pair_error_of(pool, job.number);
    EXPECT_EQ(error.has_value(), job.number == 4);
    if (error)
      expect_error(*error, ErrorCategory::memory, {"pair 4: ", "needs 64 bytes", "32 bytes are allowed"});
  }
}

TEST_F(MatcherPoolTest, APairGoesWhereThereIsMemoryForIt) {
  script.on_run = [&](const Device& device, const ImageFormat& format) {
    if (device.threads != 3 && format.size == large) throw std::bad_alloc();
  };
  MatcherPool pool(parameters_, three);
  std::vector<Job> jobs = make_jobs(20, large);
  submit(pool, jobs);
  for (const Job& job : jobs) EXPECT_EQ(pool.wait(job.number).device.threads, 3);
}

TEST_F(MatcherPoolTest, PlansOfTheLastFormatsAreKeptWithinTheLimit) {
  std::vector<int> widths;
  script.bytes = [](const ImageFormat&) { return std::size_t{10}; };
  script.on_allocate = [&](const Device&, const ImageFormat& format) { widths.push_back(format.size.width); };
  MatcherPool pool(parameters_, {cpu(1)}, {.max_memory_bytes = 29});
  for (const int width : {1, 2, 1, 3, 1, 2, 2, 1}) {
    Job job({width, 1});
    pool.wait(pool.submit(job.pair(), job.result.map()));
  }
  EXPECT_EQ(widths, (std::vector<int>{1, 2, 3, 2}));
}

// The method's cuda backend needs no GPU, but a build with CUDA.
class GpuPoolTest : public MatcherPoolTest {
 protected:
  void SetUp() override {
    MatcherPoolTest::SetUp();
    if (!detail::is_in_build(DeviceKind::cuda)) GTEST_SKIP() << "this build has no CUDA";
  }
};

TEST_F(GpuPoolTest, MatchersOfAGpuShareItsMemory) {
  std::atomic<long long> bytes = 0, most = 0, runs = 0;
  const auto bytes_of = [](const ImageFormat& format) {
    return static_cast<long long>(format.size.pixels());
  };
  script.bytes = [](const ImageFormat& format) { return format.size.pixels(); };
  script.on_allocate = [&](const Device&, const ImageFormat& format) {
    bytes += bytes_of(format);
    most = std::max<long long>(most, bytes);
  };
  script.on_release = [&](const Device&, const ImageFormat& format) { bytes -= bytes_of(format); };
  script.on_run = [&](const Device&, const ImageFormat&) { ++runs; };
  {
    MatcherPool pool(parameters_, {Device{DeviceKind::cuda}},
                     {.max_memory_bytes = 2 * large.pixels(), .matchers_per_gpu = 8});
    std::vector<Job> jobs;
    for (int i = 0; i < 400; ++i)
      jobs.emplace_back(i % 3 == 0 ? large : i % 3 == 1 ? small : Size{32, 4}, i % 200);
    submit(pool, jobs);
    for (const Job& job : jobs) pool.wait(job.number);
    for (const Job& job : jobs) EXPECT_TRUE(job.is_matched());
  }
  EXPECT_EQ(runs, 400);
  EXPECT_LE(most, 128);
  EXPECT_EQ(bytes, 0);
}

TEST_F(GpuPoolTest, AGpuMatchesSeveralPairsAtOnce) {
  std::atomic<int> running = 0;
  Gate gate;
  script.on_run = [&](const Device&, const ImageFormat&) {
    if (++running == 3) gate.open();
    gate.pass();  // until three run at once
  };
  MatcherPool pool(parameters_, {Device{DeviceKind::cuda}}, {.matchers_per_gpu = 3});
  EXPECT_EQ(pool.matchers({small}), 3);
  std::vector<Job> jobs = make_jobs(3);
  submit(pool, jobs);
  while (pool.wait_any()) continue;
  EXPECT_EQ(running, 3);
}

TEST_F(GpuPoolTest, SmallerImagesHaveMoreMatchers) {
  MatcherPool pool(parameters_, {Device{DeviceKind::cuda}, Device{DeviceKind::cuda, 0, 1}, cpu(1)});
  const int few = pool.matchers({{4000, 3000}}), many = pool.matchers({{640, 480}});
  EXPECT_GE(few, 3);
  EXPECT_GT(many, few);
}

TEST_F(MatcherPoolTest, DestructionDropsThePairsThatWait) {
  std::atomic<int> begun = 0, ended = 0;
  script.on_run = [&](const Device&, const ImageFormat&) {
    ++begun;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ++ended;
  };
  std::vector<Job> jobs = make_jobs(20000, {1, 1});
  {
    MatcherPool pool(parameters_, three, {.waiting = 20000});
    submit(pool, jobs);
  }
  EXPECT_EQ(begun, ended);
  EXPECT_LT(begun, 20000);
}

TEST_F(MatcherPoolTest, ManyThreadsSubmitAndWait) {
  MatcherPool pool(parameters_, three);
  std::mutex mutex;
  std::set<std::uint64_t> numbers;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      std::vector<Job> jobs = make_jobs(100, i % 2 == 0 ? small : large);
      submit(pool, jobs);
      for (const Job& job : jobs) {
        EXPECT_EQ(pool.wait(job.number).number, job.number);
        EXPECT_TRUE(job.is_matched());
        const std::lock_guard lock(mutex);
        numbers.insert(job.number);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(numbers.size(), 800u);
  EXPECT_EQ(*numbers.rbegin(), 799u);
}

TEST_F(MatcherPoolTest, APairMayHaveParametersOfItsOwn) {
  MatcherPool pool(parameters_, three);
  std::vector<Job> jobs = make_jobs(60);
  for (Job& job : jobs) {
    ScriptedParameters own;
    own.added = static_cast<int>(&job - jobs.data()) % 3;
    job.number = pool.submit(job.pair(), job.result.map(), own);
  }
  for (const Job& job : jobs) {
    pool.wait(job.number);
    EXPECT_TRUE(job.is_matched(static_cast<int>(job.number % 3))) << job.number;
  }
  ScriptedParameters wrong;
  wrong.added = 1001;
  expect_refused([&] { pool.submit(jobs[0].pair(), jobs[0].result.map(), wrong); }, "added is 1001");
}

TEST_F(MatcherPoolTest, WhatNoMatcherTakesIsRefused) {
  MatcherPool pool(parameters_, three);
  Job job(small), other(large);
  Plane<std::uint16_t> deep(small);
  const auto refused = [&](const StereoPair& pair, const DisparityMap& map, const char* reason) {
    expect_refused([&] { pool.submit(pair, map); }, reason);
  };
  refused({}, job.result.map(), "left image points to no memory");
  refused({job.image.view(), other.image.view()}, job.result.map(), "the right one 16×4");
  refused({job.image.view(), deep.view()}, job.result.map(), "the right one 8×4 with 16: give two");
  refused({job.image.view(), job.image.view(), other.image.view()}, job.result.map(), "left mask is 16×4");
  refused(job.pair(), other.result.map(), "disparity map is 16×4");
  refused(job.pair(), {job.result.disparity.view(), {}}, "status map");
  // Causes that only the method knows are the pair's error.
  Result confident(small, 0, true);
  const auto error = pair_error_of(pool, pool.submit(job.pair(), confident.map()));
  expect_error(error, ErrorCategory::argument, {"pair 0: ", "does not report confidence"});
  Result across_rows(small, 0, false, true);
  expect_error(pair_error_of(pool, pool.submit(job.pair(), across_rows.map())), ErrorCategory::argument,
               {"pair 1: ", "searches no rows"});
}

TEST_F(MatcherPoolTest, ImpossiblePoolsAreRefused) {
  expect_refused([&] { MatcherPool(parameters_, {}); }, "no device");
  expect_refused([&] { MatcherPool(MatcherParameters(), three); }, "belong to no method");
  MatcherParameters rows = preset("bp", "default");
  set_parameter(rows, "rows", "once");
  expect_refused([&] { MatcherPool(rows, three); }, "rows is once: choose auto or given");
  expect_refused([&] { MatcherPool(parameters_, three, {.matchers_per_gpu = 65}); },
                 "matchers_per_gpu is 65");
  expect_refused([&] { MatcherPool(parameters_, three, {.waiting = -1}); }, "waiting is -1");
  expect_refused([&] { MatcherPool(parameters_, three, {.configuration = {{"speed", "4"}}}); }, "speed");
}

// A range of disparities may be wider than the images that the construction tests.
TEST_F(MatcherPoolTest, AnyRangeOfDisparitiesIsTaken) {
  BlockParameters parameters = preset<BlockParameters>("default");
  parameters.min_disparity = 5000;
  MatcherPool pool(parameters, {cpu(1)});
  const SynthPair pair = synth(Scene::layers);
  Result result(pair.size());
  const auto error = pair_error_of(pool, pool.submit(views(pair), result.map()));
  expect_error(error, ErrorCategory::argument, {"pair 0: ", "lie outside an image 160 pixels wide"});
}

}  // namespace
}  // namespace parallax::test
