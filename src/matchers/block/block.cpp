// SPDX-License-Identifier: Apache-2.0
#include "matchers/block/block.h"

#include <algorithm>

#include "core/checks.h"
#include "core/search_reach.h"
#include "rows/row_votes.h"

namespace parallax {

namespace block {
namespace {

std::uint64_t highest_cost(const BlockParameters& parameters, std::uint64_t highest_value) {
  const auto pixels =
      static_cast<std::uint64_t>(parameters.window) * static_cast<std::uint64_t>(parameters.window);
  if (parameters.cost == BlockCost::sad) return pixels * highest_value;
  return pixels * highest_value * highest_value;  // ΣLR of ZNCC, too
}

}  // namespace

Search plan_search(const BlockParameters& parameters, const ImageFormat& format) {
  const int width = format.size.width;
  Search search{};
  search.lowest = parameters.full_row ? 1 - width : parameters.min_disparity;
  search.labels = parameters.full_row ? 2 * width - 1 : parameters.disparities;
  search.highest_value = format.depth == BitDepth::bits8 ? 255 : 65535;
  if (parameters.prefilter == Prefilter::x_sobel) search.highest_value = 2 * parameters.prefilter_cap;
  search.highest_cost = highest_cost(parameters, static_cast<std::uint64_t>(search.highest_value));
  search.rows = std::min(parameters.row_tolerance, format.size.height - 1);
  check_reachable(search.lowest, search.labels, width);
  return search;
}

std::string variant(const BlockParameters& parameters) {
  static constexpr const char* costs[] = {"sad", "ssd", "zncc"};
  return std::string(costs[static_cast<int>(parameters.cost)]) + ", window " +
         std::to_string(parameters.window);
}

// A window covers pixels up to its radius from its centre, and one more where Sobel responses, which read
// neighbours, are compared or summed for the texture check. There are windows around the pixel, and around
// all pixels that the search reaches from it.
Margins margins(const BlockParameters& parameters, const ImageFormat& format, int) {
  if (parameters.full_row)
    throw Error(ErrorCategory::argument,
                "full_row searches whole rows, which no tile has: set min_disparity and disparities instead");
  const Search search = plan_search(parameters, format);
  const SearchReach reach = search_reach(search.lowest, search.lowest + search.labels - 1, format.size.width,
                                         parameters.refine.left_right_check);
  const bool sobel = parameters.prefilter == Prefilter::x_sobel || parameters.texture_threshold > 0;
  const int window = parameters.window / 2 + (sobel ? 1 : 0);
  if (parameters.row_tolerance == 0)
    return {.left = reach.left + window, .right = reach.right + window, .top = window, .bottom = window};
  // Pixels around it choose the row offset of a pixel. The left-right check uses right pixels as many rows
  // away, which are compared with left pixels in turn. A tile has a surface of row offsets of its own.
  const int around = window + rows::RowVotes::reach;
  const int rows = search.rows * (parameters.refine.left_right_check ? 2 : 1) + around;
  return {.left = reach.left + around,
          .right = reach.right + around,
          .top = rows,
          .bottom = rows,
          .alignment = rows::RowVotes::side,
          .exact = parameters.row_prior == 0};
}

}  // namespace block
}  // namespace parallax
