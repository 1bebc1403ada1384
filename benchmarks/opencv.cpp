// SPDX-License-Identifier: Apache-2.0
// Compares StereoBM and StereoSGBM with the matchers of parallax/opencv.h through cv::StereoMatcher, on the
// same gray pairs with the same labels, and prints the tables of docs/measurements/opencv.md:
//
//   PARALLAX_DATA=... build/developer/benchmarks/benchmark_opencv [rounds]
//
// Times are medians of interleaved rounds, 9 by default, on two threads.

#include "parallax/opencv.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <iterator>

#include "parallax/parallax.h"

#include "benchmarks/gray_pair.h"
#include "tools/command/command.h"
#include "tools/files/pictures.h"

namespace {

using namespace parallax;
using namespace parallax::benchmarks;
namespace fs = std::filesystem;

constexpr int threads = 2;

struct Pair {
  const char* name;
  int labels;    // a multiple of 16, as OpenCV requires
  double scale;  // scale of the truth of 2003; 0 = a PFM file
};

constexpr Pair pairs[] = {{"middlebury2003/tsukuba", 16, 16},   {"middlebury2003/venus", 32, 8},
                          {"middlebury2003/teddy", 64, 4},      {"middlebury2003/cones", 64, 4},
                          {"middlebury2014/Adirondack", 80, 0}, {"middlebury2014/Jadeplant", 160, 0},
                          {"middlebury2014/Motorcycle", 80, 0}, {"middlebury2014/MotorcycleE", 80, 0},
                          {"middlebury2014/Piano", 80, 0},      {"middlebury2014/Playtable", 80, 0},
                          {"middlebury2014/Recycle", 80, 0},    {"middlebury2014/Teddy", 64, 0}};
constexpr const char* timed_pair = "middlebury2014/Motorcycle";

// A pair with its truth and the mask of the pixels that both cameras see.
struct Loaded {
  GrayPair images;
  Plane<float> truth;
  Plane<std::uint8_t> seen_by_both;
};

Loaded load(const fs::path& data, const Pair& pair) {
  const fs::path folder = data / pair.name;
  const bool is_pfm = pair.scale == 0;
  return {load_gray_pair(folder),
          tool::read_disparity((folder / (is_pfm ? "disp0GT.pfm" : "groundtruth.png")).string(), pair.scale),
          tool::read_mask((folder / (is_pfm ? "mask0nocc.png" : "nonocc.png")).string())};
}

struct Contender {
  std::string name;
  std::function<cv::Ptr<cv::StereoMatcher>(int labels)> make;
  std::vector<ErrorMetrics> seen_by_both = {}, all = {};  // one per pair
  std::vector<double> times = {};
};

// Block sizes, filters and checks are those of OpenCV's sample stereo_match.
cv::Ptr<cv::StereoMatcher> block_matcher(int labels) {
  const cv::Ptr<cv::StereoBM> matcher = cv::StereoBM::create(labels, 9);
  matcher->setPreFilterCap(31);
  matcher->setTextureThreshold(10);
  matcher->setUniquenessRatio(15);
  matcher->setSpeckleWindowSize(100);
  matcher->setSpeckleRange(32);
  matcher->setDisp12MaxDiff(1);
  return matcher;
}

cv::Ptr<cv::StereoMatcher> semi_global_matcher(int labels, int mode) {
  constexpr int block = 3;
  return cv::StereoSGBM::create(0, labels, block, 8 * block * block, 32 * block * block, 1, 63, 10, 100, 32,
                                mode);
}

std::vector<Contender> contenders() {
  std::vector<Contender> result = {{"StereoBM", block_matcher}};
  for (const auto& [name, mode] : {std::pair{"MODE_SGBM", cv::StereoSGBM::MODE_SGBM},
                                   {"MODE_SGBM_3WAY", cv::StereoSGBM::MODE_SGBM_3WAY},
                                   {"MODE_HH", cv::StereoSGBM::MODE_HH}})
    result.push_back({std::string("StereoSGBM, ") + name,
                      [mode = mode](int labels) { return semi_global_matcher(labels, mode); }});
  for (const std::string& method : list_methods()) {
    if (method == "motion") continue;  // it searches rows, too: benchmarks/motion.py compares it
    for (const char* json : {"{}", R"({"fill": "none"})"})
      result.push_back(
          {"`" + method + "`" + (json == std::string("{}") ? "" : ", unfilled"),
           [=](int labels) { return opencv::create(method, 0, labels, json, {.threads = threads}); }});
  }
  return result;
}

Plane<float> from_opencv(const cv::Mat& fixed) {
  Plane<float> disparity({fixed.cols, fixed.rows});
  for (int y = 0; y < fixed.rows; ++y)
    for (int x = 0; x < fixed.cols; ++x)
      disparity.at(x, y) =
          fixed.at<short>(y, x) < 0 ? std::numeric_limits<float>::infinity() : fixed.at<short>(y, x) / 16.0f;
  return disparity;
}

void measure_errors(std::vector<Contender>& all, const fs::path& data) {
  for (const Pair& pair : pairs) {
    const Loaded loaded = load(data, pair);
    for (Contender& contender : all) {
      cv::Mat fixed;
      contender.make(pair.labels)->compute(loaded.images.left, loaded.images.right, fixed);
      const Plane<float> disparity = from_opencv(fixed);
      contender.seen_by_both.push_back(
          evaluate(disparity.view(), loaded.truth.view(), loaded.seen_by_both.view()));
      contender.all.push_back(evaluate(disparity.view(), loaded.truth.view()));
    }
  }
}

void measure_times(std::vector<Contender>& all, const fs::path& data, int rounds) {
  const Pair& pair = *std::find_if(std::begin(pairs), std::end(pairs),
                                   [](const Pair& p) { return p.name == std::string(timed_pair); });
  const GrayPair images = load(data, pair).images;
  std::vector<cv::Ptr<cv::StereoMatcher>> matchers;
  cv::Mat fixed;
  for (const Contender& contender : all) {
    matchers.push_back(contender.make(pair.labels));
    matchers.back()->compute(images.left, images.right, fixed);
  }
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i].times.push_back(milliseconds([&] { matchers[i]->compute(images.left, images.right, fixed); }));
}

