// SPDX-License-Identifier: Apache-2.0
// 'parallax batch': the results of single pairs, and failures in a list of many.

#include <chrono>
#include <thread>

#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <sys/stat.h>

#include "support.h"
#include "tools/sequence_fixture.h"

namespace parallax::test {
namespace {

using nlohmann::json;

const std::string block = " --method block --disparities 16 ";

class BatchTest : public SequenceTest {
 protected:
  // Makes a pair whose pictures are scaled to a size, in its own folder.
  void make(const std::string& folder, const std::string& extension, Size size, int channels = 1,
            BitDepth depth = BitDepth::bits8) {
    fs::create_directories(folder_ / folder);
    const auto [left, right] = frame_pictures(static_cast<int>(folder.front()));
    const auto save_scaled = [&](const std::string& name, const Picture& picture) {
      save(folder + name + extension, make_picture(size, channels, depth, [&](int x, int y, int channel) {
             const unsigned value = value_at(picture, x % 64, y % 48, channel);
             return depth == BitDepth::bits8 ? value : 5 * value;
           }));
    };
    save_scaled("/left", left);
    save_scaled("/right", right);
  }

  // Pairs a to f, of several sizes, depths and formats.
  std::string make_mixed_list() {
    make("a", ".png", {64, 48});
    make("b", ".ppm", {90, 31}, 3);
    make("c", ".png", {64, 48}, 1, BitDepth::bits16);
    make("d", ".tiff", {33, 70}, 3);
    make("e", ".jpg", {64, 48}, 3);
    make("f", ".webp", {64, 48}, 3);
    write(folder_ / "list.txt", lines("a.png b.ppm c.png d.tiff e.jpg f.webp"));
    return "batch list.txt" + block;
  }

  // Lines of a list: the word a.png stands for a/left.png a/right.png.
  static std::string lines(const std::string& words) {
    std::istringstream stream(words);
    std::string text;
    for (std::string word; stream >> word;)
      text += word.substr(0, 1) + "/left" + word.substr(1) + " " + word.substr(0, 1) + "/right" +
              word.substr(1) + "\n";
    return text;
  }

  std::vector<json> rows(const std::string& name = "results.jsonl") const {
    std::vector<json> rows;
    std::istringstream text(contents(folder_ / name));
    for (std::string line; std::getline(text, line);) rows.push_back(json::parse(line));
    return rows;
  }
  static std::string statuses(const std::vector<json>& rows) {
    std::string text;
    for (const json& row : rows) text += std::string(row["status"]) + " ";
    return text;
  }

  // The map of one pair, made by 'parallax match'.
  std::string map_of(const std::string& word, const std::string& more = block) const {
    std::string line = lines(word);
    line.pop_back();
    const Outcome outcome = run("match " + line + more + "-o one.pfm");
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return contents(folder_ / "one.pfm");
  }

