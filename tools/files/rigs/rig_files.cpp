// SPDX-License-Identifier: Apache-2.0
#include "tools/files/rigs/rig_files.h"

#include <cstring>

#include "tools/command/output_files.h"
#include "tools/files/pictures.h"
#include "tools/files/rigs/format.h"

namespace parallax::tool {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// "K_02: …"
bool is_kitti_line(std::string_view line) {
  return line.size() > 4 && std::strchr("SKDRT", line[0]) != nullptr && line[1] == '_' && is_digit(line[2]) &&
         is_digit(line[3]) && line[4] == ':';
}

// "P2: 7.2e+02 …", and not "P2: !!opencv-matrix"
bool is_rectified_kitti_line(std::string_view line) {
  if (line.size() < 4 || line[0] != 'P' || !is_digit(line[1]) || line[2] != ':') return false;
  const std::string_view value = trimmed(line.substr(3));
  return !value.empty() && (is_digit(value[0]) || value[0] == '-' || value[0] == '+');
}

// "cam0:"
bool is_kalibr_line(std::string_view line) {
  return line.size() > 4 && line.starts_with("cam") && is_digit(line[3]) && line.ends_with(':');
}

std::optional<RigFormat> format_of_line(std::string_view line) {
  if (line.starts_with("[STEREO]") || line.starts_with("[LEFT_CAM_")) return RigFormat::stereolabs;
  if (line.starts_with("cam0=")) return RigFormat::middlebury;
  if (is_kitti_line(line)) return RigFormat::kitti;
  if (is_rectified_kitti_line(line)) return RigFormat::kitti_rectified;
  if (is_kalibr_line(line)) return RigFormat::kalibr;
  for (const char* key : {"camera_name:", "rectification_matrix:", "projection_matrix:"})
    if (line.starts_with(key)) return RigFormat::ros;
  return std::nullopt;
}

bool is_parallax_json(const RigFile& file) {
  try {
    const auto document = parse_stored(StoredFormat::json, file.text, file.name, "");
    return document->has("left") || document->has("right") || document->has("rotation");
  } catch (const Error&) {
    return false;
  }
}

void refuse_needless(const RigFile& file, RigFormat format, const RigChoices& choices) {
  const bool numbered =
      format == RigFormat::kitti || format == RigFormat::kitti_rectified || format == RigFormat::kalibr;
  if (choices.cameras && !numbered) fail_at(file.name, "does not number its cameras: leave out --cameras");
  const bool has_unit = format != RigFormat::opencv && format != RigFormat::parallax;
  if (choices.unit && has_unit) fail_at(file.name, "has a format with a unit of its own: leave out --unit");
  if (choices.fisheye && format != RigFormat::opencv)
    fail_at(file.name, "names the model of its lenses: leave out --fisheye");
}

Rig read_parallax_rig(const RigFile& file, const RigChoices& choices) {
  const Rig rig = rig_from_json(file.text, file.name);
  size_of_images(rig.left.size, choices, key_in(file, "left.size"));
  return finished(rig, choices, {file.name, file.name, file.name, file.name});
}

Rig parse_as(RigFormat format, std::span<const RigFile> files, const RigChoices& choices) {
  const RigFile& file = files[0];
  if (format == RigFormat::parallax) return read_parallax_rig(file, choices);
  if (format == RigFormat::opencv) return read_opencv_rig(files, choices);
  if (format == RigFormat::ros) return read_ros_rig(files, choices);
  if (format == RigFormat::kalibr) return read_kalibr_rig(file, choices);
  if (format == RigFormat::kitti) return read_kitti_rig(file, choices);
  if (format == RigFormat::kitti_rectified) return read_rectified_kitti_rig(file, choices);
  if (format == RigFormat::middlebury) return read_middlebury_rig(file, choices);
  return read_stereolabs_rig(file, choices);
}

// For all formats but that of ROS, which has two files.
std::string encode_as(RigFormat format, const Rig& rig, const std::string& path) {
  if (format == RigFormat::parallax) return to_json(rig) + "\n";
  if (format == RigFormat::opencv) return encode_opencv_rig(rig, stored_format_of(path));
  if (format == RigFormat::kalibr) return encode_kalibr_rig(rig);
  if (format == RigFormat::kitti) return encode_kitti_rig(rig);
  if (format == RigFormat::kitti_rectified) return encode_rectified_kitti_rig(rig);
  if (format == RigFormat::middlebury) return encode_middlebury_rig(rig);
  return encode_stereolabs_rig(rig);
}

bool read_cameras(const std::string& text, RigChoices& choices) {
  constexpr int most = 99;
  choices.cameras = two_integers(text, ",");
  if (!choices.cameras) return false;
  const auto [left, right] = *choices.cameras;
  return 0 <= left && left < right && right <= most;
}

bool read_unit(const std::string& text, RigChoices& choices) {
  for (const auto& [name, metres] : Choices<double>{{"m", 1}, {"cm", 0.01}, {"mm", 0.001}})
    if (text == name) choices.unit = metres;
  return choices.unit.has_value();
}

}  // namespace

