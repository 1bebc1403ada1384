// SPDX-License-Identifier: Apache-2.0
// The steps of an older study of block matching on GPUs: see CudaStrategy and cuda_study.cu.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "parallax/block.h"

#include "devices/cuda/program.h"
#include "matchers/block/block.h"
#include "matchers/block/cuda_types.h"

namespace parallax::block {

class CudaStudy {
 public:
  virtual ~CudaStudy() = default;
  // `options` specialise the kernels as block_common.h says.
  virtual void prepare(const cuda::SharedContext& context, std::vector<std::string> options) = 0;
  // Finds the best labels of one image in the other.
  virtual void find_best(const CudaSearch& search, cuda::StreamHandle stream) const = 0;
};

// Null for CudaStrategy::automatic. `pitch`: bytes from one filtered row to the next
std::unique_ptr<CudaStudy> make_study(const BlockParameters& parameters, int pitch);
// \throws Error (device) that names what the strategy does not take
void check_strategy(const BlockParameters& parameters, const Search& search);
void check_strategy(const BlockParameters& parameters, const StereoPair& pair);

}  // namespace parallax::block
