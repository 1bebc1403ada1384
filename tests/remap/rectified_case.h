// SPDX-License-Identifier: Apache-2.0
// Pairs to rectify and match, and the results of a rectifier and a matcher, one after the other.
#pragma once

#include <string>
#include <vector>

#include "parallax/rectified_matcher.h"

#include "remap/random_remap.h"

namespace parallax::test {

struct RectifiedCase {
  std::string name;
  MatcherParameters parameters;
  Rig rig;
  RectifyParameters rectify;
  BitDepth depth;
  Picture left, right;
};

inline RectifiedCase make_case(const std::string& name, const MatcherParameters& parameters,
                               const RectifyParameters& rectify, BitDepth depth, int left_channels,
                               int right_channels, unsigned seed) {
  Rig rig = chessboard_rig();
  rig.right.size.height += 3;
  RectifiedCase result{name,
                       parameters,
                       rig,
                       rectify,
                       depth,
                       Picture(rig.left.size, depth, left_channels),
                       Picture(rig.right.size, depth, right_channels)};
  result.left.fill(seed);
  result.right.fill(seed + 1);
  return result;
}

inline constexpr int rectified_cases = 3;

inline RectifiedCase rectified_case(int number, unsigned seed = 1) {
  MatcherParameters block = plain_block(), census = plain_census();
  block.disparities() = 12;
  census.disparities() = 16;
  if (number == 0)
    return make_case("block, gray and colour", block, {.alpha = 0, .size = {61, 40}}, BitDepth::bits8, 1, 3,
                     seed);
  if (number == 1)
    return make_case("census, colour, unseen pixels", census,
                     {.alpha = 1, .size = {70, 33}, .interpolation = Interpolation::lanczos3},
                     BitDepth::bits8, 3, 3, seed);
  return make_case("block, 16 bits, unseen pixels", block,
                   {.alpha = 0.5, .same_centres = false, .size = {64, 48}}, BitDepth::bits16, 1, 1, seed);
}

// Runs on device reference.
inline Result rectify_and_match(const RectifiedCase& problem, bool with_confidence = false) {
  const Rectification to = rectify(problem.rig, problem.rectify);
  Picture left(to.size, problem.depth, problem.left.view().channels);
  Picture right(to.size, problem.depth, problem.right.view().channels);
  Plane<std::uint8_t> left_mask(to.size), right_mask(to.size);
  Rectifier(problem.rig, to, problem.rectify.interpolation, reference, problem.depth)
      .run(problem.left.view(), problem.right.view(),
           {left.output(), right.output(), left_mask.view(), right_mask.view()});
  return match(problem.parameters, reference,
               {left.view(), right.view(), left_mask.view(), right_mask.view()}, 0xA5, with_confidence);
}

}  // namespace parallax::test
