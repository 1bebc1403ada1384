// SPDX-License-Identifier: Apache-2.0
#include "tools/files/rigs/format.h"

#include <algorithm>
#include <cmath>

#include "src/core/numbers.h"

namespace parallax::tool {
namespace {

constexpr std::size_t coefficient_counts[] = {4, 5, 8, 12, 14};
constexpr Matrix3 no_rotation{1, 0, 0, 0, 1, 0, 0, 0, 1};

bool are_zero(std::span<const double> numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](double number) { return number == 0; });
}

}  // namespace

std::size_t fixed_coefficients(LensModel model) {
  constexpr std::size_t counts[] = {0, 4, 5, 2, 2};
  return counts[static_cast<std::size_t>(model)];
}

std::string name_of_lens(LensModel model) {
  constexpr const char* names[] = {"radial-tangential", "equidistant", "omnidirectional", "double-sphere",
                                   "extended-unified"};
  return names[static_cast<std::size_t>(model)];
}

std::string key_in(const RigFile& file, const std::string& key) {
  return file.name + ": " + key;
}

void fail_at(const std::string& key, const std::string& why) {
  throw Error(ErrorCategory::file, key + " " + why);
}

std::span<const double> checked(std::span<const double> numbers, std::size_t count, const std::string& key) {
  if (numbers.empty()) fail_at(key, "is missing: give the whole calibration");
  if (numbers.size() != count) {
    const std::string found =
        (numbers.size() < max_stored_values ? "" : "at least ") + std::to_string(numbers.size());
    fail_at(key, "has " + found + " numbers instead of " + std::to_string(count) +
                     ": calibrate again, or correct the file");
  }
  for (const double number : numbers)
    if (!std::isfinite(number))
      fail_at(key, "holds a value that is not a finite number: calibrate again, or correct the file");
  return numbers;
}

double checked(std::span<const double> number, const std::string& key) {
  return checked(number, 1, key)[0];
}

Size size_at(std::span<const double> numbers, const std::string& key) {
  checked(numbers, 2, key);
  for (const double side : numbers)
    if (!(side >= 1 && side <= 1'000'000) || side != std::floor(side))
      fail_at(key, "has a side that is not an integer from 1 to 1000000: give width and height in pixels");
  return {static_cast<int>(numbers[0]), static_cast<int>(numbers[1])};
}

Size size_of_images(Size in_file, const RigChoices& choices, const std::string& key) {
  if (in_file == Size{} && choices.size == Size{}) {
    if (choices.size_of_pictures) return {};
    fail_at(key, "is missing: give the size of the images with --size WxH");
  }
  if (in_file != Size{} && choices.size != Size{} && in_file != choices.size)
    fail_at(key, "is " + text(in_file) + ", and --size is " + text(choices.size) +
                     ": leave out --size, or give the rig of these images");
  return in_file == Size{} ? choices.size : in_file;
}

Matrix3 camera_matrix(const Camera& camera) {
  return {camera.focal_x, 0, camera.centre_x, 0, camera.focal_y, camera.centre_y, 0, 0, 1};
}

void set_intrinsics(Camera& camera, std::span<const double> matrix, const std::string& key) {
  const auto m = checked(matrix, 9, key);
  if (m[1] != 0 || m[3] != 0 || m[6] != 0 || m[7] != 0 || m[8] != 1)
    fail_at(key, "is not a camera matrix [fx 0 cx; 0 fy cy; 0 0 1], row by row: correct it");
  camera.focal_x = m[0];
  camera.focal_y = m[4];
  camera.centre_x = m[2];
  camera.centre_y = m[5];
}

void set_lens(Camera& camera, LensModel model, std::span<const double> coefficients, const std::string& key) {
  const std::size_t count = coefficients.size();
  checked(coefficients, std::max<std::size_t>(count, 1), key);
  const std::size_t fixed = fixed_coefficients(model);
  const bool fits = fixed > 0 ? count == fixed
                              : std::find(std::begin(coefficient_counts), std::end(coefficient_counts),
                                          count) != std::end(coefficient_counts);
  if (!fits)
    fail_at(key, "has " + std::to_string(count) + " coefficients: give " +
                     (fixed > 0 ? "the " + std::to_string(fixed) + " of an " + name_of_lens(model) + " lens"
                                : "4, 5, 8, 12 or 14"));
  camera.model = model;
  std::copy(coefficients.begin(), coefficients.end(), camera.distortion.begin());
}

