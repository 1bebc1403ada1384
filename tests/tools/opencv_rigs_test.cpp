// SPDX-License-Identifier: Apache-2.0
// Rigs as OpenCV writes, reads and rectifies them. Built where OpenCV is installed.
#include <random>

#include <gtest/gtest.h>
#include <opencv2/calib3d.hpp>
#include <opencv2/core.hpp>

#include "support.h"
#include "tools/files/rigs/rig_files.h"
#include "tools/rig_texts.h"

namespace parallax::test {
namespace {

using tool::parse_rig;
using tool::RigFile;
using tool::RigFormat;
using Files = std::vector<RigFile>;

// The members of a rig as OpenCV has them.
struct OpenCvRig {
  cv::Mat m1, d1, m2, d2, r, t;
  cv::Size size;
};

OpenCvRig general_rig() {
  OpenCvRig rig;
  rig.m1 = (cv::Mat_<double>(3, 3) << 701.5, 0, 642.25, 0, 702.75, 361.125, 0, 0, 1);
  rig.m2 = (cv::Mat_<double>(3, 3) << 709.5, 0, 633.5, 0, 708.25, 355.75, 0, 0, 1);
  rig.d1 = (cv::Mat_<double>(1, 5) << -0.17, 0.03, 5e-4, -7e-4, 0.01);
  rig.d2 = (cv::Mat_<double>(1, 5) << -0.16, 0.02, 4e-4, 6e-4, 0.02);
  cv::Rodrigues(cv::Vec3d(0.01, -0.03, 0.02), rig.r);
  rig.t = (cv::Mat_<double>(3, 1) << -0.12, 0.003, -0.005);
  rig.size = {1280, 720};
  return rig;
}

Rig rig_of(const OpenCvRig& rig) {
  const auto camera = [&](const cv::Mat& m, const cv::Mat& d) {
    Camera camera;
    camera.size = {rig.size.width, rig.size.height};
    camera.focal_x = m.at<double>(0, 0);
    camera.focal_y = m.at<double>(1, 1);
    camera.centre_x = m.at<double>(0, 2);
    camera.centre_y = m.at<double>(1, 2);
    std::copy(d.begin<double>(), d.end<double>(), camera.distortion.begin());
    return camera;
  };
  Rig result;
  result.left = camera(rig.m1, rig.d1);
  result.right = camera(rig.m2, rig.d2);
  std::copy(rig.r.begin<double>(), rig.r.end<double>(), result.rotation.begin());
  std::copy(rig.t.begin<double>(), rig.t.end<double>(), result.translation.begin());
  return result;
}

class OpenCvRigsTest : public testing::TestWithParam<const char*> {
 protected:
  std::string path(const std::string& name) const { return (folder_.path() / (name + GetParam())).string(); }

  template <class Write>
  std::string written(const std::string& name, const Write& write) const {
    cv::FileStorage file(path(name), cv::FileStorage::WRITE);
    write(file);
    file.release();
    return path(name);
  }

