// SPDX-License-Identifier: Apache-2.0
// `parallax bench --suite papers` on generated data: small pairs with the names of the papers' pairs.

#include <map>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "parallax/formats.h"
#include "parallax/synth.h"

#include "benchmarks/papers/data.h"
#include "benchmarks/papers/run.h"
#include "tools/command_fixture.h"
#include "tools/files/pictures/codecs.h"
#include "tools/parallax/papers_pairs.h"
#include "tools/picture_files.h"

namespace parallax::test {
namespace {

constexpr Size size{64, 48};

Picture matrix(Size extent, const std::function<int(int x, int y)>& value) {
  return make_picture(extent, 1, BitDepth::bits8,
                      [&](int x, int y, int) { return static_cast<unsigned>(value(x, y)); });
}

void write_png(const fs::path& path, const Picture& picture) {
  fs::create_directories(path.parent_path());
  write_file(path.string(), tool::encode_png(picture.view()));
}

class PapersTest : public CommandTest {
 protected:
  PapersTest() : pair_(synthesize({.size = size, .disparities = 8})) {
    for (const tool::PapersPair& pair : tool::papers_pairs) {
      const fs::path folder = data() / "papers" / pair.name;
      write_pictures(folder / "left.png", folder / "right.png");
      write_png(folder / "truth.png", matrix(size, [&](int x, int y) {
                  return static_cast<int>(std::max(1.f, pair_.left_truth.at(x, y))) * pair.truth_scale;
                }));
    }
    const fs::path tsukuba = data() / "middlebury2003" / "tsukuba";
    write_pictures(tsukuba / "left.png", tsukuba / "right.png");
    write_png(data() / "papers" / "memocode2013-tsukuba" / "truth-labels.png",
              matrix({size.width - 36, size.height - 36}, [&](int x, int y) { return label(x, y); }));
  }

  fs::path data() const { return folder_ / "data"; }

  // The true label of a pixel that the contest counts.
  int label(int x, int y) const { return static_cast<int>(pair_.left_truth.at(x + 18, y + 18)); }

  void write_pictures(const fs::path& left, const fs::path& right) const {
    write_png(left, matrix(size, [&](int x, int y) { return pair_.left.at(3 * x, y); }));
    write_png(right, matrix(size, [&](int x, int y) { return pair_.right.at(3 * x, y); }));
  }

  // The second pair of the contest, in the files of its package.
  void write_red_barrel(int labels) const {
    const fs::path folder = data() / "memocode2013";
    write_pictures(folder / "Left.png", folder / "Right.png");
    std::string text = std::to_string((size.width - 36) * (size.height - 36)) + "\n";
    for (int i = 0; i < labels; ++i)
      text += std::to_string(label(i % (size.width - 36), i / (size.width - 36))) + "\n";
    write(folder / "ground_truth_labels.txt", text);
  }

  Outcome bench(const std::string& arguments) const {
    return run("bench --suite papers --data data --seconds-per-row 0 --threads 2 " + arguments);
  }

  nlohmann::json results(const std::string& file = "p.json") const {
    return nlohmann::json::parse(contents(folder_ / file))["results"];
  }

