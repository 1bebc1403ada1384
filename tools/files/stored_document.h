// SPDX-License-Identifier: Apache-2.0
// Documents as OpenCV's cv::FileStorage writes them, in any of its three formats.
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
  StoredMatrix matrix = {};
  std::vector<double> numbers = {};  // a number, or a list of numbers
  std::string text = {};
};

// Lists are read to this length.
inline constexpr std::size_t max_stored_values = 64;

// The entries at the top of a document. Only those that are requested are converted, so that a file of few
// bytes, such as one of YAML aliases, takes little time and memory.
class StoredDocument {
 public:
  virtual ~StoredDocument() = default;
  virtual StoredEntry entry(const std::string& key) const = 0;
  bool has(const std::string& key) const { return entry(key).is_there; }
};

enum class StoredFormat { yaml, json, xml };
// By the extension; YAML for any but .json and .xml.
StoredFormat stored_format_of(const std::string& path);

// \throws Error (file) for a text that is not of the format: "name is not readable: give …"
std::unique_ptr<StoredDocument> parse_stored(StoredFormat format, std::string_view text,
                                             const std::string& name, const std::string& give);

}  // namespace parallax::tool
