// SPDX-License-Identifier: Apache-2.0
// Compares semi-global matching with OpenCV's StereoSGBM, which runs on one thread:
//
//   PARALLAX_DATA=... build/developer/benchmarks/benchmark_semi_global --benchmark_filter=speed
//   build/developer/benchmarks/benchmark_semi_global --benchmark_filter=labels
//
// - `speed`: 4, 5 and 8 paths, and the presets that imitate StereoSGBM, on half-size cones, and on a
//   synthetic pair of 1920×1080; compared with MODE_SGBM (5 paths) or MODE_HH (8 paths);
// - `labels`: 8 paths, from 64 to 1024 labels, and images from 0.3 to 12 megapixels.
//
// `ratio` is our time divided by that of StereoSGBM, in interleaved runs; `ns` is the time per pixel and
// label.

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <opencv2/calib3d.hpp>

#include "parallax/parallax.h"

#include "benchmarks/gray_pair.h"
#include "tools/command/command.h"

namespace {

using namespace parallax;
using namespace parallax::benchmarks;
namespace fs = std::filesystem;
using tool::median;

SemiGlobalParameters of_paths(int paths, int labels) {
  SemiGlobalParameters parameters;
  parameters.paths = paths;
  parameters.disparities = labels;
  return parameters;
}

void report(benchmark::State& state, const Matcher& matcher, Size size, int labels,
            const std::vector<double>& times) {
  const double label_pixels = static_cast<double>(size.pixels()) * labels;
  state.counters["ms"] = median(times);
  state.counters["ns"] = 1e6 * median(times) / label_pixels;
  state.counters["bytes_per_label_pixel"] = static_cast<double>(matcher.memory_bytes()) / label_pixels;
}

SemiGlobalParameters of_preset(const std::string& name, int labels) {
  SemiGlobalParameters parameters = *preset("sgm", name).get_if<SemiGlobalParameters>();
  parameters.disparities = labels;
  return parameters;
}

void speed(benchmark::State& state, const GrayPair& pair, const SemiGlobalParameters& parameters,
           int threads) {
  cv::setNumThreads(1);
  const int window = parameters.window > 1 ? parameters.window : 5, labels = parameters.disparities;
  const cv::Ptr<cv::StereoSGBM> peer =
      cv::StereoSGBM::create(0, labels, window, 8 * window * window, 32 * window * window);
  peer->setMode(parameters.paths == 5 ? cv::StereoSGBM::MODE_SGBM : cv::StereoSGBM::MODE_HH);
  cv::Mat peer_disparity;
  Matcher matcher(parameters, {.threads = threads}, {pair.size()});
  Result output(pair.size());
  std::vector<double> our_times, peer_times, ratios;
  for (auto _ : state) {
    our_times.push_back(milliseconds([&] { matcher.run(pair.views(), output.map()); }));
    peer_times.push_back(milliseconds([&] { peer->compute(pair.left, pair.right, peer_disparity); }));
    ratios.push_back(our_times.back() / peer_times.back());
  }
  report(state, matcher, pair.size(), labels, our_times);
  state.counters["StereoSGBM_ms"] = median(peer_times);
  state.counters["ratio"] = median(ratios);
}

GrayPair synthetic(Size size, int labels) {
  const SynthPair pair = synthesize({.size = size, .disparities = labels});
  return {gray(as_mat(pair.left_view())), gray(as_mat(pair.right_view()))};
}

void scaling(benchmark::State& state, Size size, int labels) {
  const GrayPair pair = synthetic(size, labels);
  Matcher matcher(of_paths(8, labels), {}, {size});
  Result output(size);
  std::vector<double> times;
  for (auto _ : state) times.push_back(milliseconds([&] { matcher.run(pair.views(), output.map()); }));
  report(state, matcher, size, labels, times);
}

void add(const std::string& name, int runs, const std::function<void(benchmark::State&)>& body) {
  benchmark::RegisterBenchmark(name.c_str(), body)->Unit(benchmark::kMillisecond)->Iterations(runs);
}

void add_speed(const std::string& name, int runs, const std::function<GrayPair()>& pair) {
  constexpr int labels = 128;
  const auto add_both = [&](const std::string& what, const SemiGlobalParameters& parameters) {
    for (const int threads : {1, 2})
      add("speed/" + name + "/" + what + "/threads:" + std::to_string(threads), runs,
          [=](benchmark::State& state) { speed(state, pair(), parameters, threads); });
  };
  for (const int paths : {4, 5, 8}) add_both("paths:" + std::to_string(paths), of_paths(paths, labels));
  for (const char* preset : {"opencv-sgbm", "opencv-sgbm-hh"}) add_both(preset, of_preset(preset, labels));
}

}  // namespace

int main(int count, char** values) {
  benchmark::Initialize(&count, values);
  if (const char* data = std::getenv("PARALLAX_DATA")) {
    const fs::path folder = fs::path(data) / "papers" / "conesHalfSize";
    add_speed("900x750", 11, [=] { return load_gray_pair(folder); });
  } else {
    std::cerr << "PARALLAX_DATA is not set: synthetic pairs only\n";
  }
  add_speed("1920x1080", 5, [] { return synthetic({1920, 1080}, 128); });
  for (const int labels : {64, 128, 256, 512, 1024})
    add("labels/640x480/labels:" + std::to_string(labels), 5, [=](benchmark::State& state) {
      scaling(state, {640, 480}, labels);
    });
  for (const Size size : {Size{1280, 960}, Size{2560, 1920}, Size{4000, 3000}})
    add("labels/" + std::to_string(size.width) + "x" + std::to_string(size.height) + "/labels:64", 3,
        [=](benchmark::State& state) { scaling(state, size, 64); });
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
