// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "core/copy_rows.h"
#include "core/integers.h"
#include "core/memory.h"
#include "devices/opencl/kernel_sources.h"
#include "devices/opencl/plan.h"
#include "remap/opencl_stage.h"

namespace parallax::remap {

namespace {

template <class T>
void write(const opencl::Queue& queue, cl_mem memory, cl_long to, const Plane<T>& from) {
  opencl::write(queue, memory, to, from.size().pixels() * sizeof(T), packed(from).data());
}

class Opencl final : public Plan {
 public:
  Opencl(const Problem& problem, const Device& device)
      : context_(std::make_shared<opencl::Context>(device.platform, device.index)),
        workers_(copying_workers(device.threads, problem.maps[0].size)),
        stage_(problem, layout_) {
    const Size size = problem.maps[0].size;
    constexpr std::size_t max_channels = 3;
    const std::size_t bytes = max_channels * bytes_per_sample(problem.depth);
    const bool shares_memory = context_->info().shares_memory;
    std::size_t staging = 0;
    for (int side = 0; side < sides; ++side) {
      const std::size_t from = problem.maps[side].camera.pixels() * bytes, to = size.pixels() * bytes;
      from_[side] = opencl::offset(layout_.reserve<std::byte>(from));
      to_[side] = opencl::offset(layout_.reserve<std::byte>(to));
      masks_[side] = opencl::offset(layout_.reserve<std::byte>(size.pixels()));
      if (!shares_memory) staging = std::max({staging, from, to});
    }
    check_free();
    staging_.resize(staging);
    memory_ = opencl::allocate(*context_, layout_.bytes(), opencl::device_memory(*context_));
    queue_ = opencl::Queue(*context_);
    stage_.prepare(problem, *context_, queue_, memory_.get());
    queue_.wait();
  }

  std::size_t memory_bytes() const override { return layout_.bytes() + staging_.size(); }

  void run(const Images& images) override {
    OpenclStage::Places places{};
    for (int side = 0; side < sides; ++side) {
      places.from[side] = from_[side];
      places.to[side] = to_[side];
      places.mask[side] = images.masks[side].empty() ? -1 : masks_[side];
      places.channels[side] = images.from[side].channels;
      upload(images.from[side], from_[side]);
    }
    stage_.enqueue(places, queue_, memory_.get());
    for (int side = 0; side < sides; ++side) {
      const ImageOutput& to = images.to[side];
      download(to_[side], {static_cast<std::byte*>(to.data), to.stride_bytes}, row_bytes(to),
               to.format.size.height);
      const View<std::uint8_t>& mask = images.masks[side];
      if (!mask.empty()) download(masks_[side], rows_of(mask), to_size(mask.size.width), mask.size.height);
    }
  }

 private:
  // A plan has one buffer for everything, so the device's largest buffer is the limit.
  void check_free() const {
    const opencl::DeviceInfo& info = context_->info();
    const std::size_t most = std::min(info.memory_bytes, info.largest_buffer_bytes);
    if (layout_.bytes() <= most) return;
    throw Error(ErrorCategory::memory, "rectification needs " + bytes_text(layout_.bytes()) + ", and " +
                                           bytes_text(most) + " are the most that " + info.text +
                                           " allocates at once: choose another device");
  }

  // Rows are copied without gaps, through mapped memory where the device shares it, else through staging_;
  // the copy has ended when these functions return.
  void upload(const ImageView& image, cl_long to) {
    const std::size_t row = row_bytes(image);
    const int height = image.format.size.height;
    const auto copy = [&](std::byte* packed) {
      copy_rows({static_cast<const std::byte*>(image.data), image.stride_bytes},
                {packed, static_cast<std::ptrdiff_t>(row)}, row, height, workers_);
    };
    if (queue_.shares_memory())
      return with_mapped(CL_MAP_WRITE_INVALIDATE_REGION, to, row * to_size(height), copy);
    copy(staging_.data());
    opencl::write(queue_, memory_.get(), to, row * to_size(height), staging_.data());
  }
  void download(cl_long from, Rows to, std::size_t row, int height) {
    const std::size_t bytes = row * to_size(height);
    const auto copy = [&](const std::byte* packed) {
      copy_rows({packed, static_cast<std::ptrdiff_t>(row)}, to, row, height, workers_);
    };
    if (queue_.shares_memory()) return with_mapped(CL_MAP_READ, from, bytes, copy);
    queue_.check(opencl::driver().clEnqueueReadBuffer(queue_.handle(), memory_.get(), CL_TRUE, to_size(from),
                                                      bytes, staging_.data(), 0, nullptr, nullptr),
                 "clEnqueueReadBuffer of a rectified picture");
    copy(staging_.data());
  }
  template <class Copy>
  void with_mapped(cl_map_flags flags, cl_long from, std::size_t bytes, const Copy& copy) {
    const WorkOnCall uncancelled(nullptr);  // while memory is mapped
    std::byte* mapped = opencl::map(queue_, memory_.get(), flags, to_size(from), bytes);
    copy(mapped);
    opencl::unmap(queue_, memory_.get(), mapped);
  }

