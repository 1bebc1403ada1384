// SPDX-License-Identifier: Apache-2.0
// Compares census matching with OpenCV's StereoBM and StereoSGBM in one process, on the same pixels, with the
// same label count. All benchmarks need PARALLAX_DATA.
//
//   build/developer/benchmarks/benchmark_census --benchmark_filter=speed     times and frame rates
//   build/developer/benchmarks/benchmark_census --benchmark_filter=error     errors of presets and peers
//   build/developer/benchmarks/benchmark_census --benchmark_filter=option    effect of each option
//   build/developer/benchmarks/benchmark_census --benchmark_filter=opencl    stages on cpu and OpenCL
//
// Errors are bad1 as a percentage of the pixels that both cameras see. `sparse`: unmatched pixels count as
// bad; `dense`: after the fill. OpenCV's maps are also filled by fill_row().

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <string>
#include <vector>

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

struct PairWithTruth {
  std::string name;
  GrayPair pair;
  int labels;
  Plane<float> truth;
  Plane<std::uint8_t> visible;  // 255 = seen by both cameras
};

struct Errors {
  double sparse, dense;
};

Errors errors(Result& map, const PairWithTruth& known) {
  const auto bad1 = [&](View<const float> disparity) {
    return 100 * evaluate(disparity, known.truth.view(), known.visible.view()).bad1;
  };
  Plane<float> matched(map.disparity.size());
  for (int y = 0; y < matched.height(); ++y)
    for (int x = 0; x < matched.width(); ++x)
      matched.at(x, y) = static_cast<Status>(map.status.at(x, y)) == Status::matched
                             ? map.disparity.at(x, y)
                             : std::numeric_limits<float>::infinity();
  fill_row(map.map());
  return {bad1(matched.view()), bad1(map.disparity.view())};
}

// OpenCV's disparities are in 16ths of a pixel; negative ones mean no value.
Result from_opencv(const cv::Mat& fixed) {
  Result map({fixed.cols, fixed.rows});
  for (int y = 0; y < fixed.rows; ++y)
    for (int x = 0; x < fixed.cols; ++x) {
      const short value = fixed.at<short>(y, x);
      map.disparity.at(x, y) = value < 0 ? std::numeric_limits<float>::infinity() : value / 16.0f;
      map.status.at(x, y) = static_cast<std::uint8_t>(value < 0 ? Status::out_of_range : Status::matched);
    }
  return map;
}

int whole_sixteens(int labels) {
  return (labels + 15) / 16 * 16;
}

cv::Ptr<cv::StereoMatcher> stereo_bm(int labels) {
  return cv::StereoBM::create(whole_sixteens(labels), 15);
}

// The settings of OpenCV's own sample, for gray images.
cv::Ptr<cv::StereoMatcher> stereo_sgbm(int labels, int mode) {
  constexpr int window = 5, unit = window * window;
  return cv::StereoSGBM::create(0, whole_sixteens(labels), window, 8 * unit, 32 * unit, 1, 63, 10, 100, 2,
                                mode);
}

Plane<std::uint8_t> seen_by_both(const Plane<std::uint8_t>& mask) {
  Plane<std::uint8_t> visible(mask.size());
  for (int y = 0; y < mask.height(); ++y)
    for (int x = 0; x < mask.width(); ++x) visible.at(x, y) = mask.at(x, y) == 255 ? 255 : 0;
  return visible;
}

std::vector<PairWithTruth> middlebury_2003(const fs::path& data) {
  struct Entry {
    const char* name;
    int labels;
    double scale;
  };
  std::vector<PairWithTruth> pairs;
  for (const Entry& entry :
       {Entry{"tsukuba", 16, 16}, Entry{"venus", 20, 8}, Entry{"teddy", 60, 4}, Entry{"cones", 60, 4}}) {
    const fs::path folder = data / "middlebury2003" / entry.name;
    pairs.push_back({entry.name, load_gray_pair(folder), entry.labels,
                     tool::read_disparity((folder / "groundtruth.png").string(), entry.scale),
                     tool::read_mask((folder / "nonocc.png").string())});
  }
  return pairs;
}

PairWithTruth middlebury_2014(const fs::path& folder) {
  const Calibration calibration = read_middlebury_calibration((folder / "calib.txt").string());
  return {folder.filename().string(), load_gray_pair(folder), calibration.disparities,
          read_pfm((folder / "disp0GT.pfm").string()),
          seen_by_both(tool::read_mask((folder / "mask0nocc.png").string()))};
}

