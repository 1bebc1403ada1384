// SPDX-License-Identifier: Apache-2.0
/// \file
/// Images: views of memory that they do not own, and planes that own their memory.
///
/// Row 0 is the top row, column 0 the left column. Sizes are in pixels. A view never owns or copies its data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>

#pragma GCC visibility push(default)
namespace parallax {

/// Extent of an image.
struct Size {
  int width = 0;   ///< columns
  int height = 0;  ///< rows

  /// Number of pixels; never overflows.
  std::size_t pixels() const { return static_cast<std::size_t>(width) * static_cast<std::size_t>(height); }
  bool operator==(const Size&) const = default;  ///< compares every member
};

/// A view of one channel of any type: rows of `size.width` elements.
template <class T>
struct View {
  T* data = nullptr;  ///< first element of row 0
  Size size;          ///< columns and rows
  /// Bytes from one row to the next, a multiple of sizeof(T). May be larger than a row, or negative.
  std::ptrdiff_t stride_bytes = 0;

  View() = default;
  /// Rows without gaps.
  View(T* first, Size extent) : View(first, extent, static_cast<std::ptrdiff_t>(sizeof(T)) * extent.width) {}
  /// Rows that start `row_stride_bytes` apart.
  View(T* first, Size extent, std::ptrdiff_t row_stride_bytes)
      : data(first), size(extent), stride_bytes(row_stride_bytes) {}

  /// First element of row y; not checked.
  T* row(int y) const {
    using Byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;
    return reinterpret_cast<T*>(reinterpret_cast<Byte*>(data) + y * stride_bytes);
  }
  T& at(int x, int y) const { return row(y)[x]; }  ///< column x of row y; not checked
  bool empty() const { return data == nullptr; }   ///< whether there is no data
  /// Elements from one row to the next.
  std::ptrdiff_t stride() const { return stride_bytes / static_cast<std::ptrdiff_t>(sizeof(T)); }

  /// A view through which the elements cannot be changed.
  operator View<const T>() const requires(!std::is_const_v<T>) { return {data, size, stride_bytes}; }
};

/// One channel that owns its memory. Every row starts on a 64-byte boundary; elements are initially zero.
template <class T>
class Plane {
  static constexpr std::size_t alignment = 64;
  static_assert(std::is_trivially_copyable_v<T> && alignment % sizeof(T) == 0);

 public:
  Plane() = default;
  /// Allocates memory.
  explicit Plane(Size size) : size_(size) {
    const std::size_t row_bytes = static_cast<std::size_t>(size.width) * sizeof(T);
    stride_bytes_ = (row_bytes + alignment - 1) / alignment * alignment;
    const std::size_t bytes = stride_bytes_ * static_cast<std::size_t>(size.height);
    if (bytes == 0) return;
    memory_.reset(static_cast<T*>(::operator new (bytes, std::align_val_t{alignment})));
    std::memset(static_cast<void*>(memory_.get()), 0, bytes);
  }
  /// Sets every element to `value`.
  Plane(Size size, T value) : Plane(size) {
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x) at(x, y) = value;
  }

  Size size() const { return size_; }          ///< columns and rows
  int width() const { return size_.width; }    ///< columns
  int height() const { return size_.height; }  ///< rows
  /// Access to the elements until the plane is assigned to or destroyed. Indices are not checked.
  /// @{
  View<T> view() { return {memory_.get(), size_, static_cast<std::ptrdiff_t>(stride_bytes_)}; }
  View<const T> view() const { return {memory_.get(), size_, static_cast<std::ptrdiff_t>(stride_bytes_)}; }
  T* row(int y) { return view().row(y); }
  const T* row(int y) const { return view().row(y); }
  T& at(int x, int y) { return row(y)[x]; }
  const T& at(int x, int y) const { return row(y)[x]; }
  /// @}

 private:
  struct Release {
    void operator()(T* memory) const { ::operator delete (memory, std::align_val_t{alignment}); }
  };
  Size size_;
  std::size_t stride_bytes_ = 0;
  std::unique_ptr<T, Release> memory_;
};

/// Bits per channel of an input image.
enum class BitDepth { bits8 = 8, bits16 = 16 };

