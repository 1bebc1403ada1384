// SPDX-License-Identifier: Apache-2.0
// Belief propagation on CUDA. All work that does not change between runs, from samples to the finished map,
// is one graph. The right map comes from a second match, of the mirrored pair.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/arena.h"
#include "core/integers.h"
#include "data_cost/cuda_images.h"
#include "decision/cuda_maps.h"
#include "devices/cuda/branch.h"
#include "devices/cuda/kernel_sources.h"
#include "devices/cuda/multiprocessor.h"
#include "devices/cuda/plan.h"
#include "matchers/belief_propagation/belief_propagation.h"
#include "matchers/belief_propagation/cuda_candidates.h"
#include "matchers/belief_propagation/cuda_types.h"
#include "refine/cuda_pipeline.h"

namespace parallax::belief_propagation {
namespace {

using cuda::define;
using cuda::Kernel;
using cuda::Options;
using cuda::Shape;
using cuda::StreamHandle;
using data_cost::CudaCosts;
using data_cost::CudaImages;
using decision::CudaDecision;

constexpr unsigned block_threads = 128;
constexpr int directions = 4;

// Tunables of integer arithmetic,
constexpr const char *labels_a_thread = "labels_per_thread", *threads_a_block = "threads_per_block",
                     *min_blocks = "blocks_per_multiprocessor", *shared_below = "share_directions_below",
                     *both_at_once = "both_matches_at_once";
// and of floats,
constexpr const char *in_registers = "values_in_registers", *in_shared_memory = "values_in_shared_memory",
                     *pixels_a_block = "pixels_per_block";
// and, never searched, tunables that exist only for measuring the effects of the index order and of
// alignment.
constexpr const char *index_order = "index_order", *aligned = "aligned";
constexpr const char* help_of_blocks = "Smallest number of blocks to fit on a multiprocessor";

// The share of a multiprocessor that the blocks use.
detail::Footprint footprint_of(int threads, int blocks, int registers_used, int shared_bytes_used) {
  return cuda::footprint(blocks, threads, to_size(threads * registers_used * 4 + shared_bytes_used));
}

// A plan's parts that do not depend on the arithmetic: all except the levels.
class Cuda : public cuda::Plan {
 public:
  // `at_once`: both matches of the left-right check run at the same time and share no memory.
  Cuda(const BeliefPropagationParameters& parameters, const Device& device, const ImageFormat& format,
       bool at_once)
      : cuda::Plan(device, format, parameters.cost == DataCost::volume ? parameters.disparities : 0, true),
        model_(make_model(parameters)),
        at_once_(at_once),
        sizes_(level_sizes(format.size, parameters.levels)),
        images_(model_, format, parameters.refine.left_right_check, layout_, at_once),
        refinement_(parameters.refine, format, layout_, refine::Maps::disparities,
                    parameters.min_confidence) {
    check_reachable(model_, format.size);
    const auto reserve_grays = [&] {
      std::vector<PlaneBuffer<std::uint16_t>> grays;
      for (const Size size : sizes_)
        grays.push_back(has_edges() && size != format.size ? layout_.reserve_plane<std::uint16_t>(size)
                                                           : PlaneBuffer<std::uint16_t>{});
      return grays;
    };
    grays_[CudaImages::as_it_is] = reserve_grays();
    grays_[CudaImages::mirrored] = at_once ? reserve_grays() : grays_[CudaImages::as_it_is];
    if (checks_both()) right_disparity_ = layout_.reserve_plane<float>(format.size);
  }

 protected:
  using Which = CudaImages::Which;

  const Model& model() const { return model_; }
  const std::vector<Size>& sizes() const { return sizes_; }
  bool has_edges() const { return model_.parameters.edge_contrast > 0; }
  bool at_once() const { return at_once_; }

  // The gray image of a level, for the pair being matched.
  View<const std::uint16_t> gray(std::size_t level, Which pair) const {
    if (level > 0) return at(grays_[pair][level]);
    return images_.gray(pair);
  }

