// SPDX-License-Identifier: Apache-2.0
// The files that a command reads and writes. No output may overwrite an input or another output, under any
// name.
#pragma once

#include <map>
#include <string>

namespace parallax::tool {

// The file that writing to this path would replace: links are followed, dangling ones too.
std::string behind_links(const std::string& path);

class CommandFiles {
 public:
  // Every command may read the file of remembered tuning.
  CommandFiles();

  // Registers an input; an empty path is ignored.
  // \throws Error (file) for a device or a pipe, which cannot be read twice
  void reads(const std::string& path);
  // The same for a file that is read only once and may be a pipe.
  void reads_once(const std::string& path);
  // Registers the benchmark pairs in the subfolders of this folder.
  void reads_pairs(const std::string& folder);
  // \throws UsageError for a file that is already registered
  void writes(const std::string& path);

 private:
  struct Use {
    std::string path;
    const char* what;  // "read"
  };

  std::string identity(const std::string& path);
  void read(const std::string& path, bool may_be_pipe);

  std::map<std::string, Use> uses_;             // by identity
  std::map<std::string, std::string> folders_;  // without links, by name
};

}  // namespace parallax::tool
