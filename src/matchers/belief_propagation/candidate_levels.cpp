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

// Points each label at the messages that a tile has for it; at their bounds if it is no candidate there.
void find_messages(const TileLabels& labels, const TileRow& row, int tile, const TileMessages** out) {
  const TileLabels from = row.tile(tile);
  for (int i = 0, k = 0; i < labels.count; ++i) {
    while (k < from.count && from.labels[k] < labels.labels[i]) ++k;
    const bool has = k < from.count && from.labels[k] == labels.labels[i];
    out[i] = has ? &from.records[k].messages : &row.truncations[tile];
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
    const std::size_t level_index = static_cast<std::size_t>(level);
    const int iterations =
        std::max(all.model_.iterations(level_index, false), all.model_.iterations(level_index, true));
    rows_.resize(static_cast<std::size_t>(std::min(tiles_.height, iterations + 4)));
  }

  void reserve(Arena& arena) {
    const auto tiles = static_cast<std::size_t>(tiles_.width);
    const std::size_t labels = tiles * most_candidates();
    for (TileRow& row : rows_) {
      row.spans = arena.reserve<TileSpan>(tiles);
      row.labels = arena.reserve<std::uint16_t>(labels);
      row.records = reserve_with_margin<TileRecord>(arena, labels);
      for (const TileMessages**& pointers : row.around) pointers = arena.reserve<const TileMessages*>(labels);
      row.slopes = reserve_with_margin<TileMessages>(arena, tiles);
      row.truncations = reserve_with_margin<TileMessages>(arena, tiles);
    }
    beliefs_ = arena.reserve<std::uint8_t>(most_candidates() * tile_lanes);
    if (level_ > 0) best_ = arena.reserve_plane<std::uint16_t>(size_);
    parents_ = arena.reserve<const TileMessages*>(most_candidates());
  }

  // Prepares to compute the rows of tiles [first, last) and what they depend on.
  void begin(int first, int last) {
    iterations_ = all_.model_.iterations(static_cast<std::size_t>(level_), all_.mirrored_);
    gray_ = all_.edges_.gray(static_cast<std::size_t>(level_));
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
          const auto [x, y] = pixel_of(tile_x, decided_, colour, lane);
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
  // Of a tile: joined ranges may have all labels.
  std::size_t most_candidates() const { return static_cast<std::size_t>(all_.model_.labels); }

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
    for (int x = 0; x < tiles_.width; ++x) connect(row, x);
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
      LabelSet claims;
      for (int y = rows.first; y < rows.last; ++y)
        for (int x = columns.first; x < columns.last; ++x) claims.add(best.at(x, y));
      tiles.spans[tile].first = end;
      for (const LabelRange range :
           candidate_ranges(claims, p.candidate_slack, p.disparities, p.candidate_ranges))
        for (int label = range.first; label < range.last; ++label)
          tiles.labels[end++] = static_cast<std::uint16_t>(label);
      tiles.spans[tile].count = static_cast<int>(end - tiles.spans[tile].first);
    }
  }

  // Slopes and truncations of the edges of a tile; 0 at pixels beyond the image, which then send zeros.
  void find_edges(int row, int tile) {
    const int left_x = tile * tile_side, top_y = row * tile_side;
    // Of the edges to the left and above, for the pixels of the tile and those to the right and below.
    std::uint16_t across[tile_side][tile_side + 1], down[tile_side + 1][tile_side];
    for (int y = 0; y < tile_side; ++y)
      for (int x = 0; x <= tile_side; ++x) across[y][x] = edge(left_x + x, top_y + y, 1, 0);
    for (int y = 0; y <= tile_side; ++y)
      for (int x = 0; x < tile_side; ++x) down[y][x] = edge(left_x + x, top_y + y, 0, 1);
    std::uint16_t edges[2][direction_count][tile_lanes];
    for (int y = 0; y < tile_side; ++y) {
      for (int x = 0; x < tile_side; ++x) {
        const auto [colour, lane] = lane_of(x, y);
        const bool inside = left_x + x < size_.width && top_y + y < size_.height;
        edges[colour][above][lane] = inside ? down[y][x] : 0;
        edges[colour][below][lane] = inside ? down[y + 1][x] : 0;
        edges[colour][left][lane] = inside ? across[y][x] : 0;
        edges[colour][right][lane] = inside ? across[y][x + 1] : 0;
      }
    }
    const std::uint16_t* from = edges[0][0];
    std::uint8_t *slopes = at(row).slopes[tile].of[0][0], *truncations = at(row).truncations[tile].of[0][0];
    for (std::size_t i = 0; i < sizeof(TileMessages); ++i) {
      slopes[i] = static_cast<std::uint8_t>(from[i]);
      truncations[i] = static_cast<std::uint8_t>(from[i] >> 8);
    }
  }

  // Slope and truncation, in the low and the high byte, of the edge between a pixel and the one before it.
  // There are no image edges beyond the border.
  std::uint16_t edge(int x, int y, int step_x, int step_y) const {
    const bool has_both = x >= step_x && y >= step_y && x < size_.width && y < size_.height;
    const int difference = has_both && !gray_.empty() ? gray_.at(x, y) - gray_.at(x - step_x, y - step_y) : 0;
    return all_.edge_table_[static_cast<std::size_t>(edge_index(std::abs(difference)))];
  }

  // Finds the messages of the tiles around, for a tile and the one above it.
  void connect(int row, int tile) {
    connect(row, tile, left, row, tile - 1);
    connect(row, tile, right, row, tile + 1);
    connect(row, tile, above, row - 1, tile);
    if (row > first_) connect(row - 1, tile, below, row, tile);
    if (row + 1 == last_) connect(row, tile, below, row + 1, tile);
  }

  void connect(int row, int tile, int side, int other_row, int other_tile) {
    const TileRow& here = at(row);
    const TileMessages** out = here.around[side] + here.spans[tile].first;
    if (computes(other_row) && other_tile >= 0 && other_tile < tiles_.width)
      find_messages(here.tile(tile), at(other_row), other_tile, out);
    else
      std::fill_n(out, here.spans[tile].count, &all_.nothing_->messages);
  }

  void write_costs(int row, int tile) {
    const int strips = level_ == 0 ? 1 : 2;
    StripCosts costs[2];
    for (int i = 0; i < strips; ++i) costs[i] = all_.strips_.costs(row * strips + i);
    write_tile_costs(costs, tile * tile_side * strips, at(row).tile(tile), level_ > 0);
  }

  void start_messages(int row, int tile) {
    const TileLabels labels = at(row).tile(tile);
    if (coarser_ != nullptr) {
      find_messages(labels, coarser_->at(row / 2), tile / 2, parents_);
      start_from_tile(parents_, tile % 2 * 2 * tile_side + row % 2 * 4, labels);
    } else {
      start_from_planes(parent_planes(row, tile), labels);
    }
    const bool whole = (tile + 1) * tile_side <= size_.width && (row + 1) * tile_side <= size_.height;
    if (!whole) clear_beyond(row, tile, labels);
  }

  // The first messages of pixels beyond the image must be zeros, as all others are.
  void clear_beyond(int row, int tile, const TileLabels& labels) const {
    for (int lane = 0; lane < tile_lanes; ++lane) {
      const auto [x, y] = pixel_of(tile, row, 0, lane);
      if (x < size_.width && y < size_.height) continue;
      for (int k = 0; k < labels.count; ++k)
        for (auto& messages : labels.records[k].messages.of[0]) messages[lane] = 0;
    }
  }

  // Rows beyond the level, which have no pixels among the children, are given as its last row.
  ParentPlanes parent_planes(int row, int tile) const {
    const LabelLevel& from = all_.coarser_;
    ParentPlanes planes;
    planes.stride = from.stride;
    for (int y = 0; y < 4; ++y) {
      const int v = std::min(4 * row + y, from.size.height - 1);
      for (int parity = 0; parity < 2; ++parity)
        for (int d = 0; d < direction_count; ++d)
          planes.first[y][parity][d] = from.plane(v, (v + parity) % 2, d) + 2 * tile;
    }
    return planes;
  }

  const CandidateLevels& all_;
  int level_;
  Sweep* coarser_;  // null for the coarsest level with candidates
  Size size_, tiles_;
  std::vector<TileRow> rows_;
  std::uint8_t* beliefs_ = nullptr;
  const TileMessages** parents_ = nullptr;  // of a tile, for each candidate
  View<std::uint16_t> best_;
  int iterations_ = 0;
  View<const std::uint16_t> gray_;  // empty where all edges are alike
  int first_ = 0, last_ = 0;        // rows of tiles in this band
  int entered_ = 0, finished_ = 0, decided_ = 0;
};

CandidateLevels::CandidateLevels(const Model& model, const std::vector<Size>& sizes, int count,
                                 const Strips& strips, const Edges& edges, int slots)
    : model_(model), strips_(strips), edges_(edges), sizes_(sizes.begin(), sizes.begin() + count) {
  for (std::size_t i = 0; i < edge_table_size && count > 0; ++i)
    edge_table_.push_back(static_cast<std::uint16_t>(static_cast<int>(model.slopes[i]) |
                                                     static_cast<int>(model.truncations[i]) << 8));
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
