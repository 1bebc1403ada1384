// SPDX-License-Identifier: Apache-2.0
// Lists of pairs, and the names of their outputs.

#include "tools/jobs/pair_list.h"

#include <functional>

#include "support.h"
#include "tools/command/command.h"
#include "tools/command_fixture.h"

namespace parallax::test {
namespace {

using tool::CommandFiles;
using tool::ListedPair;
using tool::OutputPattern;

class PairListTest : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::vector<ListedPair> list(const std::string& text, const std::string& name = "list.txt") const {
    write(folder_ / name, text);
    return tool::list_pairs(path(name), "");
  }
  void touch(const std::string& name) const {
    fs::create_directories((folder_ / name).parent_path());
    write(folder_ / name, "");
  }

  const TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
};

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "no error";
}

TEST_F(PairListTest, LinesHaveTwoNamesRelativeToTheList) {
  const auto pairs =
      list("# left right\na/l.png   a/r.png\r\n\n  \nwith blank/l.png\twith blank/r.png\n/l.png r.png");
  ASSERT_EQ(pairs.size(), 3u);
  EXPECT_EQ(pairs[0].left, path("a/l.png"));
  EXPECT_EQ(pairs[0].right, path("a/r.png"));
  EXPECT_EQ(pairs[1].left, path("with blank/l.png"));
  EXPECT_EQ(pairs[1].right, path("with blank/r.png"));
  EXPECT_EQ(pairs[2].left, "/l.png");
  for (std::size_t i = 0; i < pairs.size(); ++i) EXPECT_EQ(pairs[i].number, i);
}

TEST_F(PairListTest, ObjectsMayHaveMore) {
  const auto pairs = list(
      "{\"left\": \"l\", \"right\": \"r\", \"truth\": \"t.pfm\", \"calib\": \"/c.txt\", \"left_mask\": "
      "\"m\", "
      "\"right_mask\": \"n\", \"min_disparity\": -3, \"disparities\": 40}\n\n{\"left\": \"#l\", \"right\": "
      "\"r\"}\n",
      "list.jsonl");
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_EQ(pairs[0].left, path("l"));
  EXPECT_EQ(pairs[0].truth, path("t.pfm"));
  EXPECT_EQ(pairs[0].calibration, "/c.txt");
  EXPECT_EQ(pairs[0].left_mask, path("m"));
  EXPECT_EQ(pairs[0].right_mask, path("n"));
  EXPECT_EQ(pairs[0].min_disparity, -3);
  EXPECT_EQ(pairs[0].disparities, 40);
  EXPECT_EQ(pairs[1].left, path("#l"));
  EXPECT_EQ(pairs[1].truth, "");
  EXPECT_FALSE(pairs[1].disparities);
}

TEST_F(PairListTest, NamesTheLineThatIsWrong) {
  const auto error = [&](const std::string& text, const std::string& name = "list.txt") {
    return message_of([&] { list(text, name); });
  };
  EXPECT_TRUE(contains(error("a b\n\n# x\na b c\n"), "list.txt: line 4 has 3 words"));
  EXPECT_TRUE(contains(error("a"), "line 1 has 1 words"));
  EXPECT_TRUE(contains(error("a\t\n"), "line 1 has 1 words"));
  EXPECT_TRUE(contains(error("# nothing\n"), "list.txt has no pairs"));
  EXPECT_TRUE(contains(error("{\"left\": \"a\"\n", "l.jsonl"), "l.jsonl: line 1 is not a JSON object"));
  EXPECT_TRUE(contains(error("[]", "l.jsonl"), "line 1 is not a JSON object"));
  EXPECT_TRUE(contains(error("a b", "l.jsonl"), "line 1 is not a JSON object"));
  EXPECT_TRUE(contains(error("{\"left\": " + std::string(100, '[') + std::string(100, ']') + "}"),
                       "list.txt: line 1 is nested more than 100 levels deep"));
  EXPECT_TRUE(contains(error("{\"left\": \"a\"}"), "line 1 lacks a picture"));
  EXPECT_TRUE(contains(error("{\"left\": \"a\", \"right\": 1}"), "'right' that is not a string"));
  EXPECT_TRUE(contains(error("{\"left\": \"a\", \"right\": \"b\", \"disparities\": 1.5}"),
                       "'disparities' that is not"));
  EXPECT_TRUE(contains(error("{\"left\": \"a\", \"right\": \"b\", \"disparities\": 1e99}"),
                       "'disparities' that is not"));
  EXPECT_TRUE(
      contains(error("{\"left\": \"a\", \"right\": \"b\", \"mask\": \"c\"}"), "'mask': known are left"));
  EXPECT_TRUE(contains(message_of([&] { tool::list_pairs(path("none.txt"), ""); }), "No such file"));
  EXPECT_TRUE(contains(message_of([&] { tool::list_pairs(folder_.string(), ""); }), "give RIGHT"));
}

