// SPDX-License-Identifier: Apache-2.0
// 'parallax tune', as a user runs it.

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tools/command_fixture.h"

namespace parallax::test {
namespace {

using nlohmann::json;

class TuneCommand : public CommandTest {
 protected:
  static constexpr const char* here = "PARALLAX_TUNING=t.json";
  static constexpr const char* quickly = " --size 96x64 --disparities 16 --budget 0.5 --threads 2 ";

  Outcome tune(const std::string& arguments) const { return run("tune " + arguments, here); }
  std::size_t entries() const { return json::parse(contents(folder_ / "t.json")).at("entries").size(); }
};

TEST_F(TuneCommand, RemembersAndShowsAndForgets) {
  for (const char* method : {"block", "census", "bp", "tiled-bp"}) {
    const Outcome outcome = tune(std::string("--method ") + method + " --device cpu" + quickly);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    EXPECT_TRUE(contains(outcome.out, "remembered in t.json")) << outcome.out;
  }
  EXPECT_EQ(entries(), 4u);
  const Outcome all = tune("--show --json all.json");
  for (const char* method : {"block (", "census (", "bp (", "tiled-bp ("})
    EXPECT_TRUE(contains(all.out, method)) << all.out;
  const json shown = json::parse(contents(folder_ / "all.json"));
  EXPECT_EQ(shown.at("file"), "t.json");
  EXPECT_GE(shown.at("entries").size(), 4u);
  EXPECT_EQ(shown.at("entries")[1].at("labels"), 16);
  EXPECT_FALSE(contains(tune("--show --method census").out, "block ("));
  EXPECT_EQ(tune("--show --device cpu --threads 1").out, "");

  EXPECT_EQ(tune("--forget --method census").out, "forgot 1 entry\n");
  EXPECT_EQ(tune("--forget --method census").out, "forgot 0 entries\n");
  EXPECT_EQ(tune("--forget --device cpu --threads 1").out, "forgot 0 entries\n");
  EXPECT_EQ(tune("--forget --device cpu --threads 2 --method bp").out, "forgot 1 entry\n");
  EXPECT_EQ(tune("--forget").out, "forgot 2 entries\n");
  EXPECT_EQ(entries(), 0u);
}

TEST_F(TuneCommand, ListsWhatThereIsToConfigure) {
  const Outcome outcome = tune("--list --method block --device cpu --json list.json");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "pixels_together: ")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "    2, 4, 8, 16\n")) << outcome.out;
  EXPECT_EQ(json::parse(contents(folder_ / "list.json")).at("tunables")[0].at("name"), "bands_per_thread");
  // Listing works without the device.
  const Outcome gpu = tune("--list --method motion --device cuda");
  EXPECT_EQ(gpu.status, 0) << gpu.err;
  EXPECT_TRUE(contains(gpu.out, "never searched; --configure also takes ")) << gpu.out;
  expect_refusal("tune --list --show", 2, {"--list, --show"});
  expect_refusal("tune --configure rows=2" + std::string(quickly) + "--method block --device cpu", 2,
                 {"rows", "bands_per_thread"}, here);
}

// Includes the footprint if it was computed.
TEST_F(TuneCommand, TellsEveryTrialInJson) {
  for (const std::string search : {"occupancy", "exhaustive"}) {
    ASSERT_EQ(tune("--method block --search " + search + " --device cpu --json r.json" + quickly).status, 0);
    const json result = json::parse(contents(folder_ / "r.json")).at("results")[0];
    EXPECT_EQ(result.at("found").at("method"), "block");
    EXPECT_EQ(result.at("found").at("size_class"), 12);
    EXPECT_TRUE(result.at("trials")[0].at("configuration").empty());
    EXPECT_GT(result.at("trials")[0].at("milliseconds"), 0);
    EXPECT_GE(result.at("candidates"), result.at("trials").size());
    for (const json& trial : result.at("trials"))
      EXPECT_EQ(trial.value("occupancy", 0) > 0, search == "occupancy") << trial;
  }
}

