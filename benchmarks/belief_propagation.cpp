// Belief propagation beside OpenCV's StereoSGBM (MODE_SGBM, block 5, one thread), in one process, on the same
// pixels, with the same label count rounded up to 16:
//
//   PARALLAX_DATA=... build/developer/benchmarks/benchmark_belief_propagation --benchmark_filter=speed
//   PARALLAX_DATA=... build/developer/benchmarks/benchmark_belief_propagation --benchmark_filter=error
//
// and by itself, over labels and pixels (`scaling`).
//
// `ratio` is our time by StereoSGBM's, of interleaved runs.

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <limits>

#include <benchmark/benchmark.h>
#include <opencv2/calib3d.hpp>

#include "parallax/parallax.h"

#include "tools/parallax/command.h"
#include "tools/parallax/pictures.h"

namespace {

using namespace parallax;
namespace fs = std::filesystem;
using tool::median;

struct Set {
  const char* name;
  int labels;
  double scale;
};

constexpr Set sets[] = {{"tsukubaSet", 16, 16},      {"venus", 21, 8},
                        {"barn1", 32, 8},            {"conesQuarterSize", 64, 4},
                        {"conesHalfSize", 128, 2},   {"conesFullSizeCropped", 256, 1}};

struct GrayPair {
  cv::Mat left, right;

