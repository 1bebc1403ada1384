// SPDX-License-Identifier: Apache-2.0
#include "conformance/random_case.h"

#include <algorithm>
#include <limits>
#include <map>

#include "matchers/planning.h"

namespace parallax::test {
namespace {

// Texts for set_parameter(); "1..9" is any integer from 1 to 9. A value that is listed twice is chosen twice
// as often.
using Values = std::vector<std::string>;

// Values that kernels treat differently, by the name of the parameter, or by method and name. Other
// parameters get any value that they allow.
const std::map<std::string, Values>& values_worth_trying() {
  static const std::map<std::string, Values> values{
      {"uniqueness", {"0", "1..100"}},
      {"min_confidence", {"0", "0", "0.3", "0.8", "0.97"}},
      {"data_truncation", {"0", "0", "1", "3.7", "15", "40", "100", "256"}},
      {"census_tolerance", {"0", "0", "1", "3", "20", "64"}},
      {"smoothing", {"0", "0", "0.6", "2.5"}},
      // Has tests of its own, with pairs whose rows are not aligned.
      {"rows", {"given"}},
      {"bp.rows", {"given", "auto"}},
      {"row_tolerance", {"0", "0", "0", "1", "2", "1..5", "16"}},
      {"left_right_tolerance", {"0", "0.5", "0.6", "1", "1.5", "2"}},
      {"occlusion_check", {"false", "false", "true"}},
      {"speckle_size", {"0", "0", "5", "1..30"}},
      {"refit", {"0", "0", "0", "3", "7", "15"}},
      {"reject_unseen", {"false"}},  // GPUs lack it; refine/unseen_test.cpp has its cases
      {"median", {"0", "0", "3", "5"}},
      {"weighted_median", {"0", "0", "0", "3", "5", "7"}},
      {"weighted_median_range", {"1..255", "1..20"}},
      {"bilateral", {"0", "0", "0", "3", "5", "7"}},
      {"bilateral_range", {"1..255", "1..20"}},
      {"bilateral_step", {"0", "0.25", "0.5", "1", "1.75", "3"}},
      {"block.full_row", {"true", "false", "false", "false", "false", "false", "false", "false"}},
      {"block.window", {"1", "3", "5", "7", "9", "1", "3", "5", "7", "9", "15", "17", "1", "3", "5", "31"}},
      {"block.prefilter_cap", {"127", "1..63", "31"}},
      {"block.texture_threshold", {"0", "1..2000"}},
      {"census.ad_truncation", {"127", "1..60"}},
      {"census.window", {"1", "3", "5", "7", "9", "15"}},
      // Often more than the image allows.
      {"census.pyramid_levels", {"1..3", "1..9"}},
      {"census.search_radius", {"1..3", "1..3", "1..3", "1..1000"}},
      {"bp.arithmetic", {"fixed8", "fixed8", "fixed16", "float32", "float16", "bfloat16"}},
      {"bp.levels", {"1..8"}},
      {"bp.iterations", {"1..9", "1..9", "1..9", "1..9", "1..9", "1..9", "1..9", "1..9", "1..9", "40"}},
      {"bp.cost",
       {"census", "census", "census", "absolute-difference", "absolute-difference-colour",
        "birchfield-tomasi", "volume"}},
      {"bp.finest_iterations", {"0", "0", "1..4"}},
      {"bp.right_finest_iterations", {"0", "0", "1..4"}},
      {"bp.candidate_levels", {"0", "1", "2", "2"}},
      {"bp.candidate_slack", {"0", "1..3", "1..3", "40", "1024"}},
      {"bp.data_weight", {"0.002", "0.01", "0.04", "0.1", "0.37", "3", "1000"}},
      {"bp.outside_cost", {"none", "none", "0", "0.3", "1.6", "7", "1000"}},
      {"bp.discontinuity_truncation", {"0", "0.3", "1", "1.7", "5", "12.3", "31", "60", "1000"}},
      {"bp.edge_contrast", {"0", "0", "1.5", "10", "256"}},
      {"bp.edge_floor", {"0", "0.05", "0.2", "1"}},
      {"bp.row_weight", {"0", "0.3", "1", "2", "4", "1024"}},
      {"row_prior", {"0", "0.3", "1", "1", "5", "1000"}},
      {"bp.row_prior", {"0", "0.1", "1", "1", "10", "1000"}},
      {"motion.min_row_offset", {"-3", "0", "-9..9", "-9..9"}},
      {"motion.row_offsets", {"1..3", "7", "1..25"}},
      {"motion.active_window", {"0", "3", "5", "7"}},
      {"motion.prediction_weight", {"0", "0.02", "0.3", "2"}},
      {"motion.levels", {"1..6"}},
      {"motion.iterations", {"1..9"}},
      {"motion.finest_iterations", {"0", "1..4"}},
      {"motion.data_weight", {"0.002", "0.01", "0.04", "0.1", "0.37", "3", "1000"}},
      {"motion.outside_cost", {"0", "0.3", "1.6", "7", "1000"}},
      {"motion.discontinuity_truncation", {"0.3", "1", "1.7", "5", "12.3", "31", "60", "1000"}},
      {"motion.edge_contrast", {"0", "0", "1.5", "10", "256"}},
      {"motion.edge_floor", {"0", "0.05", "0.2", "1"}},
      {"planes.rounds", {"1", "1", "1", "2"}},
      {"planes.data_weight", {"0.001", "0.01", "0.04", "0.04", "0.25"}},
      {"planes.discontinuity_truncation", {"0.01", "0.3", "1", "2", "2"}},
      {"planes.edge_contrast", {"0", "0", "1.5", "10", "256"}},
      {"planes.edge_floor", {"0", "0.05", "0.2", "1"}},
      {"sgm.paths", {"4", "5", "8", "8"}},
      {"sgm.aggregation", {"sgm", "sgm", "mgm"}},
      {"sgm.cost",
       {"census", "census", "census", "absolute-difference", "absolute-difference-colour",
        "birchfield-tomasi", "census-centre-symmetric", "gradient-birchfield-tomasi", "volume"}},
      // Path costs fit in bytes if the highest data cost and large_jump add up to at most 255.
      {"sgm.data_weight", {"0.02", "0.5", "1", "1", "2", "3.1", "20"}},
      {"sgm.outside_cost", {"none", "none", "0", "1..60", "200", "1000"}},
      {"sgm.window", {"1", "1", "1", "3", "3", "5", "9", "15"}},
      {"sgm.small_jump", {"1..40", "1..40", "150", "1000"}},
      {"sgm.large_jump", {"2..200", "2..200", "2..200", "400", "3000"}},
      {"sgm.row_jump", {"1..200", "1..200", "130", "400", "3000"}},
      {"sgm.row_prior", {"0", "0.2", "1", "1", "5.65", "150"}},
      {"sgm.edge_contrast", {"0", "0", "1.5", "10", "256"}},
      {"sgm.edge_floor", {"0", "0.05", "0.2", "1"}},
      {"tiled-bp.tile", {"1..40", "1..40", "0", "1", "2", "13", "16", "32", "64", "128", "300"}},
      {"tiled-bp.outer", {"1..3"}},
      {"tiled-bp.inner", {"1..4", "1..4", "1..4", "1..4", "1..4", "1..4", "1..4", "1..4", "1..4", "25"}},
      // Bytes hold all values up to 42, and messages up to 255.
      {"tiled-bp.discontinuity_cost",
       {"1", "1", "2", "3", "6", "7", "14", "16", "21", "42", "43", "85", "255", "256", "1000", "8191"}},
      {"tiled-bp.discontinuity_truncation",
       {"1", "1", "2", "2", "3", "5", "6", "7", "20", "42", "43", "255", "1024"}},
      {"tiled-bp.message_width", {"automatic", "automatic", "8", "16"}},
      {"tiled-bp.data_weight", {"0.002", "0.04", "0.24", "1", "1", "3", "40", "1000"}},
      {"tiled-bp.outside_cost", {"none", "none", "none", "0", "1", "10", "100", "255", "256", "8191"}},
      {"tiled-bp.frame", {"0", "0", "0", "0..9"}},
  };
  return values;
}

}  // namespace

RandomCase::RandomCase(const std::string& method, unsigned seed)
    : method_(method), seed_(seed), random_(seed) {
  // Sizes from narrower than a window to wider than a tile.
  static const std::vector<Size> sizes{{1, 1},   {1, 7},    {1, 9},    {9, 1},   {11, 1},  {2, 2},   {2, 3},
                                       {3, 3},   {7, 5},    {13, 11},  {33, 4},  {31, 17}, {64, 5},  {37, 41},
                                       {65, 9},  {101, 13}, {53, 29},  {128, 3}, {6, 90},  {130, 2}, {129, 8},
                                       {259, 4}, {6, 67},   {141, 21}, {50, 61}};
  format_ = {choose(sizes), choose<BitDepth>({BitDepth::bits8, BitDepth::bits8, BitDepth::bits16})};
  do choose_parameters();
  while (!is_accepted());
  const int shift = parameters_.min_disparity() + parameters_.disparities() / 2;
  images_ = RandomPair(random_, format_, choose<int>({1, 3}), shift);
  if (takes_volume()) make_volume();
}

StereoPair RandomCase::pair() const {
  StereoPair pair = images_.pair();
  if (takes_volume()) pair.costs = CostVolume(volume_.data(), format_.size, parameters_.disparities());
  return pair;
}

std::string RandomCase::description() const {
  std::string text = method_ + ", seed " + std::to_string(seed_) + ", " + std::to_string(format_.size.width) +
                     "x" + std::to_string(format_.size.height) + ", " +
                     std::to_string(static_cast<int>(format_.depth)) + " bits";
  const MatcherParameters usual = preset(method_, "default");
  for (const ParameterInfo& parameter : list_parameters(method_)) {
    const std::string value = get_parameter(parameters_, parameter.name);
    if (value != get_parameter(usual, parameter.name)) text += ", " + parameter.name + " " + value;
  }
  return text;
}

void RandomCase::choose_parameters() {
  parameters_ = preset(method_, "default");
  for (const ParameterInfo& parameter : list_parameters(method_))
    set_parameter(parameters_, parameter.name, value_of(parameter));
  choose_range();
  with_confidence_ = any(0, 1) == 0;
}

// Large images get few labels, because the reference is slow.
void RandomCase::choose_range() {
  const ParameterInfo labels = describe_parameter(method_, "disparities");
  const int width = format_.size.width, pixels = static_cast<int>(format_.size.pixels());
  const int fewest = static_cast<int>(labels.least), most = capabilities(method_).energy ? 40'000 : 140'000;
  int disparities = any(0, 14) == 0 ? choose<int>({128, 255, 256, 257, 300, 1024}) : any(fewest, 90);
  disparities = std::clamp(most / pixels / row_offsets(), fewest, disparities);
  // At least one label reaches the image.
  const int lowest = 2 - disparities - width, highest = width - 1;
  int min_disparity = any(lowest, highest);
  if (any(0, 2) == 0) min_disparity = std::clamp(any(-3, 1), lowest, highest);
  if (takes_volume() && any(0, 3) == 0) min_disparity = choose<int>({-1'000'000, 1'000'000});
  parameters_.min_disparity() = min_disparity;
  parameters_.disparities() = disparities;
}

int RandomCase::row_offsets() const {
  for (const ParameterInfo& parameter : list_parameters(method_)) {
    const auto value = [&] { return std::stoi(get_parameter(parameters_, parameter.name)); };
    if (parameter.name == "row_tolerance") return 2 * value() + 1;
    if (parameter.name == "row_offsets") return value();
  }
  return 1;
}

std::string RandomCase::value_of(const ParameterInfo& parameter) {
  const auto& worth_trying = values_worth_trying();
  auto found = worth_trying.find(method_ + "." + parameter.name);
  if (found == worth_trying.end()) found = worth_trying.find(parameter.name);
  if (found != worth_trying.end()) {
    const std::string value = choose(found->second);
    const std::size_t dots = value.find("..");
    if (dots == std::string::npos) return value;
    return std::to_string(any(std::stoi(value), std::stoi(value.substr(dots + 2))));
  }
  if (parameter.kind == ParameterKind::flag) return any(0, 1) == 0 ? "true" : "false";
  if (parameter.kind == ParameterKind::choice) return choose(parameter.choices);
  if (parameter.optional && any(0, 2) == 0) return "none";
  const double most = std::min(parameter.most, parameter.least + 40);
  if (parameter.kind == ParameterKind::number)
    return std::to_string(parameter.least + (most - parameter.least) * any(0, 16) / 16);
  // Some integers of the range may not be allowed.
  for (MatcherParameters trial = parameters_;;) {
    const std::string value = std::to_string(any(static_cast<int>(parameter.least), static_cast<int>(most)));
    try {
      set_parameter(trial, parameter.name, value);
      return value;
    } catch (const Error&) {
    }
  }
}

// Whether the reference accepts the case: some parameters exclude each other, or the format.
bool RandomCase::is_accepted() {
  try {
    const auto plan = detail::make_plan(parameters_, reference, format_, {});
    with_confidence_ = with_confidence_ && plan->tells_confidence();
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), ErrorCategory::argument) << error.what();
    return false;
  }
  // The reference takes seconds to search a long row with a large window.
  const auto* block = parameters_.get_if<BlockParameters>();
  return block == nullptr || !block->full_row || block->window * format_.size.width < 3000;
}

