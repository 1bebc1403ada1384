// SPDX-License-Identifier: Apache-2.0
// Semi-global matching on OpenCL: volumes of data costs and of each path's costs, in bytes if they fit.

#include <algorithm>
#include <span>
#include <vector>

#include "core/integers.h"
#include "data_cost/data_cost.h"
#include "data_cost/opencl_images.h"
#include "decision/opencl_maps.h"
#include "devices/opencl/kernel_sources.h"
#include "devices/opencl/plan.h"
#include "matchers/semi_global/opencl_types.h"
#include "matchers/semi_global/semi_global.h"
#include "refine/opencl_pipeline.h"

namespace parallax::semi_global {
namespace {

using decision::OpenclDecision;
using opencl::define;
using opencl::groups_for;
using opencl::offset;
using opencl::Options;
using opencl::Shape;

// The number of pixels of a row whose sums a group keeps in local memory.
int pixels_a_segment(int labels) {
  constexpr int max_sums = 8192, max_pixels = 64, fewest_pixels = 4;
  return std::clamp(max_sums / labels, fewest_pixels, max_pixels);
}

class Opencl final : public opencl::Plan {
 public:
  Opencl(const SemiGlobalParameters& parameters, const Device& device, const ImageFormat& format)
      : opencl::Plan(device, format, true, data_cost::volume_labels(parameters.cost, parameters.disparities)),
        parameters_(parameters),
        model_(make_model(parameters)),
        dealing_(is_processor() ? Dealing{1, round_up(parameters.disparities, 64)}
                                : deal(parameters.disparities)),
        images_(model_, format, {1, dealing_.per_lane + pixels_at_once()}, layout_),
        refinement_(parameters.refine, format, layout_, parameters.min_confidence) {
    data_cost::check_reachable(model_, format.size);
    volumes_ = {.width = format.size.width,
                .height = format.size.height,
                .labels = model_.labels,
                .padding = model_.highest_cost() + parameters.large_jump,
                .costs = reserve(volume_bytes()),
                .paths = reserve(to_size(parameters.paths) * volume_bytes()),
                .path_bytes = static_cast<cl_long>(volume_bytes())};
    large_jumps_ = reserve(data_cost::edge_table_size * sizeof(cl_ushort));
    if (takes_right_from_sums()) lowest_of_right_ = reserve(format.size.pixels() * sizeof(cl_uint));
    if (checks_both()) right_disparity_ = layout_.reserve_plane<float>(format.size);
  }

 private:
  bool checks_both() const { return parameters_.refine.left_right_check; }
  bool matches_right() const { return checks_both() && parameters_.right_map == RightMap::match; }
  bool takes_right_from_sums() const { return checks_both() && !matches_right(); }
  bool has_edges() const { return parameters_.edge_contrast > 0; }
  int bits() const { return model_.fits_bytes() ? 8 : 16; }
  // Rounded up to a multiple of the alignment of all loads.
  std::size_t volume_bytes() const {
    return round_up(format().size.pixels() * to_size(dealing_.labels() * bits() / 8), buffer_alignment);
  }

  // The number of columns whose windows a processor's work item adds up.
  static constexpr std::size_t columns_at_once = 16;
  // The number of pixels whose data costs a work item finds, and of neighbouring chains that it follows.
  int pixels_at_once() const { return is_processor() || dealing_.per_lane > 16 ? 1 : 4; }
  int chains_at_once() const { return std::clamp(2048 / dealing_.per_lane, 4, 16); }

  // Work items of a group. The lanes that follow a chain wait for each other at each pixel: on NVIDIA's GPUs
  // for their warp, on others for the group.
  bool is_nvidia() const { return context().info().nvidia_capability > 0; }
  std::size_t items_of_group() const {
    return is_processor() ? 1 : std::min<std::size_t>(128, context().info().group_items);
  }
  std::size_t items_that_follow() const { return is_nvidia() ? items_of_group() : is_processor() ? 1 : 32; }

  opencl::Program program(std::initializer_list<opencl::Source> sources, std::size_t items,
                          const Options& more) const {
    const Options common{define("PROCESSOR", is_processor()), define("BITS", bits()),
                         define("LANES", dealing_.lanes), define("PER_LANE", dealing_.per_lane),
                         define("GROUP", items)};
    return {context(), sources, opencl::joined(common, more)};
  }

