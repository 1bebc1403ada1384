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

// Lists are read to this length.
inline constexpr std::size_t most_stored_values = 64;

// The entries at the top of a document. Only those that are requested are converted, so that a file of few bytes, such as one
// of YAML aliases, takes little time and memory.
class StoredDocument {
 public:
  virtual ~StoredDocument() = default;
  virtual bool has(const std::string& key) const = 0;
  // Empty if there is no such matrix.
  virtual StoredMatrix matrix(const std::string& key) const = 0;
  // A number, or a list of numbers; empty if there is neither.
  virtual std::vector<double> numbers(const std::string& key) const = 0;
  // Empty if there is no such text.
  virtual std::string text(const std::string& key) const = 0;
};

enum class StoredFormat { yaml, json, xml };

// \throws Error (file) for a text that is not of the format: "name is not readable: give …"
std::unique_ptr<StoredDocument> parse_stored(StoredFormat format, std::string_view text,
                                             const std::string& name, const std::string& give);

}  // namespace parallax::tool
