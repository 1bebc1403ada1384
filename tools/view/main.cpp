// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>
#include <random>

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include "tools/command/command_files.h"
#include "tools/command/output_files.h"
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

// A page that leads to the address, which only this user can read: others see the words of a process.
class Signpost {
 public:
  // \throws Error (file)
  explicit Signpost(const std::string& address) : file_(name()) {
    const int file = ::open(file_.path().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    const std::string text = "<meta http-equiv=\"refresh\" content=\"0; url=" + address + "\">\n";
    const bool is_written =
        file >= 0 && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    const int reason = errno;
    if (file >= 0) ::close(file);
    if (!is_written) tool::fail_file("write", file_.path(), reason);
  }

  std::string address() const { return "file://" + file_.path(); }

 private:
  // The user's own folder, if there is one, because browsers in containers do not see /tmp.
  static std::string name() {
    const char* const own = std::getenv("XDG_RUNTIME_DIR");
    std::error_code missing;
    const std::filesystem::path folder = own != nullptr && std::filesystem::is_directory(own, missing)
                                             ? std::filesystem::path(own)
                                             : std::filesystem::temp_directory_path();
    return folder / ("parallax-view-" + std::to_string(std::random_device()()) + ".html");
  }

  tool::TemporaryFile file_;
};

int view(const tool::Arguments& arguments) {
  const ViewRequest request = parse_view(arguments);
  Scene scene(request.scene);
  Server server(scene, request.server);
  std::cout << server.address() << std::endl;
  std::optional<Signpost> signpost;
  if (!request.no_open && server.needs_token()) signpost.emplace(server.address());
  if (!request.no_open && !open_browser(signpost ? signpost->address() : server.address()))
    tool::write_message("open this address in a browser\n");
  server.run();
  return tool::done;
}

}  // namespace
}  // namespace parallax::view

int main(int count, char** values) {
  return parallax::tool::run_program(count, values, parallax::view::view);
}
