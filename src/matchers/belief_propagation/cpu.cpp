// SPDX-License-Identifier: Apache-2.0
// Belief propagation on the CPU: data costs on the way up the pyramid, messages on the way down. Each level
// is swept once, in rows that stay in the cache (level_sweep.h); levels whose tiles have candidates are swept
// together (candidate_levels.h). Costs and messages of the finest level are never in memory as a whole.

#include "decision/decision.h"
#include "devices/cpu/tuning.h"
#include "matchers/belief_propagation/belief_propagation.h"
#include "matchers/belief_propagation/candidate_levels.h"
#include "matchers/belief_propagation/cost_pyramid.h"
#include "matchers/belief_propagation/level_schedule.h"
#include "matchers/belief_propagation/level_sweep.h"
#include "matchers/belief_propagation/map_writer.h"
#include "matchers/host_plan.h"

namespace parallax::belief_propagation {
namespace {

// The best values depend on the machine; none changes a result. window_kib is the part of the window of rows
// that should stay in a cache: it determines the width of the strips.
const detail::Tunable window_kib{"window_kib",
                                 "Size in KiB of the window of rows that stays in cache across iterations",
                                 {1024, 2048, 4096, 20480, 40960}};
// Not searched: the papers' program measures what alignment is worth.
const detail::Tunable aligned{
    "aligned", "Whether messages begin on 64-byte boundaries", {}, {"false", "true"}, {0, 1}};
const detail::Tunable bands_per_thread{"bands_per_thread", "Bands of rows per thread", {2, 4}};
// The part of a thread's window that usually fits in the caches.
constexpr int usual_window_kib = 10240;

// The stages of one match.
struct Stages {
  const char *prepare, *pyramid, *coarse_levels, *finest_level;
};

class Cpu final : public host::Plan {
 public:
  Cpu(const BeliefPropagationParameters& parameters, int threads, const ImageFormat& format,
      const detail::Configuration& configuration)
      : host::Plan(parameters.refine, format.size,
                   data_cost::volume_labels(parameters.cost, parameters.disparities),
                   Workers(threads, cpu::ranges_per_thread(configuration))),
        model_(make_model(parameters)),
        sizes_(level_sizes(size_, parameters.levels)),
        levels_(model_, size_, configuration.value(aligned.name, 1) != 0, workers_.slots()),
        costs_(model_, format, levels_, workers_.slots()),
        edges_(model_, sizes_, levels_.first()),
        windows_(model_, levels_, workers_.slots()),
        schedule_(model_, levels_,
                  static_cast<std::size_t>(configuration.value(window_kib.name, usual_window_kib)) << 10,
                  windows_.column_bytes(), configuration.value(bands_per_thread.name, 1) * workers_.slots()),
        sweep_(model_, levels_, windows_, costs_.features(), edges_),
        candidates_(model_, sizes_, static_cast<int>(levels_.first()), costs_.strips(), edges_,
                    workers_.slots()) {
    check_reachable(model_, size_);
    plan_memory(parameters.row_tolerance > 0);
  }

  detail::Footprint footprint() const {
    return cpu::footprint(schedule_.bands_of_finest(), workers_, schedule_.working_set_bytes());
  }

 private:
  void reserve(Arena& arena) override {
    costs_.reserve(arena);
    edges_.reserve(arena);
    candidates_.reserve(arena);
    if (levels_.has_candidates()) best_ = arena.reserve_plane<std::uint16_t>(levels_[levels_.first()].size);
    levels_.reserve(arena);
    windows_.reserve(arena);
  }

  void fill_memory() override {
    levels_.fill_memory();
    costs_.fill_memory();
    windows_.fill_memory();
    edges_.fill_memory();
    candidates_.fill_memory();
  }

