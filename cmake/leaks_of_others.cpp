// SPDX-License-Identifier: Apache-2.0
// Linked into every sanitized program. Turns LeakSanitizer off if PoCL has been loaded: PoCL and its compiler
// keep their memory until the process ends, and their threads, which may still be running, occasionally make
// the leak check itself fail.
#include <cstring>

#include <link.h>

extern "C" int __lsan_is_turned_off();

int __lsan_is_turned_off() {
  const auto is_pocl = [](dl_phdr_info* library, std::size_t, void*) -> int {
    return std::strstr(library->dlpi_name, "libpocl") != nullptr;
  };
  return dl_iterate_phdr(is_pocl, nullptr);
}
