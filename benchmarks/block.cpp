// SPDX-License-Identifier: Apache-2.0
// Compares block matching with OpenCV's StereoBM in one process, on the same pixels, with the same window and
// label count:
//
//   PARALLAX_DATA=... build/developer/benchmarks/benchmark_block --benchmark_filter=speed
//   PARALLAX_DATA=... build/developer/benchmarks/benchmark_block --benchmark_filter=error
//
// Also measures Parallax alone, by window and cost (`window`) and over full rows (`full-row`).
//
// Without PARALLAX_DATA there is only the synthetic pair. `ratio` is the time of StereoBM divided by ours, in
// interleaved runs.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include <benchmark/benchmark.h>
#include <opencv2/calib3d.hpp>

#include "parallax/parallax.h"

#include "benchmarks/gray_pair.h"
#include "tools/command/command.h"
#include "tools/files/pictures.h"

namespace {

using namespace parallax;
using namespace parallax::benchmarks;
namespace fs = std::filesystem;

const GrayPair& synthetic() {
  static const GrayPair pair = [] {
    const SynthPair colour = synthesize({.size = {1920, 1080}, .disparities = 128});
    const auto wrap = [](const Plane<std::uint8_t>& image) {
      return cv::Mat(image.height(), image.width() / 3, CV_8UC3, const_cast<std::uint8_t*>(image.row(0)),
                     static_cast<std::size_t>(image.view().stride_bytes));
    };
    return GrayPair{gray(wrap(colour.left)), gray(wrap(colour.right))};
  }();
  return pair;
}

// The same steps as StereoBM: costs of Sobel-filtered images, winner takes all, parabola; no refinement.
BlockParameters bare_block(int window, int labels) {
  BlockParameters parameters;
  parameters.window = window;
  parameters.disparities = labels;
  parameters.refine = RefineParameters::none();
  return parameters;
}

using tool::median;

void speed(benchmark::State& state, const GrayPair& pair, int labels, int window, int threads) {
  cv::setNumThreads(threads);
  const cv::Ptr<cv::StereoBM> peer = cv::StereoBM::create(labels, window);
  cv::Mat peer_disparity;
  Matcher matcher(bare_block(window, labels), {.threads = threads}, {pair.size()});
  Result result(pair.size());
  const auto run_peer = [&] { peer->compute(pair.left, pair.right, peer_disparity); };
  const auto run_ours = [&] { matcher.run(pair.views(), result.map()); };
  run_peer();
  run_ours();
  std::vector<double> peer_times, our_times, ratios;
  for (auto _ : state) {
    const double peer_time = milliseconds(run_peer), our_time = milliseconds(run_ours);
    state.SetIterationTime(our_time / 1e3);
    peer_times.push_back(peer_time);
    our_times.push_back(our_time);
    ratios.push_back(peer_time / our_time);
  }
  const double label_pixels = static_cast<double>(pair.size().pixels()) * labels;
  state.counters["ms"] = median(our_times);
  state.counters["StereoBM_ms"] = median(peer_times);
  state.counters["ratio"] = median(ratios);
  state.counters["ns_per_label_pixel"] = 1e6 * median(our_times) / label_pixels;
  state.counters["MiB"] = static_cast<double>(matcher.memory_bytes()) / (1 << 20);
}

// Measures one cost and window. The time should not depend on the window.
void window_cost(benchmark::State& state, const GrayPair& pair, BlockCost cost, Prefilter prefilter,
                 int window) {
  BlockParameters parameters = bare_block(window, 128);
  parameters.cost = cost;
  parameters.prefilter = prefilter;
  Matcher matcher(parameters, {.threads = 1}, {pair.size()});
  Result result(pair.size());
  std::vector<double> times;
  for (auto _ : state) times.push_back(milliseconds([&] { matcher.run(pair.views(), result.map()); }));
  state.counters["ms"] = median(times);
  state.counters["ns_per_label_pixel"] =
      1e6 * median(times) / (static_cast<double>(pair.size().pixels()) * 128);
}

struct Truth {
  const char* name;
  int labels;
  double scale;
};

double bad1(View<const float> disparity, const fs::path& folder, double scale) {
  const Plane<float> truth = tool::read_disparity((folder / "groundtruth.png").string(), scale);
  const Plane<std::uint8_t> mask = tool::read_mask((folder / "nonocc.png").string());
  return 100 * evaluate(disparity, truth.view(), mask.view()).bad1;
}

// OpenCV's disparities are in 16ths of a pixel; (minDisparity − 1)·16, here −16, means no value.
Plane<float> from_opencv(const cv::Mat& fixed) {
  Plane<float> disparity({fixed.cols, fixed.rows});
  for (int y = 0; y < fixed.rows; ++y)
    for (int x = 0; x < fixed.cols; ++x)
      disparity.at(x, y) =
          fixed.at<short>(y, x) < 0 ? std::numeric_limits<float>::infinity() : fixed.at<short>(y, x) / 16.0f;
  return disparity;
}

Plane<float> our_disparity(const GrayPair& pair, const BlockParameters& parameters) {
  return match(pair.views(), parameters, {}).disparity;
}

void error(benchmark::State& state, const fs::path& folder, const Truth& truth, int window) {
  const GrayPair pair = load_gray_pair(folder);
  cv::Mat fixed;
  cv::StereoBM::create((truth.labels + 15) / 16 * 16, window)->compute(pair.left, pair.right, fixed);
  BlockParameters full;
  full.disparities = truth.labels;
  full.window = window;
  for (auto _ : state) {
    state.counters["bare_bad1"] =
        bad1(our_disparity(pair, bare_block(window, truth.labels)).view(), folder, truth.scale);
    state.counters["default_bad1"] = bad1(our_disparity(pair, full).view(), folder, truth.scale);
    state.counters["StereoBM_bad1"] = bad1(from_opencv(fixed).view(), folder, truth.scale);
  }
}

void register_speed(const std::string& name, const GrayPair& pair, int labels) {
  for (const int threads : {1, 2})
    for (const int window : {9, 15})
      benchmark::RegisterBenchmark(("speed/" + name + "/labels:" + std::to_string(labels) + "/window:" +
                                    std::to_string(window) + "/threads:" + std::to_string(threads))
                                       .c_str(),
                                   [&pair, labels, window, threads](benchmark::State& state) {
                                     speed(state, pair, labels, window, threads);
                                   })
          ->UseManualTime()
          ->Unit(benchmark::kMillisecond)
          ->Iterations(31);
}

void register_windows(const GrayPair& pair) {
  struct Kind {
    const char* name;
    BlockCost cost;
    Prefilter prefilter;
  };
  for (const Kind& kind :
       {Kind{"sad,x-sobel", BlockCost::sad, Prefilter::x_sobel}, Kind{"sad", BlockCost::sad, Prefilter::none},
        Kind{"ssd", BlockCost::ssd, Prefilter::none}, Kind{"zncc", BlockCost::zncc, Prefilter::none}})
    for (const int window : {3, 9, 15, 21, 31})
      benchmark::RegisterBenchmark(
          (std::string("window/") + kind.name + "/window:" + std::to_string(window)).c_str(),
          [&pair, kind, window](benchmark::State& state) {
            window_cost(state, pair, kind.cost, kind.prefilter, window);
          })
          ->Unit(benchmark::kMillisecond)
          ->Iterations(15);
}

void register_full_row(const fs::path& folder) {
  benchmark::RegisterBenchmark("full-row/cones_450x375/window:5",
                               [folder](benchmark::State& state) {
                                 const GrayPair pair = load_gray_pair(folder);
                                 Matcher matcher(preset<BlockParameters>("sad-full-row"), {.threads = 1},
                                                 {pair.size()});
                                 Result result(pair.size());
                                 for (auto _ : state) matcher.run(pair.views(), result.map());
                               })
      ->Unit(benchmark::kMillisecond)
      ->Iterations(31);
}

void register_error(const fs::path& folder, const Truth& truth, int window) {
  benchmark::RegisterBenchmark(
      (std::string("error/") + truth.name + "/window:" + std::to_string(window)).c_str(),
      [=](benchmark::State& state) { error(state, folder, truth, window); })
      ->Iterations(1);
}

}  // namespace

int main(int count, char** values) {
  benchmark::Initialize(&count, values);
  const char* folder = std::getenv("PARALLAX_DATA");
  const fs::path data = folder ? folder : "";
  GrayPair cones;
  if (folder) {
    cones = load_gray_pair(data / "papers/conesHalfSize");
    register_speed("conesHalfSize_900x750", cones, 128);
    register_windows(cones);
    register_full_row(data / "middlebury2003/cones");
  } else {
    std::cerr << "PARALLAX_DATA is not set: synthetic pair only\n";
  }
  register_speed("synthetic_1920x1080", synthetic(), 128);
  register_speed("synthetic_1920x1080", synthetic(), 256);
  if (folder)
    for (const Truth& truth :
         {Truth{"tsukuba", 16, 16}, Truth{"venus", 20, 8}, Truth{"teddy", 60, 4}, Truth{"cones", 60, 4}})
      for (const int window : {9, 15, 21})
        register_error(data / "middlebury2003" / truth.name, truth, window);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
