// SPDX-License-Identifier: Apache-2.0
#include "tools/jobs/tiles/plan.h"

#include <iostream>

#include "tools/command/command.h"
#include "tools/command/output_files.h"
#include "tools/files/pictures.h"
#include "tools/parallax/pair_options.h"

namespace parallax::tool {
namespace {

// Options of 'parallax match' that a plan does not have.
std::vector<Advice> advice_on_options_of_match() {
  std::vector<Advice> advice;
  const auto add = [&](const std::string& text, std::initializer_list<const char*> names) {
    for (const char* name : names) advice.push_back({name, text});
  };
  add("{} needs a finished map: leave it out, and run 'parallax eval' after 'parallax merge'",
      {"--image", "--truth", "--truth-scale", "--truth-none"});
  add("{} is for 'parallax match': leave it out", {"--video", "--fps", "--rows-off", "--json", "--resume"});
  add("cannot make a plan: leave out {}, and rectify the pictures with 'parallax rectify' first",
      {"--rig", "--alpha", "--zoom", "--repair"});
  add("cannot make a plan: leave out {}, which tiles do not support",
      {"--side-by-side", "--right-output", "--confidence", "--energy", "--cost-file", "--repeat", "--depth",
       "--cloud", "--mesh", "--max-depth", "--max-depth-uncertainty", "--disparity-uncertainty",
       "--mesh-step", "--normals", "--unit"});
  return advice;
}

void add_options(Options& options, PlanRequest& request) {
  auto& [input, search, output, tiles] = request.pair;
  options.group("Input");
  options.add("LEFT", input.left,
              "Left picture; for many pairs: a folder, or a pattern such as left_%04d.png or '*/left.png'");
  options.add("RIGHT", input.right, "Right picture, rectified with the left one");
  add_calibration_options(options, input);
  options.group("What the file of the calibration does not say");
  add_rig_options(options, input.choices, false);
  add_value_options(options, input.pictures);
  options.group("Plan");
  options.add("--plan FILE", request.path, "Write the plan to this file (JSON lines)").required();
  options.add("--list FILE", request.list,
              "Pairs, one a line: LEFT and RIGHT, or objects in a .jsonl file; - = standard input");
  options.add_flag("--skip", request.skip,
                   "Leave out pairs that are missing, unreadable or of different sizes");
  options.add_flag(
      "--no-hash", request.no_hash,
      "Do not read the pictures: only their size and modification time tell whether they have changed");
  options.group("Output");
  options.add("-o,--output FILE", output,
              "Disparity map: .pfm, .png (16 bits: 256 times the disparity, 0 = none) or .tiff; for many "
              "pairs: a folder, or a pattern such as {folder}/{name}.pfm");
  add_search_options(options, search);
  add_tile_options(options, search, tiles);
  options.advise(advice_on_options_of_match());
  options.footer(footer_of("plan", search.method));
}

void check_request(const PlanRequest& request) {
  const auto& [input, search, output, tiles] = request.pair;
  if (request.list.empty()) {
    if (input.right.empty()) throw UsageError("RIGHT is required; see 'parallax plan --help'");
    check_views(input, "plan");
  } else if (!input.left.empty()) {
    throw UsageError("--list names the pairs: leave out " + input.left);
  }
  if (!output.empty() && !names_folder(output)) check_disparity_path(output);
  CommandFiles files;
  register_inputs(input, files);
  if (request.list != "-") files.reads_once(request.list);
  if (!names_folder(output)) files.writes(output);
  files.writes(request.path);
  search.parameters.validate();
  Device::parse(search.device);
  if (output.empty()) throw UsageError("cannot make a plan: give -o, beside which tiles are kept");
  check_output(request.path);
}

PlanRequest parse_plan(const Arguments& given) {
  Arguments arguments = given;
  if (take_automatic_range(arguments))
    throw UsageError(
        "--disparities auto is for 'parallax match': give the range that 'parallax check' prints");
  PlanRequest request;
  Search& search = request.pair.search;
  search = read_search(arguments, "plan");
  Options options("plan",
                  "Plan the match of many pairs, or of one larger than memory, as tiles for any scheduler.");
  add_options(options, request);
  options.read(with_both_calibrations(arguments));
  settle_search(options, search);
  check_request(request);
  return request;
}

}  // namespace

int plan_command(const Arguments& arguments) {
  const PlanRequest request = parse_plan(arguments);
  const Job job = plan_job(request);
  write_job(job, request.path);
  std::cerr << job.pairs.size() << (job.pairs.size() == 1 ? " pair in " : " pairs in ") << job.tiles()
            << (job.tiles() == 1 ? " tile, " : " tiles, ") << memory_text(job.process_bytes())
            << " per process that matches them\n";
  return done;
}

}  // namespace parallax::tool
