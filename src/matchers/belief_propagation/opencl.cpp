// SPDX-License-Identifier: Apache-2.0
// Belief propagation on OpenCL, in integer arithmetic. The right map comes from a second match, of the
// mirrored pair: at the same time where memory for both is small, else afterwards in the same memory.

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
  int pixels, shares, per_share, group_words, update_words;
};

Layout layout_of(const opencl::DeviceInfo& device, int bits, int labels) {
  if (device.is_processor) return {512 / bits, 1, round_up(labels, 64), 1, 1};
  constexpr int max_words = 64;
  const int group_items = static_cast<int>(device.group_items);
  // The shares of all directions fit in a group. Words of four labels are loaded together.
  const int most = labels <= 64 ? 8 : labels <= 256 ? 16 : 32;
  const int per_share =
      round_up(std::max(std::min(labels, most), divide_round_up(labels * directions, group_items)), 4);
  const int shares = divide_round_up(labels, per_share);
  // Work items that hold many labels run in smaller groups, of which more fit on a multiprocessor.
  const int update_items = per_share > 8 ? std::max(group_items / 2, shares * directions) : group_items;
  return {32 / bits, shares, per_share, std::clamp(group_items / shares, 1, max_words),
          std::clamp(update_items / (shares * directions), 1, max_words)};
}

// The most memory that is worth having twice, so that the given and the mirrored pair are matched at once.
constexpr std::size_t most_to_double = 256 << 20;

