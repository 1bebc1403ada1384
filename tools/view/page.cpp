// SPDX-License-Identifier: Apache-2.0
#include "tools/view/page.h"

#include <algorithm>
#include <cmath>
#include <future>

#include "tools/match/match_report.h"
#include "tools/view/commands.h"
#include "tools/view/message.h"
#include "tools/view/planes.h"

namespace parallax::view {
namespace {

using Json = nlohmann::ordered_json;
using Seconds = std::chrono::duration<double>;

constexpr double usual_frames_per_second = 25;

double frame_rate(const Scene& scene) {
  return scene.frames_per_second() > 0 ? scene.frames_per_second() : usual_frames_per_second;
}

// From one frame to the next that plays. A camera has a pace of its own.
Seconds pause_between_frames(const Scene& scene) {
  return Seconds(scene.is_live() ? 0 : 1 / frame_rate(scene));
}

std::shared_ptr<const std::string> text_of(const Message& message) {
  return std::make_shared<const std::string>(message.bytes());
}

Json describe(const std::vector<StageTime>& stages) {
  Json json = Json::array();
  for (const StageTime& stage : stages) json.push_back({stage.stage, stage.milliseconds});
  return json;
}

double total_of(const std::vector<StageTime>& stages) {
  double total = 0;
  for (const StageTime& stage : stages) total += stage.milliseconds;
  return total;
}

// At 1, 5, 50, 95 and 99 % of the pixels that have one; empty if none has. A sample of 20,000 pixels tells.
Json quantiles_of(View<const float> disparity) {
  const std::size_t step = disparity.size.pixels() / 20'000 + 1;
  const auto width = static_cast<std::size_t>(disparity.size.width);
  std::vector<float> values;
  for (std::size_t i = 0; i < disparity.size.pixels(); i += step) {
    const float value = disparity.at(static_cast<int>(i % width), static_cast<int>(i / width));
    if (std::isfinite(value)) values.push_back(value);
  }
  std::sort(values.begin(), values.end());
  Json quantiles = Json::array();
  if (values.empty()) return quantiles;
  for (const double share : {0.01, 0.05, 0.5, 0.95, 0.99})
    quantiles.push_back(values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))]);
  return quantiles;
}

Json errors_of(const Scene& scene, View<const float> disparity) {
  return scene.truth() ? tool::to_json(scene.truth()->compare(disparity)) : Json(nullptr);
}

// What only a match has.
void add_match(const Scene& scene, const ViewedMap& map, Json& head) {
  const MatcherParameters& parameters = *map.settings.parameters;
  head["range"] = {{"lowest", parameters.min_disparity()}, {"disparities", parameters.disparities()}};
  head["milliseconds"] = total_of(map.stages);
  head["stages"] = describe(map.stages);
  head["device"] = map.settings.device.text();
  head["memory_bytes"] = map.memory_bytes;
  head["commands"] = describe_commands(scene, map.settings);
}

std::string map_message(const Scene& scene, int slot, const ViewedMap& map) {
  const View<const float> disparity = map.result.disparity.view();
  const Size size = disparity.size;
  const Rectangle whole{0, 0, size};
  const int scale = overview_scale(size);
  // The errors take as long as all the rest.
  std::future<Json> errors = std::async(background, [&] { return errors_of(scene, disparity); });
  const DisparityCode code = code_for(disparity);
  const tool::PixelShares shares = tool::pixel_shares(map.result);
  Json pixels = tool::to_json(shares);
  pixels["valid"] = shares.valid;
  Json head{{"kind", "map"},
            {"slot", slot_name(slot)},
            {"request", map.settings.request},
            {"frame", map.frame->number},
            {"size", {{"width", size.width}, {"height", size.height}}},
            {"scale", scale},
            {"lowest", code.lowest},
            {"steps", code.steps},
            {"shares", pixels},
            {"quantiles", quantiles_of(disparity)}};
  if (map.settings.parameters) add_match(scene, map, head);
  Message message(std::move(head));
  message.add("disparity", sample_disparities(disparity, code, whole, scale), scaled(size, scale));
  message.add("status", sample(map.result.status.view(), whole, scale), scaled(size, scale));
  if (map.result.confidence.width() > 0)
    message.add("confidence", sample_shares(map.result.confidence.view(), whole, scale), scaled(size, scale));
  add_row_offsets(map, whole, scale, message);
  add_right_map(map, whole, scale, message);
  message.set("errors", errors.get());
  return message.bytes();
}

