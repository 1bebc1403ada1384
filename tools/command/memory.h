// SPDX-License-Identifier: Apache-2.0
// Memory of this program.
#pragma once

#include <cstddef>
#include <string>

#include "parallax/device.h"

namespace parallax::tool {

// "1.5 GiB"
std::string memory_text(std::size_t bytes);

// Memory that a command may use: its --max-memory, or, where that is 0, most of the machine's.
std::size_t memory_limit(std::size_t max_memory);

// The program itself: code, libraries, threads, drivers, buffers of files; no image and no matcher.
std::size_t program_bytes(const Device& device);

std::size_t peak_memory_bytes();

}  // namespace parallax::tool
