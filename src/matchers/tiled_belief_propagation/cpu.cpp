// SPDX-License-Identifier: Apache-2.0
// Tiled belief propagation on the CPU. Data costs are computed once, as columns of blocks (tile_costs.h); a
// pass visits all tiles (tile_visits.h) in an order in which threads work side by side (batches.h); and
// between two visits only the messages that cross the borders of tiles are kept (borders.h). Threads share
// the blocks of large tiles, and of an image that is a single tile.

#include "devices/cpu/tuning.h"
#include "matchers/host_plan.h"
#include "matchers/tiled_belief_propagation/batches.h"
#include "matchers/tiled_belief_propagation/borders.h"
#include "matchers/tiled_belief_propagation/tile_costs.h"
#include "matchers/tiled_belief_propagation/tile_visits.h"
#include "matchers/tiled_belief_propagation/tiling.h"

namespace parallax::tiled_belief_propagation {
namespace {

// The best values depend on the machine; none changes a result. Narrower vectors make smaller, and so more,
// batches.
const detail::Tunable vector_bytes{
    "vector_bytes", "Bytes of a vector; narrow vectors make small batches of tiles", {16, 32, 64}};
const detail::Tunable threads_share{
    "threads_share",
    "What is divided among threads: batches of a diagonal, or blocks of a tile",
    {0, 1},
    {"batches", "blocks"}};

// The stages of one match.
struct Stages {
  const char *prepare, *costs, *match;
};

class Cpu final : public host::Plan {
 public:
  Cpu(const TiledBeliefPropagationParameters& parameters, int threads, const ImageFormat& format,
      const detail::Configuration& configuration)
      : host::Plan(parameters.refine, format.size,
                   data_cost::volume_labels(parameters.cost, parameters.disparities),
                   cpu::match_workers(threads, format.size, configuration)),
        model_(make_model(parameters)),
        tiling_(model_, size_, configuration.value(vector_bytes.name, 0), workers_.slots()),
        shares_blocks_(tiling_.grid().count() == 1 ||
                       configuration.value(threads_share.name, has_many_blocks()) != 0),
        costs_(model_, format, tiling_, workers_.slots()),
        borders_(model_, tiling_),
        visits_(model_, tiling_, costs_, borders_, workers_, shares_blocks_) {
    data_cost::check_reachable(model_, size_);
    judge_afterwards(parameters.min_confidence);
    plan_memory();
  }

  detail::Footprint footprint() const {
    return cpu::footprint(
        shares_blocks_ ? max_blocks() : tiling_.batches().count(), workers_,
        2 * tiling_.batch_bytes() + to_size(tiling_.row_blocks()) * tiling_.row_block_bytes());
  }

 private:
  void reserve(Arena& arena) override {
    costs_.reserve(arena);
    visits_.reserve(arena);
    borders_.reserve(arena);
    done_ = arena.reserve<int>(to_size(tiling_.batches().count()) + 1);
  }
  void fill_memory() override { costs_.fill_memory(); }

  int max_blocks() const { return std::max(tiling_.row_blocks(), tiling_.column_blocks()); }
  bool has_many_blocks() const {
    constexpr int enough = 4;
    return max_blocks() >= enough;
  }

  void match(const StereoPair& pair, const DisparityMap& map, detail::StageClock& clock) override {
    const bool wants_beliefs = model_.parameters.sub_pixel != SubPixel::none;
    propagate(pair, MapWriter(model_, costs_.status(), tiling_.shape(), wants_beliefs, map, false), clock,
              {"prepare", "costs", "match"});
    if (!checks_left_right_) return;
    const DisparityMap right{right_disparity_, {}, {}};
    propagate(pair, MapWriter(model_, costs_.status(), tiling_.shape(), false, right, true), clock,
              {"right_prepare", "right_costs", "right_match"});
  }

  // The algorithm of Liang et al.: an outer iteration is a pass over all tiles and one in reverse; the last
  // one decides.
  void propagate(const StereoPair& pair, const MapWriter& writer, detail::StageClock& clock,
                 const Stages& stages) {
    const TiledBeliefPropagationParameters& p = model_.parameters;
    costs_.prepare(pair, writer.mirrored(), workers_);
    clock.finish(stages.prepare);
    costs_.compute(workers_);
    clock.finish(stages.costs);
    borders_.clear();
    if (tiling_.grid().count() == 1) {
      // A tile without neighbours discards all messages that its last visit did not send.
      pass({.reverse = true, .iterations = p.tile > 0 ? p.inner : 2 * p.outer * p.inner, .writer = &writer});
    } else {
      for (int i = 1; i <= p.outer; ++i) {
        pass({.reverse = false, .iterations = p.inner, .writer = nullptr});
        pass({.reverse = true, .iterations = p.inner, .writer = i == p.outer ? &writer : nullptr});
      }
    }
    clock.finish(stages.match);
  }

  void pass(const Visit& visit) const {
    const Batches& batches = tiling_.batches();
    const auto visit_batch = [&](int index, int slot) { visits_.visit(index, visit, slot); };
    if (!shares_blocks_) return visit_all(batches, visit.reverse, done_, workers_, visit_batch);
    for (int i = 0; i < batches.count(); ++i) visit_batch(visit.reverse ? batches.count() - 1 - i : i, 0);
  }

  Model model_;
  Tiling tiling_;
  bool shares_blocks_;  // whether threads share the blocks of a tile, instead of the tiles
  TileCosts costs_;
  Borders borders_;
  TileVisits visits_;
  int* done_ = nullptr;  // flags of visit_all()
};

}  // namespace

std::unique_ptr<detail::Plan> make_cpu(const TiledBeliefPropagationParameters& parameters,
                                       const Device& device, const ImageFormat& format,
                                       const detail::Configuration& configuration) {
  return std::make_unique<Cpu>(parameters, device.threads, format, configuration);
}

detail::TuningSpace cpu_tuning_space(const TiledBeliefPropagationParameters& parameters, const Device& device,
                                     const ImageFormat& format) {
  detail::TuningSpace space;
  space.variant = variant(make_model(parameters));
  space.tunables = {vector_bytes, threads_share, cpu::ranges_per_thread()};
  // Only vectors that this processor has; tiles can be shared only where there are several.
  space.allowed = [one = parameters.tile == 0](const detail::Configuration& configuration) {
    const int bytes = configuration.value(vector_bytes.name, 0);
    return (bytes == 0 || lanes_in(bytes, 1) == bytes) &&
           !(one && configuration.value(threads_share.name, 1) == 0);
  };
  space.footprint = [=](const detail::Configuration& configuration) {
    return Cpu(parameters, device.threads, format, configuration).footprint();
  };
  return space;
}

}  // namespace parallax::tiled_belief_propagation
