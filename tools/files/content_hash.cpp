// SPDX-License-Identifier: Apache-2.0
#include "tools/files/content_hash.h"

#include <cerrno>
#include <cstdio>
#include <memory>
#include <new>
#include <vector>

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include "tools/command/command_files.h"

namespace parallax::tool {
namespace {

std::string text_of(const XXH128_hash_t& hash) {
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return text;
}

}  // namespace

std::string content_hash(std::span<const std::byte> bytes) {
  return text_of(::XXH3_128bits(bytes.data(), bytes.size()));
}

std::string file_hash(const std::string& path) {
  const int file = open_input(path);
  if (file < 0) fail_file("read", path, errno);
  const std::unique_ptr<const int, void (*)(const int*)> close(&file,
                                                               [](const int* open) { ::close(*open); });
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(::XXH3_createState(),
                                                                              &::XXH3_freeState);
  if (!state) throw std::bad_alloc();
  ::XXH3_128bits_reset(state.get());
  std::vector<std::byte> part(std::size_t{1} << 18);
  for (;;) {
    const ssize_t count = ::read(file, part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_file("read", path, errno);
    if (count == 0) return text_of(::XXH3_128bits_digest(state.get()));
    ::XXH3_128bits_update(state.get(), part.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace parallax::tool
