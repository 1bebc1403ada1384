// SPDX-License-Identifier: Apache-2.0
// What 'parallax submit' was asked for, and the commands that its jobs run.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace parallax::tool {

struct SubmitRequest {
  std::string plan;  // with an absolute path
  int chunk = 0;     // tiles of a task; 0 = as many as take minutes
  int retries = 3;
  bool only_lost = false;  // not the tiles that would fail again
  bool verify = false;     // reads all results
  bool dry_run = false;
  std::vector<std::string> sbatch;  // options of sbatch
  std::vector<std::string> path_maps;
  // Further options of 'parallax match', and whether one of them is --threads.
  std::vector<std::string> match_options;
  bool threads_given = false;
};

// What is to be done.
struct SubmittedWork {
  std::vector<int> missing;  // tiles to match, in order
  bool later = false;        // gives the reason for which tiles failed some time to pass
  std::optional<double> milliseconds_per_tile;
};

using Words = std::vector<std::string>;

// Commands of this program, which stands in the same place on every machine.
Words match_words(const SubmitRequest& request);  // an option --tile is missing
Words status_words(const SubmitRequest& request);
Words merge_words(const SubmitRequest& request);
// The next round: what was lost, with one retry less.
Words retry_words(const SubmitRequest& request);

}  // namespace parallax::tool
