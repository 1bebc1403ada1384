// SPDX-License-Identifier: Apache-2.0
// Memory of a plan, in one block. All buffers are reserved before it is allocated, so its size is known and
// can be refused beforehand, and a run needs no allocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

#include "parallax/error.h"
#include "parallax/image.h"

#include "core/checks.h"
#include "core/integers.h"

namespace parallax {

inline constexpr std::size_t buffer_alignment = 64;

// Under AddressSanitizer, poisoned gaps separate the buffers, and buffers start as garbage, so that results
// that depend on uninitialised memory become visible.
#ifdef __SANITIZE_ADDRESS__
inline constexpr std::size_t buffer_gap = 256;
#else
inline constexpr std::size_t buffer_gap = 0;
#endif

// Offset of a buffer in an arena that is not yet allocated.
template <class T>
struct Buffer {
  std::size_t offset = 0;
  std::size_t count = 0;

  T* in(std::byte* arena) const { return reinterpret_cast<T*>(arena + offset); }
};

// A reserved plane whose rows are padded to the alignment.
template <class T>
struct PlaneBuffer {
  Buffer<T> buffer;
  Size size;
  std::ptrdiff_t stride = 0;

  View<T> in(std::byte* arena) const {
    return {buffer.in(arena), size, stride * static_cast<std::ptrdiff_t>(sizeof(T))};
  }
};

class ArenaLayout {
 public:
  template <class T>
  Buffer<T> reserve(std::uint64_t count) {
    const Buffer<T> buffer{static_cast<std::size_t>(bytes_), static_cast<std::size_t>(count)};
    bytes_ += round_up(count * sizeof(T), buffer_alignment);
    if (buffer_gap > 0) gaps_.push_back(static_cast<std::size_t>(bytes_));
    bytes_ += buffer_gap;
    return buffer;
  }

  template <class T>
  PlaneBuffer<T> reserve_plane(Size size) {
    static_assert(buffer_alignment % sizeof(T) == 0);
    const std::uint64_t stride = round_up(to_size(size.width), buffer_alignment / sizeof(T));
    return {reserve<T>(stride * to_size(size.height)), size, static_cast<std::ptrdiff_t>(stride)};
  }

  // \throws Error (memory) if there are no addresses for so much
  std::size_t bytes() const {
    if (bytes_ > std::uint64_t{PTRDIFF_MAX})
      throw Error(ErrorCategory::memory,
                  with_decimals(static_cast<double>(bytes_) / (1 << 30), 1) +
                      " GiB of memory are needed, but only " +
                      std::to_string((std::size_t{PTRDIFF_MAX} >> 30) + 1) +
                      " GiB can be addressed: match a smaller image, or fewer disparities");
    return static_cast<std::size_t>(bytes_);
  }
  const std::vector<std::size_t>& gaps() const { return gaps_; }

 private:
  std::uint64_t bytes_ = 0;
  std::vector<std::size_t> gaps_;
};

// Memory on the host. The same code reserves everything twice: before allocate(), when every address is null;
// and after it, with the final addresses.
class Arena {
 public:
  template <class T>
  T* reserve(std::uint64_t count) {
    return place(layout_.reserve<T>(count));
  }
  // The buffer; empty before allocate().
  template <class T>
  View<T> reserve_plane(Size size) {
    const PlaneBuffer<T> plane = layout_.reserve_plane<T>(size);
    return {place(plane.buffer), size, plane.stride * static_cast<std::ptrdiff_t>(sizeof(T))};
  }

  std::size_t bytes() const { return layout_.bytes(); }

  // \throws std::bad_alloc
  void allocate() {
    memory_.reset(
        static_cast<std::byte*>(::operator new (layout_.bytes(), std::align_val_t{buffer_alignment})));
    allocated_ = layout_.bytes();
#ifdef __SANITIZE_ADDRESS__
    std::memset(memory_.get(), 0xA5, allocated_);
    for (const std::size_t gap : layout_.gaps()) __asan_poison_memory_region(memory_.get() + gap, buffer_gap);
#endif
    layout_ = {};
  }

 private:
  struct Release {
    void operator()(std::byte* memory) const {
      ::operator delete (memory, std::align_val_t{buffer_alignment});
    }
  };

  template <class T>
  T* place(const Buffer<T>& buffer) const {
    if (!memory_) return nullptr;
    if (layout_.bytes() > allocated_)
      throw Error(ErrorCategory::internal,
                  "a plan reserves more memory than it calculated: please report it");
    return buffer.in(memory_.get());
  }

  ArenaLayout layout_;
  std::size_t allocated_ = 0;
  std::unique_ptr<std::byte, Release> memory_;
};

}  // namespace parallax
