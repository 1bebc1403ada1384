// SPDX-License-Identifier: Apache-2.0
#include "tools/jobs/submit/slurm.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iostream>

#include "tools/command/child_process.h"
#include "tools/command/command.h"
#include "tools/command/command_files.h"
#include "tools/command/json.h"
#include "tools/command/output_files.h"
#include "tools/jobs/tiles/results.h"

namespace parallax::tool {

int chunk_of_minutes(double tile_milliseconds) {
  constexpr double two_minutes = 120'000, most = 1'000'000;
  return static_cast<int>(std::clamp(two_minutes / std::max(tile_milliseconds, 1e-3), 1.0, most));
}

std::vector<std::string> cut_into_chunks(const std::vector<int>& tiles, int chunk) {
  constexpr std::size_t max_bytes = 100'000;  // Linux takes words of 128 KiB
  std::vector<std::string> chunks;
  for (auto first = tiles.begin(); first != tiles.end();) {
    auto last = first + std::min<std::ptrdiff_t>(chunk, tiles.end() - first);
    const auto text = [&] { return join(ranges_of({first, last}), ","); };
    while (text().size() > max_bytes) last = first + (last - first) / 2;
    chunks.push_back(text());
    first = last;
  }
  return chunks;
}

namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

// A command of this program, with options for where the files of the plan are.
Words command_words(const SubmitRequest& request, const std::string& command, const Words& more) {
  Words words{fs::read_symlink("/proc/self/exe").string(), command};
  for (const std::string& map : request.path_maps) words.insert(words.end(), {"--path-map", map});
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// An option --tile is missing.
Words match_words(const SubmitRequest& request) {
  Words words = command_words(request, "match", request.match_options);
  words.insert(words.end(), {"--plan", request.plan});
  return words;
}

// The next round: what was lost, with one retry less.
Words retry_words(const SubmitRequest& request) {
  Words words = command_words(request, "submit",
                              {"--slurm", "--lost", "--retries", std::to_string(request.retries - 1)});
  if (request.chunk > 0) words.insert(words.end(), {"--chunk", std::to_string(request.chunk)});
  words.insert(words.end(), request.match_options.begin(), request.match_options.end());
  for (const std::string& option : request.sbatch) words.push_back("--sbatch=" + option);
  words.push_back(request.plan);
  return words;
}

const char* const no_slurm =
    "run this where jobs are submitted, such as a login node (Debian: apt install slurm-client)";

std::string quoted(Words words) {
  for (std::string& word : words) word = quoted_for_shell(word);
  return join(words, " ");
}

// What is common to both scripts. A task whose node fails is put back into the queue by SLURM.
std::string heading(const std::string& what, const std::string& name, const std::string& log) {
  return "#!/bin/bash\n# " + what + " Written by 'parallax submit'.\n#SBATCH --job-name=parallax-" + name +
         "\n#SBATCH --output=" + log + "\n#SBATCH --open-mode=append\n#SBATCH --requeue\n";
}

std::string tiles_script(const SubmitRequest& request, const std::vector<std::string>& chunks) {
  std::string text =
      heading("Matches the tiles of a plan, a chunk in each task.", "tiles", "tiles-%A_%a.log") +
      "#SBATCH --array=0-" + std::to_string(chunks.size() - 1) + "\nchunks=(\n";
  for (const std::string& chunk : chunks) text += chunk + "\n";
  text += ")\nexec " + quoted(match_words(request)) + " --tile \"${chunks[SLURM_ARRAY_TASK_ID]}\"";
  if (!request.threads_given) text += " --threads \"${SLURM_CPUS_ON_NODE:-1}\"";
  return text + "\n";
}

std::string merge_script(const SubmitRequest& request) {
  std::string text =
      heading("Merges the tiles of a plan, or submits again those that were lost.", "merge", "merge-%j.log");
  const std::string status = quoted(command_words(request, "status", {request.plan}));
  if (request.retries > 0)
    text += "if ! " + status + "; then\n  " + quoted(retry_words(request)) + " && exit\nfi\n";
  else
    text += status + "\n";
  return text + "exec " + quoted(command_words(request, "merge", {request.plan})) + "\n";
}

// Runs a command of SLURM and returns what it prints.
// \throws Error (file) with what it says
std::string ask_slurm(const Words& words) {
  ChildProcess command(words, {{1, false}}, no_slurm);
  const std::string answer = command.read_all(0);
  if (command.wait()) return answer;
  std::string message = command.messages();
  for (const std::string& noise : {words.front() + ": ", std::string("error: ")})
    for (std::size_t at; (at = message.find(noise)) != std::string::npos;) message.erase(at, noise.size());
  for (std::size_t at; (at = message.find('\n')) != std::string::npos;) message.replace(at, 1, "; ");
  throw Error(ErrorCategory::file, words.front() + " refused: " + message);
}

int max_tasks() {
  constexpr int by_default = 1001;
  const std::string name = "MaxArraySize";
  std::string settings;
  try {
    settings = "\n" + ask_slurm({"scontrol", "show", "config"});
  } catch (const Error&) {
    return by_default;  // where only scripts are to be read; otherwise sbatch says what is wrong
  }
  std::size_t at = settings.find("\n" + name);
  if (at == std::string::npos) return by_default;
  at = settings.find_first_of("0123456789\n", at + 1 + name.size());
  int most = 0;
  if (at != std::string::npos) std::from_chars(settings.data() + at, settings.data() + settings.size(), most);
  return most > 0 ? most : by_default;
}

// Matches a tile here; its result counts.
// \throws Error if it fails
double measure_tile(const SubmitRequest& request, int tile) {
  show_progress("matching tile " + std::to_string(tile) + " to measure how long one takes");
  Words words = match_words(request);
  words.insert(words.end(), {"--tile", std::to_string(tile)});
  ChildProcess match(words, {{1, false}});
  const std::string answer = match.read_all(0);
  const bool has_succeeded = match.wait();
  show_progress("");
  try {
    if (has_succeeded) return parse_json_object(answer).at("milliseconds");
  } catch (const std::exception&) {
    // Not the answer of a tile.
  }
  throw Error(ErrorCategory::file, "cannot measure how long a tile takes here (" + match.complaint() +
                                       "): fix that, or give --chunk N");
}

std::string submit(const Words& words) {
  const std::string answer = ask_slurm(words);
  return answer.substr(0, answer.find_first_of(";\n"));
}

class SlurmJob {
 public:
  SlurmJob(const SubmitRequest& request, const SubmittedWork& work)
      : request_(request), later_(work.later), folder_(request.plan + ".jobs") {
    if (folder_.find_first_of("%\\") != std::string::npos)
      throw UsageError(folder_ + ": SLURM cannot write logs where a name has % or a backslash: rename it");
    std::vector<int> tiles = work.missing;
    if (tiles.empty()) return;
    chunk_ = request.chunk > 0 ? request.chunk : chunk_of_minutes(milliseconds(work, tiles));
    count_ = static_cast<int>(tiles.size());
    const int tasks = max_tasks();
    chunk_ = std::max(chunk_, (count_ + tasks - 1) / tasks);
    chunks_ = cut_into_chunks(tiles, chunk_);
  }

  void print() const {
    if (!chunks_.empty())
      std::cout << "# " << folder_ << "/tiles.sh\n" << tiles_script(request_, chunks_) << "\n";
    std::cout << "# " << folder_ << "/merge.sh\n" << merge_script(request_) << "\n# Submitted by\n";
    if (!chunks_.empty()) std::cout << quoted(sbatch_words("tiles.sh", "")) << "\n";
    std::cout << quoted(sbatch_words("merge.sh", chunks_.empty() ? "" : "JOB")) << "\n";
  }

  void submit_all() const {
    OutputFolders folders;
    folders.make(folder_);
    std::string tiles, merge;
    if (!chunks_.empty()) tiles = submit_script("tiles.sh", tiles_script(request_, chunks_), "");
    try {
      merge = submit_script("merge.sh", merge_script(request_), tiles);
    } catch (const Error&) {
      // Not half of it.
      if (!tiles.empty()) ask_slurm({"scancel", tiles});
      throw;
    }
    tell(tiles, merge);
  }

 private:
  // Time of a tile. If it is unknown, takes a tile from `tiles` and matches it.
  double milliseconds(const SubmittedWork& work, std::vector<int>& tiles) const {
    if (work.milliseconds_per_tile) return *work.milliseconds_per_tile;
    const int first = tiles.front();
    if (request_.dry_run)
      throw UsageError(
          "how long a tile takes is not known yet: give --chunk N, or match a tile first: parallax match "
          "--plan " +
          quoted_for_shell(request_.plan) + " --tile " + std::to_string(first));
    tiles.erase(tiles.begin());
    return measure_tile(request_, first);
  }

  std::string submit_script(const std::string& name, const std::string& text,
                            const std::string& dependency) const {
    write_output((fs::path(folder_) / name).string(), text);
    return submit(sbatch_words(name, dependency));
  }

  Words sbatch_words(const std::string& script, const std::string& dependency) const {
    Words words{"sbatch", "--parsable", "--chdir", folder_};
    if (!dependency.empty())
      words.push_back("--dependency=afterany:" + dependency);
    else if (later_)
      words.push_back("--begin=now+60");
    words.insert(words.end(), request_.sbatch.begin(), request_.sbatch.end());
    words.push_back((fs::path(folder_) / script).string());
    return words;
  }

  void tell(const std::string& tiles, const std::string& merge) const {
    if (!tiles.empty())
      std::cout << "job " << tiles << " matches " << count_ << (count_ == 1 ? " tile" : " tiles")
                << " in chunks of " << chunk_ << "\n";
    std::cout << "job " << merge << " merges them, or submits again what was lost\nto follow them: "
              << quoted({"parallax", "status", request_.plan}) << ", squeue --me; logs are in "
              << printable(folder_) << "\n";
  }

  const SubmitRequest& request_;
  bool later_;
  std::string folder_;
  int count_ = 0, chunk_ = 0;  // tiles, of all and of a task
  std::vector<std::string> chunks_;
};

}  // namespace

void submit_to_slurm(const SubmitRequest& request, const SubmittedWork& work) {
  const SlurmJob job(request, work);
  if (request.dry_run)
    job.print();
  else
    job.submit_all();
}

}  // namespace parallax::tool
