// SPDX-License-Identifier: Apache-2.0
#include "check/coarse_match.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <vector>

#include "core/integers.h"

namespace parallax::check {
namespace {

// Bands of rows are matched at once. Each begins above its first row, so that the path from above is known
// there.
constexpr int rows_of_band = 32, rows_above = 8;
constexpr std::int16_t never = 10000;
// A gradient that no pixel has, outside the right picture.
constexpr std::int16_t no_gradient = 2000;
// Disparities as close as this are no rivals.
constexpr int same_label = 2;

using Values = std::vector<std::int16_t>;

// One value for each pixel of a row and label, with space around the labels of a pixel that is never the
// least.
class PixelLabels {
 public:
  PixelLabels(int pixels, int labels)
      : pitch_(labels + 2), values_(to_size(pixels) * to_size(pitch_), never) {}
  std::int16_t* operator[](int x) { return values_.data() + to_size(x) * to_size(pitch_) + 1; }

 private:
  int pitch_;
  Values values_;
};

class RowBand {
 public:
  RowBand(const SmallPicture& left, const SmallPicture& right, Labels labels, SmallMatch& match)
      : left_(left),
        right_(right),
        labels_(labels),
        match_(match),
        width_(left.size().width),
        costs_(width_, labels.count),
        above_(width_, labels.count),
        below_(width_, labels.count),
        sums_(width_, labels.count),
        path_(2, labels.count),
        right_x_(to_size(2 * (width_ + labels.count + std::abs(labels.first))), no_gradient),
        right_y_(right_x_.size(), no_gradient),
        least_(right_x_.size()),
        label_(right_x_.size()),
        least_above_(to_size(width_)),
        choices_(to_size(width_)) {
    for (int x = 0; x < width_; ++x) std::fill_n(above_[x], labels_.count, std::int16_t{0});
  }

  void match(int first, int last) {
    for (int y = std::max(0, first - rows_above); y < last; ++y) {
      write_costs_of_row(y);
      for (int x = 0; x < width_; ++x) {
        std::fill_n(sums_[x], labels_.count, std::int16_t{0});
        least_above_[to_size(x)] = extend(above_[x], least_above_[to_size(x)], x, below_[x]);
      }
      std::swap(above_, below_);
      if (y < first) continue;
      follow_row(0, 1);
      follow_row(width_ - 1, -1);
      for (int x = 0; x < width_; ++x) choices_[to_size(x)] = choose(x);
      write_row(y);
    }
  }

 private:
  struct Choice {
    int label;
    float disparity;
    std::int16_t margin;
  };

  // Rows of the right picture are reversed, so that labels ascend: right column `r` is element origin() - r.
  int origin() const { return width_ + std::max(0, -labels_.first); }
  int element(int x, int label) const { return origin() - (x - labels_.first - label); }

  void write_costs_of_row(int y) {
    for (int x = 0; x < width_; ++x) {
      right_x_[to_size(origin() - x)] = right_.along_x.at(x, y);
      right_y_[to_size(origin() - x)] = right_.along_y.at(x, y);
    }
    for (int x = 0; x < width_; ++x)
      write_costs(left_.along_x.at(x, y), left_.along_y.at(x, y), right_x_.data() + element(x, 0),
                  right_y_.data() + element(x, 0), labels_.count, costs_[x]);
  }

  std::int16_t extend(const std::int16_t* before, std::int16_t least, int x, std::int16_t* path) {
    return extend_path(before, least, costs_[x], labels_.count, path, sums_[x]);
  }

  void follow_row(int first, int step) {
    std::fill_n(path_[0], labels_.count, std::int16_t{0});
    std::int16_t least = 0;
    for (int i = 0; i < width_; ++i)
      least = extend(path_[i % 2], least, first + i * step, path_[(i + 1) % 2]);
  }

  Choice choose(int x) {
    std::int16_t* sums = sums_[x];
    const int count = labels_.count;
    const std::int16_t least = least_of(sums, count);
    const int best = static_cast<int>(std::find(sums, sums + count, least) - sums);
    Choice choice{best, static_cast<float>(labels_.first + best), 0};
    if (best > 0 && best + 1 < count) {  // the minimum of a parabola
      const int slope = sums[best - 1] - sums[best + 1], curve = sums[best - 1] - 2 * least + sums[best + 1];
      if (curve > 0) choice.disparity += 0.5f * static_cast<float>(slope) / static_cast<float>(curve);
    }
    if (x == 0) std::fill(least_.begin(), least_.end(), never);
    keep_least(sums, count, least_.data() + element(x, 0), label_.data() + element(x, 0));
    std::fill(sums + std::max(0, best - same_label), sums + std::min(count, best + same_label + 1), never);
    choice.margin = static_cast<std::int16_t>(least_of(sums, count) - least);
    return choice;
  }

  // Writes the disparities on which left and right agree.
  void write_row(int y) {
    for (int x = 0; x < width_; ++x) {
      match_.disparity.at(x, y) = match_.right_disparity.at(x, y) = std::numeric_limits<float>::infinity();
      match_.margin.at(x, y) = choices_[to_size(x)].margin;
    }
    for (int x = 0; x < width_; ++x) {
      const Choice& choice = choices_[to_size(x)];
      if (agrees(x, choice.label, y)) match_.disparity.at(x, y) = choice.disparity;
      const int label = label_[to_size(origin() - x)];  // best label of the right pixel
      if (agrees(x + labels_.first + label, label, y))
        match_.right_disparity.at(x, y) = static_cast<float>(labels_.first + label);
    }
  }

  // Whether a left pixel and the right one that a label gives it have like labels, and no mask hides them.
  bool agrees(int x, int label, int y) const {
    const int right = x - labels_.first - label;
    if (x < 0 || x >= width_ || right < 0 || right >= width_) return false;
    return left_.seen.at(x, y) != 0 && right_.seen.at(right, y) != 0 &&
           std::abs(label_[to_size(origin() - right)] - choices_[to_size(x)].label) <= 1;
  }

  const SmallPicture &left_, &right_;
  Labels labels_;
  SmallMatch& match_;
  int width_;
  PixelLabels costs_, above_, below_, sums_, path_;
  Values right_x_, right_y_, least_, label_, least_above_;
  std::vector<Choice> choices_;
};

}  // namespace

SmallMatch match_small_pictures(const SmallPicture& left, const SmallPicture& right, Labels labels,
                                const Workers& workers) {
  const Size size = left.size();
  SmallMatch match{Plane<float>(size), Plane<float>(size), Plane<std::int16_t>(size)};
  workers.for_each(divide_round_up(size.height, rows_of_band), [&](int index, int) {
    const int first = index * rows_of_band;
    RowBand(left, right, labels, match).match(first, std::min(size.height, first + rows_of_band));
  });
  return match;
}

}  // namespace parallax::check
