// SPDX-License-Identifier: Apache-2.0
// Block matching on the CPU: the images are filtered, extended and mirrored once; then bands of rows are
// swept in parallel, each with the running sums of cpu_kernels.h.

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "core/arena.h"
#include "core/gray.h"
#include "devices/cpu/tuning.h"
#include "matchers/block/block.h"
#include "matchers/block/cpu_kernels.h"
#include "refine/refine.h"

namespace parallax::block {
namespace {

Sums choose_sums(const BlockParameters& parameters, const Search& search) {
  // One value is kept free for "no cost", and labels must fit in the same lanes as the costs.
  if (parameters.cost == BlockCost::sad && search.highest_value < 32768 && search.highest_cost < 65535 &&
      search.labels < 65535)
    return Sums::bits16;
  const bool small_products = search.highest_value < 256;
  return parameters.cost == BlockCost::sad || small_products ? Sums::bits32 : Sums::bits64;
}

std::size_t bytes_of(Sums sums) {
  return sums == Sums::bits16 ? 2 : sums == Sums::bits32 ? 4 : 8;
}

// How each of them is best depends on the machine; none changes a result.
const detail::Tunable bands_per_thread{
    "bands_per_thread", "Bands of rows that a thread is given", {1, 2, 4, 8}};
const detail::Tunable pixels_together{
    "pixels_together", "Pixels whose labels are compared at once", {2, 4, 8, 16}};

SweepShape make_shape(const BlockParameters& parameters, const Search& search, Size size, Sums sums,
                      const detail::Configuration& configuration) {
  const int lanes = widest_vector_bytes / static_cast<int>(bytes_of(sums));
  const int padded = (search.labels + lanes - 1) / lanes * lanes;
  // The costs of a block are to stay in the first-level cache.
  const int block = configuration.value(
      pixels_together.name, std::clamp(16384 / (padded * static_cast<int>(bytes_of(sums))), 2, most_block));
  return {size.width, size.height, parameters.window / 2, search.lowest, search.labels, padded, block};
}

// Repeats the border pixels `radius` times.
void extend_row(const std::uint16_t* row, const SweepShape& shape, std::uint16_t* out) {
  std::fill_n(out, shape.radius, row[0]);
  std::copy_n(row, shape.width, out + shape.radius);
  std::fill_n(out + shape.radius + shape.width, shape.radius, row[shape.width - 1]);
}

// Writes the row right to left, as far as any label reaches, repeating the border pixels.
void mirror_row(const std::uint16_t* row, const SweepShape& shape, std::uint16_t* out) {
  const std::int64_t count = shape.right_columns();
  const std::int64_t last =
      static_cast<std::int64_t>(shape.mirrored(0)) - shape.lowest;  // index of right column 0
  const std::int64_t first = last - (shape.width - 1);              // of the last column
  const std::int64_t begin = std::clamp<std::int64_t>(first, 0, count),
                     end = std::clamp<std::int64_t>(last + 1, 0, count);
  std::fill(out, out + begin, row[shape.width - 1]);
  for (std::int64_t j = begin; j < end; ++j) out[j] = row[last - j];
  std::fill(out + end, out + count, row[0]);
}

// Horizontal Sobel response clipped to ±cap, plus cap. Beyond the border the image repeats its border pixels.
// Slope holds any response: 16 bits do for 8-bit images, and make the loop twice as wide.
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
    return static_cast<std::uint16_t>(std::clamp<Slope>(slope, static_cast<Slope>(-limit), limit) + limit);
  };
  out[0] = response(0, std::min(1, width - 1));
  for (int x = 1; x + 1 < width; ++x) out[x] = response(x - 1, x + 1);
  out[width - 1] = response(std::max(width - 2, 0), width - 1);
}

void sobel_row(View<const std::uint16_t> gray, Depth depth, int y, int cap, std::uint16_t* out) {
  if (depth == Depth::bits8)
    sobel_row<std::int16_t>(gray, y, cap, out);
  else
    sobel_row<std::int32_t>(gray, y, cap, out);
}

