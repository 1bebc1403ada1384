// SPDX-License-Identifier: Apache-2.0
#include "tools/command/command_files.h"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "parallax/tune.h"

#include "tools/command/command.h"

namespace parallax::tool {
namespace {

namespace fs = std::filesystem;

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : ".";
}

fs::path without_links(const fs::path& folder) {
  std::error_code error;
  const fs::path canonical = fs::weakly_canonical(folder, error);
  return error ? fs::absolute(folder, error).lexically_normal() : canonical;
}

const char* remedy(int reason) {
  if (reason == ENOSPC || reason == EDQUOT) return "; free some space, or choose another disk";
  if (reason == EFBIG) return "; raise the limit of file sizes";
  return "; check its name, folder and permissions, or choose another place";
}

}  // namespace

std::string behind_links(const std::string& path) {
  fs::path file(path);
  // The limit of Linux; a loop of links fails with the system's error when the file is opened.
  for (int links = 0; links < 40; ++links) {
    std::error_code error;
    const fs::path target = fs::read_symlink(file, error);
    if (error) break;
    file = folder_of(file) / target;
  }
  return (without_links(folder_of(file)) / file.filename()).string();
}

CommandFiles::CommandFiles() {
  const std::string tuning = tuning_file();
  if (!tuning.empty()) uses_.insert({identity(tuning), {tuning, "read"}});
}

// Device and inode of an existing file; otherwise its path.
std::string CommandFiles::identity(const std::string& path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) == 0)
    return std::to_string(about.st_dev) + ":" + std::to_string(about.st_ino);
  const fs::path file(path);
  std::error_code error;
  if (fs::is_symlink(file, error)) return behind_links(path);
  // The frames of a sequence share their folders.
  const auto [folder, is_new] = folders_.try_emplace(folder_of(file).string());
  if (is_new) folder->second = without_links(folder_of(file)).string();
  return (fs::path(folder->second) / file.filename()).string();
}

bool names_folder(const std::string& path) {
  std::error_code unknown;
  return path.ends_with('/') || fs::is_directory(path, unknown);
}

void check_readable_twice(const std::string& path, bool may_be_pipe) {
  std::error_code unknown;
  const fs::file_status status = fs::status(path, unknown);
  const bool pipe = fs::is_fifo(status);
  const char* const kind = pipe ? "pipe" : fs::is_socket(status) ? "socket" : "device";
  if (fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status) &&
      !(pipe && may_be_pipe))
    throw Error(ErrorCategory::file, path + " is a " + kind + ": save its contents to a file first");
}

int open_input(const std::string& path) {
  check_readable_twice(path);
  // It may have become a pipe since.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat about {};
  if (file < 0 || (::fstat(file, &about) == 0 && (S_ISREG(about.st_mode) || S_ISDIR(about.st_mode))))
    return file;
  ::close(file);
  check_readable_twice(path);
  errno = ENOENT;
  return -1;
}

InputFile open_input_file(const std::string& path) {
  const int file = open_input(path);
  return InputFile(file < 0 ? nullptr : ::fdopen(file, "rb"));
}

void CommandFiles::reads(const std::string& path) {
  check_readable_twice(path);
  reads_unchecked(path);
}

void CommandFiles::reads_once(const std::string& path) {
  check_readable_twice(path, true);
  reads_unchecked(path);
}

void CommandFiles::reads_unchecked(const std::string& path) {
  if (!path.empty()) uses_.insert({identity(path), {path, "read"}});
}

void CommandFiles::reads_pairs(const std::string& folder) {
  if (folder.empty()) return;
  for (const char* kind : {"middlebury2003", "middlebury2014", "memocode2013", "papers"}) {
    const auto options =
        fs::directory_options::skip_permission_denied | fs::directory_options::follow_directory_symlink;
    std::error_code error;
    for (fs::recursive_directory_iterator entry(fs::path(folder) / kind, options, error), end;
         !error && entry != end; entry.increment(error))
      uses_.insert({identity(entry->path().string()), {entry->path().string(), "read"}});
  }
}

void CommandFiles::writes(const std::string& path) {
  struct stat about {};
  // Writing to a device replaces nothing.
  if (path.empty() || (::stat(path.c_str(), &about) == 0 && S_ISCHR(about.st_mode))) return;
  const auto [use, is_free] = uses_.insert({identity(path), {path, "written"}});
  if (is_free) return;
  const auto& [other, what] = use->second;
  throw UsageError(path + (other == path ? " is also " : " would overwrite " + other + ", which is ") + what +
                   " by this command: give every output its own name");
}

void fail_file(const std::string& what, const std::string& path, int reason) {
  throw Error(ErrorCategory::file,
              "cannot " + what + " " + path + ": " + std::strerror(reason) + remedy(reason),
              is_transient(reason));
}

OutputFolders::~OutputFolders() {
  for (auto folder = made_.rbegin(); folder != made_.rend(); ++folder) ::rmdir(folder->c_str());
}

void OutputFolders::make(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> missing;
  fs::path path = fs::absolute(folder, error);
  if (!path.has_filename()) path = path.parent_path();
  for (; path.has_relative_path() && !fs::exists(path, error); path = path.parent_path())
    missing.push_back(path.string());
  made_.insert(made_.end(), missing.rbegin(), missing.rend());
  fs::create_directories(folder, error);
  if (error) fail_file("make folder", folder, error.value());
}

void make_folder_of(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  std::error_code error;
  if (!folder.empty()) fs::create_directories(folder, error);
  if (error) fail_file("make folder", folder.string(), error.value());
}

void remove_file(const std::string& path) {
  std::error_code error;
  fs::remove(path, error);
  if (error) fail_file("remove", path, error.value());
}

}  // namespace parallax::tool
