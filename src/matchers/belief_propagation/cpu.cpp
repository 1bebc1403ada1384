// SPDX-License-Identifier: Apache-2.0
// Belief propagation on the CPU.
//
// Each level is swept once, from top to bottom, all iterations together: iteration t of row y needs iteration
// t − 1 of the rows y − 1, y, y + 1, so it can run when row y + t + 1 comes in. Rows in progress are a window
// of a few more rows than there are iterations, which stays in the cache; data costs of the finest level are
// computed as a row enters the window, and labels are chosen as it leaves: costs and messages are never
// in memory as a whole. Coarser levels keep their data costs, made on the way up, and the messages that the
// next finer level starts from. candidate_levels.cpp sweeps the levels whose tiles have candidates.
//
// Threads sweep bands of rows. A band also computes as many rows on either side as its iterations reach, so
// that bands are independent: rows computed by two of them are the same.

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

#include "core/round_up.h"
#include "decision/decision.h"
#include "devices/cpu/tuning.h"
#include "matchers/belief_propagation/belief_propagation.h"
#include "matchers/belief_propagation/candidate_levels.h"
#include "matchers/belief_propagation/cpu_kernels.h"
#include "matchers/belief_propagation/edges.h"
#include "matchers/belief_propagation/features.h"
#include "matchers/belief_propagation/level_rows.h"
#include "matchers/belief_propagation/row_prior.h"
#include "matchers/belief_propagation/strips.h"
#include "matchers/host_plan.h"

namespace parallax::belief_propagation {
namespace {

using refine::Beliefs, refine::no_value, refine::write_decision, refine::write_none;

// The best values depend on the machine; none changes a result. window_kib is the part of the window of rows
// that should stay in a cache: it determines the width of the strips.
const detail::Tunable window_kib{"window_kib",
                                 "Size in KiB of the window of rows that stays in cache across iterations",
                                 {1024, 2048, 4096, 20480, 40960}};
// Not searched: for measuring what alignment is worth.
const detail::Tunable aligned{
    "aligned", "Whether messages begin on 64-byte boundaries", {}, {"false", "true"}, {0, 1}};
const detail::Tunable bands_per_thread{"bands_per_thread", "Bands of rows per thread", {2, 4}};

// Planes are this much further apart than their size: at multiples of 4096 bytes they would share cache sets,
// and a load would wait for a store to another plane.
constexpr std::size_t plane_offset = 192;

// Sets an element of every label to zero.
template <class Element>
void clear_elements(std::byte* first, const PlaneShape& shape) {
  auto* elements = reinterpret_cast<Element*>(first);
  for (int label = 0; label < shape.labels; ++label) elements[label * shape.stride] = 0;
}

void clear(Arithmetic arithmetic, std::byte* first, const PlaneShape& shape) {
  switch (storage_bytes(arithmetic)) {
    case 1:
      return clear_elements<std::uint8_t>(first, shape);
    case 2:
      return clear_elements<std::uint16_t>(first, shape);
    default:
      return clear_elements<std::uint32_t>(first, shape);
  }
}

struct Level {
  Size size;
  PlaneShape shape;
  std::size_t plane_bytes;
  std::byte *data, *messages;  // coarse levels only: [row][colour] and [row][colour][direction] planes
};

// Memory of one thread.
struct Window {
  std::vector<std::byte*> planes;  // by level: [row % rows][window_plane_index()]
  std::byte* costs;                // of two rows: [row][colour] planes
  std::byte* scratch;
  std::uint16_t* labels;
  float* around[6];
  StripCosts* strips;  // for each row offset
  float* row_costs;    // [row offset][stride], of half a row of the first level that is stored
};

class Cpu final : public host::Plan {
 public:
  Cpu(const BeliefPropagationParameters& parameters, int threads, const ImageFormat& format,
      const detail::Configuration& configuration)
      : host::Plan(parameters.refine, format.size,
                   data_cost::volume_labels(parameters.cost, parameters.disparities),
                   Workers(threads, cpu::ranges_per_thread(configuration))),
        model_(make_model(parameters)),
        arithmetic_(parameters.arithmetic),
        window_target_(static_cast<std::size_t>(configuration.value(window_kib.name, usual_window_kib))
                       << 10),
        bands_per_thread_(configuration.value(bands_per_thread.name, 1)),
        aligned_(configuration.value(aligned.name, 1) != 0),
        candidate_levels_(model_.candidate_levels(level_sizes(size_, parameters.levels).size())),
        features_(model_, format, plane_shape(size_, model_.labels, model_.row_offsets, arithmetic_),
                  workers_.slots()),
        strips_(model_, format, workers_.slots()),
        edges_(model_, level_sizes(size_, parameters.levels), candidate_levels_),
        candidates_(model_, level_sizes(size_, parameters.levels), static_cast<int>(candidate_levels_),
                    strips_, edges_, workers_.slots()),
        prior_(model_, size_),
        windows_(static_cast<std::size_t>(workers_.slots())) {
    check_reachable(model_, size_);
    for (const Size size : level_sizes(size_, parameters.levels)) levels_.push_back(level_of(size));
    strip_width_ = choose_strip_width();
    plan_memory(parameters.row_tolerance > 0);
  }

