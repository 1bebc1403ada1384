// SPDX-License-Identifier: Apache-2.0
#include "parallax/matcher.h"

#include "parallax/parameters.h"

#include "core/checks.h"
#include "core/floating_point.h"
#include "core/memory.h"
#include "core/plan.h"
#include "execution/plans_in_flight.h"
#include "matchers/registry.h"
#include "tune/remembered_tuning.h"

namespace parallax {
namespace detail {

namespace {

void check_request(const MatcherParameters& parameters, const Device& device, const ImageFormat& format) {
  check_format(format);
  check_threads(device.threads);
  parameters.validate();
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
    reason = error.what();
  }
  std::unique_ptr<Plan> plan = make(given);
  refuse_remembered(reason);
  return plan;
}

}  // namespace

std::string owner_name(const MatcherParameters& parameters, const Device& device) {
  return "method " + method_name(parameters) + " on device " + device.text();
}

TuningSpace tuning_space(const MatcherParameters& parameters, const Device& device,
                         const ImageFormat& format) {
  const DefaultFloatingPoint environment;
  check_request(parameters, device, format);
  const Backend& backend = find_backend(parameters, device);
  return backend.tuning_space == nullptr ? TuningSpace{} : backend.tuning_space(parameters, device, format);
}

Configuration given_configuration(const MatcherParameters& parameters, const Device& device,
                                  const ImageFormat& format, const TunedValues& values) {
  check_request(parameters, device, format);
  if (values.empty()) return {};
  return read_configuration(values, tuning_space(parameters, device, format), Named::all,
                            owner_name(parameters, device));
}

std::unique_ptr<Plan> make_plan(const MatcherParameters& parameters, const Device& device,
                                const ImageFormat& format, const Configuration& configuration) {
  const DefaultFloatingPoint environment;
  check_request(parameters, device, format);
  return find_backend(parameters, device).make(parameters, device, format, configuration);
}

std::unique_ptr<Plan> make_tuned_plan(const MatcherParameters& parameters, const Device& device,
                                      const ImageFormat& format, const TunedValues& configuration) {
  return make_with_remembered(parameters, device, format, configuration, [&](const Configuration& chosen) {
    return make_plan(parameters, device, format, chosen);
  });
}

std::unique_ptr<Plan> allocate_tuned_plan(const MatcherParameters& parameters, const Device& device,
                                          const ImageFormat& format, const PlanOptions& limits,
                                          const AroundPlan& around) {
  return make_with_remembered(
      parameters, device, format, limits.configuration, [&](const Configuration& chosen) {
        const auto make = [&] {
          std::unique_ptr<Plan> plan = make_plan(parameters, device, format, chosen);
          return around ? around(std::move(plan)) : std::move(plan);
        };
        std::unique_ptr<Plan> plan = plan_in_flight(device, limits.pairs_in_flight, make);
        allocate(*plan, limits);
        return plan;
      });
}

}  // namespace detail

namespace {

void check_memory(const detail::Plan& plan, const PlanOptions& limits) {
  const auto refuse = [](std::size_t needed, std::size_t available, const std::string& remedies,
                         bool is_transient = false) {
    if (needed > available)
      throw Error(ErrorCategory::memory,
                  "the match needs " + bytes_text(needed) + ", and " + bytes_text(available) + remedies,
                  is_transient);
  };
  const std::optional<detail::Plan::GpuMemory> gpu = plan.gpu_memory();
  const std::string of_method = plan.remedy ? plan.remedy() : "";
  const std::string smaller =
      of_method + (gpu ? ", or search fewer disparities, or use a smaller image"
                       : ", or search fewer disparities, use fewer threads or a smaller image");
  if (limits.max_memory_bytes != 0)
    return refuse(plan.memory_bytes(), limits.max_memory_bytes, " are allowed: raise the limit" + smaller);
  // Other processes may use the rest of a GPU's memory.
  if (gpu) refuse(gpu->needed, gpu->free, gpu->are_free + smaller, true);
  refuse(plan.memory_bytes() - (gpu ? gpu->needed : 0), whole_memory(),
         " are available: use a machine with more memory" + smaller);
}

void check_planned(const std::string& which, const ImageView& image, const ImageFormat& format) {
  check_image(which, image);
  if (image.format.size != format.size)
    throw Error(ErrorCategory::argument, which + " is " + text(image.format.size) +
                                             ", the matcher was planned for " + text(format.size) +
                                             ": give images of that size, or plan again");
  if (image.format.depth != format.depth)
    throw Error(ErrorCategory::argument, which + " has " +
                                             std::to_string(static_cast<int>(image.format.depth)) +
                                             " bits per channel, the matcher was planned for " +
                                             std::to_string(static_cast<int>(format.depth)) +
                                             ": give images of that depth, or plan again");
}

void check_costs(const CostVolume& costs, int labels, Size size) {
  if (labels == 0 && costs.data == nullptr) return;
  if (labels == 0)
    throw Error(ErrorCategory::argument,
                "the pair has data costs, and this matcher computes its own: leave them out");
  if (costs.data == nullptr)
    throw Error(ErrorCategory::argument,
                "the pair has no data costs: give the cost volume that this matcher needs");
  if (costs.size != size || costs.labels != labels)
    throw Error(ErrorCategory::argument, "data costs are " + text(costs.size) + " with " +
                                             std::to_string(costs.labels) + " labels: give " + text(size) +
                                             " with " + std::to_string(labels));
}

void check_pair(const detail::Plan& plan, const ImageFormat& format, const StereoPair& pair) {
  check_planned("left image", pair.left, format);
  check_planned("right image", pair.right, format);
  check_mask("left mask", pair.left_mask, format.size);
  check_mask("right mask", pair.right_mask, format.size);
  check_costs(pair.costs, plan.cost_labels(), format.size);
}

void check_confidence(View<float> confidence, bool told, Size size) {
  if (confidence.size == Size{} && confidence.empty()) return;
  if (!told)
    throw Error(ErrorCategory::argument, "this matcher does not report confidence: leave out that map");
  check_view("confidence map", confidence, size);
}

void check_row_offsets(View<float> row_offset, bool told, Size size) {
  if (row_offset.size == Size{} && row_offset.empty()) return;
  if (!told)
    throw Error(ErrorCategory::argument, "this matcher searches no rows: leave out the map of row offsets");
  check_view("map of row offsets", row_offset, size);
}

}  // namespace

