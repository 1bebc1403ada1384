// SPDX-License-Identifier: Apache-2.0
// The pairs of the papers, from picture files.
#pragma once

#include <filesystem>

#include "benchmarks/papers/data.h"

namespace parallax::tool {

// Reads from a folder with papers/ and middlebury2003/tsukuba, and perhaps memocode2013/.
class PapersPictures : public PapersData {
 public:
  explicit PapersPictures(std::filesystem::path folder) : folder_(std::move(folder)) {}
  std::string why_absent(const std::string& pair) const override;
  void check(const std::string& pair) const override;
  PapersImages load(const std::string& pair) const override;

 private:
  std::filesystem::path folder_;
};

}  // namespace parallax::tool
