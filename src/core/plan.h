// SPDX-License-Identifier: Apache-2.0
// The implementation of a parallax::Matcher: one algorithm on one device, planned for one image format.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "parallax/cost_curve.h"
#include "parallax/matcher.h"

#include "core/cancellation.h"

namespace parallax::detail {

class Plan {
 public:
  Plan() { stage_times.reserve(max_stages); }
  virtual ~Plan() = default;

  // The bytes that allocate() takes. Making a plan allocates nothing whose size depends on the image.
  virtual std::size_t memory_bytes() const = 0;
  virtual void allocate() = 0;
  // The number of labels that StereoPair::costs must have; 0 = no volume is allowed.
  virtual int cost_labels() const { return 0; }
  virtual bool tells_confidence() const { return false; }
  virtual bool tells_row_offsets() const { return false; }
  virtual bool tells_right_map() const { return false; }
  virtual void forget_rows() {}
  // The caller has already called check_run().
  virtual void run(const StereoPair& pair, const DisparityMap& map) = 0;
  // run() for Matcher::start(): waits for the previous pair, and may return while this one is being matched.
  virtual void start(const StereoPair& pair, const DisparityMap& map) { run(pair, map); }
  virtual void wait(int /*most_running*/) {}
  // From now on a thread that waits for the device sleeps, which wakes it some microseconds later, instead of
  // spinning.
  virtual void sleep_while_waiting() {}
  // run() for images in the memory of the plan's GPU, on the caller's stream.
  virtual void enqueue(const StereoPair&, const DisparityMap&, void*) {
    throw Error(ErrorCategory::device,
                "only a matcher planned for a GPU takes images in GPU memory: use run()");
  }
  // Refused by default, like enqueue().
  virtual void enqueue_finite(const StereoPair& pair, const FiniteMap&, void* stream) {
    enqueue(pair, DisparityMap{}, stream);
  }
  // The costs of a pixel in the last run. Only references provide them, and only without a left-right check.
  virtual CostCurve cost_curve(int /*x*/, int /*y*/) const { return {}; }
  // GPU memory that the plan needs (part of memory_bytes()), the free GPU memory, and the end of an error
  // message that gives the number of free bytes.
  struct GpuMemory {
    std::size_t needed, free;
    std::string are_free;
  };
  virtual std::optional<GpuMemory> gpu_memory() const { return std::nullopt; }
  // How the method itself can need less memory: ", or set …". Asked for only where there is too little. May
  // be null.
  std::function<std::string()> remedy;

  // Ends the calls of the public object.
  Cancellation cancellation;

  // Reserved in advance, so that a run does not allocate.
  static constexpr std::size_t max_stages = 20;
  std::vector<StageTime> stage_times;
  // Matcher::rows_moved().
  double rows_moved = 0;
  // Whether the next pair is mirrored, so that its rows are off by other amounts than the caller's.
  bool is_mirrored = false;
};

// \throws Error (memory) where the limits or this machine do not allow it; nothing is allocated then
void allocate(Plan& plan, const PlanOptions& options);

// The checks of Matcher::run(), and the checks of a map alone.
// \throws Error (argument)
void check_run(const Plan& plan, const ImageFormat& format, const StereoPair& pair, const DisparityMap& map);
void check_run(const Plan& plan, const ImageFormat& format, const StereoPair& pair, const FiniteMap& map);
void check_map(const Plan& plan, Size size, const DisparityMap& map);
void check_map(const Plan& plan, Size size, const FiniteMap& map);

using TimePoint = std::chrono::steady_clock::time_point;

inline double milliseconds_between(TimePoint start, TimePoint end) {
  return std::chrono::duration<double, std::milli>(end - start).count();
}

// Measures the stages of a run, which follow one another.
class StageClock {
 public:
  explicit StageClock(std::vector<StageTime>& times) : times_(times) { times_.clear(); }

  // Ends the stage that began with the last call, or with the clock. Cancelled work ends here at the latest.
  void finish(const char* stage) {
    stop_if_cancelled();
    const auto now = std::chrono::steady_clock::now();
    times_.push_back({stage, milliseconds_between(start_, now)});
    start_ = now;
  }
  // Begins a stage now; the time since the last call was measured by other means.
  void restart() { start_ = std::chrono::steady_clock::now(); }

 private:
  std::vector<StageTime>& times_;
  TimePoint start_ = std::chrono::steady_clock::now();
};

}  // namespace parallax::detail
