// How much memory there is, and how to say so.
#pragma once

#include <cstddef>
#include <string>

namespace parallax {

// "1.5 GiB"
std::string bytes_text(std::size_t bytes);

// Of the machine, or of the container this process is in.
std::size_t whole_memory();

}  // namespace parallax
