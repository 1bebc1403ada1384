// SPDX-License-Identifier: Apache-2.0
// Belief propagation on the CPU: data costs on the way up the pyramid, messages on the way down. Each level
// is swept once, in rows that stay in the cache (level_sweep.h); levels whose tiles have candidates are swept
// together (candidate_levels.h). Costs and messages of the finest level are never in memory as a whole.

#include <algorithm>

#include "decision/decision.h"
#include "devices/cpu/tuning.h"
#include "matchers/belief_propagation/belief_propagation.h"
#include "matchers/belief_propagation/candidate_kernels.h"
#include "matchers/belief_propagation/candidate_levels.h"
#include "matchers/belief_propagation/cost_pyramid.h"
#include "matchers/belief_propagation/level_sweep.h"
#include "matchers/host_plan.h"

namespace parallax::belief_propagation {
namespace {

// Writes the decisions of the finest level into a map, by pixel or, where tiles have candidates, by tile.

class MapWriter {
 public:
  // `known`: for each pixel, matched or the status that is known before matching. The map of a mirrored pair
  // is mirrored back, and takes only the disparities of labels.
  MapWriter(const Model& model, const View<std::uint8_t>& known, Wanted wanted, const DisparityMap& map,
            bool mirrored)
      : model_(model), known_(known), wanted_(wanted), map_(map), mirrored_(mirrored) {}

  Wanted wanted() const { return wanted_; }
  bool mirrored() const { return mirrored_; }

  void write_pixel(int x, int y, const decision::Beliefs& beliefs) const {
    const Status status = status_of(x, y);
    const decision::DecisionRule rule = model_.decision();
    if (wanted_ == Wanted::labels)
      write(x, y, status, rule.integer_disparity(beliefs.label),
            static_cast<float>(rule.min_row_offset + rule.row(beliefs.label)));
    else if (status == Status::matched)
      decision::write_decision(beliefs, rule, x, y, map_);
    else
      decision::write_none(status, x, y, map_);
  }

  void write_tile(int tile_x, int tile_y, const TileDecision* found) const {
    if (has_rows() && wanted_ == Wanted::labels)
      return for_each_pixel(tile_x, tile_y, known_.size, [&](int x, int y, int colour, int lane) {
        write_pixel(x, y, beliefs_of(found[colour], lane));
      });
    alignas(64) float disparities[2][tile_lanes];
    for (int colour = 0; colour < 2; ++colour) find_disparities(found[colour], disparities[colour]);
    if (has_rows())
      write_with_row_offsets(tile_x, tile_y, found, disparities);
    else
      write_disparities(tile_x, tile_y, disparities);
  }

 private:
  bool has_rows() const { return model_.row_offsets > 1; }

  // In floats, the outermost pixels get no disparity.
  Status status_of(int x, int y) const {
    const auto known = static_cast<Status>(known_.at(x, y));
    const bool outermost = x == 0 || y == 0 || x == known_.size.width - 1 || y == known_.size.height - 1;
    return known == Status::matched && outermost && !model_.integer ? Status::out_of_range : known;
  }

  void write(int x, int y, Status status, float disparity, float row_offset) const {
    const bool matched = status == Status::matched;
    map_.disparity.at(mirrored_ ? known_.size.width - 1 - x : x, y) =
        matched ? disparity : decision::no_value;
    if (mirrored_) return;
    map_.status.at(x, y) = decision::code(status);
    if (has_rows()) map_.row_offset.at(x, y) = matched ? row_offset : decision::no_value;
  }

  // The disparities of a tile's pixels of one colour.
  void find_disparities(const TileDecision& found, float* disparities) const {
    if (wanted_ == Wanted::neighbours)
      return locate_tile({.first = model_.min_disparity,
                          .sub_pixel = model_.parameters.sub_pixel,
                          .labels = found.labels,
                          .before = found.before,
                          .best = found.best,
                          .after = found.after},
                         disparities);
    for (int lane = 0; lane < tile_lanes; ++lane)
      disparities[lane] = static_cast<float>(model_.min_disparity + found.labels[lane]);
  }

