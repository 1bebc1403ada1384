// The cuda device gives the bytes of the reference, for random images and parameters; from the host's images
// and from the device's own. Needs a GPU, or an emulated one: tests/emulated_gpu.

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "conformance/belief_propagation_case.h"
#include "conformance/block_case.h"
#include "device_images.h"
#include "devices/cuda/context.h"
#include "support.h"

namespace parallax::test {
namespace {

const Device cuda_device{DeviceKind::cuda};
constexpr unsigned seeds_a_test = 16, most_seeds = 256;

// How many random cases of each method. Each compiles kernels of its own, and an emulated GPU takes its time.
unsigned seeds() {
  if (const char* wanted = std::getenv("PARALLAX_CUDA_SEEDS"))
    return static_cast<unsigned>(std::atoi(wanted));
  const bool emulated = cuda::find_gpus().list.front().name == "Emulated GPU";
  return !emulated ? most_seeds : sanitized ? seeds_a_test : 2 * seeds_a_test;
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
}

// Calls action(seed) for the seeds of a test: several tests, so that they can run side by side.
template <class Action>
void for_each_seed(unsigned test, const Action& action) {
  if (test * seeds_a_test >= seeds()) GTEST_SKIP() << "PARALLAX_CUDA_SEEDS is " << seeds();
  for (unsigned i = 0; i < seeds_a_test; ++i) action(test * seeds_a_test + i);
}

TEST_P(CudaConformance, BeliefPropagationEqualsTheReference) {
  for_each_seed(GetParam(), [](unsigned seed) {
    const BeliefPropagationCase random_case(seed);
    expect_conformance(random_case.parameters(), random_case.pair(), random_case.with_confidence(),
                       "seed " + std::to_string(seed) + ": " + random_case.description());
  });
}

TEST_P(CudaConformance, BlockMatchingEqualsTheReference) {
  for_each_seed(GetParam(), [](unsigned seed) {
    const BlockCase random_case(seed);
    expect_conformance(random_case.parameters(), random_case.pair(), false,
                       "seed " + std::to_string(seed) + ": " + random_case.description());
  });
}

INSTANTIATE_TEST_SUITE_P(Seeds, CudaConformance, testing::Range(0u, most_seeds / seeds_a_test));

TEST_F(CudaTest, EqualsTheReferenceForEveryWayToDealLabels) {
  const SynthPair pair = synthesize({.size = {71, 5}, .disparities = 30});
  const StereoPair views{pair.left_view(), pair.right_view(), {}, {}};
  for (const int labels : {2, 5, 16, 21, 33, 64, 100, 256}) {
    for (const Arithmetic arithmetic : {Arithmetic::fixed8, Arithmetic::fixed16}) {
      for (const int labels_per_thread : {2, 4, 16, 32}) {
        BeliefPropagationParameters parameters = plain_belief_propagation();
        parameters.disparities = labels;
        parameters.arithmetic = arithmetic;
        parameters.cuda.labels_per_thread = labels_per_thread;
        expect_conformance(
            parameters, views, false,
            std::to_string(labels) + " labels, " + std::to_string(labels_per_thread) + " a thread");
      }
    }
  }
}

TEST_F(CudaTest, ChoicesOfFloatsNeverChangeAResult) {
  const SynthPair pair = synthesize({.size = {71, 9}, .disparities = 30});
  const StereoPair views{pair.left_view(), pair.right_view(), {}, {}};
  for (const MessageValues values :
       {MessageValues::registers, MessageValues::shared_memory, MessageValues::local_memory}) {
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
