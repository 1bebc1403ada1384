// SPDX-License-Identifier: Apache-2.0
// The pairs of the papers as written by gpu_pairs, for machines without picture libraries.
#pragma once

#include <filesystem>

#include "benchmarks/papers/data.h"

namespace parallax::tool {

// Reads from a folder with a subfolder for each pair.
class PapersPfm : public PapersData {
 public:
  explicit PapersPfm(std::filesystem::path folder) : folder_(std::move(folder)) {}
  std::string why_absent(const std::string& pair) const override;
  void check(const std::string& pair) const override;
  PapersImages load(const std::string& pair) const override;

 private:
  std::filesystem::path folder_;
};

}  // namespace parallax::tool
