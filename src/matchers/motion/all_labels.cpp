// SPDX-License-Identifier: Apache-2.0
// Coarse levels are kept as a whole; of the finest one, which is as large as all others together three times, only the
// few rows between the first half-sweep and the decision. Its data costs are computed twice instead: once for the next
// level, and once when its rows come.
//
// Half-sweeps follow each other closely: half-sweep k of row y comes as soon as half-sweep k − 1 of row y + 1 is done. So
// rows stay in the cache from their first half-sweep to their last.

#include "matchers/motion/all_labels.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <vector>

#include "core/round_up.h"
#include "matchers/motion/all_labels_kernels.h"

namespace parallax::motion {
struct IndexRange {
  int first, last;
};

// Messages and data costs of rows of a level: all of them, or the latest `held`; of all columns, or some.
struct LevelRows {
  Size size = {};  // of the level
  int labels = 0;
  std::size_t element = 1;  // bytes
  int held = 0;
  int first = 0;              // the first pixel of a parity; even
  int computed = 0;           // pixels of a parity, in full widest vectors
  std::ptrdiff_t stride = 0;  // elements between labels
  std::byte* memory = nullptr;

  LevelRows() = default;
  LevelRows(Size of, int pixels, int of_labels, std::size_t element_size, int rows)
      : size(of), labels(of_labels), element(element_size), held(rows) {
    const int line = widest_vector_bytes / static_cast<int>(element);
    computed = round_up(pixels, line);
    // An element that is always 0 ends each label: the message from beyond the left border to the next one. An odd number
    // of cache lines spreads labels over all sets of a cache.
    const int lines = (pixels + line) / line;
    stride = (lines % 2 == 0 ? lines + 1 : lines) * line;
  }

  // Planes of labels, then slopes and truncations on each side.
  static constexpr int data_plane = side::count, planes = side::count + 1;
  std::size_t plane_bytes() const { return static_cast<std::size_t>(labels) * label_bytes(); }
  std::size_t label_bytes() const { return static_cast<std::size_t>(stride) * element; }
  std::size_t half_bytes() const { return planes * plane_bytes() + 2 * side::count * label_bytes(); }
  // Lanes beside a plane are read.
  std::size_t bytes() const {
    return static_cast<std::size_t>(2 * held) * half_bytes() + 2 * widest_vector_bytes;
  }
  // Those in use: without padding, and rarely read edges.
  std::size_t used_bytes() const {
    return static_cast<std::size_t>(2 * held * planes * computed) * static_cast<std::size_t>(labels) *
           element;
  }
  void reserve(Arena& arena) { memory = arena.reserve<std::byte>(bytes()); }

  std::byte* half(int y, int parity) const {
    return memory + widest_vector_bytes + static_cast<std::size_t>(2 * (y % held) + parity) * half_bytes();
  }
  // The messages to a side, or the data costs.
  std::byte* plane(int y, int parity, int index) const {
    return half(y, parity) + static_cast<std::size_t>(index) * plane_bytes();
  }
  // kind 0: slopes, 1: truncations.
  std::byte* edges(int y, int parity, int to, int kind) const {
    return half(y, parity) + planes * plane_bytes() + static_cast<std::size_t>(2 * to + kind) * label_bytes();
  }
};

namespace {

// Half-sweeps that follow each other closely. With more in the finest level, it is kept as a whole, too.
constexpr int most_at_once = 8;

// Pixels of a parity in a row.
constexpr int pixels_of(Size size) {
  return (size.width + 1) / 2;
}

constexpr int columns_beside[] = {0, 0, -1, 1};
constexpr int rows_beside[] = {-1, 1, 0, 0};

// Calls sweep(k, y) for half-sweeps 0 … count − 1 of the rows range(k), and before the first one of row y, arrive(y + 1).
template <class RangeOf, class Arrive, class Sweep, class Leave>
void follow_closely(int count, const RangeOf& range, const Arrive& arrive, const Sweep& sweep,
                    const Leave& leave) {
  int first = range(0).first, last = range(0).last;
  for (int k = 0; k < count; ++k) {
    first = std::min(first, range(k).first + k);
    last = std::max(last, range(k).last + k);
  }
  for (int step = first; step < last + 1; ++step) {
    arrive(step + 1);
    for (int k = 0; k < count; ++k) {
      const int y = step - k;
      if (y >= range(k).first && y < range(k).last) sweep(k, y);
    }
    leave(step - count);
  }
}

}  // namespace

struct AllLabels::Implementation {
  Implementation(const Model& model, const Scale& scale, std::size_t scale_index, int slots,
                 std::size_t cached_bytes);

