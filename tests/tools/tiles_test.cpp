// SPDX-License-Identifier: Apache-2.0
// Matching in tiles: plans, resuming after a kill, and the same bytes as untiled.

#include <iterator>
#include <map>
#include <numeric>
#include <thread>

#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "parallax/error.h"
#include "parallax/formats.h"

#include "support.h"
#include "tools/command_fixture.h"
#include "tools/jobs/tiles/folder.h"
#include "tools/picture_files.h"

namespace parallax::test {
namespace {

using nlohmann::json;

class TilesTest : public CommandTest {
 protected:
  void make_pair_of(const std::string& size, const std::string& options = "") {
    ASSERT_EQ(run("synth pair --scene planes --disparities 16 --size " + size + " " + options).status, 0);
  }

  Picture picture(const std::string& name) const { return tool::read_picture((folder_ / name).string()); }
  void save(const std::string& name, const Picture& picture) const {
    test::save((folder_ / name).string(), picture);
  }

  // Matches untiled and in tiles, and compares the files.
  void expect_same_in_tiles(const std::string& pictures, const std::string& options,
                            const std::string& tile) {
    const Outcome whole = run("match " + pictures + " -o whole.pfm " + options);
    ASSERT_EQ(whole.status, 0) << whole.err;
    const Outcome tiled =
        run("match " + pictures + " -o tiled.pfm --json --tile-size " + tile + " " + options);
    ASSERT_EQ(tiled.status, 0) << tiled.err;
    EXPECT_GT(json::parse(tiled.out)["tiles"]["count"], 3) << options;
    EXPECT_TRUE(contents(folder_ / "whole.pfm") == contents(folder_ / "tiled.pfm")) << pictures << options;
    EXPECT_FALSE(fs::exists(folder_ / "tiled.pfm.tiles"));
  }

  // Plans the pair, by options of the match; returns the number of tiles.
  int plan(const std::string& options, const std::string& path = "plan.json") const {
    const Outcome outcome = run("plan pair/left.png pair/right.png " + options + " --plan " + path);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return plan_in(path)["tiles"].get<int>();
  }
  // Matches tiles of a plan, by one command.
  Outcome match_tiles(const std::string& path, const std::vector<int>& numbers) const {
    std::string text;
    for (const int number : numbers) text += std::to_string(number) + "\n";
    write(folder_ / "numbers.txt", text);
    const Outcome outcome = run("match --plan " + path + " --tile - <numbers.txt");
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome;
  }
  static std::vector<int> numbers_from(int first, int end) {
    std::vector<int> numbers(static_cast<std::size_t>(end - first));
    std::iota(numbers.begin(), numbers.end(), first);
    return numbers;
  }

  // The limit that the refusal of a match recommends.
  int min_mebibytes(const std::string& match) const {
    const Outcome refused = run(match);
    EXPECT_EQ(refused.status, 1);
    const std::string before = "raise the limit to ";
    const std::size_t at = refused.err.find(before);
    EXPECT_NE(at, std::string::npos) << refused.err;
    return at == std::string::npos ? 0 : std::stoi(refused.err.substr(at + before.size()));
  }

  // A line of a plan: its head, a cut or a pair.
  json plan_in(const std::string& path, int line = 0) const {
    std::istringstream lines(contents(folder_ / path));
    std::string text;
    for (int i = 0; i <= line; ++i) std::getline(lines, text);
    return json::parse(text);
  }

  // A result of plan.json, or of a match in tiles.
  std::string tile(int number, const std::string& folder = "plan.json.tiles") const {
    char name[64];
    std::snprintf(name, sizeof name, "tile-%06d.tiff", number);
    return (folder_ / folder / name).string();
  }
  int finished_tiles(const std::string& folder = "plan.json.tiles") const {
    int count = 0;
    std::error_code missing;
    for (const auto& entry : fs::directory_iterator(folder_ / folder, missing)) {
      const std::string name = entry.path().filename().string();
      count += name.starts_with("tile-") && name.ends_with(".tiff");
    }
    return count;
  }

  bool map_is_begun() const {
    std::error_code missing;
    for (const auto& entry : fs::directory_iterator(folder_ / "d.pfm.tiles", missing))
      if (entry.path().filename().string().starts_with("map.")) return true;
    return false;
  }

