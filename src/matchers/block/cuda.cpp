// SPDX-License-Identifier: Apache-2.0
// Block matching on CUDA. For images of bytes, a search (cuda_search.cu) leaves a key for each pixel, and a
// decision makes the map from the keys; images of 16-bit values are matched in one plain step. The right map
// is a second search, with the images exchanged and the labels counted backwards.

#include <algorithm>
#include <optional>

#include "devices/cuda/kernel_sources.h"
#include "matchers/block/cuda_plan.h"

namespace parallax::block {
namespace {

using cuda::define;
using cuda::Kernel;
using cuda::Options;
using cuda::Shape;
using cuda::StreamHandle;

constexpr int highest_byte = 255;

CudaMachine machine_of(const cuda::Context& context) {
  return {context.architecture(), context.multiprocessors(), context.shared_bytes_per_block()};
}

// Leaves out labels that lead out of the image at every pixel.
Search clipped_search(const BlockParameters& parameters, const ImageFormat& format) {
  const int width = format.size.width;
  Search search = plan_search(parameters, format);
  const int highest = std::min(search.lowest + search.labels - 1, width - 1);
  search.lowest = std::max(search.lowest, 1 - width);
  search.labels = highest - search.lowest + 1;
  return search;
}

}  // namespace

CudaPlan::CudaPlan(const BlockParameters& parameters, const Device& device, const ImageFormat& format)
    : cuda::Plan(device, format, 0, true),
      parameters_(parameters),
      search_(clipped_search(parameters, format)),
      refinement_(parameters.refine, format, layout_) {
  gray_stride_ = round_up(format.size.width, 64);
  validity_stride_ = round_up(format.size.width + 2 * validity_margin, 64);
  for (int side : {left_side, right_side}) {
    gray_[side] =
        layout_.reserve<std::byte>(elements(gray_stride_, format.size.height) * gray_bytes() + behind_window);
    validity_[side] = layout_.reserve<std::uint8_t>(elements(validity_stride_, format.size.height));
  }
  masked_ = layout_.reserve<int>(2);
  if (right_map()) right_disparity_ = layout_.reserve_plane<float>(format.size);
}

CudaValidity CudaPlan::validity() const {
  const auto first = [this](int side) { return at(validity_[side]) + validity_margin; };
  return {{first(left_side), first(right_side)}, at(masked_), validity_stride_};
}

Shape CudaPlan::map_grid() const {
  return {static_cast<unsigned>(frame_.height),
          cuda::blocks(static_cast<std::size_t>(frame_.width), block_threads), right_map() ? 2u : 1u};
}

Options CudaPlan::common_options() const {
  return {define("WINDOW", parameters_.window), define("COST", static_cast<int>(parameters_.cost)),
          define("UNIQUENESS", parameters_.uniqueness), define("TEXTURE", parameters_.texture_threshold > 0),
          define("SUB_PIXEL", static_cast<int>(parameters_.sub_pixel))};
}

CudaDecision CudaPlan::decision(const DisparityMap& map) const {
  CudaDecision decision{};
  decision.frame = frame_;
  decision.left = filtered(left_side);
  decision.right = filtered(right_side);
  decision.responses = has_texture_plane() ? pixels(responses_) : filtered(left_side);
  decision.validity = validity();
  decision.lowest = search_.lowest;
  decision.labels = search_.labels;
  decision.cap = parameters_.prefilter_cap;
  decision.texture_threshold = parameters_.texture_threshold;
  decision.disparity = map.disparity.data;
  decision.status = map.status.data;
  decision.stride = static_cast<int>(map.disparity.stride());
  decision.status_stride = static_cast<int>(map.status.stride());
  decision.confidence = map.confidence.data;
  decision.confidence_stride = static_cast<int>(map.confidence.stride());
  if (!right_map()) return decision;
  const View<float> right = at(right_disparity_);
  decision.right_disparity = right.data;
  decision.right_stride = static_cast<int>(right.stride());
  return decision;
}

void CudaPlan::reserve_filtered(std::size_t element_bytes, int rows) {
  element_bytes_ = element_bytes;
  const int radius = parameters_.window / 2;
  frame_ = {format().size.width,
            format().size.height,
            radius + before_window,
            radius,
            0,
            rows + 2 * radius + rows_behind};
  frame_.pitch = round_up(frame_.before + frame_.width + radius + behind_window, 64);
  const std::size_t bytes = elements(frame_.pitch, frame_.rows) * element_bytes;
  for (auto& image : filtered_) image = layout_.reserve<std::byte>(bytes);
  if (has_texture_plane()) responses_ = layout_.reserve<std::byte>(bytes);
}

std::byte* CudaPlan::pixels(const Buffer<std::byte>& buffer) const {
  const std::ptrdiff_t first = static_cast<std::ptrdiff_t>(frame_.radius) * frame_.pitch + frame_.before;
  return at(buffer) + first * static_cast<std::ptrdiff_t>(element_bytes_);
}

Shape CudaPlan::images_grid(int width, int rows) const {
  return {static_cast<unsigned>(rows), cuda::blocks(static_cast<std::size_t>(width), 4 * block_threads), 2};
}

void CudaPlan::prepare(StreamHandle stream) {
  images_program_ = cuda::Program(context(), cuda::block_images_cu,
                                  {define("GRAY_BITS", 8 * static_cast<int>(gray_bytes())),
                                   define("FILTERED_BITS", 8 * static_cast<int>(element_bytes_)),
                                   define("X_SOBEL", parameters_.prefilter == Prefilter::x_sobel)});
  take_ = images_program_.kernel("take");
  filter_ = images_program_.kernel("filter");
  refinement_.prepare(context(), device_memory(), stream);
  prepare_search(stream);
}

void CudaPlan::take(const StereoPair& pair, cuda::ChangingLaunches& launches) {
  take_.launch(launches, images_grid(frame_.width, frame_.height), {block_threads}, 0,
               CudaTake{{cuda::kernel_image(pair.left), cuda::kernel_image(pair.right)},
                        {cuda::kernel_mask(pair.left_mask), cuda::kernel_mask(pair.right_mask)},
                        frame_.width,
                        {at(gray_[left_side]), at(gray_[right_side])},
                        gray_stride_,
                        validity(),
                        found()});
  refinement_.take(pair, launches);
}

void CudaPlan::filter(StreamHandle stream) const {
  CudaFilter filter{};
  filter.frame = frame_;
  filter.gray_stride = gray_stride_;
  filter.cap = parameters_.prefilter_cap;
  for (int side : {left_side, right_side}) {
    filter.gray[side] = at(gray_[side]);
    filter.filtered[side] = filtered(side);
  }
  filter.responses = has_texture_plane() ? pixels(responses_) : nullptr;
  filter_.launch(stream, images_grid(frame_.pitch, frame_.rows), {block_threads}, 0, filter);
}

void CudaPlan::match(const DisparityMap& map, StreamHandle stream) {
  refinement_.begin();
  filter(stream);
  decide(decision(map), stream);
  refinement_.enqueue(map, right_map() ? at(right_disparity_) : View<float>(), stream);
}

CudaBytes::CudaBytes(const BlockParameters& parameters, const Device& device, const ImageFormat& format,
                     const detail::Configuration& configuration)
    : CudaPlan(parameters, device, format),
      search_layout_(lay_out(parameters, search(), format.size, machine_of(*context()), configuration)),
      best_stride_(round_up(format.size.width, 32)) {
  const int height = format.size.height, rows = round_up(height, search_layout_.rows);
  reserve_filtered(1, rows);
  const std::size_t keys = elements(best_stride_, rows);
  for (int side = 0; side < (right_map() ? 2 : 1); ++side)
    best_[side] = layout_.reserve<std::byte>(keys * key_bytes());
  rivals_ = layout_.reserve<std::byte>(keys * key_bytes());
  if (has_statistics())
    for (auto& buffer : statistics_)
      buffer = layout_.reserve<CudaStatistics>(elements(statistics_stride(), height));
}

Options CudaBytes::search_options() const {
  const CudaLayout& layout = search_layout_;
  Options options = common_options();
  options.insert(options.end(), {define("PITCH", frame().pitch), define("BEST_STRIDE", best_stride_),
                                 define("KEY_BITS", layout.key_bits), define("LABEL_BITS", layout.label_bits),
                                 define("PACKED", layout.packed), define("ORDER_BITS", layout.order_bits),
                                 define("GROUP", layout.group), define("ROWS", layout.rows),
                                 define("BLOCKS", layout.blocks)});
  return options;
}

void CudaBytes::prepare_search(StreamHandle stream) {
  const Options options = search_options();
  search_program_ = cuda::Program(context(), cuda::block_search_cu, options);
  find_best_ = search_program_.kernel("find_best");
  find_rivals_ = search_program_.kernel("find_rivals");
  if (has_statistics()) find_statistics_ = search_program_.kernel("find_statistics");
  decide_program_ = cuda::Program(context(), cuda::block_decide_cu, options);
  decide_ = decide_program_.kernel("decide");
  // Each run resets the rivals that it found.
  cuda::check(cuda::driver().cuMemsetD8Async(address(rivals_), 0xFF, rivals_.count, stream),
              "cuMemsetD8Async");
}

CudaFound CudaBytes::found() const {
  const auto plane = [this](int side) {
    return side == left_side || right_map() ? at(best_[side]) : nullptr;
  };
  return {{plane(left_side), plane(right_side)}, nullptr, best_stride_, static_cast<int>(key_bytes())};
}

void CudaBytes::decide(const CudaDecision& common, StreamHandle stream) {
  if (has_statistics())
    find_statistics_.launch(stream, pixels_of_both(), {block_threads}, 0, frame(), filtered(left_side),
                            filtered(right_side), statistics(left_side), statistics(right_side),
                            statistics_stride());
  find_best(search_of(left_side), stream);
  if (right_map()) find_best(search_of(right_side), stream);
  CudaDecision decision = common;
  decision.found = found();
  if (rejects_ambiguous() || decision.confidence != nullptr) {
    launch_search(search_of(left_side), find_rivals_, stream);
    decision.found.rivals = at(rivals_);
  }
  decision.left_statistics = statistics(left_side);
  decision.right_statistics = statistics(right_side);
  decision.statistics_stride = statistics_stride();
  decide_.launch(stream, map_grid(), {block_threads}, 0, decision);
}

Shape CudaBytes::pixels_of_both() const {
  return {static_cast<unsigned>(frame().height),
          cuda::blocks(static_cast<std::size_t>(frame().width), block_threads), 2};
}

void CudaBytes::find_best(const CudaSearch& search, StreamHandle stream) const {
  launch_search(search, find_best_, stream);
}

void CudaBytes::launch_search(CudaSearch search, const Kernel& kernel, StreamHandle stream) const {
  const CudaGrid grid =
      best_grid(search_layout_, parameters().window, format().size,
                {frame().width, search.first_shift, search.last_shift}, machine_of(*context()));
  search.groups_per_slice = grid.groups_per_slice;
  kernel.launch(stream, {grid.tiles, grid.blocks_of_slices}, {CudaLayout::lanes, CudaLayout::slices_in_block},
                0, search);
}

CudaSearch CudaBytes::search_of(int side) const {
  const int other = 1 - side, lowest = search().lowest, highest = lowest + search().labels - 1;
  const CudaValidity valid = validity();
  CudaSearch task{};
  task.base = filtered(side);
  task.other = filtered(other);
  task.frame = frame();
  task.other_validity = valid.of[other];
  task.validity_stride = valid.stride;
  task.other_masked = valid.masked + other;
  task.base_statistics = statistics(side);
  task.other_statistics = statistics(other);
  task.statistics_stride = statistics_stride();
  task.first_shift = side == left_side ? lowest : -highest;
  task.last_shift = side == left_side ? highest : -lowest;
  task.label_offset = -lowest;
  task.label_step = side == left_side ? 1 : -1;
  task.columns = round_up(frame().width, CudaLayout::columns) / CudaLayout::columns;
  task.strips = round_up(frame().height, search_layout_.rows) / search_layout_.rows;
  task.best = found().best[side];
  task.rivals = at(rivals_);
  return task;
}

namespace {

// The plan for images whose values are compared in 16 bits.
class CudaValues final : public CudaPlan {
 public:
  CudaValues(const BlockParameters& parameters, const Device& device, const ImageFormat& format)
      : CudaPlan(parameters, device, format) {
    reserve_filtered(2, format.size.height);
  }

