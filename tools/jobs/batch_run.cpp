// SPDX-License-Identifier: Apache-2.0
// Several threads take pairs from the list, one at a time, and read, match and write each: while a matcher
// has a pair, others are read and written. Results are told in the order of the list.

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <exception>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <thread>

#include "parallax/version.h"

#include "tools/command/command.h"
#include "tools/command/command_files.h"
#include "tools/command/json.h"
#include "tools/command/output_files.h"
#include "tools/command/pipeline.h"
#include "tools/files/content_hash.h"
#include "tools/jobs/batch.h"
#include "tools/jobs/results_table.h"
#include "tools/match/match_pair.h"

namespace parallax::tool {
namespace {

using nlohmann::ordered_json;

// Bytes that the pairs in work may take together. They are admitted in the order in which they ask.
class MemoryShare {
 public:
  explicit MemoryShare(std::size_t limit) : limit_(limit) {}
  std::size_t limit() const { return limit_; }

  // Waits for as many bytes, at most the limit; the result holds them until it is destroyed.
  std::shared_ptr<void> enter(std::size_t bytes) {
    std::unique_lock lock(mutex_);
    const std::uint64_t turn = last_++;
    changed_.wait(lock, [&] { return turn == first_ && used_ + bytes <= limit_; });
    ++first_;
    used_ += bytes;
    changed_.notify_all();
    return {nullptr, [this, bytes](void*) { leave(bytes); }};
  }

 private:
  void leave(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    used_ -= bytes;
    changed_.notify_all();
  }

  std::size_t limit_, used_ = 0;
  std::uint64_t first_ = 0, last_ = 0;  // turns
  std::mutex mutex_;
  std::condition_variable changed_;
};

double rounded(double milliseconds) {
  return std::round(1000 * milliseconds) / 1000;
}

constexpr const char* alone = "raise --max-memory, or match this pair in tiles with 'parallax match'";

enum class PairStatus {
  matched,
  reused,
  failed,
  dropped,  // the batch ends before it is done
};
constexpr const char* status_names[] = {"ok", "reused", "failed", "dropped"};

struct Outcome {
  PairStatus status = PairStatus::dropped;
  ResultsRow row;
  CommandFailure failure;
};

struct Work {
  std::shared_ptr<void> admission;
  std::optional<MatchPlan> plan;
  PicturePair pictures;
  std::optional<Truth> truth;
  Result result;
};

std::vector<std::string> columns_of_results() {
  std::vector<std::string> columns{"number", "status", "left",    "right",    "output",   "width",
                                   "height", "device", "read_ms", "match_ms", "write_ms", "valid"};
  const ordered_json errors = to_json(ErrorMetrics{});
  for (const auto& error : errors.items()) columns.push_back(error.key());
  for (const char* last : {"inputs", "result", "reason"}) columns.emplace_back(last);
  return columns;
}

class Batch {
 public:
  Batch(const BatchRequest& request, const BatchOutputs& outputs, const std::vector<ListedPair>& pairs)
      : request_(request),
        outputs_(outputs),
        pairs_(pairs),
        // A quarter for pairs, the rest for matchers.
        share_(free_memory() / 4),
        pool_(request.search.parameters, request.search.devices, limits()),
        table_(request.results, columns_of_results(), request.resume) {}

  int run() {
    const CompilationNotice notice;
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < thread_count(); ++i) threads.emplace_back([this] { work(); });
    }
    seconds_ = milliseconds_since(start_) / 1000;
    show_progress("");
    tell_rest();
    if (error_) rethrow();
    if (stop_signal() != 0) {
      tell_stop();
      return failed;
    }
    if (!ends()) table_.finish();
    report();
    return exit_status_;
  }

 private:
  std::size_t free_memory() const {
    const std::size_t limit = memory_limit(request_.search.max_memory);
    std::size_t program = 0;
    for (const Device& device : request_.search.devices) program = std::max(program, program_bytes(device));
    if (limit <= program)
      throw Error(ErrorCategory::memory, "the program itself needs " + memory_text(program) + ", and " +
                                             memory_text(limit) + " are allowed: raise --max-memory");
    return limit - program;
  }

  // The memory of GPUs is their own, unless the user limits it.
  PoolOptions limits() const {
    PoolOptions limits;
    limits.configuration = request_.search.configuration;
    const auto on_host = std::count_if(
        request_.search.devices.begin(), request_.search.devices.end(), [](const Device& device) {
          return device.kind == DeviceKind::cpu || device.kind == DeviceKind::reference;
        });
    const auto sharing =
        request_.search.max_memory > 0 ? request_.search.devices.size() : static_cast<std::size_t>(on_host);
    if (sharing > 0) limits.max_memory_bytes = free_memory() / 4 * 3 / sharing;
    return limits;
  }

