// SPDX-License-Identifier: Apache-2.0
// The measurements of five papers as data: each step with the paper's figure, and its realisation here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "parallax/parallax.h"

namespace parallax::tool {

// A paper's figures for a step, in the unit of its table.
struct Published {
  std::optional<double> value = {};
  // Speed-up over the step compared with. By default, it follows from the values of both.
  std::optional<double> speed_up = {};
  std::optional<int> mismatches = {};
  std::string hardware = {};
};

// The runs for each pair.
enum class Way {
  planned_once,           // a run of an existing matcher
  planned_for_each_pair,  // includes making and releasing the matcher, with its memory
  in_tiles,               // the group gives the number of tiles
};

// A row: a way to match a pair, found in a paper, in this program, or in both.
struct Step {
  std::string name;
  // The step of the same group to which the speed-up refers; empty = none.
  std::string over;
  DeviceKind device;
  // The group sets the disparities.
  MatcherParameters parameters;
  Published published = {};
  Way way = Way::planned_once;
  TunedValues configuration = {};  // see PlanOptions
  int threads = 0;                 // 0 = the requested number
  bool scalar = false;             // with vectors of one lane
  bool tuned = false;              // with remembered tuning; other steps run without
};

// Steps that are compared with each other, because they match the same pair.
struct Group {
  std::string name;
  std::string pair;  // its name in PapersData
  int disparities;
  std::vector<Step> steps;
  Size tiles = {};  // numbers of columns and rows of tiles
};

enum class Unit { milliseconds, pairs_per_second };

struct PapersTable {
  std::string name;   // for files, such as "bp-2019-gpu"
  std::string title;  // for display
  // Source of the paper's figures, and their scope.
  std::string about;
  Unit unit = Unit::milliseconds;
  // Whether speed-ups are those of complete runs; otherwise of matching alone, without copies from and to the
  // caller's memory.
  bool with_copies = true;
  bool counts_mismatches = false;  // the error is the number of wrong labels
  std::vector<Group> groups;
};

struct Paper {
  std::string name;  // the value of --paper
  std::string title;
  std::string source;
  std::vector<PapersTable> tables;
};

Paper block_paper();
Paper census_paper();
Paper bp_2010_paper();
Paper bp_2019_paper();
Paper tiled_bp_paper();

// All papers, in this order.
inline std::vector<Paper> all_papers() {
  return {block_paper(), census_paper(), bp_2010_paper(), bp_2019_paper(), tiled_bp_paper()};
}

}  // namespace parallax::tool
