// SPDX-License-Identifier: Apache-2.0
// Reports of the measurements, as text and as data.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "benchmarks/papers/run.h"

namespace parallax::tool {

struct MeasuredTable {
  const Paper* paper;
  const PapersTable* table;
  std::vector<PapersRow> rows;
};

// The introduction; and a paper with all its tables, the first of which is `tables[0]`.
std::string markdown_head(const PapersRun& run);
std::string markdown_of_paper(const std::vector<MeasuredTable>& tables);

// One object: version, machine, and a row for each step on each device.
std::string json_report(const std::vector<MeasuredTable>& tables, const PapersRun& run);
std::string csv_report(const std::vector<MeasuredTable>& tables);

// Names and contents of files: a chart for each table with speed-ups.
std::vector<std::pair<std::string, std::string>> plots(const std::vector<MeasuredTable>& tables);

}  // namespace parallax::tool
