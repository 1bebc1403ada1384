// SPDX-License-Identifier: Apache-2.0
#include "devices/cuda/plan.h"

#include "core/checks.h"
#include "core/copy_rows.h"
#include "devices/cuda/kernel_sources.h"

namespace parallax::cuda {
namespace {

constexpr int max_channels = 3;
// Threads of a block of the kernels that copy maps, and the columns of a thread of copy_map().
constexpr unsigned copy_block = 128, copy_columns = 4;

DeviceAddress address_of(const void* memory) {
  return reinterpret_cast<DeviceAddress>(memory);
}

// A 16-bit read from an odd address is a GPU fault, after which no kernel of this process runs.
bool has_aligned_rows(const ImageView& image) {
  const DeviceAddress bits = address_of(image.data) | static_cast<DeviceAddress>(image.stride_bytes);
  return image.format.depth == BitDepth::bits8 || bits % 2 == 0;
}

template <class T>
void check_aligned(const char* which, const View<T>& view) {
  if (!is_aligned(view))
    refuse(std::string(which) + " is not at a multiple of " + std::to_string(sizeof(T)) +
           " bytes: give an aligned address");
}

}  // namespace

void check_aligned(const char* which, const ImageView& image) {
  if (has_aligned_rows(image)) return;
  refuse(std::string(which) +
         " has 16 bits per channel, but rows at odd addresses: give it "
         "an even address and an even stride");
}

Plan::Plan(const Device& device, const ImageFormat& format, int volume_labels, bool tells_confidence,
           bool tells_row_offsets)
    : context_(std::make_shared<Context>(device.index)),
      format_(format),
      volume_labels_(volume_labels),
      tells_confidence_(tells_confidence),
      tells_row_offsets_(tells_row_offsets),
      workers_(copying_workers(device.threads, format.size)) {
  const std::size_t pixels = format.size.pixels();
  const std::size_t sample = bytes_per_sample(format.depth);
  for (auto& image : staged_images_) image = host_layout_.reserve<std::byte>(pixels * sample * max_channels);
  for (auto& mask : staged_masks_) mask = host_layout_.reserve<std::uint8_t>(pixels);
  staged_map_ = MapBuffers(format.size, tells_confidence, tells_row_offsets, host_layout_);
  map_ = MapBuffers(format.size, tells_confidence, tells_row_offsets, layout_);
  if (volume_labels > 0) volume_ = layout_.reserve<float>(pixels * static_cast<std::size_t>(volume_labels));
}

void Plan::allocate() {
  memory_ = cuda::allocate(context_, layout_.bytes());
  pinned_ = allocate_pinned(context_, host_layout_.bytes());
  stream_ = make_stream(context_);
  matched_ = make_event(context_, sleeping_event | untimed_event);
  copy_program_ = Program(context_, copy_map_cu, {});
  copy_map_ = copy_program_.kernel("copy_map");
  copy_finite_map_ = copy_program_.kernel("copy_finite_map");
  const Current current(*context_);
  // Kernels read the zeros around images and levels, and never write them.
  check(driver().cuMemsetD8Async(memory_.get(), 0, layout_.bytes(), stream_.get()),
        "cuMemsetD8Async of " + std::to_string(layout_.bytes()) + " bytes");
  sparse_.allocate(context_, stream_.get());
  prepare(stream_.get());
  DisparityMap map = staged_map_.in(host_memory());
  if (tells_confidence_) prepare_run(map);
  map.confidence = {};
  prepare_run(map);
  // The first match may be enqueued on another stream, which does not wait for this one.
  check(driver().cuStreamSynchronize(stream_.get()), "cuStreamSynchronize");
}

void Plan::prepare_run(const DisparityMap& map) {
  Recorded& recorded = map.confidence.empty() ? without_confidence_ : with_confidence_;
  recorded.graph =
      capture(context_, stream_.get(), [&] { record(staged_pair(), map, recorded.changing, stream_.get()); });
}

// Kernels read the images and write the map over the bus, so no copy has to be waited for.
void Plan::run(const StereoPair& pair, const DisparityMap& map) {
  wait(0);
  const Current current(*context_);
  detail::StageClock clock(stage_times);
  const StereoPair from = within_reach(pair);
  const RunningMap running{staged_map_.within_reach(map, host_memory()), map};
  clock.finish("upload");
  launch_from_host(from, running.from);
  wait_for_match();
  clock.finish("match");
  running.copy(workers_);
  clock.finish("download");
}

void Plan::start(const StereoPair& pair, const DisparityMap& map) {
  wait(0);
  const Current current(*context_);
  stage_times.clear();
  const RunningMap running{staged_map_.within_reach(map, host_memory()), map};
  launch_from_host(within_reach(pair), running.from);
  running_ = running;
}

void Plan::wait(int most_running) {
  if (!running_ || most_running > 0) return;
  const Current current(*context_);
  const RunningMap running = *running_;
  running_.reset();
  wait_for_match();
  running.copy(workers_);
}

void Plan::launch_from_host(const StereoPair& pair, const DisparityMap& map) {
  try {
    launch(pair, map, host_memory_type, stream_.get());
  } catch (...) {
    driver().cuStreamSynchronize(stream_.get());
    throw;
  }
}

void Plan::enqueue(const StereoPair& pair, const DisparityMap& map, void* stream) {
  check_aligned("left image", pair.left);
  check_aligned("right image", pair.right);
  check_aligned("disparity map", map.disparity);
  check_aligned("confidence map", map.confidence);
  check_aligned("map of row offsets", map.row_offset);
  const Current current(*context_);
  stage_times.clear();
  launch(pair, map, device_memory_type, static_cast<StreamHandle>(stream));
}

// The graph copies the plan's own map onto itself.
void Plan::enqueue_finite(const StereoPair& pair, const FiniteMap& to, void* stream) {
  check_aligned("disparity map", to.fixed);
  check_aligned("disparity map", to.disparity);
  const Current current(*context_);
  DisparityMap own = map_.in(device_memory());
  own.confidence = own.row_offset = {};
  enqueue(pair, own, stream);
  copy_finite_map_.launch_pixels(static_cast<StreamHandle>(stream), format_.size, copy_block,
                                 own.disparity.data, stride_of(own.disparity), format_.size.width, to.none,
                                 to.fixed.data, stride_of(to.fixed), to.disparity.data,
                                 stride_of(to.disparity));
  if (!captures(static_cast<StreamHandle>(stream))) end_match(static_cast<StreamHandle>(stream));
}

// The next match waits for what is on the stream until now. Nothing can wait for a stream that is being
// captured.
void Plan::end_match(StreamHandle stream) const {
  check(driver().cuEventRecord(matched_.get(), stream), "cuEventRecord");
}

// Waits for the last match, which must have run on the plan's own stream.
void Plan::wait_for_match() const {
  if (sleeps_)
    synchronise(matched_.get(), stream_.get());
  else
    synchronise(stream_.get());
}

void Plan::record(const StereoPair& pair, const DisparityMap& map, ChangingLaunches& changing,
                  StreamHandle stream) {
  changing.record(stream);
  take(pair, changing);
  DisparityMap own = map_.in(device_memory());
  if (map.confidence.empty()) own.confidence = {};
  match(own, stream);
  copy_out(map, changing);
}

void Plan::launch(const StereoPair& pair, const DisparityMap& map, MemoryType type_of_costs,
                  StreamHandle stream) {
  // A graph cannot be launched into a stream that is being captured: its launches are recorded instead. Nor
  // can such a stream wait for the last match, which is not captured.
  if (captures(stream)) {
    ChangingLaunches fixed;
    if (volume_labels_ > 0) copy_volume(pair.costs, type_of_costs, stream);
    return record(pair, map, fixed, stream);
  }
  check(driver().cuStreamWaitEvent(stream, matched_.get(), 0), "cuStreamWaitEvent");
  if (volume_labels_ > 0) copy_volume(pair.costs, type_of_costs, stream);
  Recorded& recorded = map.confidence.empty() ? without_confidence_ : with_confidence_;
  const GraphExecHandle graph = recorded.graph.executable.get();
  recorded.changing.change(graph);
  take(pair, recorded.changing);
  copy_out(map, recorded.changing);
  check(driver().cuGraphLaunch(graph, stream), "cuGraphLaunch");
  end_match(stream);
}

void Plan::copy_out(const DisparityMap& to, ChangingLaunches& launches) const {
  const DisparityMap from = map_.in(device_memory());
  copy_map_.launch(launches, grid_of_rows(format_.size, copy_block * copy_columns), {copy_block}, 0,
                   from.disparity.data, from.status.data, from.confidence.data, from.row_offset.data,
                   format_.size.width, stride_of(from.disparity), stride_of(from.status), to.disparity.data,
                   stride_of(to.disparity), to.status.data, stride_of(to.status), to.confidence.data,
                   stride_of(to.confidence), to.row_offset.data, stride_of(to.row_offset));
}

// Gray images stand in until a run provides the pair.
StereoPair Plan::staged_pair() const {
  const auto image = [&](int side) {
    const std::ptrdiff_t stride_bytes =
        format_.size.width * static_cast<int>(bytes_per_sample(format_.depth));
    return ImageView(staged_images_[side].in(host_memory()), format_, 1, stride_bytes);
  };
  return {image(0), image(1)};
}

StereoPair Plan::within_reach(const StereoPair& pair) const {
  StereoPair result = pair;
  ImageView* images[] = {&result.left, &result.right};
  View<const std::uint8_t>* masks[] = {&result.left_mask, &result.right_mask};
  PlaneCopies copies(format_.size.height);
  for (int side = 0; side < 2; ++side) {
    ImageView& image = *images[side];
    if (!is_pinned(image.data) || !has_aligned_rows(image)) {
      const std::size_t bytes = row_bytes(image);
      const Rows to{staged_images_[side].in(host_memory()), static_cast<std::ptrdiff_t>(bytes)};
      copies.add({static_cast<const std::byte*>(image.data), image.stride_bytes}, to, bytes);
      image.data = to.data;
      image.stride_bytes = to.stride_bytes;
    }
    View<const std::uint8_t>& mask = *masks[side];
    if (mask.empty() || is_pinned(mask.data)) continue;
    std::uint8_t* to = staged_masks_[side].in(host_memory());
    copies.add(const_rows_of(mask), {reinterpret_cast<std::byte*>(to), mask.size.width},
               static_cast<std::size_t>(mask.size.width));
    mask = {to, mask.size};
  }
  copies.run(workers_);
  return result;
}

// Copies all rows at once, unless rows overlap, have a negative stride, or lie farther apart than the driver
// accepts.
void Plan::copy_volume(const CostVolume& costs, MemoryType type, StreamHandle stream) const {
  Copy2D copy{};
  copy.source_type = type;
  copy.target_type = device_memory_type;
  copy.width_bytes = copy.source_pitch = copy.target_pitch =
      static_cast<std::size_t>(format_.size.width) * static_cast<std::size_t>(volume_labels_) * sizeof(float);
  const auto copy_from = [&](int y, int rows) {
    copy.source_host = costs.at(0, y);
    copy.source_device = address_of(costs.at(0, y));
    copy.target_device = address_of(volume()) + static_cast<std::size_t>(y) * copy.target_pitch;
    copy.height = static_cast<std::size_t>(rows);
    const Result result = driver().cuMemcpy2DAsync_v2(&copy, stream);
    if (result == 0) return;
    check(result,
          "cuMemcpy2DAsync of " + std::to_string(copy.width_bytes * copy.height) + " bytes of data costs");
  };
  constexpr std::ptrdiff_t max_apart = 0x7FFFFFFF;
  const std::ptrdiff_t stride_bytes = costs.stride_bytes;
  const bool in_order =
      stride_bytes >= static_cast<std::ptrdiff_t>(copy.width_bytes) && stride_bytes <= max_apart;
  if (in_order) copy.source_pitch = static_cast<std::size_t>(stride_bytes);
  if (in_order) return copy_from(0, format_.size.height);
  for (int y = 0; y < format_.size.height; ++y) copy_from(y, 1);
}

}  // namespace parallax::cuda