  detail::Footprint footprint() const {
    const Level& finest = levels_.front();
    const auto columns =
        static_cast<std::size_t>(std::min(finest.shape.computed, strip_width_ + 2 * finest_reach()));
    return cpu::footprint(bands_of(finest, model_.iterations(0, false)), workers_,
                          columns * window_column_bytes());
  }

 private:
  void match(const StereoPair& pair, const DisparityMap& map, detail::StageClock& clock) override {
    wants_confidence_ = !map.confidence.empty();
    propagate(
        pair, false, clock, {"prepare", "pyramid", "coarse_levels", "finest_level"}, wanted(),
        [&](int x, int y, const Beliefs& beliefs) { write_pixel(x, y, beliefs, map); },
        [&](int tile_x, int tile_y, const TileDecision* found) { write_tile(tile_x, tile_y, found, map); });
    if (!checks_left_right_) return;
    propagate(
        pair, true, clock, {"right_prepare", "right_pyramid", "right_coarse_levels", "right_finest_level"},
        Wanted::labels, [&](int x, int y, const Beliefs& beliefs) { write_right_pixel(x, y, beliefs.label); },
        [&](int tile_x, int tile_y, const TileDecision* found) {
          for_each_pixel(tile_x, tile_y, size_, [&](int x, int y, int colour, int lane) {
            write_right_pixel(x, y, found[colour].labels[lane]);
          });
        });
  }

  // Memory

  void reserve(Arena& arena) override {
    if (has_candidates())
      strips_.reserve(arena);
    else
      features_.reserve(arena);
    edges_.reserve(arena);
    candidates_.reserve(arena);
    prior_.reserve(arena);
    if (has_candidates()) best_ = arena.reserve_plane<std::uint16_t>(levels_[candidate_levels_].size);
    for (std::size_t i = first_stored(); i < levels_.size(); ++i) {
      const std::size_t planes = data_planes(levels_[i]);
      levels_[i].data = reserve_planes(planes, levels_[i], arena);
      levels_[i].messages = reserve_planes(planes * direction_count, levels_[i], arena);
    }
    for (Window& window : windows_) reserve_window(window, arena);
    nothing_ = reserve_planes(1, levels_.front(), arena);
  }

  void reserve_window(Window& window, Arena& arena) const {
    const Level& finest = levels_.front();
    const auto pixels = static_cast<std::size_t>(finest.shape.computed);
    window.planes.resize(levels_.size());
    for (std::size_t i = candidate_levels_; i < levels_.size(); ++i)
      window.planes[i] = reserve_planes(window_planes_of(levels_[i]), levels_[i], arena);
    if (levels_.size() > 1 && !has_candidates()) window.costs = reserve_planes(cost_planes, finest, arena);
    window.scratch = arena.reserve<std::byte>(scratch_bytes(model_.labels));
    window.labels = arena.reserve<std::uint16_t>(pixels);
    for (float*& beliefs : window.around) beliefs = arena.reserve<float>(pixels);
    window.strips = arena.reserve<StripCosts>(static_cast<std::size_t>(model_.row_offsets));
    if (prior_.exists())
      window.row_costs = arena.reserve<float>(static_cast<std::size_t>(levels_[first_stored()].shape.stride) *
                                              static_cast<std::size_t>(model_.row_offsets));
  }

  void fill_memory() override {
    clear_planes(nothing_, 1, levels_.front());
    for (std::size_t i = first_stored(); i < levels_.size(); ++i) {
      clear_planes(levels_[i].data, data_planes(levels_[i]), levels_[i]);
      clear_planes(levels_[i].messages, data_planes(levels_[i]) * direction_count, levels_[i]);
    }
    for (const Window& window : windows_) {
      if (levels_.size() > 1 && !has_candidates()) clear_planes(window.costs, cost_planes, levels_.front());
      for (std::size_t i = candidate_levels_; i < levels_.size(); ++i)
        clear_planes(window.planes[i], window_planes_of(levels_[i]), levels_[i]);
    }
    if (has_candidates()) strips_.fill_memory();
    edges_.fill_memory();
    candidates_.fill_memory();
  }

