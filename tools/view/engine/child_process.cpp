// SPDX-License-Identifier: Apache-2.0
// A page cannot start programs: it decodes videos itself, and saves none.
#include "tools/command/child_process.h"

#include "parallax/error.h"

namespace parallax::tool {

ChildProcess::ChildProcess(const std::vector<std::string>& words, const std::vector<Stream>&,
                           const std::string&) {
  throw Error(ErrorCategory::file, "a page cannot start " + words.front() + ": use 'parallax view' for this");
}

// There is never a process.
ChildProcess::~ChildProcess() = default;
std::size_t ChildProcess::read(std::size_t, std::span<std::byte>) {
  return 0;
}
std::string ChildProcess::read_all(std::size_t) {
  return {};
}
bool ChildProcess::write(std::size_t, std::span<const std::byte>) {
  return false;
}
void ChildProcess::close(std::size_t) {}
bool ChildProcess::wait() {
  return false;
}
std::string ChildProcess::messages() const {
  return {};
}
std::string ChildProcess::complaint() const {
  return {};
}

}  // namespace parallax::tool
