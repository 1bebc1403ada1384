// SPDX-License-Identifier: Apache-2.0
// nlohmann-json, for files that read or write JSON; headers include <nlohmann/json_fwd.hpp>. Its parser and
// its writer are compiled once, in json.cpp.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

extern template class nlohmann::detail::serializer<nlohmann::ordered_json>;

namespace parallax::tool {

// Copying and writing a value calls itself for the values inside.
constexpr int max_json_depth = 100;

// what() says what the text is: "not a JSON object", "nested more than 100 levels deep".
struct JsonError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Every text from outside is parsed by one of these.
// \throws JsonError for another text, or one that is nested deeper
nlohmann::ordered_json parse_json_object(std::string_view text);
// Skips comments.
// \throws nlohmann::json::exception unless it is JSON; JsonError if it is nested deeper
nlohmann::json parse_json_document(std::string_view text);

// JSON is UTF-8; names of files may be anything. On one line unless there is an indent.
inline std::string json_text(const nlohmann::ordered_json& json, int indent = -1) {
  return json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace parallax::tool
