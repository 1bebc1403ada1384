// SPDX-License-Identifier: Apache-2.0
// Block matching on the CPU: the images are filtered, extended and mirrored once; then bands of rows are
// swept in parallel, each with the running sums of window_sums-inl.h.

#include <algorithm>
#include <vector>

#include "core/gray.h"
#include "core/integers.h"
#include "devices/cpu/tuning.h"
#include "matchers/block/block.h"
#include "matchers/block/cpu_kernels.h"
#include "matchers/host_plan.h"

namespace parallax::block {
namespace {

// Writes the row with its border pixels repeated `radius` times.
inline void extend_row(const std::uint16_t* row, const SweepShape& shape, std::uint16_t* out) {
  std::fill_n(out, shape.radius, row[0]);
  std::copy_n(row, shape.width, out + shape.radius);
  std::fill_n(out + shape.radius + shape.width, shape.radius, row[shape.width - 1]);
}

// Writes the row from right to left, its border pixels repeated, up to the farthest column a label reaches.
inline void mirror_row(const std::uint16_t* row, const SweepShape& shape, std::uint16_t* out) {
  const std::int64_t count = shape.right_columns();
  const std::int64_t last = shape.right_index(0), first = shape.right_index(shape.width - 1);
  const std::int64_t begin = std::clamp<std::int64_t>(first, 0, count),
                     end = std::clamp<std::int64_t>(last + 1, 0, count);
  std::fill(out, out + begin, row[shape.width - 1]);
  for (std::int64_t j = begin; j < end; ++j) out[j] = row[last - j];
  std::fill(out + end, out + count, row[0]);
}

// Horizontal Sobel response in 8-bit gray levels, rounded and clipped to ±cap, plus cap. Beyond the border the
// image repeats its border pixels. `Slope` holds any response: 16 bits suffice for 8-bit images, and double
// the number of lanes.
template <class Slope>
void sobel_row(View<const std::uint16_t> gray, int y, int cap, std::uint16_t* out) {
  const int width = gray.size.width;
  const std::uint16_t* above = gray.row(std::max(y - 1, 0));
  const std::uint16_t* row = gray.row(y);
  const std::uint16_t* below = gray.row(std::min(y + 1, gray.size.height - 1));
  const auto limit = static_cast<Slope>(cap);
  const auto response = [&](int left, int right) {
    const auto slope = static_cast<Slope>(above[right] - above[left] + 2 * (row[right] - row[left]) +
                                          below[right] - below[left]);
    const auto level = static_cast<Slope>(sizeof(Slope) == 2 ? slope : (slope + 128) >> 8);
    return static_cast<std::uint16_t>(std::clamp<Slope>(level, static_cast<Slope>(-limit), limit) + limit);
  };
  out[0] = response(0, std::min(1, width - 1));
  for (int x = 1; x + 1 < width; ++x) out[x] = response(x - 1, x + 1);
  out[width - 1] = response(std::max(width - 2, 0), width - 1);
}

inline void sobel_row(View<const std::uint16_t> gray, BitDepth depth, int y, int cap, std::uint16_t* out) {
  if (depth == BitDepth::bits8)
    sobel_row<std::int16_t>(gray, y, cap, out);
  else
    sobel_row<std::int32_t>(gray, y, cap, out);
}

// Marks the pixels in whose window the absolute Sobel responses sum to less than a threshold.
class TextureCheck {
 public:
  // The buffers hold one element a column.
  TextureCheck(View<const std::uint16_t> gray, BitDepth depth, int radius, int cap, std::int64_t threshold,
               std::uint16_t* responses, std::int64_t* column_sums)
      : gray_(gray),
        depth_(depth),
        radius_(radius),
        cap_(cap),
        threshold_(threshold),
        responses_(responses),
        column_sums_(column_sums) {}

  void mark_rows(View<std::uint8_t> textureless, int first, int last) {
    std::fill_n(column_sums_, gray_.size.width, 0);
    for (int y = first - 1 - radius_; y < first + radius_; ++y) add_row(y, 1);
    for (int y = first; y < last; ++y) {
      add_row(y + radius_, 1);
      add_row(y - radius_ - 1, -1);
      mark_row(textureless.row(y));
    }
  }

