// SPDX-License-Identifier: Apache-2.0
// Linked into every released binary. They contain GCC's unwinder, which asks the C library where the tables of an address
// are; only glibc 2.35 answers. This answers on every glibc.
#include <cstddef>

#include <dlfcn.h>
#include <link.h>

namespace {

struct Question {
  ElfW(Addr) address;
  dl_find_object* answer;
};

int look_into(dl_phdr_info* object, std::size_t, void* data) {
  const auto& [address, answer] = *static_cast<const Question*>(data);
  bool has_address = false;
  void* tables = nullptr;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    const ElfW(Addr) begin = object->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD) has_address |= address - begin < segment.p_memsz;
    if (segment.p_type == PT_GNU_EH_FRAME) tables = reinterpret_cast<void*>(begin);
  }
  if (!has_address || !tables) return 0;
  *answer = {};
  answer->dlfo_eh_frame = tables;
  return 1;
}

}  // namespace

extern "C" __attribute__((visibility("hidden"))) int _dl_find_object(void* address,
                                                                     dl_find_object* answer) noexcept {
  Question question{reinterpret_cast<ElfW(Addr)>(address), answer};
  return dl_iterate_phdr(look_into, &question) ? 0 : -1;
}
