// SPDX-License-Identifier: Apache-2.0
// 'parallax match' with --depth, --cloud and --mesh: the files, and the options that go with them.

#include <cmath>
#include <cstring>
#include <map>

#include "support.h"
#include "tools/picture_files.h"
#include "tools/sequence_fixture.h"

namespace parallax::test {
namespace {

// parallax synth's rig for 96×64 pixels: focal length 96 px, baseline 100 mm.
constexpr double focal = 96, baseline = 0.1, centre_x = 47.5, centre_y = 31.5;

struct Vertex {
  float x, y, z;
  std::array<std::uint8_t, 3> colour;
  bool operator==(const Vertex&) const = default;
};

template <class Value>
Value take(const std::string& bytes, std::size_t& position) {
  Value value;
  std::memcpy(&value, bytes.data() + position, sizeof value);
  position += sizeof value;
  return value;
}

// Returns the number after these words in the header of a file.
std::size_t count_after(const std::string& file, const std::string& words) {
  const std::size_t at = file.find(words);
  return at == std::string::npos ? 0 : std::stoul(file.substr(at + words.size()));
}

struct PlyContents {
  std::vector<Vertex> vertices;
  std::vector<std::array<std::int32_t, 3>> faces;
};

PlyContents read_ply(const fs::path& path) {
  const std::string file = contents(path), end = "end_header\n";
  std::size_t position = file.find(end) + end.size();
  PlyContents ply;
  for (std::size_t i = 0; i < count_after(file, "element vertex "); ++i) {
    const auto place = take<std::array<float, 3>>(file, position);
    ply.vertices.push_back({place[0], place[1], place[2], take<std::array<std::uint8_t, 3>>(file, position)});
  }
  for (std::size_t i = 0; i < count_after(file, "element face "); ++i) {
    EXPECT_EQ(take<std::uint8_t>(file, position), 3);
    ply.faces.push_back(take<std::array<std::int32_t, 3>>(file, position));
  }
  EXPECT_EQ(position, file.size());
  return ply;
}

std::vector<Vertex> read_pcd(const fs::path& path) {
  const std::string file = contents(path), end = "DATA binary\n";
  std::size_t position = file.find(end) + end.size();
  std::vector<Vertex> points;
  for (std::size_t i = 0; i < count_after(file, "\nPOINTS "); ++i) {
    const auto place = take<std::array<float, 3>>(file, position);
    const auto rgb = take<std::array<std::uint8_t, 4>>(file, position);
    points.push_back({place[0], place[1], place[2], {rgb[2], rgb[1], rgb[0]}});
  }
  EXPECT_EQ(position, file.size());
  return points;
}

std::string opencv_calibration(double baseline) {
  const auto matrix = [](double shift) {
    return "!!opencv-matrix\n   rows: 3\n   cols: 4\n   dt: d\n   data: [96., 0., 47.5, " +
           std::to_string(shift) + ", 0., 96., 31.5, 0., 0., 0., 1., 0.]\n";
  };
  return "%YAML:1.0\n---\nP1: " + matrix(0) + "P2: " + matrix(-96 * baseline);
}

class DepthTest : public SequenceTest {
 protected:
  DepthTest() { make_pair(); }

  // Matches the pair, without filling, and returns the map.
  Plane<float> match(const std::string& more, const std::string& calibration = "pair/calib.txt") const {
    const Outcome outcome =
        run(pair_of_files + "--fill none --disparities 16 -o d.pfm --calib " + calibration + " " + more);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return read_pfm((folder_ / "d.pfm").string());
  }

  Plane<float> tiff(const std::string& name) const { return tool::read_disparity((folder_ / name).string()); }

