// SPDX-License-Identifier: Apache-2.0
#include "geometry/lens.h"

#include <cmath>
#include <numbers>
#include <span>

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
  for (const LensModel model :
       {LensModel::radial_tangential, LensModel::equidistant, LensModel::omnidirectional,
        LensModel::double_sphere, LensModel::extended_unified})
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

struct SeenPoint {
  Vector3 point;
  Position position;
};

Camera camera_with(LensModel model, const std::array<double, 4>& pinhole,
                   const std::array<double, 14>& coefficients) {
  Camera camera;
  camera.size = {640, 480};
  camera.focal_x = pinhole[0], camera.focal_y = pinhole[1];
  camera.centre_x = pinhole[2], camera.centre_y = pinhole[3];
  camera.model = model;
  camera.distortion = coefficients;
  return camera;
}

void expect_seen(const Camera& camera, std::span<const SeenPoint> points) {
  const Lens lens(camera);
  for (const auto& [point, expected] : points) {
    const std::optional<Position> position = lens.project(point);
    ASSERT_TRUE(position) << point[0];
    EXPECT_NEAR((*position)[0], expected[0], 1e-9);
    EXPECT_NEAR((*position)[1], expected[1], 1e-9);
    const std::optional<Vector3> ray = lens.ray(*position);
    ASSERT_TRUE(ray) << point[0];
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR((*ray)[i], point[i] / length(point), 1e-9);
  }
}

// The third point is behind the camera. Positions by OpenCV's omnidir::projectPoints.
TEST(LensTest, AnOmnidirectionalLensIsThatOfOpenCv) {
  const SeenPoint points[] = {{{0.3, -0.2, 1}, {381.5695556527967, 210.22343766580155}},
                              {{1.5, 0.7, 0.4}, {553.7020298724733, 351.03139506656026}},
                              {{-2, 1, -0.3}, {43.212057395247484, 390.5238392397928}},
                              {{0.05, 2, 1}, {334.9851152213202, 451.2006600951163}}};
  expect_seen(
      camera_with(LensModel::omnidirectional, {420, 425, 330, 245}, {1.35, -0.12, 0.03, 0.002, -0.001}),
      points);
}

// Positions by the construction that the paper draws: the point on a unit sphere, on a second one that is ξ
// behind, and in the plane of a pinhole α / (1 − α) behind that.
TEST(LensTest, ADoubleSphereIsThatOfItsPaper) {
  const SeenPoint points[] = {{{0.3, -0.2, 1}, {310.03584818405943, 219.5950876417695}},
                              {{1.5, 0.7, 0.4}, {485.99890958408946, 364.12134594352494}},
                              {{-2, 1, -0.3}, {-30.7020892396649, 399.1320206721057}},
                              {{0.05, 2, 1}, {260.26445797466505, 468.4749137352128}}};
  expect_seen(camera_with(LensModel::double_sphere, {158.28, 158.27, 254.96, 256.31}, {-0.1721, 0.5933}),
              points);
}

// Positions by intersection of the ray with the surface α √(β (x² + y²) + z²) + (1 − α) z = 1 of the paper, by
// bisection.
TEST(LensTest, AnExtendedUnifiedLensIsThatOfItsPaper) {
  const SeenPoint points[] = {{{0.3, -0.2, 1}, {322.7411012991657, 211.03417313485292}},
                              {{1.5, 0.7, 0.4}, {541.3970520026794, 390.1122169818235}},
                              {{-2, 1, -0.3}, {-102.11197269600532, 434.9576481885702}},
                              {{0.05, 2, 1}, {261.46012059133193, 518.9277674286836}}};
  expect_seen(camera_with(LensModel::extended_unified, {235.4, 235.6, 254.9, 256.3}, {0.62, 1.05}), points);
}

// A ray that is not seen, and a position without a ray, of each model: from behind, and beyond the circle that
// the image has.
TEST(LensTest, SpheresDoNotSeeEverything) {
  const Camera cameras[] = {camera_with(LensModel::omnidirectional, {100, 100, 0, 0}, {1.35}),
                            camera_with(LensModel::double_sphere, {100, 100, 0, 0}, {-0.1721, 0.5933}),
                            camera_with(LensModel::extended_unified, {100, 100, 0, 0}, {0.62, 1.05})};
  for (const Camera& camera : cameras) {
    const Lens lens(camera);
    EXPECT_FALSE(lens.project({0.1, 0, -1}));
    EXPECT_FALSE(lens.project({0, 0, 0}));
    EXPECT_FALSE(lens.ray({1000, 0}));
    ASSERT_TRUE(lens.project({0, 0, 1}));
    EXPECT_EQ((*lens.project({0, 0, 1}))[0], 0);
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
