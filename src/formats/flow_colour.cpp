// SPDX-License-Identifier: Apache-2.0
// The colour wheel of Baker, Scharstein, Lewis, Roth, Black & Szeliski 2011, "A database and evaluation
// methodology for optical flow", IJCV 92: 55 hues in six arcs from red over yellow, green, cyan, blue and
// magenta back to red. On each arc one channel rises or falls. Arcs on which people distinguish more hues are
// longer.

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "core/checks.h"
#include "core/floating_point.h"
#include "core/length.h"
#include "formats/flow.h"

namespace parallax {
namespace {

struct Arc {
  int hues;
  std::array<int, 3> from, to;  // channels at its ends, 0 or 1
};
constexpr Arc arcs[] = {{15, {1, 0, 0}, {1, 1, 0}}, {6, {1, 1, 0}, {0, 1, 0}},  {4, {0, 1, 0}, {0, 1, 1}},
                        {11, {0, 1, 1}, {0, 0, 1}}, {13, {0, 0, 1}, {1, 0, 1}}, {6, {1, 0, 1}, {1, 0, 0}}};
constexpr int hues = 55;

using Hue = std::array<double, 3>;

std::array<Hue, hues> make_wheel() {
  std::array<Hue, hues> wheel;
  auto hue = wheel.begin();
  for (const Arc& arc : arcs)
    for (int i = 0; i < arc.hues; ++i, ++hue)
      for (std::size_t c = 0; c < 3; ++c)
        (*hue)[c] = arc.from[c] + (arc.to[c] - arc.from[c]) * static_cast<double>(i) / arc.hues;
  return wheel;
}

// The hue of a direction, interpolated between the two nearest hues. Red is to the right.
Hue hue_of(const std::array<Hue, hues>& wheel, double u, double v) {
  const double turns = std::atan2(v, u) / (2 * std::numbers::pi);
  const double place = (turns < 0 ? turns + 1 : turns) * hues, first = std::floor(place);
  const auto i = static_cast<std::size_t>(first) % hues, next = (i + 1) % hues;
  Hue hue;
  for (std::size_t c = 0; c < 3; ++c) hue[c] = wheel[i][c] + (wheel[next][c] - wheel[i][c]) * (place - first);
  return hue;
}

}  // namespace

double longest_vector(const FlowView& flow) {
  check_flow("motion", flow);
  double longest = 0;
  for (int y = 0; y < flow.u.size.height; ++y)
    for (int x = 0; x < flow.u.size.width; ++x)
      if (has_vector(flow, x, y))
        longest = std::max(longest, detail::length_of(double{flow.u.at(x, y)}, double{flow.v.at(x, y)}));
  return longest;
}

void colour_flow(const FlowView& flow, double longest, View<std::uint8_t> rgb) {
  const DefaultFloatingPoint environment;
  check_flow("motion", flow);
  check_view("coloured map", rgb, {3 * flow.u.size.width, flow.u.size.height});
  check_not_negative("longest", longest);
  static const std::array<Hue, hues> wheel = make_wheel();
  constexpr double darkened = 0.75;
  for (int y = 0; y < flow.u.size.height; ++y) {
    std::uint8_t* to = rgb.row(y);
    for (int x = 0; x < flow.u.size.width; ++x) {
      if (!has_vector(flow, x, y)) {
        for (int c = 0; c < 3; ++c) *to++ = 0;
        continue;
      }
      const double u = flow.u.at(x, y), v = flow.v.at(x, y), length = detail::length_of(u, v);
      const double saturation = longest > 0 ? length / longest : (length > 0 ? 2 : 0);
      for (const double channel : hue_of(wheel, u, v)) {
        const double light = saturation <= 1 ? 1 - saturation * (1 - channel) : darkened * channel;
        *to++ = static_cast<std::uint8_t>(std::floor(255 * light + 0.5));
      }
    }
  }
}

}  // namespace parallax
