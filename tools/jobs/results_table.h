// SPDX-License-Identifier: Apache-2.0
// The table of a batch: a row for each pair, as CSV or as lines of JSON, by the extension of the file.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "tools/command/json.h"

namespace parallax::tool {

// Values by the name of their column. Those that are missing are not known.
using ResultsRow = nlohmann::ordered_json;

// \throws UsageError for a name that is neither .csv nor .jsonl
void check_results_path(const std::string& path);

class ResultsTable {
 public:
  // Begins a new table, or continues the one that is there; an empty path makes no table.
  // \throws Error (file), also for a file that is no table of this version, or that another process writes
  ResultsTable(const std::string& path, std::vector<std::string> columns, bool resume);
  ResultsTable(const ResultsTable&) = delete;
  ResultsTable& operator=(const ResultsTable&) = delete;
  ~ResultsTable();

  bool empty() const { return path_.empty(); }
  // The last row with this output in the table that is resumed; null if there is none.
  ResultsRow earlier(const std::string& output) const;

  // Appends a row at once: a process that is killed keeps all rows before.
  // \throws Error (file)
  void add(const ResultsRow& row);
  // A row of the resumed table that stays.
  void keep(const ResultsRow& row);
  // Puts the rows of a resumed table in the order of add() and keep(), without those of other outputs.
  // Without this call they are in the order in which they were written, the newest last.
  // \throws Error (file)
  void finish();

 private:
  void open_alone();
  std::string header() const;
  std::string text_of(const ResultsRow& row) const;
  // Empty when the text ends within the row. Moves `at` behind it.
  ResultsRow parse(const std::string& text, std::size_t& at) const;
  std::size_t read_earlier();
  void append(const std::string& text);

  std::string path_;
  bool is_csv_;
  std::vector<std::string> columns_;
  bool resume_ = false;
  int file_ = -1;
  std::unordered_map<std::string, std::string> earlier_;  // texts of rows, by output
  std::vector<std::string> ordered_;                      // texts of rows, of a resumed table
};

}  // namespace parallax::tool
