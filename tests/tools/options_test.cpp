// SPDX-License-Identifier: Apache-2.0
#include "tools/command/options.h"

#include <sstream>

#include <gtest/gtest.h>

#include "support.h"

namespace parallax::tool {
namespace {

// One option of each kind.
class OptionsTest : public testing::Test {
 protected:
  OptionsTest() {
    options_.group("Input");
    options_.add("LEFT", left_, "A picture").required();
    options_.group("Matching");
    options_.add("-n,--count", count_, "How many").range(1, 100);
    options_.add("--labels N", labels_, "Any integer");
    options_.add("--weight", weight_, "A factor");
    options_.add("--rate X", rate_, "A rate").range(0, 1000);
    options_.add("--seed N", seed_, "A seed");
    const auto take_cost = [this](const std::string& text) {
      outside_cost_ = text;
      return text != "infinity";
    };
    options_.add_text("--outside-cost", "X", "none", "a cost", take_cost, "A cost").expert();
    options_.add("--size", size_, "Width x height");
    options_.add("--paper", papers_, "Papers");
    options_.add_memory("--max-memory", memory_, "Memory");
    options_.add_flag("--json", json_, "As JSON");
    options_.add_switch("--check", check_, "Checks");
    options_.add_choice<int>("--fill", fill_, {{"none", 0}, {"row", 1}}, "What fills");
  }

