// SPDX-License-Identifier: Apache-2.0
// Searches for the fastest configuration of a plan. Tests replace the plans by a simulated landscape.
//
// Grauer-Gray & Cavazos 2010, "Optimizing and auto-tuning belief propagation on the GPU", sections 6.1 and 7:
// among configurations of equal occupancy, the one that keeps most values in registers and shared memory is
// assumed to be the fastest, so only one configuration per step of occupancy is run. Tunables that do not
// affect the footprint, such as a strategy, are then tried one by one on the fastest. The exhaustive search
// runs all configurations for which there is time.
//
// No single time is trusted. Samples are taken in rounds, one per contestant, so that whatever slows the
// machine down slows all contestants down; two are compared by the median of their ratios over the rounds. A
// few rounds include all candidates, more rounds the best few, and the last rounds only the best, the one
// known before, and the default, all reopened. Only a winner of these last rounds replaces the default.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "parallax/tune.h"

#include "core/tuning.h"

namespace parallax::tuning {

using detail::Configuration, detail::Footprint, detail::TuningSpace;

// A configuration for which a plan was built.
class Candidate {
 public:
  virtual ~Candidate() = default;
  // Runs once and returns milliseconds. Throws if the run fails.
  virtual double run() = 0;
  // Runs and compares every byte with the default's result.
  virtual bool agrees() = 0;
};

class Landscape {
 public:
  virtual ~Landscape() = default;
  // Throws if it fails; Error (memory) if it does not fit beside the open candidates.
  virtual std::unique_ptr<Candidate> open(const Configuration& configuration) = 0;
  // Computed without opening the candidate. Throws if the plan would refuse the configuration.
  virtual Footprint footprint(const Configuration& configuration) = 0;
  // Prepares several candidates at once that will be opened soon. Starts nothing after `until`.
  virtual void prepare(const std::vector<Configuration>&, double /*until*/) {}
  // The number of candidates that prepare() handles at once.
  virtual int prepared_at_once() const { return 1; }
  // The current time.
  virtual double seconds() const = 0;
};

// Returns all allowed combinations, in which each tunable has one of its values or is left to the plan. The
// first is the default, which leaves all tunables to the plan.
// \throws Error (internal) for more than a million combinations
std::vector<Configuration> candidates(const TuningSpace& space);

struct Trial {
  Configuration configuration;
  bool built = false;
  std::optional<Footprint> footprint;
  int samples = 0;          // in its last comparison
  double milliseconds = 0;  // mean of the middle half of the samples
  double relative = 0;      // median over the rounds of its time divided by the default's
  std::string failure;      // why it was dropped
};

struct SearchResult {
  std::vector<Trial> trials;  // one per candidate, in the same order; the first is the default
  std::size_t best = 0;
  // Whether any candidate was compared with the default, and the default kept working.
  bool compared = false;
  // Times of the best candidate and of the default in the last comparison; equal if the default is best.
  double milliseconds = 0, default_milliseconds = 0;
  double seconds = 0;
  std::string ended_early;  // why the search ended before all candidates were tried; else empty
};

// The input of a search.
struct SearchRequest {
  std::vector<Configuration> candidates;  // the first is the default
  Configuration known;                    // the previously best candidate; always compared
  TuningSearch which = TuningSearch::exhaustive;
  double budget_seconds = 60;
};

// \throws the default's exception if it fails at the start
SearchResult search(Landscape& landscape, const SearchRequest& request,
                    const std::function<void(const std::string&)>& progress);

}  // namespace parallax::tuning
