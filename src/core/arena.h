// Memory of a plan: first every buffer is reserved on paper, then one block is allocated for all of them. So
// the size is known, and can be refused, before anything is allocated; and a run needs no allocation.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

#include "parallax/image.h"

namespace parallax {

inline constexpr std::size_t buffer_alignment = 64;

// A buffer on paper: its place in the arena that is yet to be made.
template <class T>
struct Buffer {
  std::size_t offset = 0;
  std::size_t count = 0;

  T* in(std::byte* arena) const { return reinterpret_cast<T*>(arena + offset); }
};

// A plane on paper, rows padded to the alignment.
template <class T>
struct PlaneBuffer {
  Buffer<T> buffer;
  Size size;
  std::ptrdiff_t stride = 0;

  View<T> in(std::byte* arena) const { return {buffer.in(arena), size, stride}; }
};

class ArenaLayout {
 public:
  template <class T>
  Buffer<T> reserve(std::size_t count) {
    const Buffer<T> buffer{bytes_, count};
    bytes_ += (count * sizeof(T) + buffer_alignment - 1) / buffer_alignment * buffer_alignment;
    return buffer;
  }

  template <class T>
  PlaneBuffer<T> reserve_plane(Size size) {
    static_assert(buffer_alignment % sizeof(T) == 0);
    constexpr std::size_t step = buffer_alignment / sizeof(T);
    const std::size_t stride = (static_cast<std::size_t>(size.width) + step - 1) / step * step;
    return {reserve<T>(stride * static_cast<std::size_t>(size.height)), size,
            static_cast<std::ptrdiff_t>(stride)};
  }

  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
};

class Arena {
 public:
  Arena() = default;
  explicit Arena(const ArenaLayout& layout)
      : memory_(
            static_cast<std::byte*>(::operator new (layout.bytes(), std::align_val_t{buffer_alignment}))) {}

  std::byte* data() const { return memory_.get(); }

 private:
  struct Release {
    void operator()(std::byte* memory) const {
      ::operator delete (memory, std::align_val_t{buffer_alignment});
    }
  };
  std::unique_ptr<std::byte, Release> memory_;
};

}  // namespace parallax
