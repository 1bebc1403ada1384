// SPDX-License-Identifier: Apache-2.0
#include "core/workers.h"

#include <atomic>
#include <chrono>
#include <fstream>
#include <new>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "parallax/error.h"

namespace parallax {
namespace {

class WorkersTest : public ::testing::TestWithParam<int> {
 protected:
  const int threads_ = GetParam();
  const Workers workers_{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Threads, WorkersTest, ::testing::Values(1, 2, 7));

TEST_P(WorkersTest, HasTheThreadsItWasGiven) {
  EXPECT_EQ(workers_.threads(), threads_);
}

TEST_P(WorkersTest, CallsEveryIndexOnce) {
  for (const int count : {1, 2, 3, 1000}) {
    std::vector<std::atomic<int>> calls(static_cast<std::size_t>(count));
    workers_.for_each(count, [&](int index, int) { ++calls[static_cast<std::size_t>(index)]; });
    for (const auto& c : calls) EXPECT_EQ(c, 1);
  }
}

TEST_P(WorkersTest, CallsNothingWhenThereIsNothing) {
  workers_.for_each(0, [](int, int) { ADD_FAILURE(); });
}

TEST_P(WorkersTest, OverlappingCallsHaveDifferentSlots) {
  std::vector<std::atomic<int>> users(static_cast<std::size_t>(threads_));
  std::atomic<bool> outside = false, shared = false;
  workers_.for_each(200, [&](int, int slot) {
    if (slot < 0 || slot >= threads_) {
      outside = true;
      return;
    }
    std::atomic<int>& user = users[static_cast<std::size_t>(slot)];
    if (++user != 1) shared = true;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    --user;
  });
  EXPECT_FALSE(outside);
  EXPECT_FALSE(shared);
}

TEST_P(WorkersTest, RethrowsWhatABodyThrowsAndGoesOn) {
  auto fail = [](int index, int) {
    if (index == 5) throw std::runtime_error("five");
  };
  EXPECT_THROW(workers_.for_each(10, fail), std::runtime_error);
  std::atomic<int> calls = 0;
  workers_.for_each(10, [&](int, int) { ++calls; });
  EXPECT_EQ(calls, 10);
}

TEST_P(WorkersTest, RethrowsFromASingleCall) {
  EXPECT_THROW(workers_.for_each(1, [](int, int) { throw std::runtime_error("one"); }), std::runtime_error);
}

TEST_P(WorkersTest, RunsOneLoopAfterAnother) {
  std::vector<int> values(64, 0);
  for (int round = 0; round < 100; ++round)
    workers_.for_each(64, [&](int index, int) { ++values[static_cast<std::size_t>(index)]; });
  EXPECT_EQ(values, std::vector<int>(64, 100));
}

TEST_P(WorkersTest, RowRangesCoverEveryRowOnce) {
  for (const int rows : {0, 1, 7, 8, 9, 100, 1023}) {
    std::vector<std::atomic<int>> calls(static_cast<std::size_t>(rows));
    std::atomic<bool> outside = false;
    for_row_ranges(workers_, rows, [&](int first, int last, int slot) {
      if (first < 0 || first > last || last > rows || slot < 0 || slot >= threads_)
        outside = true;
      else
        for (int y = first; y < last; ++y) ++calls[static_cast<std::size_t>(y)];
    });
    EXPECT_FALSE(outside) << rows;
    for (const auto& c : calls) EXPECT_EQ(c, 1) << rows;
  }
}

TEST(WorkersDefaultTest, ZeroMeansAtLeastOneThread) {
  EXPECT_GE(Workers(0).threads(), 1);
}

TEST(WorkersDefaultTest, MovedWorkersWork) {
  Workers first(2);
  const Workers second = std::move(first);
  std::atomic<int> calls = 0;
  second.for_each(10, [&](int, int) { ++calls; });
  EXPECT_EQ(calls, 10);
}

// The resident memory of this process.
std::size_t resident_bytes() {
  std::size_t whole = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> whole >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

// oneTBB retains about 7 KiB of every arena.
TEST(WorkersDefaultTest, ManyWorkersLeaveNoMemoryBehind) {
  const auto use = [](int times) {
    for (int i = 0; i < times; ++i) Workers(2).for_each(4, [](int, int) {});
  };
  use(200);
  const std::size_t before = resident_bytes();
  use(2000);
  EXPECT_LT(resident_bytes(), before + (4u << 20));
}

TEST(WorkersDefaultTest, WorkersAtTheSameTimeHaveSlotsOfTheirOwn) {
  const Workers first(2), second(2);
  std::atomic<int> calls = 0;
  first.for_each(4, [&](int, int) { second.for_each(4, [&](int, int) { ++calls; }); });
  EXPECT_EQ(calls, 16);
}

[[maybe_unused]] int calls_of_new_workers() {
  std::atomic<int> calls = 0;
  Workers(2).for_each(10, [&](int, int) { ++calls; });
  return calls;
}

#if !defined(__SANITIZE_THREAD__)  // it does not support fork() in a process with threads
// The threads in the arenas of the parent do not exist in the child.
TEST(WorkersDefaultTest, WorkAfterAFork) {
  EXPECT_EQ(calls_of_new_workers(), 10);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(calls_of_new_workers());
  ASSERT_GT(child, 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 10);
  EXPECT_EQ(calls_of_new_workers(), 10);
}
#endif

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// Exits with 0 if the loop ran, or failed with a documented error.
[[noreturn]] void run_with_little_more_memory(rlim_t more) {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t bytes = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + more;
  const rlimit limit{bytes, bytes};
  ::setrlimit(RLIMIT_AS, &limit);
  try {
    calls_of_new_workers();
  } catch (const Error& error) {
    ::_exit(error.category() == ErrorCategory::memory ? 0 : 1);
  } catch (const std::bad_alloc&) {
    ::_exit(0);
  } catch (...) {
    ::_exit(2);
  }
  ::_exit(0);
}

TEST(WorkersDeathTest, ThreadThatCannotStartIsAnErrorOfTheLibrary) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  // Some of these suffice for everything except the stack of a thread.
  for (const rlim_t kibibytes : {64, 1024, 4096, 5120, 6144, 8192, 10240})
    EXPECT_EXIT(run_with_little_more_memory(kibibytes << 10), ::testing::ExitedWithCode(0), "") << kibibytes;
}
#endif

}  // namespace
}  // namespace parallax
