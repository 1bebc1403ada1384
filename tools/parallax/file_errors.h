// SPDX-License-Identifier: Apache-2.0
// What goes wrong with files, in words.
#pragma once

#include <string>
#include <vector>

namespace parallax::tool {

// "cannot write a.tiff: No space left on device; free some space": `reason` is an errno.
// \throws Error (file), always
[[noreturn]] void fail_file(const std::string& what, const std::string& path, int reason);

// Folders that files go into. Those that were made and are empty in the end are removed.
class OutputFolders {
 public:
  OutputFolders() = default;
  OutputFolders(const OutputFolders&) = delete;
  OutputFolders& operator=(const OutputFolders&) = delete;
  ~OutputFolders();

  // Makes a folder, with those above it, where they are missing. \throws Error (file)
  void make(const std::string& folder);

 private:
  std::vector<std::string> made_;  // each after the one that it is in
};

// Where it is there. \throws Error (file)
void remove_file(const std::string& path);

}  // namespace parallax::tool
