// SPDX-License-Identifier: Apache-2.0
// The specification of motion, written directly from motion.h: one pixel and one label at a time, all values
// in floats. In integer arithmetic they hold integers, exactly.

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/arena.h"
#include "core/workers.h"
#include "data_cost/reference_grid.h"
#include "matchers/host_plan.h"
#include "matchers/motion/motion.h"

namespace parallax::motion {
namespace {

using data_cost::all_directions, data_cost::DataCosts, data_cost::Direction, data_cost::for_each_pixel,
    data_cost::step_x, data_cost::step_y, data_cost::Volume;
using enum data_cost::Direction;
using decision::no_value;

// Messages are over the labels of their receivers.
struct Level : data_cost::GridLevel {
  Size window;              // labels that a pixel considers
  View<Offset> first = {};  // the first label that a pixel considers

  LabelSpace labels(int x, int y) const { return {first.at(x, y), window}; }
  int count() const { return window.width * window.height; }
};

// The frames of a scale: gray images in 256ths of a gray level, and masks.
struct Frames {
  View<std::uint16_t> gray[2] = {};
  View<std::uint8_t> mask[2] = {};
};

struct ReferenceScale : Scale {
  Frames frames = {};
  std::vector<Level> levels = {};
  View<Offset> best = {};        // the labels that pixels take
  View<Offset> prediction = {};  // for scales with windows
};

// Everything for one direction: from the first frame to the second one, or back.
class Matching {
 public:
  Matching(const Model& model, Size size, bool backward) : model_(model), backward_(backward) {
    const MotionParameters parameters = backward ? reversed(model.parameters) : model.parameters;
    for (const Scale& scale : scales(parameters, size)) {
      scales_.push_back({scale});
      const std::vector<Size> sizes =
          scale.considers_all() ? level_sizes(scale.size, parameters.levels) : std::vector<Size>{scale.size};
      for (const Size level : sizes) scales_.back().levels.push_back({{level}, scale.window});
      costs_.emplace_back(cost_model(scale.labels), scale.size);
    }
    full_ = std::make_unique<DataCosts>(model, size);
  }

  void reserve(Arena& arena) {
    full_->reserve(arena);
    for (DataCosts& costs : costs_) costs.reserve(arena);
    for (ReferenceScale& scale : scales_) {
      for (int side = 0; side < 2; ++side) {
        scale.frames.gray[side] = arena.reserve_plane<std::uint16_t>(scale.size);
        scale.frames.mask[side] = arena.reserve_plane<std::uint8_t>(scale.size);
      }
      for (auto* plane : {&scale.best, &scale.prediction}) *plane = arena.reserve_plane<Offset>(scale.size);
      for (Level& level : scale.levels) {
        const auto volume = [&]() -> Volume {
          return {arena.reserve<float>(level.size.pixels() * static_cast<std::size_t>(level.count())),
                  level.size.width, level.count()};
        };
        level.data = volume();
        for (Volume& to : level.to) to = volume();
        level.gray = arena.reserve_plane<std::uint16_t>(level.size);
        level.first = arena.reserve_plane<Offset>(level.size);
      }
    }
    const LabelSpace largest = scales_.back().labels;
    message_ = arena.reserve<float>(static_cast<std::size_t>(
        std::max(largest.count(), model_.parameters.active_window * model_.parameters.active_window)));
  }

  void run(const StereoPair& pair) {
    make_frames(pair);
    for (std::size_t i = scales_.size(); i-- > 0;) match_scale(i);
  }

  // The decision of a pixel of the image.
  Offset best(int x, int y) const { return scales_.front().best.at(x, y); }
  Status status(int x, int y) const {
    if (costs_.front().masked(x, y)) return Status::input_masked;
    return costs_.front().reachable(x, y) ? Status::matched : Status::out_of_range;
  }
  const Level& finest() const { return scales_.front().levels.front(); }

