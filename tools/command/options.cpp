// SPDX-License-Identifier: Apache-2.0
#include "tools/command/options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <type_traits>

#include <CLI/CLI.hpp>

namespace parallax::tool {
namespace {

// Layout of the help text.
constexpr std::size_t columns = 100, help_column = 30;

std::string text_of(auto number) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

// Columns of a text: one per character, which may have several bytes.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

// Wraps lines before `columns`; the first line begins at `column`, the others at `indent`.
std::string wrapped(const std::string& text, std::size_t column, std::size_t indent) {
  std::string lines;
  for (const std::string& word : CLI::detail::split(text, ' ')) {
    const bool first = lines.empty();
    if (!first && column + 1 + width(word) > columns) {
      lines += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (!first) {
      lines += " ";
      ++column;
    }
    lines += word;
    column += width(word);
  }
  return lines;
}

// Empty for a text that is not a size in bytes, or too large a one.
std::optional<std::size_t> memory_of(const std::string& text) {
  std::size_t bytes = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, bytes);
  if (error != std::errc{}) return std::nullopt;
  std::string unit = CLI::detail::to_lower(CLI::detail::trim_copy({rest, end}));
  if (unit.ends_with("b")) unit.pop_back();
  if (unit.size() == 2 && unit.ends_with("i")) unit.pop_back();
  if (unit.empty()) return bytes;
  const std::size_t power = std::string("kmgtpe").find(unit) + 1;
  if (power == 0 || unit.size() > 1 || bytes > std::numeric_limits<std::size_t>::max() >> 10 * power)
    return std::nullopt;
  return bytes << 10 * power;
}

}  // namespace

std::optional<std::array<int, 2>> two_integers(const std::string& text, std::string_view separators) {
  std::array<int, 2> numbers{};
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, numbers[0]);
  if (first.ec != std::errc{} || first.ptr == end || separators.find(*first.ptr) == std::string_view::npos)
    return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, numbers[1]);
  if (second.ec != std::errc{} || second.ptr != end) return std::nullopt;
  return numbers;
}

Option& Option::required() {
  required_ = true;
  parsed_->required();
  return *this;
}

std::string Option::shown_names() const {
  if (is_argument()) return names_;
  std::string names = switch_ ? "--[no-]" + names_.substr(2, names_.find(',') - 2) : names_;
  if (const std::size_t comma = names.find(','); comma != std::string::npos) names.insert(comma + 1, " ");
  return value_name_.empty() ? names : names + " " + value_name_;
}

std::string Option::help_line() const {
  std::string line = "  " + shown_names();
  const bool fits = width(line) + 2 <= help_column;
  line += fits ? std::string(help_column - width(line), ' ') : "\n" + std::string(help_column, ' ');
  const std::string value = default_.empty() ? "" : " [" + default_ + "]";
  return line + wrapped(help_ + value, help_column, help_column) + "\n";
}

void Option::refuse(const std::string& text, const std::string& remedy) const {
  throw UsageError(parsed_->get_name() + " is '" + text + "': give " + remedy);
}

template <class Number>
Number Option::read_number(const std::string& text) const {
  using Limits = std::numeric_limits<Number>;
  Number number{};
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  const std::string kind = std::is_integral_v<Number> ? "an integer" : "a number";
  const auto from_to = [&](auto least, auto most) {
    return kind + " from " + text_of(least) + " to " + text_of(most);
  };
  if (std::is_unsigned_v<Number> && text.starts_with('-')) refuse(text, "a number that is not negative");
  const bool is_number = rest == end && error != std::errc::invalid_argument;
  bool fits = is_number && error == std::errc{};
  if constexpr (!std::is_integral_v<Number>) fits = fits && std::isfinite(number);
  if (range_ &&
      (!fits || static_cast<double>(number) < range_->first || static_cast<double>(number) > range_->second))
    refuse(text, from_to(static_cast<Number>(range_->first), static_cast<Number>(range_->second)));
  if (fits) return number;
  if constexpr (std::is_integral_v<Number>)
    refuse(text, is_number ? from_to(Limits::min(), Limits::max()) : kind);
  else
    refuse(text, is_number ? "a finite number" : kind);
}

Options::Options(const std::string& subcommand, const std::string& description)
    : app_(std::make_unique<CLI::App>("", "parallax " + subcommand)),
      name_("parallax " + subcommand),
      description_(description) {
  app_->set_help_flag("-h,--help");
  app_->set_help_all_flag("--help-all");
}

Options::~Options() = default;

