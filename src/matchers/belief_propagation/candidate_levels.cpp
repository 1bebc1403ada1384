// SPDX-License-Identifier: Apache-2.0
#include "matchers/belief_propagation/candidate_levels.h"

#include <algorithm>
#include <cstring>

#include "core/round_up.h"

namespace parallax::belief_propagation {

// Where the candidates of a tile are in those of its row.
struct TileSpan {
  std::size_t first;
  int count;
};

struct TileRow {
  TileSpan* spans;  // by tile
  std::uint16_t* labels;
  TileRecord* records;
  const TileMessages** around[direction_count];
  TileMessages *slopes, *truncations;  // by tile

  TileLabels tile(int x) const {
    const auto [first, count] = spans[x];
    return {count,
            labels + first,
            records + first,
            {around[above] + first, around[below] + first, around[left] + first, around[right] + first}};
  }
};

namespace {

// The lane of a pixel of a tile, and its colour.
struct Lane {
  int colour, index;
};
constexpr Lane lane_of(int x, int y) {
  return {(x + y) % 2, x / 2 * tile_side + y};
}

// Points each candidate of a tile at its record in the tile on one side, or at the bounds of that tile's
// messages if the label is no candidate there.
void connect(const TileRow& row, int tile, int side, const TileRow& other_row, int other) {
  const TileSpan own = row.spans[tile], theirs = other_row.spans[other];
  const std::uint16_t *labels = row.labels + own.first, *other_labels = other_row.labels + theirs.first;
  const TileMessages** out = row.around[side] + own.first;
  for (int i = 0, j = 0; i < own.count; ++i) {
    while (j < theirs.count && other_labels[j] < labels[i]) ++j;
    const bool has = j < theirs.count && other_labels[j] == labels[i];
    out[i] = has ? &other_row.records[theirs.first + static_cast<std::size_t>(j)].messages
                 : &other_row.truncations[other];
  }
}

template <class T>
T* reserve_with_margin(Arena& arena, std::size_t count) {
  std::byte* memory = arena.reserve<std::byte>(count * sizeof(T) + 2 * tile_margin);
  return memory == nullptr ? nullptr : reinterpret_cast<T*>(memory + tile_margin);
}

}  // namespace

// A level in the band of one thread.
class CandidateLevels::Sweep {
 public:
  Sweep(const CandidateLevels& all, int level, Sweep* coarser)
      : all_(all),
        level_(level),
        coarser_(coarser),
        size_(all.sizes_[static_cast<std::size_t>(level)]),
        tiles_(tile_count(size_)) {
    const BeliefPropagationParameters& p = all.model_.parameters;
    const int spread = std::min(p.disparities, 2 * p.candidate_slack + 1);
    most_candidates_ =
        p.candidate_ranges < most_parents ? p.disparities : std::min(p.disparities, spread * most_parents);
    const std::size_t level_index = static_cast<std::size_t>(level);
    const int iterations =
        std::max(all.model_.iterations(level_index, false), all.model_.iterations(level_index, true));
    rows_.resize(static_cast<std::size_t>(std::min(tiles_.height, iterations + 4)));
  }

  void reserve(Arena& arena) {
    const auto tiles = static_cast<std::size_t>(tiles_.width);
    const std::size_t labels = tiles * static_cast<std::size_t>(most_candidates_);
    for (TileRow& row : rows_) {
      row.spans = arena.reserve<TileSpan>(tiles);
      row.labels = arena.reserve<std::uint16_t>(labels);
      row.records = reserve_with_margin<TileRecord>(arena, labels);
      for (const TileMessages**& pointers : row.around) pointers = arena.reserve<const TileMessages*>(labels);
      row.slopes = reserve_with_margin<TileMessages>(arena, tiles);
      row.truncations = reserve_with_margin<TileMessages>(arena, tiles);
    }
    beliefs_ = arena.reserve<std::uint8_t>(static_cast<std::size_t>(most_candidates_) * tile_lanes);
    if (level_ > 0) best_ = arena.reserve_plane<std::uint16_t>(size_);
  }

