// SPDX-License-Identifier: Apache-2.0
// What programs of CUDA and OpenCL share: their sources, their options, and a cache of compiled code.
#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace parallax {
namespace gpu {

// A file of kernels, embedded in the library by the build.
struct Source {
  const char* name;
  const char* text;
};

// Compiler options that specialise a source.
using Options = std::vector<std::string>;

// The option "-DLABELS=64", for example.
inline std::string define(const char* name, const std::string& text) {
  return std::string("-D") + name + "=" + text;
}
template <class Value>
requires(std::is_integral_v<Value> || std::is_enum_v<Value>) std::string
    define(const char* name, Value value) {
  return define(name, std::to_string(static_cast<long long>(value)));
}

inline Options joined(Options first, const Options& more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

// "8×1×1", of a grid or of its parts.
template <class Shape>
std::string text_of(const Shape& shape) {
  return std::to_string(shape.x) + "×" + std::to_string(shape.y) + "×" + std::to_string(shape.z);
}

}  // namespace gpu

// Compiled code on disk, in the user's cache folder: $XDG_CACHE_HOME/parallax, or ~/.cache/parallax. A file
// is used only if it is complete, belongs to the user, and was made from exactly the same key; any other file
// there is replaced. Where nothing can be written, nothing is cached.
std::optional<std::string> read_cached(const std::string& key);
void write_cached(const std::string& key, const std::string& code);

// Calls the listener set by on_compilation().
void tell_compilation(const std::string& device);

}  // namespace parallax