  const std::string block_ = "--method block --disparities 16 ";
  // A pair in 20 tiles, and its map.
  const std::string options_ = "--method bp --disparities 16 --padding 8 --tile-size 150x110 ",
                    words_ = "match pair/left.png pair/right.png " + options_;
  void make_job() {
    make_pair_of("330x270");
    ASSERT_EQ(run(words_ + "-o expected.pfm").status, 0);
  }
  std::vector<std::string> words(const std::string& more) const {
    std::istringstream in(words_ + more);
    return {std::istream_iterator<std::string>(in), {}};
  }
  void expect_expected(const std::string& map) const {
    EXPECT_TRUE(contents(folder_ / "expected.pfm") == contents(folder_ / map));
  }
};

TEST_F(TilesTest, TiledIsUntiledByteForByte) {
  make_pair_of("300x220");
  for (const auto& [name, side] : {std::pair{"l", "left"}, {"r", "right"}}) {
    const Picture gray = green_of(picture(std::string("pair/") + side + ".png"));
    save(name + std::string(".png"), gray);
    save(name + std::string("16.tiff"), deepened(gray, 201));
  }
  const Picture mask = make_picture({300, 220}, 1, BitDepth::bits8, [](int x, int y, int) {
    return x >= 30 && x < 90 && y >= 20 && y < 70 ? 0u : 255u;
  });
  save("mask.png", mask);
  save("mask.tiff", mask);
  ASSERT_EQ(run("synth tiled --tiled --scene planes --disparities 16 --size 300x220").status, 0);

  expect_same_in_tiles("pair/left.png pair/right.png", "--method block --disparities 16 --speckle-size 30",
                       "120x90");
  expect_same_in_tiles("tiled/left.tiff tiled/right.tiff",
                       "--method census --disparities 16 --left-mask mask.tiff --right-mask mask.png",
                       "150x110");
  expect_same_in_tiles("l16.tiff r16.tiff",
                       "--method block --disparities 16 --cost zncc --prefilter none --weighted-median 5",
                       "120x90");
  expect_same_in_tiles("l.png r.png", "--method census --disparities 12 --min-disparity 2 --fill none",
                       "150x110");
}

TEST_F(TilesTest, SeveralDevicesGiveTheSameBytes) {
  make_pair_of("300x200");
  expect_same_in_tiles("pair/left.png pair/right.png",
                       "--method block --disparities 16 --device cpu,reference --threads 1", "120x90");
}

TEST_F(TilesTest, SynthWritesTheSamePixelsInTiles) {
  make_pair_of("300x280");
  ASSERT_EQ(run("synth tiled --tiled --scene planes --disparities 16 --size 300x280").status, 0);
  for (const std::string name : {"left", "right", "mask0nocc", "mask1nocc"}) {
    EXPECT_TRUE(are_equal(picture("pair/" + name + ".png"), picture("tiled/" + name + ".tiff"))) << name;
  }
  for (const std::string name : {"disp0GT", "disp1GT"}) {
    const Plane<float> whole = read_pfm((folder_ / ("pair/" + name + ".pfm")).string());
    const Plane<float> tiled = tool::read_disparity((folder_ / ("tiled/" + name + ".tiff")).string());
    for (int y = 0; y < 280; ++y) EXPECT_TRUE(std::equal(whole.row(y), whole.row(y) + 300, tiled.row(y)));
  }
  EXPECT_EQ(contents(folder_ / "pair/calib.txt"), contents(folder_ / "tiled/calib.txt"));
  ASSERT_EQ(run("synth bare --tiled --no-truth --size 30x20 --disparities 8").status, 0);
  EXPECT_TRUE(fs::exists(folder_ / "bare/left.tiff"));
  EXPECT_FALSE(fs::exists(folder_ / "bare/disp0GT.tiff"));
}

TEST_F(TilesTest, SynthWritesAllOfAPairOrNothing) {
  fs::create_directories(folder_ / "pair/calib.txt");
  expect_refusal("synth pair --tiled --size 300x200", 1, {"calib.txt"});
  EXPECT_FALSE(fs::exists(folder_ / "pair/left.tiff"));
}

// As tiles it takes 4.6 GB, though the pixels alone take less than the 4 GB that offsets of 32 bits reach:
// the head says that offsets have 64 bits.
TEST_F(TilesTest, SynthWritesLargeTiffsWhereTilesAreLarge) {
  Background synth(folder_, {"synth", "tall", "--tiled", "--no-truth", "--size", "1281x1000000"});
  std::string head;
  const auto begun = [&] {
    std::error_code missing;
    for (const auto& entry : fs::directory_iterator(folder_ / "tall", missing)) return entry.path();
    return fs::path("none");
  };
  while (!synth.has_ended() && head.size() < 4) head = contents(begun()).substr(0, 4);
  EXPECT_EQ(head, std::string("II\x2B\0", 4));
}

TEST_F(TilesTest, EveryKindOfOutputIsMadeOfTiles) {
  make_job();
  const Outcome outcome = run(words_ + "-o d.png --image view.png --truth pair/disp0GT.pfm --json");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json report = json::parse(outcome.out);
  EXPECT_EQ(report["method"], "bp");
  EXPECT_EQ(report["disparities"], 16);
  EXPECT_EQ(report["tiles"]["matched"], report["tiles"]["count"]);
  EXPECT_EQ(report["tiles"]["reused"], 0);
  EXPECT_GT(report["milliseconds"]["match"], 0);
  EXPECT_GT(report["peak_memory_bytes"], 0);
  EXPECT_EQ(report["valid"], 1.0);
  EXPECT_LT(report["error"]["bad1"], 0.3);
  // The error is computed from the disparities before a PNG rounds them.
  EXPECT_EQ(report["error"], json::parse(run("eval expected.pfm pair/disp0GT.pfm --json").out));
  EXPECT_EQ(picture("view.png").size(), (Size{330, 270}));
  ASSERT_EQ(run(words_ + "-o d.tiff").status, 0);
  const Plane<float> expected = read_pfm((folder_ / "expected.pfm").string());
  const Plane<float> tiff = tool::read_disparity((folder_ / "d.tiff").string());
  const Picture png = picture("d.png");
  for (int y = 0; y < 270; ++y)
    for (int x = 0; x < 330; ++x) {
      ASSERT_EQ(tiff.at(x, y), expected.at(x, y));
      ASSERT_NEAR(value_at(png, x, y) / 256.0, expected.at(x, y), 1.0 / 256);
    }
}

TEST_F(TilesTest, APlanIsMatchedTileByTileAndMerged) {
  make_job();
  const int count = plan(options_ + "-o d.pfm");
  ASSERT_GT(count, 5);
  EXPECT_FALSE(plan_in("plan.json")["request"]["parameters"]["disparities"].is_null());
  for (const int number : {0, 1, 1}) {
    const fs::path before = folder_ / "before.tiff";
    const bool there = fs::exists(tile(number));
    if (there) fs::create_hard_link(tile(number), before);
    const Outcome outcome = run("match --plan plan.json --tile " + std::to_string(number));
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const json answer = json::parse(outcome.out);
    EXPECT_EQ(answer["tile"], number);
    // A finished tile is not matched again.
    EXPECT_EQ(answer.value("reused", false), there);
    EXPECT_TRUE(!there || fs::equivalent(before, tile(number)));
  }
  const Outcome rest = match_tiles("plan.json", numbers_from(2, count));
  EXPECT_EQ(std::count(rest.out.begin(), rest.out.end(), '\n'), count - 2);
  ASSERT_EQ(run("merge plan.json --keep").status, 0);
  expect_expected("d.pfm");
  fs::remove(folder_ / "d.pfm");
  EXPECT_EQ(finished_tiles(), count);
  for (int time = 0; time < 4; ++time) {
    Background one(folder_, {"merge", "plan.json", "--keep"}),
        another(folder_, {"merge", "plan.json", "--keep"});
    EXPECT_EQ(one.wait(), 0);
    EXPECT_EQ(another.wait(), 0);
  }
  expect_expected("d.pfm");
  ASSERT_EQ(run("merge plan.json").status, 0);
  expect_expected("d.pfm");
  EXPECT_EQ(finished_tiles(), 0);
}

TEST_F(TilesTest, ATileThatIsGivenTwiceIsMatchedOnce) {
  make_job();
  const int count = plan(block_ + "--tile-size 90x110 -o d.pfm");
  const std::string all = "0-" + std::to_string(count - 1);
  const Outcome outcome = run("match --plan plan.json --tile 0,0,1,1," + all + "," + all);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), count) << outcome.out;
}