// Whether a matcher planned for one also does for the other.
bool plans_alike(const Settings& one, const Settings& other) {
  return one.parameters && other.parameters && to_json(*one.parameters) == to_json(*other.parameters) &&
         one.both_maps == other.both_maps && one.device.text() == other.device.text() &&
         one.device.threads == other.device.threads;
}

}  // namespace

namespace {

// A plane, and the member of its name that says how it is coded.
void add_coded(const std::string& name, View<const float> values, const Rectangle& region, int scale,
               Message& message) {
  const DisparityCode code = code_for(values);
  message.add(name, sample_disparities(values, code, region, scale), scaled(region.size, scale));
  message.set(name, {{"lowest", code.lowest}, {"steps", code.steps}});
}

}  // namespace

void add_row_offsets(const ViewedMap& map, const Rectangle& region, int scale, Message& message) {
  if (map.result.row_offset.width() > 0)
    add_coded("row_offset", map.result.row_offset.view(), region, scale, message);
}

void add_right_map(const ViewedMap& map, const Rectangle& region, int scale, Message& message) {
  if (map.result.right)
    add_coded("right_disparity", map.result.right->disparity.view(), region, scale, message);
}

void Steadied::run(const StereoPair& pair, std::size_t frame, bool skips, const DisparityMap& map,
                   int threads) {
  if (!filter_ || format_ != pair.left.format) {
    filter_.emplace(pair.left.format, TemporalParameters{}, threads);
    format_ = pair.left.format;
    last_.reset();
  }
  if (last_ && frame == *last_)
    filter_->restore(before_);
  else if (!last_ || (skips ? frame < *last_ : frame != *last_ + 1))
    filter_->clear();
  before_ = filter_->save();
  last_ = frame;
  filter_->run(pair, map);
}

Page::Page(Scene& scene, Worker worker, std::function<void()> on_message)
    : scene_(scene),
      reader_(scene),
      on_message_(std::move(on_message)),
      slots_(slots),
      playing_(scene.is_live()) {
  if (worker == Worker::own_thread) thread_ = std::thread([this] { work(); });
}

Page::~Page() {
  close();
  if (thread_.joinable()) thread_.join();
}

void Page::set(int slot, const Settings& settings) {
  const std::lock_guard lock(mutex_);
  Slot& changed = slots_[static_cast<std::size_t>(slot)];
  changed.settings = settings;
  changed.is_new = true;
  task_.notify_one();
}

void Page::play(std::optional<bool> playing, std::optional<std::size_t> frame) {
  {
    const std::lock_guard lock(mutex_);
    if (playing) playing_ = *playing;
    if (frame) wanted_frame_ = frame;
    next_frame_time_ = Clock::now();
    task_.notify_one();
  }
  if (scene_.is_sequence()) announce_sequence();
}

void Page::record() {
  if (!scene_.is_sequence())
    throw Error(ErrorCategory::argument, "a pair has a single map: save it as a picture");
  const auto recording = std::make_shared<Recording>(frame_rate(scene_), scene_.first_frame()->format().size);
  {
    const std::lock_guard lock(mutex_);
    recording_ = recording;
  }
  announce_sequence();
}

std::unique_ptr<NamelessFile> Page::end_recording() {
  std::shared_ptr<Recording> recording;
  {
    const std::lock_guard lock(mutex_);
    recording = std::exchange(recording_, nullptr);
  }
  announce_sequence();
  if (!recording) throw Error(ErrorCategory::argument, "nothing is being recorded: begin with that");
  return recording->finish();
}

void Page::add_to_recording(const ViewedMap& map) {
  std::shared_ptr<Recording> recording;
  {
    const std::lock_guard lock(mutex_);
    recording = recording_;
  }
  if (!recording) return;
  const MatcherParameters& parameters = *map.settings.parameters;
  const int low = parameters.min_disparity();
  std::string ended;
  try {
    ended = recording->add(map.frame->number, map.result.disparity.view(), low,
                           low + parameters.disparities() - 1);
  } catch (const std::exception& error) {
    ended = error.what();
    const std::lock_guard lock(mutex_);
    if (recording_ == recording) recording_.reset();
  }
  if (!ended.empty()) {
    // The next frame would take the message off the page.
    const std::lock_guard lock(mutex_);
    playing_ = false;
  }
  if (!ended.empty()) send_error("", 0, ended);
  announce_sequence();
}

