// SPDX-License-Identifier: Apache-2.0
// The finest levels of belief propagation on CUDA, whose tiles consider candidate labels (candidates.h); and
// the data costs of the finest level that considers all labels.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/arena.h"
#include "core/tuning.h"
#include "data_cost/cuda_images.h"
#include "decision/cuda_types.h"
#include "devices/cuda/program.h"
#include "matchers/belief_propagation/belief_propagation.h"
#include "matchers/belief_propagation/cuda_types.h"

namespace parallax::belief_propagation {

class CudaCandidates {
 public:
  using Which = data_cost::CudaImages::Which;

  // `at_once`: both pairs are matched at the same time, so they share no memory.
  CudaCandidates(const Model& model, const std::vector<Size>& sizes, ArenaLayout& layout,
                 const detail::Configuration& configuration, bool at_once);
  static std::vector<detail::Tunable> tunables();
  static bool allows(const detail::Configuration& configuration);

  // The number of levels with candidates: the finest ones.
  std::size_t levels() const { return memory_of_[Which::as_it_is].levels.size(); }
  // The finest level whose data costs add_up() and other kernels need for all labels.
  std::size_t finest_data() const { return std::min<std::size_t>(levels(), 2); }

  // Loads the kernels. `integer_options`: options of cuda_integer.cu.
  void prepare(const cuda::SharedContext& context, std::byte* memory, const cuda::Options& integer_options);

  // A level with candidates. `edges`: see CudaIntegerLevel.
  CudaCandidateLevel level(std::size_t index, Which pair, const unsigned* edges) const;
  // Memory for the label of each pixel's lowest belief; all levels share it.
  CudaLabels labels(Size size, Which pair) const;

  // Finds the pixels' status and the data costs of level finest_data().
  void find_costs(const CudaIntegerLevel& finest, Which pair, const data_cost::CudaCosts& costs,
                  cuda::StreamHandle stream) const;

  // Inputs of a level's beginning, see open_tiles().
  struct Opening {
    CudaIntegerLevel all, coarser;
    CudaCandidateLevel coarser_tiles;
    CudaLabels best;
  };
  void open(std::size_t index, Which pair, const CudaCandidateLevel& level, const Opening& from,
            const data_cost::CudaCosts& costs, const CudaSmoothness& alike, cuda::StreamHandle stream) const;
  // `first`: whether this is the level's first iteration.
  void update(const CudaCandidateLevel& level, const CudaSmoothness& alike, int colour, bool first,
              cuda::StreamHandle stream) const;
  void find_labels(const CudaCandidateLevel& level, const CudaSmoothness& alike, const CudaLabels& labels,
                   cuda::StreamHandle stream) const;
  void decide(const CudaCandidateLevel& level, const CudaSmoothness& alike, const refine::CudaDecision& to,
              cuda::StreamHandle stream) const;

 private:
  struct Level {
    Size size;
    std::size_t tiles = 0, plane_words = 0;
    Buffer<std::uint32_t> data, messages, ranges;
    Buffer<std::uint16_t> labels;
  };
  struct Memory {
    std::vector<Level> levels;
    Buffer<std::uint32_t> has_data;
    Buffer<std::uint16_t> labels;
  };

  Memory reserve(const std::vector<Size>& sizes, ArenaLayout& layout) const;
  cuda::Shape grid(const CudaCandidateLevel& level, unsigned colours = 1) const;

  Model model_;
  Size size_;
  unsigned threads_;  // per block
  int shared_slots_;  // candidates of a tile that fit in shared memory
  int least_blocks_;  // minimum number of update blocks resident on a multiprocessor; 0 = no minimum
  Memory memory_of_[2];
  std::byte* memory_ = nullptr;
  cuda::Program program_;
  cuda::Kernel find_existence_, sum_costs_, open_, update_, find_labels_, decide_;
};

}  // namespace parallax::belief_propagation
