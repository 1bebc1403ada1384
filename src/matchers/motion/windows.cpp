// SPDX-License-Identifier: Apache-2.0
// Only the few rows of packs between the first half-sweep and the decision are kept.

#include "matchers/motion/windows.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "core/integers.h"
#include "core/memory.h"
#include "matchers/motion/follow_closely.h"

namespace parallax::motion {
namespace {

// Data cost of elements beyond the window.
template <class Element>
Element never_lowest() {
  if constexpr (std::numeric_limits<Element>::has_infinity) return std::numeric_limits<Element>::infinity();
  constexpr int above_all = 40000;  // with messages, still below 65536
  return static_cast<Element>(above_all);
}

WindowModel window_model(const Model& model, Size window) {
  WindowModel made = {};
  made.arithmetic = model.parameters.arithmetic;
  made.window = window;
  made.slopes = model.slopes;
  made.truncations = model.truncations;
  made.data_bound = model.data_bound();
  const auto labels = [&](const auto& action) {
    for (int column = 0; column < window.width; ++column)
      for (int row = 0; row < window.height; ++row) action(column, row, column * window_side + row);
  };
  labels([&](int, int, int lane) { made.inside[lane] = 255; });
  for (int a = 0; a < window_lanes; ++a)
    for (int b = 0; b < window_lanes; ++b)
      made.far[a][b] = std::max(std::abs(a / window_side - b / window_side),
                                std::abs(a % window_side - b % window_side)) > 1
                           ? 255
                           : 0;
  constexpr int support_side = 5;
  for (int column = 0; column < support_side; ++column)
    std::fill_n(made.square + column * window_side, support_side, std::uint8_t{255});
  for (int bits = 0; bits < WindowModel::outside_bits; ++bits)
    made.units[bits] = model.data_cost(bits * data_cost::per_level);
  made.units[WindowModel::outside_bits] = model.outside;
  const auto predicted = [&](int distance) {
    return model.rounded(model.prediction_weight * static_cast<float>(distance));
  };
  made.fits_bytes = model.integer && *std::max_element(std::begin(made.units), std::end(made.units)) +
                                             predicted(window.width + window.height - 2) <=
                                         255;
  if (!made.fits_bytes) return made;
  std::transform(std::begin(made.units), std::end(made.units), std::begin(made.unit_bytes),
                 [](float units) { return static_cast<std::uint8_t>(units); });
  labels([&](int p, int q, int prediction) {
    labels([&](int column, int row, int lane) {
      made.predicted[prediction][lane] =
          static_cast<std::uint8_t>(predicted(std::abs(column - p) + std::abs(row - q)));
    });
  });
  return made;
}

}  // namespace

struct Windows::Direction {
  const Match& match;
  Scale scale;  // with the labels of this direction
  int left, right;
};

Windows::Windows(const Model& model, const Scale& scale, std::size_t scale_index, int slots)
    : model_(model),
      scale_(scale),
      scale_index_(scale_index),
      window_model_(window_model(model, scale.window)),
      held_(std::min(scale.size.height, model.iterations(scale_index, 0) + 3)),
      census_(scale.size, slots),
      scratch_(to_size(slots)) {}

std::size_t Windows::row_bytes() const {
  return to_size(scale_.size.width) * window_packs * window_lanes * element_bytes(window_model_.arithmetic);
}

void Windows::reserve(Arena& arena) {
  const Size size = scale_.size;
  const auto width = to_size(size.width), rows = to_size(held_);
  if (model_.cost == DataCost::census) {
    for (auto& signatures : signatures_)
      signatures = arena.reserve_plane<std::uint64_t>({size.width + 2 * signature_border, size.height + 1});
    census_.reserve(arena);
  }
  for (Scratch& scratch : scratch_) {
    scratch.packs = arena.reserve<std::byte>(rows * row_bytes());
    scratch.starts = arena.reserve<WindowStart>(rows * width);
    for (auto* edges : {&scratch.beside, &scratch.below}) *edges = arena.reserve<std::uint16_t>(rows * width);
    scratch.predictions = arena.reserve<Offset>(width);
    scratch.rough = arena.reserve<std::uint8_t>(width / 2 + 1);
    scratch.decisions = arena.reserve<Decision>(width);
  }
}

// Messages from beyond the border, and elements beyond windows, stay 0.
void Windows::fill_memory() const {
  for (const Scratch& scratch : scratch_) clear_memory(scratch.packs, to_size(held_) * row_bytes());
  for (const View<std::uint64_t>& signatures : signatures_)
    for (int y = 0; y < signatures.size.height; ++y)
      std::fill_n(signatures.row(y), signatures.size.width, no_signature);
  census_.fill_memory();
}

WindowRow Windows::row(const Scratch& scratch, int y) const {
  const auto at = to_size(y % held_), width = to_size(scale_.size.width);
  return {scratch.packs + at * row_bytes(), scratch.starts + at * width, scratch.beside + at * width,
          scratch.below + at * width};
}

void Windows::prepare(const ScaleFrames& frames, const Workers& workers) {
  frames_ = frames;
  if (model_.cost != DataCost::census) return;
  census_.prepare(frames, workers);
  for (int frame = 0; frame < 2; ++frame)
    for_rows(workers, scale_.size.height, [&](int y, int slot) { write_signatures(frame, y, slot); });
}

void Windows::write_signatures(int frame, int y, int slot) const {
  const Size size = scale_.size;
  const FrameCensus::Planes& planes = census_.row(frame, y, slot);
  std::uint64_t* out = signatures_[frame].row(y) + signature_border;
  for (int x = 0; x < size.width; ++x) {
    std::uint64_t signature = 0;
    for (std::size_t byte = 0; byte < planes.size(); ++byte)
      signature |= static_cast<std::uint64_t>(planes[byte][x]) << (8 * byte);
    out[x] = signature;
  }
  const View<const std::uint8_t>& mask = frames_.mask[frame];
  if (mask.empty()) return;
  for (int x = 0; x < size.width; ++x)
    if (mask.at(x, y) == 0) out[x] |= no_signature;
}

void Windows::run(const Match& match, int first, int last, int slot) const {
  Direction direction{match, scale_, match.backward ? 1 : 0, match.backward ? 0 : 1};
  if (match.backward) direction.scale.labels = scale_.labels.reversed();
  const Scratch& scratch = scratch_[to_size(slot)];
  const int height = scale_.size.height, count = iterations();
  // The decision needs the last messages of the neighbouring rows, and so on.
  const auto range = [&](int k) -> Range {
    return {std::max(0, first - count + k), std::min(height, last + count - k)};
  };
  const auto arrive_at = [&](int y) {
    if (y < height) arrive(direction, y, scratch);
  };
  for (int y = std::max(0, range(0).first - 1); y <= range(0).first; ++y) arrive_at(y);
  follow_closely(
      count, range, arrive_at, [&](int k, int y) { sweep(k, y, scratch); },
      [&](int y) {
        if (y >= first && y < last) decide(direction, y, scratch);
      });
}

void Windows::arrive(const Direction& direction, int y, const Scratch& scratch) const {
  const Size size = scale_.size;
  const WindowRow here = row(scratch, y);
  predict_row(direction, y, scratch);
  const std::size_t pack = window_lanes * element_bytes(window_model_.arithmetic);
  const auto clear = [&](int from) {
    for (int x = 0; x < size.width; ++x)
      std::memset(here.packs + (to_size(x) * window_packs + to_size(from)) * pack, 0, pack);
  };
  if (y == 0) clear(side::above);
  if (y == size.height - 1) clear(side::below);
  write_edges(direction, y, here);
  write_costs(direction, y, here, scratch.predictions);
}

// Also writes the starts of windows.
void Windows::predict_row(const Direction& direction, int y, const Scratch& scratch) const {
  const View<const Offset>& coarser = direction.match.coarser;
  WindowStart* starts = row(scratch, y).starts;
  const auto write = [&](int x, Offset prediction) {
    const Offset first = window_first(direction.scale, prediction);
    scratch.predictions[x] = prediction;
    starts[x] = {1 - first.x - scale_.window.width, first.y};
  };
  // If steps of the coarser scale do not exceed this, doubled motions stay in the window.
  const int close = std::min(model_.parameters.active_window / 2 / 2, 1);
  find_rough(coarser, y / 2, close, scratch.rough);
  for (int parent = 0; parent < coarser.size.width; ++parent) {
    const int x = 2 * parent;
    const bool both = x + 1 < scale_.size.width;
    const Offset own = prediction_of(direction, parent, y / 2);
    Offset others[8];
    const int count = scratch.rough[parent] != 0 ? find_others(direction, parent, y / 2, own, others) : 0;
    if (count == 0) {
      write(x, own);
      if (!both) continue;
      scratch.predictions[x + 1] = own;
      starts[x + 1] = starts[x];
    } else {
      write(x, predict(direction, x, y, own, others, count));
      if (both) write(x + 1, predict(direction, x + 1, y, own, others, count));
    }
  }
}

Offset Windows::prediction_of(const Direction& direction, int parent_x, int parent_y) const {
  const Offset found = direction.match.coarser.at(parent_x, parent_y);
  return nearest(direction.scale.labels, {2 * found.x, 2 * found.y});
}

// The predictions of the pixels around a coarser pixel that are outside its window, each once.
int Windows::find_others(const Direction& direction, int parent_x, int parent_y, Offset own,
                         Offset* others) const {
  const Size size = direction.match.coarser.size;
  const LabelSpace window{window_first(direction.scale, own), scale_.window};
  int count = 0;
  for (int j = std::max(0, parent_y - 1); j <= std::min(parent_y + 1, size.height - 1); ++j)
    for (int k = std::max(0, parent_x - 1); k <= std::min(parent_x + 1, size.width - 1); ++k) {
      const Offset other = prediction_of(direction, k, j);
      if (!window.contains(other) && std::find(others, others + count, other) == others + count)
        others[count++] = other;
    }
  return count;
}

Offset Windows::predict(const Direction& direction, int x, int y, Offset own, const Offset* others,
                        int count) const {
  Offset candidates[9] = {own};
  std::copy_n(others, count, candidates + 1);
  float supports[9];
  if (counts_in_bytes()) {
    int sums[9];
    find_supports({&window_model_, x, y, signatures_[direction.left], signatures_[direction.right],
                   candidates, count + 1, sums});
    std::copy_n(sums, count + 1, supports);
  } else {
    for (int i = 0; i <= count; ++i) supports[i] = support(direction, x, y, candidates[i]);
  }
  return candidates[std::min_element(supports, supports + count + 1) - supports];
}

float Windows::cost(const Direction& direction, int x, int y, Offset offset) const {
  const Size size = scale_.size;
  const int right_x = x - offset.x, right_y = y + offset.y;
  const bool inside = right_x >= 0 && right_y >= 0 && right_x < size.width && right_y < size.height;
  if (model_.cost == DataCost::census) {
    const std::uint64_t here = signatures_[direction.left].at(x + signature_border, y);
    if ((here & no_signature) != 0) return 0;
    const std::uint64_t there =
        inside ? signatures_[direction.right].at(right_x + signature_border, right_y) : no_signature;
    return (there & no_signature) != 0 ? model_.outside
                                       : window_model_.units[to_size(std::popcount(here ^ there))];
  }
  const auto takes_part = [&](int frame, int u, int v) {
    const View<const std::uint8_t>& mask = frames_.mask[frame];
    return mask.empty() || mask.at(u, v) != 0;
  };
  if (!takes_part(direction.left, x, y)) return 0;
  if (!inside || !takes_part(direction.right, right_x, right_y)) return model_.outside;
  return model_.data_cost(
      std::abs(frames_.gray[direction.left].at(x, y) - frames_.gray[direction.right].at(right_x, right_y)));
}

// Data costs of an offset in the window around a pixel.
float Windows::support(const Direction& direction, int x, int y, Offset offset) const {
  constexpr int radius = 2;
  const Size size = scale_.size;
  float sum = 0;
  for (int v = std::max(0, y - radius); v <= std::min(y + radius, size.height - 1); ++v)
    for (int u = std::max(0, x - radius); u <= std::min(x + radius, size.width - 1); ++u)
      sum += cost(direction, u, v, offset);
  return sum;
}

void Windows::write_edges(const Direction& direction, int y, const WindowRow& row) const {
  const View<const std::uint16_t>& gray = frames_.gray[direction.left];
  const Size size = scale_.size;
  const auto write = [](const std::uint16_t* here, const std::uint16_t* there, int count,
                        std::uint16_t* edges) {
    for (int x = 0; x < count; ++x)
      edges[x] = static_cast<std::uint16_t>(data_cost::edge_index(std::abs(here[x] - there[x])));
  };
  write(gray.row(y), gray.row(y) + 1, size.width - 1, row.beside);
  if (y + 1 < size.height) write(gray.row(y), gray.row(y + 1), size.width, row.below);
}

void Windows::write_costs(const Direction& direction, int y, const WindowRow& row,
                          const Offset* predictions) const {
  if (window_model_.arithmetic == Arithmetic::fixed8 && counts_in_bytes())
    return write_window_costs(window_costs(direction, y, row, predictions));
  as_element(window_model_.arithmetic,
             [&](auto element) { write_costs_as<decltype(element)>(direction, y, row, predictions); });
}

WindowCosts Windows::window_costs(const Direction& direction, int y, const WindowRow& row,
                                  const Offset* predictions) const {
  return {&window_model_, y, row, predictions, signatures_[direction.left], signatures_[direction.right]};
}

template <class Element>
void Windows::write_costs_as(const Direction& direction, int y, const WindowRow& row,
                             const Offset* predictions) const {
  const Size window = scale_.window;
  for (int x = 0; x < scale_.size.width; ++x) {
    const Offset p = predictions[x];
    const WindowStart start = row.starts[x];
    float costs[window_lanes];
    float least = decision::no_value;
    std::uint8_t bits[window_lanes];
    const bool census = model_.cost == DataCost::census,
               takes_part =
                   !census || (signatures_[direction.left].at(x + signature_border, y) & no_signature) == 0;
    if (census) count_window_bits(window_costs(direction, y, row, predictions), x, bits);
    for (int column = 0; column < window.width; ++column)
      for (int j = 0; j < window.height; ++j) {
        const int lane = column * window_side + j;
        const Offset offset{-(start.column + column), start.row + j};
        const float data = !takes_part ? 0
                           : census    ? window_model_.units[bits[lane]]
                                       : cost(direction, x, y, offset);
        costs[lane] =
            data + model_.rounded(model_.prediction_weight *
                                  static_cast<float>(std::abs(offset.x - p.x) + std::abs(offset.y - p.y)));
        least = std::min(least, costs[lane]);
      }
    Element* out =
        reinterpret_cast<Element*>(row.packs) + (std::ptrdiff_t{x} * window_packs + data_pack) * window_lanes;
    for (int lane = 0; lane < window_lanes; ++lane) {
      constexpr bool bytes = sizeof(Element) == 1;
      const bool inside = window_model_.inside[lane] != 0;
      const float settled = inside ? std::min(costs[lane] - least, model_.highest_settled()) : 0;
      if constexpr (bytes)
        out[lane] = inside ? static_cast<Element>(model_.highest_settled() - settled) : Element{0};
      else
        out[lane] = inside ? static_cast<Element>(settled) : never_lowest<Element>();
    }
  }
}

void Windows::sweep(int iteration, int y, const Scratch& scratch) const {
  const int height = scale_.size.height, colour = (iteration + 1) % 2;
  WindowSweep sweep{
      &window_model_, (y + colour) % 2, scale_.size.width, iteration > 0, row(scratch, y), {}, {},
      y > 0,          y + 1 < height};
  if (sweep.has_above) sweep.above = row(scratch, y - 1);
  if (sweep.has_below) sweep.below = row(scratch, y + 1);
  send_windows(sweep);
}

void Windows::decide(const Direction& direction, int y, const Scratch& scratch) const {
  const Match& match = direction.match;
  // Pixels with x + y odd have received messages only if the other pixels have sent some.
  const bool odd = iterations() > 1;
  const WindowDecisions row{&window_model_,
                            scale_.size.width,
                            {y % 2 == 0 || odd, y % 2 == 1 || odd},
                            this->row(scratch, y),
                            static_cast<bool>(match.decided),
                            match.rivals,
                            scratch.decisions};
  decide_windows(row);
  if (!match.best.empty())
    for (int x = 0; x < scale_.size.width; ++x) match.best.at(x, y) = scratch.decisions[x].offset;
  if (match.decided) match.decided(y, scratch.decisions);
}

}  // namespace parallax::motion
