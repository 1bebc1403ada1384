// SPDX-License-Identifier: Apache-2.0
#include "refine/opencl_pipeline.h"

#include <algorithm>

#include "devices/opencl/kernel_sources.h"
#include "devices/opencl/plan.h"
#include "refine/confidence.h"
#include "refine/refine.h"
#include "refine/refit.h"

namespace parallax::refine {
namespace {

using opencl::define;
using opencl::groups_for;
using opencl::Shape;

template <class T>
void write(const opencl::Queue& queue, cl_mem memory, const Buffer<T>& to, const T* values) {
  opencl::write(queue, memory, opencl::offset(to), to.count * sizeof(T), values);
}

// Work items of a group that filters.
std::size_t items_of(const opencl::DeviceInfo& device) {
  return std::min<std::size_t>(128, device.group_items);
}

// Floats of a vector. GPUs whose registers are vectors, such as the first Malis, prefer several.
std::size_t lanes_of(const opencl::DeviceInfo& device, std::size_t of_processor) {
  return device.is_processor ? of_processor : to_size(std::clamp(device.float_lanes, 1, 4));
}

}  // namespace

OpenclPipeline::OpenclPipeline(const RefineParameters& parameters, const ImageFormat& format,
                               ArenaLayout& layout, std::optional<float> least_confidence)
    : parameters_(parameters),
      size_(format.size),
      depth_(format.depth),
      guided_window_(std::max(parameters.weighted_median, parameters.bilateral)),
      least_confidence_(least_confidence) {
  if (parameters.occlusion_check) highest_ = layout.reserve<std::int32_t>(size_.pixels());
  if (removes_speckles()) {
    check_speckle_size(size_);
    links_ = layout.reserve<std::int32_t>(size_.pixels());
    sizes_ = layout.reserve<std::int32_t>(size_.pixels());
  }
  const int window = std::max({parameters.median, guided_window_, least_confidence_ ? confidence_window : 0});
  if (window > 0) bordered_ = layout.reserve_plane<float>(bordered_size(size_, window));
  if (refits()) refit_.emplace(format, layout);
  if (fills_planes()) planes_ = Planes(size_, layout);
  if (fills_directions()) candidates_ = layout.reserve<float>(2 * size_.pixels());
  if (parameters.is_guided())
    guide_ = layout.reserve_plane<std::uint8_t>(bordered_guide_size(size_, guided_window_));
  if (parameters.weighted_median > 0) weighted_median_ = Guided(parameters.weighted_median, layout);
  if (parameters.bilateral > 0) bilateral_ = Guided(parameters.bilateral, layout);
}

OpenclPipeline::Refit::Refit(const ImageFormat& format, ArenaLayout& layout)
    : images(census_inputs(), format, {1, RefitMemory::border}, layout) {}

void OpenclPipeline::Refit::prepare(const opencl::Context& context, const opencl::Queue& queue, cl_mem memory,
                                    int window, std::size_t rows_of_item) {
  images.prepare(context, queue, memory);
  rows = rows_of_item;
  program =
      opencl::Program(context,
                      {opencl::decision_sub_pixel_cl, opencl::data_cost_types_cl,
                       opencl::data_cost_features_cl, opencl::refine_refit_cl},
                      opencl::joined(images.options(), {define("WINDOW", window), define("ROWS", rows)}));
  refit = program.kernel("refit");
}

OpenclPipeline::Guided::Guided(int guided_window, ArenaLayout& layout)
    : window(guided_window),
      gray(layout.reserve<std::uint8_t>(GrayWeights().size())),
      distance(layout.reserve<std::uint16_t>(DistanceWeights().size())) {}

void OpenclPipeline::Guided::prepare(const opencl::Context& context, const opencl::Queue& queue,
                                     cl_mem memory, bool is_bilateral, int range) {
  const char* name = is_bilateral ? "bilateral" : "weighted_median";
  const opencl::DeviceInfo& device = context.info();
  const auto diameter = to_size(window);
  constexpr std::size_t tile_lanes = 32;
  lanes = lanes_of(device, 16);
  // Whether groups copy their pixels to local memory, and whether the weights of the window fit there, too.
  const bool copies = !device.is_processor && device.has_local_memory && lanes == 1;
  group = copies ? Shape{tile_lanes, items_of(device) / tile_lanes}
                 : Shape{device.is_processor ? 1 : items_of(device)};
  const std::size_t around = diameter - 1,
                    tile = (group.x + around) * (group.y + around) * 5 + 256 + diameter * diameter * 2,
                    weights = diameter * round_up(diameter, 4) * group.x * group.y;
  const bool keeps = copies && !is_bilateral && tile + weights <= device.local_bytes;
  program = opencl::Program(context, {opencl::refine_types_cl, opencl::refine_guided_cl},
                            {define("BILATERAL", is_bilateral ? 1 : 0), define("WINDOW", window),
                             define("LANES", lanes), define("TILE_LANES", tile_lanes),
                             define("TILE_ROWS", copies ? group.y : 0), define("KEEPS", keeps ? 1 : 0)});
  filter = program.kernel(name);
  write(queue, memory, gray, gray_weights(range).data());
  write(queue, memory, distance, distance_weights(window).data());
}

OpenclPipeline::Planes::Planes(Size size, ArenaLayout& layout)
    : cells(cells_of(size)),
      joined(layout.reserve<std::uint8_t>(cells.pixels() * cell_samples * cell_samples)),
      superpixels(layout.reserve<OpenclSuperpixel>(cells.pixels())) {}

void OpenclPipeline::Planes::prepare(const opencl::Context& context, std::size_t items_of_cell) {
  items = items_of_cell;
  program = opencl::Program(context, {opencl::lanes_cl, opencl::refine_types_cl, opencl::refine_planes_cl},
                            opencl::joined(plane_definitions(), {define("ITEMS", items)}));
  begin_superpixels = program.kernel("begin_superpixels");
  join_nearest = program.kernel("join_nearest");
  move_centres = program.kernel("move_centres");
  fit_planes = program.kernel("fit_planes");
  fill_planes = program.kernel("fill_planes");
}

Shape OpenclPipeline::groups_of(Size size, std::size_t columns) const {
  return {groups_for(width_of(size), columns * group_items_), height_of(size)};
}

void OpenclPipeline::prepare(const opencl::Context& context, const opencl::Queue& queue, cl_mem memory) {
  memory_ = memory;
  const std::size_t most_items = context.info().group_items;
  group_items_ = items_of(context.info());
  const RefineParameters& p = parameters_;
  // A GPU would gain little: in two of three rows, some of 32 neighbouring labels differ from those above.
  if (refit_) refit_->prepare(context, queue, memory, p.refit, context.info().is_processor ? 16 : 1);
  if (!p.left_right_check && !p.occlusion_check && !removes_speckles() && !fills() && !takes_median() &&
      !p.is_guided() && !least_confidence_)
    return;
  // A processor has one work item per row, and filters in vectors.
  const bool is_processor = context.info().is_processor;
  items_of_row_ = is_processor ? 1 : 64;
  lanes_ = lanes_of(context.info(), 8);
  speckle_tile_ = is_processor ? SpeckleTile{64, 32, 1, 1, 64} : SpeckleTile{32, 32, most_items, 64, 4};
  const int window = takes_median() ? parameters_.median : 3;
  program_ = opencl::Program(
      context, {opencl::refine_types_cl, opencl::refine_kernels_cl},
      opencl::joined(
          confidence_definitions(),
          {define("ITEMS_OF_ROW", items_of_row_), define("LANES", lanes_), define("WINDOW", window),
           define("TILE_WIDTH", speckle_tile_.width), define("TILE_HEIGHT", speckle_tile_.height),
           define("TILE_ITEMS", speckle_tile_.items), define("STRETCH", speckle_tile_.stretch)}));
  check_left_right_ = program_.kernel("check_left_right");
  check_occlusions_ = program_.kernel("check_occlusions");
  find_confidence_ = program_.kernel("find_confidence");
  label_tiles_ = program_.kernel("label_tiles");
  join_tiles_ = program_.kernel("join_tiles");
  add_sizes_ = program_.kernel("add_sizes");
  remove_speckles_ = program_.kernel("remove_speckles");
  fill_row_ = program_.kernel("fill_row");
  take_guide_ = program_.kernel("take_guide");
  find_in_columns_ = program_.kernel("find_in_columns");
  fill_directions_ = program_.kernel("fill_directions");
  border_ = program_.kernel("border");
  median_ = program_.kernel("take_median");
  if (fills_planes())
    planes_.prepare(context,
                    is_processor ? 1 : std::min<std::size_t>(cell_samples * cell_samples, most_items));
  if (p.weighted_median > 0) weighted_median_.prepare(context, queue, memory, false, p.weighted_median_range);
  if (p.bilateral > 0) bilateral_.prepare(context, queue, memory, true, p.bilateral_range);
}

void OpenclPipeline::enqueue(const opencl::Pair& pair, const opencl::Map& map,
                             const PlaneBuffer<float>& right, opencl::Queue& queue) {
  if (parameters_.left_right_check) {
    check_left_right(map, right, queue);
    queue.finish_stage("left_right_check");
  }
  if (parameters_.occlusion_check) {
    check_occlusions(map, queue);
    queue.finish_stage("occlusion_check");
  }
  if (finds_confidence(map)) {
    find_confidence(map, queue);
    queue.finish_stage("confidence");
  }
  if (removes_speckles()) {
    remove_speckles(map, queue);
    queue.finish_stage("speckle");
  }
  if (refits()) {
    refit(pair, map, queue);
    queue.finish_stage("refit");
  }
  if (parameters_.is_guided()) take_guide(pair, queue);
  if (fills()) {
    fill(pair, map, queue);
    queue.finish_stage("fill");
  }
  if (takes_median()) {
    median(map, queue);
    queue.finish_stage("median");
  }
  if (parameters_.weighted_median > 0) {
    run(weighted_median_, map, queue);
    queue.finish_stage("weighted_median");
  }
  if (parameters_.bilateral > 0) {
    run(bilateral_, map, queue);
    queue.finish_stage("bilateral");
  }
}

void OpenclPipeline::check_left_right(const opencl::Map& map, const PlaneBuffer<float>& right,
                                      opencl::Queue& queue) const {
  check_left_right_.launch(queue, groups_of(size_, 1), {group_items_}, memory_, map, opencl::offset(right),
                           opencl::stride(right), parameters_.left_right_tolerance);
}

void OpenclPipeline::check_occlusions(const opencl::Map& map, opencl::Queue& queue) const {
  check_occlusions_.launch(queue, {1, height_of(size_)}, {items_of_row_}, memory_, map,
                           opencl::offset(highest_), parameters_.left_right_tolerance);
}

void OpenclPipeline::find_confidence(const opencl::Map& map, opencl::Queue& queue) const {
  border(map, confidence_window, queue);
  find_confidence_.launch(queue, groups_of(size_, 1), {group_items_}, memory_, map, opencl::offset(bordered_),
                          opencl::stride(bordered_), *least_confidence_);
}

void OpenclPipeline::remove_speckles(const opencl::Map& map, opencl::Queue& queue) const {
  const Shape tiles{groups_for(width_of(size_), speckle_tile_.width),
                    groups_for(height_of(size_), speckle_tile_.height)};
  const Shape pixels = groups_of(size_, 1), items{group_items_};
  const cl_long links = opencl::offset(links_), sizes = opencl::offset(sizes_);
  label_tiles_.launch(queue, tiles, {speckle_tile_.items}, memory_, map, parameters_.speckle_range, links,
                      sizes);
  join_tiles_.launch(queue, tiles, {speckle_tile_.border_items}, memory_, map, parameters_.speckle_range,
                     links);
  add_sizes_.launch(queue, pixels, items, memory_, map, links, sizes);
  remove_speckles_.launch(queue, pixels, items, memory_, map, links, sizes, parameters_.speckle_size);
}

void OpenclPipeline::refit(const opencl::Pair& pair, const opencl::Map& map, opencl::Queue& queue) {
  data_cost::OpenclImages& images = refit_->images;
  images.take(pair, queue);
  images.find_inputs(pair, 0, 1, queue);
  const Shape columns{groups_for(width_of(size_), group_items_), groups_for(height_of(size_), refit_->rows)};
  refit_->refit.launch(queue, columns, {group_items_}, memory_, map, images.inputs());
}

void OpenclPipeline::fill(const opencl::Pair& pair, const opencl::Map& map, opencl::Queue& queue) const {
  const Shape rows{1, height_of(size_)}, row{items_of_row_};
  if (parameters_.fill == Fill::row) {
    fill_row_.launch(queue, rows, row, memory_, map);
    return;
  }
  if (fills_planes()) fill_planes(pair, map, queue);
  const OpenclFill fill{guide_offset(), opencl::stride(guide_), opencl::offset(candidates_), fill_reach};
  find_in_columns_.launch(queue, groups_of(size_, 1), {group_items_}, memory_, map, fill);
  fill_directions_.launch(queue, rows, row, memory_, map, fill);
}

void OpenclPipeline::fill_planes(const opencl::Pair& pair, const opencl::Map& map,
                                 opencl::Queue& queue) const {
  const OpenclPlaneFill fill{
      pair.image[0],       opencl::offset(planes_.joined), opencl::offset(planes_.superpixels),
      pair.channels[0],    static_cast<cl_int>(depth_),    planes_.cells.width,
      planes_.cells.height};
  const Shape cells{width_of(planes_.cells), height_of(planes_.cells)}, items{planes_.items};
  planes_.begin_superpixels.launch(queue, cells, items, memory_, map, fill);
  for (int round = 0; round < superpixel_rounds; ++round) {
    planes_.join_nearest.launch(queue, cells, items, memory_, map, fill);
    planes_.move_centres.launch(queue, cells, items, memory_, map, fill);
  }
  planes_.fit_planes.launch(queue, cells, items, memory_, map, fill);
  planes_.fill_planes.launch(queue, groups_of(size_, 1), {group_items_}, memory_, map, fill);
}

void OpenclPipeline::border(const opencl::Map& map, int window, opencl::Queue& queue) const {
  const Size size = bordered_size(size_, window);
  border_.launch(queue, groups_of(size, 1), {group_items_}, memory_, map, opencl::offset(bordered_),
                 opencl::stride(bordered_), size.width, window / 2);
}

void OpenclPipeline::median(const opencl::Map& map, opencl::Queue& queue) const {
  border(map, parameters_.median, queue);
  median_.launch(queue, groups_of(size_, lanes_), {group_items_}, memory_, map, opencl::offset(bordered_),
                 opencl::stride(bordered_));
}

cl_long OpenclPipeline::guide_offset() const {
  return opencl::offset(guide_) + guided_window_ / 2 * (opencl::stride(guide_) + 1);
}

void OpenclPipeline::take_guide(const opencl::Pair& pair, opencl::Queue& queue) const {
  take_guide_.launch(queue, groups_of(size_, 1), {group_items_}, memory_, pair, static_cast<int>(depth_),
                     size_.width, guide_offset(), opencl::stride(guide_));
}

void OpenclPipeline::run(const Guided& guided, const opencl::Map& map, opencl::Queue& queue) const {
  border(map, guided.window, queue);
  const cl_long stride = opencl::stride(bordered_), from = guided.window / 2 * (stride + 1);
  const OpenclGuidedStep step{opencl::offset(bordered_) + from * static_cast<cl_long>(sizeof(float)),
                              stride,
                              guide_offset(),
                              opencl::stride(guide_),
                              opencl::offset(guided.gray),
                              opencl::offset(guided.distance),
                              parameters_.bilateral_step};
  const Shape groups{groups_for(size_.width, guided.lanes * guided.group.x),
                     groups_for(size_.height, guided.group.y)};
  guided.filter.launch(queue, groups, guided.group, memory_, map, step);
}

}  // namespace parallax::refine
