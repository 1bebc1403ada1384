#include "matchers/belief_propagation/belief_propagation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "core/arena.h"
#include "core/checks.h"
#include "core/gray.h"
#include "matchers/belief_propagation/data_cost.h"

namespace parallax {
namespace {

using belief_propagation::make_model;
using belief_propagation::Model;

constexpr const char* preset_names = "default, grauer-gray-2010 or grauer-gray-2019";

// As the papers describe it, and nothing more.
BeliefPropagationParameters published() {
  BeliefPropagationParameters parameters;
  parameters.cost = DataCost::absolute_difference;
  parameters.data_truncation = 15;
  parameters.outside_cost.reset();
  parameters.edge_contrast = 0;
  parameters.sub_pixel = SubPixel::none;
  parameters.refine = RefineParameters::none();
  return parameters;
}

// What a function of a pair needs, checked.
struct Scene {
  Scene(const BeliefPropagationParameters& parameters, const StereoPair& pair)
      : model((parameters.validate(), make_model(parameters))),
        size(pair.left.format.size),
        costs(model, size, layout) {
    check_image("left image", pair.left);
    check_image("right image", pair.right);
    check_size(size);
    if (pair.right.format != pair.left.format)
      throw Error(ErrorCategory::argument, "the images differ in size or depth: give a pair of one format");
    if (!pair.left_mask.empty()) check_view("left mask", pair.left_mask, size);
    if (!pair.right_mask.empty()) check_view("right mask", pair.right_mask, size);
    if (parameters.cost == DataCost::volume &&
        (pair.costs.data == nullptr || pair.costs.size != size || pair.costs.labels != model.labels))
      throw Error(ErrorCategory::argument, "data costs are missing or of another size: give " + text(size) +
                                               " with " + std::to_string(model.labels) + " labels");
    arena = Arena(layout);
    costs.prepare(pair, false, arena.data());
  }

