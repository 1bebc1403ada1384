#include "tools/parallax/pictures.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "parallax/formats.h"

#include "tools/parallax/command.h"
#include "tools/parallax/silence.h"

namespace parallax::tool {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& why) {
  throw Error(ErrorCategory::file, path + ": " + why);
}

// libjpeg paints what is missing of a file gray, and only warns. Walks through the segments up to the end of
// the image; what follows it may be anything.
bool is_truncated_jpeg(const std::vector<std::byte>& bytes) {
  const auto at = [&](std::size_t i) { return i < bytes.size() ? std::to_integer<int>(bytes[i]) : -1; };
  if (at(0) != 0xFF || at(1) != 0xD8) return false;
  for (std::size_t i = 2; i < bytes.size();) {
    const int marker = at(i) == 0xFF ? at(i + 1) : -1;
    const bool in_scan =
        marker <= 0 || (marker >= 0xD0 && marker <= 0xD7);  // data, a stuffed byte, a restart
    if (marker == 0xD9) return false;
    if (in_scan || marker == 0xFF)
      ++i;
    else
      i += 2 + static_cast<std::size_t>(std::max(0, at(i + 2)) * 256 + std::max(0, at(i + 3)));
  }
  return true;
}

cv::Mat decode(const std::string& path) {
  const std::vector<std::byte> bytes = read_file(path);
  if (bytes.empty()) fail(path, "is empty: give a picture");
  if (bytes.size() > std::numeric_limits<int>::max())
    fail(path, "is larger than 2 GiB: give a smaller picture");
  if (is_truncated_jpeg(bytes)) fail(path, "is cut short: copy the picture again");
  cv::Mat pixels;
  try {
    const Silence silence;
    const cv::Mat encoded(1, static_cast<int>(bytes.size()), CV_8U, const_cast<std::byte*>(bytes.data()));
    pixels = cv::imdecode(encoded, cv::IMREAD_UNCHANGED);
  } catch (const cv::Exception&) {
    pixels.release();
  }
  if (pixels.empty())
    fail(path, "is no picture that can be read, or is damaged: give PNG, PGM, PPM, JPEG or TIFF");
  return pixels;
}

template <class T>
View<const T> channel_view(const cv::Mat& pixels) {
  return {pixels.ptr<T>(), {pixels.cols, pixels.rows}, static_cast<std::ptrdiff_t>(pixels.step1())};
}

template <class T>
Plane<T> copy(View<const T> view) {
  Plane<T> plane(view.size);
  for (int y = 0; y < view.size.height; ++y) std::copy_n(view.row(y), view.size.width, plane.row(y));
  return plane;
}

std::vector<std::byte> encode(const char* extension, const cv::Mat& pixels,
                              const std::vector<int>& settings = {}) {
  std::vector<unsigned char> bytes;
  if (!cv::imencode(extension, pixels, bytes, settings))
    throw Error(ErrorCategory::internal, std::string("OpenCV cannot encode ") + extension);
  const auto* first = reinterpret_cast<const std::byte*>(bytes.data());
  return {first, first + bytes.size()};
}

cv::Mat as_mat(View<const float> view) {
  return {view.size.height, view.size.width, CV_32F, const_cast<float*>(view.data),
          static_cast<std::size_t>(view.stride) * sizeof(float)};
}

}  // namespace

bool has_extension(const std::string& path, std::initializer_list<const char*> extensions) {
  std::string extension = std::filesystem::path(path).extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return std::find(extensions.begin(), extensions.end(), extension) != extensions.end();
}

ImageView Picture::view() const {
  const Depth depth = pixels.depth() == CV_8U ? Depth::bits8 : Depth::bits16;
  return {pixels.data,
          {{pixels.cols, pixels.rows}, depth},
          pixels.channels(),
          static_cast<std::ptrdiff_t>(pixels.step[0])};
}

std::optional<TiffReader> open_picture_tiff(const std::string& path) {
  std::optional<TiffReader> tiff = TiffReader::open(path);
  if (tiff && tiff->format().bits == 32) return std::nullopt;
  return tiff;
}

