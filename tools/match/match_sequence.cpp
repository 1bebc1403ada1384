// SPDX-License-Identifier: Apache-2.0
#include <iomanip>
#include <iostream>
#include <sstream>

#include "parallax/temporal.h"

#include "tools/command/command_files.h"
#include "tools/command/json.h"
#include "tools/command/pipeline.h"
#include "tools/files/frames.h"
#include "tools/files/pictures.h"
#include "tools/files/video.h"
#include "tools/match/match.h"
#include "tools/match/match_report.h"

namespace parallax::tool {
namespace {

using nlohmann::ordered_json;

class SequenceOutputs {
 public:
  explicit SequenceOutputs(const Outputs& texts) {
    for (const OutputKind& kind : output_kinds)
      names_.emplace_back(kind.option, texts.*kind.path, kind.extension);
  }

  Outputs of(const Frame& frame) const {
    Outputs paths;
    for (std::size_t i = 0; i < names_.size(); ++i) paths.*output_kinds[i].path = names_[i].of(frame);
    return paths;
  }
  void make_folders(OutputFolders& folders) const {
    for (const OutputNames& names : names_) names.make_folder(folders);
  }

 private:
  std::vector<OutputNames> names_;  // names of output_kinds
};

// No file may be written twice, and no input may be overwritten.
class Names {
 public:
  Names(const Input& input, const std::string& video, const SequenceOutputs& outputs)
      : input_(input), video_(video), outputs_(outputs) {}

  void check(const std::vector<Frame>& frames) {
    for (const std::string& path : {input_.left_mask, input_.right_mask}) files_.reads(path);
    for (const std::string& path : input_.calibration) files_.reads(path);
    for (const std::string& path : input_.rig) files_.reads(path);
    for (const Frame& frame : frames) {
      files_.reads(frame.left);
      files_.reads(frame.right);
    }
    files_.writes(video_);
    for (const Frame& frame : frames) add(frame);
    checked_ = frames.size();
  }
  // Checks the next frame: a video may have more frames than it announces.
  // \throws UsageError
  void check(const Frame& frame) {
    if (taken_++ >= checked_) add(frame);
  }

 private:
  void add(const Frame& frame) {
    for (const std::string& path : outputs_.of(frame).all()) files_.writes(path);
  }

  const Input& input_;
  const std::string& video_;
  const SequenceOutputs& outputs_;
  CommandFiles files_;
  std::size_t checked_ = 0, taken_ = 0;
};

struct Failure {
  std::uint64_t number;
  std::string name, error;
};

// Frames that are matched at once where there are several devices, beside those that are read or written.
std::size_t frames_in_pool(const std::vector<Device>& devices) {
  std::size_t count = 0;
  if (devices.size() > 1)
    for (const Device& device : devices) count += device.kind == DeviceKind::cuda ? max_in_flight_of_gpu : 1;
  return count;
}

// Frames go through a pipeline; the single plan matches one at a time, and the pool of several devices many.
class Sequence {
 public:
  Sequence(const MatchRequest& request, const SequenceOptions& options, FrameSource& source)
      : search_(request.search),
        options_(options),
        source_(source),
        outputs_(request.outputs),
        names_(request.input, options.video.path, outputs_),
        plan_(request),
        items_(pipeline_slots() + frames_in_pool(request.search.devices)),
        video_(options.video, source.frames_per_second()) {}

  int run() {
    names_.check(source_.names());
    outputs_.make_folders(folders_);
    const auto stage = [&](bool one_at_a_time, auto body) {
      return PipelineStage{one_at_a_time, [this, body](std::size_t slot) { (this->*body)(items_[slot]); }};
    };
    run_pipeline(
        items_.size(), [&](std::size_t slot) { return next(items_[slot]); },
        {stage(false, &Sequence::decode), stage(true, &Sequence::match), stage(true, &Sequence::complete),
         stage(false, &Sequence::write), stage(true, &Sequence::finish)});
    show_progress("");
    video_.finish();
    report();
    return failures_.empty() ? done : failed;
  }

 private:
  struct Item {
    Frame frame;
    Result result;
    std::optional<std::uint64_t> in_pool;  // its number there
    std::vector<StageTime> stages;
    PixelShares shares;
    Picture coloured;
  };

  bool next(Item& item) {
    if (!source_.next(item.frame)) return false;
    try {
      names_.check(item.frame);
    } catch (const UsageError& error) {
      item.frame.error = error.what();
    }
    return true;
  }

  void decode(Item& item) const {
    if (item.frame.error.empty()) try_frame(item.frame, [&] { source_.decode(item.frame); });
  }

  // Whether the pictures are rectified now.
  bool rectify(Frame& frame) {
    return try_frame(
        frame, [&] { frame.pictures = plan_.rectified(std::move(frame.pictures), frame.left, frame.right); });
  }

  // Plans for frames like this one, with the range that it shows if none is given. Whether that was found.
  bool plan(Frame& frame) {
    const bool found =
        try_frame(frame, [&] { plan_.find_range(frame.pictures, "frame " + std::to_string(frame.number)); });
    if (!found) return false;
    plan_.make(frame.pictures.left.view().format);
    if (search_.devices.size() > 1)
      pool_.emplace(plan_.parameters(), search_.devices,
                    PoolOptions{.max_memory_bytes = search_.max_memory,
                                .waiting = static_cast<int>(items_.size()),
                                .configuration = search_.configuration});
    if (options_.temporal) filter_.emplace(plan_.format(), TemporalParameters{}, search_.threads);
    start_ = Clock::now();
    return true;
  }

