// SPDX-License-Identifier: Apache-2.0
// Semi-global matching on the CPU.
//
// A sweep goes through the rows once, downwards or upwards, and follows all paths that come from the row before it, or
// from the same row; it keeps the path costs of two rows. With 4 or 8 paths there are two sweeps, at the same time:
// each stores its sums of the first half of the rows that it meets, then adds to those that the other one has stored,
// and decides. So there is one volume of sums; with 5 paths, only a row.

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/round_up.h"
#include "data_cost/cost_rows.h"
#include "data_cost/edge_weight.h"
#include "matchers/host_plan.h"
#include "matchers/semi_global/cpu_kernels.h"
#include "matchers/semi_global/semi_global.h"

namespace parallax::semi_global {
namespace {

using refine::Beliefs, refine::code, refine::no_value;

// Path costs of a row, with a pixel on either side that brings nothing.
struct Line {
  std::byte* path;
  std::uint16_t* least;
};

struct Path {
  Step step;
  Line before = {}, here = {};                                        // the row before, and this one
  std::uint16_t *large_jump = nullptr, *large_jump_beside = nullptr;  // P2 of the pixels of a row
};

// Which way rows are met, and what that needs.
struct Sweep {
  int down;  // 1, or −1
  std::vector<Path> paths = {};
  std::byte* costs = nullptr;     // of a row
  std::uint16_t* sums = nullptr;  // of a row, unless there is a volume
  std::uint16_t *right_lowest = nullptr, *right_labels = nullptr;
};

class Cpu final : public host::Plan {
 public:
  Cpu(const SemiGlobalParameters& parameters, int threads, const ImageFormat& format)
      : host::Plan(parameters.refine, format.size,
                   data_cost::volume_labels(parameters.cost, parameters.disparities), Workers(threads)),
        model_(make_model(parameters)),
        parameters_(parameters),
        bytes_(model_.fits_bytes() ? 1 : 2),
        costs_(model_, {bytes_, false, model_.highest_pixel_cost(), true}, format, workers_.slots()) {
    data_cost::check_reachable(parameters.cost, model_.min_disparity, model_.labels, size_);
    sweeps_.push_back({1});
    if (parameters.paths != 5) sweeps_.push_back({-1});
    for (const Step step : steps_of(parameters.paths)) sweep_of(step).paths.push_back({step});
    plan_memory();
  }

 private:
  bool is_mgm() const { return parameters_.aggregation == Aggregation::mgm; }
  bool has_volume() const { return sweeps_.size() > 1; }
  std::ptrdiff_t step() const { return pitch(model_.labels, bytes_); }

  // The sweep that meets all pixels that a path comes from before the pixel itself.
  Sweep& sweep_of(Step step) {
    const int rows = step.y + (is_mgm() ? step.turned().y : 0);
    return rows < 0 ? sweeps_[1] : sweeps_[0];
  }

  // Memory

  void reserve(Arena& arena) override {
    costs_.reserve(arena);
    const auto width = static_cast<std::size_t>(size_.width);
    for (Sweep& sweep : sweeps_) {
      sweep.costs = arena.reserve<std::byte>(row_bytes());
      for (Path& path : sweep.paths) {
        for (Line* line : {&path.before, &path.here}) {
          line->path = arena.reserve<std::byte>(row_bytes());
          line->least = arena.reserve<std::uint16_t>(width + 2);
        }
        for (std::uint16_t** jumps : {&path.large_jump, &path.large_jump_beside})
          *jumps = arena.reserve<std::uint16_t>(width);
      }
      if (!has_volume()) sweep.sums = arena.reserve<std::uint16_t>(sum_elements());
      for (std::uint16_t** right : {&sweep.right_lowest, &sweep.right_labels})
        *right = arena.reserve<std::uint16_t>(width);
    }
    if (has_volume())
      sums_ = arena.reserve<std::uint16_t>(sum_elements() * static_cast<std::size_t>(size_.height));
  }

  // Of a row with its two outer pixels, a vector before it, and room for what a turn writes behind it.
  std::size_t row_bytes() const {
    constexpr int most_turned = 16;
    return static_cast<std::size_t>(size_.width + 2 + most_turned) *
               static_cast<std::size_t>(step() * bytes_) +
           2 * vector_bytes;
  }
  std::size_t sum_elements() const {
    return static_cast<std::size_t>(size_.width) * static_cast<std::size_t>(sum_pitch(model_.labels));
  }
  // The first of the inner pixels.
  std::byte* pixels(std::byte* row) const { return row + vector_bytes + step() * bytes_; }

  void fill_memory() override {
    for (Sweep& sweep : sweeps_) {
      std::memset(sweep.costs, 0xFF, row_bytes());
      for (Path& path : sweep.paths)
        for (const Line& line : {path.before, path.here}) std::memset(line.path, 0xFF, row_bytes());
    }
  }

