// The table of what runs where, made by running it. docs/what-runs-where.md must say the same; after a
// change, run
//
//   PARALLAX_UPDATE_DOCS=1 build/developer/tests/test_conformance --gtest_filter='TableTest.*'

#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>

#include <gtest/gtest.h>

#include "support.h"

namespace parallax::test {
namespace {

struct Sample {
  BlockParameters parameters;
  StereoPair pair;
};

struct Option {
  const char* name;
  std::function<void(Sample&)> choose;
};

// The pictures that samples refer to.
struct Pictures {
  Pictures()
      : colour(synthesize({.size = {64, 40}, .disparities = 12})),
        deep_left({64, 40}),
        deep_right({64, 40}),
        mask({64, 40}, 255) {
    for (int y = 0; y < 40; ++y) {
      for (int x = 0; x < 64; ++x) {
        deep_left.at(x, y) = static_cast<std::uint16_t>(211 * colour.left.at(3 * x, y));
        deep_right.at(x, y) = static_cast<std::uint16_t>(211 * colour.right.at(3 * x, y));
        mask.at(x, y) = static_cast<std::uint8_t>((x + y) % 9 == 0 ? 0 : 1);
      }
    }
  }
  SynthPair colour;
  Plane<std::uint16_t> deep_left, deep_right;
  Plane<std::uint8_t> mask;
};

const Pictures& pictures() {
  static const Pictures instance;
  return instance;
}

std::vector<Option> block_options() {
  return {
      {"cost sad", [](Sample& s) { s.parameters.cost = BlockCost::sad; }},
      {"cost ssd", [](Sample& s) { s.parameters.cost = BlockCost::ssd; }},
      {"cost zncc", [](Sample& s) { s.parameters.cost = BlockCost::zncc; }},
      {"window 1", [](Sample& s) { s.parameters.window = 1; }},
      {"window 31", [](Sample& s) { s.parameters.window = 31; }},
      {"negative disparities", [](Sample& s) { s.parameters.min_disparity = -9; }},
      {"full row", [](Sample& s) { s.parameters.full_row = true; }},
      {"prefilter x-sobel", [](Sample& s) { s.parameters.prefilter = Prefilter::x_sobel; }},
      {"uniqueness", [](Sample& s) { s.parameters.uniqueness = 10; }},
      {"texture threshold", [](Sample& s) { s.parameters.texture_threshold = 300; }},
      {"sub-pixel parabola", [](Sample& s) { s.parameters.sub_pixel = SubPixel::parabola; }},
      {"left-right check", [](Sample& s) { s.parameters.refine.left_right_check = true; }},
      {"speckle filter", [](Sample& s) { s.parameters.refine.speckle_size = 30; }},
      {"fill row", [](Sample& s) { s.parameters.uniqueness = 10, s.parameters.refine.fill = Fill::row; }},
      {"median 3", [](Sample& s) { s.parameters.refine.median = 3; }},
      {"median 5", [](Sample& s) { s.parameters.refine.median = 5; }},
      {"16-bit images",
       [](Sample& s) {
         s.pair.left = pictures().deep_left.view(), s.pair.right = pictures().deep_right.view();
       }},
      {"masks", [](Sample& s) { s.pair.left_mask = s.pair.right_mask = pictures().mask.view(); }},
  };
}

// "=" when the device gives the bytes of the reference, "refused" when it says that it lacks the option.
std::string cell(const Option& option, const Device& device) {
  Sample sample{plain_block(), {pictures().colour.left_view(), pictures().colour.right_view(), {}, {}}};
  sample.parameters.disparities = 16;
  option.choose(sample);
  try {
    const bool same = same_bytes(match(sample.parameters, device, sample.pair),
                                 match(sample.parameters, reference, sample.pair));
    return same ? "=" : "**differs**";
  } catch (const Error& error) {
    return error.category() == ErrorCategory::device ? "refused" : "**" + std::string(error.what()) + "**";
  }
}

std::string make_table() {
  std::vector<DeviceKind> devices;
  for (const MatcherOnDevice& entry : list_matchers())
    if (entry.method == "block") devices.push_back(entry.device);
  std::ostringstream text;
  text << "# What runs where\n\nMade by `tests/conformance/table_test.cpp`, by running it: `=` is the same "
          "bytes as the "
          "reference, `refused` an error that names the option.\n\n## Block matching\n\n| option |";
  for (const DeviceKind device : devices) text << " " << device << " |";
  text << "\n|---|";
  for (std::size_t i = 0; i < devices.size(); ++i) text << "---|";
  for (const Option& option : block_options()) {
    text << "\n| " << option.name << " |";
    for (const DeviceKind device : devices) text << " " << cell(option, {device}) << " |";
  }
  text << "\n";
  return text.str();
}

TEST(TableTest, DocsSayWhatRunsWhere) {
  const std::string table = make_table();
  EXPECT_EQ(table.find("**"), std::string::npos) << table;
  if (std::getenv("PARALLAX_UPDATE_DOCS") != nullptr) std::ofstream(PARALLAX_TABLE) << table;
  std::ostringstream documented;
  documented << std::ifstream(PARALLAX_TABLE).rdbuf();
  EXPECT_EQ(documented.str(), table) << "run this test with PARALLAX_UPDATE_DOCS=1";
}

}  // namespace
}  // namespace parallax::test
