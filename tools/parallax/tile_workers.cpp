// SPDX-License-Identifier: Apache-2.0
#include "tools/parallax/tile_workers.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "parallax/formats.h"

#include "tools/parallax/file_errors.h"
#include "tools/parallax/memory.h"

namespace parallax::tool {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_process(int reason) {
  throw Error(ErrorCategory::internal,
              std::string("cannot start a process that matches tiles: ") + std::strerror(reason));
}

class Pipe {
 public:
  Pipe() {
    if (::pipe2(ends_, O_CLOEXEC) != 0) fail_process(errno);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close_reader();
    close_writer();
  }
  int reader() const { return ends_[0]; }
  int writer() const { return ends_[1]; }
  void close_reader() { close(ends_[0]); }
  void close_writer() { close(ends_[1]); }

 private:
  static void close(int& end) {
    if (end >= 0) ::close(end);
    end = -1;
  }
  int ends_[2] = {-1, -1};
};

// What a process is started with: its standard streams.
class Streams {
 public:
  Streams(const Pipe& input, const Pipe& output, const std::string& log) {
    check(::posix_spawn_file_actions_init(&actions_));
    check(::posix_spawn_file_actions_adddup2(&actions_, input.reader(), STDIN_FILENO));
    check(::posix_spawn_file_actions_adddup2(&actions_, output.writer(), STDOUT_FILENO));
    check(::posix_spawn_file_actions_addopen(&actions_, STDERR_FILENO, log.c_str(),
                                             O_WRONLY | O_CREAT | O_TRUNC, 0666));
  }
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;
  ~Streams() { ::posix_spawn_file_actions_destroy(&actions_); }
  const posix_spawn_file_actions_t* actions() const { return &actions_; }

