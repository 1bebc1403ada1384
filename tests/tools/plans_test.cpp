// SPDX-License-Identifier: Apache-2.0
// Plans of many pairs, matched by any number of processes: ranges of tiles, moved files, failures, and
// finished tiles.

#include <map>
#include <thread>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "support.h"
#include "tools/command_fixture.h"
#include "tools/files/content_hash.h"
#include "tools/picture_files.h"

namespace parallax::test {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

class PlansTest : public CommandTest {
 protected:
  // Folders p0, p1, … with pairs of these sizes.
  void make_pairs(const std::vector<std::string>& sizes) const {
    std::string list;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const std::string name = "p" + std::to_string(i);
      ASSERT_EQ(run("synth " + name + " --scene planes --disparities 16 --size " + sizes[i] + " --seed " +
                    std::to_string(i))
                    .status,
                0);
      list += name + "/left.png " + name + "/right.png\n";
    }
    write(folder_ / "list.txt", list);
  }
  void plan(const std::string& options) const {
    const Outcome outcome = run("plan --list list.txt -o 'maps/{folder}.pfm' --plan plan.json " + options);
    ASSERT_EQ(outcome.status, 0) << outcome.err;
  }
  Outcome match(const std::string& tiles, const std::string& options = "") const {
    return run("match --plan plan.json --tile " + tiles + " " + options);
  }
  // The lines that a command printed.
  static std::vector<json> lines_of(const std::string& text) {
    std::vector<json> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(json::parse(line));
    return lines;
  }
  json status(int expected, const std::string& options = "") const {
    const Outcome outcome = run("status plan.json --json " + options);
    EXPECT_EQ(outcome.status, expected) << outcome.err << outcome.out;
    return json::parse(outcome.out);
  }
  int tiles() const { return head()["tiles"].get<int>(); }
  ordered_json head() const {
    const std::string text = contents(folder_ / "plan.json");
    return ordered_json::parse(text.substr(0, text.find('\n')));
  }
  void expect_map(const std::string& name, const std::string& options, const std::string& folder = "",
                  const std::string& extension = ".png") const {
    const std::string pair = folder + name;
    ASSERT_EQ(run("match " + pair + "/left" + extension + " " + pair + "/right" + extension +
                  " -o alone.pfm " + options)
                  .status,
              0);
    EXPECT_TRUE(contents(folder_ / "alone.pfm") == contents(folder_ / (folder + "maps/" + name + ".pfm")))
        << name;
  }
  // Replaces a byte, and keeps the time.
  void change(const fs::path& path) const {
    const auto time = fs::last_write_time(path);
    std::string text = contents(path);
    text[text.size() / 2] = static_cast<char>(text[text.size() / 2] ^ 1);
    write(path, text);
    fs::last_write_time(path, time);
  }
  static void touch(const fs::path& path) {
    fs::last_write_time(path, fs::last_write_time(path) + std::chrono::seconds(5));
  }
  // A plan that was changed on purpose, with a correct fingerprint.
  void write_changed_plan(const std::vector<ordered_json>& lines) const {
    ordered_json head = lines.front();
    head.erase("fingerprint");
    std::string rest;
    for (std::size_t i = 1; i < lines.size(); ++i) rest += lines[i].dump() + "\n";
    head["fingerprint"] = tool::content_hash(tool::content_hash(head.dump()) + tool::content_hash(rest));
    write(folder_ / "changed.json", head.dump() + "\n" + rest);
  }

  const std::string block_ = "--method block --disparities 16 ",
                    census_ = "--method census --disparities 16 ";
};

