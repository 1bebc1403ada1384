// SPDX-License-Identifier: Apache-2.0
// Maps of cameras as they come: the newest pair first, pairs that come meanwhile are dropped.
#include <algorithm>
#include <deque>
#include <iostream>
#include <optional>
#include <sstream>

#include "parallax/temporal.h"

#include "tools/command/json.h"
#include "tools/command/output_files.h"
#include "tools/files/shared_maps.h"
#include "tools/match/match.h"
#include "tools/match/match_report.h"

namespace parallax::tool {
namespace {

using nlohmann::ordered_json;
using namespace std::chrono_literals;

// Medians of the last figures, so that memory stays as it is however long the cameras run.
class Recent {
 public:
  void add(double value) {
    constexpr std::size_t most = 300;
    values_.push_back(value);
    if (values_.size() > most) values_.pop_front();
  }
  double median() const { return values_.empty() ? 0 : tool::median({values_.begin(), values_.end()}); }
  double highest() const { return values_.empty() ? 0 : *std::max_element(values_.begin(), values_.end()); }

 private:
  std::deque<double> values_;
};

class Live {
 public:
  Live(const MatchRequest& request, const LiveOptions& options)
      : search_(request.search),
        options_(options),
        plan_(request),
        cameras_(options.cameras),
        video_(options.video, 0) {}

  int run() {
    stop_on_signals();
    LivePair pair;
    while (stop_signal() == 0 && (options_.maps == 0 || maps_ < options_.maps) && take(pair)) match(pair);
    show_progress("");
    video_.finish();
    report();
    return status_;
  }

 private:
  // The next pair; false at a signal, and where the cameras end.
  // \throws Error (file) where they end without a pair
  bool take(LivePair& pair) {
    const auto begin = Clock::now();
    try {
      while (!cameras_.newest(next_, 100ms, pair)) {
        if (stop_signal() != 0) return false;
        constexpr double patience = 10'000;
        if (!options_.cameras.waits && milliseconds_since(begin) > patience)
          throw Error(ErrorCategory::file, "the cameras have taken no pair of pictures for 10 s: check them");
      }
    } catch (const Error& error) {
      if (error.category() != ErrorCategory::file || maps_ == 0) throw;
      show_progress("");
      complain(error.what());
      status_ = failed;
      return false;
    }
    next_ = pair.frame.number + 1;
    return true;
  }

  void match(LivePair& pair) {
    Frame& frame = pair.frame;
    frame.pictures = plan_.rectified(std::move(frame.pictures), frame.left, frame.right);
    if (!plan_.is_made()) plan(frame);
    if (const std::string error = format_error(frame, plan_.format()); !error.empty())
      throw Error(ErrorCategory::file, error);
    plan_.run(frame.pictures, result_);
    if (filter_) filter_->run(plan_.pair(frame.pictures), result_.map());
    write(pair);
    ++maps_;
    latency_.add(milliseconds_since(pair.arrival));
    skew_.add(1000 * std::abs(pair.skew));
    times_.push_back(Clock::now());
    if (times_.size() > times_kept) times_.pop_front();
    show();
  }

  void plan(Frame& frame) {
    plan_.find_range(frame.pictures, "the first pair");
    plan_.make(frame.pictures.left.view().format);
    result_ = plan_.make_result();
    if (options_.temporal) filter_.emplace(plan_.format(), TemporalParameters{}, search_.threads);
    if (!options_.share.empty()) {
      const Calibration calibration = plan_.calibration_of_map();
      shared_.emplace(options_.share, plan_.map_size(), calibration.focal > 0 ? &calibration : nullptr);
    }
  }

  void write(const LivePair& pair) {
    if (shared_) {
      const bool is_turned = plan_.quarter_turns() != 0;
      const Result back = is_turned ? turned(result_, 4 - plan_.quarter_turns()) : Result();
      using namespace std::chrono;
      const std::int64_t now = now_in_nanoseconds();
      const std::int64_t age = duration_cast<nanoseconds>(Clock::now() - pair.arrival).count();
      shared_->write({.sequence = 0,
                      .number = pair.frame.number,
                      .arrival = now - age,
                      .written = now,
                      .skew = pair.skew,
                      .unused = {}},
                     is_turned ? back : result_);
    }
    if (!video_.is_wanted()) return;
    const int lowest = plan_.lowest_disparity();
    video_.write(
        plan_.turned_back(colour(result_.disparity.view(), lowest, lowest + plan_.disparities() - 1)));
  }

  double rate() const {
    if (times_.size() < 2) return 0;
    const double seconds = std::chrono::duration<double>(times_.back() - times_.front()).count();
    return seconds > 0 ? static_cast<double>(times_.size() - 1) / seconds : 0;
  }

  void show() {
    if (milliseconds_since(shown_) < 100) return;
    shown_ = Clock::now();
    show_progress(figures());
  }

  std::string figures() const {
    const CameraCounts counts = cameras_.counts();
    std::ostringstream text;
    text << maps_ << " maps, " << with_decimals(rate(), 1) << " a second, latency "
         << with_decimals(latency_.median(), 0) << " ms";
    if (options_.cameras.cameras.size() > 1) text << ", skew " << with_decimals(skew_.median(), 1) << " ms";
    text << "; " << counts.skipped << " pairs dropped";
    if (options_.cameras.cameras.size() > 1) text << ", " << counts.unpaired << " pictures without a partner";
    return text.str();
  }

  void report() const {
    if (!options_.json) return write_message(figures() + "\n");
    const CameraCounts counts = cameras_.counts();
    const ordered_json json{{"method", search_.method},
                            {"device", search_.device},
                            {"maps", maps_},
                            {"maps_per_second", rate()},
                            {"latency_ms", {{"median", latency_.median()}, {"highest", latency_.highest()}}},
                            {"skew_ms", {{"median", skew_.median()}, {"highest", skew_.highest()}}},
                            {"pairs", counts.pairs},
                            {"dropped_pairs", counts.skipped},
                            {"unpaired_pictures", counts.unpaired},
                            {"peak_memory_bytes", peak_memory_bytes()}};
    std::cout << json.dump(2) << "\n";
  }

  static constexpr std::size_t times_kept = 100;

  const Search& search_;
  const LiveOptions& options_;
  MatchPlan plan_;
  Cameras cameras_;
  SequenceVideo video_;
  Result result_;
  std::optional<TemporalFilter> filter_;
  std::optional<SharedMaps> shared_;
  std::size_t next_ = 0, maps_ = 0;
  int status_ = done;
  Recent latency_, skew_;
  std::deque<Clock::time_point> times_;  // when the last maps were ready
  Clock::time_point shown_;
};

}  // namespace

int match_live(const MatchRequest& request, const LiveOptions& options) {
  return Live(request, options).run();
}

}  // namespace parallax::tool
