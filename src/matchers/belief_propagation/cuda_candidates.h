// SPDX-License-Identifier: Apache-2.0
// The finest levels of belief propagation on CUDA, whose tiles consider candidate labels (candidates.h); and
// the data costs of the finest level that considers all labels.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/arena.h"
#include "core/integers.h"
#include "core/tuning.h"
#include "data_cost/cuda_images.h"
#include "decision/cuda_types.h"
#include "devices/cuda/kernel_sources.h"
#include "devices/cuda/multiprocessor.h"
#include "devices/cuda/program.h"
#include "devices/cuda/sparse_memory.h"
#include "matchers/belief_propagation/belief_propagation.h"
#include "matchers/belief_propagation/candidates.h"
#include "matchers/belief_propagation/cuda_types.h"

namespace parallax::belief_propagation {

inline constexpr const char *threads_of_candidates = "candidate_threads_per_block",
                            *candidates_shared = "candidates_in_shared_memory",
                            *blocks_of_candidates = "candidate_blocks_per_multiprocessor";
inline constexpr int usual_candidate_threads = 64, usual_shared = 32;
inline constexpr unsigned warp_threads = 32, existence_threads = 128, sum_threads = 128, open_threads = 128;
inline constexpr int usual_candidates = 8;  // in a tile, on average, at most as a rule

class CudaCandidates {
 public:
  using Which = data_cost::CudaImages::Which;

  // `at_once`: both pairs are matched at the same time, so they share no memory.
  CudaCandidates(const Model& model, const std::vector<Size>& sizes, ArenaLayout& layout,
                 cuda::SparseMemory& sparse, const detail::Configuration& configuration, bool at_once)
      : model_(model),
        size_(sizes.front()),
        threads_(static_cast<unsigned>(configuration.value(threads_of_candidates, usual_candidate_threads))),
        shared_slots_(std::min(model.labels, configuration.value(candidates_shared, usual_shared))),
        min_blocks_(configuration.value(blocks_of_candidates, 0)) {
    memory_of_[Which::as_it_is] = reserve(sizes, layout, sparse);
    memory_of_[Which::mirrored] = at_once ? reserve(sizes, layout, sparse) : memory_of_[Which::as_it_is];
  }
  static std::vector<detail::Tunable> tunables() {
    return {{threads_of_candidates, "Threads per block, where tiles have candidate labels", {64, 128, 256}},
            {blocks_of_candidates, "Smallest number of such blocks to fit on a multiprocessor", {2, 4, 6, 8}},
            {candidates_shared, "Candidate labels of a tile for which shared memory has room", {16, 32, 48}}};
  }
  static bool allows(const detail::Configuration& configuration) {
    return configuration.value(threads_of_candidates, usual_candidate_threads) *
               configuration.value(blocks_of_candidates, 1) <=
           cuda::multiprocessor::threads;
  }

  // The number of levels with candidates: the finest ones.
  std::size_t levels() const { return memory_of_[Which::as_it_is].levels.size(); }
  // The finest level whose data costs add_up() and other kernels need for all labels.
  std::size_t finest_data() const { return std::min<std::size_t>(levels(), 2); }

