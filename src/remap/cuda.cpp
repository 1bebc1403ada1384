// SPDX-License-Identifier: Apache-2.0

#include "core/copy_rows.h"
#include "core/integers.h"
#include "core/memory.h"
#include "devices/cuda/kernel_sources.h"
#include "devices/cuda/plan.h"
#include "remap/cuda_stage.h"

namespace parallax::remap {

namespace {

// Interleaves x and y of each pixel, so that a thread loads those of four pixels at once.
std::vector<std::uint16_t> positions_of(const Map& map) {
  std::vector<std::uint16_t> positions;
  positions.reserve(2 * map.x.size().pixels());
  for (int row = 0; row < map.x.height(); ++row)
    for (int column = 0; column < map.x.width(); ++column) {
      positions.push_back(map.x.at(column, row));
      positions.push_back(map.y.at(column, row));
    }
  return positions;
}

// Images on the host are copied packed, through page-locked memory.
class Cuda final : public Plan {
 public:
  Cuda(const Problem& problem, const Device& device)
      : context_(std::make_shared<cuda::Context>(device.index)),
        workers_(copying_workers(device.threads, problem.maps[0].size)),
        stage_(problem, layout_) {
    const Size size = problem.maps[0].size;
    for (int side = 0; side < sides; ++side) {
      constexpr std::size_t max_channels = 3;
      const std::size_t bytes = max_channels * bytes_per_sample(problem.depth);
      from_[side] = reserve_staged(problem.maps[side].camera.pixels() * bytes);
      to_[side] = reserve_staged(size.pixels() * bytes);
      masks_[side] = reserve_staged(size.pixels());
    }
    check_free();
    allocate(problem);
  }

  std::size_t memory_bytes() const override { return layout_.bytes() + host_layout_.bytes(); }

  void run(const Images& images) override {
    const cuda::Current current(*context_);
    try {
      Images there = images;
      for (int side = 0; side < sides; ++side) there.from[side] = upload(images.from[side], from_[side]);
      for (int side = 0; side < sides; ++side) {
        const ImageOutput& to = images.to[side];
        const std::size_t bytes = row_bytes(to);
        there.to[side] = {to_[side].there.in(device_memory()), to.format, to.channels,
                          static_cast<std::ptrdiff_t>(bytes)};
        if (!images.masks[side].empty())
          there.masks[side] = {reinterpret_cast<std::uint8_t*>(masks_[side].there.in(device_memory())),
                               images.masks[side].size};
      }
      stage_.enqueue(there, stream_.get());
      for (int side = 0; side < sides; ++side) fetch(images, side);
    } catch (...) {
      cuda::driver().cuStreamSynchronize(stream_.get());
      throw;
    }
    cuda::check(cuda::driver().cuStreamSynchronize(stream_.get()), "cuStreamSynchronize");
    for (int side = 0; side < sides; ++side) copy_out(images, side);
  }

  void enqueue(const Images& images, void* stream) override {
    cuda::check_aligned("left image", images.from[0]);
    cuda::check_aligned("right image", images.from[1]);
    cuda::check_aligned("rectified left image", images.to[0]);
    cuda::check_aligned("rectified right image", images.to[1]);
    const cuda::Current current(*context_);
    stage_.enqueue(images, static_cast<cuda::StreamHandle>(stream));
  }

 private:
  // The same bytes on the host and on the GPU.
  struct Staged {
    Buffer<std::byte> here, there;
  };

  Staged reserve_staged(std::size_t bytes) {
    return {host_layout_.reserve<std::byte>(bytes), layout_.reserve<std::byte>(bytes)};
  }

  void check_free() const {
    const std::size_t free = cuda::free_memory(*context_);
    if (layout_.bytes() <= free) return;
    throw Error(ErrorCategory::memory,
                "rectification needs " + bytes_text(layout_.bytes()) + ", and " + bytes_text(free) +
                    " are free on the GPU: nvidia-smi shows what uses the rest",
                true);
  }

  void allocate(const Problem& problem) {
    memory_ = cuda::allocate(context_, layout_.bytes());
    pinned_ = cuda::allocate_pinned(context_, host_layout_.bytes());
    stream_ = cuda::make_stream(context_);
    const cuda::Current current(*context_);
    stage_.prepare(problem, context_, device_memory(), stream_.get());
    // The first pair may be enqueued on another stream, which does not wait for this one.
    cuda::check(cuda::driver().cuStreamSynchronize(stream_.get()), "cuStreamSynchronize");
  }

  std::byte* device_memory() const { return reinterpret_cast<std::byte*>(memory_.get()); }
  std::byte* host_memory() const { return static_cast<std::byte*>(pinned_.get()); }

