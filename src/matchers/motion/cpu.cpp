// SPDX-License-Identifier: Apache-2.0
// Motion on the CPU: coarse to fine, both directions of a scale at once.

#include <algorithm>
#include <memory>
#include <vector>

#include "core/arena.h"
#include "core/integers.h"
#include "core/workers.h"
#include "data_cost/features.h"
#include "devices/cpu/tuning.h"
#include "matchers/host_plan.h"
#include "matchers/motion/all_labels.h"
#include "matchers/motion/halve_row.h"
#include "matchers/motion/motion.h"
#include "matchers/motion/windows.h"

namespace parallax::motion {
namespace {

using data_cost::RowFeatures;

class Cpu final : public host::Plan {
 public:
  Cpu(const MotionParameters& parameters, const Device& device, const ImageFormat& format)
      : host::Plan(parameters.refine, format.size, 0, cpu::match_workers(device.threads, format.size),
                   refine::Maps::vectors),
        model_(make_model(parameters)),
        scales_(scales(parameters, size_)),
        samples_(data_cost::Feature::gray, parameters.smoothing, format, workers_.slots(), 0),
        pyramid_(scales_.size()),
        all_labels_(model_, scales_.back(), scales_.size() - 1, workers_.slots()) {
    check_reachable(model_.space(), size_);
    for (std::size_t i = 0; i + 1 < scales_.size(); ++i)
      windows_.emplace_back(model_, scales_[i], i, workers_.slots());
    plan_memory();
  }

 private:
  // The frames of a scale, and the results of each direction.
  struct Level {
    View<std::uint16_t> gray[2];  // for the coarser scales
    View<std::uint8_t> mask[2];
    ScaleFrames frames;
    View<Offset> best[2];
  };

  void fill_memory() override {
    all_labels_.fill_memory();
    for (const Windows& windows : windows_) windows.fill_memory();
  }

  void match(const StereoPair& pair, const DisparityMap& map, detail::StageClock& clock) override {
    make_frames(pair);
    find_reachable(pair);
    clock.finish("frames");
    match_coarsest(map);
    clock.finish("coarsest_scale");
    for (std::size_t i = windows_.size(); i-- > 0;) match_scale(i, map);
    if (!windows_.empty()) clock.finish("finer_scales");
  }

  int directions() const { return checks_left_right_ ? 2 : 1; }

  void reserve(Arena& arena) override {
    samples_.reserve(arena);
    for (std::size_t i = 1; i < scales_.size(); ++i) {
      Level& level = pyramid_[i];
      for (int k = 0; k < 2; ++k) {
        level.gray[k] = arena.reserve_plane<std::uint16_t>(scales_[i].size);
        level.mask[k] = arena.reserve_plane<std::uint8_t>(scales_[i].size);
      }
      for (int direction = 0; direction < directions(); ++direction)
        level.best[direction] = arena.reserve_plane<Offset>(scales_[i].size);
    }
    for (int direction = 0; direction < directions(); ++direction)
      there_[direction] = arena.reserve_plane<std::int32_t>({size_.width + 1, size_.height + 1});
    for (Windows& windows : windows_) windows.reserve(arena);
    all_labels_.reserve(arena);
  }

  void make_frames(const StereoPair& pair) {
    samples_.prepare(pair, false, workers_);
    const View<const std::uint8_t> masks[] = {pair.left_mask, pair.right_mask};
    for (int k = 0; k < 2; ++k) {
      pyramid_[0].frames.gray[k] = samples_.gray(k);
      pyramid_[0].frames.mask[k] = masks[k];
      for (std::size_t i = 1; i < scales_.size(); ++i) {
        const ScaleFrames& fine = pyramid_[i - 1].frames;
        Level& level = pyramid_[i];
        for_rows(workers_, scales_[i].size.height, [&](int y, int) {
          halve_row(fine.gray[k], level.gray[k], y);
          if (!fine.mask[k].empty()) halve_mask(fine.mask[k], level.mask[k], y);
        });
        level.frames.gray[k] = level.gray[k];
        level.frames.mask[k] = {};
        if (!masks[k].empty()) level.frames.mask[k] = level.mask[k];
      }
    }
  }

  static void halve_mask(View<const std::uint8_t> fine, View<std::uint8_t> coarse, int y) {
    const std::uint8_t *above = fine.row(2 * y), *below = fine.row(std::min(2 * y + 1, fine.size.height - 1));
    for (int x = 0; x < coarse.size.width; ++x) {
      const int right = std::min(2 * x + 1, fine.size.width - 1);
      coarse.row(y)[x] = above[2 * x] | above[right] | below[2 * x] | below[right];
    }
  }

