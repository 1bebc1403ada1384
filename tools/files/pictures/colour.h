// SPDX-License-Identifier: Apache-2.0
// Coloured pictures of disparities.
#pragma once

#include <cstddef>
#include <vector>

#include "tools/files/pictures/picture.h"

namespace parallax::tool {

// Up to `low` is blue, from `high` on is red, no value is black.
Picture colour(View<const float> disparity, double low, double high);

// A PNG: near is red, far is blue, no value is black.
std::vector<std::byte> encode_coloured(View<const float> disparity);

}  // namespace parallax::tool