  // `threads`: threads of a block.
  Options common_options(unsigned threads = block_threads) const {
    const BeliefPropagationParameters& p = model_.parameters;
    return {define("LABELS", model_.labels),
            define("BLOCK", threads),
            define("EDGES", has_edges()),
            define("HAS_OUTSIDE", p.outside_cost.has_value()),
            define("SUB_PIXEL", p.sub_pixel),
            define("COST", p.cost),
            define("TABLE", images_.integer_differences()),
            define("TABLE_SIZE", data_cost::cost_table_size)};
  }

  CudaCosts costs(Which pair) const { return images_.costs(pair, volume()); }

  // Loads the kernels of the levels and initialises their memory.
  virtual void prepare_levels(StreamHandle stream) = 0;
  // Computes the edges of all levels from their gray images.
  virtual void find_edges(Which, StreamHandle) {}
  virtual void find_costs(Which pair, StreamHandle stream) = 0;
  // Computes messages and the decision.
  virtual void propagate(Which pair, const CudaDecision& to, StreamHandle stream) = 0;

 private:
  bool checks_both() const { return model_.parameters.refine.left_right_check; }

  void prepare(StreamHandle stream) final {
    images_.prepare(context(), device_memory(), stream);
    average_ = images_.kernel("average");
    refinement_.prepare(context(), device_memory(), stream);
    if (at_once_) right_.prepare(context());
    for (cuda::Branch& edges : edges_) edges.prepare(context());
    prepare_levels(stream);
  }

  void take(const StereoPair& pair, cuda::ChangingLaunches& launches) final {
    images_.take(pair, launches);
    refinement_.take(pair, launches);
  }

  void match(const DisparityMap& map, StreamHandle stream) final {
    const CudaDecision to = decision::left_map({map.disparity, map.status}, model_.decision(),
                                               images_.from_start(), images_.stride());
    refinement_.begin();
    images_.smooth(stream);
    const StreamHandle of_right = at_once_ ? right_.fork(stream) : stream;
    if (checks_both()) images_.mirror(of_right);
    images_.find_features(CudaImages::as_it_is, stream);
    if (at_once_) right_.fork(stream);
    match_pair(CudaImages::as_it_is, to, stream);
    View<float> right;
    if (checks_both()) {
      right = at(right_disparity_);
      CudaDecision to_right = decision::right_map(to, right);
      to_right.from_start = images_.from_start(CudaImages::mirrored);
      images_.find_features(CudaImages::mirrored, of_right);
      match_pair(CudaImages::mirrored, to_right, of_right);
    }
    if (at_once_) right_.join(stream);
    refinement_.enqueue(map, right, stream);
  }

  void match_pair(Which pair, const CudaDecision& to, StreamHandle stream) {
    if (has_edges()) {
      const StreamHandle beside = edges_[pair].fork(stream);
      find_grays(pair, beside);
      find_edges(pair, beside);
    }
    find_costs(pair, stream);
    if (has_edges()) edges_[pair].join(stream);
    propagate(pair, to, stream);
  }

  void find_grays(Which pair, StreamHandle stream) {
    for (std::size_t level = 1; level < sizes_.size(); ++level) {
      const View<const std::uint16_t> fine = gray(level - 1, pair);
      const View<std::uint16_t> coarse = at(grays_[pair][level]);
      average_.launch_pixels(stream, coarse.size, block_threads, fine.data, fine.size.width, fine.size.height,
                             static_cast<int>(fine.stride()), coarse.data, static_cast<int>(coarse.stride()));
    }
  }

