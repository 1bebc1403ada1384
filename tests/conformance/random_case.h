// SPDX-License-Identifier: Apache-2.0
// Random pairs and parameters of any method, from what it declares of its parameters.
#pragma once

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "conformance/random_pair.h"
#include "support.h"

namespace parallax::test {

class RandomCase {
 public:
  RandomCase(const std::string& method, unsigned seed);

  StereoPair pair() const;
  const MatcherParameters& parameters() const { return parameters_; }
  bool with_confidence() const { return with_confidence_; }
  // What it takes to know the case again: size, format and all parameters that are not those of the default.
  std::string description() const;

 private:
  int any(int low, int high) { return random_number(random_, low, high); }
  template <class T>
  T choose(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(any(0, static_cast<int>(from.size()) - 1))];
  }
  void choose_parameters();
  void choose_range();
  std::string value_of(const ParameterInfo& parameter);
  bool is_accepted();
  void make_volume();
  bool takes_volume() const;

  std::string method_;
  unsigned seed_;
  std::mt19937 random_;
  ImageFormat format_;
  MatcherParameters parameters_;
  bool with_confidence_ = false;
  RandomPair images_;
  std::vector<float> volume_;
};

}  // namespace parallax::test