  const std::string pair_of_files = "match pair/left.png pair/right.png --method block ";
};

TEST_F(DepthTest, TiffIsInMetresAndPngInMillimetres) {
  const Plane<float> disparity = match("--depth z.tiff --cloud c.ply");
  match("--depth z.png");
  const Plane<float> metres = tiff("z.tiff");
  const Picture millimetres = tool::read_picture((folder_ / "z.png").string());
  ASSERT_EQ(metres.size(), (Size{96, 64}));
  ASSERT_EQ(millimetres.view().format, (ImageFormat{{96, 64}, BitDepth::bits16}));
  int none = 0, present = 0;
  for (int y = 0; y < 64; ++y) {
    for (int x = 0; x < 96; ++x) {
      const double d = disparity.at(x, y), z = std::isfinite(d) && d > 0 ? focal * baseline / d : 0;
      EXPECT_FLOAT_EQ(metres.at(x, y), static_cast<float>(z));
      const double rounded = std::floor(1000 * z + 0.5);
      EXPECT_NEAR(value_at(millimetres, x, y), rounded <= 65535 ? rounded : 0, z > 1 ? 1 : 0.5);
      (z > 0 ? present : none) += 1;
    }
  }
  EXPECT_GT(none, 0);
  EXPECT_GT(present, 1000);
}

TEST_F(DepthTest, CloudsOfBothFormatsHoldTheSamePointsInTheUnitOfTheBaseline) {
  const Plane<float> disparity = match("--cloud c.ply");
  match("--cloud c.pcd");
  const std::vector<Vertex> points = read_pcd(folder_ / "c.pcd");
  ASSERT_GT(points.size(), 1000u);
  EXPECT_TRUE(points == read_ply(folder_ / "c.ply").vertices);
  const Picture left = tool::read_picture((folder_ / "pair/left.png").string());
  std::size_t next = 0;
  for (int y = 0; y < 64; ++y) {
    for (int x = 0; x < 96; ++x) {
      const double d = disparity.at(x, y);
      if (!std::isfinite(d) || !(d > 0)) continue;
      ASSERT_LT(next, points.size());
      const Vertex& point = points[next++];
      const double millimetres = 1000 * baseline * focal / d;
      EXPECT_FLOAT_EQ(point.z, static_cast<float>(millimetres));
      EXPECT_NEAR(point.x, (x - centre_x) * millimetres / focal, 1e-5 * millimetres);
      EXPECT_NEAR(point.y, (y - centre_y) * millimetres / focal, 1e-5 * millimetres);
      for (int c = 0; c < 3; ++c)
        EXPECT_EQ(point.colour[static_cast<std::size_t>(c)], value_at(left, x, y, c));
    }
  }
  EXPECT_EQ(next, points.size());
}

TEST_F(DepthTest, MeshesAreCutAtSteps) {
  const auto largest_step = [](const PlyContents& mesh) {
    double largest = 0;
    for (const auto& face : mesh.faces) {
      for (std::size_t i = 0; i < 3; ++i) {
        const auto disparity = [&](std::size_t corner) {
          return 1000 * baseline * focal / mesh.vertices.at(static_cast<std::size_t>(face[corner % 3])).z;
        };
        largest = std::max(largest, std::abs(disparity(i) - disparity(i + 1)));
      }
    }
    return largest;
  };
  match("--mesh m.ply --cloud c.ply");
  const PlyContents usual = read_ply(folder_ / "m.ply"), cloud = read_ply(folder_ / "c.ply");
  match("--mesh m.ply --mesh-step 0.25");
  const PlyContents cut = read_ply(folder_ / "m.ply");
  match("--mesh m.ply --mesh-step 1000");
  const PlyContents uncut = read_ply(folder_ / "m.ply");
  EXPECT_GT(cut.faces.size(), 1000u);
  EXPECT_GT(usual.faces.size(), cut.faces.size());
  EXPECT_GT(uncut.faces.size(), usual.faces.size());
  EXPECT_LE(largest_step(cut), 0.2501);
  EXPECT_LE(largest_step(usual), 1.0001);
  EXPECT_GT(largest_step(usual), 0.5);
  EXPECT_GT(largest_step(uncut), 2);
  EXPECT_LE(uncut.vertices.size(), cloud.vertices.size());
  EXPECT_EQ(cloud.faces.size(), 0u);
}

TEST_F(DepthTest, LimitsAreInMetresForEveryFile) {
  match("--depth z.tiff --cloud c.ply --mesh m.ply");
  const Plane<float> all = tiff("z.tiff");
  const auto expect_limited = [&](const std::string& limits, const auto& within) {
    match("--depth z.tiff --cloud c.ply --mesh m.ply " + limits);
    const Plane<float> limited = tiff("z.tiff");
    std::size_t kept = 0, dropped = 0;
    for (int y = 0; y < 64; ++y) {
      for (int x = 0; x < 96; ++x) {
        const bool keep = all.at(x, y) > 0 && within(all.at(x, y));
        EXPECT_EQ(limited.at(x, y), keep ? all.at(x, y) : 0) << limits;
        (keep ? kept : dropped) += 1;
      }
    }
    EXPECT_GT(kept, 100u) << limits;
    EXPECT_GT(dropped, 100u) << limits;
    EXPECT_EQ(read_ply(folder_ / "c.ply").vertices.size(), kept) << limits;
    for (const Vertex& vertex : read_ply(folder_ / "m.ply").vertices) EXPECT_TRUE(within(0.001 * vertex.z));
  };
  const auto deviation = [](double z) { return z * z * 0.25 / (focal * baseline); };
  expect_limited("--max-depth 1.55", [](double z) { return z <= 1.55; });
  expect_limited("--max-depth-uncertainty 0.061", [&](double z) { return deviation(z) <= 0.061; });
  expect_limited("--max-depth-uncertainty 0.0122 --disparity-uncertainty 0.05",
                 [&](double z) { return deviation(z) / 5 <= 0.0122; });
}

TEST_F(DepthTest, TheUnitIsThatOfTheFileOrGiven) {
  match("--depth z.tiff");
  const Plane<float> expected = tiff("z.tiff");
  write(folder_ / "metres.yml", opencv_calibration(0.1));
  write(folder_ / "millimetres.yml", opencv_calibration(100));
  const auto expect_same = [&](const std::string& calibration, const std::string& options, float factor) {
    match("--depth y.tiff " + options, calibration);
    const Plane<float> found = tiff("y.tiff");
    for (int y = 0; y < 64; ++y)
      for (int x = 0; x < 96; ++x) EXPECT_FLOAT_EQ(found.at(x, y), factor * expected.at(x, y)) << calibration;
  };
  expect_same("metres.yml", "", 1);
  expect_same("millimetres.yml", "--unit mm", 1);
  expect_same("millimetres.yml", "--unit cm", 10);
  expect_same("millimetres.yml", "--unit m", 1000);
  expect_same("pair/calib.txt", "--unit m", 1000);
  // Points stay in the unit of the baseline; only their limits are in metres.
  match("--cloud a.ply --max-depth 1.55", "pair/calib.txt");
  match("--cloud b.ply --max-depth 1.55 --unit mm", "millimetres.yml");
  EXPECT_TRUE(contents(folder_ / "a.ply") == contents(folder_ / "b.ply"));
}

TEST_F(DepthTest, ALongBaselineOfUnknownUnitIsRefusedWhereMetresAreNeeded) {
  write(folder_ / "millimetres.yml", opencv_calibration(100));
  const std::string match = pair_of_files + "--disparities 16 --calib millimetres.yml ";
  for (const std::string option :
       {"--depth z.png", "--cloud c.ply --max-depth 3", "--mesh m.ply --max-depth-uncertainty 1"})
    expect_refusal(match + option, 2, {"millimetres.yml", "baseline, 100,", "--unit mm"});
  EXPECT_EQ(run(match + "--cloud c.ply").status, 0);
}

TEST_F(DepthTest, RefusesOptionsWithoutWhatTheyNeed) {
  const std::string calibrated = pair_of_files + "--disparities 16 --calib pair/calib.txt ";
  for (const std::string output : {"--depth z.png", "--cloud c.ply", "--mesh m.ply"})
    expect_refusal(pair_of_files + output, 2, {output.substr(0, output.find(' ')), "geometry", "--calib"});
  for (const std::string limit : {"--max-depth", "--max-depth-uncertainty"})
    expect_refusal(calibrated + limit + " 3", 2, {limit + " needs --depth, --cloud or --mesh"});
  expect_refusal(calibrated + "--depth z.png --disparity-uncertainty 0.5", 2, {"--max-depth-uncertainty"});
  expect_refusal(calibrated + "--depth z.png --mesh-step 2", 2, {"--mesh-step needs --mesh"});
  expect_refusal(calibrated + "--depth z.png --normals", 2, {"--normals needs --cloud or --mesh"});
  expect_refusal(pair_of_files + "--unit mm", 2, {"--unit needs --calib"});
  expect_refusal(calibrated + "--depth z.png --unit foot", 2, {"--unit", "foot", "m, cm, mm"});
  expect_refusal(calibrated + "--depth z.png --max-depth -1", 2, {"--max-depth", "-1"});
  expect_refusal(calibrated + "--depth z.pfm", 2, {"--depth is z.pfm", ".png or .tiff"});
  expect_refusal(calibrated + "--cloud c.xyz", 2, {"--cloud is c.xyz", ".ply or .pcd"});
  expect_refusal(calibrated + "--mesh m.pcd", 2, {"--mesh is m.pcd", ".ply"});
  EXPECT_EQ(files(), (std::vector<std::string>{"empty.png", "pair", "stderr.txt", "stdout.txt", "text.png"}));
}

TEST_F(DepthTest, WritesAllFilesOrNoneAndNoneOverAnInput) {
  const std::string calibrated = pair_of_files + "--disparities 16 --calib pair/calib.txt ";
  expect_refusal(calibrated + "--depth pair/left.png", 2, {"pair/left.png is also read"});
  expect_refusal(calibrated + "--cloud c.ply --mesh ./c.ply", 2, {"c.ply", "by this command"});
  expect_refusal(calibrated + "--depth out/ --cloud c.ply", 2, {"out/ is a directory"});
  expect_refusal(calibrated + "--depth z.png --cloud c.pcd --mesh nowhere/m.ply", 1, {"nowhere/m.ply"});
  EXPECT_EQ(files(), (std::vector<std::string>{"empty.png", "pair", "stderr.txt", "stdout.txt", "text.png"}));
}

TEST_F(DepthTest, FramesOfASequenceHaveThemAll) {
  make_folders(2);
  ASSERT_EQ(run("synth calibrated --size 64x48 --disparities 16").status, 0);
  const std::string more = options + "--calib calibrated/calib.txt --max-depth 4 ";
  const Outcome outcome = run("match l r" + more + "--depth z/ --cloud c%02d.pcd --mesh m/");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  ASSERT_EQ(run("match l/1.ppm r/1.ppm" + more + "--depth z.png --cloud c.pcd --mesh m.ply").status, 0);
  EXPECT_TRUE(contents(folder_ / "z/1.png") == contents(folder_ / "z.png"));
  EXPECT_TRUE(contents(folder_ / "c01.pcd") == contents(folder_ / "c.pcd"));
  EXPECT_TRUE(contents(folder_ / "m/1.ply") == contents(folder_ / "m.ply"));
  EXPECT_FALSE(contents(folder_ / "m/0.ply") == contents(folder_ / "m.ply"));
  expect_refusal("match l r" + more + "--depth z.png", 2, {"--depth is z.png", "d_%04d.png, or a folder"});
  expect_refusal("match l r" + more + "--cloud x/ --mesh x/", 2, {"x/0.ply", "by this command"});
}

TEST_F(DepthTest, TilesRefuseThem) {
  const std::string tiles =
      pair_of_files + "--disparities 16 --tile-size 90x60 -o d.pfm --calib pair/calib.txt ";
  for (const std::string output : {"--depth z.png", "--cloud c.pcd", "--mesh m.ply"}) {
    const std::string name = output.substr(0, output.find(' '));
    expect_refusal(tiles + output, 2, {"leave out " + name});
    expect_refusal(
        "plan pair/left.png pair/right.png --disparities 16 -o d.pfm --plan p.json "
        "--calib pair/calib.txt " +
            output,
        2, {"leave out " + name});
  }
}

}  // namespace
}  // namespace parallax::test
