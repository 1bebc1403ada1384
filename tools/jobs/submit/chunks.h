// SPDX-License-Identifier: Apache-2.0
// The tiles of a job as chunks: each is matched by one process.
#pragma once

#include <string>
#include <vector>

namespace parallax::tool {

// Tiles that take about two minutes, so that starting a task, a second or two, hardly counts, and little is lost with one.
int chunk_of_minutes(double tile_milliseconds);

// The numbers, in this order, as values of --tile: "0-19,40". A chunk is smaller where a command line would not take it.
std::vector<std::string> cut_into_chunks(const std::vector<int>& tiles, int chunk);

}  // namespace parallax::tool
