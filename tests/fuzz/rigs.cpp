// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "parallax/error.h"
#include "parallax/rig.h"

#include "tools/files/rigs/rig_files.h"

namespace {

using parallax::tool::RigChoices;
using parallax::tool::RigFile;

// The bits of the first byte are choices; the last splits the rest into two files at its first zero byte.
RigChoices choices_in(std::uint8_t bits) {
  RigChoices choices;
  if (bits & 1) choices.size = {1280, 720};
  if (bits & 2) choices.cameras = {0, bits & 4 ? 2 : 1};
  if (bits & 8) choices.unit = 0.001;
  choices.fisheye = bits & 16;
  choices.exchange = bits & 32;
  return choices;
}

std::vector<RigFile> files_in(std::string text, bool two) {
  const std::size_t zero = two ? text.find('\0') : std::string::npos;
  if (zero == std::string::npos) return {{"fuzz", text}};
  return {{"first", text.substr(0, zero)}, {"second", text.substr(zero + 1)}};
}

// Every format refuses the rig, or writes a text that can be parsed without a crash; Parallax's own loses
// nothing.
void write_and_read(const parallax::Rig& rig) {
  for (const auto& [name, format] : parallax::tool::rig_formats) {
    const bool two = format == parallax::tool::RigFormat::ros;
    try {
      const auto files = parallax::tool::encode_rig(
          rig, format, two ? std::vector<std::string>{"a", "b"} : std::vector<std::string>{"a"});
      const parallax::Rig again = parallax::tool::parse_rig(files);
      if (format == parallax::tool::RigFormat::parallax && again != rig) std::abort();
    } catch (const parallax::Error&) {
    }
  }
}

}  // namespace

// A rig that is read is valid.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    const parallax::Rig rig =
        parallax::tool::parse_rig(files_in(text, (data[0] & 128) != 0), choices_in(data[0] & 127));
    try {
      parallax::validate(rig);
    } catch (const parallax::Error&) {
      std::abort();
    }
    write_and_read(rig);
  } catch (const parallax::Error& error) {
    if (error.category() != parallax::ErrorCategory::file) std::abort();
  }
  return 0;
}