  void prepare() override {
    images_.prepare(context(), queue(), memory());
    const Options of_costs{define("PIXELS", pixels_at_once()), define("COLUMNS", columns_at_once),
                           define("PROPORTIONAL", images_.cost_of_a_bit() > 0)};
    cost_program_ =
        program({opencl::words_cl, opencl::lanes_cl, opencl::data_cost_types_cl,
                 opencl::data_cost_features_cl, opencl::data_cost_costs_cl, opencl::semi_global_types_cl,
                 opencl::semi_global_values_cl, opencl::semi_global_costs_cl},
                items_of_group(), opencl::joined(images_.options(), of_costs));
    find_costs_ = cost_program_.kernel("find_costs");
    add_window_ = cost_program_.kernel("add_window");
    path_program_ =
        program({opencl::words_cl, opencl::lanes_cl, opencl::semi_global_types_cl,
                 opencl::semi_global_values_cl, opencl::semi_global_paths_cl},
                items_that_follow(),
                {define("EDGES", has_edges()), define("CHAINS", chains_at_once()), define("AHEAD", 8)});
    follow_ = path_program_.kernel("follow");
    follow_beside_ = path_program_.kernel(is_processor() ? "follow_beside" : "follow_front");
    decide_program_ =
        program({opencl::words_cl, opencl::lanes_cl, opencl::decision_types_cl, opencl::decision_sub_pixel_cl,
                 opencl::decision_decision_cl, opencl::semi_global_types_cl, opencl::semi_global_values_cl,
                 opencl::semi_global_decide_cl},
                items_of_group(), {define("PATHS", parameters_.paths), define("SEGMENT", segment_pixels())});
    decide_ = decide_program_.kernel("decide");
    write_right_ = decide_program_.kernel("write_right");
    const std::vector<cl_ushort> jumps(model_.large_jumps.begin(), model_.large_jumps.end());
    write(large_jumps_, jumps.size() * sizeof(cl_ushort), jumps.data());
    refinement_.prepare(context(), queue(), memory());
  }

  int segment_pixels() const { return pixels_a_segment(dealing_.labels()); }

  void match(const opencl::Pair& pair, const opencl::Map& map) override {
    images_.take(pair, queue());
    queue().finish_stage("prepare");
    const data_cost::OpenclInputs& inputs = images_.inputs();
    const OpenclDecision left = decision::left_map(map, model_.decision(), inputs.status, inputs.stride);
    match_pair(pair, left, false);
    if (matches_right()) match_pair(pair, decision::right_map(left, right_disparity_), true);
    if (takes_right_from_sums()) write_right(pair);
    refinement_.enqueue(pair, map, right_disparity_, queue());
  }

  void match_pair(const opencl::Pair& pair, const OpenclDecision& to, bool mirrored) {
    const auto finish = [&](const char* stage, const char* right_stage) {
      queue().finish_stage(mirrored ? right_stage : stage);
    };
    images_.find_inputs(pair, mirrored ? 1 : 0, 1, queue());
    finish("features", "right_features");
    find_costs(pair);
    finish("data_costs", "right_data_costs");
    if (parameters_.aggregation == Aggregation::mgm)
      follow_beside();
    else
      follow();
    finish("paths", "right_paths");
    decide_.launch(queue(), {is_processor() ? 1 : groups_for(width(), segment_pixels()), height()},
                   {items_of_group()}, memory(), volumes_, sums(mirrored), to);
    finish("decision", "right_decision");
  }

  void find_costs(const opencl::Pair& pair) {
    const bool adds_up = parameters_.window > 1;
    OpenclVolumes volumes = volumes_;
    if (adds_up) volumes.padding = 0;
    find_costs_.launch(queue(), groups_of_pixels(pixels_at_once()), {items_of_group()}, memory(), volumes,
                       images_.inputs(), images_.costs(pair), lowest_of_right_);
    if (!adds_up) return;
    const cl_int reach = parameters_.window / 2, along_columns = 0, along_rows = 1;
    const cl_long costs = volumes_.costs, rows = volumes_.paths;
    add_window_.launch(queue(), is_processor() ? Shape{height()} : groups_of_pixels(1), {items_of_group()},
                       memory(), volumes, costs, rows, reach, along_rows);
    add_window_.launch(queue(),
                       is_processor() ? Shape{groups_for(width(), columns_at_once)} : groups_of_pixels(1),
                       {items_of_group()}, memory(), volumes_, rows, costs, reach, along_columns);
  }

