// SPDX-License-Identifier: Apache-2.0
// Subcommands of the program: each is a function of its arguments in its own file, listed in main.cpp.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "parallax/device.h"
#include "parallax/error.h"
#include "parallax/image.h"

namespace parallax::tool {

using Arguments = std::vector<std::string>;

// Exit statuses of every subcommand.
inline constexpr int done = 0;
inline constexpr int failed = 1;  // and would fail again
inline constexpr int wrong_use = 2;
inline constexpr int failed_for_now = 75;  // EX_TEMPFAIL: for a reason that may pass, such as a full disk

struct CommandFailure {
  std::string message;  // one line
  int status;
};
// A message of the library with the options of the command line in place of the names of the interface of C++.
std::string in_words_of_options(std::string message);
// The failure that the exception being handled stands for: call it in a catch block.
CommandFailure current_failure();
// The exit status of a command some of whose parts failed: if one would fail again, so does a retry.
inline int worse(int status, int other) {
  return status == done || (status == failed_for_now && other != done) ? other : status;
}

// Runs a command and turns its errors into a message and an exit status.
int run_program(int count, char** values, int (*command)(const Arguments& arguments));

int match_command(const Arguments& arguments);
// 'parallax match --plan': matches tiles of an existing plan.
int match_planned_tiles(const Arguments& arguments);
int batch_command(const Arguments& arguments);
int check_command(const Arguments& arguments);
int flow_command(const Arguments& arguments);
int eval_command(const Arguments& arguments);
int bench_command(const Arguments& arguments);
int tune_command(const Arguments& arguments);
int synth_command(const Arguments& arguments);
int plan_command(const Arguments& arguments);
int status_command(const Arguments& arguments);
int merge_command(const Arguments& arguments);
int submit_command(const Arguments& arguments);
int rig_command(const Arguments& arguments);
int rectify_command(const Arguments& arguments);
int view_command(const Arguments& arguments);
int watch_command(const Arguments& arguments);
int devices_command(const Arguments& arguments);

struct Command {
  const char* name;
  int (*run)(const Arguments& arguments);
  const char* summary;
};
int completion_command(const Arguments& arguments, std::span<const Command> commands);

// Wrong use, such as an unknown or contradictory option: exit status 2.
class UsageError : public std::runtime_error {
 public:
  // Escapes control characters of the message as Error does.
  explicit UsageError(const std::string& message)
      : std::runtime_error(Error(ErrorCategory::argument, message).what()) {}
};

// Help was requested: its text goes to standard output, exit status 0.
class HelpRequest : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// "640×480"
std::string text(Size size);

// "a, b, c"
std::string join(const std::vector<std::string>& words, const std::string& separator = ", ");

inline std::string with_decimals(double value, int decimals) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

// The same, but 0 has no sign.
std::string rounded(double value, int decimals);

// Writes to standard error, from any thread, without mixing lines.
void write_message(std::string_view text);
// Writes a line that every pair of a command would repeat, once.
void write_notice(const std::string& text);

// Escapes control characters, as \x1b: file names may contain them, and a terminal would obey.
std::string printable(std::string_view text);
// A word as a shell reads it.
std::string quoted_for_shell(const std::string& word);
// "12 s", "5 min", "3 h"
std::string duration_text(double seconds);

void complain(const std::string& message);

// Shows progress in place on a terminal, with a bar where the fraction done, 0 to 1, is known. An empty text
// clears the line. Prints nothing if standard error is not a terminal.
void show_progress(const std::string& what, std::optional<double> share = std::nullopt);

// While one exists, the terminal shows when kernels are compiled, which happens once for a device.
class CompilationNotice {
 public:
  CompilationNotice();
  CompilationNotice(const CompilationNotice&) = delete;
  CompilationNotice& operator=(const CompilationNotice&) = delete;
  ~CompilationNotice();
};

inline bool is_copy(std::string_view stage) {
  return stage == "upload" || stage == "download";
}

using Clock = std::chrono::steady_clock;
inline double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// "1.5 GiB"
std::string memory_text(std::size_t bytes);

// Memory that a command may use: its --max-memory, or, where that is 0, most of the machine's.
std::size_t memory_limit(std::size_t max_memory);

// The program itself: code, libraries, threads, drivers, buffers of files; no image and no matcher.
std::size_t program_bytes(const Device& device);

std::size_t peak_memory_bytes();

}  // namespace parallax::tool
