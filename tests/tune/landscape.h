// SPDX-License-Identifier: Apache-2.0
// A tuning landscape with known times, noise, faults and its own clock.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>

#include "tune/search.h"

namespace parallax::test {

class Simulated final : public tuning::Landscape {
 public:
  using Configuration = detail::Configuration;
  using Time = std::function<double(const Configuration&)>;  // milliseconds
  using Near = std::function<detail::Footprint(const Configuration&)>;
  enum class Fault { build, launch, bytes, late, death };

  Simulated(Time time, Near footprint, unsigned seed)
      : time_(std::move(time)), footprint_(std::move(footprint)), random_(seed) {}

  static std::string text_of(Fault fault) {
    switch (fault) {
      case Fault::build:
        return "does not compile";
      case Fault::bytes:
        return "its result differs from that of the default";
      default:
        return "the launch failed";
    }
  }

  std::unique_ptr<tuning::Candidate> open(const Configuration& configuration) override {
    if (open_ >= max_open) throw Error(ErrorCategory::memory, "does not fit");
    if (prepared_.count(configuration.values()) == 0) seconds_ += seconds_to_build;
    if (has(configuration, Fault::build)) throw Error(ErrorCategory::argument, text_of(Fault::build));
    return std::make_unique<Built>(*this, configuration);
  }
  detail::Footprint footprint(const Configuration& configuration) override {
    return footprint_(configuration);
  }
  void prepare(const std::vector<Configuration>& configurations, double until) override {
    if (at_once == 0) return;
    largest_batch_ = std::max(largest_batch_, configurations.size());
    for (const Configuration& configuration : configurations) {
      if (seconds_ >= until) return;
      if (prepared_.insert(configuration.values()).second) seconds_ += seconds_to_build;
    }
  }
  int prepared_at_once() const override { return std::max(at_once, 1); }
  std::size_t largest_batch() const { return largest_batch_; }
  double seconds() const override { return seconds_; }
  int max_seen_open() const { return max_seen_; }

  double noise = 0;                              // standard deviation, as a share of the time
  double long_outliers = 0, short_outliers = 0;  // probabilities; only slow samples are ever too short
  double drift = 0;                              // relative slow-down per second
  double seconds_to_build = 0;
  int at_once = 0;  // number prepared at once; 0 = prepare() does nothing
  int max_open = 100;
  int late_run = 10;  // the run at which a late fault begins
  std::map<std::map<std::string, int, std::less<>>, Fault> faults;

 private:
  class Built final : public tuning::Candidate {
   public:
    Built(Simulated& landscape, Configuration configuration)
        : landscape_(landscape), configuration_(std::move(configuration)) {
      landscape_.max_seen_ = std::max(landscape_.max_seen_, ++landscape_.open_);
    }
    ~Built() override { --landscape_.open_; }
    double run() override { return landscape_.run(configuration_); }
    bool agrees() override {
      landscape_.run(configuration_);
      return !landscape_.has(configuration_, Fault::bytes);
    }

   private:
    Simulated& landscape_;
    Configuration configuration_;
  };

  bool has(const Configuration& configuration, Fault fault) const {
    const auto found = faults.find(configuration.values());
    return found != faults.end() && found->second == fault;
  }

  double run(const Configuration& configuration) {
    if (has(configuration, Fault::death)) dead_ = true;
    if (dead_) throw Error(ErrorCategory::device, "the device is dead");
    const int runs = ++runs_[configuration.values()];
    if (has(configuration, Fault::launch) || (runs >= late_run && has(configuration, Fault::late)))
      throw Error(ErrorCategory::device, text_of(Fault::launch));
    const double truth = time_(configuration);
    double time = truth * (1 + noise * std::normal_distribution<>()(random_)) * (1 + drift * seconds_);
    const double luck = std::uniform_real_distribution<>()(random_);
    if (luck < long_outliers) time *= 5;
    if (luck > 1 - short_outliers && truth > 9) time *= 0.2;
    time = std::max(time, 0.01);
    seconds_ += time / 1000;
    return time;
  }

  Time time_;
  Near footprint_;
  std::mt19937 random_;
  double seconds_ = 0;
  int open_ = 0, max_seen_ = 0;
  bool dead_ = false;
  std::size_t largest_batch_ = 0;
  std::set<std::map<std::string, int, std::less<>>> prepared_;
  std::map<std::map<std::string, int, std::less<>>, int> runs_;
};

}  // namespace parallax::test