namespace detail {

void allocate(Plan& plan, const PlanOptions& limits) {
  check_memory(plan, limits);
  try {
    plan.allocate();
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCategory::memory,
                "the system refused the " + bytes_text(plan.memory_bytes()) +
                    " that the match needs: free some memory or search fewer disparities",
                true);
  }
}

void check_map(const Plan& plan, Size size, const DisparityMap& map) {
  check_view("disparity map", map.disparity, size);
  check_view("status map", map.status, size);
  check_confidence(map.confidence, plan.tells_confidence(), size);
  check_row_offsets(map.row_offset, plan.tells_row_offsets(), size);
}

void check_map(const Plan&, Size size, const FiniteMap& map) {
  if (map.fixed.empty() == map.disparity.empty())
    throw Error(ErrorCategory::argument,
                "the finite map has two views, or none: give one of fixed and disparity");
  if (map.fixed.empty()) return check_view("disparity map", map.disparity, size);
  check_view("disparity map", map.fixed, size);
  check_range("none", map.none, -2048, 2047);
}

void check_run(const Plan& plan, const ImageFormat& format, const StereoPair& pair, const DisparityMap& map) {
  check_pair(plan, format, pair);
  check_map(plan, format.size, map);
}

}  // namespace detail

Matcher::Matcher(const MatcherParameters& parameters, const Device& device, const ImageFormat& format,
                 const PlanOptions& limits)
    : plan_(detail::allocate_tuned_plan(parameters, device, format, limits)), format_(format) {}

detail::Plan& Matcher::plan() const {
  if (plan_ == nullptr)
    throw Error(ErrorCategory::argument, "the matcher was moved from: use the one that it was moved to");
  return *plan_;
}

Matcher::~Matcher() {
  if (plan_ == nullptr) return;
  try {
    plan_->wait(0);
  } catch (const std::exception&) {
    // wait() tells a caller whether a pair failed; a destructor cannot.
  }
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
  detail::check_run(plan(), format_, pair, map);
  plan_->run(pair, map);
}

void Matcher::start(const StereoPair& pair, const DisparityMap& map) {
  const DefaultFloatingPoint environment;
  detail::check_run(plan(), format_, pair, map);
  plan_->start(pair, map);
}

void Matcher::wait(int most_running) {
  check_not_negative("most_running", most_running);
  plan().wait(most_running);
}

void Matcher::enqueue(const StereoPair& pair, const DisparityMap& map, void* stream) {
  const DefaultFloatingPoint environment;
  detail::check_run(plan(), format_, pair, map);
  plan_->enqueue(pair, map, stream);
}

void Matcher::enqueue(const StereoPair& pair, const FiniteMap& map, void* stream) {
  const DefaultFloatingPoint environment;
  check_pair(plan(), format_, pair);
  detail::check_map(plan(), format_.size, map);
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

const std::vector<StageTime>& Matcher::stage_times() const {
  return plan().stage_times;
}

std::size_t estimate_memory_bytes(const MatcherParameters& parameters, const Device& device,
                                  const ImageFormat& format, const TunedValues& configuration) {
  return detail::make_tuned_plan(parameters, device, format, configuration)->memory_bytes();
}

}  // namespace parallax