  Decision decide(int x, int y) const {
    const Level& level = finest();
    const LabelSpace labels = level.labels(x, y);
    const Offset found = best(x, y);
    const auto belief_at = [&](int i, int j) {
      const Offset offset{found.x + i, found.y + j};
      return labels.contains(offset) ? belief(level, x, y, index(labels, offset)) : no_value;
    };
    const float lowest = belief_at(0, 0);
    float rival = no_value;
    for (int label = 0; label < level.count(); ++label) {
      const Offset offset = labels.offset(label);
      if (std::max(std::abs(offset.x - found.x), std::abs(offset.y - found.y)) > 1)
        rival = std::min(rival, belief(level, x, y, label));
    }
    return {found,
            {found.x - labels.first.x, belief_at(-1, 0), lowest, belief_at(1, 0), rival},
            {found.y - labels.first.y, belief_at(0, -1), lowest, belief_at(0, 1), rival}};
  }

 private:
  static int index(const LabelSpace& labels, Offset offset) {
    return (offset.y - labels.first.y) * labels.extent.width + offset.x - labels.first.x;
  }

  data_cost::CostModel cost_model(const LabelSpace& labels) const {
    data_cost::CostModel costs = model_;
    costs.smoothing = 0;
    costs.min_disparity = labels.first.x;
    costs.min_row_offset = labels.first.y;
    costs.labels = labels.count();
    costs.row_offsets = labels.extent.height;
    return costs;
  }

  void make_frames(const StereoPair& given) {
    const StereoPair pair = backward_ ? data_cost::exchanged(given) : given;
    full_->prepare(pair, false);
    const View<const std::uint8_t> masks[] = {pair.left_mask, pair.right_mask};
    for (int side = 0; side < 2; ++side) {
      const Frames& finest = scales_.front().frames;
      for_each_pixel(finest.gray[side].size, [&](int x, int y) {
        finest.gray[side].at(x, y) = full_->gray(side).at(x, y);
        finest.mask[side].at(x, y) = masks[side].empty() || masks[side].at(x, y) != 0;
      });
      for (std::size_t i = 1; i < scales_.size(); ++i) {
        halve(scales_[i - 1].frames.gray[side], scales_[i].frames.gray[side]);
        halve_mask(scales_[i - 1].frames.mask[side], scales_[i].frames.mask[side]);
      }
    }
    for (std::size_t i = 0; i < scales_.size(); ++i) {
      const Frames& frames = scales_[i].frames;
      costs_[i].prepare({View<const std::uint16_t>(frames.gray[0]), View<const std::uint16_t>(frames.gray[1]),
                         frames.mask[0], frames.mask[1]},
                        false);
    }
  }

  // Calls body(i, j) for the up to four children of a pixel.
  template <class Body>
  static void for_children(Size fine, int x, int y, const Body& body) {
    for (int j = 2 * y; j <= std::min(2 * y + 1, fine.height - 1); ++j)
      for (int i = 2 * x; i <= std::min(2 * x + 1, fine.width - 1); ++i) body(i, j);
  }

  static void halve(View<std::uint16_t> fine, View<std::uint16_t> coarse) {
    for_each_pixel(coarse.size, [&](int x, int y) {
      int sum = 0, children = 0;
      for_children(fine.size, x, y, [&](int i, int j) {
        sum += fine.at(i, j);
        ++children;
      });
      coarse.at(x, y) = static_cast<std::uint16_t>((sum + children / 2) / children);
    });
  }

  // A pixel is masked if all of its children are.
  static void halve_mask(View<std::uint8_t> fine, View<std::uint8_t> coarse) {
    for_each_pixel(coarse.size, [&](int x, int y) {
      coarse.at(x, y) = 0;
      for_children(fine.size, x, y, [&](int i, int j) { coarse.at(x, y) |= fine.at(i, j); });
    });
  }

  void match_scale(std::size_t i) {
    ReferenceScale& scale = scales_[i];
    Level& finest = scale.levels.front();
    for_each_pixel(scale.size, [&](int x, int y) {
      scale.prediction.at(x, y) = scale.considers_all() ? Offset{} : predict(i, x, y);
      finest.first.at(x, y) =
          scale.considers_all() ? scale.labels.first : window_first(scale, scale.prediction.at(x, y));
      finest.gray.at(x, y) = scale.frames.gray[0].at(x, y);
      fill_data(i, x, y);
    });
    for (std::size_t k = 1; k < scale.levels.size(); ++k)
      make_level(scale, scale.levels[k - 1], scale.levels[k]);
    for (std::size_t k = scale.levels.size(); k-- > 0;) {
      start_messages(scale.levels[k], k + 1 < scale.levels.size() ? &scale.levels[k + 1] : nullptr);
      for (int iteration = 0; iteration < model_.iterations(i, k); ++iteration)
        update_colour(scale.levels[k], (iteration + 1) % 2);
    }
    for_each_pixel(scale.size, [&](int x, int y) { scale.best.at(x, y) = lowest(finest, x, y); });
  }