// The larger pair does not fit, and is matched in tiles.
TEST_F(PlansTest, ManyPairsHaveTheMapsOfEachAlone) {
  make_pairs({"96x64", "96x64", "120x80"});
  ASSERT_EQ(run("synth big --tiled --no-truth --scene planes --disparities 16 --size 700x500").status, 0);
  write(folder_ / "list.txt", contents(folder_ / "list.txt") + "big/left.tiff big/right.tiff\n");
  for (const std::string& options : {block_ + "--fill row ", census_ + "--fill row "}) {
    plan(options + "--max-memory 54M");
    const int count = tiles();
    ASSERT_GT(count, 5);
    const Outcome first = match("0-2,4"), rest = match("0-" + std::to_string(count - 1));
    EXPECT_EQ(first.status, 0) << first.err;
    EXPECT_EQ(rest.status, 0) << rest.err;
    EXPECT_EQ(lines_of(first.out).size(), 4u);
    int reused = 0;
    for (const json& line : lines_of(rest.out)) reused += line.value("reused", false);
    EXPECT_EQ(reused, 4);
    EXPECT_EQ(lines_of(rest.out).size(), static_cast<std::size_t>(count));
    ASSERT_EQ(run("merge plan.json").status, 0);
    for (const char* name : {"p0", "p1", "p2"}) expect_map(name, options);
    expect_map("big", options, "", ".tiff");
    EXPECT_EQ(status(0)["pairs_written"], 4);
    fs::remove_all(folder_ / "maps");
    fs::remove_all(folder_ / "plan.json.tiles");
  }
}

TEST_F(PlansTest, PairsOfAListHaveRangesAndMasksOfTheirOwn) {
  make_pairs({"96x64", "96x64"});
  save((folder_ / "mask.png").string(),
       make_picture({96, 64}, 1, BitDepth::bits8, [](int x, int, int) { return x < 30 ? 0u : 255u; }));
  write(folder_ / "list.jsonl",
        R"({"left": "p0/left.png", "right": "p0/right.png", "disparities": 12, "left_mask": "mask.png"})"
        "\n"
        R"({"left": "p1/left.png", "right": "p1/right.png", "min_disparity": 1})");
  ASSERT_EQ(run("plan --list list.jsonl -o 'maps/{folder}.pfm' --plan plan.json " + block_).status, 0);
  EXPECT_EQ(head()["cuts"], 2);
  ASSERT_EQ(match("0-1").status, 0);
  expect_map("p0", "--method block --disparities 12 --left-mask mask.png");
  expect_map("p1", block_ + "--min-disparity 1");
}

TEST_F(PlansTest, FoldersArePlannedToo) {
  make_pairs({"96x64", "96x64"});
  fs::create_directory(folder_ / "l");
  fs::create_directory(folder_ / "r");
  for (const std::string name : {"p0", "p1"}) {
    fs::rename(folder_ / name / "left.png", folder_ / "l" / (name + ".png"));
    fs::rename(folder_ / name / "right.png", folder_ / "r" / (name + ".png"));
  }
  ASSERT_EQ(run("plan l r -o maps/ --plan plan.json " + block_).status, 0);
  ASSERT_EQ(match("0-1").status, 0);
  EXPECT_TRUE(fs::exists(folder_ / "maps/p0.pfm"));
  EXPECT_TRUE(fs::exists(folder_ / "maps/p1.pfm"));
}

TEST_F(PlansTest, WrongRangesAreNamed) {
  make_pairs({"96x64", "96x64"});
  plan(block_);
  for (const std::string ranges : {"2", "0-2", "1-0", "x", "0-", "0,,1", "0-1x", "''", "99999999999"})
    expect_refusal("match --plan plan.json --tile " + ranges, 2,
                   {"--tile is", ranges == "''" ? "" : ranges, "tiles 0 to 1"});
  EXPECT_FALSE(fs::exists(folder_ / "maps"));
}

TEST_F(PlansTest, AFolderMayMoveWithItsPlan) {
  make_pairs({"96x64", "200x150"});
  plan(block_ + "--tile-size 150x150");
  ASSERT_EQ(match("0").status, 0);
  fs::create_directory(folder_ / "moved");
  for (const char* name : {"p0", "p1", "maps", "plan.json", "plan.json.tiles"})
    fs::rename(folder_ / name, folder_ / "moved" / name);
  const std::string path = "moved/plan.json",
                    last = std::to_string(
                        ordered_json::parse(
                            contents(folder_ / path).substr(0, contents(folder_ / path).find('\n')))["tiles"]
                            .get<int>() -
                        1);
  const Outcome outcome = run("match --plan " + path + " --tile 0-" + last);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(lines_of(outcome.out).front().value("reused", false));
  ASSERT_EQ(run("merge " + path).status, 0);
  for (const char* name : {"p0", "p1"}) expect_map(name, block_, "moved/");
}

