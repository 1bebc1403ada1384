// SPDX-License-Identifier: Apache-2.0
// 'parallax bench' over public benchmarks.
#pragma once

#include <string>
#include <vector>

#include "tools/command/command.h"

namespace parallax::tool {

// "middlebury", "kitti", "eth3d"
std::vector<std::string> scoreboard_suites();

// Runs 'parallax bench --suite' of one of them.
int bench_scoreboard(const Arguments& arguments, const std::string& suite);

}  // namespace parallax::tool
