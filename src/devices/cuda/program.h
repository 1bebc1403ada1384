// SPDX-License-Identifier: Apache-2.0
// Kernels, compiled for one GPU and one set of options when a plan is made, and cached on disk.
//
// A program is compiled on a thread of its own, so all programs of a plan are compiled at once. It is loaded
// when one of its kernels is used, but at the latest before a graph is captured.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "parallax/image.h"

#include "core/integers.h"
#include "devices/cuda/context.h"
#include "devices/program.h"

namespace parallax::cuda {

using gpu::define, gpu::joined, gpu::Options;
using gpu::Source;  // its includes are found in headers()

// Code for one architecture, and the compiler's log: registers and spills of each kernel.
struct Compiled {
  std::string code, log;
};

// Needs no GPU.
// \throws Error (internal) when the source does not compile
Compiled compile(const Compiler& compiler, const Source& source, const Options& options, int architecture);

// The size of a grid in blocks, or of a block in threads.
struct Shape {
  unsigned x = 1, y = 1, z = 1;
};

template <class Work, class Each>
unsigned blocks(Work work, Each per_block) {
  return static_cast<unsigned>(divide_round_up(to_size(work), to_size(per_block)));
}

// A grid of all rows, and of blocks for so many columns each: grid.x = rows, grid.y = blocks of a row.
inline Shape grid_of_rows(Size size, std::size_t per_block, unsigned deep = 1) {
  return {static_cast<unsigned>(size.height), blocks(size.width, per_block), deep};
}

class Program;

// Launches whose arguments change from run to run. They are recorded while a graph is captured, and given new
// arguments, in the same order, before the graph is launched.
class ChangingLaunches {
 public:
  void record(StreamHandle stream) {
    stream_ = stream;
    nodes_.clear();
  }
  // The stream on which launches are recorded; null while their arguments change.
  StreamHandle stream() const { return stream_; }
  void continue_on(StreamHandle stream) { stream_ = stream; }
  void change(GraphExecHandle graph) {
    stream_ = nullptr;
    graph_ = graph;
    next_ = 0;
  }

 private:
  friend class Kernel;
  StreamHandle stream_ = nullptr;
  GraphExecHandle graph_ = nullptr;
  std::vector<GraphNodeHandle> nodes_;
  std::size_t next_ = 0;
};

class Kernel {
 public:
  Kernel() = default;

  // Enqueues the kernel. `arguments` are passed by value, as the kernel declares them. If the GPU can, it
  // starts the kernel while the previous one ends, and the kernel waits itself: see kernel.h.
  // `stream`: a StreamHandle or ChangingLaunches.
  template <class Stream, class... Arguments>
  void launch(Stream&& stream, Shape grid, Shape block, std::size_t shared_bytes,
              Arguments... arguments) const {
    void* pointers[] = {&arguments..., nullptr};
    launch_with(stream, grid, block, shared_bytes, pointers);
  }

  // A thread for each pixel, in blocks of so many: see grid_of_rows().
  template <class Stream, class... Arguments>
  void launch_pixels(Stream&& stream, Size size, unsigned threads, Arguments... arguments) const {
    launch(stream, grid_of_rows(size, threads), {threads}, 0, arguments...);
  }

  // The same kernel, which starts when the previous one has ended: so its blocks are spread evenly over the
  // GPU.
  Kernel after_previous() const { return {name_, module_, function_, false}; }

  // All blocks run at once, at most resident_blocks() of them, and may wait for each other.
  template <class... Arguments>
  void launch_cooperatively(StreamHandle stream, Shape grid, Shape block, std::size_t shared_bytes,
                            Arguments... arguments) const {
    void* pointers[] = {&arguments..., nullptr};
    launch_with(stream, grid, block, shared_bytes, pointers, LaunchKind::cooperative);
  }
  // The number of blocks that the GPU holds at once.
  int resident_blocks(const Context& context, unsigned threads, std::size_t shared_bytes) const;

  int registers() const { return attribute(registers_a_thread); }
  int local_bytes() const { return attribute(local_bytes_a_thread); }
  // Required for more than 48 KiB.
  void allow_shared(std::size_t bytes) const;

 private:
  friend Program;
  Kernel(const char* name, std::shared_ptr<Module> module, const FunctionHandle* function, bool overlaps)
      : name_(name), module_(std::move(module)), function_(function), overlaps_(overlaps) {}
  enum class LaunchKind { ordinary, cooperative };

  FunctionHandle function() const;
  int attribute(FunctionAttribute which) const;
  void launch_with(StreamHandle stream, Shape grid, Shape block, std::size_t shared_bytes, void** arguments,
                   LaunchKind kind = LaunchKind::ordinary) const;
  void launch_with(ChangingLaunches& launches, Shape grid, Shape block, std::size_t shared_bytes,
                   void** arguments) const;

  const char* name_ = "";
  std::shared_ptr<Module> module_;
  const FunctionHandle* function_ = nullptr;  // in the module; null until that is loaded
  bool overlaps_ = false;
};

// A compiled program, or one read from the cache.
class Program {
 public:
  Program() = default;
  // Begins to compile the program. The texts of `source` must outlive this.
  Program(const SharedContext& context, const Source& source, const Options& options);

  // `name` must outlive the kernel.
  Kernel kernel(const char* name) const;

 private:
  std::shared_ptr<Module> module_;
};

// Loads all programs for this context on the GPU, which cannot be done while a graph is captured.
// \throws Error (device) or (internal) when a program cannot be compiled or loaded
void load_programs(const SharedContext& context);

// The stride in elements, as kernels take it.
template <class T>
long long stride_of(const View<T>& view) {
  return view.stride();
}

}  // namespace parallax::cuda