TEST_F(PlansTest, PathMapsSayWhereFilesAre) {
  make_pairs({"96x64", "96x64"});
  fs::create_directory(folder_ / "job");
  const std::string here = folder_.string();
  ASSERT_EQ(run("plan --list list.txt -o 'maps/{folder}.pfm' --plan job/plan.json " + block_).status, 0);
  fs::create_directory(folder_ / "elsewhere");
  fs::rename(folder_ / "p0", folder_ / "elsewhere/p0");
  fs::rename(folder_ / "p1", folder_ / "elsewhere/p1");
  const std::string match = "match --plan job/plan.json --tile 0-1 ";
  Outcome outcome = run(match);
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(contains(outcome.err, "p0/left.png: No such file")) << outcome.err;
  // The longest prefix that applies counts; a part of a name is no folder.
  outcome =
      run(match + "--path-map " + here + "=/nowhere --path-map " + here + "/p=/nowhere --path-map " + here +
          "/p0=elsewhere/p0 --path-map " + here + "/maps=mapped --path-map " + here + "/p1/=elsewhere/p1/");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(fs::exists(folder_ / "mapped/p0.pfm"));
  EXPECT_FALSE(fs::exists(folder_ / "maps"));
  EXPECT_EQ(run("status job/plan.json --path-map " + here + "/maps=mapped").status, 0);
  EXPECT_EQ(run("status job/plan.json").status, 1);
  for (const std::string map : {"x", "=y", "a/b=c", "/a="})
    expect_refusal(match + "--path-map " + map, 2, {"--path-map is '" + map + "'", "FROM=TO"});
}

TEST_F(PlansTest, ACopyWithAnotherTimeIsTheSamePicture) {
  make_pairs({"96x64"});
  plan(block_);
  touch(folder_ / "p0/left.png");
  EXPECT_EQ(match("0").status, 0);
}

TEST_F(PlansTest, APictureWithOtherContentIsNot) {
  make_pairs({"96x64"});
  plan(block_);
  change(folder_ / "p0/left.png");
  const auto expect_changed = [&](const std::string& options, const std::string& why) {
    const Outcome outcome = match("0", options);
    EXPECT_EQ(outcome.status, 1);
    EXPECT_TRUE(contains(outcome.err, "p0/left.png has changed since the plan was made") &&
                contains(outcome.err, why))
        << outcome.err;
  };
  expect_changed("--verify", "its content is different");
  touch(folder_ / "p0/left.png");
  expect_changed("", "its content is different");
  write(folder_ / "p0/left.png", contents(folder_ / "p0/left.png") + " ");
  expect_changed("", "bytes");
  ASSERT_EQ(run("synth p0 --scene planes --disparities 16 --size 96x64").status, 0);
  plan(block_ + "--no-hash");
  touch(folder_ / "p0/right.png");
  const Outcome outcome = match("0");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(contains(outcome.err, "p0/right.png") && contains(outcome.err, "no hash")) << outcome.err;
}

TEST_F(PlansTest, ATileThatFailsLeavesTheOthers) {
  make_pairs({"96x64", "96x64", "96x64"});
  const std::string whole = contents(folder_ / "p1/right.png");
  write(folder_ / "p1/right.png", whole.substr(0, whole.size() / 2));
  plan(block_);
  const Outcome outcome = match("0-2");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(contains(outcome.err, "tile 1: ") && contains(outcome.err, "p1/right.png: is damaged"))
      << outcome.err;
  const json line = lines_of(outcome.out)[1];
  EXPECT_EQ(line["tile"], 1);
  EXPECT_EQ(line["is_transient"], false);
  const json now = status(1);
  EXPECT_EQ(now["done"], 2);
  EXPECT_EQ(now["missing"], json::array());
  ASSERT_EQ(now["failed"].size(), 1u);
  EXPECT_EQ(now["failed"][0]["tile"], 1);
  EXPECT_EQ(now["failed"][0]["is_transient"], false);
  EXPECT_TRUE(contains(now["failed"][0]["reason"].get<std::string>(), "is damaged"));
  EXPECT_EQ(now["pairs_done"], 2);
  const Outcome text = run("status plan.json");
  EXPECT_TRUE(contains(text.out, "tile 1 failed on ") && contains(text.out, "2 of 3 tiles are done"))
      << text.out;
  // The same content, by the plan's hash, does not help; a new plan does.
  write(folder_ / "p1/right.png", whole);
  plan(block_);
  EXPECT_EQ(match("0-2").status, 0);
}

