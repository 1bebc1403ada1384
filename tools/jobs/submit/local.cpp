// SPDX-License-Identifier: Apache-2.0
#include "tools/jobs/submit/local.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <iterator>
#include <list>
#include <set>

#include <nlohmann/json.hpp>
#include <poll.h>

#include "tools/command/child_process.h"
#include "tools/command/command.h"
#include "tools/jobs/submit/chunks.h"

namespace parallax::tool {
namespace {

using Clock = std::chrono::steady_clock;

volatile std::sig_atomic_t signal_received = 0;

// While one exists, signals that would end the program are noted instead.
class Interruption {
 public:
  Interruption() {
    struct sigaction noted {};
    noted.sa_handler = [](int number) { signal_received = number; };
    for (std::size_t i = 0; i < std::size(signals); ++i) {
      ::sigaction(signals[i], nullptr, &before_[i]);
      if (before_[i].sa_handler != SIG_IGN) ::sigaction(signals[i], &noted, nullptr);
    }
  }
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  ~Interruption() {
    for (std::size_t i = 0; i < std::size(signals); ++i) ::sigaction(signals[i], &before_[i], nullptr);
  }

  // 0 = none
  static int received() { return signal_received; }

 private:
  static constexpr int signals[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction before_[std::size(signals)];
};

// Processes that match all chunks, some at once.
class Processes {
 public:
  Processes(const SubmitRequest& request, const SubmittedWork& work)
      : request_(request),
        total_(work.tiles),
        missing_(work.missing.begin(), work.missing.end()),
        begin_missing_(missing_.size()),
        chunks_(cut_into_chunks(work.missing, chunk_of(request, work))) {}

  // Ends early after a signal.
  void run() {
    show();
    while (!running_.empty() || (next_ < chunks_.size() && Interruption::received() == 0)) {
      start();
      wait();
      if (Interruption::received() != 0)
        for (Process& process : running_) process.child.terminate();
    }
    show_progress("");
  }
  // Neither matched nor failed for a reason that will not pass, in order.
  std::vector<int> lost() const {
    std::vector<int> tiles;
    std::set_difference(missing_.begin(), missing_.end(), lasting_.begin(), lasting_.end(),
                        std::back_inserter(tiles));
    return tiles;
  }
  const std::set<int>& missing() const { return missing_; }
  // Of the last failure; empty = none was told.
  const std::string& reason() const { return reason_; }

 private:
  struct Process {
    explicit Process(const Words& words) : child(words, {{1, false}}) {}
    ChildProcess child;
    std::string text;  // of a line that is not complete
    bool has_ended = false;
  };

  // Each process has several, so that none waits long for the last.
  static int chunk_of(const SubmitRequest& request, const SubmittedWork& work) {
    constexpr int chunks_of_process = 4;
    const int pieces = chunks_of_process * request.processes, count = static_cast<int>(work.missing.size());
    return request.chunk > 0 ? request.chunk : std::max(1, (count + pieces - 1) / pieces);
  }

  void start() {
    while (static_cast<int>(running_.size()) < request_.processes && next_ < chunks_.size() &&
           Interruption::received() == 0) {
      Words words = match_words(request_);
      words.insert(words.end(), {"--tile", chunks_[next_++]});
      running_.emplace_back(words);
    }
  }

  // Until a process reports a tile or ends, or a signal comes.
  void wait() {
    constexpr int milliseconds = 200;  // a signal may have come just before
    std::vector<pollfd> polled;
    for (const Process& process : running_) polled.push_back({process.child.descriptor(0), POLLIN, 0});
    if (::poll(polled.data(), polled.size(), milliseconds) <= 0) return;
    auto process = running_.begin();
    for (const pollfd& end : polled) {
      if (end.revents != 0) read(*process);
      ++process;
    }
    running_.remove_if([](const Process& each) { return each.has_ended; });
    show();
  }

  void read(Process& process) {
    const std::string text = process.child.read_available(0);
    if (text.empty()) return end(process);
    process.text += text;
    for (std::size_t length; (length = process.text.find('\n')) != std::string::npos;
         process.text.erase(0, length + 1))
      take(nlohmann::json::parse(process.text.substr(0, length), nullptr, false));
  }

  // A line about a tile.
  void take(const nlohmann::json& line) {
    if (!line.is_object()) return;
    const int tile = line.value("tile", -1);
    if (!line.contains("error")) {
      missing_.erase(tile);
      return;
    }
    reason_ = "tile " + std::to_string(tile) + ": " + line.value("error", "");
    if (!line.value("is_transient", false)) lasting_.insert(tile);
  }

  void end(Process& process) {
    process.has_ended = true;
    process.child.wait();
    const int status = process.child.exit_status();
    if (status == wrong_use) throw UsageError(process.child.complaint());
    if (status > 128) reason_ = "a process was ended by signal " + std::to_string(status - 128);
    if (status != done && reason_.empty()) reason_ = process.child.complaint();
  }

  void show() const {
    const int left = static_cast<int>(missing_.size()), matched = static_cast<int>(begin_missing_) - left;
    std::string what = "tile " + std::to_string(total_ - left) + " of " + std::to_string(total_);
    if (matched > 0) {
      const double seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
      what += ", " + duration_text(seconds / matched * left) + " left";
    }
    show_progress(what, static_cast<double>(total_ - left) / std::max(total_, 1));
  }

  const SubmitRequest& request_;
  int total_;
  std::set<int> missing_, lasting_;
  std::size_t begin_missing_;
  std::string reason_;
  std::vector<std::string> chunks_;
  std::size_t next_ = 0;
  std::list<Process> running_;
  Clock::time_point begin_ = Clock::now();
};

// Ends this program as the signal would have.
[[noreturn]] void end_by_signal(int number, std::size_t missing, int total) {
  complain("stopped, with " + std::to_string(static_cast<std::size_t>(total) - missing) + " of " +
           std::to_string(total) + " tiles matched: the same command continues");
  std::signal(number, SIG_DFL);
  std::raise(number);
  std::_Exit(128 + number);
}

// What is complete, of many pairs. Returns an exit status.
int merge(const SubmitRequest& request) {
  const Words words = merge_words(request);
  return merge_command({words.begin() + 2, words.end()});
}

}  // namespace

int run_locally(const SubmitRequest& request, SubmittedWork work) {
  std::set<int> lasting;
  for (int round = 0; !work.missing.empty(); ++round) {
    Processes processes(request, work);
    {
      const Interruption interruption;
      processes.run();
    }
    if (const int number = Interruption::received(); number != 0)
      end_by_signal(number, processes.missing().size() + lasting.size(), work.tiles);
    work.missing = processes.lost();
    std::set_difference(processes.missing().begin(), processes.missing().end(), work.missing.begin(),
                        work.missing.end(), std::inserter(lasting, lasting.end()));
    if (work.missing.empty() && lasting.empty()) break;
    const bool retry = !work.missing.empty() && round < request.retries;
    complain(std::to_string(work.missing.size() + lasting.size()) + " of " + std::to_string(work.tiles) +
             " tiles are missing (" + processes.reason() + ")" + (retry ? ": matching them again" : ""));
    if (retry) continue;
    if (work.pairs > 1) merge(request);
    return lasting.empty() ? failed_for_now : failed;
  }
  return merge(request);
}

}  // namespace parallax::tool
