// SPDX-License-Identifier: Apache-2.0
// Scenes are stacks of flat layers. Each layer has a shape and a texture in the first frame, and a similarity
// that maps it to the second one. Every pixel of either frame shows the topmost layer that covers it, so
// motions and occlusions are exact.

#include "parallax/flow.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/checks.h"
#include "core/floating_point.h"
#include "synth/texture.h"

namespace parallax {
namespace {

using namespace synth;

// p ↦ middle + (cosine, −sine; sine, cosine)·(p − middle) + shift; the matrix may also scale.
struct Similarity {
  Point2 middle{0, 0}, shift{0, 0};
  double cosine = 1, sine = 0;

  Point2 forward(Point2 p) const {
    const double x = p.x - middle.x, y = p.y - middle.y;
    return {middle.x + cosine * x - sine * y + shift.x, middle.y + sine * x + cosine * y + shift.y};
  }
  Point2 back(Point2 q) const {
    const double x = q.x - middle.x - shift.x, y = q.y - middle.y - shift.y,
                 square = cosine * cosine + sine * sine;
    return {middle.x + (cosine * x + sine * y) / square, middle.y + (cosine * y - sine * x) / square};
  }
};

enum class Outline { everywhere, disc, rectangle, strip };

struct Layer {
  Outline outline = Outline::everywhere;
  Point2 centre{0, 0}, half{0, 0};  // for a strip, half.x is half of its width
  Point2 normal{1, 0};              // strips only
  Similarity motion = {};
  std::uint64_t texture = 0;
  double texture_scale = 1;

  bool covers(Point2 p) const {
    const double x = p.x - centre.x, y = p.y - centre.y;
    switch (outline) {
      case Outline::everywhere:
        break;
      case Outline::disc:
        return x * x + y * y < half.x * half.x;
      case Outline::rectangle:
        return std::abs(x) < half.x && std::abs(y) < half.y;
      case Outline::strip:
        return std::abs(normal.x * x + normal.y * y) < half.x;
    }
    return true;
  }
  Colour colour(Point2 p) const { return smooth_texture(texture, texture_scale * p.x, texture_scale * p.y); }
};

class SceneMaker {
 public:
  explicit SceneMaker(const FlowSynthParameters& parameters)
      : parameters_(parameters),
        random_(scramble(parameters.seed) ^ static_cast<std::uint64_t>(parameters.scene)) {}

  // The background first.
  std::vector<Layer> make() {
    std::vector<Layer> layers{textured({})};
    Similarity background = layers.front().motion;
    background.middle = {0.5 * (parameters_.size.width - 1), 0.5 * (parameters_.size.height - 1)};
    // Farther from the middle than any pixel.
    const double reach = 0.5 * (parameters_.size.width + parameters_.size.height);
    const double motion = parameters_.motion;
    switch (parameters_.scene) {
      case FlowScene::translation:
        background.shift = shift(motion);
        break;
      case FlowScene::rotation: {
        // tangent of half the angle
        const double tangent = 0.5 * motion / reach, square = 1 + tangent * tangent;
        background.cosine = (1 - tangent * tangent) / square;
        background.sine = 2 * tangent / square;
        break;
      }
      case FlowScene::zoom:
        background.cosine = 1 + motion / reach;
        break;
      case FlowScene::layers:
        background.shift = shift(0.3 * motion);
        for (int i = 0; i < 6; ++i) layers.push_back(object(i % 2 == 0 ? Outline::disc : Outline::rectangle));
        break;
      case FlowScene::thin:
        background.shift = shift(0.5 * motion);
        for (int i = 0; i < 8; ++i) layers.push_back(strip(background.shift));
        break;
    }
    layers.front().motion = background;
    return layers;
  }

 private:
  // No longer than `longest`, in any direction.
  Point2 shift(double longest) {
    constexpr double side = 0.7071;  // half the side of the square in a circle
    const double x = random_.between(-side, side) * longest;
    return {x, random_.between(-side, side) * longest};
  }

  Layer textured(Layer layer) {
    layer.texture = random_.next();
    layer.texture_scale = random_.between(0.6, 1);
    return layer;
  }

