// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <new>
#include <random>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "parallax/error.h"
#include "parallax/formats.h"
#include "parallax/matcher.h"

#include "core/memory.h"

namespace parallax {
namespace {

const char* remedy(int reason) {
  switch (reason) {
    case ENOENT:
    case ENOTDIR:
      return "; check its name and folder";
    case EACCES:
    case EPERM:
    case EROFS:
      return "; check its permissions, or choose another place";
    case ENOSPC:
    case EDQUOT:
      return "; free some space, or choose another disk";
    case EFBIG:
      return "; raise the limit of file sizes";
    case EISDIR:
      return "; give a file";
    case ENOMEM:
      return "; give a smaller file";
    case ELOOP:
      return "; remove the links, or choose another name";
    default:
      return "";
  }
}

[[noreturn]] void fail_file(const std::string& what, const std::string& path, int reason) {
  throw Error(ErrorCategory::file,
              "cannot " + what + " " + path + ": " + std::strerror(reason) + remedy(reason),
              is_transient(reason));
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }

  int number() const { return number_; }
  // Some systems report a failed write only here.
  int close() { return ::close(std::exchange(number_, -1)); }

 private:
  int number_;
};

// Returns errno of the first failure, or 0.
int write_all(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return 0;
}

[[noreturn]] void fail_for_size(const std::string& path, std::size_t most) {
  throw Error(ErrorCategory::file, "cannot read " + path + ": it is larger than " + bytes_text(most) +
                                       ", the limit for such a file; give a smaller one");
}

// Pipes and devices do not report their size, and some never end.
std::size_t max_bytes_of_stream() {
  constexpr std::size_t gibibyte = std::size_t{1} << 30;
  return std::min(gibibyte, whole_memory() / 4);
}

std::vector<std::byte> read_all(const Descriptor& file, std::size_t expected, std::size_t most,
                                const std::string& path) {
  std::vector<std::byte> bytes;
  std::size_t length = 0;
  for (;;) {
    if (length > most) fail_for_size(path, most);
    // One byte more than expected detects the end of the file without another growth.
    if (length == bytes.size()) bytes.resize(std::min(std::max(expected, 2 * length), most) + 1);
    const ssize_t count = ::read(file.number(), bytes.data() + length, bytes.size() - length);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_file("read", path, errno);
    if (count == 0) break;
    length += static_cast<std::size_t>(count);
  }
  bytes.resize(length);
  return bytes;
}

void write_directly(const std::string& path, std::span<const std::byte> bytes) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.number() < 0) fail_file("write", path, errno);
  int reason = write_all(file.number(), bytes);
  if (reason == 0 && file.close() != 0) reason = errno;
  if (reason != 0) fail_file("write", path, reason);
}

// Creates a new file beside `path`. On failure, the descriptor is negative and errno is set.
std::pair<std::string, int> make_temporary_beside(const std::filesystem::path& path, mode_t permissions) {
  std::random_device random;
  for (;;) {
    const std::string name = (path.parent_path() / (".parallax-" + std::to_string(random()))).string();
    const int file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, permissions);
    if (file >= 0 || errno != EEXIST) return {name, file};
  }
}

// Flushes to the disk, because a name must not appear there before the contents do.
int sync(const Descriptor& file) {
  const bool done = ::fsync(file.number()) == 0;
  const bool impossible = errno == EINVAL || errno == ENOTSUP;  // on some file systems
  return done || impossible ? 0 : errno;
}

// Ignores failures: the file itself is already complete on the disk.
void sync_folder_of(const std::filesystem::path& path) {
  const std::string folder = path.has_parent_path() ? path.parent_path().string() : ".";
  const Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (descriptor.number() >= 0) ::fsync(descriptor.number());
}

int fill_temporary(Descriptor& file, std::span<const std::byte> bytes, const mode_t* permissions) {
  if (const int reason = write_all(file.number(), bytes)) return reason;
  if (permissions != nullptr && ::fchmod(file.number(), *permissions) != 0) return errno;
  if (const int reason = sync(file)) return reason;
  return file.close() == 0 ? 0 : errno;
}

// Returns the end of a chain of links, which need not exist; empty if the links form a loop.
std::filesystem::path end_of_links(std::filesystem::path path) {
  namespace fs = std::filesystem;
  constexpr int max_links = 40;  // the limit of the system
  for (int links = 0; links <= max_links; ++links) {
    std::error_code failed;
    if (!fs::is_symlink(fs::symlink_status(path, failed))) return path;
    const fs::path next = fs::read_symlink(path, failed);
    if (failed) return path;
    path = path.parent_path() / next;  // `next` if that is absolute
  }
  return {};
}

}  // namespace

std::vector<std::byte> read_file(const std::string& path, std::size_t max_bytes) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() < 0) fail_file("read", path, errno);
  struct stat about {};
  if (::fstat(file.number(), &about) != 0) fail_file("read", path, errno);
  if (S_ISDIR(about.st_mode)) fail_file("read", path, EISDIR);
  // Some never end.
  if (S_ISCHR(about.st_mode) || S_ISBLK(about.st_mode))
    throw Error(ErrorCategory::file, "cannot read " + path + ": it is a device; save its contents to a file");
  const auto size = static_cast<std::size_t>(about.st_size);
  const std::size_t most =
      std::min(max_bytes, S_ISREG(about.st_mode) ? whole_memory() : max_bytes_of_stream());
  if (size > most) fail_for_size(path, most);
  try {
    return read_all(file, size, most, path);
  } catch (const std::bad_alloc&) {
    fail_file("read", path, ENOMEM);
  }
}

void write_file(const std::string& path, std::span<const std::byte> bytes) {
  struct stat about {};
  const bool exists = ::stat(path.c_str(), &about) == 0;
  if (exists && S_ISDIR(about.st_mode)) fail_file("write", path, EISDIR);
  if (exists && !S_ISREG(about.st_mode)) return write_directly(path, bytes);
  // A link is kept; its target is replaced or created.
  const std::string target = end_of_links(path).string();
  if (target.empty() && !path.empty()) fail_file("write", path, ELOOP);
  // A private file must stay private while it is written. A new file gets the usual permissions.
  const auto [temporary, descriptor] = make_temporary_beside(target, exists ? 0600 : 0666);
  Descriptor file(descriptor);
  if (file.number() < 0) fail_file("write", path, errno);
  const mode_t permissions = about.st_mode & 07777;
  int reason = fill_temporary(file, bytes, exists ? &permissions : nullptr);
  if (reason == 0 && ::rename(temporary.c_str(), target.c_str()) != 0) reason = errno;
  if (reason == 0) return sync_folder_of(target);
  ::unlink(temporary.c_str());
  fail_file("write", path, reason);
}

}  // namespace parallax
