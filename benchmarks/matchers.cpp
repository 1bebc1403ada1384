// SPDX-License-Identifier: Apache-2.0
// Measures times and errors of matchers on processors and OpenCL devices, beside OpenCV's StereoBM and
// StereoSGBM in the same process. The pages in docs/measurements/ name the cases for their tables:
//
//   PARALLAX_DATA=... build/developer/benchmarks/benchmark_matchers --benchmark_filter=block/speed
//   build/developer/benchmarks/benchmark_matchers --benchmark_list_tests
//   PARALLAX_DATA=... build/developer/benchmarks/benchmark_matchers 'census balanced window=3' ...
//
// The last one measures parameters (see parameters_of()) on the pairs of Middlebury.
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

// Images to match: pairs from files, or a synthetic pair.
struct Source {
  std::span<const DataPair> pairs = {};
  int labels = 0;  // 0 = those of the pair
  bool colour = false;
  Size crop = {};  // the last columns and first rows; 0×0 = the whole picture
  Size size = {};  // after the crop; 0×0 = as it is
};

// `truth` is empty if it is not known, or the images were cropped or resized; `visible` if all pixels count.
struct Images {
  cv::Mat left, right;
  int labels;
  Plane<float> truth = {};
  Plane<std::uint8_t> visible = {};

  StereoPair views() const { return {as_view(left), as_view(right)}; }
  Size size() const { return {left.cols, left.rows}; }
};

const fs::path& data() {
  static const fs::path folder = std::getenv("PARALLAX_DATA") ? std::getenv("PARALLAX_DATA") : "";
  return folder;
}

cv::Mat changed(const ImageView& picture, const Source& source) {
  cv::Mat mat = as_mat(picture);
  if (!source.colour) mat = gray(mat);
  if (const Size crop = source.crop; crop != Size{})
    mat = mat({mat.cols - crop.width, 0, crop.width, crop.height});
  const cv::Size size(source.size.width, source.size.height);
  if (size == cv::Size() || size == mat.size()) return mat.clone();
  cv::Mat resized;
  cv::resize(mat, resized, size, 0, 0, size.width < mat.cols ? cv::INTER_AREA : cv::INTER_CUBIC);
  return resized;
}

