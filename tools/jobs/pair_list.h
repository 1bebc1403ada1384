// SPDX-License-Identifier: Apache-2.0
// Many pairs, as a list, or two folders or patterns; and the names of their outputs.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tools/command/command_files.h"
#include "tools/command/json.h"
#include "tools/command/method_options.h"
#include "tools/files/frames.h"

namespace parallax::tool {

struct ListedPair {
  std::size_t number = 0;  // in the list, from 0
  std::string left, right;
  // Empty or missing unless the list says so.
  std::string truth = {}, calibration = {}, left_mask = {}, right_mask = {};
  std::optional<int> min_disparity = {}, disparities = {};

  std::array<std::string, 6> files() const {
    return {left, right, left_mask, right_mask, calibration, truth};
  }
};

// The pairs of a list: lines of "LEFT RIGHT", or of JSON objects; "-" is standard input. Names are relative
// to the folder of the list. With `right`, both are folders, patterns, or pictures, as 'parallax match' takes
// them. No picture is opened.
// \throws Error (file) for a list that cannot be read, naming the line; UsageError
std::vector<ListedPair> list_pairs(const std::string& left, const std::string& right);

// How pictures are read, for plans and tables of results.
nlohmann::ordered_json to_json(const PictureOptions& pictures);
// \throws nlohmann::json::exception, std::out_of_range
PictureOptions picture_options(const nlohmann::ordered_json& json);

// Takes the files of a pair and what its entry says.
// \throws Error (argument) for a wrong range
void take_listed(const ListedPair& listed, Input& input, Search& search);

// "pair 3 (a/left.png)"
std::string name_of(const ListedPair& pair);

// A pattern of the names of outputs, such as out/{folder}/{name}.pfm, or a folder.
class OutputPattern {
 public:
  // {name} is that of the left file without its extension, {folder} that of its folder, {number} that of the
  // pair with six digits. A folder stands for folder/{name}EXTENSION, an empty text for nothing.
  // \throws UsageError, naming this option, for other words in braces
  OutputPattern(const std::string& option, const std::string& text, const std::string& extension);

  bool empty() const { return text_.empty(); }
  // The pattern, with the name of a file.
  const std::string& text() const { return text_; }
  std::string of(const ListedPair& pair) const;
  const std::string& option() const { return option_; }

 private:
  std::string option_, text_;
};

// Registers the inputs and outputs of all pairs. Whether inputs are there is not checked.
// \throws UsageError naming both when two outputs, or an output and an input, are one file
void check_names(const std::vector<ListedPair>& pairs, const std::vector<OutputPattern>& outputs,
                 CommandFiles& files);

}  // namespace parallax::tool
