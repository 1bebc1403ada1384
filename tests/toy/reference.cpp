// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <optional>

#include "core/gray.h"
#include "decision/confidence.h"
#include "matchers/host_plan.h"
#include "toy/toy.h"

namespace parallax::toy {
namespace {

class Reference final : public host::Plan {
 public:
  Reference(const ToyParameters& parameters, const ImageFormat& format)
      : host::Plan(parameters.refine, format.size), p_(parameters) {
    check_reachable(p_.min_disparity, p_.disparities, size_.width);
    plan_memory();
  }

 private:
  void reserve(Arena& arena) override {
    left_ = arena.reserve_plane<std::uint16_t>(size_);
    right_ = arena.reserve_plane<std::uint16_t>(size_);
  }

  void match(const StereoPair& pair, const DisparityMap& map, detail::StageClock& clock) override {
    pair_ = pair;
    for (int y = 0; y < size_.height; ++y) {
      gray_row(pair.left, y, left_.row(y));
      gray_row(pair.right, y, right_.row(y));
    }
    for (int y = 0; y < size_.height; ++y)
      for (int x = 0; x < size_.width; ++x) {
        decide(x, y, map);
        if (!checks_left_right_) continue;
        const std::optional<int> best = winner(x, y, true);
        right_disparity_.at(x, y) = best ? static_cast<float>(*best) : decision::no_value;
      }
    clock.finish("match");
  }

  static bool valid(const View<const std::uint8_t>& mask, int x, int y) {
    return mask.empty() || mask.at(x, y) != 0;
  }
  bool candidate(int x, int y, int d) const {
    const int right = x - d;
    return x >= 0 && x < size_.width && right >= 0 && right < size_.width && valid(pair_.left_mask, x, y) &&
           valid(pair_.right_mask, right, y);
  }
  int cost(int x, int y, int d) const {
    return std::min(std::abs(left_.at(x, y) - right_.at(x - d, y)), p_.truncation);
  }

  // With `from_right`, (x, y) is a pixel of the right image.
  std::optional<int> winner(int x, int y, bool from_right) const {
    std::optional<int> best;
    int least = 0;
    for (int d = p_.min_disparity; d < p_.min_disparity + p_.disparities; ++d) {
      const int left_x = from_right ? x + d : x;
      if (!candidate(left_x, y, d) || (best && cost(left_x, y, d) >= least)) continue;
      best = d;
      least = cost(left_x, y, d);
    }
    return best;
  }

  void decide(int x, int y, const DisparityMap& map) const {
    const std::optional<int> best = winner(x, y, false);
    const Status status = !valid(pair_.left_mask, x, y) ? Status::input_masked
                          : best                        ? Status::matched
                                                        : Status::out_of_range;
    map.status.at(x, y) = decision::code(status);
    map.disparity.at(x, y) = best ? static_cast<float>(*best) : decision::no_value;
    if (map.confidence.empty()) return;
    std::optional<int> rival;
    for (int d = p_.min_disparity; best && d < p_.min_disparity + p_.disparities; ++d)
      if (std::abs(d - *best) > 1 && candidate(x, y, d))
        rival = std::min(rival.value_or(cost(x, y, d)), cost(x, y, d));
    map.confidence.at(x, y) = best ? decision::confidence(cost(x, y, *best), rival) : 0;
  }

  ToyParameters p_;
  StereoPair pair_;
  View<std::uint16_t> left_, right_;
};

}  // namespace

std::unique_ptr<detail::Plan> make_reference(const ToyParameters& parameters, const Device&,
                                             const ImageFormat& format) {
  return std::make_unique<Reference>(parameters, format);
}

}  // namespace parallax::toy
