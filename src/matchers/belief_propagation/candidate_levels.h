// SPDX-License-Identifier: Apache-2.0
// Levels with candidate labels on the CPU, from the messages of the level above them to the decisions.
//
// A thread takes a band of rows of tiles of the finest level. Rows come in one by one: when row r comes in,
// iteration t runs on row r − 1 − t, so that only a window of rows is in progress. The rows of the next
// coarser level that a row needs are computed just before it, in the same way. Bands are swept in strips of
// columns, so that this window stays small. Tiles near the ends of bands and strips are computed by each that
// needs them.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "core/arena.h"
#include "core/integers.h"
#include "core/workers.h"
#include "matchers/belief_propagation/belief_propagation.h"
#include "matchers/belief_propagation/candidate_kernels.h"
#include "matchers/belief_propagation/edges.h"
#include "matchers/belief_propagation/strips.h"

namespace parallax::belief_propagation {

// The candidates of a tile, and where they are in those of its row.
struct TileSpan {
  Candidates candidates;
  std::size_t first;
  int count;  // number of disparities

  int row_offsets() const { return candidates.row_offsets.last - candidates.row_offsets.first; }
};

// Tiles of a row, from the first column of the strip on.
struct TileRow {
  TileSpan* spans;  // by tile
  std::uint16_t* labels;
  TileRecord* records;
  const TileMessages** around[direction_count];
  TileMessages* edges[edge_tables];  // by tile; without row bounds where there is one row offset

  TileLabels tile(int x) const {
    const std::size_t first = spans[x].first;
    return {spans[x].count,
            labels + first,
            records + first,
            {around[above] + first, around[below] + first, around[left] + first, around[right] + first},
            spans[x].row_offsets(),
            edges[row_bounds] != nullptr};
  }
};

// The finest level on which all labels are considered, after its iterations.
struct LabelLevel {
  Size size;
  const std::uint8_t* messages;  // [row][colour][direction] planes, as cpu_kernels.h describes them
  std::size_t plane_bytes;
  std::ptrdiff_t stride;           // from one label to the next
  View<const std::uint16_t> best;  // the label with the lowest belief of each pixel

  const std::uint8_t* plane(int y, int colour, int direction) const {
    return messages + to_size((y * 2 + colour) * direction_count + direction) * plane_bytes;
  }
};

// Points the disparities at one row offset that two tiles share at the records of the other one.
inline void find_messages(const LabelRanges& ranges, const LabelRanges& ranges_there, const TileRecord* there,
                          const TileMessages** out) {
  for (const LabelRange here : ranges) {
    const TileRecord* records = there;
    for (const LabelRange other : ranges_there) {
      const int first = std::max(here.first, other.first), last = std::min(here.last, other.last);
      for (int label = first; label < last; ++label)
        out[label - here.first] = &records[label - other.first].messages;
      records += other.last - other.first;
    }
    out += here.last - here.first;
  }
}

// Points each label at the messages that a tile has for it; at their bounds if it is no candidate there.
inline void find_messages(const TileSpan& span, const TileRow& row, int tile, const TileMessages** out) {
  const TileSpan& from = row.spans[tile];
  const LabelRange rows = span.candidates.row_offsets, rows_there = from.candidates.row_offsets;
  const TileLabels there = row.tile(tile);
  const int pitch = span.count + (there.has_others ? 1 : 0);
  for (int v = rows.first; v < rows.last; ++v, out += pitch) {
    if (!rows_there.contains(v)) {
      std::fill_n(out, span.count, &row.edges[row_bounds][tile]);
      continue;
    }
    const TileRecord* records = there.records + (v - rows_there.first) * there.pitch();
    std::fill_n(out, span.count,
                there.has_others ? &records[there.count].messages : &row.edges[truncations][tile]);
    find_messages(span.candidates.disparities, from.candidates.disparities, records, out);
  }
}

// The parts of the finest level that threads take: bands of rows of tiles × strips of columns.
struct Parts {
  int bands, strips;
};

// The parts of so many tiles that should take the threads the shortest time. A strip is as narrow as keeps
// most rows in progress in the second-level cache.
inline Parts choose_parts(Size tiles, int labels, int threads) {
  // Tiles that a part computes besides its own, in each dimension and on average over the levels.
  constexpr int beyond = 4;
  constexpr int least_rows = 4, least_columns = 16, most_rounds = 8;
  const int widest = std::max(32, 6144 / labels), fewest_strips = divide_round_up(tiles.width, widest);
  Parts best{1, fewest_strips};
  double least = std::numeric_limits<double>::infinity();
  const int most_strips = std::clamp(tiles.width / least_columns, fewest_strips, fewest_strips + threads);
  for (int strips = fewest_strips; strips <= most_strips; ++strips) {
    const int most_bands =
        std::clamp(most_rounds * threads / strips, 1, std::max(1, tiles.height / least_rows));
    for (int bands = 1; bands <= most_bands; ++bands) {
      // Several threads do not end at the same time.
      const double rounds = divide_round_up(bands * strips, threads) + (threads > 1 ? 0.5 : 0);
      const double time = rounds * (divide_round_up(tiles.height, bands) + beyond) *
                          (divide_round_up(tiles.width, strips) + beyond);
      if (time < least) least = time, best = {bands, strips};
    }
  }
  return best;
}

template <class T>
inline T* reserve_with_margin(Arena& arena, std::size_t count) {
  std::byte* memory = arena.reserve<std::byte>(count * sizeof(T) + 2 * tile_margin);
  return memory == nullptr ? nullptr : reinterpret_cast<T*>(memory + tile_margin);
}

class CandidateLevels {
 public:
  // Receives the decisions of a tile, by colour.
  using Decide = std::function<void(int tile_x, int tile_y, const TileDecision* decisions)>;

