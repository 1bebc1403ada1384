// SPDX-License-Identifier: Apache-2.0
// Compares lenses, rectification and maps with OpenCV's.
#include "parallax/rectify.h"

#include <cmath>

#include <opencv2/calib3d.hpp>

#include "geometry/lens.h"
#include "geometry/random_rig.h"
#include "remap/map.h"
#include "support.h"

namespace parallax::test {
namespace {

cv::Matx33d camera_matrix(const Camera& camera) {
  return {camera.focal_x, 0, camera.centre_x, 0, camera.focal_y, camera.centre_y, 0, 0, 1};
}

std::vector<double> coefficients(const Camera& camera) {
  const std::size_t count = camera.model == LensModel::equidistant ? 4 : 14;
  return {camera.distortion.begin(), camera.distortion.begin() + static_cast<std::ptrdiff_t>(count)};
}

cv::Matx33d matrix(const Matrix3& m) {
  return {m[0], m[1], m[2], m[3], m[4], m[5], m[6], m[7], m[8]};
}

// Two real rigs and random ones: 200 in all.
std::vector<Rig> rigs() {
  std::vector<Rig> result = {chessboard_rig(), car_rig()};
  RandomRig random(5);
  while (result.size() < 200) result.push_back(random.rig());
  return result;
}

TEST(OpenCvRectifyTest, RaysEndWhereOpenCvProjectsThem) {
  RandomRig random(6);
  for (const Rig& rig : rigs()) {
    const Camera& camera = rig.left;
    const Lens lens(camera);
    std::vector<cv::Point3d> points;
    for (int i = 0; i < 20; ++i) points.emplace_back(random.between(-0.6, 0.6), random.between(-0.4, 0.4), 1);
    std::vector<cv::Point2d> theirs;
    if (camera.model == LensModel::equidistant)
      cv::fisheye::projectPoints(points, theirs, cv::Mat::zeros(3, 1, CV_64F), cv::Mat::zeros(3, 1, CV_64F),
                                 camera_matrix(camera), coefficients(camera));
    else
      cv::projectPoints(points, cv::Vec3d(), cv::Vec3d(), camera_matrix(camera), coefficients(camera),
                        theirs);
    for (std::size_t i = 0; i < points.size(); ++i) {
      const std::optional<Position> ours = lens.project({points[i].x, points[i].y, points[i].z});
      ASSERT_TRUE(ours);
      EXPECT_NEAR((*ours)[0], theirs[i].x, 1e-8);
      EXPECT_NEAR((*ours)[1], theirs[i].y, 1e-8);
    }
  }
}

TEST(OpenCvRectifyTest, CamerasTurnAsWithStereoRectify) {
  for (const Rig& rig : rigs()) {
    if (rig.left.model == LensModel::equidistant || rig.right.model == LensModel::equidistant) continue;
    cv::Mat left, right, projection_left, projection_right, q;
    cv::stereoRectify(camera_matrix(rig.left), coefficients(rig.left), camera_matrix(rig.right),
                      coefficients(rig.right), {rig.left.size.width, rig.left.size.height},
                      matrix(rig.rotation),
                      cv::Vec3d(rig.translation[0], rig.translation[1], rig.translation[2]), left, right,
                      projection_left, projection_right, q, cv::CALIB_ZERO_DISPARITY, 1);
    const Rectification ours = rectify(rig, {.alpha = 1});
    EXPECT_LT(cv::norm(left, cv::Mat(matrix(ours.rotation_left)), cv::NORM_INF), 1e-9);
    EXPECT_LT(cv::norm(right, cv::Mat(matrix(ours.rotation_right)), cv::NORM_INF), 1e-9);
    const double focal = projection_right.at<double>(0, 0);
    EXPECT_NEAR(-projection_right.at<double>(0, 3) / focal, ours.baseline, 1e-9);
  }
}

// The map in floats of OpenCV, for the same rotation and new camera.
cv::Mat opencv_map(const Camera& camera, const Matrix3& rotation, double centre_x, const Rectification& to) {
  const cv::Matx33d rectified(to.focal, 0, centre_x, 0, to.focal, to.centre_y, 0, 0, 1);
  const cv::Size size(to.size.width, to.size.height);
  cv::Mat columns, rows, both;
  if (camera.model == LensModel::equidistant)
    cv::fisheye::initUndistortRectifyMap(camera_matrix(camera), coefficients(camera), matrix(rotation),
                                         rectified, size, CV_32FC1, columns, rows);
  else
    cv::initUndistortRectifyMap(camera_matrix(camera), coefficients(camera), matrix(rotation), rectified,
                                size, CV_32FC1, columns, rows);
  cv::merge(std::vector<cv::Mat>{columns, rows}, both);
  return both;
}

TEST(OpenCvRectifyTest, MapsAreThoseOfInitUndistortRectifyMap) {
  int seen = 0;
  for (const Rig& rig : rigs()) {
    const Rectification to = rectify(rig, {.alpha = 0.5, .size = {80, 60}});
    const Camera* cameras[] = {&rig.left, &rig.right};
    const Matrix3 rotations[] = {to.rotation_left, to.rotation_right};
    const double centres[] = {to.centre_left_x, to.centre_right_x};
    for (const int side : {0, 1}) {
      const cv::Mat theirs = opencv_map(*cameras[side], rotations[side], centres[side], to);
      const remap::Map ours = remap::make_map(*cameras[side], rotations[side], centres[side], to,
                                              Interpolation::bilinear, Workers(1));
      for (int y = 0; y < 60; ++y)
        for (int x = 0; x < 80; ++x) {
          if (ours.x.at(x, y) == remap::unseen) continue;
          const remap::Block block = ours.blocks.at(x / remap::block_columns, y);
          const cv::Vec2f expected = theirs.at<cv::Vec2f>(y, x);
          ASSERT_NEAR(block.x + ours.x.at(x, y) / 64.0, expected[0], 0.01);
          ASSERT_NEAR(block.y + ours.y.at(x, y) / 64.0, expected[1], 0.01);
          ++seen;
        }
    }
  }
  EXPECT_GT(seen, 200 * 2 * 80 * 60 / 2);
}

// OpenCV maps points in space to the rectified images: their rows agree.
TEST(OpenCvRectifyTest, UndistortedPointsHaveOneRow) {
  RandomRig random(7);
  for (const Rig& rig : rigs()) {
    const Rectification to = rectify(rig);
    const auto row = [&](const Camera& camera, const Matrix3& rotation, const Position& position) {
      const cv::Matx33d rectified(to.focal, 0, 0, 0, to.focal, to.centre_y, 0, 0, 1);
      const std::vector<cv::Point2d> from = {{position[0], position[1]}};
      std::vector<cv::Point2d> undistorted;
      if (camera.model == LensModel::equidistant)
        cv::fisheye::undistortPoints(from, undistorted, camera_matrix(camera), coefficients(camera),
                                     matrix(rotation), rectified);
      else
        cv::undistortPoints(from, undistorted, camera_matrix(camera), coefficients(camera), matrix(rotation),
                            rectified,
                            cv::TermCriteria(cv::TermCriteria::COUNT | cv::TermCriteria::EPS, 500, 1e-12));
      return undistorted[0].y;
    };
    for (int i = 0; i < 20; ++i) {
      const Vector3 point = {random.between(-1, 1), random.between(-1, 1), random.between(4, 30)};
      Vector3 in_right = rig.rotation * point;
      for (std::size_t axis = 0; axis < 3; ++axis) in_right[axis] += rig.translation[axis];
      const std::optional<Position> left = Lens(rig.left).project(point),
                                    right = Lens(rig.right).project(in_right);
      ASSERT_TRUE(left && right);
      EXPECT_NEAR(row(rig.left, to.rotation_left, *left), row(rig.right, to.rotation_right, *right), 0.001);
    }
  }
}

}  // namespace
}  // namespace parallax::test
