// SPDX-License-Identifier: Apache-2.0
// The papers' suite, `parallax bench --suite papers`, for pairs from any source.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "benchmarks/papers/data.h"
#include "benchmarks/papers/run.h"
#include "tools/command/command.h"

namespace parallax::tool {

int papers_command(const Arguments& arguments);

struct PapersRequest {
  std::vector<std::string> papers;  // names; none = all
  PapersRun run;
  // Output files; empty = none. `plots` is a folder, created if missing.
  std::string json, csv, markdown, plots;
};

// The names of the papers: "block, census, …".
std::string paper_names();

// Prints each paper's tables as soon as they are measured; writes the files at the end.
// \throws UsageError for an unknown paper, Error (file) for a missing pair or an unwritable file, before
// anything is measured
void run_papers(const PapersRequest& request, const PapersData& data, std::ostream& out);

}  // namespace parallax::tool
