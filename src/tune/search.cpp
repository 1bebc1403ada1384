// SPDX-License-Identifier: Apache-2.0
#include "tune/search.h"

#include <algorithm>
#include <cstdint>
#include <list>
#include <map>
#include <numeric>
#include <random>

#include "core/integers.h"

namespace parallax::tuning {
namespace {

constexpr std::size_t the_default = 0;
// Contestants in a group of the first comparison, and in the second one, besides the default.
constexpr std::size_t group_size = 4, finalists = 4;
// The ends of phases, as fractions of the budget: running the default alone; building one candidate per step
// of occupancy; beginning new groups; beginning rounds of the finalists.
constexpr double end_of_first_runs = 0.2, end_of_building = 0.6, end_of_groups = 0.7, end_of_finals = 0.9;
// A candidate this much slower than the default in three rounds out of four is dropped: after few rounds if
// runs are long, because disturbances average out in them, after more if they are short.
constexpr double hopeless = 1.15;
int rounds_of_hope(double milliseconds) {
  return milliseconds > 100 ? 3 : 7;
}
// A candidate counts as faster below this ratio, because smaller differences may be noise in the median.
constexpr double faster = 0.99;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// The mean of the middle half.
double trimmed_mean(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto cut = static_cast<std::ptrdiff_t>(values.size() / 4);
  return std::accumulate(values.begin() + cut, values.end() - cut, 0.0) /
         static_cast<double>(values.end() - values.begin() - 2 * cut);
}

// The ratios of own times to other times, round by round.
std::vector<double> ratios(const std::vector<double>& own, const std::vector<double>& others) {
  std::vector<double> result;
  for (std::size_t i = 0; i < std::min(own.size(), others.size()); ++i) result.push_back(own[i] / others[i]);
  return result;
}

bool is_hopeless(const std::vector<double>& own, const std::vector<double>& of_default) {
  std::vector<double> each = ratios(own, of_default);
  std::sort(each.begin(), each.end());
  return each[each.size() / 4] > hopeless;
}

// The number of rounds that fit into `patience` milliseconds.
int rounds_in(double patience, double milliseconds, int least, int most) {
  return static_cast<int>(std::clamp<double>(patience / std::max(milliseconds, 1e-3), least, most));
}

// The number of tunables that differ.
int differences(const Configuration& a, const Configuration& b) {
  int count = 0;
  for (const auto& [name, value] : a.values()) {
    const auto other = b.values().find(name);
    count += other == b.values().end() || other->second != value;
  }
  for (const auto& [name, value] : b.values()) count += a.values().count(name) == 0;
  return count;
}

class Search {
 public:
  Search(Landscape& landscape, const SearchRequest& request,
         const std::function<void(const std::string&)>& progress)
      : landscape_(landscape),
        progress_(progress),
        start_(landscape.seconds()),
        budget_(request.budget_seconds) {
    for (const Configuration& candidate : request.candidates) {
      if (candidate == request.known) known_ = result_.trials.size();
      Trial trial;
      trial.configuration = candidate;
      result_.trials.push_back(std::move(trial));
    }
  }

  SearchResult run(TuningSearch which) {
    // A failure here is passed to the caller, because the search cannot begin.
    keep_open(the_default, landscape_.open(trial(the_default).configuration));
    for (int i = 0; i == 0 || (i < 5 && !past(end_of_first_runs)); ++i)
      times_of_default_.push_back(open_.back().candidate->run());
    if (known_ != the_default) compare_known();
    if (which == TuningSearch::occupancy) {
      compare_groups(best_of_each_occupancy());
      compare_groups(variations_of_fastest());
    } else {
      compare_groups(shuffled());
    }
    decide(compare_finalists());
    open_.clear();
    result_.compared =
        !is_out(the_default) && std::any_of(result_.trials.begin() + 1, result_.trials.end(),
                                            [](const Trial& trial) { return trial.samples > 0; });
    result_.seconds = elapsed();
    return std::move(result_);
  }

 private:
  struct Open {
    std::size_t index;
    std::unique_ptr<Candidate> candidate;
  };