std::vector<PairWithTruth> all_of_middlebury_2014(const fs::path& data) {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(data / "middlebury2014")) folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  std::vector<PairWithTruth> pairs;
  for (const fs::path& folder : folders) pairs.push_back(middlebury_2014(folder));
  return pairs;
}

// Crops a pair to its last columns and first rows.
PairWithTruth cropped(const PairWithTruth& known, Size size) {
  const int first = known.pair.size().width - size.width;
  const cv::Rect area(first, 0, size.width, size.height);
  PairWithTruth result{known.name,
                       {known.pair.left(area).clone(), known.pair.right(area).clone()},
                       known.labels,
                       Plane<float>(size),
                       Plane<std::uint8_t>(size)};
  for (int y = 0; y < size.height; ++y) {
    std::copy_n(known.truth.row(y) + first, size.width, result.truth.row(y));
    std::copy_n(known.visible.row(y) + first, size.width, result.visible.row(y));
  }
  return result;
}

// Halves the size of a pair; takes the truth of every second pixel.
PairWithTruth halved(const PairWithTruth& known) {
  const Size size{known.pair.size().width / 2, known.pair.size().height / 2};
  PairWithTruth result{known.name, {}, known.labels, Plane<float>(size), Plane<std::uint8_t>(size)};
  cv::resize(known.pair.left, result.pair.left, {size.width, size.height}, 0, 0, cv::INTER_AREA);
  cv::resize(known.pair.right, result.pair.right, {size.width, size.height}, 0, 0, cv::INTER_AREA);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      result.truth.at(x, y) = known.truth.at(2 * x, 2 * y) / 2;
      result.visible.at(x, y) = known.visible.at(2 * x, 2 * y);
    }
  return result;
}

// Returns an enlarged pair without truth, for times only.
PairWithTruth enlarged(const PairWithTruth& known, Size size, int labels) {
  PairWithTruth result{known.name, {}, labels, {}, {}};
  cv::resize(known.pair.left, result.pair.left, {size.width, size.height}, 0, 0, cv::INTER_CUBIC);
  cv::resize(known.pair.right, result.pair.right, {size.width, size.height}, 0, 0, cv::INTER_CUBIC);
  return result;
}

struct Variant {
  std::string name;
  CensusParameters parameters;
};

CensusParameters with_labels(CensusParameters parameters, int labels) {
  parameters.disparities = labels;
  return parameters;
}

std::vector<Variant> presets() {
  CensusParameters full_resolution = preset<CensusParameters>("mobile-gpu-2015");
  full_resolution.pyramid_levels = 1;
  std::vector<Variant> variants{{"mobile-gpu-2015,one-level", full_resolution}};
  for (const char* name : {"mobile-gpu-2015", "fast", "balanced", "accurate"})
    variants.push_back({name, preset<CensusParameters>(name)});
  return variants;
}

double time_of(const cv::Ptr<cv::StereoMatcher>& peer, const GrayPair& pair, cv::Mat& map) {
  return milliseconds([&] { peer->compute(pair.left, pair.right, map); });
}

void speed(benchmark::State& state, const PairWithTruth& known, const CensusParameters& parameters,
           int threads) {
  cv::setNumThreads(threads);
  const auto bm = stereo_bm(known.labels), sgbm = stereo_sgbm(known.labels, cv::StereoSGBM::MODE_SGBM);
  Matcher matcher(with_labels(parameters, known.labels), {.threads = threads}, {known.pair.size()});
  Result map(known.pair.size());
  const auto run = [&] { matcher.run(known.pair.views(), map.map()); };
  run();
  cv::Mat bm_map, sgbm_map;
  std::vector<double> times, bm_times, sgbm_times;
  for (auto _ : state) {
    times.push_back(milliseconds(run));
    bm_times.push_back(time_of(bm, known.pair, bm_map));
    sgbm_times.push_back(time_of(sgbm, known.pair, sgbm_map));
    state.SetIterationTime(times.back() / 1e3);
  }
  state.counters["ms"] = median(times);
  state.counters["fps"] = 1e3 / median(times);
  state.counters["BM_ms"] = median(bm_times);
  state.counters["SGBM_ms"] = median(sgbm_times);
  state.counters["MiB"] = static_cast<double>(matcher.memory_bytes()) / (1 << 20);
  const auto report = [&](const std::string& who, Result& result) {
    if (known.truth.width() == 0) return;
    const Errors error = errors(result, known);
    state.counters[who + "sparse"] = error.sparse;
    state.counters[who + "dense"] = error.dense;
  };
  Result of_bm = from_opencv(bm_map), of_sgbm = from_opencv(sgbm_map);
  report("", map);
  report("BM_", of_bm);
  report("SGBM_", of_sgbm);
}

