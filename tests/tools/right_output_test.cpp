// SPDX-License-Identifier: Apache-2.0
// --right-output: the map of the right picture, compared with that of a mirrored pair.
#include "parallax/formats.h"

#include "tools/sequence_fixture.h"

namespace parallax::test {
namespace {

class RightOutputTest : public SequenceTest {
 protected:
  // Writes frame `number` as a mirrored and exchanged pair, and matches it.
  Plane<float> expected(int number, const std::string& more = "") const {
    const auto [left, right] = frame_pictures(number);
    save("mirrored_left.ppm", mirrored(right));
    save("mirrored_right.ppm", mirrored(left));
    const Outcome outcome =
        run("match mirrored_left.ppm mirrored_right.ppm" + options + more + " -o mirrored.pfm");
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    const Plane<float> map = read("mirrored.pfm");
    Plane<float> back(map.size());
    for (int y = 0; y < map.height(); ++y)
      for (int x = 0; x < map.width(); ++x) back.at(x, y) = map.at(map.width() - 1 - x, y);
    return back;
  }
  Plane<float> read(const std::string& name) const { return read_pfm((folder_ / name).string()); }

 private:
  static Picture mirrored(const Picture& picture) {
    const ImageView view = picture.view();
    const auto* first = static_cast<const std::uint8_t*>(view.data);
    return make_picture(view.format.size, 3, BitDepth::bits8, [&](int x, int y, int channel) {
      return first[y * view.stride_bytes + 3 * (view.format.size.width - 1 - x) + channel];
    });
  }
};

TEST_F(RightOutputTest, IsTheMapOfTheMirroredPair) {
  make_folders(1);
  const Outcome outcome = run("match l/0.ppm r/0.ppm" + options + "-o d.pfm --right-output right.pfm --json");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "\"right\": {")) << outcome.out;
  EXPECT_TRUE(same_bytes(read("right.pfm"), expected(0)));
  EXPECT_FALSE(same_bytes(read("right.pfm"), read("d.pfm")));
  // The left map does not change, and need not be written.
  EXPECT_EQ(contents(folder_ / "d.pfm"), match_pair("l/0.ppm", "r/0.ppm").first);
  ASSERT_EQ(run("match l/0.ppm r/0.ppm" + options + "--right-output alone.pfm").status, 0);
  EXPECT_EQ(contents(folder_ / "alone.pfm"), contents(folder_ / "right.pfm"));
  ASSERT_EQ(run("match l/0.ppm r/0.ppm" + options + "--right-output right.png").status, 0);
  EXPECT_TRUE(fs::exists(folder_ / "right.png"));
}

TEST_F(RightOutputTest, MasksAreMirroredToo) {
  make_folders(1);
  const auto save_mask = [&](const std::string& name, bool is_right) {
    save(name, make_picture({64, 48}, 1, BitDepth::bits8,
                            [&](int x, int, int) { return (is_right ? x : 63 - x) < 40 ? 255 : 0; }));
  };
  save_mask("mask.pgm", true);
  save_mask("mirrored_mask.pgm", false);
  ASSERT_EQ(run("match l/0.ppm r/0.ppm" + options + "--right-mask mask.pgm --right-output right.pfm").status,
            0);
  const Plane<float> right = read("right.pfm");
  EXPECT_TRUE(same_bytes(right, expected(0, "--left-mask mirrored_mask.pgm")));
  EXPECT_FALSE(right.at(50, 20) < 1e30f);
}

TEST_F(RightOutputTest, SequencesAndBatchesHaveIt) {
  make_folders(3);
  ASSERT_EQ(run("match l r" + options + "--right-output of_sequence_%d.pfm -o maps/").status, 0);
  ASSERT_EQ(run("match l r" + options + "--device cpu,cpu --right-output of_pool_%d.pfm").status, 0);
  ASSERT_EQ(
      run("batch l r" + options + "--right-output of_batch_{name}.pfm -o {name}.pfm --results t.csv").status,
      0);
  for (int i = 0; i < 3; ++i) {
    const Plane<float> right = expected(i);
    for (const char* before : {"of_sequence_", "of_pool_", "of_batch_"})
      EXPECT_TRUE(same_bytes(read(numbered(before, i, ".pfm")), right)) << before << i;
  }
  // A map that is gone is made again.
  fs::remove(folder_ / "of_batch_1.pfm");
  const Outcome resumed = run("batch l r" + options +
                              "--right-output of_batch_{name}.pfm -o {name}.pfm --results t.csv --resume");
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_TRUE(contains(resumed.err, "2 done before")) << resumed.err;
  EXPECT_TRUE(same_bytes(read("of_batch_1.pfm"), expected(1)));
}

TEST_F(RightOutputTest, WhatHasNoneIsRefusedByName) {
  make_folders(1);
  const std::string pair = "match l/0.ppm r/0.ppm" + options;
  expect_refusal(pair + "--right-output right.jpg", 2, {"right.jpg", ".pfm"});
  expect_refusal(pair + "-o same.pfm --right-output same.pfm", 2, {"same.pfm"});
  expect_refusal(pair + "--right-output l/0.ppm", 2, {"l/0.ppm"});
  expect_refusal(pair + "-o d.pfm --tile-size 32x32 --right-output right.pfm", 2,
                 {"leave out --right-output, which tiles do not support"});
  expect_refusal("plan l/0.ppm r/0.ppm" + options + "-o d.pfm --plan p.json --right-output right.pfm", 2,
                 {"leave out --right-output, which tiles do not support"});
  EXPECT_EQ(files(),
            (std::vector<std::string>{"empty.png", "l", "r", "stderr.txt", "stdout.txt", "text.png"}));
}

}  // namespace
}  // namespace parallax::test
