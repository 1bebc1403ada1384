// SPDX-License-Identifier: Apache-2.0
#include "tools/command/file_errors.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <unistd.h>

#include "parallax/error.h"

namespace parallax::tool {
namespace {

const char* remedy(int reason) {
  if (reason == ENOSPC || reason == EDQUOT) return "; free some space, or choose another disk";
  if (reason == EFBIG) return "; raise the limit of file sizes";
  return "; check its name, folder and permissions, or choose another place";
}

}  // namespace

void fail_file(const std::string& what, const std::string& path, int reason) {
  throw Error(ErrorCategory::file,
              "cannot " + what + " " + path + ": " + std::strerror(reason) + remedy(reason),
              is_transient(reason));
}

OutputFolders::~OutputFolders() {
  for (auto folder = made_.rbegin(); folder != made_.rend(); ++folder) ::rmdir(folder->c_str());
}

void OutputFolders::make(const std::string& folder) {
  namespace fs = std::filesystem;
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
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) fail_file("make folder", folder.string(), error.value());
}

void remove_file(const std::string& path) {
  std::error_code error;
  std::filesystem::remove(path, error);
  if (error) fail_file("remove", path, error.value());
}

}  // namespace parallax::tool
