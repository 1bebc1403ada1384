// SPDX-License-Identifier: Apache-2.0
// The pairs of the papers, wherever they come from.
#pragma once

#include <string>

#include "parallax/image.h"

namespace parallax::tool {

// Gray, with truth: not finite = not evaluated.
struct PapersImages {
  Plane<std::uint8_t> left, right;
  Plane<float> truth;
  StereoPair views() const { return {left.view(), right.view()}; }
};

class PapersData {
 public:
  virtual ~PapersData() = default;
  // Why a pair that nobody has to have is not there; empty = it is, or should be.
  virtual std::string why_absent(const std::string& pair) const = 0;
  // \throws Error (file) that names what is missing, before anything is measured
  virtual void check(const std::string& pair) const = 0;
  // \throws Error (file)
  virtual PapersImages load(const std::string& pair) const = 0;
};

// "synthetic 320x240"
bool is_synthetic(const std::string& pair);
PapersImages synthetic_images(const std::string& pair);

// Labels of the design contest leave out so many pixels on each side.
inline constexpr int contest_frame = 18;
// The pair that only those have who got it from the contest's package, and what then lies in the data's
// folder.
inline constexpr const char* red_barrel = "red-barrel";
inline constexpr const char* red_barrel_folder = "memocode2013";

// (9797 R + 19234 G + 3737 B) >> 15, as everywhere in the library.
inline std::uint8_t gray_of(unsigned red, unsigned green, unsigned blue) {
  return static_cast<std::uint8_t>((9797 * red + 19234 * green + 3737 * blue) >> 15);
}

}  // namespace parallax::tool