  // No temporary file is left.
  void expect_nothing_half_written() const {
    for (const auto& entry : fs::recursive_directory_iterator(folder_))
      EXPECT_FALSE(entry.path().filename().string().starts_with(".parallax")) << entry.path();
  }
};

TEST_F(BatchTest, PairsOfAnySizeAndDepthGiveTheBytesOfMatch) {
  const std::string batch = make_mixed_list();
  for (const std::string threads : {"--threads 1 ", "--threads 2 "}) {
    const Outcome outcome =
        run(batch + threads + "-o out/{folder}.pfm --image {folder}.png --results results.jsonl --json");
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    const auto table = rows();
    ASSERT_EQ(table.size(), 6u);
    for (const std::string word : {"a.png", "b.ppm", "c.png", "d.tiff", "e.jpg", "f.webp"}) {
      const std::string name = word.substr(0, 1);
      const json& row = table[static_cast<std::size_t>(name[0] - 'a')];
      EXPECT_TRUE(contents(folder_ / ("out/" + name + ".pfm")) == map_of(word)) << word;
      EXPECT_EQ(row["number"], name[0] - 'a');
      EXPECT_EQ(row["output"], "out/" + name + ".pfm");
      EXPECT_EQ(row["status"], "ok");
      EXPECT_EQ(row["device"], "cpu");
      EXPECT_GT(row["match_ms"], 0);
    }
    run("match b/left.ppm b/right.ppm" + block + "--image one.png");
    EXPECT_TRUE(contents(folder_ / "b.png") == contents(folder_ / "one.png"));
    EXPECT_EQ(table[1]["width"], 90);
    EXPECT_EQ(table[3]["height"], 70);
    const json report = json::parse(outcome.out);
    EXPECT_EQ(report["pairs"], 6);
    EXPECT_EQ(report["matched"], 6);
    EXPECT_EQ(report["failed"].size(), 0u);
    EXPECT_GT(report["pairs_per_second"], 0);
  }
  for (const std::string method : {"census", "bp", "sgm"}) {
    const std::string more = " --method " + method + " --disparities 16 ";
    ASSERT_EQ(run("batch list.txt" + more + "-o {folder}.pfm").status, 0);
    for (const std::string word : {"a.png", "c.png", "d.tiff"})
      EXPECT_TRUE(contents(folder_ / (word.substr(0, 1) + ".pfm")) == map_of(word, more)) << method << word;
  }
}

TEST_F(BatchTest, TheRangeIsThatOfEachPair) {
  make("a", ".png", {64, 48});
  make("b", ".png", {20, 20});
  write(folder_ / "list.jsonl",
        R"({"left": "a/left.png", "right": "a/right.png", "disparities": 9, "min_disparity": -2})"
        "\n"
        R"({"left": "b/left.png", "right": "b/right.png"})"
        "\n");
  ASSERT_EQ(run("batch list.jsonl --method block -o {folder}.pfm").status, 0);
  EXPECT_TRUE(contents(folder_ / "a.pfm") ==
              map_of("a.png", " --method block --disparities 9 --min-disparity -2 "));
  EXPECT_TRUE(contents(folder_ / "b.pfm") == map_of("b.png", " --method block "));
}

TEST_F(BatchTest, TruthGivesTheErrorsOfEval) {
  make_pair();
  write(folder_ / "list.jsonl",
        R"({"left": "pair/left.png", "right": "pair/right.png", "truth": "pair/disp0GT.pfm"})"
        "\n");
  ASSERT_EQ(run("batch list.jsonl" + block + "-o out.pfm --results r.jsonl").status, 0);
  const Outcome eval = run("eval out.pfm pair/disp0GT.pfm --json");
  ASSERT_EQ(eval.status, 0) << eval.err;
  const json row = rows("r.jsonl").front(), expected = json::parse(eval.out);
  for (const char* name : {"bad0.5", "bad1", "bad2", "avgerr", "rms", "d1", "coverage"}) {
    EXPECT_TRUE(row.contains(name)) << name;
    EXPECT_EQ(row[name], expected[name]) << name;
  }
  EXPECT_EQ(row["valid"], row["coverage"]);
}

TEST_F(BatchTest, BrokenPairsAreNamedAndTheRestIsDone) {
  make_mixed_list();
  write(folder_ / "broken.png", contents(folder_ / "a/left.png").substr(0, 200));
  ASSERT_EQ(::mkfifo((folder_ / "pipe.png").c_str(), 0600), 0);
  make("n", ".png", {10, 48});
  const std::string right = " a/right.png\n";
  write(folder_ / "list.txt", lines("a.png") + "none.png" + right + "broken.png" + right + "text.png" +
                                  right + "empty.png" + right + "b/left.ppm" + right + "pipe.png" + right +
                                  "c" + right + lines("n.png e.jpg"));
  const Outcome outcome =
      run("batch list.txt" + block + "-o out/{number}.pfm --results results.jsonl --json");
  EXPECT_EQ(outcome.status, 1);
  const std::vector<std::vector<std::string>> reasons{{"none.png", "No such file"},
                                                      {"broken.png", "is damaged"},
                                                      {"text.png", "not a picture"},
                                                      {"empty.png", "is empty"},
                                                      {"b/left.ppm is 90×31", "a/right.png is 64×48"},
                                                      {"pipe.png is a pipe"},
                                                      {"(c)"},
                                                      {"10 pixels wide"}};
  std::istringstream messages(outcome.err);
  const auto table = rows();
  const json report = json::parse(outcome.out);
  ASSERT_EQ(report["failed"].size(), reasons.size());
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    std::string line;
    std::getline(messages, line);
    EXPECT_TRUE(line.starts_with("parallax: pair " + std::to_string(i + 1) + " (")) << line;
    for (const std::string& word : reasons[i]) EXPECT_TRUE(contains(line, word)) << word << " in " << line;
    EXPECT_EQ(table[i + 1]["status"], "failed");
    EXPECT_TRUE(contains(line, std::string(table[i + 1]["reason"])));
    EXPECT_EQ(report["failed"][i]["number"], i + 1);
    EXPECT_FALSE(exists("out/00000" + std::to_string(i + 1) + ".pfm"));
  }
  EXPECT_TRUE(messages.peek() == EOF) << outcome.err;
  EXPECT_TRUE(contents(folder_ / "out/000000.pfm") == map_of("a.png"));
  EXPECT_TRUE(contents(folder_ / "out/000009.pfm") == map_of("e.jpg"));
}

TEST_F(BatchTest, StopsAtTheFirstErrorIfTold) {
  make("a", ".png", {64, 48});
  std::string list = lines("a.png") + "none.png none.png\n";
  for (int i = 0; i < 1000; ++i) list += lines("a.png");
  write(folder_ / "list.txt", list);
  const Outcome outcome =
      run("batch list.txt" + block + "-o out/{number}.pfm --results results.jsonl --stop-on-error");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(contains(outcome.err, "pair 1 (none.png): cannot read")) << outcome.err;
  EXPECT_TRUE(exists("out/000000.pfm"));
  EXPECT_FALSE(exists("out/001001.pfm"));
  const auto table = rows();
  EXPECT_LT(table.size(), 1000u);
  EXPECT_EQ(table[0]["status"], "ok");
  EXPECT_EQ(table[1]["status"], "failed");
}

TEST_F(BatchTest, RefusesWhatMakesNoSenseBeforeWorkBegins) {
  make_mixed_list();
  run("devices");
  const auto before = files();
  const std::string batch = "batch list.txt" + block;
  expect_refusal(batch + "-o out/", 2,
                 {"pair 0 (a/left.png)", "pair 1 (b/left.ppm)", "out/left.pfm", "{folder}"});
  expect_refusal(batch + "-o one.pfm", 2, {"pair 0", "pair 1", "one.pfm", "{number}"});
  expect_refusal(batch + "-o {folder}/left.png", 2, {"a/left.png is also read by this command"});
  expect_refusal(batch + "-o {folder}.png --image ./{folder}.png", 2, {"a.png", "written by this command"});
  expect_refusal(batch + "-o {flder}.png", 2, {"{flder}", "{folder}"});
  expect_refusal(batch + "-o {folder}.bmp", 2, {"{folder}.bmp", ".pfm"});
  expect_refusal(batch + "--image {folder}.pfm", 2, {"--image", ".png"});
  expect_refusal(batch + "--confidence {folder}.png", 2, {"--confidence", ".tiff"});
  expect_refusal(batch + "--results list.txt", 2, {"list.txt", ".csv or .jsonl"});
  expect_refusal("batch none.txt", 1, {"none.txt", "No such file"});
  expect_refusal("batch a", 2, {"a is not a list", "RIGHT"});
  expect_refusal("batch a/left.png", 2, {"a/left.png is not a list", "RIGHT"});
  expect_refusal("batch", 2, {"LIST"});
  expect_refusal(batch + "--resume -o {folder}.pfm", 2, {"--resume", "--results"});
  expect_refusal(batch + "--resume --results r.csv", 2, {"--resume", "-o"});
  expect_refusal(batch + "--device gpu", 2, {"gpu"});
  expect_refusal(batch + "--max-memory 1M", 1, {"--max-memory"});
  write(folder_ / "l.jsonl", lines("a.png"));
  expect_refusal("batch l.jsonl", 1, {"l.jsonl: line 1 is not a JSON object"});
  fs::remove(folder_ / "l.jsonl");
  fs::copy(folder_ / "list.txt", folder_ / "list.csv");
  expect_refusal("batch list.csv -o {folder}.pfm --results list.csv", 2, {"list.csv is also read"});
  fs::remove(folder_ / "list.csv");
  EXPECT_EQ(files(), before);
}

TEST_F(BatchTest, WhatCannotBeginLeavesTheTableOfAnEarlierBatch) {
  make("a", ".png", {64, 48});
  write(folder_ / "list.txt", lines("a.png"));
  const std::string batch = "batch list.txt" + block + "-o {folder}.pfm --results r.csv ";
  ASSERT_EQ(run(batch).status, 0);
  const std::string table = contents(folder_ / "r.csv");
  expect_refusal(batch + "--max-memory 1M", 1, {"--max-memory"});
  EXPECT_EQ(contents(folder_ / "r.csv"), table);
  // An input is not taken for a table.
  const std::string list = R"({"left": "a/left.png", "right": "a/right.png", "calib": "r.csv"})";
  write(folder_ / "list.jsonl", list);
  expect_refusal("batch list.jsonl" + block + "--results r.csv", 2, {"r.csv is also read by this command"});
  EXPECT_EQ(contents(folder_ / "r.csv"), table);
}

TEST_F(BatchTest, APairTooLargeForTheMemoryIsNamed) {
  make("a", ".png", {64, 48});
  make("b", ".png", {1200, 900});
  write(folder_ / "list.txt", lines("a.png b.png a.png"));
  const Outcome outcome = run("batch list.txt" + block + "-o {number}.pfm --max-memory 90M");
  EXPECT_EQ(outcome.status, 1);
  for (const char* word : {"pair 1 (b/left.png)", "--max-memory", "'parallax match'"})
    EXPECT_TRUE(contains(outcome.err, word)) << outcome.err;
  EXPECT_TRUE(exists("000002.pfm"));
  // Its matcher takes more than its pictures.
  const Outcome matcher =
      run("batch list.txt --method bp --disparities 256 -o {number}.pfm --max-memory 200M");
  EXPECT_EQ(matcher.status, 1);
  for (const char* word : {"pair 1 (b/left.png)", "'parallax match'"})
    EXPECT_TRUE(contains(matcher.err, word)) << matcher.err;
}

TEST_F(BatchTest, StopsWhenItCannotWrite) {
  make("a", ".png", {64, 48});
  write(folder_ / "list.txt", lines("a.png a.png a.png"));
  run("devices");
  const auto before = files();
  const std::string batch = "batch list.txt" + block;
  expect_refusal(batch + "-o {number}.pfm", 1, {".pfm", "File too large"}, "ulimit -f 8;");
  expect_refusal(batch + "-o text.png/{number}.pfm", 1, {"cannot make folder text.png"});
  expect_refusal(batch + "--results nowhere/r.csv", 1, {"nowhere/r.csv", "No such file"});
  EXPECT_EQ(files(), before);
}

TEST_F(BatchTest, AFullDiskMayPass) {
  make("a", ".png", {64, 48});
  write(folder_ / "list.txt", lines("a.png a.png a.png"));
  fs::create_symlink("/dev/full", folder_ / "000001.pfm");
  const std::string batch = "batch list.txt" + block;
  expect_refusal(batch + "-o {number}.pfm --results r.jsonl", 75,
                 {"000001.pfm", "No space left", "r.jsonl", "--resume"});
  const auto table = rows("r.jsonl");
  EXPECT_LE(table.size(), 2u);
  for (const json& row : table) EXPECT_TRUE(exists(row["output"])) << row;
  expect_nothing_half_written();
  fs::create_symlink("/dev/full", folder_ / "full.csv");
  expect_refusal(batch + "--results full.csv", 75, {"full.csv", "No space left"});
}

// Whether the table has a row; false if the process ended first.
bool wait_for_a_row(const fs::path& table, Background& process) {
  while (!contains(contents(table), "\n"))
    if (process.has_ended())
      return false;
    else
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return true;
}

TEST_F(BatchTest, WhatIsDoneIsKeptWhenASignalEndsIt) {
  make("a", ".png", {64, 48});
  make("b", ".png", {70, 40});
  std::string list;
  for (int i = 0; i < 5000; ++i) list += lines("a.png b.png");
  for (const int signal : {SIGINT, SIGTERM, SIGKILL}) {
    write(folder_ / "list.txt", list);
    const std::vector<std::string> words{"batch", "list.txt",  "--method",      "bp", "--disparities",
                                         "16",    "--results", "results.jsonl", "-o", "out/{number}.pfm"};
    Background batch(folder_, words);
    ASSERT_TRUE(wait_for_a_row(folder_ / "results.jsonl", batch));
    batch.send(signal);
    EXPECT_EQ(batch.wait(), 128 + signal);
    const std::string text = contents(folder_ / "results.jsonl");
    const auto table = rows();
    ASSERT_GE(table.size(), 1u);
    EXPECT_LT(table.size(), 10'000u);
    EXPECT_TRUE(text.ends_with('\n'));
    for (const json& row : table) EXPECT_TRUE(exists(row["output"])) << row;
    if (signal == SIGKILL) continue;
    expect_nothing_half_written();
    EXPECT_TRUE(contains(contents(folder_ / "background.txt"), "--resume"));

    // The remaining pairs, in a shorter list.
    write(folder_ / "list.txt", list.substr(0, lines("a.png b.png").size() * (table.size() / 2 + 2)));
    const std::string again =
        "batch list.txt --method bp --disparities 16 --results results.jsonl -o out/{number}.pfm";
    const Outcome rest = run(again + " --resume --json");
    ASSERT_EQ(rest.status, 0) << rest.err;
    const json report = json::parse(rest.out);
    EXPECT_GE(report["reused"], table.size() / 2);
    EXPECT_EQ(static_cast<int>(report["reused"]) + static_cast<int>(report["matched"]), report["pairs"]);
    const auto whole = rows();
    ASSERT_EQ(whole.size(), report["pairs"]);
    for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_EQ(whole[i]["number"], i);
    fs::remove_all(folder_ / "out");
    fs::remove(folder_ / "results.jsonl");
  }
}

TEST_F(BatchTest, ResumesByContent) {
  make_mixed_list();
  const std::string begin = "batch list.txt --method block ";
  for (const std::string table : {"r.jsonl", "r.csv"}) {
    make_mixed_list();
    const std::string batch = begin + "-o {folder}.pfm --results " + table + " ";
    ASSERT_EQ(run(batch + "--disparities 16").status, 0);
    const std::string fresh = contents(folder_ / table), map = contents(folder_ / "c.pfm");
    const auto matched = [&](const std::string& more = "--disparities 16") {
      const Outcome outcome = run(batch + "--resume --json " + more);
      EXPECT_EQ(outcome.status, 0) << outcome.err;
      const json report = json::parse(outcome.out);
      EXPECT_EQ(static_cast<int>(report["reused"]) + static_cast<int>(report["matched"]), 6);
      const std::string text = contents(folder_ / table);
      EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), std::count(fresh.begin(), fresh.end(), '\n'))
          << text;
      return static_cast<int>(report["matched"]);
    };
    const auto time = fs::last_write_time(folder_ / "c.pfm");
    EXPECT_EQ(matched(), 0);
    EXPECT_EQ(fs::last_write_time(folder_ / "c.pfm"), time);
    // A damaged output, a missing one, and a copy whose time was changed.
    write(folder_ / "c.pfm", map.substr(0, map.size() - 1) + "x");
    EXPECT_EQ(matched(), 1);
    EXPECT_TRUE(contents(folder_ / "c.pfm") == map);
    fs::remove(folder_ / "a.pfm");
    write(folder_ / "c.pfm", map);
    EXPECT_EQ(matched(), 1);
    // An input with different content of the same length.
    std::string picture = contents(folder_ / "b/right.ppm");
    picture[picture.size() / 2] ^= 1;
    write(folder_ / "b/right.ppm", picture);
    EXPECT_EQ(matched(), 1);
    EXPECT_EQ(matched(), 0);
    // Other parameters, further outputs, and none of these.
    EXPECT_EQ(matched("--disparities 15"), 6);
    EXPECT_EQ(matched("--disparities 15 --threads 2"), 0);
    EXPECT_EQ(matched("--disparities 15 --image {folder}.png"), 6);
    // Another order of the list.
    const std::string more = "--disparities 15 --image {folder}.png";
    write(folder_ / "list.txt", lines("f.webp e.jpg d.tiff c.png b.ppm a.png"));
    EXPECT_EQ(matched(more), 0);
    if (table == "r.jsonl")
      for (std::size_t i = 0; i < 6; ++i) {
        EXPECT_EQ(rows(table)[i]["number"], i);
        EXPECT_EQ(rows(table)[i]["output"], std::string(1, "fedcba"[i]) + ".pfm");
      }
    // A row that was cut short.
    const std::string text = contents(folder_ / table);
    write(folder_ / table, text.substr(0, text.size() - 10));
    EXPECT_EQ(matched(more), 1);
    // Without --resume, all pairs are matched again.
    ASSERT_EQ(run(batch + "--disparities 15").status, 0);
    EXPECT_FALSE(contains(contents(folder_ / table), "reused"));
  }
}

