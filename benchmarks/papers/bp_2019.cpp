// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/papers/papers.h"

namespace parallax::tool {
namespace {

constexpr const char* v100 = "Tesla V100";
constexpr const char* xeon = "Xeon Platinum 8175M, 24 cores";

// The figures of tables 2 to 6 and 9 to 12 for a pair: milliseconds, and speed-ups of single steps. Alignment
// is for 16-bit data.
struct PublishedPair {
  const char *name, *pair;
  int disparities;
  struct Gpu {
    double initial, optimized;
    double index_order, memory, half, alignment;
  } gpu;
  struct Processor {
    double initial, threads, vectors, optimized;
    double memory, half, alignment;
  } processor;
};

constexpr PublishedPair pairs[] = {
    {"tsukuba", "tsukubaSet", 16, {5.9, 1.8, 1.5, 2.9, 1.1, 0.99}, {144.9, 14.8, 7.1, 3.5, 0.93, 1.29, 1.28}},
    {"venus", "venus", 21, {9.4, 2.4, 1.8, 2.9, 1.3, 1.08}, {398.0, 34.5, 17.3, 8.9, 0.94, 1.72, 1.09}},
    {"barn1", "barn1", 32, {11.4, 3.3, 2.2, 2.9, 1.3, 1.00}, {637.5, 52.3, 29.5, 13.8, 1.00, 1.79, 1.07}},
    {"cones, quarter size",
     "conesQuarterSize",
     64,
     {27.7, 8.2, 2.1, 1.6, 1.9, 1.05},
     {1355.8, 133.9, 73.4, 33.1, 1.05, 1.80, 1.11}},
    {"cones, half size",
     "conesHalfSize",
     128,
     {223.5, 131.1, 2.5, 1.1, 1.4, 1.2},
     {11512.5, 1044.5, 598.2, 312.5, 1.01, 1.71, 1.02}},
};

BeliefPropagationParameters in(Arithmetic arithmetic) {
  BeliefPropagationParameters parameters = preset<BeliefPropagationParameters>("grauer-gray-2019");
  parameters.arithmetic = arithmetic;
  return parameters;
}

// Configurations without the changes that the steps add.
const TunedValues unaligned = {{"aligned", "false"}},
                  in_local_memory = {{"values_in_registers", "0"}, {"values_in_shared_memory", "0"}};

TunedValues both(TunedValues a, const TunedValues& b) {
  a.insert(b.begin(), b.end());
  return a;
}

// Makes the steps of a table.
struct Steps {
  DeviceKind device;
  const char* hardware;  // hardware of the paper

  Step operator()(const char* name, const char* over, Arithmetic arithmetic, const TunedValues& configuration,
                  std::optional<double> value = {}, std::optional<double> speed_up = {}) const {
    Step step{name, over, device, in(arithmetic), {value, speed_up, {}, {}}};
    if (value || speed_up) step.published.hardware = hardware;
    step.configuration = configuration;
    return step;
  }
};

Group on_processor(const PublishedPair& paper) {
  using enum Arithmetic;
  const auto& published = paper.processor;
  const Steps step{DeviceKind::cpu, xeon};
  const char* const anew = "vectors, all memory anew for each pair";
  std::vector<Step> steps = {
      Steps{DeviceKind::reference, xeon}("processor reference", "", float32, {}, published.initial),
      step("one thread, scalar", "", float32, unaligned),
      step("threads", "one thread, scalar", float32, unaligned, published.threads,
           published.initial / published.threads),
      step("vectors", "threads", float32, unaligned, published.vectors),
      step(anew, "", float32, unaligned),
      step("memory management", anew, float32, unaligned, {}, published.memory),
      step("16 bits", "vectors", float16, unaligned, {}, published.half),
      step("alignment", "16 bits", float16, {}, published.optimized, published.alignment),
      step("bytes", "alignment", fixed8, {}),
  };
  steps[1].threads = 1;
  steps[1].scalar = steps[2].scalar = true;
  steps[4].way = Way::planned_for_each_pair;
  return {paper.name, paper.pair, paper.disparities, steps};
}

Group on_gpu(const PublishedPair& paper) {
  using enum Arithmetic;
  const auto& published = paper.gpu;
  const Steps step{DeviceKind::cuda, v100};
  const TunedValues initial = both(unaligned, in_local_memory);
  const char* const anew = "all memory anew for each pair";
  std::vector<Step> steps = {
      step("naive index order", "", float32, both(initial, {{"index_order", "naive"}})),
      step("coalesced index order", "naive index order", float32, initial, {}, published.index_order),
      step(anew, "", float32, initial, published.initial),
      step("memory management", anew, float32, initial, {}, published.memory),
      step("16 bits", "coalesced index order", float16, initial, {}, published.half),
      step("alignment", "16 bits", float16, in_local_memory, published.optimized, published.alignment),
      step("registers or shared memory", "alignment", float16, {}),
      step("bytes", "registers or shared memory", fixed8, {}),
  };
  steps[2].way = Way::planned_for_each_pair;
  return {paper.name, paper.pair, paper.disparities, steps};
}

}  // namespace

Paper bp_2019_paper() {
  PapersTable processors{
      "bp-2019-cpu",
      "On a processor, 5 levels, 7 iterations",
      "Table 12 for milliseconds, which are of the whole program on pictures in memory; those of alignment "
      "are the paper's optimized program, without its memory management. Tables 9, 10 and 11 for the "
      "speed-ups of single steps. Here a plan holds its memory: to make one for each pair stands for the "
      "allocations that the paper saves.",
      Unit::milliseconds,
      true,
      false,
      {}};
  PapersTable gpus{
      "bp-2019-gpu",
      "On a GPU, 5 levels, 7 iterations",
      "Table 6 for milliseconds, which count copies to the GPU and back: the initial and the optimized "
      "program. Tables 2 to 5 for the speed-ups of single steps. A plan here allocates once, and to make one "
      "for each pair also loads kernels and records a graph, which the paper's program does not. Messages "
      "are in local memory up to the steps that the paper does not have.",
      Unit::milliseconds,
      true,
      false,
      {}};
  for (const PublishedPair& pair : pairs) {
    processors.groups.push_back(on_processor(pair));
    gpus.groups.push_back(on_gpu(pair));
  }
  return {"bp-2019",
          "Belief propagation on GPUs and processors",
          "Scott Grauer-Gray, \"Optimizing belief propagation on the GPU and CPU\", 2019",
          {processors, gpus}};
}

}  // namespace parallax::tool
