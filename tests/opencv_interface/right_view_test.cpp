// SPDX-License-Identifier: Apache-2.0
// The matcher of the right view, and OpenCV's filter of both maps.
#include <cmath>

#include "parallax/opencv.h"

#include "opencv_interface/pair.h"

namespace parallax::test {
namespace {

constexpr float unmatched = std::numeric_limits<float>::infinity();

std::vector<std::string> stereo_methods() {
  std::vector<std::string> methods = list_methods();
  std::erase(methods, "motion");
  return methods;
}

// Compares 16ths of OpenCV's sign with a right map of the library.
void expect_right(const cv::Mat& actual, const Plane<float>& expected, int minimum) {
  ASSERT_EQ(actual.type(), CV_16S);
  ASSERT_EQ(actual.size(), cv::Size(expected.width(), expected.height()));
  int missing = 0, different = 0;
  for (int y = 0; y < actual.rows; ++y)
    for (int x = 0; x < actual.cols; ++x) {
      const bool is_missing = expected.at(x, y) == unmatched;
      missing += is_missing;
      const float found = actual.at<short>(y, x) / 16.0f;
      different += is_missing ? found != static_cast<float>(minimum - 1)
                              : std::abs(found + expected.at(x, y)) > 1 / 32.0f;
    }
  EXPECT_GT(missing, 0);
  EXPECT_EQ(different, 0);
}

TEST(OpenCvRightView, GivesTheRightMapWithOpenCvsSign) {
  for (const std::string& method : stereo_methods())
    for (const int minimum : {-3, 0, 2}) {
      SCOPED_TRACE(method + " from " + std::to_string(minimum));
      const Pictures pair(CV_8U);
      const auto left = opencv::create(method, minimum, 30, R"({"fill": "none"})", cpu(2));
      const cv::Ptr<cv::StereoMatcher> right = createRightMatcher(left);
      EXPECT_EQ(right->getMinDisparity(), -(30 + minimum) + 1);
      EXPECT_EQ(right->getNumDisparities(), 30);
      const parallax::Result both =
          parallax::match(pair.views(), left->parameters(), cpu(2), {.both_maps = true});
      cv::Mat disparity;
      right->compute(pair.right, pair.left, disparity);
      expect_right(disparity, both.right->disparity, right->getMinDisparity());
      cv::Mat_<float> pixels;
      right->compute(pair.right, pair.left, pixels);
      EXPECT_EQ(pixels(40, 80), both.right->disparity.at(80, 40) == unmatched
                                    ? static_cast<float>(right->getMinDisparity() - 1)
                                    : -both.right->disparity.at(80, 40));
    }
}

TEST(OpenCvRightView, ColourAndSettersWork) {
  const SynthPair pair = synth(Scene::planes);
  const auto left = opencv::create("block", 0, 20, R"({"fill": "none", "uniqueness": 5})", cpu(2));
  const auto right = createRightMatcher(left);
  cv::Mat disparity;
  right->compute(as_bgr(pair.right_view()), as_bgr(pair.left_view()), disparity);
  expect_right(disparity,
               parallax::match(views(pair), left->parameters(), cpu(2), {.both_maps = true}).right->disparity,
               -19);
  right->setMinDisparity(-30);
  EXPECT_EQ(right->getMinDisparity(), -30);
  EXPECT_EQ(right->parameters().min_disparity(), 11);
  right->setNumDisparities(31);
  EXPECT_EQ(right->getMinDisparity(), -30);
  EXPECT_EQ(right->parameters().min_disparity(), 0);
  expect_refused([&] { right->compute(as_bgr(pair.right_view()), cv::Mat(5, 5, CV_8UC3), disparity); },
                 "differ in size");
  cv::cuda::GpuMat nothing;
  const cv::Ptr<opencv::StereoMatcher> as_base = right;
  expect_error(error_of([&] { as_base->compute(nothing, nothing, nothing); }), ErrorCategory::device,
               {"download"});
  cv::FileStorage file("x.yml", cv::FileStorage::WRITE | cv::FileStorage::MEMORY);
  right->write(file);
  const cv::FileStorage stored(file.releaseAndGetString(), cv::FileStorage::READ | cv::FileStorage::MEMORY);
  const auto read = opencv::RightMatcher::create();
  read->read(stored.root());
  EXPECT_EQ(read->getMinDisparity(), -30);
}

#ifdef PARALLAX_TEST_XIMGPROC
// The share of pixels, seen in both images, that are wrong by more than a pixel.
double wrong(const cv::Mat& disparity, const SynthPair& pair) {
  int count = 0, bad = 0;
  for (int y = 0; y < disparity.rows; ++y)
    for (int x = 0; x < disparity.cols; ++x) {
      ++count;
      bad += std::abs(disparity.at<short>(y, x) / 16.0f - pair.left_truth.at(x, y)) > 1;
    }
  return static_cast<double>(bad) / count;
}

TEST(OpenCvRightView, TheFilterOfXimgprocTakesBothMaps) {
  const SynthPair pair = synth(Scene::layers);
  cv::Mat left_image, right_image;
  cv::extractChannel(as_mat(pair.left_view()), left_image, 1);
  cv::extractChannel(as_mat(pair.right_view()), right_image, 1);
  const auto left = opencv::create("block", 0, 20, R"({"uniqueness": 5})", cpu(2));
  const auto filter = createDisparityWLSFilter(left);
  EXPECT_EQ(get_parameter(left->parameters(), "uniqueness"), "0");
  EXPECT_EQ(get_parameter(left->parameters(), "fill"), "none");
  EXPECT_EQ(left->getDisp12MaxDiff(), -1);
  const auto right = createRightMatcher(left);
  cv::Mat left_map, right_map, filtered;
  left->compute(left_image, right_image, left_map);
  right->compute(right_image, left_image, right_map);
  filter->filter(left_map, left_image, filtered, right_map);
  EXPECT_EQ(filter->getROI(), cv::Rect(0, 0, 160, 96));
  EXPECT_LT(wrong(filtered, pair), 0.9 * wrong(left_map, pair));
  // With maps of another sign, the filter trusts nothing.
  const cv::Mat confidence = filter->getConfidenceMap().clone();
  EXPECT_GT(cv::countNonZero(confidence), 160 * 96 / 2);
  filter->filter(left_map, left_image, filtered, -right_map);
  EXPECT_LT(cv::countNonZero(filter->getConfidenceMap()), 160 * 96 / 10);
}
#else
TEST(OpenCvRightView, TheFilterOfXimgprocTakesBothMaps) {
  GTEST_SKIP() << "this OpenCV has no ximgproc";
}
#endif

}  // namespace
}  // namespace parallax::test