  // Planes, with a margin before the first, as between planes.
  std::byte* reserve_planes(std::size_t count, const Level& level, Arena& arena) const {
    return arena.reserve<std::byte>(count * level.plane_bytes + margin());
  }
  void clear_planes(std::byte* planes, std::size_t count, const Level& level) const {
    std::memset(planes, 0, count * level.plane_bytes + margin());
  }
  std::size_t margin() const { return widest_vector_bytes + (aligned_ ? 0 : sizeof(float)); }
  std::byte* plane(std::byte* planes, const Level& level, std::size_t index) const {
    return planes + margin() + index * level.plane_bytes;
  }
  static constexpr std::size_t cost_planes = 2 * 2;
  static std::size_t data_planes(const Level& level) {
    return static_cast<std::size_t>(level.size.height) * 2;
  }

  Level level_of(Size size) const {
    Level level{};
    level.size = size;
    level.shape = plane_shape(size, model_.labels, model_.row_offsets, arithmetic_);
    level.plane_bytes = static_cast<std::size_t>(level.shape.stride) *
                            static_cast<std::size_t>(model_.labels) * storage_bytes(arithmetic_) +
                        plane_offset;
    return level;
  }

  bool has_candidates() const { return candidate_levels_ > 0; }
  // The finest level whose data costs and messages are kept.
  std::size_t first_stored() const { return prior_.first_level(); }

  // The part of a thread's window that usually fits in the caches.
  static constexpr int usual_window_kib = 10240;

  int window_rows() const { return std::min(most_iterations() + 3, size_.height); }
  static constexpr int data_costs = direction_count;  // in place of a direction

  // Both colours keep data costs and messages downwards and to the right. Messages upwards and to the left
  // are those of the colour that was updated last: by then, those of the other colour have been read. Floats
  // keep all, for the rows that keep their messages.
  std::size_t window_plane_index(int colour, int direction) const {
    const auto index = static_cast<std::size_t>(direction), side = static_cast<std::size_t>(colour);
    if (!model_.integer) return side * (direction_count + 1) + index;
    constexpr std::size_t shared[] = {0, 2, 1, 4, 6};
    return direction == above || direction == left ? shared[index] : shared[index] + side;
  }
  std::size_t window_planes() const { return model_.integer ? 8 : 2 * (direction_count + 1); }
  std::size_t window_planes_of(const Level& level) const {
    return static_cast<std::size_t>(std::min(window_rows(), level.size.height)) * window_planes();
  }

  // Data costs

  struct StageNames {
    const char *prepare, *pyramid, *coarse, *finest;
  };

  // Decisions are taken by pixel or, with candidates, by tile.
  template <class Take, class TakeTile>
  void propagate(const StereoPair& pair, bool mirrored, detail::StageClock& clock, const StageNames& names,
                 Wanted wanted, const Take& take, const TakeTile& take_tile) {
    mirrored_ = mirrored;
    wanted_ = wanted;
    prepare(pair);
    clock.finish(names.prepare);
    for_level_rows(
        workers_, size_.height, first_stored(), levels_.size(),
        [&](std::size_t level, int first, int last, int slot) { make_rows(level, first, last, slot); });
    if (prior_.exists()) add_row_prior();
    clock.finish(names.pyramid);
    for (std::size_t i = levels_.size(); i-- > first_stored();) {
      if (i == candidate_levels_)
        sweep_level(i, [&](int x, int y, const Beliefs& found) {
          best_.at(x, y) = static_cast<std::uint16_t>(found.label);
        });
      else
        sweep_level(i, [](auto&&...) {});
    }
    clock.finish(names.coarse);
    if (has_candidates())
      match_candidates(take_tile);
    else
      sweep_level(0, take);
    clock.finish(names.finest);
  }

  void prepare(const StereoPair& pair) {
    if (!has_candidates())
      features_.prepare(pair, mirrored_, workers_);
    else if (!mirrored_)
      strips_.prepare(pair, workers_);
    else
      strips_.mirror(pair, workers_);
    edges_.prepare(has_candidates() ? strips_.gray() : features_.gray(), workers_);
  }

