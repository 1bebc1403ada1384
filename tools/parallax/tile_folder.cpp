// SPDX-License-Identifier: Apache-2.0
#include "tools/parallax/tile_folder.h"

#include <cerrno>
#include <filesystem>
#include <regex>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "parallax/error.h"

#include "tools/parallax/file_errors.h"

namespace parallax::tool {
namespace {

namespace fs = std::filesystem;

const char* const maps = R"(map\.\d+\.(pfm|tiff?))";
// Tiles, whole and while they are written; what processes say; the plan, and what it is written as.
const char* const others =
    R"(tile-\d{6,}\.tiff(\.\d+\.part)?|worker-\d+\.txt|plan\.json|\.parallax-\d+(\.json)?)";

// The files of a folder whose whole names match, or do not.
std::vector<fs::path> find_files(const std::string& folder, const std::string& names, bool matching) {
  const std::regex pattern(names, std::regex::icase);
  std::error_code error;
  std::vector<fs::path> files;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code unknown;
    const bool matches = std::regex_match(entry->path().filename().string(), pattern) &&
                         fs::is_regular_file(entry->status(unknown));
    if (matches == matching) files.push_back(entry->path());
  }
  if (error) fail_file("read folder", folder, error.value());
  return files;
}

std::string all_names() {
  return std::string(maps) + "|" + others;
}

}  // namespace

TileFolderLock::TileFolderLock(const std::string& folder, Use use)
    : folder_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (folder_ < 0) fail_file("open folder", folder, errno);
  const int kind = use == Use::alone ? LOCK_EX : LOCK_SH;
  // Some file systems lock no folders: there, nobody is found out.
  if (::flock(folder_, kind | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  ::close(folder_);
  throw Error(ErrorCategory::file,
              folder + ": another process is matching there: wait until it has ended, or give another -o");
}

bool TileFolderLock::take_alone() {
  // Changing it may lose it for a moment.
  if (::flock(folder_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return true;
  ::flock(folder_, LOCK_SH | LOCK_NB);
  return false;
}

TileFolderLock::~TileFolderLock() {
  ::close(folder_);
}

void check_nothing_foreign(const std::string& folder) {
  const std::vector<fs::path> foreign = find_files(folder, all_names(), false);
  if (!foreign.empty())
    throw Error(ErrorCategory::file, foreign.front().string() +
                                         " is no file of a match in tiles, whose folder this is to be: move "
                                         "it, or give another -o");
}

void remove_tile_folder(const std::string& folder) {
  // The plan goes first: what is left without one is in nobody's way.
  remove_file((fs::path(folder) / "plan.json").string());
  for (const fs::path& file : find_files(folder, all_names(), true)) remove_file(file.string());
  // Unless there is something of the user's in it.
  ::rmdir(folder.c_str());
}

void remove_maps(const std::string& folder) {
  for (const fs::path& file : find_files(folder, maps, true)) remove_file(file.string());
}

}  // namespace parallax::tool
