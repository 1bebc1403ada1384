// SPDX-License-Identifier: Apache-2.0
// What a pair, or a sequence of pairs, is read from.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tools/parallax/match.h"
#include "tools/parallax/pictures.h"

namespace parallax::tool {

struct Frame {
  std::uint64_t number = 0;
  std::string left, right;  // files
  std::string stem;         // what files of this frame are called in a folder
  PicturePair pictures;
  std::string error;  // why there are no pictures; empty = there are
};

class FrameSource {
 public:
  virtual ~FrameSource() = default;

  // Takes the next frame; false at the end. In order, one thread at a time.
  virtual bool next(Frame& frame) = 0;
  // Finishes what next() began, on any thread, for several frames at once. \throws Error (file)
  virtual void decode(Frame& frame) const = 0;

  // Names of all frames; of a video, of those that it announces.
  virtual std::vector<Frame> names() const = 0;
  // 0 = not known.
  virtual std::size_t count() const = 0;
  virtual double frames_per_second() const { return 0; }
};

// The frames of a request, or nothing when it is for one pair.
// \throws Error (file) when LEFT and RIGHT are not of a kind, hold nothing, or not equally much; UsageError
std::unique_ptr<FrameSource> open_sequence(const MatchRequest& request);

// The pictures of a request for one pair. \throws Error (file)
PicturePair read_one_pair(const MatchRequest& request);

}  // namespace parallax::tool
