// SPDX-License-Identifier: Apache-2.0
#include "tools/files/rigs/stored_rig.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace parallax::tool {
namespace {

// Both cameras as keys name them, before or behind the rest.
constexpr std::array<std::string_view, 2> side_names[] = {
    {"1", "2"},
    {"left", "right"},
    {"l", "r"},
    {"0", "1"},
    {"cam1", "cam2"},
    {"cam0", "cam1"},
    {"camera1", "camera2"},
    {"camera0", "camera1"},
    {"leftcamera", "rightcamera"},
    {"leftcam", "rightcam"},
    {"cameraleft", "cameraright"},
    {"camleft", "camright"},
    {"cameral", "camerar"},
    {"caml", "camr"},
    {"lcam", "rcam"},
    {"leftfe", "rightfe"},
};

// Objects that only group others.
constexpr std::string_view groups[] = {"stereo",
                                       "stereoparams",
                                       "stereoparameters",
                                       "stereocalibration",
                                       "calibration",
                                       "calib",
                                       "calibdata",
                                       "intrinsics",
                                       "intrinsic",
                                       "intrinsicparameters",
                                       "extrinsics",
                                       "extrinsic",
                                       "extrinsicparameters",
                                       "parameters",
                                       "params",
                                       "cameras",
                                       "camera",
                                       "cams",
                                       "rig",
                                       "data",
                                       "result",
                                       "results",
                                       "pose",
                                       "stereorig",
                                       "rectification",
                                       "rectified",
                                       "undistortion"};

// In lower case, letters and digits only.
std::string simplified(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c >= 'A' && c <= 'Z') result += static_cast<char>(c - 'A' + 'a');
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) result += c;
  }
  return result;
}

std::vector<std::string> simplified_parts(const std::string& path) {
  std::vector<std::string> parts(1);
  for (const char c : path) {
    if (c == '/')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  for (std::string& part : parts) part = simplified(part);
  return parts;
}

std::string joined(const std::vector<std::string>& parts, bool without_groups) {
  std::string name;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool is_group =
        i + 1 < parts.size() && std::find(std::begin(groups), std::end(groups), parts[i]) != std::end(groups);
    if (!without_groups || !is_group) name += parts[i];
  }
  return name;
}

std::string shown(std::string path) {
  std::replace(path.begin(), path.end(), '/', '.');
  return path;
}

StoredFormat stored_format(std::string_view text) {
  if (text.starts_with('{') || text.starts_with('[')) return StoredFormat::json;
  return text.starts_with('<') ? StoredFormat::xml : StoredFormat::yaml;
}

// The key of one camera, from that of the other: "K_RIGHT" from "K_LEFT".
std::string other_key(const std::string& key, std::string_view side, std::string_view other) {
  std::string lower = key;
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  const std::size_t at = lower.rfind(side);
  if (at == std::string::npos) return key;
  const bool capital = key[at] >= 'A' && key[at] <= 'Z';
  const bool capitals = capital && side.size() > 1 && key[at + 1] >= 'A' && key[at + 1] <= 'Z';
  std::string text(other);
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] >= 'a' && text[i] <= 'z' && (capitals || (capital && i == 0)))
      text[i] = static_cast<char>(text[i] - 'a' + 'A');
  return key.substr(0, at) + text + key.substr(at + side.size());
}

}  // namespace

StoredRig::StoredRig(std::span<const RigFile> files) : files_(files) {
  for (const RigFile& file : files)
    documents_.push_back(parse_stored(stored_format(trimmed(file.text)), file.text, file.name,
                                      "the calibration as YAML, JSON or XML"));
  for (std::size_t file = 0; file < documents_.size(); ++file)
    for (const std::string& path : documents_[file]->paths()) add(file, path);
}

void StoredRig::add(std::size_t file, const std::string& path) {
  const Found found{documents_[file].get(), path, key_in(files_[file], shown(path))};
  const std::vector<std::string> parts = simplified_parts(path);
  const std::string name = joined(parts, false), short_name = joined(parts, true);
  index_.emplace(name, found);
  if (short_name != name) index_.emplace(short_name, found);
}

