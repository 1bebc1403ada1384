// SPDX-License-Identifier: Apache-2.0
// What all pages look at: a pair or a sequence, with calibration and ground truth.
#pragma once

#include <cstddef>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tools/files/cameras.h"
#include "tools/files/frames.h"
#include "tools/files/truth.h"
#include "tools/match/match_plan.h"

namespace parallax::view {

// How work begins that others wait for later: in a thread, where there may always be one more.
#ifdef __EMSCRIPTEN__
inline constexpr std::launch background = std::launch::deferred;
#else
inline constexpr std::launch background = std::launch::async;
#endif

// Planes that a page shows of a frame.
struct PlaneChoice {
  bool left = false, right = false, truth = false;

  bool has_any() const { return left || right || truth; }
  PlaneChoice without(const PlaneChoice& other) const {
    return {left && !other.left, right && !other.right, truth && !other.truth};
  }
};

// A rectified pair.
struct ViewedFrame {
  std::size_t number = 0;
  std::string name;
  tool::PicturePair pictures;
  std::string message;  // for the page, with the left picture

  const ImageFormat& format() const { return pictures.left.view().format; }
};

struct SceneRequest {
  tool::MatchRequest match;
  std::vector<std::string> cameras;  // in place of files
  tool::TruthFile truth;
  std::string map;      // a file of disparities that was made elsewhere; may be empty
  int max_threads = 0;  // most threads of whatever is done; 0 = no limit
};

class Scene {
 public:
  // Reads the first frame. Settles the range of disparities: as given, as the calibration says, or as the
  // pair shows.
  // \throws UsageError, Error
  explicit Scene(const SceneRequest& request);

  const tool::MatchRequest& request() const { return plan_.request(); }
  const MatcherParameters& parameters() const { return parameters_; }  // to begin with
  // 1 for a pair, 0 if not known.
  std::size_t frame_count() const { return frame_count_; }
  double frames_per_second() const { return frames_per_second_; }  // 0 = not known
  bool is_sequence() const { return is_sequence_; }
  bool is_live() const { return cameras_.has_value(); }
  const std::shared_ptr<const ViewedFrame>& first_frame() const { return first_; }
  const std::optional<tool::Truth>& truth() const { return truth_; }
  // A map that was made elsewhere; null if there is none.
  const Plane<float>* stored_map() const { return stored_map_.width() > 0 ? &stored_map_ : nullptr; }
  // With a baseline in metres.
  std::optional<Calibration> calibration() const;

  std::string pictures_message(const ViewedFrame& frame, const PlaneChoice& planes) const;

  // Threads for what is to use `wanted` of them; 0 = all.
  int threads(int wanted = 0) const {
    return max_threads_ > 0 && (wanted == 0 || wanted > max_threads_) ? max_threads_ : wanted;
  }

  // By how many quarter turns clockwise pictures and maps are turned against the left picture.
  int quarter_turns() const { return plan_.quarter_turns(); }
  // With its masks.
  StereoPair pair(const ViewedFrame& frame) const { return plan_.pair(frame.pictures); }

 private:
  friend class FrameReader;

  std::shared_ptr<const ViewedFrame> view(tool::Frame frame);
  void read_map(const std::string& path);
  void settle_range();

  std::mutex rectifying_;
  tool::MatchPlan plan_;
  MatcherParameters parameters_;
  int max_threads_;
  std::optional<tool::Cameras> cameras_;
  bool is_sequence_ = false;
  std::size_t frame_count_ = 1;
  double frames_per_second_ = 0;
  std::optional<tool::Truth> truth_;
  Plane<float> stored_map_;
  std::shared_ptr<const ViewedFrame> first_;
};

// Reads the frames of a scene in any order, fastest one after the other: then the next one is read ahead.
class FrameReader {
 public:
  explicit FrameReader(Scene& scene) : scene_(scene) {}

  // Null beyond the last frame.
  // \throws Error
  std::shared_ptr<const ViewedFrame> read(std::size_t number);

 private:
  std::shared_ptr<const ViewedFrame> read_now(std::size_t number);

  Scene& scene_;
  std::unique_ptr<tool::FrameSource> source_;
  std::size_t next_ = 0;  // frame of the source
  std::size_t last_ = 0;  // frame that was asked for
  std::future<std::shared_ptr<const ViewedFrame>>
      ahead_;  // the frame after that, in a thread that uses the source
};

}  // namespace parallax::view