TEST_F(BatchTest, DoesNotContinueWhatIsNoTable) {
  const std::string batch = make_mixed_list() + "-o {folder}.pfm --resume ";
  write(folder_ / "r.csv", "my,own,figures\n1,2,3\n");
  write(folder_ / "r.jsonl", "{\"mine\": 1}\n");
  expect_refusal(batch + "--results r.csv", 1, {"r.csv has other columns"});
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  write(folder_ / "deep.jsonl", "{\"number\": 0, \"output\": \"a.pfm\", \"seconds\": " + deep + "}\n");
  expect_refusal(batch + "--results deep.jsonl", 1, {"deep.jsonl is not a table of a batch"});
  expect_refusal(batch + "--results r.jsonl", 1, {"r.jsonl is not a table of a batch"});
  EXPECT_EQ(contents(folder_ / "r.csv"), "my,own,figures\n1,2,3\n");
}

// Both wrote, and the table had up to twice as many lines as pairs.
TEST_F(BatchTest, OnlyOneBatchWritesATable) {
  const std::string batch = make_mixed_list() + "-o {folder}.pfm --results r.jsonl";
  const int held = ::open((folder_ / "r.jsonl").c_str(), O_WRONLY | O_CREAT, 0666);
  ASSERT_GE(held, 0);
  ASSERT_EQ(::flock(held, LOCK_EX), 0);
  for (const char* resume : {"", " --resume"})
    expect_refusal(batch + resume, 75, {"r.jsonl: another process is writing it", "--results"});
  EXPECT_EQ(contents(folder_ / "r.jsonl"), "");
  ::close(held);
  EXPECT_EQ(run(batch).status, 0);
  EXPECT_EQ(rows("r.jsonl").size(), 6u);
}

