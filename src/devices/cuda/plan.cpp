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

bool copies_by_itself(const void* rows, std::ptrdiff_t stride_bytes, std::size_t row_bytes) {
  return stride_bytes >= static_cast<std::ptrdiff_t>(row_bytes) && is_pinned(rows);
}

}  // namespace

Plan::Plan(const Device& device, const ImageFormat& format, int volume_labels, bool tells_confidence)
    : context_(std::make_shared<Context>(device.index)),
      format_(format),
      volume_labels_(volume_labels),
      tells_confidence_(tells_confidence),
      workers_(device.threads),
      on_device_(reserve(layout_)),
      on_host_(reserve(host_layout_)) {
  if (volume_labels > 0)
    volume_ = layout_.reserve<float>(format.size.pixels() * static_cast<std::size_t>(volume_labels));
}

Plan::Staging Plan::reserve(ArenaLayout& layout) const {
  const std::size_t pixels = format_.size.pixels();
  const std::size_t sample = format_.depth == Depth::bits16 ? 2 : 1;
  Staging staging;
  for (auto& image : staging.images) image = layout.reserve<std::byte>(pixels * sample * most_channels);
  for (auto& mask : staging.masks) mask = layout.reserve<std::uint8_t>(pixels);
  staging.disparity = layout.reserve_plane<float>(format_.size);
  staging.status = layout.reserve_plane<std::uint8_t>(format_.size);
  if (tells_confidence_) staging.confidence = layout.reserve_plane<float>(format_.size);
  return staging;
}

DisparityMap Plan::map_in(const Staging& staging, std::byte* memory) {
  DisparityMap map{staging.disparity.in(memory), staging.status.in(memory)};
  if (staging.confidence.buffer.count > 0) map.confidence = staging.confidence.in(memory);
  return map;
}