  // Pixels that bring nothing: all of a row, or those beside it.
  void clear(const Line& line) const {
    for (int x = -1; x <= size_.width; ++x) clear_pixel(line, x);
  }
  void clear_pixel(const Line& line, int x) const {
    std::memset(pixels(line.path) + x * step() * bytes_, 0, static_cast<std::size_t>(model_.labels * bytes_));
    line.least[x + 1] = 0;
  }

  // Matching

  void match(const StereoPair& pair, const DisparityMap& map, detail::StageClock& clock) override {
    pair_ = &pair;
    costs_.prepare(pair, false, workers_);
    clock.finish("prepare");
    run([&](Sweep& sweep, int y) { decide_row(sweep, y, map); });
    clock.finish("paths");
    if (!checks_left_right_ || parameters_.right_map != RightMap::match) return;
    costs_.prepare(pair, true, workers_);
    clock.finish("right_prepare");
    run([&](Sweep& sweep, int y) { write_right_row(sweep, y); });
    clock.finish("right_paths");
  }

  template <class Take>
  void run(const Take& take) {
    for (Sweep& sweep : sweeps_)
      for (Path& path : sweep.paths)
        for (const Line& line : {path.before, path.here}) clear(line);
    const int rows = size_.height;
    if (!has_volume()) {
      workers_.for_each(1, [&](int, int slot) {
        for (int y = 0; y < rows; ++y) {
          sweep_row(sweeps_[0], y, false, slot);
          take(sweeps_[0], y);
        }
      });
      return;
    }
    const int middle = rows / 2;
    workers_.for_each(2, [&](int i, int slot) {
      Sweep& sweep = sweeps_[static_cast<std::size_t>(i)];
      for (int j = 0; j < (i == 0 ? middle : rows - middle); ++j)
        sweep_row(sweep, row_of(sweep, j), false, slot);
    });
    workers_.for_each(2, [&](int i, int slot) {
      Sweep& sweep = sweeps_[static_cast<std::size_t>(i)];
      for (int j = i == 0 ? middle : rows - middle; j < rows; ++j) {
        sweep_row(sweep, row_of(sweep, j), true, slot);
        take(sweep, row_of(sweep, j));
      }
    });
  }

  int row_of(const Sweep& sweep, int i) const { return sweep.down > 0 ? i : size_.height - 1 - i; }

  std::uint16_t* sums_of_row(const Sweep& sweep, int y) const {
    return has_volume() ? sums_ + static_cast<std::size_t>(y) * sum_elements() : sweep.sums;
  }

  void sweep_row(Sweep& sweep, int y, bool adds, int slot) const {
    find_costs(sweep, y, slot);
    SumRow sum{bytes_, model_.labels, size_.width, {}, 0, sums_of_row(sweep, y), adds};
    for (Path& path : sweep.paths) {
      follow(sweep, path, y);
      sum.paths[sum.count++] = pixels(path.here.path);
      std::swap(path.before, path.here);
    }
    add_up_row(sum);
  }

  void find_costs(const Sweep& sweep, int y, int slot) const {
    for (int first = 0; first < size_.width; first += costs_.at_once()) {
      const int count = std::min(costs_.at_once(), size_.width - first);
      const void* costs = costs_.row(y, first, count, slot);
      turn_costs({costs, data_cost::CostRows::stride(), costs_.cost_bytes(), model_.labels, count,
                  pixels(sweep.costs) + first * step() * bytes_, bytes_});
    }
  }

  void follow(const Sweep& sweep, const Path& path, int y) const {
    const Step beside_step = path.step.turned();
    find_large_jumps(y, path.step, path.large_jump);
    if (is_mgm()) find_large_jumps(y, beside_step, path.large_jump_beside);
    const Before beside = before(path, beside_step, path.large_jump_beside);
    const int leftwards = path.step.y == 0 ? path.step.x : is_mgm() && beside_step.y == 0 ? beside_step.x : 1;
    follow_row({bytes_, model_.labels, size_.width, parameters_.small_jump, leftwards < 0,
                pixels(sweep.costs), before(path, path.step, path.large_jump), is_mgm() ? &beside : nullptr,
                pixels(path.here.path), path.here.least + 1});
  }

  Before before(const Path& path, Step from, const std::uint16_t* large_jump) const {
    const Line& line = from.y == 0 ? path.here : path.before;
    return {pixels(line.path) - from.x * step() * bytes_, line.least + 1 - from.x, large_jump};
  }

