// SPDX-License-Identifier: Apache-2.0
#include "devices/gpu_test.h"
#include "remap/rectified_case.h"

namespace parallax::test {
namespace {

using CudaRectifiedMatcherTest = GpuTest;

// Two pairs on two streams use the same memory of the matcher; the second waits for the first.
TEST_F(CudaRectifiedMatcherTest, EnqueuesOnTheStreamsOfItsCaller) {
  PARALLAX_NEEDS_EMULATED_GPU();
  const auto context = std::make_shared<cuda::Context>(0);
  const cuda::Current current(*context);
  for (int number = 0; number < rectified_cases; ++number) {
    const RectifiedCase first = rectified_case(number, 10), second = rectified_case(number, 20);
    const cuda::Stream streams[2] = {cuda::make_stream(context), cuda::make_stream(context)};
    RectifiedMatcher matcher(first.parameters, gpu(), first.rig, first.rectify, first.depth);
    const Size size = matcher.rectification().size;
    DeviceImages images(context);
    const ImageView there[] = {images.image(first.left.view()), images.image(first.right.view()),
                               images.image(second.left.view()), images.image(second.right.view())};
    const DisparityMap maps[] = {images.map(size, false), images.map(size, false)};
    emulated()->set_lazy(1);
    for (std::size_t pair = 0; pair < 2; ++pair)
      matcher.enqueue(there[2 * pair], there[2 * pair + 1], maps[pair], streams[pair].get());
    // Nothing runs before somebody waits for it.
    for (const int last_first : {1, 0})
      cuda::check(cuda::driver().cuStreamSynchronize(streams[last_first].get()), "cuStreamSynchronize");
    emulated()->set_lazy(0);
    expect_same(rectify_and_match(first), images.result(maps[0]), first.name);
    expect_same(rectify_and_match(second), images.result(maps[1]), first.name + ", second pair");
  }
}

TEST_F(CudaRectifiedMatcherTest, MatchesSeveralPairsInFlight) {
  std::vector<RectifiedCase> pairs;
  for (unsigned seed = 0; seed < 3; ++seed) pairs.push_back(rectified_case(1, seed));
  const RectifiedCase& first = pairs.front();
  PlanOptions limits;
  limits.pairs_in_flight = 2;
  RectifiedMatcher matcher(first.parameters, gpu(), first.rig, first.rectify, first.depth, limits);
  const Size size = matcher.rectification().size;
  Result results[] = {Result(size), Result(size), Result(size)};
  for (std::size_t i = 0; i < pairs.size(); ++i)
    matcher.start(pairs[i].left.view(), pairs[i].right.view(), results[i].map());
  matcher.wait();
  for (std::size_t i = 0; i < pairs.size(); ++i)
    expect_same(rectify_and_match(pairs[i]), results[i], "pair " + std::to_string(i));
}

}  // namespace
}  // namespace parallax::test
