// SPDX-License-Identifier: Apache-2.0
// Messages for errors of files.
#pragma once

#include <string>
#include <vector>

namespace parallax::tool {

// "cannot write a.tiff: No space left on device; free some space": `reason` is an errno.
// \throws Error (file), always
[[noreturn]] void fail_file(const std::string& what, const std::string& path, int reason);

// Creates output folders. Those that it created and that are still empty are removed by the destructor.
class OutputFolders {
 public:
  OutputFolders() = default;
  OutputFolders(const OutputFolders&) = delete;
  OutputFolders& operator=(const OutputFolders&) = delete;
  ~OutputFolders();

  // Creates a folder and its missing parents. \throws Error (file)
  void make(const std::string& folder);

 private:
  std::vector<std::string> made_;  // parents first
};

// Creates the folder of a file and its missing parents. \throws Error (file)
void make_folder_of(const std::string& path);

// Does nothing if there is no such file. \throws Error (file)
void remove_file(const std::string& path);

}  // namespace parallax::tool