TEST_F(PlansTest, AFullDiskMayPass) {
  make_pairs({"96x64", "96x64"});
  plan(block_);
  fs::create_directory(folder_ / "maps");
  fs::create_symlink("/dev/full", folder_ / "maps/p0.pfm");
  Outcome outcome = match("0-1");
  EXPECT_EQ(outcome.status, 75);
  EXPECT_TRUE(contains(outcome.err, "tile 0: ") && contains(outcome.err, "No space left")) << outcome.err;
  EXPECT_EQ(status(1)["failed"][0]["is_transient"], true);
  expect_map("p1", block_);
  // A retry does not help against a lasting failure.
  fs::remove(folder_ / "maps/p1.pfm");
  fs::remove(folder_ / "p1/left.png");
  EXPECT_EQ(match("0-1").status, 1);
  fs::remove(folder_ / "maps/p0.pfm");
  EXPECT_EQ(match("0").status, 0);
  EXPECT_EQ(status(1)["done"], 1);
}

TEST_F(PlansTest, NoPictureIsOverwritten) {
  make_pairs({"96x64", "200x150"});
  plan(block_ + "--tile-size 120x150");
  fs::create_directory(folder_ / "maps");
  std::map<std::string, std::string> before;
  for (const std::string name : {"p0", "p1"}) {
    fs::create_symlink("../" + name + "/left.png", folder_ / "maps" / (name + ".pfm"));
    before[name] = contents(folder_ / name / "left.png");
  }
  const Outcome outcome = match("0-2");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(contains(outcome.err, "would overwrite")) << outcome.err;
  const Outcome merge = run("merge plan.json");
  EXPECT_EQ(merge.status, 2);
  EXPECT_TRUE(contains(merge.err, "pair 1: ") && contains(merge.err, "p1/left.png")) << merge.err;
  for (const auto& [name, text] : before) EXPECT_TRUE(contents(folder_ / name / "left.png") == text) << name;
}

TEST_F(PlansTest, TwoProcessesOnOneTileDoNoHarm) {
  make_pairs({"96x64", "200x150"});
  plan(block_ + "--tile-size 90x64");
  const std::string all = "0-" + std::to_string(tiles() - 1);
  for (int time = 0; time < 3; ++time) {
    Background one(folder_, {"match", "--plan", "plan.json", "--tile", all}),
        another(folder_, {"match", "--plan", "plan.json", "--tile", all});
    EXPECT_EQ(one.wait(), 0);
    EXPECT_EQ(another.wait(), 0);
    ASSERT_EQ(run("merge plan.json").status, 0);
    for (const char* name : {"p0", "p1"}) expect_map(name, block_);
    for (const auto& entry : fs::directory_iterator(folder_ / "plan.json.tiles"))
      EXPECT_TRUE(entry.path().filename().string().starts_with("log-")) << entry.path();
    fs::remove_all(folder_ / "maps");
  }
}

