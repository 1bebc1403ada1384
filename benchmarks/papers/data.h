// SPDX-License-Identifier: Apache-2.0
// Interface to the pairs of the papers, from any source.
#pragma once

#include <string>

#include "parallax/image.h"

namespace parallax::tool {

// Gray images with truth; pixels without a finite truth are not evaluated.
struct PapersImages {
  Plane<std::uint8_t> left, right;
  Plane<float> truth;
  StereoPair views() const { return {left.view(), right.view()}; }
};

class PapersData {
 public:
  virtual ~PapersData() = default;
  // Why an optional pair is missing; empty = it is there, or is required.
  virtual std::string why_absent(const std::string& pair) const = 0;
  // \throws Error (file) naming what is missing, before anything is measured
  virtual void check(const std::string& pair) const = 0;
  // \throws Error (file)
  virtual PapersImages load(const std::string& pair) const = 0;
};

// "synthetic 320x240"
bool is_synthetic(const std::string& pair);
PapersImages synthetic_images(const std::string& pair);

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
