// Random pairs and parameters of belief propagation.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "conformance/random_pair.h"
#include "conformance/random_refine.h"
#include "support.h"

namespace parallax::test {

class BeliefPropagationCase {
 public:
  explicit BeliefPropagationCase(unsigned seed) : random_(seed) {
    size_ = choose<Size>({{1, 1},   {1, 9},   {11, 1},  {2, 2},   {2, 3},   {3, 3},   {7, 5},
                          {13, 11}, {33, 4},  {31, 17}, {64, 6},  {37, 41}, {65, 9},  {101, 13},
                          {53, 29}, {128, 3}, {6, 90},  {130, 2}, {129, 8}, {259, 4}, {180, 40}});
    depth_ = choose({Depth::bits8, Depth::bits8, Depth::bits16});
    do choose_parameters();
    while (refused());
    images_ = RandomPair(random_, {size_, depth_}, choose({1, 3}),
                         parameters_.min_disparity + parameters_.disparities / 2);
    if (parameters_.cost == DataCost::volume) make_volume();
  }

  StereoPair pair() const {
    StereoPair pair = images_.pair();
    if (parameters_.cost == DataCost::volume)
      pair.costs = CostVolume(volume_.data(), size_, parameters_.disparities);
    return pair;
  }
  const BeliefPropagationParameters& parameters() const { return parameters_; }
  bool with_confidence() const { return with_confidence_; }

  std::string description() const {
    const BeliefPropagationParameters& p = parameters_;
    const auto number = [](auto value) { return std::to_string(value); };
    const auto choice = [](auto value) { return std::to_string(static_cast<int>(value)); };
    return "size " + number(size_.width) + "x" + number(size_.height) + " depth " + choice(depth_) + " min " +
           number(p.min_disparity) + " labels " + number(p.disparities) + " levels " + number(p.levels) +
           " iterations " + number(p.iterations) + " arithmetic " + choice(p.arithmetic) + " cost " +
           choice(p.cost) + " weight " + number(p.data_weight) + " truncation " + number(p.data_truncation) +
           " outside " + (p.outside_cost ? number(*p.outside_cost) : "none") + " smoothing " +
           number(p.smoothing) + " discontinuity " + number(p.discontinuity_truncation) + " contrast " +
           number(p.edge_contrast) + " floor " + number(p.edge_floor) + " sub-pixel " + choice(p.sub_pixel) +
           " confidence " + number(p.min_confidence) + " check " + number(p.refine.left_right_check) +
           " map " + number(with_confidence_) + " aligned " + number(p.aligned) +
           description_of_guided(p.refine);
  }

 private:
  int any(int low, int high) { return random_number(random_, low, high); }
  template <class T>
  T choose(std::initializer_list<T> from) {
    return from.begin()[any(0, static_cast<int>(from.size()) - 1)];
  }

  bool refused() const {
    try {
      parameters_.validate();
    } catch (const Error& error) {
      EXPECT_EQ(error.category(), ErrorCategory::argument) << error.what();
      return true;
    }
    return false;
  }

  void choose_parameters() {
    BeliefPropagationParameters& p = parameters_;
    p.arithmetic = choose({Arithmetic::fixed8, Arithmetic::fixed8, Arithmetic::fixed16, Arithmetic::float32,
                           Arithmetic::float16, Arithmetic::bfloat16});
    p.cost = static_cast<DataCost>(any(0, 4));
    choose_range();
    p.levels = any(1, 8);
    p.iterations = any(0, 19) == 0 ? 40 : any(1, 9);
    p.data_weight = choose({0.002f, 0.01f, 0.04f, 0.1f, 0.37f, 3.0f, 1000.0f});
    p.data_truncation = choose({0.0f, 0.0f, 1.0f, 3.7f, 15.0f, 40.0f, 100.0f, 256.0f});
    p.outside_cost.reset();
    if (any(0, 2) != 0) p.outside_cost = choose({0.0f, 0.3f, 1.6f, 7.0f, 1000.0f});
    p.smoothing = choose({0.0f, 0.0f, 0.6f, 2.5f});
    p.discontinuity_truncation = choose({0.0f, 0.3f, 1.0f, 1.7f, 5.0f, 12.3f, 31.0f, 60.0f, 1000.0f});
    p.edge_contrast = choose({0.0f, 0.0f, 1.5f, 10.0f, 256.0f});
    p.edge_floor = choose({0.0f, 0.05f, 0.2f, 1.0f});
    p.sub_pixel = choose({SubPixel::none, SubPixel::parabola, SubPixel::v_shape});
    p.min_confidence = choose({0.0f, 0.0f, 0.02f, 0.3f, 1.0f});
    with_confidence_ = any(0, 1) == 0;
    p.aligned = any(0, 4) != 0;
    p.refine.left_right_check = any(0, 1) == 0;
    p.refine.left_right_tolerance = static_cast<float>(any(0, 4)) / 2;
    p.refine.fill = choose({Fill::none, Fill::row});
    p.refine.median = choose({0, 0, 3, 5});
    p.refine.speckle_size = choose({0, 0, 5, 30});
    choose_guided(random_, p.refine);
  }

  // Large images get few labels, so that the reference keeps up.
  void choose_range() {
    BeliefPropagationParameters& p = parameters_;
    constexpr int most = 40'000;
    p.disparities = any(0, 14) == 0 ? choose({128, 255, 256, 257, 300, 1024}) : any(2, 70);
    p.disparities = std::clamp(most / static_cast<int>(size_.pixels()), 2, p.disparities);
    // At least one label must lead into the image.
    p.min_disparity = any(2 - p.disparities - size_.width, size_.width - 1);
    if (any(0, 2) == 0)
      p.min_disparity = std::clamp(any(-3, 1), 2 - p.disparities - size_.width, size_.width - 1);
    if (p.cost == DataCost::volume && any(0, 3) == 0) p.min_disparity = choose({-1'000'000, 1'000'000});
  }

  // Costs of few values make ties, others reach and pass what the arithmetic holds: halves hold no more than
  // 65504.
  void make_volume() {
    const bool half = parameters_.arithmetic == Arithmetic::float16;
    const float unit = choose({0.3f, 1.0f, 1.0f, half ? 3.0f : 1000.0f, half ? 5.0f : 1e30f});
    const int values = choose({2, 5, 1000});
    volume_.resize(size_.pixels() * static_cast<std::size_t>(parameters_.disparities));
    for (float& cost : volume_)
      cost = unit * static_cast<float>(any(-values, values)) / (values == 1000 ? 200.0f : 1.0f);
  }

  std::mt19937 random_;
  Size size_;
  Depth depth_;
  BeliefPropagationParameters parameters_;
  bool with_confidence_;
  RandomPair images_;
  std::vector<float> volume_;
};

}  // namespace parallax::test