struct AllPairs {
  std::vector<PairWithTruth> of_2003, of_2014;
};

// Reports mean errors over each set, and the errors of the pair with different exposures.
template <class Match>
void mean_errors(benchmark::State& state, const AllPairs& pairs, const Match& match) {
  const auto mean = [&](const std::string& set, const std::vector<PairWithTruth>& list) {
    double sparse = 0, dense = 0;
    for (const PairWithTruth& known : list) {
      Result map = match(known);
      const Errors error = errors(map, known);
      sparse += error.sparse / static_cast<double>(list.size());
      dense += error.dense / static_cast<double>(list.size());
      if (known.name == "MotorcycleE") {
        state.counters["MotorcycleE_sparse"] = error.sparse;
        state.counters["MotorcycleE_dense"] = error.dense;
      }
    }
    state.counters[set + "_sparse"] = sparse;
    state.counters[set + "_dense"] = dense;
  };
  for (auto _ : state) {
    mean("2003", pairs.of_2003);
    mean("2014", pairs.of_2014);
  }
}

Result match(const PairWithTruth& known, const CensusParameters& parameters) {
  Result map(known.pair.size());
  Matcher(with_labels(parameters, known.labels), {}, {known.pair.size()}).run(known.pair.views(), map.map());
  return map;
}

void register_errors(const std::string& name, const AllPairs& pairs, const CensusParameters& parameters) {
  benchmark::RegisterBenchmark(
      name.c_str(),
      [&pairs, parameters](benchmark::State& state) {
        mean_errors(state, pairs, [&](const PairWithTruth& known) { return match(known, parameters); });
      })
      ->Unit(benchmark::kMillisecond)
      ->Iterations(1);
}

template <class Make>
void register_peer(const std::string& name, const AllPairs& pairs, const Make& make) {
  benchmark::RegisterBenchmark(name.c_str(),
                               [&pairs, make](benchmark::State& state) {
                                 mean_errors(state, pairs, [&](const PairWithTruth& known) {
                                   cv::Mat map;
                                   make(known.labels)->compute(known.pair.left, known.pair.right, map);
                                   return from_opencv(map);
                                 });
                               })
      ->Unit(benchmark::kMillisecond)
      ->Iterations(1);
}

// Each variant differs from `balanced` in one parameter.
std::vector<Variant> options() {
  std::vector<Variant> variants;
  const auto add = [&](const std::string& name, const auto& change) {
    CensusParameters parameters = preset<CensusParameters>("balanced");
    change(parameters);
    variants.push_back({name, parameters});
  };
  add("balanced", [](CensusParameters&) {});
  const std::pair<const char*, CensusTransform> transforms[] = {
      {"census-5x5", CensusTransform::census_5x5},
      {"census-7x7", CensusTransform::census_7x7},
      {"census-9x7", CensusTransform::census_9x7},
      {"census-9x9", CensusTransform::census_9x9},
      {"modified-5x5", CensusTransform::modified_5x5},
      {"modified-7x7", CensusTransform::modified_7x7},
      {"modified-9x7", CensusTransform::modified_9x7},
      {"modified-9x9", CensusTransform::modified_9x9},
      {"sparse-modified-7x7", CensusTransform::sparse_modified_7x7}};
  for (const auto& [name, transform] : transforms)
    add(std::string("transform:") + name, [&, of = transform](CensusParameters& p) { p.transform = of; });
  add("cost:ad-census", [](CensusParameters& p) { p.cost = CensusCost::ad_census; });
  for (const int window : {3, 5, 7, 9, 11, 15})
    add("window:" + std::to_string(window), [&](CensusParameters& p) { p.window = window; });
  for (const int levels : {1, 2, 3, 4})
    add("pyramid-levels:" + std::to_string(levels), [&](CensusParameters& p) { p.pyramid_levels = levels; });
  for (const int radius : {1, 2, 4, 8})
    add("search-radius:" + std::to_string(radius), [&](CensusParameters& p) { p.search_radius = radius; });
  add("no left-right check", [](CensusParameters& p) { p.refine.left_right_check = false; });
  add("no speckle filter", [](CensusParameters& p) { p.refine.speckle_size = 0; });
  for (const int window : {0, 3, 5})
    add("median:" + std::to_string(window), [&](CensusParameters& p) { p.refine.median = window; });
  for (const int window : {0, 7, 11, 15})
    add("weighted-median:" + std::to_string(window),
        [&](CensusParameters& p) { p.refine.weighted_median = window; });
  for (const int window : {0, 7, 11, 15})
    add("bilateral:" + std::to_string(window), [&](CensusParameters& p) { p.refine.bilateral = window; });
  add("sub-pixel:none", [](CensusParameters& p) { p.sub_pixel = SubPixel::none; });
  add("sub-pixel:parabola", [](CensusParameters& p) { p.sub_pixel = SubPixel::parabola; });
  add("sub-pixel:v-shape", [](CensusParameters& p) { p.sub_pixel = SubPixel::v_shape; });
  add("no refinement", [](CensusParameters& p) { p.refine = RefineParameters::none(); });
  return variants;
}

