// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/papers/papers.h"

namespace parallax::tool {
namespace {

constexpr const char* gtx_285 = "GeForce GTX 285";

BeliefPropagationParameters published(Arithmetic arithmetic = Arithmetic::float32) {
  BeliefPropagationParameters parameters = preset<BeliefPropagationParameters>("grauer-gray-2010");
  parameters.arithmetic = arithmetic;
  return parameters;
}

// The memory in which a thread keeps the values of the message it computes: the first ones in registers, the
// next ones in shared memory, the rest in local memory.
TunedValues values(int in_registers, int in_shared_memory) {
  return {{"values_in_registers", std::to_string(in_registers)},
          {"values_in_shared_memory", std::to_string(in_shared_memory)}};
}

Step gpu_step(const char* name, const TunedValues& configuration, Published figures) {
  const char* over = configuration == values(0, 0) ? "" : "local memory";
  if (figures.value) figures.hardware = gtx_285;
  return {name, over, DeviceKind::cuda, published(), figures, Way::planned_once, configuration};
}

// Runs the steps named "tuned" with remembered tuning.
Group with_tuning(Group group) {
  for (Step& step : group.steps) step.tuned = step.name.starts_with("tuned");
  return group;
}

// Adds steps that are not in the paper: bytes, and processors.
Group group(const char* name, const char* pair, int disparities, std::vector<Step> steps) {
  const BeliefPropagationParameters bytes = published(Arithmetic::fixed8);
  steps.push_back({"bytes", "tuned", DeviceKind::cuda, bytes});
  steps.push_back({"processor", "", DeviceKind::cpu, published()});
  steps.push_back({"processor, bytes", "processor", DeviceKind::cpu, bytes});
  return with_tuning({name, pair, disparities, std::move(steps)});
}

Group tsukuba() {
  constexpr int labels = 15;
  return group(
      "tsukuba", "tsukubaSet", labels,
      {gpu_step("local memory", values(0, 0), {47.0}), gpu_step("registers", values(labels, 0), {24.3, 1.93}),
       gpu_step("shared memory", values(0, labels), {25.4, 1.85}),
       // With so few labels, the hybrid keeps all of them in registers.
       gpu_step("hybrid", values(labels, 0), {}), gpu_step("tuned", {}, {})});
}

Group cones() {
  constexpr int labels = 64, hybrids = 32;
  return group(
      "cones, quarter size", "conesQuarterSize", labels,
      {gpu_step("local memory", values(0, 0), {420}), gpu_step("registers", values(labels, 0), {300}),
       gpu_step("shared memory", values(0, labels), {}),
       gpu_step("hybrid", values(hybrids, labels - hybrids), {238.0, 1.76}),
       gpu_step("tuned", {}, {238.3, 1.76})});
}

// A group that matches in this many columns and rows of tiles, to measure the cost of tiles.
Group split(const char* name, const char* pair, int disparities, Size tiles, Published tuned) {
  tuned.hardware = gtx_285;
  const BeliefPropagationParameters best = published(), bytes = published(Arithmetic::fixed8);
  constexpr DeviceKind cuda = DeviceKind::cuda, cpu = DeviceKind::cpu;
  return with_tuning({name,
                      pair,
                      disparities,
                      {{"local memory", "", cuda, best, {}, Way::in_tiles, values(0, 0)},
                       {"tuned", "local memory", cuda, best, tuned, Way::in_tiles},
                       {"tuned, not split", "tuned", cuda, best},
                       {"bytes", "tuned", cuda, bytes, {}, Way::in_tiles},
                       {"processor, bytes", "", cpu, bytes, {}, Way::in_tiles},
                       {"processor, bytes, not split", "processor, bytes", cpu, bytes}},
                      tiles});
}

PapersTable split_table() {
  return {
      "bp-2010-split",
      "Images in parts, with 20 pixels around each",
      "The paper splits what its GPUs have no memory for. Its full size is 1800×1500; ours is the crop of "
      "900×750 with the same disparities, a quarter of it. On a GTX 470 the paper's tuned program takes "
      "1940 and 18500 ms. Copies count, for they are a part of it.",
      Unit::milliseconds,
      true,
      false,
      {split("cones, half size, 3 rows", "conesHalfSize", 128, {1, 3}, {3120, 1.18}),
       split("cones, full size, 5×5", "conesFullSizeCropped", 256, {5, 5}, {31500, 0.97})}};
}

}  // namespace

Paper bp_2010_paper() {
  return {
      "bp-2010",
      "Where a GPU keeps messages",
      "Scott Grauer-Gray and John Cavazos, \"Optimizing and auto-tuning belief propagation on the GPU\", "
      "2010, tables 1 to 4",
      {{"bp-2010",
        "5 levels, 10 iterations, images smoothed by σ 1, messages in floats",
        "The paper does not say whether its times count copies; speed-ups here are of matching alone. Its "
        "hybrid's shares of registers, shared and local memory are the best of four searches; here the "
        "lowest 32 labels are in registers, as many more as fit in shared memory. Tuned: as parallax tune "
        "left it for this GPU. The messages of cones do not fit the shared memory of a GTX 285.",
        Unit::milliseconds,
        false,
        false,
        {tsukuba(), cones()}},
       split_table()}};
}

}  // namespace parallax::tool