  // Those that wait for a matcher cost nothing; as many as there are cores read and write.
  std::size_t thread_count() const {
    std::size_t count = pipeline_slots();
    for (const Device& device : request_.search.devices)
      if (device.kind == DeviceKind::cuda || device.kind == DeviceKind::opencl) count += max_in_flight_of_gpu;
    return std::min(count, pairs_.size());
  }

  // The pairs in front of the oldest that is not done, whose rows wait for its row.
  static constexpr std::size_t max_ahead = 256;

  bool ends() const { return ends_ || stop_signal() != 0; }

  bool take(std::size_t& position) {
    std::unique_lock lock(mutex_);
    finished_.wait(lock, [&] { return ends() || next_ < told_ + max_ahead; });
    if (ends() || next_ == pairs_.size()) return false;
    position = next_++;
    return true;
  }

  void work() {
    for (std::size_t position = 0; take(position);) {
      try {
        finish(position, outcome_of(pairs_[position]));
      } catch (...) {
        stop_with(std::current_exception());
        return;
      }
    }
  }

  Outcome outcome_of(const ListedPair& pair) {
    const Outputs paths = outputs_.of(pair);
    Outcome outcome;
    outcome.row = {{"number", pair.number},
                   {"status", ""},
                   {"left", pair.left},
                   {"right", pair.right},
                   {"output", paths.disparity}};
    Work work;
    try {
      const MatchRequest one = request_of(pair);
      for (const std::string& path : pair.files()) check_readable_twice(path);
      const std::string inputs = table_.empty() ? "" : inputs_hash(pair, one.search);
      if (request_.resume && reuse(paths, inputs, outcome)) return outcome;
      read(one, pair.truth, work, outcome.row);
      if (ends()) return outcome;
      match(work, outcome.row);
      if (!table_.empty()) outcome.row["inputs"] = inputs;
    } catch (const PairError& error) {
      // No device is left: the other pairs would fail, too. What no device can match is only this pair.
      if (error.category() == ErrorCategory::device && error.is_transient())
        throw Error(error.category(), "no device is left: " + error.reason(), error.is_transient());
      outcome.status = PairStatus::failed;
      outcome.failure = {error.reason(), error.is_transient() ? failed_for_now : failed};
      if (error.category() == ErrorCategory::memory) outcome.failure.message += std::string("; ") + alone;
    } catch (...) {
      outcome.status = PairStatus::failed;
      outcome.failure = current_failure();
    }
    if (outcome.status == PairStatus::failed) return outcome;
    // What cannot be written ends the batch.
    write(paths, work, outcome.row);
    outcome.status = PairStatus::matched;
    return outcome;
  }

  MatchRequest request_of(const ListedPair& pair) const {
    MatchRequest one{request_.input, request_.search, outputs_.of(pair)};
    one.input.pictures = request_.pictures;
    take_listed(pair, one.input, one.search);
    return one;
  }

  // The files of the rig and all that decides how it is rectified.
  ordered_json describe_rig() const {
    const auto& [alpha, zoom, same_centres, size, interpolation] = request_.input.rectify;
    const RigChoices& choices = request_.input.choices;
    ordered_json rig{{"alpha", alpha},
                     {"zoom", zoom},
                     {"same_centres", same_centres},
                     {"size", text(size)},
                     {"interpolation", static_cast<int>(interpolation)},
                     {"images", text(choices.size)},
                     {"cameras", choices.cameras.value_or(std::array{0, 0})},
                     {"unit", choices.unit.value_or(0)},
                     {"fisheye", choices.fisheye},
                     {"exchange", choices.exchange}};
    for (const std::string& path : request_.input.rig) rig["files"].push_back(file_hash(path));
    return rig;
  }

  // Hash of all that decides the results.
  std::string inputs_hash(const ListedPair& pair, const Search& search) const {
    ordered_json json{
        {"program", PARALLAX_VERSION},       {"parameters", describe_parameters(search.parameters)},
        {"range_given", search.range_given}, {"truth_scale", request_.truth_scale},
        {"truth_none", request_.truth_none}, {"pictures", tool::to_json(request_.pictures)}};
    if (!request_.input.rig.empty()) json["rig"] = describe_rig();
    for (const std::string& path : pair.files()) json["files"].push_back(path.empty() ? "" : file_hash(path));
    return content_hash(json.dump());
  }