template <class Value>
double mean(const std::vector<ErrorMetrics>& metrics, const Value& value) {
  double sum = 0;
  for (const ErrorMetrics& m : metrics) sum += value(m);
  return 100 * sum / static_cast<double>(metrics.size());
}

// Share of the pixels with a disparity that are off.
double bad2_of_valid(const ErrorMetrics& m) {
  return m.coverage > 0 ? (m.bad2 - (1 - m.coverage)) / m.coverage : 0;
}

void print_means(const std::vector<Contender>& all) {
  std::printf("| matcher | bad1 | bad2 | with a disparity | bad2 of those | bad2, all pixels | ms |\n");
  std::printf("|---|--:|--:|--:|--:|--:|--:|\n");
  for (const Contender& c : all)
    std::printf("| %s | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f |\n", c.name.c_str(),
                mean(c.seen_by_both, [](const ErrorMetrics& m) { return m.bad1; }),
                mean(c.seen_by_both, [](const ErrorMetrics& m) { return m.bad2; }),
                mean(c.seen_by_both, [](const ErrorMetrics& m) { return m.coverage; }),
                mean(c.seen_by_both, bad2_of_valid),
                mean(c.all, [](const ErrorMetrics& m) { return m.bad2; }), tool::median(c.times));
}

void print_pairs(const std::vector<Contender>& all) {
  std::printf("\n| matcher |");
  for (const Pair& pair : pairs) std::printf(" %s |", fs::path(pair.name).filename().c_str());
  std::printf("\n|---|");
  for (std::size_t i = 0; i < std::size(pairs); ++i) std::printf("--:|");
  std::printf("\n");
  for (const Contender& c : all) {
    std::printf("| %s |", c.name.c_str());
    for (const ErrorMetrics& m : c.seen_by_both) std::printf(" %.1f |", 100 * m.bad2);
    std::printf("\n");
  }
}

}  // namespace

int main(int count, char** values) {
  const char* data = std::getenv("PARALLAX_DATA");
  if (data == nullptr) {
    std::cerr << "PARALLAX_DATA is not set: set it to a folder with middlebury2003 and middlebury2014\n";
    return 1;
  }
  cv::setNumThreads(threads);
  try {
    std::vector<Contender> all = contenders();
    measure_errors(all, data);
    measure_times(all, data, count > 1 ? std::max(1, std::atoi(values[1])) : 9);
    print_means(all);
    print_pairs(all);
  } catch (const Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
