// SPDX-License-Identifier: Apache-2.0
// Scenes are sets of planar surfaces, each with a disparity d = a + b·x + c·y in left coordinates, inside a
// shape. Every pixel of either view is cast onto all of them and shows the nearest; texture is a function of
// the position on the surface. Truth and occlusion are therefore exact. Only +, −, ×, ÷ and floor are used,
// so that every machine renders the same bytes.

#include "parallax/synth.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/checks.h"
#include "core/floating_point.h"
#include "synth/calibration.h"
#include "synth/texture.h"

namespace parallax {
namespace {

using namespace synth;

enum class Shape { everywhere, rectangle, disc };

struct Surface {
  double a = 0, b = 0, c = 0;
  Shape shape = Shape::everywhere;
  double centre_x = 0, centre_y = 0, half_width = 0, half_height = 0;
  std::uint64_t texture = 0;

  double disparity(double x, double y) const { return a + b * x + c * y; }
  // The left column of the point that the right view shows at `right_x`: x − d(x, y) = right_x.
  double left_column(double right_x, double y) const { return (right_x + a + c * y) / (1 - b); }

  bool covers(double x, double y) const {
    const double u = (x - centre_x) / half_width;
    const double v = (y - centre_y) / half_height;
    if (shape == Shape::rectangle) return u >= -1 && u < 1 && v >= -1 && v < 1;
    if (shape == Shape::disc) return u * u + v * v < 1;
    return true;
  }
};

Colour dot_texture(std::uint64_t seed, double x, double y) {
  const std::uint8_t brightness =
      level(lattice(seed, static_cast<std::int64_t>(x), static_cast<std::int64_t>(y)));
  return {brightness, brightness, brightness};
}

Surface shape_anywhere(Shape shape, Size size, Random& random) {
  Surface surface;
  surface.shape = shape;
  surface.centre_x = random.between(0.1, 0.9) * size.width;
  surface.centre_y = random.between(0.1, 0.9) * size.height;
  surface.half_width = random.between(0.05, 0.2) * size.width + 1;
  surface.half_height =
      shape == Shape::disc ? surface.half_width : random.between(0.08, 0.25) * size.height + 1;
  surface.texture = random.next();
  return surface;
}

// Chooses slopes that keep the disparity within [0, highest] in both views. The right view shows points whose
// left column is beyond the image by up to a disparity.
void slant(Surface& surface, Size size, double highest, Random& random) {
  const double columns = size.width + highest;
  const double middle = random.between(0.3, 0.7) * highest;
  const double reach = 0.9 * std::min(middle, highest - middle);
  const double share = random.between(0.2, 0.8);
  const double sign_x = random.between(-1, 1) < 0 ? -1 : 1, sign_y = random.between(-1, 1) < 0 ? -1 : 1;
  // Slopes above 0.3 would squeeze or stretch the texture too much in the right view.
  surface.b = sign_x * std::min(0.3, share * reach / (0.5 * columns));
  surface.c = sign_y * std::min(0.3, (1 - share) * reach / (0.5 * size.height));
  surface.a = middle - surface.b * 0.5 * columns - surface.c * 0.5 * size.height;
}

std::vector<Surface> make_scene(const SynthParameters& parameters) {
  Random random(scramble(parameters.seed) ^ static_cast<std::uint64_t>(parameters.scene));
  const double highest = parameters.disparities - 1;
  std::vector<Surface> surfaces;
  Surface background;
  background.texture = random.next();
  background.a = std::floor(0.1 * highest);
  if (parameters.scene == Scene::planes) slant(background, parameters.size, highest, random);
  surfaces.push_back(background);
  constexpr int in_front = 7;
  for (int i = 0; i < in_front; ++i) {
    const Shape shape = parameters.scene == Scene::layers ? Shape::disc : Shape::rectangle;
    Surface surface = shape_anywhere(shape, parameters.size, random);
    surface.a = random.between(0.2, 1) * highest;
    if (parameters.scene == Scene::dots) surface.a = std::floor(surface.a);
    if (parameters.scene == Scene::planes) slant(surface, parameters.size, highest, random);
    surfaces.push_back(surface);
  }
  return surfaces;
}

struct Hit {
  const Surface* surface;
  double left_column;
  double disparity;
};

// Finds the nearest surface at a point of the left or the right view.
Hit cast(const std::vector<Surface>& surfaces, double column, double row, bool from_right) {
  Hit nearest{nullptr, 0, 0};
  for (const Surface& surface : surfaces) {
    const double x = from_right ? surface.left_column(column, row) : column;
    if (!surface.covers(x, row)) continue;
    const double disparity = surface.disparity(x, row);
    if (nearest.surface == nullptr || disparity > nearest.disparity) nearest = {&surface, x, disparity};
  }
  return nearest;
}

// Whether the other view also shows the point that this view shows at `column`.
bool seen_by_both(const std::vector<Surface>& surfaces, const Hit& hit, double column, double row, int width,
                  bool from_right) {
  const double other_column = from_right ? column + hit.disparity : column - hit.disparity;
  if (other_column < 0 || other_column > width - 1) return false;
  // Another surface hides it only if it is nearer by more than rounding errors.
  return cast(surfaces, other_column, row, !from_right).disparity < hit.disparity + 1e-6;
}

// The planes hold rows from `first_row` on.
void render(const std::vector<Surface>& surfaces, Scene scene, bool from_right, int first_row,
            Plane<std::uint8_t>& image, Plane<float>& truth, Plane<std::uint8_t>& mask) {
  for (int row = 0; row < truth.height(); ++row) {
    const int y = first_row + row;
    for (int x = 0; x < truth.width(); ++x) {
      const Hit hit = cast(surfaces, x, y, from_right);
      const Colour colour = scene == Scene::dots ? dot_texture(hit.surface->texture, hit.left_column, y)
                                                 : smooth_texture(hit.surface->texture, hit.left_column, y);
      std::copy(colour.begin(), colour.end(), image.row(row) + 3 * static_cast<std::ptrdiff_t>(x));
      truth.at(x, row) = static_cast<float>(hit.disparity);
      mask.at(x, row) = seen_by_both(surfaces, hit, x, y, truth.width(), from_right) ? 255 : 128;
    }
  }
}

}  // namespace

Scene parse_scene(std::string_view name) {
  if (name == "dots") return Scene::dots;
  if (name == "planes") return Scene::planes;
  if (name == "layers") return Scene::layers;
  refuse("scene", name, "dots, planes or layers");
}

void SynthParameters::validate() const {
  check_range("width", size.width, 1, 1'000'000);
  check_range("height", size.height, 1, 1'000'000);
  check_range("disparities", disparities, 1, 1'000'000);
  check_choice("scene", scene, Scene::layers);
}

SynthPair synthesize(const SynthParameters& parameters) {
  return synthesize_rows(parameters, 0, parameters.size.height);
}

SynthPair synthesize_rows(const SynthParameters& parameters, int first_row, int rows) {
  const DefaultFloatingPoint environment;
  parameters.validate();
  check_range("first row", first_row, 0, parameters.size.height - 1);
  check_range("rows", rows, 1, parameters.size.height - first_row);
  const Size size{parameters.size.width, rows};
  const Size colour_size{3 * size.width, size.height};
  const std::vector<Surface> surfaces = make_scene(parameters);
  SynthPair pair{Plane<std::uint8_t>(colour_size),
                 Plane<std::uint8_t>(colour_size),
                 Plane<float>(size),
                 Plane<float>(size),
                 Plane<std::uint8_t>(size),
                 Plane<std::uint8_t>(size),
                 synthetic_calibration(parameters.size, parameters.disparities)};
  render(surfaces, parameters.scene, false, first_row, pair.left, pair.left_truth, pair.left_mask);
  render(surfaces, parameters.scene, true, first_row, pair.right, pair.right_truth, pair.right_mask);
  return pair;
}

}  // namespace parallax
