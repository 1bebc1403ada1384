// SPDX-License-Identifier: Apache-2.0
// Memory that the driver has allocated.
#pragma once

#include <cstddef>
#include <map>
#include <utility>

#include "context.h"
#include "garbage_memory.h"

namespace emulated {

struct Allocation {
  GarbageMemory memory;
  Context* context;
  std::size_t on_gpu = 0;  // bytes that it takes of the GPU's memory
};

class Memory {
 public:
  // \throws std::bad_alloc
  void* add(std::size_t bytes, Context& context) {
    Allocation allocation{GarbageMemory(bytes), &context, 0};
    unsigned char* address = allocation.memory.get();
    allocations_.emplace(address, std::move(allocation));
    return address;
  }
  void remove(const void* address) { allocations_.erase(static_cast<const unsigned char*>(address)); }
  // The allocation that begins at the address, or null.
  Allocation* find(const void* address) {
    const auto found = allocations_.find(static_cast<const unsigned char*>(address));
    return found == allocations_.end() ? nullptr : &found->second;
  }
  // The allocation that contains the address, or null.
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
  // An allocation past whose end something was written, or null.
  const Allocation* overrun() const {
    for (const auto& [address, allocation] : allocations_)
      if (!allocation.memory.is_guard_intact()) return &allocation;
    return nullptr;
  }
  std::size_t size() const { return allocations_.size(); }

 private:
  std::map<const unsigned char*, Allocation> allocations_;
};

}  // namespace emulated
