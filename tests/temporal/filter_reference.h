// SPDX-License-Identifier: Apache-2.0
// The specification of the filter over time, straight from src/temporal/filter.h: one pixel at a time. The
// motion of the camera and the gains are given.
#pragma once

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "parallax/temporal.h"

#include "core/gray.h"
#include "core/integers.h"
#include "temporal/camera_motion.h"

namespace parallax::temporal {

class FilterReference {
 public:
  FilterReference(Size size, int frames) : size_(size), frames_(frames), points_(size.pixels()) {}

  // `change`: from the frame before; empty where this is the first frame.
  void run(const StereoPair& pair, const DisparityMap& map, const std::optional<FrameChange>& change) {
    const std::vector<int> before = left_;
    left_ = grays_of(pair.left);
    right_ = grays_of(pair.right);
    std::vector<std::optional<Point>> expected(size_.pixels());
    if (change) expected = received(sent(before, change->motion), change->left_gain);
    for (int y = 0; y < size_.height; ++y)
      for (int x = 0; x < size_.width; ++x)
        points_[index(x, y)] = settled(map, x, y, expected[index(x, y)], change ? change->right_gain : 256);
  }

 private:
  struct Point {
    float disparity;
    int age;
    int x = 0, y = 0;  // where in its pixel the point is, in 1/256
    int gray = 0;      // on its way: what the frame before shows; then: by how many levels this one differs

    // A point hides those behind it; the rest of the order only has to be one.
    bool hides(const Point& other) const {
      const auto nearer = std::strong_order(disparity, other.disparity);
      return nearer != 0 ? nearer > 0
                         : std::tie(age, x, y, gray) > std::tie(other.age, other.x, other.y, other.gray);
    }
  };
  using Points = std::vector<std::optional<Point>>;

  std::size_t index(int x, int y) const { return to_size(y) * to_size(size_.width) + to_size(x); }
  bool contains(int x, int y) const { return x >= 0 && y >= 0 && x < size_.width && y < size_.height; }

  std::vector<int> grays_of(const ImageView& image) const {
    std::vector<std::uint8_t> row(to_size(size_.width));
    std::vector<int> grays;
    for (int y = 0; y < size_.height; ++y) {
      gray_byte_row(image, y, row.data());
      grays.insert(grays.end(), row.begin(), row.end());
    }
    return grays;
  }
  int repeated(const std::vector<int>& grays, int x, int y) const {
    return grays[index(std::clamp(x, 0, size_.width - 1), std::clamp(y, 0, size_.height - 1))];
  }

  // The points of the frame before at the pixels of this one.
  Points sent(const std::vector<int>& before, const CameraMotion& motion) const {
    Points arrived(size_.pixels());
    for (int y = 0; y < size_.height; ++y)
      for (int x = 0; x < size_.width; ++x) {
        if (!points_[index(x, y)]) continue;
        Point point = *points_[index(x, y)];
        const CameraMotion::Place to =
            motion.moved(static_cast<float>(256 * x + point.x) / 256,
                         static_cast<float>(256 * y + point.y) / 256, point.disparity);
        const float column = 256 * to.x, row = 256 * to.y;
        if (!std::isfinite(column) || !std::isfinite(row) || !std::isfinite(to.disparity)) continue;
        if (std::abs(column) > 1e8f || std::abs(row) > 1e8f) continue;
        const int place_x = static_cast<int>(std::nearbyint(column)),
                  place_y = static_cast<int>(std::nearbyint(row));
        const int to_x = floor_of(place_x + 128), to_y = floor_of(place_y + 128);
        if (!contains(to_x, to_y)) continue;
        const int from_x = point.x, from_y = point.y;
        point.x = place_x - 256 * to_x;
        point.y = place_y - 256 * to_y;
        // The middle of the new pixel, in the frame before.
        const int gray = before[index(x, y)], across = from_x - point.x, down = from_y - point.y;
        const int beside = repeated(before, across < 0 ? x - 1 : x + 1, y),
                  beyond = repeated(before, x, down < 0 ? y - 1 : y + 1);
        const int sum = 256 * gray + std::abs(across) * (beside - gray) + std::abs(down) * (beyond - gray);
        point.gray = std::clamp(floor_of(sum + 128), 0, 255);
        point.disparity = to.disparity;
        std::optional<Point>& there = arrived[index(to_x, to_y)];
        if (!there || point.hides(*there)) there = point;
      }
    return arrived;
  }
  static int floor_of(int units) { return units >> 8; }

