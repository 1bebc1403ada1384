// SPDX-License-Identifier: Apache-2.0
// The folder of a match in tiles: who works in it, what it may hold, and the results of tiles. They are files
// of two pictures each, disparities and statuses, with a checksum of their pixels.
#pragma once

#include <string>

#include "tools/parallax/tiles/job.h"

namespace parallax::tool {

// Held by a process for as long as it works in a folder; the system takes it from one that dies.
class TileFolderLock {
 public:
  enum class Use {
    alone,
    shared,  // with others that match tiles of one plan, or put them together
  };
  // \throws Error (file) when another process works there
  TileFolderLock(const std::string& folder, Use use);
  TileFolderLock(const TileFolderLock&) = delete;
  TileFolderLock& operator=(const TileFolderLock&) = delete;
  ~TileFolderLock();

  // From shared to alone. False: others work there, too, and it stays shared.
  bool take_alone();

 private:
  int folder_ = -1;
};

// \throws Error (file) that names what is in the folder and is nothing that a match in tiles puts there
void check_nothing_foreign(const std::string& folder);

// With all that a match in tiles put there; what is not its stays. \throws Error (file)
void remove_tile_folder(const std::string& folder);
// What a process that was killed left of a map. \throws Error (file)
void remove_maps(const std::string& folder);

enum class TileState {
  done,
  missing,
  damaged,  // its pixels are not those that were written; or cut short, of another size, or no result at all
  foreign,  // of another plan
};

std::string tile_path(const TileJob& job, int number);
// Reads all of the file.
TileState state_of(const TileJob& job, const Tile& tile);

// Whole or not at all; replaces what is there. \throws Error (file)
void write_tile(const TileJob& job, const Tile& tile, View<const float> disparity,
                View<const std::uint8_t> status);

// Fills `rows` with those of the tile's map that begin at `first_row` of the whole image.
// \throws Error (file)
void read_tile(const TileJob& job, const Tile& tile, int first_row, const DisparityMap& rows);

}  // namespace parallax::tool
