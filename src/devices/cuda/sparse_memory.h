// SPDX-License-Identifier: Apache-2.0
// Memory that is reserved for the worst case, and of which a match usually needs little. Where the GPU can,
// it is managed memory, of which only the pages that kernels touch take memory.
#pragma once

#include <cstddef>
#include <vector>

#include "core/arena.h"
#include "devices/cuda/context.h"

namespace parallax::cuda {

class SparseMemory {
 public:
  // `usual`: the number of elements, from the first on, that most matches need.
  template <class T>
  Buffer<T> reserve(std::size_t most, std::size_t usual) {
    const Buffer<T> buffer = layout_.reserve<T>(most);
    usual_.push_back({buffer.offset, usual * sizeof(T)});
    return buffer;
  }

  // Bytes that it takes, as a rule.
  std::size_t bytes(const Context& context) const;
  // The memory is not initialised.
  void allocate(const SharedContext& context, StreamHandle stream);
  std::byte* get() const { return reinterpret_cast<std::byte*>(memory_.get()); }

 private:
  struct Part {
    std::size_t offset, bytes;
  };

  ArenaLayout layout_;
  std::vector<Part> usual_;
  DeviceMemory memory_;
};

}  // namespace parallax::cuda
