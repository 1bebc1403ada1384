// SPDX-License-Identifier: Apache-2.0
// The entries of one or two documents whose keys follow no standard, found by their usual names.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/files/rigs/format.h"
#include "tools/files/stored_document.h"

namespace parallax::tool {

class StoredRig {
 public:
  using Names = std::span<const std::string_view>;

  // An entry, or where it is missing. `place` is "extrinsics.yml: left.K".
  struct Found {
    const StoredDocument* document = nullptr;
    std::string path, place;

    bool is_there() const { return document != nullptr; }
    StoredEntry entry() const { return document->entry(path); }
  };
  struct FoundPair {
    Found left, right;
    bool any() const { return left.is_there() || right.is_there(); }
  };

  // \throws Error (file) for a text that is not of its format
  explicit StoredRig(std::span<const RigFile> files);

  // The first entry with one of these names that satisfies the condition.
  template <class Condition>
  Found find(Names names, const Condition& condition) const {
    for (const std::string_view name : names) {
      const auto [first, last] = index_.equal_range(name);
      for (auto entry = first; entry != last; ++entry)
        if (condition(entry->second)) return entry->second;
    }
    return missing(names.front());
  }
  // The same for numbers in a list or matrix, for a single number, and for a word.
  Found list(Names names) const { return find(names, is_list); }
  Found number(Names names) const { return find(names, is_number); }
  Found word(Names names) const { return find(names, is_word); }

  // The entries of the left and of the right camera with one of these names: K1 and K2, left.K and right.K,
  // cameraMatrixL and cameraMatrixR, ….
  FoundPair lists(Names names) const { return pair(names, is_list); }
  FoundPair numbers(Names names) const { return pair(names, is_number); }
  FoundPair words(Names names) const { return pair(names, is_word); }
  // A number, or a matrix of one.
  FoundPair pair_of_any(Names names) const {
    return pair(names, [](const Found& found) { return is_list(found) || is_number(found); });
  }

  const std::string& last_name() const { return files_.back().name; }

 private:
  using Condition = bool (*)(const Found&);
  static bool is_list(const Found& found);
  static bool is_number(const Found& found);
  static bool is_word(const Found& found);

  Found missing(std::string_view name) const;
  FoundPair pair(Names names, Condition condition) const;
  void add(std::size_t file, const std::string& path);

  std::span<const RigFile> files_;
  std::vector<std::unique_ptr<StoredDocument>> documents_;
  std::multimap<std::string, Found, std::less<>> index_;  // by simplified names
};

// The values of a matrix of this shape: with rows and cols, as a list of lists, or as a list.
// \throws Error (file)
std::vector<double> matrix_at(const StoredRig::Found& found, int rows, int columns);
// A matrix of one row or one column, or a list.
// \throws Error (file)
std::vector<double> vector_at(const StoredRig::Found& found);
// A matrix, or the vector of Rodrigues.
// \throws Error (file)
Matrix3 rotation_at(const StoredRig::Found& found);
Vector3 translation_at(const StoredRig::Found& found);

}  // namespace parallax::tool
