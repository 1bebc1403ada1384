// SPDX-License-Identifier: Apache-2.0
// The tables of docs/reference/what-runs-where.md, made by running every case: each value of a choice, and a
// value other than the default of every other parameter. After a change, run
//
//   PARALLAX_UPDATE_DOCS=1 build/developer/tests/test_conformance --gtest_filter='TableTest.*'

#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include <gtest/gtest.h>

#include "matchers/planning.h"
#include "support.h"

namespace parallax::test {
namespace {

constexpr int labels = 16;

struct Sample {
  MatcherParameters parameters;
  StereoPair pair;
  bool with_confidence = false;
};

// Whether a device that runs a method takes a value of a parameter, by their declarations.
bool is_declared(const std::string& method, const std::string& parameter, const std::string& value,
                 DeviceKind device) {
  const ParameterInfo info = describe_parameter(method, parameter);
  if (value == "0" || value == "false" || value == "none") return true;
  const auto choice = std::find(info.choices.begin(), info.choices.end(), value);
  const std::vector<DeviceKind>& devices =
      choice == info.choices.end()
          ? info.devices
          : info.choice_devices[static_cast<std::size_t>(choice - info.choices.begin())];
  return std::find(devices.begin(), devices.end(), device) != devices.end();
}

// A row of a table. Only one of the rows about the same thing can be chosen at a time.
struct Row {
  std::string about, value;
  std::function<void(Sample&)> choose;
  std::string name() const { return value.empty() ? about : about + " " + value; }
};

// The pictures that samples refer to.
struct Pictures {
  Pictures()
      : colour(synthesize({.size = {64, 40}, .disparities = 12})),
        deep_left({64, 40}),
        deep_right({64, 40}),
        mask({64, 40}, 255),
        volume(64 * 40 * labels) {
    for (int y = 0; y < 40; ++y) {
      for (int x = 0; x < 64; ++x) {
        deep_left.at(x, y) = static_cast<std::uint16_t>(211 * colour.left.at(3 * x, y));
        deep_right.at(x, y) = static_cast<std::uint16_t>(211 * colour.right.at(3 * x, y));
        mask.at(x, y) = static_cast<std::uint8_t>((x + y) % 9 == 0 ? 0 : 1);
      }
    }
    for (std::size_t i = 0; i < volume.size(); ++i) volume[i] = static_cast<float>(i * i % 101) / 16;
  }
  SynthPair colour;
  Plane<std::uint16_t> deep_left, deep_right;
  Plane<std::uint8_t> mask;
  std::vector<float> volume;
};

const Pictures& pictures() {
  static const Pictures instance;
  return instance;
}

// All steps after the match are on, so that their parameters matter.
Sample start_of(const std::string& method) {
  Sample sample{preset(method, "default"), {pictures().colour.left_view(), pictures().colour.right_view()}};
  sample.parameters.disparities() = labels;
  RefineParameters& refine = sample.parameters.refine();
  refine.speckle_size = 20;
  refine.weighted_median = refine.bilateral = 5;
  if (auto* motion = sample.parameters.get_if<MotionParameters>()) {
    motion->min_disparity = 0;
    motion->min_row_offset = -3;
    motion->row_offsets = 7;
    refine.speckle_size = refine.bilateral = 0;  // vectors have no such steps
  }
  return sample;
}

// The spelling of get_parameter(); empty if the value is not allowed.
std::optional<std::string> spelled(MatcherParameters parameters, const std::string& name,
                                   const std::string& value) {
  try {
    set_parameter(parameters, name, value);
    return get_parameter(parameters, name);
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Values of a parameter other than its current one.
std::vector<std::string> other_values(const ParameterInfo& parameter, const MatcherParameters& parameters) {
  const std::string value = get_parameter(parameters, parameter.name);
  if (parameter.kind == ParameterKind::flag) return {value == "true" ? "false" : "true"};
  if (parameter.kind == ParameterKind::choice) return parameter.choices;
  std::vector<std::string> values;
  if (parameter.optional) values.emplace_back("none");
  const double number = std::stod(value);
  if (parameter.kind == ParameterKind::integer && number > parameter.least)
    values.push_back(std::to_string(static_cast<int>(parameter.least)));
  const double several = number > 0 ? number * 1.5 : parameter.most / 16;
  std::vector<std::string> others{std::to_string(several)};
  if (parameter.kind == ParameterKind::integer)
    others = {std::to_string(number > 0 ? 2 * static_cast<int>(number) + 1 : 30), "7", "3"};
  for (const std::string& other : others) {
    const std::optional<std::string> allowed = spelled(parameters, parameter.name, other);
    if (!allowed || *allowed == value) continue;
    values.push_back(*allowed);
    break;
  }
  return values;
}

std::vector<Row> rows_of(const std::string& method) {
  std::vector<Row> rows;
  const MatcherParameters start = start_of(method).parameters;
  for (const ParameterInfo& parameter : list_parameters(method)) {
    if (parameter.name == "disparities" || parameter.name == "min_disparity" ||
        parameter.name == "min_row_offset")
      continue;
    for (const std::string& value : other_values(parameter, start))
      rows.push_back({parameter.name, value, [name = parameter.name, value](Sample& sample) {
                        set_parameter(sample.parameters, name, value);
                        if (name == "cost" && value == "volume")
                          sample.pair.costs = {pictures().volume.data(), {64, 40}, labels};
                      }});
  }
  rows.push_back({"negative disparities", "", [](Sample& s) { s.parameters.min_disparity() = -9; }});
  rows.push_back({"confidence map", "", [](Sample& s) { s.with_confidence = true; }});
  rows.push_back({"16-bit images", "", [](Sample& s) {
                    s.pair.left = pictures().deep_left.view();
                    s.pair.right = pictures().deep_right.view();
                  }});
  rows.push_back(
      {"masks", "", [](Sample& s) { s.pair.left_mask = s.pair.right_mask = pictures().mask.view(); }});
  return rows;
}

using Rows = std::vector<const Row*>;

Sample chosen(Sample sample, const Rows& rows) {
  for (const Row* row : rows) row->choose(sample);
  return sample;
}

// "=" if the device gives the bytes of the reference, "refused" if it reports that it lacks the option.
std::string cell(const Sample& sample, const Device& device) {
  const auto run = [&](const Device& on) {
    return match(sample.parameters, on, sample.pair, 0xA5, sample.with_confidence);
  };
  try {
    return same_bytes(run(device), run(reference)) ? "=" : "**differs**";
  } catch (const Error& error) {
    return error.category() == ErrorCategory::device ? "refused" : "**" + std::string(error.what()) + "**";
  }
}

// Asks a plan that is not allocated, so nothing is compiled.
bool is_refused(const Sample& sample, const Device& device) {
  try {
    detail::make_plan(sample.parameters, device, sample.pair.left.format, {});
    return false;
  } catch (const Error& error) {
    return error.category() == ErrorCategory::device;
  }
}

// Rows that can be combined: each round has one of the rows about the same thing.
std::vector<Rows> rounds_of(const Rows& rows) {
  std::vector<Rows> rounds;
  std::map<std::string, std::size_t> used;
  for (const Row* row : rows) {
    // These exclude each other: refit() looks along rows, and a matcher searches rows or aligns them.
    const bool excludes = row->about == "row_tolerance" || row->about == "rows";
    const std::size_t round = used[excludes ? "refit" : row->about]++;
    rounds.resize(std::max(rounds.size(), round + 1));
    rounds[round].push_back(row);
  }
  return rounds;
}

// Options that a device accepts are tried together, because compiling kernels takes nearly all of the time;
// only if that fails, each is tried alone.
std::map<std::string, std::string> cells_of(const std::string& method, const std::vector<Row>& rows,
                                            const Device& device) {
  const Sample start = start_of(method);
  std::map<std::string, std::string> cells;
  Rows accepted;
  for (const Row& row : rows)
    if (is_refused(chosen(start, {&row}), device))
      cells[row.name()] = "refused";
    else
      accepted.push_back(&row);
  for (const Rows& round : rounds_of(accepted)) {
    const bool same = cell(chosen(start, round), device) == "=";
    for (const Row* row : round) cells[row->name()] = same ? "=" : cell(chosen(start, {row}), device);
  }
  return cells;
}

// In lines of at most 120 columns.
std::string wrapped(const std::string& text) {
  std::istringstream words(text);
  std::string lines, line;
  for (std::string word; words >> word;) {
    if (line.size() + 1 + word.size() > 120) {
      lines += line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return lines + line;
}

// Parameters that were tried: names with their values.
std::string listed(const std::vector<Row>& rows) {
  std::string text;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool same = i > 0 && rows[i - 1].about == rows[i].about;
    text += same ? ", " + rows[i].value : (i > 0 ? "; " : "") + rows[i].name();
  }
  return text + ".";
}

void write_table(const std::string& method, std::ostream& text) {
  const std::vector<Row> rows = rows_of(method);
  std::string devices;
  std::map<std::string, std::string> exceptions;
  for (const MatcherOnDevice& entry : list_matchers()) {
    if (entry.method != method) continue;
    devices += std::string(devices.empty() ? "" : ", ") + name(entry.device);
    std::map<std::string, std::string> cells = cells_of(method, rows, {entry.device});
    for (const Row& row : rows) {
      if (row.value.empty()) continue;
      EXPECT_EQ(cells[row.name()] != "refused", is_declared(method, row.about, row.value, entry.device))
          << method << " " << row.name() << " on " << entry.device;
    }
    for (const auto& [row, cell] : cells) {
      if (cell == "=") continue;
      std::string& where = exceptions[row];
      where +=
          std::string(where.empty() ? "" : ", ") + name(entry.device) + (cell == "refused" ? "" : " " + cell);
    }
  }
  text << "\n## " << method << "\n\nRuns on " << devices << ".\n";
  if (!exceptions.empty()) text << "\n| refused | by |\n|---|---|\n";
  for (const auto& [row, where] : exceptions) text << "| " << row << " | " << where << " |\n";
  text << "\n" << wrapped(listed(rows)) << "\n";
}

TEST(TableTest, DocsSayWhatRunsWhere) {
  for (const DeviceKind kind : device_kinds())
    if (!is_here(kind)) GTEST_SKIP() << "no " << name(kind) << " here";
  std::ostringstream table;
  table
      << "# What runs where\n\n"
      << wrapped(
             "Every device that a method runs on gives the bytes of the reference, with every value that is "
             "listed below, except for what it refuses with an error that names the option. "
             "`tests/conformance/table_test.cpp` runs all of it and writes this page.")
      << "\n";
  for (const std::string& method : list_methods()) write_table(method, table);
  EXPECT_FALSE(contains(table.str(), "**")) << table.str();
  if (std::getenv("PARALLAX_UPDATE_DOCS") != nullptr) std::ofstream(PARALLAX_TABLE) << table.str();
  std::ostringstream documented;
  documented << std::ifstream(PARALLAX_TABLE).rdbuf();
  EXPECT_EQ(documented.str(), table.str()) << "run this test with PARALLAX_UPDATE_DOCS=1";
}

}  // namespace
}  // namespace parallax::test