const Choices<RigFormat> rig_formats = {{"parallax", RigFormat::parallax},
                                        {"opencv", RigFormat::opencv},
                                        {"ros", RigFormat::ros},
                                        {"kalibr", RigFormat::kalibr},
                                        {"kitti", RigFormat::kitti},
                                        {"kitti-rectified", RigFormat::kitti_rectified},
                                        {"middlebury", RigFormat::middlebury},
                                        {"stereolabs", RigFormat::stereolabs}};

void add_rig_options(Options& options, RigChoices& choices) {
  options.add("--size", choices.size, "Size of the images, if the file does not say it");
  options.add_text(
      "--cameras", "A,B", "", "two numbers, the smaller one first, such as 0,1",
      [&](const std::string& text) { return read_cameras(text, choices); },
      "Cameras to take from a file with several; default: KITTI's 2,3 (colour), Kalibr's 0,1");
  options
      .add_text(
          "--unit", "UNIT", "", "one of m, cm, mm",
          [&](const std::string& text) { return read_unit(text, choices); },
          "Unit of the translation in a file of OpenCV or Parallax, which does not say it; converts it to "
          "metres")
      .offer({"m", "cm", "mm"});
  options.add_flag("--fisheye", choices.fisheye, "The lenses of an OpenCV file are those of cv::fisheye");
  options.add_flag("--exchange", choices.exchange, "The first camera of the file is the right one");
}

RigFormat format_of_rig(std::span<const RigFile> files) {
  const RigFile& file = files[0];
  const std::string_view text = trimmed(file.text);
  if (text.starts_with('{')) return is_parallax_json(file) ? RigFormat::parallax : RigFormat::opencv;
  if (text.starts_with('<')) return RigFormat::opencv;
  std::optional<RigFormat> found;
  for_each_line(text, [&](std::string_view line) {
    if (!found) found = format_of_line(line);
  });
  if (found) return *found;
  if (text.starts_with("%YAML") || text.find("opencv-matrix") != std::string_view::npos)
    return RigFormat::opencv;
  fail_at(
      file.name,
      "is of no known format: give the calibration of OpenCV, ROS, Kalibr, KITTI, Middlebury, Stereolabs or "
      "Parallax");
}

Rig parse_rig(std::span<const RigFile> files, const RigChoices& choices) {
  if (files.empty() || files.size() > 2)
    throw Error(ErrorCategory::file, "a rig has " + std::to_string(files.size()) +
                                         " files: give one file, or two of ROS or OpenCV");
  const RigFormat format = format_of_rig(files);
  if (files.size() == 2) {
    if (format != RigFormat::ros && format != RigFormat::opencv)
      fail_at(files[0].name, "is a rig on its own: leave out " + files[1].name);
    if (format_of_rig(files.subspan(1)) != format)
      fail_at(files[1].name, "is of another format than " + files[0].name + ": give two files of one rig");
  }
  refuse_needless(files[0], format, choices);
  Rig rig = parse_as(format, files, choices);
  for (double& element : rig.translation) element *= choices.unit.value_or(1);
  return rig;
}

std::vector<RigFile> read_rig_files(const std::vector<std::string>& paths) {
  std::vector<RigFile> files;
  for (const std::string& path : paths) files.push_back({path, read_text(path, 1 << 20)});
  return files;
}

Rig read_rig(const std::vector<std::string>& paths, const RigChoices& choices) {
  return parse_rig(read_rig_files(paths), choices);
}

RigFormat format_of_outputs(const std::vector<std::string>& paths) {
  if (paths.size() == 2) return RigFormat::ros;
  if (has_extension(paths[0], {".json"})) return RigFormat::parallax;
  if (has_extension(paths[0], {".yml", ".xml"})) return RigFormat::opencv;
  if (has_extension(paths[0], {".conf"})) return RigFormat::stereolabs;
  std::vector<std::string> names;
  for (const auto& [name, format] : rig_formats) names.push_back(name);
  throw UsageError(paths[0] + " may be of several formats: choose one with --to: " + join(names));
}

std::vector<RigFile> encode_rig(const Rig& rig, RigFormat format, const std::vector<std::string>& paths) {
  validate(rig);
  const std::size_t count = format == RigFormat::ros ? 2 : 1;
  if (paths.size() != count)
    throw UsageError("--to " + name_of(rig_formats, format) + " writes " + std::to_string(count) +
                     (count == 1 ? " file" : " files, left and right") + ": give as many names with -o");
  if (format != RigFormat::ros) return {{paths[0], encode_as(format, rig, paths[0])}};
  const std::array<std::string, 2> texts = encode_ros_rig(rig);
  return {{paths[0], texts[0]}, {paths[1], texts[1]}};
}

void write_rig(const Rig& rig, RigFormat format, const std::vector<std::string>& paths) {
  std::vector<FileBytes> outputs;
  for (const RigFile& file : encode_rig(rig, format, paths))
    outputs.emplace_back(file.name, bytes_of(file.text));
  write_files(outputs);
}

}  // namespace parallax::tool
