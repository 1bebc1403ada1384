// SPDX-License-Identifier: Apache-2.0
#include "module.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include "garbage_memory.h"
#include "image.h"

namespace emulated {
namespace {

// Empty if the image is none.
std::string_view library_in(const void* image, int architecture, Result& result) {
  ImageHeader header;
  const ImageHeader expected;
  result = invalid_image;
  if (std::memcmp(image, expected.magic, sizeof header.magic) != 0) return {};
  std::memcpy(&header, image, sizeof header);
  const std::string_view library(static_cast<const char*>(image) + sizeof header, header.bytes);
  if (hash_of(library) != header.hash) return {};
  // Code only runs on GPUs of its generation that are not older.
  const auto of_gpu = static_cast<std::uint64_t>(architecture);
  const bool runs = header.architecture / 10 == of_gpu / 10 && header.architecture <= of_gpu;
  result = runs ? success : no_binary_for_gpu;
  return runs ? library : std::string_view();
}

// Empty if it cannot be written.
std::string write_temporary(std::string_view bytes) {
  std::string name = std::filesystem::temp_directory_path() / "emulated-module-XXXXXX";
  const int descriptor = mkstemp(name.data());
  if (descriptor < 0) return "";
  const ssize_t written = write(descriptor, bytes.data(), bytes.size());
  close(descriptor);
  if (written == static_cast<ssize_t>(bytes.size())) return name;
  unlink(name.c_str());
  return "";
}

struct ThreadLocalSize {
  ElfW(Addr) address;
  std::size_t bytes;
};

int find_thread_local_size(dl_phdr_info* info, std::size_t, void* data) {
  auto& wanted = *static_cast<ThreadLocalSize*>(data);
  if (info->dlpi_addr != wanted.address) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i)
    if (info->dlpi_phdr[i].p_type == PT_TLS) wanted.bytes = info->dlpi_phdr[i].p_memsz;
  return 1;
}

}  // namespace

Module::~Module() {
  if (library_ != nullptr) dlclose(library_);
  if (!file_.empty()) unlink(file_.c_str());
}

Result Module::load(const void* image, int architecture, const Machine& machine) {
  Result result = success;
  const std::string_view bytes = library_in(image, architecture, result);
  if (result != success) return result;
  file_ = write_temporary(bytes);
  library_ = file_.empty() ? nullptr : dlopen(file_.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* told = library_ == nullptr ? nullptr : dlsym(library_, "emulated_machine");
  if (told == nullptr) {
    std::fprintf(stderr, "emulated GPU: a module cannot be loaded: %s\n", dlerror());
    return invalid_image;
  }
  *static_cast<const Machine**>(told) = &machine;
  // A sanitizer needs the file to report positions in a kernel.
  if (!address_sanitizer) unlink(std::exchange(file_, "").c_str());
  return success;
}

Function* Module::function(const std::string& name) {
  for (const auto& [handle, function] : functions_)
    if (function->name == name) return function.get();
  const auto* kernel = static_cast<const Kernel*>(dlsym(library_, ("emulated_" + name).c_str()));
  if (kernel == nullptr) return nullptr;
  auto function = std::make_unique<Function>();
  function->module = this;
  function->name = name;
  function->kernel = kernel;
  return functions_.add<Function*>(std::move(function));
}

MemoryRange Module::global(const char* name) {
  void* address = dlsym(library_, name);
  Dl_info info;
  const ElfW(Sym)* symbol = nullptr;
  if (address == nullptr ||
      dladdr1(address, &info, const_cast<void**>(reinterpret_cast<const void**>(&symbol)), RTLD_DL_SYMENT) ==
          0)
    return {};
  return globals_.emplace_back(MemoryRange{address, symbol->st_size});
}

bool Module::has_global(const void* address, std::size_t bytes) const {
  const auto* first = static_cast<const char*>(address);
  return std::any_of(globals_.begin(), globals_.end(), [&](const MemoryRange& range) {
    const auto* begin = static_cast<const char*>(range.begin);
    return first >= begin && first + bytes <= begin + range.bytes;
  });
}

MemoryRange Module::static_shared() const {
  // The lookup allocates the memory of this thread.
  if (dlsym(library_, "emulated_shared_begin") == nullptr) return {};
  const link_map* map = nullptr;
  MemoryRange range;
  if (dlinfo(library_, RTLD_DI_LINKMAP, &map) != 0 || dlinfo(library_, RTLD_DI_TLS_DATA, &range.begin) != 0)
    return {};
  ThreadLocalSize size{map->l_addr, 0};
  dl_iterate_phdr(find_thread_local_size, &size);
  range.bytes = range.begin == nullptr ? 0 : size.bytes;
  return range;
}

}  // namespace emulated
