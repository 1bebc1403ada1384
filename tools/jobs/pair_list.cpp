// SPDX-License-Identifier: Apache-2.0
#include "tools/jobs/pair_list.h"

#include <cmath>
#include <filesystem>
#include <iostream>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <unordered_map>

#include "parallax/error.h"
#include "parallax/formats.h"

#include "tools/command/command.h"
#include "tools/files/pictures.h"
#include "tools/files/video.h"

namespace parallax::tool {
namespace {

namespace fs = std::filesystem;
using json = nlohmann::ordered_json;

// A line of a list, with what its messages need.
class ListLine {
 public:
  ListLine(const std::string& list, std::size_t number, const fs::path& folder, const std::string& text)
      : list_(list), number_(number), folder_(folder), text_(text) {}

  ListedPair words() const {
    ListedPair pair;
    std::vector<std::string> words;
    const bool has_tabs = text_.find('\t') != std::string::npos;
    std::istringstream stream(text_);
    for (std::string word; has_tabs ? std::getline(stream, word, '\t') : stream >> word;)
      words.push_back(word);
    if (words.size() != 2 || words[0].empty() || words[1].empty())
      fail("has " + std::to_string(words.size()) +
           " words: give LEFT and RIGHT, separated by a tab if names contain blanks");
    pair.left = resolve(words[0]);
    pair.right = resolve(words[1]);
    return pair;
  }

  ListedPair object() const {
    const json object = parsed();
    ListedPair pair;
    for (const auto& [key, value] : object.items()) {
      if (std::string* name = path_of(pair, key)) {
        if (!value.is_string()) fail("has '" + key + "' that is not a string: give the name of a file");
        *name = resolve(value.get<std::string>());
      } else if (std::optional<int>* number = number_of(pair, key)) {
        if (!value.is_number_integer() || value < -1'000'000 || value > 1'000'000)
          fail("has '" + key + "' that is not an integer in range");
        *number = value.get<int>();
      } else {
        fail("has '" + key +
             "': known are left, right, truth, calib, left_mask, right_mask, min_disparity and disparities");
      }
    }
    if (pair.left.empty() || pair.right.empty()) fail("lacks a picture: give 'left' and 'right'");
    return pair;
  }

 private:
  json parsed() const {
    try {
      return parse_json_object(text_);
    } catch (const JsonError& error) {
      fail(std::string("is ") + error.what());
    }
  }

  static std::string* path_of(ListedPair& pair, const std::string& key) {
    const std::pair<const char*, std::string*> paths[] = {
        {"left", &pair.left},         {"right", &pair.right},         {"truth", &pair.truth},
        {"calib", &pair.calibration}, {"left_mask", &pair.left_mask}, {"right_mask", &pair.right_mask}};
    for (const auto& [name, path] : paths)
      if (key == name) return path;
    return nullptr;
  }
  static std::optional<int>* number_of(ListedPair& pair, const std::string& key) {
    if (key == "min_disparity") return &pair.min_disparity;
    return key == "disparities" ? &pair.disparities : nullptr;
  }
  std::string resolve(const std::string& name) const {
    return name.empty() ? name : (folder_ / name).string();
  }
  [[noreturn]] void fail(const std::string& why) const {
    throw Error(ErrorCategory::file, list_ + ": line " + std::to_string(number_) + " " + why);
  }

  const std::string& list_;
  std::size_t number_;
  const fs::path& folder_;
  const std::string& text_;
};

std::vector<ListedPair> read_list(std::istream& stream, const std::string& name, const fs::path& folder) {
  std::vector<ListedPair> pairs;
  bool objects = has_extension(name, {".jsonl"});
  std::string line;
  for (std::size_t number = 1; std::getline(stream, line); ++number) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.find_first_not_of(" \t") == std::string::npos) continue;
    // Standard input has no extension.
    if (pairs.empty() && line.starts_with('{')) objects = true;
    if (!objects && line.starts_with('#')) continue;
    const ListLine parsed(name, number, folder, line);
    pairs.push_back(objects ? parsed.object() : parsed.words());
    pairs.back().number = pairs.size() - 1;
  }
  if (stream.bad()) throw Error(ErrorCategory::file, "cannot read " + name + ": check the disk");
  if (pairs.empty())
    throw Error(ErrorCategory::file, name + " has no pairs: give a list with one pair a line");
  return pairs;
}

std::vector<ListedPair> read_list(const std::string& path) {
  if (path == "-") return read_list(std::cin, "standard input", {});
  std::error_code unknown;
  const bool is_folder = fs::is_directory(path, unknown);
  // A pipe can be read once only.
  const std::vector<std::byte> bytes = is_folder ? std::vector<std::byte>() : read_file(path);
  if (is_folder || begins_as_picture(bytes))
    throw UsageError(path + " is not a list of pairs: give RIGHT, too");
  std::istringstream lines(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  return read_list(lines, path, fs::path(path).parent_path());
}

std::string folder_of(const ListedPair& pair) {
  return fs::absolute(pair.left).lexically_normal().parent_path().filename().string();
}

}  // namespace

