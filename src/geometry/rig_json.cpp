// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <span>

#include <nlohmann/json.hpp>

#include "parallax/error.h"
#include "parallax/rig.h"

#include "core/checks.h"
#include "core/json.h"

namespace parallax {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 5> model_names = {
    "radial-tangential", "equidistant", "omnidirectional", "double-sphere", "extended-unified"};
// Numbers of coefficients of the models that allow one only; 0 for the first model.
constexpr std::array<std::size_t, 5> fixed_counts = {0, 4, 5, 2, 2};
constexpr std::array<std::size_t, 6> coefficient_counts = {0, 4, 5, 8, 12, 14};

[[noreturn]] void fail_in_rig(const std::string& name, const std::string& why) {
  throw Error(ErrorCategory::file, name + ": " + why);
}

// The smallest number of coefficients that a calibration may have and that includes all coefficients other
// than 0.
std::size_t coefficients_of(const Camera& camera) {
  if (const std::size_t count = fixed_counts[static_cast<std::size_t>(camera.model)]; count > 0) return count;
  std::size_t last = camera.distortion.size();
  while (last > 0 && camera.distortion[last - 1] == 0) --last;
  return *std::lower_bound(std::begin(coefficient_counts), std::end(coefficient_counts), last);
}

Json json_of_camera(const Camera& camera) {
  const auto first = camera.distortion.begin();
  const std::vector<double> coefficients(first, first + static_cast<std::ptrdiff_t>(coefficients_of(camera)));
  return {{"size", {camera.size.width, camera.size.height}},
          {"focal", {camera.focal_x, camera.focal_y}},
          {"centre", {camera.centre_x, camera.centre_y}},
          {"model", model_names[static_cast<std::size_t>(camera.model)]},
          {"distortion", coefficients}};
}

// An object whose keys are taken out one by one, and its place in the file: "rig.json", "left.".
class Fields {
 public:
  Fields(const Json& object, std::string name, std::string path)
      : object_(object), name_(std::move(name)), path_(std::move(path)) {}

  const Json& take(const std::string& key) {
    if (!object_.contains(key)) fail(key, "is missing: add it");
    taken_.push_back(key);
    return object_[key];
  }

  Fields object(const std::string& key) {
    const Json& value = take(key);
    if (!value.is_object()) fail(key, "is not an object: write it in braces");
    return {value, name_, path_ + key + "."};
  }

  std::vector<double> numbers(const std::string& key) { return numbers_in(take(key), key); }

  void numbers(const std::string& key, std::span<double> values) {
    const std::vector<double> found = numbers(key);
    if (found.size() != values.size())
      fail(key, "has " + std::to_string(found.size()) + " numbers: give " + std::to_string(values.size()));
    std::copy(found.begin(), found.end(), values.begin());
  }

  Matrix3 matrix(const std::string& key) {
    const Json& rows = take(key);
    Matrix3 matrix;
    if (!rows.is_array() || rows.size() != 3) fail(key, "is not a list of 3 rows: write [[…], […], […]]");
    for (std::size_t row = 0; row < 3; ++row) {
      const std::vector<double> numbers = numbers_in(rows[row], key);
      if (numbers.size() != 3) fail(key, "is not a list of 3 rows of 3 numbers: write [[…], […], […]]");
      std::copy(numbers.begin(), numbers.end(), matrix.begin() + static_cast<std::ptrdiff_t>(3 * row));
    }
    return matrix;
  }

  // Refuses keys that were not taken.
  void end() const {
    for (const auto& [key, value] : object_.items())
      if (std::find(taken_.begin(), taken_.end(), key) == taken_.end())
        fail(key, "is not a key of a rig: leave it out");
  }

  [[noreturn]] void fail(const std::string& key, const std::string& why) const {
    fail_in_rig(name_, path_ + key + " " + why);
  }

