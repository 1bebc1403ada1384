// SPDX-License-Identifier: Apache-2.0
// Kernels, built for one device and one set of options when a plan is made, and cached on disk.
#pragma once

#include <cstddef>
#include <initializer_list>

#include "core/integers.h"
#include "devices/opencl/context.h"
#include "devices/program.h"

namespace parallax::opencl {

using gpu::define, gpu::joined, gpu::Options, gpu::Source;

// A number of work groups, or a number of work items in a group.
struct Shape {
  std::size_t x = 1, y = 1, z = 1;
};

// The device does not run a kernel in groups of the size that it is built for.
class KernelTooLarge : public Error {
 public:
  // `items`: the most work items of a group that are worth trying
  KernelTooLarge(const std::string& message, std::size_t items)
      : Error(ErrorCategory::device, message), items_(items) {}
  std::size_t items() const { return items_; }

 private:
  std::size_t items_;
};

class Kernel {
 public:
  Kernel() = default;

  // Enqueues the kernel. Arguments are passed by value, as the kernel declares them: a cl_mem where it
  // declares a pointer.
  template <class... Arguments>
  void launch(const Queue& queue, Shape groups, Shape items, Arguments... arguments) const {
    cl_uint index = 0;
    (set_argument(index++, &arguments, sizeof arguments), ...);
    enqueue(queue, groups, items);
  }

 private:
  friend class Program;
  Kernel(const char* name, Owned<cl_kernel> kernel) : name_(name), kernel_(std::move(kernel)) {}
  void set_argument(cl_uint index, const void* value, std::size_t bytes) const;
  void enqueue(const Queue& queue, Shape groups, Shape items) const;

  const char* name_ = "";
  Owned<cl_kernel> kernel_;
};

// A program, built or read from the cache. `sources` follow kernel.cl and types.h as if all were one file.
class Program {
 public:
  Program() = default;
  // The context must outlive the program.
  // \throws Error (internal) with the compiler's log when the sources do not compile
  // \throws KernelTooLarge
  Program(const Context& context, std::initializer_list<Source> sources, const Options& options);

  // `name` must outlive the kernel.
  // \throws KernelTooLarge
  Kernel kernel(const char* name) const;

 private:
  const Context* context_ = nullptr;
  Owned<cl_program> program_;
};

template <class Work, class Each>
std::size_t groups_for(Work work, Each a_group) {
  return divide_round_up(to_size(work), to_size(a_group));
}

}  // namespace parallax::opencl