 private:
  void add_row(int y, int sign) {
    sobel_row(gray_, depth_, std::clamp(y, 0, gray_.size.height - 1), cap_, responses_);
    for (int x = 0; x < gray_.size.width; ++x) column_sums_[x] += sign * std::abs(responses_[x] - cap_);
  }

  void mark_row(std::uint8_t* textureless) const {
    const int width = gray_.size.width;
    const auto column = [&](int x) { return column_sums_[std::clamp(x, 0, width - 1)]; };
    std::int64_t sum = 0;
    for (int x = -radius_ - 1; x < radius_; ++x) sum += column(x);
    for (int x = 0; x < width; ++x) {
      sum += column(x + radius_) - column(x - radius_ - 1);
      textureless[x] = sum < threshold_;
    }
  }

  View<const std::uint16_t> gray_;
  BitDepth depth_;
  int radius_, cap_;
  std::int64_t threshold_;
  std::uint16_t* responses_;
  std::int64_t* column_sums_;
};

Sums choose_sums(const BlockParameters& parameters, const Search& search) {
  // One value is kept free for "no cost", and labels must fit in the same lanes as the costs.
  if (parameters.cost == BlockCost::sad && search.highest_value < 32768 && search.highest_cost < 65535 &&
      search.labels < 65535)
    return Sums::bits16;
  const bool small_products = search.highest_value < 256;
  return parameters.cost == BlockCost::sad || small_products ? Sums::bits32 : Sums::bits64;
}

// The best values depend on the machine; no value changes a result.
const detail::Tunable bands_per_thread{"bands_per_thread", "Bands of rows per thread", {1, 2, 4, 8}};
const detail::Tunable pixels_together{
    "pixels_together", "Pixels whose labels are compared at once", {2, 4, 8, 16}};

SweepShape make_shape(const BlockParameters& parameters, const Search& search, Size size, Sums sums,
                      const detail::Configuration& configuration) {
  const int lanes = widest_vector_bytes / static_cast<int>(bytes_of(sums));
  const int padded = round_up(search.labels, lanes);
  // The costs of a block should stay in the first-level cache.
  const int block = configuration.value(
      pixels_together.name, std::clamp(16384 / (padded * static_cast<int>(bytes_of(sums))), 2, max_block));
  return {size.width, size.height, parameters.window / 2, search.lowest, search.labels, padded, block};
}

SweepMemory reserve_sweep(const SweepShape& shape, BlockCost cost, Sums sums, bool right_map, Arena& arena) {
  const std::size_t sum_bytes = bytes_of(sums), cost_bytes = block::cost_bytes(cost, sums);
  const auto labels = to_size(shape.padded_labels), columns = to_size(shape.columns()),
             right_columns = to_size(shape.right_columns()), sums_of_block = to_size(shape.block) * labels;
  const auto lanes = [&](std::size_t count, std::size_t bytes) {
    return static_cast<void*>(arena.reserve<std::byte>(count * bytes + widest_vector_bytes));
  };
  SweepMemory memory{};
  memory.columns = lanes(columns * labels, sum_bytes);
  memory.zeros = lanes(labels, sum_bytes);
  memory.window_sums = lanes(sums_of_block, sum_bytes);
  memory.costs = lanes(sums_of_block, cost_bytes);
  memory.excluded = lanes(right_columns, cost_bytes);
  if (right_map) {
    memory.right_costs = lanes(right_columns, cost_bytes);
    memory.right_labels = lanes(right_columns, cost_bytes);
  }
  if (cost != BlockCost::zncc) return memory;
  for (auto* statistics : {&memory.right_sums, &memory.right_scales, &memory.left_sums, &memory.left_scales})
    *statistics = static_cast<double*>(lanes(right_columns, sizeof(double)));
  memory.column_statistics =
      static_cast<std::int64_t*>(lanes(2 * (columns + right_columns), sizeof(std::int64_t)));
  return memory;
}

class Cpu final : public host::Plan {
 public:
  Cpu(const BlockParameters& parameters, int threads, const ImageFormat& format,
      const detail::Configuration& configuration)
      : host::Plan(parameters.refine, format.size, 0,
                   cpu::match_workers(threads, format.size, configuration)),
        parameters_(parameters),
        search_(plan_search(parameters, format)),
        depth_(format.depth),
        // Two per thread, so that a delayed thread does not hold up the others.
        bands_per_thread_(configuration.value(bands_per_thread.name, workers_.threads() == 1 ? 1 : 2)),
        sums_(choose_sums(parameters, search_)),
        shape_(make_shape(parameters, search_, size_, sums_, configuration)),
        scratch_(to_size(workers_.slots())) {
    plan_memory(searches_rows());
  }

