// SPDX-License-Identifier: Apache-2.0
// The time that control groups grant a process, for available_threads() of parallax/process.h.
#pragma once

#include <filesystem>
#include <optional>

namespace parallax {

// The processors whose time the control groups of this process grant it, rounded up: the least of its own
// group and of those around it, of version 1 and 2. Empty = all of them: no group has a quota, or its files
// cannot be read or understood. `root` has the folders proc and sys.
std::optional<int> granted_processors(const std::filesystem::path& root = "/");

}  // namespace parallax
