// SPDX-License-Identifier: Apache-2.0
// Runs the binary as a user does, in a folder of its own.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>

namespace parallax::test {

namespace fs = std::filesystem;

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
    std::string name = (fs::temp_directory_path() / "parallax_XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    write(folder_ / "empty.png", "");
    write(folder_ / "text.png", "this is no picture\n");
  }
  ~CommandTest() override { fs::remove_all(folder_); }

  // A pair in folder "pair", of 96×64 pixels and 16 disparities.
  void make_pair() { ASSERT_EQ(run("synth pair --size 96x64 --disparities 16 --scene layers").status, 0); }

  // Runs in the folder, by a shell. Under sanitizers: tests of the library look for leaks, which takes a
  // third of such a process's time.
  Outcome run(const std::string& arguments, const std::string& before = "") const {
    const std::string command = "cd '" + folder_.string() + "' && " + before +
                                " ASAN_OPTIONS=detect_leaks=0 '" PARALLAX_COMMAND "' " + arguments +
                                " >stdout.txt 2>stderr.txt";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128, contents(folder_ / "stdout.txt"),
            contents(folder_ / "stderr.txt")};
  }

  // Fails unless the command ends with `status` and one line on standard error that holds all of `words`.
  void expect_refusal(const std::string& arguments, int status, const std::vector<std::string>& words,
                      const std::string& before = "") const {
    const Outcome outcome = run(arguments, before);
    EXPECT_EQ(outcome.status, status) << arguments << "\n" << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    for (const std::string& word : words)
      EXPECT_NE(outcome.err.find(word), std::string::npos) << word << " in: " << outcome.err;
    EXPECT_EQ(outcome.out, "");
  }

  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

  fs::path folder_;
};

}  // namespace parallax::test
