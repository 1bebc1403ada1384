// SPDX-License-Identifier: Apache-2.0
// Base of the plans on the host: semi-global matching first, then moves, for both maps.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "core/mirrored_pair.h"
#include "decision/decision.h"
#include "matchers/host_plan.h"
#include "matchers/planes/features.h"
#include "matchers/planes/planes.h"

namespace parallax::planes {

class Expansion : public host::Plan {
 public:
  std::size_t memory_bytes() const final { return host::Plan::memory_bytes() + start_->memory_bytes(); }
  void allocate() final {
    start_->allocate();
    host::Plan::allocate();
  }

  // E of the planes that the last moves left, for tests; in 1024ths.
  std::int64_t energy() const;

 protected:
  // With the workers of a plan on the CPU; a reference has none.
  template <class... Workers>
  Expansion(const PlanesParameters& parameters, const Device& device, const ImageFormat& format,
            Workers&&... workers)
      : host::Plan(parameters.refine, format.size, 0, std::forward<Workers>(workers)...),
        model_(make_model(parameters)),
        start_(plan_start(parameters, device, format)),
        mirrored_(format) {
    judge_afterwards(parameters.min_confidence);
  }

  // Reserves the memory of a plan that is derived from this one.
  virtual void reserve_more(Arena& arena) = 0;
  virtual void prepare(const StereoPair& pair) = 0;
  // Data costs of the first planes, and all moves.
  virtual void expand(const StereoPair& pair) = 0;

  const Model model_;
  Features features_;
  PlaneMap planes_;

 private:
  template <class T>
  View<T> reserve_guarded(Arena& arena) const {
    const auto plane = arena.reserve_plane<T>({size_.width + 2 * PlaneMap::guard, size_.height});
    // Null before the arena is allocated.
    return {plane.data == nullptr ? nullptr : plane.data + PlaneMap::guard, size_, plane.stride_bytes};
  }

  void reserve(Arena& arena) final {
    const Size quarters{4 * size_.width, size_.height};
    features_ = {arena.reserve_plane<std::uint64_t>(size_),    arena.reserve_plane<std::uint64_t>(size_),
                 reserve_guarded<std::uint16_t>(arena),        reserve_guarded<std::uint16_t>(arena),
                 arena.reserve_plane<std::uint64_t>(quarters), arena.reserve_plane<std::uint16_t>(quarters),
                 reserve_guarded<std::uint16_t>(arena),        reserve_guarded<std::uint16_t>(arena)};
    planes_ = {reserve_guarded<std::int32_t>(arena), reserve_guarded<std::int16_t>(arena),
               reserve_guarded<std::int16_t>(arena), reserve_guarded<std::int16_t>(arena)};
    if (checks_left_right_) {
      right_status_ = arena.reserve_plane<std::uint8_t>(size_);
      mirrored_.reserve(arena);
    }
    reserve_more(arena);
  }

  void match(const StereoPair& pair, const DisparityMap& map, detail::StageClock& clock) final {
    match_one(pair, map.disparity, map.status, clock, {"start", "prepare", "moves"});
    if (!checks_left_right_) return;
    match_one(mirrored_.make(pair, workers_), right_disparity_, right_status_, clock,
              {"right_start", "right_prepare", "right_moves"});
    for_rows(workers_, size_.height, [&](int y, int) {
      std::reverse(right_disparity_.row(y), right_disparity_.row(y) + size_.width);
    });
  }

  struct Stages {
    const char *start, *prepare, *moves;
  };
  void match_one(const StereoPair& pair, View<float> disparity, View<std::uint8_t> status,
                 detail::StageClock& clock, const Stages& stages) {
    start_->run(pair, {disparity, status, {}, {}});
    clock.finish(stages.start);
    prepare(pair);
    for_rows(workers_, size_.height, [&](int y, int) {
      start_row(disparity.row(y), y);
      write_status(pair, y, status.row(y));
    });
    clock.finish(stages.prepare);
    expand(pair);
    for_rows(workers_, size_.height, [&](int y, int) { write_row(status.row(y), y, disparity.row(y)); });
    clock.finish(stages.moves);
  }

  // Pixels without a disparity take that of the pixel before.
  void start_row(const float* disparity, int y) const {
    float nearest = static_cast<float>(model_.parameters.min_disparity);
    for (int x = 0; x < size_.width; ++x) {
      if (decision::has_value(disparity[x])) nearest = disparity[x];
      const auto units = static_cast<std::int32_t>(std::floor(nearest * per_pixel + 0.5f));
      planes_.set(x, y, {std::clamp(units, model_.lowest, model_.highest), 0, 0}, 0);
    }
  }

  void write_status(const StereoPair& pair, int y, std::uint8_t* status) const {
    write_reachable(model_.parameters, pair.right_mask.empty() ? nullptr : pair.right_mask.row(y),
                    size_.width, status);
    for (int x = 0; x < size_.width; ++x) {
      const bool masked = !pair.left_mask.empty() && pair.left_mask.at(x, y) == 0;
      status[x] = decision::code(masked           ? Status::input_masked
                                 : status[x] == 0 ? Status::out_of_range
                                                  : Status::matched);
    }
  }

  void write_row(const std::uint8_t* status, int y, float* disparity) const {
    for (int x = 0; x < size_.width; ++x) {
      const int units = std::clamp(planes_.disparity.at(x, y), model_.lowest, model_.highest);
      disparity[x] = status[x] == decision::code(Status::matched) ? static_cast<float>(units) / per_pixel
                                                                  : decision::no_value;
    }
  }

  std::unique_ptr<detail::Plan> start_;
  MirroredPair mirrored_;
  View<std::uint8_t> right_status_;
};

inline std::int64_t Expansion::energy() const {
  const auto jump = [&](int x, int y, int i, int j, int weight) {
    const Plane p = planes_.at(x, y), q = planes_.at(i, j);
    return jump_cost(model_,
                     std::abs(p.disparity - q.at(x - i, y - j)) + std::abs(p.at(i - x, j - y) - q.disparity),
                     weight);
  };
  std::int64_t energy = 0;
  for (int y = 0; y < size_.height; ++y)
    for (int x = 0; x < size_.width; ++x) {
      energy += planes_.data.at(x, y);
      if (x > 0) energy += jump(x - 1, y, x, y, features_.edge_before.at(x, y));
      if (y > 0) energy += jump(x, y - 1, x, y, features_.edge_above.at(x, y));
    }
  return energy;
}

}  // namespace parallax::planes
