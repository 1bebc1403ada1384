// SPDX-License-Identifier: Apache-2.0
// What commands that match on several devices say.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "parallax/matcher_pool.h"

namespace parallax::tool {

// "cuda:0, cuda:1"
std::string text(const std::vector<Device>& devices);

// As many pairs as a MatcherPool matches at once on a GPU, at most, unless it is told otherwise.
inline constexpr std::size_t most_in_flight_of_gpu = 16;

// Tells of each device that stopped working, once.
class LostDeviceNotice {
 public:
  void tell(const std::vector<LostDevice>& lost);

 private:
  std::size_t told_ = 0;
};

}  // namespace parallax::tool
