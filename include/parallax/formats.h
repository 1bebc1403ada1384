// SPDX-License-Identifier: Apache-2.0
/// \file
/// Files and conventions of the stereo world. The library reads PFM, calib.txt and files of data costs, and
/// writes PFM, data costs and PLY; pictures (PNG, JPEG, TIFF …) are read by the command line and come in here
/// as arrays.
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

/// Parses a PFM file of one channel ("Pf"), either endianness, rows stored bottom-up; the result has row 0 on
/// top. The magnitude of its scale is ignored. \p name appears in errors. \throws Error (file) when it is not
/// a PFM, has an impossible size, or is shorter than its header says.
Plane<float> parse_pfm(std::span<const std::byte> bytes, const std::string& name);
Plane<float> read_pfm(const std::string& path);

/// The bytes of a little-endian PFM of one channel, scale −1. \throws Error (argument) for an image without
/// memory.
std::vector<std::byte> encode_pfm(View<const float> image);

/// KITTI's 16-bit convention: disparity · 256, 0 = none. Encoding rounds to the nearest, and clamps a
/// disparity that exists to 1…65535.
Plane<std::uint16_t> encode_kitti(View<const float> disparity);
Plane<float> decode_kitti(View<const std::uint16_t> values);

/// Middlebury's 8-bit ground truth: value / scale, 0 = unknown (+infinity).
Plane<float> decode_scaled_truth(View<const std::uint8_t> values, double scale);

/// Parses Middlebury's calib.txt. Needed: cam0, baseline; known besides: cam1, doffs, width, height, ndisp.
/// Other keys are skipped. \p name appears in errors. \throws Error (file) when a needed key is missing or a
/// value is not a number that makes sense.
Calibration parse_middlebury_calibration(std::string_view text, const std::string& name);
Calibration read_middlebury_calibration(const std::string& path);
std::string encode_middlebury_calibration(const Calibration& calibration);

/// Data costs of every label of every pixel, with their memory.
struct CostArray {
  Size size;
  int labels = 0;
  std::vector<float> costs;  ///< those of a pixel side by side, pixels in rows, row 0 on top

  CostVolume view() const { return {costs.data(), size, labels}; }
};

/// Parses data costs as text, the vdata_in.txt of the MEMOCODE 2013 design contest: width and height, then,
/// pixel by pixel in rows, a cost for each label, all separated by white space. The file does not say how
/// many labels there are; 2…1024. Costs are whole numbers from −8,388,608 to 8,388,608.
/// \p name appears in errors. \throws Error (file) for an impossible size, too few or too many costs, or one
/// that is no such number, (argument) for a number of labels out of range.
CostArray parse_costs(std::string_view text, int labels, const std::string& name);
CostArray read_costs(const std::string& path, int labels = 16);
/// \throws Error (argument) for a cost that such a file cannot hold.
std::string encode_costs(const CostVolume& costs);

/// The bytes of a binary little-endian PLY: x, y, z as float, red, green, blue as uchar. \throws Error
/// (argument) for a point that is not finite.
std::vector<std::byte> encode_ply(std::span<const Point> points);

/// Reads a file whole, if it has no more than `most_bytes`, and no more than the memory of this machine. Of a
/// pipe or a device, which may never end, at most 1 GiB or a quarter of that memory is read.
/// \throws Error (file) with the system's reason, or for more than that.
std::vector<std::byte> read_file(const std::string& path,
                                 std::size_t most_bytes = std::numeric_limits<std::size_t>::max());

/// Writes a file whole or not at all, and to the disk: into a temporary neighbour that then takes its name. A
/// link to a file stays, also where there is no file yet; what it points to is replaced, or made. A path that
/// exists and is no regular file (a device, a pipe) is written to directly. \throws Error (file) with the
/// system's reason; the path is then as it was.
void write_file(const std::string& path, std::span<const std::byte> bytes);

}  // namespace parallax
#pragma GCC visibility pop
