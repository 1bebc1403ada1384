// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "remap/map.h"
#include "remap/pixel.h"
#include "remap/random_remap.h"

namespace parallax::test {
namespace {

// Two pinholes that are rectified already.
Rig rectified_rig(Size size) {
  Rig rig;
  rig.left.size = size;
  rig.left.focal_x = rig.left.focal_y = 50;
  rig.left.centre_x = 10, rig.left.centre_y = 8;
  rig.right = rig.left;
  rig.translation = {-1, 0, 0};
  return rig;
}

Rectification rectification_of(const Rig& rig) {
  Rectification result;
  result.focal = rig.left.focal_x;
  result.centre_left_x = rig.left.centre_x;
  result.centre_right_x = rig.right.centre_x;
  result.centre_y = rig.left.centre_y;
  result.baseline = 1;
  result.size = rig.left.size;
  return result;
}

std::vector<Device> devices() {
  return {reference, cpu(1), cpu(3)};
}

TEST(RemapTest, WithoutATurnEveryPixelStays) {
  for (const Device& device : devices())
    for (const Interpolation interpolation : {Interpolation::bilinear, Interpolation::lanczos3}) {
      const Rig rig = rectified_rig({41, 23});
      const RemapCase problem{rig, rectification_of(rig), interpolation, BitDepth::bits8, 3, true};
      Picture left(rig.left.size, BitDepth::bits8, 3);
      left.fill(1);
      const Remapped result = remap_on(device, problem, 1);
      const int border = interpolation == Interpolation::bilinear ? 0 : 2;
      for (int y = 0; y < 23; ++y)
        for (int x = 0; x < 41; ++x) {
          const bool seen = x >= border && y >= border && x < 41 - border && y < 23 - border;
          EXPECT_EQ(result.left_mask.at(x, y), seen ? 255 : 0);
          for (int c = 0; c < 3; ++c)
            EXPECT_EQ(static_cast<const std::uint8_t*>(result.left.view().row(y))[3 * x + c],
                      seen ? static_cast<const std::uint8_t*>(left.view().row(y))[3 * x + c] : 0);
        }
    }
}

// Half a pixel to the right and a quarter down: means of neighbours.
TEST(RemapTest, ValuesBetweenPixelsAreMixed) {
  const Rig rig = rectified_rig({40, 20});
  Rectification to = rectification_of(rig);
  to.centre_left_x -= 0.5;
  to.centre_y -= 0.25;
  Plane<std::uint8_t> image({40, 20}), out({40, 20});
  for (int y = 0; y < 20; ++y)
    for (int x = 0; x < 40; ++x) image.at(x, y) = static_cast<std::uint8_t>(4 * x + 3 * (x % 2) + 4 * y);
  for (const Device& device : devices())
    for (const Interpolation interpolation : {Interpolation::bilinear, Interpolation::lanczos3}) {
      Plane<std::uint8_t> other({40, 20}), mask({40, 20});
      Rectifier rectifier(rig, to, interpolation, device);
      rectifier.run(image.view(), image.view(), {out.view(), other.view(), mask.view()});
      for (int y = 3; y < 16; ++y)
        for (int x = 3; x < 36; ++x)
          EXPECT_NEAR(out.at(x, y), 4 * x + 2 + 1.5 + 4 * y + 1,
                      interpolation == Interpolation::bilinear ? 0.75 : 2);
      EXPECT_EQ(mask.at(39, 3), 0);
      EXPECT_EQ(mask.at(3, 19), 0);
      EXPECT_EQ(out.at(39, 3), 0);
    }
}

// A position is within 1/128 pixel of the exact one, and unseen exactly where that is outside.
TEST(RemapTest, AMapRoundsPositions) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const RemapCase problem = random_remap(seed);
    const Camera& camera = problem.rig.left;
    const remap::Map map = remap::make_map(camera, problem.to.rotation_left, problem.to.centre_left_x,
                                           problem.to, problem.interpolation, Workers(1));
    const remap::Lookup lookup(camera, problem.to.rotation_left, problem.to.centre_left_x, problem.to);
    const double reach = remap::reach(problem.interpolation), slack = 1 / 128.0;
    for (int y = 0; y < map.size.height; ++y)
      for (int x = 0; x < map.size.width; ++x) {
        const std::optional<Position> exact = lookup.position(x, y);
        const auto outside = [&](double margin) {
          return !exact || (*exact)[0] < reach - margin ||
                 (*exact)[0] > camera.size.width - 1 - reach + margin || (*exact)[1] < reach - margin ||
                 (*exact)[1] > camera.size.height - 1 - reach + margin;
        };
        if (map.x.at(x, y) == remap::unseen) {
          EXPECT_TRUE(outside(-slack)) << seed;
          continue;
        }
        ASSERT_FALSE(outside(slack)) << seed;
        const remap::Block block = map.blocks.at(x / remap::block_columns, y);
        EXPECT_NEAR(block.x + map.x.at(x, y) / 64.0, (*exact)[0], slack + 1e-9);
        EXPECT_NEAR(block.y + map.y.at(x, y) / 64.0, (*exact)[1], slack + 1e-9);
      }
  }
}

