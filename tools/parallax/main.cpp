// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "parallax/version.h"

#include "tools/command/command.h"

namespace parallax::tool {
namespace {

int complete_commands(const Arguments& arguments);

constexpr Command commands[] = {
    {"match", match_command, "match a rectified pair: disparity map, coloured picture, point cloud"},
    {"batch", batch_command, "match many pairs of any size, with a table of results"},
    {"flow", flow_command, "find the motion of each pixel from one frame to another"},
    {"check", check_command, "say whether a pair is fit to be matched, and which range to search"},
#ifdef PARALLAX_HAS_VIEW
    {"view", view_command, "show a pair and its map in a browser, and match again as parameters change"},
#endif
    {"watch", watch_command, "show the maps of cameras that another process matches"},
    {"eval", eval_command, "compare a disparity map with ground truth"},
    {"bench", bench_command, "measure time and error on standard pairs"},
    {"tune", tune_command, "find the fastest configuration for this machine, and remember it"},
    {"synth", synth_command, "render a synthetic pair with exact truth"},
    {"plan", plan_command, "plan the match of many pairs, or of one larger than memory, for any scheduler"},
    {"submit", submit_command, "match the tiles of a plan as jobs of SLURM, and merge them"},
    {"status", status_command, "show which tiles of a plan are done, missing or failed"},
    {"merge", merge_command, "merge the matched tiles of a plan into maps"},
    {"rectify", rectify_command, "turn the pictures of two calibrated cameras into a rectified pair"},
    {"rig", rig_command, "show the calibration of two cameras, or convert it to another format"},
    {"devices", devices_command, "list the devices of this machine, and what runs on them"},
    {"completion", complete_commands, "print the script that completes commands and options in a shell"},
};

int complete_commands(const Arguments& arguments) {
  return completion_command(arguments, commands);
}

void print_help(std::ostream& out) {
  out << "Parallax " PARALLAX_VERSION ": dense stereo matching\n\nUsage: parallax COMMAND [OPTION …]\n\n";
  for (const Command& command : commands)
    out << "  " << command.name << std::string(12 - std::string_view(command.name).size(), ' ')
        << command.summary << "\n";
  out << "\n'parallax COMMAND --help' lists the options of a command.\n";
}

int run_command(const Arguments& arguments) {
  if (arguments.empty()) {
    print_help(std::cerr);
    return wrong_use;
  }
  const std::string& name = arguments.front();
  if (name == "--help" || name == "-h") {
    print_help(std::cout);
    return done;
  }
  if (name == "--version") {
    std::cout << "parallax " PARALLAX_VERSION "\n";
    return done;
  }
  for (const Command& command : commands)
    if (name == command.name) return command.run(Arguments(arguments.begin() + 1, arguments.end()));
  if (name == "view")
    throw Error(ErrorCategory::device, "this build has no 'view': build with -DPARALLAX_VIEW=ON");
  throw UsageError("unknown command '" + name + "'; see 'parallax --help'");
}

}  // namespace
}  // namespace parallax::tool

int main(int count, char** values) {
  return parallax::tool::run_program(count, values, parallax::tool::run_command);
}
