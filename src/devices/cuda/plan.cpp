#include "devices/cuda/plan.h"

#include <algorithm>
#include <cstring>

#include "devices/cuda/kernel_sources.h"

namespace parallax::cuda {
namespace {

constexpr int most_channels = 3;

std::size_t row_bytes(const ImageView& image) {
  return static_cast<std::size_t>(image.format.size.width) * static_cast<std::size_t>(image.channels) *
         (image.format.depth == Depth::bits16 ? 2 : 1);
}

DeviceAddress address_of(const void* memory) {
  return reinterpret_cast<DeviceAddress>(memory);
}

}  // namespace

Plan::Plan(const Device& device, const ImageFormat& format, int volume_labels, bool tells_confidence)
    : context_(std::make_shared<Context>(device.index)),
      format_(format),
      volume_labels_(volume_labels),
      tells_confidence_(tells_confidence),
      workers_(device.threads) {
  const std::size_t pixels = format.size.pixels();
  const std::size_t sample = format.depth == Depth::bits16 ? 2 : 1;
  for (auto& image : staged_images_) image = host_layout_.reserve<std::byte>(pixels * sample * most_channels);
  for (auto& mask : staged_masks_) mask = host_layout_.reserve<std::uint8_t>(pixels);
  reserve_map(staged_map_, host_layout_);
  reserve_map(map_, layout_);
  if (volume_labels > 0)
    volume_ = layout_.reserve<float>(pixels * static_cast<std::size_t>(volume_labels));
}

void Plan::reserve_map(Map& map, ArenaLayout& layout) const {
  map.disparity = layout.reserve_plane<float>(format_.size);
  map.status = layout.reserve_plane<std::uint8_t>(format_.size);
  if (tells_confidence_) map.confidence = layout.reserve_plane<float>(format_.size);
}

DisparityMap Plan::map_in(const Map& map, std::byte* memory) const {
  DisparityMap views{map.disparity.in(memory), map.status.in(memory)};
  if (tells_confidence_) views.confidence = map.confidence.in(memory);
  return views;
}

void Plan::allocate() {
  memory_ = cuda::allocate(context_, layout_.bytes());
  pinned_ = allocate_pinned(context_, host_layout_.bytes());
  stream_ = make_stream(context_);
  for (Event* event : {&started_, &taken_, &matched_, &finished_}) *event = make_event(context_);
  copy_program_ = Program(context_, copy_map_cu, {});
  copy_map_ = copy_program_.kernel("copy_map");
  const Current current(*context_);
  prepare(stream_.get());
  graph_ = capture(context_, stream_.get(), [&] { match(map_in(map_, device_memory()), stream_.get()); });
}

void Plan::fill(DeviceAddress to, const void* values, std::size_t bytes, StreamHandle stream) const {
  check(driver().cuMemcpyHtoDAsync_v2(to, values, bytes, stream),
        "cuMemcpyHtoDAsync of " + std::to_string(bytes) + " bytes");
  check(driver().cuStreamSynchronize(stream), "cuStreamSynchronize");
}

void Plan::clear(DeviceAddress first, std::size_t bytes, StreamHandle stream) const {
  check(driver().cuMemsetD8Async(first, 0, bytes, stream),
        "cuMemsetD8Async of " + std::to_string(bytes) + " bytes");
}

// Kernels read the images over the bus, and write the map there: no copy is waited for.
void Plan::run(const StereoPair& pair, const DisparityMap& map) {
  const Current current(*context_);
  const StreamHandle stream = stream_.get();
  const auto record = [&](const Event& event) {
    check(driver().cuEventRecord(event.get(), stream), "cuEventRecord");
  };
  const StereoPair from = within_reach(pair);
  const DisparityMap to = within_reach(map);
  record(started_);
  if (volume_labels_ > 0) copy_volume(pair.costs, host_memory_type, stream);
  take(from, stream);
  record(taken_);
  check(driver().cuGraphLaunch(graph_.get(), stream), "cuGraphLaunch");
  record(matched_);
  copy_out(to, stream);
  record(finished_);
  check(driver().cuStreamSynchronize(stream), "cuStreamSynchronize");
  unstage(to.disparity, map.disparity);
  unstage(to.status, map.status);
  unstage(to.confidence, map.confidence);
  note_stages();
}

void Plan::note_stages() {
  stage_times.clear();
  const auto note = [&](const char* stage, const Event& from, const Event& to) {
    float milliseconds = 0;
    check(driver().cuEventElapsedTime(&milliseconds, from.get(), to.get()), "cuEventElapsedTime");
    stage_times.push_back({stage, static_cast<double>(milliseconds)});
  };
  note("upload", started_, taken_);
  note("match", taken_, matched_);
  note("download", matched_, finished_);
}

void Plan::enqueue(const StereoPair& pair, const DisparityMap& map, void* stream) {
  const Current current(*context_);
  const auto on = static_cast<StreamHandle>(stream);
  stage_times.clear();
  if (volume_labels_ > 0) copy_volume(pair.costs, device_memory_type, on);
  take(pair, on);
  check(driver().cuGraphLaunch(graph_.get(), on), "cuGraphLaunch");
  copy_out(map, on);
}

void Plan::copy_out(const DisparityMap& to, StreamHandle stream) const {
  const DisparityMap from = map_in(map_, device_memory());
  constexpr unsigned block = 128;
  const Size size = format_.size;
  copy_map_.launch(stream,
                   {static_cast<unsigned>(size.height), blocks(static_cast<std::size_t>(size.width), block)},
                   {block}, 0, from.disparity.data, from.status.data, from.confidence.data, size.width,
                   static_cast<long long>(from.disparity.stride), static_cast<long long>(from.status.stride),
                   to.disparity.data, static_cast<long long>(to.disparity.stride), to.status.data,
                   static_cast<long long>(to.status.stride), to.confidence.data,
                   static_cast<long long>(to.confidence.stride));
}

StereoPair Plan::within_reach(const StereoPair& pair) const {
  StereoPair result = pair;
  ImageView* images[] = {&result.left, &result.right};
  View<const std::uint8_t>* masks[] = {&result.left_mask, &result.right_mask};
  for (int side = 0; side < 2; ++side) {
    ImageView& image = *images[side];
    if (!is_pinned(image.data)) {
      const std::size_t bytes = row_bytes(image);
      std::byte* to = staged_images_[side].in(host_memory());
      copy_rows(static_cast<const std::byte*>(image.data), image.stride_bytes, to,
                static_cast<std::ptrdiff_t>(bytes), bytes);
      image.data = to;
      image.stride_bytes = static_cast<std::ptrdiff_t>(bytes);
    }
    View<const std::uint8_t>& mask = *masks[side];
    if (mask.empty() || is_pinned(mask.data)) continue;
    std::uint8_t* to = staged_masks_[side].in(host_memory());
    copy_rows(reinterpret_cast<const std::byte*>(mask.data), mask.stride, reinterpret_cast<std::byte*>(to),
              mask.size.width, static_cast<std::size_t>(mask.size.width));
    mask = {to, mask.size};
  }
  return result;
}

template <class T>
View<T> Plan::within_reach(const View<T>& view, const PlaneBuffer<T>& otherwise) const {
  return view.empty() || is_pinned(view.data) ? view : otherwise.in(host_memory());
}

DisparityMap Plan::within_reach(const DisparityMap& map) const {
  return {within_reach(map.disparity, staged_map_.disparity), within_reach(map.status, staged_map_.status),
          within_reach(map.confidence, staged_map_.confidence)};
}

void Plan::copy_volume(const CostVolume& costs, MemoryType type, StreamHandle stream) const {
  Copy2D copy{};
  copy.source_type = type;
  copy.source_host = costs.data;
  copy.source_device = address_of(costs.data);
  copy.source_pitch = static_cast<std::size_t>(costs.row_stride) * sizeof(float);
  copy.target_type = device_memory_type;
  copy.target_device = address_of(volume());
  copy.width_bytes = copy.target_pitch =
      static_cast<std::size_t>(format_.size.width) * static_cast<std::size_t>(volume_labels_) * sizeof(float);
  copy.height = static_cast<std::size_t>(format_.size.height);
  check(driver().cuMemcpy2DAsync_v2(&copy, stream),
        "cuMemcpy2DAsync of " + std::to_string(copy.width_bytes * copy.height) + " bytes of data costs");
}

template <class T>
void Plan::unstage(const View<T>& from, const View<T>& to) const {
  if (from.data == to.data) return;
  const auto size = static_cast<std::ptrdiff_t>(sizeof(T));
  copy_rows(reinterpret_cast<const std::byte*>(from.data), from.stride * size,
            reinterpret_cast<std::byte*>(to.data), to.stride * size,
            static_cast<std::size_t>(from.size.width) * sizeof(T));
}

void Plan::copy_rows(const std::byte* from, std::ptrdiff_t from_stride, std::byte* to, std::ptrdiff_t to_stride,
                     std::size_t row_bytes) const {
  const int rows = format_.size.height;
  const auto copy = [&](int first, int last) {
    for (int y = first; y < last; ++y) std::memcpy(to + y * to_stride, from + y * from_stride, row_bytes);
  };
  // Below, one thread is done before others have begun.
  constexpr std::size_t worth_sharing = std::size_t{1} << 20;
  if (row_bytes * static_cast<std::size_t>(rows) < worth_sharing) return copy(0, rows);
  for_row_ranges(workers_, rows, [&](int first, int last, int) { copy(first, last); });
}

}  // namespace parallax::cuda
