// SPDX-License-Identifier: Apache-2.0
#include "temporal/filter.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/checks.h"
#include "core/gray.h"
#include "core/integers.h"
#include "decision/values.h"

namespace parallax::temporal {
namespace {

using decision::has_value, decision::no_value;

constexpr int most_different = 30;  // gray levels at which left and right pixels count as different
constexpr int tie = 1;              // difference in gray levels that decides nothing
constexpr std::uint32_t state_version = 1;
// Bytes of a saved state for each pixel: the disparity and the word of its point, and both gray values.
constexpr std::size_t pixel_bytes = sizeof(float) + sizeof(std::uint32_t) + 2;

constexpr float widest = 1 << 21;  // pixels; higher disparities lead out of any image
// Whether the matcher itself decided a pixel.
bool is_matched(const DisparityMap& map, int x, int y) {
  return std::abs(map.disparity.at(x, y)) <= widest && map.status.at(x, y) == decision::code(Status::matched);
}

}  // namespace

struct Filter::StateHeader {
  char name[8] = {'p', 'x', 's', 't', 'e', 'a', 'd', 'y'};
  std::uint32_t version = state_version;
  std::int32_t width = 0, height = 0, frames = 0;
  std::uint32_t has_frame = 0;
  CameraMotion motion = {};
};

Filter::Filter(const ImageFormat& format, const TemporalParameters& parameters, int threads)
    : format_(format),
      frames_(parameters.frames),
      workers_(threads),
      finder_(format.size),
      grays_{{GrayPyramid(format.size), {}}, {GrayPyramid(format.size), {}}},
      carrier_(format.size, workers_.slots()) {
  reserve();
  arena_.allocate();
  reserve();
}

void Filter::reserve() {
  points_.reserve(format_.size, arena_);
  carried_.reserve({format_.size.width, workers_.slots()}, arena_);
  open_ = arena_.reserve_plane<std::uint8_t>({format_.size.width, workers_.slots()});
  for (GrayFrame& gray : grays_) {
    gray.left.reserve(arena_);
    gray.right = arena_.reserve_plane<std::uint8_t>(format_.size);
  }
  carrier_.reserve(arena_);
}

bool Filter::predict(const StereoPair& pair) {
  const GrayFrame &before = grays_[newest_], &now = grays_[1 - newest_];
  for_rows(workers_, format_.size.height, [&](int y, int) {
    gray_byte_row(pair.left, y, now.left.level(0).row(y));
    gray_byte_row(pair.right, y, now.right.row(y));
  });
  now.left.halve(workers_);
  change_.reset();
  if (has_frame_) change_ = finder_.find(before, points_.disparity, now, workers_);
  if (change_) carrier_.send(points_, change_->motion, before.left.level(0), workers_);
  newest_ = 1 - newest_;
  has_frame_ = false;  // until its map is known
  return was_predicted();
}

void Filter::settle(const DisparityMap& map) {
  for_rows(workers_, format_.size.height, [&](int y, int slot) {
    if (change_)
      settle_row(map, y, slot);
    else
      begin_row(map, y);
  });
  has_frame_ = true;
}

void Filter::clear() {
  has_frame_ = false;
  change_.reset();
  finder_.clear();
}

// `age` 0: there is no point.
void Filter::remember(int x, int y, float disparity, const PointWord& point) const {
  points_.disparity.at(x, y) = point.age == 0 ? no_value : disparity;
  points_.words.at(x, y) = point.bits();
}

void Filter::begin_row(const DisparityMap& map, int y) const {
  for (int x = 0; x < format_.size.width; ++x)
    remember(x, y, map.disparity.at(x, y), {.age = is_matched(map, x, y)});
}

void Filter::settle_row(const DisparityMap& map, int y, int slot) const {
  const float* expected = carried_.disparity.row(slot);
  const std::uint32_t* words = carried_.words.row(slot);
  std::uint8_t* open = open_.row(slot);
  carrier_.receive(y, left().row(y), change_->left_gain, carried_.disparity.row(slot),
                   carried_.words.row(slot));
  average_row({map.disparity.row(y), map.status.row(y), expected, words, points_.disparity.row(y),
               points_.words.row(y), format_.size.width, frames_},
              open);
  for (int x = 0; x < format_.size.width; ++x)
    if (open[x] != 0) settle(map, x, y, expected[x], PointWord::of(words[x]));
}

// A pixel whose new disparity was not matched, or contradicts the point that is carried there.
void Filter::settle(const DisparityMap& map, int x, int y, float expected, PointWord point) const {
  float& disparity = map.disparity.at(x, y);
  const bool has_new = has_value(disparity);
  const int difference = std::exchange(point.gray, 0);
  const auto keeps = [&] {
    if (point.age == 0) return false;
    if (has_new && std::abs(disparity - expected) <= one_surface) return difference <= similar;
    if (difference > alike) return false;
    const float row_offset = map.row_offset.empty() || !has_new ? 0 : map.row_offset.at(x, y);
    const int of_expected = difference_at(x, y, expected, row_offset);
    if (!has_new) return map.status.at(x, y) != decision::code(Status::input_masked) && of_expected < alike;
    const int of_new = difference_at(x, y, disparity, row_offset);
    // Where the images do not decide, a point must have been seen often, and counts less from now on.
    if (is_matched(map, x, y) && of_expected >= of_new) point.age /= 2;
    return point.age > 0 && of_expected <= of_new + tie;
  };
  if (!keeps()) return remember(x, y, disparity, {.age = is_matched(map, x, y)});
  if (has_new) disparity = expected;
  remember(x, y, expected, point);
}

// By how many gray levels a pixel differs from the right pixel that a disparity leads to.
int Filter::difference_at(int x, int y, float disparity, float row_offset) const {
  const View<const std::uint8_t> right = this->right();
  const float column = static_cast<float>(x) - disparity,
              row = static_cast<float>(y) + std::floor(row_offset + 0.5f);
  if (!(column >= 0 && column <= static_cast<float>(right.size.width - 1) && row >= 0 &&
        row <= static_cast<float>(right.size.height - 1)))
    return most_different;
  const int at = static_cast<int>(std::floor(place_unit * column + 0.5f));
  const std::uint8_t* values = right.row(static_cast<int>(row));
  const int first = at / place_unit, share = at % place_unit,
            second = std::min(first + 1, right.size.width - 1);
  const int gray = values[first] * (place_unit - share) + values[second] * share;
  const int expected = (gray * change_->right_gain) >> 8;
  return std::min(most_different,
                  (std::abs(place_unit * left().at(x, y) - expected) + place_unit / 2) / place_unit);
}

template <class Body>
void Filter::for_planes(const Body& body) const {
  body(points_.disparity);
  body(points_.words);
  body(left());
  body(right());
}

Filter::StateHeader Filter::header() const {
  StateHeader header;
  header.width = format_.size.width, header.height = format_.size.height, header.frames = frames_;
  return header;
}

std::size_t Filter::state_bytes() const {
  return sizeof(StateHeader) + format_.size.pixels() * pixel_bytes;
}

std::vector<std::byte> Filter::save() const {
  StateHeader header = this->header();
  header.has_frame = has_frame_;
  header.motion = finder_.last();
  std::vector<std::byte> state(state_bytes());
  std::memcpy(state.data(), &header, sizeof header);
  std::byte* next = state.data() + sizeof header;
  if (has_frame_)
    for_planes([&](const auto& plane) {
      const std::size_t bytes = to_size(plane.size.width) * sizeof(*plane.data);
      for (int y = 0; y < plane.size.height; ++y, next += bytes) std::memcpy(next, plane.row(y), bytes);
    });
  return state;
}

void Filter::restore(std::span<const std::byte> state) {
  StateHeader header;
  const StateHeader own = this->header();
  if (state.size() == state_bytes()) std::memcpy(&header, state.data(), sizeof header);
  if (state.size() != state_bytes() || std::memcmp(header.name, own.name, sizeof own.name) != 0 ||
      header.version != own.version || header.width != own.width || header.height != own.height ||
      header.frames != own.frames)
    refuse("the state is not that of a filter of " + text(format_.size) + " pixels and " +
           std::to_string(frames_) + " frames: give what save() of such a filter returned");
  clear();
  if (header.has_frame == 0) return;
  const std::byte* next = state.data() + sizeof header;
  for_planes([&](const auto& plane) {
    const std::size_t bytes = to_size(plane.size.width) * sizeof(*plane.data);
    for (int y = 0; y < plane.size.height; ++y, next += bytes) std::memcpy(plane.row(y), next, bytes);
  });
  grays_[newest_].left.halve(workers_);
  for_rows(workers_, format_.size.height, [&](int y, int) { check_row(y); });
  finder_.set_last(header.motion);
  has_frame_ = true;
}

// Corrects impossible values in a row of a restored state.
void Filter::check_row(int y) const {
  for (int x = 0; x < format_.size.width; ++x) {
    float& disparity = points_.disparity.at(x, y);
    PointWord point = PointWord::of(points_.words.at(x, y));
    if (!(std::abs(disparity) <= widest)) point.age = 0;
    if (point.age == 0) disparity = no_value;
    point.age = std::min(point.age, frames_);
    points_.words.at(x, y) = point.bits();
  }
}

}  // namespace parallax::temporal