TEST_F(TilesTest, APlanKeepsWhatIsConfigured) {
  make_job();
  const std::string options = options_ + "-o d.pfm";
  expect_refusal(
      "plan pair/left.png pair/right.png " + options + " --plan p.json --configure no_such_tunable=1", 2,
      {"no_such_tunable"});
  plan(options);
  const json before = plan_in("plan.json", 1)["tile_memory_bytes"];
  const int count = plan(options + " --configure aligned=false");
  EXPECT_GT(plan_in("plan.json", 1)["tile_memory_bytes"], before);
  match_tiles("plan.json", numbers_from(0, count));
  ASSERT_EQ(run("merge plan.json").status, 0);
  expect_expected("d.pfm");
}

TEST_F(TilesTest, MergeKeepsTilesAndLogsAlone) {
  make_pair_of("150x110");
  const int count = plan(block_ + "--tile-size 90x110 -o d.png", "p.json");
  match_tiles("p.json", numbers_from(0, count));
  ASSERT_EQ(run("merge p.json --keep").status, 0);
  for (const auto& entry : fs::directory_iterator(folder_ / "p.json.tiles")) {
    const std::string name = entry.path().filename().string();
    EXPECT_TRUE(name.starts_with("tile-00000") || name.starts_with("log-")) << name;
  }
  EXPECT_EQ(finished_tiles("p.json.tiles"), count);
}

// For example another merge of the plan, or a tile that a scheduler matches twice.
TEST_F(TilesTest, MergeRemovesNothingThatOthersUse) {
  make_pair_of("150x110");
  const int count = plan(block_ + "--tile-size 90x60 -o d.pfm");
  match_tiles("plan.json", numbers_from(0, count));
  {
    const tool::TileFolderLock other((folder_ / "plan.json.tiles").string(),
                                     tool::TileFolderLock::Use::shared);
    ASSERT_EQ(run("merge plan.json").status, 0);
    EXPECT_EQ(finished_tiles(), count);
  }
  ASSERT_EQ(run("merge plan.json").status, 0);
  EXPECT_EQ(finished_tiles(), 0);
}

TEST_F(TilesTest, MergeNamesTilesThatAreNotThere) {
  make_job();
  const int count = plan(options_ + "-o d.pfm");
  plan(options_ + "-o d.pfm --iterations 3", "other.json");
  write(folder_ / "d.pfm", "what was here before");
  expect_refusal("merge plan.json", 1, {"tiles 0 to " + std::to_string(count - 1) + " are missing"});
  match_tiles("plan.json", {0, 2, 3});
  match_tiles("plan.json", numbers_from(5, count));
  match_tiles("other.json", {1});
  fs::copy_file(tile(1, "other.json.tiles"), tile(1));
  const std::string whole = contents(tile(2));
  // A file of the right length whose directory says that pixels lie beyond its end.
  std::string astray = whole;
  const std::size_t offset = astray.find(std::string("\x11\x01\x04\0\1\0\0\0", 8));
  ASSERT_NE(offset, std::string::npos);
  astray.replace(offset + 8, 4, "\xFF\xFF\xFF\x7F");
  for (const std::string& damaged :
       {astray, whole.substr(0, whole.size() - 1), whole.substr(0, whole.size() / 2), std::string()}) {
    write(tile(2), damaged);
    expect_refusal(
        "merge plan.json", 1,
        {"tile 4 is missing", "tile 2 is damaged", "tile 1 is from another plan", "plan.json.tiles"});
  }
  EXPECT_EQ(contents(folder_ / "d.pfm"), "what was here before");
  match_tiles("plan.json", {1, 2, 4});
  // The new map replaces the old file instead of overwriting its content.
  fs::create_hard_link(folder_ / "d.pfm", folder_ / "before");
  ASSERT_EQ(run("merge plan.json").status, 0);
  expect_expected("d.pfm");
  EXPECT_EQ(contents(folder_ / "before"), "what was here before");
}

