// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <optional>

#include "tools/parallax/command_files.h"
#include "tools/parallax/file_errors.h"
#include "tools/parallax/options.h"
#include "tools/parallax/tile_folder.h"
#include "tools/parallax/tile_results.h"
#include "tools/parallax/tile_stitch.h"

namespace parallax::tool {
namespace {

// What is wrong with results, and with those of which tiles.
class Shortcomings {
 public:
  explicit Shortcomings(const TileJob& job) : job_(job) {
    for (const Tile& tile : job.plan.tiles) {
      const TileState state = state_of(job, tile);
      if (state != TileState::done) of(state).push_back(tile.number);
    }
  }

  // \throws Error (file) unless there are none
  void check() const {
    std::string message;
    append(missing_, "missing", message);
    append(damaged_, "damaged", message);
    append(foreign_, "of another plan", message);
    if (!message.empty())
      throw Error(ErrorCategory::file, "in " + job_.folder + ", " + message +
                                           ": match them again with 'parallax match --plan FILE --tile K'");
  }

 private:
  std::vector<int>& of(TileState state) {
    return state == TileState::missing ? missing_ : state == TileState::damaged ? damaged_ : foreign_;
  }

  static void append(const std::vector<int>& numbers, const char* what, std::string& message) {
    if (numbers.empty()) return;
    message += (message.empty() ? "" : "; ") + std::string(numbers.size() == 1 ? "tile " : "tiles ") +
               text_of_numbers(numbers) + (numbers.size() == 1 ? " is " : " are ") + what;
  }

  const TileJob& job_;
  std::vector<int> missing_, damaged_, foreign_;
};

// What a plan names may have become the same file since.
void check_files(const TileJob& job, const std::string& plan_path) {
  const MatchRequest& request = job.request;
  CommandFiles files;
  for (const std::string& path : {request.left, request.right, request.left_mask, request.right_mask})
    files.reads(path);
  files.reads_once(plan_path);
  files.writes(request.output);
}

}  // namespace

int merge_command(const Arguments& arguments) {
  std::string path;
  bool keep = false;
  Options options("merge", "Put a map together from the tiles of a plan, once all are matched.");
  options.add("PLAN", path, "Plan that 'parallax plan' wrote").required();
  options.add_flag("--keep", keep, "Keep the folder of the tiles");
  options.read(arguments);

  const TileJob job = read_job(path);
  check_files(job, path);
  // Without a folder all tiles are missing.
  std::optional<TileFolderLock> lock;
  if (std::filesystem::is_directory(job.folder)) lock.emplace(job.folder, TileFolderLock::Use::shared);
  Shortcomings(job).check();
  const StitchedMap map = stitch_tiles(job, path);
  // Others that still work there need what is in it: the last one removes it.
  if (!keep && lock->take_alone())
    remove_tile_folder(job.folder);
  else if (map.path != job.request.output)
    remove_file(map.path);
  std::cerr << std::fixed << std::setprecision(1) << job.count() << " tiles make "
            << printable(job.request.output) << ", " << 100 * map.shares.valid
            << " % of pixels have a disparity\n";
  return done;
}

}  // namespace parallax::tool
