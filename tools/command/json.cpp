// SPDX-License-Identifier: Apache-2.0
#include "tools/command/json.h"

#include <algorithm>

template class nlohmann::detail::serializer<nlohmann::ordered_json>;

namespace parallax::tool {
namespace {

// Returns where the string or comment that begins at `begin` ends.
std::size_t end_of_skipped(std::string_view text, std::size_t begin) {
  if (text[begin] == '"') {
    std::size_t i = begin + 1;
    for (; i < text.size() && text[i] != '"'; ++i)
      if (text[i] == '\\') ++i;
    return i;
  }
  const std::string_view sign = text.substr(begin, 2);
  if (sign == "/*") return text.find("*/", begin + 2);
  return sign == "//" ? text.find_first_of(std::string_view("\r\n\0", 3), begin) : begin;
}

// Checks how deep a text nests. If it is not JSON, only the part before the mistake counts.
void check_json_depth(std::string_view text) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' || c == '/') i = std::min(end_of_skipped(text, i), text.size());
    if (c == ']' || c == '}') --depth;
    if ((c == '[' || c == '{') && ++depth > max_json_depth)
      throw JsonError("nested more than " + std::to_string(max_json_depth) + " levels deep");
  }
}

}  // namespace

nlohmann::ordered_json parse_json_object(std::string_view text) {
  check_json_depth(text);
  auto json = nlohmann::ordered_json::parse(text, nullptr, false);
  if (!json.is_object()) throw JsonError("not a JSON object");
  return json;
}

nlohmann::json parse_json_document(std::string_view text) {
  check_json_depth(text);
  return nlohmann::json::parse(text, nullptr, true, true);
}

}  // namespace parallax::tool
