// SPDX-License-Identifier: Apache-2.0
// Point clouds and meshes as PLY, point clouds as PCD.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>

#include "parallax/formats.h"

#include "core/checks.h"

namespace parallax {
namespace {

// A file with a header in text and binary data of known length.
class BinaryFile {
 public:
  BinaryFile(const std::string& header, std::size_t data_bytes) : bytes_(header.size() + data_bytes) {
    put(header.data(), header.size());
  }

  template <class Value>
  void put(const Value& value) {
    static_assert(std::endian::native == std::endian::little, "values are copied as they are");
    put(&value, sizeof value);
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  void put(const void* data, std::size_t size) {
    std::memcpy(bytes_.data() + position_, data, size);
    position_ += size;
  }

  std::vector<std::byte> bytes_;
  std::size_t position_ = 0;
};

// Files have normals if a point has one.
bool have_normals(std::span<const Point> points) {
  return std::any_of(points.begin(), points.end(),
                     [](const Point& point) { return point.normal != Normal{}; });
}

constexpr std::size_t vertex_bytes(bool normals) {
  return (normals ? 6 : 3) * sizeof(float) + 3;
}
constexpr std::size_t face_bytes = 1 + 3 * sizeof(std::uint32_t);

std::string header_of(std::span<const Point> vertices, const std::string& faces,
                      const std::string& grid = "") {
  return "ply\nformat binary_little_endian 1.0\n" + grid + "element vertex " +
         std::to_string(vertices.size()) + "\nproperty float x\nproperty float y\nproperty float z\n" +
         (have_normals(vertices) ? "property float nx\nproperty float ny\nproperty float nz\n" : "") +
         "property uchar red\nproperty uchar green\nproperty uchar blue\n" + faces + "end_header\n";
}

void put_vertices(std::span<const Point> points, BinaryFile& file) {
  const bool normals = have_normals(points);
  for (const Point& point : points) {
    file.put(std::array{point.x, point.y, point.z});
    if (normals) file.put(point.normal);
    file.put(point.colour);
  }
}

void check_triangles(const Mesh& mesh) {
  for (std::size_t i = 0; i < mesh.triangles.size(); ++i)
    for (const std::uint32_t corner : mesh.triangles[i])
      if (corner >= mesh.vertices.size())
        refuse("triangle " + std::to_string(i) + " has vertex " + std::to_string(corner) + " of " +
               std::to_string(mesh.vertices.size()) + ": give indices of the mesh's own vertices");
}

// \throws Error (argument) for a point that is not finite, or without a `grid` for NaN
void check_points(std::span<const Point> points, Size grid = {}) {
  if (grid != Size{} && grid.pixels() != points.size())
    refuse("the cloud has " + std::to_string(points.size()) + " points, its grid " + text(grid) +
           ": give a point for each pixel");
  const bool may_lack_points = grid != Size{};
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Point& point = points[i];
    if (std::isfinite(point.x) && std::isfinite(point.y) && std::isfinite(point.z)) continue;
    if (may_lack_points && std::isnan(point.x) && std::isnan(point.y) && std::isnan(point.z)) continue;
    refuse("point " + std::to_string(i) + " has a coordinate that is not finite: leave it out of the cloud");
  }
}

}  // namespace

std::vector<std::byte> encode_ply(std::span<const Point> points, Size grid) {
  check_points(points, grid);
  const std::string rows = grid == Size{} ? ""
                                          : "obj_info num_cols " + std::to_string(grid.width) +
                                                "\nobj_info num_rows " + std::to_string(grid.height) + "\n";
  BinaryFile file(header_of(points, "", rows), points.size() * vertex_bytes(have_normals(points)));
  put_vertices(points, file);
  return file.take();
}

std::vector<std::byte> encode_mesh(const Mesh& mesh) {
  check_points(mesh.vertices);
  check_triangles(mesh);
  const std::string faces =
      "element face " + std::to_string(mesh.triangles.size()) + "\nproperty list uchar int vertex_indices\n";
  BinaryFile file(
      header_of(mesh.vertices, faces),
      mesh.vertices.size() * vertex_bytes(have_normals(mesh.vertices)) + mesh.triangles.size() * face_bytes);
  put_vertices(mesh.vertices, file);
  for (const std::array<std::uint32_t, 3>& triangle : mesh.triangles) {
    file.put(std::uint8_t{3});
    file.put(triangle);
  }
  return file.take();
}

std::vector<std::byte> encode_pcd(std::span<const Point> points, Size grid) {
  check_points(points, grid);
  const std::string count = std::to_string(points.size());
  // PCL's PointXYZRGB and PointXYZRGBNormal declare their packed colour as a float.
  const bool normals = have_normals(points);
  const std::string header =
      std::string("# .PCD v0.7 - Point Cloud Data file format\nVERSION 0.7\n") +
      (normals ? "FIELDS x y z rgb normal_x normal_y normal_z\nSIZE 4 4 4 4 4 4 4\nTYPE F F F F F F F\n"
                 "COUNT 1 1 1 1 1 1 1\n"
               : "FIELDS x y z rgb\nSIZE 4 4 4 4\nTYPE F F F F\nCOUNT 1 1 1 1\n") +
      "WIDTH " + (grid == Size{} ? count : std::to_string(grid.width)) + "\nHEIGHT " +
      (grid == Size{} ? "1" : std::to_string(grid.height)) + "\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS " + count +
      "\nDATA binary\n";
  BinaryFile file(header, points.size() * (normals ? 7 : 4) * sizeof(float));
  for (const Point& point : points) {
    const auto [red, green, blue] = point.colour;
    file.put(std::array{point.x, point.y, point.z});
    file.put(static_cast<std::uint32_t>(red << 16 | green << 8 | blue));
    if (normals) file.put(point.normal);
  }
  return file.take();
}

}  // namespace parallax