  // If the downward paths keep a GPU busy, the upward paths are launched after them, so that concurrent paths
  // read the same data costs, which are still in the cache.
  void follow() {
    const std::span<const Step> steps = steps_of(parameters_.paths);
    const auto end = std::find_if(steps.begin(), steps.end(), [](Step step) { return step.y < 0; });
    const int all = parameters_.paths, first = static_cast<int>(end - steps.begin());
    const auto downwards =
        static_cast<int>(std::count_if(steps.begin(), end, [](Step step) { return step.y > 0; }));
    constexpr int items_a_unit = 320;
    const bool apart = !is_processor() && downwards * volumes_.width * dealing_.lanes >=
                                              items_a_unit * static_cast<int>(context().info().compute_units);
    follow(0, apart ? first : all);
    if (apart && first < all) follow(first, all - first);
  }

  void follow(cl_int first, int count) {
    follow_.launch(queue(), {groups_of_chains(), to_size(count)}, {items_that_follow()}, memory(), volumes_,
                   paths(), first);
  }

  void follow_beside() {
    const OpenclPaths all = paths();
    if (is_processor()) {
      follow_beside_.launch(queue(), {to_size(parameters_.paths)}, {1}, memory(), volumes_, all);
      return;
    }
    for (cl_int front = 0; front < volumes_.width + volumes_.height - 1; ++front)
      follow_beside_.launch(queue(), {groups_of_chains(), to_size(parameters_.paths)}, {items_that_follow()},
                            memory(), volumes_, all, front);
  }

  void write_right(const opencl::Pair& pair) {
    constexpr std::size_t group_pixels = 64;
    const OpenclRightMap to{.disparity = offset(right_disparity_),
                            .stride = opencl::stride(right_disparity_),
                            .mask = pair.mask[1],
                            .right = lowest_of_right_,
                            .width = volumes_.width,
                            .min_disparity = model_.min_disparity};
    write_right_.launch(queue(), {groups_for(width(), group_pixels), height()}, {group_pixels}, memory(), to);
    queue().finish_stage("right_map");
  }

  std::size_t width() const { return to_size(volumes_.width); }
  std::size_t height() const { return to_size(volumes_.height); }

  // Groups for the lanes of all pixels; lanes share `at_once` pixels.
  Shape groups_of_pixels(int at_once) const {
    return {groups_for(groups_for(width(), to_size(at_once)) * to_size(dealing_.lanes), items_of_group()),
            height()};
  }

  // Suffices for the longest front, too.
  std::size_t groups_of_chains() const {
    const std::size_t chains_a_group =
        is_processor() ? to_size(chains_at_once()) : items_that_follow() / to_size(dealing_.lanes);
    return groups_for(std::max(width(), height()), chains_a_group);
  }

  OpenclPaths paths() const {
    OpenclPaths paths{};
    int index = 0;
    for (const Step step : steps_of(parameters_.paths)) {
      paths.x[index] = step.x;
      paths.y[index++] = step.y;
    }
    paths.small_jump = parameters_.small_jump;
    paths.large_jump = parameters_.large_jump;
    paths.large_jumps = large_jumps_;
    paths.gray = images_.inputs().gray;
    paths.gray_stride = images_.inputs().stride;
    return paths;
  }

  OpenclSums sums(bool mirrored) const {
    const cl_int uniqueness = mirrored ? 0 : parameters_.uniqueness;
    return {.wants_rival = uniqueness > 0 ? 1 : 0,
            .uniqueness = uniqueness,
            .right = lowest_of_right_,
            .only_winners = parameters_.right_map == RightMap::winners ? 1 : 0};
  }

  SemiGlobalParameters parameters_;
  Model model_;
  Dealing dealing_;
  data_cost::OpenclImages images_;
  refine::OpenclPipeline refinement_;
  OpenclVolumes volumes_{};
  cl_long large_jumps_ = 0, lowest_of_right_ = -1;
  PlaneBuffer<float> right_disparity_;
  opencl::Program cost_program_, path_program_, decide_program_;
  opencl::Kernel find_costs_, add_window_, follow_, follow_beside_, decide_, write_right_;
};

}  // namespace

std::unique_ptr<detail::Plan> make_opencl(const SemiGlobalParameters& parameters, const Device& device,
                                          const ImageFormat& format) {
  return std::make_unique<Opencl>(parameters, device, format);
}

}  // namespace parallax::semi_global
