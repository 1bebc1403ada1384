// SPDX-License-Identifier: Apache-2.0
// Surfaces are planes in space. Their shapes and textures are given in columns and rows of a reference view,
// the left camera before it moves; a pose takes points from there to a frame. Lengths are multiples of the
// baseline, so that a depth is focal / disparity. A plane n·X = 1 has the disparities focal·(n·ray), which are
// linear in column and row. Only +, −, ×, ÷ and floor are used, so that every machine renders the same bytes.

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "parallax/synth.h"

#include "core/checks.h"
#include "core/floating_point.h"
#include "core/integers.h"
#include "synth/calibration.h"
#include "synth/texture.h"

namespace parallax {
namespace {

using namespace synth;

using Vector = std::array<double, 3>;

double dot(const Vector& a, const Vector& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

// X ↦ rows·X + shift; the rows are a rotation's.
struct Pose {
  std::array<Vector, 3> rows{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  Vector shift{0, 0, 0};

  Vector rotate(const Vector& x) const { return {dot(rows[0], x), dot(rows[1], x), dot(rows[2], x)}; }
  Vector forward(const Vector& x) const {
    const Vector turned = rotate(x);
    return {turned[0] + shift[0], turned[1] + shift[1], turned[2] + shift[2]};
  }
  Vector back(const Vector& y) const {
    const Vector x{y[0] - shift[0], y[1] - shift[1], y[2] - shift[2]};
    Vector result{0, 0, 0};
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 3; ++j) result[j] += rows[i][j] * x[i];
    return result;
  }
};

// A rotation in the plane of two axes, by the tangent of half its angle.
Pose rotation(std::size_t from, std::size_t to, double tangent) {
  const double square = 1 + tangent * tangent, cosine = (1 - tangent * tangent) / square,
               sine = 2 * tangent / square;
  Pose pose;
  pose.rows[from][from] = pose.rows[to][to] = cosine;
  pose.rows[to][from] = sine;
  pose.rows[from][to] = -sine;
  return pose;
}

// First `inner`, then `outer`.
Pose product(const Pose& outer, const Pose& inner) {
  Pose result;
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) {
      const Vector column{inner.rows[0][j], inner.rows[1][j], inner.rows[2][j]};
      result.rows[i][j] = dot(outer.rows[i], column);
    }
  result.shift = outer.forward(inner.shift);
  return result;
}

// Like a sine, of parabolas: period 1, values in [−1, 1], slope at most 8.
double wave(double phase) {
  const double p = phase - std::floor(phase);
  return p < 0.5 ? 8 * p * (1 - 2 * p) : -8 * (p - 0.5) * (2 - 2 * p);
}

// A wave over frames that changes by at most `speed` from one to the next.
struct Swing {
  double speed = 0, period = 1, phase = 0;
  double at(int frame) const { return speed * period / 8 * (wave(frame / period + phase) - wave(phase)); }
};

// A surface in the reference view.
struct Thing {
  enum class Shape { everywhere, disc, rectangle };

  double a = 0, b = 0, c = 0;  // disparity a + b·x + c·y
  Shape shape = Shape::everywhere;
  double centre_x = 0, centre_y = 0, half_width = 1, half_height = 1;
  std::uint64_t texture = 0;
  double contrast = 1;
  bool moves = false;
  std::array<Swing, 3> path;  // motion, if it moves by itself

  bool covers(double x, double y) const {
    const double u = (x - centre_x) / half_width, v = (y - centre_y) / half_height;
    if (shape == Shape::rectangle) return u >= -1 && u < 1 && v >= -1 && v < 1;
    if (shape == Shape::disc) return u * u + v * v < 1;
    return true;
  }

  Colour colour(double x, double y) const {
    constexpr double middle = 100;
    Colour result = smooth_texture(texture, x, y);
    for (std::uint8_t& value : result)
      value = static_cast<std::uint8_t>(std::floor(middle + contrast * (value - middle) + 0.5));
    return result;
  }
};

struct World {
  std::vector<Thing> things;
  std::array<Swing, 3> camera;  // its position
  std::array<Swing, 3> turns;   // tangents of half its angles

  Pose pose(const Thing& thing, int frame) const {
    Pose pose = product(rotation(0, 2, turns[0].at(frame)),
                        product(rotation(1, 2, turns[1].at(frame)), rotation(0, 1, turns[2].at(frame))));
    Vector moved;
    for (std::size_t i = 0; i < 3; ++i)
      moved[i] = camera[i].at(frame) + (thing.moves ? thing.path[i].at(frame) : 0);
    pose.shift = pose.rotate(moved);
    return pose;
  }
};

class WorldMaker {
 public:
  WorldMaker(const VideoSynthParameters& parameters, std::uint64_t seed)
      : size_(parameters.size),
        highest_(parameters.disparities - 1),
        motion_(parameters.motion),
        random_(scramble(seed)) {}

