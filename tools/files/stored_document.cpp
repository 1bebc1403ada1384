// SPDX-License-Identifier: Apache-2.0
#include "tools/files/stored_document.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <new>
#include <optional>
#include <stdexcept>

#include <tinyxml2.h>
#include <yaml-cpp/yaml.h>

#include "parallax/error.h"

#include "src/core/numbers.h"
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

constexpr std::size_t max_paths = 1000, max_depth = 8;

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  for (std::size_t start = 0; start <= path.size();) {
    const std::size_t end = std::min(path.find('/', start), path.size());
    parts.push_back(path.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

// The position that a part of a path names; SIZE_MAX for anything else.
std::size_t position_of(const std::string& part) {
  std::size_t position = 0;
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), position);
  return error == std::errc{} && end == part.data() + part.size() ? position : SIZE_MAX;
}

// A node of YAML.
class YamlNode {
 public:
  explicit YamlNode(const YAML::Node& node) : node_(node) {}
  YamlNode(const YamlNode&) = default;
  // Assigning a YAML::Node would change the document.
  YamlNode& operator=(const YamlNode& other) {
    node_.reset(other.node_);
    return *this;
  }

  bool is_map() const { return node_.IsMap(); }
  bool is_list() const { return node_.IsSequence(); }
  std::size_t size() const { return node_.size(); }
  double number() const { return node_.IsScalar() ? node_.as<double>(NAN) : NAN; }
  std::string text() const { return node_.IsScalar() ? node_.Scalar() : ""; }
  bool is_number() const { return node_.IsScalar(); }  // or a text, which is NaN

  template <class Key>
  std::optional<YamlNode> at(const Key& key) const {
    const YAML::Node& document = node_;  // a node that may change would get the key
    const YAML::Node found = document[key];
    return found ? std::optional(YamlNode(found)) : std::nullopt;
  }
  template <class Use>
  void for_each(const Use& use) const {
    if (is_list()) {
      std::size_t i = 0;
      for (const YAML::Node& value : node_)
        if (!use(std::to_string(i++), YamlNode(value))) return;
      return;
    }
    for (const auto& entry : node_)
      if (!use(entry.first.IsScalar() ? entry.first.Scalar() : "", YamlNode(entry.second))) return;
  }

 private:
  YAML::Node node_;
};

// A node of JSON. nlohmann's parser is not recursive, nor is the destruction of its values.
class JsonNode {
 public:
  explicit JsonNode(const nlohmann::json& node) : node_(&node) {}

  bool is_map() const { return node_->is_object(); }
  bool is_list() const { return node_->is_array(); }
  std::size_t size() const { return node_->size(); }
  double number() const {
    if (node_->is_boolean()) return node_->get<bool>() ? 1 : 0;
    return node_->is_number() ? node_->get<double>() : NAN;
  }
  std::string text() const { return node_->is_string() ? node_->get<std::string>() : ""; }
  bool is_number() const { return node_->is_number() || node_->is_boolean(); }

  std::optional<JsonNode> at(const std::string& key) const {
    const auto found = node_->find(key);
    return found == node_->end() ? std::nullopt : std::optional(JsonNode(*found));
  }
  std::optional<JsonNode> at(std::size_t position) const {
    return position < size() ? std::optional(JsonNode((*node_)[position])) : std::nullopt;
  }
  template <class Use>
  void for_each(const Use& use) const {
    std::size_t i = 0;
    for (auto child = node_->begin(); child != node_->end(); ++child)
      if (!use(is_map() ? child.key() : std::to_string(i++), JsonNode(*child))) return;
  }

 private:
  const nlohmann::json* node_;
};

template <class Node>
std::optional<Node> node_at(Node node, const std::string& path) {
  for (const std::string& part : parts_of(path)) {
    std::optional<Node> child;
    if (node.is_map()) child = node.at(part);
    if (node.is_list()) child = node.at(position_of(part));
    if (!child) return std::nullopt;
    node = *child;
  }
  return node;
}

template <class Node>
std::vector<double> list_of(const Node& node) {
  std::vector<double> values;
  if (node.is_list())
    node.for_each([&](const std::string&, const Node& value) {
      if (values.size() == max_stored_values) return false;
      values.push_back(value.number());
      return true;
    });
  return values;
}

// Rows that differ in length have no number of columns.
template <class Node>
StoredMatrix rows_of(const Node& node) {
  StoredMatrix matrix;
  bool is_matrix = true;
  node.for_each([&](const std::string&, const Node& row) {
    is_matrix = row.is_list() && row.size() > 0 && matrix.values.size() < max_stored_values;
    const std::vector<double> values = is_matrix ? list_of(row) : std::vector<double>();
    const int columns = static_cast<int>(values.size());
    matrix.columns = matrix.rows == 0 || columns == matrix.columns ? columns : 0;
    ++matrix.rows;
    matrix.values.insert(matrix.values.end(), values.begin(), values.end());
    return is_matrix;
  });
  return is_matrix ? matrix : StoredMatrix();
}

