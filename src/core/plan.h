// SPDX-License-Identifier: Apache-2.0
// What stands behind a parallax::Matcher: one algorithm on one device, planned for one format.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "parallax/matcher.h"

namespace parallax::detail {

class Plan {
 public:
  Plan() { stage_times.reserve(most_stages); }
  virtual ~Plan() = default;

  // Says what allocate() will take. A plan is made without allocating anything of a size that depends on the
  // image.
  virtual std::size_t memory_bytes() const = 0;
  virtual void allocate() = 0;
  // Of the volume that StereoPair::costs must be; 0 = there must be none.
  virtual int cost_labels() const { return 0; }
  virtual bool tells_confidence() const { return false; }
  // The pair and the map are checked against all of this.
  virtual void run(const StereoPair& pair, const DisparityMap& map) = 0;
  // The same for images in the memory of the plan's GPU, on a stream of the caller's.
  virtual void enqueue(const StereoPair&, const DisparityMap&, void*) {
    throw Error(ErrorCategory::device,
                "only a matcher planned for a GPU takes images in GPU memory: use run()");
  }
  // What a plan on a GPU takes there, of the memory that memory_bytes() counts, and what is free there; how
  // an error goes on after the number of bytes that are.
  struct GpuMemory {
    std::size_t needed, free;
    std::string are_free;
  };
  virtual std::optional<GpuMemory> gpu_memory() const { return std::nullopt; }

  // Never grows in a run.
  static constexpr std::size_t most_stages = 16;
  std::vector<StageTime> stage_times;
};

// \throws Error (memory) where the limits or this machine do not allow it: then nothing was allocated
void allocate(Plan& plan, const PlanLimits& limits);

// The checks of Matcher::run(). \throws Error (argument)
void check_run(const Plan& plan, const ImageFormat& format, const StereoPair& pair, const DisparityMap& map);

// Measures the stages of a run, one after the other.
class StageClock {
 public:
  explicit StageClock(std::vector<StageTime>& times) : times_(times) { times_.clear(); }

  // The stage that began with the last call, or with the clock, ends here.
  void finish(const char* stage) {
    const auto now = std::chrono::steady_clock::now();
    times_.push_back({stage, std::chrono::duration<double, std::milli>(now - start_).count()});
    start_ = now;
  }
  // What is past was measured otherwise.
  void restart() { start_ = std::chrono::steady_clock::now(); }

 private:
  std::vector<StageTime>& times_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace parallax::detail