// Marks the pixels in whose window the absolute Sobel responses sum to less than a threshold, by running
// sums.
class TextureCheck {
 public:
  // The buffers hold one element a column.
  TextureCheck(View<const std::uint16_t> gray, Depth depth, int radius, int cap, std::int64_t threshold,
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
  Depth depth_;
  int radius_, cap_;
  std::int64_t threshold_;
  std::uint16_t* responses_;
  std::int64_t* column_sums_;
};

// SweepMemory on paper.
class MemoryPlan {
 public:
  MemoryPlan(const SweepShape& shape, BlockCost cost, Sums sums, bool right_map, ArenaLayout& layout) {
    const std::size_t sum_bytes = bytes_of(sums);
    const std::size_t cost_bytes = cost == BlockCost::zncc ? 4 : sum_bytes;
    const auto labels = static_cast<std::size_t>(shape.padded_labels),
               columns = static_cast<std::size_t>(shape.columns());
    const auto right_columns = static_cast<std::size_t>(shape.right_columns());
    const auto lanes = [&](std::size_t count, std::size_t bytes) {
      return layout.reserve<std::byte>(count * bytes + widest_vector_bytes);
    };
    columns_ = lanes(columns * labels, sum_bytes);
    zeros_ = lanes(labels, sum_bytes);
    const auto block = static_cast<std::size_t>(shape.block);
    window_sums_ = lanes(block * labels, sum_bytes);
    costs_ = lanes(block * labels, cost_bytes);
    excluded_ = lanes(right_columns, cost_bytes);
    if (right_map) {
      right_costs_ = lanes(right_columns, cost_bytes);
      right_labels_ = lanes(right_columns, cost_bytes);
    }
    if (cost != BlockCost::zncc) return;
    for (auto* buffer : {&right_sums_, &right_scales_, &left_sums_, &left_scales_})
      *buffer = lanes(right_columns, sizeof(double));
    column_statistics_ = lanes(2 * (columns + right_columns), sizeof(std::int64_t));
  }

  SweepMemory in(std::byte* arena) const {
    const auto real = [arena](const Buffer<std::byte>& buffer) {
      return reinterpret_cast<double*>(buffer.in(arena));
    };
    return {columns_.in(arena),      zeros_.in(arena),
            window_sums_.in(arena),  costs_.in(arena),
            excluded_.in(arena),     right_costs_.in(arena),
            right_labels_.in(arena), real(right_sums_),
            real(right_scales_),     reinterpret_cast<std::int64_t*>(column_statistics_.in(arena)),
            real(left_sums_),        real(left_scales_)};
  }

 private:
  Buffer<std::byte> columns_, zeros_, window_sums_, costs_, excluded_, right_costs_, right_labels_;
  Buffer<std::byte> right_sums_, right_scales_, left_sums_, left_scales_, column_statistics_;
};

class Cpu final : public detail::Plan {
 public:
  Cpu(const BlockParameters& parameters, int threads, const ImageFormat& format,
      const detail::Configuration& configuration)
      : parameters_(parameters),
        search_(plan_search(parameters, format)),
        size_(format.size),
        depth_(format.depth),
        workers_(threads, cpu::ranges_per_thread(configuration)),
        // Two a thread, so that one that is held up does not hold up all.
        bands_per_thread_(configuration.value(bands_per_thread.name, workers_.threads() == 1 ? 1 : 2)),
        sums_(choose_sums(parameters, search_)),
        shape_(make_shape(parameters, search_, size_, sums_, configuration)),
        refinement_(parameters.refine, size_, false, layout_) {
    left_ = layout_.reserve_plane<std::uint16_t>({shape_.columns(), size_.height});
    right_ = layout_.reserve_plane<std::uint16_t>({shape_.right_columns(), size_.height});
    for (auto& plane : gray_) plane = layout_.reserve_plane<std::uint16_t>(size_);
    if (parameters.texture_threshold > 0) textureless_ = layout_.reserve_plane<std::uint8_t>(size_);
    if (right_map()) right_disparity_ = layout_.reserve_plane<float>(size_);
    for (int i = 0; i < workers_.slots(); ++i) {
      filtered_rows_.push_back(layout_.reserve<std::uint16_t>(static_cast<std::size_t>(size_.width)));
      texture_sums_.push_back(layout_.reserve<std::int64_t>(static_cast<std::size_t>(size_.width)));
      memory_.emplace_back(shape_, parameters.cost, sums_, right_map(), layout_);
    }
  }

  std::size_t memory_bytes() const override { return layout_.bytes(); }
  void allocate() override { arena_ = Arena(layout_); }
  bool tells_confidence() const override { return true; }
  detail::Footprint footprint() const {
    const std::size_t pixels = static_cast<std::size_t>(shape_.columns() + shape_.block);
    return cpu::footprint(bands(), workers_,
                          pixels * static_cast<std::size_t>(shape_.padded_labels) * bytes_of(sums_));
  }

