// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <istream>
#include <map>
#include <string>

#include <hwy/highway.h>
#include <hwy/targets.h>
#include <unistd.h>

#include "parallax/device.h"
#include "parallax/process.h"

#include "core/workers.h"
#include "devices/devices.h"

namespace parallax {
namespace {

const ProcessorNames& processor_names() {
  static const ProcessorNames names = [] {
    std::ifstream cpuinfo("/proc/cpuinfo");
    return read_processor_names(cpuinfo);
  }();
  return names;
}

std::string with_threads(const std::string& name, int threads) {
  return name + ", " + std::to_string(threads) + (threads == 1 ? " thread, " : " threads, ") +
         active_cpu_target();
}

// Whether the inner loops are compiled for several targets. A single one is used without asking Highway: on
// ARM, version 1.0 would ask for AES, which Parallax does not use.
constexpr bool has_choice = (HWY_TARGETS & (HWY_TARGETS - 1)) != 0;

// Every ARM processor of 64 bits has NEON, and a browser that lacks vectors does not load code that has them.
constexpr bool any_processor_suffices = has_choice || HWY_ARCH_ARM_A64 || HWY_ARCH_WASM;

std::vector<std::int64_t> usable_targets() {
  if (!has_choice) return {HWY_STATIC_TARGET};
  return hwy::SupportedAndGeneratedTargets();
}

// Determined once: Highway's later answers depend on the target that was forced.
const std::vector<std::int64_t>& shared_targets() {
  static const std::vector<std::int64_t> targets = usable_targets();
  return targets;
}

}  // namespace

std::vector<std::string> cpu_targets() {
  std::vector<std::string> names;
  for (const std::int64_t target : shared_targets()) names.emplace_back(hwy::TargetName(target));
  return names;
}

std::string active_cpu_target() {
  return hwy::TargetName(usable_targets().front());
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
  if (!has_choice) return;
  hwy::SetSupportedTargetsForTest(chosen);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

std::vector<DeviceDescription> describe_cpu() {
  return {{"reference", processor_names().name + ", 1 thread, scalar"},
          {"cpu", with_threads(processor_names().name, Workers(0).threads())}};
}

ProcessorNames read_processor_names(std::istream& cpuinfo) {
  std::map<std::string, std::string> values;
  for (std::string line; std::getline(cpuinfo, line);) {
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    const std::size_t end_of_key = line.find_last_not_of(" \t", colon - 1);
    values.try_emplace(line.substr(0, end_of_key + 1), line.substr(colon + 2));
  }
  const std::string name = values.count("model name") != 0 ? values["model name"] : "processor";
  if (values.count("cpu family") != 0)
    return {name, name + " (family " + values["cpu family"] + ", model " + values["model"] + ")"};
  if (values.count("CPU part") != 0)
    return {name, name + " (implementer " + values["CPU implementer"] + ", part " + values["CPU part"] + ")"};
  return {name, name};
}

// Plans use as many threads as requested, even more than there are cores.
DeviceIdentity identify_cpu(int threads) {
  return {with_threads(processor_names().with_model, Workers(threads).threads()), ""};
}

std::string lacking_vectors(std::int64_t processor_targets) {
  if (any_processor_suffices || (processor_targets & HWY_STATIC_TARGET) != 0) return "";
  return hwy::TargetName(HWY_STATIC_TARGET);
}

void require_vectors() {
  static const std::string lacking = any_processor_suffices ? "" : lacking_vectors(hwy::SupportedTargets());
  if (lacking.empty()) return;
  throw Error(ErrorCategory::device,
              "this build needs the vector instructions " + lacking +
                  ", which this processor lacks: build with -DPARALLAX_VECTORS=all, or use "
                  "the device reference");
}

std::size_t second_level_cache_bytes() {
#ifdef _SC_LEVEL2_CACHE_SIZE
  if (const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE); bytes > 0) return static_cast<std::size_t>(bytes);
#endif
  return std::size_t{1} << 20;
}

}  // namespace parallax