TEST(RemapTest, LanczosWeightsAddUpAndMirror) {
  const remap::Taps table = remap::lanczos_taps();
  for (std::size_t fraction = 0; fraction < remap::steps; ++fraction) {
    int sum = 0;
    for (const int weight : table[fraction]) sum += weight;
    EXPECT_EQ(sum, 4096);
    for (std::size_t tap = 0; fraction > 0 && tap < remap::taps; ++tap)
      EXPECT_NEAR(table[fraction][tap], table[remap::steps - fraction][remap::taps - 1 - tap], 2);
  }
  EXPECT_EQ(table[0], (std::array<std::int16_t, 8>{0, 0, 4096, 0, 0, 0, 0, 0}));
  // sinc(0.5) sinc(1 / 6) = 0.6079, before its neighbours are added up to 1.
  EXPECT_NEAR(table[32][2] / 4096.0, 0.61, 0.005);
}

// The largest sums fit in 32 bits: white where weights are positive, black elsewhere.
TEST(RemapTest, LanczosDoesNotOverflow) {
  const remap::Taps table = remap::lanczos_taps();
  Plane<std::uint16_t> image({6, 6});
  for (const bool inverted : {false, true}) {
    for (int y = 0; y < 6; ++y)
      for (int x = 0; x < 6; ++x) {
        const bool positive =
            (table[32][static_cast<std::size_t>(x)] > 0) == (table[32][static_cast<std::size_t>(y)] > 0);
        image.at(x, y) = positive != inverted ? 65535 : 0;
      }
    const auto value =
        remap::lanczos(remap::channel_of<std::uint16_t>(image.view(), 0), table, 64 * 2 + 32, 64 * 2 + 32);
    EXPECT_EQ(value, inverted ? 0 : 65535);
  }
}

// Vectors read windows of 16 columns, and the rows of their group, without checking where the image ends.
TEST(RemapTest, WindowsAreInsideTheImage) {
  int windows = 0, at_the_end = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    const RemapCase problem = random_remap(seed);
    const remap::Map map =
        remap::make_map(problem.rig.left, problem.to.rotation_left, problem.to.centre_left_x, problem.to,
                        Interpolation::bilinear, Workers(1));
    for (int y = 0; y < map.size.height; ++y)
      for (int i = 0; i < map.blocks.width(); ++i) {
        const int rows = map.rows.at(i * remap::block_columns / remap::group_columns, y);
        if (rows == 0 || rows == remap::no_windows) continue;
        const remap::Block block = map.blocks.at(i, y);
        ++windows;
        at_the_end +=
            block.x + remap::window_columns == map.camera.width || block.y + rows == map.camera.height;
        ASSERT_GE(block.x, 0);
        ASSERT_GE(block.y, 0);
        ASSERT_LE(block.x + remap::window_columns, map.camera.width);
        ASSERT_LE(block.y + rows, map.camera.height);
      }
  }
  EXPECT_GT(windows, 1000);
  EXPECT_GT(at_the_end, 100);
}

class RemapConformance : public testing::TestWithParam<unsigned> {};

