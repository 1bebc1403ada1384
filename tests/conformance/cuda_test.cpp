// SPDX-License-Identifier: Apache-2.0
// The cuda device gives the bytes of the reference for random images and parameters, with images of the host
// and of the device. Needs a GPU, or the emulated one of tests/emulated_gpu.

#include <algorithm>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "conformance/both_maps.h"
#include "conformance/census_stages.h"
#include "conformance/random_case.h"
#include "devices/gpu_test.h"
#include "matchers/motion_case.h"
#include "support.h"

namespace parallax::test {
namespace {

constexpr unsigned seeds_a_test = 16, max_seeds = 256;

bool is_emulated() {
  return cuda::find_gpus().list.front().name == "Emulated GPU";
}

// The number of random cases of each method. Each case compiles its own kernels, and an emulated GPU is slow.
unsigned seeds() {
  if (const char* wanted = std::getenv("PARALLAX_CUDA_SEEDS"))
    return static_cast<unsigned>(std::atoi(wanted));
  return !is_emulated() ? max_seeds : sanitized ? 6 : seeds_a_test;
}

class CudaConformance : public GpuTest, public testing::WithParamInterface<unsigned> {};

using CudaTest = GpuTest;

// Runs twice, because the second run must not depend on the first, then on images of the device, and, if
// `turns_confidence_off`, without confidence and with it again.
void expect_conformance(const MatcherParameters& parameters, const StereoPair& pair, bool with_confidence,
                        const std::string& which, const TunedValues& configuration = {},
                        bool turns_confidence_off = !is_emulated()) {
  const Result expected = match(parameters, reference, pair, 0x11, with_confidence);
  Matcher matcher(parameters, gpu(), pair.left.format, {0, configuration});
  const bool with_row_offsets = with_confidence && matcher.has_row_offsets();
  Result actual(pair.left.format.size, 0xEE, with_confidence, with_row_offsets);
  matcher.run(pair, actual.map());
  expect_same(expected, actual, which);
  Result again(pair.left.format.size, 0x77, with_confidence, with_row_offsets);
  matcher.run(pair, again.map());
  expect_same(expected, again, which + ", again");
  expect_same(expected, run_on_device(matcher, pair, with_confidence), which + ", on the device's images");
  if (!with_confidence || !turns_confidence_off) return;
  Result without(pair.left.format.size, 0x33);
  matcher.run(pair, without.map());
  EXPECT_TRUE(same_bytes(expected.disparity, without.disparity)) << "disparity without confidence, " << which;
  EXPECT_TRUE(same_bytes(expected.status, without.status)) << "status without confidence, " << which;
  Result last(pair.left.format.size, 0x99, true, with_row_offsets);
  matcher.run(pair, last.map());
  expect_same(expected, last, which + ", with confidence again");
}

// Calls action(seed) for the seeds of one test. There are several tests so that they can run in parallel.
template <class Action>
void for_each_seed(unsigned test, const Action& action) {
  const unsigned first = test * seeds_a_test;
  if (first >= seeds()) GTEST_SKIP() << "PARALLAX_CUDA_SEEDS is " << seeds();
  for (unsigned seed = first; seed < std::min(first + seeds_a_test, seeds()); ++seed) action(seed);
}

void expect_conformance(const RandomCase& random_case, const TunedValues& configuration = {}) {
  MatcherParameters parameters = random_case.parameters();
  if (auto* bp = parameters.get_if<BeliefPropagationParameters>())
    bp->rows = ComparedRows::given,
    bp->row_tolerance = 0;  // refused for images of the device, and everywhere
  if (auto* sgm = parameters.get_if<SemiGlobalParameters>()) sgm->row_tolerance = 0;
  if (auto* block = parameters.get_if<BlockParameters>()) block->row_tolerance = 0;
  expect_conformance(parameters, random_case.pair(), random_case.with_confidence(), random_case.description(),
                     configuration, true);
}

// Some cases of floats have unaligned rows.
TunedValues alignment(const RandomCase& random_case, unsigned seed) {
  const bool integers = get_parameter(random_case.parameters(), "arithmetic").starts_with("fixed");
  return integers || seed % 5 != 0 ? TunedValues() : TunedValues{{"aligned", "false"}};
}

TEST_P(CudaConformance, BeliefPropagationEqualsTheReference) {
  for_each_seed(GetParam(), [](unsigned seed) {
    const RandomCase random_case("bp", seed);
    expect_conformance(random_case, alignment(random_case, seed));
  });
}

TEST_P(CudaConformance, BeliefPropagationOfCandidatesEqualsTheReference) {
  for_each_seed(GetParam(), [](unsigned seed) {
    const RandomCase random_case("bp", 10'000 + seed);
    StereoPair pair = random_case.pair();
    if (pair.costs.labels > 0) return;  // its labels may be far outside the image
    BeliefPropagationParameters parameters = with_candidates(random_case, seed);
    parameters.rows = ComparedRows::given;  // refused for images of the device
    parameters.row_tolerance = 0;
    const std::string levels = std::to_string(parameters.candidate_levels) + " levels with candidates, ";
    expect_conformance(parameters, pair, random_case.with_confidence(),
                       levels + std::to_string(parameters.levels) + " in all, " + random_case.description());
  });
}

// The rows are moved on the host.
TEST_F(CudaTest, AlignedRowsEqualTheReference) {
  for (unsigned seed = 0; seed < 2; ++seed) {
    const MisalignedCase misaligned(seed);
    const StereoPair pair = misaligned.images.pair();
    expect_same(match(misaligned.parameters, reference, pair, 0x11, true),
                match(misaligned.parameters, gpu(), pair, 0xEE, true), misaligned.description);
    Matcher matcher(misaligned.parameters, gpu(), pair.left.format);
    expect_error(error_of([&] { run_on_device(matcher, pair, true); }), ErrorCategory::device,
                 {"rows are aligned in host memory", "run()"});
  }
  const MisalignedCase misaligned(0);
  for (const char* method : {"block", "census", "sgm", "tiled-bp"}) {
    const MatcherParameters parameters = misaligned.parameters_of(method);
    const StereoPair pair = misaligned.images.pair();
    expect_same(match(parameters, reference, pair, 0x11, true), match(parameters, gpu(), pair, 0xEE, true),
                method);
  }
}

TEST_P(CudaConformance, BlockMatchingEqualsTheReference) {
  for_each_seed(GetParam(), [](unsigned seed) { expect_conformance(RandomCase("block", seed)); });
}

// Compares every stage, then the result for images of the device.
void expect_census_conformance(const CensusParameters& parameters, const StereoPair& pair,
                               bool with_confidence, const std::string& which) {
  const ImageFormat format = pair.left.format;
  const auto expected_plan = make_census_plan(parameters, reference, format),
             actual_plan = make_census_plan(parameters, gpu(), format);
  Result expected(format.size, 0x11, with_confidence), actual(format.size, 0xEE, with_confidence);
  expected_plan->run(pair, expected.map());
  actual_plan->run(pair, actual.map());
  expect_same_stages(*expected_plan, *actual_plan, which);
  expect_same(expected, actual, which);
  Matcher matcher(parameters, gpu(), format);
  expect_same(expected, run_on_device(matcher, pair, with_confidence), which + ", on the device's images");
}

TEST_P(CudaConformance, CensusMatchingEqualsTheReference) {
  for_each_seed(GetParam(), [](unsigned seed) {
    const RandomCase random_case("census", seed);
    CensusParameters parameters = *random_case.parameters().get_if<CensusParameters>();
    parameters.row_tolerance = 0;  // refused
    expect_census_conformance(parameters, random_case.pair(), random_case.with_confidence(),
                              random_case.description());
  });
}

TEST_P(CudaConformance, MotionEqualsTheReference) {
  for_each_seed(GetParam(), [](unsigned seed) {
    const MotionCase motion(seed);
    expect_conformance(motion.parameters, motion.pair(), seed % 2 == 0, motion.description());
  });
}

constexpr const char* schedulers[] = {"launch-per-diagonal", "grid-barrier", "tile-flags"};

// A thread mostly has as many labels as it can take, which is fastest on an emulated GPU.
TunedValues ways_for_gpu(const TiledBeliefPropagationParameters& parameters, unsigned seed) {
  TunedValues ways;
  constexpr int max_labels_a_thread = 32;
  int threads = 1;
  while (threads * max_labels_a_thread < parameters.disparities) threads *= 2;
  if (seed % 3 == 0) threads = std::min(32, 2 * threads);
  if (seed % 5 == 0) threads = 0;
  if (threads > 0) ways["threads_per_pixel"] = std::to_string(threads);
  if (parameters.tile > 0 && seed % 4 > 0) ways["scheduler"] = schedulers[seed % 4 - 1];
  if (seed % 7 == 0) ways["messages"] = "global-memory";
  return ways;
}

// Uses fewer iterations than the case, because an emulated GPU is slow.
TiledBeliefPropagationParameters for_gpu(const RandomCase& random_case) {
  auto parameters = *random_case.parameters().get_if<TiledBeliefPropagationParameters>();
  if (!is_emulated()) return parameters;
  parameters.outer = std::min(parameters.outer, 2);
  parameters.inner = std::min(parameters.inner, 2);
  return parameters;
}

TEST_P(CudaConformance, TiledBeliefPropagationEqualsTheReference) {
  if (is_emulated() && GetParam() > 0 && std::getenv("PARALLAX_CUDA_SEEDS") == nullptr)
    GTEST_SKIP() << "slow on an emulated GPU";
  for_each_seed(GetParam(), [](unsigned seed) {
    const RandomCase random_case("tiled-bp", seed);
    const TiledBeliefPropagationParameters parameters = for_gpu(random_case);
    const std::string which = random_case.description();
    const StereoPair pair = random_case.pair();
    const bool with_confidence = random_case.with_confidence();
    const Result expected = match(parameters, reference, pair, 0x11, with_confidence);
    Matcher matcher(parameters, gpu(), pair.left.format, {0, ways_for_gpu(parameters, seed)});
    Result actual(pair.left.format.size, 0xEE, with_confidence);
    matcher.run(pair, actual.map());
    expect_same(expected, actual, which);
    expect_same(expected, run_on_device(matcher, pair, with_confidence), which + ", on the device's images");
  });
}

TEST_P(CudaConformance, PlanesEqualTheReference) {
  for_each_seed(GetParam(), [](unsigned seed) { expect_conformance(RandomCase("planes", seed)); });
}

TEST_P(CudaConformance, SemiGlobalMatchingEqualsTheReference) {
  for_each_seed(GetParam(), [](unsigned seed) {
    const RandomCase random_case("sgm", seed);
    static const char* const labels_a_thread[] = {"4", "8", "16", "32"};
    expect_conformance(random_case, {{"labels_per_thread", labels_a_thread[seed % 4]},
                                     {"pixels_ahead", seed % 3 == 0 ? "4" : "8"},
                                     {"paths_apart", seed % 5 < 2 ? "1" : "0"},
                                     {"pixels_per_thread", seed % 7 < 3 ? "4" : "8"}});
  });
}

INSTANTIATE_TEST_SUITE_P(Seeds, CudaConformance, testing::Range(0u, max_seeds / seeds_a_test));

// Labels whose rows up to 32 threads share, and labels that are kept in other memory.
TEST_F(CudaTest, BothMapsEqualTheReference) {
  const SynthPair pair = synth(Scene::layers, {70, 33}, 12);
  for (const MatcherParameters& parameters : both_maps_cases(DeviceKind::cuda))
    expect_both_maps(parameters, gpu(), views_with_masks(pair), true, method_name(parameters));
}

TEST_F(CudaTest, BothMapsOfAlignedRowsAreThoseOfImagesOnTheHost) {
  const MisalignedCase misaligned(0);
  const StereoPair pair = misaligned.images.pair();
  const MatcherParameters parameters = misaligned.parameters_of("block");
  expect_both_maps(parameters, gpu(), pair, true, misaligned.description);
  Matcher matcher(parameters, gpu(), pair.left.format, {.both_maps = true});
  parallax::Result result = matcher.make_result();
  expect_error(error_of([&] { matcher.enqueue(pair, result.map(), nullptr); }), ErrorCategory::device,
               {"run()"});
}

// Several streams share the mirrored images.
TEST_F(CudaTest, BothMapsOfImagesOnTheDeviceEqualTheReference) {
  const auto context = std::make_shared<cuda::Context>(0);
  const cuda::Current current(*context);
  const cuda::Stream streams[] = {cuda::make_stream(context), cuda::make_stream(context)};
  const SynthPair pair = synth(Scene::layers, {71, 33}, 12);
  const StereoPair images = views_with_masks(pair);
  for (const MatcherParameters& parameters : both_maps_cases(DeviceKind::cuda)) {
    Matcher matcher(parameters, gpu(), images.left.format, {.both_maps = true});
    EXPECT_EQ(matcher.memory_bytes(), estimate_memory_bytes(parameters, gpu(), images.left.format, {}, true));
    Matcher on_host(parameters, reference, images.left.format, {.both_maps = true});
    parallax::Result expected = on_host.make_result(true);
    on_host.run(images, expected.map());
    DeviceImages memory(context);
    const StereoPair there = memory.pair(images);
    std::vector<DisparityMap> maps;
    for (const cuda::Stream& stream : streams) {
      DisparityMap map = memory.map(pair.size(), true);
      const DisparityMap right = memory.map(pair.size(), true);
      map.right = {right.disparity, right.status, right.confidence, {}};
      matcher.enqueue(there, map, stream.get());
      maps.push_back(map);
    }
    for (const cuda::Stream& stream : streams) cuda::synchronise(stream.get());
    for (const DisparityMap& map : maps) {
      expect_same(expected, memory.result(map), method_name(parameters) + ", left");
      expect_same(*expected.right,
                  memory.result({map.right.disparity, map.right.status, map.right.confidence}),
                  method_name(parameters) + ", right");
    }
  }
}

TEST_F(CudaTest, BothMapsOfPairsInFlightEqualTheReference) {
  const MatcherParameters parameters = both_maps_cases(DeviceKind::cuda).front();
  const Size size{70, 33};
  Matcher matcher(parameters, gpu(), {size}, {.pairs_in_flight = 2, .both_maps = true});
  std::vector<SynthPair> pairs;
  std::vector<parallax::Result> results;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    pairs.push_back(synthesize({.size = size, .disparities = 12, .seed = seed}));
    results.push_back(matcher.make_result());
  }
  for (std::size_t i = 0; i < pairs.size(); ++i) matcher.start(views_with_masks(pairs[i]), results[i].map());
  matcher.wait();
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const parallax::Result expected =
        parallax::match(views_with_masks(pairs[i]), parameters, reference, {.both_maps = true});
    expect_same(expected, results[i], "left");
    expect_same(*expected.right, *results[i].right, "right");
  }
}

TEST_F(CudaTest, MotionEqualsTheReferenceForAnyRangeOfLabels) {
  const SynthPair pair = synthesize({.size = {13, 9}, .disparities = 5});
  struct Case {
    Size labels;
    Arithmetic arithmetic;
    int levels, iterations;
  };
  for (const Case& one :
       {Case{{31, 15}, Arithmetic::fixed8, 3, 4}, Case{{31, 15}, Arithmetic::fixed16, 2, 3},
        Case{{17, 17}, Arithmetic::fixed8, 3, 1}, Case{{32, 32}, Arithmetic::fixed8, 1, 3},
        Case{{1, 20}, Arithmetic::fixed8, 2, 2}, Case{{20, 1}, Arithmetic::fixed8, 2, 3},
        Case{{5, 3}, Arithmetic::float32, 2, 1}, Case{{33, 5}, Arithmetic::fixed8, 3, 2},
        Case{{40, 52}, Arithmetic::fixed8, 2, 2}, Case{{40, 52}, Arithmetic::float32, 2, 2}}) {
    MotionParameters parameters;
    parameters.active_window = 0;
    parameters.disparities = one.labels.width;
    parameters.row_offsets = one.labels.height;
    parameters.min_disparity = -one.labels.width / 2;
    parameters.min_row_offset = -one.labels.height / 2;
    parameters.arithmetic = one.arithmetic;
    parameters.levels = one.levels;
    parameters.iterations = parameters.finest_iterations = one.iterations;
    parameters.refine.weighted_median = 5;
    expect_conformance(
        parameters, views(pair), true,
        std::to_string(one.labels.width) + "×" + std::to_string(one.labels.height) + " labels");
  }
}

TEST_F(CudaTest, MotionsOneAfterTheOtherEqualTheReference) {
  const SynthPair pair = synthesize({.size = {45, 22}, .disparities = 20});
  for (const int window : {0, 5}) {
    MotionParameters parameters;
    parameters.active_window = window;
    parameters.disparities = 25;
    parameters.row_offsets = 5;
    parameters.min_disparity = -4;
    parameters.min_row_offset = -2;
    expect_conformance(parameters, views(pair), true, "window " + std::to_string(window),
                       {{"both_matches_at_once", "0"}, {"blocks_per_multiprocessor", "2"}});
  }
}

TEST_F(CudaTest, EqualsTheReferenceForEveryWayToDealLabels) {
  const SynthPair pair = synthesize({.size = {71, 5}, .disparities = 30});
  const StereoPair images = views(pair);
  // Each arithmetic gets every other combination, so that it covers all counts and all ways. An emulated GPU,
  // which compiles slowly, gets half of them.
  constexpr int counts[] = {2, 5, 16, 21, 33, 64, 100, 256}, ways[] = {2, 4, 16, 32};
  for (std::size_t i = 0; i < std::size(counts); ++i) {
    for (std::size_t j = 0; j < std::size(ways); ++j) {
      if (is_emulated() && (i / 2 + j) % 2 != 0) continue;
      BeliefPropagationParameters parameters = plain_belief_propagation();
      parameters.disparities = counts[i];
      parameters.arithmetic = (i + j) % 2 == 0 ? Arithmetic::fixed8 : Arithmetic::fixed16;
      expect_conformance(parameters, images, false,
                         std::to_string(counts[i]) + " labels, " + std::to_string(ways[j]) + " a thread",
                         {{"labels_per_thread", std::to_string(ways[j])}});
    }
  }
}

BeliefPropagationParameters of_candidates(int levels, int ranges, int slack) {
  BeliefPropagationParameters parameters;
  parameters.candidate_levels = levels;
  parameters.candidate_ranges = ranges;
  parameters.candidate_slack = slack;
  return parameters;
}

// Few candidates, and so many that a warp passes over a tile up to eight times; partial tiles; disparities of
// both signs.
TEST_F(CudaTest, CandidatesEqualTheReferenceForAnyNumberOfLabels) {
  struct Case {
    Size size;
    int labels, min_disparity;
    BeliefPropagationParameters parameters;
  };
  for (const Case& one :
       {Case{{70, 37}, 30, 0, of_candidates(2, 2, 2)}, Case{{41, 22}, 30, 0, of_candidates(1, 4, 0)},
        Case{{90, 20}, 63, -31, of_candidates(2, 1, 1)}, Case{{70, 40}, 40, -45, of_candidates(2, 3, 2)},
        Case{{41, 33}, 5, -2, of_candidates(2, 4, 0)}, Case{{33, 17}, 128, -60, of_candidates(2, 2, 40)},
        Case{{20, 9}, 300, -150, of_candidates(2, 1, 1024)}, Case{{5, 3}, 2, 0, of_candidates(2, 2, 0)},
        Case{{1, 9}, 1000, -500, of_candidates(2, 4, 3)}}) {
    const SynthPair pair = synthesize({.size = one.size, .disparities = std::min(one.labels, 30)});
    BeliefPropagationParameters parameters = one.parameters;
    parameters.disparities = one.labels;
    parameters.min_disparity = one.min_disparity;
    expect_conformance(parameters, views(pair), true,
                       std::to_string(one.size.width) + "×" + std::to_string(one.size.height) + ", " +
                           std::to_string(one.labels) + " labels");
  }
}

TEST_F(CudaTest, ChoicesOfCandidatesNeverChangeAResult) {
  const SynthPair pair = synthesize({.size = {70, 33}, .disparities = 60});
  BeliefPropagationParameters parameters = of_candidates(2, 2, 2);
  parameters.disparities = 60;
  for (const auto& [name, value] : {std::pair{"candidates_in_shared_memory", "16"},
                                    {"candidates_in_shared_memory", "48"},
                                    {"candidate_threads_per_block", "256"},
                                    {"candidate_blocks_per_multiprocessor", "8"},
                                    {"both_matches_at_once", "0"}})
    expect_conformance(parameters, views(pair), false, std::string(name) + " " + value, {{name, value}});
  if (!is_emulated()) return;
  emulated()->set_last_first(1);
  expect_conformance(parameters, views(pair), false, "threads in the opposite order");
  emulated()->set_last_first(0);
}

TEST_F(CudaTest, RowToleranceIsRefusedByName) {
  for (const char* method : {"block", "census"}) {
    MatcherParameters parameters = preset(method, "default");
    set_parameter(parameters, "row_tolerance", "1");
    expect_error(error_of([&] {
                   Matcher(parameters, gpu(), {{64, 48}});
                 }),
                 ErrorCategory::device, {"row_tolerance", "choose"});
  }
}

TEST_F(CudaTest, RowsOfAThreadNeverChangeAResult) {
  const SynthPair pair = synthesize({.size = {71, 31}, .disparities = 30});
  const StereoPair images = views(pair);
  for (const int rows : {1, 9, 40, 128}) {
    for (const int window : {1, 5, 9}) {
      BlockParameters parameters;
      parameters.disparities = 30;
      parameters.window = window;
      expect_conformance(parameters, images, false,
                         std::to_string(rows) + " rows, window " + std::to_string(window),
                         {{"rows_per_thread", std::to_string(rows)}});
    }
  }
}

TunedValues ways_of_tiles(const char* scheduler, const char* messages, int threads) {
  TunedValues ways;
  if (*scheduler != 0) ways["scheduler"] = scheduler;
  if (*messages != 0) ways["messages"] = messages;
  if (threads > 0) ways["threads_per_pixel"] = std::to_string(threads);
  return ways;
}

TiledBeliefPropagationParameters tiled() {
  TiledBeliefPropagationParameters parameters = preset<TiledBeliefPropagationParameters>("memocode-2013");
  parameters.tile = 7;
  parameters.outer = 2;
  parameters.inner = 2;
  parameters.frame = 1;
  return parameters;
}

TEST_F(CudaTest, SchedulersOfTilesNeverChangeAResult) {
  const SynthPair pair = synthesize({.size = {40, 17}, .disparities = 12});
  const StereoPair images = views(pair);
  for (const std::string scheduler : schedulers)
    for (const std::string messages : {"registers", "shared-memory", "global-memory"})
      expect_conformance(
          tiled(), images, false, scheduler + ", messages in " + messages,
          ways_of_tiles(scheduler.c_str(), messages.c_str(), scheduler == "tile-flags" ? 4 : 1));
}

// The limits at which sums, messages with their marks, and messages alone stop fitting in bytes; and the
// highest value.
TEST_F(CudaTest, TilesEqualTheReferenceAtTheBoundsOfWidths) {
  constexpr Size size{17, 11};
  constexpr int labels = 9;
  const SynthPair pair = synthesize({.size = size, .disparities = labels});
  std::mt19937 random(7);
  std::vector<float> volume(size.pixels() * labels);
  for (const auto& [truncation, messages] : {std::pair{42, "registers"},
                                             {43, "registers"},
                                             {127, "shared-memory"},
                                             {128, "registers"},
                                             {256, "shared-memory"},
                                             {8191, "registers"}}) {
    for (float& cost : volume) cost = static_cast<float>(random_number(random, 0, 5 * truncation));
    TiledBeliefPropagationParameters parameters = tiled();
    parameters.disparities = labels;
    parameters.cost = DataCost::volume;
    parameters.discontinuity_cost = truncation;
    parameters.discontinuity_truncation = 1;
    expect_conformance(
        parameters, {pair.left_view(), pair.right_view(), {}, {}, CostVolume(volume.data(), size, labels)},
        true, "truncation " + std::to_string(truncation), ways_of_tiles("tile-flags", messages, 2));
  }
}

TEST_F(CudaTest, TilesRefuseWhatTheyLack) {
  const auto refuses = [](int tile, int labels, const TunedValues& ways, const std::string& what) {
    TiledBeliefPropagationParameters parameters = tiled();
    parameters.tile = tile;
    parameters.disparities = labels;
    expect_error(error_of([&] {
                   Matcher(parameters, gpu(), {{400, 300}}, {0, ways});
                 }),
                 ErrorCategory::device, {what});
  };
  const char* launches = "launch-per-diagonal";
  refuses(64, 64, ways_of_tiles(launches, "shared-memory", 0), "messages in shared-memory would take");
  refuses(64, 64, ways_of_tiles(launches, "registers", 0), "messages in registers would take");
  refuses(64, 16, ways_of_tiles(launches, "registers", 1), "messages in registers would take 256");
  refuses(0, 16, ways_of_tiles(launches, "shared-memory", 0), "shared-memory do not support the whole image");
  refuses(0, 16, ways_of_tiles("grid-barrier", "", 0), "grid-barrier does not support the whole image");
  refuses(0, 16, ways_of_tiles("tile-flags", "", 0), "tile-flags does not support the whole");
  refuses(16, 64, ways_of_tiles(launches, "", 1), "threads_per_pixel 1 is too few for 64 labels");
}

// Blocks that wait for each other must not wait forever.
TEST_F(CudaTest, TilesOfManyRunsNeverWaitForEver) {
  const SynthPair pair = synthesize({.size = {40, 17}, .disparities = 12});
  const StereoPair images = views(pair);
  const int runs = is_emulated() ? 8 : 10'000;
  for (const char* scheduler : schedulers) {
    const TiledBeliefPropagationParameters parameters = tiled();
    const Result expected = match(parameters, reference, images);
    Matcher matcher(parameters, gpu(), images.left.format, {0, ways_of_tiles(scheduler, "shared-memory", 1)});
    for (int run = 0; run < runs; ++run) {
      Result actual(images.left.format.size, 0xEE);
      matcher.run(images, actual.map());
      ASSERT_TRUE(same_bytes(expected.disparity, actual.disparity)) << "run " << run;
    }
  }
}

// Diagonal paths leave the image, rows have several segments, and nothing after the left-right check hides a
// difference.
TEST_F(CudaTest, SemiGlobalPathsAndRightMapsEqualTheReference) {
  const SynthPair pair = synthesize({.size = {150, 40}, .disparities = 21});
  for (const int paths : {4, 5, 8}) {
    for (const RightMap right_map : {RightMap::sums, RightMap::winners}) {
      SemiGlobalParameters parameters;
      parameters.disparities = 21;
      parameters.paths = paths;
      parameters.right_map = right_map;
      parameters.refine = RefineParameters::none();
      parameters.refine.left_right_check = true;
      expect_conformance(parameters, views(pair), false, std::to_string(paths) + " paths");
    }
  }
}

// All pixels of a strip have the same best label, so only its neighbours are compared with it.
TEST_F(CudaTest, CensusComparesBothLabelsBesideTheBest) {
  for (const int shift : {6, 7}) {
    const ShiftedPair pair({71, 23}, shift);
    for (const int levels : {1, 2}) {
      CensusParameters parameters = plain_census();
      parameters.disparities = 16;
      parameters.window = 3;
      parameters.pyramid_levels = levels;
      parameters.sub_pixel = SubPixel::parabola;
      expect_conformance(parameters, pair.views(), false,
                         std::to_string(shift) + " pixels, " + std::to_string(levels) + " levels");
    }
  }
}

// More than twice as many levels as a block makes.
TEST_F(CudaTest, CensusOfADeepPyramidEqualsTheReference) {
  const SynthPair pair = synthesize({.size = {601, 5}, .disparities = 30});
  CensusParameters parameters = plain_census();
  parameters.disparities = 30;
  parameters.pyramid_levels = 30;
  expect_census_conformance(parameters, {pair.left_view(), pair.right_view()}, false, "601×5");
}

TEST_F(CudaTest, ChoicesOfFloatsNeverChangeAResult) {
  const SynthPair pair = synthesize({.size = {71, 9}, .disparities = 30});
  const StereoPair images = views(pair);
  // Values in registers and in shared memory: all in one of them, all in local memory, or some in each.
  const std::pair<int, int> places[] = {{20, 0}, {0, 20}, {0, 0}, {8, 8}};
  for (const auto& [in_registers, in_shared_memory] : places) {
    for (const char* order : {"coalesced", "naive"}) {
      for (const bool aligned : {false, true}) {
        BeliefPropagationParameters parameters = plain_belief_propagation();
        parameters.disparities = 20;
        parameters.arithmetic = aligned ? Arithmetic::float32 : Arithmetic::float16;
        expect_conformance(parameters, images, false,
                           std::to_string(in_registers) + " values in registers, order " + order,
                           {{"aligned", aligned ? "true" : "false"},
                            {"index_order", order},
                            {"values_in_registers", std::to_string(in_registers)},
                            {"values_in_shared_memory", std::to_string(in_shared_memory)}});
      }
    }
  }
}

}  // namespace
}  // namespace parallax::test
