// SPDX-License-Identifier: Apache-2.0
// A device's most recently used plans for pairs of many formats, within a limit of memory.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "core/plan.h"

namespace parallax::detail {

// Parameters, and their JSON text, by which they are compared.
struct Settings {
  explicit Settings(const MatcherParameters& given) : parameters(given), text(to_json(given)) {}
  MatcherParameters parameters;
  std::string text;
};
using SharedSettings = std::shared_ptr<const Settings>;

// The key of a plan.
struct Problem {
  SharedSettings settings;
  ImageFormat format;
  bool both_maps = false;
  bool operator==(const Problem& other) const {
    return format == other.format && both_maps == other.both_maps &&
           (settings == other.settings || settings->text == other.settings->text);
  }
};

class KeptPlans {
 public:
  // `limits` apply to all plans together; pairs_in_flight is 1. Each problem tells whether it has both maps.
  KeptPlans(const Device& device, const PlanOptions& limits) : device_(device), limits_(limits) {}

  struct Kept {
    Problem problem;
    std::unique_ptr<Plan> plan;
  };
  // A plan that nobody else uses: one that is kept, or a new one for `threads` threads, for which the plans
  // that were not used for longest make room. Null where it would fit if fewer plans were in use.
  // \throws Error as the constructor of Matcher does
  std::unique_ptr<Kept> take(const Problem& problem, int threads, bool sleeps);
  // Takes back a plan from take(). A plan that failed is not kept.
  void give_back(std::unique_ptr<Kept> kept);
  void drop(std::unique_ptr<Kept> kept);
  // Drops all plans that are not in use.
  void clear();

 private:
  using List = std::list<std::unique_ptr<Kept>>;
  enum class Room { made, none_yet, none };

  std::unique_ptr<Kept> take_idle(const Problem& problem);
  std::unique_ptr<Kept> make(const Problem& problem, int threads, bool sleeps);
  Room make_room();
  std::size_t held() const;

  Device device_;
  PlanOptions limits_;
  std::mutex making_;  // plans are made one by one, because each must fit in the memory that the others leave
  mutable std::mutex mutex_;
  List idle_;  // most recently used first
  int in_use_ = 0;
  std::size_t held_ = 0;  // bytes, including plans in use
};

}  // namespace parallax::detail
