// SPDX-License-Identifier: Apache-2.0
// Belief propagation on OpenCL, in integer arithmetic. The right map comes from a second match, of the
// mirrored pair, in the same memory.

#include <algorithm>
#include <string>
#include <vector>

#include "core/integers.h"
#include "data_cost/data_cost.h"
#include "data_cost/opencl_images.h"
#include "decision/opencl_maps.h"
#include "devices/opencl/kernel_sources.h"
#include "devices/opencl/plan.h"
#include "matchers/belief_propagation/belief_propagation.h"
#include "matchers/belief_propagation/candidates.h"
#include "matchers/belief_propagation/opencl_types.h"
#include "refine/opencl_pipeline.h"

namespace parallax::belief_propagation {
namespace {

using decision::OpenclDecision;
using opencl::define;
using opencl::groups_for;
using opencl::offset;
using opencl::Options;
using opencl::Shape;

constexpr int directions = 4;

// The layout of levels that consider all labels, for each kind of device: see opencl_messages.cl.
struct Layout {
  int pixels, shares, per_share, group_words;
};

Layout layout_of(const opencl::DeviceInfo& device, int bits, int labels) {
  if (device.is_processor) return {512 / bits, 1, round_up(labels, 64), 1};
  constexpr int max_words = 64;
  const int group_items = static_cast<int>(device.group_items);
  const int per_share = std::min(labels, labels <= 64 ? 8 : labels <= 256 ? 16 : 32);
  const int shares = divide_round_up(labels, per_share);
  return {32 / bits, shares, per_share, std::clamp(group_items / shares, 1, max_words)};
}

class Opencl final : public opencl::Plan {
 public:
  Opencl(const BeliefPropagationParameters& parameters, const Device& device, const ImageFormat& format)
      : opencl::Plan(device, format, true, data_cost::volume_labels(parameters.cost, parameters.disparities)),
        model_(make_model(parameters)),
        bits_(parameters.arithmetic == Arithmetic::fixed8 ? 8 : 16),
        device_(layout_of(context().info(), bits_, parameters.disparities)),
        images_(model_, format, {2, device_.pixels}, layout_),
        refinement_(parameters.refine, format, layout_, parameters.min_confidence) {
    data_cost::check_reachable(model_, format.size);
    if (has_edges()) edge_table_ = reserve(data_cost::edge_table_size * sizeof(cl_uint));
    const std::vector<Size> extents = level_sizes(format.size, parameters.levels);
    for (std::size_t index = 0; index < extents.size(); ++index)
      reserve_level(extents[index], model_.has_candidates(index, extents.size()));
    if (!tiles_.empty()) best_ = reserve(extents[1].pixels() * sizeof(cl_ushort));
    if (checks_both()) right_disparity_ = layout_.reserve_plane<float>(format.size);
  }

 private:
  const BeliefPropagationParameters& parameters() const { return model_.parameters; }
  bool checks_both() const { return parameters().refine.left_right_check; }
  bool has_edges() const { return parameters().edge_contrast > 0; }
  int value_bytes() const { return bits_ / 8; }
  // The type of data costs before the lowest cost is subtracted.
  const char* units() const {
    const float highest = model_.cost == DataCost::volume ? 1e30f : model_.highest_data_cost();
    return highest <= 0xFF ? "uchar" : highest <= 0xFFFF ? "ushort" : "float";
  }

  // Levels with candidates keep only the data costs of all labels.
  void reserve_level(Size extent, bool has_candidates) {
    OpenclLevel level{};
    level.width = extent.width;
    level.height = extent.height;
    level.labels = model_.labels;
    // The last element of a row is no pixel.
    level.pitch = round_up((extent.width + 1) / 2 + 1, device_.pixels);
    const std::size_t row = to_size(level.pitch) * to_size(value_bytes());
    const std::size_t labels = row * to_size(model_.labels);
    for (int colour = 0; colour < 2; ++colour) {
      level.data[colour] = reserve(to_size(extent.height) * labels);
      if (!has_candidates) level.messages[colour] = reserve(directions * to_size(extent.height + 2) * labels);
    }
    level.edges = -1;
    if (has_edges() && !has_candidates)
      level.edges = reserve(2 * to_size(extent.height) * directions * 2 * row);
    if (has_edges())
      grays_.push_back(levels_.empty() ? PlaneBuffer<std::uint16_t>{}
                                       : layout_.reserve_plane<std::uint16_t>(extent));
    if (has_candidates) reserve_tiles(extent);
    levels_.push_back(level);
  }

