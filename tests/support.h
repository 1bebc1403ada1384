// SPDX-License-Identifier: Apache-2.0
// Helpers that several tests share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <ostream>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <stdlib.h>

#include "parallax/parallax.h"

namespace parallax {

// Used in the names of tests.
inline std::ostream& operator<<(std::ostream& out, DeviceKind kind) {
  return out << name(kind);
}

}  // namespace parallax

namespace parallax::test {

// Sanitizers need fewer cases to find errors, and take ten times as long for each. So does an emulated
// processor.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(PARALLAX_CROSS_COMPILED)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

// A map filled with garbage, so that pixels that are not written show up.
struct Result : parallax::Result {
  explicit Result(Size size, int poison = 0xA5, bool with_confidence = false, bool with_row_offsets = false)
      : parallax::Result(size, with_confidence, with_row_offsets) {
    for (int y = 0; y < size.height; ++y) {
      std::memset(status.row(y), poison, static_cast<std::size_t>(size.width));
      for (Plane<float>* plane : {&disparity, &confidence, &row_offset})
        if (plane->width() > 0)
          std::memset(plane->row(y), poison, static_cast<std::size_t>(size.width) * sizeof(float));
    }
  }
};

template <class T>
bool same_bytes(const Plane<T>& a, const Plane<T>& b) {
  if (a.size() != b.size()) return false;
  for (int y = 0; y < a.height(); ++y)
    if (std::memcmp(a.row(y), b.row(y), static_cast<std::size_t>(a.width()) * sizeof(T)) != 0) return false;
  return true;
}

inline bool same_bytes(const parallax::Result& a, const parallax::Result& b) {
  return same_bytes(a.disparity, b.disparity) && same_bytes(a.status, b.status) &&
         same_bytes(a.confidence, b.confidence) && same_bytes(a.row_offset, b.row_offset);
}

inline void expect_same(const parallax::Result& expected, const parallax::Result& actual,
                        const std::string& which) {
  EXPECT_TRUE(same_bytes(expected.status, actual.status)) << "status, " << which;
  EXPECT_TRUE(same_bytes(expected.disparity, actual.disparity)) << "disparity, " << which;
  EXPECT_TRUE(same_bytes(expected.confidence, actual.confidence)) << "confidence, " << which;
  EXPECT_TRUE(same_bytes(expected.row_offset, actual.row_offset)) << "row offsets, " << which;
}

inline Result match(const MatcherParameters& parameters, const Device& device, const StereoPair& pair,
                    int poison = 0xA5, bool with_confidence = false, const TunedValues& configuration = {}) {
  Matcher matcher(parameters, device, pair.left.format, {0, configuration});
  Result result(pair.left.format.size, poison, with_confidence, with_confidence && matcher.has_row_offsets());
  matcher.run(pair, result.map());
  return result;
}

inline Device cpu(int threads) {
  Device device;
  device.threads = threads;
  return device;
}

// Numbers of threads for a case of a vector target. Threads share work above the inner loops: one
// target runs each case on one thread and on several, and the others by turns.
inline std::vector<int> thread_counts(const std::string& target, unsigned number) {
  const int several = number % 2 == 0 ? 2 : 7;
  if (target == cpu_targets().front() && !sanitized) return {1, several};
  return {number % 3 == 0 ? 1 : several};
}

// Whether a vector target takes a case of many. The widest takes all, the narrowest a half; the others, which
// only check_all_vectors has, take a third.
inline bool takes_case(const std::string& target, unsigned number) {
  const std::vector<std::string> targets = cpu_targets();
  const auto at =
      static_cast<std::size_t>(std::find(targets.begin(), targets.end(), target) - targets.begin());
  return at == 0 || (at + 1 == targets.size() ? number % 2 == 1 : number % 3 == at % 3);
}

// The name of a method in a form for names of tests: "tiled_bp".
inline std::string name_in_tests(std::string method) {
  std::replace(method.begin(), method.end(), '-', '_');
  return method;
}

inline const Device reference{DeviceKind::reference};

// The kinds of devices on which any method runs.
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

// The devices among reference and cpu on which the method runs.
inline std::vector<Device> processors(std::string_view method) {
  std::vector<Device> devices;
  for (const MatcherOnDevice& entry : list_matchers()) {
    if (entry.method != method) continue;
    if (entry.device == DeviceKind::reference) devices.push_back(reference);
    if (entry.device == DeviceKind::cpu) devices.push_back(cpu(2));
  }
  return devices;
}

// Block matching that gives bare labels.
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

// The model of the design contest, giving bare labels.
inline TiledBeliefPropagationParameters plain_tiled_contest() {
  TiledBeliefPropagationParameters parameters = preset<TiledBeliefPropagationParameters>("memocode-2013");
  parameters.frame = 0;
  parameters.outside_cost = 10;
  return parameters;
}

inline std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// The error that a call throws; nothing if it throws none.
template <class Call>
std::optional<Error> error_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

// Fails unless the error is of the category, and its message one line that contains all parts.
inline void expect_error(const std::optional<Error>& error, ErrorCategory category,
                         std::initializer_list<std::string> parts) {
  if (!error) {
    ADD_FAILURE() << "no error" << (parts.size() == 0 ? "" : " with " + *parts.begin());
    return;
  }
  const std::string message = error->what();
  EXPECT_EQ(error->category(), category) << message;
  EXPECT_FALSE(contains(message, "\n")) << message;
  for (const std::string& part : parts) EXPECT_TRUE(contains(message, part)) << message << "\nlacks " << part;
}

// Fails unless the call throws an error about its arguments that states `reason`.
template <class Call>
void expect_refused(const Call& call, std::string_view reason) {
  expect_error(error_of(call), ErrorCategory::argument, {std::string(reason)});
}

// A new folder, removed at the end of its scope.
class TemporaryFolder {
 public:
  TemporaryFolder() : path_((std::filesystem::temp_directory_path() / "parallax-test-XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("cannot make a temporary folder");
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all, ignored);
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::filesystem::path path() const { return path_; }

 private:
  std::string path_;
};

// Gives an environment variable another value, or none, until the end of its scope.
class Variable {
 public:
  Variable(const char* name, const std::optional<std::string>& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    set(value);
  }
  ~Variable() { set(before_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

  void set(const std::optional<std::string>& value) const {
    if (value)
      setenv(name_, value->c_str(), 1);
    else
      unsetenv(name_);
  }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

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

inline StereoPair views(const SynthPair& pair) {
  return {pair.left_view(), pair.right_view()};
}

inline StereoPair views_with_masks(const SynthPair& pair) {
  return {pair.left_view(), pair.right_view(), pair.left_mask.view(), pair.right_mask.view()};
}

// Compares a map with the true disparities of the left view, where both views see them.
inline ErrorMetrics error_against_truth(const Result& result, const SynthPair& pair) {
  return evaluate(result.disparity.view(), pair.left_truth.view(), pair.left_mask.view());
}

inline int random_number(std::mt19937& random, int low, int high) {
  // Not std::uniform_int_distribution, which differs between standard libraries.
  return low + static_cast<int>(random() % (static_cast<unsigned>(high - low) + 1u));
}

// Data costs, with the labels of a pixel side by side, and blank images.
class Volume {
 public:
  Volume(Size size, int labels) : Volume(size, labels, std::vector<float>(size.pixels() * index(labels))) {}
  Volume(Size size, int labels, std::vector<float> costs)
      : labels_(labels), gray_(size), costs_(std::move(costs)) {}

  Size size() const { return gray_.size(); }
  int labels() const { return labels_; }
  float& at(int x, int y, int label) { return costs_[element(x, y, label)]; }
  float at(int x, int y, int label) const { return costs_[element(x, y, label)]; }
  StereoPair pair() const {
    return {gray_.view(), gray_.view(), {}, {}, CostVolume(costs_.data(), size(), labels_)};
  }

 private:
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  std::size_t element(int x, int y, int label) const {
    return (index(y) * index(size().width) + index(x)) * index(labels_) + index(label);
  }

  int labels_;
  Plane<std::uint8_t> gray_;
  std::vector<float> costs_;
};

// Noise, and a right view that shows it shifted.
class ShiftedPair {
 public:
  ShiftedPair(Size size, int shift) : left_(size), right_(size) {
    std::mt19937 random(1);
    for (int y = 0; y < size.height; ++y) {
      std::vector<std::uint8_t> scene(static_cast<std::size_t>(size.width + shift));
      for (std::uint8_t& value : scene) value = static_cast<std::uint8_t>(random_number(random, 0, 255));
      std::copy_n(scene.data(), size.width, left_.row(y));
      std::copy_n(scene.data() + shift, size.width, right_.row(y));
    }
  }

  StereoPair views() const { return {left_.view(), right_.view()}; }

 private:
  Plane<std::uint8_t> left_, right_;
};

// The picture of a camera with less gain and another offset.
inline Plane<std::uint8_t> dimmed(const Plane<std::uint8_t>& image) {
  Plane<std::uint8_t> result(image.size());
  for (int y = 0; y < result.height(); ++y)
    for (int x = 0; x < result.width(); ++x)
      result.at(x, y) = static_cast<std::uint8_t>(image.at(x, y) * 2 / 5 + 60);
  return result;
}

}  // namespace parallax::test
