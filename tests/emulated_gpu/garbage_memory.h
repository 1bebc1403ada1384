// SPDX-License-Identifier: Apache-2.0
// Memory filled with garbage, as on a GPU, so that reads of unwritten memory become visible. Without a
// sanitizer, guard bytes detect writes past the end.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

namespace emulated {

constexpr int garbage = 0xA5;

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool address_sanitizer = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool address_sanitizer = true;
#else
inline constexpr bool address_sanitizer = false;
#endif
#else
inline constexpr bool address_sanitizer = false;
#endif

class GarbageMemory {
 public:
  GarbageMemory() = default;
  // \throws std::bad_alloc
  explicit GarbageMemory(std::size_t bytes) : bytes_(bytes) {
    constexpr std::size_t alignment = 512;
    void* memory = nullptr;
    if (posix_memalign(&memory, alignment, bytes + guard_bytes) != 0) throw std::bad_alloc();
    memory_.reset(static_cast<unsigned char*>(memory));
    fill();
  }

  unsigned char* get() const { return memory_.get(); }
  std::size_t bytes() const { return bytes_; }
  void fill() {
    if (memory_ != nullptr) std::memset(get(), garbage, bytes_ + guard_bytes);
  }
  bool is_guard_intact() const {
    if (memory_ == nullptr) return true;
    for (std::size_t i = 0; i < guard_bytes; ++i)
      if (get()[bytes_ + i] != garbage) return false;
    return true;
  }

 private:
  struct Free {
    void operator()(unsigned char* memory) const { std::free(memory); }
  };
  static constexpr std::size_t guard_bytes = address_sanitizer ? 0 : 64;

  std::unique_ptr<unsigned char, Free> memory_;
  std::size_t bytes_ = 0;
};

}  // namespace emulated
