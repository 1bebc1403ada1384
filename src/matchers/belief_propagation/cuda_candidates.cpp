// SPDX-License-Identifier: Apache-2.0
#include "matchers/belief_propagation/cuda_candidates.h"

#include <algorithm>

#include "core/round_up.h"
#include "devices/cuda/kernel_sources.h"
#include "devices/cuda/multiprocessor.h"
#include "matchers/belief_propagation/candidates.h"

namespace parallax::belief_propagation {
namespace {

using cuda::define;
using cuda::Shape;
using cuda::StreamHandle;

constexpr const char *threads_of_candidates = "candidate_threads_per_block",
                     *candidates_shared = "candidates_in_shared_memory",
                     *blocks_of_candidates = "candidate_blocks_per_multiprocessor";
constexpr int usual_threads = 128, usual_shared = 32;
constexpr unsigned warp_lanes = 32, existence_threads = 128, sum_threads = 128, open_threads = 128;
constexpr std::size_t message_planes = 4;  // planes of a colour

}  // namespace

CudaCandidates::CudaCandidates(const Model& model, const std::vector<Size>& sizes, ArenaLayout& layout,
                               const detail::Configuration& configuration, bool at_once)
    : model_(model),
      size_(sizes.front()),
      threads_(static_cast<unsigned>(configuration.value(threads_of_candidates, usual_threads))),
      shared_slots_(std::min(model.labels, configuration.value(candidates_shared, usual_shared))),
      least_blocks_(configuration.value(blocks_of_candidates, 0)) {
  memory_of_[Which::as_it_is] = reserve(sizes, layout);
  memory_of_[Which::mirrored] = at_once ? reserve(sizes, layout) : memory_of_[Which::as_it_is];
}

CudaCandidates::Memory CudaCandidates::reserve(const std::vector<Size>& sizes, ArenaLayout& layout) const {
  Memory memory;
  while (model_.has_candidates(memory.levels.size(), sizes.size())) {
    Level level;
    level.size = sizes[memory.levels.size()];
    level.tiles = tile_count(level.size).pixels();
    level.plane_words = level.tiles * static_cast<std::size_t>(model_.labels) * tile_side;
    level.data = layout.reserve<std::uint32_t>(2 * level.plane_words);
    level.messages = layout.reserve<std::uint32_t>(2 * message_planes * level.plane_words);
    level.ranges = layout.reserve<std::uint32_t>(level.tiles * most_candidate_ranges);
    level.labels = layout.reserve<std::uint16_t>(level.tiles * static_cast<std::size_t>(model_.labels));
    memory.levels.push_back(level);
  }
  if (memory.levels.empty()) return memory;
  memory.has_data = layout.reserve<std::uint32_t>(static_cast<std::size_t>(size_.height) *
                                                  static_cast<std::size_t>(divide_round_up(size_.width, 32)));
  memory.labels = layout.reserve<std::uint16_t>(sizes[1].pixels());
  return memory;
}

std::vector<detail::Tunable> CudaCandidates::tunables() {
  return {{threads_of_candidates, "Threads per block, where tiles have candidate labels", {64, 128, 256}},
          {blocks_of_candidates, "Smallest number of such blocks to fit on a multiprocessor", {2, 4, 6, 8}},
          {candidates_shared, "Candidate labels of a tile for which shared memory has room", {16, 32, 48}}};
}

bool CudaCandidates::allows(const detail::Configuration& configuration) {
  return configuration.value(threads_of_candidates, usual_threads) *
             configuration.value(blocks_of_candidates, 1) <=
         cuda::multiprocessor::threads;
}

void CudaCandidates::prepare(const cuda::SharedContext& context, std::byte* memory,
                             const cuda::Options& integer_options) {
  if (levels() == 0) return;
  memory_ = memory;
  cuda::Options options = integer_options;
  options.insert(
      options.end(),
      {define("CANDIDATE_BLOCK", static_cast<int>(threads_)), define("CANDIDATE_LEAST_BLOCKS", least_blocks_),
       define("SHARED_SLOTS", shared_slots_), define("RANGES", model_.parameters.candidate_ranges),
       define("SLACK", model_.parameters.candidate_slack), define("SIDE", 1 << finest_data()),
       define("EXISTENCE_BLOCK", static_cast<int>(existence_threads)),
       define("SUM_BLOCK", static_cast<int>(sum_threads)),
       define("OPEN_BLOCK", static_cast<int>(open_threads))});
  program_ = cuda::Program(context, cuda::belief_propagation_candidates_cu, options);
  find_existence_ = program_.kernel("find_existence");
  sum_costs_ = program_.kernel("sum_costs");
  open_ = program_.kernel("open_tiles");
  update_ = program_.kernel("update_tiles");
  find_labels_ = program_.kernel("find_tile_labels");
  decide_ = program_.kernel("decide_tiles");
}

CudaCandidateLevel CudaCandidates::level(std::size_t index, Which pair, const unsigned* edges) const {
  const Level& level = memory_of_[pair].levels[index];
  return {.width = level.size.width,
          .height = level.size.height,
          .groups = tile_count(level.size).width,
          .plane_words = static_cast<long long>(level.plane_words),
          .data = level.data.in(memory_),
          .messages = level.messages.in(memory_),
          .edges = edges,
          .ranges = level.ranges.in(memory_),
          .labels = level.labels.in(memory_)};
}

CudaLabels CudaCandidates::labels(Size size, Which pair) const {
  return {size.width, size.height, memory_of_[pair].labels.in(memory_)};
}

Shape CudaCandidates::grid(const CudaCandidateLevel& level, unsigned colours) const {
  const Size tiles = tile_count({level.width, level.height});
  return {cuda::blocks(static_cast<std::size_t>(tiles.width), threads_ / warp_lanes),
          static_cast<unsigned>(tiles.height), colours};
}

void CudaCandidates::find_costs(const CudaIntegerLevel& finest, Which pair, const data_cost::CudaCosts& costs,
                                StreamHandle stream) const {
  std::uint32_t* has_data = memory_of_[pair].has_data.in(memory_);
  find_existence_.launch(stream,
                         {static_cast<unsigned>(size_.height),
                          cuda::blocks(static_cast<std::size_t>(size_.width), existence_threads)},
                         {existence_threads}, 0, costs, has_data);
  sum_costs_.launch(stream, {static_cast<unsigned>(finest.height * finest.groups)}, {sum_threads}, 0, finest,
                    costs, has_data);
}

void CudaCandidates::open(std::size_t index, Which pair, const CudaCandidateLevel& level, const Opening& from,
                          const data_cost::CudaCosts& costs, const CudaSmoothness& alike,
                          StreamHandle stream) const {
  const int side = index < 2 ? 1 << index : 0;
  const Memory& memory = memory_of_[pair];
  open_.launch(stream, {static_cast<unsigned>(memory.levels[index].tiles)}, {open_threads}, 0, level,
               from.all, from.coarser, from.coarser_tiles, from.best, costs, memory.has_data.in(memory_),
               side, alike);
}

void CudaCandidates::update(const CudaCandidateLevel& level, const CudaSmoothness& alike, int colour,
                            bool first, StreamHandle stream) const {
  update_.launch(stream, grid(level), {threads_}, 0, level, alike, colour, static_cast<int>(first));
}

void CudaCandidates::find_labels(const CudaCandidateLevel& level, const CudaSmoothness& alike,
                                 const CudaLabels& labels, StreamHandle stream) const {
  find_labels_.launch(stream, grid(level, 2), {threads_}, 0, level, alike, labels);
}

void CudaCandidates::decide(const CudaCandidateLevel& level, const CudaSmoothness& alike,
                            const refine::CudaDecision& to, StreamHandle stream) const {
  decide_.launch(stream, grid(level, 2), {threads_}, 0, level, alike, to);
}

}  // namespace parallax::belief_propagation
