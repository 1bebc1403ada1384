// SPDX-License-Identifier: Apache-2.0
// The pairs of the papers.
#pragma once

#include <filesystem>
#include <string>

#include "parallax/image.h"

namespace parallax::tool {

// Gray images with truth; pixels without a finite truth are not evaluated.
struct PapersImages {
  Plane<std::uint8_t> left, right;
  Plane<float> truth;
  StereoPair views() const { return {left.view(), right.view()}; }
};

// Reads from a folder with papers/ and middlebury2003/tsukuba, and perhaps memocode2013/, or, without
// libraries of pictures, from what gpu_pairs wrote: a subfolder of PFM files for each pair. Synthetic pairs
// need no folder.
class PapersData {
 public:
  explicit PapersData(std::filesystem::path folder) : folder_(std::move(folder)) {}
  // Why an optional pair is missing; empty = it is there, or is required.
  std::string why_absent(const std::string& pair) const;
  // \throws Error (file) naming what is missing, before anything is measured
  void check(const std::string& pair) const;
  // The disparities are those of a synthetic pair, such as "synthetic 640x480".
  // \throws Error (file)
  PapersImages load(const std::string& pair, int disparities = 60) const;

 private:
  std::filesystem::path folder_;
};

// Paths of a pair.
struct PapersFiles {
  std::filesystem::path left, right, truth;
};

// Pairs as pictures; for builds with picture libraries.
PapersFiles picture_files(const std::filesystem::path& folder, const std::string& pair);
Plane<std::uint8_t> read_gray(const std::filesystem::path& picture);
PapersImages read_pictures(const PapersFiles& files, const std::string& pair);

// Labels of the design contest leave out a frame of this many pixels on each side.
inline constexpr int contest_frame = 18;
// The optional pair, which comes with the contest's package, and its folder in the data.
inline constexpr const char* red_barrel = "red-barrel";
inline constexpr const char* red_barrel_folder = "memocode2013";

// (9797 R + 19234 G + 3737 B) >> 15, as everywhere in the library.
inline std::uint8_t gray_of(unsigned red, unsigned green, unsigned blue) {
  return static_cast<std::uint8_t>((9797 * red + 19234 * green + 3737 * blue) >> 15);
}

}  // namespace parallax::tool
