// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <iomanip>
#include <iostream>
#include <optional>

#include "tools/command/command_files.h"
#include "tools/command/json.h"
#include "tools/command/options.h"
#include "tools/command/output_files.h"
#include "tools/files/rigs/format.h"
#include "tools/files/rigs/rig_files.h"

namespace parallax::tool {
namespace {

constexpr double degrees = 180 / 3.14159265358979323846;

// The angle to the axis of a ray that ends at this distance from the principal point, over the focal length. NaN
// where the model has none. The equations are those of docs/reference/rectification.md.
double angle_at(double r, const Camera& camera) {
  const double u = r * r, first = camera.distortion[0], second = camera.distortion[1];
  switch (camera.model) {
    case LensModel::radial_tangential:
      return std::atan(r);
    case LensModel::equidistant:
      return r;
    case LensModel::omnidirectional: {
      const double factor = (first + std::sqrt(1 + (1 - first * first) * u)) / (u + 1);
      return std::atan2(factor * r, factor - first);
    }
    case LensModel::double_sphere: {
      const double z =
          (1 - second * second * u) / (second * std::sqrt(1 - (2 * second - 1) * u) + 1 - second);
      const double factor = (z * first + std::sqrt(z * z + (1 - first * first) * u)) / (z * z + u);
      return std::atan2(factor * r, factor * z - first);
    }
    case LensModel::extended_unified:
      break;
  }
  const double scaled = second * u;
  return std::atan2(
      r, (1 - first * first * scaled) / (first * std::sqrt(1 - (2 * first - 1) * scaled) + 1 - first));
}

// The angle between the rays of the first and the last column, or row, without the lens's distortion: pixels
// reach from −1/2 to length − 1/2.
double field_of_view(int length, double centre, double focal, const Camera& camera) {
  return degrees *
         (angle_at((centre + 0.5) / focal, camera) + angle_at((length - 0.5 - centre) / focal, camera));
}

std::array<double, 2> fields_of_view(const Camera& c) {
  return {field_of_view(c.size.width, c.centre_x, c.focal_x, c),
          field_of_view(c.size.height, c.centre_y, c.focal_y, c)};
}

// Angles about x, y and z by which the right camera's axes are turned.
Vector3 angles_of(const Rig& rig) {
  Vector3 angles = axis_of(rig.rotation);
  for (double& angle : angles) angle *= degrees;
  return angles;
}

void print_line(const std::string& what, const std::string& value) {
  std::cout << std::left << std::setw(18) << what << value << "\n";
}

void print_camera(const std::string& name, const Camera& c) {
  const auto [wide, high] = fields_of_view(c);
  std::cout << name << "\n";
  print_line("  size", text(c.size) + " px");
  print_line("  focal length", with_decimals(c.focal_x, 3) + ", " + with_decimals(c.focal_y, 3) + " px");
  print_line("  principal point", with_decimals(c.centre_x, 3) + ", " + with_decimals(c.centre_y, 3) + " px");
  print_line("  field of view",
             std::isfinite(wide + high)
                 ? with_decimals(wide, 1) + "° × " + with_decimals(high, 1) + "°, without distortion"
                 : "the border of the pictures shows nothing");
  print_line("  lens",
             name_of_lens(c.model) + ": " + numbers_text(lens_coefficients(c, c.distortion.size(), "")));
}

void print_rig(const Rig& rig, bool in_metres) {
  print_camera("left camera", rig.left);
  print_camera("right camera", rig.right);
  // The right camera's centre in the left camera's coordinates.
  const auto [x, y, z] = exchanged(rig).translation;
  const std::string unit = in_metres ? " m" : " in the unit of the file";
  print_line("baseline", with_decimals(length(rig.translation), 6) + unit + ": " + rounded(x, 6) +
                             " right, " + rounded(y, 6) + " down, " + rounded(z, 6) + " forward");
  const Vector3 angles = angles_of(rig);
  print_line("rotation", with_decimals(length(angles), 4) + "°: " + rounded(angles[0], 4) + "° about x, " +
                             rounded(angles[1], 4) + "° about y, " + rounded(angles[2], 4) + "° about z");
}

void print_json(const Rig& rig, RigFormat format, bool in_metres) {
  auto report = parse_json_object(to_json(rig));
  const auto fields = [](const Camera& camera) {
    auto list = nlohmann::ordered_json::array();
    for (const double field : fields_of_view(camera))
      list.push_back(std::isfinite(field) ? nlohmann::ordered_json(field) : nlohmann::ordered_json());
    return list;
  };
  report["left"]["field_of_view"] = fields(rig.left);
  report["right"]["field_of_view"] = fields(rig.right);
  report["baseline"] = length(rig.translation);
  report["unit"] = in_metres ? nlohmann::ordered_json("m") : nlohmann::ordered_json();
  report["angles"] = angles_of(rig);
  report["format"] = name_of_rig_format(format);
  std::cout << report.dump(2) << "\n";
}

struct RigRequest {
  std::optional<bool> convert;
  bool json = false;
  std::vector<std::string> inputs, outputs;
  std::optional<RigFormat> format;
  RigChoices choices;
};

RigRequest read_request(const Arguments& arguments) {
  RigRequest request;
  Options options("rig", "Show the calibration of two cameras, or convert it to another format.");
  options
      .add_choice<std::optional<bool>>("ACTION", request.convert, {{"show", false}, {"convert", true}},
                                       "What to do")
      .required();
  options
      .add_files(
          "FILE", request.inputs,
          "Calibration: one file; one or two for OpenCV, two for ROS and EuRoC (left, right) and COLMAP")
      .required();
  options.add_flag("--json", request.json, "Print JSON");
  options.add_files("-o,--output", request.outputs, "Converted calibration; two files for ROS");
  options.add_choice<std::optional<RigFormat>>("--to", request.format,
                                               {rig_formats.begin(), rig_formats.end()},
                                               "Format of the output, unless its name tells it");
  options.group("What the file does not say");
  add_rig_options(options, request.choices);
  options.read(arguments);
  if (*request.convert && request.json) throw UsageError("--json is for 'rig show': leave it out");
  if (*request.convert && request.outputs.empty())
    throw UsageError("'rig convert' needs an output: give its name with -o");
  if (!*request.convert && (!request.outputs.empty() || request.format))
    throw UsageError("'rig show' writes no file: leave out -o and --to, or give 'rig convert'");
  return request;
}

}  // namespace

int rig_command(const Arguments& arguments) {
  const RigRequest request = read_request(arguments);
  CommandFiles files;
  for (const std::string& path : request.inputs) files.reads(path);
  for (const std::string& path : request.outputs) {
    files.writes(path);
    check_output(path);
  }
  const std::vector<RigFile> contents = read_rig_files(request.inputs);
  const Rig rig = parse_rig(contents, request.choices);
  if (*request.convert) {
    std::vector<std::string> names;
    for (const auto& [name, format] : rig_formats) names.push_back(name);
    write_rig(rig,
              request.format ? *request.format
                             : format_of_outputs(request.outputs, "choose one with --to: " + join(names)),
              request.outputs);
    return done;
  }
  const bool in_metres = is_in_metres(contents, request.choices);
  if (request.json)
    print_json(rig, format_of_rig(contents), in_metres);
  else
    print_rig(rig, in_metres);
  return done;
}

}  // namespace parallax::tool
