// SPDX-License-Identifier: Apache-2.0
#include "driver_state.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>

namespace emulated {
namespace {

int number_from_environment(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

// Parses "cuGraphLaunch,3,214": the third such call returns that result.
std::vector<PlannedFailure> failures_from_environment() {
  const char* text = std::getenv("PARALLAX_EMULATED_FAIL_CALL");
  char name[64] = {};
  PlannedFailure failure;
  if (text == nullptr || std::sscanf(text, "%63[^,],%d,%d", name, &failure.calls_until, &failure.result) != 3)
    return {};
  failure.name = name;
  return {failure};
}

bool is_forbidden_during(const Capture& capture) {
  return capture.mode == CaptureMode::global ||
         (capture.mode == CaptureMode::thread_local_only && capture.thread == std::this_thread::get_id());
}

}  // namespace

DriverState::DriverState()
    : version(number_from_environment("PARALLAX_EMULATED_DRIVER_VERSION", 13000)),
      device_count(std::clamp(number_from_environment("PARALLAX_EMULATED_DEVICES", 2), 0, max_devices)),
      planned_failures(failures_from_environment()) {
  for (int device = 0; device < max_devices; ++device) {
    contexts.push_back(std::make_unique<Context>());
    contexts.back()->device = device;
    default_streams.push_back(std::make_unique<Stream>(*contexts.back(), true));
  }
}

Result DriverState::count_call(const std::string& name) {
  ++calls;
  ++calls_of[name];
  Result result = success;
  for (PlannedFailure& failure : planned_failures)
    if ((failure.name.empty() || failure.name == name) && --failure.calls_until == 0) result = failure.result;
  std::erase_if(planned_failures, [](const PlannedFailure& failure) { return failure.calls_until == 0; });
  return result;
}

std::size_t DriverState::max_shared_bytes() const {
  const bool is_of_games = architecture / 10 == 12 || (architecture > 80 && architecture < 90);
  const std::size_t kibibytes = architecture < 80 ? 64 : architecture == 80 ? 163 : is_of_games ? 99 : 227;
  return 1024 * kibibytes;
}

std::size_t DriverState::live_objects() const {
  std::size_t count = device_memory.size() + pinned_memory.size() + streams.size() + events.size() +
                      modules.size() + graphs.size() + executables.size() + links.size();
  for (const auto& context : contexts) count += static_cast<std::size_t>(context->references);
  return count;
}

Result DriverState::check_no_capture() {
  Result result = success;
  for (const auto& [handle, stream] : streams) {
    if (stream->capture == nullptr || !is_forbidden_during(*stream->capture)) continue;
    stream->capture->is_invalid = true;
    result = capture_unsupported;
  }
  return result;
}

Stream* DriverState::stream(parallax::cuda::StreamHandle handle, const Context& current) const {
  return handle == nullptr ? default_streams[static_cast<std::size_t>(current.device)].get()
                           : streams.find(handle);
}

Function* DriverState::function(parallax::cuda::FunctionHandle handle) const {
  for (const auto& [address, module] : modules)
    if (Function* function = module->find(handle)) return function;
  return nullptr;
}

Result DriverState::enqueue(Stream& stream, Operation operation, bool at_once) {
  const bool is_default = &stream == default_streams[static_cast<std::size_t>(stream.context->device)].get();
  for (const auto& [handle, other] : streams) {
    if (!is_default || !other->is_blocking || other->context != stream.context) continue;
    if (other->capture != nullptr) return capture_implicit;
    other->queue->finish(other->queue->end());
  }
  if (const Result failure = tell(stream, std::move(operation))) return failure;
  if (at_once || is_default || !is_lazy) stream.queue->finish(stream.queue->end());
  return success;
}

void DriverState::finish_all_streams() {
  for (const auto& [handle, stream] : streams) stream->queue->finish(stream->queue->end());
}

DriverState& driver() {
  // Never destroyed, because the tested library may release objects as the process ends.
  static auto& only = *new DriverState;
  return only;
}

std::vector<Context*>& current_contexts() {
  thread_local std::vector<Context*> contexts;
  return contexts;
}

Result find_current_context(Context*& context) {
  if (current_contexts().empty()) return invalid_context;
  context = current_contexts().back();
  return context->references == 0 ? context_is_destroyed : success;
}

}  // namespace emulated
