// SPDX-License-Identifier: Apache-2.0
// What several tests share.
#pragma once

#include <algorithm>
#include <cstring>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "parallax/parallax.h"

namespace parallax {

// For the names of tests.
inline std::ostream& operator<<(std::ostream& out, DeviceKind kind) {
  return out << name(kind);
}

}  // namespace parallax

namespace parallax::test {

// Sanitizers find what they look for in fewer cases, and take ten times as long for each.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

// A map whose memory held garbage before, so that a pixel that nobody writes shows.
struct Result {
  Plane<float> disparity;
  Plane<std::uint8_t> status;
  Plane<float> confidence;  // only of a matcher that was asked for it

  explicit Result(Size size, int poison = 0xA5, bool with_confidence = false)
      : disparity(size), status(size), confidence(with_confidence ? size : Size{}) {
    for (int y = 0; y < size.height; ++y) {
      std::memset(disparity.row(y), poison, static_cast<std::size_t>(size.width) * sizeof(float));
      std::memset(status.row(y), poison, static_cast<std::size_t>(size.width));
      if (with_confidence)
        std::memset(confidence.row(y), poison, static_cast<std::size_t>(size.width) * sizeof(float));
    }
  }

  DisparityMap map() { return {disparity.view(), status.view(), confidence.view()}; }
};

template <class T>
bool same_bytes(const Plane<T>& a, const Plane<T>& b) {
  if (a.size() != b.size()) return false;
  for (int y = 0; y < a.height(); ++y)
    if (std::memcmp(a.row(y), b.row(y), static_cast<std::size_t>(a.width()) * sizeof(T)) != 0) return false;
  return true;
}

inline bool same_bytes(const Result& a, const Result& b) {
  return same_bytes(a.disparity, b.disparity) && same_bytes(a.status, b.status) &&
         same_bytes(a.confidence, b.confidence);
}

inline Result match(const MatcherParameters& parameters, const Device& device, const StereoPair& pair,
                    int poison = 0xA5, bool with_confidence = false, const TunedValues& configuration = {}) {
  Result result(pair.left.format.size, poison, with_confidence);
  Matcher(parameters, device, pair.left.format, {0, configuration}).run(pair, result.map());
  return result;
}

inline Device cpu(int threads) {
  Device device;
  device.threads = threads;
  return device;
}

// A method, as a part of the name of a test: "tiled_bp".
inline std::string name_in_tests(std::string method) {
  std::replace(method.begin(), method.end(), '-', '_');
  return method;
}

inline const Device reference{DeviceKind::reference};

// That any method runs on.
inline std::vector<DeviceKind> device_kinds() {
  std::vector<DeviceKind> kinds;
  for (const MatcherOnDevice& entry : list_matchers())
    if (std::find(kinds.begin(), kinds.end(), entry.device) == kinds.end()) kinds.push_back(entry.device);
  return kinds;
}

inline bool is_here(DeviceKind kind) {
  for (const DeviceDescription& device : list_devices())
    if (Device::parse(device.device).kind == kind) return true;
  return false;
}

// The reference and the processor, as far as the method runs on them.
inline std::vector<Device> processors(std::string_view method) {
  std::vector<Device> devices;
  for (const MatcherOnDevice& entry : list_matchers()) {
    if (entry.method != method) continue;
    if (entry.device == DeviceKind::reference) devices.push_back(reference);
    if (entry.device == DeviceKind::cpu) devices.push_back(cpu(2));
  }
  return devices;
}

// Block matching without any refinement of its map.
inline BlockParameters plain_block() {
  BlockParameters parameters = preset<BlockParameters>("sad-full-row");
  parameters.full_row = false;
  return parameters;
}

// Census matching that gives bare labels.
inline CensusParameters plain_census() {
  CensusParameters parameters;
  parameters.sub_pixel = SubPixel::none;
  parameters.refine = RefineParameters::none();
  return parameters;
}

// Belief propagation that gives bare labels.
inline BeliefPropagationParameters plain_belief_propagation() {
  BeliefPropagationParameters parameters;
  parameters.edge_contrast = 0;
  parameters.sub_pixel = SubPixel::none;
  parameters.refine = RefineParameters::none();
  return parameters;
}

// Tiled belief propagation that gives bare labels.
inline TiledBeliefPropagationParameters plain_tiled_belief_propagation() {
  TiledBeliefPropagationParameters parameters;
  parameters.sub_pixel = SubPixel::none;
  parameters.refine = RefineParameters::none();
  return parameters;
}

// Fails unless the call throws an error of bad arguments that says `reason`.
template <class Call>
void expect_refused(const Call& call, std::string_view reason) {
  try {
    call();
    ADD_FAILURE() << "no error about " << reason;
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), ErrorCategory::argument);
    EXPECT_NE(std::string_view(error.what()).find(reason), std::string_view::npos) << error.what();
  }
}

template <class T>
Plane<T> plane(std::vector<std::vector<T>> rows) {
  Plane<T> result({static_cast<int>(rows.front().size()), static_cast<int>(rows.size())});
  for (int y = 0; y < result.height(); ++y)
    for (int x = 0; x < result.width(); ++x)
      result.at(x, y) = rows[static_cast<std::size_t>(y)][static_cast<std::size_t>(x)];
  return result;
}

inline Status status_at(const Result& result, int x, int y) {
  return static_cast<Status>(result.status.at(x, y));
}

inline SynthPair synth(Scene scene, Size size = {160, 96}, int disparities = 20) {
  SynthParameters parameters;
  parameters.scene = scene;
  parameters.size = size;
  parameters.disparities = disparities;
  return synthesize(parameters);
}

// What a camera of less gain and another offset would have seen.
inline Plane<std::uint8_t> dimmed(const Plane<std::uint8_t>& image) {
  Plane<std::uint8_t> result(image.size());
  for (int y = 0; y < result.height(); ++y)
    for (int x = 0; x < result.width(); ++x)
      result.at(x, y) = static_cast<std::uint8_t>(image.at(x, y) * 2 / 5 + 60);
  return result;
}

}  // namespace parallax::test
