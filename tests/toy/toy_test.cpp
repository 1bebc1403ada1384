// SPDX-License-Identifier: Apache-2.0
// A method declared outside the library: once it is registered, the command line, tuning and tiles support
// it. This program also runs the generic tests of conformance and of parameters on it.

#include "toy/toy.h"

#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "matchers/parameter_tables.h"
#include "support.h"
#include "tools/command/command.h"

namespace parallax::test {
namespace {

namespace fs = std::filesystem;

class ToyTest : public testing::Test {
 protected:
  std::string path(const char* name) const { return (folder_ / name).string(); }

  static std::string printed_by(int (*command)(const tool::Arguments&), const tool::Arguments& arguments) {
    testing::internal::CaptureStdout();
    int status = -1;
    try {
      status = command(arguments);
    } catch (const tool::HelpRequest& help) {
      testing::internal::GetCapturedStdout();
      return help.what();
    }
    EXPECT_EQ(status, 0);
    return testing::internal::GetCapturedStdout();
  }

  const TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
};

TEST_F(ToyTest, IsListed) {
  EXPECT_EQ(list_methods().back(), "toy");
  EXPECT_EQ(list_presets("toy"), (std::vector<std::string>{"default", "bare"}));
  EXPECT_TRUE(contains(printed_by(tool::devices_command, {}), "toy"));
}

TEST_F(ToyTest, HelpOfTheCommandLineHasItsOptions) {
  const std::string help = printed_by(tool::match_command, {"--method", "toy", "--help"});
  EXPECT_TRUE(contains(help, "--truncation N")) << help;
  EXPECT_TRUE(contains(help, "Largest difference that counts [40]")) << help;
  EXPECT_TRUE(contains(help, "auto, reference, cpu;")) << help;
}

TEST_F(ToyTest, TheCommandLineMatchesWithItOnBothDevices) {
  ASSERT_EQ(tool::synth_command({path("pair"), "--size", "120x80", "--disparities", "12"}), 0);
  std::vector<fs::path> maps;
  for (const char* device : {"reference", "cpu"}) {
    maps.push_back(folder_ / (std::string(device) + ".pfm"));
    const std::string report =
        printed_by(tool::match_command,
                   {path("pair/left.png"), path("pair/right.png"), "--method", "toy", "--truncation", "25",
                    "--device", device, "-o", maps.back().string(), "--json"});
    const auto json = nlohmann::json::parse(report);
    EXPECT_EQ(json["method"], "toy");
    EXPECT_EQ(json["parameters"]["truncation"], 25);
    EXPECT_EQ(json["device"], device);
  }
  const Plane<float> expected = read_pfm(maps[0].string()), actual = read_pfm(maps[1].string());
  EXPECT_TRUE(same_bytes(expected, actual));
}

TEST_F(ToyTest, ValuesOutOfRangeAreRefusedByName) {
  ToyParameters parameters;
  parameters.truncation = 0;
  expect_refused(
      [&] {
        Matcher(parameters, cpu(1), {{20, 10}});
      },
      "truncation is 0: choose a number from 1 to 65535");
  EXPECT_THROW(tool::match_command({"left.png", "right.png", "--method", "toy", "--truncation", "0"}),
               tool::UsageError);
}

TEST_F(ToyTest, IsTunedAndRemembered) {
  const Variable tuning("PARALLAX_TUNING", path("tuning.json"));
  const std::string told = printed_by(
      tool::tune_command, {"--method", "toy", "--device", "cpu", "--size", "64x48", "--budget", "0.5"});
  const std::vector<TunedConfiguration> remembered = remembered_tuning();
  ASSERT_FALSE(remembered.empty()) << told;
  EXPECT_EQ(remembered.front().method, "toy");
  EXPECT_EQ(remembered.front().labels, 16);
  const auto tunables = list_tunables(ToyParameters(), cpu(1), {{64, 48}});
  ASSERT_EQ(tunables.size(), 1u);
  EXPECT_EQ(tunables.front().name, "ranges_per_thread");
}

TEST_F(ToyTest, MatchesInTilesByteForByte) {
  const SynthPair pair = synthesize({.size = {150, 60}, .disparities = 12});
  const StereoPair views{pair.left_view(), pair.right_view()};
  const ToyParameters parameters;
  const TilePlan plan = plan_tiles(parameters, cpu(1), views.left.format, {}, {.largest = {90, 40}});
  ASSERT_GT(plan.tiles.size(), 1u);
  Result tiled(pair.size());
  match_in_tiles(plan, views, tiled.map());
  EXPECT_TRUE(same_bytes(match(parameters, cpu(1), views), tiled));
}

TEST_F(ToyTest, HasATableForTheDocumentation) {
  EXPECT_EQ(parameter_table("toy"),
            "| option | values | default | |\n|---|---|---|---|\n"
            "| `--min-disparity` | -1000000 to 1000000 pixels | 0 | Lowest disparity; may be negative |\n"
            "| `--disparities` | 1 to 1024 pixels | 16 | Number of disparities |\n"
            "| `--truncation` | 1 to 65535 gray levels | 40 | Largest difference that counts |\n");
}

}  // namespace
}  // namespace parallax::test

int main(int count, char** arguments) {
  parallax::detail::methods().push_back(parallax::toy::method());
  testing::InitGoogleTest(&count, arguments);
  return RUN_ALL_TESTS();
}
