// SPDX-License-Identifier: Apache-2.0
#include "tools/jobs/results_table.h"

#include <cerrno>
#include <filesystem>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/command/command.h"
#include "tools/command/command_files.h"
#include "tools/command/output_files.h"
#include "tools/files/pictures.h"

namespace parallax::tool {
namespace {

// As RFC 4180 says.
std::string csv_field(const ResultsRow& value) {
  if (value.is_null()) return "";
  if (!value.is_string()) return json_text(value);
  const auto& text = value.get_ref<const std::string&>();
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

// The fields of the record at `at`, which is moved behind it; nothing when the text ends within the record.
std::optional<std::vector<std::string>> csv_record(const std::string& text, std::size_t& at) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = at; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      fields.back() += text[i++];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && c == ',') {
      fields.emplace_back();
    } else if (!quoted && c == '\n') {
      at = i + 1;
      return fields;
    } else {
      fields.back() += c;
    }
  }
  return std::nullopt;
}

}  // namespace

void check_results_path(const std::string& path) {
  if (!path.empty() && !has_extension(path, {".csv", ".jsonl"}))
    throw UsageError("--results is " + path + ": name it .csv or .jsonl");
}

ResultsTable::ResultsTable(const std::string& path, std::vector<std::string> columns, bool resume)
    : path_(path), is_csv_(has_extension(path, {".csv"})), columns_(std::move(columns)) {
  if (path_.empty()) return;
  std::error_code unknown;
  resume_ = resume && std::filesystem::exists(path_, unknown);
  if (resume_) check_readable_twice(path_);
  open_alone();
  const std::size_t complete = resume_ ? read_earlier() : 0;
  struct stat about {};
  // A process that was killed may have left a part of a row. Devices and pipes have no length.
  if (::fstat(file_, &about) == 0 && S_ISREG(about.st_mode) &&
      ::ftruncate(file_, static_cast<off_t>(complete)) != 0)
    fail_file("write", path_, errno);
  if (complete == 0) append(header());
}

ResultsTable::~ResultsTable() {
  if (file_ >= 0) ::close(file_);
}

// Another batch may hold the table, or replace it by finish() while this one opens it. Some file systems have
// no locks: other processes go unnoticed there.
void ResultsTable::open_alone() {
  for (;;) {
    file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file_ < 0) fail_file("write", path_, errno);
    struct stat about {
    }, now{};
    if (::fstat(file_, &about) != 0 || !S_ISREG(about.st_mode)) return;
    if (::flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      ::close(std::exchange(file_, -1));
      throw Error(ErrorCategory::file,
                  path_ + ": another process is writing it: wait until it ends, or give another --results",
                  true);
    }
    if (::stat(path_.c_str(), &now) == 0 && now.st_dev == about.st_dev && now.st_ino == about.st_ino) return;
    ::close(std::exchange(file_, -1));
  }
}

std::string ResultsTable::header() const {
  return is_csv_ ? join(columns_, ",") + "\n" : "";
}

std::string ResultsTable::text_of(const ResultsRow& row) const {
  if (!is_csv_) return json_text(row) + "\n";
  std::string text;
  for (const std::string& column : columns_)
    text += (&column == &columns_.front() ? "" : ",") +
            (row.contains(column) ? csv_field(row[column]) : std::string());
  return text + "\n";
}

ResultsRow ResultsTable::parse(const std::string& text, std::size_t& at) const {
  if (!is_csv_) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string::npos) return nullptr;
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    try {
      return parse_json_object(line);
    } catch (const JsonError&) {
      return ResultsRow::object();
    }
  }
  const auto fields = csv_record(text, at);
  if (!fields) return nullptr;
  ResultsRow row = ResultsRow::object();
  for (std::size_t i = 0; i < fields->size() && i < columns_.size(); ++i)
    if (!(*fields)[i].empty()) row[columns_[i]] = (*fields)[i];
  return row;
}

// The length of all complete rows.
std::size_t ResultsTable::read_earlier() {
  const std::string text = read_text(path_);
  if (!header().starts_with(text.substr(0, header().size())))
    throw Error(ErrorCategory::file, path_ + " has other columns: give another --results, or remove it");
  if (text.size() < header().size()) return 0;
  std::size_t at = header().size();
  for (std::size_t begin = at;; begin = at) {
    const ResultsRow row = parse(text, at);
    if (row.is_null()) return begin;
    if (!row.contains("number"))
      throw Error(ErrorCategory::file,
                  path_ + " is not a table of a batch: give another --results, or remove it");
    const auto output = row.find("output");
    if (output != row.end() && output->is_string())
      earlier_[output->get<std::string>()] = text.substr(begin, at - begin);
  }
}

ResultsRow ResultsTable::earlier(const std::string& output) const {
  // JSON replaces what is not UTF-8.
  std::size_t at = 0;
  const ResultsRow as_stored = parse(text_of({{"output", output}}), at);
  const auto found = earlier_.find(as_stored.value("output", ""));
  if (found == earlier_.end()) return nullptr;
  at = 0;
  return parse(found->second, at);
}

void ResultsTable::append(const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t written = ::write(file_, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int reason = errno;
      // Takes back a part of a row, where that is possible.
      struct stat about {};
      if (done > 0 && ::fstat(file_, &about) == 0)
        (void)!::ftruncate(file_, about.st_size - static_cast<off_t>(done));
      fail_file("write", path_, reason);
    }
    done += static_cast<std::size_t>(written);
  }
}

void ResultsTable::add(const ResultsRow& row) {
  if (path_.empty()) return;
  const std::string text = text_of(row);
  append(text);
  if (resume_) ordered_.push_back(text);
}

void ResultsTable::keep(const ResultsRow& row) {
  ordered_.push_back(text_of(row));
}

void ResultsTable::finish() {
  if (!resume_) return;
  std::string text = header();
  for (const std::string& row : ordered_) text += row;
  write_output(path_, text);
}

}  // namespace parallax::tool
