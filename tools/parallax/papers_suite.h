// SPDX-License-Identifier: Apache-2.0
// What `parallax bench --suite papers` does, wherever its pairs come from.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "tools/parallax/papers_data.h"
#include "tools/parallax/papers_run.h"

namespace parallax::tool {

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
