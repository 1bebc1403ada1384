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
    default:
      return "";
  }
}

[[noreturn]] void fail(const std::string& what, const std::string& path, int reason) {
  throw Error(ErrorCategory::file,
              "cannot " + what + " " + path + ": " + std::strerror(reason) + remedy(reason));
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

// errno of the first failure, or 0.
int write_all(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return 0;
}

std::vector<std::byte> read_all(const Descriptor& file, std::size_t expected, const std::string& path) {
  std::vector<std::byte> bytes;
  std::size_t length = 0;
  for (;;) {
    // One byte more than the file has finds its end without growing.
    if (length == bytes.size()) bytes.resize(std::max(expected + 1, 2 * length));
    const ssize_t count = ::read(file.number(), bytes.data() + length, bytes.size() - length);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("read", path, errno);
    if (count == 0) break;
    length += static_cast<std::size_t>(count);
  }
  bytes.resize(length);
  return bytes;
}

void write_directly(const std::string& path, std::span<const std::byte> bytes) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.number() < 0) fail("write", path, errno);
  int reason = write_all(file.number(), bytes);
  if (reason == 0 && file.close() != 0) reason = errno;
  if (reason != 0) fail("write", path, reason);
}

// Makes a new file beside `path`; its descriptor is negative, and errno set, on failure. Unlike mkstemp(), it
// asks for the permissions that any new file gets.
std::pair<std::string, int> make_temporary_beside(const std::filesystem::path& path) {
  std::random_device random;
  for (;;) {
    const std::string name = (path.parent_path() / (".parallax-" + std::to_string(random()))).string();
    const int file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0 || errno != EEXIST) return {name, file};
  }
}

int fill_temporary(Descriptor& file, std::span<const std::byte> bytes, const mode_t* permissions) {
  if (const int reason = write_all(file.number(), bytes)) return reason;
  if (permissions != nullptr && ::fchmod(file.number(), *permissions) != 0) return errno;
  return file.close() == 0 ? 0 : errno;
}

}  // namespace

std::vector<std::byte> read_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() < 0) fail("read", path, errno);
  struct stat about {};
  if (::fstat(file.number(), &about) != 0) fail("read", path, errno);
  if (S_ISDIR(about.st_mode)) fail("read", path, EISDIR);
  try {
    return read_all(file, static_cast<std::size_t>(about.st_size), path);
  } catch (const std::bad_alloc&) {
    fail("read", path, ENOMEM);
  }
}

void write_file(const std::string& path, std::span<const std::byte> bytes) {
  struct stat about {};
  const bool exists = ::stat(path.c_str(), &about) == 0;
  if (exists && S_ISDIR(about.st_mode)) fail("write", path, EISDIR);
  if (exists && !S_ISREG(about.st_mode)) return write_directly(path, bytes);
  // A link stays: what it points to is replaced.
  std::error_code unresolved;
  const std::filesystem::path canonical = std::filesystem::canonical(path, unresolved);
  const std::string target = exists && !unresolved ? canonical.string() : path;
  const auto [temporary, descriptor] = make_temporary_beside(target);
  Descriptor file(descriptor);
  if (file.number() < 0) fail("write", path, errno);
  const mode_t permissions = about.st_mode & 07777;
  int reason = fill_temporary(file, bytes, exists ? &permissions : nullptr);
  if (reason == 0 && ::rename(temporary.c_str(), target.c_str()) != 0) reason = errno;
  if (reason == 0) return;
  ::unlink(temporary.c_str());
  fail("write", path, reason);
}

}  // namespace parallax
