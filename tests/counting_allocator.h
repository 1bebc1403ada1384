// SPDX-License-Identifier: Apache-2.0
// Replaces the allocator of an executable by one that counts. Include it in one file of the executable.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace parallax::test {

inline std::atomic<int> allocations = 0;

// Whether to count an allocation. Defined by the file that includes this header.
bool is_counted();

inline void* allocate(std::size_t bytes, std::size_t alignment) {
  if (is_counted()) ++allocations;
  void* memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace parallax::test

void* operator new(std::size_t bytes) {
  return parallax::test::allocate(bytes, alignof(std::max_align_t));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return parallax::test::allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