  // Data costs in units, before any subtraction; as of a label outside the image where the offset is no
  // label.
  float cost(std::size_t i, int x, int y, Offset offset) const {
    return costs_[i].at(x, y, index(scales_[i].labels, offset));
  }

  Offset predict(std::size_t i, int x, int y) const {
    const ReferenceScale &scale = scales_[i], &coarser = scales_[i + 1];
    const auto of_parent = [&](int parent_x, int parent_y) {
      const Offset found = coarser.best.at(parent_x, parent_y);
      return nearest(scale.labels, {2 * found.x, 2 * found.y});
    };
    const Offset own = of_parent(x / 2, y / 2);
    const LabelSpace window{window_first(scale, own), scale.window};
    Offset best = own;
    float least = no_value;
    for (int j = y / 2 - 1; j <= y / 2 + 1; ++j)
      for (int k = x / 2 - 1; k <= x / 2 + 1; ++k) {
        if (!coarser.levels.front().contains(k, j)) continue;
        const Offset other = of_parent(k, j);
        if (window.contains(other)) continue;
        if (least == no_value) least = support(i, x, y, own);
        const float costs = support(i, x, y, other);
        if (costs >= least) continue;
        least = costs;
        best = other;
      }
    return best;
  }

  // Data costs of an offset in the window around a pixel.
  float support(std::size_t i, int x, int y, Offset offset) const {
    constexpr int radius = 2;
    float sum = 0;
    for (int v = y - radius; v <= y + radius; ++v)
      for (int u = x - radius; u <= x + radius; ++u)
        if (scales_[i].levels.front().contains(u, v)) sum += cost(i, u, v, offset);
    return sum;
  }

  void fill_data(std::size_t i, int x, int y) {
    const ReferenceScale& scale = scales_[i];
    const Level& finest = scale.levels.front();
    const LabelSpace labels = finest.labels(x, y);
    const Offset p = scale.prediction.at(x, y);
    float* data = finest.data.at(x, y);
    for (int label = 0; label < finest.count(); ++label) {
      const Offset offset = labels.offset(label);
      data[label] = cost(i, x, y, offset);
      if (!scale.considers_all())
        data[label] +=
            model_.rounded(model_.prediction_weight *
                           static_cast<float>(std::abs(offset.x - p.x) + std::abs(offset.y - p.y)));
    }
    settle(data, finest.count());
  }

  // Subtracts a pixel's lowest data cost, and limits the results to the bound.
  void settle(float* data, int labels) const {
    const float least = *std::min_element(data, data + labels);
    for (int label = 0; label < labels; ++label)
      data[label] = std::min(data[label] - least, model_.highest_settled());
  }

  void make_level(const ReferenceScale& scale, const Level& fine, const Level& coarse) const {
    halve(fine.gray, coarse.gray);
    for_each_pixel(coarse.size, [&](int x, int y) {
      float* data = coarse.data.at(x, y);
      std::fill_n(data, coarse.count(), 0.0f);
      for_children(fine.size, x, y, [&](int i, int j) {
        for (int label = 0; label < coarse.count(); ++label) data[label] += fine.data.at(i, j)[label];
      });
      settle(data, coarse.count());
      coarse.first.at(x, y) = scale.labels.first;
    });
  }

  void start_messages(const Level& level, const Level* coarser) const {
    for (const Direction to : all_directions)
      for_each_pixel(level.size, [&](int x, int y) {
        for (int label = 0; label < level.count(); ++label)
          level.to[to].at(x, y)[label] = coarser ? coarser->to[to].at(x / 2, y / 2)[label] : 0.0f;
      });
  }

