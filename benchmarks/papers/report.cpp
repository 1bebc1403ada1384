// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/papers/report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include <nlohmann/json.hpp>

#include "parallax/version.h"

#include "benchmarks/papers/svg_plot.h"
#include "tools/command/command.h"

namespace parallax::tool {
namespace {

using nlohmann::ordered_json;

constexpr const char* none = "—";

const char* unit_name(Unit unit) {
  return unit == Unit::milliseconds ? "ms" : "pairs/s";
}

template <class Value>
ordered_json or_null(const std::optional<Value>& value) {
  return value ? ordered_json(*value) : ordered_json();
}

ordered_json or_null(const std::string& text) {
  return text.empty() ? ordered_json() : ordered_json(text);
}

// A flat object, so that CSV has the same columns.
ordered_json row_json(const MeasuredTable& measured, const PapersRow& row) {
  const Published& published = row.step->published;
  ordered_json json{{"paper", measured.paper->name}, {"table", measured.table->name},
                    {"pair", row.group->name},       {"disparities", row.group->disparities},
                    {"step", row.step->name},        {"device", row.device}};
  const Figure figure = row.figure.value_or(Figure{});
  const ordered_json figures{{"milliseconds", figure.milliseconds},
                             {"milliseconds_without_copies", figure.matching},
                             {"pairs_per_second", 1e3 / figure.milliseconds},
                             {"samples", figure.samples},
                             {"memory_bytes", figure.memory_bytes},
                             {"count", figure.error.count},
                             {"bad1", figure.error.bad1},
                             {"bad2", figure.error.bad2},
                             {"mismatches", figure.error.mismatches}};
  for (const auto& [key, value] : figures.items()) json[key] = row.figure ? value : ordered_json();
  json["compared_with"] = or_null(row.step->over);
  json["speed_up"] = or_null(speed_up(*measured.table, row));
  json["why_none"] = or_null(row.why_none);
  json["published"] = or_null(published.value);
  json["published_unit"] = or_null(published.value ? unit_name(measured.table->unit) : std::string());
  json["published_speed_up"] = or_null(published_speed_up(*measured.table, row));
  json["published_mismatches"] = or_null(published.mismatches);
  json["published_hardware"] = or_null(published.hardware);
  return json;
}

// At least three significant digits.
std::string significant(double value) {
  const double size = std::abs(value);
  if (size == 0 || !std::isfinite(size)) return with_decimals(value, 0);
  return with_decimals(value, std::clamp(2 - static_cast<int>(std::floor(std::log10(size))), 0, 5));
}

// In the format of the papers.
std::string as_published(double value, const char* format) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// Groups digits: 87,696.
std::string whole(const ordered_json& value) {
  std::string text = value.dump();
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, 1, ',');
  return text;
}

// A column of a printed table, made from a member of row_json().
struct Column {
  std::string title;
  const char* member;
  std::string (*cell)(const ordered_json& value) = [](const ordered_json& value) {
    return value.get<std::string>();
  };
};

std::vector<Column> columns_of(const PapersTable& table) {
  using Value = const ordered_json&;
  const auto of_number = [](Value value) { return significant(value); };
  const auto rate = [](Value value) { return significant(1e3 / value.get<double>()); };
  const auto per_cent = [](Value value) { return with_decimals(100 * value.get<double>(), 2); };
  const std::string unit = unit_name(table.unit);
  std::vector<Column> columns = {{"pair", "pair"}, {"step", "step"}, {"device", "device"}};
  for (const auto& [what, member] :
       {std::pair{"", "milliseconds"}, {" without copies", "milliseconds_without_copies"}}) {
    columns.push_back({unit + what, member, of_number});
    if (table.unit == Unit::pairs_per_second) columns.back().cell = rate;
  }
  columns.push_back({"speed-up", "speed_up", of_number});
  columns.push_back({"over", "compared_with"});
  if (table.counts_mismatches) {
    columns.push_back({"mismatches", "mismatches", whole});
  } else {
    columns.push_back({"bad1 %", "bad1", per_cent});
    columns.push_back({"bad2 %", "bad2", per_cent});
  }
  columns.push_back({"paper: " + unit, "published", [](Value value) { return as_published(value, "%.6g"); }});
  columns.push_back(
      {"paper: speed-up", "published_speed_up", [](Value value) { return as_published(value, "%.3g"); }});
  if (table.counts_mismatches) columns.push_back({"paper: mismatches", "published_mismatches", whole});
  columns.push_back({"paper: hardware", "published_hardware"});
  return columns;
}

// Width in columns of a terminal: continuation bytes of a character take none.
std::size_t columns_wide(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string aligned(const std::vector<std::vector<std::string>>& lines) {
  std::vector<std::size_t> widths(lines[0].size(), 3);
  for (const auto& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], columns_wide(line[i]));
  std::string text;
  for (std::size_t number = 0; number < lines.size(); ++number) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      text.append("| ").append(lines[number][i]);
      text.append(widths[i] - columns_wide(lines[number][i]) + 1, ' ');
    }
    text += "|\n";
    if (number != 0) continue;
    for (const std::size_t width : widths) text.append("|").append(width + 2, '-');
    text += "|\n";
  }
  return text;
}

