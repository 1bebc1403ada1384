// SPDX-License-Identifier: Apache-2.0
// Matches tiles of a job, reading some while others are matched.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tools/command/command.h"
#include "tools/files/pictures.h"
#include "tools/jobs/tiles/job.h"
#include "tools/match/match_report.h"

namespace parallax::tool {

// Devices and threads that match tiles.
struct TileRun {
  std::string device;           // empty = as the plan says
  std::vector<Device> devices;  // several: the tiles of one pair go to whichever is free
  int threads = 0;              // 0 = as the plan says, but not more than there are cores
  std::size_t max_memory = 0;   // memory limit of the process; 0 = as the plan says
  bool verify = false;          // compares the contents of pictures with the plan's hashes
};

// A tile that was matched, and is on the disk, or failed.
struct TileOutcome {
  std::shared_ptr<const PairJob> job;
  const Tile* tile = nullptr;
  std::string start, device;
  double milliseconds = 0;  // since the one before ended, so that their sum is the time of the process
  std::optional<CommandFailure> failure;
  // Size and hash of the map file of an untiled pair.
  std::uint64_t output_bytes = 0;
  std::string output_hash;
};

class TileRunner {
 public:
  // With one matcher for all tiles, or one for each of `at_once`.
  TileRunner(const TileRun& run, int at_once, bool one_matcher);
  ~TileRunner();

  struct Next {
    std::shared_ptr<const PairJob> job;  // null = no more
    const Tile* tile = nullptr;
  };
  // `next` returns the next tile; `done` is called for each tile, in that order.
  // \throws whatever these throw
  void run(const std::function<Next()>& next, const std::function<void(const TileOutcome&)>& done);

 private:
  struct Item;
  class OpenPair;
  class Engine;

  void read(Item& item);
  void match(Item& item, Engine& engine);
  void match_in_pool(Item& item);
  TilePool& pool_of(const PairJob& job);
  void write(Item& item);

  const TileRun& run_;
  std::vector<std::unique_ptr<Item>> items_;
  std::vector<std::unique_ptr<Engine>> engines_;
  std::mutex opening_;
  std::unique_ptr<OpenPair> open_;
  std::mutex planning_;
  std::optional<TilePool> pool_;  // pool of several devices
  LostDeviceNotice notice_;
};

// Matches tiles such as 0-19,40, or those that lines of standard input name ("-"). Prints a line of JSON for
// each, and logs it. Returns the exit status.
// \throws UsageError for other ranges, Error
int match_tiles(const JobFile& file, const TileRun& run, const std::string& ranges);

}  // namespace parallax::tool