TEST_F(TuneCommand, SaysFullRowInsteadOfLabels) {
  EXPECT_TRUE(contains(tune("--method block --full-row --size 96x64 --budget 0.5 --device cpu").out,
                       "96×64, full row\n"));
  EXPECT_TRUE(contains(tune("--show --device cpu").out, "pixels, full row: "));
}

TEST_F(TuneCommand, TakesPictures) {
  make_pair();
  const Outcome outcome = tune(
      "pair/left.png pair/right.png --method block --device cpu --disparities 16 --budget 0.5 --window 5");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "block (sad, window 5, 16 bits)")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "96×64, 16 labels")) << outcome.out;
}

TEST_F(TuneCommand, TheMapIsTheSameTunedOrNot) {
  make_pair();
  const std::string arguments =
      "match pair/left.png pair/right.png --method block --device cpu --threads 2 --disparities 16 --json "
      "-o ";
  const Outcome by_default = run(arguments + "default.pfm", "PARALLAX_TUNING=off");
  ASSERT_EQ(by_default.status, 0);
  ASSERT_EQ(tune("--method block --device cpu" + std::string(quickly)).status, 0);
  std::string text = contents(folder_ / "t.json");
  const std::size_t begin = text.find("\"configuration\": {"), end = text.find("}", begin);
  text.replace(begin, end - begin + 1,
               "\"configuration\": {\"pixels_together\": 2, \"bands_per_thread\": 8}");
  write(folder_ / "t.json", text);
  const Outcome tuned = run(arguments + "tuned.pfm", here);
  EXPECT_EQ(tuned.status, 0);
  EXPECT_FALSE(contains(tuned.err, "tuning")) << tuned.err;
  EXPECT_EQ(contents(folder_ / "default.pfm"), contents(folder_ / "tuned.pfm"));
  // The configuration was used: fewer pixels together take less memory.
  const auto bytes = [](const Outcome& outcome) { return json::parse(outcome.out).at("memory_bytes"); };
  EXPECT_LT(bytes(tuned), bytes(by_default));
}

// The match succeeds, with one warning.
TEST_F(TuneCommand, ABrokenFileIsOneWarning) {
  make_pair();
  write(folder_ / "t.json", "{\"version\": 2, \"entries\": []}");
  const Outcome outcome =
      run("match pair/left.png pair/right.png --method block --device cpu --disparities 16 -o d.pfm --repeat "
          "3 --json",
          here);
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "t.json has version 2")) << outcome.err;
}

// The error comes before time is spent on a search.
TEST_F(TuneCommand, WhatCannotBeWrittenIsRefusedAtOnce) {
  const std::string long_search = "tune --device cpu --budget 5";
  expect_refusal(long_search, 1, {"/proc/none/t.json"}, "PARALLAX_TUNING=/proc/none/t.json");
  expect_refusal(long_search, 1, {"PARALLAX_TUNING"}, "PARALLAX_TUNING=off");
  expect_refusal(long_search, 1, {"PARALLAX_TUNING"}, "PARALLAX_TUNING= XDG_CONFIG_HOME= HOME=");
  expect_refusal(long_search + " --json none/r.json", 1, {"none/r.json"}, here);
  ASSERT_EQ(run("synth data/papers/venus --size 64x48 --disparities 8").status, 0);
  expect_refusal("tune --suite papers --data data --json none/r.json", 1, {"none/r.json"}, here);
}

// The tuning file cannot be written, because the broken one cannot be set aside. The results are nevertheless
// printed, and written to the JSON file.
class TuneCommandInTrouble : public TuneCommand {
 protected:
  TuneCommandInTrouble() {
    write(folder_ / "t.json", "not JSON");
    fs::create_directories(folder_ / "t.json.old" / "full");
  }
  json expect_results(const Outcome& outcome) const {
    EXPECT_EQ(outcome.status, 1);
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_TRUE(contains(outcome.err, "t.json")) << outcome.err;
    return json::parse(contents(folder_ / "r.json")).at("results");
  }
};

