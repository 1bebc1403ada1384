#include <fstream>
#include <string>

#include <hwy/highway.h>
#include <hwy/targets.h>
#include <unistd.h>

#include "parallax/device.h"

#include "core/workers.h"
#include "devices/devices.h"

namespace parallax {
namespace {

std::string read_processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "processor";
}

const std::string& processor_name() {
  static const std::string name = read_processor_name();
  return name;
}

// With as many threads as can run at once.
std::string describe_processor(int threads) {
  return processor_name() + ", " + std::to_string(threads) + (threads == 1 ? " thread, " : " threads, ") +
         active_cpu_target();
}

std::size_t cache_bytes(int name, std::size_t otherwise) {
  const long bytes = sysconf(name);
  return bytes > 0 ? static_cast<std::size_t>(bytes) : otherwise;
}

// Found once: what Highway says later depends on what was forced.
const std::vector<std::int64_t>& shared_targets() {
  static const std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
  return targets;
}

}  // namespace

std::vector<std::string> cpu_targets() {
  std::vector<std::string> names;
  for (const std::int64_t target : shared_targets()) names.emplace_back(hwy::TargetName(target));
  return names;
}

std::string active_cpu_target() {
  return hwy::TargetName(hwy::SupportedAndGeneratedTargets().front());
}

void force_cpu_target(std::string_view target) {
  std::string known;
  std::int64_t chosen = 0;
  for (const std::int64_t candidate : shared_targets()) {
    if (target == hwy::TargetName(candidate)) chosen = candidate;
    known += std::string(known.empty() ? "" : ", ") + hwy::TargetName(candidate);
  }
  if (!target.empty() && chosen == 0)
    throw Error(ErrorCategory::argument,
                "no vector target " + std::string(target) + " here: choose one of " + known);
  hwy::SetSupportedTargetsForTest(chosen);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

std::vector<DeviceDescription> describe_cpu() {
  return {{"reference", processor_name() + ", 1 thread, scalar"},
          {"cpu", describe_processor(Workers(0).threads())}};
}

DeviceIdentity identify_cpu(int threads) {
  return {describe_processor(Workers(threads).slots()), ""};
}

CacheBytes cpu_caches() {
  return {cache_bytes(_SC_LEVEL1_DCACHE_SIZE, std::size_t{32} << 10),
          cache_bytes(_SC_LEVEL2_CACHE_SIZE, std::size_t{1} << 20)};
}

}  // namespace parallax
