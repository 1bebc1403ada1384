// SPDX-License-Identifier: Apache-2.0
// The folder of a match in tiles: who works in it, and what it may hold.
#pragma once

#include <string>

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

}  // namespace parallax::tool
