// SPDX-License-Identifier: Apache-2.0
// Linked into every released binary. They contain libstdc++ as compiled for glibc 2.36, whose
// std::random_device has its numbers from a function that older versions of glibc lack.
#include <cstdint>
#include <cstdlib>

#include <sys/random.h>

extern "C" __attribute__((visibility("hidden"))) std::uint32_t arc4random() noexcept {
  std::uint32_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number) std::abort();
  return number;
}
