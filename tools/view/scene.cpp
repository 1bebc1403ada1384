// SPDX-License-Identifier: Apache-2.0
#include "tools/view/scene.h"

#include <filesystem>

#include "parallax/check.h"

#include "tools/view/message.h"
#include "tools/view/planes.h"

namespace parallax::view {
namespace {

using tool::Frame;

Frame only_frame(const tool::Input& input) {
  Frame frame;
  frame.left = input.left;
  frame.right = input.right;
  frame.stem = std::filesystem::path(input.left).filename();
  frame.pictures = tool::read_one_pair(input);
  return frame;
}

void decode(const tool::FrameSource& source, Frame& frame) {
  if (!frame.error.empty()) throw Error(ErrorCategory::file, frame.error);
  source.decode(frame);
}

// Sets the range that the pair shows, if it shows one.
void take_range_seen(MatcherParameters& parameters, const tool::PicturePair& pictures, int threads) {
  const PairReport report = check_pair({pictures.left.view(), pictures.right.view()}, {.threads = threads});
  if (report.side != Side::neither || report.range.disparities == 0) return;
  parameters.min_disparity() = report.range.min_disparity;
  parameters.disparities() = report.range.disparities;
}

Frame newest_of(tool::Cameras& cameras, std::size_t number) {
  // Cameras may take seconds to adjust before their first picture.
  constexpr auto patience = std::chrono::seconds(10);
  tool::LivePair pair;
  if (!cameras.newest(number, patience, pair))
    throw Error(ErrorCategory::file, "the cameras take no pairs of pictures: check them");
  return std::move(pair.frame);
}

}  // namespace

Scene::Scene(const SceneRequest& request) : plan_(request.match), max_threads_(request.max_threads) {
  const tool::Input& input = request.match.input;
  Frame frame;
  if (!request.cameras.empty()) {
    cameras_.emplace(tool::CameraOptions{request.cameras, input.layout.value_or(tool::Layout::side_by_side)});
    is_sequence_ = true;
    frame_count_ = 0;
    frame = newest_of(*cameras_, 0);
    frame.number = 0;
  } else if (const std::unique_ptr<tool::FrameSource> source = tool::open_sequence(input)) {
    is_sequence_ = true;
    frame_count_ = source->count();
    frames_per_second_ = source->frames_per_second();
    if (!source->next(frame)) throw Error(ErrorCategory::file, input.left + " has no frames: give another");
    decode(*source, frame);
  } else {
    frame = only_frame(input);
    if (!request.truth.path.empty()) truth_.emplace(request.truth);
  }
  first_ = view(std::move(frame));
  if (is_sequence_ && !request.truth.path.empty())
    throw tool::UsageError("--truth is for a pair: give pictures, or leave it out");
  if (!request.map.empty()) read_map(request.map);
  plan_.read_masks(first_->format().size);
  plan_.fit_calibration(first_->format());
  settle_range();
}

void Scene::read_map(const std::string& path) {
  if (is_sequence_) throw tool::UsageError("--map is for a pair: give pictures, or leave it out");
  stored_map_ = tool::read_disparity(path);
  if (stored_map_.size() != first_->format().size)
    throw Error(ErrorCategory::file, path + " is " + tool::text(stored_map_.size()) + ", the pair is " +
                                         tool::text(first_->format().size) + ": give a map of this pair");
}

std::optional<Calibration> Scene::calibration() const {
  if (!request().input.has_geometry()) return std::nullopt;
  return in_metres(plan_.calibration());
}

std::shared_ptr<const ViewedFrame> Scene::view(Frame frame) {
  auto viewed = std::make_shared<ViewedFrame>();
  viewed->number = frame.number;
  viewed->name = frame.stem;
  {
    const std::lock_guard lock(rectifying_);
    viewed->pictures = plan_.rectified(std::move(frame.pictures), frame.left, frame.right);
  }
  if (truth_) truth_->check_size(frame.left, viewed->format().size);
  viewed->message = pictures_message(*viewed, {.left = true});
  return viewed;
}

std::string Scene::pictures_message(const ViewedFrame& frame, const PlaneChoice& planes) const {
  const Size size = frame.format().size;
  const Rectangle whole{0, 0, size};
  const int scale = overview_scale(size);
  const bool has_truth = planes.truth && truth_;
  const DisparityCode code = has_truth ? code_for(truth_->disparity()) : DisparityCode();
  Message message({{"kind", "pictures"},
                   {"frame", frame.number},
                   {"name", frame.name},
                   {"size", {{"width", size.width}, {"height", size.height}}},
                   {"scale", scale},
                   {"lowest", code.lowest},
                   {"steps", code.steps}});
  const auto add = [&](const char* name, const tool::Picture& picture) {
    message.add(name, scale_picture(picture.view(), whole, scale), scaled(size, scale), picture.channels());
  };
  if (planes.left) add("left", frame.pictures.left);
  if (planes.right) add("right", frame.pictures.right);
  if (has_truth)
    message.add("truth", sample_disparities(truth_->disparity(), code, whole, scale), scaled(size, scale));
  return message.bytes();
}

void Scene::settle_range() {
  tool::Search settled = request().search;
  tool::settle_range(request().input, settled, first_->format().size);
  parameters_ = settled.parameters;
  if (!settled.range_given && request().input.calibration.empty())
    take_range_seen(parameters_, first_->pictures, threads(settled.threads));
}

std::shared_ptr<const ViewedFrame> FrameReader::read(std::size_t number) {
  if (!scene_.is_sequence()) return number == 0 ? scene_.first_frame() : nullptr;
  if (scene_.is_live())
    return number == 0 ? scene_.first_frame() : scene_.view(newest_of(*scene_.cameras_, number));
  const bool is_ahead = ahead_.valid() && number == last_ + 1;
  const bool plays_on = number == 0 || number == last_ + 1;
  std::future<std::shared_ptr<const ViewedFrame>> ahead = std::move(ahead_);
  if (!is_ahead && ahead.valid()) ahead.wait();
  last_ = number;
  std::shared_ptr<const ViewedFrame> frame = number == 0 ? scene_.first_frame()
                                             : is_ahead  ? ahead.get()
                                                         : read_now(number);
  if (frame && plays_on && background == std::launch::async)
    ahead_ = std::async(background, [this, number] { return read_now(number + 1); });
  return frame;
}

std::shared_ptr<const ViewedFrame> FrameReader::read_now(std::size_t number) {
  if (!source_ || number < next_) {
    const tool::Input& input = scene_.request().input;
    source_ = tool::open_sequence(input);
    if (!source_)
      throw Error(ErrorCategory::file,
                  input.left + " and " + input.right + " are not a sequence any more: put their files back");
    next_ = 0;
  }
  Frame frame;
  for (; next_ <= number; ++next_)
    if (!source_->next(frame)) return nullptr;
  decode(*source_, frame);
  frame.number = number;
  return scene_.view(std::move(frame));
}

}  // namespace parallax::view
