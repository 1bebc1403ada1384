// SPDX-License-Identifier: Apache-2.0
// Compares rectification with OpenCV's remap with fixed-point maps of the same rectification; prints the
// tables of docs/reference/rectification.md:
//
//   build/developer/benchmarks/benchmark_rectify [rounds]
//
// Times are medians of interleaved rounds, 51 by default, on two threads.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#include <opencv2/calib3d.hpp>
#include <opencv2/imgproc.hpp>

#include "parallax/parallax.h"

#include "benchmarks/common.h"
#include "benchmarks/mats.h"
#include "remap/map.h"

namespace parallax {
namespace {

using namespace benchmarks;

constexpr int threads = 2;

struct OpenCvMaps {
  cv::Mat positions, fractions;
};

OpenCvMaps maps(const Camera& camera, const Matrix3& rotation, double centre_x, const Rectification& to) {
  const cv::Matx33d own(camera.focal_x, 0, camera.centre_x, 0, camera.focal_y, camera.centre_y, 0, 0, 1);
  const cv::Matx33d rectified(to.focal, 0, centre_x, 0, to.focal, to.centre_y, 0, 0, 1);
  const std::vector<double> distortion(camera.distortion.begin(), camera.distortion.end());
  OpenCvMaps result;
  cv::initUndistortRectifyMap(own, distortion, cv::Matx33d(rotation.data()), rectified,
                              {to.size.width, to.size.height}, CV_16SC2, result.positions, result.fractions);
  return result;
}

cv::Mat noise(Size size, int type) {
  cv::Mat image(size.height, size.width, type);
  cv::randu(image, 0, image.depth() == CV_8U ? 255 : 65535);
  return image;
}

ImageOutput output(cv::Mat& image) {
  const ImageView as_input = as_view(image);
  return {image.data, as_input.format, as_input.channels, as_input.stride_bytes};
}

void measure(Size size, int type, Interpolation interpolation, const char* format, int rounds) {
  const Rig rig = webcams(size);
  const Rectification to = rectify(rig, {.interpolation = interpolation});
  const Device device{.threads = threads};
  Rectifier rectifier(rig, to, interpolation, device,
                      CV_MAT_DEPTH(type) == CV_8U ? BitDepth::bits8 : BitDepth::bits16);
  const OpenCvMaps left = maps(rig.left, to.rotation_left, to.centre_left_x, to),
                   right = maps(rig.right, to.rotation_right, to.centre_right_x, to);
  const cv::Mat left_image = noise(size, type), right_image = noise(size, type);
  cv::Mat ours[2] = {left_image.clone(), right_image.clone()},
          theirs[2] = {left_image.clone(), right_image.clone()};
  const int method = interpolation == Interpolation::bilinear ? cv::INTER_LINEAR : cv::INTER_LANCZOS4;
  std::vector<double> our_times, their_times;
  for (int round = 0; round < rounds; ++round) {
    our_times.push_back(milliseconds([&] {
      rectifier.run(as_view(left_image), as_view(right_image), {output(ours[0]), output(ours[1])});
    }));
    their_times.push_back(milliseconds([&] {
      cv::remap(left_image, theirs[0], left.positions, left.fractions, method);
      cv::remap(right_image, theirs[1], right.positions, right.fractions, method);
    }));
  }
  const double our_time = median(our_times), their_time = median(their_times);
  std::printf("| %d×%d | %s | %s | %.2f | %.2f | %.2f |\n", size.width, size.height, format,
              interpolation == Interpolation::bilinear ? "bilinear" : "Lanczos", our_time, their_time,
              our_time / their_time);
}

// The root of the mean square, and the largest.
void print_distances(const char* name, const std::vector<double>& distances) {
  const double squares = std::inner_product(distances.begin(), distances.end(), distances.begin(), 0.0);
  std::printf("| %s | %.4f | %.4f |\n", name, std::sqrt(squares / static_cast<double>(distances.size())),
              quantile(distances, 1));
}

void measure_rounding() {
  const Rig rig = webcams({1920, 1080});
  const Rectification to = rectify(rig);
  const remap::Map ours = remap::make_map(rig.left, to.rotation_left, to.centre_left_x, to,
                                          Interpolation::bilinear, Workers(threads));
  const remap::Lookup lookup(rig.left, to.rotation_left, to.centre_left_x, to);
  const OpenCvMaps theirs = maps(rig.left, to.rotation_left, to.centre_left_x, to);
  std::vector<double> our_distances, their_distances;
  for (int y = 0; y < to.size.height; ++y)
    for (int x = 0; x < to.size.width; ++x) {
      if (ours.x.at(x, y) == remap::unseen) continue;
      const Position exact = *lookup.position(x, y);
      const remap::Block block = ours.blocks.at(x / remap::block_columns, y);
      our_distances.push_back(std::hypot(block.x + ours.x.at(x, y) / 64.0 - exact[0],
                                         block.y + ours.y.at(x, y) / 64.0 - exact[1]));
      const auto pixel = theirs.positions.at<cv::Vec2s>(y, x);
      const int fraction = theirs.fractions.at<unsigned short>(y, x);
      their_distances.push_back(
          std::hypot(pixel[0] + fraction % 32 / 32.0 - exact[0], pixel[1] + fraction / 32 / 32.0 - exact[1]));
    }
  std::printf("\n| map | distance from the exact position, rms, px | largest, px |\n|---|--:|--:|\n");
  print_distances("Parallax", our_distances);
  print_distances("OpenCV, `CV_16SC2`", their_distances);
}

// Compares RectifiedMatcher with Matcher, for 640×480 pixels and 64 disparities.
void measure_match(const char* text, int rounds) {
  const SynthPair colour = synthesize({.size = {640, 480}, .disparities = 64});
  const cv::Mat left = gray(as_mat(colour.left_view())), right = gray(as_mat(colour.right_view()));
  const RectifiedTimes times =
      time_rectified(parameters_of(text, 64), {.threads = threads}, {as_view(left), as_view(right)}, rounds);
  std::printf("| %s | %.2f | %.2f | %.3f |\n", text, times.raw, times.rectified, times.raw / times.rectified);
}

}  // namespace
}  // namespace parallax

int main(int count, char** values) {
  using namespace parallax;
  cv::setNumThreads(threads);
  const int rounds = count > 1 ? std::atoi(values[1]) : 51;
  std::printf(
      "| pair | format | interpolation | Parallax, ms | OpenCV, ms | ratio |\n|---|---|---|--:|--:|--:|\n");
  measure({640, 480}, CV_8UC1, Interpolation::bilinear, "8-bit gray", rounds);
  measure({1920, 1080}, CV_8UC1, Interpolation::bilinear, "8-bit gray", rounds);
  measure({1920, 1080}, CV_8UC3, Interpolation::bilinear, "8-bit colour", rounds);
  measure({1920, 1080}, CV_16UC1, Interpolation::bilinear, "16-bit gray", rounds);
  measure({1920, 1080}, CV_8UC1, Interpolation::lanczos3, "8-bit gray", rounds / 4 + 1);
  measure_rounding();
  std::printf("\n| method | from raw images, ms | from rectified ones, ms | ratio |\n|---|--:|--:|--:|\n");
  for (const char* text : {"census fast", "block default", "sgm default", "bp default"})
    measure_match(text, rounds);
}
