// SPDX-License-Identifier: Apache-2.0
// Reads and writes rigs in the formats of calibration tools, camera makers and data sets.
// docs/reference/rigs.md has their keys, units and conventions.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "parallax/rig.h"

#include "tools/command/options.h"

namespace parallax::tool {

enum class RigFormat { parallax, opencv, ros, kalibr, kitti, kitti_rectified, middlebury, stereolabs };

// The names of --to.
extern const Choices<RigFormat> rig_formats;

// Choices that a file may leave open. A choice that the files do not leave open is an error.
struct RigChoices {
  Size size;                                  // size of the images; 0×0 = as the file says
  std::optional<std::array<int, 2>> cameras;  // numbers of the left and the right camera
  std::optional<double> unit;                 // unit of an OpenCV file's translation, in metres
  bool fisheye = false;   // four coefficients in an OpenCV file are those of an equidistant lens
  bool exchange = false;  // the file's first camera is the right one
};

void add_rig_options(Options& options, RigChoices& choices);

struct RigFile {
  std::string name, text;
};

// \throws Error (file)
std::vector<RigFile> read_rig_files(const std::vector<std::string>& paths);
// By the contents of the first file, not its name.
// \throws Error (file)
RigFormat format_of_rig(std::span<const RigFile> files);

// The rig of one or two files, validated. Its translation is in metres, unless the format has no unit
// (OpenCV, Parallax).
// \throws Error (file) that names the key and the file
Rig parse_rig(std::span<const RigFile> files, const RigChoices& choices = {});
Rig read_rig(const std::vector<std::string>& paths, const RigChoices& choices = {});

// The format that the names of the outputs tell: .json Parallax, .yml and .xml OpenCV, .conf Stereolabs, two
// files ROS.
// \throws UsageError
RigFormat format_of_outputs(const std::vector<std::string>& paths);

// A text for each path: two for ROS, otherwise one.
// \throws Error (argument) for a rig that the format cannot hold, UsageError for a wrong number of paths
std::vector<RigFile> encode_rig(const Rig& rig, RigFormat format, const std::vector<std::string>& paths);
// Writes these files.
// \throws Error, UsageError
void write_rig(const Rig& rig, RigFormat format, const std::vector<std::string>& paths);

}  // namespace parallax::tool