  // `sizes` are those of all levels; the first `count` have candidates.
  CandidateLevels(const Model& model, const std::vector<Size>& sizes, int count, const Strips& strips,
                  const Edges& edges, int slots)
      : model_(model), strips_(strips), edges_(edges), sizes_(sizes.begin(), sizes.begin() + count) {
    for (std::size_t i = 0; i < edge_table_size && count > 0; ++i)
      edge_table_.push_back(static_cast<int>(model.slopes[i]) | static_cast<int>(model.truncations[i]) << 8 |
                            static_cast<int>(model.row_bound) << 16);
    if (count > 0) {
      const Size tiles = tile_count(sizes[0]);
      const Parts parts = choose_parts(tiles, model.disparities(), slots);
      bands_ = parts.bands;
      strip_columns_ = divide_round_up(tiles.width, parts.strips);
    }
    sweeps_.reserve(to_size(slots * count));  // sweeps point to each other
    for (int slot = 0; slot < slots; ++slot)
      for (int level = count - 1; level >= 0; --level)
        sweeps_.emplace_back(*this, level, level + 1 < count ? &sweeps_.back() : nullptr);
  }
  CandidateLevels(const CandidateLevels&) = delete;

  void reserve(Arena& arena) {
    for (Sweep& sweep : sweeps_) sweep.reserve(arena);
    nothing_ = reserve_with_margin<TileRecord>(arena, 1);
  }
  void fill_memory() {
    if (!sizes_.empty())
      std::memset(reinterpret_cast<std::byte*>(const_cast<TileRecord*>(nothing_)) - tile_margin, 0,
                  sizeof(TileRecord) + 2 * tile_margin);
  }

  // Decides all pixels of the pair that the strips describe.
  void run(const LabelLevel& coarser, bool mirrored, Wanted wanted, const Workers& workers,
           const Decide& decide) {
    coarser_ = coarser;
    mirrored_ = mirrored;
    const Size tiles = tile_count(sizes_.front());
    // A band begins where a tile of the coarser level does, so that fewer of those are computed twice.
    const auto first_row = [&](int band) {
      return std::min(tiles.height, round_up(tiles.height * band / bands_, 2));
    };
    const int strips = divide_round_up(tiles.width, strip_columns_);
    workers.for_each(bands_ * strips, [&](int part, int slot) {
      const int band = part / strips, column = part % strips * strip_columns_;
      const Range rows{first_row(band), first_row(band + 1)};
      Sweep& finest = sweep(slot, 0);
      finest.begin(rows, {column, std::min(column + strip_columns_, tiles.width)});
      for (int row = rows.first; row < rows.last; ++row) {
        stop_if_cancelled();
        finest.finish_through(row + 1);
        finest.decide(row, wanted, [&](int x, const TileDecision* found) { decide(x, row, found); });
      }
    });
  }

