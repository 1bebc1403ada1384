// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "parallax/error.h"
#include "parallax/flow.h"

// A file that is read is the same after being written and read again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto flow = parallax::parse_flo({reinterpret_cast<const std::byte*>(data), size}, "fuzz");
    const auto bytes = parallax::encode_flo(flow.view());
    if (bytes.size() > size) std::abort();
    const auto again = parallax::parse_flo(bytes, "again");
    if (again.size() != flow.size() || parallax::encode_flo(again.view()) != bytes) std::abort();
  } catch (const parallax::Error&) {
  }
  return 0;
}
