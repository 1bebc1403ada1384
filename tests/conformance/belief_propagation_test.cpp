// Belief propagation: the cpu device gives the bytes of the reference, on every vector target and thread
// count, for random images and parameters; in floats too, as lanes do the reference's operations in its
// order.

#include <algorithm>

#include <gtest/gtest.h>

#include "conformance/random_pair.h"
#include "support.h"

namespace parallax::test {
namespace {

constexpr Arithmetic arithmetics[] = {Arithmetic::fixed8, Arithmetic::fixed16, Arithmetic::float32,
                                      Arithmetic::float16, Arithmetic::bfloat16};

class Case {
 public:
  explicit Case(unsigned seed) : random_(seed) {
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
           " map " + number(with_confidence_) + " aligned " + number(p.aligned);
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
    p.sub_pixel = choose({SubPixel::none, SubPixel::parabola});
    p.min_confidence = choose({0.0f, 0.0f, 0.02f, 0.3f, 1.0f});
    with_confidence_ = any(0, 1) == 0;
    p.aligned = any(0, 4) != 0;
    p.refine.left_right_check = any(0, 1) == 0;
    p.refine.left_right_tolerance = static_cast<float>(any(0, 4)) / 2;
    p.refine.fill = choose({Fill::none, Fill::row});
    p.refine.median = choose({0, 0, 3, 5});
    p.refine.speckle_size = choose({0, 0, 5, 30});
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

class BeliefPropagationConformance : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { force_cpu_target(GetParam()); }
  void TearDown() override { force_cpu_target(""); }
};

TEST_P(BeliefPropagationConformance, EqualsTheReferenceOnRandomCases) {
  for (unsigned seed = 0; seed < (sanitized ? 80 : 250); ++seed) {
    const Case random_case(seed);
    const auto run = [&](const Device& device, int poison) {
      return match(random_case.parameters(), device, random_case.pair(), poison,
                   random_case.with_confidence());
    };
    const Result expected = run(reference, 0x11);
    for (const int threads : {1, 2, 7}) {
      const Result actual = run(cpu(threads), 0xEE);
      const auto which = [&] {
        return ", seed " + std::to_string(seed) + ", " + std::to_string(threads) +
               " threads: " + random_case.description();
      };
      ASSERT_TRUE(same_bytes(expected.status, actual.status)) << "status" << which();
      ASSERT_TRUE(same_bytes(expected.disparity, actual.disparity)) << "disparity" << which();
      ASSERT_TRUE(same_bytes(expected.confidence, actual.confidence)) << "confidence" << which();
    }
  }
}

// Ranges that end anywhere in a vector; labels that no byte can count.
TEST_P(BeliefPropagationConformance, EqualsTheReferenceForEveryLabelCount) {
  const SynthPair pair = synthesize({.size = {71, 3}, .disparities = 30});
  const StereoPair views{pair.left_view(), pair.right_view(), {}, {}};
  std::vector<int> counts{127, 128, 129, 255, 256, 257, 1023, 1024};
  for (int labels = 2; labels <= 70; labels += sanitized ? 5 : 1) counts.push_back(labels);
  for (const int labels : counts) {
    BeliefPropagationParameters parameters = plain_belief_propagation();
    parameters.disparities = labels;
    parameters.min_disparity = labels % 2 == 1 ? 0 : labels % 7 - 3;
    parameters.arithmetic = arithmetics[labels % std::size(arithmetics)];
    parameters.cost = static_cast<DataCost>(labels % 4);
    parameters.iterations = 3;
    parameters.levels = 2;
    // A matcher that has run before, so that memory holds messages of another row.
    Matcher matcher(parameters, cpu(1), pair.left_view().format);
    Result actual(pair.size());
    for (int i = 0; i < 2; ++i) matcher.run(views, actual.map());
    ASSERT_TRUE(same_bytes(match(parameters, reference, views), actual)) << labels << " labels";
  }
}

// So many labels that the cache holds no row of them.
TEST_P(BeliefPropagationConformance, EqualsTheReferenceInStripsOfColumns) {
  const SynthPair pair = synthesize({.size = {1501, 6}, .disparities = 200});
  const StereoPair views{pair.left_view(), pair.right_view(), {}, {}};
  BeliefPropagationParameters parameters;
  parameters.disparities = 256;
  parameters.levels = 2;
  parameters.iterations = 4;
  parameters.data_weight = 0.01f;
  parameters.cost = DataCost::absolute_difference;
  parameters.refine = RefineParameters::none();
  for (const Arithmetic arithmetic : {Arithmetic::fixed8, Arithmetic::float32, Arithmetic::bfloat16}) {
    parameters.arithmetic = arithmetic;
    EXPECT_TRUE(same_bytes(match(parameters, reference, views, 0x11, true),
                           match(parameters, cpu(2), views, 0xEE, true)))
        << "arithmetic " << static_cast<int>(arithmetic);
  }
}

TEST_P(BeliefPropagationConformance, KeepsNothingFromTheRunBefore) {
  for (unsigned seed = 1000; seed < (sanitized ? 1020 : 1060); ++seed) {
    const Case random_case(seed);
    const StereoPair pair = random_case.pair();
    const Size size = pair.left.format.size;
    std::vector<float> no_costs(size.pixels() * static_cast<std::size_t>(pair.costs.labels));
    StereoPair other{pair.right, pair.left, pair.right_mask, {}};
    if (pair.costs.labels > 0) other.costs = CostVolume(no_costs.data(), size, pair.costs.labels);
    Matcher matcher(random_case.parameters(), cpu(2), pair.left.format);
    Result first(size, 0x11, true), second(size, 0xEE, true), last(size, 0x77);
    matcher.run(pair, first.map());
    matcher.run(other, second.map());
    matcher.run(pair, second.map());
    ASSERT_TRUE(same_bytes(first, second)) << "seed " << seed << ": " << random_case.description();
    matcher.run(pair, last.map());
    ASSERT_TRUE(same_bytes(first.disparity, last.disparity) && same_bytes(first.status, last.status))
        << "without confidence, seed " << seed << ": " << random_case.description();
  }
}

INSTANTIATE_TEST_SUITE_P(Target, BeliefPropagationConformance, testing::ValuesIn(cpu_targets()),
                         [](const auto& target) { return target.param; });

// So many rows that each thread has a band of its own.
TEST(BeliefPropagationConformanceTest, EqualsTheReferenceOnALargerPair) {
  const SynthPair pair = synthesize({.size = {331, 111}, .disparities = 29});
  const StereoPair views{pair.left_view(), pair.right_view(), {}, {}};
  BeliefPropagationParameters parameters;
  parameters.disparities = 32;
  for (const Arithmetic arithmetic : {Arithmetic::fixed8, Arithmetic::float16}) {
    parameters.arithmetic = arithmetic;
    const Result expected = match(parameters, reference, views, 0x11, true);
    for (const int threads : {1, 2, 7})
      EXPECT_TRUE(same_bytes(expected, match(parameters, cpu(threads), views, 0xEE, true)))
          << "arithmetic " << static_cast<int>(arithmetic) << ", " << threads << " threads";
  }
}

}  // namespace
}  // namespace parallax::test
