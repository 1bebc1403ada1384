// SPDX-License-Identifier: Apache-2.0
/// \file
/// File formats and conventions of stereo data sets.
///
/// The library reads PFM, calib.txt and files of data costs, and writes PFM, data costs, PLY and PCD.
/// Pictures (PNG, JPEG, TIFF …) are read by the command line; the library takes them as arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parallax/geometry.h"
#include "parallax/image.h"

#pragma GCC visibility push(default)
namespace parallax {

/// Parses a PFM file of one channel ("Pf") of either endianness. The file stores rows bottom-up; the result
/// has row 0 on top. The magnitude of the scale is ignored. \p name appears in errors.
/// \throws Error (file) when the bytes are not a PFM, its size is impossible, or it is shorter than its
/// header says.
Plane<float> parse_pfm(std::span<const std::byte> bytes, const std::string& name);
/// Reads and parses a PFM file.
/// \throws Error (file) as read_file() and parse_pfm() do.
Plane<float> read_pfm(const std::string& path);

/// Returns the bytes of a little-endian PFM of one channel, with scale −1.
/// \throws Error (argument) for a view without data.
std::vector<std::byte> encode_pfm(View<const float> image);

/// Converts to KITTI's 16-bit convention: disparity · 256, 0 = none. Rounds to the nearest integer and clamps
/// existing disparities to 1…65535.
Plane<std::uint16_t> encode_kitti(View<const float> disparity);
/// Converts from KITTI's 16-bit convention; 0 becomes +infinity.
Plane<float> decode_kitti(View<const std::uint16_t> values);

/// Converts depths in metres to the millimetres of 16-bit depth pictures, as RealSense and ROS have them:
/// rounded to the nearest integer; 0 = none, also for what is not finite or rounds to less than 1 or more
/// than 65535.
Plane<std::uint16_t> encode_millimetres(View<const float> metres);

/// Converts Middlebury's 8-bit ground truth to disparities: value / scale, 0 = unknown (+infinity).
Plane<float> decode_scaled_truth(View<const std::uint8_t> values, double scale);

/// Colours disparities by the map "Turbo": up to `low` is blue, from `high` on is red, no value is black.
/// `rgb` is three times as wide as the map, with R, G, B interleaved.
/// \throws Error (argument) when the sizes do not match or a bound is not finite.
void colour(View<const float> disparity, double low, double high, View<std::uint8_t> rgb);

/// Parses Middlebury's calib.txt, whose baseline is in millimetres. The keys cam0 and baseline are required;
/// cam1, doffs, width, height and ndisp are optional; other keys are skipped. An ndisp of the width or more
/// says nothing about the pair: Calibration::disparities is 0 then. \p name appears in errors.
/// \throws Error (file) when a required key is missing or a value is not a valid number.
Calibration parse_middlebury_calibration(std::string_view text, const std::string& name);
/// Reads and parses a calib.txt.
/// \throws Error (file) as read_file() and parse_middlebury_calibration() do.
Calibration read_middlebury_calibration(const std::string& path);
/// Returns the text of a calib.txt with all keys, which is parsed to the same values, except that a baseline
/// in another known unit is converted to millimetres.
std::string encode_middlebury_calibration(const Calibration& calibration);

/// Data costs of every label of every pixel; owns its memory.
struct CostArray {
  Size size;                 ///< columns and rows of pixels
  int labels = 0;            ///< costs for each pixel
  std::vector<float> costs;  ///< the costs of a pixel are contiguous; pixels in rows, row 0 on top

  /// A view of the costs, valid until this array is changed or destroyed.
  CostVolume view() const { return {costs.data(), size, labels}; }
};

/// Parses data costs in the text format of vdata_in.txt of the MEMOCODE 2013 design contest: width and
/// height, then, pixel by pixel in rows, a cost for each label, all separated by white space. The file does
/// not contain the number of labels: \p labels is 2…1024. Costs are integers from −8,388,608 to 8,388,608.
/// \p name appears in errors.
/// \throws Error (file) for an impossible size, too few or too many costs, or an invalid cost; (argument) for
/// a number of labels out of range.
CostArray parse_costs(std::string_view text, int labels, const std::string& name);
/// Reads and parses a file of data costs.
/// \throws Error as read_file() and parse_costs() do.
CostArray read_costs(const std::string& path, int labels = 16);
/// Returns the text of a file of data costs.
/// \throws Error (argument) for a cost that such a file cannot hold.
std::string encode_costs(const CostVolume& costs);

/// Returns the bytes of a binary little-endian PLY: x, y, z as float, red, green, blue as uchar. With a
/// `grid`, the points are those of organised_cloud(), which may be NaN, and the header says num_cols and
/// num_rows.
/// \throws Error (argument) for a point that is not finite, or a grid of another number of points.
std::vector<std::byte> encode_ply(std::span<const Point> points, Size grid = {});
/// Returns the bytes of a binary little-endian PLY with faces: the vertices as above, then the triangles as
/// lists of int.
/// \throws Error (argument) for a vertex that is not finite, or a triangle with an index out of range.
std::vector<std::byte> encode_mesh(const Mesh& mesh);
/// Returns the bytes of a binary PCD of version 0.7 for the Point Cloud Library: x, y, z and rgb (0x00RRGGBB
/// in the bits of a float); organised, with NaN for points that are not there, if there is a `grid`.
/// \throws Error as encode_ply() does.
std::vector<std::byte> encode_pcd(std::span<const Point> points, Size grid = {});

/// Reads a whole file of at most `max_bytes` bytes, which also must not exceed the memory of this machine.
/// From a pipe, which may never end, it reads at most the lesser of 1 GiB and a quarter of that
/// memory.
/// \throws Error (file) with the system's reason, or when the file is larger than the limit.
std::vector<std::byte> read_file(const std::string& path,
                                 std::size_t max_bytes = std::numeric_limits<std::size_t>::max());

/// Writes a file completely or not at all, and flushes it to the disk: writes a temporary file in the same
/// folder and renames it. A symbolic link stays a link, even if its target does not exist yet; the target is
/// replaced or created. A path that exists and is not a regular file (a device, a pipe) is written directly.
/// \throws Error (file) with the system's reason; a regular file is then unchanged.
void write_file(const std::string& path, std::span<const std::byte> bytes);

}  // namespace parallax
#pragma GCC visibility pop