  Model model_;
  bool at_once_;
  std::vector<Size> sizes_;
  CudaImages images_;
  refine::CudaPipeline refinement_;
  cuda::Branch right_, edges_[2];  // the match of the mirrored pair; the edges of each pair
  std::vector<PlaneBuffer<std::uint16_t>> grays_[2];  // [pair]
  PlaneBuffer<float> right_disparity_;
  Kernel average_;
};

// The distribution of a group's labels over lanes: see cuda_integer.h.
struct Dealing {
  int lanes, per_lane;
  int labels() const { return lanes * per_lane; }
};

// Fewer labels per thread mean more threads, more labels mean fewer shuffles; labels are padded to lanes ·
// per_lane.
Dealing deal(int labels, int wanted_per_lane) {
  const int wanted = wanted_per_lane > 0 ? wanted_per_lane : labels <= 32 ? 4 : labels <= 64 ? 8 : 16;
  // The cost of having half or twice as many labels per lane as wanted.
  const double cost_of_an_octave = wanted_per_lane > 0 ? 100 : 0.2;
  constexpr int max_per_lane = 32;
  std::optional<Dealing> best;
  constexpr double cost_of_short_words = 0.1;
  const auto cost = [&](const Dealing& dealing) {
    return dealing.labels() * (dealing.per_lane % 4 == 0 ? 1 : 1 + cost_of_short_words) *
           (1 + cost_of_an_octave * std::abs(std::log2(static_cast<double>(dealing.per_lane) / wanted)));
  };
  for (int lanes = 1; lanes <= 32; lanes *= 2) {
    const Dealing dealing{lanes, round_up(divide_round_up(labels, lanes), 2)};
    if (dealing.per_lane <= max_per_lane && (!best || cost(dealing) < cost(*best))) best = dealing;
  }
  return *best;
}

// Approximate number of registers that ptxas allocates to a thread that computes messages with `per_lane`
// labels.
int registers_of_update(int per_lane) {
  return std::min(255, 5 * per_lane + 40);
}

detail::TuningSpace integer_space(const BeliefPropagationParameters& parameters) {
  detail::TuningSpace space;
  space.tunables = {{threads_a_block, "Threads per block", {64, 128, 256}},
                    {min_blocks, help_of_blocks, {2, 4, 6, 8, 12, 16}},
                    {shared_below,
                     "Levels with fewer threads compute the four directions in separate blocks",
                     {0, 4000, 16000, 64000, 256000}},
                    {labels_a_thread,
                     "Approximate number of labels per thread",
                     {2, 4, 8, 16, 32},
                     {},
                     detail::whole_numbers(1, 32)}};
  if (parameters.candidate_levels > 0) {
    space.tunables.push_back(
        {both_at_once,
         "Whether both matches of the left-right check run at the same time, where tiles "
         "have candidate labels; takes twice the memory",
         {0, 1}});
    for (const detail::Tunable& tunable : CudaCandidates::tunables()) space.tunables.push_back(tunable);
  }
  space.allowed = [](const detail::Configuration& configuration) {
    return configuration.value(threads_a_block, block_threads) * configuration.value(min_blocks, 1) <=
               cuda::multiprocessor::threads &&
           CudaCandidates::allows(configuration);
  };
  space.footprint = [parameters](const detail::Configuration& configuration) {
    const Dealing dealing = deal(parameters.disparities, configuration.value(labels_a_thread, 0));
    const int registers_used = registers_of_update(dealing.per_lane);
    const int threads = configuration.value(threads_a_block, block_threads);
    const int fit =
        std::min(cuda::multiprocessor::threads, cuda::multiprocessor::registers / registers_used) / threads;
    const int blocks = std::max(1, configuration.value(min_blocks, fit));
    return footprint_of(threads, blocks,
                        std::min(registers_used, cuda::multiprocessor::registers / (blocks * threads)), 0);
  };
  return space;
}

class Integer final : public Cuda {
 public:
  Integer(const BeliefPropagationParameters& parameters, const Device& device, const ImageFormat& format,
          const detail::Configuration& configuration)
      : Cuda(parameters, device, format, runs_at_once(parameters, format, configuration)),
        bits_(parameters.arithmetic == Arithmetic::fixed8 ? 8 : 16),
        dealing_(deal(parameters.disparities, configuration.value(labels_a_thread, 0))),
        threads_(static_cast<unsigned>(configuration.value(threads_a_block, block_threads))),
        min_blocks_(configuration.value(min_blocks, 0)),
        shared_below_(to_size(configuration.value(shared_below, 8000))),
        candidates_(model(), sizes(), layout_, sparse_, configuration, at_once()) {
    levels_[CudaImages::as_it_is] = reserve_levels();
    levels_[CudaImages::mirrored] = at_once() ? reserve_levels() : levels_[CudaImages::as_it_is];
    check_countable();
    edge_tables_ = layout_.reserve<std::uint16_t>(2 * edge_table_size);
  }

