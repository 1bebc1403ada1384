// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/papers/block_study.h"
#include "benchmarks/papers/papers.h"

namespace parallax::tool {
namespace {

constexpr const char* processor = "Core i7-2600";

// The settings of the study.
Step study(const char* name, const char* over, DeviceKind device, Published published = {}) {
  return {name, over, device, preset<BlockParameters>("sad-full-row"), published};
}

#ifdef PARALLAX_BLOCK_STUDY
constexpr const char* gtx_970 = "GeForce GTX 970";

// A strategy of the study.
Step gpu_step(const std::string& name, const char* over, BlockStrategy strategy, double published,
              int streams = 1) {
  BlockStudyParameters parameters;
  parameters.strategy = strategy;
  parameters.streams = streams;
  return {name, over, DeviceKind::cuda, parameters, {published, {}, {}, gtx_970}};
}

std::vector<Step> gpu_steps() {
  using enum BlockStrategy;
  add_block_study();
  std::vector<Step> steps = {
      gpu_step("plain", "processor alone", global_memory, 7.451360),
      gpu_step("shared memory", "plain", shared_memory, 4.214176),
      gpu_step("constant memory", "plain", constant_memory, 6.421354),
      gpu_step("constant and shared memory", "plain", constant_and_shared_memory, 3.845235),
  };
  int count = 0;
  for (const double milliseconds : {6.061472, 6.048472, 5.006784, 5.032512, 5.030656, 5.132672}) {
    ++count;
    steps.push_back(gpu_step(std::to_string(count) + (count == 1 ? " stream" : " streams"),
                             count == 1 ? "plain" : "1 stream", streams, milliseconds, count));
  }
  steps.push_back(gpu_step("device launch, serial minimum", "plain", device_launch_serial, 6.855230));
  steps.push_back(gpu_step("device launch, reduction", "plain", device_launch, 3.154260));
  return steps;
}
#else
// The study's kernels need CUDA, and the library's internals, which a shared library hides.
std::vector<Step> gpu_steps() {
  return {};
}
#endif

}  // namespace

Paper block_paper() {
  std::vector<Step> steps = {
      study("processor alone", "", DeviceKind::reference, {1785.0, {}, {}, processor}),
      study("one thread, vectors", "processor alone", DeviceKind::cpu),
      study("all threads", "one thread, vectors", DeviceKind::cpu),
  };
  steps[1].threads = 1;
  for (Step& step : gpu_steps()) steps.push_back(std::move(step));
  steps.push_back(study("the fastest here", "plain", DeviceKind::cuda));
  steps.push_back(study("the fastest here, OpenCL", "all threads", DeviceKind::opencl));

  return {"block",
          "Windows of absolute differences on a GPU",
          "Yu Hailin, \"GPU-accelerated depth recovery\" (in Chinese), sections 3.1 to 3.4",
          {{"block",
            "5×5 windows over the whole row, 450×375",
            "The study does not say whether its times count copies; speed-ups here are of matching alone. Of "
            "its plain way, the best shape of blocks (32×32). Its shared memory holds the right image, ours "
            "both.",
            Unit::milliseconds,
            false,
            false,
            {{"cones", "conesQuarterSize", 64, steps}}}}};
}

}  // namespace parallax::tool
