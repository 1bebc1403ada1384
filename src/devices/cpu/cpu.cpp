#include <hwy/highway.h>
#include <hwy/targets.h>

#include <fstream>
#include <string>

#include "core/workers.h"
#include "parallax/device.h"

namespace parallax {
namespace {

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "processor";
}

}  // namespace

std::vector<std::string> cpu_targets() {
  std::vector<std::string> names;
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) names.emplace_back(hwy::TargetName(target));
  return names;
}

void force_cpu_target(std::string_view target) {
  hwy::SetSupportedTargetsForTest(0);
  std::string known;
  int64_t chosen = 0;
  for (const int64_t candidate : hwy::SupportedAndGeneratedTargets()) {
    if (target == hwy::TargetName(candidate)) chosen = candidate;
    known += std::string(known.empty() ? "" : ", ") + hwy::TargetName(candidate);
  }
  if (!target.empty() && chosen == 0)
    throw Error(ErrorCategory::argument, "no vector target " + std::string(target) + " here: choose one of " + known);
  hwy::SetSupportedTargetsForTest(chosen);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

std::vector<DeviceDescription> list_devices() {
  const std::string processor = processor_name();
  const int threads = Workers(0).threads();
  return {{"reference", processor + ", 1 thread, scalar"},
          {"cpu", processor + ", " + std::to_string(threads) + (threads == 1 ? " thread, " : " threads, ") +
                      cpu_targets().front()}};
}

}  // namespace parallax
