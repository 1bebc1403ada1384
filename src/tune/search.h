// SPDX-License-Identifier: Apache-2.0
// Searches for the fastest configuration of a plan, over a landscape that can also be a simulated one.
//
// Grauer-Gray & Cavazos 2010, "Optimizing and auto-tuning belief propagation on the GPU", sections 6.1 and 7:
// of all configurations that let as much run at once, the one that keeps most values in registers and shared
// memory is taken to be the fastest; so only one for each step of occupancy is run. Tunables that do not show
// in it, such as a strategy, are then tried one by one on the fastest. The other search runs whatever it has
// the time for.
//
// No single time is believed. Samples are taken in rounds, one of each contestant a round, so that whatever
// slows the machine down slows all of them down; two are compared by the median of their ratios, round by
// round. It goes on by halves: a few rounds for all, more for the best, and in the end as many of only the
// best, what was known before, and the default, made anew. Only who wins that is better than the default.
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

// A configuration that was built.
class Candidate {
 public:
  virtual ~Candidate() = default;
  // Runs once, and returns milliseconds; throws its failure.
  virtual double run() = 0;
  // Runs, and compares every byte with the default's result.
  virtual bool agrees() = 0;
};

class Landscape {
 public:
  virtual ~Landscape() = default;
  // Throws its failure; Error (memory) where it does not fit beside the open candidates.
  virtual std::unique_ptr<Candidate> open(const Configuration& configuration) = 0;
  // Computed without opening the candidate. Throws its failure.
  virtual Footprint footprint(const Configuration& configuration) = 0;
  // These will be opened soon: does what is quicker done for many at once. Begins nothing after `until`.
  virtual void prepare(const std::vector<Configuration>&, double /*until*/) {}
  // How many prepare() handles at once.
  virtual int prepared_at_once() const { return 1; }
  // The time of a clock.
  virtual double seconds() const = 0;
};

// Every combination that is allowed, of every tunable's values and of leaving it to the plan. The first is
// the default: all is left to the plan.
// \throws Error (internal) for more than a million
std::vector<Configuration> candidates(const TuningSpace& space);

struct Trial {
  Configuration configuration;
  bool built = false;
  std::optional<Footprint> footprint;
  int samples = 0;          // in the last comparison it took part in
  double milliseconds = 0;  // the mean of their middle half
  double relative = 0;      // the median of what it took, round by round, as a part of what the default took
  std::string failure;      // why it was dropped
};

struct SearchResult {
  std::vector<Trial> trials;  // of all candidates, in their order: the first is the default
  std::size_t best = 0;
  // Whether anything was compared with the default, and that did not fail.
  bool compared = false;
  // Of the last comparison, of these two alone; the same where the default is best.
  double milliseconds = 0, default_milliseconds = 0;
  double seconds = 0;
  std::string ended_early;  // why not all was seen
};

// The input of a search.
struct SearchRequest {
  std::vector<Configuration> candidates;  // the first is the default
  Configuration known;                    // of them, what was best before: is compared whatever the budget
  TuningSearch which = TuningSearch::exhaustive;
  double budget_seconds = 60;
};

// \throws the default's failure, at the beginning
SearchResult search(Landscape& landscape, const SearchRequest& request,
                    const std::function<void(const std::string&)>& progress);

}  // namespace parallax::tuning
