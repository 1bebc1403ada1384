// SPDX-License-Identifier: Apache-2.0
#include "tools/files/rigs/rig_files.h"

#include <cmath>
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

bool starts_with_any(std::string_view line, std::initializer_list<const char*> keys) {
  return std::any_of(keys.begin(), keys.end(), [&](const char* key) { return line.starts_with(key); });
}

bool is_middlebury_line(std::string_view line) {
  return line.starts_with("cam0") && trimmed(line.substr(4)).starts_with('=');
}

// `line` without the spaces around it.
std::optional<RigFormat> format_of_line(std::string_view line) {
  if (line.starts_with("[STEREO]") || line.starts_with("[LEFT_CAM_")) return RigFormat::stereolabs;
  if (is_middlebury_line(line)) return RigFormat::middlebury;
  if (is_kitti_line(line)) return RigFormat::kitti;
  if (is_rectified_kitti_line(line)) return RigFormat::kitti_rectified;
  if (is_kalibr_line(line)) return RigFormat::kalibr;
  if (is_colmap_line(line)) return RigFormat::colmap;
  return std::nullopt;
}

// Keys at the top of a document, which are not indented.
std::optional<RigFormat> format_of_key(std::string_view line) {
  if (starts_with_any(line, {"T_BS:", "sensor_type: camera"})) return RigFormat::euroc;
  if (starts_with_any(line, {"Camera.fx:", "Camera.bf:", "Camera.type:", "Camera1.fx:", "LEFT.K:", "RIGHT.K:",
                             "Stereo.T_c1_c2:", "Stereo.b:"}))
    return RigFormat::orb_slam;
  if (starts_with_any(line, {"camera_name:", "rectification_matrix:", "projection_matrix:"}))
    return RigFormat::ros;
  return std::nullopt;
}

// Whether a document has an entry, at any depth.
bool has_entry(const StoredDocument& document, std::string_view name) {
  const std::vector<std::string> paths = document.paths();
  return std::any_of(paths.begin(), paths.end(), [&](const std::string& path) {
    return path == name || path.ends_with("/" + std::string(name));
  });
}

// The format by the keys of a document; OpenCV's where it has a rig with usual names.
std::optional<RigFormat> format_of_document(const RigFile& file) {
  const std::string_view text = trimmed(file.text);
  const bool is_json = text.starts_with('{') || text.starts_with('[');
  try {
    const auto document =
        parse_stored(is_json ? StoredFormat::json : StoredFormat::yaml, file.text, file.name, "");
    if (document->has("cameraData")) return RigFormat::oak;
    if (has_entry(*document, "CameraParameters1")) return RigFormat::matlab;
    const bool has_message = document->has("distortion_model") && (document->has("K") || document->has("k"));
    if (has_message && !is_json) return RigFormat::ros;
    if (is_stored_rig({&file, 1})) return RigFormat::opencv;
    if (is_json && (document->has("left") || document->has("right") || document->has("rotation")))
      return RigFormat::parallax;
  } catch (const Error&) {
  }
  return std::nullopt;
}

// "left": {"size": …, "focal": …, "centre": …}
bool is_parallax_json(const RigFile& file) {
  try {
    const auto document = parse_stored(StoredFormat::json, file.text, file.name, "");
    return document->has("left/focal") || document->has("right/focal") || document->has("left/centre");
  } catch (const Error&) {
    return false;
  }
}

// Without the mark of UTF-8 that some editors write at the beginning.
RigFile unmarked(const RigFile& file) {
  return {file.name, file.text.starts_with("\xEF\xBB\xBF") ? file.text.substr(3) : file.text};
}

void refuse_needless(std::span<const RigFile> files, RigFormat format, const RigChoices& choices) {
  const std::string& name = files[0].name;
  constexpr RigFormat numbered[] = {RigFormat::kitti, RigFormat::kitti_rectified, RigFormat::kalibr,
                                    RigFormat::oak, RigFormat::colmap};
  if (choices.cameras && std::find(std::begin(numbered), std::end(numbered), format) == std::end(numbered))
    fail_at(name, "does not number its cameras: leave out --cameras");
  RigChoices without = choices;
  without.unit.reset();
  if (choices.unit && is_in_metres(files, without))
    fail_at(name, "has a format with a unit of its own: leave out --unit");
  if (choices.fisheye && format != RigFormat::opencv)
    fail_at(name, "names the model of its lenses: leave out --fisheye");
}

Rig read_parallax_rig(const RigFile& file, const RigChoices& choices) {
  const Rig rig = rig_from_json(file.text, file.name);
  size_of_images(rig.left.size, choices, key_in(file, "left.size"));
  return finished(rig, choices, {file.name, file.name, file.name, file.name});
}

