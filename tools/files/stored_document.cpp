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

namespace parallax::tool {
namespace {

// 0 for a number that is not a small integer: converted to an int, it could wrap to the right value.
int count_of(double number) {
  return number >= 1 && number <= static_cast<double>(most_stored_values) && number == std::floor(number)
             ? static_cast<int>(number)
             : 0;
}

class YamlDocument : public StoredDocument {
 public:
  explicit YamlDocument(std::string_view text) : root_(YAML::Load(std::string(text))) {}

  bool has(const std::string& key) const override { return root_.IsMap() && root_[key]; }

  StoredMatrix matrix(const std::string& key) const override {
    if (!has(key) || !root_[key].IsMap()) return {};
    const YAML::Node node = root_[key];
    return {count_of(number(node["rows"])), count_of(number(node["cols"])), list(node["data"])};
  }

  std::vector<double> numbers(const std::string& key) const override {
    if (!has(key)) return {};
    const YAML::Node node = root_[key];
    return node.IsScalar() ? std::vector{number(node)} : list(node);
  }

  std::string text(const std::string& key) const override {
    return has(key) && root_[key].IsScalar() ? root_[key].Scalar() : "";
  }

 private:
  static double number(const YAML::Node& node) {
    return node && node.IsScalar() ? node.as<double>(NAN) : NAN;
  }

  static std::vector<double> list(const YAML::Node& node) {
    std::vector<double> values;
    if (!node || !node.IsSequence()) return values;
    for (const YAML::Node& value : node) {
      if (values.size() == most_stored_values) break;
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

  bool has(const std::string& key) const override { return root_.is_object() && root_.contains(key); }

  StoredMatrix matrix(const std::string& key) const override {
    if (!has(key) || !root_[key].is_object()) return {};
    const nlohmann::json& node = root_[key];
    const auto count = [&](const char* what) {
      return node.contains(what) ? count_of(number(node[what])) : 0;
    };
    return {count("rows"), count("cols"), node.contains("data") ? list(node["data"]) : std::vector<double>()};
  }

  std::vector<double> numbers(const std::string& key) const override {
    if (!has(key)) return {};
    return root_[key].is_number() ? std::vector{number(root_[key])} : list(root_[key]);
  }

  std::string text(const std::string& key) const override {
    return has(key) && root_[key].is_string() ? root_[key].get<std::string>() : "";
  }

 private:
  static double number(const nlohmann::json& node) { return node.is_number() ? node.get<double>() : NAN; }

  static std::vector<double> list(const nlohmann::json& node) {
    std::vector<double> values;
    if (!node.is_array()) return values;
    for (std::size_t i = 0; i < node.size() && i < most_stored_values; ++i) values.push_back(number(node[i]));
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

  bool has(const std::string& key) const override { return find(key) != nullptr; }

  StoredMatrix matrix(const std::string& key) const override {
    const tinyxml2::XMLElement* node = find(key);
    const auto* data = node != nullptr ? node->FirstChildElement("data") : nullptr;
    if (data == nullptr) return {};
    const auto count = [&](const char* what) {
      const std::vector<double> values = list(node->FirstChildElement(what));
      return values.size() == 1 ? count_of(values[0]) : 0;
    };
    return {count("rows"), count("cols"), list(data)};
  }

  std::vector<double> numbers(const std::string& key) const override { return list(find(key)); }

  std::string text(const std::string& key) const override {
    const tinyxml2::XMLElement* node = find(key);
    return node != nullptr && node->GetText() != nullptr ? node->GetText() : "";
  }

 private:
  const tinyxml2::XMLElement* find(const std::string& key) const {
    return document_.RootElement()->FirstChildElement(key.c_str());
  }

  static std::vector<double> list(const tinyxml2::XMLElement* node) {
    std::vector<double> values;
    if (node == nullptr || node->GetText() == nullptr) return values;
    std::string_view text = node->GetText();
    constexpr std::string_view spaces = " \t\r\n";
    for (std::size_t start; (start = text.find_first_not_of(spaces)) != std::string_view::npos;) {
      if (values.size() == most_stored_values) break;
      text.remove_prefix(start);
      const std::string_view word = text.substr(0, text.find_first_of(spaces));
      double value = NAN;
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
      if (error != std::errc{} || end != word.data() + word.size()) value = NAN;
      values.push_back(value);
      text.remove_prefix(word.size());
    }
    return values;
  }

  tinyxml2::XMLDocument document_;
};

}  // namespace

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
