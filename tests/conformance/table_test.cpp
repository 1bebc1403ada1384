// SPDX-License-Identifier: Apache-2.0
// The tables of what runs where, made by running it. docs/what-runs-where.md must say the same; after a
// change, run this, which tries each option alone on every device
//
//   PARALLAX_UPDATE_DOCS=1 build/developer/tests/test_conformance --gtest_filter='TableTest.*'

#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include <gtest/gtest.h>

#include "matchers/registry.h"
#include "support.h"

namespace parallax::test {
namespace {

template <class Parameters>
struct Sample {
  Parameters parameters;
  StereoPair pair;
  bool with_confidence = false;
};

template <class Parameters>
struct Option {
  const char* name;
  std::function<void(Sample<Parameters>&)> choose;
};

// What a table is about.
template <class Parameters>
struct Method {
  const char *title, *name;
  Parameters start;
  std::vector<Option<Parameters>> options;
};

// The pictures that samples refer to.
struct Pictures {
  Pictures()
      : colour(synthesize({.size = {64, 40}, .disparities = 12})),
        deep_left({64, 40}),
        deep_right({64, 40}),
        mask({64, 40}, 255),
        volume(64 * 40 * labels) {
    for (int y = 0; y < 40; ++y) {
      for (int x = 0; x < 64; ++x) {
        deep_left.at(x, y) = static_cast<std::uint16_t>(211 * colour.left.at(3 * x, y));
        deep_right.at(x, y) = static_cast<std::uint16_t>(211 * colour.right.at(3 * x, y));
        mask.at(x, y) = static_cast<std::uint8_t>((x + y) % 9 == 0 ? 0 : 1);
      }
    }
    for (std::size_t i = 0; i < volume.size(); ++i) volume[i] = static_cast<float>(i * i % 101) / 16;
  }
  static constexpr int labels = 16;
  SynthPair colour;
  Plane<std::uint16_t> deep_left, deep_right;
  Plane<std::uint8_t> mask;
  std::vector<float> volume;
};

const Pictures& pictures() {
  static const Pictures instance;
  return instance;
}

template <class Parameters>
void choose_deep_images(Sample<Parameters>& sample) {
  sample.pair.left = pictures().deep_left.view();
  sample.pair.right = pictures().deep_right.view();
}

template <class Parameters>
void choose_masks(Sample<Parameters>& sample) {
  sample.pair.left_mask = sample.pair.right_mask = pictures().mask.view();
}

Method<BlockParameters> block() {
  using S = Sample<BlockParameters>&;
  return {"Block matching",
          "block",
          plain_block(),
          {
              {"cost sad", [](S s) { s.parameters.cost = BlockCost::sad; }},
              {"cost ssd", [](S s) { s.parameters.cost = BlockCost::ssd; }},
              {"cost zncc", [](S s) { s.parameters.cost = BlockCost::zncc; }},
              {"window 1", [](S s) { s.parameters.window = 1; }},
              {"window 31", [](S s) { s.parameters.window = 31; }},
              {"negative disparities", [](S s) { s.parameters.min_disparity = -9; }},
              {"full row", [](S s) { s.parameters.full_row = true; }},
              {"prefilter x-sobel", [](S s) { s.parameters.prefilter = Prefilter::x_sobel; }},
              {"uniqueness", [](S s) { s.parameters.uniqueness = 10; }},
              {"texture threshold", [](S s) { s.parameters.texture_threshold = 300; }},
              {"sub-pixel parabola", [](S s) { s.parameters.sub_pixel = SubPixel::parabola; }},
              {"sub-pixel v-shape", [](S s) { s.parameters.sub_pixel = SubPixel::v_shape; }},
              {"confidence map", [](S s) { s.with_confidence = true; }},
              {"left-right check", [](S s) { s.parameters.refine.left_right_check = true; }},
              {"speckle filter", [](S s) { s.parameters.refine.speckle_size = 30; }},
              {"fill row", [](S s) { s.parameters.uniqueness = 10, s.parameters.refine.fill = Fill::row; }},
              {"median 3", [](S s) { s.parameters.refine.median = 3; }},
              {"median 5", [](S s) { s.parameters.refine.median = 5; }},
              {"weighted median", [](S s) { s.parameters.refine.weighted_median = 7; }},
              {"bilateral", [](S s) { s.parameters.refine.bilateral = 7; }},
              {"16-bit images", choose_deep_images<BlockParameters>},
              {"masks", choose_masks<BlockParameters>},
          }};
}

Method<BeliefPropagationParameters> belief_propagation() {
  using S = Sample<BeliefPropagationParameters>&;
  return {
      "Belief propagation",
      "bp",
      plain_belief_propagation(),
      {
          {"arithmetic fixed8", [](S s) { s.parameters.arithmetic = Arithmetic::fixed8; }},
          {"arithmetic fixed16", [](S s) { s.parameters.arithmetic = Arithmetic::fixed16; }},
          {"arithmetic float32", [](S s) { s.parameters.arithmetic = Arithmetic::float32; }},
          {"arithmetic float16", [](S s) { s.parameters.arithmetic = Arithmetic::float16; }},
          {"arithmetic bfloat16", [](S s) { s.parameters.arithmetic = Arithmetic::bfloat16; }},
          {"cost absolute-difference", [](S s) { s.parameters.cost = DataCost::absolute_difference; }},
          {"cost absolute-difference-colour",
           [](S s) { s.parameters.cost = DataCost::absolute_difference_colour; }},
          {"cost census", [](S s) { s.parameters.cost = DataCost::census; }},
          {"cost birchfield-tomasi", [](S s) { s.parameters.cost = DataCost::birchfield_tomasi; }},
          {"cost volume",
           [](S s) {
             s.parameters.cost = DataCost::volume;
             s.pair.costs = {pictures().volume.data(), {64, 40}, Pictures::labels};
           }},
          {"data truncation", [](S s) { s.parameters.data_truncation = 12.5f; }},
          {"no outside cost", [](S s) { s.parameters.outside_cost.reset(); }},
          {"smoothing", [](S s) { s.parameters.smoothing = 0.7f; }},
          {"edges", [](S s) { s.parameters.edge_contrast = 10; }},
          {"one level", [](S s) { s.parameters.levels = 1; }},
          {"sub-pixel parabola", [](S s) { s.parameters.sub_pixel = SubPixel::parabola; }},
          {"sub-pixel v-shape", [](S s) { s.parameters.sub_pixel = SubPixel::v_shape; }},
          {"minimum confidence", [](S s) { s.parameters.min_confidence = 0.2f; }},
          {"confidence map", [](S s) { s.with_confidence = true; }},
          {"negative disparities", [](S s) { s.parameters.min_disparity = -9; }},
          {"left-right check", [](S s) { s.parameters.refine.left_right_check = true; }},
          {"speckle filter", [](S s) { s.parameters.refine.speckle_size = 30; }},
          {"fill row", [](S s) { s.parameters.min_confidence = 0.2f, s.parameters.refine.fill = Fill::row; }},
          {"median 3", [](S s) { s.parameters.refine.median = 3; }},
          {"median 5", [](S s) { s.parameters.refine.median = 5; }},
          {"weighted median", [](S s) { s.parameters.refine.weighted_median = 7; }},
          {"bilateral", [](S s) { s.parameters.refine.bilateral = 7; }},
          {"16-bit images", choose_deep_images<BeliefPropagationParameters>},
          {"masks", choose_masks<BeliefPropagationParameters>},
      }};
}

Method<CensusParameters> census() {
  using S = Sample<CensusParameters>&;
  const auto transform = [](CensusTransform t) { return [t](S s) { s.parameters.transform = t; }; };
  return {"Census matching",
          "census",
          plain_census(),
          {
              {"transform census 5×5", transform(CensusTransform::census_5x5)},
              {"transform census 7×7", transform(CensusTransform::census_7x7)},
              {"transform census 9×7", transform(CensusTransform::census_9x7)},
              {"transform census 9×9", transform(CensusTransform::census_9x9)},
              {"transform modified 5×5", transform(CensusTransform::modified_5x5)},
              {"transform modified 7×7", transform(CensusTransform::modified_7x7)},
              {"transform modified 9×7", transform(CensusTransform::modified_9x7)},
              {"transform modified 9×9", transform(CensusTransform::modified_9x9)},
              {"transform sparse modified 7×7", transform(CensusTransform::sparse_modified_7x7)},
              {"cost ad-census", [](S s) { s.parameters.cost = CensusCost::ad_census; }},
              {"window 1", [](S s) { s.parameters.window = 1; }},
              {"window 15", [](S s) { s.parameters.window = 15; }},
              {"pyramid of three levels", [](S s) { s.parameters.pyramid_levels = 3; }},
              {"as many levels as there can be", [](S s) { s.parameters.pyramid_levels = 30; }},
              {"search radius", [](S s) { s.parameters.pyramid_levels = 3, s.parameters.search_radius = 7; }},
              {"negative disparities", [](S s) { s.parameters.min_disparity = -9; }},
              {"uniqueness", [](S s) { s.parameters.uniqueness = 10; }},
              {"sub-pixel parabola", [](S s) { s.parameters.sub_pixel = SubPixel::parabola; }},
              {"sub-pixel v-shape", [](S s) { s.parameters.sub_pixel = SubPixel::v_shape; }},
              {"confidence map", [](S s) { s.with_confidence = true; }},
              {"left-right check", [](S s) { s.parameters.refine.left_right_check = true; }},
              {"speckle filter", [](S s) { s.parameters.refine.speckle_size = 30; }},
              {"fill row", [](S s) { s.parameters.uniqueness = 10, s.parameters.refine.fill = Fill::row; }},
              {"median 3", [](S s) { s.parameters.refine.median = 3; }},
              {"median 5", [](S s) { s.parameters.refine.median = 5; }},
              {"weighted median", [](S s) { s.parameters.refine.weighted_median = 7; }},
              {"bilateral", [](S s) { s.parameters.refine.bilateral = 7; }},
              {"16-bit images", choose_deep_images<CensusParameters>},
              {"masks", choose_masks<CensusParameters>},
          }};
}

Method<TiledBeliefPropagationParameters> tiled_belief_propagation() {
  using S = Sample<TiledBeliefPropagationParameters>&;
  TiledBeliefPropagationParameters start = plain_tiled_belief_propagation();
  start.tile = 12;
  return {
      "Tiled belief propagation",
      "tiled-bp",
      start,
      {
          {"tile 1", [](S s) { s.parameters.tile = 1; }},
          {"tile 13", [](S s) { s.parameters.tile = 13; }},
          {"tile 32", [](S s) { s.parameters.tile = 32; }},
          {"tile larger than the image", [](S s) { s.parameters.tile = 4096; }},
          {"the whole image as one tile", [](S s) { s.parameters.tile = 0; }},
          {"three outer iterations", [](S s) { s.parameters.outer = 3; }},
          {"five inner iterations", [](S s) { s.parameters.inner = 5; }},
          {"sweep order right-left-up-down",
           [](S s) { s.parameters.sweep_order = SweepOrder::right_left_up_down; }},
          {"message width 8", [](S s) { s.parameters.message_width = MessageWidth::bits8; }},
          {"message width 16", [](S s) { s.parameters.message_width = MessageWidth::bits16; }},
          {"message values beyond a byte", [](S s) { s.parameters.discontinuity_cost = 60; }},
          {"no early out", [](S s) { s.parameters.inner = 9, s.parameters.early_out = false; }},
          {"cost absolute-difference", [](S s) { s.parameters.cost = DataCost::absolute_difference; }},
          {"cost absolute-difference-colour",
           [](S s) { s.parameters.cost = DataCost::absolute_difference_colour; }},
          {"cost census", [](S s) { s.parameters.cost = DataCost::census; }},
          {"cost birchfield-tomasi", [](S s) { s.parameters.cost = DataCost::birchfield_tomasi; }},
          {"cost mean-absolute-difference",
           [](S s) { s.parameters.cost = DataCost::mean_absolute_difference; }},
          {"cost volume",
           [](S s) {
             s.parameters.cost = DataCost::volume;
             s.pair.costs = {pictures().volume.data(), {64, 40}, Pictures::labels};
           }},
          {"data truncation", [](S s) { s.parameters.data_truncation = 12.5f; }},
          {"no outside cost", [](S s) { s.parameters.outside_cost.reset(); }},
          {"frame", [](S s) { s.parameters.frame = 5; }},
          {"smoothing", [](S s) { s.parameters.smoothing = 0.7f; }},
          {"sub-pixel parabola", [](S s) { s.parameters.sub_pixel = SubPixel::parabola; }},
          {"sub-pixel v-shape", [](S s) { s.parameters.sub_pixel = SubPixel::v_shape; }},
          {"minimum confidence", [](S s) { s.parameters.min_confidence = 0.2f; }},
          {"confidence map", [](S s) { s.with_confidence = true; }},
          {"negative disparities", [](S s) { s.parameters.min_disparity = -9; }},
          {"left-right check", [](S s) { s.parameters.refine.left_right_check = true; }},
          {"speckle filter", [](S s) { s.parameters.refine.speckle_size = 30; }},
          {"fill row", [](S s) { s.parameters.min_confidence = 0.2f, s.parameters.refine.fill = Fill::row; }},
          {"median 3", [](S s) { s.parameters.refine.median = 3; }},
          {"median 5", [](S s) { s.parameters.refine.median = 5; }},
          {"weighted median", [](S s) { s.parameters.refine.weighted_median = 7; }},
          {"bilateral", [](S s) { s.parameters.refine.bilateral = 7; }},
          {"16-bit images", choose_deep_images<TiledBeliefPropagationParameters>},
          {"masks", choose_masks<TiledBeliefPropagationParameters>},
      }};
}

bool updates_docs() {
  return std::getenv("PARALLAX_UPDATE_DOCS") != nullptr;
}

// "=" when the device gives the bytes of the reference, "refused" when it says that it lacks the option.
template <class Parameters>
std::string cell(Sample<Parameters> sample, const Option<Parameters>& option, const Device& device) {
  sample.parameters.disparities = Pictures::labels;
  option.choose(sample);
  const auto run = [&](const Device& on) {
    return match(sample.parameters, on, sample.pair, 0xA5, sample.with_confidence);
  };
  try {
    return same_bytes(run(device), run(reference)) ? "=" : "**differs**";
  } catch (const Error& error) {
    return error.category() == ErrorCategory::device ? "refused" : "**" + std::string(error.what()) + "**";
  }
}

template <class Parameters>
using Options = std::vector<const Option<Parameters>*>;

// As a plan says, which compiles nothing before it is allocated.
template <class Parameters>
bool is_refused(Sample<Parameters> sample, const Option<Parameters>& option, const Device& device) {
  sample.parameters.disparities = Pictures::labels;
  option.choose(sample);
  try {
    detail::make_plan(sample.parameters, device, sample.pair.left.format, {});
    return false;
  } catch (const Error& error) {
    return error.category() == ErrorCategory::device;
  }
}

std::string first_word(const std::string& name) {
  return name.substr(0, name.find(' '));
}

// Options that go together: of those whose names begin with the same word, which choose the same thing, one
// in each round.
template <class Parameters>
std::vector<Options<Parameters>> rounds_of(const Options<Parameters>& options) {
  std::vector<Options<Parameters>> rounds;
  std::map<std::string, std::size_t> used;
  for (const Option<Parameters>* option : options) {
    const std::size_t round = used[first_word(option->name)]++;
    rounds.resize(std::max(rounds.size(), round + 1));
    rounds[round].push_back(option);
  }
  return rounds;
}

// Of each option of a device whose kernels are compiled for it, which takes nearly all of the time: options
// that it does not refuse are tried together, and alone only where that fails.
template <class Parameters>
std::map<std::string, std::string> cells_together(const Method<Parameters>& method,
                                                  const Sample<Parameters>& start, const Device& device) {
  std::map<std::string, std::string> cells;
  Options<Parameters> accepted;
  for (const Option<Parameters>& option : method.options)
    if (is_refused(start, option, device))
      cells[option.name] = "refused";
    else
      accepted.push_back(&option);
  for (const Options<Parameters>& round : rounds_of<Parameters>(accepted)) {
    const Option<Parameters> all{"all", [&](Sample<Parameters>& sample) {
                                   for (const Option<Parameters>* option : round) option->choose(sample);
                                 }};
    const bool same = cell(start, all, device) == "=";
    for (const Option<Parameters>* option : round)
      cells[option->name] = same ? "=" : cell(start, *option, device);
  }
  return cells;
}

template <class Parameters>
std::map<std::string, std::string> cells_of(const Method<Parameters>& method, DeviceKind device) {
  const Sample<Parameters> start{method.start,
                                 {pictures().colour.left_view(), pictures().colour.right_view()}};
  const bool compiles = device == DeviceKind::cuda || device == DeviceKind::opencl;
  if (compiles && !updates_docs()) return cells_together(method, start, {device});
  std::map<std::string, std::string> cells;
  for (const Option<Parameters>& option : method.options) cells[option.name] = cell(start, option, {device});
  return cells;
}

template <class Parameters>
void write_table(const Method<Parameters>& method, std::ostream& text) {
  std::vector<std::map<std::string, std::string>> columns;
  text << "\n## " << method.title << "\n\n| option |";
  for (const MatcherOnDevice& entry : list_matchers()) {
    if (entry.method != method.name) continue;
    text << " " << entry.device << " |";
    columns.push_back(cells_of(method, entry.device));
  }
  text << "\n|---|";
  for (std::size_t i = 0; i < columns.size(); ++i) text << "---|";
  for (const Option<Parameters>& option : method.options) {
    text << "\n| " << option.name << " |";
    for (auto& column : columns) text << " " << column[option.name] << " |";
  }
  text << "\n";
}

std::string make_tables() {
  std::ostringstream text;
  text << "# What runs where\n\nMade by `tests/conformance/table_test.cpp`, by running it: `=` is the same "
          "bytes as the "
          "reference, `refused` an error that names the option.\n";
  write_table(block(), text);
  write_table(belief_propagation(), text);
  write_table(census(), text);
  write_table(tiled_belief_propagation(), text);
  return text.str();
}

TEST(TableTest, DocsSayWhatRunsWhere) {
  for (const DeviceKind kind : device_kinds())
    if (!is_here(kind)) GTEST_SKIP() << "no " << name(kind) << " here";
  const std::string table = make_tables();
  EXPECT_EQ(table.find("**"), std::string::npos) << table;
  if (updates_docs()) std::ofstream(PARALLAX_TABLE) << table;
  std::ostringstream documented;
  documented << std::ifstream(PARALLAX_TABLE).rdbuf();
  EXPECT_EQ(documented.str(), table) << "run this test with PARALLAX_UPDATE_DOCS=1";
}

}  // namespace
}  // namespace parallax::test
