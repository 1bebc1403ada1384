// SPDX-License-Identifier: Apache-2.0
// Planes as labels on the CPU: cells of a colour are moved at the same time.

#include <algorithm>
#include <bit>

#include "data_cost/features.h"
#include "devices/cpu/tuning.h"
#include "matchers/planes/expansion.h"
#include "matchers/planes/expansion_kernels.h"

namespace parallax::planes {
namespace {

using data_cost::gray_channel, data_cost::per_level;

class Cpu final : public Expansion {
 public:
  Cpu(const PlanesParameters& parameters, const Device& device, const ImageFormat& format)
      : Expansion(parameters, device, format, cpu::match_workers(device.threads, format.size)),
        scratch_(to_size(workers_.slots())) {
    plan_memory();
  }

 private:
  // Rows of the windows of a census: with the columns beside the image that it reads, and a vector beyond.
  static constexpr int before = 4, rows_of_window = 7;
  int padded_width() const { return size_.width + 2 * before + data_cost::widest_vector_bytes; }

  // The memory of one thread.
  struct Scratch {
    std::uint16_t* samples;
    std::uint16_t* shifted[rows_of_window];
    std::uint8_t* channels[rows_of_window][3];
    std::uint8_t* planes[8];
    std::int16_t* move;
  };

  void reserve_more(Arena& arena) override {
    const std::size_t width = to_size(padded_width());
    for (Scratch& scratch : scratch_) {
      scratch.samples = arena.reserve<std::uint16_t>(width);
      for (auto& row : scratch.shifted) row = arena.reserve<std::uint16_t>(width);
      for (auto& row : scratch.channels)
        for (auto& channel : row) channel = arena.reserve<std::uint8_t>(width);
      for (auto& plane : scratch.planes) plane = arena.reserve<std::uint8_t>(width);
      scratch.move = arena.reserve<std::int16_t>(move_elements);
    }
    for (auto& gray : gray_) gray = arena.reserve_plane<std::uint16_t>(size_);
  }

  void prepare(const StereoPair& pair) override {
    for_rows(workers_, size_.height, [&](int y, int) {
      data_cost::sample_row(pair.left, gray_channel, y, false, gray_[0].row(y));
      data_cost::sample_row(pair.right, gray_channel, y, false, gray_[1].row(y));
    });
    for_rows(workers_, size_.height, [&](int y, int slot) {
      const Scratch& scratch = scratch_[to_size(slot)];
      write_features(gray_[0], y, 0, scratch, features_.signature.row(y), features_.levels.row(y));
      for (int quarter = 0; quarter < 4; ++quarter)
        write_features(gray_[1], y, quarter, scratch,
                       features_.right_signature.row(y) + quarter * size_.width,
                       features_.right_levels.row(y) + quarter * size_.width);
      find_neighbours_alike(pair.left, y, scratch);
      write_edges(y);
    });
  }

  template <class Sample>
  void repeat_border(Sample* row) const {
    std::fill_n(row, before, row[before]);
    std::fill_n(row + before + size_.width, before, row[before + size_.width - 1]);
  }

  void write_features(View<const std::uint16_t> gray, int y, int quarter, const Scratch& scratch,
                      std::uint64_t* signatures, std::uint16_t* levels) const {
    data_cost::RowCensus census{};
    census.width = size_.width;
    census.tolerance = census_tolerance;
    for (int i = 0; i < rows_of_window; ++i) {
      std::uint16_t* row = scratch.shifted[i];
      shift_row(gray.row(std::clamp(y + i - 3, 0, size_.height - 1)), size_.width, quarter, row + before);
      repeat_border(row);
      census.rows[i] = row;
    }
    std::copy_n(scratch.planes, 8, census.planes);
    data_cost::census_row(census);
    gather_signatures(scratch.planes, size_.width, signatures);
    const std::uint16_t* row = scratch.shifted[3] + before;
    for (int x = 0; x < size_.width; ++x) levels[x] = levels_of(row[x - 1], row[x], row[x + 1]);
  }

  void find_neighbours_alike(const ImageView& left, int y, const Scratch& scratch) const {
    AlikeRow alike{};
    alike.channels = left.channels == 1 ? 1 : 3;
    alike.width = size_.width;
    for (int i = 0; i < rows_of_window; ++i)
      for (int channel = 0; channel < alike.channels; ++channel) {
        data_cost::sample_row(left, channel, std::clamp(y + i - 3, 0, size_.height - 1), false,
                              scratch.samples);
        std::uint8_t* row = scratch.channels[i][channel];
        for (int x = 0; x < size_.width; ++x)
          row[before + x] = static_cast<std::uint8_t>(scratch.samples[x] / per_level);
        repeat_border(row);
        alike.rows[i][channel] = row;
      }
    std::copy_n(scratch.planes, 8, alike.planes);
    write_alike(alike);
    gather_signatures(scratch.planes, size_.width, features_.alike.row(y));
    constexpr std::uint64_t all = (std::uint64_t{1} << census_neighbours) - 1;
    for (int x = 0; x < size_.width; ++x) {
      std::uint64_t& neighbours = features_.alike.at(x, y);
      if (std::popcount(neighbours) < fewest_alike) neighbours = all;
      features_.bit_cost.at(x, y) = model_.bit_costs[to_size(std::popcount(neighbours))];
    }
  }

  std::uint16_t edge(int sample, int other) const {
    return model_.edge_weights[to_size(data_cost::edge_index(std::abs(sample - other)))];
  }

  void write_edges(int y) const {
    const std::uint16_t *row = gray_[0].row(y), *above = gray_[0].row(std::max(y - 1, 0));
    for (int x = 0; x < size_.width; ++x) {
      features_.edge_before.at(x, y) = x > 0 ? edge(row[x], row[x - 1]) : std::uint16_t{0};
      features_.edge_above.at(x, y) = y > 0 ? edge(row[x], above[x]) : std::uint16_t{0};
    }
  }

  void expand(const StereoPair& pair) override {
    const Scene scene{size_, features_, pair.left_mask, pair.right_mask};
    for_rows(workers_, size_.height, [&](int y, int) { write_data_costs(model_, scene, planes_, y); });
    for_each_grid(model_.parameters, size_, [&](const CellGrid& grid) {
      for_rows(workers_, grid.count(), [&](int index, int slot) {
        const Cell cell = grid.cell(index);
        Offers offered(cell, grid.step);
        for (int i = 0; i < offers; ++i)
          make_move(model_, scene, planes_,
                    {cell.region, offered.next(i, planes_), scratch_[to_size(slot)].move});
      });
    });
  }

  std::vector<Scratch> scratch_;  // one for each slot
  View<std::uint16_t> gray_[2];
};

}  // namespace

std::unique_ptr<detail::Plan> make_cpu(const PlanesParameters& parameters, const Device& device,
                                       const ImageFormat& format) {
  return std::make_unique<Cpu>(parameters, device, format);
}

}  // namespace parallax::planes