void Plan::allocate() {
  memory_ = cuda::allocate(context_, layout_.bytes());
  pinned_ = allocate_pinned(context_, host_layout_.bytes());
  stream_ = make_stream(context_);
  for (Event* event : {&started_, &uploaded_, &matched_, &downloaded_}) *event = make_event(context_);
  copy_program_ = Program(context_, copy_map_cu, {});
  copy_map_ = copy_program_.kernel("copy_map");
  const Current current(*context_);
  prepare(stream_.get());
  graph_ = capture(context_, stream_.get(),
                   [&] { match(map_in(on_device_, device_memory()), stream_.get()); });
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

void Plan::match_staged(StreamHandle stream) const {
  check(driver().cuGraphLaunch(graph_.get(), stream), "cuGraphLaunch");
}

void Plan::run(const StereoPair& pair, const DisparityMap& map) {
  const Current current(*context_);
  const StreamHandle stream = stream_.get();
  const auto record = [&](const Event& event) {
    check(driver().cuEventRecord(event.get(), stream), "cuEventRecord");
  };
  record(started_);
  const StereoPair staged = upload(pair);
  record(uploaded_);
  take(staged, stream);
  match_staged(stream);
  record(matched_);
  const DisparityMap found = map_in(on_device_, device_memory()), through = map_in(on_host_, host_memory());
  download(found.disparity, through.disparity, map.disparity);
  download(found.status, through.status, map.status);
  if (!map.confidence.empty()) download(found.confidence, through.confidence, map.confidence);
  record(downloaded_);
  check(driver().cuStreamSynchronize(stream), "cuStreamSynchronize");
  unstage(through.disparity, map.disparity);
  unstage(through.status, map.status);
  if (!map.confidence.empty()) unstage(through.confidence, map.confidence);
  note_stages();
}

void Plan::note_stages() {
  stage_times.clear();
  const auto note = [&](const char* stage, const Event& from, const Event& to) {
    float milliseconds = 0;
    check(driver().cuEventElapsedTime(&milliseconds, from.get(), to.get()), "cuEventElapsedTime");
    stage_times.push_back({stage, static_cast<double>(milliseconds)});
  };
  note("upload", started_, uploaded_);
  note("match", uploaded_, matched_);
  note("download", matched_, downloaded_);
}

void Plan::enqueue(const StereoPair& pair, const DisparityMap& map, void* stream) {
  const Current current(*context_);
  const auto on = static_cast<StreamHandle>(stream);
  stage_times.clear();
  if (volume_labels_ > 0) copy_volume(pair.costs, device_memory_type, on);
  take(pair, on);
  match_staged(on);
  const DisparityMap found = map_in(on_device_, device_memory());
  constexpr unsigned block = 128;
  const Size size = format_.size;
  copy_map_.launch(on,
                   {static_cast<unsigned>(size.height), blocks(static_cast<std::size_t>(size.width), block)},
                   {block}, 0, found.disparity.data, found.status.data, found.confidence.data, size.width,
                   static_cast<long long>(found.disparity.stride),
                   static_cast<long long>(found.status.stride), map.disparity.data,
                   static_cast<long long>(map.disparity.stride), map.status.data,
                   static_cast<long long>(map.status.stride), map.confidence.data,
                   static_cast<long long>(map.confidence.stride));
}

StereoPair Plan::upload(const StereoPair& pair) const {
  StereoPair staged = pair;
  ImageView* images[] = {&staged.left, &staged.right};
  View<const std::uint8_t>* masks[] = {&staged.left_mask, &staged.right_mask};
  for (int side = 0; side < 2; ++side) {
    ImageView& image = *images[side];
    const std::size_t bytes = row_bytes(image);
    std::byte* to = at(on_device_.images[side]);
    upload_rows(image.data, image.stride_bytes, bytes, on_host_.images[side].in(host_memory()), to);
    image.data = to;
    image.stride_bytes = static_cast<std::ptrdiff_t>(bytes);
    View<const std::uint8_t>& mask = *masks[side];
    if (mask.empty()) continue;
    std::uint8_t* mask_to = at(on_device_.masks[side]);
    upload_rows(mask.data, mask.stride, static_cast<std::size_t>(mask.size.width),
                reinterpret_cast<std::byte*>(on_host_.masks[side].in(host_memory())),
                reinterpret_cast<std::byte*>(mask_to));
    mask = {mask_to, mask.size};
  }
  if (volume_labels_ > 0) copy_volume(pair.costs, host_memory_type, stream_.get());
  return staged;
}

// Rows without gaps on the device.
void Plan::upload_rows(const void* rows, std::ptrdiff_t stride_bytes, std::size_t row_bytes, std::byte* through,
                       std::byte* to) const {
  const auto height = static_cast<std::size_t>(format_.size.height);
  if (copies_by_itself(rows, stride_bytes, row_bytes)) {
    Copy2D copy{};
    copy.source_type = host_memory_type;
    copy.source_host = rows;
    copy.source_pitch = static_cast<std::size_t>(stride_bytes);
    copy.target_type = device_memory_type;
    copy.target_device = address_of(to);
    copy.target_pitch = row_bytes;
    copy.width_bytes = row_bytes;
    copy.height = height;
    check(driver().cuMemcpy2DAsync_v2(&copy, stream_.get()),
          "cuMemcpy2DAsync of " + std::to_string(height) + " rows to the GPU");
    return;
  }
  copy_rows(static_cast<const std::byte*>(rows), stride_bytes, through, static_cast<std::ptrdiff_t>(row_bytes),
            row_bytes);
  check(driver().cuMemcpyHtoDAsync_v2(address_of(to), through, row_bytes * height, stream_.get()),
        "cuMemcpyHtoDAsync of " + std::to_string(row_bytes * height) + " bytes");
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
void Plan::download(const View<T>& from, const View<T>& through, const View<T>& to) const {
  const std::size_t bytes = static_cast<std::size_t>(from.size.width) * sizeof(T);
  const auto stride_bytes = to.stride * static_cast<std::ptrdiff_t>(sizeof(T));
  const bool direct = copies_by_itself(to.data, stride_bytes, bytes);
  Copy2D copy{};
  copy.source_type = device_memory_type;
  copy.source_device = address_of(from.data);
  copy.source_pitch = static_cast<std::size_t>(from.stride) * sizeof(T);
  copy.target_type = host_memory_type;
  copy.target_host = direct ? to.data : through.data;
  copy.target_pitch = static_cast<std::size_t>(direct ? to.stride : through.stride) * sizeof(T);
  copy.width_bytes = bytes;
  copy.height = static_cast<std::size_t>(from.size.height);
  check(driver().cuMemcpy2DAsync_v2(&copy, stream_.get()),
        "cuMemcpy2DAsync of " + std::to_string(copy.height) + " rows from the GPU");
}

template <class T>
void Plan::unstage(const View<T>& from, const View<T>& to) const {
  const std::size_t bytes = static_cast<std::size_t>(from.size.width) * sizeof(T);
  const auto size = static_cast<std::ptrdiff_t>(sizeof(T));
  if (copies_by_itself(to.data, to.stride * size, bytes)) return;
  copy_rows(reinterpret_cast<const std::byte*>(from.data), from.stride * size,
            reinterpret_cast<std::byte*>(to.data), to.stride * size, bytes);
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
