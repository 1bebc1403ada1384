// SPDX-License-Identifier: Apache-2.0
// A device of a MatcherPool, and its matching of a pair.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "parallax/matcher_pool.h"

#include "execution/kept_plans.h"

namespace parallax::detail {

struct Failure {
  ErrorCategory category = ErrorCategory::internal;
  std::string reason;
  bool is_transient = false;  // see Error
};

struct Lane;

// A pair on its way to a device.
struct Task {
  std::uint64_t number;
  StereoPair pair;
  DisparityMap map;
  SharedSettings settings;
  std::vector<const Lane*> refused_by = {};
  Failure refusal = {};

  Problem problem() const { return {settings, pair.left.format, !map.right.empty()}; }
  bool is_refused_by(const Lane& lane) const {
    return std::find(refused_by.begin(), refused_by.end(), &lane) != refused_by.end();
  }
};

// A device, its plans, and its threads, each of which matches one pair at a time.
struct Lane {
  Lane(const Device& its_device, const PoolOptions& options)
      : device(its_device), plans(its_device, {options.max_memory_bytes, options.configuration}) {}

  const Device device;
  KeptPlans plans;
  std::vector<std::thread> threads;
  // The number of pairs of a format that memory allows at once, where it was too little for more.
  struct Cap {
    Problem problem;
    int most, pairs;
  };

  // The pool's mutex guards the rest.
  std::condition_variable wake;
  std::deque<Task> assigned;
  int busy = 0;  // pairs that are assigned or being matched
  std::optional<Cap> cap;
  bool lost = false;
};

// The result of matching a pair on a device.
struct Attempt {
  enum class Result {
    matched,
    failed,   // on every device
    refused,  // by this device: it has too little memory, or cannot match images of this size
    later,    // possible when fewer pairs are matched on this device at once
    lost,     // because the device failed
  } result = Result::matched;
  std::vector<StageTime> stage_times = {};
  Failure failure = {};
};

// Matches a pair with a plan for `threads` threads.
Attempt match(KeptPlans& plans, const Task& task, int threads, bool sleeps);

}  // namespace parallax::detail
