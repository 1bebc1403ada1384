// SPDX-License-Identifier: Apache-2.0
// Compiled code on disk, in the user's cache folder: $XDG_CACHE_HOME/parallax, or ~/.cache/parallax. A file
// is used only if it is complete, belongs to the user, and was made from exactly the same key; any other file
// there is replaced. Where nothing can be written, nothing is cached.
#pragma once

#include <optional>
#include <string>

namespace parallax {

std::optional<std::string> read_cached(const std::string& key);
void write_cached(const std::string& key, const std::string& code);

// Calls the listener set by on_compilation().
void tell_compilation(const std::string& device);

}  // namespace parallax
