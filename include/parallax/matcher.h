// SPDX-License-Identifier: Apache-2.0
/// \file
/// The life of a match: plan once, run often.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "parallax/device.h"
#include "parallax/image.h"
#include "parallax/parameters.h"

namespace parallax::detail {
class Plan;
}

#pragma GCC visibility push(default)
namespace parallax {

/// Bytes of memory of this machine, or of the container this process is in.
std::size_t whole_memory();

/// What a plan may choose without changing a result, by name and as text: "rows_per_thread" → "4". What it
/// does not name is left to the plan. list_tunables() in tune.h says what there is.
using TunedValues = std::map<std::string, std::string>;

/// What a plan may use, and how it goes about it.
struct PlanLimits {
  /// 0 = whole_memory(); on a GPU, what is free there.
  std::size_t max_memory_bytes = 0;
  /// Wins over what is remembered of tuning. A name or a value that the method does not have on the device,
  /// and values that do not go together, are an Error (argument) that says what there is.
  TunedValues configuration = {};
};

/// Milliseconds one stage of a run took.
struct StageTime {
  const char* stage;
  double milliseconds;
};

/// One algorithm with its parameters, on one device, for images of one format, with all the memory it needs.
///
///     parallax::Matcher matcher(parallax::preset("bp", "default"), parallax::Device::parse("cpu"), {{640, 480}});
///     matcher.run({left, right}, {disparity, status});
///
/// One matcher runs one pair at a time; several matchers may run at once, also on one device. One that was
/// moved from can be destroyed or assigned to; all else throws Error (argument).
class Matcher {
 public:
  /// Checks everything, then allocates everything.
  /// \throws Error (argument) for a parameter or size out of range, (device) when the device is not there or
  /// does not run this algorithm, (memory) when the plan needs more than the limit: then nothing was
  /// allocated.
  Matcher(const MatcherParameters& parameters, const Device& device, const ImageFormat& format,
          const PlanLimits& limits = {});
  ~Matcher();
  Matcher(Matcher&&) noexcept;
  Matcher& operator=(Matcher&&) noexcept;

  /// Matches one pair. Allocates nothing. Writes every pixel of `map`; the inputs must not overlap it.
  /// \throws Error (argument) when an image is not of the planned format, or a view is missing or of another
  /// size.
  void run(const StereoPair& pair, const DisparityMap& map);

  /// Matches one pair in the memory of the GPU that this matcher is planned for: every pointer of `pair` and
  /// `map` is an address there. All work is enqueued on `stream`, a CUstream or cudaStream_t of that GPU's
  /// primary context (null = its default stream); nothing is waited for and nothing allocated. Until the work
  /// is done, the pair, the map and this matcher must stay, and it must not be run again but on the same
  /// stream. Where the stream captures a graph, the work becomes part of that, which takes some memory.
  /// \throws Error as run() does, and (device) when the matcher is not planned for a GPU.
  void enqueue(const StereoPair& pair, const DisparityMap& map, void* stream);

  /// Bytes this matcher holds, beyond the caller's images.
  std::size_t memory_bytes() const;

  /// Stages of the last run(), in order; empty before the first, and after enqueue().
  const std::vector<StageTime>& stage_times() const;

 private:
  detail::Plan& plan() const;

  std::unique_ptr<detail::Plan> plan_;
  ImageFormat format_;
};

/// What memory_bytes() would say, allocating nothing. `configuration`: as of PlanLimits
/// \throws Error as the constructor of Matcher does, save for memory.
std::size_t estimate_memory_bytes(const MatcherParameters& parameters, const Device& device,
                                  const ImageFormat& format, const TunedValues& configuration = {});

/// A cell of the table of what runs where.
struct MatcherOnDevice {
  std::string method;  ///< as the command line spells it: "block"
  DeviceKind device;
};

/// Every algorithm on every device it runs on in this build.
std::vector<MatcherOnDevice> list_matchers();

}  // namespace parallax
#pragma GCC visibility pop
