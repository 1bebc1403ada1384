// SPDX-License-Identifier: Apache-2.0
#include "tools/command/output_files.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "parallax/error.h"
#include "parallax/formats.h"

#include "tools/command/command_files.h"

namespace parallax::tool {
namespace {

namespace fs = std::filesystem;

// Names in static memory for the signal handler, which can neither allocate nor lock.
struct Slot {
  std::atomic<bool> taken = false, filled = false;
  char path[PATH_MAX];
};
// More than are ever open at once; further files would not be removed.
std::array<Slot, 256> slots;

int take_slot(const std::string& path) {
  if (path.size() >= sizeof slots[0].path) return -1;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].taken.exchange(true)) continue;
    std::memcpy(slots[i].path, path.c_str(), path.size() + 1);
    slots[i].filled = true;
    return static_cast<int>(i);
  }
  return -1;
}

std::atomic<bool> asks_first = false;
std::atomic<int> asked_by = 0;

void handle(int signal);

// The default action is restored by now, and takes effect when the handler returns.
extern "C" void remove_temporaries(int signal) {
  if (asks_first.exchange(false)) {
    asked_by = signal;
    handle(signal);
    return;
  }
  for (const Slot& slot : slots)
    if (slot.filled) ::unlink(slot.path);
  // Folders are empty now.
  for (const Slot& slot : slots)
    if (slot.filled) ::rmdir(slot.path);
  ::raise(signal);
}

void handle(int signal) {
  struct sigaction handled {};
  handled.sa_handler = remove_temporaries;
  handled.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
  ::sigaction(signal, &handled, nullptr);
}

std::string temporary_beside(const fs::path& path) {
  std::random_device random;
  return (path.parent_path() / (".parallax-" + std::to_string(random()) + path.extension().string()))
      .string();
}

bool is_replaced(const std::string& path) {
  struct stat about {};
  return ::stat(path.c_str(), &about) != 0 || S_ISREG(about.st_mode) || S_ISDIR(about.st_mode);
}

}  // namespace

TemporaryFile::TemporaryFile(const std::string& path) : path_(path), slot_(take_slot(path)) {}

TemporaryFile::~TemporaryFile() {
  if (!path_.empty()) ::unlink(path_.c_str());
  forget();
}

void TemporaryFile::rename_to(const std::string& target) {
  if (::rename(path_.c_str(), target.c_str()) != 0) fail_file("write", target, errno);
  forget();
}

void TemporaryFile::forget() {
  path_.clear();
  if (slot_ < 0) return;
  Slot& slot = slots[static_cast<std::size_t>(std::exchange(slot_, -1))];
  slot.filled = false;
  slot.taken = false;
}

void remove_temporaries_on_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    ::sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) handle(signal);
  }
}

void stop_on_signals() {
  asks_first = true;
}

int stop_signal() {
  return asked_by;
}

OutputFile::OutputFile(const std::string& target)
    : target_(target), resolved_(behind_links(target)), temporary_(temporary_beside(resolved_)) {
  struct stat about {};
  const bool exists = ::stat(resolved_.c_str(), &about) == 0;
  if (!exists && errno == ELOOP) fail(errno);
  if (exists && S_ISDIR(about.st_mode)) fail(EISDIR);
  // The new file is never more readable than the one that it replaces.
  const mode_t permissions = exists ? 0600 : 0666;
  file_ = ::open(temporary_.path().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, permissions);
  if (file_ >= 0) return;
  const int reason = errno;
  // It belongs to another program.
  if (reason == EEXIST) temporary_.forget();
  fail(reason);
}

OutputFile::~OutputFile() {
  if (file_ >= 0) ::close(file_);
}

void OutputFile::fail(int reason) const {
  fail_file("write", target_, reason);
}

void OutputFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void OutputFile::finish(bool on_disk) {
  struct stat about {};
  const bool exists = ::stat(resolved_.c_str(), &about) == 0;
  if (exists && ::fchmod(file_, about.st_mode & 07777) != 0) fail(errno);
  if (on_disk && ::fsync(file_) != 0) fail(errno);
  if (::close(std::exchange(file_, -1)) != 0) fail(errno);
}

void OutputFile::take_place() {
  temporary_.rename_to(resolved_);
}

void check_output(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty() && !fs::is_directory(folder))
    throw Error(ErrorCategory::file, "cannot write " + path + ": there is no folder " + folder.string());
  if (fs::is_directory(path))
    throw Error(ErrorCategory::file, "cannot write " + path + ": it is a folder: give a file name");
}

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  return {bytes.begin(), bytes.end()};
}

std::string read_text(const std::string& path, std::size_t max_bytes) {
  check_readable_twice(path);
  const std::vector<std::byte> bytes = read_file(path, max_bytes);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void write_files(std::span<const FileBytes> files, bool on_disk) {
  std::vector<std::unique_ptr<OutputFile>> outputs;
  for (const auto& [path, bytes] : files) {
    if (!is_replaced(path)) continue;
    outputs.push_back(std::make_unique<OutputFile>(path));
    outputs.back()->write(bytes);
    outputs.back()->finish(on_disk);
  }
  for (const auto& [path, bytes] : files)
    if (!is_replaced(path)) write_file(path, bytes);
  for (const auto& output : outputs) output->take_place();
}

void write_output(const std::string& path, std::span<const std::byte> bytes) {
  if (!is_replaced(path)) return write_file(path, bytes);
  OutputFile output(path);
  output.write(bytes);
  output.finish();
  output.take_place();
}

void write_output(const std::string& path, const std::string& text) {
  write_output(path, std::as_bytes(std::span(text.data(), text.size())));
}

}  // namespace parallax::tool
