// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <locale>
#include <optional>
#include <sstream>

#include "parallax/error.h"
#include "parallax/formats.h"

#include "core/floating_point.h"
#include "formats/text.h"

namespace parallax {
namespace {

constexpr double metres_per_millimetre = 0.001;

[[noreturn]] void fail_for_key(const std::string& name, std::string_view key, std::string_view why) {
  throw Error(ErrorCategory::file, name + ": " + std::string(key) + " " + std::string(why));
}

// Returns the text after "key=" at the start of a line. Editors add spaces, and a mark of UTF-8 before the
// first line.
std::optional<std::string_view> find_value(std::string_view text, std::string_view key) {
  const auto skip_spaces = [](std::string_view& line) {
    while (!line.empty() && is_space(line.front())) line.remove_prefix(1);
  };
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    skip_spaces(line);
    if (!line.starts_with(key)) continue;
    line.remove_prefix(key.size());
    skip_spaces(line);
    if (line.starts_with('=')) return line.substr(1);
  }
  return std::nullopt;
}

double number_in(std::string_view value, std::string_view key, const std::string& name) {
  const auto number = parse_number<double>(next_word(value));
  if (!number || !std::isfinite(*number) || !next_word(value).empty())
    fail_for_key(name, key, "is not a number");
  return *number;
}

double number_of(std::string_view text, std::string_view key, const std::string& name) {
  const auto value = find_value(text, key);
  return value ? number_in(*value, key, name) : 0;
}

int count_of(std::string_view text, std::string_view key, const std::string& name) {
  const double number = number_of(text, key, name);
  if (number < 0 || number > 1'000'000 || number != std::floor(number))
    fail_for_key(name, key, "is not an integer from 0 to 1000000");
  return static_cast<int>(number);
}

// Parses a 3×3 matrix in MATLAB's notation: [a b c; d e f; g h i].
std::array<double, 9> matrix_of(std::string_view value, std::string_view key, const std::string& name) {
  std::string numbers(value);
  for (char& c : numbers)
    if (c == '[' || c == ']' || c == ';' || c == ',') c = ' ';
  std::string_view rest = numbers;
  std::array<double, 9> matrix;
  for (double& element : matrix) {
    const auto number = parse_number<double>(next_word(rest));
    if (!number || !std::isfinite(*number))
      fail_for_key(name, key, "is not a 3×3 matrix [f 0 cx; 0 f cy; 0 0 1]");
    element = *number;
  }
  if (!next_word(rest).empty()) fail_for_key(name, key, "is not a 3×3 matrix [f 0 cx; 0 f cy; 0 0 1]");
  return matrix;
}

}  // namespace

Calibration parse_middlebury_calibration(std::string_view text, const std::string& name) {
  const DefaultFloatingPoint environment;
  const auto camera = find_value(text, "cam0");
  if (!camera) fail_for_key(name, "cam0", "is missing: this is not a Middlebury calib.txt");
  const std::array<double, 9> left = matrix_of(*camera, "cam0", name);
  Calibration calibration;
  calibration.focal = left[0];
  calibration.centre_x = left[2];
  calibration.centre_y = left[5];
  if (!(calibration.focal > 0)) fail_for_key(name, "cam0", "has a focal length that is not above 0");
  if (!find_value(text, "baseline"))
    fail_for_key(name, "baseline", "is missing: this is not a Middlebury calib.txt");
  calibration.baseline = number_of(text, "baseline", name);
  if (!(calibration.baseline > 0)) fail_for_key(name, "baseline", "is not above 0");
  if (find_value(text, "doffs")) {
    calibration.doffs = number_of(text, "doffs", name);
  } else if (const auto other = find_value(text, "cam1")) {
    calibration.doffs = matrix_of(*other, "cam1", name)[2] - calibration.centre_x;
  }
  if (!std::isfinite(calibration.doffs)) fail_for_key(name, "cam1", "is too far from cam0");
  calibration.width = count_of(text, "width", name);
  calibration.height = count_of(text, "height", name);
  calibration.disparities = count_of(text, "ndisp", name);
  // Some data sets write the width, because the format wants a number.
  if (calibration.width > 0 && calibration.disparities >= calibration.width) calibration.disparities = 0;
  calibration.metres_per_unit = metres_per_millimetre;
  return calibration;
}

Calibration read_middlebury_calibration(const std::string& path) {
  constexpr std::size_t max_bytes = 1 << 20;  // the file has a few lines
  const std::vector<std::byte> bytes = read_file(path, max_bytes);
  return parse_middlebury_calibration({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

std::string encode_middlebury_calibration(const Calibration& c) {
  const DefaultFloatingPoint environment;
  const double millimetres_per_unit = c.metres_per_unit > 0 ? c.metres_per_unit / metres_per_millimetre : 1;
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text.precision(17);
  const auto camera = [&](const char* key, double centre_x) {
    text << key << "=[" << c.focal << " 0 " << centre_x << "; 0 " << c.focal << " " << c.centre_y
         << "; 0 0 1]\n";
  };
  camera("cam0", c.centre_x);
  camera("cam1", c.centre_x + c.doffs);
  text << "doffs=" << c.doffs << "\nbaseline=" << c.baseline * millimetres_per_unit << "\nwidth=" << c.width
       << "\nheight=" << c.height << "\nndisp=" << c.disparities << "\n";
  return text.str();
}

}  // namespace parallax
