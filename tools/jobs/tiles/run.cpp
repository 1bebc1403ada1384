// SPDX-License-Identifier: Apache-2.0
// Matches tiles of a plan for an external scheduler.
#include <algorithm>
#include <deque>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "tools/command/command.h"
#include "tools/command/command_files.h"
#include "tools/command/json.h"
#include "tools/command/pipeline.h"
#include "tools/jobs/tiles/results.h"
#include "tools/jobs/tiles/runner.h"

namespace parallax::tool {
namespace {

using nlohmann::ordered_json;

class PlannedTiles {
 public:
  PlannedTiles(const JobFile& file, const TileRun& run)
      : file_(file), run_(run), results_(file.head()), log_(file.head()) {}

  // Each tile once; those of one kind follow each other, for one matcher. Returns an exit status.
  int run(const std::string& ranges) {
    std::map<const PairCut*, std::size_t> kinds;
    std::vector<std::vector<int>> tiles;
    int at_once = static_cast<int>(pipeline_slots());
    const std::vector<int> numbers = parse_ranges(ranges, file_.head().tiles);
    for (const int tile : std::set<int>(numbers.begin(), numbers.end())) {
      const PairCut& cut = *pair_with(tile)->cut;
      at_once = std::min(at_once, cut.at_once);
      const auto [kind, is_new] = kinds.try_emplace(&cut, tiles.size());
      if (is_new) tiles.emplace_back();
      tiles[kind->second].push_back(tile);
    }
    for (const std::vector<int>& kind : tiles) waiting_.insert(waiting_.end(), kind.begin(), kind.end());
    return match(at_once, [] { return false; });
  }

  // One at a time: the scheduler may wait for the answer before it sends the next number.
  int run_lines(std::istream& lines) {
    return match(1, [&] {
      // Stops if the reader of standard output is gone.
      std::string line;
      if (!std::cout || !std::getline(lines, line)) return false;
      for (const int tile : parse_ranges(line, file_.head().tiles)) waiting_.push_back(tile);
      return true;
    });
  }

 private:
  // `more` adds tiles to those that wait, and returns false at the end.
  template <class More>
  int match(int at_once, const More& more) {
    TileRunner(run_, at_once, true)
        .run(
            [&]() -> TileRunner::Next {
              for (;;) {
                if (waiting_.empty() && !more()) return {};
                const int number = waiting_.front();
                waiting_.pop_front();
                const std::shared_ptr<const PairJob> job = pair_with(number);
                const Tile& tile = job->plan().tiles[static_cast<std::size_t>(number - job->first_tile)];
                if (!is_done(*job, tile)) return {job, &tile};
              }
            },
            [&](const TileOutcome& outcome) { report(outcome); });
    return status_;
  }

  std::shared_ptr<const PairJob> pair_with(int tile) {
    const int number = file_.pair_of(tile);
    if (!pair_ || pair_->number != number) pair_ = std::make_shared<const PairJob>(file_.pair(number));
    return pair_;
  }

  bool is_done(const PairJob& job, const Tile& tile) {
    if (results_.state(job, tile, true) != TileState::done) return false;
    say({{"tile", job.number_of(tile)}, {"reused", true}});
    return true;
  }

  void report(const TileOutcome& outcome) {
    const int number = outcome.job->number_of(*outcome.tile);
    ordered_json line{{"tile", number}};
    if (outcome.failure) {
      const bool passes = outcome.failure->status == failed_for_now;
      status_ = worse(status_, passes ? failed_for_now : failed);
      line["error"] = outcome.failure->message;
      line["is_transient"] = passes;
      complain("tile " + std::to_string(number) + ": " + outcome.failure->message);
    } else {
      line["milliseconds"] = outcome.milliseconds;
      if (!outcome.output_hash.empty())
        add_map(line, outcome.job->number, outcome.output_bytes, outcome.output_hash);
    }
    line["device"] = outcome.device;
    line["host"] = host_name();
    line["start"] = outcome.start;
    log_.add(line);
    line["peak_memory_bytes"] = peak_memory_bytes();
    say(line);
  }

  // Tiles are reported while others are taken.
  void say(const ordered_json& line) {
    const std::lock_guard lock(saying_);
    std::cout << json_text(line) << std::endl;
  }

  const JobFile& file_;
  const TileRun& run_;
  JobResults results_;
  JobLog log_;
  std::mutex saying_;
  std::deque<int> waiting_;
  std::shared_ptr<const PairJob> pair_;  // pair of the last tile
  int status_ = done;
};

}  // namespace

int match_tiles(const JobFile& file, const TileRun& run, const std::string& ranges) {
  if (ranges != "-") parse_ranges(ranges, file.head().tiles);
  make_folder_of((std::filesystem::path(file.head().folder) / "log").string());
  const TileFolderLock lock(file.head().folder, TileFolderLock::Use::shared);
  PlannedTiles tiles(file, run);
  return ranges == "-" ? tiles.run_lines(std::cin) : tiles.run(ranges);
}

}  // namespace parallax::tool