TEST_F(TilesTest, KilledWhileTheMapIsWrittenItIsWrittenAnew) {
  make_job();
  bool caught = false;
  for (int attempt = 0; attempt < 10 && !caught; ++attempt) {
    {
      Background match(folder_, words("-o d.pfm"));
      while (!match.has_ended() && !map_is_begun() && !fs::exists(folder_ / "d.pfm"))
        std::this_thread::yield();
    }
    caught = map_is_begun();
    // A file with the final name is complete.
    if (fs::exists(folder_ / "d.pfm")) expect_expected("d.pfm");
    if (caught) {
      EXPECT_FALSE(fs::exists(folder_ / "d.pfm"));
    }
    const Outcome outcome = run(words_ + "-o d.pfm --resume --json");
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    if (caught) {
      EXPECT_EQ(json::parse(outcome.out)["tiles"]["matched"], 0);
    }
    expect_expected("d.pfm");
    fs::remove(folder_ / "d.pfm");
  }
  if (!caught) GTEST_SKIP() << "the map was always written before the kill";
}

// The file is complete, but has an invalid status.
TEST_F(TilesTest, MergeRefusesATileWhoseStatusesAreDamaged) {
  make_job();
  match_tiles("plan.json", numbers_from(0, plan(options_ + "-o d.pfm")));
  std::string bytes = contents(tile(1));
  const auto is_status = [](char c) { return static_cast<unsigned char>(c) < status_count; };
  std::size_t longest = 0, middle = 0;
  for (std::size_t begin = 0; begin < bytes.size();) {
    std::size_t end = begin;
    while (end < bytes.size() && is_status(bytes[end])) ++end;
    if (end - begin > longest) longest = end - begin, middle = (begin + end) / 2;
    begin = end + 1;
  }
  bytes[middle] = 100;
  write(tile(1), bytes);
  expect_refusal("merge plan.json", 1, {"tile 1 is damaged", "match them again"});
  EXPECT_FALSE(fs::exists(folder_ / "d.pfm"));
}

// Files of tiles that are complete, with a few damaged pixels.
TEST_F(TilesTest, DamagedPixelsOfATileAreFound) {
  make_pair_of("330x270");
  const std::string match = "match pair/left.png pair/right.png " + block_ + "--tile-size 330x270 -o d.pfm ";
  // Everything is done except the last step.
  fs::create_symlink("/dev/full", folder_ / "view.png");
  ASSERT_EQ(run(match + "--image view.png").status, 75);
  fs::remove(folder_ / "d.pfm");
  const std::string path = tile(0, "d.pfm.tiles"), whole = contents(path);
  const std::size_t disparities = 1000, statuses = 330 * 270 * 4 + 10'000;
  const auto expect_damaged = [&](const std::string& bytes) {
    ASSERT_NE(bytes, whole);
    write(path, bytes);
    expect_refusal("merge d.pfm.tiles/plan.json", 1, {"tile 0 is damaged"});
  };
  std::string two = whole;
  // Flips the highest bits of two words, which cancel in a plain sum.
  for (const std::size_t at : {7u, 7u + 80u})
    two[disparities + at] = static_cast<char>(two[disparities + at] ^ 0x80);
  expect_damaged(two);
  std::string zeroed = whole;
  std::fill_n(zeroed.begin() + disparities, 1 << 16, '\0');
  expect_damaged(zeroed);
  std::string status = whole;
  status[statuses] = static_cast<char>(status[statuses] ^ 1);
  expect_damaged(status);
  EXPECT_FALSE(fs::exists(folder_ / "d.pfm"));
  // Resuming the match computes the tile again.
  const Outcome outcome = run(match + "--resume --json");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out)["tiles"]["matched"], 1);
  ASSERT_EQ(run("match pair/left.png pair/right.png " + block_ + "-o expected.pfm").status, 0);
  expect_expected("d.pfm");
}

TEST_F(TilesTest, APipeInPlaceOfATileIsNotWaitedFor) {
  make_pair_of("150x110");
  plan(block_ + "--tile-size 90x110 -o d.pfm");
  fs::create_directory(folder_ / "plan.json.tiles");
  ASSERT_EQ(::mkfifo(tile(0).c_str(), 0600), 0);
  expect_refusal("merge plan.json", 1, {"tile 0 is damaged"}, "timeout 20 env");
}