/// The format of the images for which a matcher is planned.
struct ImageFormat {
  Size size;                                            ///< columns and rows of pixels
  BitDepth depth = BitDepth::bits8;                     ///< bits per channel
  bool operator==(const ImageFormat&) const = default;  ///< compares every member
};

/// A view of an input image: 8 or 16 bits per channel, 1 channel (gray) or 3 interleaved channels in the
/// order R, G, B. Colour is converted to gray by (9797 R + 19234 G + 3737 B) >> 15.
struct ImageView {
  const void* data = nullptr;       ///< first channel of the first pixel of row 0
  ImageFormat format;               ///< size and depth
  int channels = 1;                 ///< 1 or 3
  std::ptrdiff_t stride_bytes = 0;  ///< bytes from one row to the next

  ImageView() = default;
  /// A gray image.
  /// @{
  ImageView(View<const std::uint8_t> gray)
      : data(gray.data), format{gray.size, BitDepth::bits8}, stride_bytes(gray.stride_bytes) {}
  ImageView(View<std::uint8_t> gray) : ImageView(View<const std::uint8_t>(gray)) {}
  ImageView(View<const std::uint16_t> gray)
      : data(gray.data), format{gray.size, BitDepth::bits16}, stride_bytes(gray.stride_bytes) {}
  ImageView(View<std::uint16_t> gray) : ImageView(View<const std::uint16_t>(gray)) {}
  /// @}
  /// An image of any format.
  ImageView(const void* first, ImageFormat image_format, int image_channels, std::ptrdiff_t row_stride_bytes)
      : data(first), format(image_format), channels(image_channels), stride_bytes(row_stride_bytes) {}

  /// First byte of row y; not checked.
  const void* row(int y) const {
    return static_cast<const std::byte*>(data) + static_cast<std::ptrdiff_t>(y) * stride_bytes;
  }
};

/// Memory that receives an image: an ImageView to write to.
struct ImageOutput {
  void* data = nullptr;             ///< first channel of the first pixel of row 0
  ImageFormat format;               ///< size and depth
  int channels = 1;                 ///< 1 or 3
  std::ptrdiff_t stride_bytes = 0;  ///< bytes from one row to the next

  ImageOutput() = default;
  /// A gray image.
  /// @{
  ImageOutput(View<std::uint8_t> gray)
      : data(gray.data), format{gray.size, BitDepth::bits8}, stride_bytes(gray.stride_bytes) {}
  ImageOutput(View<std::uint16_t> gray)
      : data(gray.data), format{gray.size, BitDepth::bits16}, stride_bytes(gray.stride_bytes) {}
  /// @}
  /// An image of any format.
  ImageOutput(void* first, ImageFormat image_format, int image_channels, std::ptrdiff_t row_stride_bytes)
      : data(first), format(image_format), channels(image_channels), stride_bytes(row_stride_bytes) {}

  /// The same memory, to read.
  operator ImageView() const { return {data, format, channels, stride_bytes}; }
};

/// A view of data costs that the caller computed, for matchers that take them: how badly each label fits each
/// left pixel, `labels` contiguous floats for each pixel. Costs have any sign; lower is better. Costs beyond
/// ±1e30 are clamped, and NaN counts as 1e30.
struct CostVolume {
  const float* data = nullptr;      ///< costs of the first pixel of row 0
  Size size;                        ///< that of the left image
  int labels = 0;                   ///< costs for each pixel
  std::ptrdiff_t stride_bytes = 0;  ///< bytes from one row to the next, a multiple of sizeof(float)

  CostVolume() = default;
  /// Rows without gaps.
  CostVolume(const float* first, Size extent, int label_count)
      : data(first),
        size(extent),
        labels(label_count),
        stride_bytes(static_cast<std::ptrdiff_t>(sizeof(float)) * extent.width * label_count) {}

  /// Floats from one row to the next.
  std::ptrdiff_t stride() const { return stride_bytes / static_cast<std::ptrdiff_t>(sizeof(float)); }
  /// The costs of all labels of a pixel.
  const float* at(int x, int y) const {
    return data + y * stride() + static_cast<std::ptrdiff_t>(x) * labels;
  }
};

