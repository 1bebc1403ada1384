// SPDX-License-Identifier: Apache-2.0
#include "tools/parallax/calibration.h"

#include <array>
#include <charconv>
#include <cmath>
#include <new>
#include <vector>

#include <nlohmann/json.hpp>
#include <tinyxml2.h>
#include <yaml-cpp/yaml.h>

#include "parallax/error.h"
#include "parallax/formats.h"

#include "tools/parallax/pictures.h"

namespace parallax::tool {
namespace {

[[noreturn]] void fail(const std::string& name, const std::string& why) {
  throw Error(ErrorCategory::file, name + why);
}

// The projection matrix of a rectified camera, row by row: 3 rows of 4.
using Projection = std::array<double, 12>;

// A matrix as OpenCV's cv::FileStorage writes it, in any of its three formats.
struct StoredMatrix {
  int rows = 0, columns = 0;
  std::vector<double> values;
};

Projection projection_in(const StoredMatrix& matrix, const std::string& key, const std::string& name) {
  Projection projection;
  if (matrix.rows != 3 || matrix.columns != 4 || matrix.values.size() != projection.size())
    fail(name, " has no 3×4 matrices P1 and P2: give the stereo calibration that stereoRectify() computed");
  for (std::size_t i = 0; i < projection.size(); ++i) {
    projection[i] = matrix.values[i];
    if (!std::isfinite(projection[i])) fail(name, ": " + key + " holds a value that is not finite");
  }
  return projection;
}

StoredMatrix matrix_in(const YAML::Node& document, const char* key) {
  const YAML::Node node = document[key];
  if (!node || !node.IsMap()) return {};
  return {node["rows"].as<int>(0), node["cols"].as<int>(0),
          node["data"].as<std::vector<double>>(std::vector<double>())};
}

StoredMatrix matrix_in(const nlohmann::json& document, const char* key) {
  const auto node = document.find(key);
  if (node == document.end() || !node->is_object()) return {};
  // Compared before conversion: a number too large for an int could otherwise wrap to the right value.
  const auto count = [&](const char* what, int wanted) {
    return node->value(what, nlohmann::json()) == wanted ? wanted : 0;
  };
  return {count("rows", 3), count("cols", 4), node->value("data", std::vector<double>())};
}

StoredMatrix matrix_in(const tinyxml2::XMLElement& document, const char* key) {
  const tinyxml2::XMLElement* node = document.FirstChildElement(key);
  const auto* data = node != nullptr ? node->FirstChildElement("data") : nullptr;
  if (data == nullptr || data->GetText() == nullptr) return {};
  const auto count = [&](const char* what) {
    const tinyxml2::XMLElement* child = node->FirstChildElement(what);
    return child != nullptr ? child->IntText() : 0;
  };
  StoredMatrix matrix{count("rows"), count("cols"), {}};
  std::string_view text = data->GetText();
  constexpr std::string_view spaces = " \t\r\n";
  for (std::size_t start; (start = text.find_first_not_of(spaces)) != std::string_view::npos;) {
    text.remove_prefix(start);
    const std::string_view word = text.substr(0, text.find_first_of(spaces));
    double value = NAN;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc{} || end != word.data() + word.size()) value = NAN;
    matrix.values.push_back(value);
    text.remove_prefix(word.size());
  }
  return matrix;
}

template <class Document>
Calibration calibration_in(const Document& document, const std::string& name) {
  const Projection left = projection_in(matrix_in(document, "P1"), "P1", name);
  const Projection right = projection_in(matrix_in(document, "P2"), "P2", name);
  constexpr int fx = 0, cx = 2, shift = 3, cy = 6;
  Calibration calibration;
  calibration.focal = left[fx];
  calibration.centre_x = left[cx];
  calibration.centre_y = left[cy];
  calibration.doffs = right[cx] - calibration.centre_x;
  calibration.baseline = -right[shift] / right[fx];
  if (!(calibration.focal > 0) || !(calibration.baseline > 0) || !std::isfinite(calibration.baseline))
    fail(name, " does not describe a horizontal pair with the left camera first: calibrate the pair again");
  return calibration;
}

Calibration parse_yaml(std::string_view text, const std::string& name) {
  return calibration_in(YAML::Load(std::string(text)), name);
}

// nlohmann's parser is not recursive, nor is the destruction of its values.
Calibration parse_json(std::string_view text, const std::string& name) {
  return calibration_in(nlohmann::json::parse(text, nullptr, true, true), name);
}

Calibration parse_xml(std::string_view text, const std::string& name) {
  tinyxml2::XMLDocument document;
  if (document.Parse(text.data(), text.size()) != tinyxml2::XML_SUCCESS || document.RootElement() == nullptr)
    fail(name, " is not readable XML: give the file that cv::FileStorage wrote");
  return calibration_in(*document.RootElement(), name);
}

}  // namespace

Calibration parse_calibration(std::string_view text, const std::string& name) {
  try {
    if (has_extension(name, {".yml", ".yaml"})) return parse_yaml(text, name);
    if (has_extension(name, {".json"})) return parse_json(text, name);
    if (has_extension(name, {".xml"})) return parse_xml(text, name);
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception&) {
    fail(name, " is not a readable OpenCV calibration: give the file that cv::FileStorage wrote");
  }
  return parse_middlebury_calibration(text, name);
}

Calibration read_calibration(const std::string& path) {
  constexpr std::size_t most_bytes = 1 << 20;
  const std::vector<std::byte> bytes = read_file(path, most_bytes);
  return parse_calibration({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

}  // namespace parallax::tool
