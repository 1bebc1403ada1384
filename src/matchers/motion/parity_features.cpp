// SPDX-License-Identifier: Apache-2.0
#include "matchers/motion/parity_features.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace parallax::motion {
namespace {

constexpr int census_columns_beside = 4, census_rows_beside = 3;

}  // namespace

ParityFeatures::ParityFeatures(DataCost cost, Size size, int slots)
    : size_(size),
      layout_{cost == DataCost::census, (size.width + 1) / 2},
      scratch_(static_cast<std::size_t>(slots)) {}

void ParityFeatures::reserve(Arena& arena) {
  for (auto& features : features_) features = arena.reserve<std::uint8_t>(bytes());
  if (!layout_.census) return;
  for (auto& extended : extended_)
    extended = arena.reserve_plane<std::uint16_t>(
        {size_.width + 2 * census_columns_beside + widest_vector_bytes, size_.height});
  for (Scratch& scratch : scratch_)
    for (auto& plane : scratch.planes)
      plane = arena.reserve<std::uint8_t>(static_cast<std::size_t>(size_.width) + widest_vector_bytes);
}

void ParityFeatures::fill_memory() {
  for (auto* features : features_) std::memset(features, 0, bytes());
  for (const View<std::uint16_t>& extended : extended_)
    for (int y = 0; y < extended.size.height; ++y)
      std::fill_n(extended.row(y), extended.size.width, std::uint16_t{0});
}

void ParityFeatures::prepare(const ScaleFrames& frames, const Workers& workers) const {
  for (int frame = 0; frame < 2; ++frame) {
    if (layout_.census)
      for_row_ranges(workers, size_.height, [&](int first, int last, int) {
        for (int y = first; y < last; ++y) extend_gray(frames.gray[frame], frame, y);
      });
    for_row_ranges(workers, size_.height, [&](int first, int last, int slot) {
      for (int y = first; y < last; ++y)
        write(frames, frame, y, scratch_[static_cast<std::size_t>(slot)].planes);
    });
  }
}

void ParityFeatures::extend_gray(View<const std::uint16_t> gray, int frame, int y) const {
  const std::uint16_t* row = gray.row(y);
  std::uint16_t* out = extended_[frame].row(y);
  std::fill_n(out, census_columns_beside, row[0]);
  std::copy_n(row, size_.width, out + census_columns_beside);
  std::fill_n(out + census_columns_beside + size_.width, census_columns_beside, row[size_.width - 1]);
}

void ParityFeatures::write(const ScaleFrames& frames, int frame, int y, const Planes& scratch) const {
  std::uint8_t* features = features_[frame];
  const View<const std::uint8_t>& mask = frames.mask[frame];
  for (int x = 0; x < size_.width; ++x)
    features[layout_.valid_at(y, x % 2) + x / 2] = mask.empty() || mask.at(x, y) != 0 ? 255 : 0;
  const auto split = [&](const auto* from, int plane) {
    using Sample = std::remove_const_t<std::remove_pointer_t<decltype(from)>>;
    for (int parity = 0; parity < 2; ++parity) {
      auto* out = reinterpret_cast<Sample*>(features + layout_.plane_at(y, parity, plane));
      for (int i = 0; 2 * i + parity < size_.width; ++i) out[i] = from[2 * i + parity];
    }
  };
  if (!layout_.census) return split(frames.gray[frame].row(y), 0);
  data_cost::RowCensus census{{}, false, size_.width, {}};
  for (int j = -census_rows_beside; j <= census_rows_beside; ++j)
    census.rows[j + census_rows_beside] = extended_[frame].row(std::clamp(y + j, 0, size_.height - 1));
  std::copy(std::begin(scratch), std::end(scratch), census.planes);
  data_cost::census_row(census);
  for (int plane = 0; plane < layout_.planes(); ++plane)
    split(static_cast<const std::uint8_t*>(scratch[plane]), plane);
}

}  // namespace parallax::motion
