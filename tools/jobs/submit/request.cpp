// SPDX-License-Identifier: Apache-2.0
#include "tools/jobs/submit/request.h"

#include <filesystem>

namespace parallax::tool {
namespace {

// This program and its command for the plan, with options for where its files are.
Words command_words(const SubmitRequest& request, const std::string& command) {
  Words words{std::filesystem::read_symlink("/proc/self/exe").string(), command};
  for (const std::string& map : request.path_maps) words.insert(words.end(), {"--path-map", map});
  return words;
}

}  // namespace

Words match_words(const SubmitRequest& request) {
  Words words = command_words(request, "match");
  words.insert(words.end(), request.match_options.begin(), request.match_options.end());
  words.insert(words.end(), {"--plan", request.plan});
  return words;
}

Words status_words(const SubmitRequest& request) {
  Words words = command_words(request, "status");
  words.push_back(request.plan);
  return words;
}

Words merge_words(const SubmitRequest& request) {
  Words words = command_words(request, "merge");
  words.push_back(request.plan);
  return words;
}

Words retry_words(const SubmitRequest& request) {
  Words words = command_words(request, "submit");
  words.insert(words.end(), {"--slurm", "--lost", "--retries", std::to_string(request.retries - 1)});
  if (request.chunk > 0) words.insert(words.end(), {"--chunk", std::to_string(request.chunk)});
  words.insert(words.end(), request.match_options.begin(), request.match_options.end());
  for (const std::string& option : request.sbatch) words.push_back("--sbatch=" + option);
  words.push_back(request.plan);
  return words;
}

}  // namespace parallax::tool
