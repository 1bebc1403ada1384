// SPDX-License-Identifier: Apache-2.0
// Inner loops of the coarse match. Lanes are labels.

#include <limits>

#include "check/coarse_match.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "check/coarse_steps.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace parallax::check::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<std::int16_t, labels_at_once>;

void costs_of_labels(std::int16_t along_x, std::int16_t along_y, const std::int16_t* right_x,
                     const std::int16_t* right_y, int labels, std::int16_t* costs) {
  const Tag d;
  const auto x = hn::Set(d, along_x), y = hn::Set(d, along_y), most = hn::Set(d, largest_cost);
  for (int l = 0; l < labels; l += static_cast<int>(hn::Lanes(d))) {
    const auto dx = hn::Abs(hn::Sub(x, hn::LoadU(d, right_x + l)));
    const auto dy = hn::Abs(hn::Sub(y, hn::LoadU(d, right_y + l)));
    hn::StoreU(hn::Min(hn::Add(dx, dy), most), d, costs + l);
  }
}

std::int16_t path_of_labels(const std::int16_t* before, std::int16_t least, const std::int16_t* costs,
                            int labels, std::int16_t* path, std::int16_t* sums) {
  const Tag d;
  const auto jump = hn::Set(d, small_jump), start = hn::Set(d, least),
             farthest = hn::Set(d, static_cast<std::int16_t>(least + large_jump));
  auto lowest = hn::Set(d, std::numeric_limits<std::int16_t>::max());
  for (int l = 0; l < labels; l += static_cast<int>(hn::Lanes(d))) {
    const auto near = hn::Min(hn::LoadU(d, before + l - 1), hn::LoadU(d, before + l + 1));
    const auto same = hn::LoadU(d, before + l);
    const auto from = hn::Min(hn::Min(same, hn::Add(near, jump)), farthest);
    const auto now = hn::Add(hn::LoadU(d, costs + l), hn::Sub(from, start));
    lowest = hn::Min(lowest, now);
    hn::StoreU(now, d, path + l);
    hn::StoreU(hn::Add(hn::LoadU(d, sums + l), now), d, sums + l);
  }
  return hn::GetLane(hn::MinOfLanes(d, lowest));
}

std::int16_t least_label(const std::int16_t* values, int labels) {
  const Tag d;
  auto least = hn::LoadU(d, values);
  const int lanes = static_cast<int>(hn::Lanes(d));
  for (int l = lanes; l < labels; l += lanes) least = hn::Min(least, hn::LoadU(d, values + l));
  return hn::GetLane(hn::MinOfLanes(d, least));
}

void keep_least_labels(const std::int16_t* sums, int labels, std::int16_t* least, std::int16_t* label) {
  const Tag d;
  for (int l = 0; l < labels; l += static_cast<int>(hn::Lanes(d))) {
    const auto sum = hn::LoadU(d, sums + l), old = hn::LoadU(d, least + l);
    const auto is_less = hn::Lt(sum, old);
    hn::StoreU(hn::Min(sum, old), d, least + l);
    const auto now = hn::Iota(d, static_cast<std::int16_t>(l));
    hn::StoreU(hn::IfThenElse(is_less, now, hn::LoadU(d, label + l)), d, label + l);
  }
}

}  // namespace parallax::check::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax::check {

HWY_EXPORT(costs_of_labels);
HWY_EXPORT(path_of_labels);
HWY_EXPORT(least_label);
HWY_EXPORT(keep_least_labels);

void write_costs(std::int16_t along_x, std::int16_t along_y, const std::int16_t* right_x,
                 const std::int16_t* right_y, int labels, std::int16_t* costs) {
  HWY_DYNAMIC_DISPATCH(costs_of_labels)(along_x, along_y, right_x, right_y, labels, costs);
}

std::int16_t extend_path(const std::int16_t* before, std::int16_t least, const std::int16_t* costs,
                         int labels, std::int16_t* path, std::int16_t* sums) {
  return HWY_DYNAMIC_DISPATCH(path_of_labels)(before, least, costs, labels, path, sums);
}

std::int16_t least_of(const std::int16_t* values, int labels) {
  return HWY_DYNAMIC_DISPATCH(least_label)(values, labels);
}

void keep_least(const std::int16_t* sums, int labels, std::int16_t* least, std::int16_t* label) {
  HWY_DYNAMIC_DISPATCH(keep_least_labels)(sums, labels, least, label);
}

}  // namespace parallax::check
#endif
