// SPDX-License-Identifier: Apache-2.0
// What random cases of both methods of belief propagation have in common.
#pragma once

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "conformance/random_pair.h"
#include "conformance/random_refine.h"
#include "support.h"

namespace parallax::test {

template <class Parameters>
class BeliefCase {
 public:
  StereoPair pair() const {
    StereoPair pair = images_.pair();
    if (parameters_.cost == DataCost::volume)
      pair.costs = CostVolume(volume_.data(), size_, parameters_.disparities);
    return pair;
  }
  const Parameters& parameters() const { return parameters_; }
  bool with_confidence() const { return with_confidence_; }

 protected:
  BeliefCase(unsigned seed, Size largest) : random_(seed) {
    size_ = choose<Size>({{1, 1},   {1, 9},   {11, 1},  {2, 2},   {2, 3},   {3, 3},   {7, 5},
                          {13, 11}, {33, 4},  {31, 17}, {64, 6},  {37, 41}, {65, 9},  {101, 13},
                          {53, 29}, {128, 3}, {6, 90},  {130, 2}, {129, 8}, {259, 4}, largest});
    depth_ = choose({Depth::bits8, Depth::bits8, Depth::bits16});
  }

  // Parameters that are not refused, and images for them.
  template <class ChooseParameters>
  void make(const ChooseParameters& choose_parameters) {
    do choose_parameters();
    while (refused());
    images_ = RandomPair(random_, {size_, depth_}, choose({1, 3}),
                         parameters_.min_disparity + parameters_.disparities / 2);
  }

  int any(int low, int high) { return random_number(random_, low, high); }
  template <class T>
  T choose(std::initializer_list<T> from) {
    return from.begin()[any(0, static_cast<int>(from.size()) - 1)];
  }

  // Large images get few labels, `most` in all, so that the reference keeps up.
  void choose_range(int most) {
    Parameters& p = parameters_;
    p.disparities = any(0, 14) == 0 ? choose({128, 255, 256, 257, 300, 1024}) : any(2, 70);
    p.disparities = std::clamp(most / static_cast<int>(size_.pixels()), 2, p.disparities);
    // At least one label must lead into the image.
    p.min_disparity = any(2 - p.disparities - size_.width, size_.width - 1);
    if (any(0, 2) == 0)
      p.min_disparity = std::clamp(any(-3, 1), 2 - p.disparities - size_.width, size_.width - 1);
    if (p.cost == DataCost::volume && any(0, 3) == 0) p.min_disparity = choose({-1'000'000, 1'000'000});
  }

  void choose_beliefs() {
    parameters_.sub_pixel = choose({SubPixel::none, SubPixel::parabola, SubPixel::v_shape});
    parameters_.min_confidence = choose({0.0f, 0.0f, 0.02f, 0.3f, 1.0f});
    with_confidence_ = any(0, 1) == 0;
  }

  void choose_refinement() {
    RefineParameters& refine = parameters_.refine;
    refine.left_right_check = any(0, 1) == 0;
    refine.left_right_tolerance = static_cast<float>(any(0, 4)) / 2;
    refine.fill = choose({Fill::none, Fill::row});
    refine.median = choose({0, 0, 3, 5});
    refine.speckle_size = choose({0, 0, 5, 30});
    choose_guided(random_, refine);
  }

  // Costs of few values make ties, others are up to `wide` units; now and then some are no numbers.
  void make_volume(std::initializer_list<float> units, float wide) {
    const float unit = choose(units);
    const int values = choose({2, 5, 1000});
    volume_.resize(size_.pixels() * static_cast<std::size_t>(parameters_.disparities));
    for (float& cost : volume_)
      cost = unit * static_cast<float>(any(-values, values)) / (values == 1000 ? 1000 / wide : 1.0f);
    if (any(0, 3) != 0) return;
    constexpr float infinity = std::numeric_limits<float>::infinity();
    const float other = choose({infinity, -infinity, std::numeric_limits<float>::quiet_NaN()});
    for (float& cost : volume_)
      if (any(0, 9) == 0) cost = other;
  }

  template <class Value>
  static std::string number(Value value) {
    return std::to_string(value);
  }
  template <class Choice>
  static std::string choice(Choice value) {
    return std::to_string(static_cast<int>(value));
  }

  // Around what the method's own parameters are.
  std::string description(const std::string& model) const {
    const Parameters& p = parameters_;
    return "size " + number(size_.width) + "x" + number(size_.height) + " depth " + choice(depth_) + " min " +
           number(p.min_disparity) + " labels " + number(p.disparities) + " cost " + choice(p.cost) +
           " weight " + number(p.data_weight) + " truncation " + number(p.data_truncation) + " outside " +
           (p.outside_cost ? number(*p.outside_cost) : "none") + " smoothing " + number(p.smoothing) + model +
           " sub-pixel " + choice(p.sub_pixel) + " confidence " + number(p.min_confidence) + " check " +
           number(p.refine.left_right_check) + " map " + number(with_confidence_) +
           description_of_guided(p.refine);
  }

  std::mt19937 random_;
  Size size_;
  Depth depth_;
  Parameters parameters_;
  bool with_confidence_;
  RandomPair images_;
  std::vector<float> volume_;

 private:
  bool refused() const {
    try {
      parameters_.validate();
    } catch (const Error& error) {
      EXPECT_EQ(error.category(), ErrorCategory::argument) << error.what();
      return true;
    }
    return false;
  }
};

}  // namespace parallax::test