/// A rectified pair: left (x, y) shows the same point as right (x − d, y), where d is the disparity. A mask
/// marks where its image is valid: 0 = invalid, other values = valid; an empty mask = valid everywhere. A
/// masked pixel is never the centre of a match, but the windows of its neighbours still use its value.
struct StereoPair {
  ImageView left;                            ///< the image to whose pixels the map belongs
  ImageView right;                           ///< has the left image's format
  View<const std::uint8_t> left_mask = {};   ///< excluded pixels become Status::input_masked
  View<const std::uint8_t> right_mask = {};  ///< excluded pixels match no left pixel
  CostVolume costs = {};                     ///< only for a matcher whose parameters select DataCost::volume
};

/// Why a pixel of a disparity map has its value, or no value.
enum class Status : std::uint8_t {
  matched = 0,       ///< the matcher decided it
  filled = 1,        ///< it had no value and took that of a neighbour
  out_of_range = 2,  ///< every right pixel of its search range is outside the image or masked
  inconsistent = 3,  ///< the left-right check rejected it
  ambiguous = 4,     ///< another disparity is almost as good
  textureless = 5,   ///< too little texture to decide
  speckle = 6,       ///< the speckle filter removed its small region
  input_masked = 7,  ///< the mask of the left image excludes it
};

/// The number of values of Status.
inline constexpr int status_count = 8;

/// The name of a status, as spelled above.
const char* name(Status status);

/// The views that receive the map of the right image: right (x, y) shows the same point as left (x +
/// disparity, y + row_offset). It is the map of the mirrored pair, mirrored back: of the pair whose left
/// image is the right one and whose right image is the left one, each with its mask and with its columns in
/// reverse order.
struct RightDisparityMap {
  View<float> disparity = {};      ///< as DisparityMap::disparity, of the pixels of the right image
  View<std::uint8_t> status = {};  ///< as DisparityMap::status
  View<float> confidence = {};     ///< as DisparityMap::confidence; optional
  View<float> row_offset = {};     ///< as DisparityMap::row_offset; optional

  /// Whether there is no view.
  bool empty() const {
    return disparity.empty() && status.empty() && confidence.empty() && row_offset.empty();
  }
};

/// The views that receive a result. Each has the size of the left image, and every pixel of it is written.
struct DisparityMap {
  View<float> disparity;      ///< in pixels; +infinity = none
  View<std::uint8_t> status;  ///< values of Status
  /// Confidence, 0…1; 0 where no label was in range or the left image is masked. Of belief propagation of
  /// both kinds and semi-global matching, about the share of pixels that are right: found after the
  /// left-right check from the pixels around, and where a pixel has no value, in what a fill gives it. Of
  /// other matchers, by how much the best cost is lower than others. Optional, and only for matchers that
  /// compute it.
  View<float> confidence = {};
  /// By how many rows the match is lower: left (x, y) shows the same point as right (x − disparity, y +
  /// row_offset). +infinity where there is no disparity. Optional, and only for matchers that search rows:
  /// Matcher::has_row_offsets().
  View<float> row_offset = {};
  /// The map of the right image. Optional, and only for matchers planned with PlanOptions::both_maps, and in
  /// a MatcherPool.
  RightDisparityMap right = {};
};

/// A disparity map that owns its memory; its members are those of DisparityMap.
struct Result {
  Plane<float> disparity;      ///< in pixels; +infinity = none
  Plane<std::uint8_t> status;  ///< values of Status
  Plane<float> confidence;     ///< 0…1; empty where it was not asked for
  Plane<float> row_offset;     ///< in pixels, downwards; empty where the matcher searches no rows
  /// The map of the right image, as RightDisparityMap describes it; null where it was not asked for.
  std::unique_ptr<Result> right;

  Result() = default;
  /// Allocates memory; every value is 0.
  explicit Result(Size size, bool with_confidence = false, bool with_row_offset = false)
      : disparity(size),
        status(size),
        confidence(with_confidence ? size : Size{}),
        row_offset(with_row_offset ? size : Size{}) {}

  Size size() const { return disparity.size(); }  ///< columns and rows
  /// Views for a matcher to write to, valid as long as the planes.
  DisparityMap map() {
    DisparityMap views{disparity.view(), status.view(), confidence.view(), row_offset.view()};
    if (right)
      views.right = {right->disparity.view(), right->status.view(), right->confidence.view(),
                     right->row_offset.view()};
    return views;
  }
};

}  // namespace parallax
#pragma GCC visibility pop
