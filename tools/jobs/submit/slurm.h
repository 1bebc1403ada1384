// SPDX-License-Identifier: Apache-2.0
// A plan as jobs of SLURM: an array that matches chunks of tiles, then a merge, or a retry of lost tiles.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace parallax::tool {

// What 'parallax submit' was asked for.
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

struct SubmittedWork {
  std::vector<int> missing;  // tiles to match, in order
  bool later = false;        // gives the reason for which tiles failed some time to pass
  std::optional<double> milliseconds_per_tile;
};

// As many tiles as take two minutes: starting a task hardly counts then, and little is lost with one.
int chunk_of_minutes(double tile_milliseconds);

// Values of --tile: "0-19,40". A chunk is smaller where a command line would not take it.
std::vector<std::string> cut_into_chunks(const std::vector<int>& tiles, int chunk);

// Submits the scripts in the folder PLAN.jobs; with dry_run, prints them.
// \throws Error, UsageError
void submit_to_slurm(const SubmitRequest& request, const SubmittedWork& work);

}  // namespace parallax::tool
