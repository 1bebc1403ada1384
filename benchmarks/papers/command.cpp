// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "benchmarks/papers/suite.h"
#include "tools/command/command_files.h"
#include "tools/command/options.h"
#include "tools/command/output_files.h"

namespace parallax::tool {
namespace {

namespace fs = std::filesystem;

void check_outputs(const PapersRequest& request, const std::string& data) {
  if (request.json.empty() && request.csv.empty() && request.markdown.empty()) return;
  for (const std::string& path : {request.json, request.csv, request.markdown}) check_output(path);
  CommandFiles files;
  files.reads_pairs(data);
  for (const std::string& path : {request.json, request.csv, request.markdown}) files.writes(path);
}

}  // namespace

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
  run_papers(request, PapersData(data), std::cout);
  return done;
}

}  // namespace parallax::tool
