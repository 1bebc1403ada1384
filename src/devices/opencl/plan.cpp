// SPDX-License-Identifier: Apache-2.0
#include "devices/opencl/plan.h"

#include <algorithm>
#include <array>

#include "core/copy_rows.h"

namespace parallax::opencl {
namespace {

constexpr std::size_t max_channels = 3;

std::size_t aligned(std::size_t bytes) {
  return round_up(bytes, buffer_alignment);
}

}  // namespace

Plan::Plan(const Device& device, const ImageFormat& format, bool tells_confidence, int volume_labels)
    : context_(std::make_shared<Context>(device.platform, device.index)),
      format_(format),
      tells_confidence_(tells_confidence),
      volume_labels_(volume_labels),
      workers_(copying_workers(device.threads, format.size)) {
  const std::size_t pixels = format.size.pixels();
  pair_ = layout_.reserve<std::byte>(2 * aligned(pixels * max_channels * bytes_per_sample(format.depth)) +
                                     2 * aligned(pixels) + aligned(pixels * bytes_of_costs()));
  disparity_ = layout_.reserve_plane<float>(format.size);
  status_ = layout_.reserve_plane<std::uint8_t>(format.size);
  if (tells_confidence_) confidence_ = layout_.reserve_plane<float>(format.size);
  host_bytes_ = layout_.bytes();
}

Map Plan::place(const DisparityMap& map) const {
  Map placed{offset(disparity_), stride(disparity_), offset(status_), stride(status_), -1, -1,
             format_.size.width, format_.size.height};
  if (map.confidence.empty()) return placed;
  placed.confidence = offset(confidence_);
  placed.confidence_stride = stride(confidence_);
  return placed;
}

// A plan has one buffer for everything, so the device's largest buffer is the limit. OpenCL does not report
// how much memory others use.
std::optional<detail::Plan::GpuMemory> Plan::gpu_memory() const {
  const DeviceInfo& info = context_->info();
  return GpuMemory{layout_.bytes(), std::min(info.memory_bytes, info.largest_buffer_bytes),
                   " are the most that " + info.text + " allocates at once: choose another device"};
}

void Plan::allocate() {
  memory_ = opencl::allocate(*context_, layout_.bytes(), device_memory(*context_));
  queue_ = Queue(*context_);
  if (!shares_memory()) {
    staging_ = opencl::allocate(*context_, host_bytes_, CL_MEM_ALLOC_HOST_PTR);
    staging_memory_ = map(queue_, staging_.get(), CL_MAP_READ | CL_MAP_WRITE, 0, host_bytes_);
  }
  clear();
  prepare_in_groups_that_fit();
  queue_.wait();
}

// A kernel may allow fewer work items than the device, for example if it needs many registers.
void Plan::prepare_in_groups_that_fit() {
  for (;;) {
    try {
      return prepare();
    } catch (const KernelTooLarge& refused) {
      if (refused.items() < least_group_items) throw;
      context_->limit_groups(refused.items());
    }
  }
}

// By patterns of 4 bytes: with those of 1 byte, NVIDIA's driver 580 reports success for buffers above 2 GiB,
// but never finishes, writes wrong bytes, or loses the context.
void Plan::clear() const {
  const cl_uint zero = 0;
  check(driver().clEnqueueFillBuffer(queue_.handle(), memory(), &zero, sizeof zero, 0, layout_.bytes(), 0,
                                     nullptr, nullptr),
        "clEnqueueFillBuffer of " + std::to_string(layout_.bytes()) + " bytes");
}

void Plan::run(const StereoPair& pair, const DisparityMap& map) {
  const PairShape shape{{pair.left.channels, pair.right.channels},
                        {!pair.left_mask.empty(), !pair.right_mask.empty()}};
  run_after(
      shape, [&](const Pair& placed) { upload(pair, placed); }, map);
}

void Plan::match_and_download(const Pair& pair, const DisparityMap& map, detail::StageClock& clock) {
  queue_.start_stages();
  match(pair, place(map));
  if (shares_memory())
    download_at_once(map, clock);
  else
    download_bands(map, clock);
}

void Plan::enqueue(const StereoPair&, const DisparityMap&, void*) {
  throw Error(ErrorCategory::device,
              context_->info().text + " does not take images in its own memory: use run(), or device cuda");
}

// Places the pair without gaps, in as few bytes as its images allow.
Pair Plan::place(const PairShape& shape) const {
  std::size_t end = pair_.offset;
  const auto take = [&](std::size_t size) {
    const std::size_t start = end;
    end += aligned(size);
    return static_cast<cl_long>(start);
  };
  const std::size_t pixels = format_.size.pixels();
  Pair placed{};
  for (int side = 0; side < 2; ++side) {
    placed.channels[side] = shape.channels[side];
    placed.image[side] =
        take(pixels * static_cast<std::size_t>(shape.channels[side]) * bytes_per_sample(format_.depth));
  }
  for (int side = 0; side < 2; ++side) placed.mask[side] = shape.masked[side] ? take(pixels) : -1;
  placed.costs = take(pixels * bytes_of_costs());
  return placed;
}

void Plan::upload(const StereoPair& pair, const Pair& placed) {
  // The costs come last.
  const std::size_t end = static_cast<std::size_t>(placed.costs) + format_.size.pixels() * bytes_of_costs();
  if (shares_memory()) {
    const WorkOnCall uncancelled(nullptr);  // while memory is mapped
    std::byte* mapped =
        map(queue_, memory(), CL_MAP_WRITE_INVALIDATE_REGION, pair_.offset, end - pair_.offset);
    for (int side = 0; side < 2; ++side) copy_image(pair, placed, side, mapped - pair_.offset);
    copy_masks_and_costs(pair, placed, mapped - pair_.offset);
    return unmap(queue_, memory(), mapped);
  }
  // The left image travels while the right one is copied.
  copy_image(pair, placed, 0, staging_memory_);
  write_staged(placed.image[0], placed.image[1]);
  copy_image(pair, placed, 1, staging_memory_);
  copy_masks_and_costs(pair, placed, staging_memory_);
  write_staged(placed.image[1], static_cast<cl_long>(end));
}

// Writes the bytes [first, end) of the plan's memory from staging_memory_, without waiting.
void Plan::write_staged(cl_long first, cl_long end) const {
  const auto start = static_cast<std::size_t>(first), bytes = static_cast<std::size_t>(end - first);
  check(driver().clEnqueueWriteBuffer(queue_.handle(), memory(), CL_FALSE, start, bytes,
                                      staging_memory_ + start, 0, nullptr, nullptr),
        "clEnqueueWriteBuffer of " + std::to_string(bytes) + " bytes");
}

// `memory`: the address that the pair's offsets count from.
void Plan::copy_image(const StereoPair& from, const Pair& to, int side, std::byte* memory) const {
  const ImageView& image = side == 0 ? from.left : from.right;
  const std::size_t bytes = row_bytes(image);
  copy_rows({static_cast<const std::byte*>(image.data), image.stride_bytes},
            {memory + to.image[side], static_cast<std::ptrdiff_t>(bytes)}, bytes, format_.size.height,
            workers_);
}

void Plan::copy_masks_and_costs(const StereoPair& from, const Pair& to, std::byte* memory) const {
  const View<const std::uint8_t>* masks[] = {&from.left_mask, &from.right_mask};
  const auto [width, height] = format_.size;
  for (int side = 0; side < 2; ++side)
    if (!masks[side]->empty())
      copy_rows(const_rows_of(*masks[side]), {memory + to.mask[side], width}, static_cast<std::size_t>(width),
                height, workers_);
  if (volume_labels_ == 0) return;
  const std::size_t bytes = static_cast<std::size_t>(width) * bytes_of_costs();
  copy_rows({reinterpret_cast<const std::byte*>(from.costs.data), from.costs.stride_bytes},
            {memory + to.costs, static_cast<std::ptrdiff_t>(bytes)}, bytes, height, workers_);
}

// Called as soon as the map is complete.
void Plan::finish_match(detail::StageClock& clock) {
  if (queue_.measures()) {
    queue_.add_stage_times(stage_times);
    clock.restart();
  } else {
    clock.finish("match");
  }
}

void Plan::download_at_once(const DisparityMap& map, detail::StageClock& clock) {
  const std::size_t start = disparity_.buffer.offset;
  // The confidence comes last, if there is any.
  const bool leaves_some = tells_confidence_ && map.confidence.empty();
  const std::size_t end = leaves_some ? confidence_.buffer.offset : host_bytes_;
  const WorkOnCall uncancelled(nullptr);  // while memory is mapped
  std::byte* mapped = opencl::map(queue_, memory(), CL_MAP_READ, start, end - start);
  finish_match(clock);
  copy_out(mapped - start, map, 0, format_.size.height);
  unmap(queue_, memory(), mapped);
}

// While a band of rows is copied to the caller, the next ones travel.
void Plan::download_bands(const DisparityMap& map, detail::StageClock& clock) {
  constexpr int max_bands = 4;
  const int height = format_.size.height, bands = std::min(max_bands, height);
  const auto first_row = [=](int band) {
    return static_cast<int>(static_cast<std::int64_t>(height) * band / bands);
  };
  std::array<Owned<cl_event>, max_bands> arrivals;
  for (int band = 0; band < bands; ++band)
    arrivals[static_cast<std::size_t>(band)] = read_band(map, first_row(band), first_row(band + 1));
  check(driver().clFlush(queue_.handle()), "clFlush");
  for (int band = 0; band < bands; ++band) {
    const cl_event arrival = arrivals[static_cast<std::size_t>(band)].get();
    queue_.check(driver().clWaitForEvents(1, &arrival), "clWaitForEvents");
    if (band == 0) finish_match(clock);
    copy_out(staging_memory_, map, first_row(band), first_row(band + 1));
  }
}

// Reads the rows [first, end) of the map into staging_memory_; returns the event of their arrival.
Owned<cl_event> Plan::read_band(const DisparityMap& map, int first, int end) const {
  const auto read_rows = [&](const auto& plane, std::size_t element_bytes, cl_event* arrival) {
    const std::size_t row_bytes = static_cast<std::size_t>(plane.stride) * element_bytes;
    const std::size_t start = plane.buffer.offset + static_cast<std::size_t>(first) * row_bytes;
    const std::size_t bytes = static_cast<std::size_t>(end - first) * row_bytes;
    check(driver().clEnqueueReadBuffer(queue_.handle(), memory(), CL_FALSE, start, bytes,
                                       staging_memory_ + start, 0, nullptr, arrival),
          "clEnqueueReadBuffer of " + std::to_string(bytes) + " bytes");
  };
  cl_event arrival = nullptr;
  read_rows(disparity_, sizeof(float), nullptr);
  if (!map.confidence.empty()) read_rows(confidence_, sizeof(float), nullptr);
  read_rows(status_, sizeof(std::uint8_t), &arrival);
  return {arrival, driver().clReleaseEvent};
}

void Plan::read(cl_long from, std::size_t bytes, void* to) const {
  check(driver().clEnqueueReadBuffer(queue_.handle(), memory(), CL_TRUE, static_cast<std::size_t>(from),
                                     bytes, to, 0, nullptr, nullptr),
        "clEnqueueReadBuffer of " + std::to_string(bytes) + " bytes");
}

void Plan::write(cl_long to, std::size_t bytes, const void* from) const {
  opencl::write(queue_, memory(), to, bytes, from);
}

// Copies the rows [first, end). `from`: the address that offsets of the planes count from.
void Plan::copy_out(const std::byte* from, const DisparityMap& to, int first, int end) const {
  PlaneCopies copies(end - first);
  const auto add = [&](const auto& plane, const auto& view) {
    const std::size_t element = sizeof *view.data;
    const std::size_t start = plane.buffer.offset;
    const std::ptrdiff_t stride = plane.stride * static_cast<std::ptrdiff_t>(element);
    const Rows rows = rows_of(view);
    copies.add({from + start + first * stride, stride},
               {rows.data + first * rows.stride_bytes, rows.stride_bytes},
               static_cast<std::size_t>(view.size.width) * element);
  };
  add(disparity_, to.disparity);
  add(status_, to.status);
  if (!to.confidence.empty()) add(confidence_, to.confidence);
  copies.run(workers_);
}

}  // namespace parallax::opencl
