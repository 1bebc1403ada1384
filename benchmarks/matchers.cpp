// SPDX-License-Identifier: Apache-2.0
// Measures times and errors of matchers on processors and OpenCL devices, beside OpenCV's StereoBM and
// StereoSGBM in the same process. The pages in docs/measurements/ name the cases for their tables:
//
//   PARALLAX_DATA=... build/developer/benchmarks/benchmark_matchers --benchmark_filter=block/speed
//   build/developer/benchmarks/benchmark_matchers --benchmark_list_tests
//
// A case matches its pairs with each of its matchers in turns. Without PARALLAX_DATA there are only the cases
// with synthetic pairs. Figures are those of the first matcher; those of the others are preceded by its name:
//
// - ms: the median time, summed over the pairs; ms_STAGE: that of a stage; ratio: our time divided by that of
//   the second matcher, the median over the rounds;
// - bad1, bad2: per cent of the pixels that both cameras see; coverage: of these, with a disparity; _all: of
//   all pixels with a truth. A pixel without a disparity is bad; of_valid: of those with one. Matched: the
//   disparities that were filled are left out; filled: after a fill along the rows. Means over the pairs.

#include <cmath>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <optional>

#include <benchmark/benchmark.h>
#include <opencv2/calib3d.hpp>

#include "parallax/opencv.h"
#include "parallax/parallax.h"

#include "benchmarks/common.h"
#include "benchmarks/mats.h"
#include "benchmarks/pairs.h"

namespace {

using namespace parallax;
using namespace parallax::benchmarks;
namespace fs = std::filesystem;
using std::to_string;

// A pair, with its truth if it is known. `visible` is empty if all pixels count.
struct Images {
  cv::Mat left, right, truth, visible;
  int labels;

