// SPDX-License-Identifier: Apache-2.0
// Compares belief propagation with OpenCV's StereoSGBM (MODE_SGBM, block 5, one thread) in one process, on
// the same pixels, with the same label count rounded up to a multiple of 16:
//
//   PARALLAX_DATA=... build/developer/benchmarks/benchmark_belief_propagation --benchmark_filter=speed
//   PARALLAX_DATA=... build/developer/benchmarks/benchmark_belief_propagation --benchmark_filter=error
//
// Further benchmarks: on the Middlebury pairs, the default preset and StereoSGBM and StereoBM with holes
// filled along the rows (`accuracy`), and the effect of each option (`option`); time against labels and
// pixels (`scaling`); the quality of the confidence (`confidence`); and energy against iterations (`energy`).
//
// `ratio` is our time divided by that of StereoSGBM, in interleaved runs.

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <limits>

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
using tool::median;

struct Set {
  const char* name;
  int labels;
  double scale;
};

constexpr Set sets[] = {{"tsukubaSet", 16, 16},    {"venus", 21, 8},
                        {"barn1", 32, 8},          {"conesQuarterSize", 64, 4},
                        {"conesHalfSize", 128, 2}, {"conesFullSizeCropped", 256, 1}};

BeliefPropagationParameters published(int labels, Arithmetic arithmetic) {
  BeliefPropagationParameters parameters = preset<BeliefPropagationParameters>("grauer-gray-2019");
  parameters.disparities = labels;
  parameters.arithmetic = arithmetic;
  return parameters;
}

void speed(benchmark::State& state, const fs::path& folder, const Set& set, Arithmetic arithmetic,
           int threads) {
  const GrayPair pair = load_gray_pair(folder);
  cv::setNumThreads(1);
  const cv::Ptr<cv::StereoSGBM> peer =
      cv::StereoSGBM::create(0, (set.labels + 15) / 16 * 16, 5, 8 * 25, 32 * 25);
  cv::Mat peer_disparity;
  Matcher matcher(published(set.labels, arithmetic), {.threads = threads}, {pair.size()});
  Result output(pair.size());
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
  const GrayPair pair = load_gray_pair(folder);
  Matcher matcher(published(set.labels, arithmetic), {}, {pair.size()});
  Result output(pair.size());
  const Plane<float> truth = tool::read_disparity((folder / "truth.png").string(), set.scale);
  for (auto _ : state) matcher.run(pair.views(), output.map());
  const ErrorMetrics metrics = evaluate(output.disparity.view(), truth.view());
  state.counters["bad1"] = 100 * metrics.bad1;
  state.counters["bad2"] = 100 * metrics.bad2;
}

void scaling(benchmark::State& state, Size size, int labels) {
  const SynthPair pair = synthesize({.size = size, .disparities = labels});
  Matcher matcher(published(labels, Arithmetic::fixed8), {}, pair.left_view().format);
  Result output(size);
  const StereoPair views{pair.left_view(), pair.right_view()};
  matcher.run(views, output.map());
  std::vector<double> times;
  for (auto _ : state) times.push_back(milliseconds([&] { matcher.run(views, output.map()); }));
  const double label_pixels = static_cast<double>(size.pixels()) * labels;
  state.counters["ms"] = median(times);
  state.counters["ns_per_label_pixel"] = 1e6 * median(times) / label_pixels;
  state.counters["bytes_per_label_pixel"] = static_cast<double>(matcher.memory_bytes()) / label_pixels;
}

// The Middlebury pairs, with masks of the pixels that both cameras see.

struct Scored {
  GrayPair gray;
  tool::Picture left, right;
  Plane<float> truth;
  Plane<std::uint8_t> visible;
  int labels;
  StereoPair views() const { return {left.view(), right.view()}; }
};

struct PairFolder {
  std::string name;
  fs::path folder;
  int labels;    // 0 = from the calibration file
  double scale;  // scale of the truth; 0 = a PFM file
};

