// SPDX-License-Identifier: Apache-2.0
// The steps of parallax/refine.h and of vectors.h on a GPU, in the memory and on the stream of a plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "parallax/refine.h"

#include "core/arena.h"
#include "data_cost/cuda_images.h"
#include "devices/cuda/branch.h"
#include "devices/cuda/program.h"
#include "refine/cuda_types.h"
#include "refine/vectors.h"

namespace parallax::refine {

class CudaPipeline {
 public:
  // `format`: format of the pair.
  // `least_confidence`: as in Pipeline::find_confidence(); none = the map's confidences stay as they are.
  CudaPipeline(const RefineParameters& parameters, const ImageFormat& format, ArenaLayout& layout,
               Maps maps = Maps::disparities, std::optional<float> least_confidence = {});

  // Loads the kernels; `memory` is the arena with the reserved layout.
  void prepare(const cuda::SharedContext& context, std::byte* memory, cuda::StreamHandle stream);
  // Enqueues the reads of the left image for guided steps, and of both images for refit(), in memory that the
  // GPU reaches.
  void take(const StereoPair& pair, cuda::ChangingLaunches& launches) const;
  // After take(): begins the work that needs no map, concurrently with the stream.
  void begin() const;
  // The same, after the work on the stream so far.
  void begin_after(cuda::StreamHandle stream) const;
  // After begin(): enqueues all requested steps, in their order, on a map on the device; `right` is empty
  // unless maps are checked against each other.
  void enqueue(const DisparityMap& map, View<const float> right, cuda::StreamHandle stream) const;
  // The same for a map of vectors, which needs no begin().
  void enqueue_vectors(const DisparityMap& map, const RightMap& right, cuda::StreamHandle stream) const;

 private:
  bool removes_speckles() const { return parameters_.speckle_size > 1; }
  bool fills() const { return parameters_.fill != Fill::none; }
  bool fills_planes() const { return parameters_.fill == Fill::planes; }
  // Directions also fill the pixels that planes leave.
  bool fills_directions() const { return parameters_.fill == Fill::directions || fills_planes(); }
  bool refits() const { return parameters_.refit > 0; }
  bool finds_confidence(const DisparityMap& map) const {
    return least_confidence_ && (!map.confidence.empty() || *least_confidence_ > 0);
  }
  bool takes_median() const { return parameters_.median > 0; }
  bool filters_guided() const { return parameters_.weighted_median > 0 || parameters_.bilateral > 0; }
  // Vectors are filled without a guide.
  bool takes_guide() const { return vectors_ ? filters_guided() : parameters_.is_guided(); }

  // The inputs of refit(): signatures of both images.
  struct Refit {
    Refit(const ImageFormat& format, ArenaLayout& layout);
    void prepare(const cuda::SharedContext& context, int window, std::byte* memory,
                 cuda::StreamHandle stream);

    data_cost::CudaImages images;
    cuda::Program program;
    cuda::Kernel refit;
  };

  // A filter that uses the guide image.
  struct Guided {
    Guided(const cuda::SharedContext& context, bool bilateral, int window, int range);
    Guided() = default;

    CudaGuidedStep step{};
    cuda::Program program;
    cuda::Kernel filter;
  };

  // Memory of Fill::planes: see CudaPlaneFill.
  struct Planes {
    Planes(Size size, ArenaLayout& layout);
    Planes() = default;
    void prepare(const cuda::SharedContext& context);

    cuda::Shape all_cells() const {
      return {static_cast<unsigned>(cells.height), static_cast<unsigned>(cells.width)};
    }

    Size cells;
    PlaneBuffer<std::uint32_t> colours;
    Buffer<std::uint8_t> joined;
    Buffer<CudaSuperpixel> superpixels;
    cuda::Branch branch;  // for the superpixels
    cuda::Program program;
    cuda::Kernel begin_superpixels, join_nearest, move_centres, fit_planes, fill_planes;
  };

  // Memory and kernels of the steps for vectors alone.
  struct Vectors {
    PlaneBuffer<std::uint8_t> gray[2];
    PlaneBuffer<CudaShift> shifts;
    PlaneBuffer<float> candidates[2];
    cuda::Program program;
    cuda::Kernel check, find_shifts, refit, fill, copy;
  };

  void take_gray(const ImageView& image, const PlaneBuffer<std::uint8_t>& gray, View<std::uint32_t> colours,
                 cuda::ChangingLaunches& launches) const;
  void refine(const DisparityMap& map, View<const float> right, cuda::StreamHandle stream) const;

  void check_left_right(const DisparityMap& map, View<const float> right, cuda::StreamHandle stream) const;
  void check_occlusions(const DisparityMap& map, cuda::StreamHandle stream) const;
  void find_confidence(const DisparityMap& map, cuda::StreamHandle stream) const;
  void remove_speckles(const DisparityMap& map, cuda::StreamHandle stream) const;
  void refit(View<float> disparity, cuda::StreamHandle stream) const;
  // Writes the filled disparities to `to`, which may be the map's own.
  void fill(const DisparityMap& map, View<float> to, cuda::StreamHandle stream) const;
  void fill_row(const DisparityMap& map, View<float> to, cuda::StreamHandle stream) const;
  CudaPlaneFill plane_fill() const;  // without a map
  void fill_planes(const DisparityMap& map, cuda::StreamHandle stream) const;
  void fill_directions(const DisparityMap& map, View<float> to, cuda::StreamHandle stream) const;
  void copy(View<const float> from, View<float> to, cuda::StreamHandle stream) const;
  void median(View<const float> from, View<float> to, cuda::StreamHandle stream) const;
  void filter_guided(View<float> disparity, cuda::StreamHandle stream) const;
  void run(const Guided& guided, View<float> disparity, cuda::StreamHandle stream) const;
  void check_vectors(const DisparityMap& map, const RightMap& right, cuda::StreamHandle stream) const;
  void refit_vectors(const DisparityMap& map, cuda::StreamHandle stream) const;
  void fill_vectors(const DisparityMap& map, cuda::StreamHandle stream) const;

  RefineParameters parameters_;
  Size size_;
  bool vectors_;
  std::optional<float> least_confidence_;
  Buffer<std::int32_t> links_, sizes_;
  Buffer<std::int32_t> highest_;  // highest disparities of occlusion_check()
  PlaneBuffer<float> before_;     // the map before a step that reads neighbouring pixels
  PlaneBuffer<std::uint8_t> guide_;
  std::byte* memory_ = nullptr;
  cuda::Program program_;
  cuda::Kernel check_left_right_, check_occlusions_, find_confidence_, label_tiles_, join_tiles_, add_sizes_,
      remove_speckles_, fill_row_, take_guide_, fill_directions_, copy_, median_;
  std::optional<Refit> refit_;  // refit of disparities
  Vectors of_vectors_;
  Planes planes_;
  Guided weighted_median_, bilateral_;
};

}  // namespace parallax::refine
