// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>

#include "check/check.h"

namespace parallax::check {
namespace {

// Out of 224 bits. Unrelated corners differ in about 112.
constexpr int max_distance = 60;
// The second best must differ in more bits than this, if the best differs in `best`. Lowe (2004) uses a
// similar ratio.
constexpr double rival_bits(int best) {
  return 1.2 * best + 5;
}
// Corners within this many pixels of the best match are no rivals.
constexpr int same_place = 4;

// Corners that may match: rows within ±rows, disparities within ±columns.
struct Band {
  int rows, columns;
};

// Finds the best matches of corners among others, whose rows ascend.
class Search {
 public:
  Search(const std::vector<Corner>& corners, const Descriptors& words, Band band)
      : corners_(corners), words_(words), band_(band), distances_(corners.size() + 64) {}

  // -1 = none. A distinct match is clearly better than any at another position.
  int best(const Corner& corner, const Descriptors& words, int index, bool must_be_distinct) {
    const auto above = [](const Corner& a, int y) { return a.y < y; };
    const auto begin = std::lower_bound(corners_.begin(), corners_.end(), corner.y - band_.rows, above);
    const auto end = std::lower_bound(begin, corners_.end(), corner.y + band_.rows + 1, above);
    const int first = static_cast<int>(begin - corners_.begin()), count = static_cast<int>(end - begin);
    hamming_distances(words, index, words_, first, count, distances_.data());
    int best = -1, least = max_distance + 1;
    for (int i = 0; i < count; ++i)
      if (distances_[at(i)] < least && std::abs(corners_[at(first + i)].x - corner.x) <= band_.columns) {
        best = i;
        least = distances_[at(i)];
      }
    if (best < 0 || (must_be_distinct && has_rival(corner, first, count, best))) return -1;
    return first + best;
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  bool has_rival(const Corner& corner, int first, int count, int best) const {
    const Corner& match = corners_[at(first + best)];
    const double limit = rival_bits(distances_[at(best)]);
    for (int i = 0; i < count; ++i) {
      const Corner& rival = corners_[at(first + i)];
      if (distances_[at(i)] < limit && std::abs(rival.x - corner.x) <= band_.columns &&
          (std::abs(rival.x - match.x) > same_place || std::abs(rival.y - match.y) > same_place))
        return true;
    }
    return false;
  }

  const std::vector<Corner>& corners_;
  const Descriptors& words_;
  Band band_;
  std::vector<std::uint16_t> distances_;
};

std::vector<int> best_matches(const std::vector<Corner>& of, const Descriptors& of_words,
                              const std::vector<Corner>& among, const Descriptors& among_words, Band band,
                              bool must_be_distinct, const Workers& workers) {
  std::vector<int> best(of.size(), -1);
  for_row_ranges(workers, static_cast<int>(of.size()), [&](int first, int last, int) {
    Search search(among, among_words, band);
    for (int i = first; i < last; ++i)
      best[static_cast<std::size_t>(i)] =
          search.best(of[static_cast<std::size_t>(i)], of_words, i, must_be_distinct);
  });
  return best;
}

}  // namespace

std::vector<CornerMatch> match_corners(const std::vector<Corner>& left, const Descriptors& left_words,
                                       const std::vector<Corner>& right, const Descriptors& right_words,
                                       int rows, int columns, const Workers& workers) {
  const Band band{rows, columns};
  const std::vector<int> rightward = best_matches(left, left_words, right, right_words, band, true, workers);
  const std::vector<int> leftward = best_matches(right, right_words, left, left_words, band, false, workers);
  std::vector<CornerMatch> matches;
  for (int i = 0; i < static_cast<int>(left.size()); ++i) {
    const int match = rightward[static_cast<std::size_t>(i)];
    if (match >= 0 && leftward[static_cast<std::size_t>(match)] == i) matches.push_back({i, match});
  }
  return matches;
}

}  // namespace parallax::check