TEST_F(TilesTest, ASecondMatchOfOneOutputIsToldOfTheFirst) {
  make_job();
  Background match(folder_, words("-o d.pfm"));
  while (!match.has_ended() && finished_tiles("d.pfm.tiles") < 1) std::this_thread::yield();
  match.pause();
  for (const std::string more : {"", "--resume"})
    expect_refusal(words_ + "-o d.pfm " + more, 75, {"d.pfm.tiles", "another process"});
  expect_refusal("match --plan d.pfm.tiles/plan.json --tile 0", 75, {"d.pfm.tiles", "another process"});
  expect_refusal("merge d.pfm.tiles/plan.json", 75, {"d.pfm.tiles", "another process"});
  match.go_on();
  EXPECT_EQ(match.wait(), 0) << contents(folder_ / "background.txt");
  expect_expected("d.pfm");
}

TEST_F(TilesTest, FilesOfTheUsersAreNotDeleted) {
  make_pair_of("150x110");
  fs::create_directory(folder_ / "d.pfm.tiles");
  const std::vector<std::string> own = {"tile-notes.txt", "map.of.treasure", "worker-list.txt",
                                        "tile-1.tiff"};
  const std::string match =
      "match pair/left.png pair/right.png --method block --disparities 16 --tile-size 90x90 -o d.pfm";
  for (const std::string& name : own) {
    write(folder_ / "d.pfm.tiles" / name, "mine");
    expect_refusal(match, 1, {"d.pfm.tiles/" + name, "move it"});
    EXPECT_EQ(contents(folder_ / "d.pfm.tiles" / name), "mine");
    fs::remove(folder_ / "d.pfm.tiles" / name);
  }
  match_tiles("plan.json", numbers_from(0, plan(block_ + "--tile-size 90x110 -o d.pfm")));
  for (const std::string& name : own) write(folder_ / "plan.json.tiles" / name, "mine");
  ASSERT_EQ(run("merge plan.json").status, 0);
  for (const std::string& name : own) EXPECT_EQ(contents(folder_ / "plan.json.tiles" / name), "mine") << name;
  EXPECT_FALSE(fs::exists(tile(0)));
}

// The left picture guides the refinement after the tiles.
TEST_F(TilesTest, MergeRefusesALeftPictureThatWasChanged) {
  make_pair_of("150x110");
  const int count = plan(block_ + "--tile-size 90x110 --weighted-median 5 -o d.pfm", "p.json");
  match_tiles("p.json", numbers_from(0, count));
  write(folder_ / "pair/left.png", contents(folder_ / "pair/left.png") + " ");
  expect_refusal("merge p.json", 1, {"pair/left.png has changed", "new plan"});
  EXPECT_FALSE(fs::exists(folder_ / "d.pfm"));
}

// Kills at several moments: before there is a plan, during a tile, between tiles.
TEST_F(TilesTest, KilledAndResumedGivesTheSameBytes) {
  make_job();
  int killed = 0;
  for (int moment = 0; moment < (sanitized ? 2 : 6); ++moment) {
    {
      Background match(folder_, words("-o d.pfm"));
      while (!match.has_ended() && finished_tiles("d.pfm.tiles") < 3 * moment) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(moment));
    }
    // On a busy machine the match may end before it is killed.
    if (fs::exists(folder_ / "d.pfm") && !fs::exists(folder_ / "d.pfm.tiles")) {
      fs::remove(folder_ / "d.pfm");
      continue;
    }
    ++killed;
    std::map<std::string, std::uint64_t> before;
    for (int number = 0; number < 64; ++number) {
      struct stat about {};
      const std::string path = tile(number, "d.pfm.tiles");
      if (::stat(path.c_str(), &about) == 0) before[path] = about.st_ino;
    }
    if (fs::exists(folder_ / "d.pfm.tiles/plan.json"))
      expect_refusal(words_ + "-o d.pfm", 1, {"d.pfm.tiles", "--resume", "remove"});
    const Outcome outcome = run(words_ + "-o d.pfm --resume --json");
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const json tiles = json::parse(outcome.out)["tiles"];
    EXPECT_EQ(tiles["reused"], before.size());
    EXPECT_EQ(tiles["matched"].get<std::size_t>() + before.size(), tiles["count"]);
    EXPECT_GE(before.size(), static_cast<std::size_t>(3 * moment));
    expect_expected("d.pfm");
    EXPECT_FALSE(fs::exists(folder_ / "d.pfm.tiles"));
    fs::remove(folder_ / "d.pfm");
  }
  EXPECT_GT(killed, 0);
}

TEST_F(TilesTest, ResumingAsksForTheSame) {
  make_job();
  {
    Background match(folder_, words("-o d.pfm"));
    while (!match.has_ended() && finished_tiles("d.pfm.tiles") < 1) std::this_thread::yield();
  }
  ASSERT_GE(finished_tiles("d.pfm.tiles"), 1);
  expect_refusal(words_ + "-o d.pfm --resume --iterations 3", 1,
                 {"parameters/iterations was 7, and is 3 now"});
  expect_refusal(words_ + "-o d.pfm --resume --max-memory 3G", 1, {"max_memory_bytes was 0"});
  const std::string plan = contents(folder_ / "d.pfm.tiles/plan.json");
  write(folder_ / "d.pfm.tiles/plan.json", plan.substr(0, plan.size() / 2));
  expect_refusal(words_ + "-o d.pfm --resume", 1,
                 {"plan.json", "not a readable tile plan", "make a new plan"});
  write(folder_ / "d.pfm.tiles/plan.json", plan);
  write(folder_ / "pair/right.png", contents(folder_ / "pair/right.png") + " ");
  expect_refusal(words_ + "-o d.pfm --resume", 1, {"pair/right.png has changed", "bytes"});
}