  Trial& trial(std::size_t index) { return result_.trials[index]; }
  bool is_out(std::size_t index) { return !trial(index).failure.empty(); }
  double elapsed() const { return landscape_.seconds() - start_; }
  void end_early() { result_.ended_early = "the budget was used up"; }
  bool past(double part) const { return elapsed() >= part * budget_; }
  void tell(const std::string& what) const {
    if (progress_) progress_(what);
  }

  // All other candidates in random order, so that wherever a budget ends, all regions have been sampled.
  std::vector<std::size_t> shuffled() const {
    std::vector<std::size_t> order(result_.trials.size() - 1);
    std::iota(order.begin(), order.end(), 1);
    std::mt19937 random(1);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
    std::erase(order, known_);
    return order;
  }

  // Open candidates

  void keep_open(std::size_t index, std::unique_ptr<Candidate> candidate) {
    trial(index).built = true;
    open_.push_back({index, std::move(candidate)});
  }

  // Returns an open candidate, after opening it if necessary. If that fails, drops it and returns null.
  Candidate* candidate(std::size_t index) {
    for (const Open& open : open_)
      if (open.index == index) return open.candidate.get();
    if (open_.size() > group_size) open_.pop_front();
    try {
      keep_open(index, open_beside_others(trial(index).configuration));
      if (!verified_[index] && index != the_default && !open_.back().candidate->agrees())
        throw Error(ErrorCategory::internal, "its result differs from that of the default");
      verified_[index] = true;
      return open_.back().candidate.get();
    } catch (const std::exception& error) {
      fail(index, error);
      return nullptr;
    }
  }

  std::unique_ptr<Candidate> open_beside_others(const Configuration& configuration) {
    try {
      return landscape_.open(configuration);
    } catch (const Error& error) {
      if (error.category() != ErrorCategory::memory || open_.empty()) throw;
    }
    open_.clear();
    return landscape_.open(configuration);
  }

  // A failing kernel may make the device unusable, so all open candidates are closed, to be opened again.
  void fail(std::size_t index, const std::exception& error) {
    trial(index).failure = *error.what() == '\0' ? "failed" : error.what();
    trial(index).samples = 0;
    open_.clear();
    if (index == the_default)
      result_.ended_early = "the default worked at first and then failed: " + trial(index).failure;
  }

  // Comparisons

  std::optional<double> sample(std::size_t index) {
    Candidate* const candidate = this->candidate(index);
    if (candidate == nullptr) return std::nullopt;
    try {
      return candidate->run();
    } catch (const std::exception& error) {
      fail(index, error);
      return std::nullopt;
    }
  }

  // The number of rounds: at least `least`, then until the fraction `end` of the budget is used up, the
  // default's runs have taken about `patience` milliseconds, or `most` rounds are done.
  struct Rounds {
    int least, most;
    double patience;
    double end;
    bool drops;  // drops hopeless candidates
  };
  static constexpr Rounds first_rounds{3, 31, 250, end_of_groups, true};

  void compare(const std::vector<std::size_t>& contestants, const Rounds& rounds) {
    std::map<std::size_t, std::vector<double>> samples;
    std::vector<double>& of_default = samples[the_default];
    std::vector<std::size_t> left = contestants;
    for (int round = 0;; ++round) {
      if (round >= rounds.least &&
          (past(rounds.end) ||
           round >= rounds_in(rounds.patience, median(times_of_default_), rounds.least, rounds.most)))
        break;
      const std::optional<double> own = sample(the_default);
      if (!own) return;
      of_default.push_back(*own);
      times_of_default_.push_back(*own);
      for (const std::size_t index : left)
        if (const std::optional<double> time = sample(index)) samples[index].push_back(*time);
      const bool drops = rounds.drops && round + 1 >= rounds_of_hope(median(times_of_default_));
      std::erase_if(left, [&](std::size_t index) {
        return is_out(index) || (drops && is_hopeless(samples[index], of_default));
      });
      if (left.empty() && !contestants.empty()) break;
    }
    for (const auto& [index, times] : samples) summarise(index, times, of_default);
  }