template <class Node>
StoredEntry entry_of(const Node& node) {
  StoredEntry entry{.is_there = true};
  if (node.is_map()) {
    const auto count = [&](const char* name) {
      const auto child = node.at(std::string(name));
      return child ? count_of(child->number()) : 0;
    };
    entry.matrix = {count("rows"), count("cols"), {}};
    if (const auto data = node.at(std::string("data"))) entry.matrix.values = list_of(*data);
  }
  if (node.is_list()) entry.matrix = rows_of(node);
  if (node.is_map() || node.is_list()) entry.children = node.size();
  entry.numbers = node.is_number() ? std::vector{node.number()} : list_of(node);
  entry.text = node.text();
  return entry;
}

// Whether a node groups others: an object without data, or a list of such.
template <class Node>
bool is_group(const Node& node) {
  if (node.is_map()) return !node.at(std::string("data"));
  const auto first = node.is_list() ? node.at(std::size_t{0}) : std::nullopt;
  return first && first->is_map();
}

// The paths of the first entries, level by level.
template <class Node>
std::vector<std::string> paths_of(const Node& root) {
  std::vector<std::string> paths;
  std::vector<std::pair<std::string, Node>> level{{"", root}};
  for (std::size_t depth = 0; depth < max_depth && !level.empty(); ++depth) {
    std::vector<std::pair<std::string, Node>> below;
    for (const std::pair<std::string, Node>& group : level)
      if (group.second.is_map() || group.second.is_list())
        group.second.for_each([&](const std::string& key, const Node& child) {
          if (paths.size() >= max_paths) return false;
          paths.push_back(group.first + key);
          if (is_group(child)) below.emplace_back(group.first + key + "/", child);
          return true;
        });
    level = std::move(below);
  }
  return paths;
}

class YamlDocument : public StoredDocument {
 public:
  explicit YamlDocument(std::string_view text) : root_(YAML::Load(std::string(text))) {}

  StoredEntry entry(const std::string& path) const override {
    const auto node = node_at(YamlNode(root_), path);
    return node ? entry_of(*node) : StoredEntry();
  }
  std::vector<std::string> paths() const override { return paths_of(YamlNode(root_)); }

 private:
  YAML::Node root_;
};

class JsonDocument : public StoredDocument {
 public:
  explicit JsonDocument(std::string_view text) : root_(parse_json_document(text)) {}

  StoredEntry entry(const std::string& path) const override {
    const auto node = node_at(JsonNode(root_), path);
    return node ? entry_of(*node) : StoredEntry();
  }
  std::vector<std::string> paths() const override { return paths_of(JsonNode(root_)); }

 private:
  nlohmann::json root_;
};

// Entries are below the root, <opencv_storage>.
class XmlDocument : public StoredDocument {
 public:
  explicit XmlDocument(std::string_view text) {
    if (document_.Parse(text.data(), text.size()) != tinyxml2::XML_SUCCESS ||
        document_.RootElement() == nullptr)
      throw std::runtime_error("not XML");
  }

  StoredEntry entry(const std::string& path) const override {
    const tinyxml2::XMLElement* node = document_.RootElement();
    for (const std::string& part : parts_of(path))
      if (node != nullptr) node = node->FirstChildElement(part.c_str());
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

  std::vector<std::string> paths() const override {
    std::vector<std::string> paths;
    add_elements(*document_.RootElement(), "", 1, paths);
    return paths;
  }

 private:
  static void add_elements(const tinyxml2::XMLElement& parent, const std::string& before, std::size_t depth,
                           std::vector<std::string>& paths) {
    for (const auto* node = parent.FirstChildElement(); node != nullptr && paths.size() < max_paths;
         node = node->NextSiblingElement()) {
      paths.push_back(before + node->Name());
      if (node->FirstChildElement("data") == nullptr && depth < max_depth)
        add_elements(*node, paths.back() + "/", depth + 1, paths);
    }
  }

  static std::vector<double> list(const tinyxml2::XMLElement* node) {
    if (node == nullptr || node->GetText() == nullptr) return {};
    std::vector<double> values;
    std::string_view text = node->GetText();
    constexpr std::string_view spaces = " \t\r\n";
    for (std::size_t start; (start = text.find_first_not_of(spaces)) != std::string_view::npos;) {
      if (values.size() == max_stored_values) break;
      text.remove_prefix(start);
      const std::string_view word = text.substr(0, text.find_first_of(spaces));
      values.push_back(number_of<double>(word).value_or(NAN));
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
  } catch (const JsonError& error) {
    throw Error(ErrorCategory::file, name + " is " + error.what() + ": give " + give);
  } catch (const std::exception&) {
    throw Error(ErrorCategory::file, name + " is not readable: give " + give);
  }
}

}  // namespace parallax::tool
