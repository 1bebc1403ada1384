// SPDX-License-Identifier: Apache-2.0
#include "tools/view/assets.h"

#include <algorithm>

namespace parallax::view {

const Asset* find_asset(std::string_view path) {
  const std::span<const Asset> all = assets();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Asset& asset) { return asset.path == path; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace parallax::view
