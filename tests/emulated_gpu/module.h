// SPDX-License-Identifier: Apache-2.0
// Objects by their handles, and loaded programs.
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

// A handle is the address of its object. Invalid handles, and handles of released objects, are detected.
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

  // Kernels will use this machine.
  Result load(const void* image, int architecture, const Machine& machine);

  const Context& context() const { return context_; }
  // Null if there is none with that name.
  Function* function(const std::string& name);
  template <class Handle>
  Function* find(Handle handle) const {
    return functions_.find(handle);
  }
  // A __constant__ variable; null if there is none with that name.
  MemoryRange global(const char* name);
  // Whether the bytes are in a variable that was looked up.
  bool has_global(const void* address, std::size_t bytes) const;
  // The __shared__ variables of this host thread.
  MemoryRange static_shared() const;

 private:
  const Context& context_;
  Registry<Function> functions_;
  std::string file_;
  void* library_ = nullptr;
  std::vector<MemoryRange> globals_;
};

}  // namespace emulated
