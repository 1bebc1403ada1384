// SPDX-License-Identifier: Apache-2.0
// Census matching on OpenCL: one launch reads the pair and makes pyramids, others compute signatures, and one
// per level searches both images. The last of these makes the map.

#include <algorithm>
#include <vector>

#include "core/copy_rows.h"
#include "core/integers.h"
#include "decision/opencl_maps.h"
#include "devices/opencl/kernel_sources.h"
#include "devices/opencl/plan.h"
#include "matchers/census/census.h"
#include "matchers/census/opencl_types.h"
#include "refine/opencl_pipeline.h"

namespace parallax::census {
namespace {

using opencl::define;
using opencl::groups_for;
using opencl::offset;
using opencl::Options;
using opencl::Shape;

// The same constants as in the kernels.
constexpr int square = 4, levels_a_launch = PARALLAX_CENSUS_LEVELS;
constexpr int item_rows = 4;

// The layout of images for each kind of device.
struct Layout {
  bool is_processor;
  int value_bytes;                        // bytes of a value in a signature's planes
  int described_columns, described_rows;  // columns and rows described together
  int lanes, rows;                        // size of a searched tile or strip, without its windows
  int shares;                             // parts of a strip's labels, one per work item
  int before;                             // columns of signatures written beside the image
};

constexpr Layout processor_layout{true, 1, 64, 16, 64, 24, 1, 64}, gpu_layout{false, 4, 32, 32, 32, 12, 4, 0};

// Names of the tunables.
constexpr const char *rows_a_tile = "rows_per_tile", *shares_of_labels = "shares_of_labels";

// The same with groups that the device allows.
Layout limited(Layout layout, const opencl::DeviceInfo& device) {
  if (layout.is_processor) return layout;
  const int items = static_cast<int>(device.group_items);
  layout.described_rows = std::min(layout.described_rows, item_rows * items / layout.described_columns);
  layout.shares = std::min(layout.shares, items / layout.lanes);
  return layout;
}

Layout layout_of(const opencl::DeviceInfo& device, const detail::Configuration& configuration) {
  Layout layout = device.is_processor ? processor_layout : gpu_layout;
  layout.rows = configuration.value(rows_a_tile, layout.rows);
  layout.shares = configuration.value(shares_of_labels, layout.shares);
  return limited(layout, device);
}

class Opencl final : public opencl::Plan, public CensusPlan {
 public:
  Opencl(const CensusParameters& parameters, const Device& device, const ImageFormat& format,
         const detail::Configuration& configuration)
      : opencl::Plan(device, format, true),
        CensusPlan(parameters, format.size),
        layout_of_device_(layout_of(context().info(), configuration)),
        refinement_(parameters.refine, format, layout_) {
    for (const Level& level : levels_) placed_.push_back(place(level.size));
    if (searches(right_side)) right_disparity_ = layout_.reserve_plane<float>(format.size);
  }

  Stage stage(int level, int side) const override {
    const Size extent = level_of(level).size;
    const OpenclLevel& placed = placed_[to_size(level)];
    Stage stage = empty_stage(level, side);
    const int value_bytes = layout_of_device_.value_bytes;
    std::vector<std::uint8_t> row(to_size(extent.width) * 4);
    for (int y = 0; y < extent.height; ++y) {
      const cl_long gray = placed.gray[side] + y * placed.stride * gray_bytes();
      read(gray, to_size(extent.width * gray_bytes()), row.data());
      for (int x = 0; x < extent.width; ++x)
        stage.gray.at(x, y) = static_cast<std::uint16_t>(
            gray_bytes() == 1 ? row[to_size(x)] : row[to_size(2 * x)] | row[to_size(2 * x + 1)] << 8);
      for (int byte = 0; byte < neighbourhood_.bytes(); ++byte) {
        const cl_long plane = (cl_long{y} * planes() + byte / value_bytes) * placed.signature_stride;
        read(placed.signatures[side] + plane * value_bytes, to_size(extent.width * value_bytes), row.data());
        for (int x = 0; x < extent.width; ++x)
          stage.signature[to_size(byte)].at(x, y) = row[to_size(x * value_bytes + byte % value_bytes)];
      }
      if (estimates(level, side))
        read(placed.disparities[side] + y * placed.stride * 4, to_size(extent.width) * 4,
             stage.disparity.row(y));
    }
    return stage;
  }

