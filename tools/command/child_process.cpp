// SPDX-License-Identifier: Apache-2.0
#include "tools/command/child_process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "parallax/error.h"

namespace parallax::tool {
namespace {

[[noreturn]] void fail(const std::string& program, int reason, const std::string& remedy) {
  if (reason == ENOENT) throw Error(ErrorCategory::file, program + " is not installed: " + remedy);
  throw Error(ErrorCategory::internal, "cannot start " + program + ": " + std::strerror(reason));
}

void close_end(int& end) {
  if (end >= 0) ::close(end);
  end = -1;
}

// The file descriptors that the program inherits. Those below `first_free` are its streams.
class FileActions {
 public:
  FileActions() { ::posix_spawn_file_actions_init(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  ~FileActions() {
    ::posix_spawn_file_actions_destroy(&actions_);
    for (int& end : ends_) close_end(end);
  }

  // Takes ownership of `end`.
  int add(int end, int number) {
    constexpr int first_free = 16;
    const int moved = ::fcntl(end, F_DUPFD_CLOEXEC, first_free);
    close_end(end);
    if (moved < 0) return errno;
    ends_.push_back(moved);
    return ::posix_spawn_file_actions_adddup2(&actions_, moved, number);
  }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
  std::vector<int> ends_;
};

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& words, const std::vector<Stream>& streams,
                           const std::string& remedy)
    : kept_(streams.size()) {
  FileActions actions;
  const auto check = [&](int reason) {
    if (reason == 0) return;
    for (int& end : ends_) close_end(end);
    close_end(messages_);
    fail(words.front(), reason, remedy);
  };
  messages_ = ::memfd_create("messages", MFD_CLOEXEC);
  check(messages_ < 0 ? errno : 0);
  check(actions.add(::dup(messages_), STDERR_FILENO));
  for (const Stream& stream : streams) {
    int ends[2];
    check(::pipe2(ends, O_CLOEXEC) != 0 ? errno : 0);
    ends_.push_back(ends[stream.to_child ? 1 : 0]);
    check(actions.add(ends[stream.to_child ? 0 : 1], stream.number));
  }
  std::vector<std::string> copies = words;
  std::vector<char*> arguments;
  for (std::string& word : copies) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  // A Ctrl-C is for this program, which then ends its child.
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  const int reason =
      ::posix_spawnp(&id_, arguments.front(), actions.get(), &attributes, arguments.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  check(reason);
}

ChildProcess::~ChildProcess() {
  if (id_ > 0) ::kill(id_, SIGKILL);
  wait();
  close_end(messages_);
}

std::size_t ChildProcess::read(std::size_t stream, std::span<std::byte> bytes) {
  std::string& kept = kept_[stream];
  std::size_t length = std::min(kept.size(), bytes.size());
  std::memcpy(bytes.data(), kept.data(), length);
  kept.erase(0, length);
  while (length < bytes.size()) {
    if (!wait_for(stream)) break;
    const ssize_t count = ::read(ends_[stream], bytes.data() + length, bytes.size() - length);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    length += static_cast<std::size_t>(count);
  }
  return length;
}

// Until the stream has bytes or ends; false if the caller has stopped that. The program may not get there
// before it has written another stream, whose pipe is full.
bool ChildProcess::wait_for(std::size_t stream) {
  constexpr int patience = 100;  // milliseconds, after which the caller may have stopped it
  std::vector<pollfd> polled;
  for (const int end : ends_) polled.push_back({end, POLLIN, 0});
  for (;;) {
    const int ready = ::poll(polled.data(), polled.size(), stop_ == nullptr ? -1 : patience);
    if (stop_ != nullptr && *stop_) return false;
    if (ready < 0 && errno != EINTR) return true;
    if (ready <= 0) continue;
    if (polled[stream].revents != 0) return true;
    for (std::size_t i = 0; i < polled.size(); ++i) {
      if (polled[i].revents == 0) continue;
      std::array<char, 1 << 16> bytes;
      const ssize_t count = ::read(polled[i].fd, bytes.data(), bytes.size());
      if (count > 0)
        kept_[i].append(bytes.data(), static_cast<std::size_t>(count));
      else
        polled[i].fd = -1;  // has ended, or is for writing
    }
  }
}

std::string ChildProcess::read_all(std::size_t stream) {
  std::string text;
  std::array<std::byte, 4096> bytes;
  for (std::size_t count; (count = read(stream, bytes)) > 0;)
    text.append(reinterpret_cast<const char*>(bytes.data()), count);
  return text;
}

bool ChildProcess::write(std::size_t stream, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(ends_[stream], bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

void ChildProcess::close(std::size_t stream) {
  close_end(ends_[stream]);
}

bool ChildProcess::wait() {
  for (int& end : ends_) close_end(end);
  if (id_ <= 0) return has_succeeded_;
  if (stop_ != nullptr && *stop_) ::kill(id_, SIGKILL);
  int status = 0;
  while (::waitpid(id_, &status, 0) < 0 && errno == EINTR) continue;
  id_ = 0;
  return has_succeeded_ = WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::string ChildProcess::messages() const {
  constexpr off_t most = 4096;
  const off_t length = ::lseek(messages_, 0, SEEK_END);
  std::string text(static_cast<std::size_t>(std::clamp(length, off_t{0}, most)), '\0');
  const ssize_t count = ::pread(messages_, text.data(), text.size(),
                                std::max(off_t{0}, length - static_cast<off_t>(text.size())));
  text.resize(static_cast<std::size_t>(std::max(ssize_t{0}, count)));
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

std::string ChildProcess::complaint() const {
  const std::string text = messages();
  return text.substr(text.rfind('\n') + 1);
}

}  // namespace parallax::tool
