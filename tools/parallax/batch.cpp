// SPDX-License-Identifier: Apache-2.0
#include "tools/jobs/batch.h"

#include <csignal>
#include <filesystem>
#include <set>

#include "tools/command/command_files.h"
#include "tools/command/file_errors.h"
#include "tools/command/method_options.h"
#include "tools/command/output_files.h"
#include "tools/files/pictures.h"
#include "tools/jobs/results_table.h"
#include "tools/match/several_devices.h"

namespace parallax::tool {
namespace {

namespace fs = std::filesystem;

void add_batch_options(Options& options, BatchRequest& request) {
  options.group("Input");
  options
      .add("LIST", request.list,
           "List of pairs: lines of LEFT and RIGHT, or JSON objects (.jsonl); - is standard input. With "
           "RIGHT: the left pictures, as a folder or a pattern such as left_%04d.png or, in quotes, "
           "'*/left.png'")
      .required();
  options.add("RIGHT", request.right, "The right pictures, given like the left ones; leave out for a list");
  options
      .add("--truth-scale X", request.match.truth_scale,
           "Gray levels per pixel of disparity in 8-bit truth pictures of the list")
      .range(1e-6, 1e6);
  options.group("Output");
  options.add("-o,--output PATTERN", request.output,
              "Disparity maps: a folder, or a pattern with {name} of the left picture, {folder} or {number}: "
              ".pfm, .png (16 bits: 256 times the disparity, 0 = none) or .tiff");
  options.add("--image PATTERN", request.image, "Coloured pictures of the disparities (.png)");
  options.add("--confidence PATTERN", request.confidence, "Confidence of each pixel, 0 to 1: .pfm or .tiff");
  options.add(
      "--rows-off PATTERN", request.rows_off,
      "By how many rows each match is lower in the right picture: .pfm or .tiff; with --row-tolerance");
  options.add("--results FILE", request.results, "Table with a row for each pair: .csv or .jsonl");
  options.add_flag(
      "--resume", request.match.resume,
      "Skip pairs that the table of --results has as done, if inputs, parameters and outputs are unchanged");
  options.add_flag("--stop-on-error", request.stop_on_error, "End at the first pair that fails");
  options.add_flag("--json", request.match.json, "Report as JSON on standard output");
  add_search_options(options, request.match);
  options.add_memory(
      "--max-memory", request.match.max_memory,
      "Memory limit, such as 2G, which bounds the pairs in work at once; 0 = seven eighths of the machine's "
      "memory");
}

void check_outputs(const BatchRequest& request, const BatchOutputs& outputs) {
  if (!outputs.disparity.empty()) check_disparity_path(outputs.disparity.text());
  if (!outputs.image.empty() && !has_extension(outputs.image.text(), {".png"}))
    throw UsageError("--image is " + request.image + ": name it .png");
  const auto check_map = [](const std::string& option, const OutputPattern& pattern) {
    if (!pattern.empty() && !has_extension(pattern.text(), {".pfm", ".tif", ".tiff"}))
      throw UsageError(option + " is " + pattern.text() + ": name it .pfm or .tiff");
  };
  check_map("--confidence", outputs.confidence);
  check_map("--rows-off", outputs.rows_off);
  if (!outputs.rows_off.empty()) check_searches_rows(request.match.parameters);
  check_results_path(request.results);
  if (request.match.resume && (request.results.empty() || request.output.empty()))
    throw UsageError("--resume needs --results and -o: the table says which results are done");
}

BatchRequest parse_batch(const Arguments& arguments) {
  BatchRequest request;
  MatchRequest& match = request.match;
  read_method_and_preset(arguments, "batch", match.method, match.preset);
  match.parameters = method_preset(match.method, match.preset);
  Options options("batch", "Match many rectified pairs of any size.");
  add_batch_options(options, request);
  options.footer(
      "--device takes several devices, separated by commas: cuda:0,cuda:2, or cuda:all for every GPU. " +
      footer_of("batch", match.method));
  match.range_given = fixes_range(match.parameters);
  options.read(arguments);
  settle_method_options(options, match.parameters);
  match.range_given =
      match.range_given || options.given("--disparities") || searches_full_rows(match.parameters);
  match.parameters.validate();
  settle_devices(match);
  return request;
}

void check_files(const BatchRequest& request, const BatchOutputs& outputs,
                 const std::vector<ListedPair>& pairs) {
  CommandFiles files;
  if (request.right.empty() && request.list != "-") files.reads_once(request.list);
  check_names(pairs, outputs.all(), files);
  files.writes(request.results);
}

// Makes the folders of the outputs.
void make_folders(const BatchOutputs& outputs, const std::vector<ListedPair>& pairs, OutputFolders& folders) {
  std::set<std::string> names;
  for (const ListedPair& pair : pairs)
    for (const std::string& path : outputs.of(pair).all())
      if (const fs::path folder = fs::path(path).parent_path(); !folder.empty()) names.insert(folder);
  for (const std::string& name : names) folders.make(name);
}

int match_listed(const BatchRequest& request) {
  const BatchOutputs outputs(request);
  check_outputs(request, outputs);
  const std::vector<ListedPair> pairs = list_pairs(request.list, request.right);
  check_files(request, outputs, pairs);
  OutputFolders folders;
  make_folders(outputs, pairs, folders);
  stop_on_signals();
  return run_batch(request, outputs, pairs);
}

}  // namespace

int batch_command(const Arguments& arguments) {
  const int status = match_listed(parse_batch(arguments));
  if (const int signal = stop_signal(); signal != 0) ::raise(signal);
  return status;
}

}  // namespace parallax::tool
