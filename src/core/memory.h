// How much memory is, in words. How much there is says whole_memory() of parallax/matcher.h.
#pragma once

#include <cstddef>
#include <string>

namespace parallax {

// "1.5 GiB"
std::string bytes_text(std::size_t bytes);

}  // namespace parallax