bool StoredRig::is_list(const Found& found) {
  const StoredEntry entry = found.entry();
  const bool is_empty = entry.children == 0 && entry.numbers.empty() && entry.text.empty();
  return is_empty || entry.numbers.size() > 1 || entry.matrix.rows > 0 || !entry.matrix.values.empty() ||
         found.document->has(found.path + "/data");
}

bool StoredRig::is_number(const Found& found) {
  return !found.entry().numbers.empty();
}

bool StoredRig::is_word(const Found& found) {
  return !found.entry().text.empty();
}

StoredRig::Found StoredRig::missing(std::string_view name) const {
  std::string key(name);
  if (key.size() <= 2) key[0] = static_cast<char>(key[0] - 'a' + 'A');
  if (key.starts_with("image")) key.insert(5, "_");
  return {nullptr, "", key_in(files_.back(), key)};
}

StoredRig::FoundPair StoredRig::pair(Names names, Condition condition) const {
  const auto look = [&](const std::string& name) -> Found {
    const std::string_view only[] = {name};
    return find(Names(only), condition);
  };
  FoundPair one;  // of which the other is missing
  for (const std::string_view name : names)
    for (const auto& [left, right] : side_names)
      for (const bool before : {false, true}) {
        const auto key = [&](std::string_view side) {
          return before ? std::string(side) + std::string(name) : std::string(name) + std::string(side);
        };
        FoundPair found{look(key(left)), look(key(right))};
        if (found.left.is_there() && found.right.is_there()) return found;
        if (one.any() || !found.any()) continue;
        one = found;
        Found& lost = one.left.is_there() ? one.right : one.left;
        const bool is_left = !one.left.is_there();
        const std::string& there = is_left ? one.right.path : one.left.path;
        const std::string key_of_lost =
            shown(other_key(there, is_left ? right : left, is_left ? left : right));
        lost = {nullptr, "", key_in(files_.back(), key_of_lost)};
      }
  if (one.any()) return one;
  const std::string name(names.front());
  return {missing(name + "1"), missing(name + "2")};
}

std::vector<double> matrix_at(const StoredRig::Found& found, int rows, int columns) {
  if (!found.is_there()) fail_at(found.place, "is missing: give every file of the calibration");
  const StoredEntry entry = found.entry();
  const bool is_flat = entry.matrix.values.empty() && entry.matrix.rows == 0;
  if (!is_flat && (entry.matrix.rows != rows || entry.matrix.columns != columns))
    fail_at(found.place, "is not a matrix of " + std::to_string(rows) + "×" + std::to_string(columns) +
                             ": give the one of the calibration");
  const std::vector<double> values = is_flat ? entry.numbers : entry.matrix.values;
  checked(values, static_cast<std::size_t>(rows * columns), found.place);
  return values;
}

std::vector<double> vector_at(const StoredRig::Found& found) {
  if (!found.is_there()) return {};
  const StoredEntry entry = found.entry();
  const StoredMatrix& matrix = entry.matrix;
  if (matrix.values.empty()) return entry.numbers;
  const auto length = static_cast<int>(matrix.values.size());
  if (std::min(matrix.rows, matrix.columns) != 1 || matrix.rows * matrix.columns != length)
    fail_at(found.place, "is not a matrix of one row or one column: give the one of the calibration");
  return matrix.values;
}

Matrix3 rotation_at(const StoredRig::Found& found) {
  Matrix3 rotation;
  const StoredEntry entry = found.is_there() ? found.entry() : StoredEntry();
  if (std::max(entry.matrix.values.size(), entry.numbers.size()) == 3) {
    const std::vector<double> axis = vector_at(found);
    checked(axis, 3, found.place);
    return rotation_about({axis[0], axis[1], axis[2]});
  }
  copy_numbers(matrix_at(found, 3, 3), rotation);
  return rotation;
}

Vector3 translation_at(const StoredRig::Found& found) {
  Vector3 translation;
  const std::vector<double> values = vector_at(found);
  copy_numbers(checked(values, 3, found.place), translation);
  return translation;
}

}  // namespace parallax::tool
