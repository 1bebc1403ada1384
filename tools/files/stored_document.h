// SPDX-License-Identifier: Apache-2.0
// Documents of YAML, JSON or XML, as cv::FileStorage and other programs write them.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace parallax::tool {

// Anything in place of a number is NaN.
struct StoredMatrix {
  int rows = 0, columns = 0;
  std::vector<double> values;
};

// An entry as each of these; empty where it is not of the kind.
struct StoredEntry {
  bool is_there = false;
  std::size_t children = 0;          // of a list or an object
  StoredMatrix matrix = {};          // an object with rows, cols and data, or a list of lists
  std::vector<double> numbers = {};  // a number, or a list of numbers
  std::string text = {};
};

// Lists are read to this length.
inline constexpr std::size_t max_stored_values = 64;

// Only entries that are requested are converted, so that a file of few bytes, such as one of YAML aliases,
// takes little time and memory.
class StoredDocument {
 public:
  virtual ~StoredDocument() = default;
  // The path has the names and the positions that lead to the entry: "left/K", "cameras/0/K".
  virtual StoredEntry entry(const std::string& path) const = 0;
  // The paths of the first entries, without those inside of matrices and of lists of numbers.
  virtual std::vector<std::string> paths() const = 0;
  bool has(const std::string& path) const { return entry(path).is_there; }
};

enum class StoredFormat { yaml, json, xml };
// By the extension; YAML for any but .json and .xml.
StoredFormat stored_format_of(const std::string& path);

// \throws Error (file) for a text that is not of the format: "name is not readable: give …"
std::unique_ptr<StoredDocument> parse_stored(StoredFormat format, std::string_view text,
                                             const std::string& name, const std::string& give);

}  // namespace parallax::tool