bool RandomCase::takes_volume() const {
  return capabilities(method_).volume && get_parameter(parameters_, "cost") == "volume";
}

// Costs of few values make ties; others are up to 5 or 50 units. Some exceed the range of the arithmetic
// (65504 for halves), and some are NaN.
void RandomCase::make_volume() {
  const float unit = choose<float>({0.3f, 1.0f, 1.0f, 3.0f, 1000.0f, 1e30f}), wide = choose<float>({5, 50});
  const int values = choose<int>({2, 5, 1000});
  volume_.resize(format_.size.pixels() * static_cast<std::size_t>(parameters_.disparities()));
  for (float& cost : volume_)
    cost = unit * static_cast<float>(any(-values, values)) / (values == 1000 ? 1000 / wide : 1.0f);
  if (any(0, 3) != 0) return;
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const float other = choose<float>({infinity, -infinity, std::numeric_limits<float>::quiet_NaN()});
  for (float& cost : volume_)
    if (any(0, 9) == 0) cost = other;
}

BeliefPropagationParameters with_candidates(const RandomCase& random_case, unsigned seed) {
  auto parameters = *random_case.parameters().get_if<BeliefPropagationParameters>();
  const BeliefPropagationParameters usual;
  parameters.arithmetic = usual.arithmetic;
  parameters.cost = usual.cost;
  parameters.discontinuity_truncation = usual.discontinuity_truncation;
  parameters.data_weight = seed % 3 == 0 ? 2 * usual.data_weight : usual.data_weight;
  if (parameters.data_truncation > 0) parameters.data_truncation = std::max(parameters.data_truncation, 4.0f);
  if (parameters.outside_cost) parameters.outside_cost = std::min(*parameters.outside_cost, 5.0f);
  parameters.levels = std::max(parameters.levels, 2);
  parameters.iterations = std::min(parameters.iterations, 4);
  parameters.candidate_levels = std::max(parameters.candidate_levels, 1);
  return parameters;
}

MisalignedCase::MisalignedCase(unsigned seed) {
  const RandomCase random_case("bp", 20'000 + seed);
  parameters = with_candidates(random_case, seed);
  parameters.rows = ComparedRows::automatic;
  parameters.row_tolerance = 0;
  parameters.candidate_levels = static_cast<int>(seed % 3);
  parameters.min_disparity = seed % 2 == 0 ? 0 : -3;
  parameters.disparities = 6;
  const ImageView& left = random_case.pair().left;
  std::mt19937 random(seed);
  images = RandomPair(random, {{112, 76}, left.format.depth}, left.channels, 0);
  images.make_misaligned(parameters.min_disparity + 3);
  description = "misaligned, from " + random_case.description();
}

MatcherParameters MisalignedCase::parameters_of(const std::string& method) const {
  MatcherParameters others = preset(method, "default");
  set_parameter(others, "rows", "auto");
  others.min_disparity() = parameters.min_disparity;
  others.disparities() = parameters.disparities;
  return others;
}

}  // namespace parallax::test
