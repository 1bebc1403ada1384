// SPDX-License-Identifier: Apache-2.0
// Block matching on OpenCL: the images are copied and filtered, and searched in tiles, or on a GPU in strips.

#include <algorithm>
#include <bit>
#include <string>

#include "core/copy_rows.h"
#include "core/integers.h"
#include "decision/opencl_maps.h"
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

constexpr std::size_t max_group_items = 128;
constexpr int lanes = 16;  // as in opencl_images.cl

std::size_t elements(cl_long stride, int rows) {
  return to_size(stride) * to_size(rows);
}

// Names of the tunables.
constexpr const char *columns_a_tile = "columns_per_item", *rows_an_item = "rows_per_item",
                     *items_a_group = "items_per_group", *shares_of_labels = "shares_of_labels",
                     *slices_of_labels = "slices_of_labels";

// The pixels of a work item, and the work items of a group. A processor has few work items, whose tiles stay
// in its first-level cache; a GPU has many, with as little private memory as possible.
struct TileShape {
  int columns, rows, group_items;
};

TileShape tile_shape(const opencl::DeviceInfo& device, const detail::Configuration& configuration) {
  const TileShape by_itself = device.is_processor ? TileShape{128, 16, 1} : TileShape{4, 8, 64};
  return {configuration.value(columns_a_tile, by_itself.columns),
          configuration.value(rows_an_item, by_itself.rows),
          std::min(configuration.value(items_a_group, by_itself.group_items),
                   static_cast<int>(device.group_items))};
}

// The shape of the search in strips: see opencl_strips.cl.
struct StripShape {
  static constexpr int lanes = 32, columns = 4;
  int rows, labels;
  bool packed;
  int label_bits;
  int shares;
  int slices;  // parts of the labels, for different groups
};

int bits_of_costs(const Search& search) {
  return std::bit_width(search.highest_cost + 1);
}

int bits_of_labels(const Search& search) {
  return std::bit_width(static_cast<unsigned>(search.labels - 1));
}

// Whether a GPU searches strips, which share sums in local memory: keys need 32 bits, and none has all bits
// set. Where local memory is a part of global memory, each work item adds up its own windows.
bool searches_strips(const opencl::DeviceInfo& device, const BlockParameters& parameters,
                     const Search& search) {
  return !device.is_processor && device.has_local_memory && parameters.cost != BlockCost::zncc &&
         search.highest_value <= 0xFF && bits_of_costs(search) + bits_of_labels(search) <= 32;
}

// Work items of a group that share the labels of a strip, of those that the device allows.
int shares_of(const opencl::DeviceInfo& device, int wanted) {
  return std::min(wanted, static_cast<int>(device.group_items) / StripShape::lanes);
}

// Work items that have full windows.
int full_lanes(int window) {
  return StripShape::lanes - divide_round_up(window - 1, StripShape::columns);
}

// The number of slices that occupies the device.
int slices_for(const StripShape& strips, const opencl::DeviceInfo& device, int window, Size size, int labels,
               bool both_maps) {
  constexpr int items_a_unit = 1024;
  const int columns = StripShape::columns * full_lanes(window);
  const int groups =
      divide_round_up(size.width, columns) * divide_round_up(size.height, strips.rows) * (both_maps ? 2 : 1);
  const int items = groups * StripShape::lanes * strips.shares;
  const int wanted = divide_round_up(items_a_unit * static_cast<int>(device.compute_units), items);
  return std::clamp(wanted, 1, divide_round_up(labels, strips.labels * strips.shares));
}

StripShape strip_shape(const BlockParameters& parameters, const Search& search,
                       const opencl::DeviceInfo& device, Size size,
                       const detail::Configuration& configuration) {
  constexpr int rows_by_itself = 18, max_rows = 54;
  const int window = parameters.window;
  StripShape strips{};
  const int rows = configuration.value(rows_an_item, rows_by_itself);
  strips.rows = window * std::clamp(divide_round_up(rows, window), 1, std::max(1, max_rows / window));
  strips.packed = bits_of_costs(search) <= 16 && bits_of_labels(search) <= 16;
  strips.label_bits = strips.packed ? 16 : bits_of_labels(search);
  strips.labels = strips.packed ? 2 : 1;
  strips.shares = shares_of(device, configuration.value(shares_of_labels, 4));
  strips.slices = configuration.value(
      slices_of_labels,
      slices_for(strips, device, window, size, search.labels, parameters.refine.left_right_check));
  return strips;
}

const char* unsigned_type(std::uint64_t highest) {
  return highest <= 0xFF ? "uchar" : highest <= 0xFFFF ? "ushort" : highest <= 0xFFFFFFFF ? "uint" : "ulong";
}

