// SPDX-License-Identifier: Apache-2.0
// Output files are written to a temporary file and then renamed, so that each is complete or absent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace parallax::tool {

// A temporary file, removed by the destructor or on a signal unless it was renamed; on a signal, also a folder
// that has temporary files only.
class TemporaryFile {
 public:
  // The path of a file or folder, which may be created later.
  explicit TemporaryFile(const std::string& path);
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile();

  const std::string& path() const { return path_; }
  // Replaces an existing file.
  // \throws Error (file)
  void rename_to(const std::string& target);
  // Keeps the file where it is.
  void forget();

 private:
  std::string path_;  // empty after a rename
  int slot_ = -1;     // index of its name for the signal handler; -1 = none
};

// Removes temporary files when SIGINT, SIGTERM or SIGHUP ends the program. Ignored signals stay ignored.
void remove_temporaries_on_signals();

// From now on, the first of these signals only sets stop_signal(); a second one ends the program.
void stop_on_signals();
// 0 = none came.
int stop_signal();

// A new file beside `target` (links are followed) that takes over its name and permissions.
class OutputFile {
 public:
  // \throws Error (file)
  explicit OutputFile(const std::string& target);
  ~OutputFile();

  const std::string& temporary() const { return temporary_.path(); }
  void write(std::span<const std::byte> bytes);
  // With the permissions of the file it replaces, and, unless it need not be, on the disk.
  void finish(bool on_disk = true);
  void take_place();

 private:
  [[noreturn]] void fail(int reason) const;

  std::string target_, resolved_;
  TemporaryFile temporary_;
  int file_ = -1;
};

// An empty path is ignored.
// \throws Error (file) if the folder does not exist, or the path is a folder
void check_output(const std::string& path);

using FileBytes = std::pair<std::string, std::vector<std::byte>>;  // a path and its contents

std::vector<std::byte> bytes_of(std::string_view text);
// The text of a file of at most so many bytes.
// \throws Error (file)
std::string read_text(const std::string& path, std::size_t max_bytes = SIZE_MAX);

// Writes all files or, after an error, none. Files that would be made again after a crash need not be on the
// disk. Devices and pipes are written directly.
// \throws Error (file)
void write_files(std::span<const FileBytes> files, bool on_disk = true);
void write_output(const std::string& path, std::span<const std::byte> bytes);
void write_output(const std::string& path, const std::string& text);

}  // namespace parallax::tool
