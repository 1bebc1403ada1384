// SPDX-License-Identifier: Apache-2.0
// The completion of the command line, also as bash and fish run it.
#include "tools/command_fixture.h"

namespace parallax::test {
namespace {

class CompletionTest : public CommandTest {
 protected:
  // The possible completions of the last of these words, with descriptions.
  std::string candidates(const std::string& words) const { return run("completion words " + words).out; }

  // The output of a script in a shell that finds the program by its name; the script of `parallax completion`
  // is in the file "script". Skips the test where the shell is not installed.
  std::string in_shell(const std::string& shell, const std::string& text) const {
    write(folder_ / "script", run("completion " + shell).out);
    write(folder_ / "test", text);
    const std::string path = "PATH='" + fs::path(PARALLAX_COMMAND).parent_path().string() + "':\"$PATH\" ";
    const std::string command = "cd '" + folder_.string() + "' && " + path + shell + " test >shell.txt 2>&1";
    EXPECT_EQ(std::system(command.c_str()), 0) << contents(folder_ / "shell.txt");
    return contents(folder_ / "shell.txt");
  }
  static bool has(const std::string& shell) {
    return std::system(("command -v " + shell + " >/dev/null").c_str()) == 0;
  }
#ifdef PARALLAX_HAS_VIEW
  static constexpr bool has_viewer = true;
#else
  static constexpr bool has_viewer = false;
#endif
  // The words that bash offers.
  std::string in_bash(const std::string& words, int index) const {
    return in_shell("bash", "source ./script; COMP_WORDS=(parallax " + words + "); COMP_CWORD=" +
                                std::to_string(index) + "; _parallax; echo ${COMPREPLY[@]}");
  }
};

TEST_F(CompletionTest, OffersEveryCommandOfTheHelp) {
  const std::string help = run("--help").out, offered = candidates("''");
  std::istringstream lines(help);
  int commands = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  ")) continue;
    ++commands;
    EXPECT_TRUE(contains(offered, line.substr(2, line.find(' ', 2) - 2) + "\t")) << line;
  }
  EXPECT_GE(commands, 10);
  EXPECT_EQ(std::count(offered.begin(), offered.end(), '\n'), commands);
  EXPECT_TRUE(candidates("me").starts_with("merge\t"));
  EXPECT_EQ(candidates("nothing"), "");
}

TEST_F(CompletionTest, OffersTheOptionsOfTheMethodOnTheLine) {
  const std::string bp = candidates("match --"), census = candidates("match --method census --"),
                    block = candidates("match --method=block --");
  for (const std::string& offered : {bp, census, block})
    for (const char* name : {"--output\t", "--method\tAlgorithm\n", "--no-left-right-check\t",
                             "--device\tauto, reference, cpu", "--help\t"})
      EXPECT_TRUE(contains(offered, name)) << name << " in: " << offered;
  EXPECT_TRUE(contains(bp, "--iterations\t"));
  EXPECT_FALSE(contains(census, "--iterations\t"));
  EXPECT_TRUE(contains(census, "--search-radius\t"));
  EXPECT_TRUE(contains(block, "--prefilter\t"));
  // Options for experts appear only after a letter.
  EXPECT_FALSE(contains(census, "--padding\t"));
  EXPECT_TRUE(contains(candidates("match --pad"), "--padding\t"));
  EXPECT_FALSE(contains(candidates("plan --v"), "--video\t"));
  EXPECT_TRUE(contains(candidates("match --plan p.json --"), "--tile\t"));
}

TEST_F(CompletionTest, OffersTheValuesOfAnOption) {
  EXPECT_EQ(candidates("match --method ''"),
            "block\t\nbp\t\ncensus\t\nmotion\t\nplanes\t\nsgm\t\ntiled-bp\t\n");
  EXPECT_EQ(candidates("match --method c"), "census\t\n");
  EXPECT_EQ(candidates("match --method=c"), "--method=census\t\n");
  // The words as bash splits them.
  EXPECT_EQ(candidates("match --method = c"), "census\t\n");
  EXPECT_EQ(candidates("match --method ="), candidates("match --method ''"));
  EXPECT_EQ(candidates("synth pair --scene p"), "planes\t\n");
  EXPECT_EQ(candidates("completion ''"), "bash\t\nzsh\t\nfish\t\n");
  EXPECT_TRUE(contains(candidates("match --device ''"), "reference\t\n"));
  EXPECT_FALSE(contains(candidates("match --method tiled-bp --device ''"), "opencl"));
  EXPECT_TRUE(contains(candidates("match --method tiled-bp --preset ''"), "memocode-2013\t\n"));
  EXPECT_EQ(candidates("match --threads ''"), "");
}

// These are the options of 'match' that choose and match, and those of its page.
TEST_F(CompletionTest, OffersTheOptionsOfTheViewer) {
  if (!has_viewer) GTEST_SKIP() << "this build has no viewer";
  const std::string offered = candidates("view --method census --");
  for (const char* name : {"--truth\t", "--rig\t", "--camera\t", "--search-radius\t", "--map\t", "--port\t",
                           "--host\t", "--no-open\t", "--once\t"})
    EXPECT_TRUE(contains(offered, name)) << name << " in: " << offered;
  for (const char* name : {"--output\t", "--iterations\t", "--json\t"})
    EXPECT_FALSE(contains(offered, name)) << name;
  EXPECT_EQ(candidates("view --method c"), "census\t\n");
  for (const char* words : {"view ''", "view left.png ri", "view --map m"})
    EXPECT_EQ(candidates(words), ":files\n") << words;
  EXPECT_EQ(candidates("view --port ''"), "");
}

TEST_F(CompletionTest, WithoutTheViewerItIsNotOffered) {
  EXPECT_EQ(contains(candidates("''"), "view\t"), has_viewer);
  EXPECT_EQ(contains(run("--help").out, "  view "), has_viewer);
  if (!has_viewer) expect_refusal("view left.png right.png", 1, {"-DPARALLAX_VIEW=ON"});
}

TEST_F(CompletionTest, OffersFilesForFilesAndArguments) {
  for (const char* words :
       {"match ''", "match left.png -o ''", "match --calib=ca", "bench --data ''", "synth pa"})
    EXPECT_EQ(candidates(words), ":files\n") << words;
}

// A line being typed is not complete, and may be wrong.
TEST_F(CompletionTest, EndsWellForWrongWords) {
  for (const char* words :
       {"", "no-command --", "match --method nothing --me", "match --preset nothing --me",
        "match --method --method census --me", "match --method census --preset memocode-2013 --me"}) {
    const Outcome outcome = run(std::string("completion words ") + words);
    EXPECT_EQ(outcome.status, 0) << words;
    EXPECT_EQ(outcome.err, "") << words;
    if (contains(words, "match")) {
      EXPECT_TRUE(contains(outcome.out, "--method\t")) << words;
    }
  }
}

TEST_F(CompletionTest, RefusesOtherShells) {
  expect_refusal("completion", 2, {"SHELL is required"});
  expect_refusal("completion tcsh", 2, {"tcsh", "bash, zsh, fish"});
}

TEST_F(CompletionTest, WorksInBash) {
  write(folder_ / "left view.png", "");
  EXPECT_EQ(in_bash("me", 1), "merge\n");
  EXPECT_EQ(in_bash("match --met", 2), "--method\n");
  EXPECT_EQ(in_bash("match --method = c", 4), "census\n");
  EXPECT_EQ(in_bash("match --method ''", 3), "block bp census motion planes sgm tiled-bp\n");
  EXPECT_EQ(in_bash("match le", 2), "left view.png\n");
  if (has_viewer) {
    EXPECT_EQ(in_bash("view --onc", 2), "--once\n");
  }
  EXPECT_EQ(in_bash("match --threads ''", 3), "\n");
  EXPECT_EQ(in_shell("bash", "source ./script; complete -p parallax"), "complete -F _parallax parallax\n");
}

TEST_F(CompletionTest, WorksInFish) {
  if (!has("fish")) GTEST_SKIP() << "fish is not installed";
  write(folder_ / "left.png", "");
  const auto offered = [&](const std::string& line) {
    return in_shell("fish", "source ./script; complete -C '" + line + "'");
  };
  EXPECT_TRUE(offered("parallax me").starts_with("merge\t"));
  EXPECT_EQ(offered("parallax match --method c"), "census\n");
  EXPECT_TRUE(contains(offered("parallax match --method census --"), "--output\tDisparity map\n"));
  EXPECT_TRUE(contains(offered("parallax match le"), "left.png"));
  if (has_viewer) {
    EXPECT_EQ(offered("parallax view --onc"), "--once\tEnd when the last page is closed\n");
  }
}

// Without a terminal, functions in place of zsh's own print what they receive.
TEST_F(CompletionTest, WorksInZsh) {
  if (!has("zsh")) GTEST_SKIP() << "zsh is not installed";
  const auto offered = [&](const std::string& words, int current) {
    return in_shell("zsh",
                    "compdef() { :; }; _files() { print files; }; _describe() { print -rl -- ${(P)2}; }; "
                    "source ./script; words=(parallax " +
                        words + "); CURRENT=" + std::to_string(current) + "; _parallax");
  };
  EXPECT_TRUE(offered("me", 2).starts_with("merge:merge the matched tiles"));
  EXPECT_EQ(offered("match --method c", 4), "census:\n");
  EXPECT_EQ(offered("match --method=c", 3), "--method=census:\n");
  EXPECT_EQ(offered("match ''", 3), "files\n");
  if (has_viewer) {
    EXPECT_EQ(offered("view --onc", 3), "--once:End when the last page is closed\n");
  }
}

}  // namespace
}  // namespace parallax::test