  ImageView upload(const ImageView& image, const Staged& staged) const {
    const std::size_t row = row_bytes(image), bytes = row * to_size(image.format.size.height);
    std::byte* packed = staged.here.in(host_memory());
    copy_rows({static_cast<const std::byte*>(image.data), image.stride_bytes},
              {packed, static_cast<std::ptrdiff_t>(row)}, row, image.format.size.height, workers_);
    std::byte* there = staged.there.in(device_memory());
    cuda::check(cuda::driver().cuMemcpyHtoDAsync_v2(reinterpret_cast<cuda::DeviceAddress>(there), packed,
                                                    bytes, stream_.get()),
                "cuMemcpyHtoDAsync of a picture");
    return {there, image.format, image.channels, static_cast<std::ptrdiff_t>(row)};
  }

  void fetch(const Staged& staged, std::size_t bytes) const {
    cuda::check(
        cuda::driver().cuMemcpyDtoHAsync_v2(
            staged.here.in(host_memory()),
            reinterpret_cast<cuda::DeviceAddress>(staged.there.in(device_memory())), bytes, stream_.get()),
        "cuMemcpyDtoHAsync of a rectified picture");
  }
  void fetch(const Images& images, int side) const {
    const Size size = images.to[side].format.size;
    fetch(to_[side], row_bytes(images.to[side]) * to_size(size.height));
    if (!images.masks[side].empty()) fetch(masks_[side], size.pixels());
  }

  void copy_out(const Images& images, int side) const {
    const ImageOutput& to = images.to[side];
    const View<std::uint8_t>& mask = images.masks[side];
    const std::size_t row = row_bytes(to);
    const int height = to.format.size.height, width = to.format.size.width;
    copy_rows({to_[side].here.in(host_memory()), static_cast<std::ptrdiff_t>(row)},
              {static_cast<std::byte*>(to.data), to.stride_bytes}, row, height, workers_);
    if (mask.empty()) return;
    copy_rows({masks_[side].here.in(host_memory()), width}, rows_of(mask), to_size(width), height, workers_);
  }

  cuda::SharedContext context_;
  Workers workers_;
  ArenaLayout layout_, host_layout_;
  CudaStage stage_;
  Staged from_[sides], to_[sides], masks_[sides];
  cuda::DeviceMemory memory_;
  cuda::PinnedMemory pinned_;
  cuda::Stream stream_;
};

}  // namespace

CudaStage::CudaStage(const Problem& problem, ArenaLayout& layout) : size_(problem.maps[0].size) {
  for (int side = 0; side < sides; ++side) {
    const Map& map = problem.maps[side];
    buffers_[side] = {layout.reserve<std::uint16_t>(2 * map.x.size().pixels()),
                      layout.reserve<Block>(map.blocks.size().pixels())};
  }
  taps_ = layout.reserve<std::int16_t>(std::size_t{steps} * tap_stride);
}

void CudaStage::prepare(const Problem& problem, const cuda::SharedContext& context, std::byte* memory,
                        cuda::StreamHandle stream) {
  static_assert(sizeof(CudaBlock) == sizeof(Block) &&
                sizeof(Taps) == sizeof(std::int16_t) * steps * tap_stride);
  program_ = cuda::Program(context, cuda::remap_remap_cu,
                           {cuda::define("BITS", problem.depth),
                            cuda::define("LANCZOS", problem.interpolation == Interpolation::lanczos3)});
  kernel_ = program_.kernel("remap");
  for (int side = 0; side < sides; ++side) {
    const Map& map = problem.maps[side];
    const Buffers& buffers = buffers_[side];
    cuda::upload(positions_of(map), buffers.positions.in(memory), stream);
    cuda::upload(packed(map.blocks), buffers.blocks.in(memory), stream);
    arguments_.maps[side] = {.positions = buffers.positions.in(memory),
                             .blocks = reinterpret_cast<const CudaBlock*>(buffers.blocks.in(memory)),
                             .stride = map.x.width(),
                             .block_stride = map.blocks.width(),
                             .camera_width = map.camera.width,
                             .camera_height = map.camera.height};
  }
  cuda::upload(problem.taps.data(), sizeof(Taps), reinterpret_cast<cuda::DeviceAddress>(taps_.in(memory)),
               stream);
  arguments_.taps = taps_.in(memory);
  arguments_.width = size_.width;
  arguments_.height = size_.height;
  cuda::load_programs(context);
}

CudaRemap CudaStage::arguments(const Images& images) const {
  CudaRemap result = arguments_;
  for (int side = 0; side < sides; ++side) {
    result.from[side] = cuda::kernel_image(images.from[side]);
    result.to[side] = {images.to[side].data, images.to[side].stride_bytes, images.masks[side].data,
                       images.masks[side].stride()};
  }
  return result;
}

std::unique_ptr<Plan> make_cuda(const Problem& problem, const Device& device) {
  return std::make_unique<Cuda>(problem, device);
}

}  // namespace parallax::remap
