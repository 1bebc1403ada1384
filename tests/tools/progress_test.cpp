// SPDX-License-Identifier: Apache-2.0
// The progress of long work is shown on a terminal, and not in a pipe.

#include <array>
#include <thread>

#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

#include "tools/command_fixture.h"

namespace parallax::test {
namespace {

// Clears the line before it is rewritten.
const std::string clear = "\r\033[K";

class ProgressTest : public CommandTest {
 protected:
  ProgressTest() { make_pair(); }

  // Standard error, connected to a terminal of so many columns.
  std::string on_terminal(const std::string& arguments, unsigned short columns = 80) const {
    int terminal = -1, end = -1;
    const winsize size{24, columns, 0, 0};
    std::array<char, 64> name{};
    EXPECT_EQ(::openpty(&terminal, &end, name.data(), nullptr, &size), 0);
    std::string text;
    std::thread reader([&] {
      std::array<char, 512> bytes{};
      for (ssize_t count; (count = ::read(terminal, bytes.data(), bytes.size())) > 0;)
        text.append(bytes.data(), static_cast<std::size_t>(count));
    });
    const std::string command = "cd '" + folder_.string() +
                                "' && XDG_CACHE_HOME=$PWD/cache PARALLAX_TUNING=t.json "
                                "ASAN_OPTIONS=detect_leaks=0 '" PARALLAX_COMMAND "' " +
                                arguments + " >stdout.txt 2>" + name.data();
    const int status = std::system(command.c_str());
    EXPECT_TRUE(WIFEXITED(status)) << arguments;
    ::close(end);  // ends the reader
    reader.join();
    ::close(terminal);
    return text;
  }
};

const std::string match = "match pair/left.png pair/right.png --method block --disparities 16 ";

TEST_F(ProgressTest, ATerminalSeesABar) {
  const std::string repeats = on_terminal(match + "--repeat 4");
  EXPECT_TRUE(contains(repeats, clear + "[........................] run 1 of 4")) << repeats;
  EXPECT_TRUE(contains(repeats, clear + "[############............] run 3 of 4")) << repeats;
  EXPECT_TRUE(contains(repeats, clear + "matched 96×64")) << repeats;

  const std::string tiles = on_terminal(match + "--tile-size 90x60 -o d.pfm");
  EXPECT_TRUE(contains(tiles, "[........................] tile 0 of ")) << tiles;
  EXPECT_TRUE(contains(tiles, "[########################] row 64 of 64")) << tiles;

  fs::create_directory(folder_ / "l");
  fs::copy(folder_ / "pair/left.png", folder_ / "l/1.png");
  const std::string sequence = on_terminal("match l l --method block --disparities 16");
  EXPECT_TRUE(contains(sequence, "[########################] frame 1 of 1, ")) << sequence;

  const std::string tuning =
      on_terminal("tune --method block --size 96x64 --disparities 16 --device cpu --budget 2");
  EXPECT_TRUE(contains(tuning, "] block: ")) << tuning;
  EXPECT_GT(tuning.rfind(clear), tuning.rfind("] block: ")) << tuning;

  EXPECT_TRUE(contains(on_terminal("synth tiled --tiled --size 96x200"), "] row 128 of 200"));
}

TEST_F(ProgressTest, APipeSeesNone) {
  for (const std::string& arguments : {match + "--repeat 4", match + "--tile-size 90x60 -o d.pfm",
                                       std::string("synth tiled --tiled --size 96x200")}) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.err.find_first_of("\r\033["), std::string::npos) << outcome.err;
  }
}

// A wrapped line could not be cleared.
TEST_F(ProgressTest, ANarrowTerminalSeesTheBeginning) {
  const std::string text = on_terminal(match + "--repeat 2", 20);
  EXPECT_TRUE(contains(text, clear + "[..................\r")) << text;
}

TEST_F(ProgressTest, KernelsAreSaidToBeCompiledWhenTheyAre) {
  if (!contains(run("devices").out, "opencl:0.0")) GTEST_SKIP() << "no OpenCL device";
  const std::string compiling = "Compiling kernels for opencl:0.0 (first time only)";
  EXPECT_TRUE(contains(on_terminal(match + "--device opencl"), clear + compiling));
  EXPECT_FALSE(contains(on_terminal(match + "--device opencl"), compiling));
}

}  // namespace
}  // namespace parallax::test