  detail::Footprint footprint() const {
    const std::size_t pixels = to_size(shape_.columns() + shape_.block);
    return cpu::footprint(bands(), workers_, pixels * to_size(shape_.padded_labels) * bytes_of(sums_));
  }

 private:
  bool searches_rows() const { return parameters_.row_tolerance > 0; }

  struct Scratch {
    std::uint16_t* filtered_row;
    std::int64_t* texture_sums;
    SweepMemory sweep;
  };

  void reserve(Arena& arena) override {
    left_ = arena.reserve_plane<std::uint16_t>({shape_.columns(), size_.height});
    right_ = arena.reserve_plane<std::uint16_t>({shape_.right_columns(), size_.height});
    for (auto& plane : gray_) plane = arena.reserve_plane<std::uint16_t>(size_);
    if (checks_texture()) textureless_ = arena.reserve_plane<std::uint8_t>(size_);
    for (Scratch& scratch : scratch_) {
      scratch.filtered_row = arena.reserve<std::uint16_t>(to_size(size_.width));
      scratch.texture_sums = arena.reserve<std::int64_t>(to_size(size_.width));
      scratch.sweep = reserve_sweep(shape_, parameters_.cost, sums_, checks_left_right_, arena);
    }
    if (searches_rows()) reserve_row_search(arena);
  }

  // Rows of costs begin at multiples of a vector, and vectors may read beyond their ends.
  void reserve_row_search(Arena& arena) {
    rows_.passes = 2 * search_.rows + 1;
    rows_.height = size_.height;
    rows_.pitch = round_up(size_.width, widest_vector_bytes);
    rows_.right_pitch = round_up(shape_.right_columns(), widest_vector_bytes);
    const auto elements = [&](std::ptrdiff_t pitch) {
      return to_size(rows_.passes * std::ptrdiff_t{rows_.height} * pitch);
    };
    const auto reserve_costs = [&](std::ptrdiff_t pitch) -> void* {
      return arena.reserve<std::byte>(elements(pitch) * cost_bytes(parameters_.cost, sums_) +
                                      widest_vector_bytes);
    };
    rows_.costs = reserve_costs(rows_.pitch);
    rows_.disparities = arena.reserve<float>(elements(rows_.pitch));
    rows_.rivals = reserve_costs(rows_.pitch);
    for (auto& votes : rows_.votes) {
      votes = rows::RowVotes(size_, search_.rows, parameters_.row_prior);
      votes.reserve(arena);
    }
    if (!checks_left_right_) return;
    rows_.right_costs = reserve_costs(rows_.right_pitch);
    rows_.right_labels = reserve_costs(rows_.right_pitch);
  }

  // The steps of block matching. A sweep finds costs, winners, ambiguous pixels and fractions of disparities,
  // and the right map; the left-right check and the refinement follow in host::Plan.
  void match(const StereoPair& pair, const DisparityMap& map, detail::StageClock& clock) override {
    convert_to_gray(pair);
    prefilter();
    if (checks_texture()) find_textureless();
    clock.finish("prepare");
    Sweep sweep = sweep_of(pair, map);
    if (searches_rows())
      search_rows(sweep);
    else
      sweep_bands(sweep);
    clock.finish("search");
  }

  bool checks_texture() const { return parameters_.texture_threshold > 0; }
  const Scratch& scratch(int slot) const { return scratch_[to_size(slot)]; }

  void convert_to_gray(const StereoPair& pair) const {
    for_rows(workers_, size_.height, [&](int y, int) {
      gray_row(pair.left, y, gray_[0].row(y));
      gray_row(pair.right, y, gray_[1].row(y));
    });
  }

