// SPDX-License-Identifier: Apache-2.0
// Runs plan_once.cpp from a test.
#pragma once

#include <cstdio>
#include <map>
#include <sstream>
#include <string>

#include <dlfcn.h>

namespace parallax::test {

// Its output lines by the word before the colon. It inherits the environment of this process.
inline std::map<std::string, std::string> plan_once(const std::string& device) {
  std::FILE* said = popen((std::string(PARALLAX_PLAN_ONCE) + " " + device).c_str(), "r");
  std::string text;
  for (int c = 0; said != nullptr && (c = std::fgetc(said)) != EOF;) text += static_cast<char>(c);
  if (said == nullptr || pclose(said) != 0) text += "failed: yes\n";
  std::map<std::string, std::string> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(": ");
    found[line.substr(0, colon)] = colon == std::string::npos ? "" : line.substr(colon + 2);
  }
  return found;
}

}  // namespace parallax::test
