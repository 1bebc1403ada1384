// SPDX-License-Identifier: Apache-2.0
// nlohmann-json, for files that read or write JSON; headers include <nlohmann/json_fwd.hpp>. Its parser and
// its writer are compiled once, in json.cpp.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

extern template class nlohmann::detail::serializer<nlohmann::ordered_json>;
extern template class nlohmann::detail::parser<
    nlohmann::ordered_json, nlohmann::detail::iterator_input_adapter<std::string::const_iterator>>;
extern template class nlohmann::detail::parser<nlohmann::ordered_json,
                                               nlohmann::detail::iterator_input_adapter<const char*>>;

namespace parallax::tool {

// JSON is UTF-8; names of files may be anything. On one line unless there is an indent.
inline std::string json_text(const nlohmann::ordered_json& json, int indent = -1) {
  return json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace parallax::tool
