// SPDX-License-Identifier: Apache-2.0
#include "parallax/matcher_pool.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <system_error>
#include <utility>

#include "core/cancellation.h"
#include "core/checks.h"
#include "core/floating_point.h"
#include "core/workers.h"
#include "execution/lane.h"
#include "execution/tuned_plan.h"
#include "matchers/method.h"

namespace parallax {
namespace {

using detail::Attempt;
using detail::Failure;
using detail::Lane;
using detail::Settings;
using detail::SharedSettings;
using detail::Task;

constexpr int max_automatic_matchers = 16;

// Matchers on one GPU, each with a thread that copies a pair to where the GPU reaches it, and the map back,
// while others match. The smaller the images, the more of the GPU one pair leaves idle:
// docs/howto/several-devices.md.
int matchers_that_pay(Size size) {
  constexpr std::size_t vga = 640 * 480, hd = 1280 * 720;
  return size.pixels() <= vga ? max_automatic_matchers : size.pixels() <= hd ? 8 : 4;
}

void check_options(const PoolOptions& options) {
  check_range("matchers_per_gpu", options.matchers_per_gpu, 0, 64);
  check_range("waiting", options.waiting, 0, 1'000'000);
}

void check_pair(const StereoPair& pair, const DisparityMap& map) {
  const ImageFormat& format = pair.left.format;
  check_image("left image", pair.left);
  check_format(format);
  check_image("right image", pair.right);
  if (pair.right.format != format)
    throw Error(
        ErrorCategory::argument,
        "the left image is " + text(format.size) + " with " + std::to_string(static_cast<int>(format.depth)) +
            " bits per channel, the right one " + text(pair.right.format.size) + " with " +
            std::to_string(static_cast<int>(pair.right.format.depth)) + ": give two of one size and depth");
  check_mask("left mask", pair.left_mask, format.size);
  check_mask("right mask", pair.right_mask, format.size);
  check_view("disparity map", map.disparity, format.size);
  check_view("status map", map.status, format.size);
  if (map.right.empty()) return;
  check_view("right disparity map", map.right.disparity, format.size);
  check_view("right status map", map.right.status, format.size);
}

// Whether a device runs a method with these parameters does not depend on the images, but other checks do:
// the range must lie within them, and some parameters need 16 bits.
void check_runs(const MatcherParameters& parameters, const Device& device, const TunedValues& configuration) {
  const long long reach = std::llabs(parameters.min_disparity()) + parameters.disparities();
  const Size size{static_cast<int>(std::clamp(reach, 64LL, 1'000'000LL)), 64};
  try {
    detail::make_tuned_plan(parameters, device, {size, BitDepth::bits16}, configuration);
  } catch (const Error& error) {
    if (error.category() != ErrorCategory::argument) throw;
    detail::make_tuned_plan(parameters, device, {size, BitDepth::bits8}, configuration);
  }
}

}  // namespace

class MatcherPool::State {
 public:
  State(const MatcherParameters& parameters, const std::vector<Device>& devices, const PoolOptions& options);
  ~State();

  void start();
  std::uint64_t submit(const StereoPair& pair, const DisparityMap& map, const SharedSettings& settings);
  MatchedPair wait(std::uint64_t number);
  std::optional<MatchedPair> wait_any();
  std::vector<LostDevice> lost_devices() const;
  int matchers(const ImageFormat& format) const;

  // Checks parameters that are new.
  SharedSettings settings_of(const MatcherParameters& parameters);
  const SharedSettings& settings() const { return settings_; }

 private:
  // A pair that was submitted and has not yet been waited for.
  struct Ticket {
    bool is_claimed = false, is_done = false;  // claimed: by a call of wait()
    std::uint64_t order = 0;                   // position among the finished pairs
    MatchedPair matched = {};
    std::optional<Failure> failure = {};
  };

  int max_matchers(const Device& device) const;
  int max_matchers(const Lane& lane, const ImageFormat& format) const;
  int threads_of_matcher(const Device& device, const ImageFormat& format) const;
  int count_matchers(const ImageFormat& format) const;
  bool is_alive() const;
  bool has_room(const ImageFormat& format) const;

  void work(Lane& lane);
  void settle(Lane& lane, Task task, Attempt attempt);
  void lose(Lane& lane, const Failure& failure);
  void fail_what_nobody_matches();
  void finish(const Task& task, MatchedPair matched, std::optional<Failure> failure);
  MatchedPair take(std::uint64_t number);
  Lane* freest(const Task& task) const;
  void dispatch(const Lane* finished = nullptr);

