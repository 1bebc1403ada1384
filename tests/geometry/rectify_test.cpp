// SPDX-License-Identifier: Apache-2.0
#include "parallax/rectify.h"

#include <cmath>

#include "geometry/lens.h"
#include "geometry/matrix.h"
#include "geometry/random_rig.h"
#include "support.h"

namespace parallax::test {
namespace {

// The positions in the rectified images of a point in the left camera's coordinates.
struct Seen {
  Position left, right;
};

Seen see(const Rig& rig, const Rectification& rectification, const Vector3& point) {
  Vector3 right = rig.rotation * point;
  for (std::size_t i = 0; i < 3; ++i) right[i] += rig.translation[i];
  const auto project = [&](const Vector3& p, double centre_x) -> Position {
    return {rectification.focal * p[0] / p[2] + centre_x,
            rectification.focal * p[1] / p[2] + rectification.centre_y};
  };
  return {project(rectification.rotation_left * point, rectification.centre_left_x),
          project(rectification.rotation_right * right, rectification.centre_right_x)};
}

// The position in a camera's image of a rectified pixel.
std::optional<Position> source(const Lens& lens, const Matrix3& rotation, const Rectification& to,
                               double centre_x, double x, double y) {
  return lens.project(transposed(rotation) *
                      Vector3{(x - centre_x) / to.focal, (y - to.centre_y) / to.focal, 1});
}

bool is_inside(const std::optional<Position>& position, Size size, double margin) {
  return position && (*position)[0] >= -margin && (*position)[1] >= -margin &&
         (*position)[0] <= size.width - 1 + margin && (*position)[1] <= size.height - 1 + margin;
}

TEST(RectifyTest, APointHasOneRowAndTheDisparityOfItsDepth) {
  RandomRig random(2);
  for (int i = 0; i < 200; ++i) {
    const Rig rig = random.rig();
    const Rectification rectified = rectify(rig, {.same_centres = i % 2 == 0});
    const Calibration calibration = rectified.calibration();
    EXPECT_EQ(i % 2 == 0, calibration.doffs == 0);
    for (int j = 0; j < 20; ++j) {
      const Vector3 point = {random.between(-3, 3), random.between(-3, 3), random.between(2, 30)};
      const Seen seen = see(rig, rectified, point);
      EXPECT_NEAR(seen.left[1], seen.right[1], 1e-7);
      const double disparity = seen.left[0] - seen.right[0];
      const double distance = (rectified.rotation_left * point)[2];
      EXPECT_NEAR(calibration.focal * calibration.baseline / (disparity + calibration.doffs), distance,
                  1e-6 * distance);
    }
  }
}

TEST(RectifyTest, WithAlpha0BothCamerasSawEveryPixel) {
  RandomRig random(3);
  int at_the_limit = 0;
  for (int i = 0; i < 60; ++i) {
    const Rig rig = i == 0 ? chessboard_rig() : i == 1 ? car_rig() : random.rig();
    const Rectification rectified = rectify(rig, {.same_centres = i % 3 != 0, .size = {301, 199}});
    const auto [width, height] = rectified.size;
    const Lens left_lens(rig.left), right_lens(rig.right);
    int touching = 0;
    const auto check = [&](double x, double y) {
      const auto left = source(left_lens, rectified.rotation_left, rectified, rectified.centre_left_x, x, y);
      const auto right =
          source(right_lens, rectified.rotation_right, rectified, rectified.centre_right_x, x, y);
      EXPECT_TRUE(is_inside(left, rig.left.size, 1e-3)) << "rig " << i << ", pixel " << x << ", " << y;
      EXPECT_TRUE(is_inside(right, rig.right.size, 1e-3)) << "rig " << i << ", pixel " << x << ", " << y;
      touching += !is_inside(left, rig.left.size, -0.5) || !is_inside(right, rig.right.size, -0.5);
    };
    for (int x = 0; x < width; ++x) check(x, 0), check(x, height - 1);
    for (int y = 0; y < height; ++y) check(0, y), check(width - 1, y);
    at_the_limit += touching > 0;
  }
  // A view is not at its widest if borders are bent inwards at the corners.
  EXPECT_GT(at_the_limit, 30);
}

TEST(RectifyTest, WithAlpha1EveryPixelOfTheCamerasIsKept) {
  RandomRig random(4);
  for (int i = 0; i < 60; ++i) {
    const Rig rig = i == 0 ? chessboard_rig() : i == 1 ? car_rig() : random.rig();
    const Rectification rectified =
        rectify(rig, {.alpha = 1, .same_centres = i % 3 != 0, .size = {301, 199}});
    const Camera* cameras[] = {&rig.left, &rig.right};
    const Matrix3 rotations[] = {rectified.rotation_left, rectified.rotation_right};
    const double centres[] = {rectified.centre_left_x, rectified.centre_right_x};
    int touching = 0;
    for (const int side : {0, 1}) {
      const Lens lens(*cameras[side]);
      const auto check = [&](int x, int y) {
        const std::optional<Vector3> own = lens.ray({double(x), double(y)});
        ASSERT_TRUE(own) << "rig " << i;
        const Vector3 ray = rotations[side] * *own;
        const Position at = {rectified.focal * ray[0] / ray[2] + centres[side],
                             rectified.focal * ray[1] / ray[2] + rectified.centre_y};
        EXPECT_TRUE(is_inside(at, rectified.size, 1e-6)) << "rig " << i;
        touching += !is_inside(at, rectified.size, -1);
      };
      const auto [width, height] = cameras[side]->size;
      for (int x = 0; x < width; ++x) check(x, 0), check(x, height - 1);
      for (int y = 0; y < height; ++y) check(0, y), check(width - 1, y);
    }
    EXPECT_GT(touching, 0) << "rig " << i;
  }
}

TEST(RectifyTest, ARectifiedRigStaysAsItIs) {
  Rig rig;
  rig.left.size = {101, 81};
  rig.left.focal_x = rig.left.focal_y = 90;
  rig.left.centre_x = 50, rig.left.centre_y = 40;
  rig.right = rig.left;
  rig.translation = {-0.5, 0, 0};
  const Rectification rectified = rectify(rig);
  EXPECT_EQ(rectified.rotation_left, Matrix3({1, 0, 0, 0, 1, 0, 0, 0, 1}));
  EXPECT_EQ(rectified.rotation_right, rectified.rotation_left);
  EXPECT_NEAR(rectified.focal, 90, 1e-9);
  EXPECT_NEAR(rectified.centre_left_x, 50, 1e-9);
  EXPECT_NEAR(rectified.centre_right_x, 50, 1e-9);
  EXPECT_NEAR(rectified.centre_y, 40, 1e-9);
  EXPECT_EQ(rectified.baseline, 0.5);
  EXPECT_EQ(rectified.size, rig.left.size);
  EXPECT_NEAR(rectify(rig, {.zoom = 2}).focal, 180, 1e-9);
  EXPECT_NEAR(rectify(rig, {.size = {201, 161}}).focal, 180, 1e-9);
  // Lanczos's window takes three pixels on each side.
  EXPECT_NEAR(rectify(rig, {.interpolation = Interpolation::lanczos3}).focal, 90 * 80 / 74.0, 1e-9);
}

TEST(RectifyTest, AFisheyeOfHalfTheWorldIsCutAt76Degrees) {
  Rig rig;
  rig.left.size = {1000, 1000};
  rig.left.model = LensModel::equidistant;
  rig.left.focal_x = rig.left.focal_y = 300;
  rig.left.centre_x = rig.left.centre_y = 499.5;
  rig.right = rig.left;
  rig.translation = {-0.1, 0, 0};
  const Rectification rectified = rectify(rig, {.alpha = 1});
  EXPECT_NEAR(999 / rectified.focal, 2 * 4, 1e-3);
}

// The point that each camera sees at a position of the rectified pair, on the same row of both.
void expect_same_rows(const Rig& rig, const Rectification& rectified) {
  const Lens left(rig.left), right(rig.right);
  int seen = 0;
  for (const Vector3& point :
       {Vector3{0.1, 0.05, 2}, Vector3{-0.4, 0.3, 3}, Vector3{0.2, -0.5, 2.5}, Vector3{0, 0, 1.5}}) {
    Vector3 there = rig.rotation * point;
    for (std::size_t i = 0; i < 3; ++i) there[i] += rig.translation[i];
    const Vector3 a = rectified.rotation_left * point, b = rectified.rotation_right * there;
    const double depth = a[2];
    EXPECT_NEAR(b[2], depth, 1e-9);
    EXPECT_NEAR(a[1], b[1], 1e-9);
    EXPECT_NEAR(a[0] - b[0], rectified.baseline, 1e-9);
    seen += left.project(point).has_value() && right.project(there).has_value();
  }
  EXPECT_EQ(seen, 4);
}

Camera upright_camera() {
  Camera camera;
  camera.size = {640, 480};
  camera.focal_x = camera.focal_y = 500;
  camera.centre_x = 319.5, camera.centre_y = 239.5;
  return camera;
}

// The first column of a rotation is where the camera's x axis points in the rectified image.
TEST(RectifyTest, CamerasAboveEachOtherAreTurned) {
  Rig rig{upright_camera(), upright_camera()};
  rig.rotation = rotation_about({0.02, -0.01, 0.015});
  rig.translation = {0.002, -0.12, 0.001};  // the second camera is below
  Rectification rectified = rectify(rig);
  expect_same_rows(rig, rectified);
  EXPECT_EQ(rectified.quarter_turns, 3);
  EXPECT_EQ(rectified.size, (Size{480, 640}));
  EXPECT_LT(rectified.rotation_left[3], -0.99);  // to the right in the camera is up
  EXPECT_GT(rectified.focal, 450);
  rig.translation = {0.002, 0.12, 0.001};
  rectified = rectify(rig);
  expect_same_rows(rig, rectified);
  EXPECT_EQ(rectified.quarter_turns, 1);
  EXPECT_GT(rectified.rotation_left[3], 0.99);
  EXPECT_EQ(rectify(rig, {.size = {300, 400}}).size, (Size{300, 400}));
}

TEST(RectifyTest, ACameraMayBeUpsideDown) {
  const Matrix3 upside_down = {-1, 0, 0, 0, -1, 0, 0, 0, 1};
  Rig rig{upright_camera(), upright_camera()};
  rig.rotation = rotation_about({0.01, 0.02, 0.01}) * upside_down;
  rig.translation = rig.rotation * Vector3{-0.1, 0.001, 0};  // 0.1 to the right of the left camera
  EXPECT_GT(rig.translation[0], 0.09);
  Rectification rectified = rectify(rig);
  expect_same_rows(rig, rectified);
  EXPECT_EQ(rectified.quarter_turns, 0);
  EXPECT_GT(rectified.rotation_left[0], 0.99);
  EXPECT_GT(rectified.focal, 450);
  // The left one is upside down where it sees the right one on its left.
  rig.translation = rig.rotation * Vector3{0.1, 0.001, 0};
  rectified = rectify(rig);
  expect_same_rows(rig, rectified);
  EXPECT_EQ(rectified.quarter_turns, 2);
  EXPECT_LT(rectified.rotation_left[0], -0.99);
  // On its side.
  rig.rotation = Matrix3{0, -1, 0, 1, 0, 0, 0, 0, 1};
  rig.translation = rig.rotation * Vector3{-0.1, 0, 0};
  rectified = rectify(rig);
  expect_same_rows(rig, rectified);
  EXPECT_EQ(rectified.quarter_turns, 0);
}

TEST(RectifyTest, RefusesWhatCannotBeRectified) {
  const auto refused = [](const Rig& rig, const RectifyParameters& parameters, std::string_view reason) {
    expect_refused([&] { rectify(rig, parameters); }, reason);
  };
  const Rig rig = chessboard_rig();
  refused(rig, {.alpha = -0.1}, "alpha is -0.1");
  refused(rig, {.alpha = 1.5}, "alpha is 1.5");
  refused(rig, {.zoom = 0}, "zoom is 0");
  refused(rig, {.size = {0, 10}}, "image is 0×10");
  Rig other = rig;
  other.translation = {};
  refused(other, {}, "no baseline");
  other.translation = {0.2, 0.01, 0};
  refused(other, {}, "exchange the two pictures");
  other.translation = {0.1, 0.01, 0.15};
  refused(other, {}, "exchange the cameras");
  other = rig;
  other.rotation = rotation_about({0, 3, 0});
  refused(other, {}, "looks along the baseline");
  other.rotation = {-1, 0, 0, 0, 1, 0, 0, 0, -1};
  refused(other, {}, "looks along the baseline or backwards");
  other = rig;
  other.rotation = rotation_about({0, 1.4, 0});
  refused(other, {}, "no rectangle was seen by both cameras");
  other = rig;
  other.left.size = {};
  refused(other, {}, "left.size is 0×0");
}

}  // namespace
}  // namespace parallax::test
