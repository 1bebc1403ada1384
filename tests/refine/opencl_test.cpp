// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "devices/opencl/plan.h"
#include "opencl_device.h"
#include "refine/maps.h"
#include "refine/opencl_pipeline.h"
#include "support.h"

namespace parallax::test {
namespace {

using opencl::check;
using opencl::driver;

class OpenclRefineTest : public testing::TestWithParam<RefineCase> {
 protected:
  void SetUp() override { PARALLAX_NEEDS_OPENCL(); }

  struct Place {
    Buffer<float> disparity, right;
    Buffer<std::uint8_t> status;
    Buffer<std::byte> left, right_image;
  };

  // Tests the kernels for processors, then those for GPUs.
  template <class Test>
  void on_each_device(const Test& test) {
    for (const opencl::Disguise disguise : {opencl::Disguise(nullptr), opencl::Disguise(as_gpu)}) {
      if (disguise != nullptr && !why_no_gpu_kernels().empty()) continue;
      const Disguised disguised(disguise);
      context_ = std::make_unique<opencl::Context>(0, 0);
      queue_ = opencl::Queue(*context_);
      test(disguise == nullptr ? "processor" : "GPU");
    }
  }

  // Runs twice, because the second run finds the memory in the state that the first one left.
  void expect_as_on_cpu(const RefineParameters& parameters, Size size, const Guide& guide,
                        const std::string& device) {
    const Map map = random_map(std::get<Picture>(GetParam()), size, 1), right = right_of(map, 2);
    const Guide right_guide = right_image_of(guide);
    const std::vector<std::byte> image = guide.bytes(), right_image = right_guide.bytes();
    ArenaLayout layout;
    const Place place{layout.reserve<float>(map.disparities.size()),
                      layout.reserve<float>(map.disparities.size()),
                      layout.reserve<std::uint8_t>(map.statuses.size()),
                      layout.reserve<std::byte>(image.size()), layout.reserve<std::byte>(image.size())};
    refine::OpenclPipeline pipeline(parameters, guide.format, layout);
    const opencl::Memory memory = opencl::allocate(*context_, layout.bytes(), 0);
    clear(memory, layout.bytes());
    pipeline.prepare(*context_, queue_, memory.get());
    const opencl::Pair pair{{opencl::offset(place.left), opencl::offset(place.right_image)},
                            {-1, -1},
                            {guide.channels, guide.channels},
                            -1};
    const opencl::Map there{opencl::offset(place.disparity),
                            map.stride(),
                            opencl::offset(place.status),
                            map.status_stride(),
                            -1,
                            -1,
                            size.width,
                            size.height};
    const PlaneBuffer<float> right_plane{place.right, size, right.stride()};
    const Map expected =
        refined_on_cpu(parameters, {guide.at(image.data()), right_guide.at(right_image.data())}, map, right);
    upload(memory, place.left, image);
    upload(memory, place.right_image, right_image);
    for (int run = 0; run < 2; ++run) {
      upload(memory, place.disparity, map.disparities);
      upload(memory, place.right, right.disparities);
      upload(memory, place.status, map.statuses);
      queue_.start_stages();
      pipeline.enqueue(pair, there, right_plane, queue_);
      Map result = map;
      download(result.disparities, memory, place.disparity);
      download(result.statuses, memory, place.status);
      EXPECT_EQ(first_difference(result, expected), "")
          << size.width << "×" << size.height << ", " << guide.channels << " channels of "
          << static_cast<int>(guide.format.depth) << " bits, on a " << device << ", run " << run;
    }
  }

  void clear(const opencl::Memory& memory, std::size_t bytes) {
    const cl_uint zero = 0;
    check(driver().clEnqueueFillBuffer(queue_.handle(), memory.get(), &zero, sizeof zero, 0, bytes, 0,
                                       nullptr, nullptr),
          "clearing");
  }

  template <class T>
  void upload(const opencl::Memory& memory, const Buffer<T>& to, const std::vector<T>& values) {
    check(driver().clEnqueueWriteBuffer(queue_.handle(), memory.get(), CL_TRUE, to.offset,
                                        values.size() * sizeof(T), values.data(), 0, nullptr, nullptr),
          "uploading");
  }

  template <class T>
  void download(std::vector<T>& values, const opencl::Memory& memory, const Buffer<T>& from) {
    check(driver().clEnqueueReadBuffer(queue_.handle(), memory.get(), CL_TRUE, from.offset,
                                       values.size() * sizeof(T), values.data(), 0, nullptr, nullptr),
          "downloading");
  }

  std::unique_ptr<opencl::Context> context_;
  opencl::Queue queue_;
};

// Each device takes every other problem, and which depends on the picture.
TEST_P(OpenclRefineTest, EqualsTheCpu) {
  on_each_device([&](const std::string& device) {
    const std::string picture = std::get<Picture>(GetParam()).name;
    std::size_t number = picture.size() + (device == "GPU" ? 1 : 0);
    for_each_refine_problem(GetParam(),
                            [&](const RefineParameters& parameters, Size size, const Guide& guide) {
                              if (number++ % 2 == 0) expect_as_on_cpu(parameters, size, guide, device);
                            });
  });
}

TEST(OpenclPipelineTest, MapTooLargeForTheSpeckleFilterIsRefused) {
  ArenaLayout layout;
  expect_refused(
      [&] {
        refine::OpenclPipeline({}, {{65536, 32768}}, layout);
      },
      "the speckle filter takes up to 2^31 − 1 pixels");
}

TEST(OpenclPipelineTest, StepsNobodyAskedForTakeNoMemory) {
  ArenaLayout layout;
  refine::OpenclPipeline(RefineParameters::none(), {{65536, 32768}}, layout);
  EXPECT_EQ(layout.bytes(), 0u);
}

INSTANTIATE_TEST_SUITE_P(, OpenclRefineTest, testing::ValuesIn(refine_cases()), name_of_refine_case);

}  // namespace
}  // namespace parallax::test