  const PoolOptions options_;
  const int cores_ = Workers(0).threads();
  int gpus_ = 0;
  SharedSettings settings_;
  std::vector<std::unique_ptr<Lane>> lanes_;

  std::mutex settings_mutex_;
  std::map<std::string, SharedSettings> known_settings_;  // by their text

  mutable std::mutex mutex_;
  std::condition_variable finished_, room_;
  std::map<std::uint64_t, Task> queue_;  // by number, so that a pair that comes back is the next one again
  std::map<std::uint64_t, Ticket> tickets_;
  std::map<std::uint64_t, std::uint64_t> done_;  // numbers of finished, unclaimed pairs, by their order
  std::uint64_t next_number_ = 0, next_order_ = 0, unclaimed_ = 0;
  std::vector<LostDevice> lost_;
  bool stopping_ = false;
  Cancellation cancellation_;
};

MatcherPool::State::State(const MatcherParameters& parameters, const std::vector<Device>& devices,
                          const PoolOptions& options)
    : options_(options) {
  check_options(options);
  if (devices.empty()) throw Error(ErrorCategory::argument, "the pool has no device: give one, or several");
  for (const Device& device : devices) {
    lanes_.push_back(std::make_unique<Lane>(device, options));
    if (device.kind == DeviceKind::cuda) ++gpus_;
  }
  settings_ = settings_of(parameters);
}

void MatcherPool::State::start() {
  try {
    for (const auto& lane : lanes_)
      for (int i = 0; i < max_matchers(lane->device); ++i)
        lane->threads.emplace_back([this, &lane = *lane] { work(lane); });
  } catch (const std::system_error& error) {
    throw Error(ErrorCategory::memory,
                std::string("the system refused a thread (") + error.what() +
                    "): use fewer matchers, or raise the limits of memory and threads");
  }
}

MatcherPool::State::~State() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    cancellation_.cancel();
    for (const auto& lane : lanes_) lane->wake.notify_all();
  }
  for (const auto& lane : lanes_)
    for (std::thread& thread : lane->threads) thread.join();
}

SharedSettings MatcherPool::State::settings_of(const MatcherParameters& parameters) {
  parameters.validate();
  if (detail::method_of(parameters).compared_rows(parameters) == ComparedRows::once)
    throw Error(ErrorCategory::argument,
                "rows is once: choose auto or given in a pool, which matches pairs in any order");
  auto settings = std::make_shared<const Settings>(parameters);
  const std::lock_guard lock(settings_mutex_);
  const auto known = known_settings_.find(settings->text);
  if (known != known_settings_.end()) return known->second;
  for (const auto& lane : lanes_) check_runs(parameters, lane->device, options_.configuration);
  constexpr std::size_t max_known = 1000;
  if (known_settings_.size() >= max_known) known_settings_.clear();
  return known_settings_[settings->text] = std::move(settings);
}

int MatcherPool::State::max_matchers(const Device& device) const {
  if (device.kind != DeviceKind::cuda) return 1;
  return options_.matchers_per_gpu != 0 ? options_.matchers_per_gpu : max_automatic_matchers;
}

int MatcherPool::State::max_matchers(const Lane& lane, const ImageFormat& format) const {
  const bool chosen = lane.device.kind == DeviceKind::cuda && options_.matchers_per_gpu == 0;
  return chosen ? matchers_that_pay(format.size) : max_matchers(lane.device);
}

// On a GPU, the threads copy a pair and its map; all matchers of all GPUs do so at once.
int MatcherPool::State::threads_of_matcher(const Device& device, const ImageFormat& format) const {
  if (device.kind != DeviceKind::cuda || device.threads != 0) return device.threads;
  const int matchers =
      options_.matchers_per_gpu != 0 ? options_.matchers_per_gpu : matchers_that_pay(format.size);
  return std::max(1, cores_ / (gpus_ * matchers));
}

int MatcherPool::State::count_matchers(const ImageFormat& format) const {
  int count = 0;
  for (const auto& lane : lanes_)
    if (!lane->lost) count += max_matchers(*lane, format);
  return count;
}

bool MatcherPool::State::is_alive() const {
  return std::any_of(lanes_.begin(), lanes_.end(), [](const auto& lane) { return !lane->lost; });
}

