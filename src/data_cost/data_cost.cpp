// SPDX-License-Identifier: Apache-2.0
#include "data_cost/data_cost.h"

#include <algorithm>
#include <cstdlib>

#include "parallax/error.h"

#include "core/checks.h"
#include "core/gray.h"
#include "core/search_reach.h"

namespace parallax::data_cost {
namespace {

// Limit of gradients, in either direction.
constexpr int steepest = 15 * per_level;

// A row extended without limit by its border samples.
struct Row {
  const std::uint16_t* samples;
  int width;
  int at(int x) const { return samples[std::clamp(x, 0, width - 1)]; }
  int between(int x) const { return (at(x) + at(x + 1) + 1) / 2; }  // halfway between x and x + 1
  int lowest(int x) const { return std::min({at(x), between(x - 1), between(x)}); }
  int highest(int x) const { return std::max({at(x), between(x - 1), between(x)}); }
};

// Birchfield & Tomasi 1998, equations 2–4: the distance from a sample to the range that the other image shows
// within half a pixel; the lower distance of both directions.
int birchfield_tomasi(Row left, Row right, int x, int right_x) {
  const auto distance = [](int sample, const Row& other, int at) {
    return std::max({0, sample - other.highest(at), other.lowest(at) - sample});
  };
  return std::min(distance(left.at(x), right, right_x), distance(right.at(right_x), left, x));
}

}  // namespace

void gradient_row(View<const std::uint16_t> gray, int y, std::uint16_t* out) {
  const int last = gray.size.width - 1;
  const std::uint16_t *above = gray.row(std::max(0, y - 1)), *here = gray.row(y),
                      *below = gray.row(std::min(gray.size.height - 1, y + 1));
  out[0] = out[last] = steepest;
  for (int x = 1; x < last; ++x) {
    const auto difference = [&](const std::uint16_t* row) { return row[x + 1] - row[x - 1]; };
    const int gradient = difference(above) + 2 * difference(here) + difference(below);
    out[x] = static_cast<std::uint16_t>(std::clamp(gradient, -steepest, steepest) + steepest);
  }
}

int highest_counted(DataCost cost, float truncation) {
  constexpr int signature_bits = 62, opposites = 31;
  const int highest = cost == DataCost::census                       ? signature_bits * per_level
                      : cost == DataCost::census_centre_symmetric    ? opposites * per_level
                      : cost == DataCost::gradient_birchfield_tomasi ? 2 * steepest + highest_difference / 4
                                                                     : highest_difference;
  if (truncation <= 0) return highest;
  return static_cast<int>(std::min(truncation * per_level + 0.5f, static_cast<float>(highest)));
}

void check_reachable(const CostModel& model, Size size) {
  const LabelSpace space = model.space();
  if (model.cost != DataCost::volume)
    parallax::check_reachable(space.first.x, space.extent.width, size.width);
}

namespace {

// The part of each image that a cost reads around its centre.
struct Window {
  int columns, rows;
};

Window window_of(DataCost cost) {
  switch (cost) {
    case DataCost::census:
    case DataCost::census_centre_symmetric:
      return {4, 3};
    case DataCost::gradient_birchfield_tomasi:
      return {2, 1};
    case DataCost::birchfield_tomasi:
      return {1, 0};
    case DataCost::mean_absolute_difference:
      return {2, 2};
    case DataCost::absolute_difference:
    case DataCost::absolute_difference_colour:
    case DataCost::volume:
      break;
  }
  return {0, 0};
}

}  // namespace

std::vector<Size> level_sizes(Size image, int levels) {
  std::vector<Size> sizes{image};
  while (static_cast<int>(sizes.size()) < levels && sizes.back() != Size{1, 1})
    sizes.push_back(halved(sizes.back()));
  return sizes;
}

// Adds the pixels that costs read and the pixels of the frame, which a tile's border would have, too.
Margins margins(const CostModel& model, Size size, bool left_right_check, int padding) {
  if (model.cost == DataCost::volume)
    throw Error(
        ErrorCategory::argument,
        "tiles do not support the caller's own data costs: choose another cost, or match the whole image");
  check_reachable(model, size);
  const LabelSpace space = model.space();
  const SearchReach reach = search_reach(space.first.x, space.last().x, size.width, left_right_check);
  const Window window = window_of(model.cost);
  const int smoothing = static_cast<int>(smoothing_weights(model.smoothing).size()) - 1;
  const int every_side = padding + model.frame + smoothing;
  // The left-right check compares with right pixels, whose own labels reach as far back.
  const int row_reach =
      std::max(std::abs(space.first.y), std::abs(space.last().y)) * (left_right_check ? 2 : 1);
  const int rows = every_side + window.rows + row_reach;
  return {.left = every_side + window.columns + reach.left,
          .right = every_side + window.columns + reach.right,
          .top = rows,
          .bottom = rows,
          .exact = false};
}

std::vector<std::uint32_t> smoothing_weights(float sigma) {
  constexpr double total = 65536;
  if (sigma <= 0) return {static_cast<std::uint32_t>(total)};
  const int radius = static_cast<int>(std::ceil(4 * sigma));
  std::vector<double> gauss;
  double sum = 0;
  for (int i = 0; i <= radius; ++i) {
    gauss.push_back(std::exp(-0.5 * (i / static_cast<double>(sigma)) * (i / static_cast<double>(sigma))));
    sum += (i == 0 ? 1 : 2) * gauss.back();
  }
  std::vector<std::uint32_t> weights;
  for (const double value : gauss) weights.push_back(static_cast<std::uint32_t>(total * value / sum + 0.5));
  std::uint32_t others = 0;
  for (std::size_t i = 1; i < weights.size(); ++i) others += 2 * weights[i];
  weights[0] = static_cast<std::uint32_t>(total) - others;
  return weights;
}

void smooth_row(const std::uint16_t* in, int width, const std::vector<std::uint32_t>& weights,
                std::uint16_t* out) {
  const int radius = static_cast<int>(weights.size()) - 1;
  const auto at = [&](int x) -> std::uint32_t { return in[std::clamp(x, 0, width - 1)]; };
  for (int x = 0; x < width; ++x) {
    std::uint32_t sum = 32768 + weights[0] * in[x];
    for (int i = 1; i <= radius; ++i) sum += weights[to_size(i)] * (at(x - i) + at(x + i));
    out[x] = static_cast<std::uint16_t>(sum >> 16);
  }
}

void smooth_column(View<const std::uint16_t> in, int y, const std::vector<std::uint32_t>& weights,
                   std::uint16_t* out) {
  const int radius = static_cast<int>(weights.size()) - 1;
  const auto row = [&](int v) { return in.row(std::clamp(v, 0, in.size.height - 1)); };
  for (int x = 0; x < in.size.width; ++x) {
    std::uint32_t sum = 32768 + weights[0] * row(y)[x];
    for (int i = 1; i <= radius; ++i)
      sum += weights[to_size(i)] *
             (static_cast<std::uint32_t>(row(y - i)[x]) + static_cast<std::uint32_t>(row(y + i)[x]));
    out[x] = static_cast<std::uint16_t>(sum >> 16);
  }
}

namespace {

template <class Sample>
void channel_row(const Sample* row, int channels, int channel, int width, std::uint16_t* out) {
  for (int x = 0; x < width; ++x) out[x] = row[x * channels + channel];
}

}  // namespace

void sample_row(const ImageView& image, int channel, int y, bool mirrored, std::uint16_t* out) {
  const int width = image.format.size.width;
  const bool deep = image.format.depth == BitDepth::bits16;
  if (channel == gray_channel || image.channels == 1)
    gray_row(image, y, out);
  else if (deep)
    channel_row(static_cast<const std::uint16_t*>(image.row(y)), image.channels, channel, width, out);
  else
    channel_row(static_cast<const std::uint8_t*>(image.row(y)), image.channels, channel, width, out);
  if (!deep)
    for (int x = 0; x < width; ++x) out[x] = static_cast<std::uint16_t>(out[x] * per_level);
  if (mirrored) std::reverse(out, out + width);
}

DataCosts::DataCosts(const CostModel& model, Size size)
    : model_(model), size_(size), weights_(smoothing_weights(model.smoothing)) {}

void DataCosts::reserve(Arena& arena) {
  for (auto& side : samples_)
    for (auto& samples : side) samples = arena.reserve_plane<std::uint16_t>(size_);
  for (auto* plane : {&unsmoothed_, &half_smoothed_}) *plane = arena.reserve_plane<std::uint16_t>(size_);
  if (takes_gradients())
    for (auto& gradients : gradients_) gradients = arena.reserve_plane<std::uint16_t>(size_);
}

void DataCosts::prepare(const StereoPair& pair, bool mirrored) {
  pair_ = mirrored ? exchanged(pair) : pair;
  mirrored_ = mirrored;
  for (int side = 0; side < 2; ++side) {
    for (int channel = 0; channel < 4; ++channel) {
      const ImageView& image = side == 0 ? pair_.left : pair_.right;
      for (int y = 0; y < size_.height; ++y) sample_row(image, channel, y, mirrored, unsmoothed_.row(y));
      for (int y = 0; y < size_.height; ++y)
        smooth_row(unsmoothed_.row(y), size_.width, weights_, half_smoothed_.row(y));
      for (int y = 0; y < size_.height; ++y)
        smooth_column(half_smoothed_, y, weights_, samples_[side][channel].row(y));
    }
    if (!takes_gradients()) continue;
    for (int y = 0; y < size_.height; ++y)
      gradient_row(samples_[side][gray_channel], y, gradients_[side].row(y));
  }
}

bool DataCosts::masked(int x, int y) const {
  const int column = mirrored_ ? size_.width - 1 - x : x;
  return !pair_.left_mask.empty() && pair_.left_mask.at(column, y) == 0;
}

bool DataCosts::right_exists(int x, int y, int label) const {
  if (takes_volume() && !mirrored_) return true;
  const Pixel right = right_pixel(x, y, label);
  if (right.x < 0 || right.x >= size_.width || right.y < 0 || right.y >= size_.height) return false;
  const int right_column = mirrored_ ? size_.width - 1 - right.x : right.x;
  return pair_.right_mask.empty() || pair_.right_mask.at(right_column, right.y) != 0;
}

bool DataCosts::reachable(int x, int y) const {
  for (int label = 0; label < model_.labels; ++label)
    if (right_exists(x, y, label)) return true;
  return false;
}

bool DataCosts::in_frame(int x, int y) const {
  const int frame = model_.frame;
  return x < frame || y < frame || x >= size_.width - frame || y >= size_.height - frame;
}

bool DataCosts::has_data(int x, int y) const {
  if (masked(x, y) || in_frame(x, y)) return false;
  if (model_.has_outside) return true;
  for (int label = 0; label < model_.labels; ++label)
    if (!right_exists(x, y, label)) return false;
  return true;
}

float DataCosts::at(int x, int y, int label) const {
  if (!has_data(x, y)) return 0;
  if (!right_exists(x, y, label)) return model_.outside;
  const Pixel right = right_pixel(x, y, label);
  if (!takes_volume()) return model_.data_cost(difference({x, y}, right));
  return model_.volume_cost(pair_.costs.at(mirrored_ ? size_.width - 1 - right.x : x, y)[label]);
}

int DataCosts::difference(Pixel left, Pixel right) const {
  const auto channel_difference = [&](int channel) {
    return std::abs(samples_[0][channel].at(left.x, left.y) - samples_[1][channel].at(right.x, right.y));
  };
  const auto of_rows = [&](const View<std::uint16_t>& first, const View<std::uint16_t>& second) {
    return birchfield_tomasi({first.row(left.y), size_.width}, {second.row(right.y), size_.width}, left.x,
                             right.x);
  };
  const auto gray_birchfield_tomasi = [&] {
    return of_rows(samples_[0][gray_channel], samples_[1][gray_channel]);
  };
  switch (model_.cost) {
    case DataCost::absolute_difference_colour: {
      constexpr int third = 21845;  // 1/3 in units of 1/65536
      int sum = 0;
      for (int channel = 0; channel < 3; ++channel)
        sum += static_cast<int>(static_cast<std::uint32_t>(channel_difference(channel)) * third >> 16);
      return sum;
    }
    case DataCost::census:
      return per_level * hamming(left, right);
    case DataCost::census_centre_symmetric:
      return per_level * hamming_of_opposites(left, right);
    case DataCost::birchfield_tomasi:
      return gray_birchfield_tomasi();
    case DataCost::gradient_birchfield_tomasi:
      return of_rows(gradients_[0], gradients_[1]) + gray_birchfield_tomasi() / 4;
    case DataCost::mean_absolute_difference:
      return mean_absolute_difference(left, right);
    case DataCost::absolute_difference:
    case DataCost::volume:
      break;
  }
  return channel_difference(gray_channel);
}

int DataCosts::sample(int side, int x, int y) const {
  return samples_[side][gray_channel].at(std::clamp(x, 0, size_.width - 1),
                                         std::clamp(y, 0, size_.height - 1));
}

// Census, Zabih & Woodfill 1994: which of the 62 neighbours in a 9×7 window are darker than the centre; with
// a tolerance, some must be darker by more than that, and some brighter.
int DataCosts::hamming(Pixel left, Pixel right) const {
  const int tolerance = model_.census_tolerance * per_level;
  const auto bit = [&](int side, Pixel centre, int i, int j) {
    const int here = sample(side, centre.x, centre.y), there = sample(side, centre.x + i, centre.y + j);
    switch (tolerance > 0 ? census_bit(i + 4, j + 3) : CensusBit::darker) {
      case CensusBit::darker_than_tolerance:
        return there + tolerance < here;
      case CensusBit::brighter_than_tolerance:
        return here + tolerance < there;
      case CensusBit::darker:
        break;
    }
    return there < here;
  };
  int bits = 0;
  for (int j = -3; j <= 3; ++j)
    for (int i = -4; i <= 4; ++i) bits += bit(0, left, i, j) != bit(1, right, i, j);
  return bits;
}

int DataCosts::hamming_of_opposites(Pixel left, Pixel right) const {
  const auto brighter = [&](int side, Pixel centre, int i, int j) {
    return sample(side, centre.x + i, centre.y + j) > sample(side, centre.x - i, centre.y - j);
  };
  int bits = 0;
  for (int j = -3; j <= 0; ++j)
    for (int i = -4; i <= (j < 0 ? 4 : -1); ++i) bits += brighter(0, left, i, j) != brighter(1, right, i, j);
  return bits;
}

// The mean in integer gray levels, rounded down.
int DataCosts::mean_absolute_difference(Pixel left, Pixel right) const {
  constexpr int radius = 2, pixels = (2 * radius + 1) * (2 * radius + 1);
  int sum = 0;
  for (int j = -radius; j <= radius; ++j)
    for (int i = -radius; i <= radius; ++i)
      sum += std::abs(sample(0, left.x + i, left.y + j) - sample(1, right.x + i, right.y + j));
  return sum / (pixels * per_level) * per_level;
}

}  // namespace parallax::data_cost
