// SPDX-License-Identifier: Apache-2.0
#include "tools/command/json.h"

template class nlohmann::detail::serializer<nlohmann::ordered_json>;
template class nlohmann::detail::parser<
    nlohmann::ordered_json, nlohmann::detail::iterator_input_adapter<std::string::const_iterator>>;
template class nlohmann::detail::parser<nlohmann::ordered_json,
                                        nlohmann::detail::iterator_input_adapter<const char*>>;
