// SPDX-License-Identifier: Apache-2.0
#include "parallax/rectified_matcher.h"

#include "core/checks.h"
#include "core/floating_point.h"
#include "execution/rectified_plan.h"
#include "execution/tuned_plan.h"

namespace parallax {
namespace detail {
namespace {

std::unique_ptr<Plan> rectified_plan(std::unique_ptr<Plan> matcher, const remap::SharedProblem& problem,
                                     const Device& device) {
  if (matcher->cost_labels() > 0)
    throw Error(ErrorCategory::argument,
                "the data costs of a caller are those of rectified pixels: use a Rectifier and a Matcher");
#ifdef PARALLAX_HAS_CUDA
  if (device.kind == DeviceKind::cuda) return rectified_cuda_plan(std::move(matcher), problem, device);
#endif
#ifdef PARALLAX_HAS_OPENCL
  if (device.kind == DeviceKind::opencl) return rectified_opencl_plan(std::move(matcher), problem, device);
#endif
  return rectified_host_plan(std::move(matcher), problem, device);
}

}  // namespace
}  // namespace detail

RectifiedMatcher::RectifiedMatcher(const MatcherParameters& parameters, const Device& device, const Rig& rig,
                                   const Rectification& rectification, Interpolation interpolation,
                                   BitDepth depth, const PlanOptions& limits)
    : cameras_{rig.left.size, rig.right.size}, depth_(depth), rectification_(rectification) {
  const DefaultFloatingPoint environment;
  const auto problem = std::make_shared<const remap::Problem>(
      remap::make_problem(rig, rectification, interpolation, device, depth));
  plan_ = detail::allocate_tuned_plan(parameters, device, {rectification.size, depth}, limits,
                                      [&](std::unique_ptr<detail::Plan> matcher) {
                                        return detail::rectified_plan(std::move(matcher), problem, device);
                                      });
}

RectifiedMatcher::RectifiedMatcher(const MatcherParameters& parameters, const Device& device, const Rig& rig,
                                   const RectifyParameters& rectify_parameters, BitDepth depth,
                                   const PlanOptions& limits)
    : RectifiedMatcher(parameters, device, rig, rectify(rig, rectify_parameters),
                       rectify_parameters.interpolation, depth, limits) {}

detail::Plan& RectifiedMatcher::plan() const {
  return detail::plan_of(plan_.get());
}

RectifiedMatcher::~RectifiedMatcher() {
  detail::finish(plan_.get());
}

RectifiedMatcher::RectifiedMatcher(RectifiedMatcher&&) noexcept = default;

RectifiedMatcher& RectifiedMatcher::operator=(RectifiedMatcher&& other) noexcept {
  const RectifiedMatcher before(std::move(*this));
  for (int side = 0; side < remap::sides; ++side) cameras_[side] = other.cameras_[side];
  depth_ = other.depth_;
  rectification_ = other.rectification_;
  plan_ = std::move(other.plan_);
  return *this;
}

template <class AnyMap>
void RectifiedMatcher::check(const ImageView& left, const ImageView& right, const AnyMap& map) const {
  remap::check_cameras(left, right, cameras_, depth_);
  detail::check_map(plan(), rectification_.size, map);
}

void RectifiedMatcher::run(const ImageView& left, const ImageView& right, const DisparityMap& map) {
  const DefaultFloatingPoint environment;
  const CancellableCall call(plan().cancellation);
  check(left, right, map);
  plan_->run({left, right}, map);
}

void RectifiedMatcher::start(const ImageView& left, const ImageView& right, const DisparityMap& map) {
  const DefaultFloatingPoint environment;
  const CancellableCall call(plan().cancellation);
  check(left, right, map);
  plan_->start({left, right}, map);
}

void RectifiedMatcher::wait(int most_running) {
  check_not_negative("most_running", most_running);
  const CancellableCall call(plan().cancellation);
  plan_->wait(most_running);
}

void RectifiedMatcher::cancel() noexcept {
  if (plan_ != nullptr) plan_->cancellation.cancel();
}

void RectifiedMatcher::enqueue(const ImageView& left, const ImageView& right, const DisparityMap& map,
                               void* stream) {
  const DefaultFloatingPoint environment;
  const CancellableCall call(plan().cancellation);
  check(left, right, map);
  plan_->enqueue({left, right}, map, stream);
}

void RectifiedMatcher::enqueue(const ImageView& left, const ImageView& right, const FiniteMap& map,
                               void* stream) {
  const DefaultFloatingPoint environment;
  const CancellableCall call(plan().cancellation);
  check(left, right, map);
  plan_->enqueue_finite({left, right}, map, stream);
}

std::size_t RectifiedMatcher::memory_bytes() const {
  return plan().memory_bytes();
}

bool RectifiedMatcher::has_confidence() const {
  return plan().tells_confidence();
}

bool RectifiedMatcher::has_row_offsets() const {
  return plan().tells_row_offsets();
}

bool RectifiedMatcher::has_both_maps() const {
  return plan().tells_right_map();
}

const std::vector<StageTime>& RectifiedMatcher::stage_times() const {
  return plan().stage_times;
}

}  // namespace parallax