  void match_candidates(const CandidateLevels::Decide& take) {
    const Level& coarser = levels_[candidate_levels_];
    const LabelLevel messages{coarser.size,
                              reinterpret_cast<const std::uint8_t*>(plane(coarser.messages, coarser, 0)),
                              coarser.plane_bytes, coarser.shape.stride, best_};
    candidates_.run(messages, mirrored_, wanted_, workers_, take);
  }

  void make_rows(std::size_t index, int first, int last, int slot) {
    if (index == candidate_levels_) return add_up_strips(index, first, last, slot);
    for (int y = first; y < last; ++y) add_up(index, y, slot);
  }

  // Adds up a row of a level from two rows of the finer one; those of the finest level are computed first.
  void add_up(std::size_t index, int y, int slot) {
    const Level &fine = levels_[index - 1], &coarse = levels_[index];
    const Window& window = windows_[static_cast<std::size_t>(slot)];
    RowSum sum{fine.shape, coarse.shape, {}, {}, model_.data_bound(), window.scratch};
    for (int parity = 0; parity < 2; ++parity) {
      for (int row = 0; row < 2; ++row)
        sum.children[row][parity] = child(index - 1, 2 * y + row, parity, window, slot);
      sum.sums[parity] = data_plane(coarse, y, colour_of(y, parity));
    }
    sum_row(arithmetic_, sum);
  }

  // The first level above those with candidates. Rows begin at a strip.
  void add_up_strips(std::size_t index, int first, int last, int slot) {
    const Level& level = levels_[index];
    const int side = 1 << index, rows = tile_side / side;
    StripCosts* costs = windows_[static_cast<std::size_t>(slot)].strips;
    for (int y = first; y < last; y += rows) {
      for (int k = 0; k < model_.row_offsets; ++k) costs[k] = strips_.costs(y / rows, k);
      StripSums sums{costs,
                     model_.row_offsets,
                     strips_.columns(),
                     side,
                     std::min(rows, last - y),
                     {},
                     level.shape.stride,
                     model_.data_bound(),
                     windows_[static_cast<std::size_t>(slot)].scratch};
      for (int row = 0; row < sums.rows; ++row)
        for (int parity = 0; parity < 2; ++parity)
          sums.out[row][parity] =
              reinterpret_cast<std::uint8_t*>(data_plane(level, y + row, colour_of(y + row, parity)));
      sum_strip(sums);
    }
  }

  void add_row_prior() {
    prior_.clear();
    workers_.for_each(prior_.squares().height, [&](int square, int slot) {
      const int last = std::min(prior_.first_row(square + 1), levels_[first_stored()].size.height);
      for (int y = prior_.first_row(square); y < last; ++y) add_up_row_offsets(y, slot);
    });
    prior_.fit();
    for (std::size_t i = first_stored(); i < levels_.size(); ++i)
      for_row_ranges(workers_, levels_[i].size.height, [&](int first, int last, int slot) {
        for (int y = first; y < last; ++y) add_row_prior(i, y, slot);
      });
  }

  // Calls each(x, element of the half) for the pixels of one parity in a row.
  template <class Each>
  static void for_half(const Level& level, int parity, const Each& each) {
    for (int x = parity; x < level.size.width; x += 2) each(x, x / 2);
  }

  RowOffsets row_offsets_of(const Level& level, int y, int parity, int slot) const {
    const Window& window = windows_[static_cast<std::size_t>(slot)];
    return {level.shape, data_plane(level, y, colour_of(y, parity)), window.row_costs, model_.data_bound(),
            window.scratch};
  }

  void add_up_row_offsets(int y, int slot) const {
    const Level& level = levels_[first_stored()];
    for (int parity = 0; parity < 2; ++parity) {
      const RowOffsets row = row_offsets_of(level, y, parity, slot);
      least_costs(arithmetic_, row);
      for (int k = 0; k < model_.row_offsets; ++k)
        for_half(level, parity,
                 [&](int x, int i) { prior_.add(x, y, k, row.costs[k * level.shape.stride + i]); });
    }
  }

  void add_row_prior(std::size_t index, int y, int slot) const {
    const Level& level = levels_[index];
    for (int parity = 0; parity < 2; ++parity) {
      const RowOffsets row = row_offsets_of(level, y, parity, slot);
      for (int k = 0; k < model_.row_offsets; ++k) {
        float* costs = row.costs + k * level.shape.stride;
        std::fill_n(costs, level.shape.stride, 0.0f);
        for_half(level, parity, [&](int x, int i) { costs[i] = prior_.cost(index, x, y, k); });
      }
      add_costs(arithmetic_, row);
    }
  }