  const TemporaryFolder folder_;
};

// Files in the format of stereo_calib.cpp, with the size in addition.
TEST_P(OpenCvRigsTest, FilesOfTwoParts) {
  const OpenCvRig rig = general_rig();
  const std::string intrinsics = written("intrinsics", [&](cv::FileStorage& file) {
    file << "imageSize" << rig.size << "M1" << rig.m1 << "D1" << rig.d1 << "M2" << rig.m2 << "D2" << rig.d2;
  });
  const std::string extrinsics =
      written("extrinsics", [&](cv::FileStorage& file) { file << "R" << rig.r << "T" << rig.t; });
  expect_near(tool::read_rig({intrinsics, extrinsics}), rig_of(rig), 1e-15);
}

// calibrateCamera() may return columns, and floats.
TEST_P(OpenCvRigsTest, ColumnsFloatsAndVectors) {
  OpenCvRig rig = general_rig();
  cv::Mat floats, vector;
  rig.m1.convertTo(floats, CV_32F);
  cv::Rodrigues(rig.r, vector);
  const std::string file = written("rig", [&](cv::FileStorage& out) {
    out << "image_width" << rig.size.width << "image_height" << rig.size.height << "cameraMatrix1" << floats
        << "distCoeffs1" << rig.d1.t() << "cameraMatrix2" << rig.m2 << "distCoeffs2" << rig.d2.t() << "R"
        << vector << "T" << rig.t.t();
  });
  expect_near(tool::read_rig({file}), rig_of(rig), 1e-12);
}

TEST_P(OpenCvRigsTest, OpenCvReadsWhatIsWritten) {
  const OpenCvRig rig = general_rig();
  const std::string name = path("written");
  const Files files = tool::encode_rig(rig_of(rig), RigFormat::opencv, {name});
  write_file(name, bytes_of(files[0].text));
  const cv::FileStorage file(name, cv::FileStorage::READ);
  const std::pair<const char*, cv::Mat> matrices[] = {{"M1", rig.m1}, {"D1", rig.d1}, {"M2", rig.m2},
                                                      {"D2", rig.d2}, {"R", rig.r},   {"T", rig.t}};
  for (const auto& [key, expected] : matrices) {
    cv::Mat read;
    file[key] >> read;
    ASSERT_EQ(read.size(), expected.size()) << key;
    EXPECT_EQ(cv::norm(read, expected, cv::NORM_INF), 0) << key;
  }
  EXPECT_EQ(static_cast<int>(file["image_width"]), 1280);
  EXPECT_EQ(static_cast<int>(file["image_height"]), 720);
}

// The rig of the pictures that stereoRectify() describes has the baseline of the calibration, to the left.
TEST_P(OpenCvRigsTest, ResultsOfStereoRectify) {
  const OpenCvRig rig = general_rig();
  cv::Mat r1, r2, p1, p2, q;
  cv::stereoRectify(rig.m1, rig.d1, rig.m2, rig.d2, rig.size, rig.r, rig.t, r1, r2, p1, p2, q);
  const std::string file = written("rectified", [&](cv::FileStorage& out) {
    out << "Size" << rig.size << "R1" << r1 << "R2" << r2 << "P1" << p1 << "P2" << p2 << "Q" << q;
  });
  const Rig rectified = tool::read_rig({file});
  EXPECT_NEAR(rectified.translation[0], -cv::norm(rig.t), 1e-12);
  EXPECT_NEAR(rectified.translation[1], 0, 1e-12);
  EXPECT_EQ(rectified.rotation, Rig().rotation);
  EXPECT_EQ(rectified.right.focal_x, p2.at<double>(0, 0));
}

INSTANTIATE_TEST_SUITE_P(Formats, OpenCvRigsTest, testing::Values(".yml", ".xml", ".json"),
                         [](const auto& info) { return std::string(info.param).substr(1); });

std::string list_of(const cv::Mat& matrix) {
  std::string text;
  for (auto element = matrix.begin<double>(); element != matrix.end<double>(); ++element)
    text += (text.empty() ? "" : ", ") + cv::format("%.17g", *element);
  return text;
}

// cv::FileStorage reads a map as a matrix only if it has its tag and the type of its elements.
std::string with_opencv_tags(std::string text) {
  for (const std::string key : {"rectification_matrix:", "projection_matrix:"})
    text.replace(text.find(key), key.size(), key + " !!opencv-matrix\n  dt: d");
  return text;
}

RigFile ros_file(const std::string& name, const OpenCvRig& rig, const cv::Mat& m, const cv::Mat& d,
                 const cv::Mat& r, const cv::Mat& p) {
  const auto matrix = [](const std::string& key, const cv::Mat& value) {
    return key + ": {rows: " + std::to_string(value.rows) + ", cols: " + std::to_string(value.cols) +
           ", data: [" + list_of(value) + "]}\n";
  };
  return {name, "image_width: " + std::to_string(rig.size.width) +
                    "\nimage_height: " + std::to_string(rig.size.height) + "\ndistortion_model: plumb_bob\n" +
                    matrix("camera_matrix", m) + matrix("distortion_coefficients", d) +
                    matrix("rectification_matrix", r) + matrix("projection_matrix", p)};
}

// ROS's calibrator stores R1, R2, P1 and P2 of stereoRectify(): R and T follow from them.
TEST(OpenCvRosTest, RectificationGivesTheRigBack) {
  const OpenCvRig rig = general_rig();
  cv::Mat r1, r2, p1, p2, q;
  cv::stereoRectify(rig.m1, rig.d1, rig.m2, rig.d2, rig.size, rig.r, rig.t, r1, r2, p1, p2, q);
  expect_near(parse_rig(Files{ros_file("left.yaml", rig, rig.m1, rig.d1, r1, p1),
                              ros_file("right.yaml", rig, rig.m2, rig.d2, r2, p2)}),
              rig_of(rig), 1e-9);
}

// The files written for ROS rectify: a point is in the same row of both views, and its disparity is f · B /
// Z.
TEST(OpenCvRosTest, WrittenRectificationAlignsRows) {
  const OpenCvRig rig = general_rig();
  const Files files = tool::encode_rig(rig_of(rig), RigFormat::ros, {"left.yaml", "right.yaml"});
  cv::Mat r[2], p[2];
  for (int side = 0; side < 2; ++side) {
    const cv::FileStorage file(
        "%YAML:1.0\n---\n" + with_opencv_tags(files[static_cast<std::size_t>(side)].text),
        cv::FileStorage::READ | cv::FileStorage::MEMORY);
    file["rectification_matrix"] >> r[side];
    file["projection_matrix"] >> p[side];
  }
  const cv::Mat left = (cv::Mat_<double>(3, 1) << 0.3, -0.2, 2), right = rig.r * left + rig.t;
  const auto seen = [&](int side, const cv::Mat& point) {
    const cv::Mat turned = r[side] * point, k = p[side](cv::Rect(0, 0, 3, 3)), pixel = k * turned;
    return cv::Vec3d(pixel.at<double>(0) / pixel.at<double>(2), pixel.at<double>(1) / pixel.at<double>(2),
                     pixel.at<double>(2));
  };
  const cv::Vec3d in_left = seen(0, left), in_right = seen(1, right);
  EXPECT_NEAR(in_left[1], in_right[1], 1e-9);
  EXPECT_NEAR(in_left[0] - in_right[0], -p[1].at<double>(0, 3) / in_left[2], 1e-9);
  EXPECT_GT(in_left[0], in_right[0]);
}

// The vector of Rodrigues of a Stereolabs file is OpenCV's.
TEST(OpenCvStereolabsTest, RotationIsOpenCvs) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> angle(-1.5, 1.5);
  for (int i = 0; i < 50; ++i) {
    const cv::Vec3d axis(angle(random), angle(random), angle(random));
    cv::Mat expected;
    cv::Rodrigues(axis, expected);
    RigFile file = stereolabs;
    const auto replace = [&](const std::string& key, double value) {
      const std::size_t at = file.text.find(key);
      file.text.replace(at, file.text.find('\n', at) - at, key + cv::format("%.17g", value));
    };
    replace("RX_HD=", axis[0]);
    replace("CV_HD=", axis[1]);
    replace("RZ_HD=", axis[2]);
    tool::RigChoices choices;
    choices.size = {1280, 720};
    const Rig rig = parse_rig(Files{file}, choices);
    for (std::size_t e = 0; e < 9; ++e) EXPECT_NEAR(rig.rotation[e], expected.ptr<double>()[e], 1e-14);
  }
}

}  // namespace
}  // namespace parallax::test