  void reserve_tiles(Size extent) {
    constexpr std::size_t ranges_bytes = 32, slot_bytes = 16, rows = tile_side * sizeof(cl_uint);
    const Size count = tile_count(extent);
    const std::size_t slots = count.pixels() * to_size(model_.labels);
    OpenclTiles tiles{};
    tiles.width = extent.width;
    tiles.height = extent.height;
    tiles.labels = model_.labels;
    tiles.across = count.width;
    for (int colour = 0; colour < 2; ++colour) {
      tiles.data[colour] = reserve(slots * rows);
      tiles.messages[colour] = reserve(slots * directions * rows);
    }
    tiles.edges = has_edges() ? reserve(2 * count.pixels() * directions * 2 * rows) : -1;
    tiles.ranges = reserve(count.pixels() * ranges_bytes);
    tiles.slots = reserve(slots * slot_bytes);
    tiles_.push_back(tiles);
  }

  // Offset of a level's gray image, and its stride.
  std::pair<cl_long, cl_long> gray_of(std::size_t level) const {
    if (level == 0) return {images_.inputs().gray, images_.inputs().stride};
    return {offset(grays_[level]), opencl::stride(grays_[level])};
  }

  void prepare() override {
    device_ = layout_of(context().info(), bits_, parameters().disparities);
    images_.prepare(context(), queue(), memory());
    if (has_edges()) prepare_edges();
    costs_program_ = opencl::Program(
        context(),
        {opencl::data_cost_types_cl, opencl::data_cost_features_cl, opencl::data_cost_costs_cl,
         opencl::belief_propagation_types_cl, opencl::words_cl, opencl::belief_propagation_values_cl,
         opencl::belief_propagation_levels_cl, opencl::belief_propagation_costs_cl},
        costs_options());
    find_costs_ = costs_program_.kernel("find_costs");
    messages_program_ =
        opencl::Program(context(),
                        {opencl::decision_types_cl, opencl::decision_sub_pixel_cl,
                         opencl::decision_decision_cl, opencl::belief_propagation_types_cl, opencl::words_cl,
                         opencl::belief_propagation_values_cl, opencl::belief_propagation_levels_cl,
                         opencl::belief_propagation_decision_cl, opencl::belief_propagation_messages_cl},
                        levels_options());
    add_up_ = messages_program_.kernel("add_up");
    start_ = messages_program_.kernel("start");
    update_ = messages_program_.kernel("update");
    decide_ = messages_program_.kernel("decide");
    if (!tiles_.empty()) prepare_tiles();
    refinement_.prepare(context(), queue(), memory());
  }

  void prepare_tiles() {
    find_labels_ = messages_program_.kernel("find_labels");
    tiles_program_ = opencl::Program(
        context(),
        {opencl::decision_types_cl, opencl::decision_sub_pixel_cl, opencl::decision_decision_cl,
         opencl::belief_propagation_types_cl, opencl::words_cl, opencl::belief_propagation_values_cl,
         opencl::belief_propagation_decision_cl, opencl::belief_propagation_tiles_cl},
        {define("PROCESSOR", is_processor()), define("BITS", 8), define("PIXELS", tile_rows() * row_pixels),
         define("ITEMS", items_that_open())});
    find_candidates_ = tiles_program_.kernel("find_candidates");
    open_tiles_ = tiles_program_.kernel("open_tiles");
    update_tiles_ = tiles_program_.kernel("update_tiles");
    find_tile_labels_ = tiles_program_.kernel("find_tile_labels");
    decide_tiles_ = tiles_program_.kernel("decide_tiles");
  }

  void prepare_edges() {
    edges_program_ = opencl::Program(
        context(), {opencl::belief_propagation_types_cl, opencl::belief_propagation_edges_cl}, {});
    average_ = edges_program_.kernel("average");
    find_edges_ = edges_program_.kernel("find_edges");
    std::vector<cl_uint> edges;
    for (std::size_t i = 0; i < data_cost::edge_table_size; ++i)
      edges.push_back(static_cast<cl_uint>(model_.slopes[i]) | static_cast<cl_uint>(model_.truncations[i])
                                                                   << 16);
    write(edge_table_, edges.size() * sizeof(cl_uint), edges.data());
  }

