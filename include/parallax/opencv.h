// SPDX-License-Identifier: Apache-2.0
/// \file
/// Matchers with the interface of OpenCV's matchers. Header-only, for programs that use OpenCV 4 or 5.
///
///     cv::Ptr<cv::StereoMatcher> matcher = parallax::opencv::create("bp", 0, 128);
///     matcher->compute(left, right, disparity);  // CV_16S: 16 times the disparity, as from StereoSGBM
///
/// Not included by parallax.h. Link with OpenCV's core and calib3d (OpenCV 5: stereo).
/// docs/howto/opencv.md maps the parameters of StereoBM and StereoSGBM to those of Parallax. Errors are
/// exceptions of type parallax::Error, not cv::Exception, except for those that OpenCV itself throws.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>

#include <opencv2/core.hpp>
#include <opencv2/core/cuda.hpp>
#if __has_include(<opencv2/ximgproc/disparity_filter.hpp>)
#include <opencv2/ximgproc/disparity_filter.hpp>
#define PARALLAX_OPENCV_HAS_XIMGPROC
#endif
#if CV_VERSION_MAJOR >= 5
#include <opencv2/stereo.hpp>
#else
#include <opencv2/calib3d.hpp>
#endif

#include "parallax/error.h"
#include "parallax/matcher.h"
#include "parallax/parameters.h"

namespace parallax::opencv {

/// A matcher as a cv::StereoMatcher. It plans when it is first used and when the parameters, or the size or
/// depth of the images, have changed, and allocates only then. One thread at a time may use it.
///
/// Images: CV_8U or CV_16U, one channel, or three in OpenCV's order blue, green, red. Values of CV_16U count
/// 256ths of those of CV_8U: stretch() in parallax/values.h makes them of those of other cameras. The disparity is
/// CV_16S, 16 times the disparity rounded to nearest, and (minDisparity − 1)·16 where there is none; or
/// CV_32F, in pixels, and minDisparity − 1 where there is none. It is CV_32F after setDisparityType(CV_32F),
/// or for a cv::Mat_<float>.
class StereoMatcher : public cv::StereoMatcher {
 public:
  /// Takes the parameters of any method.
  /// \throws Error (argument) when the parameters are out of range, or search full rows.
  explicit StereoMatcher(const MatcherParameters& parameters, const Device& device = Device::parse("auto"),
                         const PlanOptions& options = {})
      : device_(device), options_(options) {
    setParameters(parameters);
  }

  /// For cv::Algorithm::load<parallax::opencv::StereoMatcher>().
  static cv::Ptr<StereoMatcher> create() { return cv::makePtr<StereoMatcher>(preset("bp", "default")); }

  /// \throws Error (argument) when the images cannot be used, or the disparities do not fit the type of the
  /// map, and whatever the constructor of Matcher throws.
  void compute(cv::InputArray left, cv::InputArray right, cv::OutputArray disparity) override {
    const bool floats = gives_floats(disparity);
    match(as_rgb(left, "left"), as_rgb(right, "right"), floats);
    write_found(disparity, floats);
  }

  /// Matches gray images in the memory of the GPU for which this matcher was made, and returns before the
  /// work is done; `stream` is a cudaStream_t or CUstream (null = the default stream). `disparity` is reused
  /// if it has the right size and type, and reallocated otherwise. Wait for the stream before you change a
  /// parameter or use images of another size or depth. OpenCV need not have CUDA if all three wrap the
  /// caller's memory.
  /// \throws Error (argument) as for images on the host, and for colour images; (device) when the matcher is
  /// not on a GPU.
  virtual void compute(const cv::cuda::GpuMat& left, const cv::cuda::GpuMat& right,
                       cv::cuda::GpuMat& disparity, void* stream = nullptr) {
    const bool floats = type_ == CV_32F;
    const StereoPair pair{view(left, "left"), view(right, "right")};
    if (left.channels() != 1 || right.channels() != 1)
      refuse(
          "images in GPU memory have colour: convert them to gray by cv::cuda::cvtColor(), COLOR_BGR2GRAY");
    Matcher& matcher = planned(pair.left.format, floats);
    const int type = floats ? CV_32F : CV_16S;
    // If OpenCV has no CUDA, create() throws even when there is nothing to do.
    if (disparity.size() != left.size() || disparity.type() != type) disparity.create(left.size(), type);
    FiniteMap map;
    map.none = none();
    if (floats)
      map.disparity = writable<float>(disparity);
    else
      map.fixed = writable<std::int16_t>(disparity);
    matcher.enqueue(pair, map, stream);
  }

#if CV_VERSION_MAJOR > 4 || (CV_VERSION_MAJOR == 4 && CV_VERSION_MINOR >= 3)
  /// The same on an OpenCV stream.
  void compute(const cv::cuda::GpuMat& left, const cv::cuda::GpuMat& right, cv::cuda::GpuMat& disparity,
               cv::cuda::Stream& stream) {
    compute(left, right, disparity, stream.cudaPtr());
  }
#endif