  static int colour_of(int y, int parity) { return (y + parity) % 2; }

  static int pixels_in(const Level& level, int y, int colour) {
    return (level.size.width - (y + colour) % 2 + 1) / 2;
  }

  std::byte* data_plane(const Level& level, int y, int colour) const {
    return plane(level.data, level, static_cast<std::size_t>(y) * 2 + static_cast<std::size_t>(colour));
  }

  // Data costs of one half of a row.
  const std::byte* child(std::size_t index, int y, int parity, const Window& window, int slot) const {
    const Level& level = levels_[index];
    if (y >= level.size.height) return plane(nothing_, levels_.front(), 0);
    const int colour = colour_of(y, parity);
    if (index > 0) return data_plane(level, y, colour);
    std::byte* costs = plane(window.costs, level, static_cast<std::size_t>(y % 2 * 2 + colour));
    features_.write_costs(y, colour, {0, level.shape.computed}, slot, costs);
    return costs;
  }

  // The sweep of a level

  // Rows [first, last) and a strip of columns of a level, for one thread.
  struct Band {
    std::size_t level;
    int first, last;
    int slot;
    Range strip;
    Range computed;  // the strip, and as far beyond it as its iterations reach
  };
  static constexpr int start = -1;  // the iteration before the first

  // Of the match in progress.
  int iterations(std::size_t level) const { return model_.iterations(level, mirrored_); }
  int iterations(const Band& band) const { return iterations(band.level); }
  // On any level, of both matches.
  int most_iterations() const {
    const std::size_t coarse = levels_.size() > 1 ? 1 : 0;
    return std::max(
        {model_.iterations(coarse, false), model_.iterations(0, false), model_.iterations(0, true)});
  }

  int bands_of(const Level& level, int iterations) const {
    return std::clamp(level.size.height / iterations, 1, bands_per_thread_ * workers_.slots());
  }

  template <class Decide>
  void sweep_level(std::size_t index, const Decide& decide) {
    const int rows = levels_[index].size.height;
    const int bands = bands_of(levels_[index], iterations(index));
    workers_.for_each(bands, [&](int band, int slot) {
      const auto bound = [&](int i) { return static_cast<int>(static_cast<std::int64_t>(rows) * i / bands); };
      const int width = levels_[index].shape.computed, step = index == 0 ? strip_width_ : width;
      for (int left_end = 0; left_end < width; left_end += step) {
        const Range strip{left_end, std::min(left_end + step, width)};
        sweep({index, bound(band), bound(band + 1), slot, strip, computed_for(index, strip)}, decide);
      }
    });
  }

  // Pixels of one half that the iterations of the finest level and the decision reach on one side.
  int finest_reach() const {
    const int iterations = std::max(model_.iterations(0, false), model_.iterations(0, true));
    return round_up((iterations + 1) / 2 + 1, computing_unit(arithmetic_));
  }

  // Only the finest level has several strips.
  Range computed_for(std::size_t index, Range strip) const {
    return {std::max(0, strip.first - finest_reach()),
            std::min(levels_[index].shape.computed, strip.last + finest_reach())};
  }

  Range copied_for(Range computed) const {
    const int unit = copying_unit(arithmetic_);
    return {computed.first / unit * unit, round_up(computed.last, unit)};
  }

  std::size_t window_column_bytes() const {
    return static_cast<std::size_t>(window_rows()) * window_planes() *
           static_cast<std::size_t>(model_.labels) * storage_bytes(arithmetic_);
  }

  // With many labels, floats of a row's width exceed the cache: the finest level, which keeps nothing, is
  // then swept in strips of columns.
  int choose_strip_width() const {
    const Level& finest = levels_.front();
    const int fit = static_cast<int>(window_target_ / window_column_bytes());
    if (fit >= finest.shape.computed || fit < 4 * finest_reach()) return finest.shape.computed;
    const int widest = fit - 2 * finest_reach();
    const int strips = divide_round_up(finest.shape.computed, widest);
    return round_up(divide_round_up(finest.shape.computed, strips), computing_unit(arithmetic_));
  }

  // The decisions of the finest level on which all labels are considered are the map, or choose candidates.
  bool decides(const Band& band) const { return band.level == candidate_levels_; }

  // Rows that an iteration computes for a band: those that the next one, or the decision, reads.
  std::pair<int, int> rows_of(const Band& band, int iteration) const {
    const int beyond = iterations(band) - 1 - iteration + (decides(band) ? 1 : 0);
    return {std::max(0, band.first - beyond), std::min(levels_[band.level].size.height, band.last + beyond)};
  }