Option& Options::add_option(const std::string& names, const std::string& value_name,
                            const std::string& help) {
  Option& option = *options_.emplace_back(std::make_unique<Option>());
  const std::size_t space = names.find(' ');
  option.names_ = names.substr(0, space);
  option.value_name_ = space == std::string::npos ? value_name : names.substr(space + 1);
  option.help_ = help;
  option.group_ = group_;
  // Values are set when all are read.
  option.parsed_ =
      app_->add_option(option.names_, CLI::callback_t([](const CLI::results_t&) { return true; }))
          ->type_name(option.value_name_)
          ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  return option;
}

template <class Number>
Option& Options::add(const std::string& names, Number& value, const std::string& help) {
  Option& option = add_option(names, std::is_integral_v<Number> ? "N" : "X", help);
  option.default_ = text_of(value);
  option.set_ = [&](const std::string& text) { value = option.read_number<Number>(text); };
  return option;
}
template Option& Options::add(const std::string&, int&, const std::string&);
template Option& Options::add(const std::string&, std::uint64_t&, const std::string&);
template Option& Options::add(const std::string&, float&, const std::string&);
template Option& Options::add(const std::string&, double&, const std::string&);

Option& Options::add(const std::string& names, std::string& value, const std::string& help) {
  Option& option = add_option(names, "NAME", help);
  option.default_ = value;
  option.set_ = [&value](const std::string& text) { value = text; };
  return option;
}

Option& Options::add(const std::string& names, Size& value, const std::string& help) {
  Option& option = add_option(names, "WxH", help);
  if (value != Size{}) option.default_ = text_of(value.width) + "x" + text_of(value.height);
  option.set_ = [&](const std::string& text) {
    const auto sides = two_integers(text, "xX");
    if (!sides || (*sides)[0] < 1 || (*sides)[1] < 1) option.refuse(text, "width x height, such as 640x480");
    value = {(*sides)[0], (*sides)[1]};
  };
  return option;
}

Option& Options::add(const std::string& names, std::vector<std::string>& value, const std::string& help) {
  Option& option = add_files(names.find(' ') == std::string::npos ? names + " NAME,…" : names, value, help);
  option.set_ = [&value](const std::string& text) {
    for (const std::string& word : CLI::detail::split(text, ',')) value.push_back(word);
  };
  return option;
}

Option& Options::add_files(const std::string& names, std::vector<std::string>& value,
                           const std::string& help) {
  Option& option = add_option(names, "FILE", help);
  option.parsed_->expected(-1);
  option.list_ = true;
  option.set_ = [&value](const std::string& text) { value.push_back(text); };
  return option;
}

Option& Options::add_memory(const std::string& names, std::size_t& value, const std::string& help) {
  Option& option = add_option(names, "SIZE", help);
  option.default_ = text_of(value);
  option.set_ = [&](const std::string& text) {
    const std::optional<std::size_t> bytes = memory_of(text);
    if (!bytes)
      option.refuse(text, text.starts_with('-') ? "a size that is not negative"
                                                : "bytes, or a size such as 512M or 2G");
    value = *bytes;
  };
  return option;
}

Option& Options::add_flag(const std::string& names, bool& value, const std::string& help) {
  return add_flag(
      names, [&value](bool on) { value = on; }, help);
}

Option& Options::add_flag(const std::string& names, const std::function<void(bool)>& take,
                          const std::string& help) {
  Option& option = add_flag(names, help);
  option.set_ = [take](const std::string& text) { take(text == "true"); };
  return option;
}

Option& Options::add_flag(const std::string& names, const std::string& help) {
  Option& option = *options_.emplace_back(std::make_unique<Option>());
  option.names_ = names;
  option.help_ = help;
  option.group_ = group_;
  option.parsed_ = app_->add_flag(names);
  option.set_ = [](const std::string&) {};
  return option;
}

Option& Options::add_switch(const std::string& name, bool& value, const std::string& help) {
  return add_switch(
      name, value, [&value](bool on) { value = on; }, help);
}

Option& Options::add_switch(const std::string& name, bool initial, const std::function<void(bool)>& take,
                            const std::string& help) {
  Option& option = add_flag(name + ",!--no-" + name.substr(2), help);
  option.set_ = [take](const std::string& text) { take(text == "true"); };
  option.switch_ = true;
  option.default_ = initial ? "on" : "off";
  return option;
}

Option& Options::add_text(const std::string& names, const std::string& value_name, const std::string& initial,
                          const std::string& give, const std::function<bool(const std::string&)>& take,
                          const std::string& help) {
  Option& option = add_option(names, value_name, help);
  option.default_ = initial;
  option.set_ = [&option, give, take](const std::string& text) {
    if (!take(text)) option.refuse(text, give);
  };
  return option;
}