  StereoPair views() const { return {as_view(left), as_view(right)}; }
  Size size() const { return {left.cols, left.rows}; }
};

using MakeImages = std::function<std::vector<Images>()>;

template <class T>
cv::Mat copy(const Plane<T>& plane) {
  cv::Mat result(plane.height(), plane.width(), cv::DataType<T>::type);
  for (int y = 0; y < plane.height(); ++y) std::copy_n(plane.row(y), plane.width(), result.ptr<T>(y));
  return result;
}

template <class T>
View<const T> plane_of(const cv::Mat& mat) {
  if (mat.empty()) return {};
  return {mat.ptr<T>(), {mat.cols, mat.rows}, static_cast<std::ptrdiff_t>(mat.step)};
}

const fs::path& data() {
  static const fs::path folder = std::getenv("PARALLAX_DATA") ? std::getenv("PARALLAX_DATA") : "";
  return folder;
}

Images load_colour(const DataPair& pair) {
  const LoadedPair loaded = load(data(), pair);
  return {as_mat(loaded.left.view()).clone(), as_mat(loaded.right.view()).clone(), copy(loaded.truth),
          copy(loaded.visible), pair.disparities};
}

Images load_gray(const DataPair& pair) {
  Images images = load_colour(pair);
  images.left = gray(images.left), images.right = gray(images.right);
  return images;
}

template <class Load>
MakeImages all_of(std::span<const DataPair> pairs, const Load& load_one) {
  return [=] {
    std::vector<Images> result;
    for (const DataPair& pair : pairs) result.push_back(load_one(pair));
    return result;
  };
}

MakeImages one_of_papers(const std::string& name, int labels) {
  return [=] {
    for (const DataPair& pair : pairs_of_papers)
      if (pair.name() == name) {
        Images images = load_gray(pair);
        images.labels = labels;
        return std::vector{images};
      }
    return std::vector<Images>{};
  };
}

MakeImages synthetic(Size size, int labels) {
  return [=] {
    const SynthPair pair = synthesize({.size = size, .disparities = labels});
    return std::vector{
        Images{as_mat(pair.left_view()).clone(), as_mat(pair.right_view()).clone(), {}, {}, labels}};
  };
}

MakeImages synthetic_gray(Size size, int labels) {
  return [=] {
    std::vector<Images> images = synthetic(size, labels)();
    for (cv::Mat* image : {&images[0].left, &images[0].right}) *image = gray(*image);
    return images;
  };
}

// The last columns and first rows of Piano: a real pair of a size used in publications; smaller without truth.
MakeImages piano(Size size) {
  return [=] {
    Images images = load_gray(middlebury_2014[4]);
    const cv::Rect area(images.left.cols - 640, 0, 640, 480);
    for (cv::Mat* mat : {&images.left, &images.right, &images.truth, &images.visible})
      *mat = (*mat)(area).clone();
    images.labels = 60;
    if (size == Size{640, 480}) return std::vector{images};
    images.truth = images.visible = cv::Mat();
    for (cv::Mat* mat : {&images.left, &images.right})
      cv::resize(mat->clone(), *mat, {size.width, size.height}, 0, 0, cv::INTER_AREA);
    return std::vector{images};
  };
}

MakeImages large_motorcycle(Size size, int labels) {
  return [=] {
    const Images given = load_gray(middlebury_2014[2]);
    Images images{{}, {}, {}, {}, labels};
    cv::resize(given.left, images.left, {size.width, size.height}, 0, 0, cv::INTER_CUBIC);
    cv::resize(given.right, images.right, {size.width, size.height}, 0, 0, cv::INTER_CUBIC);
    return std::vector{images};
  };
}

// OpenCV's matchers take numbers of labels that are multiples of 16.
using MakePeer = std::function<cv::Ptr<cv::StereoMatcher>(int labels)>;

struct Contender {
  std::string name;
  std::string parameters = {};  // see parameters_of(); empty = a matcher with OpenCV's interface
  MakePeer peer = {};
  Device device = {};
};

Contender ours(const std::string& parameters, const Device& device = {}) {
  return {"", parameters, {}, device};
}

Contender stereo_bm(int window) {
  return {"StereoBM", "", [=](int labels) { return cv::StereoBM::create(labels, window); }};
}

Contender stereo_sgbm(int window, int mode, int check = 0) {
  const int unit = window * window;
  return {"StereoSGBM", "", [=](int labels) {
            return cv::StereoSGBM::create(0, labels, window, 8 * unit, 32 * unit, check, 0, 0, 0, 0, mode);
          }};
}

// With the filters of OpenCV's sample stereo_match.
Contender sample_sgbm(int window, int mode, int speckle_range) {
  const int unit = window * window;
  return {"StereoSGBM", "", [=](int labels) {
            return cv::StereoSGBM::create(0, labels, window, 8 * unit, 32 * unit, 1, 63, 10, 100,
                                          speckle_range, mode);
          }};
}

Contender sample_bm() {
  return {"StereoBM", "", [](int labels) {
            const cv::Ptr<cv::StereoBM> matcher = cv::StereoBM::create(labels, 9);
            matcher->setPreFilterCap(31);
            matcher->setTextureThreshold(10);
            matcher->setUniquenessRatio(15);
            matcher->setSpeckleWindowSize(100);
            matcher->setSpeckleRange(32);
            matcher->setDisp12MaxDiff(1);
            return matcher;
          }};
}

// One contender's match of one pair.
class Run {
 public:
  Run(const Contender& contender, const Images& images, int threads)
      : images_(images), result_(images.size()) {
    if (contender.peer) {
      left_ = gray(images.left), right_ = gray(images.right);
      peer_ = contender.peer((images.labels + 15) / 16 * 16);
    } else {
      Device device = contender.device;
      device.threads = threads;
      matcher_.emplace(parameters_of(contender.parameters, images.labels), device,
                       images.views().left.format);
    }
  }

  void operator()() {
    if (matcher_)
      matcher_->run(images_.views(), result_.map());
    else
      peer_->compute(left_, right_, fixed_);
  }

  const Matcher* matcher() const { return matcher_ ? &*matcher_ : nullptr; }

  // The last run's result. OpenCV's disparities are in 16ths of a pixel; negative ones mean no value.
  Result& result() {
    for (int y = 0; y < fixed_.rows; ++y)
      for (int x = 0; x < fixed_.cols; ++x) {
        const short value = fixed_.at<short>(y, x);
        result_.disparity.at(x, y) = value < 0 ? std::numeric_limits<float>::infinity() : value / 16.0f;
        result_.status.at(x, y) =
            static_cast<std::uint8_t>(value < 0 ? Status::out_of_range : Status::matched);
      }
    return result_;
  }

