// SPDX-License-Identifier: Apache-2.0
#include "core/checks.h"
#include "core/floating_point.h"
#include "matchers/belief_propagation/belief_propagation.h"
#include "matchers/block/block.h"
#include "matchers/census/census.h"
#include "matchers/tiled_belief_propagation/tiled_belief_propagation.h"
#include "partition/partition.h"

namespace parallax {
namespace {

Margins margins_of(const BlockParameters& parameters, const ImageFormat& format, int) {
  return block::margins(parameters, format);
}

Margins margins_of(const CensusParameters& parameters, const ImageFormat& format, int) {
  return census::margins(parameters, format.size);
}

Margins margins_of(const BeliefPropagationParameters& parameters, const ImageFormat& format, int padding) {
  return belief_propagation::margins(parameters, format.size, padding);
}

Margins margins_of(const TiledBeliefPropagationParameters& parameters, const ImageFormat& format,
                   int padding) {
  return tiled_belief_propagation::margins(parameters, format.size, padding);
}

}  // namespace

Margins margins(const MatcherParameters& parameters, const ImageFormat& format, int padding) {
  const DefaultFloatingPoint environment;
  check_format(format);
  check_range("padding", padding, 0, 1'000'000);
  return std::visit(
      [&](const auto& p) {
        p.validate();
        return margins_of(p, format, padding);
      },
      parameters);
}

namespace partition {

MatcherParameters tile_parameters(MatcherParameters parameters) {
  std::visit(
      [](auto& p) {
        RefineParameters check = RefineParameters::none();
        check.left_right_check = p.refine.left_right_check;
        check.left_right_tolerance = p.refine.left_right_tolerance;
        p.refine = check;
      },
      parameters);
  return parameters;
}

RefineParameters steps_after_tiles(const MatcherParameters& parameters) {
  RefineParameters steps = std::visit([](const auto& p) { return p.refine; }, parameters);
  steps.left_right_check = false;
  return steps;
}

}  // namespace partition
}  // namespace parallax
