// SPDX-License-Identifier: Apache-2.0
#include "tools/jobs/tiles/log.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <random>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "parallax/formats.h"

#include "tools/command/command.h"
#include "tools/command/json.h"
#include "tools/jobs/tiles/folder.h"

namespace parallax::tool {
namespace {

namespace fs = std::filesystem;
using json = nlohmann::ordered_json;

// Keeps the later of two.
template <class Record>
void keep(std::map<int, Record>& records, int number, Record record) {
  const auto [there, is_new] = records.try_emplace(number, record);
  if (!is_new && there->second.start <= record.start) there->second = std::move(record);
}

void read_line(std::string_view text, const std::string& fingerprint, JobRecords& records) {
  const json line = json::parse(text, nullptr, false);
  if (!line.is_object()) return;
  try {
    if (line.value("plan", "") != fingerprint) return;
    const std::string start = line.value("start", "");
    if (line.contains("tile"))
      keep(records.tiles, line.at("tile").get<int>(),
           {start, line.value("host", ""), line.value("device", ""), line.value("milliseconds", 0.0),
            line.value("error", ""), line.value("is_transient", false)});
    if (line.contains("output_hash"))
      keep(records.maps, line.at("pair").get<int>(),
           {start, line.at("output_bytes").get<std::uint64_t>(), line.at("output_hash").get<std::string>()});
  } catch (const json::exception&) {
    // Not a line of ours.
  }
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "unknown";
  std::string host = name.data();
  // It is part of names of files.
  std::replace_if(
      host.begin(), host.end(),
      [](unsigned char c) { return std::isalnum(c) == 0 && c != '.' && c != '-' && c != '_'; }, '_');
  return host;
}

// Containers on several machines may share the name of the host and the number of the process.
std::string process_name() {
  static const unsigned random = std::random_device()();
  return host_name() + "-" + std::to_string(::getpid()) + "-" + std::to_string(random);
}

std::string time_text() {
  using namespace std::chrono;
  const auto now = system_clock::now();
  const std::time_t seconds = system_clock::to_time_t(now);
  const auto milliseconds = duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  std::array<char, 64> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(text.data() + length, text.size() - length, ".%03dZ", static_cast<int>(milliseconds));
  return text.data();
}

JobLog::JobLog(const JobHead& head)
    : path_((fs::path(head.folder) / ("log-" + process_name() + ".jsonl")).string()),
      fingerprint_(head.fingerprint) {}

JobLog::~JobLog() {
  if (file_ >= 0) ::close(file_);
}

void JobLog::add(nlohmann::ordered_json line) {
  line["plan"] = fingerprint_;
  std::string text = line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  // A line that a full disk cut short must not spoil this one.
  if (is_cut_) text = "\n" + text;
  if (file_ < 0) file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file_ >= 0) {
    const ssize_t written = ::write(file_, text.data(), text.size());
    const bool is_whole = written == static_cast<ssize_t>(text.size());
    if (written > 0) is_cut_ = !is_whole;
    if (is_whole) return;
  }
  if (!complained_)
    complain("cannot write " + path_ + ": " + std::strerror(errno) +
             "; 'parallax status' will not know of it");
  complained_ = true;
}

JobRecords read_logs(const JobHead& head) {
  JobRecords records;
  for (const std::string& path : list_logs(head.folder)) {
    const std::vector<std::byte> bytes = read_file(path);
    std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    for (std::size_t end; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1))
      read_line(text.substr(0, end), head.fingerprint, records);
  }
  return records;
}

}  // namespace parallax::tool