 private:
  const Images& images_;
  std::optional<Matcher> matcher_;
  cv::Ptr<cv::StereoMatcher> peer_;
  cv::Mat left_, right_, fixed_;
  Result result_;
};

using Figures = std::map<std::string, double>;

void add_errors(Figures& sums, const std::string& name, View<const float> disparity, const Images& images) {
  const View<const float> truth = plane_of<float>(images.truth);
  const ErrorMetrics all = evaluate(disparity, truth),
                     visible = evaluate(disparity, truth, plane_of<std::uint8_t>(images.visible));
  sums[name + "bad1"] += 100 * visible.bad1;
  sums[name + "bad1_all"] += 100 * all.bad1;
  sums[name + "bad2"] += 100 * visible.bad2;
  sums[name + "bad2_all"] += 100 * all.bad2;
  sums[name + "coverage"] += 100 * visible.coverage;
  if (visible.coverage > 0)
    sums[name + "bad2_of_valid"] += 100 * (visible.bad2 - (1 - visible.coverage)) / visible.coverage;
}

void add_errors(Figures& sums, const std::string& name, Result& result, const Images& images) {
  if (images.truth.empty()) return;
  add_errors(sums, name, result.disparity.view(), images);
  Plane<float> matched(result.disparity.size(), std::numeric_limits<float>::infinity());
  for (int y = 0; y < matched.height(); ++y)
    for (int x = 0; x < matched.width(); ++x)
      if (static_cast<Status>(result.status.at(x, y)) == Status::matched)
        matched.at(x, y) = result.disparity.at(x, y);
  add_errors(sums, name + "matched_", matched.view(), images);
  fill_row(result.map());
  add_errors(sums, name + "filled_", result.disparity.view(), images);
}

struct Case {
  MakeImages images;
  std::vector<Contender> contenders;
  int threads = 0;
  int rounds = 1;  // after one to warm up, unless there is only one
};

void add_figures(Figures& sums, const Case& which, const Images& images) {
  std::vector<Run> runs;
  for (const Contender& contender : which.contenders) runs.emplace_back(contender, images, which.threads);
  std::vector<std::vector<double>> times(runs.size());
  std::vector<double> ratios;
  std::map<std::string, std::vector<double>> stages;
  for (Run& run : runs)
    if (which.rounds > 1) run();
  for (int round = 0; round < which.rounds; ++round) {
    for (std::size_t i = 0; i < runs.size(); ++i) {
      times[i].push_back(milliseconds([&] { runs[i](); }));
      if (i > 0 || !runs[i].matcher()) continue;
      for (const StageTime& stage : runs[i].matcher()->stage_times())
        stages[stage.stage].push_back(stage.milliseconds);
    }
    if (runs.size() > 1) ratios.push_back(times[0].back() / times[1].back());
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::string name = i > 0 ? which.contenders[i].name + "_" : "";
    sums[name + "ms"] += median(times[i]);
    add_errors(sums, name, runs[i].result(), images);
  }
  for (const auto& [stage, list] : stages) sums["ms_" + stage] += median(list);
  if (!ratios.empty()) sums["ratio"] += median(ratios);
  if (!runs[0].matcher()) return;
  const double label_pixels = static_cast<double>(images.size().pixels()) * images.labels,
               bytes = static_cast<double>(runs[0].matcher()->memory_bytes());
  sums["ns_per_label_pixel"] += 1e6 * median(times[0]) / label_pixels;
  sums["bytes_per_label_pixel"] += bytes / label_pixels;
  sums["MB"] += bytes / 1e6;
}

void add(const std::string& name, const Case& which) {
  const auto body = [=](benchmark::State& state) {
    cv::setNumThreads(which.threads > 0 ? which.threads : -1);
    for (auto _ : state) {
      const std::vector<Images> pairs = which.images();
      Figures sums;
      for (const Images& images : pairs) add_figures(sums, which, images);
      for (const auto& [figure, sum] : sums)
        state.counters[figure] =
            figure.find("ms") == std::string::npos ? sum / static_cast<double>(pairs.size()) : sum;
    }
  };
  benchmark::RegisterBenchmark(name.c_str(), body)->Unit(benchmark::kMillisecond)->Iterations(1);
}

// Once with one thread and once with two.
void add_threads(const std::string& name, Case which) {
  for (const int threads : {1, 2}) {
    which.threads = threads;
    add(name + "/threads:" + to_string(threads), which);
  }
}

std::string text(Size size) {
  return to_string(size.width) + "x" + to_string(size.height);
}

// Does what StereoBM does: costs of images filtered by Sobel's operator, the winner takes all, a parabola.
std::string bare_block(int window) {
  return "block default unrefined window=" + to_string(window);
}

void add_block_speed(const std::string& name, const MakeImages& images) {
  for (const int window : {9, 15})
    add_threads("block/speed/" + name + "/window:" + to_string(window),
                {images, {ours(bare_block(window)), stereo_bm(window)}, 0, 31});
}

void add_block() {
  for (const int labels : {128, 256})
    add_block_speed("synthetic_1920x1080/labels:" + to_string(labels), synthetic_gray({1920, 1080}, labels));
  if (data().empty()) return;
  const MakeImages half = one_of_papers("conesHalfSize", 128);
  add_block_speed("conesHalfSize/labels:128", half);
  for (const std::string cost : {"cost=sad prefilter=x-sobel", "cost=sad prefilter=none",
                                 "cost=ssd prefilter=none", "cost=zncc prefilter=none"})
    for (const int window : {3, 9, 15, 21, 31})
      add("block/window/" + cost + "/window:" + to_string(window),
          {half, {ours(bare_block(window) + " " + cost)}, 1, 15});
  add("block/full-row", {all_of(middlebury_2003.subspan(3), load_gray), {ours("block sad-full-row")}, 1, 31});
  for (const DataPair& pair : middlebury_2003)
    for (const int window : {9, 15, 21}) {
      Contender by_default = ours("block default window=" + to_string(window));
      by_default.name = "default";
      add("block/error/" + pair.name() + "/window:" + to_string(window),
          {all_of({&pair, 1}, load_gray), {ours(bare_block(window)), by_default, stereo_bm(window)}});
    }
}

constexpr const char* census_presets[] = {"mobile-gpu-2015 pyramid_levels=1", "mobile-gpu-2015", "fast",
                                          "balanced", "accurate"};

// On both years of Middlebury, and on the pair whose exposures differ.
void add_census_errors(const std::string& name, const Contender& contender) {
  add(name + "/2003", {all_of(middlebury_2003, load_gray), {contender}});
  add(name + "/2014", {all_of(middlebury_2014, load_gray), {contender}});
  add(name + "/MotorcycleE", {all_of(middlebury_2014.subspan(3, 1), load_gray), {contender}});
}

void add_census() {
  if (data().empty()) return;
  const Contender sgbm = sample_sgbm(5, cv::StereoSGBM::MODE_SGBM, 2);
  const std::pair<const char*, MakeImages> timed[] = {
      {"Piano_640x480", piano({640, 480})},
      {"Piano_320x240", piano({320, 240})},
      {"Motorcycle_1920x1080", large_motorcycle({1920, 1080}, 128)}};
  std::vector<Device> devices{{DeviceKind::cpu}};
  for (const DeviceDescription& found : list_devices())
    if (found.device.starts_with("opencl") && devices.size() == 1)
      devices.push_back(Device::parse(found.device));
  for (const std::string preset : census_presets) {
    for (const auto& [name, images] : timed)
      add_threads("census/speed/" + std::string(name) + "/" + preset,
                  {images, {ours("census " + preset), stereo_bm(15), sgbm}, 0, 31});
    for (const Device& device : devices)
      add("census/opencl/" + preset + "/" + device.text(),
          {piano({640, 480}), {ours("census " + preset, device)}, 0, 31});
    add_census_errors("census/error/" + preset, ours("census " + preset));
  }
  add_census_errors("census/error/StereoBM", stereo_bm(15));
  add_census_errors("census/error/StereoSGBM,5-paths", sgbm);
  add_census_errors("census/error/StereoSGBM,8-paths", sample_sgbm(5, cv::StereoSGBM::MODE_HH, 2));
  for (const std::string change : {"",
                                   "transform=census-5x5",
                                   "transform=census-9x9",
                                   "transform=modified-9x7",
                                   "transform=sparse-modified-7x7",
                                   "cost=ad-census",
                                   "window=3",
                                   "window=7",
                                   "window=15",
                                   "pyramid_levels=1",
                                   "pyramid_levels=4",
                                   "search_radius=2",
                                   "search_radius=8",
                                   "left_right_check=false",
                                   "speckle_size=0",
                                   "median=0",
                                   "weighted_median=11",
                                   "bilateral=15",
                                   "sub_pixel=none",
                                   "sub_pixel=parabola",
                                   "unrefined"})
    add_census_errors("census/option/" + change, ours("census balanced " + change));
}

void add_semi_global_speed(const std::string& name, int rounds, const MakeImages& images) {
  for (const std::string parameters :
       {"default paths=4", "default paths=5", "default paths=8", "opencv-sgbm", "opencv-sgbm-hh"}) {
    const bool is_preset = parameters.starts_with("opencv");
    const bool five = parameters == "default paths=5" || parameters == "opencv-sgbm";
    const Contender peer =
        stereo_sgbm(is_preset ? 3 : 5, five ? cv::StereoSGBM::MODE_SGBM : cv::StereoSGBM::MODE_HH);
    add_threads("sgm/speed/" + name + "/" + parameters,
                {images, {ours("sgm " + parameters), peer}, 0, rounds});
  }
}

void add_semi_global() {
  if (!data().empty()) add_semi_global_speed("900x750", 11, one_of_papers("conesHalfSize", 128));
  add_semi_global_speed("1920x1080", 5, synthetic_gray({1920, 1080}, 128));
  const auto scaling = [](Size size, int labels) {
    add("sgm/labels/" + text(size) + "/labels:" + to_string(labels),
        {synthetic_gray(size, labels), {ours("sgm default paths=8")}, 0, 5});
  };
  for (const int labels : {64, 128, 256, 512, 1024}) scaling({640, 480}, labels);
  for (const Size size : {Size{1280, 960}, {2560, 1920}, {4000, 3000}}) scaling(size, 64);
}

// Without refinement, of the pixels of 2014 that both cameras see: how many reach a confidence, and how many
// of those are off by more than one.
void confidence(benchmark::State& state) {
  constexpr double least[] = {0, 0.1, 0.2, 0.3, 0.4, 0.45};
  double kept[std::size(least)] = {}, bad[std::size(least)] = {};
  for (auto _ : state)
    for (const Images& images : all_of(middlebury_2014, load_colour)()) {
      Matcher matcher(parameters_of("bp default unrefined", images.labels), {}, images.views().left.format);
      Result result(images.size(), true);
      matcher.run(images.views(), result.map());
      for (int y = 0; y < images.left.rows; ++y)
        for (int x = 0; x < images.left.cols; ++x) {
          const float truth = images.truth.at<float>(y, x);
          if (images.visible.at<std::uint8_t>(y, x) != 255 || !std::isfinite(truth)) continue;
          for (std::size_t i = 0; i < std::size(least); ++i) {
            if (result.confidence.at(x, y) < static_cast<float>(least[i])) continue;
            ++kept[i];
            bad[i] += std::abs(result.disparity.at(x, y) - truth) > 1;
          }
        }
    }
  for (std::size_t i = 0; i < std::size(least); ++i) {
    const std::string name = "at_least_" + to_string(least[i]).substr(0, 4);
    state.counters[name + "_pixels"] = 100 * kept[i] / kept[0];
    state.counters[name + "_bad1"] = 100 * bad[i] / kept[i];
  }
}

void add_belief_propagation() {
  const std::string published = "bp grauer-gray-2019 arithmetic=";
  for (const Size size : {Size{480, 360}, {960, 720}, {1920, 1440}})
    for (const int labels : {64, 128, 256})
      add("bp/scaling/" + text(size) + "/labels:" + to_string(labels),
          {synthetic(size, labels), {ours(published + "fixed8")}, 0, 7});
  if (data().empty()) return;
  for (const DataPair& pair : pairs_of_papers)
    for (const std::string arithmetic : {"fixed8", "fixed16", "float32", "float16", "bfloat16"}) {
      const Contender contender = ours(published + arithmetic);
      add_threads("bp/speed/" + pair.name() + "/" + arithmetic,
                  {all_of({&pair, 1}, load_gray),
                   {contender, stereo_sgbm(5, cv::StereoSGBM::MODE_SGBM)},
                   0,
                   pair.disparities > 64 ? 11 : 31});
      add("bp/error/" + pair.name() + "/" + arithmetic, {all_of({&pair, 1}, load_gray), {contender}});
    }
  for (const DataPair& pair : middlebury)
    add("errors/" + pair.name(),
        {all_of({&pair, 1}, load_colour), {stereo_sgbm(5, cv::StereoSGBM::MODE_SGBM, 1), stereo_bm(15)}});
  const std::string other_cost = " data_weight=0.1 data_truncation=15";
  const std::vector<std::string> changes = {
      "",
      "cost=absolute-difference-colour" + other_cost,
      "cost=birchfield-tomasi" + other_cost,
      "outside_cost=none",
      "edge_contrast=0",
      "sub_pixel=none",
      "left_right_check=false",
      "fill=none",
      "median=0",
      "unrefined",
      "levels=1",
      "levels=3",
      "iterations=14",
      "candidate_levels=0",
      "candidate_levels=0 finest_iterations=0 right_finest_iterations=0",
      "arithmetic=fixed16",
      "arithmetic=float32",
      "arithmetic=bfloat16"};
  for (const std::string& change : changes)
    for (const auto& [year, pairs] : {std::pair{"2014", middlebury_2014}, {"2003", middlebury_2003}})
      add("bp/option/" + change + "/" + year,
          {all_of(pairs, load_colour), {ours("bp default " + change)}, 0, 5});
  benchmark::RegisterBenchmark("bp/confidence", confidence)->Iterations(1);
}

void add_tiled_belief_propagation() {
  const std::string plain = "tiled-bp default sub_pixel=none unrefined tile=";
  for (const int tile : {13, 16, 32, 64})
    add_threads("tiled-bp/large/tile:" + to_string(tile),
                {synthetic({1920, 1080}, 128), {ours(plain + to_string(tile))}, 0, 3});
  if (data().empty()) return;
  const auto contest = [](const std::string& parameters) {
    add_threads("tiled-bp/contest/" + parameters,
                {one_of_papers("tsukubaSet", 16), {ours("tiled-bp memocode-2013 " + parameters)}, 0, 31});
  };
  for (const std::string tile : {"8", "13", "16", "32", "64", "0"})
    for (const std::string outer : {"1", "2", "4"})
      for (const std::string inner : {"1", "2", "4"})
        contest("tile=" + tile + " outer=" + outer + " inner=" + inner);
  for (const char* more : {"", " message_width=bits16", " early_out=false"})
    contest(std::string("tile=0 outer=1 inner=20") + more);
  for (const std::string tile : {"32", "0"})
    for (const int labels : {16, 32, 64, 128, 256})
      add_threads("tiled-bp/labels/tile:" + tile + "/" + to_string(labels),
                  {one_of_papers("conesHalfSize", labels), {ours(plain + tile)}, 0, 9});
}

// Through OpenCV's interface, on gray images; ours with disparities rounded up to 16, as OpenCV's.
void add_opencv() {
  if (data().empty()) return;
  std::vector<Contender> contenders{sample_bm()};
  for (const auto& [name, mode] : {std::pair{"MODE_SGBM", cv::StereoSGBM::MODE_SGBM},
                                   {"MODE_SGBM_3WAY", cv::StereoSGBM::MODE_SGBM_3WAY},
                                   {"MODE_HH", cv::StereoSGBM::MODE_HH}}) {
    contenders.push_back(sample_sgbm(3, mode, 32));
    contenders.back().name += std::string(",") + name;
  }
  for (const std::string& method : list_methods()) {
    if (method == "motion") continue;  // it searches rows, too: benchmarks/motion.py compares it
    for (const std::string json : {"{}", R"({"fill": "none"})"})
      contenders.push_back({method + (json == "{}" ? "" : ",unfilled"), "", [=](int labels) {
                              return opencv::create(method, 0, labels, json, {.threads = 2});
                            }});
  }
  for (const Contender& contender : contenders) {
    add("opencv/mean/" + contender.name, {all_of(middlebury, load_gray), {contender}, 2});
    add("opencv/Motorcycle/" + contender.name,
        {all_of(middlebury_2014.subspan(2, 1), load_gray), {contender}, 2, 9});
  }
}

}  // namespace

int main(int count, char** values) {
  benchmark::Initialize(&count, values);
  if (data().empty()) std::cerr << "PARALLAX_DATA is not set: synthetic pairs only\n";
  add_block();
  add_census();
  add_semi_global();
  add_belief_propagation();
  add_tiled_belief_propagation();
  add_opencv();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
