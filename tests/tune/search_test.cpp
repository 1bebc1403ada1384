// SPDX-License-Identifier: Apache-2.0
#include "tune/search.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "tune/landscape.h"

namespace parallax::tuning {
namespace {

using test::Simulated;

detail::TuningSpace space_of(std::vector<detail::Tunable> tunables) {
  detail::TuningSpace space;
  space.tunables = std::move(tunables);
  return space;
}

const detail::TuningSpace space =
    space_of({{"rows", "", {1, 2, 4, 8}}, {"columns", "", {16, 32, 64}}, {"keeps", "", {0, 1}}});

Configuration configuration(int rows, int columns, int keeps) {
  Configuration result;
  result.set("rows", rows);
  result.set("columns", columns);
  result.set("keeps", keeps);
  return result;
}

const Configuration planted = configuration(4, 32, 1);

// Every configuration takes a little more than 10 ms, except the planted one.
double smooth(const Configuration& c) {
  if (c == planted) return 8;
  return 10 + 0.3 * c.value("rows", 2) / 2 + 0.01 * c.value("columns", 16);
}

// Occupancy falls with rows. The planted configuration keeps most of its step in fast memory.
Footprint footprint(const Configuration& c) {
  return {100 / c.value("rows", 1), static_cast<std::size_t>(c.value("keeps", 0) == 1 ? 1000 : 10) +
                                        (c.value("columns", 16) == 32 ? 5u : 0u)};
}

SearchResult find(Simulated& landscape, TuningSearch which, double budget = 1000,
                  const Configuration& known = {}) {
  return search(landscape, {candidates(space), known, which, budget}, nullptr);
}

const Configuration& best(const SearchResult& result) {
  return result.trials[result.best].configuration;
}

constexpr TuningSearch both[] = {TuningSearch::occupancy, TuningSearch::exhaustive};

TEST(Candidates, AreAllCombinationsThatAreAllowed) {
  EXPECT_EQ(candidates(space).size(), 5u * 4 * 3);
  EXPECT_TRUE(candidates(space).front().empty());
  detail::TuningSpace limited = space;
  limited.allowed = [](const Configuration& c) { return c.value("rows", 0) == 4; };
  EXPECT_EQ(candidates(limited).size(), 1u + 4 * 3);
  std::set<std::map<std::string, int, std::less<>>> different;
  for (const Configuration& c : candidates(space)) different.insert(c.values());
  EXPECT_EQ(different.size(), 60u);
  EXPECT_EQ(candidates({}).size(), 1u);
}

TEST(Candidates, TooManyAreRefused) {
  const std::vector<int> values(99);
  EXPECT_THROW(
      candidates(space_of({{"a", "", values}, {"b", "", values}, {"c", "", values}, {"d", "", values}})),
      Error);
}

TEST(Search, FindsThePlantedBestInNoise) {
  for (const TuningSearch which : both)
    for (unsigned seed = 1; seed <= 20; ++seed) {
      Simulated landscape(smooth, footprint, seed);
      landscape.noise = 0.05;
      const SearchResult result = find(landscape, which);
      EXPECT_EQ(best(result), planted) << seed;
      EXPECT_LT(result.milliseconds, result.default_milliseconds);
      EXPECT_EQ(result.ended_early, "");
    }
}

TEST(Search, OutliersDoNotFoolIt) {
  // Some samples are far too long, and some of slow configurations far too short, as when a clock is set.
  for (const TuningSearch which : both)
    for (unsigned seed = 1; seed <= 20; ++seed) {
      Simulated landscape(smooth, footprint, seed);
      landscape.noise = 0.03;
      landscape.long_outliers = 0.1;
      landscape.short_outliers = 0.05;
      EXPECT_EQ(best(find(landscape, which)), planted) << seed;
    }
}

TEST(Search, AMachineThatBecomesSlowerFoolsNobody) {
  for (const TuningSearch which : both) {
    Simulated landscape(smooth, footprint, 1);
    landscape.noise = 0.01;
    landscape.drift = 0.002;  // per second
    EXPECT_EQ(best(find(landscape, which)), planted);
  }
}

TEST(Search, TheDefaultWinsWhenNothingIsBetter) {
  const auto flat = [](const Configuration&) { return 10.0; };
  const auto worse = [](const Configuration& c) { return c.empty() ? 10.0 : 10.2; };
  for (const TuningSearch which : both)
    for (unsigned seed = 1; seed <= 20; ++seed) {
      Simulated equal(flat, footprint, seed);
      EXPECT_TRUE(best(find(equal, which)).empty());
      Simulated slower(worse, footprint, seed);
      slower.noise = 0.03;
      const SearchResult result = find(slower, which);
      EXPECT_TRUE(best(result).empty()) << seed;
      EXPECT_EQ(result.milliseconds, result.default_milliseconds);
      EXPECT_GT(result.milliseconds, 0);
    }
}

TEST(Search, NoiseAloneSeldomBeatsTheDefault) {
  const auto flat = [](const Configuration&) { return 10.0; };
  for (const TuningSearch which : both) {
    int beaten = 0;
    for (unsigned seed = 1; seed <= 40; ++seed) {
      Simulated landscape(flat, footprint, seed);
      landscape.noise = 0.02;
      beaten += best(find(landscape, which)).empty() ? 0 : 1;
    }
    EXPECT_LT(beaten, 8);
  }
}

TEST(Search, WhatIsFoundIsNeverSlowerThanTheDefaultByThreePerCent) {
  for (const TuningSearch which : both)
    for (unsigned seed = 1; seed <= 50; ++seed) {
      std::mt19937 random(seed);
      std::map<std::map<std::string, int, std::less<>>, double> truth;
      const auto time = [&](const Configuration& c) {
        const auto [found, is_new] = truth.try_emplace(c.values(), 0);
        if (is_new) found->second = 9.5 + std::uniform_real_distribution<>(0, 3)(random);
        return found->second;
      };
      Simulated landscape(time, footprint, seed);
      landscape.noise = 0.04;
      EXPECT_LE(time(best(find(landscape, which))), 1.03 * time({})) << seed;
    }
}

TEST(Search, OccupancyRunsOneOfEachStep) {
  Simulated landscape(smooth, footprint, 1);
  const SearchResult result = find(landscape, TuningSearch::occupancy);
  std::set<int> steps;
  for (const Trial& trial : result.trials) {
    EXPECT_EQ(trial.built, trial.samples > 0);
    if (trial.samples == 0 || trial.configuration.empty()) continue;
    EXPECT_TRUE(steps.insert(trial.footprint->occupancy).second);
    EXPECT_EQ(trial.footprint->on_chip_bytes, 1005u);
  }
  EXPECT_EQ(steps, (std::set<int>{100, 50, 25, 12}));
}

// A strategy that changes neither the occupancy nor the use of fast memory.
TEST(Search, OccupancyTriesOnTheFastestWhatDoesNotShow) {
  std::vector<detail::Tunable> tunables = space.tunables;
  tunables.push_back({"strategy", "", {1, 2, 3, 4, 5, 6}});
  const auto time = [](const Configuration& c) {
    return smooth(Configuration({{"rows", c.value("rows", 2)},
                                 {"columns", c.value("columns", 16)},
                                 {"keeps", c.value("keeps", 0)}})) -
           (c.value("strategy", 0) == 5 ? 1 : 0);
  };
  Simulated landscape(time, footprint, 1);
  landscape.noise = 0.02;
  Configuration expected = planted;
  expected.set("strategy", 5);
  EXPECT_EQ(
      best(search(landscape, {candidates(space_of(tunables)), {}, TuningSearch::occupancy, 1000}, nullptr)),
      expected);
}

// This also holds if nothing that changes the footprint is better than the default.
TEST(Search, OccupancyTriesOnTheDefaultWhatDoesNotShow) {
  std::vector<detail::Tunable> tunables = space.tunables;
  tunables.push_back({"strategy", "", {1, 2, 3, 4, 5, 6}});
  const Configuration expected({{"strategy", 5}});
  const auto time = [&](const Configuration& c) { return c == expected ? 8.0 : c.empty() ? 10.0 : 11.0; };
  Simulated landscape(time, footprint, 1);
  EXPECT_EQ(
      best(search(landscape, {candidates(space_of(tunables)), {}, TuningSearch::occupancy, 1000}, nullptr)),
      expected);
}

// If the configuration that keeps most of its step fails, the next one takes its place.
TEST(Search, OccupancyLosesNoStepToAFailure) {
  const Configuration next({{"rows", 4}, {"keeps", 1}});
  const auto time = [&](const Configuration& c) { return c == next ? 9.0 : smooth(c); };
  Simulated landscape(time, footprint, 1);
  landscape.faults[planted.values()] = Simulated::Fault::build;
  EXPECT_EQ(best(find(landscape, TuningSearch::occupancy)), next);
}

// A configuration that fails is dropped, and the next best wins.
TEST(Search, WhatFailsIsOutAndNeverWins) {
  const Configuration second = configuration(1, 16, 1);
  const auto time = [&](const Configuration& c) { return c == second ? 9.0 : smooth(c); };
  const auto keeps_most = [&](const Configuration& c) {
    return c == second ? Footprint{7, 5000} : footprint(c);
  };
  for (const TuningSearch which : both)
    for (const auto fault : {Simulated::Fault::build, Simulated::Fault::launch, Simulated::Fault::bytes}) {
      Simulated landscape(time, keeps_most, 1);
      landscape.noise = 0.01;
      landscape.faults[planted.values()] = fault;
      const SearchResult result = find(landscape, which);
      EXPECT_EQ(best(result), second);
      for (const Trial& trial : result.trials)
        EXPECT_EQ(trial.failure, trial.configuration == planted ? Simulated::text_of(fault) : "");
    }
}

// It may fail among many, among the best, or in the last comparison with the default.
TEST(Search, WhatFailsOnlyLaterIsOutToo) {
  const Configuration second = configuration(1, 16, 1);
  const auto time = [&](const Configuration& c) { return c == second ? 9.0 : smooth(c); };
  const auto keeps_most = [&](const Configuration& c) {
    return c == second ? Footprint{7, 5000} : footprint(c);
  };
  for (const TuningSearch which : both)
    for (const int run : {2, 10, 40, 90}) {
      Simulated landscape(time, keeps_most, 1);
      landscape.noise = 0.01;
      landscape.late_run = run;
      landscape.faults[planted.values()] = Simulated::Fault::late;
      const SearchResult result = find(landscape, which);
      EXPECT_EQ(best(result), second) << run;
      EXPECT_EQ(result.ended_early, "");
    }
}

TEST(Search, ADeviceThatDiesEndsItWithTheDefault) {
  for (const TuningSearch which : both) {
    Simulated landscape(smooth, footprint, 1);
    landscape.faults[planted.values()] = Simulated::Fault::death;
    const SearchResult result = find(landscape, which);
    EXPECT_TRUE(best(result).empty());
    EXPECT_FALSE(result.compared);
    EXPECT_NE(result.ended_early.find("the device is dead"), std::string::npos) << result.ended_early;
  }
}

// Nothing else is tried on that device.
TEST(Search, ADeviceThatDiesOfWhatWasKnownEndsItAtOnce) {
  for (const TuningSearch which : both) {
    Simulated landscape(smooth, footprint, 1);
    landscape.faults[planted.values()] = Simulated::Fault::death;
    const SearchResult result = find(landscape, which, 1000, planted);
    EXPECT_FALSE(result.compared);
    EXPECT_LE(
        std::count_if(result.trials.begin(), result.trials.end(), [](const Trial& t) { return t.built; }), 2);
  }
}

TEST(Search, ADefaultThatFailsIsTheCallersError) {
  for (const auto fault : {Simulated::Fault::build, Simulated::Fault::launch}) {
    Simulated landscape(smooth, footprint, 1);
    landscape.faults[{}] = fault;
    EXPECT_THROW(find(landscape, TuningSearch::exhaustive), Error);
  }
}

TEST(Search, GoesOnWhereOnlyOneFitsIntoMemory) {
  for (const TuningSearch which : both) {
    Simulated landscape(smooth, footprint, 1);
    landscape.max_open = 1;
    EXPECT_EQ(best(find(landscape, which)), planted);
    EXPECT_EQ(landscape.max_seen_open(), 1);
  }
}

TEST(Search, HoldsFewAtOnce) {
  Simulated landscape(smooth, footprint, 1);
  find(landscape, TuningSearch::exhaustive);
  EXPECT_LE(landscape.max_seen_open(), 5);
}

TEST(Search, EndsWithItsBudget) {
  for (const TuningSearch which : both) {
    Simulated all(smooth, footprint, 1);
    const double whole = find(all, which).seconds;
    for (const double part : {0.1, 0.3, 0.6}) {
      Simulated landscape(smooth, footprint, 1);
      landscape.seconds_to_build = 0.2;
      const SearchResult result = find(landscape, which, part * whole);
      // The occupancy search needs little time to try each step.
      EXPECT_TRUE(which == TuningSearch::occupancy || !result.ended_early.empty()) << part;
      // The budget is exceeded at most by a group that had begun, and by the last comparison.
      EXPECT_LT(result.seconds, part * whole + 4 * 0.2 + 3 * 5 * 0.011 + 2 * (0.2 + 9 * 0.011)) << part;
      EXPECT_GT(result.milliseconds, 0);
    }
  }
}

// Configurations are not prepared if there is no time to compare them.
TEST(Search, EndsWithItsBudgetWherePreparingTakesAllOfIt) {
  for (const TuningSearch which : both)
    for (const int at_once : {1, 2, 100}) {
      Simulated landscape(smooth, footprint, 1);
      landscape.seconds_to_build = 1;
      landscape.at_once = at_once;
      const SearchResult result = find(landscape, which, 20);
      EXPECT_TRUE(result.compared);
      EXPECT_LT(result.seconds, 20 + 4) << at_once;
      // If few are prepared at once, a batch is no larger than a group.
      EXPECT_TRUE(at_once == 100 || landscape.largest_batch() == 4) << landscape.largest_batch();
    }
}

// This holds for any budget, and if many seem to be faster.
TEST(Search, WhatWasKnownIsNotLost) {
  for (const TuningSearch which : both)
    for (const double budget : {0.001, 1.0, 1000.0}) {
      Simulated landscape(smooth, footprint, 1);
      landscape.noise = 0.02;
      landscape.seconds_to_build = 0.5;
      const SearchResult result = find(landscape, which, budget, planted);
      EXPECT_EQ(best(result), planted) << budget;
      EXPECT_TRUE(result.compared);
      EXPECT_LT(result.milliseconds, result.default_milliseconds);
    }
}

TEST(Search, WhatWasKnownMeetsTheBestInTheEnd) {
  // Configurations that name "keeps" are faster during the comparison of groups, and slower afterwards.
  const Configuration known({{"rows", 4}});
  std::map<std::map<std::string, int, std::less<>>, int> runs;
  const auto time = [&](const Configuration& c) {
    if (c == known) return 9.0;
    if (c.values().count("keeps") == 0) return c.empty() ? 10.0 : 11.0;
    return ++runs[c.values()] < 75 ? 8.5 : 12.0;
  };
  Simulated landscape(time, footprint, 1);
  const SearchResult result = find(landscape, TuningSearch::exhaustive, 1000, known);
  EXPECT_EQ(best(result), known);
}

TEST(Search, WhatWasKnownAndIsSlowerIsGivenUp) {
  const Configuration slow = configuration(8, 64, 0);
  for (const TuningSearch which : both) {
    Simulated landscape(smooth, footprint, 1);
    const SearchResult result = find(landscape, which, 0.001, slow);
    EXPECT_TRUE(best(result).empty());
    EXPECT_TRUE(result.compared);
  }
}

TEST(Search, SaysThatNothingWasCompared) {
  for (const TuningSearch which : both) {
    Simulated landscape(smooth, footprint, 1);
    landscape.seconds_to_build = 1;
    const SearchResult result = find(landscape, which, 0.5);
    EXPECT_FALSE(result.compared);
    EXPECT_NE(result.ended_early, "");
    Simulated whole(smooth, footprint, 1);
    EXPECT_TRUE(find(whole, which).compared);
  }
}

TEST(Search, WhatWasBuiltIsRunWhereTheBudgetEndsWhileItBuilds) {
  Simulated landscape(smooth, footprint, 1);
  landscape.seconds_to_build = 1;
  const SearchResult result = find(landscape, TuningSearch::occupancy, 5);
  EXPECT_NE(result.ended_early, "");
  EXPECT_GT(std::count_if(result.trials.begin() + 1, result.trials.end(),
                          [](const Trial& trial) { return trial.samples > 0; }),
            0);
}

TEST(Search, ABudgetThatEndsEarlyHasSeenAllRegions) {
  Simulated landscape(smooth, footprint, 1);
  landscape.seconds_to_build = 1;
  const SearchResult result = find(landscape, TuningSearch::exhaustive, 20);
  std::set<int> rows, keeps;
  int measured = 0;
  for (const Trial& trial : result.trials) {
    measured += trial.samples > 0;
    if (trial.samples == 0) continue;
    rows.insert(trial.configuration.value("rows", -1));
    keeps.insert(trial.configuration.value("keeps", -1));
  }
  EXPECT_LT(measured, 40);
  EXPECT_EQ(rows.size(), 5u);
  EXPECT_EQ(keeps.size(), 3u);
}

TEST(Search, OneCandidateIsTheDefault) {
  Simulated landscape(smooth, footprint, 1);
  const SearchResult result = search(landscape, {candidates({}), {}, TuningSearch::occupancy, 10}, nullptr);
  EXPECT_EQ(result.best, 0u);
  EXPECT_GT(result.default_milliseconds, 0);
}

TEST(Search, TellsOfItsProgress) {
  Simulated landscape(smooth, footprint, 1);
  int told = 0;
  search(landscape, {candidates(space), {}, TuningSearch::exhaustive, 1000},
         [&](const std::string&) { ++told; });
  EXPECT_GT(told, 10);
}

}  // namespace
}  // namespace parallax::tuning
