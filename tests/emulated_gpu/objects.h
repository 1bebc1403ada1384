// What handles of the emulated driver stand for.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "garbage_memory.h"
#include "interface.h"
#include "results.h"

namespace emulated {

// Objects by their handles, which are their addresses.
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

// The primary one of a device.
struct Context {
  int device = 0;
  int references = 0;
  // Once a kernel has failed, every call fails likewise.
  Result failure = success;
  std::size_t memory_used = 0;
};

struct Allocation {
  GarbageMemory memory;
  Context* context;
};

// Memory that was handed out, by its address.
class Memory {
 public:
  void* add(std::size_t bytes, Context& context) {
    Allocation allocation{GarbageMemory(bytes), &context};
    unsigned char* address = allocation.memory.get();
    allocations_.emplace(address, std::move(allocation));
    return address;
  }
  Allocation* find(const void* address) {
    const auto found = allocations_.find(static_cast<const unsigned char*>(address));
    return found == allocations_.end() ? nullptr : &found->second;
  }
  void remove(const void* address) { allocations_.erase(static_cast<const unsigned char*>(address)); }
  // The allocation that an address lies in.
  const Allocation* around(const void* address) const {
    const auto* byte = static_cast<const unsigned char*>(address);
    auto found = allocations_.upper_bound(byte);
    if (found == allocations_.begin()) return nullptr;
    --found;
    return byte < found->first + found->second.memory.bytes() ? &found->second : nullptr;
  }
  bool contains(const void* address, std::size_t bytes) const {
    const Allocation* allocation = around(address);
    if (allocation == nullptr) return false;
    const auto offset =
        static_cast<std::size_t>(static_cast<const unsigned char*>(address) - allocation->memory.get());
    return bytes <= allocation->memory.bytes() - offset;
  }
  const Allocation* written_behind() const {
    for (const auto& [address, allocation] : allocations_)
      if (!allocation.memory.is_guard_intact()) return &allocation;
    return nullptr;
  }
  std::size_t size() const { return allocations_.size(); }

 private:
  std::map<const unsigned char*, Allocation> allocations_;
};

// What a stream is told to do; says how it went.
using Operation = std::function<Result()>;

// A stream that records what it is told, and the streams that joined it.
struct Stream;
struct Capture {
  struct Node {
    Operation operation;
    std::set<std::size_t> after;
  };

  int mode = 0;
  std::thread::id thread;
  Stream* origin = nullptr;
  bool is_invalid = false;
  std::vector<Node> nodes;

  // Whether the nodes that lead to these are all.
  bool is_all_before(const std::set<std::size_t>& last) const {
    std::set<std::size_t> before = last;
    for (std::size_t i = nodes.size(); i-- > 0;)
      if (before.count(i) != 0) before.insert(nodes[i].after.begin(), nodes[i].after.end());
    return before.size() == nodes.size();
  }
};

struct Stream {
  Context* context = nullptr;
  bool is_blocking = false;
  std::shared_ptr<Capture> capture;
  // What the next operation comes after.
  std::set<std::size_t> last;
};

struct Event {
  Context* context = nullptr;
  bool has_time = true;
  std::optional<std::chrono::steady_clock::time_point> time;
  // Of the stream it was recorded in, when that was capturing.
  std::shared_ptr<Capture> capture;
  std::set<std::size_t> last;
};

struct Graph {
  std::vector<Operation> operations;
};

struct ExecutableGraph {
  Context* context = nullptr;
  std::vector<Operation> operations;
};

struct Module;
struct Function {
  Module* module = nullptr;
  std::string name;
  const Kernel* kernel = nullptr;
  std::size_t dynamic_shared_limit = 48 * 1024;
};

}  // namespace emulated
