// SPDX-License-Identifier: Apache-2.0
// Another program, and pipes from and to it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

namespace parallax::tool {

class ChildProcess {
 public:
  // A stream of the program by its number there: 0 is its standard input, 1 its standard output.
  struct Stream {
    int number;
    bool to_child;
  };

  // Starts the program words[0], which is searched for in PATH. What it says on standard error is kept.
  // \throws Error (file) when there is no such program, (internal) when it cannot be started
  ChildProcess(const std::vector<std::string>& words, const std::vector<Stream>& streams);
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  // Ends a program that is still running.
  ~ChildProcess();

  // Bytes that were read, fewer than asked for only at the end.
  std::size_t read(std::size_t stream, std::span<std::byte> bytes);
  std::string read_all(std::size_t stream);
  // Has the program taken all of it?
  bool write(std::size_t stream, std::span<const std::byte> bytes);
  void close(std::size_t stream);

  // Waits until the program ends. Did it succeed?
  bool wait();
  // The last line of what it said on standard error.
  std::string complaint() const;

 private:
  pid_t id_ = 0;  // 0 = it has ended
  bool has_succeeded_ = false;
  int messages_ = -1;
  std::vector<int> ends_;
};

}  // namespace parallax::tool
