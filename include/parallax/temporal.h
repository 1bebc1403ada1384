// SPDX-License-Identifier: Apache-2.0
/// \file
/// Disparity maps of a video: the map of the last frame as evidence for this one.
///
/// Most surfaces of a video are at rest, and the camera moves. So the last map, carried to this frame by the
/// motion of the camera, predicts this one. Where the prediction and the new map agree, their weighted mean
/// has less noise; where they differ, the pictures decide. docs/explanation/video.md has the equations.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "parallax/image.h"

namespace parallax::temporal {
class Filter;
}

#pragma GCC visibility push(default)
namespace parallax {

/// Parameters of a TemporalFilter.
struct TemporalParameters {
  /// Frames over which disparities are averaged: the new map has at least the weight 1/frames; 1…255. With 1,
  /// new values are taken as they are, and the last map decides only where it explains the pictures better.
  int frames = 20;

  /// \throws Error (argument) naming the field, its value and the allowed range.
  void validate() const;
};

/// Steadies the maps of one video, frame after frame, whatever matcher and device they come from.
///
///     parallax::Matcher matcher(parameters, device, format);
///     parallax::TemporalFilter filter(format);
///     for (const StereoPair& pair : video) {
///       matcher.run(pair, map);
///       filter.run(pair, map);
///     }
///
/// A filter is one video: another one needs a filter of its own. One thread at a time calls it. The same
/// frames give the same bytes for any number of threads.
class TemporalFilter {
 public:
  /// Allocates all memory. `format` is that of every frame; `threads`: 0 = one per core.
  /// \throws Error (argument) for a parameter or size out of range.
  explicit TemporalFilter(const ImageFormat& format, const TemporalParameters& parameters = {},
                          int threads = 0);
  ~TemporalFilter();
  /// Passes what the filter remembers on.
  /// @{
  TemporalFilter(TemporalFilter&& other) noexcept;
  TemporalFilter& operator=(TemporalFilter&& other) noexcept;
  /// @}

  /// Steadies `map`, the map of the next frame. The first frame, and the first one after a cut, stay as they
  /// are. Only disparities change, none appears or disappears, and status, confidence and row offsets stay.
  /// \throws Error (argument) when an image or a map does not have the format of the filter.
  void run(const StereoPair& pair, const DisparityMap& map);

  /// Forgets all frames: the next one is the first.
  void clear();

  /// Whether the last frame was predicted from the one before it; if not, it was the first, or one after a
  /// cut.
  bool was_predicted() const;

  /// The number of bytes that save() returns, and what a filter remembers of the frames before: after
  /// restore(), a filter of the same format and parameters goes on as this one does. Their content depends on
  /// the release and on the order of bytes in words.
  /// @{
  std::size_t state_bytes() const;
  std::vector<std::byte> save() const;
  /// \throws Error (argument) when the bytes are not those of a filter of this format and these parameters;
  /// nothing changes then.
  void restore(std::span<const std::byte> state);
  /// @}

  /// Bytes that this filter holds.
  std::size_t memory_bytes() const;

 private:
  temporal::Filter& filter() const;
  std::unique_ptr<temporal::Filter> filter_;
};

}  // namespace parallax
#pragma GCC visibility pop