  template <class Decide>
  void sweep(const Band& band, const Decide& decide) {
    const int iterations = this->iterations(band);
    const auto [top, bottom] = rows_of(band, start);
    // The colour that the last iteration updates is decided before that update, from the messages that it
    // reads: the update itself writes messages to the other colour.
    const int updated_last = iterations % 2;
    const auto decide_own = [&](int y, int colour, int iteration) {
      if (decides(band) && y >= band.first && y < band.last) decide_row(band, y, colour, iteration, decide);
    };
    for (int row = top; row < bottom + iterations + 1; ++row) {
      if (row < bottom) start_row(band, row);
      for (int iteration = 0; iteration < iterations; ++iteration) {
        const int y = row - 1 - iteration;
        const auto [first, last] = rows_of(band, iteration);
        if (y < first || y >= last) continue;
        if (iteration == iterations - 1) decide_own(y, updated_last, iteration - 1);
        update(band, y, iteration);
      }
      decide_own(row - iterations - 1, 1 - updated_last, iterations - 1);
    }
  }

  // In floats, the outermost pixels keep their initial messages.
  bool keeps_row(const Level& level, int y) const {
    return !model_.integer && (y == 0 || y == level.size.height - 1);
  }

  int last_update(const Band& band, int y, int colour) const {
    if (keeps_row(levels_[band.level], y)) return start;
    const int last = iterations(band) - 1;
    return (last + 1) % 2 == colour ? last : last - 1;
  }

  // Messages of a row after an iteration: in the window or, after the last one, where the next finer level
  // reads them.
  std::byte* messages(const Band& band, int y, int colour, int direction, int iteration) const {
    const Level& level = levels_[band.level];
    const bool own = y >= band.first && y < band.last;
    if (band.level > 0 && own && iteration >= last_update(band, y, colour))
      return final_messages(level, y, colour, direction);
    return window_plane(band, y, colour, direction);
  }

  std::byte* final_messages(const Level& level, int y, int colour, int direction) const {
    return plane(level.messages, level,
                 (static_cast<std::size_t>(y) * 2 + static_cast<std::size_t>(colour)) * direction_count +
                     static_cast<std::size_t>(direction));
  }

  std::byte* window_plane(const Band& band, int y, int colour, int direction) const {
    const Level& level = levels_[band.level];
    const auto row = static_cast<std::size_t>(y % window_rows());
    return plane(windows_[static_cast<std::size_t>(band.slot)].planes[band.level], level,
                 row * window_planes() + window_plane_index(colour, direction));
  }

  std::byte* data(const Band& band, int y, int colour) const {
    return band.level == 0 ? window_plane(band, y, colour, data_costs)
                           : data_plane(levels_[band.level], y, colour);
  }

  void start_row(const Band& band, int y) {
    const Level& level = levels_[band.level];
    const auto [first, last] = rows_of(band, 0);
    for (int colour = 0; colour < 2; ++colour) {
      // The first update of the other colour overwrites all of its initial messages.
      if (colour == 0 || keeps_row(level, y)) start_messages(band, y, colour);
      if (!model_.integer)
        clear_before(level, messages(band, y, colour, right, last_update(band, y, colour)));
      if (band.level == 0 && y >= first && y < last)
        features_.write_costs(y, colour, band.computed, band.slot, data(band, y, colour));
    }
  }

  void start_messages(const Band& band, int y, int colour) {
    const Level& level = levels_[band.level];
    for (int direction = 0; direction < direction_count; ++direction) {
      std::byte* out = messages(band, y, colour, direction, start);
      if (band.level + 1 == levels_.size()) {
        std::memset(out, 0, level.plane_bytes);
        continue;
      }
      const Level& coarse = levels_[band.level + 1];
      copy_down(arithmetic_, level.shape, coarse.shape, copied_for(band.computed),
                final_messages(coarse, y / 2, colour_of(y / 2, 0), direction),
                final_messages(coarse, y / 2, colour_of(y / 2, 1), direction), out);
    }
    clear_before(level, messages(band, y, colour, right, start));
    clear_behind(level, y, colour, messages(band, y, colour, left, start));
  }

  // Pixels beyond the border send no messages. In integers, updates make them send zeros; the first messages, which
  // are copies of the coarser level's, must be cleared.

  // Clears what would come from before the first pixel.
  void clear_before(const Level& level, std::byte* to_right) const {
    clear(arithmetic_, to_right - storage_bytes(arithmetic_), level.shape);
  }

