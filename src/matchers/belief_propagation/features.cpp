#include "matchers/belief_propagation/features.h"

#include <algorithm>
#include <limits>

#include "refine/refine.h"

namespace parallax::belief_propagation {
namespace {

constexpr int census_border = 4;
constexpr std::uint8_t yes = 255;

// Samples of unsmoothed 8-bit images are whole gray levels.
Feature choose_feature(const BeliefPropagationParameters& parameters, Depth depth) {
  switch (parameters.cost) {
    case DataCost::census:
      return Feature::census;
    case DataCost::absolute_difference_colour:
      return Feature::colour;
    case DataCost::birchfield_tomasi:
      return Feature::birchfield_tomasi;
    case DataCost::absolute_difference:
    case DataCost::volume:
    case DataCost::mean_absolute_difference:
      break;
  }
  return depth == Depth::bits8 && parameters.smoothing == 0 ? Feature::bytes : Feature::gray;
}

// Elements, and what whole pairs of vectors read and write beyond them.
std::size_t padded(int count) {
  return static_cast<std::size_t>(count) + 2 * widest_vector_bytes;
}

}  // namespace

Features::Features(const Model& model, const ImageFormat& format, const PlaneShape& shape, int slots,
                   ArenaLayout& layout)
    : model_(model),
      size_(format.size),
      shape_(shape),
      feature_(choose_feature(model.parameters, format.depth)),
      weights_(smoothing_weights(model.parameters.smoothing)) {
  if (feature_ == Feature::colour) channels_ = {0, 1, 2};
  channels_.push_back(gray_channel);
  for (auto& side : samples_)
    for (std::size_t i = 0; i < channels_.size(); ++i)
      side.push_back(layout.reserve_plane<std::uint16_t>(size_));

  // What the last label of the last element reads.
  const int right_elements = shape.copied + model.labels / 2 + 1;
  halves_[0] = reserve_halves(feature_planes(feature_), feature_bytes(feature_), shape.copied, layout);
  halves_[1] = reserve_halves(feature_planes(feature_), feature_bytes(feature_), right_elements, layout);
  valid_[0] = reserve_halves(1, 1, shape.copied, layout);
  valid_[1] = reserve_halves(1, 1, right_elements, layout);
  status_ = layout.reserve_plane<std::uint8_t>(size_);
  if (model.parameters.smoothing > 0) half_smoothed_ = layout.reserve_plane<std::uint16_t>(size_);

  const bool in_bytes = feature_bytes(feature_) == 1;
  if (in_bytes && model.parameters.arithmetic == Arithmetic::fixed8 &&
      model.highest_data_cost() <= static_cast<float>(model.data_bound())) {
    simple_ = true;
    for (int level = 0; level < 256; ++level)
      table_.push_back(static_cast<std::uint8_t>(model.data_cost(level * per_level)));
    table_end_ = std::min(256, (model.differences + per_level - 1) / per_level + 1);
  }

  for (int slot = 0; slot < slots; ++slot) {
    Scratch scratch;
    const std::size_t row = padded(size_.width + 2 * census_border);
    scratch.samples = layout.reserve<std::uint16_t>(row);
    scratch.extended = layout.reserve<std::uint16_t>(padded(extended_columns()));
    if (feature_ == Feature::census)
      for (auto& buffer : scratch.census_rows) buffer = layout.reserve<std::uint16_t>(row);
    for (int plane = 0; plane < feature_planes(feature_); ++plane)
      scratch.features[static_cast<std::size_t>(plane)] = layout.reserve<std::uint16_t>(row);
    scratch.exists = layout.reserve<std::uint8_t>(padded(extended_columns()));
    scratch.costs = layout.reserve<std::byte>(scratch_bytes(model.labels));
    scratch_.push_back(scratch);
  }
}

Features::Halves Features::reserve_halves(int planes, int bytes, int elements, ArenaLayout& layout) const {
  Halves halves;
  halves.pitch = static_cast<std::ptrdiff_t>((padded(elements) + 63) / 64 * 64);
  halves.planes = planes;
  halves.bytes = bytes;
  halves.buffer = layout.reserve<std::byte>(static_cast<std::size_t>(halves.pitch) *
                                            static_cast<std::size_t>(2 * planes * bytes) *
                                            static_cast<std::size_t>(size_.height));
  return halves;
}

void Features::prepare(const StereoPair& pair, bool mirrored, std::byte* arena, const Workers& workers) {
  pair_ = pair;
  mirrored_ = mirrored;
  if (mirrored) {
    std::swap(pair_.left, pair_.right);
    std::swap(pair_.left_mask, pair_.right_mask);
  }
  for (int side = 0; side < 2; ++side) sample(side, arena, workers);
  for_row_ranges(workers, size_.height, [&](int first, int last, int slot) {
    const Scratch& scratch = scratch_[static_cast<std::size_t>(slot)];
    for (int y = first; y < last; ++y) {
      if (!takes_volume())
        for (int side = 0; side < 2; ++side) extract_row(side, y, arena, scratch);
      write_validity(y, arena, scratch);
    }
  });
}

void Features::sample(int side, std::byte* arena, const Workers& workers) {
  const ImageView& image = side == 0 ? pair_.left : pair_.right;
  const bool smooth = model_.parameters.smoothing > 0;
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    const View<std::uint16_t> samples = samples_[side][i].in(arena);
    const View<std::uint16_t> half = half_smoothed_.in(arena);
    for_row_ranges(workers, size_.height, [&](int first, int last, int slot) {
      std::uint16_t* row = scratch_[static_cast<std::size_t>(slot)].samples.in(arena);
      for (int y = first; y < last; ++y) {
        sample_row(image, channels_[i], y, mirrored_, smooth ? row : samples.row(y));
        if (smooth) smooth_row(row, size_.width, weights_, half.row(y));
      }
    });
    if (!smooth) continue;
    for_row_ranges(workers, size_.height, [&](int first, int last, int) {
      for (int y = first; y < last; ++y) smooth_column(half, y, weights_, samples.row(y));
    });
  }
}