  /// Selects the type of the disparities: CV_16S, the default, or CV_32F.
  /// \throws Error (argument) for any other type.
  void setDisparityType(int type) {
    if (type != CV_16S && type != CV_32F)
      refuse("the type of the disparities is neither CV_16S nor CV_32F: give one of the two");
    type_ = type;
  }
  /// CV_16S or CV_32F.
  int getDisparityType() const {
    return type_;
  }

  /// All parameters of the method, by their own names.
  const MatcherParameters& parameters() const {
    return parameters_;
  }
  /// \throws Error (argument) when they are out of range, or search full rows.
  void setParameters(const MatcherParameters& parameters) {
    parameters.validate();
    if (searches_full_rows(parameters))
      refuse("full_row has no lowest disparity, and so no value for none: search a range of disparities");
    if (matcher_ && to_json(parameters) == to_json(parameters_)) return;
    parameters_ = parameters;
    matcher_.reset();
  }
  /// Sets one parameter: setParameter("fill", "none").
  /// \throws Error (argument) as set_parameter() and setParameters() do.
  void setParameter(const std::string& name, const std::string& value) {
    change([&](MatcherParameters& p) { set_parameter(p, name, value); });
  }
  /// Where this matcher runs.
  const Device& device() const {
    return device_;
  }
  /// How it is planned.
  const PlanOptions& options() const {
    return options_;
  }

  /// In pixels; any sign.
  int getMinDisparity() const override {
    return parameters_.min_disparity();
  }
  /// See getMinDisparity().
  void setMinDisparity(int minDisparity) override {
    change([&](MatcherParameters& p) { p.min_disparity() = minDisparity; });
  }

  /// In pixels; need not be a multiple of 16.
  int getNumDisparities() const override {
    return parameters_.disparities();
  }
  /// See getNumDisparities().
  void setNumDisparities(int numDisparities) override {
    change([&](MatcherParameters& p) { p.disparities() = numDisparities; });
  }

  /// The parameter `window`, in pixels; 1 for methods that compare single pixels.
  /// \throws Error (argument) when the method does not have such a window.
  int getBlockSize() const override {
    return has("window") ? std::stoi(get_parameter(parameters_, "window")) : 1;
  }
  /// See getBlockSize().
  void setBlockSize(int blockSize) override {
    if (has("window")) return setParameter("window", std::to_string(blockSize));
    if (blockSize != 1)
      refuse("method " + method_name(parameters_) + " has no window: leave the block size at 1");
  }

  /// Regions of up to this many pixels lose their disparity (`speckle_size` − 1); 0 or less = none.
  int getSpeckleWindowSize() const override {
    return std::max(parameters_.refine().speckle_size - 1, 0);
  }
  /// See getSpeckleWindowSize().
  void setSpeckleWindowSize(int speckleWindowSize) override {
    if (speckleWindowSize == std::numeric_limits<int>::max()) --speckleWindowSize;
    change([&](MatcherParameters& p) {
      p.refine().speckle_size = speckleWindowSize > 0 ? speckleWindowSize + 1 : 0;
    });
  }

  /// Largest difference in pixels between neighbours in a region (`speckle_range`), as in StereoSGBM;
  /// StereoBM's is in 16ths of a pixel. The getter rounds.
  int getSpeckleRange() const override {
    return cvRound(parameters_.refine().speckle_range);
  }
  /// See getSpeckleRange().
  void setSpeckleRange(int speckleRange) override {
    change([&](MatcherParameters& p) { p.refine().speckle_range = static_cast<float>(speckleRange); });
  }