  void reserve(Arena& arena);
  void fill_memory();
  void run(const ScaleFrames& frames, const LabelSpace& labels, const Output& output, const Workers& workers);

 private:
  struct Scratch {
    std::byte *sending, *deciding, *costs[4], *sums;
    float* units;
    LevelRows finest;  // of a tile, where the level is not kept
    std::uint16_t *column, *row;
    float *lowest, *before[2], *after[2], *rival;
    std::uint8_t* census[data_cost::most_feature_planes];
  };

  std::size_t count() const { return static_cast<std::size_t>(labels_.count()); }
  int iterations(std::size_t level) const { return model_.iterations(scale_index_, level); }
  bool keeps_finest() const { return iterations(0) > most_at_once; }
  // The frame is matched in tiles, whose columns are `decided`.
  struct Tile {
    IndexRange rows, decided;
    int first;  // the first pixel of a parity that is computed
  };
  std::ptrdiff_t offset_bytes(int pixels) const { return pixels * static_cast<std::ptrdiff_t>(element_); }
  View<const std::uint16_t> gray(std::size_t level) const {
    return level == 0 ? frames_.gray[0] : View<const std::uint16_t>(gray_[level - 1]);
  }

  void make_table();
  void write_features(const Workers& workers);
  void extend_gray(int frame, int y) const;
  void write_features(int frame, int y, const Scratch& scratch) const;
  void halve_gray(const Workers& workers) const;

  void write_finest_costs(const LevelRows& rows, int y, int first, int count, int parity, void* out,
                          std::ptrdiff_t stride, const Scratch& scratch) const;
  void sum_first_level(int y, const Scratch& scratch) const;
  void sum_level(std::size_t level, int y, const Scratch& scratch) const;
  void sum_levels(const Workers& workers) const;
  void write_edges(const LevelRows& rows, std::size_t level, int y) const;
  template <class Element>
  void write_edges_as(const LevelRows& rows, std::size_t level, int y, int parity) const;
  void start_messages(const LevelRows& rows, std::size_t level, int y) const;
  LabelRow label_row(const LevelRows& rows, int y, int parity, IndexRange pixels) const;
  void sweep(const LevelRows& rows, int iteration, int y, IndexRange pixels, const Scratch& scratch) const;

  int lines_at_once(int count, int lines) const;
  LevelRows tile_rows() const;
  // Columns around a tile that its decisions depend on.
  int tile_border() const { return round_up(iterations(0) + 1, 4); }

  void match_level(std::size_t level, const Workers& workers) const;
  void match_finest(const Output& output, const Workers& workers) const;
  void match_tile(const Tile& tile, const Output& output, const Scratch& scratch) const;
  void decide(const LevelRows& rows, int y, IndexRange columns, const Output& output,
              const Scratch& scratch) const;

