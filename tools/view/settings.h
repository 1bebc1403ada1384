// SPDX-License-Identifier: Apache-2.0
// What the page may choose, and what it chose.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "tools/view/scene.h"

namespace parallax::view {

// A page shows up to two maps of a frame.
inline constexpr int slots = 2;
// "A" and "B".
// \throws Error (argument)
int slot_of(const std::string& name);
std::string slot_name(int slot);

// How a slot matches.
struct Settings {
  std::uint64_t request = 0;                    // the page's count
  std::optional<MatcherParameters> parameters;  // none = the slot is empty, or shows the stored map
  bool stored_map = false;
  bool both_maps = false;  // the map of the right picture, too
  bool temporal = false;   // maps of successive frames are steadied by TemporalFilter
  Device device;
};

// \throws Error (argument)
Settings parse_settings(const nlohmann::ordered_json& json);

// What does not change while the server runs.
nlohmann::ordered_json describe_scene(const Scene& scene);

}  // namespace parallax::view