Projection projection_at(std::span<const double> matrix, const std::string& key) {
  const auto p = checked(matrix, 12, key);
  if (p[1] != 0 || p[4] != 0 || p[8] != 0 || p[9] != 0 || p[10] != 1)
    fail_at(key, "is not a projection matrix [fx 0 cx a; 0 fy cy b; 0 0 1 c], row by row: correct it");
  if (!(p[0] > 0 && p[5] > 0)) fail_at(key, "has a focal length that is not above 0: calibrate again");
  Projection result{p[0], p[5], p[2], p[6], {}};
  result.translation = {(p[3] - p[2] * p[11]) / p[0], (p[7] - p[6] * p[11]) / p[5], p[11]};
  return result;
}

Rig rectified_rig(const Projection& left, const Projection& right, Size size) {
  const auto camera = [&](const Projection& p) {
    return Camera{size, p.focal_x, p.focal_y, p.centre_x, p.centre_y};
  };
  Rig rig{camera(left), camera(right)};
  for (std::size_t i = 0; i < 3; ++i) rig.translation[i] = right.translation[i] - left.translation[i];
  return rig;
}

void crop(Camera& camera, int x, int y, Size size) {
  camera.size = size;
  camera.centre_x -= x;
  camera.centre_y -= y;
}

void crop(Projection& projection, int x, int y) {
  projection.centre_x -= x;
  projection.centre_y -= y;
}

namespace {

// The members of a rig as the messages of the library begin with them, and in words.
constexpr std::pair<std::string_view, const char*> members[] = {
    {".focal_x ", "focal length along rows "},
    {".focal_y ", "focal length along columns "},
    {".centre_x ", "column of the principal point "},
    {".centre_y ", "row of the principal point "},
    {".distortion ", "lens "},
    {".size ", "size "}};

std::string in_words(std::string what) {
  for (const std::string_view side : {"left", "right"})
    for (const auto& [member, words] : members)
      if (what.starts_with(std::string(side) + std::string(member)))
        return words + what.substr(side.size() + member.size());
  return what;
}

}  // namespace

Rig finished(const Rig& rig, const RigChoices& choices, const RigKeys& keys) {
  const Rig result = choices.exchange ? exchanged(rig) : rig;
  Rig sized = result;
  for (Camera* camera : {&sized.left, &sized.right})
    if (choices.size_of_pictures && camera->size == Size{}) camera->size = {1, 1};
  try {
    validate(sized);
  } catch (const Error& error) {
    const std::string what = error.what();
    const bool first = what.starts_with("left") != choices.exchange;
    const std::string key = what.starts_with("rotation")      ? keys.rotation
                            : what.starts_with("translation") ? keys.translation
                            : first                           ? keys.left
                                                              : keys.right;
    if (what.find("second camera is left") != std::string::npos)
      fail_at(key,
              choices.exchange
                  ? "has the first camera on the left: leave out --exchange"
                  : "has the second camera left of the first: give --exchange, and the left picture first");
    throw Error(ErrorCategory::file, key + ": " + in_words(what));
  }
  return result;
}

std::string number_text(double number) {
  if (!std::isfinite(number)) cannot_hold("the format", "products of numbers so large");
  return shortest_text(number);
}

std::string numbers_text(std::span<const double> numbers, const std::string& separator) {
  std::string text;
  for (const double number : numbers) text += (text.empty() ? "" : separator) + number_text(number);
  return text;
}

void cannot_hold(const std::string& format, const std::string& what) {
  throw Error(ErrorCategory::argument,
              format + " cannot hold " + what +
                  ": choose another format, such as Parallax's, whose name ends in .json");
}

std::vector<double> lens_coefficients(const Camera& camera, std::size_t most, const std::string& format,
                                      std::size_t least) {
  const auto& all = camera.distortion;
  const std::size_t fixed = fixed_coefficients(camera.model);
  if (camera.model > LensModel::equidistant) {
    if (most < all.size()) cannot_hold(format, "an " + name_of_lens(camera.model) + " lens");
    return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(fixed)};
  }
  std::size_t count = fixed > 0 ? fixed : all.size();
  while (count > least && all[count - 1] == 0) --count;
  if (count > most) cannot_hold(format, "distortion of " + std::to_string(count) + " coefficients");
  if (camera.model == LensModel::radial_tangential)
    count = *std::lower_bound(std::begin(coefficient_counts), std::end(coefficient_counts), count);
  return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count)};
}