  opencl::SharedContext context_;
  Workers workers_;
  ArenaLayout layout_;
  OpenclStage stage_;
  cl_long from_[sides], to_[sides], masks_[sides];
  std::vector<std::byte> staging_;
  opencl::Memory memory_;
  opencl::Queue queue_;
};

}  // namespace

OpenclStage::OpenclStage(const Problem& problem, ArenaLayout& layout) {
  for (int side = 0; side < sides; ++side) {
    const Map& map = problem.maps[side];
    arguments_.x[side] = opencl::offset(layout.reserve<std::uint16_t>(map.x.size().pixels()));
    arguments_.y[side] = opencl::offset(layout.reserve<std::uint16_t>(map.y.size().pixels()));
    arguments_.blocks[side] = opencl::offset(layout.reserve<Block>(map.blocks.size().pixels()));
    arguments_.camera_width[side] = map.camera.width;
    arguments_.camera_height[side] = map.camera.height;
  }
  arguments_.taps = opencl::offset(layout.reserve<std::int16_t>(std::size_t{steps} * tap_stride));
  arguments_.stride = problem.maps[0].x.width();
  arguments_.width = problem.maps[0].size.width;
  arguments_.height = problem.maps[0].size.height;
}

void OpenclStage::prepare(const Problem& problem, const opencl::Context& context, const opencl::Queue& queue,
                          cl_mem memory) {
  memory_ = memory;
  pixels_an_item_ = context.info().is_processor ? 64 : 4;
  const bool bits16 = problem.depth == BitDepth::bits16;
  program_ = opencl::Program(
      context, {opencl::remap_types_cl, opencl::remap_remap_cl},
      {std::string("-DSAMPLE=") + (bits16 ? "ushort" : "uchar"),
       opencl::define("KEPT_BITS", kept_bits(problem.depth)), opencl::define("LARGEST", bits16 ? 65535 : 255),
       opencl::define("LANCZOS", problem.interpolation == Interpolation::lanczos3 ? 1 : 0),
       opencl::define("PIXELS", pixels_an_item_)});
  kernel_ = program_.kernel("remap");
  for (int side = 0; side < sides; ++side) {
    write(queue, memory, arguments_.x[side], problem.maps[side].x);
    write(queue, memory, arguments_.y[side], problem.maps[side].y);
    write(queue, memory, arguments_.blocks[side], problem.maps[side].blocks);
  }
  opencl::write(queue, memory, arguments_.taps, sizeof(Taps), problem.taps.data());
}

void OpenclStage::enqueue(const Places& places, const opencl::Queue& queue, cl_mem target) const {
  OpenclRemap arguments = arguments_;
  std::copy_n(places.from, sides, arguments.from);
  std::copy_n(places.to, sides, arguments.to);
  std::copy_n(places.mask, sides, arguments.mask);
  std::copy_n(places.channels, sides, arguments.channels);
  constexpr std::size_t items = 32;
  const auto width = to_size(arguments.width);
  kernel_.launch(queue,
                 {opencl::groups_for(width, pixels_an_item_ * items), to_size(arguments.height), sides},
                 {items}, memory_, target, arguments);
}

std::unique_ptr<Plan> make_opencl(const Problem& problem, const Device& device) {
  return std::make_unique<Opencl>(problem, device);
}

}  // namespace parallax::remap