std::vector<PairFolder> pairs_2014(const fs::path& data) {
  std::vector<PairFolder> folders;
  for (const char* name :
       {"Adirondack", "Jadeplant", "Motorcycle", "MotorcycleE", "Piano", "Playtable", "Recycle", "Teddy"})
    folders.push_back({name, data / "middlebury2014" / name, 0, 0});
  return folders;
}

std::vector<PairFolder> pairs_2003(const fs::path& data) {
  const fs::path folder = data / "middlebury2003";
  return {{"tsukuba", folder / "tsukuba", 16, 16},
          {"venus", folder / "venus", 20, 8},
          {"teddy", folder / "teddy", 60, 4},
          {"cones", folder / "cones", 60, 4}};
}

Scored load(const PairFolder& entry) {
  const auto path = [&](const char* file) { return (entry.folder / file).string(); };
  Scored pair;
  pair.left = tool::read_picture(path("left.png"));
  pair.right = tool::read_picture(path("right.png"));
  pair.gray = {gray(pair.left), gray(pair.right)};
  const bool new_format = entry.scale == 0;
  pair.truth =
      new_format ? read_pfm(path("disp0GT.pfm")) : tool::read_disparity(path("groundtruth.png"), entry.scale);
  pair.visible = tool::read_mask(path(new_format ? "mask0nocc.png" : "nonocc.png"));
  pair.labels = new_format ? read_middlebury_calibration(path("calib.txt")).disparities : entry.labels;
  return pair;
}

// Share of pixels off by more than one, in per cent.
struct Bad1 {
  double visible = 0, all = 0, milliseconds = 0;
};

Bad1 score(View<const float> disparity, const Scored& pair, double time) {
  return {100 * evaluate(disparity, pair.truth.view(), pair.visible.view()).bad1,
          100 * evaluate(disparity, pair.truth.view()).bad1, time};
}

constexpr int timed_runs = 5;

template <class Run>
double median_time(const Run& run) {
  run();
  std::vector<double> times;
  for (int i = 0; i < timed_runs; ++i) times.push_back(milliseconds(run));
  return median(times);
}

Bad1 score_ours(const Scored& pair, BeliefPropagationParameters parameters) {
  parameters.disparities = pair.labels;
  Matcher matcher(parameters, {}, pair.left.view().format);
  Result output(pair.gray.size());
  const double time = median_time([&] { matcher.run(pair.views(), output.map()); });
  return score(output.disparity.view(), pair, time);
}

// OpenCV's disparities are in 16ths of a pixel; negative ones mean no value.
Bad1 score_peer(const Scored& pair, cv::StereoMatcher& peer) {
  cv::Mat fixed;
  const double time = median_time([&] { peer.compute(pair.gray.left, pair.gray.right, fixed); });
  Result output(pair.gray.size());
  for (int y = 0; y < fixed.rows; ++y) {
    for (int x = 0; x < fixed.cols; ++x) {
      const bool found = fixed.at<short>(y, x) >= 0;
      output.disparity.at(x, y) =
          found ? fixed.at<short>(y, x) / 16.0f : std::numeric_limits<float>::infinity();
      output.status.at(x, y) = static_cast<std::uint8_t>(found ? Status::matched : Status::ambiguous);
    }
  }
  fill_row(output.map());
  return score(output.disparity.view(), pair, time);
}

void report(benchmark::State& state, const std::string& prefix, const Bad1& bad1) {
  state.counters[prefix + "nonocc"] = bad1.visible;
  state.counters[prefix + "all"] = bad1.all;
  state.counters[prefix + "ms"] = bad1.milliseconds;
}