  // Computes, for all pixels, the number of the other frame's pixels above and to the left that take part.
  void find_reachable(const StereoPair& pair) const {
    const View<const std::uint8_t> masks[] = {pair.right_mask, pair.left_mask};
    for (int direction = 0; direction < directions(); ++direction) {
      const View<std::int32_t>& sums = there_[direction];
      if (masks[direction].empty()) continue;
      std::fill_n(sums.row(0), sums.size.width, 0);
      for (int y = 0; y < size_.height; ++y) {
        int sum = 0;
        sums.at(0, y + 1) = 0;
        for (int x = 0; x < size_.width; ++x) {
          sum += masks[direction].at(x, y) != 0;
          sums.at(x + 1, y + 1) = sums.at(x + 1, y) + sum;
        }
      }
    }
  }

  // Whether a pixel has a right pixel for any label.
  bool reachable(int direction, int x, int y) const {
    const LabelSpace labels = labels_of(0, direction);
    const int left = std::max(0, x - labels.last().x), right = std::min(size_.width, x - labels.first.x + 1),
              top = std::max(0, y + labels.first.y), bottom = std::min(size_.height, y + labels.last().y + 1);
    if (left >= right || top >= bottom) return false;
    if (pyramid_[0].frames.mask[1 - direction].empty()) return true;
    const View<std::int32_t>& sums = there_[direction];
    return sums.at(right, bottom) - sums.at(left, bottom) - sums.at(right, top) + sums.at(left, top) > 0;
  }

  LabelSpace labels_of(std::size_t scale, int direction) const {
    const LabelSpace& labels = scales_[scale].labels;
    return direction == 0 ? labels : labels.reversed();
  }

  void match_coarsest(const DisparityMap& map) {
    const std::size_t scale = scales_.size() - 1;
    const Level& level = pyramid_[scale];
    for (int direction = 0; direction < directions(); ++direction) {
      const ScaleFrames& as_given = level.frames;
      const ScaleFrames frames = direction == 0 ? as_given : as_given.exchanged();
      AllLabels::Output output;
      if (scale > 0)
        output.best = level.best[direction];
      else
        output.decided = [&](int x, int y, const Decision& decision) {
          take_decision(direction, x, y, decision, scales_[0].labels, map);
        };
      all_labels_.run(frames, labels_of(scale, direction), output, workers_);
    }
  }

  void match_scale(std::size_t scale, const DisparityMap& map) {
    Windows& windows = windows_[scale];
    windows.prepare(pyramid_[scale].frames, workers_);
    constexpr int fewest_rows = 32;
    const int height = scales_[scale].size.height,
              bands = std::clamp(height / fewest_rows, 1, divide_round_up(workers_.threads(), directions()));
    const auto bound = [&](int band) {
      return static_cast<int>(static_cast<long long>(height) * band / bands);
    };
    const bool rivals = model_.parameters.min_confidence > 0 || !map.confidence.empty();
    workers_.for_each(directions() * bands, [&](int task, int slot) {
      const int direction = task % directions(), band = task / directions();
      Windows::Match match{
          direction == 1, pyramid_[scale + 1].best[direction], pyramid_[scale].best[direction], rivals, {}};
      if (scale == 0)
        match.decided = [&](int y, const Decision* decisions) {
          for (int x = 0; x < size_.width; ++x) {
            const Decision& decision = decisions[x];
            const Offset first{decision.offset.x - decision.columns.label,
                               decision.offset.y - decision.rows.label};
            take_decision(direction, x, y, decision, {first, scales_[0].window}, map);
          }
        };
      windows.run(match, bound(band), bound(band + 1), slot);
    });
  }

  // `labels`: the labels that the pixel considers.
  void take_decision(int direction, int x, int y, const Decision& found, const LabelSpace& labels,
                     const DisparityMap& map) const {
    const View<const std::uint8_t>& mask = pyramid_[0].frames.mask[direction];
    const bool masked = !mask.empty() && mask.at(x, y) == 0;
    const Status status = masked                       ? Status::input_masked
                          : reachable(direction, x, y) ? Status::matched
                                                       : Status::out_of_range;
    if (direction == 1)
      write_right_motion(status, found.offset, x, y, {right_disparity_, right_row_offset_});
    else
      write_motion(model_, status, found, labels, x, y, map);
  }

  Model model_;
  std::vector<Scale> scales_;
  RowFeatures samples_;
  std::vector<Level> pyramid_;
  std::vector<Windows> windows_;  // all scales but the coarsest
  AllLabels all_labels_;          // the coarsest scale
  View<std::int32_t> there_[2];   // results of find_reachable()
};

}  // namespace

std::unique_ptr<detail::Plan> make_cpu(const MotionParameters& parameters, const Device& device,
                                       const ImageFormat& format) {
  return std::make_unique<Cpu>(parameters, device, format);
}

}  // namespace parallax::motion