TEST_F(TilesTest, ATileThatFailsIsNamed) {
  ASSERT_EQ(run("synth pair --tiled --no-truth --disparities 16 --size 300x700").status, 0);
  const Picture pixels = picture("pair/right.tiff");
  const auto* first = static_cast<const std::uint8_t*>(pixels.view().data);
  write_any_tiff((folder_ / "right.tiff").string(), {300, 700},
                 {.samples = 3, .photometric = 2, .packing = 8, .strip_rows = 10},
                 {first, first + 3 * 300 * 700});
  std::string right = contents(folder_ / "right.tiff");
  for (std::size_t i = 0; i < 2000; ++i) right[right.size() * 3 / 4 + i] = 'x';
  write(folder_ / "right.tiff", right);
  const std::string match =
      "match pair/left.tiff right.tiff --method block --disparities 16 --tile-size 300x200 -o d.pfm";
  expect_refusal(match, 1, {"tile 2: ", "right.tiff is damaged at row", "d.pfm.tiles", "--resume"});
  EXPECT_GT(finished_tiles("d.pfm.tiles"), 0);
  EXPECT_FALSE(fs::exists(folder_ / "d.pfm"));
}

TEST_F(TilesTest, ALimitThatIsTooSmallNamesOneThatWouldDo) {
  make_pair_of("700x500");
  const std::string match =
      "match pair/left.png pair/right.png --method bp --disparities 128 --iterations 1 --padding 8 --json -o "
      "d.pfm "
      "--max-memory ";
  const int least = min_mebibytes(match + "1M");
  // Limits are tried in steps of a mebibyte.
  expect_refusal(match + std::to_string(least - 2) + "M", 1,
                 {"raise the limit to " + std::to_string(least) + "M"});
  const Outcome outcome = run(match + std::to_string(least) + "M");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json report = json::parse(outcome.out);
  EXPECT_GT(report["tiles"]["count"], 4);
  if (!sanitized) {
    EXPECT_LE(report["peak_memory_bytes"], std::uint64_t(least) << 20);
  }
}

// The head announces a picture of 4 GB; the rest of the file is missing.
TEST_F(TilesTest, APngThatDoesNotFitIsNotDecoded) {
  const std::string head(
      "\x89PNG\r\n\x1A\n\0\0\0\rIHDR\0\0\x4E\x20\0\0\x3A\x98\x10\x02\0\0\0\xD2\x3C\x68\x0D", 33);
  write(folder_ / "large.png", head + std::string(100, 'x'));
  expect_refusal("match large.png large.png --method block --disparities 16 -o d.tiff --max-memory 500M", 1,
                 {"the match needs", "raise the limit to", "tiled TIFF"});
  EXPECT_FALSE(fs::exists(folder_ / "d.tiff.tiles"));
  expect_refusal("match large.png large.png --method block --disparities 16 -o d.tiff --max-memory 64G", 1,
                 {"large.png", "damaged"});
}

// Only if tiles of half the memory do not match many more pixels.
TEST_F(TilesTest, TwoTilesAreMatchedAtOnceWhereThatPays) {
  make_pair_of("700x500");
  const auto report = [&](const std::string& options) {
    const Outcome outcome =
        run("match pair/left.png pair/right.png --disparities 16 --fill row -o d.pfm --json " + options);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return json::parse(outcome.out);
  };
  const auto at_once = [&](const std::string& options) {
    return report(options)["tiles"]["at_once"].get<int>();
  };
  EXPECT_EQ(at_once("--method block --tile-size 300x300"), 2);
  EXPECT_EQ(at_once("--method block --tile-size 300x300 --threads 1"), 1);
  EXPECT_EQ(at_once("--tile-size 300x300 --method bp --padding 8"), 1);
  const int least = min_mebibytes(
      "match pair/left.png pair/right.png --method census --disparities 16 --fill row -o d.pfm --max-memory "
      "1M");
  EXPECT_EQ(at_once("--method census --resume --max-memory " + std::to_string(least) + "M"), 1);
  const json two = report("--method block --resume --max-memory 54M");
  EXPECT_EQ(two["tiles"]["at_once"], 2);
  EXPECT_GT(two["tiles"]["count"], 2);
  if (!sanitized) {
    EXPECT_LE(two["peak_memory_bytes"], 54u << 20);
  }
}

TEST_F(TilesTest, WhatNeedsTheWholeMapIsRefusedAtTheStartAlsoWhenResuming) {
  ASSERT_EQ(run("synth pair --tiled --no-truth --size 3000x2000 --disparities 8").status, 0);
  const std::string match =
      "match pair/left.tiff pair/right.tiff --method block --disparities 8 --max-memory 156M -o d.pfm "
      "--image view.png ";
  expect_refusal(match, 1, {"--image needs the whole map", "leave it out"});
  fs::create_directory(folder_ / "d.pfm.tiles");
  write(folder_ / "d.pfm.tiles/plan.json", "{}");
  expect_refusal(match + "--resume", 1, {"--image needs the whole map"});
}

