// SPDX-License-Identifier: Apache-2.0
// Block matching on CUDA. For images of bytes, a search (cuda_search.cu) leaves a key for each pixel, and a
// decision makes the map from the keys; images of 16-bit values are matched in one plain step. The right map
// is a second search, with the images exchanged and the labels counted backwards.

#include <memory>
#include <optional>

#include "devices/cuda/kernel_sources.h"
#include "matchers/block/cuda_plan.h"

namespace parallax::block {

using cuda::StreamHandle;

void CudaPlan::prepare(StreamHandle stream) {
  images_program_ = cuda::Program(context(), cuda::block_images_cu,
                                  {cuda::define("GRAY_BITS", 8 * static_cast<int>(gray_bytes())),
                                   cuda::define("FILTERED_BITS", 8 * static_cast<int>(element_bytes_)),
                                   cuda::define("X_SOBEL", parameters_.prefilter == Prefilter::x_sobel)});
  take_ = images_program_.kernel("take");
  filter_ = images_program_.kernel("filter");
  refinement_.prepare(context(), device_memory(), stream);
  prepare_search(stream);
}

void CudaBytes::prepare_search(StreamHandle stream) {
  const cuda::Options options = search_options();
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
  cuda::Kernel match_;
};

bool fits_bytes(const BlockParameters& parameters, const ImageFormat& format) {
  constexpr int highest_byte = 255;
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