void accuracy(benchmark::State& state, const PairFolder& entry) {
  const Scored pair = load(entry);
  const int labels = (pair.labels + 15) / 16 * 16;
  cv::setNumThreads(-1);
  const auto sgbm = cv::StereoSGBM::create(0, labels, 5, 8 * 25, 32 * 25, 1);
  const auto bm = cv::StereoBM::create(labels, 15);
  for (auto _ : state) {
    report(state, "", score_ours(pair, {}));
    report(state, "SGBM_", score_peer(pair, *sgbm));
    report(state, "BM_", score_peer(pair, *bm));
  }
}

// Reports means over the pairs of each year.
void option(benchmark::State& state, const fs::path& data, const BeliefPropagationParameters& parameters) {
  const auto mean = [&](const std::vector<PairFolder>& folders) {
    Bad1 sum;
    for (const PairFolder& folder : folders) {
      const Bad1 one = score_ours(load(folder), parameters);
      sum.visible += one.visible / static_cast<double>(folders.size());
      sum.all += one.all / static_cast<double>(folders.size());
      sum.milliseconds += one.milliseconds;
    }
    return sum;
  };
  for (auto _ : state) {
    report(state, "2014_", mean(pairs_2014(data)));
    report(state, "2003_", mean(pairs_2003(data)));
  }
}

struct Option {
  const char* name;
  void (*choose)(BeliefPropagationParameters& parameters);
};

constexpr Option options[] = {
    {"default", [](auto&) {}},
    {"absolute-difference",
     [](auto& p) { p.cost = DataCost::absolute_difference, p.data_weight = 0.1f, p.data_truncation = 15; }},
    {"absolute-difference-colour",
     [](auto& p) {
       p.cost = DataCost::absolute_difference_colour, p.data_weight = 0.1f, p.data_truncation = 15;
     }},
    {"birchfield-tomasi",
     [](auto& p) { p.cost = DataCost::birchfield_tomasi, p.data_weight = 0.1f, p.data_truncation = 15; }},
    {"no-outside-cost", [](auto& p) { p.outside_cost.reset(); }},
    {"no-edges", [](auto& p) { p.edge_contrast = 0; }},
    {"no-sub-pixel", [](auto& p) { p.sub_pixel = SubPixel::none; }},
    {"min-confidence-0.2", [](auto& p) { p.min_confidence = 0.2f; }},
    {"no-left-right-check", [](auto& p) { p.refine.left_right_check = false; }},
    {"no-fill", [](auto& p) { p.refine.fill = Fill::none; }},
    {"no-median", [](auto& p) { p.refine.median = 0; }},
    {"no-refinement", [](auto& p) { p.refine = RefineParameters::none(); }},
    {"smoothing-0.5", [](auto& p) { p.smoothing = 0.5f; }},
    {"levels-1", [](auto& p) { p.levels = 1; }},
    {"levels-3", [](auto& p) { p.levels = 3; }},
    {"iterations-3", [](auto& p) { p.iterations = 3; }},
    {"iterations-14", [](auto& p) { p.iterations = 14; }},
    {"all-labels", [](auto& p) { p.candidate_levels = 0; }},
    {"all-labels-and-iterations",
     [](auto& p) { p.candidate_levels = p.finest_iterations = p.right_finest_iterations = 0; }},
    {"fixed16", [](auto& p) { p.arithmetic = Arithmetic::fixed16; }},
    {"float32", [](auto& p) { p.arithmetic = Arithmetic::float32; }},
    {"float16", [](auto& p) { p.arithmetic = Arithmetic::float16; }},
    {"bfloat16", [](auto& p) { p.arithmetic = Arithmetic::bfloat16; }},
};

