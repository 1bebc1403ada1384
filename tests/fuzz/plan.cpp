// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "parallax/error.h"

#include "file_in_memory.h"
#include "tools/command/command.h"
#include "tools/command/json.h"
#include "tools/files/content_hash.h"
#include "tools/jobs/tiles/job.h"

namespace {

// Plans have a fingerprint that hardly any input would match, so it is corrected if the head can be read.
std::string with_fingerprint(const std::uint8_t* data, std::size_t size) {
  using parallax::tool::content_hash;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(text.find('\n'), text.size());
  try {
    nlohmann::ordered_json head = parallax::tool::parse_json_object(text.substr(0, end));
    head.erase("fingerprint");
    const std::string rest = text.substr(std::min(end + 1, text.size()));
    head["fingerprint"] = content_hash(content_hash(head.dump()) + content_hash(rest));
    return head.dump() + "\n" + rest;
  } catch (const std::exception&) {
    return text;
  }
}

}  // namespace

// Tile plans: the head, and every pair with its cut.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = with_fingerprint(data, size);
  const parallax::test::FileInMemory file(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  try {
    const parallax::tool::JobFile job(file.path(), {{"/a", "/b"}});
    for (int number = 0; number < job.head().pairs; ++number) {
      const parallax::tool::PairJob pair = job.pair(number), same = job.pair(job.pair_of(pair.first_tile));
      const int tile = pair.first_tile - same.first_tile;
      if (pair.plan().tiles.empty() || tile < 0 || tile >= same.tiles()) std::abort();
    }
  } catch (const parallax::tool::UsageError&) {
  } catch (const parallax::Error&) {
  }
  return 0;
}
