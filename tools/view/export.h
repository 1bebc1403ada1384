// SPDX-License-Identifier: Apache-2.0
// Files that the page saves.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tools/view/page.h"

namespace parallax::view {

// Returns the name if it is one of those in README.md.
// \throws Error (argument)
const std::string& checked_export(const std::string& name);

// The bytes of such a file.
// \throws Error (argument) for depths and points without calibration
std::vector<std::byte> export_map(const Scene& scene, const ViewedMap& map, const std::string& name);

}  // namespace parallax::view