 private:
  struct Level {
    int groups = 0;
    std::size_t plane_words = 0;
    Buffer<std::uint32_t> data, messages, edges;
  };

  // With candidates, most launches are too small for the GPU, so two matches take little longer than one.
  static bool runs_at_once(const BeliefPropagationParameters& parameters, const ImageFormat& format,
                           const detail::Configuration& configuration) {
    const bool has_candidates =
        make_model(parameters).has_candidates(0, level_sizes(format.size, parameters.levels).size());
    return has_candidates && parameters.refine.left_right_check && configuration.value(both_at_once, 1) != 0;
  }

  int group_pixels() const { return 32 / bits_; }

  std::vector<Level> reserve_levels() {
    std::vector<Level> levels;
    for (const Size size : sizes()) {
      Level level;
      level.groups = divide_round_up((size.width + 1) / 2, group_pixels());
      level.plane_words = to_size(size.height + 2) * to_size(level.groups + 2) * to_size(dealing_.labels());
      if (levels.size() >= candidates_.finest_data())
        level.data = layout_.reserve<std::uint32_t>(2 * level.plane_words);
      if (levels.size() >= candidates_.levels())
        level.messages = layout_.reserve<std::uint32_t>(2 * directions * level.plane_words);
      if (has_edges())
        level.edges =
            layout_.reserve<std::uint32_t>(2 * to_size(size.height) * to_size(level.groups) * 2 * directions);
      levels.push_back(level);
    }
    return levels;
  }

  // Refuses levels with more threads than kernels can count in 32 bits.
  void check_countable() const {
    if (groups_of(0) * to_size(dealing_.lanes) < UINT32_MAX - threads_ &&
        candidates_.most_slots() <= UINT32_MAX)
      return;
    throw Error(ErrorCategory::device,
                "the image has too many pixels and labels for the cuda device: match it in parts");
  }

  CudaIntegerLevel level(std::size_t index, Which pair) const {
    const Level& level = levels_[pair][index];
    return {.width = sizes()[index].width,
            .height = sizes()[index].height,
            .groups = level.groups,
            .plane_words = static_cast<long long>(level.plane_words),
            .data = at(level.data),
            .messages = index >= candidates_.levels() ? at(level.messages) : nullptr,
            .edges = edges(index, pair)};
  }

  const unsigned* edges(std::size_t index, Which pair) const {
    return has_edges() ? at(levels_[pair][index].edges) : nullptr;
  }

  CudaCandidateLevel candidate_level(std::size_t index, Which pair) const {
    return candidates_.level(index, pair, edges(index, pair));
  }

  // The number of lanes that a message travels until the lowest slope has raised it to its bound.
  int reach() const {
    const auto slope = static_cast<int>(*std::min_element(model().slopes.begin(), model().slopes.end()));
    int reach = 0;
    for (int step = 1; step < dealing_.lanes && (step * dealing_.per_lane + 1) * slope < model().bound;
         step *= 2)
      reach = step;
    return reach;
  }

  void prepare_levels(StreamHandle stream) override {
    const Options options =
        cuda::joined(common_options(threads_),
                     {define("BITS", bits_), define("BOUND", model().bound), define("LANES", dealing_.lanes),
                      define("PER_LANE", dealing_.per_lane), define("LEAST_BLOCKS", min_blocks_),
                      define("VECTOR", dealing_.per_lane % 4 == 0 ? 4 : 2), define("REACH", reach())});
    update_program_ = cuda::Program(context(), cuda::belief_propagation_updates_cu, options);
    first_update_ = update_program_.kernel("first_update");
    update_ = update_program_.kernel("update");
    program_ = cuda::Program(context(), cuda::belief_propagation_integer_cu, options);
    find_costs_ = program_.kernel("find_costs");
    add_up_ = program_.kernel("add_up");
    find_edges_ = program_.kernel("find_edges");
    start_ = program_.kernel("start");
    decide_ = program_.kernel("decide");
    find_labels_ = program_.kernel("find_labels");
    candidates_.prepare(context(), device_memory(), sparse_.get(), options);
    std::vector<std::uint16_t> tables;
    for (const auto* values : {&model().slopes, &model().truncations})
      for (const float value : *values) tables.push_back(static_cast<std::uint16_t>(value));
    fill(edge_tables_, tables, stream);
  }

