#include "refine/opencl.h"

#include <string>

#include "devices/opencl/kernel_sources.h"
#include "devices/opencl/plan.h"
#include "refine/refine.h"

namespace parallax::refine {
namespace {

using opencl::define;
using opencl::groups_for;
using opencl::Shape;

constexpr std::size_t group_items = 128;

void check_steps(const RefineParameters& parameters) {
  const auto refuse_step = [](const char* step) {
    throw Error(ErrorCategory::device,
                std::string("device opencl has no ") + step + ": leave it out, or choose device cpu");
  };
  if (parameters.weighted_median > 0) refuse_step("weighted_median");
  if (parameters.bilateral > 0) refuse_step("bilateral");
}

std::size_t width_of(Size size) {
  return static_cast<std::size_t>(size.width);
}

std::size_t height_of(Size size) {
  return static_cast<std::size_t>(size.height);
}

// Work items that have so many columns each.
Shape groups_of(Size size, std::size_t columns) {
  return {groups_for(width_of(size), columns * group_items), height_of(size)};
}

}  // namespace

OpenclPipeline::OpenclPipeline(const RefineParameters& parameters, Size size, ArenaLayout& layout)
    : parameters_(parameters), size_(size) {
  check_steps(parameters);
  if (removes_speckles()) {
    check_speckle_size(size);
    links_ = layout.reserve<std::int32_t>(size.pixels());
    sizes_ = layout.reserve<std::int32_t>(size.pixels());
  }
  if (takes_median()) bordered_ = layout.reserve_plane<float>(bordered_size(size, parameters.median));
}

void OpenclPipeline::prepare(const opencl::Context& context, cl_mem memory) {
  memory_ = memory;
  if (!parameters_.left_right_check && !removes_speckles() && !fills() && !takes_median()) return;
  // A processor goes along a row by itself, and takes medians in vectors.
  const bool is_processor = context.info().is_processor;
  items_of_row_ = is_processor ? 1 : 64;
  lanes_ = is_processor ? 8 : 1;
  const int window = takes_median() ? parameters_.median : 3;
  program_ = opencl::Program(
      context, {opencl::refine_cl},
      {define("ITEMS_OF_ROW", items_of_row_), define("LANES", lanes_), define("WINDOW", window)});
  check_left_right_ = program_.kernel("check_left_right");
  link_rows_ = program_.kernel("link_rows");
  join_rows_ = program_.kernel("join_rows");
  add_sizes_ = program_.kernel("add_sizes");
  remove_speckles_ = program_.kernel("remove_speckles");
  fill_row_ = program_.kernel("fill_row");
  border_ = program_.kernel("border");
  median_ = program_.kernel("take_median");
}

void OpenclPipeline::enqueue(const opencl::Map& map, const PlaneBuffer<float>& right,
                             opencl::Queue& queue) const {
  if (parameters_.left_right_check) {
    check_left_right(map, right, queue);
    queue.finish_stage("left_right_check");
  }
  if (removes_speckles()) {
    remove_speckles(map, queue);
    queue.finish_stage("speckle");
  }
  if (fills()) {
    fill_row(map, queue);
    queue.finish_stage("fill");
  }
  if (takes_median()) {
    median(map, queue);
    queue.finish_stage("median");
  }
}

void OpenclPipeline::check_left_right(const opencl::Map& map, const PlaneBuffer<float>& right,
                                      opencl::Queue& queue) const {
  check_left_right_.launch(queue, groups_of(size_, 1), {group_items}, memory_, map, opencl::offset(right),
                           opencl::stride(right), parameters_.left_right_tolerance);
}

void OpenclPipeline::remove_speckles(const opencl::Map& map, opencl::Queue& queue) const {
  const Shape rows{1, height_of(size_)}, row{items_of_row_};
  const cl_long links = opencl::offset(links_), sizes = opencl::offset(sizes_);
  link_rows_.launch(queue, rows, row, memory_, map, parameters_.speckle_range, links, sizes);
  join_rows_.launch(queue, rows, row, memory_, map, parameters_.speckle_range, links);
  add_sizes_.launch(queue, rows, row, memory_, map, parameters_.speckle_range, links, sizes);
  remove_speckles_.launch(queue, rows, row, memory_, map, links, sizes, parameters_.speckle_size);
}

void OpenclPipeline::fill_row(const opencl::Map& map, opencl::Queue& queue) const {
  fill_row_.launch(queue, {1, height_of(size_)}, {items_of_row_}, memory_, map);
}

void OpenclPipeline::median(const opencl::Map& map, opencl::Queue& queue) const {
  const Size size = bordered_.size;
  border_.launch(queue, groups_of(size, 1), {group_items}, memory_, map, opencl::offset(bordered_),
                 opencl::stride(bordered_), size.width);
  median_.launch(queue, groups_of(size_, lanes_), {group_items}, memory_, map, opencl::offset(bordered_),
                 opencl::stride(bordered_));
}

}  // namespace parallax::refine