  Model model;
  Size size;
  ArenaLayout layout;
  belief_propagation::DataCosts costs;
  Arena arena;
};

}  // namespace

void BeliefPropagationParameters::validate() const {
  check_range("min_disparity", min_disparity, -1'000'000, 1'000'000);
  check_range("disparities", disparities, 2, 1024);
  check_range("levels", levels, 1, 30);
  check_range("iterations", iterations, 1, 1000);
  check_choice("arithmetic", arithmetic, Arithmetic::bfloat16);
  check_choice("cost", cost, DataCost::volume);
  check_range("data_weight", data_weight, 1e-6f, 1000.0f);
  check_range("data_truncation", data_truncation, 0.0f, 256.0f);
  if (outside_cost) check_range("outside_cost", *outside_cost, 0.0f, 1000.0f);
  check_range("smoothing", smoothing, 0.0f, 30.0f);
  check_range("discontinuity_truncation", discontinuity_truncation, 0.0f, 1024.0f);
  check_range("edge_contrast", edge_contrast, 0.0f, 256.0f);
  check_range("edge_floor", edge_floor, 0.0f, 1.0f);
  check_choice("sub_pixel", sub_pixel, SubPixel::v_shape);
  check_range("min_confidence", min_confidence, 0.0f, 1.0f);
  check_range("labels_per_thread", cuda.labels_per_thread, 0, 32);
  check_choice("index_order", cuda.index_order, IndexOrder::naive);
  check_choice("message_values", cuda.message_values, MessageValues::local_memory);
  refine.validate();
  make_model(*this);
}

std::vector<std::string_view> belief_propagation_presets() {
  return {"default", "grauer-gray-2010", "grauer-gray-2019"};
}

BeliefPropagationParameters belief_propagation_preset(std::string_view name) {
  if (name == "default") return {};
  BeliefPropagationParameters parameters = published();
  if (name == "grauer-gray-2019") {
    parameters.data_weight = 0.1f;
    parameters.discontinuity_truncation = 0;
    return parameters;
  }
  if (name == "grauer-gray-2010") {
    parameters.disparities = 15;
    parameters.iterations = 10;
    parameters.smoothing = 1;
    parameters.data_weight = 0.07f;
    parameters.discontinuity_truncation = 1.7f;
    return parameters;
  }
  refuse("preset", name, preset_names);
}

std::vector<float> belief_propagation_costs(const BeliefPropagationParameters& parameters,
                                            const StereoPair& pair) {
  const Scene scene(parameters, pair);
  std::vector<float> volume;
  volume.reserve(scene.size.pixels() * static_cast<std::size_t>(scene.model.labels));
  for (int y = 0; y < scene.size.height; ++y)
    for (int x = 0; x < scene.size.width; ++x)
      for (int label = 0; label < scene.model.labels; ++label)
        volume.push_back(scene.costs.at(x, y, label) / scene.model.scale);
  return volume;
}

double belief_propagation_energy(const BeliefPropagationParameters& parameters, const StereoPair& pair,
                                 View<const float> disparity) {
  const Scene scene(parameters, pair);
  check_view("disparity map", disparity, scene.size);
  const View<const std::uint16_t> gray = scene.costs.gray();
  constexpr int none = -1;
  const auto label = [&](int x, int y) {
    const float value = disparity.at(x, y);
    if (value == std::numeric_limits<float>::infinity()) return none;
    const float nearest = std::ceil(value - 0.5f) - static_cast<float>(parameters.min_disparity);
    if (!(nearest >= 0 && nearest < static_cast<float>(scene.model.labels)))
      refuse("disparity", value, "a map whose values are in the range searched");
    return static_cast<int>(nearest);
  };
  const auto discontinuity = [&](int x, int y, int x2, int y2) {
    const int first = label(x, y), second = label(x2, y2);
    if (first == none || second == none) return 0.0f;
    const auto edge =
        static_cast<std::size_t>(belief_propagation::edge_index(std::abs(gray.at(x, y) - gray.at(x2, y2))));
    return std::min(static_cast<float>(std::abs(first - second)) * scene.model.slopes[edge],
                    scene.model.truncations[edge]);
  };
  double energy = 0;
  for (int y = 0; y < scene.size.height; ++y) {
    for (int x = 0; x < scene.size.width; ++x) {
      if (label(x, y) != none) energy += scene.costs.at(x, y, label(x, y));
      if (x + 1 < scene.size.width) energy += discontinuity(x, y, x + 1, y);
      if (y + 1 < scene.size.height) energy += discontinuity(x, y, x, y + 1);
    }
  }
  return energy / scene.model.scale;
}

namespace belief_propagation {
namespace {

// Coarser than half a unit a label, the slope would round to something else altogether.
constexpr float least_slope = 0.5f;
constexpr float highest_half = 65504;

void check_fits(const Model& model) {
  const BeliefPropagationParameters& p = model.parameters;
  const std::string instead = p.arithmetic == Arithmetic::fixed8 ? "fixed16 or float32" : "float32";
  if (model.scale < least_slope)
    refuse("discontinuity_truncation", model.truncation,
           "at most " + std::to_string(static_cast<int>(static_cast<float>(model.bound) / least_slope)) +
               " labels, or arithmetic " + instead);
  if (p.cost != DataCost::volume && model.data_cost(model.differences) < 1)
    refuse("data_weight", p.data_weight,
           "more, or arithmetic " + instead + ": with this data_truncation, all data costs round to 0");
}

// Sums over the children of the coarsest level, and messages, must be finite.
void check_half(const Model& model) {
  const BeliefPropagationParameters& p = model.parameters;
  const double children = std::pow(4.0, p.levels - 1);
  if (p.cost == DataCost::volume ||
      model.highest_data_cost() * children + 4 * model.truncation < highest_half)
    return;
  throw Error(ErrorCategory::argument, "levels is " + std::to_string(p.levels) +
                                           ": data costs add up to more than float16 can hold; choose "
                                           "fewer, or arithmetic bfloat16 or float32");
}

}  // namespace

float Model::rounded(float units) const {
  return whole ? std::floor(units + 0.5f) : units;
}

Model make_model(const BeliefPropagationParameters& p) {
  Model model;
  model.parameters = p;
  model.labels = p.disparities;
  model.truncation =
      p.discontinuity_truncation > 0 ? p.discontinuity_truncation : static_cast<float>(p.disparities) / 7.5f;
  model.whole = is_whole(p.arithmetic);
  model.bound = p.arithmetic == Arithmetic::fixed8 ? 31 : 4095;
  model.scale = model.whole ? static_cast<float>(model.bound) / model.truncation : 1.0f;
  model.cost_scale = p.data_weight * model.scale / per_level;
  model.differences = p.data_truncation > 0
                          ? static_cast<int>(std::min(p.data_truncation * per_level + 0.5f,
                                                      static_cast<float>(highest_difference)))
                          : highest_difference;
  if (p.cost == DataCost::census) model.differences = std::min(model.differences, 62 * per_level);
  model.outside = model.rounded(p.outside_cost.value_or(0) * model.scale);
  for (int difference = 0; difference < static_cast<int>(edge_table_size); ++difference) {
    const double weight =
        p.edge_contrast > 0 ? p.edge_floor + (1.0 - p.edge_floor) *
                                                 std::exp(-difference / static_cast<double>(p.edge_contrast))
                            : 1.0;
    // The slope is at least one unit: with none, a message would tell nothing; beyond the bound, more is the
    // same.
    const float truncation = model.rounded(static_cast<float>(weight) * model.truncation * model.scale);
    const float slope = model.rounded(static_cast<float>(weight) * model.scale);
    model.truncations.push_back(truncation);
    model.slopes.push_back(model.whole ? std::clamp(slope, 1.0f, static_cast<float>(model.bound)) : slope);
  }
  if (model.whole) check_fits(model);
  if (p.arithmetic == Arithmetic::float16) check_half(model);
  return model;
}

std::vector<Size> level_sizes(Size image, int levels) {
  std::vector<Size> sizes{image};
  while (static_cast<int>(sizes.size()) < levels && sizes.back() != Size{1, 1})
    sizes.push_back({(sizes.back().width + 1) / 2, (sizes.back().height + 1) / 2});
  return sizes;
}

void check_reachable(const BeliefPropagationParameters& parameters, Size size) {
  const int lowest = parameters.min_disparity, highest = lowest + parameters.disparities - 1;
  if (parameters.cost == DataCost::volume || (lowest < size.width && highest > -size.width)) return;
  throw Error(ErrorCategory::argument,
              "disparities " + std::to_string(lowest) + " to " + std::to_string(highest) +
                  " lead out of an image " + std::to_string(size.width) +
                  " pixels wide everywhere: choose min_disparity and disparities within it");
}

std::vector<std::uint32_t> smoothing_weights(float sigma) {
  constexpr double whole = 65536;
  if (sigma <= 0) return {static_cast<std::uint32_t>(whole)};
  const int radius = static_cast<int>(std::ceil(4 * sigma));
  std::vector<double> gauss;
  double sum = 0;
  for (int i = 0; i <= radius; ++i) {
    gauss.push_back(std::exp(-0.5 * (i / static_cast<double>(sigma)) * (i / static_cast<double>(sigma))));
    sum += (i == 0 ? 1 : 2) * gauss.back();
  }
  std::vector<std::uint32_t> weights;
  for (const double value : gauss) weights.push_back(static_cast<std::uint32_t>(whole * value / sum + 0.5));
  std::uint32_t others = 0;
  for (std::size_t i = 1; i < weights.size(); ++i) others += 2 * weights[i];
  weights[0] = static_cast<std::uint32_t>(whole) - others;
  return weights;
}

void smooth_row(const std::uint16_t* in, int width, const std::vector<std::uint32_t>& weights,
                std::uint16_t* out) {
  const int radius = static_cast<int>(weights.size()) - 1;
  const auto at = [&](int x) -> std::uint32_t { return in[std::clamp(x, 0, width - 1)]; };
  for (int x = 0; x < width; ++x) {
    std::uint32_t sum = 32768 + weights[0] * in[x];
    for (int i = 1; i <= radius; ++i) sum += weights[static_cast<std::size_t>(i)] * (at(x - i) + at(x + i));
    out[x] = static_cast<std::uint16_t>(sum >> 16);
  }
}

void smooth_column(View<const std::uint16_t> in, int y, const std::vector<std::uint32_t>& weights,
                   std::uint16_t* out) {
  const int radius = static_cast<int>(weights.size()) - 1;
  const auto row = [&](int v) { return in.row(std::clamp(v, 0, in.size.height - 1)); };
  for (int x = 0; x < in.size.width; ++x) {
    std::uint32_t sum = 32768 + weights[0] * row(y)[x];
    for (int i = 1; i <= radius; ++i)
      sum += weights[static_cast<std::size_t>(i)] *
             (static_cast<std::uint32_t>(row(y - i)[x]) + static_cast<std::uint32_t>(row(y + i)[x]));
    out[x] = static_cast<std::uint16_t>(sum >> 16);
  }
}

namespace {

template <class Sample>
void channel_row(const Sample* row, int channels, int channel, int width, std::uint16_t* out) {
  for (int x = 0; x < width; ++x) out[x] = row[x * channels + channel];
}

}  // namespace

void sample_row(const ImageView& image, int channel, int y, bool mirrored, std::uint16_t* out) {
  const int width = image.format.size.width;
  const bool deep = image.format.depth == Depth::bits16;
  if (channel == gray_channel || image.channels == 1)
    gray_row(image, y, out);
  else if (deep)
    channel_row(static_cast<const std::uint16_t*>(image.row(y)), image.channels, channel, width, out);
  else
    channel_row(static_cast<const std::uint8_t*>(image.row(y)), image.channels, channel, width, out);
  if (!deep)
    for (int x = 0; x < width; ++x) out[x] = static_cast<std::uint16_t>(out[x] * per_level);
  if (mirrored) std::reverse(out, out + width);
}

}  // namespace belief_propagation
}  // namespace parallax