  /// Tolerance in pixels of the left-right check (`left_right_tolerance`); negative = no check. The getter
  /// rounds.
  int getDisp12MaxDiff() const override {
    return parameters_.refine().left_right_check ? cvRound(parameters_.refine().left_right_tolerance) : -1;
  }
  /// See getDisp12MaxDiff().
  void setDisp12MaxDiff(int disp12MaxDiff) override {
    change([&](MatcherParameters& p) {
      p.refine().left_right_check = disp12MaxDiff >= 0;
      if (disp12MaxDiff >= 0) p.refine().left_right_tolerance = static_cast<float>(disp12MaxDiff);
    });
  }

  /// Writes all parameters, but not the device.
  void write(cv::FileStorage& file) const override {
    cv::write(file, "name", getDefaultName());
    cv::write(file, "parameters", to_json(parameters_));
    cv::write(file, "disparityType", type_);
  }
  /// \throws Error (argument) when the node was not written by write(), or its parameters are out of range.
  void read(const cv::FileNode& node) override {
    if (static_cast<std::string>(node["name"]) != getDefaultName())
      refuse("the file has no " + getDefaultName() + ": give one that such a matcher saved");
    setParameters(parameters_from_json(static_cast<std::string>(node["parameters"])));
    setDisparityType(static_cast<int>(node["disparityType"]));
  }
  /// The name that write() stores in files.
  cv::String getDefaultName() const override {
    return "parallax_StereoMatcher";
  }

 protected:
  /// Applies a change to a copy of the parameters, and sets them.
  template <class Change>
  void change(const Change& apply) {
    MatcherParameters changed = parameters_;
    apply(changed);
    setParameters(changed);
  }

  /// Whether compute() gives pixels, and not 16ths.
  bool gives_floats(const cv::_OutputArray& disparity) const {
    return type_ == CV_32F || (disparity.fixedType() && disparity.type() == CV_32F);
  }

  /// Matches images of one channel, or of R, G, B.
  void match(const cv::Mat& left, const cv::Mat& right, bool floats) {
    Matcher& matcher = planned(format_of(left, "left"), floats);
    found_.create(left.size(), CV_32F);
    status_.create(left.size(), CV_8U);
    matcher.run({view(left, "left"), view(right, "right")},
                {writable<float>(found_), writable<std::uint8_t>(status_)});
  }

  /// Writes found() as compute() does.
  void write_found(const cv::_OutputArray& disparity, bool floats) const {
    disparity.create(found_.size(), floats ? CV_32F : CV_16S);
    cv::Mat result = disparity.getMat();
    if (floats)
      convert<float>(result, 1);
    else
      convert<short>(result, DISP_SCALE);
  }

  /// The disparities of the last match(), in pixels; +infinity = none.
  cv::Mat& found() {
    return found_;
  }

  /// Shares the pixels of a gray image. `which` is for messages: "left".
  /// \throws Error (argument) for an image that cannot be used
  static cv::Mat as_rgb(cv::InputArray image, const std::string& which) {
    const cv::Mat given = image.getMat();
    format_of(given, which);
    if (given.channels() == 1) return given;
    cv::Mat rgb(given.size(), given.type());
    const int swapped[] = {0, 2, 1, 1, 2, 0};
    cv::mixChannels(&given, 1, &rgb, 1, swapped, 3);
    return rgb;
  }

 private:
  [[noreturn]] static void refuse(const std::string& message) {
    throw Error(ErrorCategory::argument, message);
  }

  bool has(const std::string& name) const {
    for (const ParameterInfo& info : list_parameters(method_name(parameters_)))
      if (info.name == name) return true;
    return false;
  }

  int none() const {
    return getMinDisparity() - 1;
  }

  // Plans if necessary.
  Matcher& planned(const ImageFormat& format, bool floats) {
    const auto highest = static_cast<std::int64_t>(getMinDisparity()) + parameters_.disparities();
    if (!floats && (none() < -2048 || highest > 2047))
      refuse("disparities from " + std::to_string(none() + 1) + " to " + std::to_string(highest - 1) +
             " do not fit CV_16S in 16ths: call setDisparityType(CV_32F)");
    if (!matcher_ || format_ != format) {
      matcher_.reset();
      matcher_.emplace(parameters_, device_, format, options_);
      format_ = format;
    }
    return *matcher_;
  }

