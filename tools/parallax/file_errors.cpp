#include "tools/parallax/file_errors.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "parallax/error.h"

namespace parallax::tool {
namespace {

const char* remedy(int reason) {
  switch (reason) {
    case ENOSPC:
    case EDQUOT:
      return "; free some space, or choose another disk";
    case EFBIG:
      return "; raise the limit of file sizes";
    default:
      return "; check its name, folder and permissions, or choose another place";
  }
}

}  // namespace

void fail_file(const std::string& what, const std::string& path, int reason) {
  throw Error(ErrorCategory::file,
              "cannot " + what + " " + path + ": " + std::strerror(reason) + remedy(reason));
}

void make_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) fail_file("make folder", folder, error.value());
}

void remove_file(const std::string& path) {
  std::error_code error;
  std::filesystem::remove(path, error);
  if (error) fail_file("remove", path, error.value());
}

}  // namespace parallax::tool
