// SPDX-License-Identifier: Apache-2.0
#include "tools/view/view.h"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <unistd.h>

namespace parallax {
namespace view {

ViewRequest parse_view(const tool::Arguments& arguments) {
  ViewRequest request;
  request.match = tool::parse_match(arguments, "view", [&](tool::Options& options) {
    options.group("Page");
    options.add("--map FILE", request.map, "Disparity map made elsewhere, to compare with");
    options.add("--port N", request.server.port, "Port of the page; 0 = 8730, or the next one that is free")
        .range(0, 65535);
    options.add("--host NAME", request.server.host,
                "Address to listen at; other machines need the token in the address that is printed");
    options.add_flag("--no-open", request.no_open, "Print the address without opening a browser");
    options.add_flag("--once", request.server.once, "End when the last page is closed");
  });
  return request;
}

}  // namespace view

namespace tool {

// The server is a program of its own, so that the libraries that it needs do not slow down every start of this one.
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
