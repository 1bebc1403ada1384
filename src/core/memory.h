// SPDX-License-Identifier: Apache-2.0
// Memory sizes as text, and the memory limit of a container. See also whole_memory() of parallax/matcher.h.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace parallax {

// Sets memory to 0. Ends early if the call that this thread works on is cancelled.
void clear_memory(void* memory, std::size_t bytes);

// Text such as "1.5 GiB".
std::string bytes_text(std::size_t bytes);

// The lowest limit of this process's control groups (version 1 or 2) and their ancestors; SIZE_MAX without a
// limit. `root`: root of the file system.
std::size_t container_memory(const std::filesystem::path& root);

}  // namespace parallax
