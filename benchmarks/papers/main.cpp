// SPDX-License-Identifier: Apache-2.0
// Measures and prints the tables of five papers; 'parallax bench --suite papers' starts it.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <span>

#include "benchmarks/papers/report.h"
#include "tools/command/command_files.h"
#include "tools/command/options.h"
#include "tools/command/output_files.h"

namespace parallax::tool {
namespace {

namespace fs = std::filesystem;

struct PapersRequest {
  std::vector<std::string> papers;  // names; none = all
  PapersRun run;
  // Output files; empty = none. `plots` is a folder, created if missing.
  std::string json, csv, markdown, plots;
};

// The names of the papers: "block, census, …".
std::string paper_names() {
  std::vector<std::string> names;
  for (const Paper& paper : all_papers()) names.push_back(paper.name);
  return join(names, ", ");
}

std::vector<Paper> papers_named(const std::vector<std::string>& names) {
  if (names.empty()) return all_papers();
  std::vector<Paper> chosen;
  for (const Paper& paper : all_papers())
    if (std::count(names.begin(), names.end(), paper.name) > 0) chosen.push_back(paper);
  for (const std::string& name : names)
    if (std::none_of(chosen.begin(), chosen.end(), [&](const Paper& paper) { return paper.name == name; }))
      throw UsageError("--paper '" + name + "': choose one of " + paper_names());
  return chosen;
}

void check_data(const std::vector<Paper>& papers, const PapersData& data) {
  for (const Paper& paper : papers)
    for (const PapersTable& table : paper.tables)
      for (const Group& group : table.groups)
        if (data.why_absent(group.pair).empty()) data.check(group.pair);
}

void check_outputs(const PapersRequest& request, const std::string& data) {
  const auto paths = {request.json, request.csv, request.markdown};
  for (const std::string& path : paths) check_output(path);
  if (std::all_of(paths.begin(), paths.end(), [](const std::string& path) { return path.empty(); })) return;
  CommandFiles files;
  files.reads_pairs(data);
  for (const std::string& path : paths) files.writes(path);
}

void save(const PapersRequest& request, const std::vector<MeasuredTable>& tables,
          const std::string& markdown) {
  std::vector<FileBytes> files;
  const auto add = [&](const std::string& path, const std::string& text) {
    const auto bytes = std::as_bytes(std::span(text));
    if (!path.empty()) files.push_back({path, {bytes.begin(), bytes.end()}});
  };
  add(request.json, json_report(tables, request.run));
  add(request.csv, csv_report(tables));
  add(request.markdown, markdown);
  OutputFolders folders;
  if (!request.plots.empty()) {
    folders.make(request.plots);
    for (const auto& [name, svg] : plots(tables)) add((fs::path(request.plots) / name).string(), svg);
  }
  write_files(files);
}

// Prints each paper's tables as soon as they are measured; writes the files at the end.
void run_papers(const PapersRequest& request, const PapersData& data) {
  const std::vector<Paper> papers = papers_named(request.papers);
  if (fs::exists(request.plots) && !fs::is_directory(request.plots))
    throw Error(ErrorCategory::file,
                "cannot write plots to " + request.plots + ": it is not a folder: give another name");
  check_data(papers, data);
  std::vector<MeasuredTable> tables;
  std::string markdown;
  const auto print = [&](const std::string& text) {
    std::cout << text << std::flush;
    markdown += text;
  };
  print(markdown_head(request.run));
  for (const Paper& paper : papers) {
    std::vector<MeasuredTable> measured;
    for (const PapersTable& table : paper.tables)
      measured.push_back({&paper, &table, measure(table, data, request.run)});
    print(markdown_of_paper(measured));
    std::move(measured.begin(), measured.end(), std::back_inserter(tables));
  }
  markdown.pop_back();  // the second of two line ends
  save(request, tables, markdown);
}

int papers_command(const Arguments& arguments) {
  std::string suite, data;
  std::vector<std::string> devices;
  PapersRequest request;
  Options options("bench --suite papers",
                  "Measure the tables of five papers here, beside the published figures.");
  options.add(
      "--data DIR", data,
      "Folder with papers/ and middlebury2003/, or with the output of gpu_pairs; default: $PARALLAX_DATA");
  options.add("--device", devices, "Devices; default: one of each kind on this machine");
  options.add("--threads N", request.run.threads, "Threads of the cpu device; 0 = one per core")
      .range(0, 4096);
  options.add("--paper", request.papers, "Only these papers: " + paper_names());
  options
      .add("--seconds-per-row X", request.run.seconds_per_row,
           "Seconds to measure each row of a table; 0 = one run each")
      .range(0, 3600);
  options.add("--json FILE", request.json, "Also write the results to this file");
  options.add("--csv FILE", request.csv, "Also write the results to this file");
  options.add("--markdown FILE", request.markdown, "Also write the tables to this file");
  options.add("--plots DIR", request.plots, "Write plots of the speed-ups to this folder (SVG)");
  options.add_choice<std::string>("--suite", suite, {{"papers", "papers"}},
                                  "This suite, as `parallax bench` takes it");
  options.read(arguments);
  if (const char* folder = std::getenv("PARALLAX_DATA"); folder != nullptr && !options.given("--data"))
    data = folder;
  if (!data.empty() && !fs::is_directory(data))
    throw Error(ErrorCategory::file, "no folder " + data + ": give --data");
  check_outputs(request, data);
  request.run.devices = devices.empty() ? devices_of_this_machine() : parse_devices(join(devices, ","));
  request.run.progress = [](const std::string& what) { show_progress(what); };
  run_papers(request, PapersData(data));
  return done;
}

}  // namespace
}  // namespace parallax::tool

int main(int count, char** values) {
  return parallax::tool::run_program(count, values, parallax::tool::papers_command);
}