  // Prepares to compute the rows of tiles [first, last) and what they depend on.
  void begin(int first, int last) {
    iterations_ = all_.model_.iterations(static_cast<std::size_t>(level_), all_.mirrored_);
    // Pixels of these rows that a decision needs, and those that its messages depend on.
    const int reach = iterations_ + 1;
    first_ = std::max(0, divide_round_down(first * tile_side - reach));
    last_ = std::min(tiles_.height, divide_round_up(last * tile_side + reach, tile_side));
    entered_ = first_;
    finished_ = decided_ = first_;
    if (coarser_ == nullptr) return;
    // Parents of the pixels, and those next to them.
    const int above = first_ * tile_side / 2 - 1, below = last_ * tile_side / 2 + 1;
    coarser_->begin(divide_round_down(std::max(0, above)), divide_round_up(below, tile_side));
  }

  // Runs all iterations on the rows up to this one.
  void finish_through(int row) {
    const int last = std::min(row, last_ - 1);
    while (finished_ <= last) advance();
  }

  // Also finds the best labels of those rows.
  void decide_through(int row) {
    const int last = std::min(row, last_ - 1);
    for (; decided_ <= last; ++decided_) {
      finish_through(decided_ + 1);
      decide(decided_, false, [&](int tile_x, int colour, const TileLabels& tile, const TileDecision& found) {
        for (int lane = 0; lane < tile_lanes; ++lane) {
          const int x = tile_x * tile_side + 2 * (lane / tile_side) + (lane + colour) % 2,
                    y = decided_ * tile_side + lane % tile_side;
          if (x < size_.width && y < size_.height) best_.at(x, y) = tile.labels[found.index[lane]];
        }
      });
    }
  }

  // The row and the next one must be finished.
  template <class Take>
  void decide(int row, bool around, const Take& take) {
    TileDecision found;
    for (int x = 0; x < tiles_.width; ++x) {
      const TileLabels tile = at(row).tile(x);
      for (int colour = 0; colour < 2; ++colour) {
        decide_tile(tile, colour, around, beliefs_, found);
        take(x, colour, tile, found);
      }
    }
  }

 private:
  static int divide_round_down(int pixels) { return pixels >= 0 ? pixels / tile_side : -1; }

  TileRow& at(int row) { return rows_[static_cast<std::size_t>(row) % rows_.size()]; }
  bool computes(int row) const { return row >= first_ && row < last_; }

  void advance() {
    if (entered_ < last_) enter(entered_);
    for (int iteration = 0; iteration < iterations_; ++iteration) {
      const int row = entered_ - 1 - iteration;
      if (!computes(row)) continue;
      const TileRow& tiles = at(row);
      for (int x = 0; x < tiles_.width; ++x)
        update_tile(tiles.tile(x), (iteration + 1) % 2, tiles.slopes[x], tiles.truncations[x]);
    }
    ++entered_;
    finished_ = std::max(first_, entered_ - iterations_);
  }