ImageFormat picture_format(const TiffReader& tiff) {
  return {tiff.format().size, tiff.format().bits == 8 ? Depth::bits8 : Depth::bits16};
}

void read_region(TiffReader& tiff, const Rectangle& region, Picture& picture) {
  const int depth = tiff.format().bits == 8 ? CV_8U : CV_16U;
  try {
    picture.pixels.create(region.size.height, region.size.width, CV_MAKETYPE(depth, tiff.format().channels));
  } catch (const cv::Exception&) {
    throw std::bad_alloc();
  }
  tiff.read(region, picture.pixels.data, static_cast<std::ptrdiff_t>(picture.pixels.step[0]));
}

Picture read_picture(const std::string& path) {
  Picture picture;
  if (std::optional<TiffReader> tiff = open_picture_tiff(path)) {
    read_region(*tiff, {0, 0, tiff->format().size}, picture);
    return picture;
  }
  const cv::Mat pixels = decode(path);
  if (pixels.depth() != CV_8U && pixels.depth() != CV_16U)
    fail(path, "has pixels of neither 8 nor 16 bits: convert it");
  switch (pixels.channels()) {
    case 1:
      picture.pixels = pixels;
      break;
    case 3:
      cv::cvtColor(pixels, picture.pixels, cv::COLOR_BGR2RGB);
      break;
    case 4:
      cv::cvtColor(pixels, picture.pixels, cv::COLOR_BGRA2RGB);
      break;
    default:
      fail(path, "has " + std::to_string(pixels.channels()) + " channels: give gray or colour");
  }
  return picture;
}

std::string describe(const ImageFormat& format) {
  return text(format.size) + " with " + std::to_string(static_cast<int>(format.depth)) + " bits";
}

PicturePair read_pair(const std::string& left, const std::string& right) {
  PicturePair pair{read_picture(left), read_picture(right)};
  check_formats(pair, left, right);
  return pair;
}

void check_formats(const PicturePair& pair, const std::string& left, const std::string& right) {
  check_formats(pair.left.view().format, pair.right.view().format, left, right);
}

void check_formats(const ImageFormat& left_format, const ImageFormat& right_format, const std::string& left,
                   const std::string& right) {
  if (left_format != right_format)
    throw Error(ErrorCategory::file, left + " is " + describe(left_format) + ", " + right + " is " +
                                         describe(right_format) + ": give a pair of one size and depth");
}

PicturePair split_side_by_side(const Picture& both, const std::string& path) {
  const cv::Mat& pixels = both.pixels;
  if (pixels.cols % 2 != 0)
    fail(path,
         "is " + std::to_string(pixels.cols) + " pixels wide: two pictures side by side have an even width");
  const int width = pixels.cols / 2;
  return {{pixels.colRange(0, width)}, {pixels.colRange(width, pixels.cols)}};
}

bool is_picture_name(const std::string& path) {
  return has_extension(path,
                       {".png", ".pgm", ".ppm", ".pnm", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".webp"});
}

[[noreturn]] static void fail_scaled(const std::string& path) {
  fail(path, "holds disparities in pixels: leave out --truth-scale");
}

Plane<float> read_disparity(const std::string& path, double scale) {
  if (has_extension(path, {".pfm"})) {
    if (scale > 0) fail_scaled(path);
    return read_pfm(path);
  }
  std::optional<TiffReader> tiff = TiffReader::open(path);
  if (tiff && tiff->format().bits == 32 && tiff->format().channels == 1 && !(scale > 0)) {
    Plane<float> disparity(tiff->format().size);
    tiff->read({0, 0, disparity.size()}, disparity.row(0), disparity.view().stride * 4);
    return disparity;
  }
  const cv::Mat pixels = decode(path);
  if (scale > 0 && pixels.depth() != CV_8U) fail_scaled(path);
  if (pixels.channels() != 1)
    fail(path, "has " + std::to_string(pixels.channels()) + " channels: disparities need one");
  if (pixels.depth() == CV_32F) return copy(channel_view<float>(pixels));
  if (pixels.depth() == CV_16U) return decode_kitti(channel_view<std::uint16_t>(pixels));
  if (pixels.depth() != CV_8U) fail(path, "is no disparity map: give PFM, 16-bit PNG or 32-bit TIFF");
  if (!(scale > 0)) fail(path, "has 8 bits: say with --truth-scale which value one pixel of disparity has");
  return decode_scaled_truth(channel_view<std::uint8_t>(pixels), scale);
}