void check_device(const opencl::DeviceInfo& device, const BlockParameters& parameters) {
  if (parameters.cost == BlockCost::zncc && !device.has_doubles)
    throw Error(ErrorCategory::device,
                device.title() +
                    " has no cl_khr_fp64, which cost zncc needs: choose sad or ssd, or "
                    "another device");
}

// Makes the images that are compared; derived classes add the search.
class OpenclPlan : public opencl::Plan {
 public:
  OpenclPlan(const BlockParameters& parameters, const Device& device, const ImageFormat& format)
      : opencl::Plan(device, format, true),
        parameters_(parameters),
        search_(plan_search(parameters, format)),
        refinement_(parameters.refine, format, layout_) {
    check_device(context().info(), parameters);
    if (right_map()) right_disparity_ = layout_.reserve_plane<float>(format.size);
  }

 protected:
  const BlockParameters& parameters() const { return parameters_; }
  const Search& search() const { return search_; }
  std::size_t group_items() const { return std::min(max_group_items, context().info().group_items); }
  OpenclImages& images() { return images_; }
  bool right_map() const { return parameters_.refine.left_right_check; }
  bool has_texture() const { return parameters_.texture_threshold > 0; }
  bool is_wide() const { return search_.highest_value > 0xFF; }

  // Reserves a plane with room beside its columns and rows; returns the offset of pixel (0, 0).
  cl_long reserve(std::size_t element_bytes, cl_long stride, int columns_before, int rows_before, int rows) {
    const Buffer<std::byte> buffer =
        layout_.reserve<std::byte>(elements(stride, rows + 2 * rows_before) * element_bytes);
    return offset(buffer) + (rows_before * stride + columns_before) * static_cast<cl_long>(element_bytes);
  }

  // `before`: columns beside the image that windows may reach around pixels outside it. `width` and `rows`:
  // of the images and what a search adds to them.
  void reserve_images(int before, int width, int rows) {
    const int radius = parameters_.window / 2;
    images_.width = format().size.width;
    images_.height = format().size.height;
    images_.radius = radius;
    images_.cap = parameters_.prefilter_cap;
    // Windows begin at a multiple of a vector.
    images_.before = round_up(before + radius, lanes) + radius;
    images_.gray_stride = round_up(images_.width, lanes);
    images_.stride = round_up(width + 2 * images_.before, 64);
    images_.validity_stride = width + 2 * before;
    const std::size_t value_bytes = is_wide() ? 2 : 1;
    const std::size_t gray_bytes = bytes_per_sample(format().depth);
    for (int side = 0; side < 2; ++side) {
      images_.gray[side] = reserve(gray_bytes, images_.gray_stride, 0, 0, images_.height);
      images_.filtered[side] = reserve(value_bytes, images_.stride, images_.before, radius, rows);
      images_.validity[side] = reserve(1, images_.validity_stride, before, 0, images_.height);
      images_.keys[side] = -1;
    }
    images_.rivals = images_.responses = -1;
    if (has_texture())
      images_.responses = filters() ? images_.filtered[0]
                                    : reserve(value_bytes, images_.stride, images_.before, radius, rows);
  }

  // Options that all searches share.
  Options common_options() const {
    return {define("WINDOW", parameters_.window), define("METHOD", parameters_.cost),
            define("UNIQUENESS", parameters_.uniqueness), define("TEXTURE", has_texture()),
            define("SUB_PIXEL", parameters_.sub_pixel)};
  }

 private:
  virtual void prepare_search() = 0;
  // Enqueues the search, which makes both maps.
  virtual void find_maps(const OpenclSearch& search, const opencl::Map& map) = 0;

  bool filters() const { return parameters_.prefilter == Prefilter::x_sobel; }

  void prepare() override {
    const bool own_responses = has_texture() && !filters();
    const char* value = is_wide() ? "ushort" : "uchar";
    images_program_ = opencl::Program(
        context(), {opencl::block_types_cl, opencl::block_images_cl},
        {define("GRAY", format().depth == BitDepth::bits16 ? "ushort" : "uchar"), define("VALUE", value),
         define("CONVERT_VALUES", std::string("convert_") + value + "16"), define("X_SOBEL", filters()),
         define("RESPONSES", own_responses)});
    take_ = images_program_.kernel("take");
    filter_ = images_program_.kernel("filter");
    prepare_search();
    refinement_.prepare(context(), queue(), memory());
  }

  void match(const opencl::Pair& pair, const opencl::Map& map) override {
    const auto width = to_size(images_.width), height = to_size(images_.height);
    const auto extended_rows = height + 2 * to_size(images_.radius);
    const auto stride = to_size(images_.stride);
    const std::size_t items = group_items();
    take_.launch(queue(), {groups_for(width, items), height, 2}, {items}, memory(), pair, images_);
    filter_.launch(queue(), {groups_for(stride, lanes * items), extended_rows, 2}, {items}, memory(),
                   images_);
    queue().finish_stage("prepare");
    find_maps({search_.lowest,
               search_.labels,
               parameters_.texture_threshold,
               {pair.mask[0] >= 0, pair.mask[1] >= 0},
               offset(right_disparity_),
               opencl::stride(right_disparity_)},
              map);
    queue().finish_stage("search");
    refinement_.enqueue(pair, map, right_disparity_, queue());
  }