  SynthPair pair_;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      cells.emplace_back();
    else
      cells.back() += c;
  }
  return cells;
}

std::string text_of(const nlohmann::json& value) {
  return value.is_null() ? "" : value.is_string() ? value.get<std::string>() : value.dump();
}

TEST_F(PapersTest, EveryTableIsThereInAllFormsAlike) {
  const Outcome outcome =
      bench("--device reference,cpu --json p.json --csv p.csv --markdown p.md --plots plots");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  const std::string markdown = contents(folder_ / "p.md");
  EXPECT_EQ(outcome.out, markdown + "\n");

  EXPECT_EQ(nlohmann::json::parse(contents(folder_ / "p.json"))["papers"].size(), 5u);
  const nlohmann::json rows = results();
  const std::vector<std::string> csv = lines_of(contents(folder_ / "p.csv"));
  ASSERT_EQ(csv.size(), rows.size() + 1);
  const std::vector<std::string> keys = cells_of(csv[0]);
  std::map<std::string, int> rows_of_table;
  std::size_t line = 0;
  for (const auto& row : rows) {
    ++rows_of_table[row["table"]];
    const std::vector<std::string> cells = cells_of(csv[++line]);
    ASSERT_EQ(cells.size(), keys.size()) << csv[line];
    ASSERT_EQ(keys.size(), row.size());
    for (std::size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(cells[i], text_of(row[keys[i]])) << keys[i];
  }
  const std::map<std::string, int> expected = {
      {"block", 17},       {"census", 12},      {"bp-2010", 16}, {"bp-2010-split", 12},
      {"bp-2019-cpu", 45}, {"bp-2019-gpu", 40}, {"tiled-bp", 16}};
  EXPECT_EQ(rows_of_table, expected);

  // Each row has its line in a table, in order, with the figure of the paper.
  std::vector<std::string> table_lines;
  for (const std::string& text : lines_of(markdown))
    if (text.starts_with("| ") && !text.starts_with("| pair")) table_lines.push_back(text);
  ASSERT_EQ(table_lines.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const char* key : {"pair", "step", "device"})
      EXPECT_TRUE(contains(table_lines[i], "| " + text_of(rows[i][key]) + " ")) << table_lines[i];
    EXPECT_TRUE(contains(table_lines[i], text_of(rows[i]["published_hardware"])));
  }
  // There is no plot for the GPU, because there are no measurements.
  for (const char* name : {"block", "census", "bp-2010", "bp-2010-split", "bp-2019-cpu", "tiled-bp"})
    EXPECT_TRUE(fs::exists(folder_ / "plots" / (std::string(name) + ".svg"))) << name;
  EXPECT_FALSE(fs::exists(folder_ / "plots" / "bp-2019-gpu.svg"));
}

TEST_F(PapersTest, WhatIsMeasuredIsWhatTheStepSays) {
  const Outcome outcome = bench("--paper block,bp-2019,tiled-bp --device reference,cpu --json p.json");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  std::map<std::string, std::pair<double, double>>
      bad1;  // by pair: those of the reference, and of a step with the same result
  for (const auto& row : results()) {
    const bool here = row["device"] == "reference" || row["device"] == "cpu";
    const bool red_barrel = row["pair"] == "red barrel";
    EXPECT_EQ(row["milliseconds"].is_null(), !here || red_barrel) << row;
    EXPECT_EQ(row["why_none"].is_null(), here && !red_barrel) << row;
    if (!here || red_barrel) continue;
    EXPECT_GT(row["milliseconds"], 0.0);
    EXPECT_GT(row["memory_bytes"], 0);
    if (row["paper"] == "tiled-bp") {
      EXPECT_EQ(row["count"], (size.width - 36) * (size.height - 36));
    }
    if (row["step"] == "processor reference") bad1[row["pair"]].first = row["bad1"];
    if (row["step"] == "memory management") bad1[row["pair"]].second = row["bad1"];
    if (row["step"] == "vectors") {
      EXPECT_EQ(row["compared_with"], "threads");
      EXPECT_GT(row["speed_up"], 0.0);
    }
  }
  ASSERT_EQ(bad1.size(), 5u);
  for (const auto& [pair, values] : bad1) EXPECT_EQ(values.first, values.second) << pair;
}

TEST_F(PapersTest, AMissingDeviceIsADashBesideThePapersFigure) {
  const Outcome outcome = bench("--paper bp-2010 --device reference");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  bool found = false;
  for (const std::string& line : lines_of(outcome.out)) {
    if (!line.starts_with("| tsukuba") || line.find("| registers") == std::string::npos) continue;
    found = true;
    EXPECT_TRUE(contains(line, "| cuda   | —")) << line;
    EXPECT_TRUE(contains(line, "| 24.3")) << line;
    EXPECT_TRUE(contains(line, "| 1.93")) << line;
    EXPECT_TRUE(contains(line, "GeForce GTX 285")) << line;
  }
  EXPECT_TRUE(found) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "— here: ")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "no cuda device (")) << outcome.out;
}