  // Loads the kernels. `integer_options`: options of cuda_integer.h.
  void prepare(const cuda::SharedContext& context, std::byte* memory, std::byte* sparse_memory,
               const cuda::Options& integer_options) {
    if (levels() == 0) return;
    memory_ = memory;
    sparse_memory_ = sparse_memory;
    const auto options = [&](const cuda::Options& own) {
      return cuda::joined(
          cuda::joined(integer_options, {cuda::define("RANGES", model_.parameters.candidate_ranges)}), own);
    };
    costs_program_ = cuda::Program(
        context, cuda::belief_propagation_candidate_costs_cu,
        options({cuda::define("SLACK", model_.parameters.candidate_slack),
                 cuda::define("SIDE", 1 << finest_data()), cuda::define("EXISTENCE_BLOCK", existence_threads),
                 cuda::define("SUM_BLOCK", sum_threads), cuda::define("OPEN_BLOCK", open_threads)}));
    find_existence_ = costs_program_.kernel("find_existence");
    sum_costs_ = costs_program_.kernel("sum_costs");
    find_candidates_ = costs_program_.kernel("find_candidates");
    open_ = costs_program_.kernel("open_tiles");
    program_ = cuda::Program(context, cuda::belief_propagation_candidates_cu,
                             options({cuda::define("CANDIDATE_BLOCK", threads_),
                                      cuda::define("CANDIDATE_LEAST_BLOCKS", min_blocks_),
                                      cuda::define("SHARED_SLOTS", shared_slots_)}));
    update_ = program_.kernel("update_tiles");
    update_shared_ = program_.kernel("update_shared_tiles");
    find_labels_ = program_.kernel("find_tile_labels");
    decide_ = program_.kernel("decide_tiles");
  }

  // A level with candidates. `edges`: see CudaIntegerLevel.
  CudaCandidateLevel level(std::size_t index, Which pair, const unsigned* edges) const {
    const Level& level = memory_of_[pair].levels[index];
    return {.width = level.size.width,
            .height = level.size.height,
            .groups = tile_count(level.size).width,
            .slots = slots(pair),
            .edges = edges,
            .ranges = level.ranges.in(memory_),
            .spans = level.spans.in(memory_)};
  }
  // Memory for the label of each pixel's lowest belief; all levels share it.
  CudaLabels labels(Size size, Which pair) const {
    return {size.width, size.height, memory_of_[pair].labels.in(memory_)};
  }

  // The most slots that a pair's levels take.
  std::size_t most_slots() const { return memory_of_[Which::as_it_is].labels_of_slots.count; }

  // Finds the pixels' status and the data costs of level finest_data().
  void find_costs(const CudaIntegerLevel& finest, Which pair, const data_cost::CudaCosts& costs,
                  cuda::StreamHandle stream) const {
    std::uint32_t* has_data = memory_of_[pair].has_data.in(memory_);
    find_existence_.launch_pixels(stream, size_, existence_threads, costs, has_data, slots(pair));
    sum_costs_.launch(stream, {static_cast<unsigned>(finest.height * finest.groups)}, {sum_threads}, 0,
                      finest, costs, has_data);
  }

  // Inputs of a level's beginning, see open_tiles().
  struct Opening {
    CudaIntegerLevel all, coarser;
    CudaCandidateLevel coarser_tiles;
    CudaLabels best;
  };
  void open(std::size_t index, Which pair, const CudaCandidateLevel& level, const Opening& from,
            const data_cost::CudaCosts& costs, const CudaSmoothness& alike, cuda::StreamHandle stream) const {
    const int side = index < 2 ? 1 << index : 0;
    find_candidates_.launch(stream, grid(level, open_threads), {open_threads}, 0, level, from.best);
    // Where tiles are few, several warps take the slots of each.
    constexpr std::size_t many_tiles = 16000;
    const unsigned parts = tiles_of(level).pixels() > many_tiles ? 1 : index == 0 ? 2 : 4;
    open_.launch(stream, grid(level, open_threads, 1, parts), {open_threads}, 0, level, from.all,
                 from.coarser, from.coarser_tiles, costs, memory_of_[pair].has_data.in(memory_), side, alike);
  }
  // `first`: whether this is the level's first iteration.
  void update(const CudaCandidateLevel& level, const CudaSmoothness& alike, int colour, bool first,
              cuda::StreamHandle stream) const {
    const bool shares = shares_tiles(level);
    (shares ? update_shared_ : update_)
        .launch(stream, grid(level, threads_, shares ? sharing() : 1), {threads_}, 0, level, alike, colour,
                static_cast<int>(first));
  }
  void find_labels(const CudaCandidateLevel& level, const CudaSmoothness& alike, const CudaLabels& labels,
                   cuda::StreamHandle stream) const {
    find_labels_.launch(stream, grid(level, threads_, sharing(), 2), {threads_}, 0, level, alike, labels);
  }
  void decide(const CudaCandidateLevel& level, const CudaSmoothness& alike, const decision::CudaDecision& to,
              cuda::StreamHandle stream) const {
    decide_.launch(stream, grid(level, threads_, 1, 2), {threads_}, 0, level, alike, to);
  }