TEST_F(BatchTest, NamesThatAreNotUtf8AreResumed) {
  make("a", ".png", {64, 48});
  fs::rename(folder_ / "a", folder_ / "a\xff");
  write(folder_ / "list.txt", "a\xff/left.png a\xff/right.png\n");
  for (const std::string table : {"r.jsonl", "r.csv"}) {
    const std::string batch = "batch list.txt" + block + "-o {folder}.pfm --results " + table;
    ASSERT_EQ(run(batch).status, 0);
    const Outcome again = run(batch + " --resume");
    EXPECT_TRUE(contains(again.err, "1 done before")) << table << again.err;
  }
}

TEST_F(BatchTest, NamesInTheTableMayHaveAnyCharacter) {
  make("a", ".png", {64, 48});
  fs::rename(folder_ / "a", folder_ / "a, \"b\"\nc");
  write(folder_ / "list.jsonl", R"({"left": "a, \"b\"\nc/left.png", "right": "a, \"b\"\nc/right.png"})"
                                "\n");
  const std::string batch = "batch list.jsonl" + block + "-o {folder}.pfm --results r.csv ";
  ASSERT_EQ(run(batch).status, 0);
  EXPECT_TRUE(contains(contents(folder_ / "r.csv"), "\"a, \"\"b\"\"\nc/left.png\""))
      << contents(folder_ / "r.csv");
  const Outcome again = run(batch + "--resume");
  EXPECT_TRUE(contains(again.err, "1 done before")) << again.err;
}

TEST_F(BatchTest, TakesFoldersAndWildcards) {
  make_folders(3);
  ASSERT_EQ(run("batch l r" + block + "-o d/").status, 0);
  ASSERT_EQ(run("batch 'l/*.ppm' 'r/*.ppm'" + block + "-o w/").status, 0);
  const std::string expected = match_pair("l/2.ppm", "r/2.ppm").first;
  EXPECT_TRUE(contents(folder_ / "d/2.pfm") == expected);
  EXPECT_TRUE(contents(folder_ / "w/2.pfm") == expected);
}

}  // namespace
}  // namespace parallax::test