  void run(const StereoPair& pair, const DisparityMap& map) override {
    detail::StageClock clock(stage_times);
    prepare(pair);
    clock.finish("prepare");
    match(pair, map);
    clock.finish("search");
    const View<float> right = right_map() ? right_disparity_.in(arena_.data()) : View<float>();
    refinement_.run(pair.left, map, right, arena_.data(), workers_, clock);
  }

 private:
  // A band begins by summing a window's height of rows: few bands, and each much higher than that.
  int bands() const {
    return std::clamp(size_.height / (6 * shape_.window()), 1, bands_per_thread_ * workers_.threads());
  }

  bool right_map() const { return parameters_.refine.left_right_check; }

  View<std::uint16_t> gray(int side) const { return gray_[side].in(arena_.data()); }

  void prepare(const StereoPair& pair) {
    for_row_ranges(workers_, size_.height, [&](int first, int last, int) {
      for (int y = first; y < last; ++y) {
        gray_row(pair.left, y, gray(0).row(y));
        gray_row(pair.right, y, gray(1).row(y));
      }
    });
    for_row_ranges(workers_, size_.height, [&](int first, int last, int slot) {
      std::uint16_t* buffer = filtered_rows_[static_cast<std::size_t>(slot)].in(arena_.data());
      for (int y = first; y < last; ++y) {
        extend_row(filtered_row(0, y, buffer), shape_, left_.in(arena_.data()).row(y));
        mirror_row(filtered_row(1, y, buffer), shape_, right_.in(arena_.data()).row(y));
      }
    });
    if (parameters_.texture_threshold > 0) find_textureless();
  }

  // Row `y` of the filtered image, in `buffer` unless there is no filter.
  const std::uint16_t* filtered_row(int side, int y, std::uint16_t* buffer) const {
    if (parameters_.prefilter == Prefilter::none) return gray(side).row(y);
    sobel_row(gray(side), depth_, y, parameters_.prefilter_cap, buffer);
    return buffer;
  }

  void find_textureless() {
    for_row_ranges(workers_, size_.height, [&](int first, int last, int slot) {
      const auto index = static_cast<std::size_t>(slot);
      TextureCheck(gray(0), depth_, shape_.radius, parameters_.prefilter_cap, parameters_.texture_threshold,
                   filtered_rows_[index].in(arena_.data()), texture_sums_[index].in(arena_.data()))
          .mark_rows(textureless_.in(arena_.data()), first, last);
    });
  }

  void match(const StereoPair& pair, const DisparityMap& map) {
    Sweep sweep{shape_,
                parameters_.cost,
                sums_,
                parameters_.uniqueness,
                parameters_.sub_pixel,
                left_.in(arena_.data()),
                right_.in(arena_.data()),
                pair.left_mask,
                pair.right_mask,
                parameters_.texture_threshold > 0 ? textureless_.in(arena_.data()) : View<std::uint8_t>(),
                map,
                right_map() ? right_disparity_.in(arena_.data()) : View<float>(),
                {}};
    const int bands = this->bands();
    workers_.for_each(bands, [&](int band, int slot) {
      Sweep own = sweep;
      own.memory = memory_[static_cast<std::size_t>(slot)].in(arena_.data());
      const auto bound = [&](int i) {
        return static_cast<int>(static_cast<std::int64_t>(size_.height) * i / bands);
      };
      sweep_rows(own, bound(band), bound(band + 1));
    });
  }

  BlockParameters parameters_;
  Search search_;
  Size size_;
  Depth depth_;
  Workers workers_;
  int bands_per_thread_;
  Sums sums_;
  SweepShape shape_;
  ArenaLayout layout_;
  refine::Pipeline refinement_;
  PlaneBuffer<std::uint16_t> left_, right_;
  PlaneBuffer<std::uint16_t> gray_[2];
  PlaneBuffer<std::uint8_t> textureless_;
  PlaneBuffer<float> right_disparity_;
  std::vector<Buffer<std::uint16_t>> filtered_rows_;  // by slot, as the next two
  std::vector<Buffer<std::int64_t>> texture_sums_;
  std::vector<MemoryPlan> memory_;
  Arena arena_;
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
