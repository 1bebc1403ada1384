// SPDX-License-Identifier: Apache-2.0
// The papers' suite: `parallax bench --suite papers`, and that for pairs of any kind.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "benchmarks/papers/data.h"
#include "benchmarks/papers/run.h"
#include "tools/parallax/command.h"

namespace parallax::tool {

int papers_command(const Arguments& arguments);

struct PapersRequest {
  std::vector<std::string> papers;  // by name; none = all
  PapersRun run;
  // Files; empty = none. `plots` is a folder, made if missing.
  std::string json, csv, markdown, plots;
};

// "block, census, …"
std::string paper_names();

// Prints each paper's tables as they are done; writes files when all are.
// \throws UsageError for a paper that is not known, Error (file) for a pair that is missing or a file that
// cannot be written, before anything is measured
void run_papers(const PapersRequest& request, const PapersData& data, std::ostream& out);

}  // namespace parallax::tool
