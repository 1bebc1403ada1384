// SPDX-License-Identifier: Apache-2.0
#include "tools/jobs/batch.h"

#include <csignal>
#include <filesystem>
#include <set>

#include "tools/command/command_files.h"
#include "tools/command/method_options.h"
#include "tools/command/output_files.h"
#include "tools/files/pictures.h"
#include "tools/jobs/results_table.h"
#include "tools/parallax/pair_options.h"

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
      .add("--truth-scale X", request.truth_scale,
           "Gray levels per pixel of disparity in 8-bit truth pictures of the list")
      .range(1e-6, 1e6);
  add_unknown_option(options, request.truth_none);
  add_value_options(options, request.pictures);
  options.group("Output");
  options.add("-o,--output PATTERN", request.outputs.disparity,
              "Disparity maps: a folder, or a pattern with {name} of the left picture, {folder} or {number}: "
              ".pfm, .png (16 bits: 256 times the disparity, 0 = none) or .tiff");
  options.add(
      "--right-output PATTERN", request.outputs.right_disparity,
      "Disparity maps of the right pictures, like those of -o: right (x, y) shows the same point as left "
      "(x + disparity, y)");
  options.add("--image PATTERN", request.outputs.image, "Coloured pictures of the disparities (.png)");
  options.add("--confidence PATTERN", request.outputs.confidence,
              "Confidence of each pixel, 0 to 1: .pfm or .tiff");
  options.add(
      "--rows-off PATTERN", request.outputs.rows_off,
      "By how many rows each match is lower in the right picture: .pfm or .tiff; with --row-tolerance");
  options.add("--results FILE", request.results, "Table with a row for each pair: .csv or .jsonl");
  options.add_flag(
      "--resume", request.resume,
      "Skip pairs that the table of --results has as done, if inputs, parameters and outputs are unchanged");
  options.add_flag("--stop-on-error", request.stop_on_error, "End at the first pair that fails");
  options.add_flag("--json", request.json, "Report as JSON on standard output");
  add_rectify_options(options, request.input);
  add_search_options(options, request.search);
  options.add_memory(
      "--max-memory", request.search.max_memory,
      "Memory limit, such as 2G, which bounds the pairs in work at once; 0 = seven eighths of the machine's "
      "memory");
}

void check_outputs(const BatchRequest& request, const BatchOutputs& outputs) {
  if (!outputs.disparity.empty()) check_disparity_path(outputs.disparity.text());
  if (!outputs.right_disparity.empty()) check_disparity_path(outputs.right_disparity.text());
  check_image_path(outputs.image.text());
  check_map_path("--confidence", outputs.confidence.text());
  check_map_path("--rows-off", outputs.rows_off.text());
  if (!outputs.rows_off.empty()) check_searches_rows(request.search.parameters);
  check_results_path(request.results);
  if (request.resume && (request.results.empty() || outputs.disparity.empty()))
    throw UsageError("--resume needs --results and -o: the table says which results are done");
}

// The list may name a calibration for each pair, whose cameras and sizes are chosen like those of a rig.
void check_batch_rig(const Options& options, const BatchRequest& request) {
  if (request.input.rig.empty())
    options.refuse({"--alpha", "--zoom", "--output-size", "--free-centres", "--interpolation", "--fisheye"},
                   " needs --rig: give both");
}

BatchRequest parse_batch(const Arguments& arguments) {
  BatchRequest request;
  Search& search = request.search;
  search = read_search(arguments, "batch");
  Options options("batch", "Match many pairs of any size.");
  add_batch_options(options, request);
  options.footer(
      "--device takes several devices, separated by commas: cuda:0,cuda:2, or cuda:all for every GPU. " +
      footer_of("batch", search.method));
  options.read(arguments);
  settle_search(options, search);
  check_batch_rig(options, request);
  search.parameters.validate();
  settle_devices(search);
  return request;
}

void check_files(const BatchRequest& request, const BatchOutputs& outputs,
                 const std::vector<ListedPair>& pairs) {
  CommandFiles files;
  if (request.right.empty() && request.list != "-") files.reads_once(request.list);
  for (const std::string& path : request.input.rig) files.reads(path);
  check_names(pairs, outputs.all(), files);
  files.writes(request.results);
}

void make_folders(const BatchOutputs& outputs, const std::vector<ListedPair>& pairs, OutputFolders& folders) {
  std::set<std::string> names;
  for (const ListedPair& pair : pairs)
    for (const std::string& path : outputs.of(pair).all())
      if (const fs::path folder = fs::path(path).parent_path(); !folder.empty()) names.insert(folder);
  for (const std::string& name : names) folders.make(name);
}

int match_listed(const BatchRequest& request) {
  const BatchOutputs outputs(request.outputs);
  check_outputs(request, outputs);
  check_unknown(request.truth_none);
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
