// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <iostream>

#include <fcntl.h>
#include <unistd.h>

#include "parallax/tune.h"
#include "parallax/version.h"

#include "tools/parallax/command.h"
#include "tools/parallax/output_files.h"

namespace parallax::tool {
namespace {

struct Command {
  const char* name;
  int (*run)(const Arguments& arguments);
  const char* summary;
};

constexpr Command commands[] = {
    {"match", match_command, "match a rectified pair: a disparity map, a picture, a point cloud"},
    {"eval", eval_command, "compare a disparity map with ground truth"},
    {"bench", bench_command, "measure time and error on standard pairs"},
    {"tune", tune_command, "find what makes matching fastest on this machine, and remember it"},
    {"synth", synth_command, "render a synthetic pair with exact truth"},
    {"plan", plan_command, "cut a pair larger than memory into tiles, to be matched one by one"},
    {"merge", merge_command, "put a map together from the tiles of a plan"},
    {"devices", devices_command, "list the devices of this machine, and what runs on them"},
};

void print_help(std::ostream& out) {
  out << "Parallax " PARALLAX_VERSION ": dense stereo matching\n\nUsage: parallax COMMAND [OPTION …]\n\n";
  for (const Command& command : commands)
    out << "  " << command.name << std::string(10 - std::string_view(command.name).size(), ' ')
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
  throw UsageError("unknown command '" + name + "'; see 'parallax --help'");
}

int run_or_help(const Arguments& arguments) {
  try {
    return run_command(arguments);
  } catch (const HelpRequest& help) {
    std::cout << help.what();
    return done;
  }
}

// A file that is opened would take the number of a stream that is closed, and get what is written there.
// Reading and writing such a stream still fail.
void occupy_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(stream, F_GETFD) < 0) ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int end_with(std::string message, int status) {
  // What a library says may be several lines.
  std::replace(message.begin(), message.end(), '\n', ' ');
  complain(message);
  return status;
}

int run(const Arguments& arguments) {
  try {
    const int status = run_or_help(arguments);
    std::cout.flush();
    if (!std::cout)
      return end_with("cannot write to standard output: free some space, or send it elsewhere", failed);
    return status;
  } catch (const UsageError& error) {
    return end_with(error.what(), wrong_use);
  } catch (const Error& error) {
    return end_with(error.what(), error.category() == ErrorCategory::argument ? wrong_use : failed);
  } catch (const std::bad_alloc&) {
    return end_with("out of memory: use smaller images or fewer disparities", failed);
  } catch (const std::filesystem::filesystem_error& error) {
    return end_with("cannot use " + error.path1().string() + ": " + error.code().message() +
                        "; check its name, folder and permissions",
                    failed);
  } catch (const std::exception& error) {
    return end_with(error.what(), failed);
  }
}

}  // namespace
}  // namespace parallax::tool

int main(int count, char** values) {
  parallax::tool::occupy_closed_streams();
  // A file that grows too large, or a reader that went away, is an error of the write, with a message.
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  parallax::tool::remove_temporaries_on_signals();
  const int status = parallax::tool::run({values + 1, values + count});
  // After an error, that is what counts.
  if (const std::string warning = parallax::tuning_warning();
      status == parallax::tool::done && !warning.empty())
    parallax::tool::complain(warning);
  return status;
}
