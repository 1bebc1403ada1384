// SPDX-License-Identifier: Apache-2.0
// A match as others would ask for it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "tools/view/scene.h"
#include "tools/view/settings.h"

namespace parallax::view {

// The match as a command line, in Python and in C++; each gives the same map. `settings` have parameters.
nlohmann::ordered_json describe_commands(const Scene& scene, const Settings& settings);

}  // namespace parallax::view
