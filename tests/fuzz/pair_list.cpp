// SPDX-License-Identifier: Apache-2.0
#include "tools/jobs/pair_list.h"

#include <cstdint>
#include <cstdlib>

#include "parallax/error.h"

#include "file_in_memory.h"
#include "tools/command/command.h"

// Lists of pairs, as words and as JSON.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const parallax::test::FileInMemory file(data, size);
  try {
    for (const parallax::tool::ListedPair& pair : parallax::tool::list_pairs(file.path(), ""))
      if (pair.left.empty() || pair.right.empty()) std::abort();
  } catch (const parallax::tool::UsageError&) {
  } catch (const parallax::Error& error) {
    if (error.category() != parallax::ErrorCategory::file) std::abort();
  }
  return 0;
}