  Shape grid(std::size_t index, unsigned colours = 1) const {
    return {cuda::blocks(groups_of(index) * to_size(dealing_.lanes), threads_), colours};
  }

  std::size_t groups_of(std::size_t index) const {
    return to_size(sizes()[index].height) * to_size(levels_[CudaImages::as_it_is][index].groups);
  }

  CudaSmoothness alike() const {
    const auto repeated = [&](float value) {
      const auto units = static_cast<unsigned>(value);
      return bits_ == 8 ? units * 0x01010101u : units * 0x00010001u;
    };
    return {repeated(model().slopes[0]), repeated(model().truncations[0])};
  }

  void find_costs(Which pair, StreamHandle stream) override {
    const std::size_t finest = candidates_.finest_data();
    if (finest == 0)
      find_costs_.launch(stream, grid(0, 2), {threads_}, 0, level(0, pair), costs(pair));
    else
      candidates_.find_costs(level(finest, pair), pair, costs(pair), stream);
    for (std::size_t index = finest + 1; index < sizes().size(); ++index)
      add_up_.launch(stream, grid(index), {threads_}, 0, level(index - 1, pair), level(index, pair));
  }

  void propagate(Which pair, const CudaDecision& to, StreamHandle stream) override {
    for (std::size_t index = sizes().size(); index-- > candidates_.levels();) iterate(index, pair, stream);
    for (std::size_t index = candidates_.levels(); index-- > 0;) iterate_candidates(index, pair, stream);
    if (candidates_.levels() > 0)
      candidates_.decide(candidate_level(0, pair), alike(), to, stream);
    else
      decide_.launch(stream, grid(0, 2), {threads_}, 0, level(0, pair), to);
  }

  void find_edges(Which pair, StreamHandle stream) override {
    CudaEdges edges = {};
    std::size_t rows = 0;
    for (std::size_t index = 0; index < sizes().size(); ++index) {
      const View<const std::uint16_t> image = gray(index, pair);
      const Level& level = levels_[pair][index];
      edges.of[index] = {image.size.width, image.size.height, level.groups, static_cast<int>(image.stride()),
                         image.data,       at(level.edges)};
      rows += 2 * to_size(image.size.height);
    }
    const auto threads_a_row = to_size(levels_[pair].front().groups * directions);
    find_edges_.launch(stream, {static_cast<unsigned>(rows), cuda::blocks(threads_a_row, threads_)},
                       {threads_}, 0, edges, at(edge_tables_), static_cast<int>(edge_table_size));
  }

  // The grid of an iteration. If a level has too few groups to fill the GPU, four blocks share the directions
  // of a group.
  Shape iteration_grid(std::size_t index) const {
    const std::size_t threads = groups_of(index) * to_size(dealing_.lanes);
    return grid(index, threads <= shared_below_ ? directions : 1);
  }

  void iterate(std::size_t index, Which pair, StreamHandle stream) const {
    const int iterations = model().iterations(index, pair == CudaImages::mirrored);
    const CudaIntegerLevel here = level(index, pair);
    const CudaIntegerLevel coarser = index + 1 < sizes().size() ? level(index + 1, pair) : CudaIntegerLevel{};
    // The first iteration updates colour 1 from the initial messages of colour 0; the initial messages of
    // colour 1 are never read.
    if (iterations == 1) start_.launch(stream, grid(index), {threads_}, 0, here, coarser, 0);
    first_update_.launch(stream, iteration_grid(index), {threads_}, 0, here, coarser, alike(), 1);
    for (int iteration = 1; iteration < iterations; ++iteration)
      update_.launch(stream, iteration_grid(index), {threads_}, 0, here, alike(), (iteration + 1) % 2);
  }

