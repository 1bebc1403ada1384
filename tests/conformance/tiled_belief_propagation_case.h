// Random pairs and parameters of tiled belief propagation.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "conformance/random_pair.h"
#include "conformance/random_refine.h"
#include "support.h"

namespace parallax::test {

class TiledBeliefPropagationCase {
 public:
  explicit TiledBeliefPropagationCase(unsigned seed) : random_(seed) {
    size_ = choose<Size>({{1, 1},   {1, 9},   {11, 1},  {2, 2},   {2, 3},   {3, 3},   {7, 5},
                          {13, 11}, {33, 4},  {31, 17}, {64, 6},  {37, 41}, {65, 9},  {101, 13},
                          {53, 29}, {128, 3}, {6, 90},  {130, 2}, {129, 8}, {259, 4}, {100, 70}});
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
  const TiledBeliefPropagationParameters& parameters() const { return parameters_; }
  bool with_confidence() const { return with_confidence_; }

  std::string description() const {
    const TiledBeliefPropagationParameters& p = parameters_;
    const auto number = [](auto value) { return std::to_string(value); };
    const auto choice = [](auto value) { return std::to_string(static_cast<int>(value)); };
    return "size " + number(size_.width) + "x" + number(size_.height) + " depth " + choice(depth_) + " min " +
           number(p.min_disparity) + " labels " + number(p.disparities) + " tile " + number(p.tile) +
           " outer " + number(p.outer) + " inner " + number(p.inner) + " order " + choice(p.sweep_order) +
           " cost " + choice(p.cost) + " weight " + number(p.data_weight) + " truncation " +
           number(p.data_truncation) + " outside " + (p.outside_cost ? number(*p.outside_cost) : "none") +
           " smoothing " + number(p.smoothing) + " frame " + number(p.frame) + " discontinuity " +
           number(p.discontinuity_cost) + " x " + number(p.discontinuity_truncation) + " message width " +
           choice(p.message_width) + " early out " + number(p.early_out) + " sub-pixel " +
           choice(p.sub_pixel) + " confidence " + number(p.min_confidence) + " check " +
           number(p.refine.left_right_check) + " map " + number(with_confidence_) +
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
    TiledBeliefPropagationParameters& p = parameters_;
    p.cost = static_cast<DataCost>(any(0, 5));
    choose_range();
    p.tile = any(0, 2) == 0 ? choose({0, 1, 2, 13, 16, 32, 64, 128, 300}) : any(1, 40);
    p.outer = any(1, 3);
    p.inner = any(0, 9) == 0 ? 25 : any(1, 4);
    p.sweep_order = choose({SweepOrder::right_left_down_up, SweepOrder::right_left_up_down});
    // Bytes hold everything up to 42, and messages up to 255.
    p.discontinuity_cost = choose({1, 1, 2, 3, 6, 7, 14, 16, 21, 42, 43, 85, 255, 256, 1000, 8191});
    p.discontinuity_truncation = choose({1, 1, 2, 2, 3, 5, 6, 7, 20, 42, 43, 255, 1024});
    p.message_width =
        choose({MessageWidth::automatic, MessageWidth::automatic, MessageWidth::bits8, MessageWidth::bits16});
    p.data_weight = choose({0.002f, 0.04f, 0.24f, 1.0f, 1.0f, 3.0f, 40.0f, 1000.0f});
    p.data_truncation = choose({0.0f, 0.0f, 1.0f, 3.7f, 15.0f, 40.0f, 100.0f, 256.0f});
    p.outside_cost.reset();
    if (any(0, 2) != 0) p.outside_cost = choose({0, 1, 10, 100, 255, 256, 8191});
    p.smoothing = choose({0.0f, 0.0f, 0.6f, 2.5f});
    p.frame = any(0, 3) == 0 ? any(0, 9) : 0;
    p.early_out = any(0, 1) == 0;
    p.sub_pixel = choose({SubPixel::none, SubPixel::parabola, SubPixel::v_shape});
    p.min_confidence = choose({0.0f, 0.0f, 0.02f, 0.3f, 1.0f});
    with_confidence_ = any(0, 1) == 0;
    p.refine.left_right_check = any(0, 1) == 0;
    p.refine.left_right_tolerance = static_cast<float>(any(0, 4)) / 2;
    p.refine.fill = choose({Fill::none, Fill::row});
    p.refine.median = choose({0, 0, 3, 5});
    p.refine.speckle_size = choose({0, 0, 5, 30});
    choose_guided(random_, p.refine);
  }

  // Large images get few labels, so that the reference keeps up.
  void choose_range() {
    TiledBeliefPropagationParameters& p = parameters_;
    constexpr int most = 30'000;
    p.disparities = any(0, 14) == 0 ? choose({128, 255, 256, 257, 300, 1024}) : any(2, 70);
    p.disparities = std::clamp(most / static_cast<int>(size_.pixels()), 2, p.disparities);
    // At least one label must lead into the image.
    p.min_disparity = any(2 - p.disparities - size_.width, size_.width - 1);
    if (any(0, 2) == 0)
      p.min_disparity = std::clamp(any(-3, 1), 2 - p.disparities - size_.width, size_.width - 1);
    if (p.cost == DataCost::volume && any(0, 3) == 0) p.min_disparity = choose({-1'000'000, 1'000'000});
  }

  // Costs of few values make ties, others pass all that is kept of them.
  void make_volume() {
    const float unit = choose({0.3f, 1.0f, 1.0f, 1000.0f, 1e30f});
    const int values = choose({2, 5, 1000});
    volume_.resize(size_.pixels() * static_cast<std::size_t>(parameters_.disparities));
    for (float& cost : volume_)
      cost = unit * static_cast<float>(any(-values, values)) / (values == 1000 ? 20.0f : 1.0f);
  }

  std::mt19937 random_;
  Size size_;
  Depth depth_;
  TiledBeliefPropagationParameters parameters_;
  bool with_confidence_;
  RandomPair images_;
  std::vector<float> volume_;
};

}  // namespace parallax::test
