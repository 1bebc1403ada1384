// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "parallax/error.h"
#include "parallax/formats.h"

// A file that is read is the same after being written and read again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr int labels = 3;
  try {
    const auto once = parallax::parse_costs({reinterpret_cast<const char*>(data), size}, labels, "fuzz");
    if (once.costs.size() != once.size.pixels() * labels) std::abort();
    const auto again = parallax::parse_costs(parallax::encode_costs(once.view()), labels, "again");
    if (again.size != once.size || again.costs != once.costs) std::abort();
  } catch (const parallax::Error&) {
  }
  return 0;
}