  World make() {
    World world;
    world.things.push_back(surface({}, random_.between(0.2, 0.26)));
    for (int i = 0; i < 6; ++i) world.things.push_back(object(i, 0.1, 0.3));
    for (int i = 0; i < 4; ++i) world.things.push_back(strip());
    for (int i = 0; i < 3; ++i) {
      Thing thing = object(i, 0.08, 0.16);
      thing.moves = true;
      thing.path = swings(thing, 0.6, 0.4, 0.2);
      world.things.push_back(thing);
    }
    const Thing in_the_middle = surface({}, 0.4);
    world.camera = swings(in_the_middle, 0.4, 0.2, 0.3);
    for (Swing& turn : world.turns) turn = swing(0.1 * motion_ / size_.width, 0.01);
    return world;
  }

 private:
  // Faster swings have shorter periods, so that none is wider than `widest`: disparities stay in their range.
  Swing swing(double speed, double widest) {
    const double period = random_.between(40, 80), phase = random_.between(0, 1);
    return {speed, speed * period / 8 > widest ? 8 * widest / speed : period, phase};
  }

  // Motions in shares of the longest one, to the right, downwards and along the optical axis.
  std::array<Swing, 3> swings(const Thing& thing, double x, double y, double z) {
    const double disparity = thing.a + thing.b * thing.centre_x + thing.c * thing.centre_y;
    const double pixel = 1 / disparity, nearest = size_.width / (0.65 * highest_);
    const double aside = 0.03 * size_.width * pixel, ahead = 0.03 * nearest;
    return {swing(x * motion_ * pixel, aside), swing(y * motion_ * pixel, aside),
            swing(z * motion_ * pixel, ahead)};
  }

  // Gives a shape a plane whose disparity is a share of the highest in its middle.
  Thing surface(Thing thing, double share) {
    if (thing.shape == Thing::Shape::everywhere) {
      thing.centre_x = 0.5 * (size_.width - 1);
      thing.centre_y = 0.5 * (size_.height - 1);
    }
    // Over the image, a slope changes the disparity by at most this share.
    constexpr double slope = 0.08;
    thing.b = random_.between(-slope, slope) * highest_ / size_.width;
    thing.c = random_.between(-slope, slope) * highest_ / size_.height;
    thing.a = share * highest_ - thing.b * thing.centre_x - thing.c * thing.centre_y;
    thing.texture = random_.next();
    thing.contrast = random_.between(0, 1) < 0.3 ? 0.15 : 1;
    return thing;
  }

  Thing anywhere(Thing::Shape shape) {
    Thing thing;
    thing.shape = shape;
    thing.centre_x = random_.between(0.1, 0.9) * size_.width;
    thing.centre_y = random_.between(0.1, 0.9) * size_.height;
    return thing;
  }

  Thing object(int i, double smallest, double largest) {
    Thing thing = anywhere(i % 2 == 0 ? Thing::Shape::disc : Thing::Shape::rectangle);
    const double side = std::min(size_.width, size_.height);
    thing.half_width = random_.between(smallest, largest) * side + 1;
    thing.half_height = random_.between(smallest, largest) * side + 1;
    return surface(thing, random_.between(0.25, 0.6));
  }

  Thing strip() {
    Thing thing = anywhere(Thing::Shape::rectangle);
    thing.half_width = random_.between(0.75, 2);
    thing.half_height = random_.between(0.15, 0.4) * size_.height;
    return surface(thing, random_.between(0.3, 0.6));
  }

  Size size_;
  double highest_, motion_;
  Random random_;
};

// A surface in a frame.
struct Placed {
  const Thing* thing;
  Pose pose, before;
  double a, b, c;  // disparity in the left view

  double disparity(double x, double y) const { return a + b * x + c * y; }
  double left_column(double right_x, double y) const { return (right_x + a + c * y) / (1 - b); }
};

class FrameView {
 public:
  FrameView(const VideoSynthParameters& parameters, const World& world, int frame, int before)
      : focal_(parameters.size.width),
        middle_{0.5 * (parameters.size.width - 1), 0.5 * (parameters.size.height - 1)} {
    for (const Thing& thing : world.things) {
      Placed placed{&thing, world.pose(thing, frame), world.pose(thing, before), 0, 0, 0};
      const Vector normal =
          placed.pose.rotate({thing.b, thing.c, at_middle(thing.a, thing.b, thing.c) / focal_});
      const double scale = 1 + dot(normal, placed.pose.shift);
      placed.b = normal[0] / scale;
      placed.c = normal[1] / scale;
      placed.a = focal_ * normal[2] / scale - placed.b * middle_.x - placed.c * middle_.y;
      placed_.push_back(placed);
    }
  }

  struct Hit {
    const Placed* placed = nullptr;
    double left_column = 0, disparity = 0;
    Point2 in_reference{0, 0};
  };

