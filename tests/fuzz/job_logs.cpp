// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "parallax/error.h"

#include "tools/jobs/tiles/results.h"

// Logs of the processes that match the tiles of a plan.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace fs = std::filesystem;
  static const fs::path folder =
      fs::temp_directory_path() / ("parallax-fuzz-" + std::to_string(::getpid()) + ".tiles");
  fs::create_directories(folder);
  std::ofstream(folder / "log-fuzz-1.jsonl", std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  parallax::tool::JobHead head;
  head.folder = folder.string();
  head.fingerprint = "f";
  const parallax::tool::JobRecords records = parallax::tool::read_logs(head);
  for (const auto& [pair, map] : records.maps)
    if (map.hash.size() > size) std::abort();
  fs::remove_all(folder);
  return 0;
}
