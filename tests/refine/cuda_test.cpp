// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "devices/cuda/context.h"
#include "refine/cuda_pipeline.h"
#include "refine/maps.h"
#include "support.h"

namespace parallax {
namespace {

using namespace test;

class CudaRefineTest : public ::testing::TestWithParam<RefineCase> {
 protected:
  void SetUp() override {
    const cuda::Gpus gpus = cuda::find_gpus();
    if (gpus.list.empty()) GTEST_SKIP() << gpus.none_because;
    context_ = std::make_shared<cuda::Context>(0);
    stream_ = cuda::make_stream(context_);
  }

  template <class T>
  cuda::DeviceMemory uploaded(const std::vector<T>& values) {
    cuda::DeviceMemory memory = cuda::allocate(context_, values.size() * sizeof(T));
    upload(memory, values);
    return memory;
  }

  template <class T>
  void upload(const cuda::DeviceMemory& to, const std::vector<T>& values) {
    cuda::check(cuda::driver().cuMemcpyHtoDAsync_v2(to.get(), values.data(), values.size() * sizeof(T),
                                                    stream_.get()),
                "uploading");
  }

  template <class T>
  void download(std::vector<T>& values, const cuda::DeviceMemory& from) {
    cuda::check(cuda::driver().cuMemcpyDtoHAsync_v2(values.data(), from.get(), values.size() * sizeof(T),
                                                    stream_.get()),
                "downloading");
    cuda::check(cuda::driver().cuStreamSynchronize(stream_.get()), "waiting");
  }

  // Runs twice, because the second run finds the memory in the state that the first one left.
  void expect_as_on_cpu(const RefineParameters& parameters, Size size, const Guide& guide) {
    const Map map = random_map(std::get<Picture>(GetParam()), size, 1), right = right_of(map, 2);
    const Guide right_guide = right_image_of(guide);
    const std::vector<std::byte> image = guide.bytes(), right_image = right_guide.bytes();
    const cuda::Current current(*context_);
    const cuda::DeviceMemory disparity = uploaded(map.disparities), status = uploaded(map.statuses);
    const cuda::DeviceMemory right_disparity = uploaded(right.disparities), left = uploaded(image),
                             other = uploaded(right_image);
    ArenaLayout layout;
    refine::CudaPipeline pipeline(parameters, guide.format, layout);
    const cuda::DeviceMemory arena = cuda::allocate(context_, layout.bytes() + 1);
    pipeline.prepare(context_, pointer<std::byte>(arena), stream_.get());
    cuda::ChangingLaunches launches;
    const cuda::Graph graph = cuda::capture(context_, stream_.get(), [&] {
      launches.record(stream_.get());
      pipeline.take({guide.at(pointer<std::byte>(left)), right_guide.at(pointer<std::byte>(other))},
                    launches);
      pipeline.begin();
      pipeline.enqueue(map.view_at(pointer<float>(disparity), pointer<std::uint8_t>(status)),
                       {pointer<float>(right_disparity), size,
                        right.stride() * static_cast<std::ptrdiff_t>(sizeof(float))},
                       stream_.get());
    });
    const Map expected =
        refined_on_cpu(parameters, {guide.at(image.data()), right_guide.at(right_image.data())}, map, right);
    for (int run = 0; run < 2; ++run) {
      upload(disparity, map.disparities);
      upload(status, map.statuses);
      cuda::check(cuda::driver().cuGraphLaunch(graph.executable.get(), stream_.get()), "refining");
      Map result = map;
      download(result.disparities, disparity);
      download(result.statuses, status);
      EXPECT_EQ(first_difference(result, expected), "")
          << size.width << "×" << size.height << ", run " << run;
    }
  }

 private:
  template <class T>
  static T* pointer(const cuda::DeviceMemory& memory) {
    return reinterpret_cast<T*>(memory.get());
  }

  cuda::SharedContext context_;
  cuda::Stream stream_;
};

// An emulated GPU takes every other problem, and which depends on the picture.
TEST_P(CudaRefineTest, EqualsTheCpu) {
  const bool takes_all = cuda::find_gpus().list.front().name != "Emulated GPU";
  const std::string picture = std::get<Picture>(GetParam()).name;
  std::size_t number = picture.size();
  for_each_refine_problem(GetParam(), [&](const RefineParameters& parameters, Size size, const Guide& guide) {
    if (number++ % 2 == 0 || takes_all) expect_as_on_cpu(parameters, size, guide);
  });
}

TEST(CudaPipelineTest, MapTooLargeForTheSpeckleFilterIsRefused) {
  ArenaLayout layout;
  test::expect_refused(
      [&] {
        refine::CudaPipeline({}, {{65536, 32768}}, layout);
      },
      "the speckle filter takes up to 2^31 − 1 pixels");
}

TEST(CudaPipelineTest, StepsNobodyAskedForTakeNoMemory) {
  ArenaLayout layout;
  refine::CudaPipeline(RefineParameters::none(), {{65536, 32768}}, layout);
  EXPECT_EQ(layout.bytes(), 0u);
}

INSTANTIATE_TEST_SUITE_P(, CudaRefineTest, testing::ValuesIn(refine_cases()), name_of_refine_case);

}  // namespace
}  // namespace parallax
