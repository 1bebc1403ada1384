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