 private:
  // A level in the band and the strip of one thread.
  class Sweep {
   public:
    Sweep(const CandidateLevels& all, int level, Sweep* coarser)
        : all_(all),
          level_(level),
          coarser_(coarser),
          size_(all.sizes_[to_size(level)]),
          tiles_(tile_count(size_)),
          max_columns_(all.computed_columns(level)) {
      rows_.resize(to_size(std::min(tiles_.height, all.max_iterations(level) + 3)));
    }

    void reserve(Arena& arena) {
      const auto tiles = to_size(max_columns_);
      const std::size_t labels = tiles * max_candidates();
      for (TileRow& row : rows_) {
        row.spans = arena.reserve<TileSpan>(tiles);
        row.labels = arena.reserve<std::uint16_t>(labels);
        row.records = reserve_with_margin<TileRecord>(arena, labels);
        for (const TileMessages**& pointers : row.around)
          pointers = arena.reserve<const TileMessages*>(labels);
        for (int table = 0; table < tables(); ++table)
          row.edges[table] = reserve_with_margin<TileMessages>(arena, tiles);
      }
      beliefs_ = arena.reserve<std::uint8_t>(max_candidates() * tile_lanes);
      if (level_ > 0) best_ = arena.reserve_plane<std::uint16_t>(size_);
      parents_ = arena.reserve<const TileMessages*>(max_candidates());
      edge_rows_ = arena.reserve<std::uint8_t>(to_size(tables() * edge_rows * edge_pitch()));
      for (std::uint8_t*& strip : edge_strips_)
        strip = arena.reserve<std::uint8_t>(to_size(edge_pitch() * tile_side));
    }

    // Prepares to compute tiles and what they depend on.
    void begin(Range rows, Range columns) {
      iterations_ = all_.model_.iterations(to_size(level_), all_.mirrored_);
      gray_ = all_.edges_.gray(to_size(level_));
      own_columns_ = {columns.first, std::min(columns.last, tiles_.width)};
      computed_rows_ = reached_from(rows, tiles_.height);
      columns_ = reached_from(columns, tiles_.width);
      entered_ = finished_ = decided_ = computed_rows_.first;
      if (coarser_ != nullptr) coarser_->begin(parents_of(computed_rows_), parents_of(columns_));
    }

    // Runs all iterations on the rows up to this one.
    void finish_through(int row) {
      const int last = std::min(row, computed_rows_.last - 1);
      while (finished_ <= last) advance();
    }

    // Also finds the best labels of those rows.
    void decide_through(int row) {
      const int last = std::min(row, computed_rows_.last - 1);
      for (; decided_ <= last; ++decided_) {
        finish_through(decided_ + 1);
        decide(decided_, Wanted::labels, [&](int tile_x, const TileDecision* found) {
          for_each_pixel(tile_x, decided_, size_, [&](int x, int y, int colour, int lane) {
            best_.at(x, y) = label_of(found[colour], lane);
          });
        });
      }
    }

    // Calls take(tile_x, decisions by colour) for a row of tiles. The row and the next one must be finished.
    template <class Take>
    void decide(int row, Wanted wanted, const Take& take) {
      TileDecision found[2] = {};
      for (int x = own_columns_.first; x < own_columns_.last; ++x) {
        const TileLabels tile = at(row).tile(x - columns_.first);
        for (int colour = 0; colour < 2; ++colour) {
          decide_tile(tile, colour, wanted, beliefs_, found[colour]);
          if (has_rows()) count_rows(row, x - columns_.first, found[colour]);
        }
        take(x, found);
      }
    }

   private:
    bool has_rows() const { return all_.model_.row_offsets > 1; }
    int tables() const { return has_rows() ? edge_tables : row_bounds; }

    // Counts row offsets from the lowest of all on, instead of those of the tile.
    void count_rows(int row, int tile, TileDecision& found) {
      const TileSpan& span = at(row).spans[tile];
      const auto first = static_cast<std::uint8_t>(span.candidates.row_offsets.first);
      for (int lane = 0; lane < tile_lanes; ++lane)
        found.rows[lane] =
            static_cast<std::uint8_t>(span.row_offsets() == 1 ? first : first + found.rows[lane]);
      if (span.row_offsets() > 1) return;
      std::fill_n(found.row_before, tile_lanes, no_belief);
      std::fill_n(found.row_after, tile_lanes, no_belief);
    }
    std::uint16_t label_of(const TileDecision& found, int lane) const {
      const int row = has_rows() ? found.rows[lane] * all_.model_.disparities() : 0;
      return static_cast<std::uint16_t>(row + found.labels[lane]);
    }

