// SPDX-License-Identifier: Apache-2.0
// Disparities as pictures for people.
#pragma once

#include <cstddef>
#include <vector>

#include "tools/parallax/pictures/picture.h"

namespace parallax::tool {

// `low` and less is blue, `high` and more is red, no value is black.
Picture colour(View<const float> disparity, double low, double high);

// A PNG: near is red, far is blue, no value is black.
std::vector<std::byte> encode_coloured(View<const float> disparity);

}  // namespace parallax::tool
