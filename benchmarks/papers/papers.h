// SPDX-License-Identifier: Apache-2.0
// What five papers measured, as data: each step with the paper's figure, and how the same is done here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "parallax/parallax.h"

namespace parallax::tool {

// What a paper says of a step, in the unit of its table.
struct Published {
  std::optional<double> value = {};
  // Over the step that the row is compared with. Without one, what follows from the values of both.
  std::optional<double> speed_up = {};
  std::optional<int> mismatches = {};
  std::string hardware = {};
};

// What is done for each pair.
enum class Way {
  planned_once,           // a run of a matcher that is there
  planned_for_each_pair,  // memory and all else is made and released, too
  in_tiles,               // as many as the group says
};

// A row: a way to match a pair, which a paper has, or this program, or both.
struct Step {
  std::string name;
  // The step of the same group that its speed-up refers to; empty = none.
  std::string over;
  DeviceKind device;
  // The disparities are the group's.
  MatcherParameters parameters;
  Published published = {};
  Way way = Way::planned_once;
  TunedValues configuration = {};  // as of PlanLimits
  int threads = 0;                 // 0 = as many as were asked for
  bool scalar = false;             // on vectors of one lane
  bool tuned = false;              // with what is remembered for this machine; all else is as it is without
};

// Steps that are compared: they match the same pair.
struct Group {
  std::string name;
  std::string pair;  // as PapersData knows it
  int disparities;
  std::vector<Step> steps;
  Size tiles = {};  // columns and rows of tiles
};

enum class Unit { milliseconds, pairs_per_second };

struct PapersTable {
  std::string name;   // for files, such as "bp-2019-gpu"
  std::string title;  // for people
  // What the paper's figures are, and what they count.
  std::string about;
  Unit unit = Unit::milliseconds;
  // Speed-ups are of whole runs; otherwise of matching alone, without copies from and to the caller's memory.
  bool with_copies = true;
  bool counts_mismatches = false;  // the error is a number of labels
  std::vector<Group> groups;
};

struct Paper {
  std::string name;  // as --paper spells it
  std::string title;
  std::string source;
  std::vector<PapersTable> tables;
};

Paper block_paper();
Paper census_paper();
Paper bp_2010_paper();
Paper bp_2019_paper();
Paper tiled_bp_paper();

// All of them, in this order.
std::vector<Paper> all_papers();

}  // namespace parallax::tool