  void summarise(std::size_t index, const std::vector<double>& times, const std::vector<double>& of_default) {
    if (is_out(index) || times.empty()) return;
    Trial& trial = this->trial(index);
    trial.samples = static_cast<int>(times.size());
    trial.milliseconds = trimmed_mean(times);
    trial.relative = median(ratios(times, of_default));
  }

  void compare_groups(const std::vector<std::size_t>& order) {
    const auto part = [&](std::size_t first, std::size_t count) {
      const auto begin = order.begin() + static_cast<std::ptrdiff_t>(first);
      return std::vector(begin, begin + static_cast<std::ptrdiff_t>(std::min(count, order.size() - first)));
    };
    // Groups are full, so that prepared candidates are compared soon.
    const auto at_once = static_cast<std::size_t>(landscape_.prepared_at_once());
    const std::size_t batch = round_up(at_once, group_size);
    for (std::size_t first = 0; first < order.size() && !is_out(the_default); first += group_size) {
      if (past(end_of_groups)) return end_early();
      if (first % batch == 0) prepare(part(first, batch), end_of_groups);
      tell("compared " + std::to_string(first) + " of " + std::to_string(order.size()));
      compare(part(first, group_size), first_rounds);
    }
  }

  void compare_known() {
    compare({known_}, first_rounds);
    // Determines whether the failure made the device unusable.
    if (is_out(known_)) sample(the_default);
  }

  // All compared candidates, fastest first.
  std::vector<std::size_t> fastest() {
    std::vector<std::size_t> indices;
    for (std::size_t i = 1; i < result_.trials.size(); ++i)
      if (trial(i).samples > 0 && trial(i).relative < 1) indices.push_back(i);
    std::stable_sort(indices.begin(), indices.end(),
                     [&](std::size_t a, std::size_t b) { return trial(a).relative < trial(b).relative; });
    return indices;
  }

  // Uses half of the time up to fraction `end` of the budget; the rest is for the comparison.
  void prepare(const std::vector<std::size_t>& indices, double end) {
    tell("preparing " + std::to_string(indices.size()));
    std::vector<Configuration> configurations;
    for (const std::size_t index : indices) configurations.push_back(trial(index).configuration);
    landscape_.prepare(configurations, landscape_.seconds() + std::max(end * budget_ - elapsed(), 0.0) / 2);
  }

  std::vector<std::size_t> compare_finalists() {
    std::vector<std::size_t> best = fastest();
    best.resize(std::min(best.size(), finalists));
    if (best.empty() || is_out(the_default)) return {};
    if (past(end_of_finals)) return best;
    tell("comparing the best " + std::to_string(best.size()));
    compare(best, {5, 41, 1000, end_of_finals, false});
    std::vector<std::size_t> order = fastest();
    std::erase_if(
        order, [&](std::size_t index) { return std::find(best.begin(), best.end(), index) == best.end(); });
    return order;
  }

  // Compares the first candidate that still works, the known one, and the default once more.
  void decide(const std::vector<std::size_t>& order) {
    for (const std::size_t index : order) {
      if (is_out(the_default)) break;
      tell("comparing the best with the default");
      open_.clear();
      verified_[index] = false;
      std::vector<std::size_t> last{index};
      if (known_ != the_default && known_ != index && !is_out(known_)) last.push_back(known_);
      compare(last, {9, 41, 2000, 1, false});
      if (is_out(index)) continue;
      result_.best = best_of(last);
      break;
    }
    if (is_out(the_default)) result_.best = the_default;
    result_.default_milliseconds = trial(the_default).milliseconds;
    result_.milliseconds = trial(result_.best).milliseconds;
    if (result_.default_milliseconds == 0 && !is_out(the_default)) measure_default();
  }

  // The default, unless another one is faster.
  std::size_t best_of(const std::vector<std::size_t>& contestants) {
    std::size_t best = the_default;
    double least = faster;
    for (const std::size_t index : contestants) {
      if (is_out(index) || trial(index).relative >= least) continue;
      best = index;
      least = trial(index).relative;
    }
    return best;
  }