  void update_colour(const Level& level, int colour) {
    for_each_pixel(level.size, [&](int x, int y) {
      if ((x + y) % 2 != colour) return;
      for (const Direction to : all_directions)
        if (level.contains(x + step_x[to], y + step_y[to])) send(level, x, y, to);
    });
  }

  void send(const Level& level, int x, int y, Direction to) {
    const LabelSpace own = level.labels(x, y);
    const int columns = own.extent.width, rows = own.extent.height;
    float* h = message_;
    for (int label = 0; label < own.count(); ++label) {
      h[label] = 0;
      for (const Direction from : all_directions)
        if (from != to) h[label] += level.incoming(x, y, from, label);
      h[label] += level.data.at(x, y)[label];
    }
    const int i = x + step_x[to], j = y + step_y[to];
    const auto edge =
        static_cast<std::size_t>(data_cost::edge_index(std::abs(level.gray.at(x, y) - level.gray.at(i, j))));
    const float slope = model_.slopes[edge];
    const float least = *std::min_element(h, h + own.count());
    const float highest = least + model_.truncations[edge];
    const auto lower = [&](int label, int neighbour) { h[label] = std::min(h[label], h[neighbour] + slope); };
    for (int row = 0; row < rows; ++row) {
      for (int k = row * columns + 1; k < (row + 1) * columns; ++k) lower(k, k - 1);
      for (int k = (row + 1) * columns - 2; k >= row * columns; --k) lower(k, k + 1);
    }
    for (int k = columns; k < own.count(); ++k) lower(k, k - columns);
    for (int k = own.count() - columns - 1; k >= 0; --k) lower(k, k + columns);

    const LabelSpace receivers = level.labels(i, j);
    for (int label = 0; label < receivers.count(); ++label) {
      const Offset offset = receivers.offset(label), inside = nearest(own, offset);
      const auto away = static_cast<float>(std::abs(offset.x - inside.x) + std::abs(offset.y - inside.y));
      level.to[to].at(x, y)[label] = std::min(h[index(own, inside)] + slope * away, highest) - least;
    }
  }

  static float belief(const Level& level, int x, int y, int label) {
    float sum = 0;
    for (const Direction from : all_directions) sum += level.incoming(x, y, from, label);
    return sum + level.data.at(x, y)[label];
  }

  static Offset lowest(const Level& level, int x, int y) {
    int best = 0;
    for (int label = 1; label < level.count(); ++label)
      if (belief(level, x, y, label) < belief(level, x, y, best)) best = label;
    return level.labels(x, y).offset(best);
  }

  const Model& model_;
  bool backward_;
  std::vector<ReferenceScale> scales_;
  std::vector<DataCosts> costs_;     // [scale]
  std::unique_ptr<DataCosts> full_;  // for smoothed samples of the image
  float* message_ = nullptr;
};

class Reference final : public host::Plan {
 public:
  Reference(const MotionParameters& parameters, const ImageFormat& format)
      : host::Plan(parameters.refine, format.size, 0, refine::Maps::vectors),
        model_(make_model(parameters)),
        forward_(model_, size_, false),
        backward_(model_, size_, true) {
    check_reachable(model_.space(), size_);
    plan_memory();
  }

 private:
  void match(const StereoPair& pair, const DisparityMap& map, detail::StageClock& clock) override {
    forward_.run(pair);
    for_each_pixel(size_, [&](int x, int y) {
      write_motion(model_, forward_.status(x, y), forward_.decide(x, y), forward_.finest().labels(x, y), x, y,
                   map);
    });
    clock.finish("match");
    if (!checks_left_right_) return;
    backward_.run(pair);
    for_each_pixel(size_, [&](int x, int y) {
      write_right_motion(backward_.status(x, y), backward_.best(x, y), x, y,
                         {right_disparity_, right_row_offset_});
    });
    clock.finish("right_match");
  }

  void reserve(Arena& arena) override {
    forward_.reserve(arena);
    if (checks_left_right_) backward_.reserve(arena);
  }

  Model model_;
  Matching forward_, backward_;
};

}  // namespace

std::unique_ptr<detail::Plan> make_reference(const MotionParameters& parameters, const Device&,
                                             const ImageFormat& format) {
  return std::make_unique<Reference>(parameters, format);
}

}  // namespace parallax::motion