  void prefilter() const {
    for_rows(workers_, size_.height, [&](int y, int slot) {
      std::uint16_t* buffer = scratch(slot).filtered_row;
      extend_row(filtered_row(0, y, buffer), shape_, left_.row(y));
      mirror_row(filtered_row(1, y, buffer), shape_, right_.row(y));
    });
  }

  // Row `y` of the filtered image, in `buffer` unless there is no filter.
  const std::uint16_t* filtered_row(int side, int y, std::uint16_t* buffer) const {
    if (parameters_.prefilter == Prefilter::none) return gray_[side].row(y);
    sobel_row(gray_[side], depth_, y, parameters_.prefilter_cap, buffer);
    return buffer;
  }

  void find_textureless() const {
    for_row_ranges(workers_, size_.height, [&](int first, int last, int slot) {
      TextureCheck(gray_[0], depth_, shape_.radius, parameters_.prefilter_cap, parameters_.texture_threshold,
                   scratch(slot).filtered_row, scratch(slot).texture_sums)
          .mark_rows(textureless_, first, last);
    });
  }

  // A band begins by summing as many rows as a window has, so bands are few, and much higher than a window.
  int bands() const {
    return std::clamp(size_.height / (6 * shape_.window()), 1, bands_per_thread_ * workers_.threads());
  }

  Sweep sweep_of(const StereoPair& pair, const DisparityMap& map) const {
    return {.shape = shape_,
            .cost = parameters_.cost,
            .sums = sums_,
            .uniqueness = parameters_.uniqueness,
            .sub_pixel = parameters_.sub_pixel,
            .left = left_,
            .right = right_,
            .left_mask = pair.left_mask,
            .right_mask = pair.right_mask,
            .textureless = textureless_,
            .map = map,
            .right_disparity = right_disparity_,
            .memory = {},
            .rows = rows_};
  }

  // A pass for each row offset, then the choice between them.
  void search_rows(Sweep& sweep) const {
    const rows::RowVotes* votes = sweep.rows.votes;
    sweep.rows.with_rivals = parameters_.uniqueness > 0 || !sweep.map.confidence.empty();
    for (; sweep.rows.pass < sweep.rows.passes; ++sweep.rows.pass) sweep_bands(sweep);
    for_row_ranges(workers_, votes[0].squares().height,
                   [&](int first, int last, int) { count_row_votes(sweep, first, last); });
    votes[0].settle();
    if (checks_left_right_) votes[1].settle();
    for_row_ranges(workers_, size_.height,
                   [&](int first, int last, int) { choose_rows(sweep, first, last); });
  }

  void sweep_bands(const Sweep& sweep) const {
    const int bands = this->bands();
    workers_.for_each(bands, [&](int band, int slot) {
      Sweep own = sweep;
      own.memory = scratch(slot).sweep;
      const auto bound = [&](int i) { return static_cast<int>(std::int64_t{size_.height} * i / bands); };
      sweep_rows(own, bound(band), bound(band + 1));
    });
  }

  BlockParameters parameters_;
  Search search_;
  BitDepth depth_;
  int bands_per_thread_;
  Sums sums_;
  SweepShape shape_;
  View<std::uint16_t> left_, right_, gray_[2];
  View<std::uint8_t> textureless_;
  std::vector<Scratch> scratch_;  // by slot
  RowSearch rows_;
};

}  // namespace

std::unique_ptr<detail::Plan> make_cpu(const BlockParameters& parameters, const Device& device,
                                       const ImageFormat& format,
                                       const detail::Configuration& configuration) {
  return std::make_unique<Cpu>(parameters, device.threads, format, configuration);
}

detail::TuningSpace cpu_tuning_space(const BlockParameters& parameters, const Device& device,
                                     const ImageFormat& format) {
  detail::TuningSpace space;
  const std::size_t sum_bits = 8 * bytes_of(choose_sums(parameters, plan_search(parameters, format)));
  space.variant = variant(parameters) + ", " + std::to_string(sum_bits) + " bits";
  space.tunables = {bands_per_thread, pixels_together, cpu::ranges_per_thread()};
  space.footprint = [=](const detail::Configuration& configuration) {
    return Cpu(parameters, device.threads, format, configuration).footprint();
  };
  return space;
}

}  // namespace parallax::block
