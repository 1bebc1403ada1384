// SPDX-License-Identifier: Apache-2.0
#include "devices/gpu_test.h"
#include "remap/random_remap.h"

namespace parallax::test {
namespace {

using CudaRemapTest = GpuTest;

TEST_F(CudaRemapTest, GivesTheBytesOfTheReference) {
  for (unsigned seed = 2000; seed < 2040; ++seed) {
    const RemapCase problem = random_remap(seed);
    EXPECT_TRUE(remap_on(gpu(), problem, seed, 2) == remap_on(reference, problem, seed))
        << "seed " << seed << ": " << describe(problem);
  }
}

// Rows of the output at any address.
TEST_F(CudaRemapTest, EnqueuesOnTheStreamOfItsCallerAndWaitsForNothing) {
  PARALLAX_NEEDS_EMULATED_GPU();
  const auto context = std::make_shared<cuda::Context>(0);
  const cuda::Current current(*context);
  const cuda::Stream stream = cuda::make_stream(context);
  for (const int gap : {0, 1, 4}) {
    RemapCase problem = random_remap(7);
    problem.rig = chessboard_rig();
    problem.to = rectify(problem.rig, {.alpha = 1, .size = {63, 33}});
    problem.interpolation = Interpolation::bilinear;
    problem.depth = BitDepth::bits8;
    problem.channels = 1;
    problem.masks = true;
    Plane<std::uint8_t> left(problem.rig.left.size), right(problem.rig.right.size);
    std::mt19937 random(3);
    for (Plane<std::uint8_t>* image : {&left, &right})
      for (int y = 0; y < image->height(); ++y)
        for (int x = 0; x < image->width(); ++x) image->at(x, y) = static_cast<std::uint8_t>(random());
    DeviceImages images(context);
    const ImageView left_there = images.image(left.view()), right_there = images.image(right.view());
    View<std::uint8_t> to[4];
    for (auto& view : to) view = images.plane<std::uint8_t>(problem.to.size, gap);
    Rectifier rectifier(problem.rig, problem.to, problem.interpolation, gpu());
    const int allocations = emulated()->allocations(), synchronisations = emulated()->synchronisations();
    emulated()->set_lazy(1);
    rectifier.enqueue(left_there, right_there, {to[0], to[1], to[2], to[3]}, stream.get());
    EXPECT_EQ(emulated()->allocations(), allocations);
    EXPECT_EQ(emulated()->synchronisations(), synchronisations);
    cuda::check(cuda::driver().cuStreamSynchronize(stream.get()), "cuStreamSynchronize");
    emulated()->set_lazy(0);
    Plane<std::uint8_t> expected[4];
    for (auto& plane : expected) plane = Plane<std::uint8_t>(problem.to.size);
    Rectifier(problem.rig, problem.to, problem.interpolation, reference)
        .run(left.view(), right.view(),
             {expected[0].view(), expected[1].view(), expected[2].view(), expected[3].view()});
    for (int i = 0; i < 4; ++i) {
      const Result fetched = images.result({images.plane<float>(problem.to.size, 0), to[i]});
      EXPECT_TRUE(same_bytes(fetched.status, expected[i])) << "view " << i << ", gap " << gap;
      const View<std::uint8_t> with_gaps(to[i].data, {63 + gap, 33});
      const Result all = images.result({images.plane<float>(with_gaps.size, 0), with_gaps});
      for (int y = 0; y < 33; ++y)
        for (int x = 63; x < 63 + gap; ++x) EXPECT_EQ(all.status.at(x, y), 0xA5) << "a gap was written";
    }
  }
}

TEST_F(CudaRemapTest, SixteenBitsNeedEvenAddresses) {
  RemapCase problem = random_remap(7);
  problem.rig = chessboard_rig();
  Rectifier rectifier(problem.rig, RectifyParameters{}, gpu(), BitDepth::bits16);
  Plane<std::uint16_t> left({640, 480}), to({640, 480});
  const ImageView odd(reinterpret_cast<const std::byte*>(left.row(0)) + 1, {{640, 480}, BitDepth::bits16}, 1,
                      1280);
  expect_refused(
      [&] {
        rectifier.enqueue(odd, left.view(), {to.view(), to.view()}, nullptr);
      },
      "left image has 16 bits per channel, but rows at odd addresses");
}

}  // namespace
}  // namespace parallax::test
