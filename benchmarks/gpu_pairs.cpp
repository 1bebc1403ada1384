// SPDX-License-Identifier: Apache-2.0
// Writes the pairs for benchmark_cuda as PFM, so that the machine with the GPU needs no picture libraries:
//
//   gpu_pairs DATA FOLDER      DATA: the folder with papers/, middlebury2003/ and middlebury2014/

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <limits>

#include "parallax/formats.h"

#include "benchmarks/gray_pair.h"
#include "benchmarks/papers/pictures.h"
#include "tools/parallax/command.h"

namespace {

using namespace parallax;
namespace fs = std::filesystem;

Plane<float> floats(const cv::Mat& gray) {
  Plane<float> plane({gray.cols, gray.rows});
  for (int y = 0; y < gray.rows; ++y)
    for (int x = 0; x < gray.cols; ++x) plane.at(x, y) = gray.at<std::uint8_t>(y, x);
  return plane;
}

void write(const fs::path& path, const Plane<float>& plane) {
  write_file(path.string(), encode_pfm(plane.view()));
}

void convert(const fs::path& from, const fs::path& to, double truth_scale) {
  const benchmarks::GrayPair pair = benchmarks::load_gray_pair(from);
  fs::create_directories(to);
  write(to / "left.pfm", floats(pair.left));
  write(to / "right.pfm", floats(pair.right));
  write(to / "truth.pfm", tool::read_disparity((from / "truth.png").string(), truth_scale));
}

// The last columns and first rows of Middlebury's Piano: a real pair of the size used in publications.
void convert_piano(const fs::path& from, const fs::path& to) {
  const benchmarks::GrayPair pair = benchmarks::load_gray_pair(from);
  const Plane<float> truth = read_pfm((from / "disp0GT.pfm").string());
  const cv::Rect area(pair.left.cols - 640, 0, 640, 480);
  Plane<float> cropped({area.width, area.height});
  for (int y = 0; y < area.height; ++y) std::copy_n(truth.row(y) + area.x, area.width, cropped.row(y));
  fs::create_directories(to);
  write(to / "left.pfm", floats(pair.left(area)));
  write(to / "right.pfm", floats(pair.right(area)));
  write(to / "truth.pfm", cropped);
}

// Tsukuba as in the MEMOCODE 2013 design contest: gray values as computed by the library, and labels for all
// pixels but a frame.
Plane<float> library_gray(const fs::path& path) {
  const tool::Picture picture = tool::read_picture(path.string());
  const cv::Mat rgb = benchmarks::as_mat(picture.view());
  Plane<float> plane({rgb.cols, rgb.rows});
  for (int y = 0; y < rgb.rows; ++y) {
    for (int x = 0; x < rgb.cols; ++x) {
      const auto& pixel = rgb.at<cv::Vec3b>(y, x);
      plane.at(x, y) = static_cast<float>((9797u * pixel[0] + 19234u * pixel[1] + 3737u * pixel[2]) >> 15);
    }
  }
  return plane;
}

void convert_contest(const fs::path& images, const fs::path& labels, const fs::path& to) {
  constexpr int frame = 18;
  const Plane<float> left = library_gray(images / "left.png");
  const tool::Picture shown = tool::read_picture((labels / "truth-labels.png").string());
  const cv::Mat inner = benchmarks::as_mat(shown.view());
  Plane<float> truth(left.size());
  for (int y = 0; y < truth.height(); ++y)
    std::fill_n(truth.row(y), truth.width(), std::numeric_limits<float>::infinity());
  for (int y = 0; y < inner.rows; ++y)
    for (int x = 0; x < inner.cols; ++x) truth.at(x + frame, y + frame) = inner.at<std::uint8_t>(y, x);
  fs::create_directories(to);
  write(to / "left.pfm", left);
  write(to / "right.pfm", library_gray(images / "right.png"));
  write(to / "truth.pfm", truth);
}

Plane<float> floats(const Plane<std::uint8_t>& gray) {
  Plane<float> plane(gray.size());
  for (int y = 0; y < gray.height(); ++y) std::copy_n(gray.row(y), gray.width(), plane.row(y));
  return plane;
}

// The contest's second pair, if it is available.
void convert_red_barrel(const tool::PapersPictures& papers, const fs::path& folder) {
  const tool::PapersImages images = papers.load(tool::red_barrel);
  const fs::path to = folder / tool::red_barrel;
  fs::create_directories(to);
  write(to / "left.pfm", floats(images.left));
  write(to / "right.pfm", floats(images.right));
  write(to / "truth.pfm", images.truth);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) {
    std::cerr << "usage: gpu_pairs DATA FOLDER\n";
    return 2;
  }
  try {
    for (const auto& [name, scale] : {std::pair{"tsukubaSet", 16},
                                      {"venus", 8},
                                      {"barn1", 8},
                                      {"conesQuarterSize", 4},
                                      {"conesHalfSize", 2},
                                      {"conesFullSizeCropped", 1}})
      convert(fs::path(arguments[1]) / "papers" / name, fs::path(arguments[2]) / name, scale);
    convert_contest(fs::path(arguments[1]) / "middlebury2003/tsukuba",
                    fs::path(arguments[1]) / "papers/memocode2013-tsukuba",
                    fs::path(arguments[2]) / "contest");
    const tool::PapersPictures papers(arguments[1]);
    if (papers.why_absent(tool::red_barrel).empty()) convert_red_barrel(papers, arguments[2]);
    convert_piano(fs::path(arguments[1]) / "middlebury2014/Piano", fs::path(arguments[2]) / "piano");
  } catch (const std::exception& error) {
    std::cerr << "gpu_pairs: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
