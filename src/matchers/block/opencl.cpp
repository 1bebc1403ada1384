// SPDX-License-Identifier: Apache-2.0
// Block matching on OpenCL: the images are copied and filtered, and one launch makes both maps from them.

#include <algorithm>
#include <string>

#include "core/copy_rows.h"
#include "core/round_up.h"
#include "devices/opencl/kernel_sources.h"
#include "devices/opencl/plan.h"
#include "matchers/block/block.h"
#include "matchers/block/opencl_types.h"
#include "refine/opencl_pipeline.h"

namespace parallax::block {
namespace {

using opencl::define;
using opencl::groups_for;
using opencl::offset;
using opencl::Options;

constexpr std::size_t group_items = 128;
constexpr int lanes = 16;  // as in opencl_images.cl

std::size_t elements(cl_long stride, int rows) {
  return static_cast<std::size_t>(stride) * static_cast<std::size_t>(rows);
}

// The pixels of a work item, and the work items of a group. A processor has few work items, whose tiles stay
// in its first-level cache; a GPU has many, with as little private memory as possible.
struct TileShape {
  int columns, rows, group_items;
};

// Names of the tunables.
constexpr const char *columns_a_tile = "columns_per_item", *rows_a_tile = "rows_per_item",
                     *items_a_group = "items_per_group";

TileShape tile_shape(const opencl::DeviceInfo& device, const detail::Configuration& configuration) {
  const TileShape by_itself = device.is_processor ? TileShape{128, 16, 1} : TileShape{4, 8, 64};
  return {configuration.value(columns_a_tile, by_itself.columns),
          configuration.value(rows_a_tile, by_itself.rows),
          configuration.value(items_a_group, by_itself.group_items)};
}

const char* unsigned_type(std::uint64_t highest) {
  return highest <= 0xFF ? "uchar" : highest <= 0xFFFF ? "ushort" : highest <= 0xFFFFFFFF ? "uint" : "ulong";
}

std::string define_text(const char* name, const std::string& text) {
  return std::string("-D") + name + "=" + text;
}

void check_device(const opencl::DeviceInfo& device, const BlockParameters& parameters) {
  if (parameters.cost == BlockCost::zncc && !device.has_doubles)
    throw Error(ErrorCategory::device,
                device.text + " (" + device.name +
                    ") has no cl_khr_fp64, which cost zncc needs: choose sad or ssd, or "
                    "another device");
  if (parameters.sub_pixel != SubPixel::none && !device.divides_correctly)
    throw Error(ErrorCategory::device,
                device.text + " (" + device.name +
                    ") does not round divisions correctly, which sub-pixel disparities "
                    "need: choose sub-pixel none, or another device");
}

class Opencl final : public opencl::Plan {
 public:
  Opencl(const BlockParameters& parameters, const Device& device, const ImageFormat& format,
         const detail::Configuration& configuration)
      : opencl::Plan(device, format, true),
        parameters_(parameters),
        search_(plan_search(parameters, format)),
        tile_(tile_shape(context().info(), configuration)),
        refinement_(parameters.refine, format, layout_) {
    check_device(context().info(), parameters);
    reserve_images();
    if (right_map()) right_disparity_ = layout_.reserve_plane<float>(format.size);
  }

 private:
  bool right_map() const { return parameters_.refine.left_right_check; }
  bool has_statistics() const { return parameters_.cost == BlockCost::zncc; }
  bool has_texture() const { return parameters_.texture_threshold > 0; }
  bool filters() const { return parameters_.prefilter == Prefilter::x_sobel; }
  bool is_wide() const { return search_.highest_value > 0xFF; }

  // Reserves a plane with room beside its columns and rows; returns the offset of pixel (0, 0).
  cl_long reserve(std::size_t element_bytes, cl_long stride, int columns_before, int rows_before) {
    const Buffer<std::byte> buffer =
        layout_.reserve<std::byte>(elements(stride, format().size.height + 2 * rows_before) * element_bytes);
    return offset(buffer) + (rows_before * stride + columns_before) * static_cast<cl_long>(element_bytes);
  }

  // A tile may reach as far out of the other image as it is wide, and its windows a radius further.
  void reserve_images() {
    const int width = format().size.width, radius = parameters_.window / 2;
    const int beside = round_up(tile_.columns, lanes);
    const int tiles_width = round_up(width, beside);
    images_.width = width;
    images_.height = format().size.height;
    images_.radius = radius;
    images_.cap = parameters_.prefilter_cap;
    images_.before = round_up(beside + radius, lanes);
    images_.gray_stride = round_up(width, lanes);
    images_.stride = round_up(tiles_width + 2 * images_.before, 64);
    images_.validity_stride = images_.statistics_stride = tiles_width + 2 * beside;
    const std::size_t value_bytes = is_wide() ? 2 : 1;
    const std::size_t gray_bytes = bytes_per_sample(format().depth);
    for (int side = 0; side < 2; ++side) {
      images_.gray[side] = reserve(gray_bytes, images_.gray_stride, 0, 0);
      images_.filtered[side] = reserve(value_bytes, images_.stride, images_.before, radius);
      images_.validity[side] = reserve(1, images_.validity_stride, beside, 0);
      if (has_statistics())
        images_.statistics[side] = reserve(2 * sizeof(double), images_.statistics_stride, beside, 0);
    }
    images_.responses = -1;
    if (has_texture())
      images_.responses =
          filters() ? images_.filtered[0] : reserve(value_bytes, images_.stride, images_.before, radius);
  }

