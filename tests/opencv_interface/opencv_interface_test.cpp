// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "parallax/opencv.h"

#include "opencv_interface/pair.h"

namespace parallax::test {
namespace {

constexpr float none = std::numeric_limits<float>::infinity();

// Leaves pixels without a disparity.
constexpr const char* with_gaps = R"({"fill": "none", "uniqueness": 5})";

void expect_disparities(const cv::Mat& actual, const Plane<float>& expected, int minimum) {
  ASSERT_EQ(actual.type(), CV_16S);
  ASSERT_EQ(actual.size(), cv::Size(expected.width(), expected.height()));
  int missing = 0, different = 0;
  for (int y = 0; y < actual.rows; ++y)
    for (int x = 0; x < actual.cols; ++x) {
      const bool is_missing = expected.at(x, y) == none;
      missing += is_missing;
      const float found = actual.at<short>(y, x) / 16.0f;
      different += is_missing ? found != static_cast<float>(minimum - 1)
                              : std::abs(found - expected.at(x, y)) > 1 / 32.0f;
    }
  EXPECT_GT(missing, 0);
  EXPECT_EQ(different, 0);
}

TEST(OpenCvTest, GivesTheDisparitiesOfTheMatcherIn16thsOfAPixel) {
  for (const std::string& method : list_methods())
    for (const int minimum : {-3, 0, 2}) {
      SCOPED_TRACE(method + " from " + std::to_string(minimum));
      const Pictures pair(CV_8U);
      const auto matcher = opencv::create(method, minimum, 30, R"({"fill": "none"})", cpu(2));
      cv::Mat disparity;
      cv::Ptr<cv::StereoMatcher>(matcher)->compute(pair.left, pair.right, disparity);
      expect_disparities(disparity, match(matcher->parameters(), cpu(2), pair.views()).disparity, minimum);
    }
}

TEST(OpenCvTest, Takes16BitsAndOtherFormatsInTurn) {
  const auto matcher = opencv::create("block", 0, 30, with_gaps, cpu(2));
  cv::Mat disparity;
  for (const int depth : {CV_8U, CV_16U, CV_8U}) {
    const Pictures pair(depth);
    matcher->compute(pair.left, pair.right, disparity);
    expect_disparities(disparity, match(matcher->parameters(), cpu(2), pair.views()).disparity, 0);
  }
  const Pictures pair(CV_8U);
  const cv::Rect part(10, 5, 100, 60);  // with gaps between its rows
  const Pictures cut{pair.left(part), pair.right(part)};
  matcher->compute(cut.left, cut.right, disparity);
  expect_disparities(disparity, match(matcher->parameters(), cpu(2), cut.views()).disparity, 0);
}

TEST(OpenCvTest, ColourIsBlueGreenRed) {
  const SynthPair pair = synth(Scene::planes);
  const auto matcher =
      opencv::create("bp", 0, 20, R"({"fill": "none", "cost": "absolute-difference-colour"})", cpu(2));
  cv::Mat disparity;
  matcher->compute(as_bgr(pair.left_view()), as_bgr(pair.right_view()), disparity);
  expect_disparities(disparity, match(matcher->parameters(), cpu(2), views(pair)).disparity, 0);
  // The gray values of the other order differ.
  const auto block = opencv::create("block", 0, 20, with_gaps, cpu(2));
  block->compute(as_bgr(pair.left_view()), as_bgr(pair.right_view()), disparity);
  expect_disparities(disparity, match(block->parameters(), cpu(2), views(pair)).disparity, 0);
}

TEST(OpenCvTest, FloatsAreInPixels) {
  const Pictures pair(CV_8U);
  const auto matcher = opencv::create("block", 2, 30, with_gaps, cpu(2));
  const Plane<float> expected = match(matcher->parameters(), cpu(2), pair.views()).disparity;
  const auto expect_floats = [&](const cv::Mat& disparity) {
    ASSERT_EQ(disparity.type(), CV_32F);
    for (int y = 0; y < disparity.rows; ++y)
      for (int x = 0; x < disparity.cols; ++x)
        ASSERT_EQ(disparity.at<float>(y, x), expected.at(x, y) == none ? 1 : expected.at(x, y));
  };
  cv::Mat_<float> typed;
  matcher->compute(pair.left, pair.right, typed);
  expect_floats(typed);
  // A map that the caller has converted is again one of 16ths in the next frame.
  cv::Mat disparity = typed.clone();
  matcher->compute(pair.left, pair.right, disparity);
  expect_disparities(disparity, expected, 2);
  matcher->setDisparityType(CV_32F);
  matcher->compute(pair.left, pair.right, disparity);
  expect_floats(disparity);
}

// Camera of focal length 100, centre (80, 48), baseline 1.
TEST(OpenCvTest, ReprojectedPointsAreRightWhereThereAreNone) {
  const cv::Matx44d q(1, 0, 0, -80, 0, 1, 0, -48, 0, 0, 0, 100, 0, 0, 1, 0);
  const Pictures pair(CV_8U);
  const auto matcher = opencv::create("block", 1, 30, with_gaps, cpu(2));
  for (const int type : {CV_16S, CV_32F}) {
    matcher->setDisparityType(type);
    cv::Mat disparity, pixels, points;
    matcher->compute(pair.left, pair.right, disparity);
    disparity.convertTo(pixels, CV_32F, type == CV_16S ? 1 / 16.0 : 1);
    cv::reprojectImageTo3D(pixels, points, q, true);
    for (int y = 0; y < pixels.rows; ++y)
      for (int x = 0; x < pixels.cols; ++x) {
        const float d = pixels.at<float>(y, x), depth = points.at<cv::Vec3f>(y, x)[2];
        ASSERT_NEAR(depth, d == 0 ? 10000 : 100 / d, 1e-3) << x << ", " << y << ", disparity " << d;
      }
  }
}

TEST(OpenCvTest, SettersSetTheParametersThatMeanTheSame) {
  const auto ours = opencv::create("block");
  const cv::Ptr<cv::StereoMatcher> matcher = ours;
  const auto expect_parameter = [&](const char* name, const char* value) {
    EXPECT_EQ(get_parameter(ours->parameters(), name), value) << name;
  };
  matcher->setMinDisparity(-7);
  EXPECT_EQ(matcher->getMinDisparity(), -7);
  expect_parameter("min_disparity", "-7");
  matcher->setNumDisparities(33);
  EXPECT_EQ(matcher->getNumDisparities(), 33);
  expect_parameter("disparities", "33");
  matcher->setBlockSize(13);
  EXPECT_EQ(matcher->getBlockSize(), 13);
  expect_parameter("window", "13");
  matcher->setSpeckleWindowSize(100);
  EXPECT_EQ(matcher->getSpeckleWindowSize(), 100);
  expect_parameter("speckle_size", "101");
  matcher->setSpeckleWindowSize(0);
  EXPECT_EQ(matcher->getSpeckleWindowSize(), 0);
  expect_parameter("speckle_size", "0");
  matcher->setSpeckleRange(2);
  EXPECT_EQ(matcher->getSpeckleRange(), 2);
  expect_parameter("speckle_range", "2");
  matcher->setDisp12MaxDiff(3);
  EXPECT_EQ(matcher->getDisp12MaxDiff(), 3);
  expect_parameter("left_right_check", "true");
  expect_parameter("left_right_tolerance", "3");
  matcher->setDisp12MaxDiff(-1);
  EXPECT_EQ(matcher->getDisp12MaxDiff(), -1);
  expect_parameter("left_right_check", "false");
  ours->setParameter("cost", "zncc");
  expect_parameter("cost", "zncc");
  EXPECT_EQ(ours->getDisparityType(), CV_16S);
}

TEST(OpenCvTest, ASetterAppliesToTheNextMatch) {
  const Pictures pair(CV_8U);
  const auto matcher = opencv::create("block", 0, 30, with_gaps, cpu(2));
  cv::Mat disparity;
  matcher->compute(pair.left, pair.right, disparity);
  matcher->setMinDisparity(4);
  matcher->setBlockSize(5);
  matcher->compute(pair.left, pair.right, disparity);
  expect_disparities(disparity, match(matcher->parameters(), cpu(2), pair.views()).disparity, 4);
}

// OpenCV removes regions of up to the given size, Parallax those of fewer pixels.
TEST(OpenCvTest, SpecklesAreThoseOfFilterSpeckles) {
  const Pictures pair(CV_8U);
  const char* bare =
      R"({"fill": "none", "median": 0, "left_right_check": false, "speckle_size": 0, "sub_pixel": "none"})";
  const auto matcher = opencv::create("block", 0, 30, bare, cpu(2));
  matcher->setBlockSize(3);
  cv::Mat expected, disparity;
  matcher->compute(pair.left, pair.right, expected);
  const cv::Mat unfiltered = expected.clone();
  cv::filterSpeckles(expected, -16, 20, 16);
  matcher->setSpeckleWindowSize(20);
  matcher->setSpeckleRange(1);
  matcher->compute(pair.left, pair.right, disparity);
  EXPECT_NE(cv::norm(expected, unfiltered, cv::NORM_INF), 0);
  EXPECT_EQ(cv::norm(expected, disparity, cv::NORM_INF), 0);
}

TEST(OpenCvTest, IsSavedAndLoaded) {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "matcher.yml";
  const auto saved = opencv::create("census", -5, 77, R"({"window": 7})");
  saved->setDisparityType(CV_32F);
  saved->save(path);
  const auto loaded = cv::Algorithm::load<opencv::StereoMatcher>(path);
  EXPECT_EQ(to_json(loaded->parameters()), to_json(saved->parameters()));
  EXPECT_EQ(loaded->getDisparityType(), CV_32F);
  cv::StereoSGBM::create()->save(path);
  expect_refused([&] { cv::Algorithm::load<opencv::StereoMatcher>(path); }, "parallax_StereoMatcher");
}

TEST(OpenCvTest, RefusesByName) {
  const auto matcher = opencv::create("bp", 0, 30);
  EXPECT_EQ(matcher->getBlockSize(), 1);
  matcher->setBlockSize(1);
  expect_refused([&] { matcher->setBlockSize(9); }, "method bp has no window");
  expect_refused([&] { opencv::create("block")->setBlockSize(8); }, "window");
  expect_refused([&] { matcher->setNumDisparities(0); }, "disparities");
  expect_refused([&] { matcher->setSpeckleRange(-1); }, "speckle_range");
  expect_refused([&] { matcher->setDisparityType(CV_8U); }, "CV_16S");
  expect_refused([&] { matcher->setParameter("colour", "1"); }, "colour");
  expect_refused([&] { opencv::create("sad"); }, "sad");
  expect_refused([&] { opencv::create("block", 0, 30, R"({"full_row": true})"); }, "full_row");
  EXPECT_EQ(matcher->getNumDisparities(), 30);
}

TEST(OpenCvTest, RefusesImagesByName) {
  const auto matcher = opencv::create("block", 0, 30);
  const Pictures pair(CV_8U);
  cv::Mat disparity, floats(pair.left.size(), CV_32F), four(pair.left.size(), CV_8UC4);
  expect_refused([&] { matcher->compute(cv::Mat(), pair.right, disparity); }, "the left image is empty");
  expect_refused([&] { matcher->compute(pair.left, cv::Mat(), disparity); }, "the right image is empty");
  expect_refused([&] { matcher->compute(floats, pair.right, disparity); },
                 "the left image has type CV_32FC1");
  expect_refused([&] { matcher->compute(pair.left, four, disparity); }, "the right image has type CV_8UC4");
  const cv::Mat narrow = pair.right.colRange(0, 50);
  expect_refused([&] { matcher->compute(pair.left, narrow, disparity); }, "right image is 50×");
}

TEST(OpenCvTest, RefusesDisparitiesThatDoNotFit16Bits) {
  const cv::Mat flat(16, 2200, CV_8U, cv::Scalar(0));
  cv::Mat disparity;
  for (const int minimum : {-2048, 2018}) {
    const auto matcher = opencv::create("block", minimum, 30, with_gaps);
    expect_refused([&] { matcher->compute(flat, flat, disparity); }, "setDisparityType(CV_32F)");
    matcher->setDisparityType(CV_32F);
    matcher->compute(flat, flat, disparity);
    EXPECT_EQ(disparity.at<float>(0, minimum < 0 ? 2199 : 0), static_cast<float>(minimum - 1));
  }
}

TEST(OpenCvTest, ADeviceThatIsNoGpuRefusesItsImages) {
  const Pictures pair(CV_8U);
  cv::Mat there(pair.left.size(), CV_16S);
  cv::cuda::GpuMat left(pair.left.size(), CV_8U, pair.left.data, pair.left.step),
      right(pair.right.size(), CV_8U, pair.right.data, pair.right.step),
      disparity(there.size(), CV_16S, there.data, there.step);
  const auto matcher = opencv::create("block", 0, 30, "{}", cpu(2));
  expect_error(error_of([&] { matcher->compute(left, right, disparity); }), ErrorCategory::device, {"GPU"});
}

}  // namespace
}  // namespace parallax::test