TEST_F(PapersTest, TheSecondContestPairIsMatchedWhereItIs) {
  write_red_barrel((size.width - 36) * (size.height - 36));
  ASSERT_EQ(bench("--paper tiled-bp --device cpu --json p.json").status, 0);
  std::map<std::string, std::vector<int>> mismatches;
  for (const auto& row : results())
    if (row["device"] == "cpu") mismatches[row["pair"]].push_back(row["mismatches"]);
  // The same pictures and labels as the first.
  EXPECT_EQ(mismatches["red barrel"].size(), 3u);
  EXPECT_EQ(mismatches["red barrel"], mismatches["tsukuba"]);

  write_red_barrel(20);
  const Outcome outcome = bench("--paper tiled-bp --device cpu --json q.json");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(contains(outcome.err, "ground_truth_labels.txt ends before")) << outcome.err;
  EXPECT_FALSE(fs::exists(folder_ / "q.json"));
  fs::remove(data() / "memocode2013" / "Right.png");
  expect_refusal("bench --suite papers --paper tiled-bp --data data", 1, {"memocode2013/Right.png"});
}

TEST_F(PapersTest, WhatCannotBeIsRefusedBeforeAnythingIsMeasured) {
  const std::string suite = "bench --suite papers --data data ";
  write(folder_ / "old.csv", "what was here before");
  fs::create_directory(folder_ / "folder");
  run("--version");
  const auto before = files();
  expect_refusal(suite + "--paper block,bp-2020", 2,
                 {"bp-2020", "block, census, bp-2010, bp-2019, tiled-bp"});
  expect_refusal(suite + "--seconds-per-row -1", 2, {"--seconds-per-row"});
  for (const char* number : {"nan", "inf", "1e99", "x"})
    expect_refusal(suite + "--seconds-per-row " + number, 2, {"--seconds-per-row"});
  expect_refusal("bench --csv p.csv", 2, {"--csv"});
  expect_refusal("bench --plots plots", 2, {"--plots"});
  expect_refusal(suite + "--csv old.csv --json nowhere/p.json", 1, {"nowhere/p.json", "no folder"});
  expect_refusal(suite + "--markdown folder", 1, {"folder", "give a file"});
  expect_refusal(suite + "--plots old.csv", 1, {"old.csv", "not a folder"});
  fs::remove(data() / "papers" / "venus" / "right.png");
  expect_refusal(suite + "--csv old.csv", 1, {"papers/venus/right.png", "--data"});
  EXPECT_EQ(contents(folder_ / "old.csv"), "what was here before");
  EXPECT_EQ(files(), before);
}

TEST_F(PapersTest, WhatIsMeasuredOnIsNotWrittenOver) {
  fs::create_directory_symlink("data", folder_ / "to_data");
  const std::string picture = "to_data/papers/venus/left.png", before = contents(folder_ / picture);
  for (const char* option : {"--json ", "--csv ", "--markdown "})
    expect_refusal("bench --suite papers --data data " + (option + picture), 2, {picture, "which is read"});
  EXPECT_EQ(contents(folder_ / picture), before);
}

// scripts/gpu-check.sh reads such files, which gpu_pairs writes.
TEST_F(PapersTest, PairsOfAMachineWithoutPicturesAreTheSame) {
  const fs::path pair = folder_ / "pairs" / "conesQuarterSize";
  fs::create_directories(folder_ / "pairs" / "tsukubaSet");
  fs::create_directories(pair);
  Plane<float> left(size), right(size), truth(size);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      left.at(x, y) = pair_.left.at(3 * x, y);
      right.at(x, y) = pair_.right.at(3 * x, y);
      truth.at(x, y) = std::floor(std::max(1.f, pair_.left_truth.at(x, y)));
    }
  write_file((pair / "left.pfm").string(), encode_pfm(left.view()));
  write_file((pair / "right.pfm").string(), encode_pfm(right.view()));
  write_file((pair / "truth.pfm").string(), encode_pfm(truth.view()));
  write_file((folder_ / "pairs" / "tsukubaSet" / "left.pfm").string(), encode_pfm(left.view()));
  const std::string block = " --seconds-per-row 0 --paper block --device cpu --json p.json";
  ASSERT_EQ(run("bench --suite papers --data data" + block).status, 0);
  const nlohmann::json of_pictures = results();
  const Outcome outcome = run("bench --suite papers --data pairs" + block);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const nlohmann::json of_pfm = results();
  ASSERT_EQ(of_pfm.size(), of_pictures.size());
  for (std::size_t i = 0; i < of_pfm.size(); ++i) EXPECT_EQ(of_pfm[i]["bad1"], of_pictures[i]["bad1"]) << i;
}

