// SPDX-License-Identifier: Apache-2.0
// Files are written beside the place that they then take, so that each is there whole or not at all.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace parallax::tool {

// A file that is removed unless it was renamed: by the destructor, or by remove_temporaries_on_signals().
class TemporaryFile {
 public:
  // Of a file that is going to be made.
  explicit TemporaryFile(const std::string& path);
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile();

  const std::string& path() const { return path_; }
  // Over what is there. \throws Error (file)
  void rename_to(const std::string& target);
  // It stays where it is.
  void forget();

 private:
  std::string path_;  // empty once it has another name
  int slot_ = -1;     // where the signal handler finds its name; -1 = nowhere
};

// SIGINT, SIGTERM and SIGHUP end the program as ever, but what is not whole goes before. Those that are
// ignored stay so.
void remove_temporaries_on_signals();

// A new file beside `target`, or beside the file that it is a link to, whose name and permissions it takes.
class OutputFile {
 public:
  // \throws Error (file)
  explicit OutputFile(const std::string& target);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  // To be opened by whoever writes it.
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

// Minutes are not to be spent on what nobody can have. An empty path is none.
// \throws Error (file) where there is no folder for the file
void check_output(const std::string& path);

using FileBytes = std::pair<std::string, std::vector<std::byte>>;  // a path, and what it gets

// All of them, or, after an error, none: no name is taken before all files are there, and on the disk. Many
// small files, which are all made anew after a crash of the machine, need not wait for the disk. What is a
// device or a pipe is written to. \throws Error (file)
void write_files(std::span<const FileBytes> files, bool on_disk = true);
void write_output(const std::string& path, std::span<const std::byte> bytes);
void write_output(const std::string& path, const std::string& text);

}  // namespace parallax::tool
