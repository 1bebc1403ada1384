// SPDX-License-Identifier: Apache-2.0
// Measures the steps of a paper.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "parallax/evaluate.h"

#include "benchmarks/papers/data.h"
#include "benchmarks/papers/papers.h"

namespace parallax::tool {

struct PapersRun {
  std::vector<Device> devices;
  int threads = 0;             // on processors; 0 = all cores
  double seconds_per_row = 1;  // approximate
  // Progress callback; an empty text means done.
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

// The results. Milliseconds are medians.
struct Figure {
  double milliseconds = 0;  // wall time from and to the caller's memory
  // the same without copies between the caller's memory and memory that the device reaches
  double matching = 0;
  int samples = 0;
  std::size_t memory_bytes = 0;
  ErrorMetrics error;
};

// A step on a device, or a step whose device is missing.
struct PapersRow {
  const Group* group;
  const Step* step;
  std::string device;
  std::optional<Figure> figure;
  std::string why_none;             // the reason why there is no figure
  const PapersRow* over = nullptr;  // the row compared with
};

// One device of each available kind, including the reference.
std::vector<Device> devices_of_this_machine();

// Measures every step on every device of its kind; the table must outlive the rows. The rows of a group are
// sampled in turn.
// \throws Error like a Matcher, except for a step without device or memory
std::vector<PapersRow> measure(const PapersTable& table, const PapersData& data, const PapersRun& run);

// Speed-up between two rows, in the table's measure; empty if a figure is missing.
std::optional<double> speed_up(const PapersTable& table, const PapersRow& row);
std::optional<double> published_speed_up(const PapersTable& table, const PapersRow& row);

}  // namespace parallax::tool