TEST_F(PapersTest, AProgramThatIsNotThereIsNamedWithTheWayToBuildIt) {
  fs::copy_file(PARALLAX_COMMAND, folder_ / "parallax");
  const std::string command = "cd '" + folder_.string() + "' && ./parallax bench --suite papers 2> message";
  EXPECT_NE(std::system(command.c_str()), 0);
  const std::string message = contents(folder_ / "message");
  EXPECT_TRUE(contains(message, "--target parallax-papers")) << message;
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 1) << message;
}

TEST_F(PapersTest, AnUnwritableFileIsNamedAndNothingIsHalfWritten) {
  write(folder_ / "p.json", "what was here before");
  run("--version");
  const auto before = files();
  // The limit of 16 blocks of 512 bytes is enough for standard output, but not for the file.
  const Outcome outcome =
      run("bench --suite papers --data data --seconds-per-row 0 --paper block --device cpu --json p.json",
          "ulimit -f 16;");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(contains(outcome.err, "p.json")) << outcome.err;
  EXPECT_EQ(contents(folder_ / "p.json"), "what was here before");
  EXPECT_EQ(files(), before);
}

TEST(Papers, SpeedUpsFollowFromFigures) {
  tool::PapersTable table;
  tool::Step slow{"slow", "", DeviceKind::cpu, {}, {10.0}}, fast{"fast", "slow", DeviceKind::cpu, {}, {4.0}};
  tool::PapersRow slow_row{nullptr, &slow, "cpu", tool::Figure{20, 12, 1, 1, {}}, ""};
  tool::PapersRow fast_row{nullptr, &fast, "cpu", tool::Figure{5, 4, 1, 1, {}}, "", &slow_row};
  EXPECT_EQ(tool::speed_up(table, fast_row), 4);
  EXPECT_EQ(tool::published_speed_up(table, fast_row), 2.5);
  EXPECT_FALSE(tool::speed_up(table, slow_row));
  table.with_copies = false;
  EXPECT_EQ(tool::speed_up(table, fast_row), 3);
  table.unit = tool::Unit::pairs_per_second;
  EXPECT_EQ(tool::published_speed_up(table, fast_row), 0.4);
  fast.published.speed_up = 7;
  EXPECT_EQ(tool::published_speed_up(table, fast_row), 7);
  slow_row.figure.reset();
  EXPECT_FALSE(tool::speed_up(table, fast_row));
}

// Every step is compared with an existing step of its group, and every pair exists in the data.
TEST(Papers, TablesHangTogether) {
  for (const tool::Paper& paper : tool::all_papers()) {
    for (const tool::PapersTable& table : paper.tables) {
      for (const tool::Group& group : table.groups) {
        for (const tool::Step& step : group.steps) {
          const auto found = [&](const tool::Step& other) { return other.name == step.over; };
          EXPECT_TRUE(step.over.empty() || std::any_of(group.steps.begin(), group.steps.end(), found))
              << table.name << ": " << step.name;
          EXPECT_EQ(step.published.value || step.published.speed_up || step.published.mismatches,
                    !step.published.hardware.empty())
              << table.name << ": " << group.name << ", " << step.name;
        }
      }
    }
  }
}

}  // namespace
}  // namespace parallax::test
