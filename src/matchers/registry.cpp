// SPDX-License-Identifier: Apache-2.0
#include "core/registry.h"

#include "matchers/belief_propagation/belief_propagation.h"
#include "matchers/block/block.h"
#include "matchers/census/census.h"
#include "matchers/tiled_belief_propagation/tiled_belief_propagation.h"

namespace parallax::detail {
namespace {

template <class Parameters,
          std::unique_ptr<Plan> (*make)(const Parameters&, const Device&, const ImageFormat&)>
Door door(const char* method, DeviceKind device) {
  const MatcherParameters example = Parameters{};
  return {method, example.index(), device,
          [](const MatcherParameters& parameters, const Device& where, const ImageFormat& format,
             const Configuration&) { return make(std::get<Parameters>(parameters), where, format); },
          nullptr};
}

// Of a plan that can be tuned.
template <class Parameters,
          std::unique_ptr<Plan> (*make)(const Parameters&, const Device&, const ImageFormat&,
                                        const Configuration&),
          TuningSpace (*space)(const Parameters&, const Device&, const ImageFormat&)>
Door tuned_door(const char* method, DeviceKind device) {
  const MatcherParameters example = Parameters{};
  return {method, example.index(), device,
          [](const MatcherParameters& parameters, const Device& where, const ImageFormat& format,
             const Configuration& configuration) {
            return make(std::get<Parameters>(parameters), where, format, configuration);
          },
          [](const MatcherParameters& parameters, const Device& where, const ImageFormat& format) {
            return space(std::get<Parameters>(parameters), where, format);
          }};
}

}  // namespace

std::span<const Door> doors() {
  static const Door table[] = {
      door<BlockParameters, block::make_reference>("block", DeviceKind::reference),
      tuned_door<BlockParameters, block::make_cpu, block::cpu_tuning_space>("block", DeviceKind::cpu),
      door<BeliefPropagationParameters, belief_propagation::make_reference>("bp", DeviceKind::reference),
      tuned_door<BeliefPropagationParameters, belief_propagation::make_cpu,
                 belief_propagation::cpu_tuning_space>("bp", DeviceKind::cpu),
      door<CensusParameters, census::make_reference>("census", DeviceKind::reference),
      tuned_door<CensusParameters, census::make_cpu, census::cpu_tuning_space>("census", DeviceKind::cpu),
      door<TiledBeliefPropagationParameters, tiled_belief_propagation::make_reference>("tiled-bp",
                                                                                       DeviceKind::reference),
      tuned_door<TiledBeliefPropagationParameters, tiled_belief_propagation::make_cpu,
                 tiled_belief_propagation::cpu_tuning_space>("tiled-bp", DeviceKind::cpu),
#ifdef PARALLAX_HAS_CUDA
      tuned_door<BlockParameters, block::make_cuda, block::cuda_tuning_space>("block", DeviceKind::cuda),
      tuned_door<BeliefPropagationParameters, belief_propagation::make_cuda,
                 belief_propagation::cuda_tuning_space>("bp", DeviceKind::cuda),
      tuned_door<CensusParameters, census::make_cuda, census::cuda_tuning_space>("census", DeviceKind::cuda),
      tuned_door<TiledBeliefPropagationParameters, tiled_belief_propagation::make_cuda,
                 tiled_belief_propagation::cuda_tuning_space>("tiled-bp", DeviceKind::cuda),
#endif
#ifdef PARALLAX_HAS_OPENCL
      tuned_door<BlockParameters, block::make_opencl, block::opencl_tuning_space>("block",
                                                                                  DeviceKind::opencl),
      tuned_door<CensusParameters, census::make_opencl, census::opencl_tuning_space>("census",
                                                                                     DeviceKind::opencl),
#endif
  };
  return table;
}

}  // namespace parallax::detail
