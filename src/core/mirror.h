// SPDX-License-Identifier: Apache-2.0
// Mirrors rows of pixels: the first column becomes the last.
#pragma once

#include "core/copy_rows.h"

namespace parallax {

// A pixel has 1, 2, 3, 4 or 6 bytes: 3 and 6 are three values of 1 and 2 bytes. `to` may be `from`, which is
// then mirrored in place; else they must not overlap.
void mirror_rows(ConstRows from, Rows to, Size size, std::size_t pixel_bytes, const Workers& workers);

}  // namespace parallax
