// SPDX-License-Identifier: Apache-2.0
// A child process with pipes to and from it.
#pragma once

#include <atomic>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

namespace parallax::tool {

class ChildProcess {
 public:
  // A stream of the program by its file descriptor: 0 is its standard input, 1 its standard output.
  struct Stream {
    int number;
    bool to_child;
  };

  // Starts the program words[0], searched for in PATH. Its standard error is captured.
  // \throws Error (file) with the remedy when there is no such program, (internal) when it cannot be started
  ChildProcess(const std::vector<std::string>& words, const std::vector<Stream>& streams,
               const std::string& remedy = "install it");
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  // Kills the program if it is still running.
  ~ChildProcess();

  // Returns the number of bytes read; fewer than requested only at the end of the stream. The program may
  // write its streams in any order: meanwhile, the others are read and kept.
  std::size_t read(std::size_t stream, std::span<std::byte> bytes);
  std::string read_all(std::size_t stream);
  // From now on, a read ends early, within a tenth of a second, once this is true.
  void stop_at(const std::atomic<bool>& stop) { stop_ = &stop; }
  // Returns whether the program accepted all bytes.
  bool write(std::size_t stream, std::span<const std::byte> bytes);
  void close(std::size_t stream);
  // Waits until the program ends and returns whether it succeeded.
  bool wait();
  // Its standard error, or the end of it where that is long.
  std::string messages() const;
  // The last line of it.
  std::string complaint() const;

 private:
  pid_t id_ = 0;  // 0 = it has ended
  bool has_succeeded_ = false;
  int messages_ = -1;
  bool wait_for(std::size_t stream);
  const std::atomic<bool>* stop_ = nullptr;

  std::vector<int> ends_;
  std::vector<std::string> kept_;  // bytes of each stream, read while another was waited for
};

}  // namespace parallax::tool
