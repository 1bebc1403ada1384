// SPDX-License-Identifier: Apache-2.0
// A fixture for tests of the cuda device: a GPU, which may be the emulated one, and images in its memory.
#pragma once

#include <memory>
#include <vector>

#include "devices/cuda/context.h"
#include "devices/device_test.h"
#include "emulated_gpu/controls.h"

namespace parallax::test {

// Null if the GPU is a real one, or there is none.
inline const emulated::Controls* emulated() {
  static const emulated::Controls found = emulated::find_controls();
  return found.fail_call != nullptr && found.compilations != nullptr ? &found : nullptr;
}

#define PARALLAX_NEEDS_EMULATED_GPU() \
  if (emulated() == nullptr) GTEST_SKIP() << "needs the emulated GPU: see tests/emulated_gpu/README.md"

// Limits settings of the emulated GPU to one test.
class GpuTest : public testing::Test {
 protected:
  void SetUp() override {
    const cuda::Gpus gpus = cuda::find_gpus();
    if (gpus.list.empty()) GTEST_SKIP() << "no GPU: " << gpus.none_because;
    count_ = static_cast<int>(gpus.list.size());
    first_ = gpus.list.front();
  }

  void TearDown() override {
    if (emulated() == nullptr || count_ == 0) return;
    emulated()->set_lazy(0);
    emulated()->set_managed_memory(1);
    emulated()->set_device_count(count_);
    emulated()->set_architecture(first_.architecture);
    emulated()->set_memory(first_.memory_bytes);
  }

  bool has_second_gpu() const { return count_ > 1; }

 private:
  int count_ = 0;
  cuda::Gpu first_;
};

inline Device gpu(int index = 0) {
  Device device{DeviceKind::cuda};
  device.index = index;
  return device;
}

// Copies of a pair and a map in the memory of the device, with other strides than on the host.
class DeviceImages {
 public:
  explicit DeviceImages(const cuda::SharedContext& context) : context_(context) {}

  // Waits for the copy, because other streams may read it.
  template <class T>
  T* copy(const T* from, std::size_t count) {
    T* to = reserve<T>(count);
    check(cuda::driver().cuMemcpyHtoDAsync_v2(reinterpret_cast<cuda::DeviceAddress>(to), from,
                                              count * sizeof(T), nullptr));
    check(cuda::driver().cuStreamSynchronize(nullptr));
    return to;
  }

  template <class T>
  T* reserve(std::size_t count) {
    memory_.push_back(cuda::allocate(context_, count * sizeof(T)));
    return reinterpret_cast<T*>(memory_.back().get());
  }

  // Rows lie `gap` elements further apart than they are wide.
  template <class T>
  View<T> plane(Size size, int gap) {
    const int stride = size.width + gap;
    return {reserve<T>(static_cast<std::size_t>(stride) * static_cast<std::size_t>(size.height)), size,
            stride * static_cast<std::ptrdiff_t>(sizeof(T))};
  }

  ImageView image(const ImageView& view) {
    const auto height = static_cast<std::size_t>(view.format.size.height);
    ImageView result = view;
    result.data =
        copy(static_cast<const std::byte*>(view.data), static_cast<std::size_t>(view.stride_bytes) * height);
    return result;
  }

  View<const std::uint8_t> mask(View<const std::uint8_t> view) {
    if (view.empty()) return view;
    return {
        copy(view.data, static_cast<std::size_t>(view.stride()) * static_cast<std::size_t>(view.size.height)),
        view.size, view.stride_bytes};
  }

  StereoPair pair(StereoPair pair) {
    pair.left = image(pair.left);
    pair.right = image(pair.right);
    pair.left_mask = mask(pair.left_mask);
    pair.right_mask = mask(pair.right_mask);
    return pair;
  }

  DisparityMap map(Size size, bool with_confidence, bool with_row_offsets = false) {
    DisparityMap map{plane<float>(size, 3), plane<std::uint8_t>(size, 5)};
    if (with_confidence) map.confidence = plane<float>(size, 1);
    if (with_row_offsets) map.row_offset = plane<float>(size, 7);
    return map;
  }

  Result result(const DisparityMap& map) const {
    Result result(map.disparity.size, 0xEE, !map.confidence.empty(), !map.row_offset.empty());
    fetch(map.disparity, result.disparity);
    fetch(map.status, result.status);
    if (!map.confidence.empty()) fetch(map.confidence, result.confidence);
    if (!map.row_offset.empty()) fetch(map.row_offset, result.row_offset);
    return result;
  }

 private:
  template <class T>
  void fetch(const View<T>& from, Plane<T>& to) const {
    for (int y = 0; y < from.size.height; ++y)
      check(cuda::driver().cuMemcpyDtoHAsync_v2(to.row(y), reinterpret_cast<cuda::DeviceAddress>(from.row(y)),
                                                static_cast<std::size_t>(from.size.width) * sizeof(T),
                                                nullptr));
    check(cuda::driver().cuStreamSynchronize(nullptr));
  }

  static void check(cuda::Result result) { cuda::check(result, "copying for a test"); }

  cuda::SharedContext context_;
  std::vector<cuda::DeviceMemory> memory_;
};

inline Result run_on_device(Matcher& matcher, const StereoPair& pair, bool with_confidence) {
  const auto context = std::make_shared<cuda::Context>(0);
  const cuda::Current current(*context);
  DeviceImages images(context);
  StereoPair there = images.pair(pair);
  const Size size = pair.left.format.size;
  if (pair.costs.data != nullptr)
    there.costs.data = images.copy(pair.costs.data, static_cast<std::size_t>(pair.costs.stride()) *
                                                        static_cast<std::size_t>(size.height));
  const DisparityMap map = images.map(size, with_confidence, with_confidence && matcher.has_row_offsets());
  matcher.enqueue(there, map, nullptr);
  return images.result(map);
}

}  // namespace parallax::test
