// SPDX-License-Identifier: Apache-2.0
#include "tools/files/truth.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "parallax/error.h"

#include "src/core/numbers.h"
#include "tools/command/command.h"
#include "tools/command/json.h"
#include "tools/files/pictures.h"
#include "tools/files/tiff.h"

namespace parallax::tool {
namespace {

// NaN for "none".
std::optional<double> unknown_of(const std::string& text) {
  if (text.empty()) return std::nullopt;
  if (text == "none") return std::numeric_limits<double>::quiet_NaN();
  const std::optional<double> value = number_of<double>(text);
  if (!value || !std::isfinite(*value))
    throw UsageError("--truth-none is '" + text + "': give a number, or 'none' if no value means unknown");
  return value;
}

bool holds_floats(const std::string& path) {
  if (has_extension(path, {".pfm"})) return true;
  const std::optional<TiffReader> tiff = TiffReader::open(path);
  return tiff && tiff->format().bits == 32;
}

template <class Action>
void for_each(View<float> map, const Action& action) {
  for (int y = 0; y < map.size.height; ++y)
    for (int x = 0; x < map.size.width; ++x) action(map.at(x, y));
}

void forget(View<float> map, float unknown) {
  for_each(map, [&](float& value) {
    if (value == unknown) value = std::numeric_limits<float>::infinity();
  });
}

// How often a value occurs that may mark unknown pixels, and what the others are.
struct Occurrence {
  float value;
  double share = 0;                                       // of the pixels
  float lowest = std::numeric_limits<float>::infinity();  // of the other values
  bool others_are_finite = true;
};

Occurrence occurrence_of(float value, View<float> map) {
  Occurrence found{value};
  std::size_t pixels = 0;
  for_each(map, [&](float other) {
    if (other == value) return static_cast<void>(++pixels);
    found.lowest = std::min(found.lowest, other);
    found.others_are_finite = found.others_are_finite && std::isfinite(other);
  });
  found.share = static_cast<double>(pixels) / static_cast<double>(map.size.pixels());
  return found;
}

// Floats have infinity and NaN for unknown pixels. A file without these marks them by 0 or −1 if many pixels
// have exactly this value, and no others one below it or less than a pixel above it, as a surface in the
// distance would.
bool means_unknown(const Occurrence& found) {
  constexpr double many = 0.005;
  return found.share >= many && found.share < 1 && found.others_are_finite && found.lowest >= found.value + 1;
}

// Says what is taken for unknown, or that so many pixels could be.
void say(const std::string& path, const Occurrence& found, bool is_unknown) {
  const std::string value = found.value < 0 ? "-1" : "0";
  const std::string begin =
      path + " has the value " + value + " in " + with_decimals(100 * found.share, 1) + " % of its pixels";
  complain(is_unknown ? begin + " and nothing else below " + with_decimals(found.lowest, 1) +
                            ": it is taken for unknown; give --truth-none none if it is a disparity"
                      : begin + ", which count as disparities; give --truth-none " + value +
                            " if it means unknown, or --truth-none none");
}

// Forgets 0 or −1 where it means unknown.
void forget_marks(const std::string& path, View<float> map) {
  constexpr double suspicious = 0.05;
  for (const float value : {-1.0f, 0.0f}) {
    const Occurrence found = occurrence_of(value, map);
    const bool is_unknown = means_unknown(found);
    if (is_unknown || found.share >= suspicious) say(path, found, is_unknown);
    if (is_unknown) return forget(map, value);
  }
}

}  // namespace

void check_unknown(const std::string& unknown) {
  unknown_of(unknown);
}

Truth::Truth(const TruthFile& file) : path_(file.path), disparity_(read_disparity(file.path, file.scale)) {
  const std::optional<double> unknown = unknown_of(file.unknown);
  const bool floats = holds_floats(file.path);
  if (unknown) {
    constexpr double steps_of_16_bits = 256;
    const double values_per_pixel = floats ? 1 : file.scale > 0 ? file.scale : steps_of_16_bits;
    forget(disparity_.view(), static_cast<float>(*unknown / values_per_pixel));
    return;
  }
  if (floats) forget_marks(path_, disparity_.view());
}

void Truth::check_size(const std::string& path, Size size) const {
  if (size == disparity_.size()) return;
  throw Error(ErrorCategory::file, path_ + " is " + text(disparity_.size()) + ", " + path + " is " +
                                       text(size) + ": give files of one size");
}

void Truth::evaluate_only(const std::string& mask_path) {
  mask_ = read_mask(mask_path);
  check_size(mask_path, mask_.size());
}

std::size_t Truth::count(View<const std::uint8_t> mask) const {
  std::size_t pixels = 0;
  for (int y = 0; y < disparity_.height(); ++y)
    for (int x = 0; x < disparity_.width(); ++x)
      pixels += std::isfinite(disparity_.at(x, y)) && mask.at(x, y) == 255;
  return pixels;
}

void Truth::multiply(int factor) {
  for (int y = 0; y < disparity_.height(); ++y)
    for (int x = 0; x < disparity_.width(); ++x) disparity_.at(x, y) *= static_cast<float>(factor);
}

ErrorMetrics Truth::compare(View<const float> disparity) const {
  return compare(disparity, mask_.view());
}

ErrorMetrics Truth::compare(View<const float> disparity, View<const std::uint8_t> mask) const {
  try {
    return evaluate(disparity, disparity_.view(), mask);
  } catch (const Error& nothing) {
    throw Error(ErrorCategory::file, path_ + ": " + nothing.what() + "; give another truth, or mask");
  }
}

std::optional<Truth> read_truth(const TruthFile& file, const std::string& left, Size size) {
  if (file.path.empty()) return std::nullopt;
  Truth truth(file);
  truth.check_size(left, size);
  return truth;
}

nlohmann::ordered_json to_json(const ErrorMetrics& error) {
  // JSON has no NaN: what is unknown is null.
  return {{"count", error.count},       {"bad0.5", error.bad05},
          {"bad1", error.bad1},         {"bad2", error.bad2},
          {"bad3", error.bad3},         {"bad4", error.bad4},
          {"bad5", error.bad5},         {"avgerr", error.average},
          {"rms", error.rms},           {"a50", error.a50},
          {"a90", error.a90},           {"a95", error.a95},
          {"a99", error.a99},           {"d1", error.d1},
          {"coverage", error.coverage}, {"mismatches", error.mismatches}};
}

}  // namespace parallax::tool
