// Real pairs with ground truth. Skipped, by name, where the data is not.

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "support.h"
#include "tools/parallax/pictures.h"

namespace parallax::test {
namespace {

namespace fs = std::filesystem;

fs::path data_folder() {
  const char* folder = std::getenv("PARALLAX_DATA");
  return folder ? folder : PARALLAX_SHARED_DATA;
}

struct RealPair {
  const char* name;
  int disparities;
  double scale;
  double bound;  // of bad1, per cent of the pixels that both cameras see; docs/block.md has the figures
};

std::ostream& operator<<(std::ostream& out, const RealPair& pair) {
  return out << pair.name;
}

class RealPairs : public testing::TestWithParam<RealPair> {};

TEST_P(RealPairs, ErrorStaysWhereItIs) {
  const RealPair pair = GetParam();
  const fs::path folder = data_folder() / "middlebury2003" / pair.name;
  if (!fs::exists(folder)) GTEST_SKIP() << "no " << folder << ": set PARALLAX_DATA";
  const auto path = [&](const char* file) { return (folder / file).string(); };
  const tool::Picture left = tool::read_picture(path("left.png")),
                      right = tool::read_picture(path("right.png"));
  const Plane<float> truth = tool::read_disparity(path("groundtruth.png"), pair.scale);
  const Plane<std::uint8_t> mask = tool::read_mask(path("nonocc.png"));
  BlockParameters parameters;
  parameters.disparities = pair.disparities;
  const Result result = match(parameters, cpu(2), {left.view(), right.view(), {}, {}});
  const double bad1 = 100 * evaluate(result.disparity.view(), truth.view(), mask.view()).bad1;
  EXPECT_LT(bad1, pair.bound);
  EXPECT_GT(bad1, 0.5 * pair.bound) << "far better than documented: is the evaluation right?";
}

INSTANTIATE_TEST_SUITE_P(Middlebury2003, RealPairs,
                         testing::Values(RealPair{"tsukuba", 16, 16, 8}, RealPair{"venus", 20, 8, 4},
                                         RealPair{"teddy", 60, 4, 12}, RealPair{"cones", 60, 4, 7}),
                         [](const auto& pair) { return std::string(pair.param.name); });

}  // namespace
}  // namespace parallax::test
