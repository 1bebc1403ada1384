// A run allocates nothing. An executable of its own, because it replaces the allocator.

#include <atomic>
#include <cstdlib>
#include <new>

#include <gtest/gtest.h>

#include "support.h"

namespace {

std::atomic<int> allocations = 0;

void* allocate(std::size_t bytes, std::size_t alignment) {
  ++allocations;
  void* memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) {
  return allocate(bytes, alignof(std::max_align_t));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace parallax::test {
namespace {

void expect_no_allocation(const MatcherParameters& parameters) {
  const SynthPair pair = synthesize({.size = {160, 90}, .disparities = 20});
  for (const DeviceKind kind : {DeviceKind::reference, DeviceKind::cpu}) {
    Device device{kind};
    device.threads = 1;  // oneTBB's own bookkeeping is not ours to count
    Matcher matcher(parameters, device, pair.left_view().format);
    Result result(pair.size());
    const int before = allocations;
    matcher.run({pair.left_view(), pair.right_view(), {}, {}}, result.map());
    EXPECT_EQ(allocations - before, 0) << kind;
    EXPECT_GT(matcher.stage_times().size(), 4u);
  }
}

TEST(AllocationTest, BlockMatchingAllocatesNothing) {
  for (const BlockCost cost : {BlockCost::sad, BlockCost::zncc}) {
    BlockParameters parameters;
    parameters.disparities = 20;
    parameters.cost = cost;
    parameters.uniqueness = 5;
    parameters.texture_threshold = 10;
    expect_no_allocation(parameters);
  }
}

TEST(AllocationTest, BeliefPropagationAllocatesNothing) {
  for (const Arithmetic arithmetic : {Arithmetic::fixed8, Arithmetic::float16}) {
    for (const DataCost cost : {DataCost::census, DataCost::absolute_difference_colour}) {
      BeliefPropagationParameters parameters;
      parameters.disparities = 20;
      parameters.arithmetic = arithmetic;
      parameters.cost = cost;
      parameters.smoothing = 1;
      expect_no_allocation(parameters);
    }
  }
}

}  // namespace
}  // namespace parallax::test
