// SPDX-License-Identifier: Apache-2.0
#include "core/cancellation.h"

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "parallax/matcher_pool.h"

#include "core/workers.h"
#include "support.h"

namespace parallax::test {
namespace {

// Ends the calls of this thread when they ask for the n-th time.
class EndsAt {
 public:
  explicit EndsAt(int n, int milliseconds = 0) : n_(n) { set_interrupt(ask, this, milliseconds); }
  ~EndsAt() { set_interrupt(nullptr, nullptr); }
  EndsAt(const EndsAt&) = delete;
  EndsAt& operator=(const EndsAt&) = delete;
  int asked() const { return asked_; }

 private:
  static int ask(void* self) {
    auto& own = *static_cast<EndsAt*>(self);
    return ++own.asked_ == own.n_ ? 1 : 0;
  }
  int n_, asked_ = 0;
};

template <class Run>
void expect_cancelled(const Run& run) {
  try {
    run();
    ADD_FAILURE() << "the call was not cancelled";
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), ErrorCategory::cancelled) << error.what();
  }
}

// Parameters with as many steps as a method has.
MatcherParameters thorough(const std::string& method, bool searches_rows) {
  MatcherParameters parameters = preset(method, "default");
  const auto set_if_known = [&](const std::string& name, const std::string& value) {
    for (const ParameterInfo& known : list_parameters(method))
      if (known.name == name) set_parameter(parameters, name, value);
  };
  set_if_known("disparities", "16");
  set_if_known("left_right_check", "true");
  set_if_known("speckle_size", "10");
  set_if_known("median", "3");
  set_if_known("weighted_median", "5");
  if (method != "motion" && !searches_rows) set_if_known("refit", "5");
  if (method != "motion") set_if_known("fill", "planes");
  if (method == "motion") set_if_known("row_offsets", "5");
  if (method == "motion") set_if_known("min_row_offset", "-2");
  if (searches_rows) set_if_known("row_tolerance", "1");
  return parameters;
}

struct Case {
  std::string method;
  DeviceKind device;
  int threads;
  bool searches_rows;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.method << " on " << c.device << " with " << c.threads
             << (c.searches_rows ? ", rows are searched" : "");
}

class CancelledMatcher : public ::testing::TestWithParam<Case> {};

std::vector<Case> cases() {
  std::vector<Case> result;
  for (const MatcherOnDevice& each : list_matchers()) {
    if (each.device != DeviceKind::cpu && each.device != DeviceKind::reference) continue;
    for (const int threads : each.device == DeviceKind::cpu ? std::vector{1, 2} : std::vector{1})
      for (const bool searches_rows : {false, true})
        if (!searches_rows || (each.method != "motion" && each.method != "tiled-bp"))
          result.push_back({each.method, each.device, threads, searches_rows});
  }
  return result;
}

INSTANTIATE_TEST_SUITE_P(Methods, CancelledMatcher, ::testing::ValuesIn(cases()));