  // Finds the candidates of a level from the beliefs of the next coarser level, then iterates over them.
  void iterate_candidates(std::size_t index, Which pair, StreamHandle stream) const {
    const CudaLabels best = candidates_.labels(sizes()[index + 1], pair);
    CudaCandidates::Opening from{level(index, pair), {}, {}, best};
    if (index + 1 < candidates_.levels()) {
      from.coarser_tiles = candidate_level(index + 1, pair);
      candidates_.find_labels(from.coarser_tiles, alike(), best, stream);
    } else {
      from.coarser = level(index + 1, pair);
      find_labels_.launch(stream, grid(index + 1, 2), {threads_}, 0, from.coarser, best);
    }
    const CudaCandidateLevel here = candidate_level(index, pair);
    candidates_.open(index, pair, here, from, costs(pair), alike(), stream);
    const int iterations = model().iterations(index, pair == CudaImages::mirrored);
    for (int iteration = 0; iteration < iterations; ++iteration)
      candidates_.update(here, alike(), (iteration + 1) % 2, iteration == 0, stream);
  }

  int bits_;
  Dealing dealing_;
  unsigned threads_;          // per block
  int min_blocks_;            // minimum number resident on a multiprocessor; 0 = no minimum
  std::size_t shared_below_;  // levels with fewer threads share directions among blocks
  CudaCandidates candidates_;
  std::vector<Level> levels_[2];  // [pair]
  Buffer<std::uint16_t> edge_tables_;
  cuda::Program update_program_, program_;
  Kernel find_costs_, add_up_, find_edges_, start_, first_update_, update_, find_labels_, decide_;
};

// The memory in which a thread keeps the values of the message that it computes: the lowest labels in
// registers, the next ones in shared memory, the rest in local memory. A block has `pixels` pixels, with a
// thread for each of their messages.
struct Places {
  int registers = 0, shared = 0;  // numbers of labels
  int pixels = 32;
  int min_blocks = 1;  // minimum number resident on a multiprocessor

