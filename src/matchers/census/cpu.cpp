// SPDX-License-Identifier: Apache-2.0
// Census matching on the CPU: pyramids and signatures by rows, then the levels from the coarsest to the
// image, each by tiles of both images.

#include <algorithm>
#include <vector>

#include "core/gray.h"
#include "core/integers.h"
#include "devices/cpu/tuning.h"
#include "matchers/census/census.h"
#include "matchers/census/cpu_kernels.h"
#include "matchers/census/row_search.h"
#include "matchers/host_plan.h"

namespace parallax::census {
namespace {

// The best values depend on the machine; none changes a result.
const detail::Tunable rows_per_tile{
    "rows_per_tile", "Rows of a tile that a task searches", {8, 16, 32, max_tile_rows}};
const detail::Tunable labels_together{"labels_together", "Labels whose costs are computed at once", {4, 8}};

std::ptrdiff_t bordered_pitch(int width) {
  return round_up(width + 2 * row_border, row_border);
}

template <class T>
BorderedPlane<T> reserve_bordered(Size size, Arena& arena) {
  const std::ptrdiff_t pitch = bordered_pitch(size.width);
  T* first = arena.reserve<T>(to_size(pitch) * to_size(size.height));
  return {first == nullptr ? nullptr : first + row_border, size, pitch};
}

Signatures reserve_signatures(Size size, int bytes, bool with_gray, Arena& arena) {
  const std::ptrdiff_t pitch = bordered_pitch(size.width);
  const int planes = bytes + (with_gray ? 1 : 0);
  std::uint8_t* first = arena.reserve<std::uint8_t>(to_size(pitch) * to_size(planes) * to_size(size.height) +
                                                    2 * signature_margin);
  return {first == nullptr ? nullptr : first + signature_margin + row_border, size, bytes, planes, pitch};
}

// Data of one level of one image. Gray values have type T.
template <class T>
struct LevelPlanes {
  BorderedPlane<T> gray;
  View<std::uint8_t> mask;  // not 0 = valid
  Signatures signatures;
  View<std::uint16_t> labels;  // only for levels above the image
};

struct Scratch {
  std::byte* describe;
  TileMemory tile;
};

template <class T>
class Cpu final : public host::Plan, public CensusPlan {
 public:
  Cpu(const CensusParameters& parameters, int threads, const ImageFormat& format,
      const detail::Configuration& configuration)
      : host::Plan(parameters.refine, format.size, 0,
                   cpu::match_workers(threads, format.size, configuration)),
        CensusPlan(parameters, format.size),
        tile_rows_(configuration.value(rows_per_tile.name, usual_tile_rows)),
        batch_labels_(configuration.value(labels_together.name, max_batch_labels)),
        scratch_(to_size(workers_.slots())) {
    for (auto& planes : planes_) planes.resize(levels_.size());
    if (parameters.row_tolerance > 0)
      for (int side = 0; side < sides_searched(); ++side)
        row_searches_.emplace_back(levels_, side, parameters.row_prior);
    plan_memory(parameters.row_tolerance > 0);
  }

  detail::Footprint footprint() const {
    const Size tiles = tiles_of(levels_.front().size);
    const int costs = batch_labels_ * (tile_rows_ + parameters_.window - 1) * cost_pitch;
    const int states = state_planes * tile_rows_ * tile_lanes * static_cast<int>(sizeof(std::uint16_t));
    return cpu::footprint(sides_searched() * tiles.width * tiles.height, workers_, to_size(costs + states));
  }
  Stage stage(int level, int side) const override {
    const LevelPlanes<T>& planes = this->planes(level, side);
    const Size size = level_of(level).size;
    Stage stage = empty_stage(level, side);
    for (int y = 0; y < size.height; ++y) {
      std::copy_n(planes.gray.row(y), size.width, stage.gray.row(y));
      for (int byte = 0; byte < neighbourhood_.bytes(); ++byte)
        std::copy_n(planes.signatures.row(y, byte), size.width, stage.signature[to_size(byte)].row(y));
      for (int x = 0; estimates(level, side) && x < size.width; ++x) {
        const std::uint16_t label = planes.labels.at(x, y);
        stage.disparity.at(x, y) = label == no_label ? no_disparity : level_of(level).lowest + label;
      }
    }
    return stage;
  }

 private:
  const LevelPlanes<T>& planes(int level, int side) const { return planes_[side][to_size(level)]; }
  const Scratch& scratch(int slot) const { return scratch_[to_size(slot)]; }

  int sides_searched() const { return checks_left_right_ ? 2 : 1; }