 private:
  // Words of a signature.
  int words() const { return divide_round_up(bits(), 8 * layout_of_device_.value_bytes); }
  int planes() const { return words() + (with_gray() ? 1 : 0); }
  int gray_bytes() const { return static_cast<int>(bytes_per_sample(format().depth)); }
  // The number of pixel costs whose sum fits in a byte.
  int costs_of_a_byte() const {
    const int fit = 255 / highest_pixel_cost(parameters_);
    return fit >= 5 ? 5 : fit >= 3 ? 3 : 1;
  }
  int searched_columns() const { return layout_of_device_.lanes - 2 * radius(); }

  cl_long reserve(cl_long stride, int rows, int element_bytes) {
    return offset(layout_.reserve<std::byte>(to_size(stride) * to_size(rows) * to_size(element_bytes)));
  }

  OpenclLevel place(Size extent) {
    const Layout& device = layout_of_device_;
    OpenclLevel level{};
    level.width = extent.width;
    level.height = extent.height;
    level.stride = round_up(extent.width, 64);
    // On a GPU, the same for all levels, because it is a compile-time constant.
    level.signature_stride =
        device.is_processor ? level.stride + 2 * device.before : round_up(format().size.width, 256);
    // On a GPU, rows above and below the image repeat its border, and the last strip may end below it.
    const int above = device.is_processor ? 0 : radius();
    const int rows =
        device.is_processor ? extent.height : round_up(extent.height, device.rows) + 2 * radius();
    for (int side = 0; side < 2; ++side) {
      level.gray[side] = reserve(level.stride, extent.height, gray_bytes());
      level.validity[side] = reserve(level.stride, extent.height, 1);
      level.disparities[side] = reserve(level.stride, extent.height, sizeof(cl_int));
      level.signatures[side] =
          reserve(level.signature_stride, rows * planes(), device.value_bytes) +
          (above * planes() * level.signature_stride + device.before) * device.value_bytes;
    }
    return level;
  }

  void prepare() override {
    const Layout& device = layout_of_device_ = limited(layout_of_device_, context().info());
    images_program_ =
        opencl::Program(context(), {opencl::census_types_cl, opencl::census_images_cl}, images_options());
    take_ = images_program_.kernel("take");
    halve_ = images_program_.kernel("halve");
    describe_ = images_program_.kernel("describe");
    search_program_ = opencl::Program(
        context(),
        {opencl::lanes_cl, opencl::decision_sub_pixel_cl, opencl::census_types_cl, opencl::census_search_cl,
         device.is_processor ? opencl::census_tiles_cl : opencl::census_strips_cl},
        {define("WORDS", words()), define("PLANES", planes()), define("WITH_GRAY", with_gray()),
         define("WINDOW", parameters_.window), define("SUB_PIXEL", parameters_.sub_pixel),
         define("TOGETHER", costs_of_a_byte()), define("ROWS", device.rows), define("SHARES", device.shares),
         define("STRIDE", device.is_processor ? 0 : placed_.front().signature_stride)});
    search_ = search_program_.kernel("search");
    refinement_.prepare(context(), queue(), memory());
  }

  Options images_options() const {
    const Layout& device = layout_of_device_;
    Options options{define("GRAY", gray_bytes() == 2 ? "ushort" : "uchar"),
                    define("SUM", gray_bytes() == 2 ? "uint" : "ushort"),
                    define("GRAY_BITS", 8 * gray_bytes()),
                    define("PROCESSOR", device.is_processor),
                    define("TILE_COLUMNS", device.described_columns),
                    define("TILE_ROWS", device.described_rows),
                    define("BEFORE", device.before)};
    if (device.is_processor) return options;
    const OpenclTransform all = transform();
    options.insert(options.end(), {define("BITS", all.bits), define("PLANES", all.planes),
                                   define("WITH_GRAY", all.with_gray), define("COLUMNS", all.columns),
                                   define("ROWS", all.rows), define("SPARSE", all.sparse),
                                   define("MODIFIED", all.modified), define("RADIUS", radius())});
    return options;
  }

  OpenclTransform transform() const {
    const Size window = neighbourhood_.window();
    return {.bits = bits(),
            .planes = planes(),
            .with_gray = with_gray() ? 1 : 0,
            .columns = window.width,
            .rows = window.height,
            .sparse = parameters_.transform == CensusTransform::sparse_modified_7x7 ? 1 : 0,
            .modified = neighbourhood_.modified ? 1 : 0};
  }

  // Levels from `first` on, as many as one launch makes or describes.
  OpenclLevels levels_from(int first) const {
    const Layout& device = layout_of_device_;
    OpenclLevels levels{};
    levels.count = std::min(levels_a_launch, level_count() - first);
    for (int i = 0; i < levels.count; ++i) {
      const OpenclLevel& level = levels.levels[i] = placed_[to_size(first + i)];
      levels.first_tile[i + 1] =
          levels.first_tile[i] + static_cast<int>(groups_for(level.width, device.described_columns) *
                                                  groups_for(level.height, device.described_rows));
    }
    return levels;
  }

