// SPDX-License-Identifier: Apache-2.0
// How much memory is, in words. How much there is says whole_memory() of parallax/matcher.h.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace parallax {

// "1.5 GiB"
std::string bytes_text(std::size_t bytes);

// The least limit of the control groups that this process is in, of version 1 or 2, and of those around them;
// SIZE_MAX where there is none. `root`: of the file system.
std::size_t container_memory(const std::filesystem::path& root);

}  // namespace parallax
