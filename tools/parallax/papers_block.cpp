// SPDX-License-Identifier: Apache-2.0
#include "tools/parallax/papers.h"

namespace parallax::tool {
namespace {

constexpr const char* processor = "Core i7-2600";
constexpr const char* gtx_970 = "GeForce GTX 970";

BlockParameters study(CudaStrategy strategy, int streams = 4) {
  BlockParameters parameters = preset<BlockParameters>("sad-full-row");
  parameters.cuda = {strategy, 0, streams};
  return parameters;
}

Step gpu_step(const char* name, const char* over, std::optional<CudaStrategy> strategy, double published) {
  Step step{name, over, DeviceKind::cuda, {}, {published, {}, {}, gtx_970}};
  if (strategy) step.parameters = study(*strategy);
  return step;
}

void add_streams(std::vector<Step>& steps) {
  constexpr double published[] = {6.061472, 6.048472, 5.006784, 5.032512, 5.030656, 5.132672};
  int streams = 0;
  for (const double milliseconds : published) {
    ++streams;
    steps.push_back({std::to_string(streams) + (streams == 1 ? " stream" : " streams"),
                     streams == 1 ? "plain" : "1 stream",
                     DeviceKind::cuda,
                     study(CudaStrategy::streams, streams),
                     {milliseconds, {}, {}, gtx_970}});
  }
}

}  // namespace

Paper block_paper() {
  const MatcherParameters best = study(CudaStrategy::automatic);
  std::vector<Step> steps = {
      {"processor alone", "", DeviceKind::reference, best, {1785.0, {}, {}, processor}},
      {"one thread, vectors", "processor alone", DeviceKind::cpu, best},
      {"all threads", "one thread, vectors", DeviceKind::cpu, best},
      gpu_step("plain", "processor alone", CudaStrategy::global_memory, 7.451360),
      gpu_step("shared memory", "plain", CudaStrategy::shared_memory, 4.214176),
      gpu_step("constant memory", "plain", {}, 6.421354),
      gpu_step("constant and shared memory", "plain", CudaStrategy::constant_and_shared_memory, 3.845235),
  };
  steps[1].threads = 1;
  add_streams(steps);
  steps.push_back(gpu_step("device launch, serial minimum", "plain", {}, 6.855230));
  steps.push_back(gpu_step("device launch, reduction", "plain", CudaStrategy::device_launch, 3.154260));
  steps.push_back({"the fastest here", "plain", DeviceKind::cuda, best});
  steps.push_back({"the fastest here, OpenCL", "all threads", DeviceKind::opencl, best});

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
