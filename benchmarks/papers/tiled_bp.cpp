// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/papers/data.h"
#include "benchmarks/papers/papers.h"

namespace parallax::tool {
namespace {

constexpr const char* c2050 = "Tesla C2050";

// The contest's reference program: 40 iterations over the whole image.
TiledBeliefPropagationParameters reference_program() {
  TiledBeliefPropagationParameters parameters = preset<TiledBeliefPropagationParameters>("memocode-2013");
  parameters.tile = 0;
  parameters.inner = 20;
  return parameters;
}

// The winner's method on a GPU.
Step winner(const char* name, const char* over, const char* scheduler, const Published& published = {}) {
  Step step{name, over, DeviceKind::cuda, preset<TiledBeliefPropagationParameters>("memocode-2013"),
            published};
  step.configuration = {{"scheduler", scheduler}};
  return step;
}

struct PublishedCase {
  const char *name, *pair;
  int reference_mismatches;
  double milliseconds;
  int mismatches;
};

Group test_case(const PublishedCase& paper) {
  const Published reference{{}, {}, paper.reference_mismatches, "the contest's program"};
  const Published winning{paper.milliseconds, {}, paper.mismatches, c2050};
  const MatcherParameters winners = preset<TiledBeliefPropagationParameters>("memocode-2013"),
                          tuned = preset<TiledBeliefPropagationParameters>("memocode-2013-tuned");
  return {paper.name,
          paper.pair,
          16,
          {{"whole image, 40 iterations", "", DeviceKind::cpu, reference_program(), reference},
           {"tiles of 13, 1 outer, 1 inner", "whole image, 40 iterations", DeviceKind::cpu, winners, winning},
           {"tiles of 32, smoothed images", "tiles of 13, 1 outer, 1 inner", DeviceKind::cpu, tuned},
           {"whole image, 40 iterations", "", DeviceKind::cuda, reference_program(), reference},
           winner("tiles of 13, a launch a diagonal", "whole image, 40 iterations", "launch-per-diagonal"),
           winner("tiles of 13, a barrier", "tiles of 13, a launch a diagonal", "grid-barrier", winning),
           winner("tiles of 13, a flag a tile", "tiles of 13, a barrier", "tile-flags"),
           {"tiles of 32, smoothed images", "tiles of 13, a flag a tile", DeviceKind::cuda, tuned}}};
}

}  // namespace

Paper tiled_bp_paper() {
  return {"tiled-bp",
          "Belief propagation in tiles, the design contest of 2013",
          "Maria Kotsifakou, \"A GPU implementation of tiled belief propagation on Markov random fields\", "
          "University of Illinois 2019, tables 5.2 and 5.3",
          {{"tiled-bp",
            "384×288, 16 labels, 87,696 of them counted",
            "The contest's times count the iterations, from data costs that are given; ours count the costs "
            "too, and not the copies. On a GTX 680 the winner takes 9.26 and 9.24 ms, with 15,716 and 16,736 "
            "mismatches.",
            Unit::milliseconds,
            false,
            true,
            {test_case({"tsukuba", "contest", 17743, 7.96, 15716}),
             test_case({"red barrel", red_barrel, 11870, 7.95, 16713})}}}};
}

}  // namespace parallax::tool