TEST_P(CancelledMatcher, GivesTheSameBytesAfterwardsWhereverItEnded) {
  const Case& c = GetParam();
  const MatcherParameters parameters = thorough(c.method, c.searches_rows);
  Device device;
  device.kind = c.device;
  device.threads = c.threads;
  const Size size{64, 40};
  const SynthPair pair = synthesize({size, 16}), other = synthesize({size, 16, Scene::planes, 5});
  const StereoPair images{pair.left_view(), pair.right_view()},
      other_images{other.left_view(), other.right_view()};
  const Result expected = match(parameters, device, other_images);
  Matcher matcher(parameters, device, {size});
  Result result(size);
  int questions = 0;
  {
    const EndsAt never(0);
    matcher.run(images, result.map());
    questions = never.asked();
  }
  ASSERT_GT(questions, size.height) << "rows are parts between which a match can end";
  const int times = sanitized || c.device == DeviceKind::reference ? 3 : 12;
  for (int i = 1; i <= times; ++i) {
    {
      // Several threads share the questions: how many this one asks depends on how the parts fall.
      const int n = std::max(1, questions / (c.threads > 1 ? 3 : 1) * i / times);
      const EndsAt ends(n);
      bool cancelled = false;
      try {
        matcher.run(images, result.map());
      } catch (const Error& error) {
        EXPECT_EQ(error.category(), ErrorCategory::cancelled) << error.what();
        cancelled = true;
      }
      EXPECT_EQ(cancelled, ends.asked() >= n);
      EXPECT_TRUE(cancelled || c.threads > 1);
    }
    Result again(size, i);
    matcher.run(other_images, again.map());
    expect_same(expected, again, "cancelled at part " + std::to_string(i) + " of " + std::to_string(times));
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(CancelTest, EndsTheRunOfAnotherThread) {
  const Size size{64, 48};
  const SynthPair pair = synthesize({size, 16});
  for (const DeviceKind kind : {DeviceKind::cpu, DeviceKind::reference}) {
    Device device;
    device.kind = kind;
    MatcherParameters parameters = preset("bp", "default");
    parameters.disparities() = 16;
    Matcher matcher(parameters, device, {size});
    Result result(size);
    std::atomic<bool> ended = false;
    std::thread runs([&] {
      expect_cancelled([&] {
        for (;;) matcher.run({pair.left_view(), pair.right_view()}, result.map());
      });
      ended = true;
    });
    while (!ended) matcher.cancel();
    runs.join();
    expect_same(
        match(parameters, device, {pair.left_view(), pair.right_view()}),
        [&] {
          Result again(size);
          matcher.run({pair.left_view(), pair.right_view()}, again.map());
          return again;
        }(),
        "after cancel()");
  }
}

TEST(CancelTest, DoesNothingToAnIdleMatcher) {
  const Size size{64, 48};
  const SynthPair pair = synthesize({size, 16});
  Matcher matcher(preset("block", "default"), cpu(2), {size});
  Result result(size);
  matcher.cancel();
  matcher.run({pair.left_view(), pair.right_view()}, result.map());
  Matcher moved(std::move(matcher));
  matcher.cancel();
  moved.run({pair.left_view(), pair.right_view()}, result.map());
}

TEST(CancelTest, OfOneMatcherDoesNotEndAnother) {
  const Size size{64, 48};
  const SynthPair pair = synthesize({size, 16});
  Matcher cancelled(preset("block", "default"), cpu(2), {size}),
      other(preset("block", "default"), cpu(2), {size});
  std::atomic<bool> ends = false;
  std::thread cancels([&] {
    while (!ends) cancelled.cancel();
  });
  Result result(size);
  for (int i = 0; i < 20; ++i) other.run({pair.left_view(), pair.right_view()}, result.map());
  ends = true;
  cancels.join();
}

TEST(CancelTest, EndsARunThatRectifies) {
  const Size size{160, 120};
  Rig rig;
  rig.left = rig.right = {size, 150, 150, 80, 60};
  rig.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  rig.translation = {-0.1, 0, 0};
  const SynthPair pair = synthesize({size, 16});
  RectifiedMatcher matcher(preset("census", "default"), cpu(2), rig);
  Result result(matcher.rectification().size), again(matcher.rectification().size);
  matcher.run(pair.left_view(), pair.right_view(), result.map());
  std::atomic<bool> ended = false;
  std::thread runs([&] {
    expect_cancelled([&] {
      for (;;) matcher.run(pair.left_view(), pair.right_view(), again.map());
    });
    ended = true;
  });
  while (!ended) matcher.cancel();
  runs.join();
  matcher.run(pair.left_view(), pair.right_view(), again.map());
  expect_same(result, again, "after cancel()");
}

TEST(CancelTest, MemoryIsClearedInParts) {
  const EndsAt ends(1);
  expect_cancelled([] { Matcher(preset("bp", "default"), cpu(1), {{64, 48}}); });
}

TEST(InterruptTest, EndsAWaitForAPoolWhosePairsAreWaitedForLater) {
  const Size size{320, 240};
  const SynthPair pair = synthesize({size, 64});
  MatcherPool pool(preset("bp", "default"), {cpu(1)});
  std::vector<Result> results;
  for (int i = 0; i < 4; ++i) results.emplace_back(size);
  for (Result& result : results) pool.submit({pair.left_view(), pair.right_view()}, result.map());
  int waited = 0;
  {
    const EndsAt ends(1, 1);
    expect_cancelled([&] { pool.wait(3); });
  }
  {
    const EndsAt ends(1, 1);
    expect_cancelled([&] {
      while (pool.wait_any()) ++waited;
      throw cancelled_error();  // they were matched before this thread has waited
    });
  }
  while (pool.wait_any()) ++waited;
  EXPECT_EQ(waited, 4);
}

TEST(InterruptTest, MayUseTheLibrary) {
  const auto use = [](void*) {
    const EndsAt would(1);
    const Size size{32, 24};
    const SynthPair pair = synthesize({size, 8});
    parallax::match(pair.left_view(), pair.right_view(), preset("block", "default"), cpu(1));
    return 1;
  };
  const SynthPair pair = synthesize({{64, 48}, 16});
  set_interrupt(use, nullptr, 0);
  expect_cancelled(
      [&] { parallax::match(pair.left_view(), pair.right_view(), preset("block", "default"), cpu(2)); });
  set_interrupt(nullptr, nullptr);
}

TEST(CancelledWork, EndsWithTheFirstFailureAndLeavesTheRest) {
  const Workers workers(2);
  std::atomic<int> begun = 0;
  try {
    for_rows(workers, 10'000, [&](int, int) {
      if (++begun == 10) throw Error(ErrorCategory::memory, "the first");
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    });
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), ErrorCategory::memory) << error.what();
  }
  EXPECT_LT(begun, 1000);
}

}  // namespace
}  // namespace parallax::test
