// SPDX-License-Identifier: Apache-2.0
// Runs the binary while a test does something else.
#pragma once

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/command_fixture.h"

namespace parallax::test {

// A process group of the binary's.
class Background {
 public:
  Background(const fs::path& folder, std::vector<std::string> words) {
    words.insert(words.begin(), PARALLAX_COMMAND);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    id_ = ::fork();
    if (id_ != 0) return;
    const int output = ::open((folder / "background.txt").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (::setpgid(0, 0) != 0 || ::chdir(folder.c_str()) != 0 || ::dup2(output, STDOUT_FILENO) < 0 ||
        ::dup2(output, STDERR_FILENO) < 0)
      ::_exit(100);
    ::execv(PARALLAX_COMMAND, arguments.data());
    ::_exit(101);
  }
  ~Background() {
    if (id_ <= 0) return;
    ::kill(-id_, SIGKILL);
    wait();
  }

  void pause() { ::kill(id_, SIGSTOP); }
  void go_on() { ::kill(id_, SIGCONT); }

  bool has_ended() {
    if (id_ <= 0) return true;
    if (::waitpid(id_, &status_, WNOHANG) != id_) return false;
    id_ = 0;
    return true;
  }

  // Its exit status; 128 and the number of the signal that ended it.
  int wait() {
    if (id_ > 0) ::waitpid(id_, &status_, 0);
    id_ = 0;
    return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
  }

  // As a terminal does for Ctrl-C.
  void send(int signal) { ::kill(-id_, signal); }

 private:
  pid_t id_ = 0;
  int status_ = 0;
};

}  // namespace parallax::test