  // `Image` is cv::Mat or cv::cuda::GpuMat, here and below.
  template <class Image>
  static ImageFormat format_of(const Image& image, const std::string& which) {
    if (image.empty()) refuse("the " + which + " image is empty: give an image, or check that it was read");
    if ((image.depth() != CV_8U && image.depth() != CV_16U) ||
        (image.channels() != 1 && image.channels() != 3))
      refuse("the " + which + " image has type " + cv::typeToString(image.type()) +
             ": give CV_8U or CV_16U of 1 or 3 channels");
    return {{image.cols, image.rows}, image.depth() == CV_8U ? BitDepth::bits8 : BitDepth::bits16};
  }

  template <class Image>
  static ImageView view(const Image& image, const std::string& which) {
    return {image.data, format_of(image, which), image.channels(), stride_of(image)};
  }
  static std::ptrdiff_t stride_of(const cv::Mat& image) {
    return static_cast<std::ptrdiff_t>(image.step[0]);
  }
  static std::ptrdiff_t stride_of(const cv::cuda::GpuMat& image) {
    return static_cast<std::ptrdiff_t>(image.step);
  }

  template <class T, class Image>
  static View<T> writable(Image& image) {
    return {reinterpret_cast<T*>(image.data), {image.cols, image.rows}, stride_of(image)};
  }

  template <class T>
  void convert(cv::Mat& result, int scale) const {
    const auto missing = static_cast<T>(none() * scale);
    for (int y = 0; y < result.rows; ++y) {
      const float* from = found_.ptr<float>(y);
      T* to = result.ptr<T>(y);
      for (int x = 0; x < result.cols; ++x) {
        if (!(from[x] < 1e30f))  // infinity, which -ffast-math denies
          to[x] = missing;
        else if constexpr (std::is_same_v<T, float>)
          to[x] = from[x];
        else
          to[x] = static_cast<T>(cvFloor(from[x] * static_cast<float>(scale) + 0.5f));
      }
    }
  }

  MatcherParameters parameters_;
  Device device_;
  PlanOptions options_;
  int type_ = CV_16S;
  std::optional<Matcher> matcher_;
  ImageFormat format_;      // format of the plan
  cv::Mat found_, status_;  // what the matcher wrote last
};

/// Makes a matcher with these parameters: create(parallax::CensusParameters{}).
/// \throws Error (argument) as StereoMatcher's constructor does.
inline cv::Ptr<StereoMatcher> create(const MatcherParameters& parameters,
                                     const Device& device = Device::parse("auto"),
                                     const PlanOptions& options = {}) {
  return cv::makePtr<StereoMatcher>(parameters, device, options);
}

/// Makes a matcher for the named method. `json` changes other parameters, as with_json() does:
/// R"({"fill": "none"})".
/// \throws Error (argument) for an unknown method, and for parameters that it does not have or that are out
/// of range.
inline cv::Ptr<StereoMatcher> create(const std::string& method, int minDisparity = 0, int numDisparities = 64,
                                     const std::string& json = "{}",
                                     const Device& device = Device::parse("auto")) {
  MatcherParameters parameters = with_json(preset(method, "default"), json);
  parameters.min_disparity() = minDisparity;
  parameters.disparities() = numDisparities;
  return create(parameters, device);
}

/// The matcher of the right view: createRightMatcher() makes it. compute(right, left, disparity) gives the map
/// of the right image as DisparityMap::right defines it, with OpenCV's sign: right (x, y) shows the same point
/// as left (x − d, y), so d is negative where the left disparity is positive. Its range is minDisparity =
/// 1 − (minDisparity + numDisparities) of the left one, and as many disparities. parameters() and the setters
/// named after Parallax's parameters are those of the left matcher.
class RightMatcher final : public StereoMatcher {
 public:
  using StereoMatcher::StereoMatcher;

  /// For cv::Algorithm::load<parallax::opencv::RightMatcher>().
  static cv::Ptr<RightMatcher> create() { return cv::makePtr<RightMatcher>(preset("bp", "default")); }

