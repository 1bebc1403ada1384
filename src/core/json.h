// SPDX-License-Identifier: Apache-2.0
// JSON from files and callers. tools/command/json.h is the same for the command line.
#pragma once

#include <stdexcept>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace parallax {

// Copying and writing a value of nlohmann-json calls itself for the values inside.
constexpr int max_json_depth = 100;

// what() says what the text is: "not a JSON object", "nested more than 100 levels deep".
struct JsonError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// \throws JsonError
nlohmann::ordered_json parse_json_object(std::string_view text);

}  // namespace parallax