std::vector<ListedPair> list_pairs(const std::string& left, const std::string& right) {
  if (right.empty()) return read_list(left);
  for (const std::string& side : {left, right}) {
    std::error_code unknown;
    if (fs::is_regular_file(side, unknown) && is_video(side))
      throw UsageError(side + " is not a picture: give videos to 'parallax match', and a list alone");
  }
  Input input;
  input.left = left;
  input.right = right;
  const std::unique_ptr<FrameSource> frames = open_sequence(input);
  std::vector<ListedPair> pairs;
  if (!frames) return {{0, left, right}};
  for (const Frame& frame : frames->names()) pairs.push_back({pairs.size(), frame.left, frame.right});
  return pairs;
}

void take_listed(const ListedPair& listed, Input& input, Search& search) {
  input.left = listed.left;
  input.right = listed.right;
  const bool has_files =
      !listed.calibration.empty() || !listed.left_mask.empty() || !listed.right_mask.empty();
  if (has_files && !input.rig.empty())
    throw Error(ErrorCategory::file,
                listed.left +
                    " has a calibration or masks of rectified pictures in the list: leave them out with "
                    "--rig");
  if (!listed.calibration.empty()) input.calibration = {listed.calibration};
  if (!listed.left_mask.empty()) input.left_mask = listed.left_mask;
  if (!listed.right_mask.empty()) input.right_mask = listed.right_mask;
  if (listed.min_disparity) search.parameters.min_disparity() = *listed.min_disparity;
  if (listed.disparities) search.parameters.disparities() = *listed.disparities;
  search.parameters.validate();
  search.range_given = search.range_given || listed.disparities.has_value();
}

nlohmann::ordered_json to_json(const PictureOptions& pictures) {
  nlohmann::ordered_json json{{"ignore_orientation", pictures.ignore_orientation},
                              {"bayer", static_cast<int>(pictures.bayer)}};
  if (pictures.range) json["range"] = {pictures.range->low, pictures.range->high, pictures.range_text};
  if (pictures.no_data)
    json["no_data"] =
        std::isnan(*pictures.no_data) ? nlohmann::ordered_json() : nlohmann::ordered_json(*pictures.no_data);
  return json;
}

PictureOptions picture_options(const nlohmann::ordered_json& json) {
  PictureOptions pictures;
  pictures.ignore_orientation = json.at("ignore_orientation").get<bool>();
  const int bayer = json.at("bayer").get<int>();
  if (bayer < 0 || bayer > static_cast<int>(PictureOptions::Bayer::bggr))
    throw std::out_of_range("its mosaic is unknown");
  pictures.bayer = static_cast<PictureOptions::Bayer>(bayer);
  if (json.contains("range")) {
    const nlohmann::ordered_json& range = json["range"];
    pictures.range = {range.at(0).get<double>(), range.at(1).get<double>()};
    if (!(pictures.range->low < pictures.range->high))
      throw std::out_of_range("its range of values is empty");
    pictures.range_text = range.at(2).get<std::string>();
  }
  if (json.contains("no_data"))
    pictures.no_data =
        json["no_data"].is_null() ? std::numeric_limits<double>::quiet_NaN() : json["no_data"].get<double>();
  return pictures;
}

std::string name_of(const ListedPair& pair) {
  return "pair " + std::to_string(pair.number) + " (" + pair.left + ")";
}

OutputPattern::OutputPattern(const std::string& option, const std::string& text, const std::string& extension)
    : option_(option), text_(text) {
  if (text_.empty()) return;
  if (names_folder(text_)) text_ = (fs::path(text_) / ("{name}" + extension)).string();
  for (std::size_t open = text_.find('{'); open != std::string::npos; open = text_.find('{', open + 1)) {
    const std::string word = text_.substr(open, text_.find('}', open) - open + 1);
    if (word != "{name}" && word != "{folder}" && word != "{number}")
      throw UsageError(option + " is " + text + ": " + word +
                       " is not known; give {name}, {folder} or {number}");
  }
}

std::string OutputPattern::of(const ListedPair& pair) const {
  static const NumberPattern six_digits = *NumberPattern::parse("%06d");
  std::string name;
  for (std::size_t at = 0; at < text_.size();) {
    if (text_[at] != '{') {
      name += text_[at++];
      continue;
    }
    const std::size_t end = text_.find('}', at);
    const std::string word = text_.substr(at + 1, end - at - 1);
    name += word == "name"     ? fs::path(pair.left).stem().string()
            : word == "folder" ? folder_of(pair)
                               : six_digits.name(pair.number);
    at = end + 1;
  }
  return name;
}

void check_names(const std::vector<ListedPair>& pairs, const std::vector<OutputPattern>& outputs,
                 CommandFiles& files) {
  for (const ListedPair& pair : pairs)
    for (const std::string& path : pair.files()) files.reads_unchecked(path);
  // Names that are the same are found first: the message says why, and which pairs.
  for (const OutputPattern& output : outputs) {
    if (output.empty()) continue;
    std::unordered_map<std::string, const ListedPair*> taken;
    for (const ListedPair& pair : pairs) {
      const std::string path = output.of(pair);
      const auto [other, is_free] = taken.try_emplace(path, &pair);
      std::error_code unknown;
      if (is_free || fs::is_character_file(path, unknown)) continue;
      throw UsageError(output.option() + " gives " + name_of(*other->second) + " and " + name_of(pair) +
                       " one name, " + path + ": add {folder} or {number}");
    }
  }
  for (const OutputPattern& output : outputs)
    for (const ListedPair& pair : pairs) files.writes(output.of(pair));
}

}  // namespace parallax::tool
