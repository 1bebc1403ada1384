// SPDX-License-Identifier: Apache-2.0
// The pairs of Middlebury and of the papers, in the folder that PARALLAX_DATA names.
#pragma once

#include <filesystem>
#include <span>

#include "tools/files/pictures.h"

namespace parallax::benchmarks {

struct DataPair {
  const char* path;
  int disparities;
  double truth_scale;  // value of one pixel of disparity; 0 = the truth is a PFM file

  std::string name() const { return std::filesystem::path(path).filename(); }
};

inline constexpr DataPair data_pairs[] = {{"middlebury2003/tsukuba", 16, 16},
                                          {"middlebury2003/venus", 20, 8},
                                          {"middlebury2003/teddy", 60, 4},
                                          {"middlebury2003/cones", 60, 4},
                                          {"middlebury2014/Adirondack", 73, 0},
                                          {"middlebury2014/Jadeplant", 160, 0},
                                          {"middlebury2014/Motorcycle", 70, 0},
                                          {"middlebury2014/MotorcycleE", 70, 0},
                                          {"middlebury2014/Piano", 65, 0},
                                          {"middlebury2014/Playtable", 73, 0},
                                          {"middlebury2014/Recycle", 65, 0},
                                          {"middlebury2014/Teddy", 64, 0},
                                          {"papers/tsukubaSet", 16, 16},
                                          {"papers/venus", 21, 8},
                                          {"papers/barn1", 32, 8},
                                          {"papers/conesQuarterSize", 64, 4},
                                          {"papers/conesHalfSize", 128, 2},
                                          {"papers/conesFullSizeCropped", 256, 1}};
inline constexpr std::span middlebury_2003(data_pairs, 4), middlebury_2014(data_pairs + 4, 8),
    middlebury(data_pairs, 12), pairs_of_papers(data_pairs + 12, 6);

struct LoadedPair {
  tool::Picture left, right;
  Plane<float> truth;
  Plane<std::uint8_t> visible;  // 255 = both cameras see the pixel; empty for the papers' pairs

  StereoPair views() const { return {left.view(), right.view()}; }
};

inline LoadedPair load(const std::filesystem::path& data, const DataPair& pair) {
  const auto path = [&](const char* file) { return (data / pair.path / file).string(); };
  LoadedPair loaded{tool::read_picture(path("left.png")), tool::read_picture(path("right.png")), {}, {}};
  const bool is_2014 = pair.truth_scale == 0, is_2003 = std::filesystem::exists(path("nonocc.png"));
  loaded.truth = tool::read_disparity(path(is_2014   ? "disp0GT.pfm"
                                           : is_2003 ? "groundtruth.png"
                                                     : "truth.png"),
                                      pair.truth_scale);
  if (is_2014 || is_2003) loaded.visible = tool::read_mask(path(is_2014 ? "mask0nocc.png" : "nonocc.png"));
  return loaded;
}

}  // namespace parallax::benchmarks
