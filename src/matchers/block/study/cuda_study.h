// SPDX-License-Identifier: Apache-2.0
// The steps of an older study of block matching on GPUs, to measure what each of them was worth: Yu Hailin,
// "GPU-accelerated depth recovery", sections 3.1 to 3.4. See cuda_study.cu.
#pragma once

#include <memory>

#include "matchers/block/block.h"

namespace parallax::block {

// Adds the tunables that choose a strategy, which are not searched. A strategy takes no other tunable.
void add_study(detail::TuningSpace& space);

bool asks_for_study(const detail::Configuration& configuration);

// `bytes`: whether images are compared in bytes.
// \throws Error (device) that names what the strategy does not support
std::unique_ptr<detail::Plan> make_study(const BlockParameters& parameters, const Device& device,
                                         const ImageFormat& format,
                                         const detail::Configuration& configuration, bool bytes);

}  // namespace parallax::block