  static View<const std::uint8_t> view(const cv::Mat& image) {
    return {image.ptr<std::uint8_t>(), {image.cols, image.rows}, static_cast<std::ptrdiff_t>(image.step[0])};
  }
  Size size() const { return {left.cols, left.rows}; }
  StereoPair views() const { return {view(left), view(right), {}, {}}; }
};

GrayPair load(const fs::path& folder) {
  const auto read = [&](const char* name) {
    return tool::read_picture((folder / name).string()).pixels.clone();
  };
  GrayPair pair{read("left.png"), read("right.png")};
  for (cv::Mat* image : {&pair.left, &pair.right})
    if (image->channels() == 3) cv::extractChannel(image->clone(), *image, 1);
  return pair;
}

BeliefPropagationParameters published(int labels, Arithmetic arithmetic) {
  BeliefPropagationParameters parameters = belief_propagation_preset("grauer-gray-2019");
  parameters.disparities = labels;
  parameters.arithmetic = arithmetic;
  return parameters;
}

template <class Run>
double milliseconds(const Run& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

struct Output {
  explicit Output(Size size) : disparity(size), status(size) {}
  DisparityMap map() { return {disparity.view(), status.view()}; }
  Plane<float> disparity;
  Plane<std::uint8_t> status;
};

void speed(benchmark::State& state, const fs::path& folder, const Set& set, Arithmetic arithmetic,
           int threads) {
  const GrayPair pair = load(folder);
  cv::setNumThreads(1);
  const cv::Ptr<cv::StereoSGBM> peer =
      cv::StereoSGBM::create(0, (set.labels + 15) / 16 * 16, 5, 8 * 25, 32 * 25);
  cv::Mat peer_disparity;
  Matcher matcher(published(set.labels, arithmetic), {.threads = threads}, {pair.size()});
  Output output(pair.size());
  const auto run_peer = [&] { peer->compute(pair.left, pair.right, peer_disparity); };
  const auto run_ours = [&] { matcher.run(pair.views(), output.map()); };
  run_peer();
  run_ours();
  std::vector<double> peer_times, our_times, ratios;
  std::vector<std::vector<double>> stages(matcher.stage_times().size());
  for (auto _ : state) {
    peer_times.push_back(milliseconds(run_peer));
    our_times.push_back(milliseconds(run_ours));
    ratios.push_back(our_times.back() / peer_times.back());
    state.SetIterationTime(our_times.back() / 1e3);
    for (std::size_t i = 0; i < stages.size(); ++i)
      stages[i].push_back(matcher.stage_times()[i].milliseconds);
  }
  state.counters["ms"] = median(our_times);
  state.counters["StereoSGBM_ms"] = median(peer_times);
  state.counters["ratio"] = median(ratios);
  const double label_pixels = static_cast<double>(pair.size().pixels()) * set.labels;
  state.counters["bytes_per_label_pixel"] = static_cast<double>(matcher.memory_bytes()) / label_pixels;
  for (std::size_t i = 0; i < stages.size(); ++i)
    state.counters[std::string("ms_") + matcher.stage_times()[i].stage] = median(stages[i]);
}

void error(benchmark::State& state, const fs::path& folder, const Set& set, Arithmetic arithmetic) {
  const GrayPair pair = load(folder);
  Matcher matcher(published(set.labels, arithmetic), {}, {pair.size()});
  Output output(pair.size());
  const Plane<float> truth = tool::read_disparity((folder / "truth.png").string(), set.scale);
  for (auto _ : state) matcher.run(pair.views(), output.map());
  const ErrorMetrics metrics = evaluate(output.disparity.view(), truth.view());
  state.counters["bad1"] = 100 * metrics.bad1;
  state.counters["bad2"] = 100 * metrics.bad2;
}

void scaling(benchmark::State& state, Size size, int labels) {
  const SynthPair pair = synthesize({.size = size, .disparities = labels});
  Matcher matcher(published(labels, Arithmetic::fixed8), {}, pair.left_view().format);
  Output output(size);
  const StereoPair views{pair.left_view(), pair.right_view(), {}, {}};
  matcher.run(views, output.map());
  std::vector<double> times;
  for (auto _ : state) times.push_back(milliseconds([&] { matcher.run(views, output.map()); }));
  const double label_pixels = static_cast<double>(size.pixels()) * labels;
  state.counters["ms"] = median(times);
  state.counters["ns_per_label_pixel"] = 1e6 * median(times) / label_pixels;
  state.counters["bytes_per_label_pixel"] = static_cast<double>(matcher.memory_bytes()) / label_pixels;
}

struct NamedArithmetic {
  const char* name;
  Arithmetic arithmetic;
};
constexpr NamedArithmetic arithmetics[] = {{"fixed8", Arithmetic::fixed8},
                                           {"fixed16", Arithmetic::fixed16},
                                           {"float32", Arithmetic::float32},
                                           {"float16", Arithmetic::float16},
                                           {"bfloat16", Arithmetic::bfloat16}};

void register_set(const fs::path& folder, const Set& set) {
  for (const NamedArithmetic& entry : arithmetics) {
    for (const int threads : {1, 2})
      benchmark::RegisterBenchmark((std::string("speed/") + set.name + "/" + entry.name +
                                    "/threads:" + std::to_string(threads))
                                       .c_str(),
                                   [=](benchmark::State& state) {
                                     speed(state, folder, set, entry.arithmetic, threads);
                                   })
          ->UseManualTime()
          ->Unit(benchmark::kMillisecond)
          ->Iterations(set.labels > 64 ? 11 : 31);
    benchmark::RegisterBenchmark(
        (std::string("error/") + set.name + "/" + entry.name).c_str(),
        [=](benchmark::State& state) { error(state, folder, set, entry.arithmetic); })
        ->Iterations(1);
  }
}

}  // namespace

int main(int count, char** values) {
  benchmark::Initialize(&count, values);
  if (const char* data = std::getenv("PARALLAX_DATA"))
    for (const Set& set : sets) register_set(fs::path(data) / "papers" / set.name, set);
  else
    std::cerr << "PARALLAX_DATA is not set: synthetic pairs only\n";
  for (const Size size : {Size{480, 360}, Size{960, 720}, Size{1920, 1440}})
    for (const int labels : {64, 128, 256})
      benchmark::RegisterBenchmark(("scaling/" + std::to_string(size.width) + "x" +
                                    std::to_string(size.height) + "/labels:" + std::to_string(labels))
                                       .c_str(),
                                   [=](benchmark::State& state) { scaling(state, size, labels); })
          ->Unit(benchmark::kMillisecond)
          ->Iterations(7);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
