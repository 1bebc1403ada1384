// SPDX-License-Identifier: Apache-2.0
// The OpenCV interface for images in GPU memory. Needs a GPU, or the emulated one of tests/emulated_gpu, and
// no CUDA in OpenCV.
#include "parallax/opencv.h"

#include "devices/gpu_test.h"
#include "opencv_interface/pair.h"

namespace parallax::test {
namespace {

// A pair and a map in GPU memory, with other strides than on the host.
class OpenCvCudaTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    context_ = std::make_shared<cuda::Context>(0);
    current_.emplace(*context_);
    images_.emplace(context_);
  }

  cv::cuda::GpuMat upload(const cv::Mat& image) {
    return {image.rows, image.cols, image.type(), images_->copy(image.data, image.total() * image.elemSize()),
            image.step[0]};
  }

  template <class T>
  cv::cuda::GpuMat map(cv::Size size, int type) {
    const View<T> view = images_->plane<T>({size.width, size.height}, 5);
    return {size, type, view.data, static_cast<std::size_t>(view.stride_bytes)};
  }

  cv::Mat download(const cv::cuda::GpuMat& map, cuda::StreamHandle on) const {
    cv::Mat result(map.size(), map.type());
    for (int y = 0; y < map.rows; ++y)
      cuda::check(cuda::driver().cuMemcpyDtoHAsync_v2(
                      result.ptr(y), reinterpret_cast<cuda::DeviceAddress>(map.ptr(y)),
                      static_cast<std::size_t>(map.cols) * map.elemSize(), on),
                  "copying for a test");
    cuda::check(cuda::driver().cuStreamSynchronize(on), "waiting in a test");
    return result;
  }

  cuda::StreamHandle stream() const { return stream_ ? stream_->get() : nullptr; }
  void use_own_stream() { stream_.emplace(cuda::make_stream(context_)); }

 private:
  cuda::SharedContext context_;
  std::optional<cuda::Current> current_;
  std::optional<DeviceImages> images_;
  std::optional<cuda::Stream> stream_;
};

TEST_F(OpenCvCudaTest, GivesWhatTheHostGives) {
  use_own_stream();
  if (emulated() != nullptr) emulated()->set_lazy(1);
  for (const char* method : {"block", "bp"})
    for (const int depth : {CV_8U, CV_16U}) {
      SCOPED_TRACE(std::string(method) + ", " + cv::depthToString(depth));
      const Pictures pair(depth);
      const cv::cuda::GpuMat left = upload(pair.left), right = upload(pair.right);
      const auto matcher = opencv::create(method, -2, 16, R"({"fill": "none"})", gpu());
      cv::Mat expected, expected_floats;
      cv::cuda::GpuMat fixed = map<short>(left.size(), CV_16S), floats = map<float>(left.size(), CV_32F);
      matcher->compute(pair.left, pair.right, expected);
      matcher->compute(left, right, fixed, stream());
      if (emulated() != nullptr) {
        EXPECT_NE(cv::norm(expected, download(fixed, nullptr), cv::NORM_INF), 0) << "not on the stream";
      }
      EXPECT_EQ(cv::norm(expected, download(fixed, stream()), cv::NORM_INF), 0);
      matcher->setDisparityType(CV_32F);
      matcher->compute(pair.left, pair.right, expected_floats);
      matcher->compute(left, right, floats, stream());
      if (emulated() != nullptr) {
        EXPECT_NE(cv::norm(expected_floats, download(floats, nullptr), cv::NORM_INF), 0)
            << "not on the stream";
      }
      EXPECT_EQ(cv::norm(expected_floats, download(floats, stream()), cv::NORM_INF), 0);
      double least = 0;
      cv::minMaxIdx(expected, &least);
      EXPECT_EQ(least, -3 * 16) << "no pixel without a disparity";
    }
}

TEST_F(OpenCvCudaTest, RefusesColour) {
  const SynthPair pair = synth(Scene::planes);
  const cv::cuda::GpuMat left = upload(as_bgr(pair.left_view())), right = upload(as_bgr(pair.right_view()));
  cv::cuda::GpuMat disparity = map<short>(left.size(), CV_16S);
  const auto matcher = opencv::create("block", 0, 16, "{}", gpu());
  expect_refused([&] { matcher->compute(left, right, disparity); }, "cvtColor");
}

TEST_F(OpenCvCudaTest, AFiniteMapHasOneView) {
  const Pictures pair(CV_8U);
  const Size size = pair.views().left.format.size;
  Matcher matcher(preset("block", "default"), gpu(), {size});
  expect_refused([&] { matcher.enqueue(pair.views(), FiniteMap{}, nullptr); }, "one of fixed and disparity");
  Plane<std::int16_t> fixed(size), small({5, 5});
  Plane<float> floats(size);
  expect_refused(
      [&] {
        matcher.enqueue(pair.views(), FiniteMap{fixed.view(), floats.view()}, nullptr);
      },
      "one of fixed and disparity");
  expect_refused([&] { matcher.enqueue(pair.views(), FiniteMap{small.view()}, nullptr); }, "disparity map");
  expect_refused([&] { matcher.enqueue(pair.views(), FiniteMap{fixed.view(), {}, 5000}, nullptr); }, "none");
}

}  // namespace
}  // namespace parallax::test
