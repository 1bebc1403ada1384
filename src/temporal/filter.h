// SPDX-License-Identifier: Apache-2.0
// The memory and the steps of a TemporalFilter.
//
// A pixel of a frame shows a point p, of which the frames before tell the disparity d̂, the mean of a frames,
// and where it is now (frame_state.h). The new map has the disparity d there. L is the gray value of the
// pixel, R(d) that of the right image at its column minus d, and L̂ that of the left image before, at p;
// gains make up for changes of the exposure. e = |L − R(d̂)| − |L − R(d)|, each in whole gray levels, 30 at
// most, and 30 outside the image. With row offsets, R(d) is as many rows lower.
//
// - If |d − d̂| ≤ 1 and |L − L̂| ≤ 15: if the matcher decided d, it becomes d̂ + (d − d̂) / a', and a becomes
//   a' = min(a + 1, frames); else d becomes d̂.
// - Otherwise, if |L − L̂| ≤ 8 and e ≤ 1: d becomes d̂. If e ≥ 0 and the matcher decided d, a becomes a/2,
//   rounded down, before; a point of age 0 does not stay.
// - Otherwise, d stays; a becomes 1 if the matcher decided d, else 0, no point.
// - Without a d, there is none afterwards; the point stays if |L − L̂| ≤ 8, |L − R(d̂)| < 8, and the pixel is
//   not masked.
//
// d̂ has the variance of d over a, so the weight of d is that of a Kalman filter of a constant.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "parallax/temporal.h"

#include "core/arena.h"
#include "core/workers.h"
#include "temporal/frame_state.h"

namespace parallax::temporal {

class Filter {
 public:
  Filter(const ImageFormat& format, const TemporalParameters& parameters, int threads);

  // Carries the points of the frame before to this pair; false if there is none, or after a cut.
  bool predict(const StereoPair& pair);
  // Steadies the map of the pair that predict() got.
  void settle(const DisparityMap& map);

  void clear();
  bool was_predicted() const { return change_.has_value(); }
  // To the frame that predict() got.
  const std::optional<FrameChange>& change() const { return change_; }
  const ImageFormat& format() const { return format_; }
  std::size_t memory_bytes() const { return arena_.bytes(); }
  std::size_t state_bytes() const;
  std::vector<std::byte> save() const;
  void restore(std::span<const std::byte> state);

 private:
  struct StateHeader;
  StateHeader header() const;
  template <class Body>
  void for_planes(const Body& body) const;
  void reserve();
  View<std::uint8_t> left() const { return grays_[newest_].left.level(0); }
  View<std::uint8_t> right() const { return grays_[newest_].right; }
  void check_row(int y) const;
  void remember(int x, int y, float disparity, const PointWord& point) const;
  void begin_row(const DisparityMap& map, int y) const;
  void settle_row(const DisparityMap& map, int y, int slot) const;
  void settle(const DisparityMap& map, int x, int y, float expected, PointWord point) const;
  int difference_at(int x, int y, float disparity, float row_offset) const;

  ImageFormat format_;
  int frames_;
  Workers workers_;
  MotionFinder finder_;
  GrayFrame grays_[2];  // the newest, and the one before
  Carrier carrier_;
  Points points_;
  Points carried_;           // to a row of this frame, by slot
  View<std::uint8_t> open_;  // pixels that average_row() leaves, a row for each slot
  int newest_ = 0;
  bool has_frame_ = false;
  std::optional<FrameChange> change_;
  Arena arena_;
};

}  // namespace parallax::temporal

namespace parallax::detail {

// \throws Error (argument) when the images or the map are not of the format of the filter
void check_frame(const temporal::Filter& filter, const StereoPair& pair, const DisparityMap& map);

}  // namespace parallax::detail
