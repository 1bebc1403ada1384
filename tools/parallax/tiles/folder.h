// SPDX-License-Identifier: Apache-2.0
// The folder of a match in tiles: its lock, its contents, and the results of tiles. A result is a file of two
// pictures, disparities and statuses, with a checksum of their pixels.
#pragma once

#include <string>

#include "tools/parallax/tiles/job.h"

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

// Removes the folder and all files of a match in tiles; other files stay. \throws Error (file)
void remove_tile_folder(const std::string& folder);
// Removes partial maps left by killed processes. \throws Error (file)
void remove_maps(const std::string& folder);

enum class TileState {
  done,
  missing,
  damaged,  // checksum or size is wrong, cut short, or not a result
  foreign,  // from another plan
};

std::string tile_path(const TileJob& job, int number);
// Reads all of the file.
TileState state_of(const TileJob& job, const Tile& tile);

// Writes the file completely or not at all; replaces an existing one. \throws Error (file)
void write_tile(const TileJob& job, const Tile& tile, View<const float> disparity,
                View<const std::uint8_t> status);

// Fills `rows` with rows of the tile's map, from `first_row` of the full image on.
// \throws Error (file)
void read_tile(const TileJob& job, const Tile& tile, int first_row, const DisparityMap& rows);

}  // namespace parallax::tool