bool MatcherPool::State::has_room(const ImageFormat& format) const {
  const int most = options_.waiting != 0 ? options_.waiting : 2 * count_matchers(format);
  return queue_.size() < static_cast<std::size_t>(most);
}

std::uint64_t MatcherPool::State::submit(const StereoPair& pair, const DisparityMap& map,
                                         const SharedSettings& settings) {
  check_pair(pair, map);
  std::unique_lock lock(mutex_);
  wait_interruptibly(room_, lock, [&] { return !is_alive() || has_room(pair.left.format); });
  const std::uint64_t number = next_number_++;
  Task task{number, pair, map, settings};
  tickets_[number];
  ++unclaimed_;
  if (is_alive())
    queue_.emplace(number, std::move(task));
  else
    finish(task, {}, Failure{ErrorCategory::device, lost_.back().reason, true});
  dispatch();
  return number;
}

MatchedPair MatcherPool::State::wait(std::uint64_t number) {
  std::unique_lock lock(mutex_);
  const auto found = tickets_.find(number);
  if (found == tickets_.end() || found->second.is_claimed)
    throw Error(ErrorCategory::argument,
                "pair " + std::to_string(number) +
                    " is not waited for: give the number of a pair that was submitted, once");
  Ticket& ticket = found->second;
  ticket.is_claimed = true;
  --unclaimed_;
  if (ticket.is_done) done_.erase(ticket.order);
  // It may have been the last pair for which wait_any() waits.
  if (unclaimed_ == 0) finished_.notify_all();
  try {
    wait_interruptibly(finished_, lock, [&] { return ticket.is_done; });
  } catch (...) {
    ticket.is_claimed = false;
    ++unclaimed_;
    if (ticket.is_done) done_.emplace(ticket.order, number);
    throw;
  }
  return take(number);
}

std::optional<MatchedPair> MatcherPool::State::wait_any() {
  std::unique_lock lock(mutex_);
  wait_interruptibly(finished_, lock, [&] { return !done_.empty() || unclaimed_ == 0; });
  if (done_.empty()) return std::nullopt;
  const std::uint64_t number = done_.begin()->second;
  done_.erase(done_.begin());
  if (--unclaimed_ == 0) finished_.notify_all();
  return take(number);
}

MatchedPair MatcherPool::State::take(std::uint64_t number) {
  const Ticket ticket = std::move(tickets_.extract(number).mapped());
  if (ticket.failure) {
    const Failure& failure = *ticket.failure;
    throw PairError(number, failure.category, failure.reason, failure.is_transient);
  }
  return ticket.matched;
}

std::vector<LostDevice> MatcherPool::State::lost_devices() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

int MatcherPool::State::matchers(const ImageFormat& format) const {
  const std::lock_guard lock(mutex_);
  return count_matchers(format);
}

void MatcherPool::State::work(Lane& lane) {
  const DefaultFloatingPoint environment;
  const CancellableCall call(cancellation_);
  std::unique_lock lock(mutex_);
  for (;;) {
    lane.wake.wait(lock, [&] { return stopping_ || lane.lost || !lane.assigned.empty(); });
    if (stopping_ || lane.lost) break;
    Task task = std::move(lane.assigned.front());
    lane.assigned.pop_front();
    lock.unlock();
    const ImageFormat& format = task.pair.left.format;
    const bool sleeps = max_matchers(lane, format) > 1;
    Attempt attempt = detail::match(lane.plans, task, threads_of_matcher(lane.device, format), sleeps);
    lock.lock();
    --lane.busy;
    settle(lane, std::move(task), std::move(attempt));
    dispatch(&lane);
  }
  lock.unlock();
  lane.plans.clear();
}

void MatcherPool::State::settle(Lane& lane, Task task, Attempt attempt) {
  if (lane.cap && --lane.cap->pairs <= 0) lane.cap.reset();
  switch (attempt.result) {
    case Attempt::Result::matched:
      return finish(task, {task.number, lane.device, std::move(attempt.stage_times)}, std::nullopt);
    case Attempt::Result::failed:
      return finish(task, {}, attempt.failure);
    case Attempt::Result::later: {
      constexpr int until_next_try = 100;
      lane.cap = {task.problem(), std::max(1, lane.busy), until_next_try};
      break;
    }
    case Attempt::Result::refused:
      task.refused_by.push_back(&lane);
      task.refusal = attempt.failure;
      break;
    case Attempt::Result::lost:
      lose(lane, attempt.failure);
      break;
  }
  const std::uint64_t number = task.number;
  queue_.emplace(number, std::move(task));
  fail_what_nobody_matches();
}

