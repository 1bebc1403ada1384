// SPDX-License-Identifier: Apache-2.0
// Helpers that several benchmarks share.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include "parallax/parallax.h"

namespace parallax::benchmarks {

template <class Run>
double milliseconds(const Run& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

// Runs a program's work; prints why it fails. Returns the exit status.
template <class Work>
int run_program(const Work& work) {
  try {
    work();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

// The value below which this share of the values lies; 0 without values.
inline double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

inline double median(const std::vector<double>& values) {
  return quantile(values, 0.5);
}

// Reads "METHOD PRESET [FIELD=VALUE | unrefined]...", where `unrefined` leaves out all steps after the match.
// 0 disparities = as the preset has.
inline MatcherParameters parameters_of(const std::string& text, int disparities) {
  std::istringstream words(text);
  std::string method, preset_name, word;
  words >> method >> preset_name;
  MatcherParameters parameters = preset(method, preset_name);
  while (words >> word) {
    const std::size_t equals = word.find('=');
    if (word == "unrefined")
      parameters.refine() = RefineParameters::none();
    else
      set_parameter(parameters, word.substr(0, equals), word.substr(equals + 1));
  }
  if (disparities > 0) parameters.disparities() = disparities;
  return parameters;
}

class Random {
 public:
  explicit Random(int seed) : state_(static_cast<std::uint64_t>(seed) * 2654435761u + 88172645463325252u) {}
  // From 0 to 1.
  double unit() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<double>(state_ >> 11) * 0x1p-53;
  }
  // From −most to most.
  double within(double most) { return most * (2 * unit() - 1); }

 private:
  std::uint64_t state_;
};

// Two webcams that are turned by about 1.5° about each axis.
inline Rig webcams(Size size) {
  Camera left;
  left.size = size;
  left.focal_x = left.focal_y = 0.8 * size.width;
  left.centre_x = 0.51 * size.width, left.centre_y = 0.49 * size.height;
  left.distortion = {-0.28, 0.09, 0.0004, -0.0003, -0.01};
  Camera right = left;
  right.centre_x = 0.49 * size.width, right.centre_y = 0.51 * size.height;
  const Matrix3 rotation = {0.99931, 0.02599,  0.02634,  -0.02668, 0.99930,
                            0.02598, -0.02565, -0.02666, 0.99932};
  return {left, right, rotation, {-0.12, 0.002, -0.001}};
}

// Matches of raw images by a RectifiedMatcher and of rectified ones by a Matcher, in turns, host to host.
struct RectifiedTimes {
  double raw = 0, rectified = 0;  // medians in milliseconds
  double raw_megabytes = 0, rectified_megabytes = 0;
};

inline RectifiedTimes time_rectified(const MatcherParameters& parameters, const Device& device,
                                     const StereoPair& raw, int rounds) {
  const Size size = raw.left.format.size;
  const Rig rig = webcams(size);
  const Rectification to = rectify(rig);
  Plane<std::uint8_t> left(size), right(size);
  Result result(size);
  Rectifier(rig, to, Interpolation::bilinear, Device{}).run(raw.left, raw.right, {left.view(), right.view()});
  RectifiedMatcher from_raw(parameters, device, rig, to);
  Matcher from_rectified(parameters, device, {size});
  std::vector<double> raw_times, rectified_times;
  for (int round = -10; round < rounds; ++round) {  // ten to warm up
    const double first = milliseconds([&] { from_raw.run(raw.left, raw.right, result.map()); });
    const double second = milliseconds([&] {
      from_rectified.run({left.view(), right.view()}, result.map());
    });
    if (round < 0) continue;
    raw_times.push_back(first);
    rectified_times.push_back(second);
  }
  return {median(raw_times), median(rectified_times), static_cast<double>(from_raw.memory_bytes()) / 1e6,
          static_cast<double>(from_rectified.memory_bytes()) / 1e6};
}

}  // namespace parallax::benchmarks