  void reserve(Arena& arena) override {
    for (const int side : {left_side, right_side})
      for (std::size_t level = 0; level < levels_.size(); ++level) {
        const Size size = levels_[level].size;
        LevelPlanes<T>& planes = planes_[side][level];
        planes.gray = reserve_bordered<T>(size, arena);
        planes.mask = arena.reserve_plane<std::uint8_t>(size);
        planes.signatures = reserve_signatures(size, neighbourhood_.bytes(), with_gray(), arena);
        if (level > 0 && searches(side)) planes.labels = arena.reserve_plane<std::uint16_t>(size);
      }
    for (RowSearch& rows : row_searches_) rows.reserve(arena);
    for (Scratch& scratch : scratch_) reserve_scratch(scratch, arena);
  }

  void reserve_scratch(Scratch& scratch, Arena& arena) const {
    int labels = 0;
    for (const Level& level : levels_) labels = std::max(labels, level.labels);
    scratch.describe = arena.reserve<std::byte>(describe_scratch_bytes(size_.width));
    scratch.tile = {
        .costs =
            arena.reserve<std::uint8_t>(std::size_t{max_batch_labels} * cost_rows * cost_pitch + row_border),
        .row_sums = arena.reserve<std::uint16_t>(std::size_t{cost_rows} * tile_lanes),
        .states = arena.reserve<std::uint16_t>(std::size_t{state_planes} * max_tile_rows * tile_lanes),
        .wanted = arena.reserve<std::int32_t>(to_size(labels) + 3)};
  }

  void match(const StereoPair& pair, const DisparityMap& map, detail::StageClock& clock) override {
    take(pair);
    for (int level = 1; level < level_count(); ++level) halve(level);
    clock.finish("pyramid");
    for (int level = 0; level < level_count(); ++level) describe(level);
    clock.finish("transform");
    for (int level = level_count() - 1; level > 0; --level) search(level, map);
    if (level_count() > 1) clock.finish("coarse_search");
    search(0, map);
    clock.finish("search");
  }

  // Calls body(side, y, slot) for every row of both images at a level.
  template <class Body>
  void for_rows_of_both(int level, const Body& body) const {
    const int height = level_of(level).size.height;
    for_rows(workers_, 2 * height, [&](int row, int slot) { body(row / height, row % height, slot); });
  }

  void take(const StereoPair& pair) {
    masked_[left_side] = !pair.left_mask.empty();
    masked_[right_side] = !pair.right_mask.empty();
    for_rows_of_both(0, [&](int side, int y, int) {
      const ImageView& image = side == left_side ? pair.left : pair.right;
      T* row = planes(0, side).gray.row(y);
      if constexpr (sizeof(T) == 1)
        gray_byte_row(image, y, row);
      else
        gray_row(image, y, row);
      repeat_border(row, image.format.size.width);
      if (!masked_[side]) return;
      const View<const std::uint8_t>& mask = side == left_side ? pair.left_mask : pair.right_mask;
      std::copy_n(mask.row(y), image.format.size.width, planes(0, side).mask.row(y));
    });
  }

  void halve(int level) const {
    for_rows_of_both(level, [&](int side, int y, int) {
      const int width = level_of(level).size.width;
      T* row = planes(level, side).gray.row(y);
      halve_row(planes(level - 1, side).gray, y, row, width);
      repeat_border(row, width);
      if (masked_[side]) halve_mask_row(planes(level - 1, side).mask, y, planes(level, side).mask);
    });
  }

  static void halve_mask_row(View<const std::uint8_t> fine, int y, View<std::uint8_t> coarse) {
    const std::uint8_t* upper = fine.row(2 * y);
    const std::uint8_t* lower = fine.row(std::min(2 * y + 1, fine.size.height - 1));
    for (int x = 0; x < coarse.size.width; ++x) {
      const int next = std::min(2 * x + 1, fine.size.width - 1);
      coarse.at(x, y) = upper[2 * x] | upper[next] | lower[2 * x] | lower[next];
    }
  }

  void describe(int level) const {
    for_rows_of_both(level, [&](int side, int y, int slot) {
      describe_row(planes(level, side).gray, neighbourhood_, y, planes(level, side).signatures,
                   scratch(slot).describe);
    });
  }

  const std::uint8_t* mask(int level, int side) const {
    return masked_[side] ? planes(level, side).mask.data : nullptr;
  }