 private:
  struct Level {
    Size size;
    Buffer<std::uint32_t> ranges, spans;
  };
  struct Memory {
    std::vector<Level> levels;
    Buffer<std::uint32_t> has_data;
    Buffer<std::uint16_t> labels;
    Buffer<std::uint32_t> words, used;
    Buffer<std::uint16_t> labels_of_slots, links;
  };

  Memory reserve(const std::vector<Size>& sizes, ArenaLayout& layout, cuda::SparseMemory& sparse) const {
    Memory memory;
    std::size_t tiles = 0;
    while (model_.has_candidates(memory.levels.size(), sizes.size())) {
      Level level;
      level.size = sizes[memory.levels.size()];
      const std::size_t count = tile_count(level.size).pixels();
      level.ranges = layout.reserve<std::uint32_t>(count * max_candidate_ranges);
      level.spans = layout.reserve<std::uint32_t>(count * 2);
      tiles += count;
      memory.levels.push_back(level);
    }
    if (memory.levels.empty()) return memory;
    memory.has_data =
        layout.reserve<std::uint32_t>(to_size(size_.height) * to_size(divide_round_up(size_.width, 32)));
    memory.labels = layout.reserve<std::uint16_t>(sizes[1].pixels());
    memory.used = layout.reserve<std::uint32_t>(1);
    const int most_in_tile = round_up(model_.labels, slots_at_once);
    const std::size_t most = tiles * to_size(most_in_tile),
                      usual = tiles * to_size(std::min(most_in_tile, usual_candidates));
    memory.words = sparse.reserve<std::uint32_t>(most * slot_words, usual * slot_words);
    memory.labels_of_slots = sparse.reserve<std::uint16_t>(most, usual);
    memory.links = sparse.reserve<std::uint16_t>(most * links_of_slot, usual * links_of_slot);
    return memory;
  }
  CudaSlots slots(Which pair) const {
    const Memory& memory = memory_of_[pair];
    return {memory.words.in(sparse_memory_), memory.labels_of_slots.in(sparse_memory_),
            memory.links.in(sparse_memory_), memory.used.in(memory_)};
  }
  // The number of warps that share a tile where warps do.
  unsigned sharing() const { return std::min(4u, threads_ / warp_threads); }
  // Few tiles do not fill the GPU, and one with many candidates would take longer than all others.
  static bool shares_tiles(const CudaCandidateLevel& level) {
    constexpr std::size_t few_tiles = 2000;
    return tiles_of(level).pixels() <= few_tiles;
  }
  static Size tiles_of(const CudaCandidateLevel& level) { return tile_count({level.width, level.height}); }
  // `warps`: warps of a block that share a tile.
  static cuda::Shape grid(const CudaCandidateLevel& level, unsigned threads, unsigned warps = 1,
                          unsigned deep = 1) {
    const Size tiles = tiles_of(level);
    return {cuda::blocks(tiles.width, threads / warp_threads / warps), static_cast<unsigned>(tiles.height),
            deep};
  }

  Model model_;
  Size size_;
  unsigned threads_;  // per block
  int shared_slots_;  // candidates of a tile that fit in shared memory
  int min_blocks_;    // minimum number of update blocks resident on a multiprocessor; 0 = no minimum
  Memory memory_of_[2];
  std::byte *memory_ = nullptr, *sparse_memory_ = nullptr;
  cuda::Program costs_program_, program_;
  cuda::Kernel find_existence_, sum_costs_, find_candidates_, open_, update_, update_shared_, find_labels_,
      decide_;
};

}  // namespace parallax::belief_propagation
