// SPDX-License-Identifier: Apache-2.0
// Block matching on CUDA. A search over images of bytes, see cuda_search.cu, leaves a key for each pixel, and
// a decision makes the map of them; images of 16-bit values are matched in one plain step. The right map is a
// second search, with the images exchanged and the labels counted backwards.

#include "refine/cuda.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/arena.h"
#include "core/copy_rows.h"
#include "core/round_up.h"
#include "devices/cuda/kernel_sources.h"
#include "devices/cuda/plan.h"
#include "matchers/block/block.h"
#include "matchers/block/cuda_layout.h"
#include "matchers/block/cuda_study.h"
#include "matchers/block/cuda_types.h"

namespace parallax::block {
namespace {

using cuda::define;
using cuda::Kernel;
using cuda::Options;
using cuda::Shape;
using cuda::StreamHandle;

constexpr unsigned block_threads = 128;
constexpr int highest_byte = 255;

CudaMachine machine_of(const cuda::Context& context) {
  return {context.architecture(), context.multiprocessors(), context.shared_bytes_per_block()};
}
enum Side { left_side, right_side };

// Labels that lead out of the image everywhere are left out.
Search clipped_search(Search search, int width) {
  const int highest = std::min(search.lowest + search.labels - 1, width - 1);
  search.lowest = std::max(search.lowest, 1 - width);
  search.labels = highest - search.lowest + 1;
  return search;
}

// What both ways have in common: from a pair to filtered images, and from a map to the refined one.
class Cuda : public cuda::Plan {
 public:
  Cuda(const BlockParameters& parameters, const Device& device, const ImageFormat& format)
      : cuda::Plan(device, format, 0, true),
        parameters_(parameters),
        search_(clipped_search(plan_search(parameters, format), format.size.width)),
        refinement_(parameters.refine, format.size, layout_) {
    gray_stride_ = round_up(format.size.width, 64);
    validity_stride_ = round_up(format.size.width + 2 * validity_margin, 64);
    for (int side : {left_side, right_side}) {
      gray_[side] = layout_.reserve<std::byte>(elements(gray_stride_, format.size.height) * gray_bytes() +
                                               behind_window);
      validity_[side] = layout_.reserve<std::uint8_t>(elements(validity_stride_, format.size.height));
    }
    masked_ = layout_.reserve<int>(2);
    if (right_map()) right_disparity_ = layout_.reserve_plane<float>(format.size);
  }

 protected:
  const BlockParameters& parameters() const { return parameters_; }
  const Search& search() const { return search_; }
  const CudaFrame& frame() const { return frame_; }
  bool right_map() const { return parameters_.refine.left_right_check; }

  // Pixel (0, 0).
  std::byte* filtered(int side) const { return pixels(filtered_[side]); }
  CudaValidity validity() const {
    const auto first = [this](int side) { return at(validity_[side]) + validity_margin; };
    return {{first(left_side), first(right_side)}, at(masked_), validity_stride_};
  }

  // A thread a pixel; with the right map, too, if that is wanted.
  Shape map_grid() const {
    return {static_cast<unsigned>(frame_.height),
            cuda::blocks(static_cast<std::size_t>(frame_.width), block_threads), right_map() ? 2u : 1u};
  }

  Options common_options() const {
    return {define("WINDOW", parameters_.window), define("COST", static_cast<int>(parameters_.cost)),
            define("UNIQUENESS", parameters_.uniqueness),
            define("TEXTURE", parameters_.texture_threshold > 0),
            define("SUB_PIXEL", static_cast<int>(parameters_.sub_pixel))};
  }

  CudaDecision decision(const DisparityMap& map) const {
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
    decision.stride = static_cast<int>(map.disparity.stride);
    decision.status_stride = static_cast<int>(map.status.stride);
    decision.confidence = map.confidence.data;
    decision.confidence_stride = static_cast<int>(map.confidence.stride);
    if (!right_map()) return decision;
    const View<float> right = at(right_disparity_);
    decision.right_disparity = right.data;
    decision.right_stride = static_cast<int>(right.stride);
    return decision;
  }

  static std::size_t elements(int stride, int rows) {
    return static_cast<std::size_t>(stride) * static_cast<std::size_t>(rows);
  }