Plane<std::uint8_t> read_mask(const std::string& path) {
  const cv::Mat pixels = decode(path);
  if (pixels.type() != CV_8UC1) fail(path, "is no mask: give a gray picture of 8 bits");
  return copy(channel_view<std::uint8_t>(pixels));
}

namespace {

Calibration read_opencv_calibration(const std::string& path) {
  static_cast<void>(read_file(path));  // for its message when the file cannot be read
  cv::Mat left, right;
  try {
    const Silence silence;
    const cv::FileStorage storage(path, cv::FileStorage::READ);
    if (storage.isOpened()) {
      storage["P1"] >> left;
      storage["P2"] >> right;
    }
  } catch (const cv::Exception&) {
    fail(path, "is no OpenCV calibration that can be read");
  }
  if (left.size() != cv::Size(4, 3) || right.size() != cv::Size(4, 3))
    fail(path, "has no P1 and P2: give the stereo calibration that stereoRectify() made");
  left.convertTo(left, CV_64F);
  right.convertTo(right, CV_64F);
  Calibration calibration;
  calibration.focal = left.at<double>(0, 0);
  calibration.centre_x = left.at<double>(0, 2);
  calibration.centre_y = left.at<double>(1, 2);
  calibration.doffs = right.at<double>(0, 2) - calibration.centre_x;
  calibration.baseline = -right.at<double>(0, 3) / right.at<double>(0, 0);
  if (!(calibration.focal > 0) || !(calibration.baseline > 0) || !std::isfinite(calibration.baseline))
    fail(path, "describes no pair side by side, left camera first");
  return calibration;
}

}  // namespace

Calibration read_calibration(const std::string& path) {
  if (has_extension(path, {".yml", ".yaml", ".xml", ".json"})) return read_opencv_calibration(path);
  return read_middlebury_calibration(path);
}

void check_disparity_path(const std::string& path) {
  if (!has_extension(path, {".pfm", ".png", ".tif", ".tiff"}))
    throw UsageError(path + " has no known extension: name it .pfm, .png or .tiff");
}

std::vector<std::byte> encode_disparity(const std::string& path, View<const float> disparity) {
  check_disparity_path(path);
  if (has_extension(path, {".pfm"})) return encode_pfm(disparity);
  if (has_extension(path, {".png"})) {
    const Plane<std::uint16_t> values = encode_kitti(disparity);
    cv::Mat pixels(values.height(), values.width(), CV_16U);
    for (int y = 0; y < values.height(); ++y)
      std::copy_n(values.row(y), values.width(), pixels.ptr<std::uint16_t>(y));
    return encode_png(pixels);
  }
  return encode(".tiff", as_mat(disparity));
}

std::vector<std::byte> encode_png(const cv::Mat& pixels) {
  return encode(".png", pixels);
}

cv::Mat colour(View<const float> disparity, double low, double high) {
  const cv::Mat values = as_mat(disparity);
  const cv::Mat present = values < std::numeric_limits<float>::max();
  const double scale = high > low ? 255 / (high - low) : 0;
  cv::Mat gray(values.size(), CV_8U, cv::Scalar(0)), scaled, coloured;
  values.convertTo(scaled, CV_8U, scale, -low * scale);
  scaled.copyTo(gray, present);
  cv::applyColorMap(gray, coloured, cv::COLORMAP_TURBO);
  coloured.setTo(cv::Scalar(0, 0, 0), ~present);
  return coloured;
}

std::vector<std::byte> encode_coloured(View<const float> disparity) {
  const cv::Mat values = as_mat(disparity);
  const cv::Mat present = values < std::numeric_limits<float>::max();
  double low = 0, high = 0;
  cv::minMaxLoc(values, &low, &high, nullptr, nullptr, present);
  return encode_png(colour(disparity, low, high));
}

}  // namespace parallax::tool
