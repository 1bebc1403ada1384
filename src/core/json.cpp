// SPDX-License-Identifier: Apache-2.0
#include "core/json.h"

#include <string>

#include <nlohmann/json.hpp>

namespace parallax {
namespace {

// Checks how deep a text nests. If it is not JSON, only the part before the mistake counts.
void check_json_depth(std::string_view text) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i)
        if (text[i] == '\\') ++i;
    } else if (c == '[' || c == '{') {
      if (++depth > max_json_depth)
        throw JsonError("nested more than " + std::to_string(max_json_depth) + " levels deep");
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
}

}  // namespace

nlohmann::ordered_json parse_json_object(std::string_view text) {
  check_json_depth(text);
  auto json = nlohmann::ordered_json::parse(text, nullptr, false);
  if (!json.is_object()) throw JsonError("not a JSON object");
  return json;
}

}  // namespace parallax
