// SPDX-License-Identifier: Apache-2.0
#include "parallax/matcher.h"

#include "core/checks.h"
#include "core/floating_point.h"
#include "core/plan.h"
#include "execution/tuned_plan.h"

namespace parallax {

Matcher::Matcher(const MatcherParameters& parameters, const Device& device, const ImageFormat& format,
                 const PlanOptions& limits)
    : plan_(detail::allocate_tuned_plan(parameters, device, format, limits)), format_(format) {}

detail::Plan& Matcher::plan() const {
  return detail::plan_of(plan_.get());
}

Matcher::~Matcher() {
  detail::finish(plan_.get());
}

Matcher::Matcher(Matcher&&) noexcept = default;

Matcher& Matcher::operator=(Matcher&& other) noexcept {
  const Matcher before(std::move(*this));
  plan_ = std::move(other.plan_);
  format_ = other.format_;
  return *this;
}

void Matcher::run(const StereoPair& pair, const DisparityMap& map) {
  const DefaultFloatingPoint environment;
  const CancellableCall call(plan().cancellation);
  detail::check_run(plan(), format_, pair, map);
  plan_->run(pair, map);
}

void Matcher::start(const StereoPair& pair, const DisparityMap& map) {
  const DefaultFloatingPoint environment;
  const CancellableCall call(plan().cancellation);
  detail::check_run(plan(), format_, pair, map);
  plan_->start(pair, map);
}

void Matcher::wait(int most_running) {
  check_not_negative("most_running", most_running);
  const CancellableCall call(plan().cancellation);
  plan_->wait(most_running);
}

void Matcher::cancel() noexcept {
  if (plan_ != nullptr) plan_->cancellation.cancel();
}

void Matcher::enqueue(const StereoPair& pair, const DisparityMap& map, void* stream) {
  const DefaultFloatingPoint environment;
  const CancellableCall call(plan().cancellation);
  detail::check_run(plan(), format_, pair, map);
  plan_->enqueue(pair, map, stream);
}

void Matcher::enqueue(const StereoPair& pair, const FiniteMap& map, void* stream) {
  const DefaultFloatingPoint environment;
  const CancellableCall call(plan().cancellation);
  detail::check_run(plan(), format_, pair, map);
  plan_->enqueue_finite(pair, map, stream);
}

std::size_t Matcher::memory_bytes() const {
  return plan().memory_bytes();
}

bool Matcher::has_confidence() const {
  return plan().tells_confidence();
}

bool Matcher::has_row_offsets() const {
  return plan().tells_row_offsets();
}

bool Matcher::has_both_maps() const {
  return plan().tells_right_map();
}

Result Matcher::make_result(bool with_confidence) const {
  const auto make = [&] { return Result(format_.size, with_confidence, has_row_offsets()); };
  Result result = make();
  if (has_both_maps()) result.right = std::make_unique<Result>(make());
  return result;
}

double Matcher::rows_moved() const {
  return plan().rows_moved;
}

void Matcher::forget_rows() {
  plan().forget_rows();
}

const std::vector<StageTime>& Matcher::stage_times() const {
  return plan().stage_times;
}

std::size_t estimate_memory_bytes(const MatcherParameters& parameters, const Device& device,
                                  const ImageFormat& format, const TunedValues& configuration,
                                  bool both_maps) {
  return detail::make_tuned_plan(parameters, device, format, configuration, both_maps)->memory_bytes();
}

Result match(const StereoPair& pair, const MatcherParameters& parameters, const Device& device,
             const PlanOptions& options) {
  Matcher matcher(parameters, device, pair.left.format, options);
  Result result = matcher.make_result();
  matcher.run(pair, result.map());
  return result;
}

Result match(const ImageView& left, const ImageView& right, const MatcherParameters& parameters,
             const Device& device, const PlanOptions& options) {
  return match(StereoPair{left, right}, parameters, device, options);
}

}  // namespace parallax