std::shared_ptr<const std::string> Page::next_message(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  message_.wait_for(lock, patience, [this] { return closed_ || !messages_.empty(); });
  if (closed_ || messages_.empty()) return nullptr;
  const Text next = messages_.front().second;
  messages_.erase(messages_.begin());
  return next;
}

void Page::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  task_.notify_all();
  message_.notify_all();
}

bool Page::is_closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

std::shared_ptr<const ViewedMap> Page::map(int slot) const {
  const std::lock_guard lock(mutex_);
  if (const auto& map = slots_[static_cast<std::size_t>(slot)].map) return map;
  throw Error(ErrorCategory::argument, "there is no map yet: wait for the match");
}

std::shared_ptr<const ViewedFrame> Page::frame() const {
  const std::lock_guard lock(mutex_);
  return frame_;
}

void Page::work() {
  while (wait_for_task()) work_once();
}

bool Page::work_once() {
  Task task;
  {
    const std::lock_guard lock(mutex_);
    task = next_task();
    if (task.frame) wanted_frame_.reset();
  }
  try {
    if (task.frame) show_frame(*task.frame);
    if (task.slot) fill(*task.slot);
  } catch (const std::bad_alloc&) {
    send_error("", 0, "out of memory: choose smaller pictures");
  }
  return !task.is_none();
}

std::optional<std::size_t> Page::wanted_frame() const {
  const std::lock_guard lock(mutex_);
  return next_task().frame;
}

// New settings go before the next frame that plays: somebody waits for them.
Page::Task Page::next_task() const {
  if (wanted_frame_) return {wanted_frame_, std::nullopt};
  for (int slot = 0; slot < slots; ++slot)
    if (slots_[static_cast<std::size_t>(slot)].is_new) return {std::nullopt, slot};
  if (!playing_ || Clock::now() < next_frame_time_) return {};
  return {frame_ ? frame_->number + 1 : 0, std::nullopt};
}

// False once the page is closed.
bool Page::wait_for_task() {
  std::unique_lock lock(mutex_);
  while (!closed_ && next_task().is_none()) {
    if (playing_)
      task_.wait_until(lock, next_frame_time_);
    else
      task_.wait(lock);
  }
  return !closed_;
}

void Page::show_frame(std::size_t number) {
  std::shared_ptr<const ViewedFrame> frame;
  std::string error;
  try {
    frame = reader_.read(number);
  } catch (const std::exception& failure) {
    error = failure.what();
  }
  {
    const std::lock_guard lock(mutex_);
    if (frame) {
      frame_ = frame;
      for (Slot& slot : slots_) slot.is_new = slot.settings.has_value();
    } else {
      playing_ = false;
    }
    // A frame that took too long does not make the next ones hurry.
    next_frame_time_ =
        std::max(next_frame_time_ + std::chrono::duration_cast<Clock::duration>(pause_between_frames(scene_)),
                 Clock::now());
  }
  if (frame) send_pictures(frame);
  if (!error.empty()) send_error("", 0, error);
  if (scene_.is_sequence()) announce_sequence();
}

void Page::fill(int number) {
  Slot& slot = slots_[static_cast<std::size_t>(number)];
  std::unique_lock lock(mutex_);
  slot.is_new = false;
  const Settings settings = *slot.settings;
  const std::shared_ptr<const ViewedFrame> frame = frame_;
  if ((!settings.parameters && !settings.stored_map) || !frame) {
    slot.map.reset();
    slot.matcher.reset();
    return;
  }
  lock.unlock();
  try {
    send("working " + slot_name(number),
         text_of(Message({{"kind", "working"}, {"slot", slot_name(number)}, {"request", settings.request}})));
    const std::shared_ptr<const ViewedMap> map =
        settings.stored_map ? copy_stored_map(settings, frame) : match(slot, settings, frame);
    const auto message = std::make_shared<const std::string>(map_message(scene_, number, *map));
    lock.lock();
    slot.map = map;
    lock.unlock();
    send("map " + slot_name(number), message);
    if (number == 0) add_to_recording(*map);
  } catch (const std::bad_alloc&) {
    send_error(slot_name(number), settings.request, "out of memory: choose fewer disparities");
  } catch (const std::exception& error) {
    send_error(slot_name(number), settings.request, error.what());
  }
}

