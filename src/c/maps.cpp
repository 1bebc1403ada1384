// SPDX-License-Identifier: Apache-2.0
// Uses of a disparity map: errors, depth, points, pictures and files.
#include <algorithm>
#include <cstddef>
#include <cstdlib>

#include "parallax/error.h"
#include "parallax/evaluate.h"
#include "parallax/flow.h"
#include "parallax/formats.h"
#include "parallax/synth.h"
#include "parallax/values.h"

#include "c/call.h"

using namespace parallax;

namespace parallax::c {
namespace {

static_assert(sizeof(parallax_point) == 16);

// Bytes of the calibration of the first version.
constexpr std::size_t first_calibration = offsetof(parallax_calibration, metres_per_unit);

Calibration calibration_of(const parallax_calibration* given) {
  const parallax_calibration calibration = known(given, "calibration", first_calibration);
  return {calibration.focal,  calibration.centre_x,    calibration.centre_y,
          calibration.doffs,  calibration.baseline,    calibration.width,
          calibration.height, calibration.disparities, calibration.metres_per_unit};
}

void write(const std::vector<Point>& from, parallax_point* to, std::string_view name) {
  required(to, name);
  for (const Point& point : from)
    *to++ = {point.x, point.y, point.z, point.colour[0], point.colour[1], point.colour[2], 0};
}

std::vector<Point> points_of(const parallax_point* given, std::size_t count, std::string_view name) {
  if (count > 0) required(given, name);
  std::vector<Point> points(count);
  for (std::size_t i = 0; i < count; ++i)
    points[i] = {given[i].x, given[i].y, given[i].z, {given[i].red, given[i].green, given[i].blue}};
  return points;
}

template <class T>
void copy(const Plane<T>& from, View<T> to) {
  for (int y = 0; y < from.height(); ++y) std::copy_n(from.row(y), from.width(), to.row(y));
}

// Memory that parallax_free() releases.
float* allocate_floats(std::size_t count) {
  auto* floats = static_cast<float*>(std::malloc(std::max<std::size_t>(1, count) * sizeof(float)));
  if (floats == nullptr) throw std::bad_alloc();
  return floats;
}

void check_same_size(Size left, Size right, Size truth) {
  if (left != right || left != truth)
    throw Error(ErrorCategory::argument,
                "left, right and truth have different sizes: give outputs of one size");
}

}  // namespace

void write_calibration(const Calibration& from, parallax_calibration* to) {
  write_struct<parallax_calibration>({0, from.focal, from.centre_x, from.centre_y, from.doffs, from.baseline,
                                      from.width, from.height, from.disparities, from.metres_per_unit},
                                     to, "calibration", first_calibration);
}

}  // namespace parallax::c

