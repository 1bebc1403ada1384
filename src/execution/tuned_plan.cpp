// SPDX-License-Identifier: Apache-2.0
#include "execution/tuned_plan.h"

#include <vector>

#include "core/checks.h"
#include "core/floating_point.h"
#include "execution/right_map_plan.h"
#include "matchers/method.h"
#include "matchers/planning.h"
#include "tune/remembered_tuning.h"

namespace parallax::detail {
namespace {

// A plan that matches several pairs at once: PlanOptions::pairs_in_flight. Plans take turns: the next plan has
// the oldest pair, and waits for it.
class PlansInFlight final : public Plan {
 public:
  explicit PlansInFlight(std::vector<std::unique_ptr<Plan>> plans) : plans_(std::move(plans)) {}

  std::size_t memory_bytes() const override {
    std::size_t bytes = 0;
    for (const auto& plan : plans_) bytes += plan->memory_bytes();
    return bytes;
  }
  std::optional<GpuMemory> gpu_memory() const override {
    std::optional<GpuMemory> memory = plans_.front()->gpu_memory();
    if (memory) memory->needed *= plans_.size();
    return memory;
  }
  void allocate() override {
    for (const auto& plan : plans_) plan->allocate();
  }
  void sleep_while_waiting() override {
    for (const auto& plan : plans_) plan->sleep_while_waiting();
  }
  int cost_labels() const override { return plans_.front()->cost_labels(); }
  bool tells_confidence() const override { return plans_.front()->tells_confidence(); }
  bool tells_row_offsets() const override { return plans_.front()->tells_row_offsets(); }
  bool tells_right_map() const override { return plans_.front()->tells_right_map(); }

  void run(const StereoPair& pair, const DisparityMap& map) override {
    wait(0);
    Plan& plan = *plans_.front();
    plan.run(pair, map);
    stage_times = plan.stage_times;
    rows_moved = plan.rows_moved;
  }
  void start(const StereoPair& pair, const DisparityMap& map) override {
    stage_times.clear();
    next().start(pair, map);
  }
  void wait(int most_running) override {
    for (std::size_t i = 0; i + static_cast<std::size_t>(most_running) < plans_.size(); ++i)
      plans_[(next_ + i) % plans_.size()]->wait(0);
  }
  void enqueue(const StereoPair& pair, const DisparityMap& map, void* stream) override {
    stage_times.clear();
    next().enqueue(pair, map, stream);
  }
  void enqueue_finite(const StereoPair& pair, const FiniteMap& map, void* stream) override {
    stage_times.clear();
    next().enqueue_finite(pair, map, stream);
  }

 private:
  Plan& next() {
    Plan& plan = *plans_[next_];
    next_ = (next_ + 1) % plans_.size();
    return plan;
  }

  std::vector<std::unique_ptr<Plan>> plans_;
  std::size_t next_ = 0;
};

// Makes one plan for each pair that may be matched at once on the device; one where it matches pairs one by
// one, or the host aligns their rows one by one.
// \throws Error (argument) when `pairs` is out of range
template <class Make>
std::unique_ptr<Plan> plan_in_flight(const MatcherParameters& parameters, const Device& device, int pairs,
                                     const Make& make) {
  constexpr int max_pairs = 64;
  check_range("pairs_in_flight", pairs, 1, max_pairs);
  const bool aligns_rows = method_of(parameters).compared_rows(parameters) != ComparedRows::given;
  if (pairs == 1 || device.kind != DeviceKind::cuda || aligns_rows) return make();
  std::vector<std::unique_ptr<Plan>> plans;
  for (int i = 0; i < pairs; ++i) plans.push_back(make());
  return std::make_unique<PlansInFlight>(std::move(plans));
}

std::unique_ptr<Plan> make_plan(const MatcherParameters& parameters, const Device& device,
                                const ImageFormat& format, const Configuration& configuration,
                                bool both_maps) {
  if (both_maps && method_of(parameters).finds_motion())
    throw Error(ErrorCategory::argument,
                "method " + method_name(parameters) +
                    " has no map of the second image: leave it out, or match the images the other way round");
  std::unique_ptr<Plan> plan = detail::make_plan(parameters, device, format, configuration);
  if (!both_maps) return plan;
  return with_right_map(std::move(plan), format, device);
}

// Calls make() with the given and the remembered values, or, if that fails, with the given ones alone.
template <class Make>
std::unique_ptr<Plan> make_with_remembered(const MatcherParameters& parameters, const Device& device,
                                           const ImageFormat& format, const TunedValues& values,
                                           const Make& make) {
  const DefaultFloatingPoint environment;
  const Configuration given = given_configuration(parameters, device, format, values);
  const Configuration configuration =
      remembered_configuration(find_backend(parameters, device), parameters, device, format, given);
  if (configuration == given) return make(given);
  std::string reason;
  try {
    return make(configuration);
  } catch (const Error& error) {
    if (error.category() == ErrorCategory::cancelled) throw;
    reason = error.what();
  }
  std::unique_ptr<Plan> plan = make(given);
  refuse_remembered(reason);
  return plan;
}

}  // namespace

std::unique_ptr<Plan> make_tuned_plan(const MatcherParameters& parameters, const Device& device,
                                      const ImageFormat& format, const TunedValues& configuration,
                                      bool both_maps) {
  return make_with_remembered(parameters, device, format, configuration, [&](const Configuration& chosen) {
    return make_plan(parameters, device, format, chosen, both_maps);
  });
}

std::unique_ptr<Plan> allocate_tuned_plan(const MatcherParameters& parameters, const Device& device,
                                          const ImageFormat& format, const PlanOptions& limits,
                                          const AroundPlan& around) {
  return make_with_remembered(
      parameters, device, format, limits.configuration, [&](const Configuration& chosen) {
        const auto make = [&] {
          std::unique_ptr<Plan> plan = make_plan(parameters, device, format, chosen, limits.both_maps);
          return around ? around(std::move(plan)) : std::move(plan);
        };
        std::unique_ptr<Plan> plan = plan_in_flight(parameters, device, limits.pairs_in_flight, make);
        allocate(*plan, limits);
        return plan;
      });
}

Plan& plan_of(Plan* plan) {
  if (plan == nullptr)
    throw Error(ErrorCategory::argument, "the matcher was moved from: use the one that it was moved to");
  return *plan;
}

void finish(Plan* plan) noexcept {
  if (plan == nullptr) return;
  try {
    plan->wait(0);
  } catch (const std::exception&) {
    // wait() tells a caller whether a pair failed; a destructor cannot.
  }
}

}  // namespace parallax::detail