// The reasons why rows have no figure, each once.
std::string reasons(const std::vector<PapersRow>& rows) {
  std::map<std::string, int> reasons;
  for (const PapersRow& row : rows)
    if (!row.why_none.empty()) ++reasons[row.why_none];
  std::vector<std::string> texts;
  for (const auto& [reason, count] : reasons)
    texts.push_back(reason + " (" + std::to_string(count) + (count == 1 ? " row)" : " rows)"));
  return texts.empty() ? "" : std::string(none) + " here: " + join(texts, "; ") + ".\n\n";
}

std::string markdown_of_table(const MeasuredTable& measured) {
  const PapersTable& table = *measured.table;
  std::vector<std::vector<std::string>> lines(1);
  const std::vector<Column> columns = columns_of(table);
  for (const Column& column : columns) lines[0].push_back(column.title);
  for (const PapersRow& row : measured.rows) {
    lines.emplace_back();
    const ordered_json values = row_json(measured, row);
    for (const Column& column : columns) {
      const ordered_json& value = values[column.member];
      lines.back().push_back(value.is_null() ? none : column.cell(value));
    }
  }
  return "### " + table.title + "\n\n" + table.about + "\n\n" + aligned(lines) + "\n" +
         reasons(measured.rows);
}

std::vector<ordered_json> rows_json(const std::vector<MeasuredTable>& tables) {
  std::vector<ordered_json> rows;
  for (const MeasuredTable& table : tables)
    for (const PapersRow& row : table.rows) rows.push_back(row_json(table, row));
  return rows;
}

// Quoted if necessary; null is empty.
std::string csv_cell(const ordered_json& value) {
  if (value.is_null()) return "";
  if (!value.is_string()) return value.dump();
  std::string text = value.get<std::string>();
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  for (std::size_t at = 0; (at = text.find('"', at)) != std::string::npos; at += 2) text.insert(at, 1, '"');
  return std::string("\"").append(text).append("\"");
}

// For each step that is compared with another one, the bars of its pairs and devices with a speed-up.
SpeedUpChart chart_of(const MeasuredTable& measured) {
  SpeedUpChart chart{measured.paper->title, measured.table->title + "; times as fast", {}};
  for (const PapersRow& row : measured.rows) {
    if (row.step->over.empty()) continue;
    const std::string name = row.step->name + " (over " + row.step->over + ")";
    auto step = std::find_if(chart.steps.begin(), chart.steps.end(),
                             [&](const SpeedUpStep& other) { return other.name == name; });
    if (step == chart.steps.end()) step = chart.steps.insert(step, {name, {}});
    const bool several_devices =
        std::any_of(measured.rows.begin(), measured.rows.end(), [&](const PapersRow& other) {
          return other.step->name == row.step->name && other.device != row.device && other.figure;
        });
    const SpeedUpBars bars{row.group->name + (several_devices ? ", " + row.device : ""),
                           speed_up(*measured.table, row), published_speed_up(*measured.table, row)};
    if (bars.here || bars.published) step->bars.push_back(bars);
  }
  std::erase_if(chart.steps, [](const SpeedUpStep& step) { return step.bars.empty(); });
  return chart;
}