  Options levels_options() const {
    return {define("PROCESSOR", is_processor()),    define("BITS", bits_),
            define("PIXELS", device_.pixels),       define("SHARES", device_.shares),
            define("PER_SHARE", device_.per_share), define("GROUP_WORDS", device_.group_words)};
  }

  Options costs_options() const {
    const std::string of_costs = units();
    const char* most = of_costs == "uchar" ? "UCHAR_MAX" : of_costs == "ushort" ? "USHRT_MAX" : "MAXFLOAT";
    return opencl::joined(opencl::joined(levels_options(), images_.options()),
                          {define("UNITS", of_costs), define("MOST_UNITS", most)});
  }

  // The number of shares that a message travels until the lowest slope has raised it to its bound.
  int reach() const {
    const auto slope = static_cast<int>(*std::min_element(model_.slopes.begin(), model_.slopes.end()));
    return std::min(device_.shares, divide_round_up(model_.bound, slope * device_.per_share) + 1);
  }

  // Rows of a tile per work item, and the pixels of a colour in a row.
  int tile_rows() const { return is_processor() ? tile_side : 1; }
  static constexpr int row_pixels = tile_side / 2;
  int items_that_open() const { return is_processor() ? 1 : 32; }

  static constexpr std::size_t group_pixels = 64;

  // One work item for each pixel, or for `lanes` of them.
  static Shape groups_of(int width, int height, std::size_t deep, int lanes = 1) {
    return {groups_for(width, group_pixels * to_size(lanes)), to_size(height), deep};
  }

  void match(const opencl::Pair& pair, const opencl::Map& map) override {
    images_.take(pair, queue());
    queue().finish_stage("prepare");
    const data_cost::OpenclInputs& inputs = images_.inputs();
    const OpenclDecision left = decision::left_map(map, model_.decision(), inputs.status, inputs.stride);
    match_pair(pair, left, false);
    if (checks_both()) match_pair(pair, decision::right_map(left, right_disparity_), true);
    refinement_.enqueue(pair, map, right_disparity_, queue());
  }

  void match_pair(const opencl::Pair& pair, const OpenclDecision& to, bool mirrored) {
    const auto finish = [&](const char* stage, const char* right_stage) {
      queue().finish_stage(mirrored ? right_stage : stage);
    };
    images_.find_inputs(pair, mirrored, queue());
    if (has_edges()) find_edges();
    finish("features", "right_features");
    find_costs(pair);
    finish("data_costs", "right_data_costs");
    for (std::size_t index = levels_.size(); index-- > 0;) {
      if (index < tiles_.size())
        iterate_tiles(index, mirrored);
      else
        iterate(index, mirrored);
      if (index == 1) finish("coarse_levels", "right_coarse_levels");
    }
    if (tiles_.empty())
      decide_.launch(queue(), items_of(levels_.front(), 2), group(), memory(), levels_.front(), to);
    else
      decide_tiles_.launch(queue(), items_of(tiles_.front(), 2), tile_group(), memory(), tiles_.front(),
                           alike(), to);
    finish("finest_level", "right_finest_level");
  }

  void find_edges() {
    for (std::size_t index = 0; index < levels_.size(); ++index) {
      const OpenclLevel& level = levels_[index];
      const auto [gray, stride] = gray_of(index);
      if (index > 0) {
        const auto [fine, fine_stride] = gray_of(index - 1);
        average_.launch(queue(), groups_of(level.width, level.height, 1), {group_pixels}, memory(), fine,
                        fine_stride, levels_[index - 1].width, levels_[index - 1].height, gray, stride);
      }
      const bool has_tiles = index < tiles_.size();
      const OpenclEdges edges{level.width,
                              level.height,
                              gray,
                              stride,
                              edge_table_,
                              has_tiles ? tiles_[index].edges : level.edges,
                              has_tiles ? 0 : level.pitch,
                              bits_};
      find_edges_.launch(queue(), groups_of(level.width, level.height, 2, 64 / bits_), {group_pixels},
                         memory(), edges);
    }
  }

  // One work item for each word and share of a level.
  Shape items_of(const OpenclLevel& level, std::size_t colours = 1) const {
    return items_of((level.width + 1) / 2, level.height, colours);
  }
  Shape items_of(int pixels_in_row, int rows, std::size_t colours) const {
    return {groups_for(to_size(divide_round_up(pixels_in_row, device_.pixels)) * to_size(rows),
                       device_.group_words),
            1, colours};
  }
  Shape group() const { return {to_size(device_.group_words)}; }
  Shape group_of_shares() const { return {to_size(device_.group_words), to_size(device_.shares)}; }