std::shared_ptr<const ViewedMap> Page::match(Slot& slot, const Settings& settings,
                                             const std::shared_ptr<const ViewedFrame>& frame) {
  const Size size = frame->format().size;
  plan(slot, settings, frame->format());
  auto map = std::make_shared<ViewedMap>();
  map->settings = settings;
  map->frame = frame;
  Result& result = map->result;
  result = Result(size, slot.matcher->has_confidence(), slot.matcher->has_row_offsets());
  if (settings.both_maps) result.right = std::make_unique<Result>(size);
  slot.matcher->run(scene_.pair(*frame), result.map());
  if (settings.temporal && scene_.is_sequence())
    slot.steadied.run(scene_.pair(*frame), frame->number, scene_.is_live(), result.map(),
                      scene_.threads(settings.device.threads));
  else
    slot.steadied.clear();
  map->stages = slot.matcher->stage_times();
  map->memory_bytes = slot.matcher->memory_bytes();
  return map;
}

std::shared_ptr<const ViewedMap> Page::copy_stored_map(
    const Settings& settings, const std::shared_ptr<const ViewedFrame>& frame) const {
  if (scene_.stored_map() == nullptr)
    throw Error(ErrorCategory::argument, "there is no stored map: start with --map");
  const Plane<float>& stored = *scene_.stored_map();
  auto map = std::make_shared<ViewedMap>();
  map->settings = settings;
  map->frame = frame;
  map->result = Result(stored.size());
  for (int y = 0; y < stored.height(); ++y)
    for (int x = 0; x < stored.width(); ++x) {
      const float disparity = stored.at(x, y);
      map->result.disparity.at(x, y) = disparity;
      map->result.status.at(x, y) =
          static_cast<std::uint8_t>(std::isfinite(disparity) ? Status::matched : Status::out_of_range);
    }
  return map;
}

void Page::plan(Slot& slot, const Settings& settings, const ImageFormat& format) {
  if (slot.matcher && slot.format == format && plans_alike(slot.planned, settings)) return;
  slot.matcher.reset();
  Device device = settings.device;
  device.threads = scene_.threads(device.threads);
  slot.matcher.emplace(
      *settings.parameters, device, format,
      PlanOptions{.max_memory_bytes = scene_.request().search.max_memory, .both_maps = settings.both_maps});
  slot.planned = settings;
  slot.format = format;
}

void Page::announce_sequence() {
  Json head;
  {
    const std::lock_guard lock(mutex_);
    head = {{"kind", "sequence"},
            {"playing", playing_},
            {"frame", frame_ ? frame_->number : 0},
            {"recorded", recording_ ? Json(recording_->frames()) : Json(nullptr)}};
  }
  send("sequence", text_of(Message(head)));
}

void Page::choose_planes(PlaneChoice planes) {
  planes.left = true;
  std::shared_ptr<const ViewedFrame> frame;
  PlaneChoice before;
  {
    const std::lock_guard lock(mutex_);
    before = std::exchange(planes_, planes);
    frame = frame_;
  }
  if (frame) send_more_planes(*frame, planes.without(before));
}

PlaneChoice Page::planes() const {
  const std::lock_guard lock(mutex_);
  return planes_;
}

void Page::send_pictures(const std::shared_ptr<const ViewedFrame>& frame) {
  const PlaneChoice planes = this->planes();
  const bool is_ready = !planes.without({.left = true}).has_any();
  send("pictures", is_ready ? Text(frame, &frame->message)
                            : std::make_shared<const std::string>(scene_.pictures_message(*frame, planes)));
  // What was chosen meanwhile may have been sent before the frame, which a page ignores.
  send_more_planes(*frame, this->planes().without(planes));
}

void Page::send_more_planes(const ViewedFrame& frame, const PlaneChoice& planes) {
  if (planes.has_any())
    send("more pictures", std::make_shared<const std::string>(scene_.pictures_message(frame, planes)));
}

void Page::send(const std::string& kind, Text message) {
  {
    const std::lock_guard lock(mutex_);
    const auto waiting = std::find_if(messages_.begin(), messages_.end(),
                                      [&](const auto& entry) { return entry.first == kind; });
    if (waiting != messages_.end()) messages_.erase(waiting);
    messages_.emplace_back(kind, std::move(message));
    message_.notify_one();
  }
  on_message_();
}

void Page::send_error(const std::string& slot, std::uint64_t request, const std::string& text) {
  send("error " + slot,
       text_of(Message({{"kind", "error"}, {"slot", slot}, {"request", request}, {"error", text}})));
}

}  // namespace parallax::view
