// SPDX-License-Identifier: Apache-2.0
// The files of the page, which the build puts into the program.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace parallax::view {

struct Asset {
  std::string path;  // "/view.js"; "/" is the page itself
  std::string type;
  std::string_view content;
};

std::span<const Asset> assets();

}  // namespace parallax::view
