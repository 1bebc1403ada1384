// SPDX-License-Identifier: Apache-2.0
// A compiled program, loaded.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "context.h"
#include "interface.h"
#include "registry.h"

namespace emulated {

class Module;

struct Function {
  const Module* module = nullptr;
  std::string name;
  const Kernel* kernel = nullptr;
  std::size_t dynamic_shared_limit = 48 * 1024;
};

struct MemoryRange {
  void* begin = nullptr;
  std::size_t bytes = 0;
};

class Module {
 public:
  explicit Module(const Context& context) : context_(context) {}
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  // Kernels will find the machine that runs them there.
  Result load(const void* image, int architecture, const Machine& machine);

  const Context& context() const { return context_; }
  // Null when there is none of that name.
  Function* function(const std::string& name);
  template <class Handle>
  Function* find(Handle handle) const {
    return functions_.find(handle);
  }
  // A __constant__ variable; null when there is none of that name.
  MemoryRange global(const char* name);
  // Is it in one that was asked for?
  bool has_global(const void* address, std::size_t bytes) const;
  // Where this thread of the host has the __shared__ variables.
  MemoryRange static_shared() const;

 private:
  const Context& context_;
  Registry<Function> functions_;
  std::string file_;
  void* library_ = nullptr;
  std::vector<MemoryRange> globals_;
};

}  // namespace emulated
