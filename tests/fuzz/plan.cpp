// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>

#include "parallax/error.h"

#include "file_in_memory.h"
#include "tools/parallax/command.h"
#include "tools/parallax/tiles/job.h"

// Tile plans. Their file ends with a fingerprint, which few inputs pass.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const parallax::test::FileInMemory file(data, size);
  try {
    const parallax::tool::TileJob job = parallax::tool::read_job(file.path());
    if (job.count() < 1) std::abort();
  } catch (const parallax::tool::UsageError&) {
  } catch (const parallax::Error&) {
  }
  return 0;
}
