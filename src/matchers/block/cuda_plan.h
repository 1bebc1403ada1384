// SPDX-License-Identifier: Apache-2.0
// Plans of block matching on CUDA: their common base, and the plan for images of bytes, whose search for the
// best labels another plan may replace.
#pragma once

#include <algorithm>

#include "core/arena.h"
#include "devices/cuda/plan.h"
#include "matchers/block/block.h"
#include "matchers/block/cuda_layout.h"
#include "matchers/block/cuda_types.h"
#include "refine/cuda_pipeline.h"

namespace parallax::block {

inline CudaMachine machine_of(const cuda::Context& context) {
  return {context.architecture(), context.multiprocessors(), context.shared_bytes_per_block()};
}

// Leaves out labels that lead out of the image at every pixel.
inline Search clipped_search(const BlockParameters& parameters, const ImageFormat& format) {
  const int width = format.size.width;
  Search search = plan_search(parameters, format);
  const int highest = std::min(search.lowest + search.labels - 1, width - 1);
  search.lowest = std::max(search.lowest, 1 - width);
  search.labels = highest - search.lowest + 1;
  return search;
}

// Makes filtered images from a pair, and refines the map.
class CudaPlan : public cuda::Plan {
 public:
  CudaPlan(const BlockParameters& parameters, const Device& device, const ImageFormat& format)
      : cuda::Plan(device, format, 0, true),
        parameters_(parameters),
        search_(clipped_search(parameters, format)),
        refinement_(parameters.refine, format, layout_) {
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
  static constexpr unsigned block_threads = 128;
  enum Side { left_side, right_side };

  const BlockParameters& parameters() const { return parameters_; }
  const Search& search() const { return search_; }
  const CudaFrame& frame() const { return frame_; }
  bool right_map() const { return parameters_.refine.left_right_check; }

  // Address of pixel (0, 0).
  std::byte* filtered(int side) const { return pixels(filtered_[side]); }
  CudaValidity validity() const {
    const auto first = [this](int side) { return at(validity_[side]) + validity_margin; };
    return {{first(left_side), first(right_side)}, at(masked_), validity_stride_};
  }

  // One thread per pixel; includes the right map if it is wanted.
  cuda::Shape map_grid() const {
    return cuda::grid_of_rows(format().size, block_threads, right_map() ? 2 : 1);
  }
  cuda::Options common_options() const {
    return {cuda::define("WINDOW", parameters_.window), cuda::define("COST", parameters_.cost),
            cuda::define("UNIQUENESS", parameters_.uniqueness),
            cuda::define("TEXTURE", parameters_.texture_threshold > 0),
            cuda::define("SUB_PIXEL", parameters_.sub_pixel)};
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

  static std::size_t elements(int stride, int rows) { return to_size(stride) * to_size(rows); }

  // Reserves filtered images of at least `rows` rows, not counting the extension.
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

  void take(const StereoPair& pair, cuda::ChangingLaunches& launches) override {
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
  virtual void prepare_search(cuda::StreamHandle stream) = 0;
  // The results that a search must find, if there is one.
  virtual CudaFound found() const = 0;
  // Makes both maps, before refinement.
  virtual void decide(const CudaDecision& decision, cuda::StreamHandle stream) = 0;

 private:
  // Columns and rows that are read or skipped: before the windows of the first column, behind those of the
  // last column, and below the last row.
  static constexpr int before_window = 8, behind_window = 20, rows_behind = 1, validity_margin = 8;

  // The filtered left image may serve as the texture plane.
  bool has_texture_plane() const {
    return parameters_.texture_threshold > 0 && parameters_.prefilter != Prefilter::x_sobel;
  }
  std::byte* pixels(const Buffer<std::byte>& buffer) const {
    const std::ptrdiff_t first = static_cast<std::ptrdiff_t>(frame_.radius) * frame_.pitch + frame_.before;
    return at(buffer) + first * static_cast<std::ptrdiff_t>(element_bytes_);
  }
  std::size_t gray_bytes() const { return format().depth == BitDepth::bits16 ? 2 : 1; }
  // One thread per four columns of both images.
  cuda::Shape images_grid(int width, int rows) const {
    return {static_cast<unsigned>(rows), cuda::blocks(width, 4 * block_threads), 2};
  }

  void prepare(cuda::StreamHandle stream) final;
  void filter(cuda::StreamHandle stream) const {
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
  void match(const DisparityMap& map, cuda::StreamHandle stream) final {
    refinement_.begin();
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
  cuda::Kernel take_, filter_;
};

// The plan for images that are compared in bytes.
class CudaBytes : public CudaPlan {
 public:
  CudaBytes(const BlockParameters& parameters, const Device& device, const ImageFormat& format,
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

 protected:
  // Options of the kernels: see cuda_common.h and cuda_search.cu.
  cuda::Options search_options() const {
    const CudaLayout& layout = search_layout_;
    return cuda::joined(common_options(),
                        {cuda::define("PITCH", frame().pitch), cuda::define("BEST_STRIDE", best_stride_),
                         cuda::define("KEY_BITS", layout.key_bits),
                         cuda::define("LABEL_BITS", layout.label_bits), cuda::define("PACKED", layout.packed),
                         cuda::define("ORDER_BITS", layout.order_bits), cuda::define("GROUP", layout.group),
                         cuda::define("ROWS", layout.rows), cuda::define("BLOCKS", layout.blocks)});
  }
  void prepare_search(cuda::StreamHandle stream) override;
  // Finds the best labels of one image in the other.
  virtual void find_best(const CudaSearch& search, cuda::StreamHandle stream) const {
    launch_search(search, find_best_, stream);
  }

 private:
  std::size_t key_bytes() const { return to_size(search_layout_.key_bits) / 8; }
  bool rejects_ambiguous() const { return parameters().uniqueness > 0; }
  bool has_statistics() const { return parameters().cost == BlockCost::zncc; }
  int statistics_stride() const { return best_stride_ + 2 * statistics_margin; }
  // Address of pixel (0, 0).
  CudaStatistics* statistics(int side) const { return has_statistics() ? at(statistics_[side]) : nullptr; }

  CudaFound found() const final {
    const auto plane = [this](int side) {
      return side == left_side || right_map() ? at(best_[side]) : nullptr;
    };
    return {{plane(left_side), plane(right_side)}, nullptr, best_stride_, static_cast<int>(key_bytes())};
  }
  void decide(const CudaDecision& common, cuda::StreamHandle stream) final {
    if (has_statistics())
      find_statistics_.launch(stream, cuda::grid_of_rows(format().size, block_threads, 2), {block_threads}, 0,
                              frame(), filtered(left_side), filtered(right_side), statistics(left_side),
                              statistics(right_side), statistics_stride());
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
  void launch_search(CudaSearch search, const cuda::Kernel& kernel, cuda::StreamHandle stream) const {
    const CudaGrid grid =
        time_best_grid(search_layout_, parameters().window, format().size,
                       {frame().width, search.first_shift, search.last_shift}, machine_of(*context()))
            .grid;
    search.groups_per_slice = grid.groups_per_slice;
    kernel.launch(stream, {grid.tiles, grid.blocks_of_slices},
                  {CudaLayout::lanes, CudaLayout::slices_in_block}, 0, search);
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
    task.columns = round_up(frame().width, CudaLayout::columns) / CudaLayout::columns;
    task.strips = round_up(frame().height, search_layout_.rows) / search_layout_.rows;
    task.best = found().best[side];
    task.rivals = at(rivals_);
    return task;
  }

  CudaLayout search_layout_;
  int best_stride_;
  Buffer<std::byte> best_[2];
  Buffer<std::byte> rivals_;
  Buffer<CudaStatistics> statistics_[2];
  cuda::Program search_program_, decide_program_;
  cuda::Kernel find_best_, find_rivals_, find_statistics_, decide_;
};

}  // namespace parallax::block