 private:
  static void check(int reason) {
    if (reason != 0) fail_process(reason);
  }
  posix_spawn_file_actions_t actions_;
};

std::string last_line(const std::string& path) {
  const std::vector<std::byte> bytes = read_file(path);
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  while (text.ends_with('\n')) text.pop_back();
  text = text.substr(text.rfind('\n') + 1);
  const std::string prefix = "parallax: ";
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

class Process {
 public:
  Process(const std::string& plan, const std::string& log) : log_(log) {
    const Streams streams(input_, output_, log);
    std::string words[] = {"parallax", "match", "--plan",   plan,
                           "--tile",   "-",     "--parent", std::to_string(::getpid())};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const int reason =
        ::posix_spawn(&id_, "/proc/self/exe", streams.actions(), nullptr, arguments.data(), environ);
    if (reason != 0) fail_process(reason);
    input_.close_reader();
    output_.close_writer();
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() {
    if (ended_) return;
    ::kill(id_, SIGTERM);
    wait();
  }

  // A process that is gone takes nothing; it is found out when it is read from.
  void take(int tile) {
    tile_ = tile;
    const std::string line = std::to_string(tile) + "\n";
    while (::write(input_.writer(), line.data(), line.size()) < 0 && errno == EINTR) continue;
  }
  void take_no_more() { input_.close_writer(); }
  bool takes_tiles() const { return !tile_ && input_.writer() >= 0; }
  std::optional<int> tile() const { return tile_; }
  int output() const { return output_.reader(); }

  // Of the tile in work, once it is done. Waits for what the process says next. A library may say something,
  // too.
  std::optional<TileAnswer> listen() {
    char bytes[512];
    const ssize_t count = ::read(output_.reader(), bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) return std::nullopt;
    if (count <= 0) {
      wait();
      return std::nullopt;
    }
    heard_.append(bytes, static_cast<std::size_t>(count));
    for (std::size_t end; (end = heard_.find('\n')) != std::string::npos;) {
      const auto json = nlohmann::json::parse(heard_.substr(0, end), nullptr, false);
      heard_.erase(0, end + 1);
      if (!json.is_object() || json.value("tile", -1) != tile_) continue;
      tile_.reset();
      return TileAnswer{json.value("tile", -1), json.value("milliseconds", 0.0),
                        json.value("peak_memory_bytes", std::size_t{0})};
    }
    return std::nullopt;
  }

  bool has_ended() const { return ended_; }
  std::string reason() const {
    if (WIFSIGNALED(status_))
      return std::string("its process was ended by signal ") + std::to_string(WTERMSIG(status_)) + ", " +
             ::strsignal(WTERMSIG(status_));
    const std::string said = last_line(log_);
    return !said.empty() ? said : "its process ended with status " + std::to_string(WEXITSTATUS(status_));
  }

 private:
  void wait() {
    while (::waitpid(id_, &status_, 0) < 0 && errno == EINTR) continue;
    ended_ = true;
  }

  std::string log_;
  Pipe input_, output_;
  pid_t id_ = 0;
  std::optional<int> tile_;
  std::string heard_;
  int status_ = 0;
  bool ended_ = false;
};

class ProcessPool {
 public:
  ProcessPool(const TileJob& job, const std::string& plan_path, const std::vector<int>& tiles,
              const std::function<void(int)>& done)
      : job_(job), plan_path_(plan_path), waiting_(tiles.begin(), tiles.end()), done_(done) {
    const auto count = std::min(static_cast<std::size_t>(job.workers), tiles.size());
    processes_.resize(count);
    peaks_.resize(count);
  }

  TileWork run() {
    while (feed()) listen();
    std::sort(work_.failed.begin(), work_.failed.end(),
              [](const FailedTile& a, const FailedTile& b) { return a.number < b.number; });
    for (const std::size_t peak : peaks_) work_.peak_memory_bytes += peak;
    return work_;
  }

 private:
  // Gives everybody something to do; false when nobody has anything.
  bool feed() {
    bool busy = false;
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      std::unique_ptr<Process>& process = processes_[i];
      if (!process && !waiting_.empty()) process = std::make_unique<Process>(plan_path_, log_path(i));
      if (process && process->takes_tiles()) {
        if (waiting_.empty()) {
          process->take_no_more();
        } else {
          process->take(waiting_.front());
          waiting_.pop_front();
        }
      }
      busy = busy || process;
    }
    return busy;
  }

  void listen() {
    std::vector<pollfd> outputs;
    for (const auto& process : processes_) outputs.push_back({process ? process->output() : -1, POLLIN, 0});
    if (::poll(outputs.data(), outputs.size(), -1) < 0) return;
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i].revents != 0) listen(i);
  }

  void listen(std::size_t index) {
    Process& process = *processes_[index];
    if (const std::optional<TileAnswer> answer = process.listen()) {
      peaks_[index] = std::max(peaks_[index], answer->peak_memory_bytes);
      ++work_.matched;
      done_(work_.matched + static_cast<int>(work_.failed.size()));
    }
    if (!process.has_ended()) return;
    if (process.tile()) blame(*process.tile(), process.reason());
    processes_[index].reset();
  }

  void blame(int tile, const std::string& reason) {
    if (++deaths_[tile] > 1) {
      work_.failed.push_back({tile, reason});
      return;
    }
    ++work_.retried;
    waiting_.push_back(tile);
  }

  std::string log_path(std::size_t index) const {
    return (fs::path(job_.folder) / ("worker-" + std::to_string(index) + ".txt")).string();
  }

  const TileJob& job_;
  const std::string& plan_path_;
  std::deque<int> waiting_;
  const std::function<void(int)>& done_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::vector<std::size_t> peaks_;
  std::map<int, int> deaths_;
  TileWork work_;
};

}  // namespace

std::string to_line(const TileAnswer& answer) {
  const nlohmann::ordered_json json{{"tile", answer.tile},
                                    {"milliseconds", answer.milliseconds},
                                    {"peak_memory_bytes", answer.peak_memory_bytes}};
  return json.dump() + "\n";
}

TileWork match_in_processes(const TileJob& job, const std::string& plan_path, std::vector<int> tiles,
                            const std::function<void(int finished)>& done) {
  return ProcessPool(job, plan_path, tiles, done).run();
}

}  // namespace parallax::tool