 private:
  void prepare_search(StreamHandle) override {
    program_ = cuda::Program(context(), cuda::block_values_cu, common_options());
    match_ = program_.kernel("match");
  }
  CudaFound found() const override { return {}; }
  void decide(const CudaDecision& decision, StreamHandle stream) override {
    match_.launch(stream, map_grid(), {block_threads}, 0, decision);
  }

  cuda::Program program_;
  Kernel match_;
};

bool fits_bytes(const BlockParameters& parameters, const ImageFormat& format) {
  return plan_search(parameters, format).highest_value <= highest_byte;
}

}  // namespace

std::unique_ptr<detail::Plan> make_cuda(const BlockParameters& parameters, const Device& device,
                                        const ImageFormat& format,
                                        const detail::Configuration& configuration) {
  if (!fits_bytes(parameters, format)) return std::make_unique<CudaValues>(parameters, device, format);
  return std::make_unique<CudaBytes>(parameters, device, format, configuration);
}

detail::TuningSpace cuda_tuning_space(const BlockParameters& parameters, const Device& device,
                                      const ImageFormat& format) {
  detail::TuningSpace space;
  space.variant = variant(parameters);
  if (fits_bytes(parameters, format))
    // The GPU is queried only when a configuration is tried, so that tunables can be listed without a GPU.
    space = layout_space(parameters, clipped_search(parameters, format), format.size,
                         [index = device.index, known = std::make_shared<std::optional<CudaMachine>>()] {
                           if (!*known) *known = machine_of(cuda::Context(index));
                           return **known;
                         });
  space.elsewhere = "; strategies of the study are measured by 'parallax bench --suite papers --paper block'";
  return space;
}

}  // namespace parallax::block