TEST_F(PlansTest, KilledInTheMiddleItGoesOn) {
  make_pairs({"500x300"});
  const std::string bp = "--method bp --disparities 16 --padding 8 ";
  plan(bp + "--tile-size 150x110");
  const int count = tiles();
  const std::vector<std::string> words = {"match", "--plan", "plan.json", "--tile",
                                          "0-" + std::to_string(count - 1)};
  const auto results = [&] {
    int found = 0;
    std::error_code missing;
    for (const auto& entry : fs::directory_iterator(folder_ / "plan.json.tiles", missing))
      found += entry.path().extension() == ".tiff";
    return found;
  };
  {
    Background match(folder_, words);
    while (!match.has_ended() && results() < 3) std::this_thread::yield();
  }
  const int before = results();
  EXPECT_GE(before, 3);
  EXPECT_EQ(status(before == count ? 0 : 1)["done"], before);
  const Outcome rest = match(words.back());
  ASSERT_EQ(rest.status, 0) << rest.err;
  int reused = 0;
  for (const json& line : lines_of(rest.out)) reused += line.value("reused", false);
  EXPECT_EQ(reused, before);
  ASSERT_EQ(run("merge plan.json").status, 0);
  // Belief propagation depends on the cuts; those of a match are the same.
  ASSERT_EQ(run("match p0/left.png p0/right.png " + bp + "--tile-size 150x110 -o alone.pfm").status, 0);
  EXPECT_TRUE(contents(folder_ / "alone.pfm") == contents(folder_ / "maps/p0.pfm"));
}

TEST_F(PlansTest, StatusTellsWhatIsMissingAndDamaged) {
  make_pairs({"96x64", "200x150"});
  plan(block_ + "--tile-size 120x150");
  const int count = tiles();
  ASSERT_GT(count, 2);
  json now = status(1);
  EXPECT_EQ(now["tiles"], count);
  EXPECT_EQ(now["done"], 0);
  EXPECT_EQ(now["missing"], json::array({"0-" + std::to_string(count - 1)}));
  EXPECT_EQ(now["milliseconds_per_tile"], nullptr);
  ASSERT_EQ(match("0-" + std::to_string(count - 1)).status, 0);
  now = status(0);
  EXPECT_EQ(now["done"], count);
  EXPECT_EQ(now["pairs_done"], 2);
  EXPECT_EQ(now["pairs_written"], 1);
  EXPECT_GT(now["milliseconds_per_tile"], 0);
  EXPECT_EQ(now["devices"], json::array({"cpu"}));
  // Only the whole file reveals a change of a few pixels.
  change(folder_ / "plan.json.tiles/tile-000001.tiff");
  EXPECT_EQ(status(0)["done"], count);
  now = status(1, "--verify");
  EXPECT_EQ(now["missing"], json::array({"1"}));
  EXPECT_EQ(now["damaged"], json::array({"1"}));
  const std::string whole = contents(folder_ / "plan.json.tiles/tile-000002.tiff");
  write(folder_ / "plan.json.tiles/tile-000002.tiff", whole.substr(0, whole.size() / 2));
  EXPECT_EQ(status(1)["damaged"], json::array({"2"}));
  // Both are matched again.
  ASSERT_EQ(match("0-" + std::to_string(count - 1)).status, 0);
  EXPECT_EQ(status(0, "--verify")["done"], count);
  ASSERT_EQ(run("merge plan.json").status, 0);
  EXPECT_EQ(status(0, "--verify")["pairs_written"], 2);
  change(folder_ / "maps/p1.pfm");
  EXPECT_EQ(status(0)["pairs_done"], 2);
  EXPECT_EQ(status(1, "--verify")["pairs_done"], 1);
  fs::remove(folder_ / "maps/p0.pfm");
  EXPECT_EQ(status(1)["pairs_done"], 1);
}

// A new plan with the same names of results and maps.
TEST_F(PlansTest, ANewPlanTakesNothingFromAnEarlierOne) {
  make_pairs({"96x64", "200x150"});
  plan(block_ + "--tile-size 120x150");
  ASSERT_EQ(match("0-2").status, 0);
  ASSERT_EQ(run("merge plan.json --keep").status, 0);
  plan(block_ + "--tile-size 120x150 --window 5");
  json now = status(1);
  EXPECT_EQ(now["done"], 0);
  EXPECT_EQ(now["damaged"], json::array({"1-2"}));
  EXPECT_EQ(now["milliseconds_per_tile"], nullptr);
  ASSERT_EQ(match("0-2").status, 0);
  ASSERT_EQ(run("merge plan.json").status, 0);
  for (const char* name : {"p0", "p1"}) expect_map(name, block_ + "--window 5");
}