void Features::extract_row(int side, int y, std::byte* arena, const Scratch& scratch) const {
  write_row_features(side, y, arena, scratch);
  for (int plane = 0; plane < feature_planes(feature_); ++plane) {
    const std::uint16_t* words = scratch.features[static_cast<std::size_t>(plane)].in(arena);
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(words);
    const Halves& halves = halves_[side];
    if (side == 0 && halves.bytes == 1)
      split_left(bytes, halves, y, plane, arena);
    else if (side == 0)
      split_left(words, halves, y, plane, arena);
    else if (halves.bytes == 1)
      split_right(bytes, halves, y, plane, arena, scratch);
    else
      split_right(words, halves, y, plane, arena, scratch);
  }
}

void Features::write_row_features(int side, int y, std::byte* arena, const Scratch& scratch) const {
  const View<const std::uint16_t> gray = samples_[side].back().in(arena);
  std::uint16_t* out = scratch.features[0].in(arena);
  switch (feature_) {
    case Feature::bytes:
      for (int x = 0; x < size_.width; ++x)
        reinterpret_cast<std::uint8_t*>(out)[x] = static_cast<std::uint8_t>(gray.at(x, y) / per_level);
      break;
    case Feature::gray:
      std::copy_n(gray.row(y), size_.width, out);
      break;
    case Feature::colour:
      for (std::size_t i = 0; i < 3; ++i)
        std::copy_n(samples_[side][i].in(arena).row(y), size_.width, scratch.features[i].in(arena));
      break;
    case Feature::birchfield_tomasi:
      write_birchfield_tomasi(gray.row(y), arena, scratch);
      break;
    case Feature::census:
      write_census(gray, y, arena, scratch);
      break;
  }
}

