// SPDX-License-Identifier: Apache-2.0
// Coarse levels are kept as a whole. Of the finest one, which is three times as large as all others together,
// only the few rows between the first half-sweep and the decision are kept, unless there are many
// half-sweeps. Its data costs are computed twice instead: once for the next level, and once when its rows
// come.

#include "matchers/motion/all_labels.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "core/integers.h"
#include "core/memory.h"
#include "matchers/motion/all_labels_kernels.h"
#include "matchers/motion/halve_row.h"

namespace parallax::motion {
namespace {

// Half-sweeps that follow each other closely. With more in the finest level, it is kept as a whole, too.
constexpr int max_at_once = 8;

constexpr int columns_beside[] = {0, 0, -1, 1};
constexpr int rows_beside[] = {-1, 1, 0, 0};

// Bands of rows that several threads compute: no more than some bands for each thread, of `fewest` rows or
// more.
class Bands {
 public:
  Bands(int rows, int fewest, int most, const Workers& workers)
      : rows_(rows), count_(workers.threads() == 1 ? 1 : std::clamp(rows / fewest, 1, most)) {}
  int count() const { return count_; }
  int first(int band) const { return static_cast<int>(static_cast<long long>(rows_) * band / count_); }
  int last(int band) const { return first(band + 1); }