  // Clears what would come from behind the last pixel.
  void clear_behind(const Level& level, int y, int colour, std::byte* to_left) const {
    const auto end = static_cast<std::size_t>(pixels_in(level, y, colour));
    clear(arithmetic_, to_left + end * storage_bytes(arithmetic_), level.shape);
  }

  // Sets the messages to the pixels of one colour in a row, after an iteration.
  template <class Row>
  void receive(const Band& band, int y, int colour, int iteration, Row& row) const {
    const Level& level = levels_[band.level];
    const int other = 1 - colour;
    const std::byte* none = plane(nothing_, levels_.front(), 0);
    const auto bytes = static_cast<std::ptrdiff_t>(storage_bytes(arithmetic_));
    const bool odd = (y + colour) % 2 == 1;
    row.shape = level.shape;
    row.data = data(band, y, colour);
    row.from[above] = y > 0 ? messages(band, y - 1, other, below, iteration) : none;
    row.from[below] = y + 1 < level.size.height ? messages(band, y + 1, other, above, iteration) : none;
    row.from[left] = messages(band, y, other, right, iteration) - (odd ? 0 : bytes);
    row.from[right] = messages(band, y, other, left, iteration) + (odd ? bytes : 0);
    row.scratch = windows_[static_cast<std::size_t>(band.slot)].scratch;
  }

  void update(const Band& band, int y, int iteration) {
    const Level& level = levels_[band.level];
    if (keeps_row(level, y)) return;
    const int colour = (iteration + 1) % 2;
    RowUpdate row;
    row.range = band.computed;
    receive(band, y, colour, iteration - 1, row);
    for (int direction = 0; direction < direction_count; ++direction) {
      row.to[direction] = messages(band, y, colour, direction, iteration);
      row.slopes[direction] = edges_.slopes(band.level, y, colour, direction);
      row.truncations[direction] = edges_.truncations(band.level, y, colour, direction);
      row.row_bounds[direction] = edges_.row_bounds(band.level, y, colour, direction);
    }
    row.row_slope = model_.row_slope;
    update_row(arithmetic_, row);
    if (model_.integer) return;
    restore_outermost(band, y, colour, iteration);
    clear_behind(level, y, colour, messages(band, y, colour, left, iteration));
  }

  void restore_outermost(const Band& band, int y, int colour, int iteration) const {
    const int width = levels_[band.level].size.width;
    for (const int x : {0, width - 1})
      if ((x + y) % 2 == colour) restart(band, x, y, colour, iteration);
  }

  void restart(const Band& band, int x, int y, int colour, int iteration) const {
    const Level& level = levels_[band.level];
    const std::size_t bytes = storage_bytes(arithmetic_);
    const auto at = [&](const Level& where, int label, int column) {
      return (label * where.shape.stride + column / 2) * static_cast<std::ptrdiff_t>(bytes);
    };
    for (int direction = 0; direction < direction_count; ++direction) {
      std::byte* out = messages(band, y, colour, direction, iteration);
      for (int label = 0; label < model_.labels; ++label) {
        std::byte* message = out + at(level, label, x);
        if (band.level + 1 == levels_.size()) {
          std::memset(message, 0, bytes);
          continue;
        }
        const Level& coarse = levels_[band.level + 1];
        const std::byte* from = final_messages(coarse, y / 2, (x / 2 + y / 2) % 2, direction);
        std::memcpy(message, from + at(coarse, label, x / 2), bytes);
      }
    }
  }

  // Decisions

  Wanted wanted() const {
    return model_.parameters.min_confidence > 0 || wants_confidence_ ? Wanted::rivals
           : model_.parameters.sub_pixel != SubPixel::none           ? Wanted::neighbours
                                                                     : Wanted::labels;
  }

  template <class Take>
  void decide_row(const Band& band, int y, int colour, int iteration, const Take& take) {
    const Window& window = windows_[static_cast<std::size_t>(band.slot)];
    RowDecision row{};
    row.range = band.strip;
    receive(band, y, colour, iteration, row);
    row.labels = window.labels;
    float* const* around = window.around;
    if (wanted_ != Wanted::labels && band.level == 0) {
      float** wanted[] = {&row.before, &row.best, &row.after, &row.rival, &row.row_before, &row.row_after};
      for (std::size_t i = 0; i < std::size(wanted); ++i) *wanted[i] = around[i];
    }
    belief_propagation::decide_row(arithmetic_, row);
    const int end = std::min(band.strip.last, pixels_in(levels_[band.level], y, colour));
    for (int i = band.strip.first; i < end; ++i)
      take(2 * i + (y + colour) % 2, y,
           Beliefs{window.labels[i], around[0][i], around[1][i], around[2][i], around[3][i], around[4][i],
                   around[5][i]});
  }

