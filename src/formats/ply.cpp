// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>
#include <string>

#include "parallax/error.h"
#include "parallax/formats.h"

#include "formats/points.h"

namespace parallax {
namespace {

constexpr std::size_t vertex_bytes = 3 * sizeof(float) + 3;
constexpr std::size_t face_bytes = 1 + 3 * sizeof(std::uint32_t);

std::string header_of(std::size_t vertices, const std::string& faces) {
  return "ply\nformat binary_little_endian 1.0\nelement vertex " + std::to_string(vertices) +
         "\nproperty float x\nproperty float y\nproperty float z\n"
         "property uchar red\nproperty uchar green\nproperty uchar blue\n" +
         faces + "end_header\n";
}

void put_vertices(std::span<const Point> points, BinaryFile& file) {
  for (const Point& point : points) {
    file.put(std::array{point.x, point.y, point.z});
    file.put(point.colour);
  }
}

void check_triangles(const Mesh& mesh) {
  for (std::size_t i = 0; i < mesh.triangles.size(); ++i)
    for (const std::uint32_t corner : mesh.triangles[i])
      if (corner >= mesh.vertices.size())
        throw Error(ErrorCategory::argument,
                    "triangle " + std::to_string(i) + " has vertex " + std::to_string(corner) + " of " +
                        std::to_string(mesh.vertices.size()) + ": give indices of the mesh's own vertices");
}

}  // namespace

void check_points(std::span<const Point> points) {
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Point& point = points[i];
    if (std::isfinite(point.x) && std::isfinite(point.y) && std::isfinite(point.z)) continue;
    throw Error(
        ErrorCategory::argument,
        "point " + std::to_string(i) + " has a coordinate that is not finite: leave it out of the cloud");
  }
}

std::vector<std::byte> encode_ply(std::span<const Point> points) {
  check_points(points);
  BinaryFile file(header_of(points.size(), ""), points.size() * vertex_bytes);
  put_vertices(points, file);
  return file.take();
}

std::vector<std::byte> encode_mesh(const Mesh& mesh) {
  check_points(mesh.vertices);
  check_triangles(mesh);
  const std::string faces =
      "element face " + std::to_string(mesh.triangles.size()) + "\nproperty list uchar int vertex_indices\n";
  BinaryFile file(header_of(mesh.vertices.size(), faces),
                  mesh.vertices.size() * vertex_bytes + mesh.triangles.size() * face_bytes);
  put_vertices(mesh.vertices, file);
  for (const std::array<std::uint32_t, 3>& triangle : mesh.triangles) {
    file.put(std::uint8_t{3});
    file.put(triangle);
  }
  return file.take();
}

}  // namespace parallax