 private:
  int rows_, count_;
};

}  // namespace

AllLabels::AllLabels(const Model& model, const Scale& scale, std::size_t scale_index, int slots,
                     std::size_t cached_bytes)
    : model_(model),
      labels_(scale.labels),
      scale_index_(scale_index),
      cached_bytes_(cached_bytes),
      arithmetic_(model.parameters.arithmetic),
      kernels_(label_kernels(arithmetic_)),
      element_(element_bytes(arithmetic_)),
      sizes_(level_sizes(scale.size, model.parameters.levels)),
      features_(model.cost, scale.size, slots),
      scratch_(to_size(slots)) {
  for (const Size size : sizes_)
    levels_.emplace_back(size, parity_pixels(size), labels_.count(), element_, size.height);
  keeps_finest_ = iterations(0) > max_at_once;
  gray_.resize(sizes_.size() - 1);
  make_table();
}

void AllLabels::make_table() {
  constexpr int entries = 64;
  if (model_.cost != DataCost::census || arithmetic_ != Arithmetic::fixed8 ||
      model_.highest_data_cost() > 255)
    return;
  for (int bits = 0; bits < entries; ++bits)
    table_.push_back(static_cast<std::uint8_t>(model_.data_cost(bits * data_cost::per_level)));
}

void AllLabels::reserve(Arena& arena) {
  for (std::size_t level = keeps_finest_ ? 0 : 1; level < levels_.size(); ++level)
    levels_[level].reserve(arena);
  for (std::size_t level = 1; level < levels_.size(); ++level)
    gray_[level - 1] = arena.reserve_plane<std::uint16_t>(sizes_[level]);
  features_.reserve(arena);
  zeros_ = arena.reserve<std::byte>(levels_[0].label_bytes() + 2 * widest_vector_bytes);
  const std::size_t vectors = count() * widest_vector_bytes, width = to_size(levels_[0].computed);
  for (Scratch& scratch : scratch_) {
    scratch.sending = arena.reserve<std::byte>(sending_scratch(labels_.extent));
    scratch.deciding = arena.reserve<std::byte>(deciding_scratch(labels_.extent));
    for (auto& costs : scratch.costs) costs = arena.reserve<std::byte>(vectors);
    scratch.sums = arena.reserve<std::byte>(4 * vectors);
    scratch.units = arena.reserve<float>(vectors / sizeof(float));
    if (!keeps_finest_) {
      scratch.finest = tile_rows();
      scratch.finest.reserve(arena);
    }
    for (auto* plane : {&scratch.column, &scratch.row}) *plane = arena.reserve<std::uint16_t>(width);
    for (auto* plane : {&scratch.lowest, &scratch.before[0], &scratch.before[1], &scratch.after[0],
                        &scratch.after[1], &scratch.rival})
      *plane = arena.reserve<float>(width);
  }
}

void AllLabels::fill_memory() {
  const auto clear = [](const LabelRows& rows) { clear_memory(rows.memory, rows.bytes()); };
  for (std::size_t level = keeps_finest_ ? 0 : 1; level < levels_.size(); ++level) clear(levels_[level]);
  if (!keeps_finest_)
    for (const Scratch& scratch : scratch_) clear(scratch.finest);
  features_.fill_memory();
  std::memset(zeros_, 0, levels_[0].label_bytes() + 2 * widest_vector_bytes);
}

void AllLabels::run(const ScaleFrames& frames, const LabelSpace& labels, const Output& output,
                    const Workers& workers) {
  frames_ = frames;
  labels_ = labels;
  features_.prepare(frames, workers);
  halve_gray(workers);
  sum_levels(workers);
  for (std::size_t level = sizes_.size(); level-- > 1;) match_level(level, workers);
  if (keeps_finest_) match_level(0, workers);
  match_finest(output, workers);
}

void AllLabels::halve_gray(const Workers& workers) const {
  for (std::size_t level = 1; level < sizes_.size(); ++level) {
    const View<const std::uint16_t> fine = gray(level - 1);
    const View<std::uint16_t>& coarse = gray_[level - 1];
    for_rows(workers, coarse.size.height, [&](int y, int) { halve_row(fine, coarse, y); });
  }
}

void AllLabels::write_finest_costs(const LabelRows& rows, int y, int first, int count, int parity, void* out,
                                   std::ptrdiff_t stride, const Scratch& scratch) const {
  CostingRow row{};
  row.labels = labels_;
  row.layout = features_.layout();
  row.size = rows.size;
  row.y = y;
  row.parity = parity;
  row.left = features_.of(0);
  row.right = features_.of(1);
  row.first = first;
  row.count = count;
  row.table = table_.empty() ? nullptr : table_.data();
  row.scale = model_.cost_scale;
  row.outside = model_.outside;
  row.differences = model_.differences;
  row.bound = model_.data_bound();
  row.out = out;
  row.stride = stride;
  row.scratch = scratch.units;
  kernels_.write_costs(row);
}

void AllLabels::sum_levels(const Workers& workers) const {
  if (keeps_finest_)
    for_rows(workers, sizes_[0].height, [&](int y, int slot) {
      const LabelRows& rows = levels_[0];
      for (int parity = 0; parity < 2; ++parity)
        write_finest_costs(rows, y, 0, rows.computed, parity, rows.data(y, parity), rows.stride,
                           scratch_[to_size(slot)]);
    });
  for (std::size_t level = 1; level < sizes_.size(); ++level)
    workers.for_each(sizes_[level].height,
                     [&](int y, int slot) { sum_level(level, y, scratch_[to_size(slot)]); });
}

// The costs of the finest level are computed for this purpose, some pixels at a time, unless it is kept.
void AllLabels::sum_level(std::size_t level, int y, const Scratch& scratch) const {
  const LabelRows &fine = levels_[level - 1], &coarse = levels_[level];
  const bool is_kept = level > 1 || keeps_finest_;
  const int line = widest_vector_bytes / static_cast<int>(element_);
  SummingRow sum{.labels = labels_.count(),
                 .first = 0,
                 .count = is_kept ? fine.computed : line,
                 .children = {},
                 .stride = is_kept ? fine.stride : line,
                 .sums = {coarse.data(y, 0), coarse.data(y, 1)},
                 .sums_stride = coarse.stride,
                 .bound = model_.integer ? model_.data_bound() : 0,
                 .scratch = scratch.sums};
  for (; sum.first < fine.computed; sum.first += sum.count) {
    for (int child = 0; child < 4; ++child) {
      const int v = 2 * y + child / 2;
      if (v >= fine.size.height) continue;
      if (!is_kept)
        write_finest_costs(fine, v, sum.first, line, child % 2, scratch.costs[child], line, scratch);
      sum.children[child] = is_kept ? fine.data(v, child % 2) : scratch.costs[child];
    }
    kernels_.sum_row(sum);
  }
}

void AllLabels::write_edges(const LabelRows& rows, std::size_t level, int y) const {
  for (int parity = 0; parity < 2; ++parity)
    as_element(arithmetic_, [&](auto element) { write_edges_as<decltype(element)>(rows, level, y, parity); });
}

// Pixels beyond the border send zeros, because their truncations are 0.
template <class Element>
void AllLabels::write_edges_as(const LabelRows& rows, std::size_t level, int y, int parity) const {
  const View<const std::uint16_t> image = gray(level);
  for (int to = 0; to < side::count; ++to) {
    auto* slopes = reinterpret_cast<Element*>(rows.slopes(y, parity, to));
    auto* truncations = reinterpret_cast<Element*>(rows.truncations(y, parity, to));
    std::fill_n(slopes, rows.computed, Element{1});
    std::fill_n(truncations, rows.computed, Element{0});
    const int v = y + rows_beside[to], beside = columns_beside[to];
    if (v < 0 || v >= rows.size.height) continue;
    const std::uint16_t *here = image.row(y), *there = image.row(v);
    for (int i = 0; i < rows.computed; ++i) {
      const int x = 2 * (rows.first + i) + parity;
      if (x + beside < 0) continue;
      if (std::max(x, x + beside) >= rows.size.width) break;
      const auto edge = to_size(data_cost::edge_index(std::abs(here[x] - there[x + beside])));
      slopes[i] = static_cast<Element>(model_.slopes[edge]);
      truncations[i] = static_cast<Element>(model_.truncations[edge]);
    }
  }
}

// Starts the messages of the pixels with x + y even: the others send before theirs are read.
void AllLabels::start_messages(const LabelRows& rows, std::size_t level, int y) const {
  const int parity = y % 2;
  for (int to = 0; to < side::count; ++to) {
    std::byte* out = rows.plane(y, parity, to);
    if (level + 1 == sizes_.size()) {
      std::memset(out, 0, rows.plane_bytes());
      continue;
    }
    const LabelRows& coarse = levels_[level + 1];
    kernels_.copy_row({rows.labels,
                       rows.computed,
                       {coarse.plane(y / 2, 0, to) + offset_bytes(rows.first / 2),
                        coarse.plane(y / 2, 1, to) + offset_bytes(rows.first / 2)},
                       coarse.stride,
                       out,
                       rows.stride});
    // The last pair may end beyond the border.
    const int end = rows.size.width / 2 - rows.first;
    if (parity == 1 && rows.size.width % 2 == 1 && end >= 0 && end < rows.computed)
      for (int label = 0; label < rows.labels; ++label)
        std::memset(out + to_size(label) * rows.label_bytes() + offset_bytes(end), 0, element_);
  }
}

PixelRow AllLabels::pixel_row(const LabelRows& rows, int y, int parity, Range pixels) const {
  PixelRow row{};
  row.labels = labels_.extent;
  row.first = pixels.first;
  row.last = pixels.last;
  row.stride = rows.stride;
  row.data = rows.data(y, parity);
  for (int from = 0; from < side::count; ++from) {
    const int v = y + rows_beside[from], beside = columns_beside[from];
    const bool exists = v >= 0 && v < rows.size.height;
    row.from_stride[from] = exists ? rows.stride : 0;
    row.from[from] = exists ? rows.plane(v, beside == 0 ? parity : 1 - parity, side::opposite[from]) +
                                  offset_bytes(parity + beside < 0   ? -1
                                               : parity + beside > 1 ? 1
                                                                     : 0)
                            : zeros_;
  }
  return row;
}

// Half-sweep `iteration` of a row.
void AllLabels::sweep(const LabelRows& rows, int iteration, int y, Range pixels,
                      const Scratch& scratch) const {
  const int colour = (iteration + 1) % 2, parity = (y + colour) % 2;
  SendingRow row{pixel_row(rows, y, parity, pixels), {}, {}, {}, scratch.sending};
  for (int to = 0; to < side::count; ++to) {
    row.to[to] = rows.plane(y, parity, to);
    row.slopes[to] = rows.slopes(y, parity, to);
    row.truncations[to] = rows.truncations(y, parity, to);
  }
  kernels_.send_row(row);
}

void AllLabels::match_level(std::size_t level, const Workers& workers) const {
  for (int done = 0; done < iterations(level); done += max_at_once)
    sweep_level(level, done, std::min(max_at_once, iterations(level) - done), workers);
}

// In bands of rows, each with a thread: first all rows whose half-sweeps need none of another band; then the
// others, around where bands meet.
void AllLabels::sweep_level(std::size_t level, int done, int count, const Workers& workers) const {
  const LabelRows& rows = levels_[level];
  const Bands bands(rows.size.height, 2 * count, workers.threads() * workers.ranges_per_thread(), workers);
  const int line = widest_vector_bytes / static_cast<int>(element_), lines = rows.computed / line;
  const int block = lines_at_once(count, lines), blocks = divide_round_up(lines + count - 1, block);
  // In blocks of columns, too; each half-sweep of a block begins and ends a vector farther left than the one
  // before.
  const auto sweep_rows = [&](const auto& range, const auto& arrive, int slot) {
    for (int i = 0; i < blocks; ++i)
      follow_closely(
          count, range,
          [&](int y) {
            if (i == 0) arrive(y);
          },
          [&](int k, int y) {
            const Range pixels{std::max(0, i * block - k) * line,
                               std::min(lines, (i + 1) * block - k) * line};
            sweep(rows, done + k, y, pixels, scratch_[to_size(slot)]);
          },
          [](int) {});
  };
  workers.for_each(bands.count(), [&](int band, int slot) {
    const auto range = [&](int k) -> Range {
      return {bands.first(band) + (band > 0 ? k + 1 : 0),
              bands.last(band) - (band + 1 < bands.count() ? k + 1 : 0)};
    };
    const auto arrive = [&](int y) {
      if (done > 0 || y >= bands.last(band)) return;
      write_edges(rows, level, y);
      start_messages(rows, level, y);
    };
    for (int y = bands.first(band); y <= range(0).first; ++y) arrive(y);
    sweep_rows(range, arrive, slot);
  });
  workers.for_each(bands.count() - 1, [&](int band, int slot) {
    const auto range = [&](int k) -> Range { return {bands.last(band) - k - 1, bands.last(band) + k + 1}; };
    sweep_rows(
        range, [](int) {}, slot);
  });
}

// The number of widest vectors of a parity, out of `lines`, whose rows stay in the cache during `count`
// half-sweeps.
int AllLabels::lines_at_once(int count, int lines) const {
  const std::size_t line = 2 * LabelRows::planes * this->count() * widest_vector_bytes,
                    fit = std::max<std::size_t>(1, cached_bytes_ / (line * to_size(count + 3)));
  return fit < to_size(lines) ? static_cast<int>(fit) : lines + count - 1;
}

// Rows of the finest level, or of a part of its columns, which stay in the cache from their first half-sweep
// to the decision.
LabelRows AllLabels::tile_rows() const {
  const Size size = sizes_[0];
  const auto of = [&](int pixels) {
    return LabelRows(size, pixels, labels_.count(), element_, std::min(size.height, iterations(0) + 3));
  };
  const LabelRows all = of(parity_pixels(size));
  if (all.used_bytes() <= cached_bytes_) return all;
  // The even number of vectors that needs the least padding.
  const int step = 2 * widest_vector_bytes / static_cast<int>(element_);
  int pixels = round_up(2 * tile_border(), step);
  while (of(pixels + step).used_bytes() <= cached_bytes_) pixels += step;
  return pixels < all.computed ? of(pixels) : all;
}

void AllLabels::match_finest(const Output& output, const Workers& workers) const {
  const Size size = sizes_[0];
  if (keeps_finest_)
    return for_rows(workers, size.height, [&](int y, int slot) {
      decide(levels_[0], y, {0, size.width}, output, scratch_[to_size(slot)]);
    });
  // Pixels around a tile are computed for it.
  const int computed = scratch_[0].finest.computed, all = levels_[0].computed, border = tile_border();
  const int max_columns = computed == all ? size.width : 2 * computed - 2 * border;
  const int width = round_up(divide_round_up(size.width, divide_round_up(size.width, max_columns)), 4);
  const int tiles = divide_round_up(size.width, width);
  const int around = iterations(0) + 1, threads = workers.threads();
  const int most = std::clamp(size.height / (8 * around), threads, 2 * threads);
  const Bands bands(size.height, 2 * around, divide_round_up(most, tiles), workers);
  workers.for_each(bands.count() * tiles, [&](int index, int slot) {
    const int band = index / tiles, x = index % tiles * width;
    match_tile({{bands.first(band), bands.last(band)},
                {x, std::min(size.width, x + width)},
                std::clamp((x - border) / 2, 0, all - computed)},
               output, scratch_[to_size(slot)]);
  });
}

void AllLabels::match_tile(const Tile& tile, const Output& output, const Scratch& scratch) const {
  LabelRows rows = scratch.finest;
  rows.first = tile.first;
  const int height = rows.size.height, count = iterations(0);
  // The decision needs the last messages of the neighbouring rows, and so on.
  const auto range = [&](int k) -> Range {
    return {std::max(0, tile.rows.first - count + k), std::min(height, tile.rows.last + count - k)};
  };
  const auto arrive = [&](int y) {
    if (y >= height) return;
    start_messages(rows, 0, y);
    write_edges(rows, 0, y);
    for (int parity = 0; parity < 2; ++parity)
      write_finest_costs(rows, y, rows.first, rows.computed, parity, rows.data(y, parity), rows.stride,
                         scratch);
  };
  for (int y = std::max(0, range(0).first - 1); y <= range(0).first; ++y) arrive(y);
  follow_closely(
      count, range, arrive,
      [&](int k, int y) {
        sweep(rows, k, y, {0, rows.computed}, scratch);
      },
      [&](int y) {
        if (y >= tile.rows.first && y < tile.rows.last) decide(rows, y, tile.decided, output, scratch);
      });
}

void AllLabels::decide(const LabelRows& rows, int y, Range columns, const Output& output,
                       const Scratch& scratch) const {
  for (int parity = 0; parity < 2; ++parity) {
    const auto pixel = [&](int x) { return (x + 1 - parity) / 2 - rows.first; };
    const DecidingRow row{pixel_row(rows, y, parity, {pixel(columns.first), pixel(columns.last)}),
                          static_cast<bool>(output.decided),
                          scratch.column,
                          scratch.row,
                          scratch.lowest,
                          {scratch.before[0], scratch.before[1]},
                          {scratch.after[0], scratch.after[1]},
                          scratch.rival,
                          scratch.deciding};
    kernels_.decide_row(row);
    for (int i = row.first; i < row.last; ++i) {
      const int x = 2 * (rows.first + i) + parity, label_column = row.column[i], label_row = row.row[i];
      const Offset offset{labels_.first.x + label_column, labels_.first.y + label_row};
      if (!output.best.empty()) output.best.at(x, y) = offset;
      if (output.decided)
        output.decided(x, y,
                       {offset,
                        {label_column, row.before[0][i], row.lowest[i], row.after[0][i], row.rival[i]},
                        {label_row, row.before[1][i], row.lowest[i], row.after[1][i], row.rival[i]}});
    }
  }
}

}  // namespace parallax::motion
