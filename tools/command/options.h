// SPDX-License-Identifier: Apache-2.0
// The options of a subcommand. Only options.cpp includes CLI11, which takes seconds to compile.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/command/command.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace parallax::tool {

template <class Value>
using Choices = std::vector<std::pair<std::string, Value>>;

template <class Value>
std::string name_of(const Choices<Value>& choices, Value value) {
  for (const auto& [name, choice] : choices)
    if (choice == value) return name;
  return "";
}

// The numbers of a text such as "8x6": two integers, separated by one of these characters.
std::optional<std::array<int, 2>> two_integers(const std::string& text, std::string_view separators);

// Further properties of an option that was added.
class Option {
 public:
  Option& required();
  Option& range(double least, double most) {
    range_ = {least, most};
    return *this;
  }
  // Shown by --help-all only.
  Option& expert() {
    expert_ = true;
    return *this;
  }
  Option& repeats() {
    list_ = true;
    return *this;
  }
  // The help shows no default, because the value counts only if it is given.
  Option& without_default() {
    default_.clear();
    return *this;
  }
  // Values that shells offer; others are not refused.
  Option& offer(const std::vector<std::string>& values) {
    choices_ = values;
    return *this;
  }

 private:
  friend class Options;

  bool is_argument() const { return !names_.starts_with('-'); }
  std::string shown_names() const;
  std::string help_line() const;
  [[noreturn]] void refuse(const std::string& text, const std::string& remedy) const;
  template <class Number>
  Number read_number(const std::string& text) const;

  std::string names_, value_name_, help_, default_, group_;  // names in the syntax of CLI11: "-o,--output"
  std::vector<std::string> choices_;
  std::optional<std::pair<double, double>> range_;
  std::function<void(const std::string& text)> set_;
  bool switch_ = false, list_ = false, required_ = false, expert_ = false;
  CLI::Option* parsed_ = nullptr;
};

// Description of an option for completion in a shell.
struct OptionSummary {
  std::vector<std::string> names;  // "-o" and "--output", or "LEFT" for an argument
  std::string help;
  std::vector<std::string> choices = {};
  bool argument = false, takes_value = false, names_file = false, expert = false;
};

// Thrown by Options::read() for the argument list_options, which cannot be typed, as it contains a NUL.
struct OptionList {
  std::vector<OptionSummary> options;
};
inline const std::string list_options("--list-options\0", 15);

// An option that another command has, and what to do instead here; {} stands for its name.
struct Advice {
  std::string option, text;
};

class Options {
 public:
  Options(const std::string& subcommand, const std::string& description);
  ~Options();

  // The heading of the options added from now on.
  void group(const std::string& heading) { group_ = heading; }

  // An option with a value, "-o,--output FILE", or, without a dash, an argument, "LEFT". `value` contains
  // the default. The name of the value may be left out: it is N for integers, X for other numbers.
  template <class Number>
  Option& add(const std::string& names, Number& value, const std::string& help);
  Option& add(const std::string& names, std::string& value, const std::string& help);
  Option& add(const std::string& names, Size& value, const std::string& help);
  // Separated by commas.
  Option& add(const std::string& names, std::vector<std::string>& value, const std::string& help);
  // One name or more, "FILE" or "-o,--output FILE".
  Option& add_files(const std::string& names, std::vector<std::string>& value, const std::string& help);
  // Bytes, or with a unit of 1024: "512M", "2G".
  Option& add_memory(const std::string& names, std::size_t& value, const std::string& help);
  Option& add_flag(const std::string& names, bool& value, const std::string& help);
  Option& add_flag(const std::string& names, const std::string& help);
  // One whose value a function takes.
  Option& add_flag(const std::string& names, const std::function<void(bool)>& take, const std::string& help);
  // A switch with its opposite, "--early-out" and "--no-early-out". The last one given counts.
  Option& add_switch(const std::string& name, bool& value, const std::string& help);
  template <class Value>
  Option& add_choice(const std::string& names, Value& value, const Choices<Value>& choices,
                     const std::string& help) {
    std::vector<std::string> words;
    for (const auto& choice : choices) words.push_back(choice.first);
    const auto take = [&value, choices, words](const std::string& text) {
      const auto found = std::find(words.begin(), words.end(), text);
      if (found == words.end()) return false;
      value = choices[static_cast<std::size_t>(found - words.begin())].second;
      return true;
    };
    return add_text(names, "NAME", name_of(choices, value), "one of " + join(words), take,
                    help + ": " + join(words))
        .offer(words);
  }

  // An option that a function parses. Where it returns false, the message says what to give: "a number".
  Option& add_text(const std::string& names, const std::string& value_name, const std::string& initial,
                   const std::string& give, const std::function<bool(const std::string&)>& take,
                   const std::string& help);
  // A switch with its opposite, whose value a function takes.
  Option& add_switch(const std::string& name, bool initial, const std::function<void(bool)>& take,
                     const std::string& help);

  // read() refuses these unknown options with their advice.
  void advise(std::vector<Advice> advice) { advice_ = std::move(advice); }
  void footer(const std::string& text) { footer_ = text; }

  // Parses the arguments and sets the values.
  // \throws UsageError, HelpRequest, OptionList
  void read(const Arguments& arguments);
  // The same, but skips unknown options and --help.
  // \throws UsageError
  void read_known(const Arguments& arguments);

  // False for an option that this command does not have.
  bool given(const std::string& name) const;
  // \throws UsageError of its name and `why` if one of these options is given
  void refuse(std::initializer_list<const char*> names, const std::string& why) const;

 private:
  Option& add_option(const std::string& names, const std::string& value_name, const std::string& help);
  void check_flags(const Arguments& arguments) const;
  void parse(const Arguments& arguments);
  [[noreturn]] void refuse_unknown(const std::string& hint) const;
  void set_values() const;
  OptionList list() const;
  std::string usage() const;
  std::string help(bool all) const;

  std::unique_ptr<CLI::App> app_;
  std::string name_, description_, footer_, group_ = "Options";
  std::vector<std::unique_ptr<Option>> options_;
  std::vector<Advice> advice_;
};

}  // namespace parallax::tool
