// SPDX-License-Identifier: Apache-2.0
#include "execution/kept_plans.h"

#include <algorithm>

#include "execution/tuned_plan.h"

namespace parallax::detail {

std::unique_ptr<KeptPlans::Kept> KeptPlans::take(const Problem& problem, int threads, bool sleeps) {
  if (auto kept = take_idle(problem)) return kept;
  const std::lock_guard making(making_);
  for (;;) {
    try {
      return make(problem, threads, sleeps);
    } catch (const Error& error) {
      if (error.category() != ErrorCategory::memory) throw;
      const Room room = make_room();
      if (room == Room::none) throw;
      if (room == Room::none_yet) return nullptr;
    }
  }
}

void KeptPlans::give_back(std::unique_ptr<Kept> kept) {
  const std::lock_guard lock(mutex_);
  --in_use_;
  idle_.push_front(std::move(kept));
}

void KeptPlans::drop(std::unique_ptr<Kept> kept) {
  const std::size_t bytes = kept->plan->memory_bytes();
  kept.reset();
  const std::lock_guard lock(mutex_);
  --in_use_;
  held_ -= bytes;
}

void KeptPlans::clear() {
  while (make_room() == Room::made) continue;
}

std::unique_ptr<KeptPlans::Kept> KeptPlans::take_idle(const Problem& problem) {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(idle_.begin(), idle_.end(), [&](const auto& kept) { return kept->problem == problem; });
  if (found == idle_.end()) return nullptr;
  std::unique_ptr<Kept> kept = std::move(*found);
  idle_.erase(found);
  ++in_use_;
  return kept;
}

std::unique_ptr<KeptPlans::Kept> KeptPlans::make(const Problem& problem, int threads, bool sleeps) {
  Device device = device_;
  device.threads = threads;
  PlanOptions limits = limits_;
  limits.both_maps = problem.both_maps;
  // 0 would mean no limit; 1 byte is too little for any plan.
  if (limits.max_memory_bytes != 0) limits.max_memory_bytes -= std::min(limits.max_memory_bytes - 1, held());
  const auto around = [&](std::unique_ptr<Plan> plan) {
    if (sleeps) plan->sleep_while_waiting();
    return plan;
  };
  auto kept = std::make_unique<Kept>(Kept{
      problem, allocate_tuned_plan(problem.settings->parameters, device, problem.format, limits, around)});
  {
    const std::lock_guard lock(mutex_);
    ++in_use_;
    held_ += kept->plan->memory_bytes();
  }
  if (limits.max_memory_bytes == 0)
    while (held() > whole_memory() / 2 && make_room() == Room::made) continue;
  return kept;
}

// Drops the least recently used plan.
KeptPlans::Room KeptPlans::make_room() {
  std::unique_ptr<Kept> oldest;
  {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return in_use_ > 0 ? Room::none_yet : Room::none;
    oldest = std::move(idle_.back());
    idle_.pop_back();
    held_ -= oldest->plan->memory_bytes();
  }
  return Room::made;
}

std::size_t KeptPlans::held() const {
  const std::lock_guard lock(mutex_);
  return held_;
}

}  // namespace parallax::detail