std::vector<Images> images_of(const Source& source) {
  std::vector<Images> result;
  const auto add = [&](const ImageView& left, const ImageView& right, int labels) {
    result.push_back(
        {changed(left, source), changed(right, source), source.labels > 0 ? source.labels : labels});
  };
  for (const DataPair& pair : source.pairs) {
    LoadedPair loaded = load(data(), pair);
    add(loaded.left.view(), loaded.right.view(), pair.disparities);
    if (source.crop != Size{} || source.size != Size{}) continue;
    result.back().truth = std::move(loaded.truth);
    result.back().visible = std::move(loaded.visible);
  }
  if (!source.pairs.empty()) return result;
  const SynthPair pair = synthesize({.size = source.size, .disparities = source.labels});
  add(pair.left_view(), pair.right_view(), source.labels);
  return result;
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

// `speckle_range` ≥ 0: with the filters of OpenCV's sample stereo_match.
Contender stereo_sgbm(int window, int mode, int check = 0, int speckle_range = -1) {
  return {"StereoSGBM", "", [=](int labels) {
            const int unit = window * window;
            const auto matcher = cv::StereoSGBM::create(0, labels, window, 8 * unit, 32 * unit, check);
            matcher->setMode(mode);
            if (speckle_range < 0) return matcher;
            matcher->setPreFilterCap(63);
            matcher->setUniquenessRatio(10);
            matcher->setSpeckleWindowSize(100);
            matcher->setSpeckleRange(speckle_range);
            return matcher;
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
  const View<const float> truth = images.truth.view();
  const ErrorMetrics all = evaluate(disparity, truth),
                     visible = evaluate(disparity, truth, images.visible.view());
  sums[name + "bad1"] += 100 * visible.bad1;
  sums[name + "bad1_all"] += 100 * all.bad1;
  sums[name + "bad2"] += 100 * visible.bad2;
  sums[name + "bad2_all"] += 100 * all.bad2;
  sums[name + "coverage"] += 100 * visible.coverage;
  if (visible.coverage > 0)
    sums[name + "bad2_of_valid"] += 100 * (visible.bad2 - (1 - visible.coverage)) / visible.coverage;
}

void add_errors(Figures& sums, const std::string& name, Result& result, const Images& images) {
  if (images.truth.size() == Size{}) return;
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
  Source source;
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
      const std::vector<Images> pairs = images_of(which.source);
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

void add_block_speed(const std::string& name, const Source& source) {
  add_threads("block/speed/" + name, {source, {ours(bare_block(9)), stereo_bm(9)}, 0, 31});
}

void add_block() {
  for (const int labels : {128, 256})
    add_block_speed("synthetic_1920x1080/labels:" + to_string(labels),
                    {.labels = labels, .size = {1920, 1080}});
  if (data().empty()) return;
  const Source half = {pairs_of_papers.subspan(4, 1), 128};
  add_block_speed("conesHalfSize/labels:128", half);
  for (const std::string cost : {"cost=sad prefilter=x-sobel", "cost=sad prefilter=none",
                                 "cost=ssd prefilter=none", "cost=zncc prefilter=none"})
    for (const int window : {3, 9, 15, 21, 31})
      add("block/window/" + cost + "/window:" + to_string(window),
          {half, {ours(bare_block(window) + " " + cost)}, 1, 15});
  add("block/full-row", {{middlebury_2003.subspan(3)}, {ours("block sad-full-row")}, 1, 31});
  for (const DataPair& pair : middlebury_2003)
    for (const int window : {9, 15, 21}) {
      Contender by_default = ours("block default window=" + to_string(window));
      by_default.name = "default";
      add("block/error/" + pair.name() + "/window:" + to_string(window),
          {{{&pair, 1}}, {ours(bare_block(window)), by_default, stereo_bm(window)}});
    }
}

constexpr const char* census_presets[] = {"mobile-gpu-2015 pyramid_levels=1", "mobile-gpu-2015", "fast",
                                          "balanced", "accurate"};

// On both years of Middlebury, and on the pair whose exposures differ.
void add_census_errors(const std::string& name, const Contender& contender) {
  add(name + "/2003", {{middlebury_2003}, {contender}});
  add(name + "/2014", {{middlebury_2014}, {contender}});
  add(name + "/MotorcycleE", {{middlebury_2014.subspan(3, 1)}, {contender}});
}

void add_census() {
  if (data().empty()) return;
  const Contender sgbm = stereo_sgbm(5, cv::StereoSGBM::MODE_SGBM, 1, 2);
  Source small{middlebury_2014.subspan(4, 1), 60, false, {640, 480}, {320, 240}}, piano = small;
  piano.size = {};
  const Source large{middlebury_2014.subspan(2, 1), 128, false, {}, {1920, 1080}};
  std::vector<Device> devices{{DeviceKind::cpu}};
  for (const DeviceDescription& found : list_devices())
    if (found.device.starts_with("opencl") && devices.size() == 1)
      devices.push_back(Device::parse(found.device));
  for (const std::string preset : census_presets) {
    for (const auto& [name, source] :
         {std::pair{"Piano_640x480", piano}, {"Piano_320x240", small}, {"Motorcycle_1920x1080", large}})
      add_threads("census/speed/" + std::string(name) + "/" + preset,
                  {source, {ours("census " + preset), stereo_bm(15), sgbm}, 0, 31});
    for (const Device& device : devices)
      add("census/opencl/" + preset + "/" + device.text(),
          {piano, {ours("census " + preset, device)}, 0, 31});
    add_census_errors("census/error/" + preset, ours("census " + preset));
  }
  add_census_errors("census/error/StereoBM", stereo_bm(15));
  add_census_errors("census/error/StereoSGBM,5-paths", sgbm);
  add_census_errors("census/error/StereoSGBM,8-paths", stereo_sgbm(5, cv::StereoSGBM::MODE_HH, 1, 2));
}

void add_semi_global_speed(const std::string& name, int rounds, const Source& source) {
  for (const std::string parameters :
       {"default paths=4", "default paths=5", "default paths=8", "opencv-sgbm", "opencv-sgbm-hh"}) {
    const bool is_preset = parameters.starts_with("opencv");
    const bool five = parameters == "default paths=5" || parameters == "opencv-sgbm";
    const Contender peer =
        stereo_sgbm(is_preset ? 3 : 5, five ? cv::StereoSGBM::MODE_SGBM : cv::StereoSGBM::MODE_HH);
    add_threads("sgm/speed/" + name + "/" + parameters,
                {source, {ours("sgm " + parameters), peer}, 0, rounds});
  }
}

void add_semi_global() {
  if (!data().empty()) add_semi_global_speed("900x750", 11, {pairs_of_papers.subspan(4, 1), 128});
  add_semi_global_speed("1920x1080", 5, {.labels = 128, .size = {1920, 1080}});
  const auto scaling = [](Size size, int labels) {
    add("sgm/labels/" + text(size) + "/labels:" + to_string(labels),
        {{.labels = labels, .size = size}, {ours("sgm default paths=8")}, 0, 5});
  };
  for (const int labels : {64, 128, 256, 512, 1024}) scaling({640, 480}, labels);
  for (const Size size : {Size{1280, 960}, {2560, 1920}, {4000, 3000}}) scaling(size, 64);
}

void add_belief_propagation() {
  const std::string published = "bp grauer-gray-2019 arithmetic=";
  for (const Size size : {Size{480, 360}, {960, 720}, {1920, 1440}})
    for (const int labels : {64, 128, 256})
      add("bp/scaling/" + text(size) + "/labels:" + to_string(labels),
          {{.labels = labels, .colour = true, .size = size}, {ours(published + "fixed8")}, 0, 7});
  if (data().empty()) return;
  for (const DataPair& pair : pairs_of_papers)
    for (const std::string arithmetic : {"fixed8", "fixed16", "float32", "float16", "bfloat16"}) {
      const Contender contender = ours(published + arithmetic);
      add_threads("bp/speed/" + pair.name() + "/" + arithmetic,
                  {{{&pair, 1}},
                   {contender, stereo_sgbm(5, cv::StereoSGBM::MODE_SGBM)},
                   0,
                   pair.disparities > 64 ? 11 : 31});
      add("bp/error/" + pair.name() + "/" + arithmetic, {{{&pair, 1}}, {contender}});
    }
  for (const DataPair& pair : middlebury)
    add("errors/" + pair.name(),
        {{{&pair, 1}, 0, true}, {stereo_sgbm(5, cv::StereoSGBM::MODE_SGBM, 1), stereo_bm(15)}});
}

void add_tiled_belief_propagation() {
  if (data().empty()) return;
  for (const std::string parameters :
       {"memocode-2013 tile=0 inner=20", "memocode-2013 tile=0 inner=20 message_width=bits16",
        "memocode-2013 tile=0 inner=20 early_out=false", "memocode-2013", "memocode-2013 tile=32",
        "memocode-2013-tuned"})
    add_threads("tiled-bp/contest/" + parameters,
                {{pairs_of_papers.first(1)}, {ours("tiled-bp " + parameters)}, 0, 31});
  for (const std::string tile : {"32", "0"})
    for (const int labels : {16, 32, 64, 128, 256})
      add_threads("tiled-bp/labels/tile:" + tile + "/" + to_string(labels),
                  {{pairs_of_papers.subspan(4, 1), labels},
                   {ours("tiled-bp default sub_pixel=none unrefined tile=" + tile)},
                   0,
                   9});
}

// Through OpenCV's interface, on gray images; ours with disparities rounded up to 16, as OpenCV's.
void add_opencv() {
  if (data().empty()) return;
  std::vector<Contender> contenders{sample_bm()};
  for (const auto& [name, mode] : {std::pair{"MODE_SGBM", cv::StereoSGBM::MODE_SGBM},
                                   {"MODE_SGBM_3WAY", cv::StereoSGBM::MODE_SGBM_3WAY},
                                   {"MODE_HH", cv::StereoSGBM::MODE_HH}}) {
    contenders.push_back(stereo_sgbm(3, mode, 1, 32));
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
    add("opencv/mean/" + contender.name, {{middlebury}, {contender}, 2});
    add("opencv/Motorcycle/" + contender.name, {{middlebury_2014.subspan(2, 1)}, {contender}, 2, 9});
  }
}

// Any parameters, on gray and on coloured images.
void add_given(const std::string& parameters) {
  for (const auto& [name, pairs] : {std::pair{"2003", middlebury_2003},
                                    {"2014", middlebury_2014},
                                    {"MotorcycleE", middlebury_2014.subspan(3, 1)}})
    for (const bool colour : {false, true})
      add(std::string(colour ? "colour/" : "gray/") + name + "/" + parameters,
          {{pairs, 0, colour}, {ours(parameters)}, 0, 5});
}

}  // namespace

int main(int count, char** values) {
  benchmark::Initialize(&count, values);
  for (int i = 1; i < count; ++i) add_given(values[i]);
  if (count > 1) return static_cast<int>(benchmark::RunSpecifiedBenchmarks() == 0);
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
