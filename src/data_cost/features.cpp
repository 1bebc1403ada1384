// SPDX-License-Identifier: Apache-2.0
#include "data_cost/features.h"

#include <algorithm>

namespace parallax::data_cost {
namespace {

constexpr int census_border = 4;
constexpr std::uint8_t yes = 255;

void write_levels(const std::uint16_t* samples, int width, std::uint8_t* out) {
  for (int x = 0; x < width; ++x) out[x] = static_cast<std::uint8_t>(samples[x] / per_level);
}

}  // namespace

Feature choose_feature(DataCost cost, BitDepth depth, float smoothing) {
  switch (cost) {
    case DataCost::census:
      return Feature::census;
    case DataCost::census_centre_symmetric:
      return Feature::census_opposites;
    case DataCost::gradient_birchfield_tomasi:
      return depth == BitDepth::bits8 && smoothing == 0 ? Feature::gradients_in_bytes : Feature::gradients;
    case DataCost::absolute_difference_colour:
      return Feature::colour;
    case DataCost::birchfield_tomasi:
      return Feature::birchfield_tomasi;
    case DataCost::absolute_difference:
    case DataCost::volume:
    case DataCost::mean_absolute_difference:
      break;
  }
  return depth == BitDepth::bits8 && smoothing == 0 ? Feature::bytes : Feature::gray;
}

RowFeatures::RowFeatures(Feature feature, float smoothing, const ImageFormat& format, int slots,
                         int census_tolerance)
    : feature_(feature),
      size_(format.size),
      integer_levels_(format.depth == BitDepth::bits8 && smoothing == 0),
      census_tolerance_(census_tolerance),
      weights_(smoothing_weights(smoothing)),
      scratch_(to_size(slots)) {
  if (feature_ == Feature::colour) channels_ = {0, 1, 2};
  channels_.push_back(gray_channel);
  for (auto& side : samples_) side.resize(channels_.size());
}

void RowFeatures::reserve(Arena& arena) {
  for (auto& side : samples_)
    for (auto& samples : side) samples = arena.reserve_plane<std::uint16_t>(size_);
  if (smooths()) half_smoothed_ = arena.reserve_plane<std::uint16_t>(size_);
  const std::size_t row = to_size(size_.width) + 2 * census_border + 2 * widest_vector_bytes;
  for (Scratch& scratch : scratch_) {
    scratch.samples = arena.reserve<std::uint16_t>(row);
    if (is_census(feature_) || feature_ == Feature::gradients_in_bytes)
      for (auto& census_row : scratch.census_rows) census_row = arena.reserve<std::uint16_t>(row);
    for (int plane = 0; plane < feature_planes(feature_); ++plane)
      scratch.planes[to_size(plane)] = arena.reserve<std::uint16_t>(row);
  }
}

void RowFeatures::prepare(const StereoPair& pair, bool mirrored, const Workers& workers) const {
  const bool smooth = smooths();
  for (int side = 0; side < 2; ++side) {
    const ImageView& image = side == 0 ? pair.left : pair.right;
    for (std::size_t i = 0; i < channels_.size(); ++i) {
      const View<std::uint16_t>&samples = samples_[side][i], &half = half_smoothed_;
      for_rows(workers, size_.height, [&](int y, int slot) {
        std::uint16_t* row = scratch_[to_size(slot)].samples;
        sample_row(image, channels_[i], y, mirrored, smooth ? row : samples.row(y));
        if (smooth) smooth_row(row, size_.width, weights_, half.row(y));
      });
      if (!smooth) continue;
      for_rows(workers, size_.height, [&](int y, int) { smooth_column(half, y, weights_, samples.row(y)); });
    }
  }
}

RowFeatures::Planes RowFeatures::planes(int side, int y, int slot) const {
  const View<const std::uint16_t> gray = this->gray(side);
  const Scratch& scratch = scratch_[to_size(slot)];
  Planes planes{};
  for (std::size_t plane = 0; plane < to_size(feature_planes(feature_)); ++plane)
    planes[plane] = scratch.planes[plane];
  std::uint16_t* out = scratch.planes[0];
  switch (feature_) {
    case Feature::bytes:
      write_levels(gray.row(y), size_.width, reinterpret_cast<std::uint8_t*>(out));
      break;
    case Feature::gray:
      std::copy_n(gray.row(y), size_.width, out);
      break;
    case Feature::colour:
      for (std::size_t i = 0; i < 3; ++i)
        std::copy_n(samples_[side][i].row(y), size_.width, scratch.planes[i]);
      break;
    case Feature::birchfield_tomasi:
      write_birchfield_tomasi(gray.row(y), scratch.planes.data());
      break;
    case Feature::gradients:
      gradient_row(gray, y, scratch.samples);
      write_birchfield_tomasi(scratch.samples, scratch.planes.data());
      write_birchfield_tomasi(gray.row(y), scratch.planes.data() + 3);
      break;
    case Feature::gradients_in_bytes:
      write_gradients_in_bytes(gray, y, scratch);
      break;
    case Feature::census:
    case Feature::census_opposites: {
      std::uint8_t* bytes[max_feature_planes];
      for (std::size_t plane = 0; plane < to_size(feature_planes(feature_)); ++plane)
        bytes[plane] = reinterpret_cast<std::uint8_t*>(scratch.planes[plane]);
      write_census(side, y, y + 1, slot, bytes, 0);
      break;
    }
  }
  return planes;
}

void RowFeatures::write_census(int side, int first, int last, int slot, std::uint8_t* const* planes,
                               std::ptrdiff_t pitch) const {
  const Scratch& scratch = scratch_[to_size(slot)];
  if (integer_levels_)
    write_census_of<std::uint8_t>(gray(side), first, last, scratch, planes, pitch);
  else
    write_census_of<std::uint16_t>(gray(side), first, last, scratch, planes, pitch);
}

template <class Sample>
void RowFeatures::write_census_of(View<const std::uint16_t> gray, int first, int last, const Scratch& scratch,
                                  std::uint8_t* const* planes, std::ptrdiff_t pitch) const {
  const int width = size_.width;  // a copy, which stores of bytes cannot alias
  const auto row = [&](int y) {
    return reinterpret_cast<Sample*>(scratch.census_rows[to_size(y - first + 3)]);
  };
  for (int y = first - 3; y < last + 3; ++y) {
    const std::uint16_t* in = gray.row(std::clamp(y, 0, size_.height - 1));
    Sample* samples = row(y) + census_border;
    for (int x = 0; x < width; ++x)
      samples[x] = static_cast<Sample>(sizeof(Sample) == 1 ? in[x] / per_level : in[x]);
    std::fill_n(row(y), census_border, samples[0]);
    std::fill_n(samples + width, census_border, samples[width - 1]);
  }
  for (int y = first; y < last; ++y) {
    RowCensus census{
        {}, sizeof(Sample) == 1, size_.width, {}, feature_ == Feature::census_opposites, census_tolerance_};
    for (int j = 0; j < 7; ++j) census.rows[j] = row(y + j - 3);
    for (int plane = 0; plane < feature_planes(feature_); ++plane)
      census.planes[plane] = planes[plane] + (y - first) * pitch;
    census_row(census);
  }
}

void RowFeatures::mirror_right_gray(int y) const {
  const std::uint16_t* row = samples_[1].back().row(y);
  std::reverse_copy(row, row + size_.width, samples_[0].back().row(y));
}

void RowFeatures::write_birchfield_tomasi(const std::uint16_t* samples, std::uint16_t* const* planes) const {
  const auto between = [](int a, int b) { return (a + b + 1) / 2; };
  const int last = size_.width - 1;
  std::uint16_t *lowest = planes[1], *highest = planes[2];
  const auto write = [&](int x, int before, int after) {
    const int here = samples[x], left = between(before, here), right = between(here, after);
    lowest[x] = static_cast<std::uint16_t>(std::min({here, left, right}));
    highest[x] = static_cast<std::uint16_t>(std::max({here, left, right}));
  };
  std::copy_n(samples, size_.width, planes[0]);
  write(0, samples[0], samples[std::min(1, last)]);
  for (int x = 1; x < last; ++x) write(x, samples[x - 1], samples[x + 1]);
  if (last > 0) write(last, samples[last - 1], samples[last]);
}

void RowFeatures::write_gradients_in_bytes(View<const std::uint16_t> gray, int y,
                                           const Scratch& scratch) const {
  std::uint16_t* const words[] = {scratch.census_rows[0], scratch.census_rows[1], scratch.census_rows[2]};
  constexpr int level_bits = 8, half_level_bits = 7, half_level = 1 << half_level_bits;
  const auto write = [&](std::size_t plane, const std::uint16_t* from, int added, int shift) {
    auto* out = reinterpret_cast<std::uint8_t*>(scratch.planes[plane]);
    const int width = size_.width;  // a copy, which stores of bytes cannot alias
    for (int x = 0; x < width; ++x) out[x] = static_cast<std::uint8_t>((from[x] + added) >> shift);
  };
  gradient_row(gray, y, scratch.samples);
  write_birchfield_tomasi(scratch.samples, words);
  for (std::size_t i = 0; i < 3; ++i) write(i, words[i], 0, half_level_bits);
  write_birchfield_tomasi(gray.row(y), words);
  write(3, words[0], 0, level_bits);
  for (std::size_t i = 1; i < 3; ++i) {
    write(2 + 2 * i, words[i], 0, level_bits);
    write(3 + 2 * i, words[i], half_level, level_bits);
  }
}

namespace {

// 255 where a pixel of row y takes part, else 0.
void mask_row(View<const std::uint8_t> mask, int width, int y, bool mirrored, std::uint8_t* out) {
  if (mask.empty()) {
    std::fill_n(out, width, yes);
    return;
  }
  for (int x = 0; x < width; ++x) out[x] = mask.row(y)[x] != 0 ? yes : 0;
  if (mirrored) std::reverse(out, out + width);
}

// Whether any, and whether all labels of a pixel have a right pixel.
struct Reached {
  bool any, all;
};

// Calls each(x, Reached) for the pixels of a row; considers the labels that lead to one extended right row.
template <class Each>
void for_reached(const std::uint8_t* right_valid, int width, int disparities, const Each& each) {
  // Labels of pixel x with a right pixel, in the extended columns x … x + disparities − 1.
  int count = 0;
  for (int j = 0; j + 1 < disparities; ++j) count += right_valid[j] & 1;
  for (int x = 0; x < width; ++x) {
    count += right_valid[x + disparities - 1] & 1;
    each(x, Reached{count > 0, count == disparities});
    count -= right_valid[x] & 1;
  }
}

// Writes the validity of the extended right row v, and also `row`.
void write_right_validity(const CostModel& model, const StereoPair& pair, bool mirrored, int v,
                          std::uint8_t* row, std::uint8_t* extended) {
  const int width = pair.left.format.size.width;
  mask_row(pair.right_mask, width, v, mirrored, row);
  extend_row(row, width, model, 0, extended);
  // The caller's volume has costs for all labels.
  if (model.cost == DataCost::volume && !mirrored)
    std::fill_n(extended, width + model.disparities() - 1, yes);
}

// At this point `row.left` still is the left row's mask.
void settle_pixel(const CostModel& model, Size size, int x, int y, Reached reached, const RowValidity& row) {
  const int frame = model.frame;
  row.status[x] = static_cast<std::uint8_t>(row.left[x] == 0 ? Status::input_masked
                                            : !reached.any   ? Status::out_of_range
                                                             : Status::matched);
  const bool framed = x < frame || y < frame || x >= size.width - frame || y >= size.height - frame;
  if (framed || (!model.has_outside && !reached.all)) row.left[x] = 0;
}

// The same for labels across rows. `row.right` is written last for row y.
void write_validity_across_rows(const CostModel& model, const StereoPair& pair, bool mirrored, int y,
                                const RowValidity& row) {
  const Size size = pair.left.format.size;
  const LabelSpace space = model.space();
  constexpr std::uint8_t reached_by_any = 1, missed_by_some = 2;
  std::fill_n(row.status, size.width, std::uint8_t{0});
  for (int offset = space.first.y; offset <= space.last().y; ++offset) {
    const int v = y + offset;
    if (v < 0 || v >= size.height) {
      for (int x = 0; x < size.width; ++x) row.status[x] |= missed_by_some;
      continue;
    }
    write_right_validity(model, pair, mirrored, v, row.left, row.right);
    for_reached(row.right, size.width, model.disparities(), [&](int x, Reached reached) {
      row.status[x] |=
          static_cast<std::uint8_t>((reached.any ? reached_by_any : 0) | (reached.all ? 0 : missed_by_some));
    });
  }
  write_right_validity(model, pair, mirrored, y, row.left, row.right);
  mask_row(pair.left_mask, size.width, y, mirrored, row.left);
  for (int x = 0; x < size.width; ++x) {
    const int reached = row.status[x];
    settle_pixel(model, size, x, y, {(reached & reached_by_any) != 0, (reached & missed_by_some) == 0}, row);
  }
}

}  // namespace

void write_validity(const CostModel& model, const StereoPair& pair, bool mirrored, int y,
                    const RowValidity& row) {
  if (!model.space().is_flat()) return write_validity_across_rows(model, pair, mirrored, y, row);
  const Size size = pair.left.format.size;
  write_right_validity(model, pair, mirrored, y, row.left, row.right);
  mask_row(pair.left_mask, size.width, y, mirrored, row.left);
  for_reached(row.right, size.width, model.disparities(),
              [&](int x, Reached reached) { settle_pixel(model, size, x, y, reached, row); });
}

}  // namespace parallax::data_cost