  void match(Item& item) {
    if (!item.frame.error.empty() || !rectify(item.frame)) return;
    if (!plan_.is_made() && !plan(item.frame)) return;
    item.frame.error = format_error(item.frame, plan_.format());
    if (!item.frame.error.empty()) return;
    if (item.result.size() != plan_.format().size) item.result = plan_.make_result();
    if (pool_) {
      item.in_pool = pool_->submit(plan_.pair(item.frame.pictures), item.result.map());
      return;
    }
    plan_.run(item.frame.pictures, item.result);
    item.stages = plan_.matcher().stage_times();
  }

  // Frames come here in their order, one at a time.
  void complete(Item& item) {
    wait(item);
    if (filter_ && item.frame.error.empty()) filter_->run(plan_.pair(item.frame.pictures), item.result.map());
  }

  // For a frame that several devices match.
  void wait(Item& item) {
    if (!item.in_pool) return;
    try {
      item.stages = pool_->wait(*std::exchange(item.in_pool, std::nullopt)).stage_times;
    } catch (const PairError& error) {
      throw Error(error.category(), "frame " + std::to_string(item.frame.number) + ": " + error.reason(),
                  error.is_transient());
    }
    notice_.tell(pool_->lost_devices());
  }

  void write(Item& item) const {
    if (!item.frame.error.empty()) return;
    constexpr bool on_disk = false;  // a disk may take longer than the match
    write_files(encode_outputs(outputs_.of(item.frame), plan_, item.frame.pictures, item.result), on_disk);
    if (options_.json) item.shares = pixel_shares(item.result);
    if (!video_.is_wanted()) return;
    const int lowest = plan_.lowest_disparity();
    item.coloured =
        plan_.turned_back(colour(item.result.disparity.view(), lowest, lowest + plan_.disparities() - 1));
  }

  void finish(Item& item) {
    const Frame& frame = item.frame;
    if (!frame.error.empty()) {
      complain_of(frame);
      failures_.push_back({frame.number, frame.left, frame.error});
      return;
    }
    if (video_.is_wanted()) video_.write(item.coloured);
    ++done_;
    seconds_ = milliseconds_since(start_) / 1000;
    stopwatch_.add(item.stages);
    sum_.valid += item.shares.valid;
    for (std::size_t i = 0; i < sum_.status.size(); ++i) sum_.status[i] += item.shares.status[i];
    show();
  }

  void show() {
    if (milliseconds_since(shown_) < 100) return;
    shown_ = Clock::now();
    std::ostringstream text;
    text << "frame " << frames();
    if (source_.count() > 0) text << " of " << source_.count();
    text << std::fixed << std::setprecision(1) << ", " << frames_per_second() << " frames/s";
    std::optional<double> share;
    if (source_.count() > 0) share = static_cast<double>(frames()) / static_cast<double>(source_.count());
    show_progress(text.str(), share);
  }

  void report() {
    if (options_.json) {
      std::cout << to_json().dump(2) << "\n";
      return;
    }
    std::cerr << std::fixed << std::setprecision(1) << "matched " << done_ << " of " << frames() << " frames";
    if (done_ > 0)
      std::cerr << " of " << text(plan_.map_size()) << " by " << search_.method << " on " << device_names()
                << ": " << frames_per_second() << " frames/s, " << stopwatch_.total()
                << " ms per match (median)";
    std::cerr << "\n";
  }

  ordered_json to_json() {
    ordered_json json{{"method", search_.method}, {"device", device_names()}};
    if (done_ > 0) json = describe(plan_, stopwatch_, mean_shares());
    json["device"] = device_names();
    json["frames"] = frames();
    json["failed"] = ordered_json::array();
    for (const Failure& failure : failures_)
      json["failed"].push_back(
          {{"number", failure.number}, {"name", failure.name}, {"error", failure.error}});
    json["frames_per_second"] = frames_per_second();
    return json;
  }

  std::size_t frames() const { return done_ + failures_.size(); }
  double frames_per_second() const { return seconds_ > 0 ? static_cast<double>(done_) / seconds_ : 0; }
  PixelShares mean_shares() const {
    PixelShares mean = sum_;
    mean.valid /= static_cast<double>(done_);
    for (double& share : mean.status) share /= static_cast<double>(done_);
    return mean;
  }
  std::string device_names() const { return text(search_.devices); }

  const Search& search_;
  const SequenceOptions& options_;
  FrameSource& source_;
  SequenceOutputs outputs_;
  Names names_;
  MatchPlan plan_;
  std::vector<Item> items_;
  std::optional<MatcherPool> pool_;  // pool of several devices
  std::optional<TemporalFilter> filter_;
  LostDeviceNotice notice_;
  OutputFolders folders_;
  SequenceVideo video_;
  std::size_t done_ = 0;
  std::vector<Failure> failures_;
  Stopwatch stopwatch_;
  PixelShares sum_;
  Clock::time_point start_;  // start of the plan
  double seconds_ = 0;
  Clock::time_point shown_;
};

}  // namespace

SequenceVideo::SequenceVideo(const VideoOptions& options, double frames_per_second)
    : options_(options), frames_per_second_(frames_per_second) {}

SequenceVideo::~SequenceVideo() = default;

void SequenceVideo::write(const Picture& picture) {
  if (!writer_) {
    constexpr double usual = 30;
    const double given = options_.frames_per_second, own = frames_per_second_;
    const double rate = given > 0 ? given : own > 0 ? own : usual;
    writer_ = std::make_unique<VideoWriter>(options_.path, rate, picture.size());
  }
  writer_->write(picture);
}

void SequenceVideo::finish() {
  if (writer_) writer_->finish();
}

int match_sequence(const MatchRequest& request, const SequenceOptions& options, FrameSource& source) {
  return Sequence(request, options, source).run();
}

}  // namespace parallax::tool