  // Closes gaps between points of one surface, and compares with this frame.
  Points received(const Points& arrived, int gain) const {
    Points points = arrived;
    const auto at = [&](int x, int y) { return contains(x, y) ? arrived[index(x, y)] : std::nullopt; };
    for (int y = 0; y < size_.height; ++y)
      for (int x = 0; x < size_.width; ++x) {
        std::optional<Point>& point = points[index(x, y)];
        if (!point) point = mean_of(at(x - 1, y), at(x + 1, y));
        if (!point) point = mean_of(at(x, y - 1), at(x, y + 1));
        if (point)
          point->gray = std::min(254, (std::abs(256 * left_[index(x, y)] - point->gray * gain) + 128) / 256);
      }
    return points;
  }
  static std::optional<Point> mean_of(const std::optional<Point>& a, const std::optional<Point>& b) {
    if (!a || !b || !(std::abs(a->disparity - b->disparity) < 1)) return std::nullopt;
    return Point{.disparity = 0.5f * (a->disparity + b->disparity),
                 .age = std::min(a->age, b->age),
                 .gray = (a->gray + b->gray) / 2};
  }

  // The point of a pixel after its map is known, which becomes the filtered one.
  std::optional<Point> settled(const DisparityMap& map, int x, int y, std::optional<Point> expected,
                               int right_gain) const {
    float& d = map.disparity.at(x, y);
    const auto status = static_cast<Status>(map.status.at(x, y));
    const bool exists = std::isfinite(d), decided = exists && status == Status::matched;
    const std::optional<Point> new_point =
        decided ? std::optional(Point{.disparity = d, .age = 1}) : std::nullopt;
    if (!expected) return new_point;
    const int difference = std::exchange(expected->gray, 0);
    const auto right_difference = [&](float disparity) {
      return this->right_difference(map, x, y, disparity, exists, right_gain);
    };
    if (!exists) {
      const bool stays =
          difference <= 8 && status != Status::input_masked && right_difference(expected->disparity) < 8;
      return stays ? expected : std::nullopt;
    }
    if (std::abs(d - expected->disparity) <= 1 && difference <= 15) {
      if (decided) {
        expected->age = std::min(expected->age + 1, frames_);
        expected->disparity += (d - expected->disparity) / static_cast<float>(expected->age);
      }
      d = expected->disparity;
      return expected;
    }
    if (std::abs(d - expected->disparity) <= 1 || difference > 8) return new_point;
    const int e = right_difference(expected->disparity) - right_difference(d);
    if (decided && e >= 0) expected->age /= 2;
    if (e > 1 || expected->age == 0) return new_point;
    d = expected->disparity;
    return expected;
  }

  // |L − R(disparity)| in whole gray levels.
  int right_difference(const DisparityMap& map, int x, int y, float disparity, bool exists, int gain) const {
    constexpr int most = 30;
    const float offset = exists && !map.row_offset.empty() ? map.row_offset.at(x, y) : 0;
    const float column = static_cast<float>(x) - disparity,
                row = static_cast<float>(y) + std::floor(offset + 0.5f);
    if (!(column >= 0 && column <= static_cast<float>(size_.width - 1) && row >= 0 &&
          row <= static_cast<float>(size_.height - 1)))
      return most;
    const int place = static_cast<int>(std::floor(256 * column + 0.5f)), first = place / 256,
              share = place % 256;
    const int gray = (256 - share) * repeated(right_, first, static_cast<int>(row)) +
                     share * repeated(right_, first + 1, static_cast<int>(row));
    return std::min(most, (std::abs(256 * left_[index(x, y)] - ((gray * gain) >> 8)) + 128) / 256);
  }

  Size size_;
  int frames_;
  std::vector<int> left_, right_;  // gray values of the frame
  Points points_;
};

}  // namespace parallax::temporal
