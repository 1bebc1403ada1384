// SPDX-License-Identifier: Apache-2.0
// The files that a command reads and writes, and their errors. No output may overwrite an input or another
// output.
#pragma once

#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace parallax::tool {

// The file that writing to this path would replace: links are followed, dangling ones too.
std::string behind_links(const std::string& path);

// Whether the path names a folder, existing or to be created.
bool names_folder(const std::string& path);

// \throws Error (file) for a device or a pipe, which cannot be read twice, unless a pipe will do
void check_readable_twice(const std::string& path, bool may_be_pipe = false);

// Opens a file to read it, without waiting for a pipe. Returns its descriptor, or −1 and errno.
// \throws Error (file) as check_readable_twice() does
int open_input(const std::string& path);

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using InputFile = std::unique_ptr<std::FILE, CloseFile>;
// The same as a stream; null and errno if it cannot be opened.
InputFile open_input_file(const std::string& path);

class CommandFiles {
 public:
  // Every command may read the file of remembered tuning.
  CommandFiles();

  // Registers an input; an empty path is ignored.
  // \throws Error (file) as check_readable_twice() does
  void reads(const std::string& path);
  // The same for a file that is read only once and may be a pipe.
  void reads_once(const std::string& path);
  // The same for one of many files, which is checked when it is its turn.
  void reads_unchecked(const std::string& path);
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

  std::map<std::string, Use> uses_;             // by identity
  std::map<std::string, std::string> folders_;  // without links, by name
};

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

  // Creates a folder and its missing parents.
  // \throws Error (file)
  void make(const std::string& folder);

 private:
  std::vector<std::string> made_;  // parents first
};

// Creates the folder of a file and its missing parents.
// \throws Error (file)
void make_folder_of(const std::string& path);

// Does nothing if there is no such file.
// \throws Error (file)
void remove_file(const std::string& path);

}  // namespace parallax::tool