TEST_F(PlansTest, LinesOfLogsThatAreCutAreSkipped) {
  make_pairs({"96x64"});
  plan(block_);
  ASSERT_EQ(match("0").status, 0);
  const std::string plan = "\"plan\":" + head()["fingerprint"].dump() + "}";
  write(folder_ / "plan.json.tiles/log-other-7.jsonl",
        "[1]\n{\"tile\":\"x\"," + plan + "\n{\"output_hash\":1," + plan +
            "\n{\"tile\":0,\"start\":\"1\",\"error\":\"x\"," + plan + "\n{\"tile\":0,\"err");
  EXPECT_EQ(status(0)["done"], 1);
}

TEST_F(PlansTest, MergeGoesOnOverPairsThatAreNotComplete) {
  make_pairs({"200x150", "200x150", "200x150"});
  plan(block_ + "--tile-size 120x150");
  ASSERT_EQ(tiles(), 6);
  ASSERT_EQ(match("0-1,3-5").status, 0);
  const Outcome outcome = run("merge plan.json");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(contains(outcome.err, "pair 1: ") && contains(outcome.err, "tile 2 is missing")) << outcome.err;
  for (const char* name : {"p0", "p2"}) expect_map(name, block_);
  EXPECT_FALSE(fs::exists(folder_ / "maps/p1.pfm"));
  ASSERT_EQ(match("0-5").status, 0);
  expect_refusal("merge plan.json --pair 3", 2, {"--pair is 3", "pairs 0 to 2"});
  ASSERT_EQ(run("merge plan.json --pair 1").status, 0);
  expect_map("p1", block_);
  // A merge that a scheduler repeats finds everything done.
  EXPECT_EQ(run("merge plan.json").status, 0);
}

TEST_F(PlansTest, ThePlanNamesPairsThatCannotBeMatched) {
  make_pairs({"96x64", "96x64", "120x80"});
  write(
      folder_ / "list.txt",
      "p0/left.png p0/right.png\np1/left.png missing.png\ntext.png p1/right.png\np1/left.png p2/right.png\n");
  const std::string plan = "plan --list list.txt -o 'maps/{number}.pfm' --plan plan.json " + block_;
  const Outcome refused = run(plan);
  EXPECT_EQ(refused.status, 1);
  for (const char* part : {"pair 1 (p1/left.png)", "missing.png: No such file", "pair 2 (text.png)",
                           "not a picture", "pair 3 (p1/left.png)", "120×80", "3 of 4 pairs", "--skip"})
    EXPECT_TRUE(contains(refused.err, part)) << part << " in: " << refused.err;
  EXPECT_FALSE(fs::exists(folder_ / "plan.json"));
  const Outcome skipped = run(plan + "--skip");
  EXPECT_EQ(skipped.status, 0) << skipped.err;
  EXPECT_TRUE(contains(skipped.err, "pair 3"));
  EXPECT_EQ(head()["pairs"], 1);
  expect_refusal("plan --list list.txt -o 'm/{folder}.pfm' --plan p.json " + block_, 2,
                 {"one name", "{number}"});
  expect_refusal("plan p0/left.png p0/right.png --list list.txt -o m.pfm --plan p.json " + block_, 2,
                 {"--list", "leave out p0/left.png"});
  expect_refusal("plan --list list.txt --plan p.json " + block_, 2, {"give -o"});
  expect_refusal("plan --list list.txt -o 'm{x}.pfm' --plan p.json " + block_, 2, {"{x}"});
  expect_refusal("plan --list none.txt -o 'm{number}.pfm' --plan p.json " + block_, 1,
                 {"none.txt", "No such file"});
}

