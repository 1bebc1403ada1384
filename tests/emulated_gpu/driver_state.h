// SPDX-License-Identifier: Apache-2.0
// The state of the emulated driver, and the common parts of its calls.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "memory.h"
#include "module.h"
#include "multiprocessor.h"
#include "streams.h"

namespace emulated {

inline constexpr int max_devices = 8;

// A call that is to fail.
struct PlannedFailure {
  std::string name;  // empty means any call
  int calls_until = 0;
  Result result = success;
};

class DriverState {
 public:
  DriverState();

  std::mutex mutex;
  bool is_initialised = false;
  int version, device_count;
  int architecture = 90;
  std::size_t memory_bytes = std::size_t{2} << 30;
  // Whether streams defer work as long as a GPU may.
  bool is_lazy = false, has_managed_memory = true;

  std::vector<std::unique_ptr<Context>> contexts;
  std::vector<std::unique_ptr<Stream>> default_streams;
  Memory device_memory, pinned_memory;
  Registry<Stream> streams;
  Registry<Event> events;
  Registry<Module> modules;
  Registry<Graph> graphs;
  Registry<ExecutableGraph> executables;
  Registry<std::string> links;
  Multiprocessor multiprocessor;

  int calls = 0, allocations = 0, synchronisations = 0;
  std::map<std::string, int> calls_of;
  std::vector<PlannedFailure> planned_failures;

  bool has_device(int device) const { return device >= 0 && device < device_count; }
  // Counts the call, and returns the result that it must have.
  Result count_call(const std::string& name);
  std::size_t live_objects() const;
  // The maximum shared memory that a block can request.
  std::size_t max_shared_bytes() const;
  // Fails during a capture and invalidates it, because no graph can hold this call.
  Result check_no_capture();
  // Null for an invalid handle.
  Stream* stream(parallax::cuda::StreamHandle handle, const Context& current) const;
  Function* function(parallax::cuda::FunctionHandle handle) const;
  // Enqueues the operation. It is executed at once, unless the stream is lazy and may defer it.
  Result enqueue(Stream& stream, Operation operation, bool at_once = false);
  void finish_all_streams();
};

DriverState& driver();

// The contexts that this thread has pushed.
std::vector<Context*>& current_contexts();
Result find_current_context(Context*& context);

template <class Body>
Result call(const char* name, Body body) {
  const std::lock_guard lock(driver().mutex);
  if (const Result failure = driver().count_call(name)) return failure;
  if (!driver().is_initialised) return not_initialized;
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return out_of_memory;
  }
}

// Calls `body` with the current context.
template <class Body>
Result call_in_context(const char* name, Body body) {
  return call(name, [&]() -> Result {
    Context* context = nullptr;
    if (const Result failure = find_current_context(context)) return failure;
    return context->failure != success ? context->failure : body(*context);
  });
}

// Releases the object even if the call must fail, or a kernel has failed before, because nobody could release
// it later.
template <class Body>
Result release_call(const char* name, Body body) {
  const std::lock_guard lock(driver().mutex);
  const Result planned = driver().count_call(name);
  if (!driver().is_initialised) return not_initialized;
  Context* context = nullptr;
  if (const Result failure = find_current_context(context)) return failure;
  if (const Result failure = body()) return failure;
  return planned != success ? planned : context->failure;
}

}  // namespace emulated