  /// \throws Error as StereoMatcher::compute() does.
  void compute(cv::InputArray right, cv::InputArray left, cv::OutputArray disparity) override {
    const bool floats = gives_floats(disparity);
    const cv::Mat right_image = as_rgb(right, "right"), left_image = as_rgb(left, "left");
    if (left_image.size() != right_image.size() || left_image.depth() != right_image.depth())
      throw Error(ErrorCategory::argument,
                  "the left and the right image differ in size or depth: give two of one size and depth");
    match(mirrored(right_image), mirrored(left_image), floats);
    cv::flip(found(), right_, 1);
    for (int y = 0; y < right_.rows; ++y) {
      const float* from = right_.ptr<float>(y);
      float* to = found().ptr<float>(y);
      for (int x = 0; x < right_.cols; ++x) to[x] = from[x] < 1e30f ? -from[x] : from[x];
    }
    write_found(disparity, floats);
  }

  /// \throws Error (device): the images are mirrored in host memory.
  void compute(const cv::cuda::GpuMat&, const cv::cuda::GpuMat&, cv::cuda::GpuMat&, void*) override {
    throw Error(ErrorCategory::device,
                "the matcher of the right view takes images in host memory: download them to cv::Mat");
  }

  /// In pixels; any sign.
  int getMinDisparity() const override {
    return 1 - (parameters().min_disparity() + parameters().disparities());
  }
  /// See getMinDisparity().
  void setMinDisparity(int minDisparity) override { set_range(minDisparity, getNumDisparities()); }
  /// Keeps minDisparity.
  void setNumDisparities(int numDisparities) override { set_range(getMinDisparity(), numDisparities); }
  /// The name that write() stores in files.
  cv::String getDefaultName() const override { return "parallax_RightMatcher"; }

 private:
  static cv::Mat mirrored(const cv::Mat& image) {
    cv::Mat mirror;
    cv::flip(image, mirror, 1);
    return mirror;
  }
  void set_range(int minimum, int count) {
    change([&](MatcherParameters& p) {
      p.min_disparity() = 1 - (minimum + count);
      p.disparities() = count;
    });
  }

  cv::Mat right_;
};

/// Makes the matcher of the right view, with the parameters, the device and the type of the disparities that
/// the matcher of the left one has now. It stands for cv::ximgproc::createRightMatcher(), which takes only
/// OpenCV's own matchers:
///
///     auto left_matcher = parallax::opencv::create("sgm", 0, 128);
///     auto filter = createDisparityWLSFilter(left_matcher);
///     auto right_matcher = createRightMatcher(left_matcher);
///     left_matcher->compute(left, right, left_disparity);
///     right_matcher->compute(right, left, right_disparity);
///     filter->filter(left_disparity, left, filtered, right_disparity);
inline cv::Ptr<RightMatcher> createRightMatcher(const cv::Ptr<StereoMatcher>& matcher_left) {
  auto right =
      cv::makePtr<RightMatcher>(matcher_left->parameters(), matcher_left->device(), matcher_left->options());
  right->setDisparityType(matcher_left->getDisparityType());
  return right;
}

#ifdef PARALLAX_OPENCV_HAS_XIMGPROC
/// Makes OpenCV's filter of weighted least squares for this matcher and that of the right view, where OpenCV
/// has ximgproc, with which the program then links. As cv::ximgproc::createDisparityWLSFilter() does for
/// OpenCV's own matchers, it turns off all that rejects or fills disparities: the left-right check, the
/// speckle filter, the fill, and the thresholds `uniqueness`, `texture_threshold` and `min_confidence`. The
/// filter finds what is wrong by the right map. Call it before createRightMatcher().
inline cv::Ptr<cv::ximgproc::DisparityWLSFilter> createDisparityWLSFilter(
    const cv::Ptr<StereoMatcher>& matcher_left) {
  matcher_left->setDisp12MaxDiff(-1);
  matcher_left->setSpeckleWindowSize(0);
  matcher_left->setParameter("fill", "none");
  for (const ParameterInfo& info : list_parameters(method_name(matcher_left->parameters())))
    if (info.name == "uniqueness" || info.name == "texture_threshold" || info.name == "min_confidence")
      matcher_left->setParameter(info.name, "0");
  auto filter = cv::ximgproc::createDisparityWLSFilterGeneric(true);
  filter->setDepthDiscontinuityRadius((matcher_left->getBlockSize() + 1) / 2);
  return filter;
}
#endif

}  // namespace parallax::opencv
