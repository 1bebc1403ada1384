// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/papers/papers.h"

namespace parallax::tool {
namespace {

constexpr const char* processor = "Core i7-2600";
constexpr const char* gtx_970 = "GeForce GTX 970";

// The settings of the study; the strategies of the cuda device never change the result.
Step study(const char* name, const char* over, DeviceKind device, Published published = {}) {
  return {name, over, device, preset<BlockParameters>("sad-full-row"), published};
}

Step gpu_step(const char* name, const char* over, const char* strategy, double published) {
  Step step = study(name, over, DeviceKind::cuda, {published, {}, {}, gtx_970});
  step.configuration = {{"strategy", strategy}};
  return step;
}

void add_streams(std::vector<Step>& steps) {
  constexpr double published[] = {6.061472, 6.048472, 5.006784, 5.032512, 5.030656, 5.132672};
  int streams = 0;
  for (const double milliseconds : published) {
    ++streams;
    Step step = gpu_step("", streams == 1 ? "plain" : "1 stream", "streams", milliseconds);
    step.name = std::to_string(streams) + (streams == 1 ? " stream" : " streams");
    step.configuration["streams"] = std::to_string(streams);
    steps.push_back(std::move(step));
  }
}

}  // namespace

Paper block_paper() {
  std::vector<Step> steps = {
      study("processor alone", "", DeviceKind::reference, {1785.0, {}, {}, processor}),
      study("one thread, vectors", "processor alone", DeviceKind::cpu),
      study("all threads", "one thread, vectors", DeviceKind::cpu),
      gpu_step("plain", "processor alone", "global-memory", 7.451360),
      gpu_step("shared memory", "plain", "shared-memory", 4.214176),
      gpu_step("constant memory", "plain", "constant-memory", 6.421354),
      gpu_step("constant and shared memory", "plain", "constant-and-shared-memory", 3.845235),
  };
  steps[1].threads = 1;
  add_streams(steps);
  steps.push_back(gpu_step("device launch, serial minimum", "plain", "device-launch-serial", 6.855230));
  steps.push_back(gpu_step("device launch, reduction", "plain", "device-launch", 3.154260));
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
