// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <iostream>

#include <fcntl.h>
#include <unistd.h>

#include "parallax/tune.h"

#include "tools/command/command.h"
#include "tools/command/output_files.h"

namespace parallax::tool {
namespace {

// A file that is opened later would take the descriptor of a closed stream, and receive its output.
void occupy_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(stream, F_GETFD) < 0) ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int failure_status(bool passes) {
  return passes ? failed_for_now : failed;
}

// Messages of libraries may have several lines.
std::string one_line(std::string message) {
  std::replace(message.begin(), message.end(), '\n', ' ');
  return message;
}

int end_with(const CommandFailure& failure) {
  complain(failure.message);
  return failure.status;
}

int run(int (*command)(const Arguments&), const Arguments& arguments) {
  try {
    int status = done;
    try {
      status = command(arguments);
    } catch (const HelpRequest& help) {
      std::cout << help.what();
    }
    std::cout.flush();
    if (!std::cout)
      return end_with(
          {"cannot write to standard output: free some space, or redirect it elsewhere", failed_for_now});
    return status;
  } catch (...) {
    return end_with(current_failure());
  }
}

}  // namespace

std::string in_words_of_options(std::string message) {
  constexpr std::pair<std::string_view, std::string_view> options[] = {
      {"same_centres = false", "--free-centres"},
      {"alpha = 1", "--alpha 1"},
      {"a larger size or zoom", "a larger --output-size or --zoom"},
      {"exchange the cameras", "give --exchange, and the left picture first"},
      {": give a Rectification of your own", ""}};
  for (const auto& [choice, option] : options)
    if (const std::size_t at = message.find(choice); at != std::string::npos)
      message.replace(at, choice.size(), option);
  return message;
}

CommandFailure current_failure() {
  try {
    throw;
  } catch (const UsageError& error) {
    return {one_line(error.what()), wrong_use};
  } catch (const Error& error) {
    return {in_words_of_options(error.what()),
            error.category() == ErrorCategory::argument ? wrong_use : failure_status(error.is_transient())};
  } catch (const std::bad_alloc&) {
    return {"out of memory: use smaller images or fewer disparities", failed_for_now};
  } catch (const std::filesystem::filesystem_error& error) {
    return {one_line("cannot use " + error.path1().string() + ": " + error.code().message() +
                     "; check its name, folder and permissions"),
            failure_status(is_transient(error.code().value()))};
  } catch (const std::exception& error) {
    return {one_line(error.what()), failed};
  }
}

int run_program(int count, char** values, int (*command)(const Arguments&)) {
  occupy_closed_streams();
  // Without these signals, a file too large or a closed pipe is a write error with a message.
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  remove_temporaries_on_signals();
  const int status = run(command, {values + 1, values + count});
  // An earlier error takes precedence.
  if (const std::string warning = tuning_warning(); status == done && !warning.empty()) complain(warning);
  return status;
}

}  // namespace parallax::tool
