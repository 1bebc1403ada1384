// SPDX-License-Identifier: Apache-2.0
// What a disparity map is for: errors, depth, points, pictures and files.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "parallax/error.h"
#include "parallax/evaluate.h"
#include "parallax/formats.h"
#include "parallax/synth.h"

#include "c/call.h"

using namespace parallax;

namespace parallax::c {
namespace {

static_assert(sizeof(parallax_point) == 16 && sizeof(Point) == 16);

Calibration calibration_of(const parallax_calibration* given) {
  const parallax_calibration calibration = known(given, "calibration");
  return {calibration.focal,    calibration.centre_x, calibration.centre_y, calibration.doffs,
          calibration.baseline, calibration.width,    calibration.height,   calibration.disparities};
}

// Writes a struct that a caller made, as far as the caller knows it.
template <class Struct>
void write(Struct value, Struct* to, std::string_view name) {
  value.struct_size = known(to, name).struct_size;
  std::memcpy(to, &value, std::min(value.struct_size, sizeof(Struct)));
}

template <class T>
void copy(const Plane<T>& from, View<T> to) {
  for (int y = 0; y < from.height(); ++y) std::copy_n(from.row(y), from.width(), to.row(y));
}

void check_same_size(Size left, Size right, Size truth) {
  if (left != right || left != truth)
    throw Error(ErrorCategory::argument,
                "left, right and truth have different sizes: give outputs of one size");
}

}  // namespace
}  // namespace parallax::c

extern "C" {

parallax_code parallax_evaluate(const parallax_image* disparity, const parallax_image* truth,
                                const parallax_image* mask, parallax_metrics* metrics) {
  return c::call([&] {
    const View<const float> found = c::float_view(disparity, "disparity map");
    const View<const float> expected = c::float_view(truth, "truth");
    const ErrorMetrics error = evaluate(found, expected, c::mask_view(mask, "mask"));
    c::write<parallax_metrics>(
        {0, error.count, error.bad05, error.bad1, error.bad2, error.bad4, error.average, error.rms, error.a50,
         error.a90, error.a95, error.a99, error.d1, error.coverage, error.mismatches},
        metrics, "metrics");
  });
}

parallax_code parallax_read_calibration(const char* path, parallax_calibration* calibration) {
  return c::call([&] {
    const Calibration read = read_middlebury_calibration(c::text(path, "path"));
    c::write<parallax_calibration>({0, read.focal, read.centre_x, read.centre_y, read.doffs, read.baseline,
                                    read.width, read.height, read.disparities},
                                   calibration, "calibration");
  });
}

parallax_code parallax_depth(const parallax_calibration* calibration, const parallax_image* disparity,
                             const parallax_output* depth) {
  return c::call([&] {
    const Calibration rig = c::calibration_of(calibration);
    const View<const float> map = c::float_view(disparity, "disparity map");
    depth_map(rig, map, c::float_output(depth, "depth map"));
  });
}

parallax_code parallax_points(const parallax_calibration* calibration, const parallax_image* disparity,
                              const parallax_image* left, parallax_point* points, size_t* count) {
  return c::call([&] {
    const Calibration rig = c::calibration_of(calibration);
    const View<const float> map = c::float_view(disparity, "disparity map");
    const std::vector<Point> cloud = point_cloud(rig, map, c::image_view(left, "left image"));
    parallax_point* to = &c::required(points, "points");
    c::required(count, "count") = cloud.size();
    for (const Point& point : cloud)
      *to++ = {point.x, point.y, point.z, point.colour[0], point.colour[1], point.colour[2], 0};
  });
}

parallax_code parallax_colour(const parallax_image* disparity, double low, double high,
                              const parallax_output* colours) {
  return c::call([&] {
    const View<const float> map = c::float_view(disparity, "disparity map");
    colour(map, low, high, c::byte_output(colours, "colours", 3));
  });
}

parallax_code parallax_read_pfm(const char* path, float** pixels, int32_t* width, int32_t* height) {
  return c::call([&] {
    c::required(pixels, "pixels");
    c::required(width, "width");
    c::required(height, "height");
    const Plane<float> image = read_pfm(c::text(path, "path"));
    auto* copied =
        static_cast<float*>(std::malloc(std::max<std::size_t>(1, image.size().pixels()) * sizeof(float)));
    if (copied == nullptr) throw std::bad_alloc();
    c::copy(image, View<float>(copied, image.size()));
    *pixels = copied;
    *width = image.width();
    *height = image.height();
  });
}

void parallax_free(void* memory) {
  std::free(memory);
}

parallax_code parallax_write_pfm(const char* path, const parallax_image* image) {
  return c::call([&] {
    const std::string to = c::text(path, "path");
    write_file(to, encode_pfm(c::float_view(image, "image")));
  });
}

parallax_code parallax_write_ply(const char* path, const parallax_point* points, size_t count) {
  return c::call([&] {
    const std::string to = c::text(path, "path");
    if (count > 0) c::required(points, "points");
    std::vector<Point> cloud(count);
    for (std::size_t i = 0; i < count; ++i)
      cloud[i] = {points[i].x, points[i].y, points[i].z, {points[i].red, points[i].green, points[i].blue}};
    write_file(to, encode_ply(cloud));
  });
}

parallax_code parallax_synthesize(const char* scene, int32_t disparities, uint64_t seed,
                                  const parallax_output* left, const parallax_output* right,
                                  const parallax_output* truth) {
  return c::call([&] {
    const View<std::uint8_t> left_view = c::byte_output(left, "left", 3),
                             right_view = c::byte_output(right, "right", 3);
    const View<float> truth_view = c::float_output(truth, "truth");
    const Size wide{truth_view.size.width * 3, truth_view.size.height};
    c::check_same_size(left_view.size, right_view.size, wide);
    const SynthPair pair =
        synthesize({truth_view.size, disparities, parse_scene(c::text(scene, "scene")), seed});
    c::copy(pair.left, left_view);
    c::copy(pair.right, right_view);
    c::copy(pair.left_truth, truth_view);
  });
}

}  // extern "C"
