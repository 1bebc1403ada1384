// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/papers/papers.h"

namespace parallax::tool {

std::vector<Paper> all_papers() {
  return {block_paper(), census_paper(), bp_2010_paper(), bp_2019_paper(), tiled_bp_paper()};
}

}  // namespace parallax::tool