TEST_F(TuneCommandInTrouble, TellsAndWritesWhatItFound) {
  const Outcome outcome = tune("--method block --device cpu --json r.json" + std::string(quickly));
  EXPECT_TRUE(contains(outcome.out, "best: ")) << outcome.out;
  EXPECT_EQ(expect_results(outcome).size(), 1u);
}

TEST_F(TuneCommandInTrouble, GoesOnWithTheSuite) {
  for (const char* pair : {"venus", "barn1"})
    ASSERT_EQ(run("synth data/papers/" + std::string(pair) + " --size 64x48 --disparities 8").status, 0);
  const Outcome outcome = tune("--suite papers --data data --device cpu --budget 0.5 --json r.json");
  EXPECT_EQ(expect_results(outcome).size(), 4u);
}

// A single match takes longer than the budget, so nothing is compared or remembered.
TEST_F(TuneCommand, ASearchThatEndsBeforeItBeganRemembersNothing) {
  const Outcome outcome =
      tune("--method bp --device cpu --threads 1 --disparities 64 --budget 0.01 --json r.json");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_FALSE(contains(outcome.out, "best: ")) << outcome.out;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "--budget")) << outcome.err;
  EXPECT_FALSE(fs::exists(folder_ / "t.json"));
  EXPECT_EQ(json::parse(contents(folder_ / "r.json")).at("results")[0].at("compared"), false);
}

TEST_F(TuneCommand, ASuiteThatEndsBeforeItBeganHasNoFigures) {
  ASSERT_EQ(run("synth data/papers/venus --size 100x75 --disparities 8").status, 0);
  const Outcome outcome = tune(
      "--suite papers --data data --device cpu --threads 1 --disparities 64 --arithmetic float32 --budget "
      "0.01");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(contains(outcome.out, "nothing was compared")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "| — | — | — | — |")) << outcome.out;
  EXPECT_FALSE(contains(outcome.out, "nan")) << outcome.out;
  EXPECT_FALSE(contains(outcome.out, "inf")) << outcome.out;
  EXPECT_FALSE(fs::exists(folder_ / "t.json"));
}

TEST_F(TuneCommand, RefusesWrongUse) {
  expect_refusal("tune left.png", 2, {"RIGHT"});
  expect_refusal("tune --show --forget", 2, {"exclude each other"});
  expect_refusal("tune left.png right.png --show", 2, {"left.png"});
  expect_refusal("tune --search fast", 2, {"--search"});
  expect_refusal("tune --budget 0", 2, {"--budget"});
  expect_refusal("tune --size large", 2, {"--size", "large"});
  expect_refusal("tune --method magic", 2, {"magic"});
  expect_refusal("tune --suite papers --method census", 2, {"bp"});
  expect_refusal("tune --suite papers --data .", 1, {"papers"});
  expect_refusal("tune --suite papers --search exhaustive", 2, {"--search"});
  expect_refusal("tune --suite papers --size 64x64", 2, {"--size"});
  expect_refusal("tune left.png right.png --size 64x64", 2, {"--size"});
  expect_refusal("tune --data .", 2, {"--data", "--suite"});
  expect_refusal("tune --device reference --size 64x64 --disparities 8", 1, {"nothing to tune", "reference"},
                 here);
  expect_refusal("tune --device cpu --max-memory 1K", 1, {"1.0 KiB"}, here);
  expect_refusal("tune --forget --device cuda:77", 1, {"cuda:77"});
  expect_refusal("tune --show --device cuda:77", 1, {"cuda:77"});
  expect_refusal("tune no.png none.png", 1, {"no.png"});
}

TEST_F(TuneCommand, ThePapersPairsMakeATable) {
  ASSERT_EQ(run("synth data/papers/venus --size 64x48 --disparities 8").status, 0);
  const Outcome outcome = tune("--suite papers --data data --device cpu --budget 0.5 --json r.json");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 4) << outcome.out;
  const json results = json::parse(contents(folder_ / "r.json")).at("results");
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].at("found").at("labels"), 21);
  EXPECT_GT(results[0].at("plain_milliseconds"), 0);
}

}  // namespace
}  // namespace parallax::test
