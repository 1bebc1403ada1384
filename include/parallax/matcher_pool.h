// SPDX-License-Identifier: Apache-2.0
/// \file
/// Many pairs on several devices, or several pairs at once on one GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "parallax/matcher.h"

#pragma GCC visibility push(default)
namespace parallax {

/// How a MatcherPool uses its devices: the options of all its plans together, and how many pairs are in work.
struct PoolOptions {
  /// Most memory that the matchers of one device may take, host and GPU together, in bytes. 0 = each matcher
  /// has the limit that PlanOptions::max_memory_bytes = 0 stands for, and matchers that are only kept for
  /// later are dropped when all take more than half of whole_memory().
  std::size_t max_memory_bytes = 0;
  /// Pairs that are matched at once on each GPU, 0…64; 0 = chosen by the size of the images. Other devices
  /// match one pair at a time.
  int matchers_per_gpu = 0;
  /// Pairs that may wait for a free matcher, 0…1,000,000; 0 = twice as many as may be matched at once.
  /// submit() blocks while so many wait.
  int waiting = 0;
  /// As PlanOptions::configuration.
  TunedValues configuration = {};
};

/// A pair that a MatcherPool matched.
struct MatchedPair {
  std::uint64_t number = 0;                 ///< as submit() returned it
  Device device = {};                       ///< where it was matched
  std::vector<StageTime> stage_times = {};  ///< as Matcher::stage_times()
};

/// The error of a pair that a MatcherPool could not match. The message begins with the number of the pair.
class PairError : public Error {
 public:
  /// An error of the pair `number`.
  PairError(std::uint64_t number, ErrorCategory category, const std::string& reason,
            bool is_transient = false);
  /// The pair, as submit() returned it.
  std::uint64_t number() const noexcept { return number_; }
  /// The message without the number of the pair.
  const std::string& reason() const noexcept { return reason_; }

 private:
  std::uint64_t number_;
  std::string reason_;
};

/// A device that stopped working while a MatcherPool used it.
struct LostDevice {
  Device device;       ///< the device
  std::string reason;  ///< its error, one line
};

/// Matches pairs of any size on several devices: each pair goes to whichever is free. The first pair of a
/// size makes a plan, and plans of the sizes that were used last are kept, within the memory limit. The maps
/// have the same bytes whatever the devices, and in whatever order pairs are done.
///
///     parallax::MatcherPool pool(parallax::preset("bp", "default"), parallax::parse_devices("cuda:all"));
///     for (Job& job : jobs) job.number = pool.submit({job.left, job.right}, {job.disparity, job.status});
///     for (Job& job : jobs) pool.wait(job.number);
///
/// A device that fails is no longer used: its pairs go to the others. All functions may be called from any
/// thread.
class MatcherPool {
 public:
  /// Makes no plan yet: the first pair of each size does. A device that is listed twice counts as two
  /// devices.
  /// \throws Error (argument) for parameters or options out of range, or without a device; (device) when a
  /// device is missing or does not run this algorithm.
  MatcherPool(const MatcherParameters& parameters, const std::vector<Device>& devices,
              const PoolOptions& options = {});
  /// Drops the pairs that wait, and cancels those that are being matched, as Matcher::cancel() does.
  ~MatcherPool();
  MatcherPool(const MatcherPool&) = delete;             ///< a pool cannot be copied
  MatcherPool& operator=(const MatcherPool&) = delete;  ///< a pool cannot be copied

  /// Queues a pair, and returns its number, counted from 0. Blocks while too many pairs wait:
  /// PoolOptions::waiting. The images and the map must stay alive, and the map must not be read, until the
  /// pair has been waited for. The pairs may differ in size and depth.
  /// \throws Error (argument) for images, a mask or a map that no matcher takes.
  std::uint64_t submit(const StereoPair& pair, const DisparityMap& map);
  /// The same with parameters for this pair alone, of any method.
  /// \throws Error as the first one, and as the constructor does.
  std::uint64_t submit(const StereoPair& pair, const DisparityMap& map, const MatcherParameters& parameters);

  /// Waits for a pair. Each pair is waited for once.
  /// \throws PairError when it could not be matched; Error (argument) for a number that is not waited for.
  MatchedPair wait(std::uint64_t number);
  /// Waits for any pair; empty when there is none left to wait for.
  /// \throws PairError when it could not be matched.
  std::optional<MatchedPair> wait_any();

  /// The devices that stopped working, each once. When all have, every remaining pair fails with the error of
  /// the last.
  std::vector<LostDevice> lost_devices() const;
  /// Pairs of this format that may be matched at once, on all devices that work.
  int matchers(const ImageFormat& format) const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace parallax
#pragma GCC visibility pop