// Reports the median times of the stages on a device.
void stages(benchmark::State& state, const PairWithTruth& known, const CensusParameters& parameters,
            const Device& device) {
  Matcher matcher(with_labels(parameters, known.labels), device, {known.pair.size()});
  Result map(known.pair.size());
  std::map<std::string, std::vector<double>> times;
  std::vector<double> totals;
  for (auto _ : state) {
    totals.push_back(milliseconds([&] { matcher.run(known.pair.views(), map.map()); }));
    for (const StageTime& stage : matcher.stage_times()) times[stage.stage].push_back(stage.milliseconds);
  }
  state.counters["ms"] = median(totals);
  for (auto& [stage, list] : times) state.counters[stage] = median(list);
}

void register_speed(const std::string& name, const PairWithTruth& known) {
  for (const Variant& variant : presets())
    for (const int threads : {1, 2})
      benchmark::RegisterBenchmark(
          ("speed/" + name + "/" + variant.name + "/threads:" + std::to_string(threads)).c_str(),
          [&known, variant, threads](benchmark::State& state) {
            speed(state, known, variant.parameters, threads);
          })
          ->UseManualTime()
          ->Unit(benchmark::kMillisecond)
          ->Iterations(31);
}

void register_opencl(const PairWithTruth& known) {
  std::vector<Device> devices{{DeviceKind::cpu}};
  for (const DeviceDescription& found : list_devices())
    if (found.device.starts_with("opencl") && devices.size() == 1)
      devices.push_back(Device::parse(found.device));
  for (const Variant& variant : presets())
    for (const Device& device : devices)
      benchmark::RegisterBenchmark(("opencl/" + variant.name + "/" + device.text()).c_str(),
                                   [&known, variant, device](benchmark::State& state) {
                                     stages(state, known, variant.parameters, device);
                                   })
          ->Unit(benchmark::kMillisecond)
          ->Iterations(31);
}

}  // namespace

int main(int count, char** values) {
  benchmark::Initialize(&count, values);
  const char* folder = std::getenv("PARALLAX_DATA");
  if (folder == nullptr) {
    std::cerr << "PARALLAX_DATA is not set: give the folder with middlebury2003/ and middlebury2014/\n";
    return 1;
  }
  const AllPairs pairs{middlebury_2003(folder), all_of_middlebury_2014(folder)};
  PairWithTruth vga = cropped(middlebury_2014(fs::path(folder) / "middlebury2014/Piano"), {640, 480});
  vga.labels = 60;
  const PairWithTruth qvga = halved(vga);
  const PairWithTruth hd =
      enlarged(middlebury_2014(fs::path(folder) / "middlebury2014/Motorcycle"), {1920, 1080}, 128);
  register_speed("Piano_640x480/labels:60", vga);
  register_speed("Piano_320x240/labels:60", qvga);
  register_speed("Motorcycle_1920x1080/labels:128", hd);
  register_opencl(vga);
  for (const Variant& variant : presets())
    register_errors("error/" + variant.name, pairs, variant.parameters);
  register_peer("error/StereoBM", pairs, stereo_bm);
  register_peer("error/StereoSGBM,5-paths", pairs,
                [](int labels) { return stereo_sgbm(labels, cv::StereoSGBM::MODE_SGBM); });
  register_peer("error/StereoSGBM,8-paths", pairs,
                [](int labels) { return stereo_sgbm(labels, cv::StereoSGBM::MODE_HH); });
  for (const Variant& variant : options())
    register_errors("option/" + variant.name, pairs, variant.parameters);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
