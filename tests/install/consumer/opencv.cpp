// SPDX-License-Identifier: Apache-2.0
#include <parallax/opencv.h>

// Returns whether noise that moves by 5 pixels is found there.
bool opencv_works() {
  cv::Mat left(40, 80, CV_8U), right(left.size(), CV_8U), disparity;
  cv::randu(left, 0, 256);
  left.colRange(5, 80).copyTo(right.colRange(0, 75));
  left.colRange(0, 5).copyTo(right.colRange(75, 80));
  const cv::Ptr<cv::StereoMatcher> matcher = parallax::opencv::create("block", 0, 16);
  matcher->compute(left, right, disparity);
  return disparity.type() == CV_16S && disparity.at<short>(20, 40) == 5 * 16;
}
