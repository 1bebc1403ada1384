// SPDX-License-Identifier: Apache-2.0
#include "execution/plans_in_flight.h"

#include <vector>

#include "core/checks.h"

namespace parallax::detail {
namespace {

constexpr int max_pairs = 64;

// Plans take turns: the next plan has the oldest pair, and waits for it.
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

  void run(const StereoPair& pair, const DisparityMap& map) override {
    wait(0);
    Plan& plan = *plans_.front();
    plan.run(pair, map);
    stage_times = plan.stage_times;
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

}  // namespace

std::unique_ptr<Plan> plan_in_flight(const Device& device, int pairs,
                                     const std::function<std::unique_ptr<Plan>()>& make) {
  check_range("pairs_in_flight", pairs, 1, max_pairs);
  if (pairs == 1 || device.kind != DeviceKind::cuda) return make();
  std::vector<std::unique_ptr<Plan>> plans;
  for (int i = 0; i < pairs; ++i) plans.push_back(make());
  return std::make_unique<PlansInFlight>(std::move(plans));
}

}  // namespace parallax::detail
