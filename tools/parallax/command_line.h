// The arguments of a subcommand, by CLI11. Apart from command.h, for it takes seconds to compile.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "tools/parallax/command.h"

namespace parallax::tool {

// The CLI11 app of a subcommand.
class CommandLine : public CLI::App {
 public:
  CommandLine(const std::string& subcommand, const std::string& description);

  // \throws UsageError, HelpRequest
  void read(const Arguments& arguments);

 private:
  void check_flags(const Arguments& arguments) const;
};

// Option whose values have names.
template <class Value>
CLI::Option* add_choice(CLI::App& app, const std::string& option, Value& value,
                        const std::vector<std::pair<std::string, Value>>& choices, const std::string& help) {
  std::vector<std::string> names;
  std::string default_name;
  for (const auto& [name, choice] : choices) {
    names.push_back(name);
    if (choice == value) default_name = name;
  }
  const auto set = [&value, choices](const std::string& chosen) {
    for (const auto& [name, choice] : choices)
      if (name == chosen) value = choice;
  };
  return app.add_option_function<std::string>(option, set, help)
      ->check(CLI::IsMember(names))
      ->default_str(default_name)
      ->run_callback_for_default(false);
}

// A whole number of at most 64 bits, perhaps with a unit. CLI11 would wrap a negative one around, and take
// the largest for one that is too large.
CLI::Validator natural_number();

// CLI::Range lets "nan" through.
CLI::Validator number_between(double low, double high);

}  // namespace parallax::tool