  Search search_of(int level, int side, const DisparityMap& map) const {
    const int other = 1 - side;
    Search search;
    search.level = level_of(level);
    search.side = side;
    search.tile_rows = tile_rows_;
    search.batch_labels = batch_labels_;
    search.window = parameters_.window;
    search.search_radius = parameters_.search_radius;
    search.highest_pixel_cost = highest_pixel_cost(parameters_);
    search.ad_truncation = with_gray() ? parameters_.ad_truncation : 0;
    search.base = planes(level, side).signatures;
    search.other = planes(level, other).signatures;
    search.base_mask = mask(level, side);
    search.other_mask = mask(level, other);
    search.mask_stride = planes(level, side).mask.stride();
    if (level + 1 < level_count()) {
      const View<std::uint16_t>& above = planes(level + 1, side).labels;
      search.estimates = {above.data, above.stride(), above.size, levels_[to_size(level + 1)].lowest};
    }
    if (level > 0) {
      const View<std::uint16_t>& labels = planes(level, side).labels;
      search.labels = labels.data;
      search.label_stride = labels.stride();
    } else if (side == right_side) {
      search.right_disparity = right_disparity_;
    } else {
      search.map = map;
      search.sub_pixel = parameters_.sub_pixel;
      search.uniqueness = parameters_.uniqueness;
    }
    return search;
  }

  Size tiles_of(Size size) const {
    const int columns = tile_columns(parameters_.window);
    return {divide_round_up(size.width, columns), divide_round_up(size.height, tile_rows_)};
  }

  void search(int level, const DisparityMap& map) const {
    if (!row_searches_.empty()) return search_rows(level, map);
    const Size tiles = tiles_of(level_of(level).size);
    const int columns = tiles.width, sides = sides_searched();
    const Search searches_of[] = {search_of(level, left_side, map), search_of(level, right_side, map)};
    workers_.for_each(sides * tiles.height * columns, [&](int tile, int slot) {
      search_tile(searches_of[tile % sides], tile / sides % columns, tile / sides / columns,
                  scratch(slot).tile);
    });
  }

  // Searches every row offset, then chooses among them.
  void search_rows(int level, const DisparityMap& map) const {
    const Level& own = level_of(level);
    const Size tiles = tiles_of(own.size);
    const int columns = tiles.width, sides = sides_searched(), offsets = 2 * own.rows + 1,
              tasks = sides * offsets;
    const Search searches_of[] = {search_of(level, left_side, map), search_of(level, right_side, map)};
    workers_.for_each(tasks * tiles.height * columns, [&](int task, int slot) {
      const int side = task % sides, v = task / sides % offsets - own.rows, tile = task / tasks;
      Search search = searches_of[side];
      search.rows_lower = side == left_side ? v : -v;
      search.found = row_searches_[to_size(side)].found(level, v);
      if (parameters_.uniqueness == 0 && map.confidence.empty()) search.found.rivals = nullptr;
      search_tile(search, tile % columns, tile / columns, scratch(slot).tile);
    });
    const int squares = row_searches_[0].squares(level);
    for_rows(workers_, sides * squares,
             [&](int row, int) { row_searches_[to_size(row / squares)].count_votes(level, row % squares); });
    for (const RowSearch& rows : row_searches_) rows.settle_votes(level);
    for_rows(workers_, sides * own.size.height,
             [&](int row, int) { choose_row(level, row / own.size.height, row % own.size.height, map); });
  }

  void choose_row(int level, int side, int y, const DisparityMap& map) const {
    const RowSearch& rows = row_searches_[to_size(side)];
    if (level > 0)
      rows.choose_labels(level, y, planes(level, side).labels.row(y));
    else if (side == right_side)
      rows.choose_disparities(y, right_disparity_.row(y));
    else
      rows.choose_row(y, masked_[side] ? planes(0, side).mask.row(y) : nullptr, parameters_.sub_pixel,
                      parameters_.uniqueness, map);
  }

  int tile_rows_, batch_labels_;
  std::vector<LevelPlanes<T>> planes_[2];
  std::vector<Scratch> scratch_;         // [slot]
  std::vector<RowSearch> row_searches_;  // [side]; empty = one row offset
  bool masked_[2] = {};
};

}  // namespace

std::unique_ptr<detail::Plan> make_cpu(const CensusParameters& parameters, const Device& device,
                                       const ImageFormat& format,
                                       const detail::Configuration& configuration) {
  if (format.depth == BitDepth::bits8)
    return std::make_unique<Cpu<std::uint8_t>>(parameters, device.threads, format, configuration);
  return std::make_unique<Cpu<std::uint16_t>>(parameters, device.threads, format, configuration);
}

detail::TuningSpace cpu_tuning_space(const CensusParameters& parameters, const Device& device,
                                     const ImageFormat& format) {
  detail::TuningSpace space;
  space.variant = variant(parameters);
  space.tunables = {rows_per_tile, labels_together, cpu::ranges_per_thread()};
  space.footprint = [=](const detail::Configuration& configuration) {
    return Cpu<std::uint8_t>(parameters, device.threads, format, configuration).footprint();
  };
  return space;
}

}  // namespace parallax::census