  // Filtered images of at least so many rows, the extension not counted.
  void reserve_filtered(std::size_t element_bytes, int rows) {
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

  virtual void prepare_search(StreamHandle stream) = 0;
  // What a search is to find, if there is one.
  virtual CudaFound found() const = 0;
  // Both maps, before refinement.
  virtual void decide(const CudaDecision& decision, StreamHandle stream) = 0;

 private:
  // What is read, or skipped, beside the windows of the first and of the last column, and below the last row.
  static constexpr int before_window = 8, behind_window = 20, rows_behind = 1, validity_margin = 8;

  // The filtered left image may do.
  bool has_texture_plane() const {
    return parameters_.texture_threshold > 0 && parameters_.prefilter != Prefilter::x_sobel;
  }

  std::byte* pixels(const Buffer<std::byte>& buffer) const {
    const std::ptrdiff_t first = static_cast<std::ptrdiff_t>(frame_.radius) * frame_.pitch + frame_.before;
    return at(buffer) + first * static_cast<std::ptrdiff_t>(element_bytes_);
  }

  std::size_t gray_bytes() const { return bytes_per_sample(format().depth); }

  // A thread four columns of both images.
  Shape images_grid(int width, int rows) const {
    return {static_cast<unsigned>(rows), cuda::blocks(static_cast<std::size_t>(width), 4 * block_threads), 2};
  }

  void prepare(StreamHandle stream) final {
    images_program_ = cuda::Program(context(), cuda::block_images_cu,
                                    {define("GRAY_BITS", 8 * static_cast<int>(gray_bytes())),
                                     define("FILTERED_BITS", 8 * static_cast<int>(element_bytes_)),
                                     define("X_SOBEL", parameters_.prefilter == Prefilter::x_sobel)});
    take_ = images_program_.kernel("take");
    filter_ = images_program_.kernel("filter");
    refinement_.prepare(context(), device_memory());
    prepare_search(stream);
  }

  void take(const StereoPair& pair, cuda::ChangingLaunches& launches) final {
    check_strategy(parameters_, pair);
    take_.launch(launches, images_grid(frame_.width, frame_.height), {block_threads}, 0,
                 CudaTake{{cuda::kernel_image(pair.left), cuda::kernel_image(pair.right)},
                          {cuda::kernel_mask(pair.left_mask), cuda::kernel_mask(pair.right_mask)},
                          frame_.width,
                          {at(gray_[left_side]), at(gray_[right_side])},
                          gray_stride_,
                          validity(),
                          found()});
    refinement_.take(pair.left, launches);
  }

  void filter(StreamHandle stream) const {
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

  void match(const DisparityMap& map, StreamHandle stream) final {
    filter(stream);
    decide(decision(map), stream);
    refinement_.enqueue(map, right_map() ? at(right_disparity_) : View<float>(), stream);
  }

  BlockParameters parameters_;
  Search search_;
  refine::CudaPipeline refinement_;
  std::size_t element_bytes_ = 0;
  CudaFrame frame_{};
  int gray_stride_, validity_stride_;
  Buffer<std::byte> gray_[2], filtered_[2], responses_;
  Buffer<std::uint8_t> validity_[2];
  Buffer<int> masked_;
  PlaneBuffer<float> right_disparity_;
  cuda::Program images_program_;
  Kernel take_, filter_;
};

class Values final : public Cuda {
 public:
  Values(const BlockParameters& parameters, const Device& device, const ImageFormat& format)
      : Cuda(parameters, device, format) {
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

class Bytes final : public Cuda {
 public:
  Bytes(const BlockParameters& parameters, const Device& device, const ImageFormat& format,
        const detail::Configuration& configuration)
      : Cuda(parameters, device, format),
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
    study_ = make_study(parameters, frame().pitch);
  }

 private:
  std::size_t key_bytes() const { return static_cast<std::size_t>(search_layout_.key_bits) / 8; }
  bool rejects_ambiguous() const { return parameters().uniqueness > 0; }
  bool has_statistics() const { return parameters().cost == BlockCost::zncc; }
  int statistics_stride() const { return best_stride_ + 2 * statistics_margin; }
  // Pixel (0, 0).
  CudaStatistics* statistics(int side) const { return has_statistics() ? at(statistics_[side]) : nullptr; }

  void prepare_search(StreamHandle stream) override {
    const CudaLayout& layout = search_layout_;
    Options options = common_options();
    options.insert(options.end(), {define("PITCH", frame().pitch), define("BEST_STRIDE", best_stride_),
                                   define("KEY_BITS", layout.key_bits),
                                   define("LABEL_BITS", layout.label_bits), define("PACKED", layout.packed),
                                   define("ORDER_BITS", layout.order_bits), define("GROUP", layout.group),
                                   define("ROWS", layout.rows), define("BLOCKS", layout.blocks)});
    if (study_ != nullptr) study_->prepare(context(), options);
    search_program_ = cuda::Program(context(), cuda::block_search_cu, options);
    find_best_ = search_program_.kernel("find_best");
    find_rivals_ = search_program_.kernel("find_rivals");
    if (has_statistics()) find_statistics_ = search_program_.kernel("find_statistics");
    decide_program_ = cuda::Program(context(), cuda::block_decide_cu, options);
    decide_ = decide_program_.kernel("decide");
    // Each run takes out what it found.
    cuda::check(cuda::driver().cuMemsetD8Async(address(rivals_), 0xFF, rivals_.count, stream),
                "cuMemsetD8Async");
  }

  CudaFound found() const override {
    const auto plane = [this](int side) {
      return side == left_side || right_map() ? at(best_[side]) : nullptr;
    };
    return {{plane(left_side), plane(right_side)}, nullptr, best_stride_, static_cast<int>(key_bytes())};
  }

  void decide(const CudaDecision& common, StreamHandle stream) override {
    if (has_statistics())
      find_statistics_.launch(stream, pixels_of_both(), {block_threads}, 0, frame(), filtered(left_side),
                              filtered(right_side), statistics(left_side), statistics(right_side),
                              statistics_stride());
    find_best(left_side, stream);
    if (right_map()) find_best(right_side, stream);
    CudaDecision decision = common;
    decision.found = found();
    if (rejects_ambiguous() || decision.confidence != nullptr) {
      search_from(left_side, find_rivals_, stream);
      decision.found.rivals = at(rivals_);
    }
    decision.left_statistics = statistics(left_side);
    decision.right_statistics = statistics(right_side);
    decision.statistics_stride = statistics_stride();
    decide_.launch(stream, map_grid(), {block_threads}, 0, decision);
  }

  Shape pixels_of_both() const {
    return {static_cast<unsigned>(frame().height),
            cuda::blocks(static_cast<std::size_t>(frame().width), block_threads), 2};
  }

  void find_best(int side, StreamHandle stream) const {
    if (study_ != nullptr) return study_->find_best(search_of(side), stream);
    search_from(side, find_best_, stream);
  }

  void search_from(int side, const Kernel& kernel, StreamHandle stream) const {
    CudaSearch task = search_of(side);
    const CudaGrid grid =
        best_grid(search_layout_, parameters().window, format().size,
                  {frame().width, task.first_shift, task.last_shift}, machine_of(*context()));
    task.groups_per_slice = grid.groups_per_slice;
    kernel.launch(stream, {grid.tiles, grid.blocks_of_slices},
                  {CudaLayout::lanes, CudaLayout::slices_in_block}, 0, task);
  }

  CudaSearch search_of(int side) const {
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
    task.columns = divide_round_up(frame().width, CudaLayout::columns);
    task.strips = divide_round_up(frame().height, search_layout_.rows);
    task.best = found().best[side];
    task.rivals = at(rivals_);
    return task;
  }

  CudaLayout search_layout_;
  int best_stride_;
  std::unique_ptr<CudaStudy> study_;
  Buffer<std::byte> best_[2];
  Buffer<std::byte> rivals_;
  Buffer<CudaStatistics> statistics_[2];
  cuda::Program search_program_, decide_program_;
  Kernel find_best_, find_rivals_, find_statistics_, decide_;
};

}  // namespace

std::unique_ptr<detail::Plan> make_cuda(const BlockParameters& parameters, const Device& device,
                                        const ImageFormat& format,
                                        const detail::Configuration& configuration) {
  const Search search = clipped_search(plan_search(parameters, format), format.size.width);
  check_strategy(parameters, search);
  if (search.highest_value > highest_byte) return std::make_unique<Values>(parameters, device, format);
  return std::make_unique<Bytes>(parameters, device, format, configuration);
}

detail::TuningSpace cuda_tuning_space(const BlockParameters& parameters, const Device& device,
                                      const ImageFormat& format) {
  const Search search = clipped_search(plan_search(parameters, format), format.size.width);
  if (search.highest_value > highest_byte || parameters.cuda.strategy != CudaStrategy::automatic ||
      parameters.cuda.rows_per_thread > 0)
    return {};
  return layout_space(parameters, search, format.size, machine_of(cuda::Context(device.index)));
}

}  // namespace parallax::block
