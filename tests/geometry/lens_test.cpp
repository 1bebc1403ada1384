// SPDX-License-Identifier: Apache-2.0
#include "geometry/lens.h"

#include <cmath>
#include <numbers>

#include "geometry/random_rig.h"
#include "support.h"

namespace parallax::test {
namespace {

Camera pinhole() {
  Camera camera;
  camera.size = {640, 480};
  camera.focal_x = 500, camera.focal_y = 400;
  camera.centre_x = 320, camera.centre_y = 240;
  return camera;
}

TEST(LensTest, APinholeDividesByDepth) {
  const std::optional<Position> position = Lens(pinhole()).project({1, -2, 4});
  ASSERT_TRUE(position);
  EXPECT_DOUBLE_EQ((*position)[0], 320 + 125);
  EXPECT_DOUBLE_EQ((*position)[1], 240 - 200);
  EXPECT_FALSE(Lens(pinhole()).project({0, 0, -1}));
  EXPECT_FALSE(Lens(pinhole()).project({1, 0, 0}));
}

TEST(LensTest, ARayOfAPositionEndsThere) {
  RandomRig random(1);
  for (const LensModel model : {LensModel::radial_tangential, LensModel::equidistant})
    for (int i = 0; i < 100; ++i) {
      const Camera camera = random.camera(model, {640, 480});
      const Lens lens(camera);
      for (int j = 0; j < 50; ++j) {
        const Position position = {random.between(0, 639), random.between(0, 479)};
        const std::optional<Vector3> ray = lens.ray(position);
        ASSERT_TRUE(ray);
        EXPECT_NEAR(length(*ray), 1, 1e-12);
        const std::optional<Position> back = lens.project(*ray);
        ASSERT_TRUE(back);
        EXPECT_NEAR((*back)[0], position[0], 1e-8);
        EXPECT_NEAR((*back)[1], position[1], 1e-8);
      }
    }
}

// With k1 = −0.3, r (1 − 0.3 r²) is largest at r² = 1 / 0.9, where it is 2/3 r.
TEST(LensTest, RaysBeyondTheTurnOfTheModelAreNotSeen) {
  Camera camera = pinhole();
  camera.distortion[0] = -0.3;
  const Lens lens(camera);
  const double turn = std::sqrt(1 / 0.9);
  EXPECT_TRUE(lens.project({turn * 0.999, 0, 1}));
  EXPECT_FALSE(lens.project({turn * 1.001, 0, 1}));
  EXPECT_TRUE(lens.ray({320 + 500 * turn * 0.66, 240}));
  EXPECT_FALSE(lens.ray({320 + 500 * turn * 0.67, 240}));
}

// θ − θ³ / 3 is largest at 1, where it is 2/3.
TEST(LensTest, PositionsBeyondTheTurnHaveNoRay) {
  Camera camera = pinhole();
  camera.model = LensModel::equidistant;
  camera.distortion[0] = -1 / 3.0;
  EXPECT_TRUE(Lens(camera).ray({320 + 500 * 0.66, 240}));
  EXPECT_FALSE(Lens(camera).ray({320 + 500 * 0.67, 240}));
}

// Each coefficient alone, so large that the model turns back at 1.
TEST(LensTest, EveryRadialCoefficientTurnsTheModelBack) {
  const auto expect_turn = [](LensModel model, std::size_t coefficient, double value) {
    Camera camera = pinhole();
    camera.model = model;
    camera.distortion[coefficient] = value;
    const Lens lens(camera);
    for (const double inclination : {0.999, 1.001}) {
      const bool is_angle = model == LensModel::equidistant;
      const Vector3 ray = {is_angle ? std::sin(inclination) : inclination, 0,
                           is_angle ? std::cos(inclination) : 1};
      EXPECT_EQ(lens.project(ray).has_value(), inclination < 1) << "coefficient " << coefficient;
    }
  };
  for (std::size_t i = 0; i < 4; ++i)
    expect_turn(LensModel::equidistant, i, -1.0 / static_cast<double>(2 * i + 3));
  // r (1 + k r²), r (1 + k r⁴), r (1 + k r⁶), and the same with 1 / (…).
  constexpr std::size_t above[] = {0, 1, 4}, below[] = {5, 6, 7};
  for (std::size_t i = 0; i < 3; ++i) {
    expect_turn(LensModel::radial_tangential, above[i], -1.0 / static_cast<double>(2 * i + 3));
    expect_turn(LensModel::radial_tangential, below[i], 1.0 / static_cast<double>(2 * i + 1));
  }
}

TEST(LensTest, AFisheyeSeesBehindItself) {
  Camera camera = pinhole();
  camera.model = LensModel::equidistant;
  const std::optional<Position> position = Lens(camera).project({1, 0, -1});
  ASSERT_TRUE(position);
  EXPECT_NEAR((*position)[0], 320 + 500 * 0.75 * std::numbers::pi, 1e-9);
  EXPECT_FALSE(Lens(camera).project({0, 0, -1}));
  EXPECT_FALSE(Lens(camera).ray({320 + 500 * 3.2, 240}));
}

}  // namespace
}  // namespace parallax::test