  void match(const StereoPair& pair, const DisparityMap& map, detail::StageClock& clock) override {
    const bool wants_confidence = model_.parameters.min_confidence > 0 || !map.confidence.empty();
    const Wanted wanted = wants_confidence                                ? Wanted::rivals
                          : model_.parameters.sub_pixel != SubPixel::none ? Wanted::neighbours
                                                                          : Wanted::labels;
    propagate(pair, MapWriter(model_, costs_.status(), wanted, map, false), clock,
              {"prepare", "pyramid", "coarse_levels", "finest_level"});
    if (!checks_left_right_) return;
    const DisparityMap right{right_disparity_, {}, {}};
    propagate(pair, MapWriter(model_, costs_.status(), Wanted::labels, right, true), clock,
              {"right_prepare", "right_pyramid", "right_coarse_levels", "right_finest_level"});
  }

  // Felzenszwalb & Huttenlocher's algorithm. A level hands its messages down to the next finer one and, if
  // that one has candidates, its best labels.
  void propagate(const StereoPair& pair, const MapWriter& writer, detail::StageClock& clock,
                 const Stages& stages) {
    const bool mirrored = writer.mirrored();
    costs_.prepare(pair, mirrored, workers_);
    edges_.prepare(costs_.gray(), workers_);
    clock.finish(stages.prepare);
    costs_.add_up(workers_);
    clock.finish(stages.pyramid);
    // Only the level above those with candidates decides here.
    for (std::size_t level = levels_.count(); level-- > levels_.first_stored();)
      sweep(level, mirrored, Wanted::labels, [&](int x, int y, const refine::Beliefs& beliefs) {
        best_.at(x, y) = static_cast<std::uint16_t>(beliefs.label);
      });
    clock.finish(stages.coarse_levels);
    if (levels_.has_candidates())
      candidates_.run(messages_of(levels_[levels_.first()]), mirrored, writer.wanted(), workers_,
                      [&](int x, int y, const TileDecision* found) { writer.write_tile(x, y, found); });
    else
      sweep(0, mirrored, writer.wanted(),
            [&](int x, int y, const refine::Beliefs& beliefs) { writer.write_pixel(x, y, beliefs); });
    clock.finish(stages.finest_level);
  }

  // Calls take(x, y, beliefs) for the pixels of a level that decides.
  template <class Take>
  void sweep(std::size_t level, bool mirrored, Wanted wanted, const Take& take) const {
    schedule_.for_each_band(level, mirrored, workers_,
                            [&](const Band& band) { sweep_.run(band, wanted, take); });
  }

  LabelLevel messages_of(const Level& level) const {
    return {.size = level.size,
            .messages = reinterpret_cast<const std::uint8_t*>(level.message_plane(0, 0, 0)),
            .plane_bytes = level.plane_bytes,
            .stride = level.shape.stride,
            .best = best_};
  }

  Model model_;
  std::vector<Size> sizes_;  // size of each level
  Levels levels_;
  CostPyramid costs_;
  Edges edges_;
  Windows windows_;
  LevelSchedule schedule_;
  LevelSweep sweep_;
  CandidateLevels candidates_;
  View<std::uint16_t> best_;  // labels on the level above those with candidates
};

}  // namespace

std::unique_ptr<detail::Plan> make_cpu(const BeliefPropagationParameters& parameters, const Device& device,
                                       const ImageFormat& format,
                                       const detail::Configuration& configuration) {
  return std::make_unique<Cpu>(parameters, device.threads, format, configuration);
}

detail::TuningSpace cpu_tuning_space(const BeliefPropagationParameters& parameters, const Device& device,
                                     const ImageFormat& format) {
  detail::TuningSpace space;
  // The iterations determine the rows of a window.
  space.variant = variant(parameters) + ", " + std::to_string(parameters.iterations) + " iterations, " +
                  std::to_string(make_model(parameters).iterations(0, false)) + " on the finest level";
  space.tunables = {window_kib, bands_per_thread, cpu::ranges_per_thread(), aligned};
  space.footprint = [=](const detail::Configuration& configuration) {
    return Cpu(parameters, device.threads, format, configuration).footprint();
  };
  return space;
}

}  // namespace parallax::belief_propagation