bool has_own_bar(const SpeedUpChart& chart) {
  for (const SpeedUpStep& step : chart.steps)
    for (const SpeedUpBars& bars : step.bars)
      if (bars.here) return true;
  return false;
}

// The devices that are measured, with their descriptions.
std::vector<std::pair<std::string, std::string>> describe_devices(const PapersRun& run) {
  std::vector<std::pair<std::string, std::string>> lines;
  const std::vector<DeviceDescription> known = list_devices();
  for (const Device& device : run.devices)
    for (const DeviceDescription& entry : known)
      if (Device::parse(entry.device).text() == device.text())
        lines.emplace_back(device.text(), entry.description);
  return lines;
}

}  // namespace

std::string markdown_head(const PapersRun& run) {
  std::string text =
      "# The papers' tables\n\nParallax " PARALLAX_VERSION ", `parallax bench --suite papers`, on\n\n";
  for (const auto& [device, description] : describe_devices(run))
    text += "- `" + device + "`: " + description + "\n";
  if (run.seconds_per_row == 0)
    text += "\nTimes are of one run each, the first.";
  else
    text += "\nTimes are medians of runs that take turns, step by step, about " +
            significant(run.seconds_per_row) +
            " s for each row; what takes longer than five times that was run once.";
  return text +
         " They count all from and to the caller's memory; \"without copies\" leaves out those between that "
         "and memory that the device reaches. Errors are of all pixels with truth.\n\n";
}

std::string markdown_of_paper(const std::vector<MeasuredTable>& tables) {
  const Paper& paper = *tables[0].paper;
  std::string text = "## " + paper.title + " (`--paper " + paper.name + "`)\n\n" + paper.source + ".\n\n";
  for (const MeasuredTable& table : tables) text += markdown_of_table(table);
  return text;
}

std::string json_report(const std::vector<MeasuredTable>& tables, const PapersRun& run) {
  ordered_json machine = ordered_json::array();
  for (const auto& [device, description] : describe_devices(run))
    machine.push_back({{"device", device}, {"description", description}});
  ordered_json papers = ordered_json::array();
  for (const MeasuredTable& table : tables)
    if (table.table == &table.paper->tables[0])
      papers.push_back(
          {{"paper", table.paper->name}, {"title", table.paper->title}, {"source", table.paper->source}});
  const ordered_json report{
      {"version", PARALLAX_VERSION}, {"suite", "papers"},      {"papers", papers},
      {"machine", machine},          {"threads", run.threads}, {"seconds_per_row", run.seconds_per_row},
      {"results", rows_json(tables)}};
  return report.dump(2) + "\n";
}

std::string csv_report(const std::vector<MeasuredTable>& tables) {
  std::vector<std::string> lines;
  for (const ordered_json& row : rows_json(tables)) {
    std::vector<std::string> keys, cells;
    for (const auto& [key, value] : row.items()) {
      keys.push_back(key);
      cells.push_back(csv_cell(value));
    }
    if (lines.empty()) lines.push_back(join(keys, ","));
    lines.push_back(join(cells, ","));
  }
  return join(lines, "\n") + "\n";
}

std::vector<std::pair<std::string, std::string>> plots(const std::vector<MeasuredTable>& tables) {
  std::vector<std::pair<std::string, std::string>> files;
  for (const MeasuredTable& table : tables) {
    const SpeedUpChart chart = chart_of(table);
    if (has_own_bar(chart)) files.emplace_back(table.table->name + ".svg", draw_svg(chart));
  }
  return files;
}

}  // namespace parallax::tool
