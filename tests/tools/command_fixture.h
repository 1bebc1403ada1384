// SPDX-License-Identifier: Apache-2.0
// Runs the binary as a user does, in a temporary folder.
#pragma once

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

namespace parallax::test {

namespace fs = std::filesystem;

// The folder of pairs with ground truth. Tests that need them are skipped without them.
inline fs::path data_folder() {
  const char* folder = std::getenv("PARALLAX_DATA");
  return folder ? folder : PARALLAX_SHARED_DATA;
}

inline std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline void write(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

struct Outcome {
  int status;
  std::string out, err;
};

class CommandTest : public testing::Test {
 protected:
  CommandTest() {
    write(folder_ / "empty.png", "");
    write(folder_ / "text.png", "this is no picture\n");
  }

  // Makes a pair of 96×64 pixels and 16 disparities in folder "pair".
  void make_pair() { ASSERT_EQ(run("synth pair --size 96x64 --disparities 16 --scene layers").status, 0); }

  // Runs the command in the folder, in a shell. The leak check, a third of the time of a sanitized process,
  // is left to the tests of the library.
  Outcome run(const std::string& arguments, const std::string& before = "") const {
    const std::string command = "cd '" + folder_.string() + "' && " + before +
                                " ASAN_OPTIONS=detect_leaks=0 '" PARALLAX_COMMAND "' " + arguments +
                                " >stdout.txt 2>stderr.txt";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128, contents(folder_ / "stdout.txt"),
            contents(folder_ / "stderr.txt")};
  }

  // Fails unless the command ends with `status` and one line on standard error that contains all of `words`.
  void expect_refusal(const std::string& arguments, int status, const std::vector<std::string>& words,
                      const std::string& before = "") const {
    const Outcome outcome = run(arguments, before);
    EXPECT_EQ(outcome.status, status) << arguments << "\n" << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    for (const std::string& word : words)
      EXPECT_TRUE(contains(outcome.err, word)) << word << " in: " << outcome.err;
    EXPECT_EQ(outcome.out, "");
  }

  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

  const TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
};

// The binary in its own process group, while a test does something else.
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

  // Returns the exit status, or 128 plus the number of the signal that ended it.
  int wait() {
    if (id_ > 0) ::waitpid(id_, &status_, 0);
    id_ = 0;
    return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
  }

  // Sends a signal to the group, as a terminal does for Ctrl-C.
  void send(int signal) { ::kill(-id_, signal); }

 private:
  pid_t id_ = 0;
  int status_ = 0;
};

}  // namespace parallax::test
