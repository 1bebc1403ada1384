// SPDX-License-Identifier: Apache-2.0
#include "parallax/tune.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "parallax/parameters.h"

#include "core/floating_point.h"
#include "core/memory.h"
#include "core/plan.h"
#include "core/workers.h"
#include "matchers/planning.h"
#include "tune/remembered_tuning.h"
#include "tune/search.h"

namespace parallax {
namespace {

using detail::Configuration, detail::Footprint;

template <class T>
bool same_bytes(const Plane<T>& a, const Plane<T>& b) {
  for (int y = 0; y < a.height(); ++y)
    if (std::memcmp(a.row(y), b.row(y), static_cast<std::size_t>(a.width()) * sizeof(T)) != 0) return false;
  return true;
}

struct Map : Result {
  using Result::Result;
  // Fills the map, so that values that a run does not write are found to differ.
  void spoil(int byte) {
    for (int y = 0; y < disparity.height(); ++y) {
      const auto width = static_cast<std::size_t>(disparity.width());
      std::memset(status.row(y), byte, width);
      for (Plane<float>* plane : {&disparity, &confidence, &row_offset})
        if (plane->width() > 0) std::memset(plane->row(y), byte, width * sizeof(float));
    }
  }
  bool operator==(const Map& other) const {
    return same_bytes(disparity, other.disparity) && same_bytes(status, other.status) &&
           same_bytes(confidence, other.confidence) && same_bytes(row_offset, other.row_offset);
  }
};

// Memory of plans, on the host and on a GPU.
struct Bytes {
  std::size_t host = 0, gpu = 0;

  Bytes& operator+=(const Bytes& more) {
    host += more.host;
    gpu += more.gpu;
    return *this;
  }
  Bytes& operator-=(const Bytes& less) {
    host -= less.host;
    gpu -= less.gpu;
    return *this;
  }
};

Bytes bytes_of(const detail::Plan& plan) {
  const std::optional<detail::Plan::GpuMemory> gpu = plan.gpu_memory();
  const std::size_t there = gpu ? gpu->needed : 0;
  return {plan.memory_bytes() - there, there};
}

// Plans of one problem.
class Plans final : public tuning::Landscape {
 public:
  Plans(const MatcherParameters& parameters, const Device& device, const StereoPair& pair,
        const detail::TuningSpace& space, const PlanOptions& options)
      : parameters_(parameters),
        device_(device),
        pair_(pair),
        space_(space),
        options_(options),
        result_(size()),
        bare_(size()) {
    const std::unique_ptr<detail::Plan> plan = make_plan(Configuration());
    plan_bytes_ = bytes_of(*plan);
    if (const auto gpu = plan->gpu_memory()) free_on_gpu_ = gpu->free;
    detail::allocate(*plan, options);
    bare_.spoil(0xA5);
    plan->run(pair_, bare_.map());
    if (!plan->tells_confidence()) return;
    full_.emplace(size(), true, plan->tells_row_offsets());
    full_->spoil(0xA5);
    plan->run(pair_, full_->map());
  }

  std::unique_ptr<tuning::Candidate> open(const Configuration& configuration) override {
    std::unique_ptr<detail::Plan> plan = make_plan(configuration);
    const Bytes bytes = bytes_of(*plan);
    if (held_plans_ > 0 && !has_room_for(bytes))
      throw Error(ErrorCategory::memory, "another plan does not fit in memory beside those already made");
    detail::allocate(*plan, options_);
    return std::make_unique<Built>(*this, std::move(plan), bytes);
  }

  Footprint footprint(const Configuration& configuration) override { return space_.footprint(configuration); }

  // One per core, as far as memory allows.
  int prepared_at_once() const override {
    const int cores = Workers(0).threads();
    Bytes all = plan_bytes_;
    int plans = 1;
    for (; plans < cores; ++plans) {
      all += plan_bytes_;
      if (!has_room_for(all)) break;
    }
    return plans;
  }

  // Compiles the kernels, which the library caches on disk.
  void prepare(const std::vector<Configuration>& configurations, double until) override {
    if (device_.kind == DeviceKind::cpu) return;
    const Workers workers(prepared_at_once());
    workers.for_each(static_cast<int>(configurations.size()), [&](int i, int) {
      if (seconds() >= until) return;
      try {
        detail::allocate(*make_plan(configurations[static_cast<std::size_t>(i)]), options_);
      } catch (const std::exception&) {
        // open() reports the failure.
      }
    });
  }

  double seconds() const override {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }

 private:
  class Built final : public tuning::Candidate {
   public:
    Built(Plans& plans, std::unique_ptr<detail::Plan> plan, const Bytes& bytes)
        : plans_(plans), plan_(std::move(plan)), bytes_(bytes) {
      plans_.held_ += bytes_;
      ++plans_.held_plans_;
    }
    ~Built() override {
      plans_.held_ -= bytes_;
      --plans_.held_plans_;
      if (plans_.last_ == this) plans_.last_ = nullptr;
    }

    // Warms up after a run of another plan, unless runs are long, so that caches and clocks are as in a
    // sequence.
    double run() override {
      constexpr double long_run = 10;
      if (plans_.last_ != this && last_milliseconds_ < long_run) run_once();
      plans_.last_ = this;
      return last_milliseconds_ = run_once();
    }

    bool agrees() override {
      return gives(plans_.bare_, 0x5A) && (!plans_.full_ || gives(*plans_.full_, 0x5A));
    }

