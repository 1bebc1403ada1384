// SPDX-License-Identifier: Apache-2.0
// What 'parallax check' prints and draws.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "parallax/check.h"
#include "parallax/geometry.h"

#include "tools/match/dense_check.h"

namespace parallax::tool {

// The sentence, the remarks and the figures. The calibration is that of a pair that a rig rectified,
// otherwise null; without a dense match where none was wanted.
std::string describe_check(const PairReport& report, const Calibration* calibration,
                           const std::optional<DenseCheck>& dense);
nlohmann::ordered_json check_json(const PairReport& report, const Calibration* calibration,
                                  const std::optional<DenseCheck>& dense = {});

// A range of disparities in depths of the calibration; empty without one.
std::string depth_lines(const Calibration* calibration, const DisparityRange& range);
void add_depths(const Calibration* calibration, const DisparityRange& range, nlohmann::ordered_json& json);

// A line of a table for people, whose second column begins at `column`.
std::string table_line(const std::string& what, const std::string& text, std::size_t column = 14);

// "--min-disparity 0 --disparities 64"
std::string range_options(const DisparityRange& range);

// A PNG: a dot for each point over the dimmed left picture. Its colour says how far the point lies lower
// (red) or higher (blue) in the right picture; the bar at the bottom has the scale, which ends at `full`
// pixels. Row offsets of a dense match colour the picture below the dots.
std::vector<std::byte> draw_rows_off(const ImageView& left, const PairReport& report, double full,
                                     const std::optional<DenseCheck>& dense = {});

}  // namespace parallax::tool