class Opencl final : public opencl::Plan {
 public:
  Opencl(const BeliefPropagationParameters& parameters, const Device& device, const ImageFormat& format)
      : opencl::Plan(device, format, true, data_cost::volume_labels(parameters.cost, parameters.disparities)),
        model_(make_model(parameters)),
        bits_(parameters.arithmetic == Arithmetic::fixed8 ? 8 : 16),
        device_(layout_of(context().info(), bits_, parameters.disparities)),
        refinement_(parameters.refine, format, layout_, parameters.min_confidence),
        edge_table_(has_edges() ? reserve(data_cost::edge_table_size * sizeof(cl_uint)) : 0),
        right_disparity_(checks_both() ? layout_.reserve_plane<float>(format.size) : PlaneBuffer<float>()),
        images_(model_, format, {2, std::max(device_.pixels, tile_side)}, layout_) {
    data_cost::check_reachable(model_, format.size);
    const std::vector<Size> extents = level_sizes(format.size, parameters.levels);
    for (std::size_t index = 0; index < extents.size(); ++index)
      reserve_level(extents[index], model_.has_candidates(index, extents.size()));
    if (!tiles_.empty()) {
      best_ = reserve(extents[1].pixels() * sizeof(cl_ushort));
      if (!is_processor())
        has_data_ = reserve(2 * to_size(format.size.height) * to_size(images_.inputs().feature_stride));
    }
    const std::size_t start_of_pair = images_.start_of_pair(), start_of_tiles = layout_.bytes();
    for (OpenclTiles& tiles : tiles_) reserve_slots(tiles);
    const std::size_t end = layout_.bytes();
    pairs_.apart = reserve_again(start_of_pair, start_of_tiles);
    pairs_.tiles_apart = reserve_again(start_of_tiles, end);
    images_.place_mirrored(pairs_.apart);
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

  // Reserves memory for the mirrored pair like that from `start` to `end`, if both are small and fit on the
  // device; returns the bytes from one to the other, or 0.
  cl_long reserve_again(std::size_t start, std::size_t end) {
    const opencl::DeviceInfo& device = context().info();
    const std::size_t bytes = end - start, all = layout_.bytes() + bytes;
    if (!checks_both() || is_processor() || bytes == 0 || bytes > most_to_double ||
        all > std::min(device.memory_bytes, device.largest_buffer_bytes))
      return 0;
    return reserve(bytes) - static_cast<cl_long>(start);
  }

  // All shares are whole, also in the smallest groups: see prepare_in_groups_that_fit().
  int stored_labels() const {
    opencl::DeviceInfo smallest = context().info();
    smallest.group_items = opencl::least_group_items;
    const Layout least = layout_of(smallest, bits_, model_.labels);
    return std::max(device_.shares * device_.per_share, least.shares * least.per_share);
  }

  // Levels with candidates keep only the data costs of all labels, and on a GPU not even those.
  void reserve_level(Size extent, bool has_candidates) {
    OpenclLevel level{};
    level.width = extent.width;
    level.height = extent.height;
    level.labels = model_.labels;
    level.stored_labels = is_processor() ? model_.labels : stored_labels();
    // The last element of a row is no pixel.
    level.pitch = round_up((extent.width + 1) / 2 + 1, device_.pixels);
    const std::size_t row = to_size(level.pitch) * to_size(value_bytes());
    const std::size_t labels = row * to_size(level.stored_labels);
    for (int colour = 0; colour < 2; ++colour) {
      if (!has_candidates || is_processor()) level.data[colour] = reserve(to_size(extent.height) * labels);
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
    const Size count = tile_count(extent);
    OpenclTiles tiles{};
    tiles.width = extent.width;
    tiles.height = extent.height;
    tiles.labels = model_.labels;
    tiles.across = count.width;
    tiles.edges = has_edges() ? reserve(2 * count.pixels() * directions * 2 * tile_row_bytes) : -1;
    tiles_.push_back(tiles);
  }

  void reserve_slots(OpenclTiles& tiles) {
    constexpr std::size_t ranges_bytes = 32, slot_bytes = 16;
    const std::size_t count = tile_count({tiles.width, tiles.height}).pixels(),
                      slots = count * to_size(model_.labels);
    for (int colour = 0; colour < 2; ++colour) {
      tiles.data[colour] = reserve(slots * tile_row_bytes);
      tiles.messages[colour] = reserve(slots * directions * tile_row_bytes);
    }
    tiles.ranges = reserve(count * ranges_bytes);
    tiles.slots = reserve(slots * slot_bytes);
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
    if (finds_sums())
      prepare_sums();
    else
      prepare_costs();
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

  // Whether the data costs of levels with candidates are found where they are needed.
  bool finds_sums() const { return !tiles_.empty() && !is_processor(); }

  void prepare_costs() {
    costs_program_ = opencl::Program(
        context(),
        {opencl::data_cost_types_cl, opencl::data_cost_features_cl, opencl::data_cost_costs_cl,
         opencl::decision_types_cl, opencl::belief_propagation_types_cl, opencl::words_cl,
         opencl::belief_propagation_values_cl, opencl::belief_propagation_levels_cl,
         opencl::belief_propagation_costs_cl},
        costs_options());
    find_costs_ = costs_program_.kernel("find_costs");
  }

  void prepare_sums() {
    costs_program_ = opencl::Program(
        context(),
        {opencl::data_cost_types_cl, opencl::data_cost_features_cl, opencl::data_cost_costs_cl,
         opencl::decision_types_cl, opencl::belief_propagation_types_cl, opencl::words_cl,
         opencl::belief_propagation_values_cl, opencl::belief_propagation_image_costs_cl,
         opencl::belief_propagation_sums_cl},
        opencl::joined(images_.options(),
                       opencl::joined(levels_options(),
                                      {define("LABELS", model_.labels), define("SIDE", 1 << tiles_.size()),
                                       define("SUM_ITEMS", sum_items())})));
    find_existence_ = costs_program_.kernel("find_existence");
    sum_costs_ = costs_program_.kernel("sum_costs");
  }

  void prepare_tiles() {
    find_labels_ = messages_program_.kernel("find_labels");
    tiles_program_ = opencl::Program(
        context(),
        {opencl::lanes_cl, opencl::data_cost_types_cl, opencl::data_cost_features_cl,
         opencl::data_cost_costs_cl, opencl::decision_types_cl, opencl::decision_sub_pixel_cl,
         opencl::decision_decision_cl, opencl::belief_propagation_types_cl, opencl::words_cl,
         opencl::belief_propagation_values_cl, opencl::belief_propagation_image_costs_cl,
         opencl::belief_propagation_decision_cl, opencl::belief_propagation_tiles_cl,
         is_processor() ? opencl::belief_propagation_tile_vectors_cl
                        : opencl::belief_propagation_tile_lanes_cl,
         opencl::belief_propagation_candidates_cl},
        opencl::joined(images_.options(),
                       opencl::joined(levels_options(is_processor() ? tile_side * row_pixels : 1),
                                      {define("TILES_OF_GROUP", tiles_of_group()),
                                       define("OPEN_ITEMS", open_items())})));
    find_candidates_ = tiles_program_.kernel("find_candidates");
    open_tiles_ = tiles_program_.kernel("open_tiles");
    update_tiles_ = tiles_program_.kernel("update_tiles");
    find_tile_labels_ = tiles_program_.kernel("find_tile_labels");
    decide_tiles_ = tiles_program_.kernel("decide_tiles");
  }

  void prepare_edges() {
    edges_program_ = opencl::Program(
        context(),
        {opencl::decision_types_cl, opencl::belief_propagation_types_cl, opencl::belief_propagation_edges_cl},
        {define("PROCESSOR", is_processor()), define("EDGE_WORDS", edge_words()),
         define("EDGE_ROWS", group_pixels / edge_words())});
    average_ = edges_program_.kernel("average");
    find_edges_ = edges_program_.kernel("find_edges");
    std::vector<cl_uint> edges;
    for (std::size_t i = 0; i < data_cost::edge_table_size; ++i)
      edges.push_back(static_cast<cl_uint>(model_.slopes[i]) | static_cast<cl_uint>(model_.truncations[i])
                                                                   << 16);
    write(edge_table_, edges.size() * sizeof(cl_uint), edges.data());
  }

  Options levels_options() const { return levels_options(device_.pixels); }
  // `pixels`: those of a vector that decides.
  Options levels_options(int pixels) const {
    return {define("PROCESSOR", is_processor()),
            define("BITS", bits_),
            define("PIXELS", pixels),
            define("SHARES", device_.shares),
            define("PER_SHARE", device_.per_share),
            define("GROUP_WORDS", device_.group_words),
            define("UPDATE_WORDS", device_.update_words)};
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

  static constexpr int row_pixels = tile_side / 2;  // pixels of a colour in a row of a tile
  static constexpr std::size_t tile_row_bytes = tile_side * sizeof(cl_uint),
                               tile_lanes = directions * tile_side;
  // Tiles of a group on a GPU: on NVIDIA's, two fill its multiprocessors better.
  std::size_t tiles_of_group() const { return context().info().nvidia_capability > 0 ? 2 : 1; }
  // Work items of groups that open a tile, and that add up data costs.
  std::size_t open_items() const { return is_processor() ? 1 : opencl::least_group_items; }
  std::size_t sum_items() const { return std::min<std::size_t>(128, context().info().group_items); }

  static constexpr std::size_t group_pixels = 64;

  void match(const opencl::Pair& pair, const opencl::Map& map) override {
    images_.take(pair, queue());
    queue().finish_stage("prepare");
    const data_cost::OpenclInputs& inputs = images_.inputs();
    OpenclDecisions to{};
    to.of[0] = decision::left_map(map, model_.decision(), inputs.status, inputs.stride);
    to.of[1] = decision::right_map(to.of[0], right_disparity_);
    to.of[1].before += pairs_.apart;
    for_pairs(pairs_.apart, {0, checks_both() ? 2 : 1}, [&](Pairs pairs) { match_pairs(pair, to, pairs); });
    refinement_.enqueue(pair, map, right_disparity_, queue());
  }

  // Pairs that are matched at once: 0 = the given one, 1 = the mirrored one.
  struct Pairs {
    int first, count;
  };

  // Calls action(pairs) for all pairs at once if they have memory of their own, else for one after the other.
  template <class Action>
  static void for_pairs(cl_long apart, Pairs pairs, const Action& action) {
    if (apart != 0) return action(pairs);
    for (int i = 0; i < pairs.count; ++i) action(Pairs{pairs.first + i, 1});
  }
  OpenclPairs argument(Pairs pairs) const { return {pairs.first, pairs_.apart, pairs_.tiles_apart}; }

  void match_pairs(const opencl::Pair& pair, const OpenclDecisions& to, Pairs pairs) {
    const auto finish = [&](const char* stage, const char* right_stage) {
      queue().finish_stage(pairs.first > 0 ? right_stage : stage);
    };
    images_.find_inputs(pair, pairs.first, pairs.count, queue());
    if (has_edges()) find_edges(pairs);
    finish("features", "right_features");
    find_costs(pair, pairs);
    finish("data_costs", "right_data_costs");
    for (std::size_t index = levels_.size(); index-- > tiles_.size();) {
      iterate(index, pairs);
      if (index == 1) finish("coarse_levels", "right_coarse_levels");
    }
    if (tiles_.empty()) {
      decide_.launch(queue(), items_of(levels_.front(), 2 * to_size(pairs.count)), group_of_shares(),
                     memory(), argument(pairs), levels_.front(), to);
    } else {
      for_pairs(pairs_.tiles_apart, pairs, [&](Pairs these) {
        for (std::size_t index = tiles_.size(); index-- > 0;) {
          iterate_tiles(pair, index, these);
          if (index == 1) finish("coarse_levels", "right_coarse_levels");
        }
        decide_tiles_.launch(queue(), groups_of(tiles_.front(), 2 * to_size(these.count)), tile_group(),
                             memory(), argument(these), tiles_.front(), alike(), to);
      });
    }
    finish("finest_level", "right_finest_level");
  }

  void find_edges(Pairs pairs) {
    const std::size_t averaged = is_processor() ? 1 : 4, side = 8;  // see opencl_edges.cl
    const std::size_t count = to_size(pairs.count);
    for (std::size_t first = 0; first + 1 < levels_.size(); first += averaged) {
      const OpenclLevel& next = levels_[first + 1];
      average_.launch(queue(), {groups_for(next.width, side), groups_for(next.height, side), count},
                      {side, side}, memory(), argument(pairs), edge_levels(first, averaged + 1));
    }
    for (std::size_t first = 0; first < levels_.size(); first += EDGE_LEVELS) {
      const OpenclEdgeLevels levels = edge_levels(first, EDGE_LEVELS);
      std::size_t down = 0;
      for (int i = 0; i < levels.count; ++i)
        down += groups_for(levels.of[i].height, group_pixels / edge_words());
      const Shape words{edge_words(), group_pixels / edge_words()};
      find_edges_.launch(queue(),
                         {groups_for(levels_[first].width, 64 / to_size(bits_) * words.x), down, 2 * count},
                         is_processor() ? words : Shape{words.y, words.x}, memory(), argument(pairs), levels);
    }
  }

  // Words of a group that finds edges; it has group_pixels work items.
  std::size_t edge_words() const { return is_processor() ? group_pixels : 8; }

  OpenclEdgeLevels edge_levels(std::size_t first, std::size_t count) const {
    OpenclEdgeLevels levels{.of = {}, .count = 0, .value_bits = bits_, .table = edge_table_};
    for (std::size_t index = first; index < std::min(levels_.size(), first + count); ++index) {
      const OpenclLevel& level = levels_[index];
      const auto [gray, stride] = gray_of(index);
      const bool has_tiles = index < tiles_.size();
      levels.of[levels.count++] = {level.width,
                                   level.height,
                                   gray,
                                   stride,
                                   has_tiles ? tiles_[index].edges : level.edges,
                                   has_tiles ? 0 : level.pitch};
    }
    return levels;
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
  Shape group_of_shares() const { return {to_size(device_.shares), to_size(device_.group_words)}; }

  // Finds the data costs of all levels, or of those that consider all labels.
  void find_costs(const opencl::Pair& pair, Pairs pairs) {
    const OpenclPairs which = argument(pairs);
    const std::size_t count = to_size(pairs.count), first = finds_sums() ? tiles_.size() : 0;
    const OpenclLevel& level = levels_[first];
    if (finds_sums()) {
      const int elements = (levels_.front().width + 1) / 2;
      find_existence_.launch(
          queue(), {groups_for(elements, 4 * group_pixels), to_size(levels_.front().height), 2 * count},
          {group_pixels}, memory(), which, images_.inputs(), images_.costs(pair), image_costs(0));
      sum_costs_.launch(queue(), {groups_for(level.width, tile_side), to_size(level.height), count},
                        {sum_items()}, memory(), which, level, images_.inputs(), images_.costs(pair),
                        image_costs(0));
    } else {
      find_costs_.launch(queue(), items_of(level, 2 * count), group_of_shares(), memory(), which, level,
                         images_.inputs(), images_.costs(pair));
    }
    for (std::size_t index = first + 1; index < levels_.size(); ++index)
      add_up_.launch(queue(), items_of(levels_[index].width, levels_[index].height, count), group_of_shares(),
                     memory(), which, levels_[index - 1], levels_[index]);
  }

  // `level`: that whose data costs are found.
  OpenclImageCosts image_costs(std::size_t level) const { return {has_data_, 1 << level}; }

  OpenclSmoothness alike() const {
    return {static_cast<cl_int>(model_.slopes[0]), static_cast<cl_int>(model_.truncations[0]), reach()};
  }

  // Calls update(pairs, colour) for the half-sweeps of a level. The pairs may have different numbers of them.
  template <class Update>
  void for_iterations(std::size_t index, Pairs pairs, const Update& update) const {
    for (int iteration = 0;; ++iteration) {
      Pairs active{pairs.first, 0};
      for (int i = pairs.first + pairs.count - 1; i >= pairs.first; --i)
        if (iteration < model_.iterations(index, i > 0)) active = {i, active.count + 1};
      if (active.count == 0) return;
      update(active, cl_int{(iteration + 1) % 2});
    }
  }

  void iterate(std::size_t index, Pairs pairs) {
    const OpenclLevel& level = levels_[index];
    const OpenclLevel coarser = index + 1 < levels_.size() ? levels_[index + 1] : OpenclLevel{};
    start_.launch(queue(), items_of(level, directions * to_size(pairs.count)), group_of_shares(), memory(),
                  argument(pairs), level, coarser);
    const std::size_t words =
        to_size(divide_round_up((level.width + 1) / 2, device_.pixels)) * to_size(level.height);
    for_iterations(index, pairs, [&](Pairs these, cl_int colour) {
      update_.launch(
          queue(), {groups_for(words, device_.update_words), 1, to_size(these.count)},
          {to_size(device_.shares), to_size(device_.update_words), is_processor() ? 1u : directions},
          memory(), argument(these), level, alike(), colour);
    });
  }

  // On a processor one work item for each tile, on a GPU one for each message of a slot.
  Shape groups_of(const OpenclTiles& tiles, std::size_t deep) const {
    const std::size_t count = tile_count({tiles.width, tiles.height}).pixels();
    return {is_processor() ? count : groups_for(count, tiles_of_group()), 1, deep};
  }
  Shape tile_group() const { return {is_processor() ? 1 : tiles_of_group() * tile_lanes}; }

  // Finds the candidates of a level from the beliefs of the next coarser level, then iterates over them.
  void iterate_tiles(const opencl::Pair& pair, std::size_t index, Pairs pairs) {
    const OpenclTiles& tiles = tiles_[index];
    const OpenclLevel& above = levels_[index + 1];
    const bool has_tiles_above = index + 1 < tiles_.size();
    const OpenclLabels best{above.width, above.height, best_};
    const OpenclPairs which = argument(pairs);
    const std::size_t deep = to_size(pairs.count), count = tile_count({tiles.width, tiles.height}).pixels();
    if (has_tiles_above)
      find_tile_labels_.launch(queue(), groups_of(tiles_[index + 1], 2 * deep), tile_group(), memory(), which,
                               tiles_[index + 1], alike(), best);
    else
      find_labels_.launch(queue(), items_of(above, 2 * deep), group_of_shares(), memory(), which, above,
                          best);
    const cl_int slack = parameters().candidate_slack, ranges = parameters().candidate_ranges;
    find_candidates_.launch(queue(), {count, 1, deep}, {is_processor() ? 1 : tile_lanes}, memory(), which,
                            tiles, best, slack, ranges);
    const OpenclLevel coarser = has_tiles_above ? OpenclLevel{} : above;
    const OpenclTiles coarser_tiles = has_tiles_above ? tiles_[index + 1] : OpenclTiles{};
    if (is_processor())
      open_tiles_.launch(queue(), {count, 1, deep}, {open_items()}, memory(), which, tiles, levels_[index],
                         coarser, coarser_tiles, alike());
    else
      open_tiles_.launch(queue(), {count, 1, deep}, {open_items()}, memory(), which, tiles, levels_[index],
                         coarser, coarser_tiles, alike(), images_.inputs(), images_.costs(pair),
                         image_costs(index));
    for_iterations(index, pairs, [&](Pairs these, cl_int colour) {
      update_tiles_.launch(queue(), groups_of(tiles, to_size(these.count)), tile_group(), memory(),
                           argument(these), tiles, alike(), colour);
    });
  }

  Model model_;
  int bits_;
  Layout device_;
  refine::OpenclPipeline refinement_;
  cl_long edge_table_;
  PlaneBuffer<float> right_disparity_;
  data_cost::OpenclImages images_;  // its memory of a pair, and that of the levels, may be there twice
  std::vector<OpenclLevel> levels_;
  std::vector<OpenclTiles> tiles_;  // the finest levels, if they have candidates
  OpenclPairs pairs_{};
  cl_long best_ = 0;                               // see OpenclLabels
  cl_long has_data_ = 0;                           // see OpenclImageCosts
  std::vector<PlaneBuffer<std::uint16_t>> grays_;  // one per level, except the image's
  opencl::Program edges_program_, costs_program_, messages_program_, tiles_program_;
  opencl::Kernel average_, find_edges_, find_costs_, add_up_, start_, update_, find_labels_, decide_,
      find_existence_, sum_costs_, find_candidates_, open_tiles_, update_tiles_, find_tile_labels_,
      decide_tiles_;
};

}  // namespace

std::unique_ptr<detail::Plan> make_opencl(const BeliefPropagationParameters& parameters, const Device& device,
                                          const ImageFormat& format) {
  return std::make_unique<Opencl>(parameters, device, format);
}

}  // namespace parallax::belief_propagation