   private:
    // Returns milliseconds without transfers.
    double run_once() {
      const auto start = std::chrono::steady_clock::now();
      plan_->run(plans_.pair_, plans_.result_.map());
      const double total = detail::milliseconds_between(start, std::chrono::steady_clock::now());
      double stages = 0;
      for (const StageTime& stage : plan_->stage_times)
        if (std::strcmp(stage.stage, "upload") != 0 && std::strcmp(stage.stage, "download") != 0)
          stages += stage.milliseconds;
      return stages > 0 ? stages : total;
    }

    bool gives(const Map& expected, int poison) {
      Map own(expected.disparity.size(), !expected.confidence.view().empty());
      own.spoil(poison);
      plan_->run(plans_.pair_, own.map());
      return own == expected;
    }

    Plans& plans_;
    std::unique_ptr<detail::Plan> plan_;
    Bytes bytes_;
    double last_milliseconds_ = 0;
  };

  std::unique_ptr<detail::Plan> make_plan(const Configuration& configuration) const {
    return detail::make_plan(parameters_, device_, pair_.left.format, configuration);
  }
  Size size() const { return pair_.left.format.size; }
  // Whether the bytes fit beside the plans already held.
  bool has_room_for(Bytes bytes) const {
    bytes += held_;
    if (options_.max_memory_bytes > 0) return bytes.host + bytes.gpu <= options_.max_memory_bytes;
    return bytes.host <= whole_memory() / 2 && bytes.gpu <= free_on_gpu_;
  }

  const MatcherParameters& parameters_;
  const Device& device_;
  const StereoPair& pair_;
  const detail::TuningSpace& space_;
  const PlanOptions& options_;
  Map result_;
  Map bare_;                     // result of the default
  std::optional<Map> full_;      // the same with confidence
  Bytes plan_bytes_;             // memory of the default
  std::size_t free_on_gpu_ = 0;  // before any plan was allocated
  Bytes held_;
  int held_plans_ = 0;
  const Built* last_ = nullptr;  // the last one that ran
};

// Checks the pair like Matcher::run(). Uses no remembered configuration, because that may fail.
void check_pair(const MatcherParameters& parameters, const Device& device, const StereoPair& pair) {
  const ImageFormat& format = pair.left.format;
  const std::unique_ptr<detail::Plan> plan = detail::make_plan(parameters, device, format, Configuration());
  Result result(format.size);
  detail::check_run(*plan, format, pair, result.map());
}

// Returns all candidates in which the given values are fixed.
std::vector<Configuration> candidates_with(const Configuration& given, const detail::TuningSpace& space) {
  std::vector<Configuration> all = tuning::candidates(space);
  std::erase_if(all, [&](const Configuration& candidate) {
    return std::any_of(given.values().begin(), given.values().end(),
                       [&](const auto& value) { return candidate.values().count(value.first) > 0; });
  });
  for (Configuration& candidate : all) candidate.update(given);
  std::erase_if(all, [&](const Configuration& candidate) { return !space.allowed(candidate); });
  return all;
}

TuningTrial report(const tuning::Trial& trial, const detail::TuningSpace& space) {
  TuningTrial result;
  result.values = text_of(trial.configuration, space);
  if (trial.footprint)
    result.footprint = TuningFootprint{trial.footprint->occupancy, trial.footprint->on_chip_bytes};
  result.milliseconds = trial.samples > 0 ? trial.milliseconds : 0;
  result.relative = trial.samples > 0 ? trial.relative : 0;
  result.failure = trial.failure;
  return result;
}

}  // namespace

std::vector<TunableInfo> list_tunables(const MatcherParameters& parameters, const Device& device,
                                       const ImageFormat& format) {
  std::vector<TunableInfo> list;
  for (const detail::Tunable& tunable : detail::tuning_space(parameters, device, format).tunables)
    list.push_back({tunable.name, tunable.help, searched_values(tunable), selectable_values(tunable)});
  return list;
}

TuningResult tune(const MatcherParameters& parameters, const Device& device, const StereoPair& pair,
                  const TuningOptions& options) {
  const DefaultFloatingPoint environment;
  if (!(options.budget_seconds > 0))
    throw Error(
        ErrorCategory::argument,
        "the budget of a search is " + std::to_string(options.budget_seconds) + " seconds: give more than 0");
  check_pair(parameters, device, pair);
  const ImageFormat& format = pair.left.format;
  const detail::TuningSpace space = detail::tuning_space(parameters, device, format);
  const std::string owner = detail::owner_name(parameters, device);
  if (!space.is_searched())
    throw Error(ErrorCategory::device,
                owner + " has nothing to tune with these parameters: match without tuning");
  const Configuration given =
      read_configuration(options.plan.configuration, space, detail::Named::searched, owner);
  const tuning::SearchRequest request{
      candidates_with(given, space),
      detail::remembered_configuration(detail::find_backend(parameters, device), parameters, device, format,
                                       given),
      options.search, options.budget_seconds};
  Plans plans(parameters, device, pair, space, options.plan);
  const tuning::SearchResult found = tuning::search(plans, request, options.progress);

  TuningResult result;
  result.found = detail::tuning_key(parameters, identify(device), format, space);
  result.found.values = text_of(found.trials[found.best].configuration, space);
  result.found.milliseconds = found.milliseconds;
  result.found.default_milliseconds = found.default_milliseconds;
  for (const tuning::Trial& trial : found.trials)
    if (trial.built || !trial.failure.empty()) result.trials.push_back(report(trial, space));
  result.compared = found.compared;
  result.candidates = request.candidates.size();
  result.seconds = found.seconds;
  result.ended_early = found.ended_early;
  return result;
}

}  // namespace parallax
