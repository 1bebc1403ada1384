// SPDX-License-Identifier: Apache-2.0
// Completion of the command line in bash, zsh and fish. The scripts of the shells ask this program, by
// 'parallax completion words WORD…', what the last word can become, so options always fit the method before
// it.
#include <algorithm>
#include <iostream>

#include "tools/command/command.h"
#include "tools/command/options.h"

namespace parallax::tool {
namespace {

constexpr const char* bash = R"script(# bash completion of parallax
_parallax() {
  local IFS=$'\n' word=${COMP_WORDS[COMP_CWORD]}
  COMPREPLY=($("${COMP_WORDS[0]}" completion words "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
  [ "${COMPREPLY[*]}" = :files ] || return 0
  compopt -o filenames 2>/dev/null
  COMPREPLY=($(compgen -f -- "${word#=}"))
}
complete -F _parallax parallax
)script";

constexpr const char* zsh = R"script(#compdef parallax
_parallax() {
  local -a lines described
  local line
  lines=(${(f)"$(${words[1]} completion words "${(@)words[2,CURRENT]}" 2>/dev/null)"})
  if [[ "$lines" == :files ]]; then
    _files
    return
  fi
  for line in $lines; do
    described+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
  done
  _describe parallax described
}
if [[ "$funcstack[1]" == _parallax ]]; then
  _parallax "$@"
else
  compdef _parallax parallax
fi
)script";

constexpr const char* fish = R"script(# fish completion of parallax
function __parallax_complete
    set -l word "$(commandline -ct)"
    set -l words (commandline -opc) $word
    set -l lines ($words[1] completion words $words[2..-1] 2>/dev/null)
    if test "$lines" = :files
        __fish_complete_path $word
    else if set -q lines[1]
        printf '%s\n' $lines
    end
end
complete -c parallax -f -a '(__parallax_complete)'
)script";

// The scripts then offer files.
constexpr const char* offer_files = ":files\n";

// What a word can become: a line of the candidate, a tab and its description; nothing for another candidate.
std::string line_of(const std::string& word, const std::string& candidate, const std::string& help) {
  if (!candidate.starts_with(word)) return "";
  return candidate + "\t" + help.substr(0, std::min(help.find("; "), help.find(": "))) + "\n";
}

// The words before the last that decide which options a command has, with their values.
Arguments deciding(const Arguments& words) {
  Arguments kept{list_options};
  for (std::size_t i = 1; i + 1 < words.size(); ++i)
    for (const std::string name : {"--method", "--preset", "--plan", "--suite"}) {
      if (words[i].starts_with(name + "=")) kept.push_back(words[i]);
      if (words[i] == name && i + 2 < words.size()) kept.insert(kept.end(), {name, words[i + 1]});
    }
  return kept;
}

std::vector<OptionSummary> options_of(const Command& command, const Arguments& arguments) {
  try {
    command.run(arguments);
  } catch (const OptionList& list) {
    return list.options;
  } catch (const std::exception&) {
    // A bad value: the options of the default method.
    if (arguments.size() > 1) return options_of(command, {list_options});
  }
  return {};
}

std::string values_of(const OptionSummary& option, const std::string& word, const std::string& before = "") {
  if (option.names_file) return offer_files;
  std::string lines;
  for (const std::string& choice : option.choices) lines += line_of(word, before + choice, "");
  return lines;
}

// `words` are those after the program's name; "=" is a word of its own in bash.
std::string complete(Arguments words, std::span<const Command> commands) {
  const bool after_equals = !words.empty() && words.back() == "=";
  std::erase(words, "=");
  if (words.empty() || after_equals) words.emplace_back();
  const std::string word = words.back();
  std::string lines;
  if (words.size() == 1) {
    for (const Command& command : commands) lines += line_of(word, command.name, command.summary);
    return lines;
  }
  const auto command = std::find_if(commands.begin(), commands.end(),
                                    [&](const Command& each) { return each.name == words.front(); });
  if (command == commands.end()) return "";
  const std::vector<OptionSummary> options = options_of(*command, deciding(words));
  const std::string& previous = words[words.size() - 2];
  for (const OptionSummary& option : options)
    for (const std::string& name : option.names) {
      if (option.takes_value && name == previous) return values_of(option, word);
      if (option.takes_value && word.starts_with(name + "=")) return values_of(option, word, name + "=");
      // Without a letter, those for experts would bury the others.
      if (!option.expert || word.size() > 2) lines += line_of(word, name, option.help);
    }
  if (word.starts_with("-")) return lines;
  // A choice that was made, such as "show" of "rig show", is followed by the next argument.
  const auto is_made = [&](const std::string& choice) {
    return std::find(words.begin() + 1, words.end() - 1, choice) != words.end() - 1;
  };
  const auto argument = std::find_if(options.begin(), options.end(), [&](const OptionSummary& each) {
    return each.argument && std::none_of(each.choices.begin(), each.choices.end(), is_made);
  });
  return argument == options.end() ? "" : values_of(*argument, word);
}

}  // namespace

int completion_command(const Arguments& arguments, std::span<const Command> commands) {
  if (!arguments.empty() && arguments.front() == "words") {
    std::cout << complete({arguments.begin() + 1, arguments.end()}, commands);
    return done;
  }
  const char* script = nullptr;
  Options options("completion", "Print the script that completes command lines of parallax in a shell.");
  options.add_choice<const char*>("SHELL", script, {{"bash", bash}, {"zsh", zsh}, {"fish", fish}}, "Shell")
      .required();
  options.footer("In bash: source <(parallax completion bash)");
  options.read(arguments);
  std::cout << script;
  return done;
}

}  // namespace parallax::tool
