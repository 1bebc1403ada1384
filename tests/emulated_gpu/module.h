// SPDX-License-Identifier: Apache-2.0
// Objects by their handles, and compiled programs that are loaded.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "context.h"
#include "interface.h"

namespace emulated {

// A handle is the address of its object; one that was made up, or whose object is gone, is found out.
template <class Object>
class Registry {
 public:
  template <class Handle>
  Handle add(std::unique_ptr<Object> object) {
    const auto handle = reinterpret_cast<Handle>(object.get());
    objects_.emplace(object.get(), std::move(object));
    return handle;
  }
  template <class Handle>
  Object* find(Handle handle) const {
    const auto found = objects_.find(reinterpret_cast<const void*>(handle));
    return found == objects_.end() ? nullptr : found->second.get();
  }
  template <class Handle>
  bool remove(Handle handle) {
    return objects_.erase(reinterpret_cast<const void*>(handle)) != 0;
  }
  std::size_t size() const { return objects_.size(); }
  auto begin() const { return objects_.begin(); }
  auto end() const { return objects_.end(); }

 private:
  std::unordered_map<const void*, std::unique_ptr<Object>> objects_;
};

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