  // Makes candidates, data costs and first messages of a row.
  void enter(int row) {
    if (coarser_ != nullptr) coarser_->decide_through(row / 2 + 1);
    find_candidates(row);
    for (int x = 0; x < tiles_.width; ++x) find_edges(row, x);
    for (int x = 0; x < tiles_.width; ++x) connect_tile(row, x);
    for (int x = 0; x < tiles_.width; ++x) {
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
    for (int tile = 0; tile < tiles_.width; ++tile) {
      const LabelRange columns = parents_of_tile(tile, best.size.width);
      std::array<int, most_parents> claims;
      int count = 0;
      for (int y = rows.first; y < rows.last; ++y)
        for (int x = columns.first; x < columns.last; ++x)
          claims[static_cast<std::size_t>(count++)] = best.at(x, y);
      tiles.spans[tile].first = end;
      for (const LabelRange range : candidate_ranges(claims.data(), claims.data() + count, p.candidate_slack,
                                                     p.disparities, p.candidate_ranges))
        for (int label = range.first; label < range.last; ++label)
          tiles.labels[end++] = static_cast<std::uint16_t>(label);
      tiles.spans[tile].count = static_cast<int>(end - tiles.spans[tile].first);
    }
  }

  // Slopes and truncations of the edges of a tile; 0 at pixels beyond the image, which then send zeros.
  void find_edges(int row, int tile) {
    const View<const std::uint16_t> gray = all_.edges_.gray(static_cast<std::size_t>(level_));
    TileMessages &slopes = at(row).slopes[tile], &truncations = at(row).truncations[tile];
    const int left_x = tile * tile_side, top_y = row * tile_side;
    constexpr int step_x[] = {0, 0, -1, 1}, step_y[] = {-1, 1, 0, 0};
    for (int y = 0; y < tile_side; ++y) {
      for (int x = 0; x < tile_side; ++x) {
        const auto [colour, lane] = lane_of(x, y);
        const int u = left_x + x, v = top_y + y;
        const bool inside = u < size_.width && v < size_.height;
        for (int d = 0; d < direction_count; ++d) {
          const int i = u + step_x[d], j = v + step_y[d];
          const bool has_neighbour = i >= 0 && j >= 0 && i < size_.width && j < size_.height;
          const int difference = inside && has_neighbour && !gray.empty() ? gray.at(u, v) - gray.at(i, j) : 0;
          const auto edge = static_cast<std::size_t>(edge_index(std::abs(difference)));
          slopes.of[colour][d][lane] = inside ? static_cast<std::uint8_t>(all_.model_.slopes[edge]) : 0;
          truncations.of[colour][d][lane] =
              inside ? static_cast<std::uint8_t>(all_.model_.truncations[edge]) : 0;
        }
      }
    }
  }

  void connect_tile(int row, int tile) {
    const TileRow& here = at(row);
    const auto beyond_border = [&](const TileRow& tiles, int side) {
      std::fill_n(tiles.around[side] + tiles.spans[tile].first, tiles.spans[tile].count,
                  &all_.nothing_->messages);
    };
    if (tile > 0)
      connect(here, tile, left, here, tile - 1);
    else
      beyond_border(here, left);
    if (tile + 1 < tiles_.width)
      connect(here, tile, right, here, tile + 1);
    else
      beyond_border(here, right);
    beyond_border(here, below);
    if (row == first_) return beyond_border(here, above);
    connect(here, tile, above, at(row - 1), tile);
    connect(at(row - 1), tile, below, here, tile);
  }

  void write_costs(int row, int tile) {
    TileCosts costs{};
    all_.features_.set_tile_costs(costs);
    const int strips = level_ == 0 ? 1 : 2;
    for (int i = 0; i < strips; ++i) {
      costs.left[i] = all_.features_.strip(0, row * strips + i);
      costs.right[i] = all_.features_.strip(1, row * strips + i);
    }
    costs.column = tile * tile_side * strips;
    write_tile_costs(costs, at(row).tile(tile), level_ > 0);
  }

  void start_messages(int row, int tile) {
    const TileLabels labels = at(row).tile(tile);
    std::uint8_t parents[16];
    const bool whole = (tile + 1) * tile_side <= size_.width && (row + 1) * tile_side <= size_.height;
    for (int k = 0, parent = 0; k < labels.count; ++k) {
      if (coarser_ != nullptr) parent = coarser_->find(row / 2, tile / 2, labels.labels[k], parent);
      for (int d = 0; d < direction_count; ++d) {
        if (coarser_ != nullptr)
          coarser_->get_quarter(row, tile, parent, labels.labels[k], d, parents);
        else
          get_parents(row, tile, labels.labels[k], d, parents);
        start_tile(parents, labels.records[k].messages.of[0][d]);
        if (!whole) clear_beyond(row, tile, labels.records[k].messages.of[0][d]);
      }
    }
  }

  void clear_beyond(int row, int tile, std::uint8_t* messages) const {
    for (int lane = 0; lane < tile_lanes; ++lane) {
      const int x = tile * tile_side + 2 * (lane / tile_side) + lane % 2,
                y = row * tile_side + lane % tile_side;
      if (x >= size_.width || y >= size_.height) messages[lane] = 0;
    }
  }

  // The first candidate of a tile, from `k` on, that is not below this label.
  int find(int row, int tile, int label, int k) {
    const TileLabels labels = at(row).tile(tile);
    while (k < labels.count && labels.labels[k] < label) ++k;
    return k;
  }

  // Messages of the quarter of a tile that is under a tile of the next finer level, by column.
  void get_quarter(int child_row, int child_tile, int k, int label, int direction, std::uint8_t* out) {
    const TileRow& tiles = at(child_row / 2);
    const TileLabels tile = tiles.tile(child_tile / 2);
    const bool has = k < tile.count && tile.labels[k] == label;
    const TileMessages& messages = has ? tile.records[k].messages : tiles.truncations[child_tile / 2];
    const int half_column = child_tile % 2 * 2, top = child_row % 2 * 4;
    for (int i = 0; i < 2; ++i) {
      const int lane = (half_column + i) * tile_side + top;
      const std::uint8_t *even = messages.of[0][direction] + lane, *odd = messages.of[1][direction] + lane;
      for (int y = 0; y < 4; ++y) {
        out[8 * i + y] = y % 2 == 0 ? even[y] : odd[y];
        out[8 * i + 4 + y] = y % 2 == 0 ? odd[y] : even[y];
      }
    }
  }

  // The same of the level on which all labels are considered. Beyond it, any values.
  void get_parents(int row, int tile, int label, int direction, std::uint8_t* out) const {
    const LabelLevel& from = all_.coarser_;
    for (int y = 0; y < 4; ++y) {
      const int v = std::min(4 * row + y, from.size.height - 1);
      for (int parity = 0; parity < 2; ++parity) {
        const std::uint8_t* plane =
            from.plane(v, (v + parity) % 2, direction) + label * from.stride + 2 * tile;
        out[4 * parity + y] = plane[0];
        out[4 * parity + 8 + y] = plane[1];
      }
    }
  }

  const CandidateLevels& all_;
  int level_;
  Sweep* coarser_;  // null for the coarsest level with candidates
  Size size_, tiles_;
  int most_candidates_;
  std::vector<TileRow> rows_;
  std::uint8_t* beliefs_ = nullptr;
  View<std::uint16_t> best_;
  int iterations_ = 0;
  int first_ = 0, last_ = 0;  // rows of tiles in this band
  int entered_ = 0, finished_ = 0, decided_ = 0;
};

CandidateLevels::CandidateLevels(const Model& model, const std::vector<Size>& sizes, int count,
                                 const Features& features, const Edges& edges, int slots)
    : model_(model), features_(features), edges_(edges), sizes_(sizes.begin(), sizes.begin() + count) {
  sweeps_.reserve(static_cast<std::size_t>(slots * count));  // sweeps point to each other
  for (int slot = 0; slot < slots; ++slot)
    for (int level = count - 1; level >= 0; --level)
      sweeps_.emplace_back(*this, level, level + 1 < count ? &sweeps_.back() : nullptr);
}

CandidateLevels::~CandidateLevels() = default;

CandidateLevels::Sweep& CandidateLevels::sweep(int slot, int level) {
  const auto count = static_cast<int>(sizes_.size());
  return sweeps_[static_cast<std::size_t>(slot * count + count - 1 - level)];
}

void CandidateLevels::reserve(Arena& arena) {
  for (Sweep& sweep : sweeps_) sweep.reserve(arena);
  nothing_ = reserve_with_margin<TileRecord>(arena, 1);
}

void CandidateLevels::fill_memory() {
  if (!sizes_.empty())
    std::memset(reinterpret_cast<std::byte*>(const_cast<TileRecord*>(nothing_)) - tile_margin, 0,
                sizeof(TileRecord) + 2 * tile_margin);
}

void CandidateLevels::run(const LabelLevel& coarser, bool mirrored, bool around, const Workers& workers,
                          const Decide& decide) {
  coarser_ = coarser;
  mirrored_ = mirrored;
  const int rows = tile_count(sizes_.front()).height;
  constexpr int least_rows = 4;
  const int bands = std::clamp(rows / least_rows, 1, workers.slots());
  workers.for_each(bands, [&](int band, int slot) {
    const int first = rows * band / bands, last = rows * (band + 1) / bands;
    Sweep& finest = sweep(slot, 0);
    finest.begin(first, last);
    for (int row = first; row < last; ++row) {
      finest.finish_through(row + 1);
      finest.decide(row, around, [&](int x, int colour, const TileLabels& tile, const TileDecision& found) {
        decide(x, row, colour, tile, found);
      });
    }
  });
}

}  // namespace parallax::belief_propagation