  void read(const std::string& words) {
    std::istringstream in("left.png " + words);
    options_.read({std::istream_iterator<std::string>(in), {}});
  }
  std::string refusal(const std::string& words) {
    try {
      read(words);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  }
  std::string help(const std::string& flag) {
    try {
      read(flag);
    } catch (const HelpRequest& text) {
      return text.what();
    }
    return "";
  }

  Options options_{"match", "Matches."};
  std::string left_;
  int count_ = 1, labels_ = 0, fill_ = 1;
  float weight_ = 0.04f;
  double rate_ = 0;
  std::uint64_t seed_ = 1;
  std::string outside_cost_;
  Size size_;
  std::vector<std::string> papers_;
  std::size_t memory_ = 0;
  bool json_ = false, check_ = true;
};

using test::contains;

TEST_F(OptionsTest, EveryKindReachesItsValue) {
  read(
      "-n 7 --labels=-12 --weight 1e-3 --rate 29.97 --seed 18446744073709551615 --outside-cost 2.5 "
      "--size 640X480 --paper a,b --paper c --max-memory 3KiB --json --no-check --fill none");
  EXPECT_EQ(left_, "left.png");
  EXPECT_EQ(count_, 7);
  EXPECT_EQ(labels_, -12);
  EXPECT_EQ(weight_, 1e-3f);
  EXPECT_EQ(rate_, 29.97);
  EXPECT_EQ(seed_, 18446744073709551615u);
  EXPECT_EQ(outside_cost_, "2.5");
  EXPECT_EQ(size_, (Size{640, 480}));
  EXPECT_EQ(papers_, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(memory_, 3072u);
  EXPECT_TRUE(json_);
  EXPECT_FALSE(check_);
  EXPECT_EQ(fill_, 0);
}

TEST_F(OptionsTest, ValuesThatDoNotFitAreRefusedInALine) {
  const char* lines[] = {"--rate nan",
                         "--rate inf",
                         "--rate 1001",
                         "--rate -1",
                         "--weight nan",
                         "--weight -inf",
                         "--weight 1e39",
                         "--weight 1x",
                         "--outside-cost infinity",
                         "--labels 2147483648",
                         "--labels 1.5",
                         "--labels 0x10",
                         "--labels many",
                         "--count 0",
                         "--count 99999999999999999999",
                         "--seed -1",
                         "--seed 18446744073709551616",
                         "--max-memory 99999999999999999999",
                         "--max-memory 16E",
                         "--max-memory -1",
                         "--max-memory 2X",
                         "--max-memory 2GiBB",
                         "--size 640",
                         "--size 640x0",
                         "--size 640x480x3",
                         "--fill column"};
  for (const std::string line : lines) {
    const std::string message = refusal(line);
    const std::string name = line.substr(0, line.find_first_of(" ="));
    EXPECT_TRUE(message.starts_with(name + " is '")) << line << ": " << message;
    EXPECT_TRUE(contains(message, "': give ")) << line << ": " << message;
    EXPECT_FALSE(contains(message, "\n")) << line;
  }
  EXPECT_EQ(refusal("--rate nan"), "--rate is 'nan': give a number from 0 to 1000");
  EXPECT_EQ(refusal("--outside-cost infinity"), "--outside-cost is 'infinity': give a cost");
  EXPECT_EQ(refusal("--weight inf"), "--weight is 'inf': give a finite number");
  EXPECT_EQ(refusal("--seed -1"), "--seed is '-1': give a number that is not negative");
  EXPECT_EQ(refusal("--labels 2147483648"),
            "--labels is '2147483648': give an integer from -2147483648 to 2147483647");
  EXPECT_EQ(refusal("--fill column"), "--fill is 'column': give one of none, row");
}

TEST_F(OptionsTest, AFlagTakesNoValue) {
  EXPECT_EQ(refusal("--no-check=5"), "--no-check takes no value: leave out =5");
  EXPECT_EQ(refusal("--json=true"), "--json takes no value: leave out =true");
  EXPECT_EQ(refusal("--check=false"), "--check takes no value: leave out =false");
}

TEST_F(OptionsTest, AValueIsGivenOnceAndASwitchCountsLast) {
  EXPECT_EQ(refusal("--labels 1 --labels 2"), "--labels is given more than once: give it once");
  read("--check --no-check --check --json --json");
  EXPECT_TRUE(check_);
}

TEST_F(OptionsTest, WhatIsMissingOrUnknownIsNamed) {
  EXPECT_TRUE(
      contains(refusal("--colour"), "unknown option or argument: --colour; see 'parallax match --help'"));
  EXPECT_TRUE(contains(refusal("right.png"), "unknown option or argument: right.png"));
  EXPECT_TRUE(contains(refusal("--labels"), "--labels needs a value; see"));
  try {
    options_.read({});
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_TRUE(contains(error.what(), "LEFT is required"));
  }
}

TEST_F(OptionsTest, WhatWasGivenIsKnown) {
  read("--count 3 --no-check --json --fill none");
  EXPECT_TRUE(options_.given("--fill"));
  EXPECT_TRUE(options_.given("-n"));
  EXPECT_FALSE(options_.given("--weight"));
}

TEST_F(OptionsTest, SomeOptionsAreReadAmongOthers) {
  Options some("match", "");
  std::string method = "bp";
  some.add("--method", method, "");
  some.read_known({"left.png", "--window", "5", "--method", "block", "--help", "--json=5"});
  EXPECT_EQ(method, "block");
}

TEST_F(OptionsTest, HelpSaysTypesNamesAndDefaultsInItsGroups) {
  const std::string text = help("--help");
  EXPECT_TRUE(contains(text, "Usage: parallax match [OPTION …] LEFT\n")) << text;
  EXPECT_LT(text.find("Input:"), text.find("Matching:"));
  EXPECT_TRUE(contains(text, "  -n, --count N               How many [1]\n")) << text;
  EXPECT_TRUE(contains(text, "--weight X                  A factor [0.04]\n")) << text;
  EXPECT_TRUE(contains(text, "--size WxH                  Width x height\n")) << text;
  EXPECT_TRUE(contains(text, "--[no-]check                Checks [on]\n")) << text;
  EXPECT_TRUE(contains(text, "--fill NAME                 What fills: none, row [row]\n")) << text;
}

TEST_F(OptionsTest, HelpAllHasTheOptionsOfExperts) {
  EXPECT_FALSE(contains(help("--help"), "--outside-cost"));
  EXPECT_TRUE(contains(help("--help"), "--help-all"));
  EXPECT_TRUE(contains(help("--help-all"), "--outside-cost X"));
}

TEST_F(OptionsTest, AnOptionOfAnotherCommandIsRefusedWithAdvice) {
  options_.advise({{"--rig", "{} is for pictures that are not rectified: rectify them first"}});
  for (const std::string words : {"--rig", "--rig=a.json", "--json --rig a.json"})
    EXPECT_EQ(refusal(words), "--rig is for pictures that are not rectified: rectify them first") << words;
  EXPECT_TRUE(contains(refusal("--colour --rig"), "rectify them first"));
  EXPECT_TRUE(contains(refusal("--colour"), "unknown option or argument: --colour"));
  EXPECT_FALSE(contains(help("--help-all"), "--rig"));
  read("--json");
  EXPECT_FALSE(options_.given("--rig"));
}

TEST_F(OptionsTest, HelpFitsATerminal) {
  std::string words = "This";
  for (int i = 0; i < 60; ++i) words += " ×word";
  bool flag = false;
  options_.add_flag("--an-option-whose-name-is-longer-than-its-column", flag, words);
  std::istringstream lines(help("-h"));
  for (std::string line; std::getline(lines, line);)
    EXPECT_LE(std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; }), 100)
        << line;
}

}  // namespace
}  // namespace parallax::tool