  const Model& model_;
  LabelSpace labels_;
  std::size_t scale_index_, cached_bytes_;
  Arithmetic arithmetic_;
  std::size_t element_;
  std::vector<Size> sizes_;
  std::vector<LevelRows> levels_;          // without the finest one, unless it is kept
  std::vector<View<std::uint16_t>> gray_;  // of the levels but the finest
  FeatureLayout layout_;
  std::uint8_t* features_[2] = {};
  View<std::uint16_t> extended_[2];  // gray samples with repeated borders, for the census
  std::byte* zeros_ = nullptr;
  std::vector<std::uint8_t> table_;
  std::vector<Scratch> scratch_;
  ScaleFrames frames_ = {};
};

namespace {

constexpr int census_border = 4, census_rows = 7;

}  // namespace

AllLabels::Implementation::Implementation(const Model& model, const Scale& scale, std::size_t scale_index,
                                          int slots, std::size_t cached_bytes)
    : model_(model),
      labels_(scale.labels),
      scale_index_(scale_index),
      cached_bytes_(cached_bytes),
      arithmetic_(model.parameters.arithmetic),
      element_(element_bytes(arithmetic_)),
      sizes_(level_sizes(scale.size, model.parameters.levels)),
      layout_{model.cost == DataCost::census, pixels_of(scale.size)},
      scratch_(static_cast<std::size_t>(slots)) {
  for (std::size_t level = 0; level < sizes_.size(); ++level) {
    const bool keeps = level > 0 || keeps_finest();
    levels_.emplace_back(sizes_[level], pixels_of(sizes_[level]), labels_.count(), element_,
                         keeps ? sizes_[level].height : 0);
  }
  gray_.resize(sizes_.size() - 1);
  make_table();
}

void AllLabels::Implementation::make_table() {
  constexpr int entries = 64;
  if (!layout_.census || arithmetic_ != Arithmetic::fixed8 || model_.highest_data_cost() > 255) return;
  for (int bits = 0; bits < entries; ++bits)
    table_.push_back(static_cast<std::uint8_t>(model_.data_cost(bits * data_cost::per_level)));
}

void AllLabels::Implementation::reserve(Arena& arena) {
  const Size size = sizes_[0];
  for (LevelRows& rows : levels_)
    if (rows.held > 0) rows.reserve(arena);
  for (std::size_t level = 1; level < sizes_.size(); ++level)
    gray_[level - 1] = arena.reserve_plane<std::uint16_t>(sizes_[level]);
  for (int frame = 0; frame < 2; ++frame) {
    features_[frame] = arena.reserve<std::uint8_t>(static_cast<std::size_t>(layout_.row_bytes()) *
                                                   static_cast<std::size_t>(size.height));
    if (layout_.census)
      extended_[frame] = arena.reserve_plane<std::uint16_t>(
          {size.width + 2 * census_border + widest_vector_bytes, size.height});
  }
  zeros_ = arena.reserve<std::byte>(levels_[0].label_bytes() + 2 * widest_vector_bytes);
  const std::size_t vectors = count() * widest_vector_bytes,
                    width = static_cast<std::size_t>(levels_[0].computed);
  for (Scratch& scratch : scratch_) {
    scratch.sending = arena.reserve<std::byte>(sending_scratch(labels_.extent));
    scratch.deciding = arena.reserve<std::byte>(deciding_scratch(labels_.extent));
    for (auto& costs : scratch.costs) costs = arena.reserve<std::byte>(vectors);
    scratch.sums = arena.reserve<std::byte>(4 * vectors);
    scratch.units = arena.reserve<float>(vectors / sizeof(float));
    if (!keeps_finest()) {
      scratch.finest = tile_rows();
      scratch.finest.reserve(arena);
    }
    for (auto* plane : {&scratch.column, &scratch.row}) *plane = arena.reserve<std::uint16_t>(width);
    for (auto* plane : {&scratch.lowest, &scratch.before[0], &scratch.before[1], &scratch.after[0],
                        &scratch.after[1], &scratch.rival})
      *plane = arena.reserve<float>(width);
    for (auto& plane : scratch.census)
      plane = arena.reserve<std::uint8_t>(static_cast<std::size_t>(size.width) + widest_vector_bytes);
  }
}

void AllLabels::Implementation::fill_memory() {
  const auto clear = [](const LevelRows& rows) { std::memset(rows.memory, 0, rows.bytes()); };
  for (const LevelRows& rows : levels_)
    if (rows.held > 0) clear(rows);
  if (!keeps_finest())
    for (const Scratch& scratch : scratch_) clear(scratch.finest);
  for (auto* features : features_)
    std::memset(features, 0,
                static_cast<std::size_t>(layout_.row_bytes()) * static_cast<std::size_t>(sizes_[0].height));
  std::memset(zeros_, 0, levels_[0].label_bytes() + 2 * widest_vector_bytes);
  for (const View<std::uint16_t>& extended : extended_)
    for (int y = 0; y < extended.size.height; ++y)
      std::fill_n(extended.row(y), extended.size.width, std::uint16_t{0});
}

void AllLabels::Implementation::run(const ScaleFrames& frames, const LabelSpace& labels, const Output& output,
                                    const Workers& workers) {
  frames_ = frames;
  labels_ = labels;
  write_features(workers);
  halve_gray(workers);
  sum_levels(workers);
  for (std::size_t level = sizes_.size(); level-- > 1;) match_level(level, workers);
  if (keeps_finest()) match_level(0, workers);
  match_finest(output, workers);
}

void AllLabels::Implementation::write_features(const Workers& workers) {
  const int height = sizes_[0].height;
  for (int frame = 0; frame < 2; ++frame) {
    if (layout_.census)
      for_row_ranges(workers, height, [&](int first, int last, int) {
        for (int y = first; y < last; ++y) extend_gray(frame, y);
      });
    for_row_ranges(workers, height, [&](int first, int last, int slot) {
      for (int y = first; y < last; ++y) write_features(frame, y, scratch_[static_cast<std::size_t>(slot)]);
    });
  }
}

void AllLabels::Implementation::extend_gray(int frame, int y) const {
  const std::uint16_t* gray = frames_.gray[frame].row(y);
  std::uint16_t* out = extended_[frame].row(y);
  const int width = sizes_[0].width;
  std::fill_n(out, census_border, gray[0]);
  std::copy_n(gray, width, out + census_border);
  std::fill_n(out + census_border + width, census_border, gray[width - 1]);
}

void AllLabels::Implementation::write_features(int frame, int y, const Scratch& scratch) const {
  const Size size = sizes_[0];
  std::uint8_t* features = features_[frame];
  const View<const std::uint8_t>& mask = frames_.mask[frame];
  for (int x = 0; x < size.width; ++x)
    features[layout_.valid_at(y, x % 2) + x / 2] = mask.empty() || mask.at(x, y) != 0 ? 255 : 0;
  const auto split = [&](const auto* from, int plane) {
    using Sample = std::remove_const_t<std::remove_pointer_t<decltype(from)>>;
    for (int parity = 0; parity < 2; ++parity) {
      auto* out = reinterpret_cast<Sample*>(features + layout_.plane_at(y, parity, plane));
      for (int i = 0; 2 * i + parity < size.width; ++i) out[i] = from[2 * i + parity];
    }
  };
  if (!layout_.census) return split(frames_.gray[frame].row(y), 0);
  data_cost::RowCensus census{{}, false, size.width, {}};
  for (int j = 0; j < census_rows; ++j)
    census.rows[j] = extended_[frame].row(std::clamp(y + j - census_rows / 2, 0, size.height - 1));
  std::copy(std::begin(scratch.census), std::end(scratch.census), census.planes);
  data_cost::census_row(census);
  for (int plane = 0; plane < layout_.planes(); ++plane)
    split(static_cast<const std::uint8_t*>(scratch.census[plane]), plane);
}

void AllLabels::Implementation::halve_gray(const Workers& workers) const {
  for (std::size_t level = 1; level < sizes_.size(); ++level) {
    const View<const std::uint16_t> fine = gray(level - 1);
    const View<std::uint16_t>& coarse = gray_[level - 1];
    for_row_ranges(workers, coarse.size.height, [&](int first, int last, int) {
      for (int y = first; y < last; ++y)
        for (int x = 0; x < coarse.size.width; ++x) {
          const bool right = 2 * x + 1 < fine.size.width, below = 2 * y + 1 < fine.size.height;
          const int children = (right ? 2 : 1) * (below ? 2 : 1);
          int sum = fine.at(2 * x, 2 * y);
          if (right) sum += fine.at(2 * x + 1, 2 * y);
          if (below) sum += fine.at(2 * x, 2 * y + 1);
          if (right && below) sum += fine.at(2 * x + 1, 2 * y + 1);
          coarse.at(x, y) = static_cast<std::uint16_t>((sum + children / 2) / children);
        }
    });
  }
}

void AllLabels::Implementation::write_finest_costs(const LevelRows& rows, int y, int first, int count,
                                                   int parity, void* out, std::ptrdiff_t stride,
                                                   const Scratch& scratch) const {
  CostingRow row{};
  row.labels = labels_;
  row.layout = layout_;
  row.size = rows.size;
  row.y = y;
  row.parity = parity;
  row.left = features_[0];
  row.right = features_[1];
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
  write_costs(arithmetic_, row);
}

void AllLabels::Implementation::sum_levels(const Workers& workers) const {
  if (keeps_finest())
    for_row_ranges(workers, sizes_[0].height, [&](int first, int last, int slot) {
      const LevelRows& rows = levels_[0];
      for (int y = first; y < last; ++y)
        for (int parity = 0; parity < 2; ++parity)
          write_finest_costs(rows, y, 0, rows.computed, parity, rows.plane(y, parity, LevelRows::data_plane),
                             rows.stride, scratch_[static_cast<std::size_t>(slot)]);
    });
  for (std::size_t level = 1; level < sizes_.size(); ++level)
    workers.for_each(sizes_[level].height, [&](int y, int slot) {
      const Scratch& scratch = scratch_[static_cast<std::size_t>(slot)];
      if (level == 1 && !keeps_finest())
        sum_first_level(y, scratch);
      else
        sum_level(level, y, scratch);
    });
}

// From costs of the finest level, which are computed for it, some pixels at a time.
void AllLabels::Implementation::sum_first_level(int y, const Scratch& scratch) const {
  const LevelRows &fine = levels_[0], &coarse = levels_[1];
  const int line = widest_vector_bytes / static_cast<int>(element_);
  SummingRow sum{
      labels_.count(), 0, line, {}, line, {}, coarse.stride, model_.integer ? model_.data_bound() : 0,
      scratch.sums};
  for (int parity = 0; parity < 2; ++parity)
    sum.sums[parity] = coarse.plane(y, parity, LevelRows::data_plane);
  for (sum.first = 0; sum.first < fine.computed; sum.first += line) {
    for (int child = 0; child < 4; ++child) {
      const int v = 2 * y + child / 2;
      if (v >= fine.size.height) continue;
      write_finest_costs(fine, v, sum.first, line, child % 2, scratch.costs[child], line, scratch);
      sum.children[child] = scratch.costs[child];
    }
    sum_row(arithmetic_, sum);
  }
}

void AllLabels::Implementation::sum_level(std::size_t level, int y, const Scratch& scratch) const {
  const LevelRows &fine = levels_[level - 1], &coarse = levels_[level];
  SummingRow sum{labels_.count(), 0,  fine.computed, {},
                 fine.stride,     {}, coarse.stride, model_.integer ? model_.data_bound() : 0,
                 scratch.sums};
  for (int parity = 0; parity < 2; ++parity)
    sum.sums[parity] = coarse.plane(y, parity, LevelRows::data_plane);
  for (int child = 0; child < 4; ++child) {
    const int v = 2 * y + child / 2;
    if (v < fine.size.height) sum.children[child] = fine.plane(v, child % 2, LevelRows::data_plane);
  }
  sum_row(arithmetic_, sum);
}

void AllLabels::Implementation::write_edges(const LevelRows& rows, std::size_t level, int y) const {
  for (int parity = 0; parity < 2; ++parity) {
    switch (element_) {
      case 1:
        write_edges_as<std::uint8_t>(rows, level, y, parity);
        break;
      case 2:
        write_edges_as<std::uint16_t>(rows, level, y, parity);
        break;
      default:
        write_edges_as<float>(rows, level, y, parity);
    }
  }
}

// Pixels beyond the border send zeros, because their truncations are 0.
template <class Element>
void AllLabels::Implementation::write_edges_as(const LevelRows& rows, std::size_t level, int y,
                                               int parity) const {
  const View<const std::uint16_t> image = gray(level);
  for (int to = 0; to < side::count; ++to) {
    auto* slopes = reinterpret_cast<Element*>(rows.edges(y, parity, to, 0));
    auto* truncations = reinterpret_cast<Element*>(rows.edges(y, parity, to, 1));
    std::fill_n(slopes, rows.computed, Element{1});
    std::fill_n(truncations, rows.computed, Element{0});
    const int v = y + rows_beside[to], beside = columns_beside[to];
    if (v < 0 || v >= rows.size.height) continue;
    const std::uint16_t *here = image.row(y), *there = image.row(v);
    for (int i = 0; i < rows.computed; ++i) {
      const int x = 2 * (rows.first + i) + parity;
      if (x + beside < 0) continue;
      if (std::max(x, x + beside) >= rows.size.width) break;
      const auto edge =
          static_cast<std::size_t>(data_cost::edge_index(std::abs(here[x] - there[x + beside])));
      slopes[i] = static_cast<Element>(model_.slopes[edge]);
      truncations[i] = static_cast<Element>(model_.truncations[edge]);
    }
  }
}

// Of the pixels with x + y even: the others send before theirs are read.
void AllLabels::Implementation::start_messages(const LevelRows& rows, std::size_t level, int y) const {
  const int parity = y % 2;
  for (int to = 0; to < side::count; ++to) {
    std::byte* out = rows.plane(y, parity, to);
    if (level + 1 == sizes_.size()) {
      std::memset(out, 0, rows.plane_bytes());
      continue;
    }
    const LevelRows& coarse = levels_[level + 1];
    copy_row(arithmetic_, {rows.labels,
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
        std::memset(out + static_cast<std::size_t>(label) * rows.label_bytes() + offset_bytes(end), 0,
                    element_);
  }
}

LabelRow AllLabels::Implementation::label_row(const LevelRows& rows, int y, int parity,
                                              IndexRange pixels) const {
  LabelRow row{};
  row.labels = labels_.extent;
  row.first = pixels.first;
  row.last = pixels.last;
  row.stride = rows.stride;
  row.data = rows.plane(y, parity, LevelRows::data_plane);
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
void AllLabels::Implementation::sweep(const LevelRows& rows, int iteration, int y, IndexRange pixels,
                                      const Scratch& scratch) const {
  const int colour = (iteration + 1) % 2, parity = (y + colour) % 2;
  SendingRow row{label_row(rows, y, parity, pixels), {}, {}, {}, scratch.sending};
  for (int to = 0; to < side::count; ++to) {
    row.to[to] = rows.plane(y, parity, to);
    row.slopes[to] = rows.edges(y, parity, to, 0);
    row.truncations[to] = rows.edges(y, parity, to, 1);
  }
  send_row(arithmetic_, row);
}

// In bands of rows, each with a thread: first all rows whose half-sweeps need none of another band; then the others,
// around where bands meet.
void AllLabels::Implementation::match_level(std::size_t level, const Workers& workers) const {
  const LevelRows& rows = levels_[level];
  const int height = rows.size.height;
  for_row_ranges(workers, height, [&](int first, int last, int) {
    for (int y = first; y < last; ++y) {
      write_edges(rows, level, y);
      start_messages(rows, level, y);
    }
  });
  const auto nothing = [](int) {};
  const int iterations = this->iterations(level);
  for (int done = 0; done < iterations; done += most_at_once) {
    const int count = std::min(most_at_once, iterations - done);
    const int bands = workers.threads() == 1 ? 1
                                             : std::clamp(height / (2 * count), 1,
                                                          workers.threads() * workers.ranges_per_thread());
    const auto bound = [&](int band) {
      return static_cast<int>(static_cast<long long>(height) * band / bands);
    };
    const int line = widest_vector_bytes / static_cast<int>(element_), lines = rows.computed / line;
    const int block = lines_at_once(count, lines), blocks = divide_round_up(lines + count - 1, block);
    // In blocks of columns, too; each half-sweep of a block begins and ends a vector farther left than the one before.
    const auto sweep_rows = [&](const auto& range, int slot) {
      for (int i = 0; i < blocks; ++i)
        follow_closely(
            count, range, nothing,
            [&](int k, int y) {
              const IndexRange pixels{std::max(0, i * block - k) * line,
                                      std::min(lines, (i + 1) * block - k) * line};
              sweep(rows, done + k, y, pixels, scratch_[static_cast<std::size_t>(slot)]);
            },
            nothing);
    };
    workers.for_each(bands, [&](int band, int slot) {
      const auto range = [&](int k) -> IndexRange {
        return {bound(band) + (band > 0 ? k + 1 : 0), bound(band + 1) - (band + 1 < bands ? k + 1 : 0)};
      };
      sweep_rows(range, slot);
    });
    workers.for_each(bands - 1, [&](int band, int slot) {
      const auto range = [&](int k) -> IndexRange {
        return {bound(band + 1) - k - 1, bound(band + 1) + k + 1};
      };
      sweep_rows(range, slot);
    });
  }
}

// Widest vectors of a parity whose rows stay in the cache during `count` half-sweeps; of `lines`.
int AllLabels::Implementation::lines_at_once(int count, int lines) const {
  const std::size_t line = 2 * LevelRows::planes * this->count() * widest_vector_bytes,
                    fit = std::max<std::size_t>(1,
                                                cached_bytes_ / (line * static_cast<std::size_t>(count + 3)));
  return fit < static_cast<std::size_t>(lines) ? static_cast<int>(fit) : lines + count - 1;
}

// Rows of the finest level, or of a part of its columns, which stay in the cache from their first half-sweep to the
// decision.
LevelRows AllLabels::Implementation::tile_rows() const {
  const Size size = sizes_[0];
  const auto of = [&](int pixels) {
    return LevelRows(size, pixels, labels_.count(), element_, std::min(size.height, iterations(0) + 3));
  };
  const LevelRows all = of(pixels_of(size));
  if (all.used_bytes() <= cached_bytes_) return all;
  // An even number of vectors, which needs the least padding.
  const int step = 2 * widest_vector_bytes / static_cast<int>(element_);
  int pixels = round_up(2 * tile_border(), step);
  while (of(pixels + step).used_bytes() <= cached_bytes_) pixels += step;
  return pixels < all.computed ? of(pixels) : all;
}

void AllLabels::Implementation::match_finest(const Output& output, const Workers& workers) const {
  const Size size = sizes_[0];
  if (keeps_finest())
    return for_row_ranges(workers, size.height, [&](int first, int last, int slot) {
      for (int y = first; y < last; ++y)
        decide(levels_[0], y, {0, size.width}, output, scratch_[static_cast<std::size_t>(slot)]);
    });
  // Pixels around a tile are computed for it.
  const int computed = scratch_[0].finest.computed, all = levels_[0].computed, border = tile_border();
  const int columns = computed == all ? 1 : divide_round_up(size.width, 2 * computed - 2 * border);
  const int width = round_up(divide_round_up(size.width, columns), 4);
  constexpr int fewest_rows = 32;
  const int bands = workers.threads() == 1 ? 1
                                           : std::clamp(size.height / fewest_rows, 1,
                                                        divide_round_up(2 * workers.threads(), columns));
  const auto bound = [&](int band) {
    return static_cast<int>(static_cast<long long>(size.height) * band / bands);
  };
  workers.for_each(bands * columns, [&](int index, int slot) {
    const int band = index / columns, x = index % columns * width;
    match_tile({{bound(band), bound(band + 1)},
                {x, std::min(size.width, x + width)},
                std::clamp((x - border) / 2, 0, all - computed)},
               output, scratch_[static_cast<std::size_t>(slot)]);
  });
}

void AllLabels::Implementation::match_tile(const Tile& tile, const Output& output,
                                           const Scratch& scratch) const {
  LevelRows rows = scratch.finest;
  rows.first = tile.first;
  const int height = rows.size.height, count = iterations(0);
  // The decision needs the last messages of the rows beside its own, and so on.
  const auto range = [&](int k) -> IndexRange {
    return {std::max(0, tile.rows.first - count + k), std::min(height, tile.rows.last + count - k)};
  };
  const auto arrive = [&](int y) {
    if (y >= height) return;
    start_messages(rows, 0, y);
    write_edges(rows, 0, y);
    for (int parity = 0; parity < 2; ++parity)
      write_finest_costs(rows, y, rows.first, rows.computed, parity,
                         rows.plane(y, parity, LevelRows::data_plane), rows.stride, scratch);
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

void AllLabels::Implementation::decide(const LevelRows& rows, int y, IndexRange columns, const Output& output,
                                       const Scratch& scratch) const {
  for (int parity = 0; parity < 2; ++parity) {
    const auto pixel = [&](int x) { return (x + 1 - parity) / 2 - rows.first; };
    const DecidingRow row{label_row(rows, y, parity, {pixel(columns.first), pixel(columns.last)}),
                          static_cast<bool>(output.decided),
                          scratch.column,
                          scratch.row,
                          scratch.lowest,
                          {scratch.before[0], scratch.before[1]},
                          {scratch.after[0], scratch.after[1]},
                          scratch.rival,
                          scratch.deciding};
    decide_row(arithmetic_, row);
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

AllLabels::AllLabels(const Model& model, const Scale& scale, std::size_t scale_index, int slots,
                     std::size_t cached_bytes)
    : implementation_(std::make_unique<Implementation>(model, scale, scale_index, slots, cached_bytes)) {}

AllLabels::~AllLabels() = default;

void AllLabels::reserve(Arena& arena) {
  implementation_->reserve(arena);
}

void AllLabels::fill_memory() {
  implementation_->fill_memory();
}

void AllLabels::run(const ScaleFrames& frames, const LabelSpace& labels, const Output& output,
                    const Workers& workers) {
  implementation_->run(frames, labels, output, workers);
}

}  // namespace parallax::motion
