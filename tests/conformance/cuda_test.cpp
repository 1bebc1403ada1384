// SPDX-License-Identifier: Apache-2.0
// The cuda device gives the bytes of the reference, for random images and parameters; from the host's images
// and from the device's own. Needs a GPU, or an emulated one: tests/emulated_gpu.

#include <algorithm>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "conformance/census_stages.h"
#include "conformance/random_case.h"
#include "device_images.h"
#include "devices/cuda/context.h"
#include "support.h"

namespace parallax::test {
namespace {

const Device cuda_device{DeviceKind::cuda};
constexpr unsigned seeds_a_test = 16, most_seeds = 256;

bool is_emulated() {
  return cuda::find_gpus().list.front().name == "Emulated GPU";
}

// How many random cases of each method. Each compiles kernels of its own, and an emulated GPU takes its time.
unsigned seeds() {
  if (const char* wanted = std::getenv("PARALLAX_CUDA_SEEDS"))
    return static_cast<unsigned>(std::atoi(wanted));
  return !is_emulated() ? most_seeds : sanitized ? 6 : seeds_a_test;
}

class CudaConformance : public testing::TestWithParam<unsigned> {
 protected:
  void SetUp() override {
    const cuda::Gpus gpus = cuda::find_gpus();
    if (gpus.list.empty()) GTEST_SKIP() << "no GPU: " << gpus.none_because;
  }
};

class CudaTest : public CudaConformance {};

void expect_same(const Result& expected, const Result& actual, const std::string& which) {
  EXPECT_TRUE(same_bytes(expected.status, actual.status)) << "status, " << which;
  EXPECT_TRUE(same_bytes(expected.disparity, actual.disparity)) << "disparity, " << which;
  EXPECT_TRUE(same_bytes(expected.confidence, actual.confidence)) << "confidence, " << which;
}

// Runs twice, so that nothing is left of the run before; then on images of the device's.
void expect_conformance(const MatcherParameters& parameters, const StereoPair& pair, bool with_confidence,
                        const std::string& which) {
  const Result expected = match(parameters, reference, pair, 0x11, with_confidence);
  Matcher matcher(parameters, cuda_device, pair.left.format);
  Result actual(pair.left.format.size, 0xEE, with_confidence);
  matcher.run(pair, actual.map());
  expect_same(expected, actual, which);
  Result again(pair.left.format.size, 0x77, with_confidence);
  matcher.run(pair, again.map());
  expect_same(expected, again, which + ", again");
  expect_same(expected, run_on_device(matcher, pair, with_confidence), which + ", on the device's images");
  if (!with_confidence) return;
  Result without(pair.left.format.size, 0x33);
  matcher.run(pair, without.map());
  EXPECT_TRUE(same_bytes(expected.disparity, without.disparity)) << "disparity without confidence, " << which;
  EXPECT_TRUE(same_bytes(expected.status, without.status)) << "status without confidence, " << which;
  Result last(pair.left.format.size, 0x99, true);
  matcher.run(pair, last.map());
  expect_same(expected, last, which + ", with confidence again");
}

// Calls action(seed) for the seeds of a test: several tests, so that they can run side by side.
template <class Action>
void for_each_seed(unsigned test, const Action& action) {
  const unsigned first = test * seeds_a_test;
  if (first >= seeds()) GTEST_SKIP() << "PARALLAX_CUDA_SEEDS is " << seeds();
  for (unsigned seed = first; seed < std::min(first + seeds_a_test, seeds()); ++seed) action(seed);
}

void expect_conformance(const RandomCase& random_case) {
  expect_conformance(random_case.parameters(), random_case.pair(), random_case.with_confidence(),
                     random_case.description());
}

TEST_P(CudaConformance, BeliefPropagationEqualsTheReference) {
  for_each_seed(GetParam(), [](unsigned seed) { expect_conformance(RandomCase("bp", seed)); });
}

TEST_P(CudaConformance, BlockMatchingEqualsTheReference) {
  for_each_seed(GetParam(), [](unsigned seed) { expect_conformance(RandomCase("block", seed)); });
}

// At every stage; then on images of the device's.
void expect_census_conformance(const CensusParameters& parameters, const StereoPair& pair,
                               bool with_confidence, const std::string& which) {
  const ImageFormat format = pair.left.format;
  const auto expected_plan = make_census_plan(parameters, reference, format),
             actual_plan = make_census_plan(parameters, cuda_device, format);
  Result expected(format.size, 0x11, with_confidence), actual(format.size, 0xEE, with_confidence);
  expected_plan->run(pair, expected.map());
  actual_plan->run(pair, actual.map());
  expect_same_stages(dynamic_cast<const census::CensusPlan&>(*expected_plan),
                     dynamic_cast<const census::CensusPlan&>(*actual_plan), which);
  expect_same(expected, actual, which);
  Matcher matcher(parameters, cuda_device, format);
  expect_same(expected, run_on_device(matcher, pair, with_confidence), which + ", on the device's images");
}

TEST_P(CudaConformance, CensusMatchingEqualsTheReference) {
  for_each_seed(GetParam(), [](unsigned seed) {
    const RandomCase random_case("census", seed);
    expect_census_conformance(*random_case.parameters().get_if<CensusParameters>(), random_case.pair(),
                              random_case.with_confidence(), random_case.description());
  });
}

// With fewer iterations than the case has: an emulated GPU takes its time. Most often a thread has all labels
// that it can take, which needs the least of it.
TiledBeliefPropagationParameters for_gpu(const RandomCase& random_case, unsigned seed) {
  TiledBeliefPropagationParameters parameters =
      *random_case.parameters().get_if<TiledBeliefPropagationParameters>();
  constexpr int most_labels_a_thread = 32;
  int threads = 1;
  while (threads * most_labels_a_thread < parameters.disparities) threads *= 2;
  if (seed % 3 == 0) threads = std::min(32, 2 * threads);
  if (seed % 5 == 0) threads = 0;
  parameters.cuda.threads_per_pixel = threads;
  if (parameters.tile > 0) parameters.cuda.scheduler = static_cast<TileScheduler>(seed % 4);
  if (seed % 7 == 0) parameters.cuda.messages = TileMessages::global_memory;
  if (!is_emulated()) return parameters;
  parameters.outer = std::min(parameters.outer, 2);
  parameters.inner = std::min(parameters.inner, 2);
  return parameters;
}

TEST_P(CudaConformance, TiledBeliefPropagationEqualsTheReference) {
  if (is_emulated() && GetParam() > 0 && std::getenv("PARALLAX_CUDA_SEEDS") == nullptr)
    GTEST_SKIP() << "takes an emulated GPU long";
  for_each_seed(GetParam(), [](unsigned seed) {
    const RandomCase random_case("tiled-bp", seed);
    const TiledBeliefPropagationParameters parameters = for_gpu(random_case, seed);
    const std::string which = random_case.description();
    const StereoPair pair = random_case.pair();
    const bool with_confidence = random_case.with_confidence();
    const Result expected = match(parameters, reference, pair, 0x11, with_confidence);
    Matcher matcher(parameters, cuda_device, pair.left.format);
    Result actual(pair.left.format.size, 0xEE, with_confidence);
    matcher.run(pair, actual.map());
    expect_same(expected, actual, which);
    expect_same(expected, run_on_device(matcher, pair, with_confidence), which + ", on the device's images");
  });
}

INSTANTIATE_TEST_SUITE_P(Seeds, CudaConformance, testing::Range(0u, most_seeds / seeds_a_test));

TEST_F(CudaTest, EqualsTheReferenceForEveryWayToDealLabels) {
  const SynthPair pair = synthesize({.size = {71, 5}, .disparities = 30});
  const StereoPair views{pair.left_view(), pair.right_view()};
  // Each arithmetic takes every other of them: all counts, and all ways. An emulated GPU, which takes long to
  // compile for, takes every other pair of those.
  constexpr int counts[] = {2, 5, 16, 21, 33, 64, 100, 256}, ways[] = {2, 4, 16, 32};
  for (std::size_t i = 0; i < std::size(counts); ++i) {
    for (std::size_t j = 0; j < std::size(ways); ++j) {
      if (is_emulated() && (i / 2 + j) % 2 != 0) continue;
      BeliefPropagationParameters parameters = plain_belief_propagation();
      parameters.disparities = counts[i];
      parameters.arithmetic = (i + j) % 2 == 0 ? Arithmetic::fixed8 : Arithmetic::fixed16;
      parameters.cuda.labels_per_thread = ways[j];
      expect_conformance(parameters, views, false,
                         std::to_string(counts[i]) + " labels, " + std::to_string(ways[j]) + " a thread");
    }
  }
}

BlockParameters study(CudaStrategy strategy) {
  BlockParameters parameters = preset<BlockParameters>("sad-full-row");
  parameters.cuda.strategy = strategy;
  return parameters;
}

TEST_F(CudaTest, StrategiesNeverChangeAResult) {
  const SynthPair pair = synthesize({.size = {171, 23}, .disparities = 30});
  const StereoPair views{pair.left_view(), pair.right_view()};
  for (const CudaStrategy strategy :
       {CudaStrategy::automatic, CudaStrategy::global_memory, CudaStrategy::shared_memory,
        CudaStrategy::streams, CudaStrategy::constant_and_shared_memory, CudaStrategy::device_launch}) {
    // These two call what is not emulated.
    const bool needs_real_gpu =
        strategy == CudaStrategy::constant_and_shared_memory || strategy == CudaStrategy::device_launch;
    if (needs_real_gpu && is_emulated()) continue;
    for (const bool full_row : {false, true}) {
      BlockParameters parameters = study(strategy);
      parameters.full_row = full_row;
      parameters.disparities = 30;
      parameters.refine.left_right_check = !full_row;
      expect_conformance(parameters, views, false, "strategy " + std::to_string(static_cast<int>(strategy)));
    }
  }
}

TEST_F(CudaTest, StrategiesRefuseWhatTheyLack) {
  const SynthPair pair = synthesize({.size = {31, 5}, .disparities = 9});
  const ImageFormat format = pair.left_view().format;
  const auto refuses = [&](const BlockParameters& parameters, const ImageFormat& of,
                           const std::string& what) {
    try {
      Matcher(parameters, cuda_device, of);
      ADD_FAILURE() << "takes " << what;
    } catch (const Error& error) {
      EXPECT_EQ(error.category(), ErrorCategory::device) << error.what();
      EXPECT_NE(std::string(error.what()).find("global_memory takes no " + what), std::string::npos)
          << error.what();
    }
  };
  BlockParameters parameters = study(CudaStrategy::global_memory);
  parameters.cost = BlockCost::ssd;
  refuses(parameters, format, "cost but sad");
  parameters = study(CudaStrategy::global_memory);
  parameters.uniqueness = 5;
  refuses(parameters, format, "uniqueness");
  refuses(study(CudaStrategy::global_memory), {format.size, Depth::bits16}, "values of more than 8 bits");

  Matcher matcher(study(CudaStrategy::global_memory), cuda_device, format);
  Result result(format.size);
  EXPECT_THROW(matcher.run({pair.left_view(), pair.right_view(), pair.left_mask.view(), {}}, result.map()),
               Error);
  matcher.run({pair.left_view(), pair.right_view()}, result.map());
}

TEST_F(CudaTest, RowsOfAThreadNeverChangeAResult) {
  const SynthPair pair = synthesize({.size = {71, 31}, .disparities = 30});
  const StereoPair views{pair.left_view(), pair.right_view()};
  for (const int rows : {1, 9, 40, 128}) {
    for (const int window : {1, 5, 9}) {
      BlockParameters parameters;
      parameters.disparities = 30;
      parameters.window = window;
      parameters.cuda.rows_per_thread = rows;
      expect_conformance(parameters, views, false,
                         std::to_string(rows) + " rows, window " + std::to_string(window));
    }
  }
}

TiledBeliefPropagationParameters tiled(TileScheduler scheduler, TileMessages messages, int threads) {
  TiledBeliefPropagationParameters parameters = preset<TiledBeliefPropagationParameters>("memocode-2013");
  parameters.tile = 7;
  parameters.outer = 2;
  parameters.inner = 2;
  parameters.frame = 1;
  parameters.cuda = {scheduler, messages, threads};
  return parameters;
}

constexpr TileScheduler schedulers[] = {TileScheduler::launch_per_diagonal, TileScheduler::grid_barrier,
                                        TileScheduler::tile_flags};

TEST_F(CudaTest, SchedulersOfTilesNeverChangeAResult) {
  const SynthPair pair = synthesize({.size = {40, 17}, .disparities = 12});
  const StereoPair views{pair.left_view(), pair.right_view()};
  for (const TileScheduler scheduler : schedulers)
    for (const TileMessages messages :
         {TileMessages::registers, TileMessages::shared_memory, TileMessages::global_memory})
      expect_conformance(tiled(scheduler, messages, scheduler == TileScheduler::tile_flags ? 4 : 1), views,
                         false,
                         "scheduler " + std::to_string(static_cast<int>(scheduler)) + ", messages " +
                             std::to_string(static_cast<int>(messages)));
}

// Where sums, messages with their marks, and messages by themselves stop fitting in bytes; and the most.
TEST_F(CudaTest, TilesEqualTheReferenceAtTheBoundsOfWidths) {
  constexpr Size size{17, 11};
  constexpr int labels = 9;
  const SynthPair pair = synthesize({.size = size, .disparities = labels});
  std::mt19937 random(7);
  std::vector<float> volume(size.pixels() * labels);
  for (const auto& [truncation, messages] : {std::pair{42, TileMessages::registers},
                                             {43, TileMessages::registers},
                                             {127, TileMessages::shared_memory},
                                             {128, TileMessages::registers},
                                             {256, TileMessages::shared_memory},
                                             {8191, TileMessages::registers}}) {
    for (float& cost : volume) cost = static_cast<float>(random_number(random, 0, 5 * truncation));
    TiledBeliefPropagationParameters parameters = tiled(TileScheduler::tile_flags, messages, 2);
    parameters.disparities = labels;
    parameters.cost = DataCost::volume;
    parameters.discontinuity_cost = truncation;
    parameters.discontinuity_truncation = 1;
    expect_conformance(parameters,
                       {pair.left_view(), pair.right_view(), {}, {}, CostVolume(volume.data(), size, labels)},
                       true, "truncation " + std::to_string(truncation));
  }
}

TEST_F(CudaTest, TilesRefuseWhatTheyLack) {
  const auto refuses = [](const TiledBeliefPropagationParameters& parameters, const std::string& what) {
    try {
      Matcher(parameters, cuda_device, {{400, 300}});
      ADD_FAILURE() << "takes what it should refuse: " << what;
    } catch (const Error& error) {
      EXPECT_EQ(error.category(), ErrorCategory::device) << error.what();
      EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.what();
    }
  };
  const auto of_tile = [](int tile, int labels, TileScheduler scheduler, TileMessages messages, int threads) {
    TiledBeliefPropagationParameters parameters = tiled(scheduler, messages, threads);
    parameters.tile = tile;
    parameters.disparities = labels;
    return parameters;
  };
  const auto launches = TileScheduler::launch_per_diagonal;
  refuses(of_tile(64, 64, launches, TileMessages::shared_memory, 0), "messages in shared_memory would take");
  refuses(of_tile(64, 64, launches, TileMessages::registers, 0), "messages in registers would take");
  refuses(of_tile(64, 16, launches, TileMessages::registers, 1), "messages in registers would take 256");
  refuses(of_tile(0, 16, launches, TileMessages::shared_memory, 0), "shared_memory take no whole image");
  refuses(of_tile(0, 16, TileScheduler::grid_barrier, TileMessages::automatic, 0),
          "grid_barrier takes no whole image");
  refuses(of_tile(0, 16, TileScheduler::tile_flags, TileMessages::automatic, 0), "tile_flags takes no whole");
  refuses(of_tile(16, 64, launches, TileMessages::automatic, 1), "threads_per_pixel 1 leaves 64 labels");
}

// Blocks that wait for each other could wait for ever.
TEST_F(CudaTest, TilesOfManyRunsNeverWaitForEver) {
  const SynthPair pair = synthesize({.size = {40, 17}, .disparities = 12});
  const StereoPair views{pair.left_view(), pair.right_view()};
  const int runs = is_emulated() ? 20 : 10'000;
  for (const TileScheduler scheduler : schedulers) {
    const TiledBeliefPropagationParameters parameters = tiled(scheduler, TileMessages::shared_memory, 1);
    const Result expected = match(parameters, reference, views);
    Matcher matcher(parameters, cuda_device, views.left.format);
    for (int run = 0; run < runs; ++run) {
      Result actual(views.left.format.size, 0xEE);
      matcher.run(views, actual.map());
      ASSERT_TRUE(same_bytes(expected.disparity, actual.disparity)) << "run " << run;
    }
  }
}

// All pixels of a strip have the same best label, so that only those beside it are compared with it.
TEST_F(CudaTest, CensusComparesBothLabelsBesideTheBest) {
  constexpr Size size{71, 23};
  std::mt19937 random(1);
  Plane<std::uint8_t> scene({size.width + 8, size.height}), left(size), right(size);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < scene.width(); ++x)
      scene.at(x, y) = static_cast<std::uint8_t>(random_number(random, 0, 255));
  for (const int shift : {6, 7}) {
    for (int y = 0; y < size.height; ++y) {
      std::copy_n(scene.row(y), size.width, left.row(y));
      std::copy_n(scene.row(y) + shift, size.width, right.row(y));
    }
    for (const int levels : {1, 2}) {
      CensusParameters parameters = plain_census();
      parameters.disparities = 16;
      parameters.window = 3;
      parameters.pyramid_levels = levels;
      parameters.sub_pixel = SubPixel::parabola;
      expect_conformance(parameters, {left.view(), right.view()}, false,
                         std::to_string(shift) + " pixels, " + std::to_string(levels) + " levels");
    }
  }
}

// More levels than a block makes, twice.
TEST_F(CudaTest, CensusOfADeepPyramidEqualsTheReference) {
  const SynthPair pair = synthesize({.size = {601, 5}, .disparities = 30});
  CensusParameters parameters = plain_census();
  parameters.disparities = 30;
  parameters.pyramid_levels = 30;
  expect_census_conformance(parameters, {pair.left_view(), pair.right_view()}, false, "601×5");
}

TEST_F(CudaTest, ChoicesOfFloatsNeverChangeAResult) {
  const SynthPair pair = synthesize({.size = {71, 9}, .disparities = 30});
  const StereoPair views{pair.left_view(), pair.right_view()};
  for (const MessageValues values : {MessageValues::registers, MessageValues::shared_memory,
                                     MessageValues::local_memory, MessageValues::hybrid}) {
    for (const IndexOrder order : {IndexOrder::coalesced, IndexOrder::naive}) {
      for (const bool aligned : {false, true}) {
        BeliefPropagationParameters parameters = plain_belief_propagation();
        parameters.disparities = 20;
        parameters.arithmetic = aligned ? Arithmetic::float32 : Arithmetic::float16;
        parameters.aligned = aligned;
        parameters.cuda.index_order = order;
        parameters.cuda.message_values = values;
        expect_conformance(parameters, views, false,
                           "values " + std::to_string(static_cast<int>(values)) + ", order " +
                               std::to_string(static_cast<int>(order)));
      }
    }
  }
}

}  // namespace
}  // namespace parallax::test
