// SPDX-License-Identifier: Apache-2.0
// Linked into every sanitized program, for LeakSanitizer. Where PoCL has been loaded, leaks are not looked
// for: PoCL and the compiler in it keep what they have until the process ends, and their threads, which may
// be running still, make the search itself fail now and then.
#include <cstring>

#include <link.h>

extern "C" int __lsan_is_turned_off();

int __lsan_is_turned_off() {
  const auto is_pocl = [](dl_phdr_info* library, std::size_t, void*) -> int {
    return std::strstr(library->dlpi_name, "libpocl") != nullptr;
  };
  return dl_iterate_phdr(is_pocl, nullptr);
}