    // A tile may have all labels, because ranges are joined.
    std::size_t max_candidates() const {
      return to_size(all_.model_.labels + (has_rows() ? all_.model_.row_offsets : 0));
    }

    static int divide_round_down(int pixels) { return pixels >= 0 ? pixels / tile_side : -1; }
    // The tiles of the pixels that the messages and the decisions of some tiles depend on, in either
    // dimension.
    Range reached_from(Range tiles, int end) const {
      const int reach = iterations_ + 1;
      return {std::max(0, divide_round_down(tiles.first * tile_side - reach)),
              std::min(end, divide_round_up(tiles.last * tile_side + reach, tile_side))};
    }
    // The tiles of the parents of the pixels of some tiles, and of those next to them.
    static Range parents_of(Range tiles) {
      return {divide_round_down(std::max(0, tiles.first * tile_side / 2 - 1)),
              divide_round_up(tiles.last * tile_side / 2 + 1, tile_side)};
    }

    TileRow& at(int row) { return rows_[to_size(row) % rows_.size()]; }
    bool computes(int row) const { return row >= computed_rows_.first && row < computed_rows_.last; }
    int width() const { return columns_.last - columns_.first; }

    // Tiles are counted from the first column of the strip on from here.

    void advance() {
      if (entered_ < computed_rows_.last) enter(entered_);
      for (int iteration = 0; iteration < iterations_; ++iteration) {
        const int row = entered_ - 1 - iteration;
        if (!computes(row)) continue;
        const TileRow& tiles = at(row);
        for (int x = 0; x < width(); ++x) {
          const TileMessages* edges[edge_tables] = {};
          for (int table = 0; table < tables(); ++table) edges[table] = &tiles.edges[table][x];
          update_tile(tiles.tile(x), (iteration + 1) % 2, edges, static_cast<int>(all_.model_.row_slope));
        }
      }
      ++entered_;
      finished_ = std::max(computed_rows_.first, entered_ - iterations_);
    }

    // Makes candidates, data costs and first messages of a row.
    void enter(int row) {
      if (coarser_ != nullptr) coarser_->decide_through(row / 2 + 1);
      find_candidates(row);
      find_edges(row);
      for (int x = 0; x < width(); ++x) connect(row, x);
      for (int x = 0; x < width(); ++x) {
        write_costs(row, x);
        start_messages(row, x);
      }
    }

    View<const std::uint16_t> best_of_parents() const {
      return coarser_ != nullptr ? coarser_->best_ : all_.coarser_.best;
    }

    void find_candidates(int row) {
      const BeliefPropagationParameters& p = all_.model_.parameters;
      const View<const std::uint16_t> best = best_of_parents();
      const LabelRange rows = parents_of_tile(row, best.size.height);
      const TileRow& tiles = at(row);
      std::size_t end = 0;
      for (int tile = 0; tile < width(); ++tile) {
        const LabelRange columns = parents_of_tile(columns_.first + tile, best.size.width);
        LabelSet claims(p.disparities);
        LabelRange row_offsets = has_rows() ? no_labels : LabelRange{0, 1};
        for (int y = rows.first; y < rows.last; ++y) {
          for (int x = columns.first; x < columns.last; ++x) {
            const int label = best.at(x, y), v = has_rows() ? label / p.disparities : 0;
            claims.add(label - v * p.disparities);
            row_offsets.include(v);
          }
        }
        TileSpan& span = tiles.spans[tile];
        span.candidates = {candidate_ranges(claims, p.candidate_slack, p.disparities, p.candidate_ranges),
                           row_offsets};
        span.first = end;
        for (const LabelRange range : span.candidates.disparities)
          for (int label = range.first; label < range.last; ++label)
            tiles.labels[end++] = static_cast<std::uint16_t>(label);
        span.count = static_cast<int>(end - span.first);
        end = span.first + to_size(at(row).tile(tile).all());
      }
    }

    // Rows of edges: to the left, and above, those of the row below included.
    static constexpr int edge_rows = tile_side + tile_side + 1;
    // The first rows of the edges to the left, above, and below.
    static constexpr int first_edge_rows[] = {0, tile_side, tile_side + 1};
    int edge_pitch() const { return max_columns_ * tile_side + 2 * widest_vector_bytes; }
    std::uint8_t* edge_row(int table, int row) const {
      return edge_rows_ + (table * edge_rows + row) * edge_pitch();
    }

