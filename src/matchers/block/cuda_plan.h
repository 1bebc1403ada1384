// SPDX-License-Identifier: Apache-2.0
// Plans of block matching on CUDA: their common base, and the plan for images of bytes, whose search for the
// best labels another plan may replace.
#pragma once

#include "core/arena.h"
#include "devices/cuda/plan.h"
#include "matchers/block/block.h"
#include "matchers/block/cuda_layout.h"
#include "matchers/block/cuda_types.h"
#include "refine/cuda_pipeline.h"

namespace parallax::block {

// Makes filtered images from a pair, and refines the map.
class CudaPlan : public cuda::Plan {
 public:
  CudaPlan(const BlockParameters& parameters, const Device& device, const ImageFormat& format);

 protected:
  static constexpr unsigned block_threads = 128;
  enum Side { left_side, right_side };

  const BlockParameters& parameters() const { return parameters_; }
  const Search& search() const { return search_; }
  const CudaFrame& frame() const { return frame_; }
  bool right_map() const { return parameters_.refine.left_right_check; }

  // Address of pixel (0, 0).
  std::byte* filtered(int side) const { return pixels(filtered_[side]); }
  CudaValidity validity() const;

  // One thread per pixel; includes the right map if it is wanted.
  cuda::Shape map_grid() const;
  cuda::Options common_options() const;
  CudaDecision decision(const DisparityMap& map) const;

  static std::size_t elements(int stride, int rows) {
    return static_cast<std::size_t>(stride) * static_cast<std::size_t>(rows);
  }

  // Reserves filtered images of at least `rows` rows, not counting the extension.
  void reserve_filtered(std::size_t element_bytes, int rows);

  void take(const StereoPair& pair, cuda::ChangingLaunches& launches) override;
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
  std::byte* pixels(const Buffer<std::byte>& buffer) const;
  std::size_t gray_bytes() const { return format().depth == BitDepth::bits16 ? 2 : 1; }
  // One thread per four columns of both images.
  cuda::Shape images_grid(int width, int rows) const;

  void prepare(cuda::StreamHandle stream) final;
  void filter(cuda::StreamHandle stream) const;
  void match(const DisparityMap& map, cuda::StreamHandle stream) final;

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
            const detail::Configuration& configuration);

 protected:
  // Options of the kernels: see cuda_common.h and cuda_search.cu.
  cuda::Options search_options() const;
  void prepare_search(cuda::StreamHandle stream) override;
  // Finds the best labels of one image in the other.
  virtual void find_best(const CudaSearch& search, cuda::StreamHandle stream) const;

 private:
  std::size_t key_bytes() const { return static_cast<std::size_t>(search_layout_.key_bits) / 8; }
  bool rejects_ambiguous() const { return parameters().uniqueness > 0; }
  bool has_statistics() const { return parameters().cost == BlockCost::zncc; }
  int statistics_stride() const { return best_stride_ + 2 * statistics_margin; }
  // Address of pixel (0, 0).
  CudaStatistics* statistics(int side) const { return has_statistics() ? at(statistics_[side]) : nullptr; }

  CudaFound found() const final;
  void decide(const CudaDecision& common, cuda::StreamHandle stream) final;
  cuda::Shape pixels_of_both() const;
  void launch_search(CudaSearch search, const cuda::Kernel& kernel, cuda::StreamHandle stream) const;
  CudaSearch search_of(int side) const;

  CudaLayout search_layout_;
  int best_stride_;
  Buffer<std::byte> best_[2];
  Buffer<std::byte> rivals_;
  Buffer<CudaStatistics> statistics_[2];
  cuda::Program search_program_, decide_program_;
  cuda::Kernel find_best_, find_rivals_, find_statistics_, decide_;
};

}  // namespace parallax::block
