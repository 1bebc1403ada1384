// SPDX-License-Identifier: Apache-2.0
// What was measured, for people and for programs.
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

// Of the machine: a line for each device.
std::vector<std::pair<std::string, std::string>> describe_devices(const PapersRun& run);

// What comes before the tables, and a paper with all its tables, whose first is `tables[0]`.
std::string markdown_head(const PapersRun& run);
std::string markdown_of_paper(const std::vector<MeasuredTable>& tables);

// One object: version, machine, and a row for each step on each device.
std::string json_report(const std::vector<MeasuredTable>& tables, const PapersRun& run);
// The same rows.
std::string csv_report(const std::vector<MeasuredTable>& tables);

// Names of files and their contents: a chart for each table that has anything to show.
std::vector<std::pair<std::string, std::string>> plots(const std::vector<MeasuredTable>& tables);

}  // namespace parallax::tool
