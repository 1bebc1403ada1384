// SPDX-License-Identifier: Apache-2.0
// The command 'parallax submit'.
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iostream>

#include "tools/command/options.h"
#include "tools/jobs/submit/local.h"
#include "tools/jobs/submit/slurm.h"
#include "tools/jobs/tiles/results.h"
#include "tools/jobs/tiles/status.h"

namespace parallax::tool {
namespace {

namespace fs = std::filesystem;

// Options of sbatch that this command gives itself.
constexpr const char* taken[] = {"-a", "--array", "-d",         "--dependency",
                                 "-D", "--chdir", "--parsable", "--wrap"};

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
  std::vector<std::string> maps;
  int threads = 0;
  std::size_t memory = 0;
  Options options(
      "submit",
      "Match the tiles of a plan as jobs of SLURM, or in several processes of this machine, and merge them.\n"
      "Only missing tiles are matched: the same command continues after an interruption.");
  options.add("PLAN", request.plan, "Plan written by 'parallax plan'").required();
  options.add_flag("--slurm", slurm, "Submit an array of jobs to SLURM, and a job after it that merges");
  options.add("--local N", request.processes, "Match in N processes of this machine at once, then merge")
      .range(1, 4096)
      .without_default();
  const auto take_chunk = [&](const std::string& text) {
    if (text == "auto") return true;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), request.chunk);
    return error == std::errc{} && end == text.data() + text.size() && request.chunk > 0;
  };
  options.add_text(
      "--chunk", "N", "auto", "a number of tiles or auto", take_chunk,
      "Tiles of a task; auto: with SLURM, as many as take about two minutes, by the times of tiles matched "
      "before, or of one that is matched here; with --local, a quarter of the share of a process");
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
  options
      .add("--threads N", threads,
           "Threads of a process; by default as the plan says, with SLURM as many as the task has processors")
      .range(1, 4096)
      .without_default();
  options.add_memory("--max-memory", memory, "Memory limit of a process; 0 = as the plan says");
  add_path_map_option(options, maps);
  options.footer("'parallax status PLAN' shows what is done.");
  options.read(arguments);

  if (slurm == options.given("--local")) throw UsageError("give --slurm or --local N");
  if (!slurm && (request.dry_run || !request.sbatch.empty()))
    throw UsageError("--sbatch and --dry-run are for --slurm: leave them out");
  // Jobs run in another folder.
  request.plan = fs::absolute(request.plan).lexically_normal().string();
  for (const auto& [from, to] : parse_path_maps(maps)) request.path_maps.push_back(from + "=" + to);
  const auto pass_on = [&](const char* name, const std::string& value) {
    if (options.given(name)) request.match_options.insert(request.match_options.end(), {name, value});
  };
  pass_on("--device", device);
  pass_on("--threads", std::to_string(threads));
  pass_on("--max-memory", std::to_string(memory));
  request.threads_given = options.given("--threads");
  return request;
}

// This program and its command for the plan, with options for where its files are.
Words command_words(const SubmitRequest& request, const std::string& command) {
  Words words{fs::read_symlink("/proc/self/exe").string(), command};
  for (const std::string& map : request.path_maps) words.insert(words.end(), {"--path-map", map});
  return words;
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

Words match_words(const SubmitRequest& request) {
  Words words = command_words(request, "match");
  words.insert(words.end(), request.match_options.begin(), request.match_options.end());
  words.insert(words.end(), {"--plan", request.plan});
  return words;
}

Words status_words(const SubmitRequest& request) {
  Words words = command_words(request, "status");
  words.push_back(request.plan);
  return words;
}

Words merge_words(const SubmitRequest& request) {
  Words words = command_words(request, "merge");
  words.push_back(request.plan);
  return words;
}

Words retry_words(const SubmitRequest& request) {
  Words words = command_words(request, "submit");
  words.insert(words.end(), {"--slurm", "--lost", "--retries", std::to_string(request.retries - 1)});
  if (request.chunk > 0) words.insert(words.end(), {"--chunk", std::to_string(request.chunk)});
  words.insert(words.end(), request.match_options.begin(), request.match_options.end());
  for (const std::string& option : request.sbatch) words.push_back("--sbatch=" + option);
  words.push_back(request.plan);
  return words;
}

int submit_command(const Arguments& arguments) {
  const SubmitRequest request = parse(arguments);
  const JobStatus status =
      look_at_job(JobFile(request.plan, parse_path_maps(request.path_maps)), request.verify);
  if (status.pairs_written == status.pairs) {
    std::cerr << "all maps are written: nothing is left to do\n";
    return done;
  }
  const SubmittedWork work{
      .pairs = status.pairs,
      .tiles = status.tiles,
      .missing = missing_tiles(request, status),
      .later = request.only_lost && std::any_of(status.failed.begin(), status.failed.end(),
                                                [](const FailedTile& tile) { return tile.is_transient; }),
      .milliseconds_per_tile = status.milliseconds_per_tile};
  if (request.processes > 0) return run_locally(request, work);
  submit_to_slurm(request, work);
  return done;
}

}  // namespace parallax::tool
