// SPDX-License-Identifier: Apache-2.0
// What each step after a match is tried with, on every device.
#pragma once

#include <vector>

#include "parallax/refine.h"

namespace parallax::test {

inline std::vector<RefineParameters> left_right_checks() {
  std::vector<RefineParameters> list;
  for (const float tolerance : {0.0f, 1.0f, 3e38f}) {
    list.push_back(RefineParameters::none());
    list.back().left_right_check = true;
    list.back().left_right_tolerance = tolerance;
  }
  return list;
}

inline std::vector<RefineParameters> speckle_filters() {
  std::vector<RefineParameters> list;
  for (const int size : {2, 9, 50, 40000})
    for (const float range : {0.0f, 1.0f}) {
      list.push_back(RefineParameters::none());
      list.back().speckle_size = size;
      list.back().speckle_range = range;
    }
  return list;
}

inline std::vector<RefineParameters> fills() {
  std::vector<RefineParameters> list{RefineParameters::none()};
  list.back().fill = Fill::row;
  return list;
}

inline std::vector<RefineParameters> medians() {
  std::vector<RefineParameters> list;
  for (const int window : {3, 5}) {
    list.push_back(RefineParameters::none());
    list.back().median = window;
  }
  return list;
}

}  // namespace parallax::test