  // The same as write() for all pixels of a tile, without branches.
  void write_disparities(int tile_x, int tile_y, const float (*disparities)[tile_lanes]) const {
    const int left = tile_x * tile_side, top = tile_y * tile_side;
    const int columns = std::min(tile_side, known_.size.width - left),
              rows = std::min(tile_side, known_.size.height - top);
    for (int y = 0; y < rows; ++y) {
      float row[tile_side];
      for (int x = 0; x < tile_side; ++x) row[x] = disparities[(x + y) % 2][x / 2 * tile_side + y];
      const std::uint8_t* known = known_.row(top + y) + left;
      float* to = map_.disparity.row(top + y);
      const auto value = [&](int x) {
        return known[x] == decision::code(Status::matched) ? row[x] : decision::no_value;
      };
      if (mirrored_) {
        for (int x = 0; x < columns; ++x) to[known_.size.width - 1 - left - x] = value(x);
      } else {
        for (int x = 0; x < columns; ++x) to[left + x] = value(x);
        std::copy_n(known, columns, map_.status.row(top + y) + left);
      }
    }
  }

  void write_with_row_offsets(int tile_x, int tile_y, const TileDecision* found,
                              const float (*disparities)[tile_lanes]) const {
    alignas(64) float row_offsets[2][tile_lanes];
    for (int colour = 0; colour < 2; ++colour) {
      const TileDecision& tile = found[colour];
      std::uint16_t rows[tile_lanes];
      std::copy_n(tile.rows, tile_lanes, rows);
      locate_tile({.first = model_.min_row_offset,
                   .sub_pixel = model_.parameters.sub_pixel,
                   .labels = rows,
                   .before = tile.row_before,
                   .best = tile.best,
                   .after = tile.row_after},
                  row_offsets[colour]);
    }
    for_each_pixel(tile_x, tile_y, known_.size, [&](int x, int y, int colour, int lane) {
      write(x, y, status_of(x, y), disparities[colour][lane], row_offsets[colour][lane]);
    });
  }

  decision::Beliefs beliefs_of(const TileDecision& found, int lane) const {
    const auto value = [](std::uint8_t belief) {
      return belief == no_belief ? decision::no_value : static_cast<float>(belief);
    };
    decision::Beliefs beliefs{.label = found.labels[lane],
                              .before = value(found.before[lane]),
                              .best = value(found.best[lane]),
                              .after = value(found.after[lane])};
    if (!has_rows()) return beliefs;
    beliefs.label += found.rows[lane] * model_.disparities();
    beliefs.row_before = value(found.row_before[lane]);
    beliefs.row_after = value(found.row_after[lane]);
    return beliefs;
  }

  const Model& model_;
  const View<std::uint8_t>& known_;
  Wanted wanted_;
  const DisparityMap& map_;
  bool mirrored_;
};

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
                   cpu::match_workers(threads, format.size, configuration)),
        model_(make_model(parameters)),
        sizes_(level_sizes(size_, parameters.levels)),
        levels_(model_, size_, configuration.value(aligned.name, 1) != 0, workers_.slots()),
        costs_(model_, format, levels_, workers_.slots()),
        edges_(model_, sizes_, levels_.first()),
        windows_(model_, levels_, workers_.slots()),
        schedule_(model_, levels_, to_size(configuration.value(window_kib.name, usual_window_kib)) << 10,
                  windows_.column_bytes(), configuration.value(bands_per_thread.name, 1) * workers_.slots()),
        sweep_(model_, levels_, windows_, costs_.features(), edges_),
        candidates_(model_, sizes_, static_cast<int>(levels_.first()), costs_.strips(), edges_,
                    workers_.slots()) {
    check_reachable(model_, size_);
    judge_afterwards(parameters.min_confidence);
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
    const Wanted wanted = model_.parameters.sub_pixel != SubPixel::none ? Wanted::neighbours : Wanted::labels;
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
      sweep(level, mirrored, Wanted::labels, [&](int x, int y, const decision::Beliefs& beliefs) {
        best_.at(x, y) = static_cast<std::uint16_t>(beliefs.label);
      });
    clock.finish(stages.coarse_levels);
    if (levels_.has_candidates())
      candidates_.run(messages_of(levels_[levels_.first()]), mirrored, writer.wanted(), workers_,
                      [&](int x, int y, const TileDecision* found) { writer.write_tile(x, y, found); });
    else
      sweep(0, mirrored, writer.wanted(),
            [&](int x, int y, const decision::Beliefs& beliefs) { writer.write_pixel(x, y, beliefs); });
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
