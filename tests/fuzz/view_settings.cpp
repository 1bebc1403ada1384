// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "parallax/error.h"

#include "tools/command/json.h"
#include "tools/view/settings.h"

// The settings that a page sends. As in the server, values of other types are exceptions of nlohmann-json.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto json = parallax::tool::parse_json_object({reinterpret_cast<const char*>(data), size});
    const parallax::view::Settings settings = parallax::view::parse_settings(json);
    if (settings.parameters) settings.parameters->validate();
  } catch (const parallax::tool::JsonError&) {
  } catch (const nlohmann::json::exception&) {
  } catch (const parallax::Error& error) {
    if (error.category() != parallax::ErrorCategory::argument) std::abort();
  }
  return 0;
}
