// SPDX-License-Identifier: Apache-2.0
// The file of stored tuning results: its format, its path, and safe changes by several processes.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "parallax/tune.h"

namespace parallax::detail {

// Returns the entries of a tuning file.
// \throws Error (file) if the text is not a tuning file; `path` appears in the message
std::vector<TunedConfiguration> parse_tuning(const std::string& text, const std::string& path);

}  // namespace parallax::detail

namespace parallax::tuning {

bool switched_off();
// Empty if there is no place for the file.
std::filesystem::path chosen_file();

// Identifies the version of a file that was read.
struct Stamp {
  std::string path;
  ino_t number = 0;
  off_t bytes = 0;
  time_t seconds = 0;
  long nanoseconds = 0;
  bool operator==(const Stamp&) const = default;
};

// Empty if the file does not exist.
std::optional<Stamp> stamp_of(const std::filesystem::path& path);

// \throws Error (file)
std::vector<TunedConfiguration> read(const std::filesystem::path& path);

// Reads the file again, because other processes may have written it, and writes the entries that `change`
// leaves. An unreadable file is set aside.
// \throws Error (file)
void change_file(const std::function<void(std::vector<TunedConfiguration>& entries)>& change);

}  // namespace parallax::tuning
