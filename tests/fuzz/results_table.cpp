// SPDX-License-Identifier: Apache-2.0
#include "tools/jobs/results_table.h"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "parallax/error.h"

namespace {

// Tables are continued where they are, by name.
std::string path_of(const char* extension) {
  const auto folder = std::filesystem::temp_directory_path();
  return (folder / ("parallax-fuzz-" + std::to_string(::getpid()) + extension)).string();
}

void resume(const std::string& path, const char* text, std::size_t size) {
  std::ofstream(path, std::ios::binary).write(text, static_cast<std::streamsize>(size));
  try {
    parallax::tool::ResultsTable table(path, {"number", "output", "seconds"}, true);
    for (const char* output : {"a.pfm", "", "b"}) {
      const parallax::tool::ResultsRow row = table.earlier(output);
      if (!row.is_null() && !row.is_object()) std::abort();
      if (!row.is_null()) table.keep(row);
    }
    table.finish();
  } catch (const parallax::Error& error) {
    if (error.category() != parallax::ErrorCategory::file) std::abort();
  }
  std::filesystem::remove(path);
}

}  // namespace

// Tables of results that --resume continues.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const char* const text = reinterpret_cast<const char*>(data);
  static const std::string csv = path_of(".csv"), lines = path_of(".jsonl");
  resume(csv, text, size);
  resume(lines, text, size);
  return 0;
}