// For unrefined labels on the 2014 pairs, in pixels that both cameras see: reports how many reach this
// confidence, and how many of those are off by more than one.
void confidence(benchmark::State& state, const fs::path& data, float least) {
  std::size_t seen = 0, kept = 0, bad = 0;
  for (auto _ : state) {
    for (const PairFolder& folder : pairs_2014(data)) {
      const Scored pair = load(folder);
      BeliefPropagationParameters parameters;
      parameters.disparities = pair.labels;
      parameters.refine = RefineParameters::none();
      Matcher matcher(parameters, {}, pair.left.view().format);
      Result output(pair.gray.size());
      Plane<float> sure(pair.gray.size());
      matcher.run(pair.views(), {output.disparity.view(), output.status.view(), sure.view()});
      for (int y = 0; y < sure.height(); ++y) {
        for (int x = 0; x < sure.width(); ++x) {
          if (pair.visible.at(x, y) != 255 || !std::isfinite(pair.truth.at(x, y))) continue;
          ++seen;
          if (sure.at(x, y) < least) continue;
          ++kept;
          bad += std::abs(output.disparity.at(x, y) - pair.truth.at(x, y)) > 1;
        }
      }
    }
  }
  state.counters["kept"] = 100 * static_cast<double>(kept) / static_cast<double>(seen);
  state.counters["bad1_of_kept"] = 100 * static_cast<double>(bad) / static_cast<double>(kept);
}

// Reports the energy of the published model against the number of iterations per level.
void energy(benchmark::State& state, const fs::path& folder, const Set& set) {
  const GrayPair pair = load_gray_pair(folder);
  for (auto _ : state) {
    for (const int iterations : {1, 2, 4, 7, 14, 28}) {
      BeliefPropagationParameters parameters = published(set.labels, Arithmetic::fixed8);
      parameters.iterations = iterations;
      Matcher matcher(parameters, {}, {pair.size()});
      Result output(pair.size());
      matcher.run(pair.views(), output.map());
      state.counters["after_" + std::to_string(iterations)] =
          energy(parameters, pair.views(), output.disparity.view());
    }
  }
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

void register_accuracy(const fs::path& data) {
  for (const float least : {0.0f, 0.1f, 0.2f, 0.3f, 0.4f, 0.45f})
    benchmark::RegisterBenchmark(("confidence/at_least:" + std::to_string(least).substr(0, 4)).c_str(),
                                 [=](benchmark::State& state) { confidence(state, data, least); })
        ->Iterations(1);
  for (const auto& folders : {pairs_2014(data), pairs_2003(data)})
    for (const PairFolder& entry : folders)
      benchmark::RegisterBenchmark(("accuracy/" + entry.name).c_str(), [=](benchmark::State& state) {
        accuracy(state, entry);
      })->Iterations(1);
  for (const Option& entry : options)
    benchmark::RegisterBenchmark((std::string("option/") + entry.name).c_str(), [=](benchmark::State& state) {
      BeliefPropagationParameters parameters;
      entry.choose(parameters);
      option(state, data, parameters);
    })->Iterations(1);
}

void register_set(const fs::path& folder, const Set& set) {
  for (const NamedArithmetic& entry : arithmetics) {
    for (const int threads : {1, 2})
      benchmark::RegisterBenchmark(
          (std::string("speed/") + set.name + "/" + entry.name + "/threads:" + std::to_string(threads))
              .c_str(),
          [=](benchmark::State& state) { speed(state, folder, set, entry.arithmetic, threads); })
          ->UseManualTime()
          ->Unit(benchmark::kMillisecond)
          ->Iterations(set.labels > 64 ? 11 : 31);
    benchmark::RegisterBenchmark(
        (std::string("error/") + set.name + "/" + entry.name).c_str(),
        [=](benchmark::State& state) { error(state, folder, set, entry.arithmetic); })
        ->Iterations(1);
  }
  benchmark::RegisterBenchmark((std::string("energy/") + set.name).c_str(), [=](benchmark::State& state) {
    energy(state, folder, set);
  })->Iterations(1);
}

}  // namespace

int main(int count, char** values) {
  benchmark::Initialize(&count, values);
  if (const char* data = std::getenv("PARALLAX_DATA")) {
    for (const Set& set : sets) register_set(fs::path(data) / "papers" / set.name, set);
    register_accuracy(data);
  } else {
    std::cerr << "PARALLAX_DATA is not set: synthetic pairs only\n";
  }
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