TEST_F(PlansTest, TheDeviceIsChosenWhereItRuns) {
  make_pairs({"96x64", "200x150"});
  plan(block_ + "--tile-size 120x150 --device cpu");
  const Outcome outcome = match("0-2", "--device reference --threads 1");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(lines_of(outcome.out).front()["device"], "reference");
  ASSERT_EQ(run("merge plan.json").status, 0);
  for (const char* name : {"p0", "p1"}) expect_map(name, block_);
  expect_refusal("match --plan plan.json --tile 0 --device tpu", 2, {"tpu"});
  fs::remove_all(folder_ / "maps");
  fs::remove_all(folder_ / "plan.json.tiles");
  const Outcome small = match("0", "--max-memory 10M");
  EXPECT_EQ(small.status, 1);
  EXPECT_TRUE(contains(small.err, "10.0 MiB are allowed: raise the limit")) << small.err;
}

TEST_F(PlansTest, PlansThatDoNotFitTogetherAreRefused) {
  make_pairs({"96x64", "200x150"});
  plan(block_ + "--tile-size 120x150");
  std::vector<ordered_json> lines;
  std::istringstream text(contents(folder_ / "plan.json"));
  for (std::string line; std::getline(text, line);) lines.push_back(ordered_json::parse(line));
  ASSERT_EQ(lines.size(), 5u);  // a head, two cuts, two pairs
  write_changed_plan(lines);
  EXPECT_EQ(contents(folder_ / "changed.json"), contents(folder_ / "plan.json"));
  const auto expect_refused = [&](const std::function<void(std::vector<ordered_json>&)>& change,
                                  const std::string& word) {
    std::vector<ordered_json> changed = lines;
    change(changed);
    write_changed_plan(changed);
    for (const std::string command : {"status changed.json", "match --plan changed.json --tile 1"})
      expect_refusal(command, 1, {"changed.json", word});
  };
  using Lines = std::vector<ordered_json>;
  expect_refused([](Lines& l) { l[4]["left"]["path"] = "../p1/left.png"; }, "not the path of a file");
  expect_refused([](Lines& l) { l[4]["output"] = "a/../../b.pfm"; }, "not the path of a file");
  expect_refused([](Lines& l) { l[4]["output"] = ""; }, "not the path of a file");
  expect_refused([](Lines& l) { l[4]["output"] = std::string("a\0b", 3); }, "not the path of a file");
  expect_refused([](Lines& l) { l[0]["folder"] = "../other"; }, "folder is not a name");
  expect_refused([](Lines& l) { l[0]["pairs"] = 3; }, "changed");
  expect_refused([](Lines& l) { l[0]["tiles"] = 4; }, "tiles of another");
  expect_refused([](Lines& l) { l[4]["tile"] = -1; }, "tiles of another");
  expect_refused([](Lines& l) { l[4]["cut"] = 2; }, "lacks a cut");
  expect_refused([](Lines& l) { l[4]["left"]["bytes"] = -1; }, "not an integer in range");
  expect_refused([](Lines& l) { l[4].erase("right"); }, "right");
  expect_refused([](Lines& l) { l[2]["columns"][1][0] = 0; }, "do not cover");
  expect_refused([](Lines& l) { l[2]["rows"][0][1] = 149; }, "do not cover");
  expect_refused([](Lines& l) { l[2]["columns"] = ordered_json::array(); }, "do not cover");
  expect_refused([](Lines& l) { l[2]["columns"][0][3] = 1000; }, "do not cover");
  expect_refused([](Lines& l) { l[2]["size"]["width"] = 0; }, "no pixels");
  expect_refused([](Lines& l) { l[2]["disparities"] = 0; }, "disparities");
  expect_refused([](Lines& l) { l[2]["at_once"] = 0; }, "not a number of anything");
}

TEST_F(PlansTest, RefusesNamesThatAreNotUtf8) {
  make_pairs({"96x64"});
  fs::rename(folder_ / "p0/left.png", folder_ / "p0/l\xFF.png");
  write(folder_ / "list.txt", "p0/l\xFF.png p0/right.png\n");
  const Outcome outcome = run("plan --list list.txt -o 'maps/{number}.pfm' --plan plan.json " + block_);
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(contains(outcome.err, "not UTF-8")) << outcome.err;
}

}  // namespace
}  // namespace parallax::test
