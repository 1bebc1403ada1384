// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iostream>

#include "tools/command/options.h"
#include "tools/jobs/submit/slurm.h"
#include "tools/jobs/tiles/results.h"
#include "tools/parallax/pair_options.h"

namespace parallax::tool {
namespace {

namespace fs = std::filesystem;

// Options of sbatch that this command gives itself.
constexpr const char* taken[] = {"-a", "--array", "-d",         "--dependency",
                                 "-D", "--chdir", "--parsable", "--wrap"};

const std::string without_a_scheduler =
    "without a scheduler, match all tiles with 'parallax match --plan PLAN --tile 0-N', in one process or "
    "several, and then "
    "merge them with 'parallax merge PLAN'";

std::string sbatch_option(const std::string& text) {
  const std::string option = text.starts_with("-") ? text : "--" + text;
  for (const std::string name : taken)
    if (option == name || option.starts_with(name.size() == 2 ? name : name + "="))
      throw UsageError("--sbatch " + text + ": 'parallax submit' sets " + name + " itself: leave it out");
  return option;
}

SubmitRequest parse(const Arguments& arguments) {
  SubmitRequest request;
  bool slurm = false;
  std::string device;
  PlanFile plan;
  int threads = 0;
  std::size_t memory = 0;
  Options options("submit",
                  "Match the tiles of a plan as jobs of SLURM, and merge them.\n"
                  "Only missing tiles are matched: the same command continues after an interruption.");
  add_plan_argument(options, plan);
  options.add_flag("--slurm", slurm, "Submit an array of jobs to SLURM, and a job after it that merges");
  const auto take_chunk = [&](const std::string& text) {
    if (text == "auto") return true;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), request.chunk);
    return error == std::errc{} && end == text.data() + text.size() && request.chunk > 0;
  };
  options.add_text(
      "--chunk", "N", "auto", "a number of tiles or auto", take_chunk,
      "Tiles of a task; auto: as many as take about two minutes, by the times of tiles matched before, or of "
      "one that is matched here");
  options.add("--retries N", request.retries, "How often tiles that were lost are matched again")
      .range(0, 100);
  options.add_flag("--lost", request.only_lost,
                   "Leave out tiles that failed for a lasting reason, such as a damaged picture");
  options.add_flag("--verify", request.verify,
                   "Read all results first; those that are damaged are matched again");
  options.group("SLURM");
  const auto take_sbatch = [&](const std::string& text) {
    request.sbatch.push_back(sbatch_option(text));
    return true;
  };
  options
      .add_text(
          "--sbatch", "OPTION", "", "", take_sbatch,
          "An option for sbatch, for the tiles and for the merge, such as partition=gpu; may be repeated")
      .repeats();
  options.add_flag("--dry-run", request.dry_run, "Print the scripts and submit nothing");
  options.group("Options of 'parallax match'");
  options.add("--device NAME", device, "Device of the tiles, in place of the plan's");
  options.add("--threads N", threads, "Threads of a process; by default as many as the task has processors")
      .range(1, 4096)
      .without_default();
  options.add_memory("--max-memory", memory, "Memory limit of a process; 0 = as the plan says");
  add_path_map_option(options, plan);
  options.advise({{"--local", "{} is no longer there: " + without_a_scheduler}});
  options.footer("'parallax status PLAN' shows what is done.");
  options.read(arguments);

  if (!slurm) throw UsageError("give --slurm; " + without_a_scheduler);
  // Jobs run in another folder.
  request.plan = fs::absolute(plan.path).lexically_normal().string();
  for (const auto& [from, to] : parse_path_maps(plan.maps)) request.path_maps.push_back(from + "=" + to);
  const auto pass_on = [&](const char* name, const std::string& value) {
    if (options.given(name)) request.match_options.insert(request.match_options.end(), {name, value});
  };
  pass_on("--device", device);
  pass_on("--threads", std::to_string(threads));
  pass_on("--max-memory", std::to_string(memory));
  request.threads_given = options.given("--threads");
  return request;
}

// \throws Error (file) where all that is missing would fail again
std::vector<int> missing_tiles(const SubmitRequest& request, const JobStatus& status) {
  std::vector<int> tiles = status.missing;
  for (const FailedTile& failed : status.failed)
    if (failed.is_transient || !request.only_lost) tiles.push_back(failed.tile);
  std::sort(tiles.begin(), tiles.end());
  if (tiles.empty() && !status.failed.empty())
    throw Error(ErrorCategory::file, "what is missing would fail again: tile " +
                                         std::to_string(status.failed.front().tile) + ": " +
                                         status.failed.front().reason);
  return tiles;
}

}  // namespace

int submit_command(const Arguments& arguments) {
  const SubmitRequest request = parse(arguments);
  const JobStatus status =
      look_at_job(JobFile(request.plan, parse_path_maps(request.path_maps)), request.verify);
  if (status.pairs_written == status.pairs) {
    std::cerr << "all maps are written: nothing is left to do\n";
    return done;
  }
  const SubmittedWork work{
      .missing = missing_tiles(request, status),
      .later = request.only_lost && std::any_of(status.failed.begin(), status.failed.end(),
                                                [](const FailedTile& tile) { return tile.is_transient; }),
      .milliseconds_per_tile = status.milliseconds_per_tile};
  submit_to_slurm(request, work);
  return done;
}

}  // namespace parallax::tool