  void find_costs(const opencl::Pair& pair) {
    find_costs_.launch(queue(), items_of(levels_.front(), 2), group_of_shares(), memory(), levels_.front(),
                       images_.inputs(), images_.costs(pair));
    for (std::size_t index = 1; index < levels_.size(); ++index)
      add_up_.launch(queue(), items_of(levels_[index].width, levels_[index].height, 1), group_of_shares(),
                     memory(), levels_[index - 1], levels_[index]);
  }

  OpenclSmoothness alike() const {
    return {static_cast<cl_int>(model_.slopes[0]), static_cast<cl_int>(model_.truncations[0]), reach()};
  }

  void iterate(std::size_t index, bool mirrored) {
    const OpenclLevel& level = levels_[index];
    const OpenclLevel coarser = index + 1 < levels_.size() ? levels_[index + 1] : OpenclLevel{};
    start_.launch(queue(), items_of(level), group_of_shares(), memory(), level, coarser);
    for (int iteration = 0; iteration < model_.iterations(index, mirrored); ++iteration) {
      const cl_int colour = (iteration + 1) % 2;
      update_.launch(queue(), items_of(level), group_of_shares(), memory(), level, alike(), colour);
    }
  }

  // One work item for each row of a tile, or for each tile.
  Shape items_of(const OpenclTiles& tiles, std::size_t colours = 1) const {
    const std::size_t count = tile_count({tiles.width, tiles.height}).pixels();
    return {groups_for(count * to_size(tile_side / tile_rows()), tile_group().x), 1, colours};
  }
  Shape tile_group() const { return {is_processor() ? 1u : 64u}; }

  // Finds the candidates of a level from the beliefs of the next coarser level, then iterates over them.
  void iterate_tiles(std::size_t index, bool mirrored) {
    const OpenclTiles& tiles = tiles_[index];
    const OpenclLevel& above = levels_[index + 1];
    const bool has_tiles_above = index + 1 < tiles_.size();
    const OpenclLabels best{above.width, above.height, best_};
    if (has_tiles_above)
      find_tile_labels_.launch(queue(), items_of(tiles_[index + 1], 2), tile_group(), memory(),
                               tiles_[index + 1], alike(), best);
    else
      find_labels_.launch(queue(), items_of(above, 2), group(), memory(), above, best);
    const std::size_t count = tile_count({tiles.width, tiles.height}).pixels();
    const cl_int slack = parameters().candidate_slack, ranges = parameters().candidate_ranges;
    find_candidates_.launch(queue(), {groups_for(count, tile_group().x)}, tile_group(), memory(), tiles, best,
                            slack, ranges);
    open_tiles_.launch(queue(), {count}, {to_size(items_that_open())}, memory(), tiles, levels_[index],
                       has_tiles_above ? OpenclLevel{} : above,
                       has_tiles_above ? tiles_[index + 1] : OpenclTiles{}, alike());
    for (int iteration = 0; iteration < model_.iterations(index, mirrored); ++iteration) {
      const cl_int colour = (iteration + 1) % 2;
      update_tiles_.launch(queue(), items_of(tiles), tile_group(), memory(), tiles, alike(), colour);
    }
  }

  Model model_;
  int bits_;
  Layout device_;
  data_cost::OpenclImages images_;
  refine::OpenclPipeline refinement_;
  std::vector<OpenclLevel> levels_;
  std::vector<OpenclTiles> tiles_;                 // the finest levels, if they have candidates
  cl_long best_ = 0;                               // see OpenclLabels
  std::vector<PlaneBuffer<std::uint16_t>> grays_;  // one per level, except the image's
  cl_long edge_table_ = 0;
  PlaneBuffer<float> right_disparity_;
  opencl::Program edges_program_, costs_program_, messages_program_, tiles_program_;
  opencl::Kernel average_, find_edges_, find_costs_, add_up_, start_, update_, find_labels_, decide_,
      find_candidates_, open_tiles_, update_tiles_, find_tile_labels_, decide_tiles_;
};

}  // namespace

std::unique_ptr<detail::Plan> make_opencl(const BeliefPropagationParameters& parameters, const Device& device,
                                          const ImageFormat& format) {
  return std::make_unique<Opencl>(parameters, device, format);
}

}  // namespace parallax::belief_propagation
