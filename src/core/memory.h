// SPDX-License-Identifier: Apache-2.0
// Memory sizes as text, and the memory limit of a container. See also whole_memory() of parallax/matcher.h.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace parallax {

// "1.5 GiB"
std::string bytes_text(std::size_t bytes);

// The least limit of the control groups (version 1 or 2) of this process and of their ancestors; SIZE_MAX
// where there is none. `root`: root of the file system.
std::size_t container_memory(const std::filesystem::path& root);

}  // namespace parallax