TEST_F(TilesTest, RowOffsetsAreThoseOfTheWholeMap) {
  make_pair_of("420x330");
  // Lowered by two rows, the upper ones repeated.
  const Picture right = picture("pair/right.png");
  save("right.png", make_picture(right.size(), 3, BitDepth::bits8, [&](int x, int y, int channel) {
         return value_at(right, x, std::max(0, y - 2), channel);
       }));
  const std::string match =
      "match pair/left.png right.png --method block --disparities 16 --row-tolerance 3 --json ";
  const Outcome whole = run(match + "-o whole.pfm --rows-off whole_rows.pfm");
  ASSERT_EQ(whole.status, 0) << whole.err;
  const json expected = json::parse(whole.out)["rows_off"];
  EXPECT_NEAR(expected["median"], 2, 0.1);
  fs::create_directory(folder_ / "elsewhere");
  fs::create_symlink("elsewhere/target.pfm", folder_ / "link.pfm");
  const std::pair<std::string, std::string> outputs[] = {
      {"tiled.pfm", "tiled_rows.pfm"}, {"tiled.png", "elsewhere/rows.pfm"}, {"tiled.tiff", "link.pfm"}};
  for (const auto& [output, rows] : outputs) {
    const Outcome tiled = run(match + "--tile-size 240x220 -o " + output + " --rows-off " + rows);
    ASSERT_EQ(tiled.status, 0) << tiled.err;
    EXPECT_GT(json::parse(tiled.out)["tiles"]["count"], 3);
    EXPECT_EQ(json::parse(tiled.out)["rows_off"], expected);
    EXPECT_EQ(contents(folder_ / rows), contents(folder_ / "whole_rows.pfm")) << rows;
    EXPECT_FALSE(fs::exists(folder_ / (output + ".tiles")));
  }
  EXPECT_EQ(contents(folder_ / "tiled.pfm"), contents(folder_ / "whole.pfm"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "link.pfm"));
  for (const auto& entry : fs::directory_iterator(folder_ / "elsewhere"))
    EXPECT_FALSE(entry.path().filename().string().starts_with(".")) << entry.path();
  // Without the map, the result is the same, and there is no summary.
  const Outcome without = run(match + "--tile-size 240x220 -o without.pfm");
  ASSERT_EQ(without.status, 0) << without.err;
  EXPECT_FALSE(json::parse(without.out).contains("rows_off"));
  EXPECT_EQ(contents(folder_ / "without.pfm"), contents(folder_ / "whole.pfm"));
}

TEST_F(TilesTest, AMatchWithRowOffsetsGoesOnAsItBegan) {
  make_job();
  const std::string more = "-o d.pfm --row-tolerance 1 ", rows = "--rows-off v.pfm ";
  ASSERT_EQ(run(words_ + "--row-tolerance 1 -o expected.pfm --rows-off expected_rows.pfm").status, 0);
  {
    Background match(folder_, words(more + rows));
    while (!match.has_ended() && finished_tiles("d.pfm.tiles") < 1) std::this_thread::yield();
  }
  ASSERT_GE(finished_tiles("d.pfm.tiles"), 1);
  expect_refusal(words_ + more + "--resume", 1, {"rows_off was true, and is false now"});
  expect_refusal("merge d.pfm.tiles/plan.json", 2,
                 {"d.pfm.tiles have row offsets", "--rows-off", "--resume"});
  const Outcome outcome = run(words_ + more + rows + "--resume --json");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_GE(json::parse(outcome.out)["tiles"]["reused"], 1);
  expect_expected("d.pfm");
  EXPECT_EQ(contents(folder_ / "v.pfm"), contents(folder_ / "expected_rows.pfm"));
}

TEST_F(TilesTest, RefusesWhatTilesDoNotHave) {
  make_pair_of("150x110");
  const std::string files = "match pair/left.png pair/right.png --disparities 16 --tile-size 90x60 ";
  const std::string match = files + "--method block ";
  expect_refusal(match, 2, {"give -o"});
  expect_refusal(match + "-o d.pfm --confidence c.pfm", 2, {"--confidence"});
  expect_refusal(files + "-o d.pfm --method bp --energy --json", 2, {"--energy"});
  expect_refusal(match + "-o d.pfm --cloud c.ply --calib pair/calib.txt", 2, {"--cloud"});
  expect_refusal(match + "-o d.pfm --repeat 3", 2, {"--repeat"});
  expect_refusal(match + "-o nowhere/x/../../text.png/d.pfm", 1, {"text.png"});
  expect_refusal(match + "-o /dev/null/d.pfm", 1, {"/dev/null"});
  expect_refusal(
      "match pair/left.png pair/right.png --method block --tile-size 20x20 -o d.pfm --disparities 16", 2,
      {"20×20", "room"});
  expect_refusal("match pair/left.png pair/right.png --tile-size 20 -o d.pfm", 2, {"--tile-size", "20"});
  expect_refusal("plan pair/left.png pair/right.png --disparities 16 -o d.pfm", 2, {"--plan"});
  expect_refusal("plan pair/left.png pair/right.png --plan p.json", 2, {"give -o"});
  const std::string plan = "plan pair/left.png pair/right.png --method block --disparities 16 ";
  expect_refusal(plan + "-o d.pfm --image v.png --plan p.json", 2, {"--image"});
  expect_refusal(plan + "-o d.pfm --json --plan p.json", 2, {"--json"});
  expect_refusal(plan + "-o d.pfm --row-tolerance 1 --rows-off v.pfm --plan p.json", 2, {"--rows-off"});
  fs::create_directory(folder_ / "p.json.tiles");
  fs::copy(folder_ / "pair/left.png", folder_ / "p.json.tiles/tile-000000.tiff");
  expect_refusal(
      "plan p.json.tiles/tile-000000.tiff pair/right.png --disparities 16 -o own.pfm --plan p.json", 2,
      {"is in the folder of the tiles"});
  expect_refusal(match + "-o d.pfm --image nowhere/v.png", 1, {"nowhere"});
  EXPECT_FALSE(fs::exists(folder_ / "d.pfm"));
  expect_refusal(plan + "-o d.pfm --plan pair/left.png", 2, {"pair/left.png is also read by this command"});
  expect_refusal(plan + "-o maps/ --plan p.json", 2, {"maps/ is a directory"});
  EXPECT_FALSE(fs::exists(folder_ / "p.json"));
}

