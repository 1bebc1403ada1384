// SPDX-License-Identifier: Apache-2.0
// Where pairs with ground truth are. Tests of them are skipped, by name, where the data is not.
#pragma once

#include <cstdlib>
#include <filesystem>

namespace parallax::test {

inline std::filesystem::path data_folder() {
  const char* folder = std::getenv("PARALLAX_DATA");
  return folder ? folder : PARALLAX_SHARED_DATA;
}

}  // namespace parallax::test
