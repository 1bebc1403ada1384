// SPDX-License-Identifier: Apache-2.0
#include "matchers/motion/parity_features.h"

#include <algorithm>
#include <type_traits>

#include "core/memory.h"
#include "matchers/motion/motion.h"

namespace parallax::motion {
namespace {

constexpr int census_columns_beside = 4, census_rows_beside = 3;

}  // namespace

void FrameCensus::reserve(Arena& arena) {
  for (auto& extended : extended_)
    extended = arena.reserve_plane<std::uint16_t>(
        {size_.width + 2 * census_columns_beside + widest_vector_bytes, size_.height});
  for (Planes& planes : planes_)
    for (auto& plane : planes)
      plane = arena.reserve<std::uint8_t>(static_cast<std::size_t>(size_.width) + widest_vector_bytes);
}

void FrameCensus::fill_memory() const {
  for (const View<std::uint16_t>& extended : extended_)
    for (int y = 0; y < extended.size.height; ++y)
      std::fill_n(extended.row(y), extended.size.width, std::uint16_t{0});
}

void FrameCensus::prepare(const ScaleFrames& frames, const Workers& workers) const {
  for (int frame = 0; frame < 2; ++frame)
    for_rows(workers, size_.height, [&](int y, int) {
      const std::uint16_t* gray = frames.gray[frame].row(y);
      std::uint16_t* out = extended_[frame].row(y);
      std::fill_n(out, census_columns_beside, gray[0]);
      std::copy_n(gray, size_.width, out + census_columns_beside);
      std::fill_n(out + census_columns_beside + size_.width, census_columns_beside, gray[size_.width - 1]);
    });
}

const FrameCensus::Planes& FrameCensus::row(int frame, int y, int slot) const {
  const Planes& planes = planes_[static_cast<std::size_t>(slot)];
  data_cost::RowCensus census{{}, false, size_.width, {}};
  for (int j = -census_rows_beside; j <= census_rows_beside; ++j)
    census.rows[j + census_rows_beside] = extended_[frame].row(std::clamp(y + j, 0, size_.height - 1));
  std::copy(planes.begin(), planes.end(), census.planes);
  data_cost::census_row(census);
  return planes;
}

ParityFeatures::ParityFeatures(DataCost cost, Size size, int slots)
    : size_(size), layout_{cost == DataCost::census, parity_pixels(size)}, census_(size, slots) {}

void ParityFeatures::reserve(Arena& arena) {
  for (auto& features : features_) features = arena.reserve<std::uint8_t>(bytes());
  if (layout_.census) census_.reserve(arena);
}

void ParityFeatures::fill_memory() {
  for (auto* features : features_) clear_memory(features, bytes());
  census_.fill_memory();
}

void ParityFeatures::prepare(const ScaleFrames& frames, const Workers& workers) const {
  if (layout_.census) census_.prepare(frames, workers);
  for (int frame = 0; frame < 2; ++frame)
    for_rows(workers, size_.height, [&](int y, int slot) { write(frames, frame, y, slot); });
}

void ParityFeatures::write(const ScaleFrames& frames, int frame, int y, int slot) const {
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
  const FrameCensus::Planes& planes = census_.row(frame, y, slot);
  for (int plane = 0; plane < layout_.planes(); ++plane)
    split(static_cast<const std::uint8_t*>(planes[static_cast<std::size_t>(plane)]), plane);
}

}  // namespace parallax::motion