extern "C" {

parallax_code parallax_evaluate(const parallax_image* disparity, const parallax_image* truth,
                                const parallax_image* mask, parallax_metrics* metrics) {
  return c::call([&] {
    const View<const float> found = c::float_view(disparity, "disparity map");
    const View<const float> expected = c::float_view(truth, "truth");
    const ErrorMetrics error = evaluate(found, expected, c::mask_view(mask, "mask"));
    c::write_struct<parallax_metrics>(
        {0, error.count, error.bad05, error.bad1, error.bad2, error.bad4, error.average, error.rms, error.a50,
         error.a90, error.a95, error.a99, error.d1, error.coverage, error.mismatches},
        metrics, "metrics");
  });
}

parallax_code parallax_read_calibration(const char* path, parallax_calibration* calibration) {
  return c::call(
      [&] { c::write_calibration(read_middlebury_calibration(c::text(path, "path")), calibration); });
}

parallax_code parallax_calibration_in_metres(parallax_calibration* calibration) {
  return c::call([&] { c::write_calibration(in_metres(c::calibration_of(calibration)), calibration); });
}

parallax_code parallax_depth(const parallax_calibration* calibration, const parallax_image* disparity,
                             const parallax_output* depth) {
  return c::call([&] {
    const Calibration rig = c::calibration_of(calibration);
    const View<const float> map = c::float_view(disparity, "disparity map");
    depth_map(rig, map, c::float_output(depth, "depth map"));
  });
}

parallax_code parallax_depth_uncertainty(const parallax_calibration* calibration,
                                         const parallax_image* disparity, double disparity_uncertainty,
                                         const parallax_output* uncertainty) {
  return c::call([&] {
    const Calibration rig = c::calibration_of(calibration);
    const View<const float> map = c::float_view(disparity, "disparity map");
    depth_uncertainty_map(rig, map, disparity_uncertainty, c::float_output(uncertainty, "uncertainty map"));
  });
}

parallax_code parallax_normals(const parallax_calibration* calibration, const parallax_image* disparity,
                               const parallax_output* normals) {
  return c::call([&] {
    const Calibration rig = c::calibration_of(calibration);
    const View<const float> map = c::float_view(disparity, "disparity map");
    normal_map(rig, map, c::float_output(normals, "normals", 3));
  });
}

parallax_code parallax_points(const parallax_calibration* calibration, const parallax_image* disparity,
                              const parallax_image* left, parallax_point* points, size_t* count) {
  return c::call([&] {
    const Calibration rig = c::calibration_of(calibration);
    const View<const float> map = c::float_view(disparity, "disparity map");
    const std::vector<Point> cloud = point_cloud(rig, map, c::image_view(left, "left image"));
    c::required(points, "points");
    c::required(count, "count") = cloud.size();
    c::write(cloud, points, "points");
  });
}

parallax_code parallax_mesh(const parallax_calibration* calibration, const parallax_image* disparity,
                            const parallax_image* left, double greatest_step, parallax_point* vertices,
                            size_t* vertex_count, uint32_t* triangles, size_t* triangle_count) {
  return c::call([&] {
    const Calibration rig = c::calibration_of(calibration);
    const View<const float> map = c::float_view(disparity, "disparity map");
    const Mesh surface = mesh(rig, map, c::image_view(left, "left image"), {{}, greatest_step});
    c::required(vertices, "vertices");
    c::required(triangles, "triangles");
    c::required(vertex_count, "vertex_count") = surface.vertices.size();
    c::required(triangle_count, "triangle_count") = surface.triangles.size();
    c::write(surface.vertices, vertices, "vertices");
    for (const auto& triangle : surface.triangles)
      triangles = std::copy(triangle.begin(), triangle.end(), triangles);
  });
}

parallax_code parallax_find_value_range(const parallax_pair* pair, int32_t* low, int32_t* high) {
  return c::call([&] {
    const StereoPair views = c::pair_of(pair);
    c::required(low, "low");
    c::required(high, "high");
    const ValueRange range = find_value_range(views);
    *low = range.low;
    *high = range.high;
  });
}

parallax_code parallax_stretch(const parallax_image* image, int32_t low, int32_t high,
                               const parallax_output* stretched) {
  return c::call([&] {
    stretch(c::image_view(image, "image"), {low, high}, c::image_output(stretched, "stretched image"));
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
    float* copied = c::allocate_floats(image.size().pixels());
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

parallax_code parallax_read_flo(const char* path, float** vectors, int32_t* width, int32_t* height) {
  return c::call([&] {
    c::required(vectors, "vectors");
    c::required(width, "width");
    c::required(height, "height");
    const Flow flow = read_flo(c::text(path, "path"));
    float* to = *vectors = c::allocate_floats(2 * flow.size().pixels());
    for (int y = 0; y < flow.size().height; ++y)
      for (int x = 0; x < flow.size().width; ++x) {
        *to++ = flow.u.at(x, y);
        *to++ = flow.v.at(x, y);
      }
    *width = flow.size().width;
    *height = flow.size().height;
  });
}

parallax_code parallax_write_flo(const char* path, const parallax_image* u, const parallax_image* v) {
  return c::call([&] {
    const std::string to = c::text(path, "path");
    write_file(to, encode_flo({c::float_view(u, "u"), c::float_view(v, "v")}));
  });
}

parallax_code parallax_write_ply(const char* path, const parallax_point* points, size_t count) {
  return c::call([&] {
    const std::string to = c::text(path, "path");
    write_file(to, encode_ply(c::points_of(points, count, "points")));
  });
}

parallax_code parallax_write_pcd(const char* path, const parallax_point* points, size_t count) {
  return c::call([&] {
    const std::string to = c::text(path, "path");
    write_file(to, encode_pcd(c::points_of(points, count, "points")));
  });
}

parallax_code parallax_write_mesh(const char* path, const parallax_point* vertices, size_t vertex_count,
                                  const uint32_t* triangles, size_t triangle_count) {
  return c::call([&] {
    const std::string to = c::text(path, "path");
    Mesh surface{c::points_of(vertices, vertex_count, "vertices"), {}};
    if (triangle_count > 0) c::required(triangles, "triangles");
    for (std::size_t i = 0; i < triangle_count; ++i)
      surface.triangles.push_back({triangles[3 * i], triangles[3 * i + 1], triangles[3 * i + 2]});
    write_file(to, encode_mesh(surface));
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
