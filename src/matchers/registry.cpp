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
      door<BlockParameters, block::make_cpu>("block", DeviceKind::cpu),
      door<BeliefPropagationParameters, belief_propagation::make_reference>("bp", DeviceKind::reference),
      door<BeliefPropagationParameters, belief_propagation::make_cpu>("bp", DeviceKind::cpu),
      door<CensusParameters, census::make_reference>("census", DeviceKind::reference),
      door<CensusParameters, census::make_cpu>("census", DeviceKind::cpu),
      door<TiledBeliefPropagationParameters, tiled_belief_propagation::make_reference>("tiled-bp",
                                                                                       DeviceKind::reference),
      door<TiledBeliefPropagationParameters, tiled_belief_propagation::make_cpu>("tiled-bp", DeviceKind::cpu),
#ifdef PARALLAX_HAS_CUDA
      tuned_door<BlockParameters, block::make_cuda, block::cuda_space>("block", DeviceKind::cuda),
      tuned_door<BeliefPropagationParameters, belief_propagation::make_cuda, belief_propagation::cuda_space>(
          "bp", DeviceKind::cuda),
      tuned_door<CensusParameters, census::make_cuda, census::cuda_space>("census", DeviceKind::cuda),
      tuned_door<TiledBeliefPropagationParameters, tiled_belief_propagation::make_cuda,
                 tiled_belief_propagation::cuda_space>("tiled-bp", DeviceKind::cuda),
#endif
#ifdef PARALLAX_HAS_OPENCL
      tuned_door<BlockParameters, block::make_opencl, block::opencl_space>("block", DeviceKind::opencl),
      tuned_door<CensusParameters, census::make_opencl, census::opencl_space>("census", DeviceKind::opencl),
#endif
  };
  return table;
}

}  // namespace parallax::detail