 private:
  std::vector<double> numbers_in(const Json& list, const std::string& key) const {
    std::vector<double> numbers;
    if (!list.is_array()) fail(key, "is not a list of numbers: write it in brackets");
    for (const Json& number : list) {
      if (!number.is_number()) fail(key, "holds something that is not a number: give numbers only");
      numbers.push_back(number.get<double>());
    }
    return numbers;
  }

  const Json& object_;
  std::string name_, path_;
  std::vector<std::string> taken_;
};

Size size_in(Fields& fields) {
  std::array<double, 2> size{};
  fields.numbers("size", size);
  // Checked before the conversion, because a number too large for an int could wrap to a valid one.
  for (const double side : size)
    if (!(side >= 1 && side <= 1'000'000) || side != static_cast<int>(side))
      fields.fail("size", "holds a side that is not an integer from 1 to 1000000");
  return {static_cast<int>(size[0]), static_cast<int>(size[1])};
}

void read_lens(Fields& fields, Camera& camera) {
  const Json& model = fields.take("model");
  const auto found = std::find(std::begin(model_names), std::end(model_names),
                               model.is_string() ? model.get<std::string_view>() : "");
  if (found == std::end(model_names))
    fields.fail("model", "is not one of " + join(model_names) + ": give one of them");
  camera.model = static_cast<LensModel>(found - std::begin(model_names));
  const std::vector<double> values = fields.numbers("distortion");
  const std::size_t fixed = fixed_counts[static_cast<std::size_t>(camera.model)];
  const bool fits = fixed > 0 ? values.size() == fixed
                              : std::find(std::begin(coefficient_counts), std::end(coefficient_counts),
                                          values.size()) != std::end(coefficient_counts);
  if (!fits)
    fields.fail("distortion", "has " + std::to_string(values.size()) + " coefficients: give " +
                                  (fixed > 0 ? std::to_string(fixed) : "0, 4, 5, 8, 12 or 14"));
  std::copy(values.begin(), values.end(), camera.distortion.begin());
}

Camera camera_in(Fields fields) {
  Camera camera;
  camera.size = size_in(fields);
  std::array<double, 2> focal{}, centre{};
  fields.numbers("focal", focal);
  fields.numbers("centre", centre);
  camera.focal_x = focal[0];
  camera.focal_y = focal[1];
  camera.centre_x = centre[0];
  camera.centre_y = centre[1];
  read_lens(fields, camera);
  fields.end();
  return camera;
}

// A message of validate() with the keys of the file in place of members: left.focal for left.focal_x.
std::string with_keys(std::string message) {
  for (const std::string_view member : {".focal_x ", ".focal_y ", ".centre_x ", ".centre_y "})
    if (const std::size_t at = message.find(member); at == 4 || at == 5)
      message.erase(at + member.size() - 3, 2);
  return message;
}

Json parse_rig_json(std::string_view text, const std::string& name) {
  try {
    return parse_json_object(text);
  } catch (const JsonError& error) {
    fail_in_rig(name,
                std::string("is ") + error.what() + ": give the file that 'parallax rig convert' wrote");
  }
}

}  // namespace

std::string to_json(const Rig& rig) {
  validate(rig);
  Json rotation = Json::array();
  for (std::size_t row = 0; row < 9; row += 3)
    rotation.push_back({rig.rotation[row], rig.rotation[row + 1], rig.rotation[row + 2]});
  const Json json{{"left", json_of_camera(rig.left)},
                  {"right", json_of_camera(rig.right)},
                  {"rotation", rotation},
                  {"translation", rig.translation}};
  return json.dump();
}

Rig rig_from_json(std::string_view text, const std::string& name) {
  const Json json = parse_rig_json(text, name);
  Fields fields(json, name, "");
  Rig rig;
  rig.left = camera_in(fields.object("left"));
  rig.right = camera_in(fields.object("right"));
  rig.rotation = fields.matrix("rotation");
  fields.numbers("translation", rig.translation);
  fields.end();
  try {
    validate(rig);
  } catch (const Error& error) {
    fail_in_rig(name, with_keys(error.what()));
  }
  return rig;
}

}  // namespace parallax
