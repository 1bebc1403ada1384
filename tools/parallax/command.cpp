#include "tools/parallax/command.h"

#include <charconv>
#include <mutex>

#include <unistd.h>

#include "tools/parallax/command_line.h"

namespace parallax::tool {

CommandLine::CommandLine(const std::string& subcommand, const std::string& description)
    : CLI::App(description, "parallax " + subcommand) {
  set_help_flag("-h,--help", "Print this help and exit");
  option_defaults()->always_capture_default();
}

void CommandLine::read(const Arguments& arguments) {
  const std::string hint = "; see '" + get_name() + " --help'";
  try {
    // CLI11 takes the arguments last to first.
    parse(Arguments(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    throw HelpRequest(help());
  } catch (const CLI::ExtrasError&) {
    throw UsageError("unknown option or argument: " + CLI::detail::join(remaining(), " ") + hint);
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what() + hint);
  }
}

CLI::Validator not_negative() {
  return CLI::Validator(
      [](std::string& text) { return text.starts_with('-') ? "must not be negative: " + text : ""; }, "");
}

std::string text(Size size) {
  return std::to_string(size.width) + "×" + std::to_string(size.height);
}

void write_message(std::string_view text) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  while (!text.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void show_progress(const std::string& what) {
  if (::isatty(STDERR_FILENO) != 0) write_message("\r\033[K" + what);
}

Size parse_size(const std::string& text, const std::string& option) {
  Size size;
  const char* end = text.data() + text.size();
  const auto width = std::from_chars(text.data(), end, size.width);
  const bool cross = width.ec == std::errc{} && width.ptr != end && (*width.ptr == 'x' || *width.ptr == 'X');
  const auto height = cross ? std::from_chars(width.ptr + 1, end, size.height) : width;
  if (!cross || height.ec != std::errc{} || height.ptr != end || size.width < 1 || size.height < 1)
    throw UsageError(option + " is '" + text + "': give width x height, such as 640x480");
  return size;
}

}  // namespace parallax::tool