// CLI11 would accept "--flag=value" and interpret the value.
void Options::check_flags(const Arguments& arguments) const {
  for (const std::string& argument : arguments) {
    if (argument == "--") return;
    const std::size_t equals = argument.find('=');
    if (equals == std::string::npos || !argument.starts_with("--")) continue;
    const std::string name = argument.substr(0, equals);
    const CLI::Option* option = app_->get_option_no_throw(name);
    if (option != nullptr && option->get_items_expected_max() == 0)
      throw UsageError(name + " takes no value: leave out " + argument.substr(equals));
  }
}

void Options::refuse_unknown(const std::string& hint) const {
  const std::vector<std::string> unknown = app_->remaining();
  for (const std::string& word : unknown)
    for (const Advice& advice : advice_)
      if (word.substr(0, word.find('=')) == advice.option)
        throw UsageError(std::string(advice.text).replace(advice.text.find("{}"), 2, advice.option));
  throw UsageError("unknown option or argument: " + join(unknown, " ") + hint);
}

void Options::parse(const Arguments& arguments) {
  const std::string hint = "; see '" + name_ + " --help'";
  check_flags(arguments);
  try {
    // CLI11 takes the arguments last to first.
    app_->parse(Arguments(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForAllHelp&) {
    throw HelpRequest(help(true));
  } catch (const CLI::CallForHelp&) {
    throw HelpRequest(help(false));
  } catch (const CLI::ExtrasError&) {
    refuse_unknown(hint);
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string what = error.what();
    throw UsageError(what.substr(0, what.find(':')) + " needs a value" + hint);
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what() + hint);
  }
}

void Options::set_values() const {
  for (const auto& option : options_) {
    const std::vector<std::string>& values = option->parsed_->results();
    const bool repeats = option->list_ || option->parsed_->get_items_expected_max() == 0;
    if (values.size() > 1 && !repeats)
      throw UsageError(option->parsed_->get_name() + " is given more than once: give it once");
    for (const std::string& value : values) option->set_(value);
  }
}

OptionList Options::list() const {
  OptionList list;
  for (const auto& option : options_) {
    std::vector<std::string> names = CLI::detail::split(option->names_, ',');
    // "!--no-check"
    for (std::string& name : names) std::erase(name, '!');
    const std::string& value = option->value_name_;
    list.options.push_back(
        {names, option->help_, option->choices_, option->is_argument(), !value.empty(),
         value == "FILE" || value == "DIR" || (option->is_argument() && option->choices_.empty()),
         option->expert_});
  }
  list.options.push_back({{"-h", "--help"}, "List the options"});
  list.options.push_back({{"--help-all"}, "List all options"});
  return list;
}

void Options::read(const Arguments& arguments) {
  if (std::find(arguments.begin(), arguments.end(), list_options) != arguments.end()) throw list();
  parse(arguments);
  set_values();
}

void Options::read_known(const Arguments& arguments) {
  app_->set_help_flag();
  app_->set_help_all_flag();
  app_->allow_extras();
  parse(arguments);
  set_values();
}

bool Options::given(const std::string& name) const {
  const CLI::Option* option = app_->get_option_no_throw(name);
  return option != nullptr && option->count() > 0;
}

void Options::refuse(std::initializer_list<const char*> names, const std::string& why) const {
  for (const std::string name : names)
    if (given(name)) throw UsageError(name + why);
}

std::string Options::usage() const {
  std::string needed, arguments;
  for (const auto& option : options_) {
    if (option->is_argument())
      arguments += option->required_ ? " " + option->names_ : " [" + option->names_ + "]";
    else if (option->required_)
      needed += " " + option->shown_names();
  }
  return "Usage: " + name_ + needed + " [OPTION …]" + arguments;
}

std::string Options::help(bool all) const {
  std::vector<std::pair<std::string, std::string>> sections;
  bool leaves_out = false;
  for (const auto& option : options_) {
    leaves_out = leaves_out || (option->expert_ && !all);
    if (option->expert_ && !all) continue;
    auto section = std::find_if(sections.begin(), sections.end(),
                                [&](const auto& other) { return other.first == option->group_; });
    if (section == sections.end()) section = sections.insert(section, {option->group_, ""});
    section->second += option->help_line();
  }
  std::string text = description_ + "\n\n" + usage() + "\n";
  for (const auto& [heading, lines] : sections) text += "\n" + heading + ":\n" + lines;
  std::string footer = footer_;
  if (leaves_out)
    footer += (footer.empty() ? "" : " ") + std::string("--help-all also lists the options for experts.");
  return footer.empty() ? text : text + "\n" + wrapped(footer, 0, 0) + "\n";
}

}  // namespace parallax::tool
