// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <variant>

#include "tools/parallax/match.h"

// The input has one argument a line. Accepted arguments must be valid.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  parallax::tool::Arguments arguments = {"left.png", "right.png"};
  std::string argument;
  for (std::size_t i = 0; i < size; ++i) {
    if (data[i] == '\n')
      arguments.push_back(std::exchange(argument, {}));
    else if (data[i] != 0)
      argument += static_cast<char>(data[i]);
  }
  arguments.push_back(argument);
  try {
    parallax::tool::parse_match(arguments).match.search.parameters.validate();
  } catch (const parallax::tool::UsageError&) {
  } catch (const parallax::tool::HelpRequest&) {
  } catch (const parallax::Error& error) {
    // Paths may name devices, which cannot be read twice.
    if (error.category() != parallax::ErrorCategory::argument &&
        error.category() != parallax::ErrorCategory::file)
      std::abort();
  }
  return 0;
}