void Features::write_census(View<const std::uint16_t> gray, int y, std::byte* arena,
                            const Scratch& scratch) const {
  RowCensus census;
  census.width = size_.width;
  for (int j = 0; j < 7; ++j) {
    const std::uint16_t* in = gray.row(std::clamp(y + j - 3, 0, size_.height - 1));
    std::uint16_t* row = scratch.census_rows[static_cast<std::size_t>(j)].in(arena);
    std::fill_n(row, census_border, in[0]);
    std::copy_n(in, size_.width, row + census_border);
    std::fill_n(row + census_border + size_.width, census_border, in[size_.width - 1]);
    census.rows[j] = row;
  }
  for (int plane = 0; plane < 8; ++plane)
    census.planes[plane] =
        reinterpret_cast<std::uint8_t*>(scratch.features[static_cast<std::size_t>(plane)].in(arena));
  census_row(census);
}

void Features::write_birchfield_tomasi(const std::uint16_t* gray, std::byte* arena,
                                       const Scratch& scratch) const {
  const auto at = [&](int x) -> int { return gray[std::clamp(x, 0, size_.width - 1)]; };
  const auto between = [&](int x) { return (at(x) + at(x + 1) + 1) / 2; };
  for (int x = 0; x < size_.width; ++x) {
    const int before = between(x - 1), after = between(x);
    scratch.features[0].in(arena)[x] = gray[x];
    scratch.features[1].in(arena)[x] = static_cast<std::uint16_t>(std::min({at(x), before, after}));
    scratch.features[2].in(arena)[x] = static_cast<std::uint16_t>(std::max({at(x), before, after}));
  }
}

template <class Element>
void Features::split_left(const Element* row, const Halves& halves, int y, int plane,
                          std::byte* arena) const {
  split_row(row, size_.width, reinterpret_cast<Element*>(halves.at(arena, y, plane, 0)),
            reinterpret_cast<Element*>(halves.at(arena, y, plane, 1)));
}

// Extended column j is right column j − (labels − 1) − min_disparity; zero where there is none.
template <class Element>
void Features::extend(const Element* row, Element* extended) const {
  const int columns = extended_columns();
  const std::int64_t first = static_cast<std::int64_t>(model_.labels) - 1 + model_.parameters.min_disparity;
  const auto begin = static_cast<int>(std::clamp<std::int64_t>(first, 0, columns));
  const auto end = static_cast<int>(std::clamp<std::int64_t>(first + size_.width, 0, columns));
  std::fill(extended, extended + begin, Element{0});
  if (begin < end) std::copy_n(row + (begin - first), end - begin, extended + begin);
  std::fill(extended + end, extended + columns, Element{0});
}

template <class Element>
void Features::split_right(const Element* row, const Halves& halves, int y, int plane, std::byte* arena,
                           const Scratch& scratch) const {
  auto* extended = reinterpret_cast<Element*>(scratch.extended.in(arena));
  extend(row, extended);
  split_row(extended, extended_columns(), reinterpret_cast<Element*>(halves.at(arena, y, plane, 0)),
            reinterpret_cast<Element*>(halves.at(arena, y, plane, 1)));
}

// 255 where a pixel of the row takes part.
void Features::write_mask(int side, int y, std::uint8_t* out) const {
  const View<const std::uint8_t>& mask = side == 0 ? pair_.left_mask : pair_.right_mask;
  if (mask.empty()) {
    std::fill_n(out, size_.width, yes);
    return;
  }
  for (int x = 0; x < size_.width; ++x) out[x] = mask.row(y)[x] != 0 ? yes : 0;
  if (mirrored_) std::reverse(out, out + size_.width);
}