  // The nearest surface at a point of the left or the right image.
  Hit cast(double column, double row, bool from_right) const {
    Hit nearest;
    for (const Placed& placed : placed_) {
      const double x = from_right ? placed.left_column(column, row) : column,
                   disparity = placed.disparity(x, row);
      if (nearest.placed != nullptr && disparity <= nearest.disparity) continue;
      const Point2 point = project(placed.pose.back(point_at(x, row, disparity)));
      if (placed.thing->covers(point.x, point.y)) nearest = {&placed, x, disparity, point};
    }
    return nearest;
  }

  // Whether the other image also shows what this image shows at `column`.
  bool seen_by_both(const Hit& hit, double column, double row, int width, bool from_right) const {
    const double other = from_right ? column + hit.disparity : column - hit.disparity;
    // Another surface hides it only if it is nearer by more than rounding errors.
    return other >= 0 && other <= width - 1 && cast(other, row, !from_right).disparity < hit.disparity + 1e-6;
  }

  // Where the left image of the frame before shows the point.
  Point2 before(const Hit& hit, double row) const {
    const Vector in_reference = hit.placed->pose.back(point_at(hit.left_column, row, hit.disparity));
    return project(hit.placed->before.forward(in_reference));
  }

 private:
  double at_middle(double a, double b, double c) const { return a + b * middle_.x + c * middle_.y; }
  Vector point_at(double x, double y, double disparity) const {
    return {(x - middle_.x) / disparity, (y - middle_.y) / disparity, focal_ / disparity};
  }
  Point2 project(const Vector& point) const {
    return {focal_ * point[0] / point[2] + middle_.x, focal_ * point[1] / point[2] + middle_.y};
  }

  double focal_;
  Point2 middle_;
  std::vector<Placed> placed_;
};

void render(const FrameView& view, const Exposure& sensor, bool from_right, Plane<std::uint8_t>& image,
            Plane<float>& truth, Plane<std::uint8_t>& mask) {
  for (int y = 0; y < truth.height(); ++y)
    for (int x = 0; x < truth.width(); ++x) {
      const FrameView::Hit hit = view.cast(x, y, from_right);
      sensor.expose(hit.placed->thing->colour(hit.in_reference.x, hit.in_reference.y), x, y,
                    image.row(y) + 3 * static_cast<std::ptrdiff_t>(x));
      truth.at(x, y) = static_cast<float>(hit.disparity);
      mask.at(x, y) = view.seen_by_both(hit, x, y, truth.width(), from_right) ? 255 : 128;
    }
}

}  // namespace

void VideoSynthParameters::validate() const {
  check_range("width", size.width, 1, 1'000'000);
  check_range("height", size.height, 1, 1'000'000);
  check_range("disparities", disparities, 2, 1'000'000);
  check_range("motion", motion, 0.0f, 100.0f);
  check_range("noise", noise, 0.0f, 255.0f);
  check_range("drift", drift, 0.0f, 0.5f);
  check_range("cut", cut, 0, 1'000'000);
}

VideoSynthFrame synthesize_frame(const VideoSynthParameters& parameters, int frame) {
  const DefaultFloatingPoint environment;
  parameters.validate();
  check_range("frame", frame, 0, 1'000'000);
  const Size size = parameters.size, colour_size{3 * size.width, size.height};
  const bool after_cut = parameters.cut > 0 && frame >= parameters.cut;
  const std::uint64_t seed = after_cut ? scramble(parameters.seed) : parameters.seed;
  const World world = WorldMaker(parameters, seed).make();
  const bool is_first = frame == 0 || frame == parameters.cut;
  const FrameView view(parameters, world, frame, is_first ? frame : frame - 1);
  VideoSynthFrame result{{Plane<std::uint8_t>(colour_size), Plane<std::uint8_t>(colour_size),
                          Plane<float>(size), Plane<float>(size), Plane<std::uint8_t>(size),
                          Plane<std::uint8_t>(size), synthetic_calibration(size, parameters.disparities)},
                         Flow(size),
                         Plane<std::uint8_t>(size)};
  const double drift = parameters.drift, brightness = drift * wave(frame / 70.0);
  const auto sensor = [&](double gain, std::uint64_t side) {
    return Exposure(gain, parameters.noise, scramble(scramble(parameters.seed) + 2 * to_size(frame) + side));
  };
  SynthPair& pair = result.pair;
  render(view, sensor(1 + brightness, 0), false, pair.left, pair.left_truth, pair.left_mask);
  render(view, sensor(1 + brightness + 0.3 * drift * wave(frame / 45.0 + 0.25), 1), true, pair.right,
         pair.right_truth, pair.right_mask);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      const FrameView::Hit hit = view.cast(x, y, false);
      result.moving.at(x, y) = hit.placed->thing->moves ? 255 : 0;
      if (is_first) continue;  // all vectors are 0
      const Point2 before = view.before(hit, y);
      result.to_previous.u.at(x, y) = static_cast<float>(before.x - x);
      result.to_previous.v.at(x, y) = static_cast<float>(before.y - y);
    }
  return result;
}

}  // namespace parallax
