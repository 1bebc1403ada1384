// What 'parallax match' was asked for.
#pragma once

#include <cstdint>
#include <string>

#include "parallax/matcher.h"

#include "tools/parallax/command.h"

namespace parallax::tool {

struct MatchRequest {
  std::string left, right, left_mask, right_mask;
  std::string output, image, cloud, calibration, confidence;
  std::string method = "block";
  std::string preset = "default";
  std::string device = "auto";
  int threads = 0;
  std::uint64_t max_memory = 0;
  int repeat = 1;
  bool json = false;
  bool range_given = false;  // the search range was chosen by the user or by the preset
  MatcherParameters parameters;
  bool energy = false;  // report the energy of the map

  int& min_disparity();
  int& disparities();
};

// \throws UsageError, HelpRequest, Error (argument)
MatchRequest parse_match(const Arguments& arguments);

}  // namespace parallax::tool
