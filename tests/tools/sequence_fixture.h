// SPDX-License-Identifier: Apache-2.0
// Sequences of small pairs, and the results of matching each pair alone.
#pragma once

#include <string>
#include <utility>

#include "parallax/synth.h"

#include "tools/command_fixture.h"
#include "tools/picture_files.h"

namespace parallax::test {

inline constexpr int frames = 6;
inline const std::string options = " --method block --disparities 16 --threads 2 ";

inline std::string numbered(const std::string& before, int number, const std::string& after) {
  return before + std::to_string(number) + after;
}

// The left and right picture of a frame.
inline std::pair<Picture, Picture> frame_pictures(int number) {
  SynthParameters parameters;
  parameters.scene = Scene::layers;
  parameters.size = {64, 48};
  parameters.disparities = 16;
  parameters.seed = static_cast<std::uint64_t>(number);
  const SynthPair pair = synthesize(parameters);
  const auto picture = [&](const Plane<std::uint8_t>& image) {
    return make_picture(parameters.size, 3, BitDepth::bits8,
                        [&](int x, int y, int channel) { return image.at(3 * x + channel, y); });
  };
  return {picture(pair.left), picture(pair.right)};
}

class SequenceTest : public CommandTest {
 protected:
  // Makes folders l and r with 0.ppm, 1.ppm and so on.
  void make_folders(int count = frames) {
    for (const char* side : {"l", "r"}) fs::create_directory(folder_ / side);
    for (int i = 0; i < count; ++i) {
      const auto [left, right] = frame_pictures(i);
      save(numbered("l/", i, ".ppm"), left);
      save(numbered("r/", i, ".ppm"), right);
    }
  }

  void save(const std::string& name, const Picture& picture) const {
    test::save((folder_ / name).string(), picture);
  }

  // Matches one pair; returns the bytes of its map and of its picture.
  std::pair<std::string, std::string> match_pair(const std::string& left, const std::string& right,
                                                 const std::string& more = "") const {
    const Outcome outcome =
        run("match " + left + " " + right + options + more + " -o one.pfm --image one.png");
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return {contents(folder_ / "one.pfm"), contents(folder_ / "one.png")};
  }

  void expect_all_match(const std::string& disparities, const std::string& images,
                        const std::string& more = "") const {
    for (int i = 0; i < frames; ++i) {
      const auto [disparity, image] = match_pair(numbered("l/", i, ".ppm"), numbered("r/", i, ".ppm"), more);
      EXPECT_TRUE(contents(folder_ / numbered(disparities, i, ".pfm")) == disparity) << i;
      EXPECT_TRUE(contents(folder_ / numbered(images, i, ".png")) == image) << i;
    }
  }

  bool exists(const std::string& name) const { return fs::exists(folder_ / name); }
};

}  // namespace parallax::test