  BlockParameters parameters_;
  Search search_;
  refine::OpenclPipeline refinement_;
  OpenclImages images_{};
  PlaneBuffer<float> right_disparity_;
  opencl::Program images_program_;
  opencl::Kernel take_, filter_;
};

// One launch makes both maps from the images.
class Tiles final : public OpenclPlan {
 public:
  Tiles(const BlockParameters& parameters, const Device& device, const ImageFormat& format,
        const detail::Configuration& configuration)
      : OpenclPlan(parameters, device, format), tile_(tile_shape(context().info(), configuration)) {
    // A tile may reach out of the other image by its own width, and its windows a radius further.
    const int beside = round_up(tile_.columns, lanes), height = format.size.height;
    reserve_images(beside, round_up(format.size.width, beside), height);
    images().statistics_stride = images().validity_stride;
    if (has_statistics())
      for (auto& statistics : images().statistics)
        statistics = reserve(2 * sizeof(double), images().statistics_stride, beside, 0, height);
  }

 private:
  bool has_statistics() const { return parameters().cost == BlockCost::zncc; }

  void prepare_search() override {
    tile_.group_items = std::min(tile_.group_items, static_cast<int>(context().info().group_items));
    program_ = opencl::Program(context(),
                               {opencl::decision_sub_pixel_cl, opencl::block_types_cl,
                                opencl::block_decision_cl, opencl::block_tiles_cl},
                               options());
    match_ = program_.kernel("match");
    if (has_statistics()) find_statistics_ = program_.kernel("find_statistics");
  }

  Options options() const {
    constexpr std::uint64_t highest_zncc_cost = 2 << 20;
    const std::uint64_t highest_cost = has_statistics() ? highest_zncc_cost : search().highest_cost;
    // Two more than the highest cost, for "no cost" and "no label".
    const std::string cost =
        at_least_ushort(std::max(highest_cost, static_cast<std::uint64_t>(search().labels)) + 2);
    const std::string sum = has_statistics() ? at_least_ushort(search().highest_cost) : cost;
    return opencl::joined(common_options(), {define("COLUMNS", tile_.columns), define("ROWS", tile_.rows),
                                             define("VALUE", is_wide() ? "ushort" : "uchar"),
                                             define("SUM", sum), define("COST", cost),
                                             define("NO_COST", cost == "ushort" ? "USHRT_MAX"
                                                               : cost == "uint" ? "UINT_MAX"
                                                                                : "ULONG_MAX")});
  }

  static std::string at_least_ushort(std::uint64_t highest) {
    return unsigned_type(std::max<std::uint64_t>(highest, 0x100));
  }

  void find_maps(const OpenclSearch& search, const opencl::Map& map) override {
    const auto items = to_size(tile_.group_items);
    const std::size_t groups = groups_for(format().size.width, to_size(tile_.columns) * items);
    const std::size_t rows = groups_for(format().size.height, tile_.rows);
    if (has_statistics()) {
      find_statistics_.launch(queue(), {groups, rows, 2}, {items}, memory(), images());
      queue().finish_stage("statistics");
    }
    match_.launch(queue(), {groups, rows, right_map() ? 2u : 1u}, {items}, memory(), images(), search, map);
  }

  TileShape tile_;
  opencl::Program program_;
  opencl::Kernel match_, find_statistics_;
};

// The search for a GPU: one launch finds the best labels of both images, others find their rivals and the
// maps.
class Strips final : public OpenclPlan {
 public:
  Strips(const BlockParameters& parameters, const Device& device, const ImageFormat& format,
         const detail::Configuration& configuration)
      : OpenclPlan(parameters, device, format),
        strips_(strip_shape(parameters, search(), context().info(), format.size, configuration)) {
    // Columns of a group, and a chunk of labels on either side.
    const int beside = StripShape::lanes * StripShape::columns + lanes;
    const int rows = round_up(format.size.height, strips_.rows);
    reserve_images(beside, format.size.width, rows);
    images().key_stride = format.size.width;
    for (int side = 0; side < (right_map() ? 2 : 1); ++side) images().keys[side] = reserve_keys();
    // Only then is it known whether a run needs confidences.
    images().rivals = reserve_keys();
  }

 private:
  cl_long reserve_keys() { return reserve(sizeof(cl_uint), images().key_stride, 0, 0, format().size.height); }

