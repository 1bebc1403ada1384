// SPDX-License-Identifier: Apache-2.0
#include "tools/view/view.h"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <unistd.h>

#include "tools/parallax/pair_options.h"

namespace parallax {
namespace view {

namespace {

void add_options(tool::Options& options, ViewRequest& request) {
  auto& [input, search, outputs, depth, repaired] = request.scene.match;
  tool::add_picture_options(options, input);
  tool::add_calibration_options(options, input);
  tool::add_cost_file_option(options, input);
  options.add("--camera N[,N]", request.scene.cameras,
              "Camera with both views, by number or path, or two cameras; leave out LEFT and RIGHT");
  tool::add_truth_options(options, request.scene.truth, "Ground truth: shows the errors of the map");
  tool::add_unit_option(options, depth.unit);
  tool::add_rectify_options(options, input, false);
  tool::add_value_options(options, input.pictures);
  tool::add_search_options(options, search);
  options.group("Page");
  options.add("--map FILE", request.scene.map, "Disparity map made elsewhere, to compare with");
  options.add("--port N", request.server.port, "Port of the page; 0 = 8730, or the next one that is free")
      .range(0, 65535);
  options.add("--host NAME", request.server.host,
              "Address to listen at; other machines need the token in the address that is printed");
  options.add_flag("--no-open", request.no_open, "Print the address without opening a browser");
  options.add_flag("--once", request.server.once, "End when the last page is closed");
  options.footer(tool::footer_of("view", search.method));
}

}  // namespace

ViewRequest parse_view(const tool::Arguments& given) {
  tool::Arguments arguments = given;
  const bool automatic_range = tool::take_automatic_range(arguments);
  ViewRequest request;
  auto& [input, search, outputs, depth, repaired] = request.scene.match;
  search = tool::read_search(arguments, "view");
  search.automatic_range = automatic_range;
  tool::Options options(
      "view", "Show a stereo pair and its disparity map in a browser, and match again as parameters change.");
  add_options(options, request);
  options.read(tool::with_both_calibrations(arguments));
  tool::settle_search(options, search);
  tool::settle_cost_file(options, input, search);
  tool::check_automatic_range(options, search);
  tool::check_rectify_options(options, input);
  tool::settle_layout(input);
  if (request.scene.cameras.empty())
    tool::check_views(input, "view");
  else
    tool::check_cameras(request.scene.cameras, input);
  if (depth.unit > 0 && !input.has_geometry())
    throw tool::UsageError("--unit needs --calib or --rig: give one of them");
  tool::check_truth(request.scene.truth);
  tool::CommandFiles files;
  tool::register_inputs(input, files);
  files.reads(request.scene.truth.path);
  search.parameters.validate();
  Device::parse(search.device);
  return request;
}

}  // namespace view

namespace tool {

// The server is a program of its own, so that the libraries that it needs do not slow down every start of
// this one.
int view_command(const Arguments& arguments) {
  view::parse_view(arguments);
  const std::string program =
      std::filesystem::read_symlink("/proc/self/exe").replace_filename("parallax-view");
  std::vector<std::string> words = arguments;
  words.insert(words.begin(), program);
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execv(program.c_str(), pointers.data());
  throw Error(ErrorCategory::device, "cannot start " + program + " (" + std::strerror(errno) +
                                         "): install the package parallax-view");
}

}  // namespace tool
}  // namespace parallax
