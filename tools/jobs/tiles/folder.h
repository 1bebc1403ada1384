// SPDX-License-Identifier: Apache-2.0
// The folder of the results of a job. That of a tile is a file of two pictures, disparities and statuses, and
// a third of row offsets where the plan has them, with a checksum of their pixels.
#pragma once

#include <string>
#include <vector>

#include "tools/jobs/tiles/job.h"

namespace parallax::tool {

// Held while a process works in a folder; the system releases it if the process dies.
class TileFolderLock {
 public:
  enum class Use {
    alone,
    shared,  // with others that match or merge tiles of the same plan
  };
  // \throws Error (file) when another process works there
  TileFolderLock(const std::string& folder, Use use);
  TileFolderLock(const TileFolderLock&) = delete;
  TileFolderLock& operator=(const TileFolderLock&) = delete;
  ~TileFolderLock();

  // Changes the lock from shared to exclusive; returns false, and stays shared, if others work there.
  bool take_alone();

 private:
  int folder_ = -1;
};

// \throws Error (file) naming a file in the folder that does not belong to a match in tiles
void check_nothing_foreign(const std::string& folder);

// Removes the folder and all files of a match in tiles; other files stay.
// \throws Error (file)
void remove_tile_folder(const std::string& folder);
// Removes results of tiles, and what killed processes left, where no other works.
// \throws Error (file)
void remove_tiles(const PairJob& job);
void remove_leftovers(const std::string& folder);

// The numbers of tiles that have a result, by one look at the folder.
// \throws Error (file)
std::vector<int> list_tiles(const std::string& folder);
std::vector<std::string> list_logs(const std::string& folder);

enum class TileState {
  done,
  missing,
  damaged,  // checksum or size is wrong, cut short, or not a result
  foreign,  // from another plan
};

std::string tile_path(const PairJob& job, const Tile& tile);
// Reads all of the file, or, without `pixels`, what tells whether it is complete and of this job.
TileState state_of(const PairJob& job, const Tile& tile, bool pixels = true);

// Writes the file completely or not at all; replaces an existing one.
// \throws Error (file)
void write_tile(const PairJob& job, const Tile& tile, const DisparityMap& map);

// Reads rows of the tile's map, from `first_row` of the full image on.
// \throws Error (file)
void read_tile(const PairJob& job, const Tile& tile, int first_row, const DisparityMap& rows);

}  // namespace parallax::tool
