// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/papers/suite.h"

#include <algorithm>
#include <filesystem>
#include <span>

#include "parallax/error.h"

#include "benchmarks/papers/report.h"
#include "tools/command/command.h"
#include "tools/command/command_files.h"
#include "tools/command/output_files.h"

namespace parallax::tool {
namespace {

namespace fs = std::filesystem;

std::vector<Paper> papers_named(const std::vector<std::string>& names) {
  std::vector<Paper> all = all_papers();
  for (const std::string& name : names)
    if (std::none_of(all.begin(), all.end(), [&](const Paper& paper) { return paper.name == name; }))
      throw UsageError("--paper '" + name + "': choose one of " + paper_names());
  if (!names.empty())
    std::erase_if(all, [&](const Paper& paper) {
      return std::find(names.begin(), names.end(), paper.name) == names.end();
    });
  return all;
}

void check_data(const std::vector<Paper>& papers, const PapersData& data) {
  for (const Paper& paper : papers)
    for (const PapersTable& table : paper.tables)
      for (const Group& group : table.groups)
        if (data.why_absent(group.pair).empty()) data.check(group.pair);
}

void check_paths(const PapersRequest& request) {
  for (const std::string& path : {request.json, request.csv, request.markdown}) check_output(path);
  if (fs::exists(request.plots) && !fs::is_directory(request.plots))
    throw Error(ErrorCategory::file,
                "cannot write plots to " + request.plots + ": it is not a folder: give another name");
}

FileBytes file(const std::string& path, const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {path, {bytes.begin(), bytes.end()}};
}

void save(const PapersRequest& request, const std::vector<MeasuredTable>& tables,
          const std::string& markdown) {
  std::vector<FileBytes> files;
  if (!request.json.empty()) files.push_back(file(request.json, json_report(tables, request.run)));
  if (!request.csv.empty()) files.push_back(file(request.csv, csv_report(tables)));
  if (!request.markdown.empty()) files.push_back(file(request.markdown, markdown));
  OutputFolders folders;
  if (!request.plots.empty()) {
    folders.make(request.plots);
    for (const auto& [name, svg] : plots(tables))
      files.push_back(file((fs::path(request.plots) / name).string(), svg));
  }
  write_files(files);
}

}  // namespace

std::vector<Paper> all_papers() {
  return {block_paper(), census_paper(), bp_2010_paper(), bp_2019_paper(), tiled_bp_paper()};
}

std::string paper_names() {
  std::string names;
  for (const Paper& paper : all_papers()) names += (names.empty() ? "" : ", ") + paper.name;
  return names;
}

void run_papers(const PapersRequest& request, const PapersData& data, std::ostream& out) {
  const std::vector<Paper> papers = papers_named(request.papers);
  check_paths(request);
  check_data(papers, data);
  std::vector<MeasuredTable> tables;
  std::string markdown;
  const auto print = [&](const std::string& text) {
    out << text << std::flush;
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

}  // namespace parallax::tool