  // Measures the default alone, if nothing was compared with it.
  void measure_default() {
    compare({}, {5, 41, 1000, 1, false});
    result_.milliseconds = result_.default_milliseconds = trial(the_default).milliseconds;
  }

  void count_footprints() {
    for (Trial& trial : result_.trials) {
      try {
        trial.footprint = landscape_.footprint(trial.configuration);
      } catch (const std::exception& error) {
        if (&trial != &result_.trials.front()) trial.failure = error.what();
      }
    }
  }

  // Picks for each step of occupancy the candidate that keeps most values on the chip, and among equals the
  // one that leaves most choices to the plan. If it fails, picks the next one.
  std::vector<std::size_t> best_of_each_occupancy() {
    if (is_out(the_default)) return {};
    count_footprints();
    std::map<int, std::vector<std::size_t>> steps;
    for (std::size_t i = 1; i < result_.trials.size(); ++i)
      if (!is_out(i)) steps[trial(i).footprint->occupancy].push_back(i);
    std::vector<std::size_t> picked, max_of_each;
    for (auto& [occupancy, step] : steps) {
      std::stable_sort(step.begin(), step.end(), [&](std::size_t a, std::size_t b) {
        const auto rank = [&](std::size_t i) {
          return std::pair(-static_cast<double>(trial(i).footprint->on_chip_bytes),
                           trial(i).configuration.values().size());
        };
        return rank(a) < rank(b);
      });
      max_of_each.push_back(step.front());
    }
    prepare(max_of_each, end_of_building);
    for (const auto& [occupancy, step] : steps) {
      if (past(end_of_building)) {
        end_early();
        break;
      }
      const auto works = [&](std::size_t i) { return !past(end_of_building) && candidate(i) != nullptr; };
      const auto first = std::find_if(step.begin(), step.end(), works);
      if (first != step.end()) picked.push_back(*first);
    }
    return picked;
  }

  // Finds the candidates that differ from the fastest so far, which may be the default, in one tunable that
  // does not affect the footprint.
  std::vector<std::size_t> variations_of_fastest() {
    if (is_out(the_default)) return {};
    const std::vector<std::size_t> order = fastest();
    const Trial& best = trial(order.empty() ? the_default : order.front());
    std::vector<std::size_t> found;
    for (std::size_t i = 1; i < result_.trials.size(); ++i) {
      const Trial& other = trial(i);
      if (!is_out(i) && other.samples == 0 && other.footprint == best.footprint &&
          differences(other.configuration, best.configuration) == 1)
        found.push_back(i);
    }
    return found;
  }

  Landscape& landscape_;
  const std::function<void(const std::string&)>& progress_;
  double start_, budget_;
  std::size_t known_ = the_default;
  SearchResult result_;
  std::list<Open> open_;  // oldest first
  std::map<std::size_t, bool> verified_;
  std::vector<double> times_of_default_;  // from all comparisons, because a few samples may be far off
};

}  // namespace

std::vector<Configuration> candidates(const TuningSpace& space) {
  constexpr std::uint64_t most = 1'000'000;
  std::uint64_t count = 1;
  for (const detail::Tunable& tunable : space.tunables)
    if ((count *= tunable.values.size() + 1) > most)
      throw Error(ErrorCategory::internal, "more than a million configurations to try");
  std::vector<Configuration> found;
  for (std::uint64_t number = 0; number < count; ++number) {
    Configuration configuration;
    std::uint64_t rest = number;
    for (const detail::Tunable& tunable : space.tunables) {
      const std::uint64_t choice = rest % (tunable.values.size() + 1);
      rest /= tunable.values.size() + 1;
      if (choice > 0) configuration.set(tunable.name, tunable.values[choice - 1]);
    }
    if (number == 0 || space.allowed(configuration)) found.push_back(std::move(configuration));
  }
  return found;
}

SearchResult search(Landscape& landscape, const SearchRequest& request,
                    const std::function<void(const std::string&)>& progress) {
  return Search(landscape, request, progress).run(request.which);
}

}  // namespace parallax::tuning