  Layer anywhere(Outline outline) {
    Layer layer = textured({.outline = outline});
    layer.centre = {random_.between(0.1, 0.9) * parameters_.size.width,
                    random_.between(0.1, 0.9) * parameters_.size.height};
    return layer;
  }

  Layer object(Outline outline) {
    Layer layer = anywhere(outline);
    const double side = std::min(parameters_.size.width, parameters_.size.height);
    layer.half = {random_.between(0.07, 0.2) * side + 1, random_.between(0.07, 0.2) * side + 1};
    layer.motion.shift = shift(parameters_.motion);
    return layer;
  }

  Layer strip(Point2 background) {
    Layer layer = anywhere(Outline::strip);
    layer.half.x = random_.between(1.5, 4);
    // tangent of half the angle
    const double tangent = random_.between(-1, 1), square = 1 + tangent * tangent;
    layer.normal = {(1 - tangent * tangent) / square, 2 * tangent / square};
    const Point2 further = shift(0.4 * parameters_.motion);
    layer.motion.shift = {background.x + further.x, background.y + further.y};
    return layer;
  }

  const FlowSynthParameters& parameters_;
  Random random_;
};

struct Sight {
  const Layer* layer;
  Point2 place;  // position in the first frame
};

// The topmost layer at a point of a frame.
Sight look(const std::vector<Layer>& layers, Point2 point, bool second) {
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    const Point2 place = second ? layer->motion.back(point) : point;
    if (layer->covers(place)) return {&*layer, place};
  }
  return {&layers.front(), point};
}

}  // namespace

FlowScene parse_flow_scene(std::string_view name) {
  if (name == "translation") return FlowScene::translation;
  if (name == "rotation") return FlowScene::rotation;
  if (name == "zoom") return FlowScene::zoom;
  if (name == "layers") return FlowScene::layers;
  if (name == "thin") return FlowScene::thin;
  refuse("scene", name, "translation, rotation, zoom, layers or thin");
}

void FlowSynthParameters::validate() const {
  check_range("width", size.width, 1, 1'000'000);
  check_range("height", size.height, 1, 1'000'000);
  check_choice("scene", scene, FlowScene::thin);
  check_range("motion", motion, 0.0f, 1000.0f);
  check_range("noise", noise, 0.0f, 255.0f);
  check_range("exposure", exposure, 0.1f, 10.0f);
}

FlowSynthPair synthesize_flow(const FlowSynthParameters& parameters) {
  const DefaultFloatingPoint environment;
  parameters.validate();
  const Size size = parameters.size, colour_size{3 * size.width, size.height};
  const std::vector<Layer> layers = SceneMaker(parameters).make();
  FlowSynthPair pair{Plane<std::uint8_t>(colour_size), Plane<std::uint8_t>(colour_size), Flow(size),
                     Plane<std::uint8_t>(size)};
  const auto sensor = [&](double gain, std::uint64_t frame) {
    return Exposure(gain, parameters.noise, scramble(2 * parameters.seed + frame));
  };
  const Exposure first = sensor(1, 0), second = sensor(parameters.exposure, 1);
  const auto pixel = [](Plane<std::uint8_t>& frame, int x, int y) {
    return frame.row(y) + 3 * static_cast<std::ptrdiff_t>(x);
  };
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      const Point2 point{static_cast<double>(x), static_cast<double>(y)};
      const Sight here = look(layers, point, false);
      first.expose(here.layer->colour(here.place), x, y, pixel(pair.first, x, y));
      const Sight there = look(layers, point, true);
      second.expose(there.layer->colour(there.place), x, y, pixel(pair.second, x, y));
      const Point2 target = here.layer->motion.forward(point);
      pair.truth.u.at(x, y) = static_cast<float>(target.x - point.x);
      pair.truth.v.at(x, y) = static_cast<float>(target.y - point.y);
      const bool inside =
          target.x >= 0 && target.y >= 0 && target.x <= size.width - 1 && target.y <= size.height - 1;
      pair.mask.at(x, y) = inside && look(layers, target, true).layer == here.layer ? 255 : 128;
    }
  return pair;
}

}  // namespace parallax