TEST_P(RemapConformance, CpuGivesTheBytesOfTheReference) {
  const unsigned cases = sanitized ? 10 : 60;
  for (unsigned seed = GetParam() * cases; seed < (GetParam() + 1) * cases; ++seed) {
    const RemapCase problem = random_remap(seed);
    const Remapped expected = remap_on(reference, problem, seed);
    EXPECT_TRUE(remap_on(cpu(2), problem, seed) == expected) << "seed " << seed << ": " << describe(problem);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RemapConformance, testing::Range(0u, 4u));

// The sizes at which vectors, windows and groups begin and end.
TEST(RemapTest, CpuGivesTheBytesOfTheReferenceAtEverySize) {
  for (const int width : {1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 64, 65})
    for (const int height : {1, 2, 3, 9}) {
      RemapCase problem = random_remap(static_cast<unsigned>(width * 100 + height));
      problem.interpolation = Interpolation::bilinear;
      problem.depth = BitDepth::bits8;
      problem.rig = rectified_rig({width, height});
      problem.to = rectification_of(problem.rig);
      problem.to.focal *= 0.97;
      problem.to.centre_y += 0.3;
      for (const int columns : {width, 40})
        for (const int channels : {1, 3}) {
          problem.to.size = {columns, height};
          problem.channels = channels;
          EXPECT_TRUE(remap_on(cpu(2), problem, 5) == remap_on(reference, problem, 5)) << describe(problem);
        }
    }
}

TEST(RemapTest, EveryVectorTargetGivesTheBytesOfTheReference) {
  const std::string active = active_cpu_target();
  for (const std::string& target : cpu_targets()) {
    force_cpu_target(target);
    for (unsigned seed = 1000; seed < 1040; ++seed) {
      const RemapCase problem = random_remap(seed);
      EXPECT_TRUE(remap_on(cpu(1), problem, seed) == remap_on(reference, problem, seed))
          << target << ", seed " << seed;
    }
  }
  force_cpu_target("");
}

TEST(RectifierTest, RefusesWhatIsNotPlanned) {
  const Rig rig = rectified_rig({40, 20});
  const Rectification to = rectification_of(rig);
  const auto refused = [&](const Rig& r, const Rectification& t, std::string_view reason) {
    expect_refused([&] { Rectifier(r, t, Interpolation::bilinear, cpu(1)); }, reason);
  };
  Rectification other = to;
  other.size = {0, 3};
  refused(rig, other, "image is 0×3");
  other = to;
  other.focal = 0;
  refused(rig, other, "rectification's focal is 0");
  other = to;
  other.focal = 0.05;  // 1000 pixels apart
  other.centre_left_x = 4;
  Rig wide = rectified_rig({32000, 20});
  wide.left.centre_x = 4000;
  refused(wide, other, "more than 127 camera pixels in one");
  wide.left.size.width = 40000;
  refused(wide, to, "left camera has images of 40000×20");

  Rectifier rectifier(rig, to, Interpolation::bilinear, cpu(1));
  Plane<std::uint8_t> image({40, 20}), small({39, 20}), out({40, 20});
  Plane<std::uint16_t> deep({40, 20});
  const auto run_refused = [&](const ImageView& left, const RectifiedPair& result, std::string_view reason) {
    expect_refused([&] { rectifier.run(left, image.view(), result); }, reason);
  };
  const RectifiedPair result{out.view(), out.view()};
  run_refused(small.view(), result, "left image is 39×20: give one of 40×20");
  run_refused(deep.view(), result, "left image has 16 bits per channel");
  run_refused({}, result, "left image points to no memory");
  run_refused(image.view(), {small.view(), out.view()}, "rectified left image is 39×20");
  run_refused(image.view(), {out.view(), {}}, "rectified right image points to no memory");
  run_refused(image.view(), {out.view(), out.view(), small.view()}, "left mask is 39×20");
  run_refused(image.view(), {{out.row(0), {{40, 20}, BitDepth::bits8}, 3, 120}, out.view()},
              "has 3 channels");
  expect_error(error_of([&] { rectifier.enqueue(image.view(), image.view(), result, nullptr); }),
               ErrorCategory::device, {"planned for device cuda"});
  Rectifier moved = std::move(rectifier);
  run_refused(image.view(), result, "the rectifier was moved from");
  moved.run(image.view(), image.view(), result);
}

// Content that the rig's right camera sees is matched on the same rows: a plane at depth f B / d is seen d
// columns apart.
TEST(RectifierTest, BordersThatACameraDidNotSeeHaveNoDisparity) {
  const Rig rig = chessboard_rig();
  const Rectification to = rectify(rig, {.alpha = 1, .size = {160, 120}});
  Rectifier rectifier(rig, to, Interpolation::bilinear, cpu(2));
  Picture left(rig.left.size, BitDepth::bits8, 1), right(rig.right.size, BitDepth::bits8, 1);
  left.fill(1), right.fill(1);
  Plane<std::uint8_t> images[2] = {Plane<std::uint8_t>(to.size), Plane<std::uint8_t>(to.size)};
  Plane<std::uint8_t> masks[2] = {Plane<std::uint8_t>(to.size), Plane<std::uint8_t>(to.size)};
  rectifier.run(left.view(), right.view(),
                {images[0].view(), images[1].view(), masks[0].view(), masks[1].view()});
  const Result result =
      match(plain_block(), cpu(2), {images[0].view(), images[1].view(), masks[0].view(), masks[1].view()});
  int masked = 0;
  for (int y = 0; y < 120; ++y)
    for (int x = 0; x < 160; ++x) {
      EXPECT_EQ(masks[0].at(x, y) == 0,
                result.status.at(x, y) == static_cast<std::uint8_t>(Status::input_masked));
      masked += masks[0].at(x, y) == 0;
    }
  EXPECT_GT(masked, 100);
  EXPECT_LT(masked, 160 * 120 / 2);
  EXPECT_GE(rectifier.memory_bytes(), std::size_t{2 * 4 * 160 * 120});
}

}  // namespace
}  // namespace parallax::test