  int threads() const { return directions * pixels; }
  int shared_bytes() const { return threads() * shared * static_cast<int>(sizeof(float)); }
};

// Leaves room for several blocks on a multiprocessor.
constexpr int shared_bytes_worth_taking = 76 * 1024;
constexpr int registers_beside_values = 48;

// The number of blocks whose registers fit on a multiprocessor.
int blocks_by_registers(int values, int threads) {
  return std::max(1, cuda::multiprocessor::registers / (threads * (values + registers_beside_values)));
}

Places choose_places(const BeliefPropagationParameters& parameters, int shared_bytes_a_block,
                     const detail::Configuration& configuration) {
  constexpr int max_in_registers = 64;
  const int labels = parameters.disparities,
            max_shared = std::min(shared_bytes_worth_taking, shared_bytes_a_block);
  Places places;
  (labels <= max_in_registers ? places.registers : places.shared) = labels;
  places.registers = std::min(labels, configuration.value(in_registers, places.registers));
  places.shared = std::min(labels - places.registers, configuration.value(in_shared_memory, places.shared));
  places.pixels = configuration.value(pixels_a_block, places.pixels);
  while (places.shared_bytes() > max_shared) places.pixels /= 2;
  const bool all_in_registers = places.registers == labels;
  places.min_blocks =
      configuration.value(min_blocks, all_in_registers ? blocks_by_registers(labels, places.threads()) : 1);
  return places;
}

// `shared_bytes_there`: shared memory that the GPU allows a block.
detail::TuningSpace float_space(const BeliefPropagationParameters& parameters,
                                const std::function<int()>& shared_bytes_there) {
  detail::TuningSpace space;
  const int labels = parameters.disparities;
  const std::vector<int> any = detail::whole_numbers(0, labels);
  detail::Tunable registers{
      in_registers, "Values of a message, from the lowest label, that are kept in registers", {0}, {}, any};
  detail::Tunable shared_memory{in_shared_memory,
                                "Values after those, kept in shared memory; the rest are in local memory",
                                {0},
                                {},
                                any};
  for (const int values : {8, 16, 32, 48, 64, 96, 128})
    if (values < labels) registers.values.push_back(values), shared_memory.values.push_back(values);
  constexpr int max_in_registers = 160;
  registers.values.push_back(std::min(labels, max_in_registers));
  shared_memory.values.push_back(labels);
  space.tunables = {{min_blocks, help_of_blocks, {1, 2, 3, 4, 6, 8, 12, 16}},
                    {pixels_a_block, "Pixels per block, with four threads each", {8, 16, 32, 64}},
                    registers,
                    shared_memory,
                    {index_order,
                     "What is adjacent in memory: the pixels of a label, or (naive) the labels of a pixel",
                     {},
                     {"coalesced", "naive"},
                     {0, 1}},
                    {aligned, "Whether rows begin on 64-byte boundaries", {}, {"false", "true"}, {0, 1}}};
  const auto fits = [](const Places& places, int shared) {
    return places.min_blocks * places.threads() <= cuda::multiprocessor::threads &&
           places.min_blocks * (places.shared_bytes() + cuda::multiprocessor::reserved_bytes_a_block) <=
               shared;
  };
  space.allowed = [=](const detail::Configuration& configuration) {
    const int shared = shared_bytes_there();
    const Places places = choose_places(parameters, shared, configuration);
    const bool as_named = places.registers == configuration.value(in_registers, places.registers) &&
                          places.shared == configuration.value(in_shared_memory, places.shared) &&
                          places.pixels == configuration.value(pixels_a_block, places.pixels);
    return as_named && fits(places, shared);
  };
  space.footprint = [=](const detail::Configuration& configuration) {
    const int shared = shared_bytes_there();
    const Places places = choose_places(parameters, shared, configuration);
    const int fit = std::min({cuda::multiprocessor::threads / places.threads(),
                              shared / (places.shared_bytes() + cuda::multiprocessor::reserved_bytes_a_block),
                              blocks_by_registers(places.registers, places.threads())});
    const int blocks = std::max(places.min_blocks, fit);
    const int of_values =
        std::clamp(cuda::multiprocessor::registers / (blocks * places.threads()) - registers_beside_values, 0,
                   places.registers);
    return footprint_of(places.threads(), blocks, of_values, places.shared_bytes());
  };
  return space;
}

class Float final : public Cuda {
 public:
  Float(const BeliefPropagationParameters& parameters, const Device& device, const ImageFormat& format,
        const detail::Configuration& configuration)
      : Cuda(parameters, device, format, false),
        places_(choose_places(parameters, context()->shared_bytes_per_block(), configuration)),
        naive_order_(configuration.value(index_order, 0) != 0) {
    const bool pads = configuration.value(aligned, 1) != 0;
    const std::size_t bytes = parameters.arithmetic == Arithmetic::float32 ? 4 : 2;
    for (const Size size : sizes()) {
      Level level;
      const int pixels = (size.width + 1) / 2;
      level.pitch = pads ? round_up(pixels, 64 / static_cast<int>(bytes)) : pixels;
      level.plane_elements = to_size(level.pitch) * to_size(size.height) * to_size(parameters.disparities);
      level.data = layout_.reserve<std::byte>(2 * level.plane_elements * bytes);
      level.messages = layout_.reserve<std::byte>(2 * directions * level.plane_elements * bytes);
      levels_.push_back(level);
    }
    tables_ = layout_.reserve<float>(2 * edge_table_size);
  }

 private:
  struct Level {
    int pitch = 0;
    std::size_t plane_elements = 0;
    Buffer<std::byte> data, messages;
  };

  CudaFloatLevel level(std::size_t index, Which pair) const {
    const Level& level = levels_[index];
    const View<const std::uint16_t> image = gray(index, pair);
    return {.width = sizes()[index].width,
            .height = sizes()[index].height,
            .pitch = level.pitch,
            .plane_elements = static_cast<long long>(level.plane_elements),
            .data = at(level.data),
            .messages = at(level.messages),
            .gray = image.data,
            .gray_stride = static_cast<int>(image.stride())};
  }

  int storage() const {
    const Arithmetic arithmetic = model().parameters.arithmetic;
    return arithmetic == Arithmetic::float32 ? 32 : arithmetic == Arithmetic::float16 ? 16 : 17;
  }