    // Costs of the tiles' edges; 0 at pixels beyond the image, which then send zeros.
    void find_edges(int row) {
      for (int i = 0; i < tile_side; ++i) write_edges(row * tile_side + i, 1, 0, i);
      for (int i = 0; i <= tile_side; ++i) write_edges(row * tile_side + i, 0, 1, tile_side + i);
      for (int table = 0; table < tables(); ++table) {
        for (int i = 0; i < 3; ++i)
          transpose_rows(edge_row(table, first_edge_rows[i]), edge_pitch(), width() * tile_side + 1,
                         edge_strips_[i]);
        for (int tile = 0; tile < width(); ++tile) {
          TileMessages& edges = at(row).edges[table][tile];
          const std::uint8_t *across = edge_strips_[0] + tile * tile_pixels,
                             *up = edge_strips_[1] + tile * tile_pixels,
                             *down = edge_strips_[2] + tile * tile_pixels;
          split_edges({up, down, across, across + tile_side}, edges);
          if (!is_whole(row, tile)) clear_beyond(row, tile, edges, 2);
        }
      }
    }

    // Writes a row of edges between pixels and those before them. There are no image edges beyond the border.
    void write_edges(int y, int step_x, int step_y, int to) {
      const int first = columns_.first * tile_side,
                last = std::min(columns_.last * tile_side, size_.width) + step_x;
      const std::int32_t* costs = all_.edge_table_.data();
      const auto write_none = [&](int begin, int end) {
        for (int table = 0; table < tables(); ++table)
          std::fill(edge_row(table, to) - first + begin, edge_row(table, to) - first + end,
                    static_cast<std::uint8_t>(costs[0] >> 8 * table));
      };
      if (gray_.empty() || y < step_y || y >= size_.height) return write_none(first, last);
      const int begin = std::max(first, step_x), end = std::min(last, size_.width);
      write_none(first, begin);
      EdgeRow edges{gray_.row(y) + begin, gray_.row(y - step_y) - step_x + begin, end - begin, costs, {}};
      for (int table = 0; table < tables(); ++table) edges.out[table] = edge_row(table, to) - first + begin;
      write_edge_row(edges);
      write_none(end, last);
    }

    // Finds the messages of the tiles around, for a tile and the one above it.
    void connect(int row, int tile) {
      connect(row, tile, left, row, tile - 1);
      connect(row, tile, right, row, tile + 1);
      connect(row, tile, above, row - 1, tile);
      if (row > computed_rows_.first) connect(row - 1, tile, below, row, tile);
      if (row + 1 == computed_rows_.last) connect(row, tile, below, row + 1, tile);
    }

    void connect(int row, int tile, int side, int other_row, int other_tile) {
      const TileRow& here = at(row);
      const TileSpan& span = here.spans[tile];
      const TileMessages** out = here.around[side] + span.first;
      if (computes(other_row) && other_tile >= 0 && other_tile < width())
        find_messages(span, at(other_row), other_tile, out);
      else
        std::fill_n(out, here.tile(tile).all(), &all_.nothing_->messages);
    }

    // Calls each(row offset, its labels) for the row offsets of a tile.
    template <class Each>
    void for_row_offsets(int row, int tile, const Each& each) {
      const LabelRange row_offsets = at(row).spans[tile].candidates.row_offsets;
      const TileLabels all = at(row).tile(tile);
      TileLabels labels = all;
      labels.row_offsets = 1;
      labels.has_others = false;
      for (int v = row_offsets.first; v < row_offsets.last; ++v, labels.records += all.pitch())
        each(v, labels);
    }

    void write_costs(int row, int tile) {
      const int strips = level_ == 0 ? 1 : 2;
      const int column = (columns_.first + tile) * tile_side * strips;
      for_row_offsets(row, tile, [&](int v, const TileLabels& labels) {
        StripCosts costs[2];
        for (int i = 0; i < strips; ++i) costs[i] = all_.strips_.costs(row * strips + i, v);
        write_tile_costs(costs, column, labels, level_ > 0);
      });
    }