  bool reuse(const Outputs& paths, const std::string& inputs, Outcome& outcome) const {
    const ResultsRow row = table_.earlier(paths.disparity);
    if (row.is_null() || !row.contains("inputs") || row["inputs"] != inputs || !row.contains("result"))
      return false;
    std::vector<std::string> hashes;
    for (const std::string& path : paths.all()) {
      std::error_code unknown;
      if (path.empty()) continue;
      if (!std::filesystem::is_regular_file(path, unknown)) return false;
      hashes.push_back(file_hash(path));
    }
    if (row["result"] != join(hashes, "+")) return false;
    const ResultsRow number = outcome.row["number"];
    outcome.status = PairStatus::reused;
    outcome.row.update(row);
    outcome.row["number"] = number;
    return true;
  }

  void read(const MatchRequest& one, const std::string& truth, Work& work, ResultsRow& row) {
    const std::string& left = one.input.left;
    const std::string& right = one.input.right;
    const bool has_truth = !truth.empty();
    const std::size_t bytes = std::max(pair_bytes(one, has_truth, read_picture_format(left)),
                                       pair_bytes(one, has_truth, read_picture_format(right)));
    if (bytes > share_.limit())
      throw Error(ErrorCategory::memory, "its pictures and results need " + memory_text(bytes) + ", and " +
                                             memory_text(share_.limit()) +
                                             " of the limit are for these: " + alone);
    work.admission = share_.enter(bytes);
    const auto begin = Clock::now();
    work.plan.emplace(one);
    work.pictures = work.plan->rectified(read_one_pair(one.input), left, right);
    work.plan->settle(work.pictures.left.view().format);
    const Size size = work.plan->map_size();
    row["width"] = size.width;
    row["height"] = size.height;
    work.truth = read_truth({truth, request_.truth_scale, request_.truth_none}, left, size);
    work.result = work.plan->make_result();
    row["read_ms"] = rounded(milliseconds_since(begin));
  }

  void match(Work& work, ResultsRow& row) {
    const std::uint64_t number =
        pool_.submit(work.plan->pair(work.pictures), work.result.map(), work.plan->parameters());
    const MatchedPair matched = pool_.wait(number);
    double milliseconds = 0;
    for (const StageTime& stage : matched.stage_times) milliseconds += stage.milliseconds;
    row["device"] = matched.device.text();
    row["match_ms"] = rounded(milliseconds);
    if (table_.empty()) return;
    row["valid"] = pixel_shares(work.result).valid;
    if (!work.truth) return;
    const ErrorMetrics error = work.truth->compare(work.plan->turned_back(work.result.disparity).view());
    row.update(tool::to_json(error));
  }

  void write(const Outputs& paths, const Work& work, ResultsRow& row) const {
    const auto begin = Clock::now();
    const std::vector<FileBytes> files = encode_outputs(paths, *work.plan, work.pictures, work.result);
    // A disk may take longer than the match; after a crash, --resume finds what is not whole.
    constexpr bool on_disk = false;
    write_files(files, on_disk);
    row["write_ms"] = rounded(milliseconds_since(begin));
    if (table_.empty() || files.empty()) return;
    std::vector<std::string> hashes;
    for (const auto& [path, bytes] : files) hashes.push_back(content_hash(bytes));
    row["result"] = join(hashes, "+");
  }

  // Tells all that are done and have no earlier one in work.
  void finish(std::size_t position, Outcome outcome) {
    const std::lock_guard lock(mutex_);
    waiting_.emplace(position, std::move(outcome));
    while (!waiting_.empty() && waiting_.begin()->first == told_) {
      Outcome& first = waiting_.begin()->second;
      tell(pairs_[told_], first);
      waiting_.erase(waiting_.begin());
      ++told_;
      show();
    }
    finished_.notify_all();
  }

  void tell(const ListedPair& pair, Outcome& outcome) {
    ++counts_[static_cast<std::size_t>(outcome.status)];
    outcome.row["status"] = status_names[static_cast<int>(outcome.status)];
    const bool has_failed = outcome.status == PairStatus::failed;
    if (has_failed) outcome.row["reason"] = outcome.failure.message;
    if (outcome.status == PairStatus::matched || has_failed) table_.add(outcome.row);
    if (outcome.status == PairStatus::reused) table_.keep(outcome.row);
    if (has_failed) tell_failure(pair, outcome.failure);
    lost_devices_.tell(pool_.lost_devices());
  }

  void tell_failure(const ListedPair& pair, const CommandFailure& failure) {
    show_progress("");
    complain(name_of(pair) + ": " + failure.message);
    exit_status_ = worse(exit_status_, failure.status == failed_for_now ? failed_for_now : failed);
    failures_.push_back({{"number", pair.number}, {"left", pair.left}, {"error", failure.message}});
    if (request_.stop_on_error) ends_ = true;
  }