TEST_F(PairListTest, TakesFoldersPatternsAndWildcards) {
  for (const char* name : {"l/1.png", "l/10.png", "l/9.png", "r/1.png", "r/9.png", "r/10.png"}) touch(name);
  for (const auto& [left, right] : {std::pair{"l", "r"}, {"l/%d.png", "r/%d.png"}, {"l/*.png", "r/*.png"}}) {
    const auto pairs = tool::list_pairs(path(left), path(right));
    ASSERT_EQ(pairs.size(), 3u) << left;
    EXPECT_EQ(pairs[1].left, path("l/9.png"));
    EXPECT_EQ(pairs[2].right, path("r/10.png"));
    EXPECT_EQ(pairs[2].number, 2u);
  }
  const auto one = tool::list_pairs(path("l/1.png"), path("r/9.png"));
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].right, path("r/9.png"));
}

TEST_F(PairListTest, WildcardsArePairedByWhatTheyStandFor) {
  for (const char* name : {"a/im0.png", "a/im1.png", "b/im0.png", "b/im1.png", "c/im0.png"}) touch(name);
  const auto list = [&](const std::string& left, const std::string& right) {
    return tool::list_pairs(path(left), path(right));
  };
  EXPECT_TRUE(contains(message_of([&] { list("*/im0.png", "*/im1.png"); }), "contains 3 pictures"));
  EXPECT_TRUE(contains(message_of([&] { list("*/im9.png", "*/im1.png"); }), "no file matches"));
  EXPECT_TRUE(contains(message_of([&] { list("*/im0.png", "a"); }), "two of the same kind"));
  touch("d/im1.png");
  EXPECT_TRUE(contains(message_of([&] { list("*/im0.png", "*/im1.png"); }), "has no c"));
  touch("c/im1.png");
  touch("d/im0.png");
  const auto pairs = list("*/im0.png", "*/im1.png");
  ASSERT_EQ(pairs.size(), 4u);
  EXPECT_EQ(pairs[3].left, path("d/im0.png"));
  EXPECT_EQ(pairs[3].right, path("d/im1.png"));
}

ListedPair pair_of(std::size_t number, const std::string& left) {
  ListedPair pair;
  pair.number = number;
  pair.left = left;
  pair.right = left + ".right";
  return pair;
}

TEST_F(PairListTest, OutputsAreNamedAfterPairs) {
  const ListedPair pair = pair_of(12, "/data/scene/im0.x.png");
  const auto name = [&](const std::string& text) { return OutputPattern("-o", text, ".pfm").of(pair); };
  EXPECT_EQ(name("out/{folder}/{number}-{name}.tiff"), "out/scene/000012-im0.x.tiff");
  EXPECT_EQ(name("new/"), "new/im0.x.pfm");
  EXPECT_EQ(name(folder_.string()), path("im0.x.pfm"));
  EXPECT_EQ(name("{folder}/"), "scene/im0.x.pfm");
  EXPECT_EQ(name(""), "");
  EXPECT_EQ(name("all.pfm"), "all.pfm");
  EXPECT_EQ(OutputPattern("-o", "{folder}.pfm", "").of(pair_of(0, "a/b/../im0.png")), "a.pfm");
  for (const char* text : {"{nmae}.pfm", "{name.pfm", "{}.pfm", "{{name}}.pfm"})
    EXPECT_THROW(OutputPattern("-o", text, ".pfm"), tool::UsageError) << text;
}

TEST_F(PairListTest, RefusesOutputsThatCollide) {
  touch("a/im0.png");
  const std::vector<ListedPair> pairs{pair_of(0, path("a/im0.png")), pair_of(1, path("b/im0.png"))};
  const auto check = [&](const std::vector<std::string>& texts) {
    return message_of([&] {
      std::vector<OutputPattern> outputs;
      for (const std::string& text : texts) outputs.emplace_back("-o", path(text), ".png");
      CommandFiles files;
      tool::check_names(pairs, outputs, files);
    });
  };
  EXPECT_EQ(check({"{number}.pfm", "{folder}/{name}.pfm"}), "no error");
  const std::string same = check({"{name}.pfm"});
  for (const std::string& word :
       {"pair 0 (" + path("a/im0.png"), "pair 1 (" + path("b/im0.png"), path("im0.pfm")})
    EXPECT_TRUE(contains(same, word)) << same;
  EXPECT_TRUE(contains(check({"{number}.png", "./{number}.png"}), "written by this command"));
  EXPECT_TRUE(contains(check({"{folder}/{name}.png"}), "a/im0.png is also read"));
  fs::create_symlink(folder_ / "a", folder_ / "link");
  fs::create_symlink(folder_ / "a/im0.png", folder_ / "000001.tiff");
  const std::string linked = check({"{number}.tiff"});
  EXPECT_TRUE(contains(linked, "would overwrite " + path("a/im0.png"))) << linked;
}

}  // namespace
}  // namespace parallax::test