TEST_F(TilesTest, RefusesPlansWithNumbersThatNoIntegerHolds) {
  make_pair_of("150x110");
  plan("--disparities 16 -o d.pfm");
  for (const json& number : {json(1e300), json(-1e300), json(2.5), json(1ull << 40), json(-(1ll << 40))}) {
    json changed = plan_in("plan.json");
    changed["threads"] = number;
    write(folder_ / "broken.json", changed.dump());
    expect_refusal("merge broken.json", 1, {"broken.json", "not an integer"});
  }
}

// The merge removed the map with the tiles.
TEST_F(TilesTest, NoMapLiesInTheFolderOfTheTiles) {
  make_pair_of("150x110");
  for (const char* map :
       {"p.json.tiles/tile-000000.tiff", "p.json.tiles/a/b.pfm", "a/../p.json.tiles/{name}.pfm"})
    expect_refusal(
        "plan pair/left.png pair/right.png --disparities 16 --plan p.json -o '" + std::string(map) + "'", 2,
        {"is in the folder of the tiles, p.json.tiles"});
  EXPECT_FALSE(fs::exists(folder_ / "p.json"));
}

TEST_F(TilesTest, ANulInRangesOfTilesIsShown) {
  make_pair_of("150x110");
  plan(block_ + "--tile-size 90x60 -o d.pfm");
  write(folder_ / "ranges", std::string("0,\0,1\n", 6));
  expect_refusal("match --plan plan.json --tile - <ranges", 2, {"with '\\x00': this plan has tiles 0 to"});
}

TEST_F(TilesTest, DeepJsonInPlansAndLogsDoesNotEndTheProgram) {
  make_pair_of("150x110");
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  write(folder_ / "deep.json", "{\"parallax_tile_plan\": " + deep + "}\n");
  expect_refusal("status deep.json", 1,
                 {"deep.json: is not a readable tile plan (a line is nested more than 100 levels deep)"});
  plan(block_ + "--tile-size 90x60 -o d.pfm");
  fs::create_directory(folder_ / "plan.json.tiles");
  write(folder_ / "plan.json.tiles/log-a-1.jsonl", "{\"plan\": " + deep + "}\n{\"plan\": \"x\"}\n");
  EXPECT_EQ(run("status plan.json").status, 1);
}

TEST_F(TilesTest, RefusesPlansThatAreNone) {
  make_pair_of("150x110");
  plan(block_ + "--tile-size 90x60 -o d.pfm");
  std::vector<json> lines;
  for (int line = 0; line < 3; ++line) lines.push_back(plan_in("plan.json", line));
  const auto expect_broken = [&](const std::vector<json>& broken, const std::vector<std::string>& words) {
    std::string text;
    for (const json& line : broken) text += line.dump() + "\n";
    write(folder_ / "broken.json", text);
    expect_refusal("merge broken.json", 1, words);
  };
  std::vector<json> changed = lines;
  changed[0]["parallax_tile_plan"] = 7;
  expect_broken(changed, {"broken.json", "version 7"});
  for (const auto& [key, value] : lines[0].items()) {
    if (key == "made_by") continue;
    changed = lines;
    changed[0].erase(key);
    expect_broken(changed, {"broken.json", key});
    changed[0][key] = json::array({"wrong"});
    expect_broken(changed, {"broken.json"});
  }
  changed = lines;
  changed[1]["rows"][0][1] = 1'000'000;
  expect_broken(changed, {"broken.json", "changed"});
  changed = lines;
  changed[0]["request"]["parameters"]["colour"] = "red";
  expect_broken(changed, {"broken.json", "parameter is colour: choose one of"});
  changed = lines;
  changed[0]["request"]["parameters"]["window"] = 8;
  expect_broken(changed, {"broken.json", "window is 8: choose an odd number"});
  expect_refusal("merge text.png", 1, {"text.png", "not a readable tile plan"});
  expect_refusal("merge missing.json", 1, {"missing.json", "No such file"});
  expect_refusal("match --plan plan.json --tile 99", 2, {"99", "tiles 0 to"});
  expect_refusal("match --plan plan.json --tile x", 2, {"'x'"});
  expect_refusal("match --plan plan.json", 2, {"--tile"});
  expect_refusal("match --plan plan.json --tile 0 --window 5", 2, {"--window"});
  write(folder_ / "pair/left.png", contents(folder_ / "pair/left.png") + " ");
  const Outcome outcome = run("match --plan plan.json --tile 0");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(contains(outcome.err, "pair/left.png has changed since the plan was made")) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out)["is_transient"], false);
}

}  // namespace
}  // namespace parallax::test
