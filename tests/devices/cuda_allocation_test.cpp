// SPDX-License-Identifier: Apache-2.0
// A run on a GPU allocates nothing. This is a separate executable because it replaces the allocator.

#include <array>
#include <atomic>
#include <cstdlib>
#include <new>
#include <string_view>
#include <vector>

#include <execinfo.h>

#include "counting_allocator.h"
#include "devices/gpu_test.h"
#include "geometry/random_rig.h"

namespace parallax::test {
namespace {

std::atomic<bool> counting = false;

// Allocations by the driver do not count.
bool is_in_driver() {
  std::array<void*, 64> frames{};
  const int count = backtrace(frames.data(), static_cast<int>(frames.size()));
  for (int i = 0; i < count; ++i) {
    Dl_info info;
    if (dladdr(frames[static_cast<std::size_t>(i)], &info) != 0 &&
        std::string_view(info.dli_fname).find("libcuda") != std::string_view::npos)
      return true;
  }
  return false;
}

}  // namespace

bool is_counted() {
  return counting && !is_in_driver();
}

namespace {

template <class Body>
int allocations_of(const Body& body) {
  allocations = 0;
  counting = true;
  body();
  counting = false;
  return allocations;
}

using CudaAllocationTest = GpuTest;

TEST_F(CudaAllocationTest, AllocationsAreCounted) {
  is_in_driver();  // loads its libraries first
  EXPECT_EQ(allocations_of([] { std::vector<int>(3).at(0) = 1; }), 1);
}

void expect_no_allocation(const MatcherParameters& parameters, const StereoPair& pair) {
  is_in_driver();
  Device device = gpu();
  device.threads = 1;
  Matcher matcher(parameters, device, pair.left.format);
  Result result(pair.left.format.size);
  const DisparityMap map = result.map();
  for (int run = 0; run < 2; ++run)
    EXPECT_EQ(allocations_of([&] { matcher.run(pair, map); }), 0) << "run " << run;
  EXPECT_EQ(matcher.stage_times().size(), 3u);
}

TEST_F(CudaAllocationTest, MatchesAllocateNothing) {
  const SynthPair pair = small_pair();
  for (const Arithmetic arithmetic : {Arithmetic::fixed8, Arithmetic::float32})
    expect_no_allocation(small_belief_propagation(arithmetic), views_with_masks(pair));
  expect_no_allocation(small_block(), views_with_masks(pair));
  expect_no_allocation(small_census(), views_with_masks(pair));
  expect_no_allocation(small_semi_global(), views_with_masks(pair));
}

TEST_F(CudaAllocationTest, VolumesOfCostsNeedNone) {
  const SynthPair synth = small_pair();
  StereoPair pair = views_with_masks(synth);
  BeliefPropagationParameters parameters = small_belief_propagation();
  const std::vector<float> costs = belief_propagation_costs(parameters, pair);
  parameters.cost = DataCost::volume;
  pair.costs = CostVolume(costs.data(), small_size, parameters.disparities);
  expect_no_allocation(parameters, pair);
}

TEST_F(CudaAllocationTest, RectificationAllocatesNothing) {
  is_in_driver();
  const Rig rig = chessboard_rig();
  Plane<std::uint8_t> left(rig.left.size), right(rig.right.size), to({64, 48}), other({64, 48}),
      mask({64, 48});
  Device device = gpu();
  device.threads = 1;
  Rectifier rectifier(rig, {.size = {64, 48}}, device);
  const RectifiedPair result{to.view(), other.view(), mask.view(), mask.view()};
  for (int run = 0; run < 2; ++run)
    EXPECT_EQ(allocations_of([&] { rectifier.run(left.view(), right.view(), result); }), 0) << "run " << run;
}

}  // namespace
}  // namespace parallax::test
