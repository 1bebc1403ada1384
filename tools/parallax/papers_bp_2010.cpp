#include "tools/parallax/papers.h"

namespace parallax::tool {
namespace {

constexpr const char* gpu = "GeForce GTX 285";

BeliefPropagationParameters published(MessageValues values) {
  BeliefPropagationParameters parameters = belief_propagation_preset("grauer-gray-2010");
  parameters.arithmetic = Arithmetic::float32;
  parameters.cuda.message_values = values;
  return parameters;
}

BeliefPropagationParameters in_bytes() {
  BeliefPropagationParameters parameters = published(MessageValues::automatic);
  parameters.arithmetic = Arithmetic::fixed8;
  return parameters;
}

Step gpu_step(const char* name, MessageValues values, Published figures) {
  const char* over = values == MessageValues::local_memory ? "" : "local memory";
  if (figures.value) figures.hardware = gpu;
  return {name, over, DeviceKind::cuda, published(values), figures};
}

// What the paper does not have: bytes, and processors.
void add_ours(std::vector<Step>& steps) {
  steps.push_back({"bytes", "tuned", DeviceKind::cuda, in_bytes()});
  steps.push_back({"processor", "", DeviceKind::cpu, published(MessageValues::automatic)});
  steps.push_back({"processor, bytes", "processor", DeviceKind::cpu, in_bytes()});
}

Group group(const char* name, const char* pair, int disparities, std::vector<Step> steps) {
  add_ours(steps);
  return {name, pair, disparities, std::move(steps)};
}

Group tsukuba() {
  return group(
      "tsukuba", "tsukubaSet", 15,
      {gpu_step("local memory", MessageValues::local_memory, {47.0}),
       gpu_step("registers", MessageValues::registers, {24.3, 1.93}),
       gpu_step("shared memory", MessageValues::shared_memory, {25.4, 1.85}),
       gpu_step("hybrid", MessageValues::automatic, {}), gpu_step("tuned", MessageValues::automatic, {})});
}

Group cones() {
  return group("cones, quarter size", "conesQuarterSize", 64,
               {gpu_step("local memory", MessageValues::local_memory, {420}),
                gpu_step("registers", MessageValues::registers, {300}),
                gpu_step("shared memory", MessageValues::shared_memory, {}),
                gpu_step("hybrid", MessageValues::automatic, {238.0, 1.76}),
                gpu_step("tuned", MessageValues::automatic, {238.3, 1.76})});
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
        "hybrid keeps a message in registers and shared memory; ours keeps it in registers where they "
        "suffice, else in shared memory. Tuned: what parallax tune found and remembers for this GPU. Of "
        "cones, messages do not fit the shared memory of a GTX 285.",
        Unit::milliseconds,
        false,
        false,
        {tsukuba(), cones()}}}};
}

}  // namespace parallax::tool
