// SPDX-License-Identifier: Apache-2.0
// Images in a GPU's memory, for tests.
#pragma once

#include "devices/cuda/context.h"
#include "support.h"

namespace parallax::test {

// Copies of what a pair and a map view, on the device, with other strides than the host's.
class DeviceImages {
 public:
  explicit DeviceImages(const cuda::SharedContext& context) : context_(context) {}

  // A copy of bytes of the host.
  template <class T>
  T* copy(const T* from, std::size_t count) {
    T* to = reserve<T>(count);
    check(cuda::driver().cuMemcpyHtoDAsync_v2(reinterpret_cast<cuda::DeviceAddress>(to), from,
                                              count * sizeof(T), nullptr));
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

  template <class T>
  void fetch(const View<T>& from, Plane<T>& to) const {
    for (int y = 0; y < from.size.height; ++y)
      check(cuda::driver().cuMemcpyDtoHAsync_v2(to.row(y), reinterpret_cast<cuda::DeviceAddress>(from.row(y)),
                                                static_cast<std::size_t>(from.size.width) * sizeof(T),
                                                nullptr));
    check(cuda::driver().cuStreamSynchronize(nullptr));
  }

 private:
  static void check(cuda::Result result) { cuda::check(result, "a test's copy"); }

  cuda::SharedContext context_;
  std::vector<cuda::DeviceMemory> memory_;
};

inline Result run_on_device(Matcher& matcher, const StereoPair& pair, bool with_confidence) {
  const auto context = std::make_shared<cuda::Context>(0);
  const cuda::Current current(*context);
  DeviceImages images(context);
  StereoPair there = pair;
  there.left = images.image(pair.left);
  there.right = images.image(pair.right);
  there.left_mask = images.mask(pair.left_mask);
  there.right_mask = images.mask(pair.right_mask);
  const Size size = pair.left.format.size;
  if (pair.costs.data != nullptr)
    there.costs.data = images.copy(pair.costs.data, static_cast<std::size_t>(pair.costs.stride()) *
                                                        static_cast<std::size_t>(size.height));
  DisparityMap map{images.plane<float>(size, 3), images.plane<std::uint8_t>(size, 5)};
  if (with_confidence) map.confidence = images.plane<float>(size, 1);
  matcher.enqueue(there, map, nullptr);
  Result result(size, 0xEE, with_confidence);
  images.fetch(map.disparity, result.disparity);
  images.fetch(map.status, result.status);
  if (with_confidence) images.fetch(map.confidence, result.confidence);
  return result;
}

}  // namespace parallax::test
