// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include "tools/view/view.h"

namespace parallax::view {
namespace {

// Asks the desktop to open its browser, which lives on without this program. Returns whether that began.
bool open_browser(const std::string& address) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  if (::posix_spawn_file_actions_init(&actions) != 0 || ::posix_spawnattr_init(&attributes) != 0)
    return false;
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    ::posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_RDWR, 0);
  std::string words[] = {"xdg-open", address};
  char* pointers[] = {words[0].data(), words[1].data(), nullptr};
  pid_t id = 0;
  const int failure = ::posix_spawnp(&id, pointers[0], &actions, &attributes, pointers, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  return failure == 0;
}

int view(const tool::Arguments& arguments) {
  const ViewRequest request = parse_view(arguments);
  Scene scene(request.scene);
  Server server(scene, request.server);
  std::cout << server.address() << std::endl;
  if (!request.no_open && !open_browser(server.address()))
    tool::write_message("open this address in a browser\n");
  server.run();
  return tool::done;
}

}  // namespace
}  // namespace parallax::view

int main(int count, char** values) {
  return parallax::tool::run_program(count, values, parallax::view::view);
}
