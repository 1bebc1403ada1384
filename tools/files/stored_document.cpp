// SPDX-License-Identifier: Apache-2.0
#include "tools/files/stored_document.h"

#include <charconv>
#include <cmath>
#include <new>
#include <stdexcept>

#include <tinyxml2.h>
#include <yaml-cpp/yaml.h>

#include "parallax/error.h"

#include "tools/command/json.h"
#include "tools/files/pictures.h"

namespace parallax::tool {
namespace {

// 0 for a number that is not a small integer: converted to an int, it could wrap to the right value.
int count_of(double number) {
  return number >= 1 && number <= static_cast<double>(max_stored_values) && number == std::floor(number)
             ? static_cast<int>(number)
             : 0;
}

class YamlDocument : public StoredDocument {
 public:
  explicit YamlDocument(std::string_view text) : root_(YAML::Load(std::string(text))) {}

  StoredEntry entry(const std::string& key) const override {
    if (!root_.IsMap() || !root_[key]) return {};
    const YAML::Node node = root_[key];
    StoredEntry entry{.is_there = true};
    if (node.IsMap())
      entry.matrix = {count_of(number(node["rows"])), count_of(number(node["cols"])), list(node["data"])};
    entry.numbers = node.IsScalar() ? std::vector{number(node)} : list(node);
    if (node.IsScalar()) entry.text = node.Scalar();
    return entry;
  }

 private:
  static double number(const YAML::Node& node) {
    return node && node.IsScalar() ? node.as<double>(NAN) : NAN;
  }

  static std::vector<double> list(const YAML::Node& node) {
    std::vector<double> values;
    if (!node || !node.IsSequence()) return values;
    for (const YAML::Node& value : node) {
      if (values.size() == max_stored_values) break;
      values.push_back(number(value));
    }
    return values;
  }

  YAML::Node root_;
};

// nlohmann's parser is not recursive, nor is the destruction of its values.
class JsonDocument : public StoredDocument {
 public:
  explicit JsonDocument(std::string_view text) : root_(nlohmann::json::parse(text, nullptr, true, true)) {}

  StoredEntry entry(const std::string& key) const override {
    if (!root_.is_object() || !root_.contains(key)) return {};
    const nlohmann::json& node = root_[key];
    StoredEntry entry{.is_there = true};
    if (node.is_object()) {
      const auto part = [&](const char* name) { return node.value(name, nlohmann::json()); };
      entry.matrix = {count_of(number(part("rows"))), count_of(number(part("cols"))), list(part("data"))};
    }
    entry.numbers = node.is_number() ? std::vector{number(node)} : list(node);
    if (node.is_string()) entry.text = node.get<std::string>();
    return entry;
  }

 private:
  static double number(const nlohmann::json& node) { return node.is_number() ? node.get<double>() : NAN; }

  static std::vector<double> list(const nlohmann::json& node) {
    std::vector<double> values;
    if (!node.is_array()) return values;
    for (std::size_t i = 0; i < node.size() && i < max_stored_values; ++i) values.push_back(number(node[i]));
    return values;
  }

  nlohmann::json root_;
};

// Entries are children of the root, <opencv_storage>.
class XmlDocument : public StoredDocument {
 public:
  explicit XmlDocument(std::string_view text) {
    if (document_.Parse(text.data(), text.size()) != tinyxml2::XML_SUCCESS ||
        document_.RootElement() == nullptr)
      throw std::runtime_error("not XML");
  }

  StoredEntry entry(const std::string& key) const override {
    const tinyxml2::XMLElement* node = document_.RootElement()->FirstChildElement(key.c_str());
    if (node == nullptr) return {};
    StoredEntry entry{.is_there = true};
    const auto count = [&](const char* what) {
      const std::vector<double> values = list(node->FirstChildElement(what));
      return values.size() == 1 ? count_of(values[0]) : 0;
    };
    if (const auto* data = node->FirstChildElement("data"))
      entry.matrix = {count("rows"), count("cols"), list(data)};
    entry.numbers = list(node);
    if (node->GetText() != nullptr) entry.text = node->GetText();
    return entry;
  }

 private:
  static std::vector<double> list(const tinyxml2::XMLElement* node) {
    if (node == nullptr || node->GetText() == nullptr) return {};
    std::vector<double> values;
    std::string_view text = node->GetText();
    constexpr std::string_view spaces = " \t\r\n";
    for (std::size_t start; (start = text.find_first_not_of(spaces)) != std::string_view::npos;) {
      if (values.size() == max_stored_values) break;
      text.remove_prefix(start);
      const std::string_view word = text.substr(0, text.find_first_of(spaces));
      double value = NAN;
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
      values.push_back(error == std::errc{} && end == word.data() + word.size() ? value : NAN);
      text.remove_prefix(word.size());
    }
    return values;
  }

  tinyxml2::XMLDocument document_;
};

}  // namespace

StoredFormat stored_format_of(const std::string& path) {
  if (has_extension(path, {".json"})) return StoredFormat::json;
  return has_extension(path, {".xml"}) ? StoredFormat::xml : StoredFormat::yaml;
}

std::unique_ptr<StoredDocument> parse_stored(StoredFormat format, std::string_view text,
                                             const std::string& name, const std::string& give) {
  try {
    if (format == StoredFormat::yaml) return std::make_unique<YamlDocument>(text);
    if (format == StoredFormat::json) return std::make_unique<JsonDocument>(text);
    return std::make_unique<XmlDocument>(text);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception&) {
    throw Error(ErrorCategory::file, name + " is not readable: give " + give);
  }
}

}  // namespace parallax::tool
