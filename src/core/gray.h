// SPDX-License-Identifier: Apache-2.0
// Gray values of an input row.
#pragma once

#include <cstdint>

#include "parallax/image.h"

namespace parallax {

// Gray values are Rec. 601 luma in 15-bit fixed point, truncated:
//
//   (9797 red + 19234 green + 3737 blue) >> 15
//
// The weights add up to 32768, so sums of 16-bit channels fit in 31 bits.

// Writes the `image.format.size.width` gray values of row `y`, in the depth of the image.
void gray_row(const ImageView& image, int y, std::uint16_t* out);
// The same in 8 bits: the upper 8 bits of 16-bit values.
void gray_byte_row(const ImageView& image, int y, std::uint8_t* out);

}  // namespace parallax
