// SPDX-License-Identifier: Apache-2.0
// A method outside the library, on CUDA only: block matching by SAD the way an older study went, to measure
// what each of its steps was worth. Yu Hailin, "GPU-accelerated depth recovery", sections 3.1 to 3.4. See
// block_study.cu.
#pragma once

#include "parallax/block.h"

namespace parallax {

namespace gpu {
struct Source;
}

// How the other image is searched.
enum class BlockStrategy {
  global_memory,               // both images in global memory
  shared_memory,               // rows of both images in shared memory
  constant_memory,             // left rows in constant memory, the right image in global memory
  constant_and_shared_memory,  // left rows in constant memory, right rows in shared memory
  streams,                     // global_memory, the rows dealt out to several streams
  device_launch_serial,        // one thread per pixel launches a thread per label; one finds the least
  device_launch,               // the same, with a parallel reduction
};

struct BlockStudyParameters {
  int min_disparity = 0;
  int disparities = 64;
  bool full_row = true;
  int window = 5;
  BlockStrategy strategy = BlockStrategy::global_memory;
  int streams = 4;  // number of streams of BlockStrategy::streams
  RefineParameters refine = RefineParameters::none();

  // Parameters of the method "block" that give the same map.
  BlockParameters block() const;
  void validate() const;
};

// Adds the method "block-study" to those of this process, once.
void add_block_study();

// Kernels of the study.
gpu::Source block_study_source();

}  // namespace parallax