// The lane's pairs go to the other devices.
void MatcherPool::State::lose(Lane& lane, const Failure& failure) {
  if (lane.lost) return;
  lane.lost = true;
  const auto same = [&](const LostDevice& lost) { return lost.device.text() == lane.device.text(); };
  if (std::none_of(lost_.begin(), lost_.end(), same)) lost_.push_back({lane.device, failure.reason});
  lane.busy -= static_cast<int>(lane.assigned.size());
  for (Task& task : lane.assigned) {
    const std::uint64_t number = task.number;
    queue_.emplace(number, std::move(task));
  }
  lane.assigned.clear();
  lane.wake.notify_all();
}

void MatcherPool::State::fail_what_nobody_matches() {
  for (auto next = queue_.begin(); next != queue_.end();) {
    const Task& task = next->second;
    const bool is_hopeless = std::all_of(lanes_.begin(), lanes_.end(), [&](const auto& lane) {
      return lane->lost || task.is_refused_by(*lane);
    });
    if (!is_hopeless) {
      ++next;
      continue;
    }
    finish(
        task, {},
        task.refused_by.empty() ? Failure{ErrorCategory::device, lost_.back().reason, true} : task.refusal);
    queue_.erase(next++);
  }
}

void MatcherPool::State::finish(const Task& task, MatchedPair matched, std::optional<Failure> failure) {
  Ticket& ticket = tickets_[task.number];
  ticket.matched = std::move(matched);
  ticket.failure = std::move(failure);
  ticket.is_done = true;
  ticket.order = next_order_++;
  if (!ticket.is_claimed) done_.emplace(ticket.order, task.number);
  finished_.notify_all();
}

// The device that is matching the fewest pairs, among those that may match one more; null if there is none.
Lane* MatcherPool::State::freest(const Task& task) const {
  Lane* freest = nullptr;
  for (const auto& lane : lanes_) {
    int most = max_matchers(*lane, task.pair.left.format);
    if (lane->cap && lane->cap->problem == task.problem()) most = std::min(most, lane->cap->most);
    if (lane->lost || lane->busy >= most || task.is_refused_by(*lane)) continue;
    if (freest == nullptr || lane->busy < freest->busy) freest = lane.get();
  }
  return freest;
}

// Assigns pairs in their order. Only a pair that a device refused lets others pass while it waits for the
// rest. `finished`: a device of which this thread looks for its next pair now.
void MatcherPool::State::dispatch(const Lane* finished) {
  for (auto next = queue_.begin(); next != queue_.end();) {
    Lane* lane = freest(next->second);
    if (lane == nullptr) {
      if (next->second.refused_by.empty()) break;
      ++next;
      continue;
    }
    ++lane->busy;
    lane->assigned.push_back(std::move(next->second));
    queue_.erase(next++);
    if (lane == finished)
      finished = nullptr;
    else
      lane->wake.notify_one();
  }
  room_.notify_all();
}

PairError::PairError(std::uint64_t number, ErrorCategory category, const std::string& reason,
                     bool is_transient)
    : Error(category, "pair " + std::to_string(number) + ": " + reason, is_transient),
      number_(number),
      reason_(reason) {}

MatcherPool::MatcherPool(const MatcherParameters& parameters, const std::vector<Device>& devices,
                         const PoolOptions& options)
    : state_(std::make_unique<State>(parameters, devices, options)) {
  state_->start();
}

MatcherPool::~MatcherPool() = default;

std::uint64_t MatcherPool::submit(const StereoPair& pair, const DisparityMap& map) {
  return state_->submit(pair, map, state_->settings());
}

std::uint64_t MatcherPool::submit(const StereoPair& pair, const DisparityMap& map,
                                  const MatcherParameters& parameters) {
  return state_->submit(pair, map, state_->settings_of(parameters));
}

MatchedPair MatcherPool::wait(std::uint64_t number) {
  return state_->wait(number);
}

std::optional<MatchedPair> MatcherPool::wait_any() {
  return state_->wait_any();
}

std::vector<LostDevice> MatcherPool::lost_devices() const {
  return state_->lost_devices();
}

int MatcherPool::matchers(const ImageFormat& format) const {
  check_format(format);
  return state_->matchers(format);
}

}  // namespace parallax