    void start_messages(int row, int tile) {
      const TileLabels all = at(row).tile(tile);
      const int x = columns_.first + tile;
      if (coarser_ != nullptr)
        find_messages(at(row).spans[tile], coarser_->at(row / 2), x / 2 - coarser_->columns_.first, parents_);
      for_row_offsets(row, tile, [&](int v, const TileLabels& labels) {
        if (coarser_ != nullptr)
          start_from_tile(parents_ + (labels.records - all.records), x % 2 * 2 * tile_side + row % 2 * 4,
                          labels);
        else
          start_from_planes(parent_planes(row, x, v), labels);
        if (all.has_others) labels.records[labels.count].messages = at(row).edges[truncations][tile];
      });
      // The first messages of pixels beyond the image must be zeros, as all others are.
      if (is_whole(row, tile)) return;
      for (int k = 0; k < all.all(); ++k) clear_beyond(row, tile, all.records[k].messages, 1);
    }

    bool is_whole(int row, int tile) const {
      return (columns_.first + tile + 1) * tile_side <= size_.width && (row + 1) * tile_side <= size_.height;
    }

    // Clears the values of the first colours at pixels beyond the image.
    void clear_beyond(int row, int tile, TileMessages& values, int colours) const {
      for (int colour = 0; colour < colours; ++colour) {
        for (int lane = 0; lane < tile_lanes; ++lane) {
          const auto [x, y] = pixel_of(columns_.first + tile, row, colour, lane);
          if (x < size_.width && y < size_.height) continue;
          for (auto& of : values.of[colour]) of[lane] = 0;
        }
      }
    }

    // Rows beyond the level, which have no pixels among the children, are given as its last row.
    ParentPlanes parent_planes(int row, int tile, int row_offset) const {
      const LabelLevel& from = all_.coarser_;
      ParentPlanes planes;
      planes.stride = from.stride;
      for (int y = 0; y < 4; ++y) {
        const int v = std::min(4 * row + y, from.size.height - 1);
        for (int parity = 0; parity < 2; ++parity)
          for (int d = 0; d < direction_count; ++d)
            planes.first[y][parity][d] = from.plane(v, (v + parity) % 2, d) + 2 * tile +
                                         row_offset * all_.model_.disparities() * from.stride;
      }
      return planes;
    }

    const CandidateLevels& all_;
    int level_;
    Sweep* coarser_;  // null for the coarsest level with candidates
    Size size_, tiles_;
    std::vector<TileRow> rows_;
    std::uint8_t* beliefs_ = nullptr;
    const TileMessages** parents_ = nullptr;  // messages above a tile, for each candidate
    View<std::uint16_t> best_;
    int iterations_ = 0;
    View<const std::uint16_t> gray_;     // empty where all edges are alike
    std::uint8_t* edge_rows_ = nullptr;  // [EdgeTable][row][edge_pitch()]
    std::uint8_t* edge_strips_[3] = {};  // transposed: of the edges to the left, above, and below
    int max_columns_;
    Range own_columns_{}, computed_rows_{}, columns_{};  // ranges of tiles
    int entered_ = 0, finished_ = 0, decided_ = 0;
  };

  Sweep& sweep(int slot, int level) {
    const auto count = static_cast<int>(sizes_.size());
    return sweeps_[to_size(slot * count + count - 1 - level)];
  }
  // The larger number of both matches.
  int max_iterations(int level) const {
    const auto index = to_size(level);
    return std::max(model_.iterations(index, false), model_.iterations(index, true));
  }
  // Tiles in a row of a strip and beyond it, as far as iterations reach, at most.
  int computed_columns(int level) const {
    // A strip begins and ends anywhere in a tile of the coarser level, and needs the pixels next to it.
    const int own = level == 0 ? strip_columns_ : computed_columns(level - 1) / 2 + 2;
    const int reach = divide_round_up(max_iterations(level) + 1, tile_side);
    return std::min(own + 2 * reach, tile_count(sizes_[to_size(level)]).width);
  }

  const Model& model_;
  const Strips& strips_;
  const Edges& edges_;
  std::vector<Size> sizes_;  // sizes of the levels with candidates, the finest first
  int bands_ = 0;
  int strip_columns_ = 0;                 // tiles of the finest level in a strip
  std::vector<Sweep> sweeps_;             // [slot][level]
  std::vector<std::int32_t> edge_table_;  // a byte of each EdgeTable, the first one lowest
  const TileRecord* nothing_ = nullptr;   // messages from beyond the border
  LabelLevel coarser_{};
  bool mirrored_ = false;
};

}  // namespace parallax::belief_propagation