Rig parse_as(RigFormat format, std::span<const RigFile> files, const RigChoices& choices) {
  const RigFile& file = files[0];
  switch (format) {
    case RigFormat::parallax:
      return read_parallax_rig(file, choices);
    case RigFormat::opencv:
      return read_opencv_rig(files, choices);
    case RigFormat::ros:
      return read_ros_rig(files, choices);
    case RigFormat::kalibr:
      return read_kalibr_rig(file, choices);
    case RigFormat::kitti:
      return read_kitti_rig(file, choices);
    case RigFormat::kitti_rectified:
      return read_rectified_kitti_rig(file, choices);
    case RigFormat::middlebury:
      return read_middlebury_rig(file, choices);
    case RigFormat::stereolabs:
      return read_stereolabs_rig(file, choices);
    case RigFormat::oak:
      return read_oak_rig(file, choices);
    case RigFormat::matlab:
      return read_matlab_rig(file, choices);
    case RigFormat::euroc:
      return read_euroc_rig(files, choices);
    case RigFormat::orb_slam:
      return read_orb_slam_rig(file, choices);
    case RigFormat::colmap:
      break;
  }
  return read_colmap_rig(files, choices);
}

Rig parse_rectified_as(RigFormat format, std::span<const RigFile> files, const RigChoices& choices) {
  if (format == RigFormat::opencv) return read_rectified_opencv_rig(files, choices);
  if (format == RigFormat::ros) return read_rectified_ros_rig(files, choices);
  if (format == RigFormat::kitti) return read_rectified_kitti_raw_rig(files[0], choices);
  if (format == RigFormat::orb_slam) return read_rectified_orb_slam_rig(files[0], choices);
  return parse_as(format, files, choices);
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
const Choices<RigFormat> read_only_rig_formats = {{"oak", RigFormat::oak},
                                                  {"matlab", RigFormat::matlab},
                                                  {"euroc", RigFormat::euroc},
                                                  {"orb-slam", RigFormat::orb_slam},
                                                  {"colmap", RigFormat::colmap}};

std::string name_of_rig_format(RigFormat format) {
  const std::string name = name_of(rig_formats, format);
  return name.empty() ? name_of(read_only_rig_formats, format) : name;
}

void add_rig_options(Options& options, RigChoices& choices, bool with_unit) {
  options.add("--size", choices.size, "Size of the images, if the file does not say it");
  options.add_text(
      "--cameras", "A,B", "", "two numbers, the smaller one first, such as 0,1",
      [&](const std::string& text) { return read_cameras(text, choices); },
      "Cameras to take from a file with several; default: KITTI's 2,3 (colour), Kalibr's 0,1, OAK's 1,2; "
      "for COLMAP, images");
  if (with_unit)
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
  const RigFile file = unmarked(files[0]);
  const std::string_view text = trimmed(file.text);
  if (text.starts_with('{') && is_parallax_json(file)) return RigFormat::parallax;
  if (text.starts_with('{') || text.starts_with("[{") || text.starts_with("[["))
    return format_of_document(file).value_or(RigFormat::opencv);
  if (text.starts_with('<')) return RigFormat::opencv;
  std::optional<RigFormat> found;
  for (std::string_view rest = text; !rest.empty() && !found;) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    found = format_of_key(rest.substr(0, end));
    if (!found) found = format_of_line(trimmed(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  // A camera of a plain document may be called like one of Kalibr's.
  const bool is_plain = found == RigFormat::kalibr && text.find("camera_model") == std::string_view::npos &&
                        text.find("T_cn_cnm1") == std::string_view::npos;
  if (found && !(is_plain && is_stored_rig({&file, 1}))) return *found;
  if (const auto format = format_of_document(file)) return *format;
  if (found) return *found;
  if (text.starts_with("%YAML") || text.find("opencv-matrix") != std::string_view::npos)
    return RigFormat::opencv;
  fail_at(file.name,
          "is of no known format: give the calibration of OpenCV, ROS, Kalibr, KITTI, Middlebury, "
          "Stereolabs, OAK, "
          "MATLAB, EuRoC, ORB-SLAM, COLMAP or Parallax, or K, D, R and T in YAML or JSON");
}

namespace {

// Checks that two files are of one rig, and returns its format.
RigFormat format_of_files(std::span<const RigFile> files) {
  if (files.empty() || files.size() > 2)
    throw Error(ErrorCategory::file, "a rig has " + std::to_string(files.size()) +
                                         " files: give one file, or two of ROS, EuRoC, COLMAP or OpenCV");
  const RigFormat format = format_of_rig(files);
  if (files.size() == 1) return format;
  const RigFormat second = format_of_rig(files.subspan(1));
  const bool with_pose = (format == RigFormat::colmap && second == RigFormat::opencv) ||
                         (format == RigFormat::opencv && second == RigFormat::colmap);
  if (with_pose) return RigFormat::colmap;
  constexpr RigFormat of_two[] = {RigFormat::ros, RigFormat::opencv, RigFormat::euroc, RigFormat::colmap};
  if (std::find(std::begin(of_two), std::end(of_two), format) == std::end(of_two))
    fail_at(files[0].name, "is a rig on its own: leave out " + files[1].name);
  if (second != format)
    fail_at(files[1].name, "is of another format than " + files[0].name + ": give two files of one rig");
  return format;
}

std::vector<RigFile> unmarked(std::span<const RigFile> files) {
  std::vector<RigFile> result;
  for (const RigFile& file : files) result.push_back(unmarked(file));
  return result;
}

template <class Parse>
Rig parse_files(std::span<const RigFile> given, const RigChoices& choices, const Parse& parse) {
  const std::vector<RigFile> files = unmarked(given);
  const RigFormat format = format_of_files(files);
  refuse_needless(files, format, choices);
  Rig rig = parse(format, files, choices);
  for (double& element : rig.translation) element *= choices.unit.value_or(1);
  return rig;
}

}  // namespace

bool is_in_metres(std::span<const RigFile> given, const RigChoices& choices) {
  if (choices.unit) return true;
  const std::vector<RigFile> files = unmarked(given);
  const RigFormat format = format_of_files(files);
  if (format == RigFormat::matlab) return tells_unit_of_matlab(files[0]);
  return format != RigFormat::opencv && format != RigFormat::parallax && format != RigFormat::colmap;
}

Rig parse_rig(std::span<const RigFile> files, const RigChoices& choices) {
  return parse_files(files, choices, parse_as);
}

Rig parse_rectified_rig(std::span<const RigFile> files, const RigChoices& choices) {
  return parse_files(
      files, choices, [](RigFormat format, std::span<const RigFile> files, const RigChoices& choices) {
        const Rig rig = parse_rectified_as(format, files, choices);
        const std::array<double, 14> pinhole{};
        if (rig.rotation != Rig().rotation || rig.left.distortion != pinhole ||
            rig.right.distortion != pinhole)
          fail_at(files[0].name,
                  "has cameras before rectification, not a rectified pair: give it with --rig");
        return rig;
      });
}

Camera scaled(const Camera& camera, Size size) {
  Camera result = camera;
  result.size = size;
  const double x = static_cast<double>(size.width) / camera.size.width,
               y = static_cast<double>(size.height) / camera.size.height;
  result.focal_x *= x;
  result.focal_y *= y;
  // Pixels reach from −1/2 to 1/2 around their centres.
  result.centre_x = x == 1 ? camera.centre_x : (camera.centre_x + 0.5) * x - 0.5;
  result.centre_y = y == 1 ? camera.centre_y : (camera.centre_y + 0.5) * y - 0.5;
  return result;
}

bool same_proportions(Size size, Size other) {
  const double x = static_cast<double>(size.width) / other.width,
               y = static_cast<double>(size.height) / other.height;
  // A side is rounded to a pixel.
  return std::abs(size.height - other.height * x) < 1 && std::abs(size.width - other.width * y) < 1;
}

Rig fitted(const Rig& rig, const RigChoices& choices, const std::string& files, std::string& notice) {
  Rig result = rig;
  Camera* cameras[] = {&result.left, &result.right};
  for (std::size_t i = 0; i < 2; ++i) {
    Camera& camera = *cameras[i];
    const Size size = choices.picture_sizes[i], before = camera.size;
    if (size == Size{}) continue;
    if (before == Size{}) camera.size = size;
    if (before == Size{} || before == size) continue;
    if (!same_proportions(size, before))
      throw Error(ErrorCategory::file,
                  choices.picture_names[i] + " is " + text(size) + ", and the camera of " + files + " is " +
                      text(before) +
                      ", which has other proportions: pictures that were cropped, binned or padded need a "
                      "calibration of their own");
    camera = scaled(camera, size);
    notice = "the pictures are " + text(size) + ", and the images of " + files + " are " + text(before) +
             ": the calibration is scaled";
  }
  return result;
}

std::vector<RigFile> read_rig_files(const std::vector<std::string>& paths) {
  std::vector<RigFile> files;
  for (const std::string& path : paths) files.push_back({path, read_text(path, 1 << 20)});
  return files;
}

Rig read_rig(const std::vector<std::string>& paths, const RigChoices& choices) {
  return parse_rig(read_rig_files(paths), choices);
}

RigFormat format_of_outputs(const std::vector<std::string>& paths, const std::string& chosen_by) {
  if (paths.size() == 2) return RigFormat::ros;
  if (has_extension(paths[0], {".json"})) return RigFormat::parallax;
  if (has_extension(paths[0], {".yml", ".xml"})) return RigFormat::opencv;
  if (has_extension(paths[0], {".conf"})) return RigFormat::stereolabs;
  throw UsageError(paths[0] + " may be of several formats: " + chosen_by);
}

std::vector<RigFile> encode_rig(const Rig& rig, RigFormat format, const std::vector<std::string>& paths) {
  validate(rig);
  const std::size_t count = format == RigFormat::ros ? 2 : 1;
  if (paths.size() != count)
    throw UsageError("--to " + name_of_rig_format(format) + " writes " + std::to_string(count) +
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