void need_model(const Rig& rig, LensModel model, const std::string& format) {
  if (rig.left.model != model || rig.right.model != model)
    cannot_hold(format, rig.left.model == rig.right.model ? "an " + name_of_lens(rig.left.model) + " lens"
                                                          : "two models of lenses");
}

void need_rectified(const Rig& rig, const std::string& format) {
  if (rig.rotation != no_rotation || rig.left.size != rig.right.size || !are_zero(rig.left.distortion) ||
      !are_zero(rig.right.distortion))
    cannot_hold(format, "a rig that is not rectified");
  need_model(rig, LensModel::radial_tangential, format);
}

Matrix3 product(const Matrix3& a, const Matrix3& b) {
  Matrix3 result{};
  for (std::size_t row = 0; row < 3; ++row)
    for (std::size_t column = 0; column < 3; ++column)
      for (std::size_t i = 0; i < 3; ++i) result[3 * row + column] += a[3 * row + i] * b[3 * i + column];
  return result;
}

Vector3 product(const Matrix3& m, const Vector3& v) {
  Vector3 result{};
  for (std::size_t row = 0; row < 3; ++row)
    for (std::size_t i = 0; i < 3; ++i) result[row] += m[3 * row + i] * v[i];
  return result;
}

Matrix3 transposed(const Matrix3& m) {
  return {m[0], m[3], m[6], m[1], m[4], m[7], m[2], m[5], m[8]};
}

double length(const Vector3& v) {
  return std::hypot(v[0], v[1], v[2]);
}

// R = I + sin θ / θ · [r]ₓ + (1 − cos θ) / θ² · [r]ₓ², with θ = |r|.
Matrix3 rotation_about(const Vector3& axis) {
  const double angle = length(axis);
  Matrix3 result{1, 0, 0, 0, 1, 0, 0, 0, 1};
  if (angle == 0) return result;
  const double half = std::sin(angle / 2) / angle;
  const double first = std::sin(angle) / angle, second = 2 * half * half;
  const auto [x, y, z] = axis;
  const Matrix3 cross{0, -z, y, z, 0, -x, -y, x, 0}, square = product(cross, cross);
  for (std::size_t i = 0; i < 9; ++i) result[i] += first * cross[i] + second * square[i];
  return result;
}

// By the quaternion, from its greatest component, so that no division loses digits.
Vector3 axis_of(const Matrix3& m) {
  const double trace = m[0] + m[4] + m[8];
  // Four times the squares of w, x, y and z.
  const std::array<double, 4> squares{1 + trace, 1 + 2 * m[0] - trace, 1 + 2 * m[4] - trace,
                                      1 + 2 * m[8] - trace};
  const auto greatest = std::max_element(squares.begin(), squares.end()) - squares.begin();
  // Four times the products of the greatest with w, x, y and z.
  const std::array<std::array<double, 4>, 4> products{{
      {squares[0], m[7] - m[5], m[2] - m[6], m[3] - m[1]},
      {m[7] - m[5], squares[1], m[1] + m[3], m[2] + m[6]},
      {m[2] - m[6], m[1] + m[3], squares[2], m[5] + m[7]},
      {m[3] - m[1], m[2] + m[6], m[5] + m[7], squares[3]},
  }};
  const auto& [w, x, y, z] = products[static_cast<std::size_t>(greatest)];
  const double sine = std::hypot(x, y, z);
  if (sine == 0) return {};
  const double angle = w < 0 ? -2 * std::atan2(sine, -w) : 2 * std::atan2(sine, w);
  return {angle * x / sine, angle * y / sine, angle * z / sine};
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view spaces = " \t\r\n";
  const std::size_t start = text.find_first_not_of(spaces);
  return start == std::string_view::npos ? "" : text.substr(start, text.find_last_not_of(spaces) - start + 1);
}

void for_each_line(std::string_view text, const std::function<void(std::string_view line)>& use) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    use(trimmed(text.substr(0, end)));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

double number_in_text(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  return number_of<double>(text).value_or(NAN);
}

std::vector<double> numbers_in_text(std::string_view text) {
  std::vector<double> numbers;
  for (text = trimmed(text); !text.empty() && numbers.size() < max_stored_values;) {
    const std::string_view word = text.substr(0, text.find_first_of(" \t"));
    numbers.push_back(number_in_text(word));
    text = trimmed(text.substr(word.size()));
  }
  return numbers;
}

}  // namespace parallax::tool
