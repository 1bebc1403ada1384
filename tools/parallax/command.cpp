#include "tools/parallax/command.h"

#include <charconv>
#include <cstdint>
#include <mutex>
#include <sstream>

#include <unistd.h>

#include "tools/parallax/command_line.h"

namespace parallax::tool {

CommandLine::CommandLine(const std::string& subcommand, const std::string& description)
    : CLI::App(description, "parallax " + subcommand) {
  set_help_flag("-h,--help", "Print this help and exit");
  option_defaults()->always_capture_default();
}

// CLI11 takes any number for a flag.
void CommandLine::check_flags(const Arguments& arguments) const {
  for (const std::string& argument : arguments) {
    const std::size_t end = argument.find('=');
    if (argument == "--") return;
    if (!argument.starts_with("--") || end == std::string::npos) continue;
    const CLI::Option* option = get_option_no_throw(argument.substr(0, end));
    const std::string value = argument.substr(end + 1);
    if (option != nullptr && option->get_items_expected_max() == 0 && value != "true" && value != "false")
      throw UsageError(argument + ": " + argument.substr(0, end) + " takes no value");
  }
}

void CommandLine::read(const Arguments& arguments) {
  check_flags(arguments);
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

CLI::Validator natural_number() {
  const auto check = [](const std::string& text) -> std::string {
    if (text.starts_with('-')) return "must not be negative: " + text;
    std::uint64_t value = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc::result_out_of_range ? "must be less than 2^64: " + text : "";
  };
  return CLI::Validator(check, "");
}

CLI::Validator number_between(double low, double high) {
  const auto check = [low, high](const std::string& text) -> std::string {
    double value = 0;
    const bool is_number = CLI::detail::lexical_cast(text, value);
    if (is_number && value >= low && value <= high) return "";
    std::ostringstream message;
    message << "must be a number from " << low << " to " << high << ": " << text;
    return message.str();
  };
  std::ostringstream description;
  description << "FLOAT in [" << low << " - " << high << "]";
  return CLI::Validator(check, description.str());
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

std::string printable(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    // U+0080 to U+009F are control characters of two bytes.
    const bool two_bytes = byte == 0xC2 && i + 1 < text.size() &&
                           static_cast<unsigned char>(text[i + 1]) >= 0x80 &&
                           static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (byte >= 0x20 && byte != 0x7F && !two_bytes) {
      result += text[i];
      continue;
    }
    char code[8];
    std::snprintf(code, sizeof code, "\\x%02x", two_bytes ? static_cast<unsigned char>(text[++i]) : byte);
    result += code;
  }
  return result;
}

void complain(const std::string& message) {
  write_message("parallax: " + printable(message) + "\n");
}

void show_progress(const std::string& what) {
  if (::isatty(STDERR_FILENO) != 0) write_message("\r\033[K" + printable(what));
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