  void match(const opencl::Pair& pair, const opencl::Map& map) override {
    constexpr std::size_t group_columns = 32;
    const auto squares_of = [&](int level) {
      const Size extent = level_of(level).size;
      return Shape{groups_for(extent.width, square * group_columns), groups_for(extent.height, square), 2};
    };
    take_.launch(queue(), squares_of(0), {group_columns}, memory(), pair, levels_from(0));
    for (int level = levels_a_launch - 1; level + 1 < level_count(); level += levels_a_launch - 1)
      halve_.launch(queue(), squares_of(level), {group_columns}, memory(), levels_from(level));
    queue().finish_stage("pyramid");
    for (int level = 0; level < level_count(); level += levels_a_launch) describe(levels_from(level));
    queue().finish_stage("transform");
    for (int level = level_count() - 1; level > 0; --level) search(level, pair, map);
    if (level_count() > 1) queue().finish_stage("coarse_search");
    search(0, pair, map);
    queue().finish_stage("search");
    refinement_.enqueue(pair, map, right_disparity_, queue());
  }

  void describe(const OpenclLevels& levels) {
    const Layout& device = layout_of_device_;
    const Shape items = device.is_processor ? Shape{1}
                                            : Shape{to_size(device.described_columns),
                                                    to_size(device.described_rows / item_rows)};
    describe_.launch(queue(), {to_size(levels.first_tile[levels.count]), 1, 2}, items, memory(), levels,
                     transform());
  }

  Shape tiles_of(int level) const {
    const Size extent = level_of(level).size;
    return {groups_for(extent.width, searched_columns()), groups_for(extent.height, layout_of_device_.rows),
            searches(right_side) ? 2u : 1u};
  }

  Shape search_items() const {
    return layout_of_device_.is_processor
               ? Shape{1}
               : Shape{to_size(layout_of_device_.lanes), to_size(layout_of_device_.shares)};
  }

  void search(int level, const opencl::Pair& pair, const opencl::Map& map) {
    OpenclSearch search{};
    search.level = placed_[to_size(level)];
    if (level + 1 < level_count()) search.above = placed_[to_size(level) + 1];
    search.is_image = level == 0;
    search.search_radius = parameters_.search_radius;
    search.uniqueness = parameters_.uniqueness;
    search.ad_truncation = parameters_.ad_truncation;
    search.lowest = level_of(level).lowest;
    search.labels = level_of(level).labels;
    for (int side = 0; side < 2; ++side) search.masked[side] = pair.mask[side] >= 0;
    search.right = offset(right_disparity_);
    search.right_stride = opencl::stride(right_disparity_);
    search_.launch(queue(), tiles_of(level), search_items(), memory(), search, map);
  }

  Layout layout_of_device_;
  refine::OpenclPipeline refinement_;
  std::vector<OpenclLevel> placed_;
  PlaneBuffer<float> right_disparity_;
  opencl::Program images_program_, search_program_;
  opencl::Kernel take_, halve_, describe_, search_;
};

}  // namespace

std::unique_ptr<detail::Plan> make_opencl(const CensusParameters& parameters, const Device& device,
                                          const ImageFormat& format,
                                          const detail::Configuration& configuration) {
  return std::make_unique<Opencl>(parameters, device, format, configuration);
}

detail::TuningSpace opencl_tuning_space(const CensusParameters& parameters, const Device& device,
                                        const ImageFormat&) {
  const opencl::DeviceInfo info = opencl::Context(device.platform, device.index).info();
  detail::TuningSpace space;
  space.variant = variant(parameters);
  constexpr const char* of_rows = "Rows of a tile that a work group searches";
  if (info.is_processor)
    space.tunables = {{rows_a_tile, of_rows, {8, 12, 16, 32, 48}}};
  else
    space.tunables = {{rows_a_tile, of_rows, {6, 8, 16, 24}},
                      {shares_of_labels, "Work items that share the labels of a strip", {1, 2, 8}}};
  space.footprint = [info](const detail::Configuration& configuration) {
    const Layout layout = layout_of(info, configuration);
    // Per pixel: sums of each share, and keys, rivals and neighbours.
    const std::size_t bytes_a_pixel = 4 * to_size(layout.shares) + 12;
    return detail::Footprint{layout.lanes * layout.shares,
                             bytes_a_pixel * to_size(layout.lanes * layout.rows)};
  };
  return space;
}

}  // namespace parallax::census