  Status status(int x, int y) const {
    const View<std::uint8_t>& known = has_candidates() ? strips_.status() : features_.status();
    const auto given = static_cast<Status>(known.at(x, y));
    const bool outermost = x == 0 || y == 0 || x == size_.width - 1 || y == size_.height - 1;
    return given == Status::matched && outermost && !model_.integer ? Status::out_of_range : given;
  }

  void write_pixel(int x, int y, const Beliefs& beliefs, const DisparityMap& map) const {
    if (status(x, y) != Status::matched) {
      write_none(status(x, y), x, y, map);
    } else if (wanted_ == Wanted::labels) {
      const refine::DecisionRule rule = model_.decision();
      map.status.at(x, y) = refine::code(Status::matched);
      map.disparity.at(x, y) = rule.integer_disparity(beliefs.label);
      if (has_rows())
        map.row_offset.at(x, y) = static_cast<float>(rule.min_row_offset + rule.row(beliefs.label));
    } else {
      write_decision(beliefs, model_.decision(), x, y, map);
    }
  }

  void write_right_pixel(int x, int y, int label) const {
    right_disparity_.at(size_.width - 1 - x, y) =
        status(x, y) == Status::matched ? model_.decision().integer_disparity(label) : no_value;
  }

  void write_tile(int tile_x, int tile_y, const TileDecision* found, const DisparityMap& map) const {
    if (wanted_ != Wanted::neighbours)
      return for_each_pixel(tile_x, tile_y, size_, [&](int x, int y, int colour, int lane) {
        write_pixel(x, y, beliefs_of(found[colour], lane), map);
      });
    const SubPixel sub_pixel = model_.parameters.sub_pixel;
    alignas(64) float disparities[2][tile_lanes], row_offsets[2][tile_lanes];
    for (int colour = 0; colour < 2; ++colour) {
      const TileDecision& tile = found[colour];
      locate_tile({model_.min_disparity, sub_pixel, tile.labels, tile.before, tile.best, tile.after},
                  disparities[colour]);
      if (!has_rows()) continue;
      std::uint16_t rows[tile_lanes];
      std::copy_n(tile.rows, tile_lanes, rows);
      locate_tile({model_.min_row_offset, sub_pixel, rows, tile.row_before, tile.best, tile.row_after},
                  row_offsets[colour]);
    }
    const View<std::uint8_t>& known = strips_.status();
    for_each_pixel(tile_x, tile_y, size_, [&](int x, int y, int colour, int lane) {
      const bool matched = known.at(x, y) == refine::code(Status::matched);
      map.status.at(x, y) = known.at(x, y);
      map.disparity.at(x, y) = matched ? disparities[colour][lane] : no_value;
      if (has_rows()) map.row_offset.at(x, y) = matched ? row_offsets[colour][lane] : no_value;
    });
  }

  bool has_rows() const { return model_.row_offsets > 1; }

  Beliefs beliefs_of(const TileDecision& found, int lane) const {
    const auto value = [](std::uint8_t belief) {
      return belief == no_belief ? no_value : static_cast<float>(belief);
    };
    Beliefs beliefs{found.labels[lane], value(found.before[lane]), value(found.best[lane]),
                    value(found.after[lane]), value(found.rival[lane])};
    if (!has_rows()) return beliefs;
    beliefs.label += found.rows[lane] * model_.disparities();
    beliefs.row_before = value(found.row_before[lane]);
    beliefs.row_after = value(found.row_after[lane]);
    return beliefs;
  }

  Model model_;
  Arithmetic arithmetic_;
  std::size_t window_target_;
  int bands_per_thread_;
  bool aligned_;
  std::size_t candidate_levels_;  // the finest level on which all labels are considered is the next one
  Features features_;             // with candidates, the strips are used instead
  Strips strips_;
  Edges edges_;
  CandidateLevels candidates_;
  RowPrior prior_;
  std::vector<Level> levels_;
  std::vector<Window> windows_;  // by slot
  int strip_width_ = 0;
  std::byte* nothing_ = nullptr;  // a plane of zeros: messages from beyond the top and the bottom
  bool wants_confidence_ = false;
  bool mirrored_ = false;
  Wanted wanted_ = Wanted::labels;  // of decisions on the finest level
  View<std::uint16_t> best_;
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