  void stop_with(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
    ends_ = true;
    finished_.notify_all();
  }

  void show() {
    if (milliseconds_since(shown_) < 100) return;
    shown_ = Clock::now();
    const double seconds = milliseconds_since(start_) / 1000;
    // Those that were reused take hardly any time.
    const auto done_now = static_cast<double>(told_ - count(PairStatus::reused));
    std::ostringstream line;
    line << "pair " << told_ << " of " << pairs_.size();
    if (!failures_.empty()) line << ", " << failures_.size() << " failed";
    if (done_now > 0 && seconds > 0) {
      const double rate = done_now / seconds;
      line << std::fixed << std::setprecision(1) << ", " << rate << " pairs/s, "
           << duration_text(static_cast<double>(pairs_.size() - told_) / rate) << " left";
    }
    show_progress(line.str(), static_cast<double>(told_) / static_cast<double>(pairs_.size()));
  }

  // What is done behind a pair that was dropped.
  void tell_rest() {
    try {
      for (auto& [position, outcome] : waiting_)
        if (outcome.status != PairStatus::dropped) tell(pairs_[position], outcome);
    } catch (...) {
      if (!error_) error_ = std::current_exception();
    }
  }

  [[noreturn]] void rethrow() const {
    try {
      std::rethrow_exception(error_);
    } catch (const Error& error) {
      throw Error(error.category(), error.what() + advice(), error.is_transient());
    }
  }

  void tell_stop() const {
    complain(
        "stopped by a signal: " + std::to_string(count(PairStatus::matched) + count(PairStatus::reused)) +
        " of " + std::to_string(pairs_.size()) + " pairs are done" + advice());
  }

  // Advice on what to do next; empty without a table.
  std::string advice() const {
    return table_.empty() || request_.outputs.disparity.empty()
               ? ""
               : "; what is done is in " + request_.results + ": continue with --resume";
  }

  std::size_t count(PairStatus status) const { return counts_[static_cast<std::size_t>(status)]; }

  double pairs_per_second() const {
    return seconds_ > 0 ? static_cast<double>(count(PairStatus::matched)) / seconds_ : 0;
  }

  void report() const {
    if (request_.json) {
      std::cout << json_text(to_json(), 2) << "\n";
      return;
    }
    std::ostringstream line;
    line << std::fixed << std::setprecision(1) << "matched " << count(PairStatus::matched) << " of "
         << pairs_.size() << " pairs by " << request_.search.method << " on "
         << text(request_.search.devices);
    if (count(PairStatus::reused) > 0) line << ", " << count(PairStatus::reused) << " done before";
    if (count(PairStatus::failed) > 0) line << ", " << count(PairStatus::failed) << " failed";
    line << ": " << pairs_per_second() << " pairs/s\n";
    write_message(line.str());
  }

  ordered_json to_json() const {
    ordered_json json{{"method", request_.search.method},
                      {"device", text(request_.search.devices)},
                      {"parameters", describe_parameters(request_.search.parameters)},
                      {"pairs", pairs_.size()},
                      {"matched", count(PairStatus::matched)},
                      {"reused", count(PairStatus::reused)},
                      {"failed", failures_},
                      {"seconds", seconds_},
                      {"pairs_per_second", pairs_per_second()},
                      {"peak_memory_bytes", peak_memory_bytes()}};
    json["lost_devices"] = ordered_json::array();
    for (const LostDevice& lost : pool_.lost_devices())
      json["lost_devices"].push_back({{"device", lost.device.text()}, {"error", lost.reason}});
    return json;
  }

  const BatchRequest& request_;
  const BatchOutputs& outputs_;
  const std::vector<ListedPair>& pairs_;
  MemoryShare share_;
  MatcherPool pool_;
  ResultsTable table_;  // the last: what cannot begin leaves an earlier table as it is

  std::mutex mutex_;
  std::condition_variable finished_;
  std::size_t next_ = 0, told_ = 0;         // positions in the list
  std::map<std::size_t, Outcome> waiting_;  // done before an earlier one
  std::atomic<bool> ends_ = false;
  std::exception_ptr error_;  // what ended the batch
  std::array<std::size_t, std::size(status_names)> counts_{};
  LostDeviceNotice lost_devices_;
  int exit_status_ = done;
  ordered_json failures_ = ordered_json::array();
  Clock::time_point start_ = Clock::now(), shown_;
  double seconds_ = 0;
};

}  // namespace

int run_batch(const BatchRequest& request, const BatchOutputs& outputs,
              const std::vector<ListedPair>& pairs) {
  return Batch(request, outputs, pairs).run();
}

}  // namespace parallax::tool