  void prepare_levels(StreamHandle stream) override {
    const Options options =
        cuda::joined(common_options(),
                     {define("STORAGE", storage()), define("NAIVE_ORDER", naive_order_),
                      define("IN_REGISTERS", places_.registers), define("IN_SHARED_MEMORY", places_.shared),
                      define("PIXELS", places_.pixels), define("LEAST_BLOCKS", places_.min_blocks)});
    program_ = cuda::Program(context(), cuda::belief_propagation_float_cu, options);
    find_costs_ = program_.kernel("find_costs");
    add_up_ = program_.kernel("add_up");
    start_ = program_.kernel("start");
    update_ = program_.kernel("update");
    decide_ = program_.kernel("decide");
    if (places_.shared > 0) update_.allow_shared(shared_bytes());
    std::vector<float> tables = model().slopes;
    tables.insert(tables.end(), model().truncations.begin(), model().truncations.end());
    fill(tables_, tables, stream);
  }

  std::size_t shared_bytes() const { return to_size(places_.shared_bytes()); }

  // One thread per pixel of one colour.
  Shape grid(std::size_t index, unsigned threads, unsigned colours = 1) const {
    const Size size = sizes()[index];
    return {static_cast<unsigned>(size.height), cuda::blocks(to_size(size.width + 1) / 2, threads), colours};
  }

  void find_costs(Which pair, StreamHandle stream) override {
    find_costs_.launch(stream, grid(0, block_threads, 2), {block_threads}, 0, level(0, pair), costs(pair));
    for (std::size_t index = 1; index < levels_.size(); ++index)
      add_up_.launch(stream, grid(index, block_threads, 2), {block_threads}, 0, level(index - 1, pair),
                     level(index, pair));
  }

  void propagate(Which pair, const CudaDecision& to, StreamHandle stream) override {
    for (std::size_t index = levels_.size(); index-- > 0;) iterate(index, pair, stream);
    decide_.launch(stream, grid(0, block_threads, 2), {block_threads}, 0, level(0, pair), to);
  }

  void iterate(std::size_t index, Which pair, StreamHandle stream) const {
    const bool coarsest = index + 1 == levels_.size();
    const CudaFloatLevel here = level(index, pair);
    const auto pixels = static_cast<unsigned>(places_.pixels),
               threads = static_cast<unsigned>(places_.threads());
    start_.launch(stream, grid(index, block_threads, 2), {block_threads}, 0, here,
                  coarsest ? here : level(index + 1, pair), static_cast<int>(coarsest));
    for (int iteration = 0; iteration < model().iterations(index, pair == CudaImages::mirrored); ++iteration)
      update_.launch(stream, grid(index, pixels), {threads}, shared_bytes(), here, at(tables_),
                     static_cast<int>(edge_table_size), (iteration + 1) % 2);
  }

  Places places_;
  bool naive_order_;
  std::vector<Level> levels_;
  Buffer<float> tables_;
  cuda::Program program_;
  Kernel find_costs_, add_up_, start_, update_, decide_;
};

}  // namespace

std::unique_ptr<detail::Plan> make_cuda(const BeliefPropagationParameters& parameters, const Device& device,
                                        const ImageFormat& format,
                                        const detail::Configuration& configuration) {
  if (is_integer(parameters.arithmetic))
    return std::make_unique<Integer>(parameters, device, format, configuration);
  return std::make_unique<Float>(parameters, device, format, configuration);
}

detail::TuningSpace cuda_tuning_space(const BeliefPropagationParameters& parameters, const Device& device,
                                      const ImageFormat&) {
  // The GPU is queried only when a configuration is tried, so that tunables can be listed without a GPU.
  const auto shared_bytes = [index = device.index, known = std::make_shared<int>()] {
    if (*known == 0) *known = cuda::Context(index).shared_bytes_per_block();
    return *known;
  };
  detail::TuningSpace space =
      is_integer(parameters.arithmetic) ? integer_space(parameters) : float_space(parameters, shared_bytes);
  space.variant = variant(parameters) + (parameters.candidate_levels > 0 ? ", candidates" : "");
  return space;
}

}  // namespace parallax::belief_propagation
