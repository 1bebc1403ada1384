// SPDX-License-Identifier: Apache-2.0
// The files that a command reads and writes. None may be written over another, whatever name it is given by.
#pragma once

#include <map>
#include <string>

namespace parallax::tool {

// The file that writing to this path would replace: links are followed, also to what is not there yet.
std::string behind_links(const std::string& path);

class CommandFiles {
 public:
  // Every command may read the file of what was tuned.
  CommandFiles();

  // Something that is read; an empty path is nothing.
  // \throws Error (file) for a device or a pipe, which cannot be read from the beginning once more
  void reads(const std::string& path);
  // The same for what is read only once: it may be a pipe.
  void reads_once(const std::string& path);
  // Pairs to measure on: the files in the folders of this one.
  void reads_pairs(const std::string& folder);
  // \throws UsageError for a file that is read, or that is written already
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