  void prepare() override {
    const bool own_responses = has_texture() && !filters();
    const char* value = is_wide() ? "ushort" : "uchar";
    images_program_ = opencl::Program(
        context(), {opencl::block_types_cl, opencl::block_images_cl},
        {define_text("GRAY", format().depth == Depth::bits16 ? "ushort" : "uchar"),
         define_text("VALUE", value), define_text("CONVERT_VALUES", std::string("convert_") + value + "16"),
         define("X_SOBEL", filters() ? 1 : 0), define("RESPONSES", own_responses ? 1 : 0)});
    take_ = images_program_.kernel("take");
    filter_ = images_program_.kernel("filter");
    search_program_ =
        opencl::Program(context(), {opencl::block_types_cl, opencl::block_search_cl}, search_options());
    match_ = search_program_.kernel("match");
    if (has_statistics()) find_statistics_ = search_program_.kernel("find_statistics");
    refinement_.prepare(context(), queue(), memory());
  }

  Options search_options() const {
    constexpr std::uint64_t highest_zncc_cost = 2 << 20;
    const std::uint64_t highest_cost = has_statistics() ? highest_zncc_cost : search_.highest_cost;
    // Two more than the highest, for "no cost" and "no label".
    const std::string cost =
        at_least_ushort(std::max(highest_cost, static_cast<std::uint64_t>(search_.labels)) + 2);
    const std::string sum = has_statistics() ? at_least_ushort(search_.highest_cost) : cost;
    return {define("COLUMNS", tile_.columns),
            define("ROWS", tile_.rows),
            define("WINDOW", parameters_.window),
            define("METHOD", static_cast<int>(parameters_.cost)),
            define("UNIQUENESS", parameters_.uniqueness),
            define("TEXTURE", has_texture() ? 1 : 0),
            define("SUB_PIXEL", static_cast<int>(parameters_.sub_pixel)),
            define_text("VALUE", is_wide() ? "ushort" : "uchar"),
            define_text("SUM", sum),
            define_text("COST", cost),
            define_text("NO_COST", cost == "ushort" ? "USHRT_MAX"
                                   : cost == "uint" ? "UINT_MAX"
                                                    : "ULONG_MAX")};
  }

  static std::string at_least_ushort(std::uint64_t highest) {
    return unsigned_type(std::max<std::uint64_t>(highest, 0x100));
  }

  void match(const opencl::Pair& pair, const opencl::Map& map) override {
    const auto width = static_cast<std::size_t>(images_.width),
               height = static_cast<std::size_t>(images_.height);
    const auto extended_rows = height + 2 * static_cast<std::size_t>(images_.radius);
    const auto stride = static_cast<std::size_t>(images_.stride);
    take_.launch(queue(), {groups_for(width, group_items), height, 2}, {group_items}, memory(), pair,
                 images_);
    filter_.launch(queue(), {groups_for(stride, lanes * group_items), extended_rows, 2}, {group_items},
                   memory(), images_);
    queue().finish_stage("prepare");
    const auto items = static_cast<std::size_t>(tile_.group_items);
    const std::size_t groups = groups_for(width, static_cast<std::size_t>(tile_.columns) * items);
    const std::size_t rows = groups_for(height, static_cast<std::size_t>(tile_.rows));
    if (has_statistics()) {
      find_statistics_.launch(queue(), {groups, rows, 2}, {items}, memory(), images_);
      queue().finish_stage("statistics");
    }
    OpenclSearch search{search_.lowest,
                        search_.labels,
                        parameters_.texture_threshold,
                        {pair.mask[0] >= 0, pair.mask[1] >= 0},
                        offset(right_disparity_),
                        opencl::stride(right_disparity_)};
    match_.launch(queue(), {groups, rows, right_map() ? 2u : 1u}, {items}, memory(), images_, search, map);
    queue().finish_stage("search");
    refinement_.enqueue(pair, map, right_disparity_, queue());
  }

  BlockParameters parameters_;
  Search search_;
  TileShape tile_;
  refine::OpenclPipeline refinement_;
  OpenclImages images_{};
  PlaneBuffer<float> right_disparity_;
  opencl::Program images_program_, search_program_;
  opencl::Kernel take_, filter_, match_, find_statistics_;
};

}  // namespace

std::unique_ptr<detail::Plan> make_opencl(const BlockParameters& parameters, const Device& device,
                                          const ImageFormat& format,
                                          const detail::Configuration& configuration) {
  return std::make_unique<Opencl>(parameters, device, format, configuration);
}

detail::TuningSpace opencl_tuning_space(const BlockParameters& parameters, const Device& device,
                                        const ImageFormat&) {
  const opencl::DeviceInfo info = opencl::Context(device.platform, device.index).info();
  detail::TuningSpace space;
  space.variant = variant(parameters);
  constexpr const char *of_columns = "Columns that a work item searches",
                       *of_rows = "Rows that a work item searches";
  if (info.is_processor)
    space.tunables = {{columns_a_tile, of_columns, {32, 64, 256}}, {rows_a_tile, of_rows, {4, 8, 32, 64}}};
  else
    space.tunables = {{columns_a_tile, of_columns, {2, 8}},
                      {rows_a_tile, of_rows, {4, 16}},
                      {items_a_group, "Work items per group", {32, 128, 256}}};
  space.footprint = [info](const detail::Configuration& configuration) {
    const TileShape tile = tile_shape(info, configuration);
    // Keys, sums and decision state of a pixel of a tile.
    constexpr std::size_t bytes_a_pixel = 14;
    return detail::Footprint{tile.group_items, bytes_a_pixel * elements(tile.columns, tile.rows) *
                                                   static_cast<std::size_t>(tile.group_items)};
  };
  return space;
}

}  // namespace parallax::block
