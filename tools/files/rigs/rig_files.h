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

enum class RigFormat {
  parallax,
  opencv,
  ros,
  kalibr,
  kitti,
  kitti_rectified,
  middlebury,
  stereolabs,
  oak,
  matlab,
  euroc,
  orb_slam,
  colmap
};

// The names of --to, and of the formats that are only read.
extern const Choices<RigFormat> rig_formats, read_only_rig_formats;
std::string name_of_rig_format(RigFormat format);

// Choices that a file may leave open. A choice that the files do not leave open is an error.
struct RigChoices {
  Size size;                                  // size of the images; 0×0 = as the file says
  std::optional<std::array<int, 2>> cameras;  // numbers of the left and the right camera
  std::optional<double> unit;                 // unit of an OpenCV file's translation, in metres
  bool fisheye = false;   // four coefficients in an OpenCV file are those of an equidistant lens
  bool exchange = false;  // the file's first camera is the right one
  // A file may lack the size, which is then 0×0: the pictures give it.
  bool size_of_pictures = false;
  std::array<Size, 2> picture_sizes = {};         // sizes of these pictures; 0×0 = not known
  std::array<std::string, 2> picture_names = {};  // their files; empty = not known
};

// --size, --cameras, --fisheye and --exchange, and --unit, which commands that write depths have already.
void add_rig_options(Options& options, RigChoices& choices, bool with_unit = true);

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
// The rig of rectified pictures, in metres or in a unit that the file does not say, as above.
// \throws Error (file), also for files of cameras before rectification
Rig parse_rectified_rig(std::span<const RigFile> files, const RigChoices& choices = {});
// Whether translations are in metres.
bool is_in_metres(std::span<const RigFile> files, const RigChoices& choices);

// The camera of pictures that were scaled to this size.
Camera scaled(const Camera& camera, Size size);
// The rig for the pictures of the choices: cameras without a size take theirs, and those of other sizes are
// scaled, if the proportions are the same. `notice` is then a sentence that says so. `files`: the rig's, for
// messages.
// \throws Error (file) for other proportions
Rig fitted(const Rig& rig, const RigChoices& choices, const std::string& files, std::string& notice);
// Whether pictures of one size may be scaled ones of the other: to a pixel.
bool same_proportions(Size size, Size other);

// The format that the names of the outputs tell: .json Parallax, .yml and .xml OpenCV, .conf Stereolabs, two
// files ROS. `chosen_by`: what to do for other names, as an advice.
// \throws UsageError
RigFormat format_of_outputs(const std::vector<std::string>& paths,
                            const std::string& chosen_by = "name it .json, .yml, .xml or .conf");

// A text for each path: two for ROS, otherwise one.
// \throws Error (argument) for a rig that the format cannot hold, UsageError for a wrong number of paths
std::vector<RigFile> encode_rig(const Rig& rig, RigFormat format, const std::vector<std::string>& paths);
// Writes these files.
// \throws Error, UsageError
void write_rig(const Rig& rig, RigFormat format, const std::vector<std::string>& paths);

}  // namespace parallax::tool
