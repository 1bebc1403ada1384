// A compiled program, loaded.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "interface.h"
#include "objects.h"

namespace emulated {

struct SharedRange {
  void* begin = nullptr;
  std::size_t bytes = 0;
};

struct Module {
  Context* context = nullptr;
  Registry<Function> functions;

  Module() = default;
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  Result load(const void* image, int architecture, const Machine& machine);
  // Null when there is none of that name.
  Function* function(const std::string& name);
  // Where this thread of the host has the module's __shared__ variables.
  SharedRange static_shared() const;

 private:
  std::string file_;
  void* library_ = nullptr;
};

}  // namespace emulated