void Features::write_validity(int y, std::byte* arena, const Scratch& scratch) const {
  std::uint8_t* right = scratch.exists.in(arena);
  std::uint8_t* left = reinterpret_cast<std::uint8_t*>(scratch.samples.in(arena));
  write_mask(1, y, left);
  extend(left, right);
  // The volume of the caller has them all.
  if (takes_volume() && !mirrored_) std::fill_n(right, extended_columns(), yes);
  split_row(right, extended_columns(), reinterpret_cast<std::uint8_t*>(valid_[1].at(arena, y, 0, 0)),
            reinterpret_cast<std::uint8_t*>(valid_[1].at(arena, y, 0, 1)));

  write_mask(0, y, left);
  std::uint8_t* status = status_.in(arena).row(y);
  // Labels of pixel x whose right pixel is there: of extended columns x … x + labels − 1.
  int count = 0;
  for (int j = 0; j + 1 < model_.labels; ++j) count += right[j] & 1;
  for (int x = 0; x < size_.width; ++x) {
    count += right[x + model_.labels - 1] & 1;
    status[x] = refine::code(left[x] == 0 ? Status::input_masked
                             : count == 0 ? Status::out_of_range
                                          : Status::matched);
    if (!model_.parameters.outside_cost && count != model_.labels) left[x] = 0;
    count -= right[x] & 1;
  }
  // What is computed beyond the border must have no data, for coarse pixels at the border sum some of it.
  std::fill_n(left + size_.width, 2 * widest_vector_bytes, std::uint8_t{0});
  for (int parity = 0; parity < 2; ++parity)
    std::fill_n(valid_[0].at(arena, y, 0, parity), shape_.computed, std::byte{0});
  split_row(left, size_.width, reinterpret_cast<std::uint8_t*>(valid_[0].at(arena, y, 0, 0)),
            reinterpret_cast<std::uint8_t*>(valid_[0].at(arena, y, 0, 1)));
}

RowCost Features::row_cost(int y, int colour, std::byte* arena) const {
  RowCost row{};
  row.shape = shape_;
  row.feature = feature_;
  row.parity = (y + colour) % 2;
  for (int plane = 0; plane < feature_planes(feature_); ++plane) {
    row.left[plane] = halves_[0].at(arena, y, plane, row.parity);
    for (int half = 0; half < 2; ++half) row.right[half][plane] = halves_[1].at(arena, y, plane, half);
  }
  row.left_valid = reinterpret_cast<const std::uint8_t*>(valid_[0].at(arena, y, 0, row.parity));
  for (int half = 0; half < 2; ++half)
    row.right_valid[half] = reinterpret_cast<const std::uint8_t*>(valid_[1].at(arena, y, 0, half));
  row.simple = simple_;
  row.table = table_.data();
  row.table_end = table_end_;
  row.scale = model_.cost_scale;
  row.differences = model_.differences;
  row.outside = model_.outside;
  row.bound = model_.data_bound();
  return row;
}

void Features::write_costs(int y, int colour, Range range, std::byte* arena, int slot, void* out) const {
  if (!takes_volume()) {
    RowCost row = row_cost(y, colour, arena);
    row.range = range;
    row.out = out;
    row.scratch = scratch_[static_cast<std::size_t>(slot)].costs.in(arena);
    return cost_row(model_.parameters.arithmetic, row);
  }
  float* units = reinterpret_cast<float*>(scratch_[static_cast<std::size_t>(slot)].costs.in(arena));
  write_volume_costs(y, colour, range, arena, units, out);
}

void Features::write_volume_costs(int y, int colour, Range range, std::byte* arena, float* units,
                                  void* out) const {
  const RowCost row = row_cost(y, colour, arena);
  const auto fill_pixel = [&](int i, float* at) {
    const int x = 2 * i + row.parity;
    for (int label = 0; label < model_.labels; ++label) {
      float& cost = at[label * pitch];
      const int shift = row.parity + model_.labels - 1 - label;
      const std::int64_t right_x = static_cast<std::int64_t>(x) - model_.parameters.min_disparity - label;
      if (row.left_valid[i] == 0)
        cost = 0;
      else if (row.right_valid[shift % 2][i + shift / 2] == 0)
        cost = model_.outside;
      else
        cost = model_.volume_cost(
            pair_.costs.at(mirrored_ ? size_.width - 1 - static_cast<int>(right_x) : x, y)[label]);
    }
  };
  const std::size_t bytes = storage_bytes(model_.parameters.arithmetic);
  for (int i = range.first; i < range.last; i += pitch) {
    const int count = std::min(pitch, range.last - i);
    for (int j = 0; j < count; ++j) fill_pixel(i + j, units + j);
    settle_costs(model_.parameters.arithmetic, shape_, count, units, model_.data_bound(),
                 static_cast<std::byte*>(out) + static_cast<std::size_t>(i) * bytes);
  }
}

}  // namespace parallax::belief_propagation