  void prepare_search() override {
    strips_.shares = shares_of(context().info(), strips_.shares);
    program_ = opencl::Program(context(),
                               {opencl::lanes_cl, opencl::decision_sub_pixel_cl, opencl::block_types_cl,
                                opencl::block_decision_cl, opencl::block_strips_cl},
                               options());
    find_best_ = program_.kernel("find_best");
    find_rivals_ = program_.kernel("find_rivals");
    decide_ = program_.kernel("decide");
  }

  Options options() {
    return opencl::joined(
        common_options(),
        {define("ROWS", strips_.rows), define("PACKED", strips_.packed),
         define("LABEL_BITS", strips_.label_bits), define("SHARES", strips_.shares),
         define("STRIDE", images().stride / 4), define("COST", "uint"), define("NO_COST", "UINT_MAX")});
  }

  void find_maps(const OpenclSearch& search, const opencl::Map& map) override {
    const Size extent = format().size;
    const std::size_t sides = right_map() ? 2 : 1;
    launch_search(find_best_, search, sides);
    if (parameters().uniqueness > 0 || map.confidence >= 0) launch_search(find_rivals_, search, 1);
    decide_.launch(queue(), {groups_for(extent.width, group_items()), to_size(extent.height), sides},
                   {group_items()}, memory(), images(), search, map);
  }

  void launch_search(const opencl::Kernel& kernel, const OpenclSearch& search, std::size_t sides) {
    const Size extent = format().size;
    const int columns = StripShape::columns * full_lanes(parameters().window);
    kernel.launch(queue(),
                  {groups_for(extent.width, columns), to_size(strips_.slices),
                   groups_for(extent.height, strips_.rows) * sides},
                  {StripShape::lanes, to_size(strips_.shares)}, memory(), images(), search);
  }

  StripShape strips_;
  opencl::Program program_;
  opencl::Kernel find_best_, find_rivals_, decide_;
};

void add_tile_tunables(const opencl::DeviceInfo& info, detail::TuningSpace& space) {
  constexpr const char *of_columns = "Columns that a work item searches",
                       *of_rows = "Rows that a work item searches";
  if (info.is_processor)
    space.tunables = {{columns_a_tile, of_columns, {32, 64, 256}}, {rows_an_item, of_rows, {4, 8, 32, 64}}};
  else
    space.tunables = {{columns_a_tile, of_columns, {2, 8}},
                      {rows_an_item, of_rows, {4, 16}},
                      {items_a_group, "Work items per group", {32, 128, 256}}};
  space.footprint = [info](const detail::Configuration& configuration) {
    const TileShape tile = tile_shape(info, configuration);
    // Keys, sums and decision state of a pixel of a tile.
    constexpr std::size_t bytes_a_pixel = 14;
    return detail::Footprint{tile.group_items,
                             bytes_a_pixel * elements(tile.columns, tile.rows) * to_size(tile.group_items)};
  };
}

void add_strip_tunables(const opencl::DeviceInfo& info, const BlockParameters& parameters,
                        const ImageFormat& format, detail::TuningSpace& space) {
  const Search search = plan_search(parameters, format);
  const Size size = format.size;
  space.tunables = {{rows_an_item, "Approximate rows of a work item, which are complete windows", {9, 27}},
                    {shares_of_labels, "Work items of a group that share the labels of a strip", {2}},
                    {slices_of_labels, "Groups that share the labels of a strip", {4}}};
  space.footprint = [=](const detail::Configuration& configuration) {
    const StripShape strips = strip_shape(parameters, search, info, size, configuration);
    const int items = StripShape::lanes * strips.shares;
    // Costs within a window, and keys.
    const std::size_t bytes_an_item = elements(StripShape::columns, parameters.window) * sizeof(cl_uint);
    const std::size_t tile = elements(StripShape::lanes * StripShape::columns, strips.rows) * sizeof(cl_uint);
    return detail::Footprint{items, bytes_an_item * to_size(items) + tile};
  };
}

}  // namespace

std::unique_ptr<detail::Plan> make_opencl(const BlockParameters& parameters, const Device& device,
                                          const ImageFormat& format,
                                          const detail::Configuration& configuration) {
  const opencl::DeviceInfo info = opencl::Context(device.platform, device.index).info();
  if (searches_strips(info, parameters, plan_search(parameters, format)))
    return std::make_unique<Strips>(parameters, device, format, configuration);
  return std::make_unique<Tiles>(parameters, device, format, configuration);
}

detail::TuningSpace opencl_tuning_space(const BlockParameters& parameters, const Device& device,
                                        const ImageFormat& format) {
  const opencl::DeviceInfo info = opencl::Context(device.platform, device.index).info();
  detail::TuningSpace space;
  space.variant = variant(parameters);
  if (searches_strips(info, parameters, plan_search(parameters, format)))
    add_strip_tunables(info, parameters, format, space);
  else
    add_tile_tunables(info, space);
  return space;
}

}  // namespace parallax::block