  // P2 of each pixel of a row; any number where it comes from beyond the border.
  void find_large_jumps(int y, Step from, std::uint16_t* out) const {
    const View<const std::uint16_t> gray = costs_.gray();
    const int before_y = std::clamp(y - from.y, 0, size_.height - 1);
    const std::uint16_t *here = gray.row(y), *before = gray.row(before_y);
    for (int x = 0; x < size_.width; ++x) {
      const int before_x = std::clamp(x - from.x, 0, size_.width - 1);
      const int edge = data_cost::edge_index(std::abs(here[x] - before[before_x]));
      out[x] = static_cast<std::uint16_t>(model_.large_jumps[static_cast<std::size_t>(edge)]);
    }
  }

  // Decisions

  Status status(int x, int y) const { return static_cast<Status>(costs_.status().at(x, y)); }
  float disparity_of(int label) const { return static_cast<float>(parameters_.min_disparity + label); }

  void decide_row(const Sweep& sweep, int y, const DisparityMap& map) {
    const bool finds_right = checks_left_right_ && parameters_.right_map != RightMap::match;
    const bool wants_rival =
        !map.confidence.empty() || parameters_.min_confidence > 0 || parameters_.uniqueness > 0;
    const auto width = static_cast<std::size_t>(size_.width);
    if (finds_right) std::fill_n(sweep.right_lowest, width, std::uint16_t{65535});
    for (int x = 0; x < size_.width; ++x) {
      if (status(x, y) != Status::matched) {
        refine::write_none(status(x, y), x, y, map);
        continue;
      }
      const std::uint16_t* sums = sums_of_row(sweep, y) + x * sum_pitch(model_.labels);
      const Decided found = decide(sums, model_.labels, wants_rival);
      write_pixel(found, x, y, map);
      if (finds_right) offer_to_right(sweep, sums, found.label, x);
    }
    if (!finds_right) return;
    for (int x = 0; x < size_.width; ++x) {
      const int i = size_.width - 1 - x;
      const bool is_masked = !pair_->right_mask.empty() && pair_->right_mask.at(x, y) == 0;
      right_disparity_.at(x, y) =
          sweep.right_lowest[i] == 65535 || is_masked ? no_value : disparity_of(sweep.right_labels[i]);
    }
  }

  void write_pixel(const Decided& found, int x, int y, const DisparityMap& map) const {
    const Beliefs sums{found.label, static_cast<float>(found.before), static_cast<float>(found.best),
                       static_cast<float>(found.after),
                       found.has_rival ? static_cast<float>(found.rival) : no_value};
    refine::write_decision(sums, model_.decision(), x, y, map);
    if (!is_ambiguous(sums, parameters_.uniqueness)) return;
    map.disparity.at(x, y) = no_value;
    map.status.at(x, y) = code(Status::ambiguous);
  }

  // Offers the labels of a left pixel, or the one that it has taken, to the right pixels that they lead to.
  void offer_to_right(const Sweep& sweep, const std::uint16_t* sums, int label, int x) const {
    const std::int64_t first_element = std::int64_t{size_.width} - 1 - x + parameters_.min_disparity;
    const auto inside = [&](std::int64_t element) {
      return static_cast<int>(std::clamp<std::int64_t>(element - first_element, 0, model_.labels));
    };
    int first = inside(0), last = inside(size_.width);
    if (parameters_.right_map == RightMap::winners) {
      first = std::max(first, label);
      last = std::min(last, label + 1);
    }
    if (first < last)
      take_right(sums, first, last, static_cast<int>(first_element + first),
                 {sweep.right_lowest, sweep.right_labels});
  }

  void write_right_row(const Sweep& sweep, int y) {
    for (int x = 0; x < size_.width; ++x) {
      const std::uint16_t* sums = sums_of_row(sweep, y) + x * sum_pitch(model_.labels);
      right_disparity_.at(size_.width - 1 - x, y) =
          status(x, y) == Status::matched ? disparity_of(decide(sums, model_.labels, false).label) : no_value;
    }
  }

  Model model_;
  SemiGlobalParameters parameters_;
  int bytes_;  // of a path cost
  data_cost::CostRows costs_;
  std::vector<Sweep> sweeps_;
  std::uint16_t* sums_ = nullptr;
  const StereoPair* pair_ = nullptr;
};

void refuse_on_cpu(const char* option) {
  throw Error(ErrorCategory::device,
              std::string(option) + " is not available on device cpu: choose device reference");
}

}  // namespace

std::unique_ptr<detail::Plan> make_cpu(const SemiGlobalParameters& parameters, const Device& device,
                                       const ImageFormat& format) {
  if (parameters.window > 1) refuse_on_cpu("window");
  if (parameters.aggregation == Aggregation::mgm && parameters.paths == 8)
    refuse_on_cpu("aggregation mgm with 8 paths");
  return std::make_unique<Cpu>(parameters, device.threads, format);
}

}  // namespace parallax::semi_global
