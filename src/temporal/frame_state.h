// SPDX-License-Identifier: Apache-2.0
// What a TemporalFilter knows of the points that a frame shows, and how it carries them to the next one.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "parallax/image.h"

#include "core/arena.h"
#include "core/workers.h"
#include "temporal/camera_motion.h"

namespace parallax::temporal {

// Parts of a pixel in which places within a pixel are counted.
inline constexpr int place_bits = 8, place_unit = 1 << place_bits;
inline constexpr int half_pixel = place_unit / 2;

// What is known of the point that a pixel shows, beside its disparity, in one word. The place of the point is
// relative to the middle of the pixel.
struct PointWord {
  int age = 0;                     // frames of which the disparity is a mean, to 255; 0 = no point
  int offset_x = 0, offset_y = 0;  // in 1/place_unit, −128…127
  int gray = 0;                    // 0…255, see Carrier

  static PointWord of(std::uint32_t bits) {
    return {static_cast<int>(bits >> 24), static_cast<int>(bits >> 16 & 255) - half_pixel,
            static_cast<int>(bits >> 8 & 255) - half_pixel, static_cast<int>(bits & 255)};
  }
  std::uint32_t bits() const {
    return static_cast<std::uint32_t>(age) << 24 | static_cast<std::uint32_t>(offset_x + half_pixel) << 16 |
           static_cast<std::uint32_t>(offset_y + half_pixel) << 8 | static_cast<std::uint32_t>(gray);
  }
};

// The points of a frame, one for each pixel.
struct Points {
  View<float> disparity;  // +infinity = no point
  View<std::uint32_t> words;

  void reserve(Size size, Arena& arena) {
    disparity = arena.reserve_plane<float>(size);
    words = arena.reserve_plane<std::uint32_t>(size);
  }
};

// A point on its way: its word, and above it its disparity, in an order in which the nearest is the highest:
// the bits of a float, the first one turned, or all of them where it is negative. 0 = none.
using Arrival = std::uint64_t;
static_assert(std::endian::native == std::endian::little,
              "vectors write the two halves as they are in memory");

// Carries points to the next frame.
class Carrier {
 public:
  Carrier(Size size, int slots) : size_(size), slots_(slots) {}
  void reserve(Arena& arena);

  // Sends the points of the frame before, which shows `before`, to where they are now. Where several points
  // meet, the nearest stays.
  void send(const Points& from, const CameraMotion& motion, View<const std::uint8_t> before,
            const Workers& workers) const;
  // Writes the points that arrived in a row of the frame, which shows `now`. Where points on both sides of a
  // pixel without one are on one surface, it gets their mean. The gray values that are written are by how
  // many gray levels `now` differs there from what the frame before shows, times a gain in 1/256; 255 = no
  // point.
  void receive(int y, const std::uint8_t* now, int gain, float* disparity, std::uint32_t* words) const;

 private:
  // Rows of a thread's own.
  struct Scratch {
    std::uint8_t* gray;     // a row of the image, with a pixel more on both sides
    std::int32_t* targets;  // where the point of a pixel arrives: an element of `arrived_`; −1 = nowhere
    Arrival* points;
  };
  // The points of a row that arrive in rows that another thread works on.
  struct Late {
    std::int32_t* targets;
    Arrival* points;
    int count;
  };
  void send_rows(const Points& from, const CameraMotion& motion, View<const std::uint8_t> before, int first,
                 int last, const Scratch& scratch) const;
  void receive_late(int first, int last) const;
  void arrive(std::int32_t target, Arrival point) const;
  // The arrivals of a row, from column 0. The rows above the first one and below the last one, and the
  // columns on both sides, have no points.
  Arrival* arrived(int y) const { return arrived_.row(y + 1) + border; }

  static constexpr int border = 16;  // columns on both sides

  Size size_;
  int slots_;
  Scratch* scratch_ = nullptr;  // by slot
  Late* late_ = nullptr;        // by row
  View<Arrival> arrived_;       // points at the pixels where they arrive, with a border
};

// The inner loops, compiled once for each vector instruction set.

// Points of a row that leave it.
struct MovedRow {
  const float* disparity;
  const std::uint32_t* words;
  // Rows of the image before; `gray` has a pixel more on both sides.
  const std::uint8_t *above, *gray, *below;
  Size size;
  int y;
  std::ptrdiff_t pitch;  // elements from one row of the targets to the next

  std::int32_t* targets;
  Arrival* points;
};
void move_row(const MovedRow& row, const CameraMotion& motion);

// Gray levels by which a pixel may differ from the image before, for its point to be the same: where the map
// says so, and where it contradicts.
inline constexpr int similar = 15, alike = 8;
// Pixels by which disparities of one surface may differ.
inline constexpr float one_surface = 1;

// A row of points that have arrived, the rows above and below it, and where the row is written.
struct ReceivedRow {
  const Arrival *above, *arrived, *below;
  const std::uint8_t* now;  // the image
  int width, gain;
  float* disparity;
  std::uint32_t* words;
};
void receive_row(const ReceivedRow& row);

// A row of a map, of the points carried to it, and of the points that stay.
struct SettledRow {
  float* disparity;
  const std::uint8_t* status;
  const float* expected;
  const std::uint32_t* words;
  float* kept_disparity;
  std::uint32_t* kept_words;
  int width, frames;
};
// Averages the pixels whose new disparity was matched and agrees with the point carried there. Sets `open` to
// 1 at all others, and to 0 here.
void average_row(const SettledRow& row, std::uint8_t* open);

}  // namespace parallax::temporal
