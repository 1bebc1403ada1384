// SPDX-License-Identifier: Apache-2.0
// One open page: its matchers, and the messages that wait for it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "parallax/temporal.h"

#include "tools/view/recording.h"
#include "tools/view/settings.h"

namespace parallax::view {

class Message;

// A map, with the pictures and the settings that it came from.
struct ViewedMap {
  Settings settings;
  std::shared_ptr<const ViewedFrame> frame;
  Result result;
  // Stages of the match; a stored map has none.
  std::vector<StageTime> stages;
  std::size_t memory_bytes = 0;
};

// Adds the plane of row offsets, where the matcher searched rows.
void add_row_offsets(const ViewedMap& map, const Rectangle& region, int scale, Message& message);
// The same for the map of the right picture.
void add_right_map(const ViewedMap& map, const Rectangle& region, int scale, Message& message);

// The maps of successive frames of a slot, steadied by a TemporalFilter.
class Steadied {
 public:
  // A frame that does not follow the last one is the first of a video; one that is matched again, with other
  // settings, is not counted twice. `skips`: frames may be left out, as those of cameras are.
  void run(const StereoPair& pair, std::size_t frame, bool skips, const DisparityMap& map, int threads);
  void clear() { last_.reset(); }

 private:
  std::optional<TemporalFilter> filter_;
  ImageFormat format_;
  std::optional<std::size_t> last_;  // frame
  std::vector<std::byte> before_;    // state of the filter before it
};

// Matches. Only the newest settings of a slot and the newest message of a kind wait:
// whatever they replace is dropped. All members may be called by several threads at once.
class Page {
 public:
  // Who does the work of a page: a thread of its own, or whoever calls work_once().
  enum class Worker { own_thread, caller };

  // `on_message` is called when a message is there.
  Page(
      Scene& scene, Worker worker, std::function<void()> on_message = [] {});
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;
  // Waits for the match that runs.
  ~Page();

  // Reads a frame or matches, if one of them is to be done now. Returns whether it was.
  bool work_once();
  // The frame that work_once() is to read now.
  std::optional<std::size_t> wanted_frame() const;

  void set(int slot, const Settings& settings);
  // Shows a frame of the sequence, and plays from there on or stops.
  void play(std::optional<bool> playing, std::optional<std::size_t> frame);

  // Sends these planes with each frame from now on, and at once those that the page lacks of the present one.
  // The left picture is always sent.
  void choose_planes(PlaneChoice planes);

  // Records the maps of slot A from now on.
  // \throws Error
  void record();
  // \throws Error if nothing was recorded
  std::unique_ptr<NamelessFile> end_recording();

  // The next message; null if none came in time, or the page is closed.
  std::shared_ptr<const std::string> next_message(std::chrono::milliseconds patience);
  // Ends the thread and the stream of messages.
  void close();
  bool is_closed() const;

  // The newest map of a slot.
  // \throws Error (argument) if there is none
  std::shared_ptr<const ViewedMap> map(int slot) const;
  std::shared_ptr<const ViewedFrame> frame() const;

 private:
  using Text = std::shared_ptr<const std::string>;
  using Clock = std::chrono::steady_clock;

  // Settings and plan of a slot; the matcher belongs to the worker.
  struct Slot {
    std::optional<Settings> settings;
    bool is_new = false;
    std::shared_ptr<const ViewedMap> map;
    std::optional<Matcher> matcher;
    Settings planned;
    ImageFormat format;
    Steadied steadied;
  };
  // What is to be done next: a frame is to be read, or a slot to be filled.
  struct Task {
    std::optional<std::size_t> frame;
    std::optional<int> slot;

    bool is_none() const { return !frame && !slot; }
  };

  void work();
  Task next_task() const;
  bool wait_for_task();
  void show_frame(std::size_t number);
  void fill(int slot);
  std::shared_ptr<const ViewedMap> match(Slot& slot, const Settings& settings,
                                         const std::shared_ptr<const ViewedFrame>& frame);
  std::shared_ptr<const ViewedMap> copy_stored_map(const Settings& settings,
                                                   const std::shared_ptr<const ViewedFrame>& frame) const;
  void plan(Slot& slot, const Settings& settings, const ImageFormat& format);
  void add_to_recording(const ViewedMap& map);
  void announce_sequence();
  PlaneChoice planes() const;
  void send_pictures(const std::shared_ptr<const ViewedFrame>& frame);
  void send_more_planes(const ViewedFrame& frame, const PlaneChoice& planes);
  void send(const std::string& kind, Text message);
  void send_error(const std::string& slot, std::uint64_t request, const std::string& text);

  Scene& scene_;
  FrameReader reader_;  // belongs to the worker
  mutable std::mutex mutex_;
  std::condition_variable task_, message_;
  std::function<void()> on_message_;
  std::vector<Slot> slots_;
  std::shared_ptr<const ViewedFrame> frame_;
  std::optional<std::size_t> wanted_frame_ = 0;
  PlaneChoice planes_{.left = true};
  bool playing_ = false;
  Clock::time_point next_frame_time_;
  std::shared_ptr<Recording> recording_;
  std::vector<std::pair<std::string, Text>> messages_;  // by kind
  bool closed_ = false;
  std::thread thread_;
};

}  // namespace parallax::view
